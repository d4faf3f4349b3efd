//! What makes a scan report accepted.

use super::NAMESPACE;
use image_admission_settings::{Count, GateAction, MissingScores, UnknownLicense};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Limits, at the top level and for namespaces.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acceptance {
    /// How many findings of each severity are accepted; more reject. Without it, and without `cvssScore`: no critical one.
    pub max_severity: Option<MaxSeverity>,
    /// How many findings with a high CVSS score are accepted.
    pub cvss_score: Option<CvssScore>,
    /// Ids of vulnerabilities that reject wherever they are found. No patterns.
    #[schemars(extend("default" = [], "examples" = [["CVE-2021-44228"]]))]
    pub deny_always: Option<Vec<String>>,
    /// Ids of vulnerabilities that never count. No patterns; `exemptions` take them, with a reason and an end.
    #[schemars(extend("default" = []))]
    pub allow_always: Option<Vec<String>>,
    /// Whether findings count although a VEX document clears them.
    #[schemars(extend("default" = false))]
    pub ignore_vex_status: Option<bool>,
    /// A finding that can be fixed counts only when it, or its fix, was published longer ago: one duration, or one for each severity.
    /// Of sources with dates: `trivyOperator`, `registry`, and `custom` with `fields.published`.
    #[schemars(extend("examples" = ["14d"]))]
    pub fix_grace_period: Option<GracePeriods>,
    /// The same of a finding without a fix: it counts only when it was published longer ago.
    pub unfixed_grace_period: Option<GracePeriods>,
    /// An image that runs already may go on starting for some days when something becomes known of it: new Pods come up with a
    /// warning where a node is drained. Pods prove it, which are read only where a finding would reject: `v1/Pod` must be granted.
    pub running: Option<Running>,
    /// What becomes of an image with a vulnerability that is exploited in the wild, however low it is rated.
    pub known_exploited: Option<KnownExploited>,
    /// What becomes of an image with a vulnerability that is likely to be exploited, by FIRST's forecast (EPSS).
    pub epss: Option<Epss>,
    /// What becomes of an image whose operating system is past its end of life: nobody reports vulnerabilities of it any more.
    pub end_of_life: Option<GateAction>,
    /// Packages that no image may have, by its SBOM. `reports.sboms` says where that comes from.
    pub packages: Option<Packages>,
    /// Licences that the packages of an image may have, or may not, by its SBOM. `reports.sboms` says where that comes from.
    pub licenses: Option<Licenses>,
    /// What is counted.
    #[schemars(extend("default" = "unique"))]
    pub count: Option<Count>,
    /// The same settings for namespaces, by a name or a glob like `prod-*`. Each replaces that of the top level. One entry
    /// decides, as a whole: that of the name, else that of the most exact glob, which has the most characters beside its `*`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, Gates>>,
}

/// What a namespace does differently.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gates {
    /// How many findings of each severity are accepted; more reject.
    pub max_severity: Option<MaxSeverity>,
    /// How many findings with a high CVSS score are accepted.
    pub cvss_score: Option<CvssScore>,
    /// Ids of vulnerabilities that reject wherever they are found.
    pub deny_always: Option<Vec<String>>,
    /// Ids of vulnerabilities that never count.
    pub allow_always: Option<Vec<String>>,
    /// Whether findings count although a VEX document clears them.
    pub ignore_vex_status: Option<bool>,
    /// A finding that can be fixed counts only when it, or its fix, was published longer ago.
    pub fix_grace_period: Option<GracePeriods>,
    /// The same of a finding without a fix.
    pub unfixed_grace_period: Option<GracePeriods>,
    /// An image that runs already may go on starting for some days when something becomes known of it.
    pub running: Option<Running>,
    /// What becomes of an image with a vulnerability that is exploited in the wild.
    pub known_exploited: Option<KnownExploited>,
    /// What becomes of an image with a vulnerability that is likely to be exploited.
    pub epss: Option<Epss>,
    /// What becomes of an image whose operating system is past its end of life.
    pub end_of_life: Option<GateAction>,
    /// Packages that no image may have.
    pub packages: Option<Packages>,
    /// Licences that the packages of an image may have, or may not.
    pub licenses: Option<Licenses>,
    /// What is counted.
    pub count: Option<Count>,
}

/// Packages that no image may have.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Packages {
    /// Which.
    #[schemars(length(min = 1))]
    pub deny: Vec<DeniedPackage>,
    /// What becomes of an image that has one.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
}

/// A package that no image may have.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeniedPackage {
    /// Its purl without a version and qualifiers; `*` in its path is any text. Case and escapes make no difference.
    #[schemars(extend("examples" = ["pkg:maven/org.apache.logging.log4j/log4j-core"]))]
    pub purl: String,
    /// In which versions: comparisons (`<`, `<=`, `>`, `>=`, `=`, `!=`), joined by `,` (and) and `||` (or), in the order that versions of
    /// its type have. Without it: in every version. A version that can't be compared is denied.
    #[schemars(extend("examples" = ["<2.17.1"]))]
    pub versions: Option<String>,
    /// Why; messages say it.
    #[schemars(length(max = 200), extend("examples" = ["Log4Shell, TICKET-7"]))]
    pub reason: Option<String>,
}

/// Licences that the packages of an image may have, or may not. Set `deny` or `allow`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["deny"]}, {"required": ["allow"]}]))]
pub struct Licenses {
    /// Licences that no package may have: ids of SPDX, with `*` for any text, or names. Of `A OR B` one may be denied.
    #[schemars(length(min = 1), extend("examples" = [["AGPL-3.0-only", "GPL-3.0-*"]]))]
    pub deny: Option<Vec<String>>,
    /// The only licences that a package may have. `A AND B` needs both.
    #[schemars(length(min = 1), extend("examples" = [["Apache-2.0", "MIT"]]))]
    pub allow: Option<Vec<String>>,
    /// What becomes of an image with a package whose licence isn't known: none is told, or what is told is no id of SPDX and isn't listed.
    #[schemars(extend("default" = "reject"))]
    pub unknown: Option<UnknownLicense>,
    /// How the purls of packages start that aren't looked at.
    #[schemars(extend("default" = [], "examples" = [["pkg:deb/"]]))]
    pub except: Option<Vec<String>>,
    /// What becomes of an image with a package whose licence is denied, or isn't allowed.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
}

/// A limit for each severity; one that isn't named is not limited.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MaxSeverity {
    /// Of critical findings. As soon as any severity has a limit, they are limited only by one of their own.
    pub critical: Option<Limit>,
    /// Of high ones.
    pub high: Option<Limit>,
    /// Of medium ones.
    pub medium: Option<Limit>,
    /// Of low ones.
    pub low: Option<Limit>,
    /// Of those that aren't rated.
    pub unknown: Option<Limit>,
}

/// How many findings are accepted; set one of both.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Limit {
    /// At most so many. Set this, or `totalWithoutFixes`.
    pub total: Option<u64>,
    /// At most so many that have no fix; those that have one aren't limited. Set this, or `total`.
    pub total_without_fixes: Option<u64>,
}

/// How many findings may have a high score.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CvssScore {
    /// The lowest score that counts.
    #[schemars(range(min = 0, max = 10), extend("examples" = [7.0]))]
    pub threshold: f64,
    /// At most so many. It needs `threshold`.
    #[schemars(extend("default" = 0))]
    pub max_count: Option<u64>,
}

/// Images that run already.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Running {
    /// How long after a finding became known it doesn't count in an image that runs in the workload's namespace since before that:
    /// one duration, or one for each severity.
    #[schemars(extend("examples" = ["7d"]))]
    pub grace: GracePeriods,
}

/// How long findings don't count.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum GracePeriods {
    /// For findings of every severity.
    All(#[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))] String),
    /// By severity.
    BySeverity(GraceBySeverity),
}

/// A duration for each severity; one that isn't named counts at once.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GraceBySeverity {
    /// Of critical findings.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["3d"]))]
    pub critical: Option<String>,
    /// Of high ones.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["14d"]))]
    pub high: Option<String>,
    /// Of medium ones.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub medium: Option<String>,
    /// Of low ones.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub low: Option<String>,
    /// Of those that aren't rated.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub unknown: Option<String>,
}

/// A gate for what is exploited.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum KnownExploited {
    /// By what reports say themselves: those of Grype in `registry`, of sbomscanner as far as they have it, and of `custom` with
    /// `fields.knownExploited`.
    ByReports(GateAction),
    /// And by a list.
    ByList(KnownExploitedGate),
}

/// A gate for what is exploited, with a list of the cluster.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownExploitedGate {
    /// What becomes of an image that has one.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
    /// A list that the cluster holds, for reports that don't say it themselves. `v1/ConfigMap` must be granted.
    pub from: Option<ExploitedListSource>,
    /// An older list is a look-up that failed. Its age is that of its annotation `image-admission/refreshed-at`, or of CISA's
    /// `dateReleased`.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["7d"]))]
    pub max_age: Option<String>,
}

/// Where a list is.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExploitedListSource {
    /// A ConfigMap with CISA's catalogue as JSON, or with a line for each id.
    pub config_map: ExploitedConfigMap,
}

/// A ConfigMap with a list.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExploitedConfigMap {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key that holds the list.
    #[schemars(extend("default" = "known-exploited"))]
    pub key: Option<String>,
}

/// A gate for what is likely to be exploited. Set `score`, `percentile` or both: either is enough.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["score"]}, {"required": ["percentile"]}]))]
pub struct Epss {
    /// The lowest probability that counts, above 0 and at most 1.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.5]))]
    pub score: Option<f64>,
    /// The lowest percentile that counts, above 0 and at most 1.
    #[schemars(range(min = 0, max = 1), extend("examples" = [0.95]))]
    pub percentile: Option<f64>,
    /// What becomes of an image that has one.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
    /// What becomes of findings without a forecast.
    #[schemars(extend("default" = "count"))]
    pub missing: Option<MissingScores>,
}
