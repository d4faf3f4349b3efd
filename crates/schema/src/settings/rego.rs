//! Rules in Rego, and what they read.

use image_admission_settings::RegoVersion;
use schemars::JsonSchema;
use serde_json::Value;
use std::collections::BTreeMap;

/// A list of policies, or the entries of a Conftest ConfigMap.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RegoPolicies {
    /// Policies, or ConfigMaps with them.
    List(Vec<RegoPolicyEntry>),
    /// A ConfigMap, with or without its envelope.
    ConfigMap(ConfigMap),
}

/// An entry of the list.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RegoPolicyEntry {
    /// A policy.
    Policy(Box<RegoPolicy>),
    /// A ConfigMap, with or without its envelope.
    ConfigMap(ConfigMap),
}

/// A Conftest ConfigMap with the keys `conftest.policy.<name>.rego`, `conftest.policy.<name>.kinds` and
/// `conftest.library.<name>.rego`. Its other keys are for a scanner's jobs, and are ignored.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ConfigMap {
    /// As it is applied to a cluster.
    Whole(WholeConfigMap),
    /// Only its data.
    #[schemars(extend("minProperties" = 1, "propertyNames" = {"pattern": "^conftest\\."}))]
    Data(BTreeMap<String, Value>),
}

/// A ConfigMap with its envelope.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WholeConfigMap {
    /// `v1`.
    pub api_version: Option<Value>,
    /// The kind.
    #[schemars(extend("const" = "ConfigMap"))]
    pub kind: String,
    /// Ignored.
    pub metadata: Option<Value>,
    /// Ignored.
    pub immutable: Option<Value>,
    /// The entries.
    pub data: BTreeMap<String, Value>,
}

/// A policy for objects of some kinds.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegoPolicy {
    /// The name in messages. It must be unique.
    pub name: String,
    /// The kinds that it judges: `Pod`, `apps/Deployment`, `v1/Pod`, `Workload` for all with a pod spec, `*`.
    pub kinds: Kinds,
    /// The module, with rules like `deny[msg]`, `violation[{"msg": msg}]`, `warn[msg]`, `patch[operation]`, or `system.main`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub rego: String,
    /// What rules see as `input.parameters`.
    pub parameters: Option<Value>,
    /// The syntax, if not that of the top level.
    pub rego_version: Option<RegoVersion>,
}

/// Kinds of objects: a list, or a string with commas.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Kinds {
    /// A list.
    List(#[schemars(length(min = 1))] Vec<String>),
    /// With commas between them.
    Text(String),
}

/// A module that policies refer to.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegoLibrary {
    /// The name in messages.
    pub name: String,
    /// The module.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub rego: String,
    /// The syntax, if not that of the top level.
    pub rego_version: Option<RegoVersion>,
}

/// A kind in the cluster that rules see.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextKind {
    /// `v1`, or `group/version`.
    #[schemars(extend("examples" = ["networking.k8s.io/v1"]))]
    pub api_version: String,
    /// The kind.
    #[schemars(extend("examples" = ["Ingress"]))]
    pub kind: String,
    /// The key in `data.kubernetes`, if it isn't the kind's usual plural.
    pub plural: Option<String>,
}
