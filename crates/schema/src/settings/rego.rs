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
    /// A ConfigMap, with its envelope or without.
    ConfigMap(ConfigMap),
}

/// An entry of the list.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RegoPolicyEntry {
    /// A policy.
    Policy(Box<RegoPolicy>),
    /// A ConfigMap, with its envelope or without.
    ConfigMap(ConfigMap),
}

/// A Conftest ConfigMap: keys `conftest.policy.<name>.rego`, `conftest.policy.<name>.kinds`, `conftest.library.<name>.rego`;
/// its other keys set up a scanner's jobs, and mean nothing here.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum ConfigMap {
    /// As it is applied to a cluster.
    Whole(WholeConfigMap),
    /// Its data alone.
    #[schemars(extend("minProperties" = 1, "propertyNames" = {"pattern": "^conftest\\."}))]
    Data(BTreeMap<String, Value>),
}

/// A ConfigMap with its envelope.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WholeConfigMap {
    /// `v1`
    pub api_version: Option<Value>,
    /// `ConfigMap`
    #[schemars(extend("const" = "ConfigMap"))]
    pub kind: String,
    /// Its name, which isn't looked at.
    pub metadata: Option<Value>,
    /// Whether it can be changed, which isn't looked at.
    pub immutable: Option<Value>,
    /// The entries.
    pub data: BTreeMap<String, Value>,
}

/// A policy for objects of some kinds.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegoPolicy {
    /// What messages call it; no two have the same.
    pub name: String,
    /// The kinds of objects that it judges: `Pod`, `apps/Deployment`, `v1/Pod`, `Workload` for all that have a pod spec, `*`.
    pub kinds: Kinds,
    /// Its module: rules like `deny[msg]`, `violation[{"msg": msg}]`, `warn[msg]`, `patch[operation]`, or `system.main`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub rego: String,
    /// What its rules see as `input.parameters`.
    pub parameters: Option<Value>,
    /// Its syntax, if not that of `regoVersion` at the top level.
    pub rego_version: Option<RegoVersion>,
}

/// Kinds of objects: a list, or a text with commas.
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
    /// What messages call it.
    pub name: String,
    /// The module.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub rego: String,
    /// Its syntax, if not that of `regoVersion` at the top level.
    pub rego_version: Option<RegoVersion>,
}

/// A kind of the cluster that rules see.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextKind {
    /// `v1`, or `group/version`.
    #[schemars(extend("examples" = ["networking.k8s.io/v1"]))]
    pub api_version: String,
    /// The kind.
    #[schemars(extend("examples" = ["Ingress"]))]
    pub kind: String,
    /// The key below `data.kubernetes`, if it isn't the plural that Kubernetes makes of the kind.
    pub plural: Option<String>,
}
