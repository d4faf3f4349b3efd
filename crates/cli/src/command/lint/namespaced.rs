//! What an AdmissionPolicy or an AdmissionPolicyGroup can't have: Kubewarden grants policies of a namespace nothing of the cluster,
//! and a PolicyServer may keep calls from them.

use image_admission_engine::{ReadKind, calls_made, cluster_reads};
use image_admission_host::Capability;
use image_admission_settings::{Lint as Remark, LintRule, LintSeverity, Settings};
use serde_json::Value;

use super::manifest::{by_setting, names, text};
use image_admission_manifests::settings::FoundPolicy;

/// Fields that policies of the cluster have, and what there is in their place.
const OF_THE_CLUSTER: [(&str, &str); 3] = [
    ("contextAwareResources", "it may read nothing of the cluster; leave it out, or deploy a policy of the cluster"),
    ("namespaceSelector", "it is about its own namespace alone; leave it out, or deploy a policy of the cluster"),
    (
        "allowInsideAdmissionControllerNamespace",
        "it is never asked in Kubewarden's namespace; leave it out, or deploy a policy of the cluster",
    ),
];

/// What is to be remarked of a policy of a namespace; `servers` are the PolicyServers beside it.
pub(super) fn remarks(found: &FoundPolicy, policy: &Value, settings: &Settings, servers: &[Value]) -> Vec<Remark> {
    let kind = found.kind();
    let holder = found.member.as_ref().map_or_else(|| "spec".to_owned(), |member| format!("spec.policies.{member}"));
    let mut remarks = Vec::new();
    for (field, why) in OF_THE_CLUSTER {
        for holder in ["spec", holder.as_str()].into_iter().take(if holder == "spec" { 1 } else { 2 }) {
            let path = format!("{holder}.{field}");
            if policy.pointer(&format!("/{}", path.replace('.', "/"))).is_some() {
                let message = format!("the API server refuses or drops it, since an {kind} has no such field: {why}");
                remarks.push(Remark::new(LintRule::NeedsCluster, path, message));
            }
        }
    }
    remarks.extend(by_setting(cluster_reads(settings).into_iter()).into_iter().map(|(path, kinds)| {
        let instead = kinds.first().map_or("leave it out", |ReadKind { instead, .. }| instead);
        let message = format!(
            "it reads {}, which no {kind} is granted, so that its look-ups fail, and reject; {instead}, or deploy a Cluster{kind} with a `namespaceSelector`",
            names(&kinds)
        );
        Remark::new(LintRule::NeedsCluster, path, message)
    }));
    remarks.extend(withheld(policy, settings, servers));
    remarks
}

/// Calls that a PolicyServer beside the policy keeps from it. Where there is none, only the call that CVE-2026-42541 was about is
/// remarked: it is the one that administrators withhold.
fn withheld(policy: &Value, settings: &Settings, servers: &[Value]) -> Option<Remark> {
    let calls = calls_made(settings);
    let name = text(policy, "/spec/policyServer").unwrap_or("default");
    let Some(server) = servers.iter().find(|server| text(server, "/metadata/name") == Some(name)) else {
        let message = "whether somebody may is asked by `kubernetes/can_i`, which a PolicyServer may keep from policies of a namespace, since it tells them who may do what in the cluster; where it does nobody is let through: have it listed in `namespacedPoliciesCapabilities`";
        let is_asked = calls.iter().any(|call| call.name() == "kubernetes/can_i");
        return is_asked
            .then(|| Remark::new(LintRule::WithheldCall, "breakGlass", message).weighing(LintSeverity::Note));
    };
    // Without the list every call is granted.
    let patterns: Vec<&str> = server
        .pointer("/spec/namespacedPoliciesCapabilities")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .map(str::trim)
        .collect();
    let is_granted = |call: &Capability| {
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => call.name().starts_with(prefix),
            None => *pattern == call.name(),
        })
    };
    let missing: Vec<String> =
        calls.into_iter().filter(|call| !is_granted(call)).map(|call| format!("`{}`", call.name())).collect();
    let message = format!(
        "`namespacedPoliciesCapabilities` of the PolicyServer `{name}` keeps {} from it, so that what needs it fails, and rejects; add what is missing there",
        missing.join(", ")
    );
    (!missing.is_empty()).then(|| Remark::new(LintRule::WithheldCall, "spec.policyServer", message))
}
