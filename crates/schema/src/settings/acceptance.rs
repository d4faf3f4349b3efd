//! What makes a scan report accepted.

use super::NAMESPACE;
use image_admission_settings::{Count, GateAction, MissingScores, UnknownLicense};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Limits, at the top level and for namespaces.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acceptance {
    /// The most findings of each severity; more reject. Without it and `cvssScore`: no critical one.
    pub max_severity: Option<MaxSeverity>,
    /// The most findings with a high CVSS score; more reject.
    pub cvss_score: Option<CvssScore>,
    /// Ids of vulnerabilities that reject wherever they are found, without patterns.
    #[schemars(extend("default" = [], "examples" = [["CVE-2021-44228"]]))]
    pub deny_always: Option<Vec<String>>,
    /// Ids of vulnerabilities that never count, without patterns. `exemptions` take patterns, with a reason and an end.
    #[schemars(extend("default" = []))]
    pub allow_always: Option<Vec<String>>,
    /// Whether findings count although VEX clears them.
    #[schemars(extend("default" = false))]
    pub ignore_vex_status: Option<bool>,
    /// How long a finding with a fix doesn't count after it, or its fix, was published: one duration, or one for each severity.
    /// `trivyOperator`, `registry`, and `custom` with `fields.published` have these dates.
    #[schemars(extend("examples" = ["14d"]))]
    pub fix_grace_period: Option<GracePeriods>,
    /// How long a finding without a fix doesn't count after it was published.
    pub unfixed_grace_period: Option<GracePeriods>,
    /// An image that already runs may start for some days after a new finding, with a warning, so that its node can be drained.
    /// Pods are the proof, and are read only if a finding would reject. `v1/Pod` must be granted.
    pub running: Option<Running>,
    /// For vulnerabilities that are exploited in the wild, at any severity. With `reject`, a report that doesn't say is a
    /// failed scan.
    pub known_exploited: Option<KnownExploited>,
    /// For vulnerabilities that are likely to be exploited, by FIRST's forecast (EPSS).
    pub epss: Option<Epss>,
    /// For operating systems past their end of life, whose vulnerabilities nobody reports any more. With `reject`, a report
    /// that doesn't say is a failed scan.
    pub end_of_life: Option<GateAction>,
    /// Packages that no image may have, by its SBOM (`reports.sboms`).
    pub packages: Option<Packages>,
    /// Licences that packages may have, or may not, by the image's SBOM (`reports.sboms`).
    pub licenses: Option<Licenses>,
    /// What counts as one finding.
    #[schemars(extend("default" = "unique"))]
    pub count: Option<Count>,
    /// Settings for namespaces. Each replaces the top level's. Namespaces are chosen as in `preScanPolicies.byNamespace`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, Gates>>,
}

/// Overrides for a namespace.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gates {
    /// The most findings of each severity.
    pub max_severity: Option<MaxSeverity>,
    /// The most findings with a high CVSS score.
    pub cvss_score: Option<CvssScore>,
    /// Ids of vulnerabilities that always reject.
    pub deny_always: Option<Vec<String>>,
    /// Ids of vulnerabilities that never count.
    pub allow_always: Option<Vec<String>>,
    /// Whether findings count although VEX clears them.
    pub ignore_vex_status: Option<bool>,
    /// How long a finding with a fix doesn't count.
    pub fix_grace_period: Option<GracePeriods>,
    /// How long a finding without a fix doesn't count.
    pub unfixed_grace_period: Option<GracePeriods>,
    /// How long an image that already runs may start after a new finding.
    pub running: Option<Running>,
    /// For vulnerabilities that are exploited in the wild.
    pub known_exploited: Option<KnownExploited>,
    /// For vulnerabilities that are likely to be exploited.
    pub epss: Option<Epss>,
    /// For operating systems past their end of life.
    pub end_of_life: Option<GateAction>,
    /// Packages that no image may have.
    pub packages: Option<Packages>,
    /// Licences that packages may have, or may not.
    pub licenses: Option<Licenses>,
    /// What counts as one finding.
    pub count: Option<Count>,
}

/// Packages that no image may have.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Packages {
    /// The denied packages.
    #[schemars(length(min = 1))]
    pub deny: Vec<DeniedPackage>,
    /// For images with a denied package.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
}

/// A package that no image may have.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeniedPackage {
    /// The purl without version and qualifiers. `*` in its path matches any characters. Case and escapes make no difference.
    #[schemars(extend("examples" = ["pkg:maven/org.apache.logging.log4j/log4j-core"]))]
    pub purl: String,
    /// The denied versions: comparisons (`<`, `<=`, `>`, `>=`, `=`, `!=`), joined by `,` (and) and `||` (or), by the rules of
    /// the purl's type. Without it: every version. A version that can't be compared is denied.
    #[schemars(extend("examples" = ["<2.17.1"]))]
    pub versions: Option<String>,
    /// The reason, which messages show.
    #[schemars(length(max = 200), extend("examples" = ["Log4Shell, TICKET-7"]))]
    pub reason: Option<String>,
}

/// Licences that the packages of an image may have, or may not. Set `deny` or `allow`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["deny"]}, {"required": ["allow"]}]))]
pub struct Licenses {
    /// Licences that no package may have: SPDX ids, with `*` for any characters, or names. Of `A OR B`, one may be denied.
    #[schemars(length(min = 1), extend("examples" = [["AGPL-3.0-only", "GPL-3.0-*"]]))]
    pub deny: Option<Vec<String>>,
    /// The only licences that packages may have. `A AND B` needs both.
    #[schemars(length(min = 1), extend("examples" = [["Apache-2.0", "MIT"]]))]
    pub allow: Option<Vec<String>>,
    /// For packages without a licence, or with one that is neither an SPDX id nor listed.
    #[schemars(extend("default" = "reject"))]
    pub unknown: Option<UnknownLicense>,
    /// Prefixes of purls that aren't checked.
    #[schemars(extend("default" = [], "examples" = [["pkg:deb/"]]))]
    pub except: Option<Vec<String>>,
    /// For licences that are denied, or not allowed.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
}

/// A limit for each severity. A severity without one is unlimited.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MaxSeverity {
    /// Critical findings. If only other severities have a limit, these have none.
    pub critical: Option<Limit>,
    /// High findings.
    pub high: Option<Limit>,
    /// Medium findings.
    pub medium: Option<Limit>,
    /// Low findings.
    pub low: Option<Limit>,
    /// Findings without a rating.
    pub unknown: Option<Limit>,
}

/// How many findings are accepted. Set one of both.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Limit {
    /// At most this many. Set this or `totalWithoutFixes`.
    pub total: Option<u64>,
    /// At most this many without a fix; those with a fix are unlimited. Set this or `total`.
    pub total_without_fixes: Option<u64>,
}

/// How many findings may have a high score.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CvssScore {
    /// The lowest score that counts.
    #[schemars(range(min = 0, max = 10), extend("examples" = [7.0]))]
    pub threshold: f64,
    /// At most this many.
    #[schemars(extend("default" = 0))]
    pub max_count: Option<u64>,
}

/// Images that run already.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Running {
    /// How long a finding doesn't count after it became known, if the image has run in the namespace since before: one
    /// duration, or one for each severity.
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

/// A duration for each severity. Findings of a severity without one count at once.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GraceBySeverity {
    /// Critical findings.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["3d"]))]
    pub critical: Option<String>,
    /// High findings.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["14d"]))]
    pub high: Option<String>,
    /// Medium findings.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub medium: Option<String>,
    /// Low findings.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub low: Option<String>,
    /// Findings without a rating.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub unknown: Option<String>,
}

/// A gate for what is exploited.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum KnownExploited {
    /// By what reports say: those of Grype in `registry`, of sbomscanner as far as they have it, and of `custom` with
    /// `fields.knownExploited`.
    ByReports(GateAction),
    /// Also by a list.
    ByList(KnownExploitedGate),
}

/// A gate for what is exploited, with a list in the cluster.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownExploitedGate {
    /// For images with such a vulnerability.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
    /// A list in the cluster, beside what reports say: a vulnerability in either is exploited. `v1/ConfigMap` must be granted.
    pub from: Option<ExploitedListSource>,
    /// An older list counts as a failed look-up. Its age is that of its annotation `image-admission/refreshed-at`, or of CISA's
    /// `dateReleased`.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["7d"]))]
    pub max_age: Option<String>,
}

/// Where a list is.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExploitedListSource {
    /// A ConfigMap with CISA's catalogue as JSON, or with an id on each line.
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
    /// The key with the list.
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
    /// For images with such a vulnerability.
    #[schemars(extend("default" = "reject"))]
    pub action: Option<GateAction>,
    /// For findings without a forecast.
    #[schemars(extend("default" = "count"))]
    pub missing: Option<MissingScores>,
}
