//! Kubewarden's resources as its CRDs have them, read so that nothing in a document gets lost.

use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations};
use k8s_openapi::api::core::v1::{Affinity, EnvVar, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A resource with a spec, and no field but these.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Resource<S> {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: S,
}

/// `spec` of a ClusterAdmissionPolicy: the fields that the CRD of `policies.kubewarden.io/v1` has in Kubewarden 1.36. The
/// types of kubewarden-policy-sdk would do as well, but bring a k8s-openapi of another version than the command line's.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PolicySpec {
    pub(crate) module: String,
    pub(crate) rules: Vec<RuleWithOperations>,
    pub(crate) mutating: bool,
    pub(crate) settings: Value,
    pub(crate) mode: Option<Mode>,
    pub(crate) failure_policy: Option<FailurePolicy>,
    pub(crate) timeout_seconds: Option<i32>,
    pub(crate) timeout_eval_seconds: Option<i32>,
    pub(crate) policy_server: Option<String>,
    pub(crate) namespace_selector: Option<LabelSelector>,
    pub(crate) context_aware_resources: Option<Vec<Kind>>,
    pub(crate) background_audit: Option<bool>,
    pub(crate) allow_inside_admission_controller_namespace: Option<bool>,
    pub(crate) match_conditions: Option<Vec<MatchCondition>>,
    pub(crate) match_policy: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) object_selector: Option<LabelSelector>,
    pub(crate) side_effects: Option<String>,
}

impl PolicySpec {
    /// The fields that an AdmissionPolicy doesn't have, and that stand here all the same.
    pub(crate) fn of_the_cluster(&self) -> Vec<&'static str> {
        let fields = [
            ("namespaceSelector", self.namespace_selector.is_some()),
            ("contextAwareResources", self.context_aware_resources.is_some()),
            ("allowInsideAdmissionControllerNamespace", self.allow_inside_admission_controller_namespace.is_some()),
        ];
        fields.into_iter().filter(|(_, is_there)| *is_there).map(|(field, _)| field).collect()
    }
}

/// `spec` of an AdmissionPolicyGroup, in the same way.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GroupSpec {
    pub(crate) rules: Vec<RuleWithOperations>,
    pub(crate) expression: String,
    pub(crate) message: String,
    pub(crate) policies: BTreeMap<String, Member>,
    pub(crate) mode: Option<Mode>,
    pub(crate) failure_policy: Option<FailurePolicy>,
    pub(crate) timeout_seconds: Option<i32>,
    pub(crate) policy_server: Option<String>,
    pub(crate) background_audit: Option<bool>,
    pub(crate) match_conditions: Option<Vec<MatchCondition>>,
    pub(crate) match_policy: Option<String>,
    pub(crate) object_selector: Option<LabelSelector>,
    pub(crate) side_effects: Option<String>,
}

/// A member of one.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Member {
    pub(crate) module: String,
    pub(crate) settings: Option<Value>,
    pub(crate) timeout_eval_seconds: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Protect,
    Monitor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum FailurePolicy {
    Fail,
    Ignore,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// `spec` of a PolicyServer, in the same way.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ServerSpec {
    pub(crate) image: String,
    pub(crate) replicas: i32,
    pub(crate) min_available: Option<Value>,
    pub(crate) max_unavailable: Option<Value>,
    pub(crate) annotations: Option<BTreeMap<String, String>>,
    pub(crate) labels: Option<BTreeMap<String, String>>,
    pub(crate) env: Option<Vec<EnvVar>>,
    pub(crate) service_account_name: Option<String>,
    pub(crate) image_pull_secret: Option<String>,
    pub(crate) insecure_sources: Option<Vec<String>>,
    pub(crate) source_authorities: Option<BTreeMap<String, Vec<String>>>,
    pub(crate) verification_config: Option<String>,
    pub(crate) sigstore_trust_config: Option<String>,
    pub(crate) security_contexts: Option<Value>,
    pub(crate) affinity: Option<Affinity>,
    pub(crate) limits: Option<BTreeMap<String, String>>,
    pub(crate) requests: Option<BTreeMap<String, String>>,
    pub(crate) tolerations: Option<Vec<Toleration>>,
    pub(crate) priority_class_name: Option<String>,
    pub(crate) namespaced_policies_capabilities: Option<Vec<String>>,
    pub(crate) webhook_port: Option<i32>,
    pub(crate) readiness_probe_port: Option<i32>,
    pub(crate) metrics_port: Option<i32>,
}

/// Reads a document, and insists that the type has a place for everything in it: Kubernetes' types leave out what they
/// don't know.
pub(crate) fn lossless<T: DeserializeOwned + Serialize>(document: &Value) -> Result<T, String> {
    let read: T = serde_json::from_value(document.clone()).map_err(|error| format!("{error} in {document:#}"))?;
    let mut again = serde_json::to_value(&read).map_err(|error| error.to_string())?;
    drop_nulls(&mut again);
    if again == *document { Ok(read) } else { Err(format!("something got lost: {again:#} is left of {document:#}")) }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
