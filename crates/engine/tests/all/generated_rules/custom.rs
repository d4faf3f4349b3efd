//! Custom rules that use the generated ones, add to them, or redefine them.

use std::collections::BTreeSet;

/// How custom rules are evaluated with the generated ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum How {
    /// The phase decides the generated part; beside the custom rules stand only the generated rules that they mention.
    Pruned,
    /// They redefine a generated rule: beside them stand all generated rules, which decide.
    Whole,
    /// They add a clause to a generated function: all generated rules stand below them, in the same module.
    OneModule,
}

/// Custom rules without their package. The name of a rule that they define stands at the beginning of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Custom {
    pub(crate) how: How,
    pub(crate) rules: &'static str,
}

impl Custom {
    pub(crate) fn module(&self) -> String {
        format!("package imageadmission\n{}", self.rules)
    }

    /// Every name that the rules use, and more words.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let uses = self.rules.lines().map(|line| line.trim_start_matches("default ").trim_start_matches(is_name));
        uses.flat_map(|line| line.split(|c: char| !is_name(c))).map(str::to_owned).collect()
    }
}

const fn pruned(rules: &'static str) -> Custom {
    Custom { how: How::Pruned, rules }
}

const fn whole(rules: &'static str) -> Custom {
    Custom { how: How::Whole, rules }
}

const fn one_module(rules: &'static str) -> Custom {
    Custom { how: How::OneModule, rules }
}

pub(crate) const PRE_SCAN_RULES: [Custom; 20] = [
    pruned("deny_pod[\"latest is no version\"] { endswith(input.Images[_], \":latest\") }"),
    pruned(
        "deny_pod[msg] {
    policy := final_image_policies[_]
    policy.ns
    msg := sprintf(\"'%s': %s by the %s\", [policy.image, policy.action, scope_str(policy.ns, policy.prefix)])
}",
    ),
    pruned("allow_pod { namespace == \"prod\" }"),
    pruned("allow_pod {\n    namespace == \"dev\"\n    no_denied_pod\n}"),
    pruned(
        "default allow_pod = false\n\nallow_pod {\n    policies.defaultPolicy == \"scan\"\n    count(input.Images) > 2\n}",
    ),
    pruned(
        "deny_pod[msg] {\n    image_action_reject[[ns, prefix, image]]\n    msg := sprintf(\"%s %v %v\", [image, ns, prefix])\n}",
    ),
    pruned("deny_pod[\"something is to be scanned\"] { not any_image_action_scan }"),
    pruned(
        "deny_pod[msg] {\n    image_has_prefix(input.Images[_], \"ghcr.io/\", \"reject\")\n    msg := namespace_str(true)\n}",
    ),
    pruned(
        "deny_pod[msg] { msg := config_error[_] }\n\ndeny_pod[\"two\"] { count(valid_policy_value) == 3; count(input.Images) == 2 }",
    ),
    pruned(
        "deny_pod[\"would not run in prod\"] {
    count(image_action_reject) > 0 with input.AdmissionRequest.object.metadata.namespace as \"prod\"
}",
    ),
    pruned(
        "deny_pod[msg] {
    entry := first_matching_custom_policy(data.preScanPolicies.customPolicies, input.Images[_])
    msg := policy_str(entry.prefix)
}",
    ),
    pruned(
        "safe(image) { data.imageadmission.final_image_policy(image).action == \"accept\" }

deny_pod[\"one is not accepted\"] { image := input.Images[_]; not safe(image) }",
    ),
    // The generated rule needs what this one adds to, so that it goes round in a circle.
    pruned("deny_pod[\"never\"] { allow_pod }"),
    pruned("deny_pod[5] { namespace == \"staging\" }"),
    whole("allow_pod = false { namespace == \"dev\" }"),
    whole("config_error[\"staging has no settings\"] { namespace == \"staging\" }"),
    whole("any_image_action_scan { namespace == \"prod\" }"),
    whole(
        "valid_policy_value[\"later\"] { true }\n\nimage_action_reject[[false, null, image]] { image := input.Images[1] }",
    ),
    one_module(
        "custom_image_policy(image) = policy {
    contains(image, \"evil\")
    policy := {\"ns\": false, \"prefix\": \"evil\", \"action\": \"reject\"}
}",
    ),
    one_module(
        "policy_str(prefix) = \"any policy\" { prefix == null }\n\ndeny_pod[msg] { msg := policy_str(final_image_policies[_].prefix) }",
    ),
];

pub(crate) const SCAN_RULES: [Custom; 16] = [
    pruned(
        "allow_image { input.ScanReport.Status == \"accepted\" }

deny_image[msg] {
    not allow_image
    msg := sprintf(\"Denying images by default. Status: %s\", [input.ScanReport.Status])
}",
    ),
    pruned("deny_image[\"a failed scan\"] { scan_result_failed }"),
    pruned(
        "deny_image[msg] {\n    imagePolicy.prefix == null\n    not scan_result_rejected\n    msg := policy_str(imagePolicy.prefix)\n}",
    ),
    pruned(
        "deny_image[msg] {\n    deny_image_reason[[ns, prefix, reason]]\n    msg := sprintf(\"%v %v %s\", [ns, prefix, reason])\n}",
    ),
    pruned(
        "deny_image[msg] {\n    scan_result_not_available\n    msg := sprintf(\"%s when pending, %s when failed\", [report_pending_action, scan_failed_action])\n}",
    ),
    pruned(
        "deny_image[sprintf(\"%s: %s\", [namespace, image])] { count(config_error) == 0; input.ContainerObject.name == \"c1\" }",
    ),
    pruned(
        "deny_image[\"prod\"] { data.imageadmission.namespace == \"prod\"; data.policies.defaultPolicy == \"scan-result\" }",
    ),
    pruned(
        "deny_image[\"a custom policy's\"] { count(image_action_scan_result & {[false, \"g\"], [true, \"g\"]}) > 0 }",
    ),
    pruned(
        "deny_image[\"of Docker Hub\"] { image_has_prefix(image, \"docker.io/\", \"accept\"); not input.ScanReport.Passed }",
    ),
    pruned("deny_image[5] { namespace == \"staging\" }"),
    whole("deny_image_reason[[false, null, \"by hand\"]] { input.ContainerObject.name == \"c0\" }"),
    whole("image_action_reject[[false, null]] { input.ScanReport.Passed == false }"),
    // Another value than the generated rule's is a conflict.
    whole("report_pending_action = \"accept\" { namespace == \"prod\" }"),
    whole("namespace = \"prod\" { input.ContainerObject.name == \"c0\" }"),
    one_module("scope_str(ns, prefix) = \"Nobody's\" { prefix == null }"),
    one_module(
        "final_image_policy(image) = policy {
    endswith(image, \"nginx\")
    policy := {\"ns\": false, \"prefix\": null, \"action\": \"accept\"}
}",
    ),
];
