//! Updates without a change that could name an image, for objects of any kind.
//!
//! In a pod spec, `update` compares the images. Objects of other kinds may name images wherever a policy finds them. So only fields
//! that never name one are ignored, unless the policy reads just those.

use image_admission_cel::expression::Program;
use image_admission_settings::VerificationPolicy;
use serde_json::Value;

/// The fields of an object's metadata that name no image.
const METADATA: [&str; 7] = [
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "generation",
    "deletionGracePeriodSeconds",
];

/// Whether an update leaves everything unchanged that could name an image. Annotations could.
pub(crate) fn leaves_images_alone(object: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut rest = object.clone();
        if let Some(object) = rest.as_object_mut() {
            object.remove("status");
        }
        if let Some(spec) = rest.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("replicas");
        }
        if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !METADATA.contains(&key.as_str()));
        }
        rest
    };
    rest(object) == rest(old)
}

/// Whether a policy reads a field that usually names no image: to this policy it may.
pub(super) fn reads_what_names_no_image(policy: &VerificationPolicy) -> bool {
    let read = |text: &str| match Program::read(text) {
        Ok(program) => program.paths().iter().any(|path| may_read(path)),
        Err(_) => true,
    };
    policy.deciding_expressions().any(|expression| read(&expression.text))
}

/// The part of the object, or of the previous one, that a path of a variable leads to; none if it leads elsewhere.
pub(super) fn below_object<'p, 't>(path: &'p [&'t str]) -> Option<&'p [&'t str]> {
    match path {
        ["object" | "oldObject", below @ ..] | ["request", "object" | "oldObject", below @ ..] => Some(below),
        ["request"] => Some(&[]),
        _ => None,
    }
}

/// Whether a path of a variable leads to such a field, or to something around it.
fn may_read(path: &[&str]) -> bool {
    let Some(below) = below_object(path) else { return false };
    // They agree up to the end of the shorter path.
    let may_reach = |other: &[&str]| below.iter().zip(other).all(|(a, b)| a == b);
    METADATA.iter().any(|key| may_reach(&["metadata", key]))
        || may_reach(&["status"])
        || may_reach(&["spec", "replicas"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_to_what_names_no_image() {
        for (text, reads) in [
            ("object.metadata.labels.image != ''", true),
            ("has(oldObject.status.image)", true),
            ("request.object.spec.replicas > 1", true),
            ("object.metadata == oldObject.metadata", true),
            ("object == oldObject", true),
            ("object['metadata'].name == 'a'", true),
            ("string(request) == ''", true),
            ("object.metadata.labels.all(key, key != 'a')", true),
            ("[object].all(one, one.spec.image != '')", true),
            ("object.spec == oldObject.spec", true),
            ("object.spec.image.contains('/bad/')", false),
            ("object.metadata.annotations.image != ''", false),
            ("object.metadata.name == 'labels'", false),
            ("object.spec.sub.status == 'replicas'", false),
            ("request.operation == 'UPDATE' && request.userInfo.username == 'a'", false),
            ("namespaceObject.metadata.labels.env == 'prod'", false),
            ("imageConfigs(object.spec.image).all(c, c.labels.maintainer == 'a')", false),
            ("images.own.all(labels, labels != '') && variables.status", false),
        ] {
            let program = Program::read(text).unwrap();
            assert_eq!(program.paths().iter().any(|path| may_read(path)), reads, "{text}");
        }
    }
}
