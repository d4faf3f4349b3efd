//! Updates that leave everything of an object as it is that could name an image, whatever its kind is.
//!
//! What a pod spec names, `update` tells apart. Objects of other kinds name images wherever a policy finds them, so that only what names
//! none in any of them is left out: unless the policy looks at just that.

use image_admission_cel::expression::Program;
use image_admission_settings::VerificationPolicy;
use serde_json::Value;

/// What of an object's metadata names no image.
const METADATA: [&str; 7] = [
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "generation",
    "deletionGracePeriodSeconds",
];

/// Whether an update leaves all of an object as it is that could name an image. Annotations could.
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

/// Whether a policy looks at what names no image otherwise: then it may be an image's name to it.
pub(super) fn reads_what_names_no_image(policy: &VerificationPolicy) -> bool {
    let read = |text: &str| match Program::read(text) {
        Ok(program) => program.paths().iter().any(|path| may_read(path)),
        Err(_) => true,
    };
    policy.deciding_expressions().any(|expression| read(&expression.text))
}

/// What of the object, or of the one before, a path from a variable on leads to; none where it leads elsewhere.
pub(super) fn below_object<'p, 't>(path: &'p [&'t str]) -> Option<&'p [&'t str]> {
    match path {
        ["object" | "oldObject", below @ ..] | ["request", "object" | "oldObject", below @ ..] => Some(below),
        ["request"] => Some(&[]),
        _ => None,
    }
}

/// Whether a path from a variable on leads to it, or to something around it.
fn may_read(path: &[&str]) -> bool {
    let Some(below) = below_object(path) else { return false };
    // As far as both go, they agree.
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
