//! Which requests a policy of `imageVerification` is about.

use crate::request::{AdmissionRequest, Operation};
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::{ExistingImages, ResourceRule, VerificationPolicy};
use serde_json::Value;

/// Whether the resource rules match a request. Without rules, a policy is about all kinds with a pod spec.
pub(super) fn is_about(policy: &VerificationPolicy, request: &AdmissionRequest<'_>, object: &Value) -> bool {
    let rules = &policy.resource_rules;
    if rules.is_empty() {
        return WorkloadKind::of(&request.group, &request.kind).is_some();
    }
    rules.iter().any(|rule| matches_rule(rule, request, object))
}

/// Whether the policy skips this request if it brings no new image.
pub(super) fn is_asked_of_new_images_alone(policy: &VerificationPolicy, request: &AdmissionRequest<'_>) -> bool {
    request.operation == Operation::Update && policy.existing_images == ExistingImages::Skip
}

fn matches_rule(rule: &ResourceRule, request: &AdmissionRequest<'_>, object: &Value) -> bool {
    let operation = match request.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    };
    let has = |list: &[String], wanted: &str| list.is_empty() || list.iter().any(|own| own == "*" || own == wanted);
    let name =
        image_admission_untrusted::pointer::at(object, "/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let resource = request.resource();
    has(&rule.groups, &resource.group)
        && has(&rule.versions, &resource.version)
        && has(&rule.operations, operation)
        && has(&rule.names, name)
        && rule.resources.iter().any(|own| matches_resource(own, &resource.name, request))
}

/// `pods`, `pods/status`, `*`, `*/*`. Containers that are added to a running Pod come as a subresource, but belong to the Pod: a
/// rule for Pods includes them.
fn matches_resource(rule: &str, name: &str, request: &AdmissionRequest<'_>) -> bool {
    let (resource, sub_resource) = rule.split_once('/').unwrap_or((rule, ""));
    let is_resource = resource == "*" || resource == name || is_plural(resource, &request.kind);
    let is_ephemeral = request.sub_resource == crate::pin::EPHEMERAL_CONTAINERS && sub_resource.is_empty();
    is_resource && (sub_resource == "*" || sub_resource == request.sub_resource || is_ephemeral)
}

/// Whether a resource is that of a kind: the audit scanner sends the kind instead of the resource.
fn is_plural(resource: &str, kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let Some(end) = resource.strip_prefix(kind.trim_end_matches('y')) else { return false };
    match end {
        "" | "s" | "es" => true,
        "ies" => kind.ends_with('y'),
        "ys" => kind.ends_with('y'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_scanners_resource_is_the_kind() {
        for (resource, kind, expected) in [
            ("pods", "Pod", true),
            ("ingresses", "Ingress", true),
            ("networkpolicies", "NetworkPolicy", true),
            ("gateways", "Gateway", true),
            ("pod", "Pod", true),
            ("podtemplates", "Pod", false),
            ("policies", "Pol", false),
        ] {
            assert_eq!(is_plural(resource, kind), expected, "{resource} {kind}");
        }
    }
}
