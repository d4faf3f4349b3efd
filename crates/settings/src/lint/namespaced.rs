//! The `rules` of a policy of a namespace, compared with the resources that such policies may judge.

use super::{Lint, LintRule, LintSeverity};
use crate::ResourceRule;

/// By API group, the resources that Kubewarden's chart allows policies of a namespace by default:
/// `namespacedPoliciesAllowedResources` of 1.38 and 1.39.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("", &["pods", "replicationcontrollers", "configmaps", "secrets", "services", "persistentvolumeclaims"]),
    ("apps", &["deployments", "statefulsets", "replicasets", "daemonsets"]),
    ("batch", &["jobs", "cronjobs"]),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("policy", &["poddisruptionbudgets"]),
];

/// What the rules of an AdmissionPolicy or an AdmissionPolicyGroup send and such a policy may not judge by default. Kubewarden 1.38
/// and later don't deploy it then.
#[must_use]
pub fn lint_namespaced_rules(rules: &[ResourceRule]) -> Vec<Lint> {
    let mut lints = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        let targets = rule.groups.iter().flat_map(|group| rule.resources.iter().map(move |resource| (group, resource)));
        let (wild, named): (Vec<_>, Vec<_>) = targets
            .filter(|(group, resource)| !is_allowed(group, resource))
            .partition(|(group, resource)| is_wild(group, resource));
        let mut add = |targets: Vec<(&String, &String)>, why: &str, severity| {
            if !targets.is_empty() {
                let names: Vec<String> = targets.into_iter().map(|(group, resource)| shown(group, resource)).collect();
                let message = format!("{}: {why}", names.join(", "));
                let path = format!("spec.rules[{position}].resources");
                lints.push(Lint::new(LintRule::NotAllowedResource, path, message).weighing(severity));
            }
        };
        add(
            wild,
            "from Kubewarden 1.38 on, a policy of a namespace with a wildcard gets the status `rejected` and judges nothing; name the resources",
            LintSeverity::Error,
        );
        add(
            named,
            "from Kubewarden 1.38 on, a policy of a namespace that names this gets the status `rejected` and judges nothing, unless `namespacedPoliciesAllowedResources` of Kubewarden's chart lists it; take it out, or have it listed",
            LintSeverity::Warning,
        );
    }
    lints
}

/// A subresource is allowed where its resource is.
fn is_allowed(group: &str, resource: &str) -> bool {
    let parent = parent(resource);
    ALLOWED.iter().any(|(own, resources)| *own == group && resources.contains(&parent))
}

fn is_wild(group: &str, resource: &str) -> bool {
    group.contains('*') || parent(resource).contains('*')
}

fn parent(resource: &str) -> &str {
    resource.split_once('/').map_or(resource, |(parent, _)| parent)
}

/// `` `ingresses.networking.k8s.io` ``
fn shown(group: &str, resource: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("`{resource}{dot}{group}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a rule: each severity, and the names that it is about.
    #[track_caller]
    fn check(groups: &[&str], resources: &[&str], expected: &[(LintSeverity, &str)]) {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let rule = ResourceRule { groups: texts(groups), resources: texts(resources), ..ResourceRule::default() };
        let lints = lint_namespaced_rules(&[ResourceRule::default(), rule]);
        assert!(lints.iter().all(|lint| lint.path == "spec.rules[1].resources"), "{lints:?}");
        let found: Vec<(LintSeverity, &str)> =
            lints.iter().map(|lint| (lint.severity, lint.message.split(": ").next().unwrap())).collect();
        assert_eq!(found, expected, "{groups:?} {resources:?}");
    }

    #[test]
    fn resources_that_policies_of_a_namespace_may_be_about() {
        check(&[""], &["pods", "pods/ephemeralcontainers", "pods/*", "replicationcontrollers"], &[]);
        check(&["apps"], &["deployments", "replicasets", "statefulsets", "daemonsets"], &[]);
        check(&["batch"], &["jobs", "cronjobs/status"], &[]);
        check(&["", "apps"], &["pods"], &[(LintSeverity::Warning, "`pods.apps`")]);
        check(
            &["networking.k8s.io"],
            &["ingresses", "networkpolicies"],
            &[(LintSeverity::Warning, "`ingresses.networking.k8s.io`, `networkpolicies.networking.k8s.io`")],
        );
        check(
            &[""],
            &["*", "serviceaccounts"],
            &[(LintSeverity::Error, "`*`"), (LintSeverity::Warning, "`serviceaccounts`")],
        );
        check(&["*"], &["pods"], &[(LintSeverity::Error, "`pods.*`")]);
        check(&[""], &["*/*"], &[(LintSeverity::Error, "`*/*`")]);
        check(&[], &["*"], &[]);
    }
}
