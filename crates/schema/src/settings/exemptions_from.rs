//! Exemptions that stand in the cluster.

use schemars::JsonSchema;

/// Where objects stand that exempt findings, and what they may say. An object that is out of a bound holds for nothing.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    {"required": ["namespace"]},
    {"required": ["workloadNamespace"], "properties": {"workloadNamespace": {"const": true}}}
]))]
pub struct ExemptionsFrom {
    /// The namespace whose objects hold for workloads of every namespace. Whoever may write them there may exempt any image.
    #[schemars(extend("examples" = ["kubewarden"]))]
    pub namespace: Option<String>,
    /// Whether the objects of a workload's own namespace hold for it, and for no other.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// The severities of the findings that objects may exempt. Without it: all of them.
    #[schemars(length(min = 1), extend("examples" = [["high", "medium"]]))]
    pub severities: Option<Vec<FindingSeverity>>,
    /// How long after an object was made its last day may begin. Without it: for ever.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])+$", "examples" = ["30d"]))]
    pub max_duration: Option<String>,
    /// Whether objects must say who approved them, in `approvedBy`.
    #[schemars(extend("default" = false))]
    pub require_approved_by: Option<bool>,
}

/// How bad a finding is.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// The worst.
    Critical,
    /// The second worst.
    High,
    /// In the middle.
    Medium,
    /// The least.
    Low,
    /// Not rated, or rated with a word that isn't known.
    Unknown,
}
