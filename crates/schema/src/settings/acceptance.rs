//! What makes a scan report accepted.

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
    /// A finding that can be fixed counts only when it, or its fix, was published longer ago. Of sources with dates:
    /// `trivyOperator`, `registry`, and `custom` with `fields.published`.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["14d"]))]
    pub fix_grace_period: Option<String>,
    /// What is counted.
    #[schemars(extend("default" = "unique"))]
    pub count: Option<Count>,
    /// The same settings for namespaces, by their names. Each replaces that of the top level.
    #[schemars(extend("default" = {}))]
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
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$"))]
    pub fix_grace_period: Option<String>,
    /// What is counted.
    pub count: Option<Count>,
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

/// What counts as one finding.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// A vulnerability, in however many packages it is.
    Unique,
    /// A vulnerability in a package.
    Entries,
}
