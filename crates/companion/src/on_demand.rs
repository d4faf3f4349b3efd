//! A scan that a person asks for: of an image that no workload names, since its Pod was rejected. A suspended Job is a workload that
//! the companion sees like any other, and that never runs.

use crate::workload::MANAGED_BY;
use serde_json::{Value, json};

/// The value of [`MANAGED_BY`] of these Jobs.
pub const BY_HAND: &str = "image-admission-scan";

/// A Pod with an image. It asks for no right, so that rules for restricted Pods let it pass.
#[must_use]
pub fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(),
        "spec": pod_spec(image, &[]),
    })
}

/// A Job with the same Pod, which it never makes.
#[must_use]
pub fn job(image: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(),
        "spec": {"suspend": true, "template": {"spec": pod_spec(image, &[])}},
    })
}

/// What a Pod with an image needs to pass rules for restricted Pods. It never runs.
pub(crate) fn pod_spec(image: &str, image_pull_secrets: &[String]) -> Value {
    let secrets: Vec<Value> = image_pull_secrets.iter().map(|name| json!({"name": name})).collect();
    json!({
        "automountServiceAccountToken": false,
        "imagePullSecrets": secrets,
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "image",
            "image": image,
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        }],
    })
}

fn metadata() -> Value {
    json!({"generateName": "scan-", "labels": {MANAGED_BY: BY_HAND}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use image_admission_image::workload::WorkloadKind;

    /// What the API server makes of an object.
    fn stored(mut object: Value) -> Value {
        for (key, value) in [("name", "scan-x2x7k"), ("namespace", "shop"), ("uid", "1")] {
            object["metadata"][key] = value.into();
        }
        object
    }

    #[test]
    fn the_companion_sees_the_image_of_a_job() {
        let job = stored(job("ghcr.io/team/web:1.0"));
        let seen = Workload::read(WorkloadKind::Job, &job).unwrap();
        assert_eq!(seen.images.into_iter().collect::<Vec<_>>(), ["ghcr.io/team/web:1.0"]);
        assert!(!seen.is_owned);
        assert_eq!(job["spec"]["suspend"], true);
    }

    #[test]
    fn the_pod_is_the_one_of_the_job() {
        assert_eq!(pod("a")["spec"], job("a")["spec"]["template"]["spec"]);
        assert_eq!(pod("a")["spec"]["automountServiceAccountToken"], false);
    }
}
