//! Which requests and which images a policy of `imageVerification` is about.

use crate::glob;
use crate::image::{ImageReference, canonical_host, is_host_like};
use crate::request::{AdmissionRequest, Operation};
use crate::settings::{ResourceRule, VerificationPolicy};
use crate::workload::WorkloadKind;
use serde_json::Value;
use std::collections::BTreeSet;

/// Whether the resource rules take a request in. Without any, a policy is about all that names images by itself.
pub(super) fn is_about(policy: &VerificationPolicy, request: &AdmissionRequest<'_>, object: &Value) -> bool {
    let rules = &policy.resource_rules;
    if rules.is_empty() {
        return WorkloadKind::of(&request.group, &request.kind).is_some();
    }
    rules.iter().any(|rule| matches_rule(rule, request, object))
}

fn matches_rule(rule: &ResourceRule, request: &AdmissionRequest<'_>, object: &Value) -> bool {
    let operation = match request.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    };
    let has = |list: &[String], wanted: &str| list.is_empty() || list.iter().any(|own| own == "*" || own == wanted);
    let name = crate::pointer::at(object, "/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let resource = request.resource();
    has(&rule.groups, &resource.group)
        && has(&rule.versions, &resource.version)
        && has(&rule.operations, operation)
        && has(&rule.names, name)
        && rule.resources.iter().any(|own| matches_resource(own, &resource.name, request))
}

/// `pods`, `pods/status`, `*`, `*/*`. Containers that are added to a Pod that runs come as a subresource, and are the
/// Pod's all the same: a rule for Pods that left them out would be no rule.
fn matches_resource(rule: &str, name: &str, request: &AdmissionRequest<'_>) -> bool {
    let (resource, sub_resource) = rule.split_once('/').unwrap_or((rule, ""));
    let is_resource = resource == "*" || resource == name || is_plural(resource, &request.kind);
    let is_ephemeral = request.sub_resource == crate::pin::EPHEMERAL_CONTAINERS && sub_resource.is_empty();
    is_resource && (sub_resource == "*" || sub_resource == request.sub_resource || is_ephemeral)
}

/// Whether a resource is that of a kind: the audit scanner sends the kind in the resource's place.
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

/// Whether a pattern takes an image in: by any of its [`names_of`]. Where a reference has a digest, the pattern's tag says
/// nothing: the digest decides what runs, and whoever writes the Pod whether a tag stands beside it.
pub(super) fn matches_image(pattern: &str, image: &str) -> bool {
    let same = |a: u8, b: u8| a == b;
    let Ok(reference) = ImageReference::parse(image) else { return glob::matches(pattern, image, same) };
    let (host, path) = match pattern.split_once('/') {
        Some((host, path)) if is_host_like(host) => (Some(host), path),
        _ => (None, pattern),
    };
    let canonical = host.and_then(|host| canonical_host(host).ok());
    let pattern = canonical.map_or_else(|| pattern.to_owned(), |host| format!("{host}/{path}"));
    let names = names_of(image, &reference);
    let matches = |pattern: &str| names.iter().any(|name| glob::matches(pattern, name, same));
    matches(&pattern) || reference.digest().is_some() && without_tag(&pattern).is_some_and(matches)
}

/// A pattern without the part that is compared with a tag.
fn without_tag(pattern: &str) -> Option<&str> {
    let (name, tag) = pattern.rsplit_once(':')?;
    (!tag.contains('/') && !name.contains('@')).then_some(name)
}

/// Every name that an image goes by: as it is written, its canonical names, Docker Hub's without the host too, each with
/// its tag, with its digest, with both and with neither.
pub(crate) fn names_of(image: &str, reference: &ImageReference) -> BTreeSet<String> {
    let mut names = BTreeSet::from([image.to_owned(), reference.name()]);
    names.extend(reference.compared_names(true));
    names.extend(reference.compared_names(false));
    let short: Vec<String> =
        names.iter().filter_map(|name| name.split_once('@')).map(|(name, _)| name.to_owned()).collect();
    names.extend(short);
    let hub: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("docker.io/"))
        .flat_map(|name| [Some(name), name.strip_prefix("library/")])
        .flatten()
        .map(str::to_owned)
        .collect();
    names.extend(hub);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_compared_with_every_name_of_an_image() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (pattern, image, expected) in [
            ("ghcr.io/*", "ghcr.io/team/app:1", true),
            ("ghcr.io/*", "GHCR.IO/team/app:1", true),
            ("GHCR.io:443/*", "ghcr.io/team/app:1", true),
            ("ghcr.io/*", "ghcr.io.evil.com/team/app:1", false),
            ("ghcr.io/team/*", "ghcr.io/teamevil/app", false),
            ("docker.io/*", "nginx", true),
            ("index.docker.io/library/*", "nginx", true),
            ("docker.io/nginx*", "nginx:1", true),
            ("nginx*", "nginx:1", true),
            ("nginx*", "docker.io/library/nginx:1", true),
            ("nginx*", "index.docker.io/nginx:1", true),
            ("team/*", "docker.io/team/app", true),
            ("team/*", "quay.io/team/app", false),
            ("*", "nginx", true),
            ("*/team/*", "ghcr.io/team/app", true),
            ("ghcr.io/team/app:1.?", "ghcr.io/team/app:1.2", true),
            ("ghcr.io/team/app:1.?", "ghcr.io/team/app:1.22", false),
            ("ghcr.io/team/app", "ghcr.io/team/app:1", true),
        ] {
            assert_eq!(matches_image(pattern, image), expected, "{pattern} {image}");
        }
        assert!(matches_image("ghcr.io/team/app:*", &format!("ghcr.io/team/app:1@{digest}")));
        assert!(matches_image("ghcr.io/team/app@sha256:*", &format!("ghcr.io/team/app:1@{digest}")));
        assert!(matches_image("ghcr.io/team/app:1", &format!("ghcr.io/team/app:1@{digest}")));
        // The digest decides what runs.
        for pattern in ["ghcr.io/team/app:*", "ghcr.io/team/app:v1*", "ghcr.io/*:v1", "*:v1"] {
            assert!(matches_image(pattern, &format!("ghcr.io/team/app@{digest}")), "{pattern}");
            assert!(matches_image(pattern, &format!("ghcr.io/team/app:x@{digest}")), "{pattern}");
        }
        assert!(!matches_image("ghcr.io/team/other:*", &format!("ghcr.io/team/app@{digest}")));
    }

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
