//! Exemptions that stand in the cluster.

use schemars::JsonSchema;

/// Where objects are that exempt findings, and within which bounds. An object out of bounds exempts nothing.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    {"required": ["namespace"]},
    {"required": ["workloadNamespace"], "properties": {"workloadNamespace": {"const": true}}}
]))]
pub struct ExemptionsFrom {
    /// The namespace whose objects hold for workloads of all namespaces. Anyone who can write them there can exempt any image.
    #[schemars(extend("examples" = ["kubewarden"]))]
    pub namespace: Option<String>,
    /// Whether a namespace's objects hold for its own workloads.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// The severities of findings that objects may exempt. Without it: all.
    #[schemars(length(min = 1), extend("examples" = [["high", "medium"]]))]
    pub severities: Option<Vec<FindingSeverity>>,
    /// The longest time from an object's creation to the beginning of its last day. Without it: unlimited.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])+$", "examples" = ["30d"]))]
    pub max_duration: Option<String>,
    /// Whether objects must name who approved them, in `approvedBy`.
    #[schemars(extend("default" = false))]
    pub require_approved_by: Option<bool>,
}

/// The severity of a finding.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// The highest.
    Critical,
    /// The second.
    High,
    /// The third.
    Medium,
    /// The lowest.
    Low,
    /// No rating, or one that isn't known.
    Unknown,
}
