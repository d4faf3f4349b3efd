//! Conditions on what an object's author may change later, without bringing an image.

use super::unchanged::below_object;
use image_admission_cel::expression::Program;
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::{ExistingImages, Lint, LintRule, Settings, VerificationPolicy};
use std::collections::BTreeSet;

/// Conditions on labels and annotations, in policies that aren't evaluated for images that an update leaves as they are.
pub(crate) fn by_label(settings: &Settings) -> Vec<Lint> {
    let mut lints = Vec::new();
    let may_be_walked_round =
        |policy: &&VerificationPolicy| policy.existing_images == ExistingImages::Skip && is_about_workloads(policy);
    for policy in settings.verification.iter().filter(may_be_walked_round) {
        // A variable can mention only the variables before it.
        let mut variables = BTreeSet::new();
        for variable in &policy.variables {
            if looks_at_labels(&variable.expression.text, &variables) {
                variables.insert(variable.name.as_str());
            }
        }
        for condition in &policy.conditions {
            if looks_at_labels(&condition.expression.text, &variables) {
                let message = "the author of an object can change its labels and annotations later, and images that an update leaves as they are aren't verified, so an image can avoid it; set `existingImages: judge`, or select namespaces, by the policy's `namespaceSelector` or by `namespaceObject`";
                lints.push(Lint::new(LintRule::ByLabel, condition.expression.path.clone(), message));
            }
        }
    }
    lints
}

/// Whether an expression in CEL reads labels or annotations of a request's object.
#[must_use]
pub fn reads_labels(expression: &str) -> bool {
    looks_at_labels(expression, &BTreeSet::new())
}

/// The same, or mentions a variable that does. An unreadable expression, or one that reads the whole object, may read its labels.
fn looks_at_labels(expression: &str, variables: &BTreeSet<&str>) -> bool {
    let has_word = ["label", "annotation"].iter().any(|word| expression.contains(word));
    let Ok(program) = Program::read(expression) else { return has_word };
    let is_of_labels = |path: &Vec<&str>| match below_object(path) {
        Some([] | ["metadata"]) => has_word,
        Some(below) => matches!(below, ["metadata", "labels" | "annotations", ..]),
        None => false,
    };
    let mentions = |variable: &&str| expression.contains("variables") && expression.contains(*variable);
    program.paths().iter().any(is_of_labels) || variables.iter().any(mentions)
}

/// Whether a policy is about workloads. For other objects, a change of labels that it reads evaluates it again.
fn is_about_workloads(policy: &VerificationPolicy) -> bool {
    let is_workload = |resource: &String| resource.starts_with('*') || WorkloadKind::has_resource(resource);
    policy.resource_rules.is_empty() || policy.resource_rules.iter().flat_map(|rule| &rule.resources).any(is_workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_that_labels_decide() {
        for (condition, reads) in [
            ("object.metadata.labels.env == 'prod'", true),
            ("has(object.metadata.annotations)", true),
            ("'env' in object.metadata.labels", true),
            ("object.metadata['labels']['env'] == 'prod'", true),
            ("request.object.metadata.annotations.exists(key, key == 'env')", true),
            ("oldObject == null || oldObject.metadata.labels.env == 'prod'", true),
            ("[object].exists(o, o.metadata.labels.env == 'prod')", true),
            ("request['object']['metadata']['labels']['env'] == 'prod'", true),
            ("object['meta' + 'data'].labels.env == 'prod'", true),
            ("variables.isProd", true),
            ("variables['isProd']", true),
            ("has(object.metadata) && object == oldObject", false),
            ("variables.isHere", false),
            ("namespaceObject.metadata.labels.env == 'prod'", false),
            ("object.metadata.namespace == 'prod'", false),
            ("object.spec.template.metadata.labels.env == 'prod'", false),
            ("request.namespace.startsWith('prod-')", false),
        ] {
            let of = |more: serde_json::Value| {
                let mut policy = json!({"name": "signed", "matchConditions": [{"name": "prod", "expression": condition}],
                    "variables": [{"name": "env", "expression": "object.metadata.labels.env"}, {"name": "isProd", "expression": "variables.env == 'prod'"},
                        {"name": "isHere", "expression": "request.namespace == 'here'"}],
                    "verifications": [{"expression": "true"}]});
                for (key, value) in more.as_object().into_iter().flatten() {
                    policy[key] = value.clone();
                }
                let settings = Settings::read(&json!({"imageVerification": [policy]})).unwrap();
                by_label(&settings).into_iter().map(|lint| lint.path).collect::<Vec<_>>()
            };
            let path = "imageVerification[0].matchConditions[0].expression";
            let expected: &[&str] = if reads { &[path] } else { &[] };
            assert_eq!(of(json!({})), expected, "{condition}");
            assert_eq!(of(json!({"existingImages": "judge"})), [""; 0], "{condition}");
            let services = json!({"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["services"]}]}});
            assert_eq!(of(services), [""; 0], "{condition}");
        }
        // Kubernetes understands these, and this engine doesn't.
        assert!(reads_labels("object.metadata.?labels.?env.orValue('') == 'prod'"));
        assert!(!reads_labels("object.?spec.orValue({}) == {}"));
    }
}
