//! What the host itself says to a host call, word for word: policies tell failures apart by these texts.
use std::sync::Arc;

use image_admission_module_host::answers::{AnswerSource, Gate, Grants, HostAnswers, HostCall, Request};

/// Fails with the request it got.
struct Failing;

impl AnswerSource for Failing {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        Err(serde_json::to_string(request).unwrap())
    }
}

#[track_caller]
fn check(grants: &Grants, [binding, namespace, operation]: [&str; 3], payload: &str, expected: &str) {
    let gate = Gate::new(grants.clone(), Arc::new(Failing));
    let call = HostCall {
        binding: binding.to_owned(),
        namespace: namespace.to_owned(),
        operation: operation.to_owned(),
        payload: payload.as_bytes().to_vec(),
    };
    assert_eq!(gate.answer(&call), Err(expected.to_owned()));
}

const POD: &str = r#"{"api_version":"v1","kind":"Pod","name":"a","namespace":"b","disable_cache":false}"#;

#[test]
fn what_does_not_exist_is_refused() {
    let check = |path, expected| check(&Grants::everything(), path, "\"a\"", expected);
    check(["k8s", "oci", "v1/manifest_digest"], "unknown binding: k8s");
    check(["kubewarden", "oci", "v9/manifest_digest"], "unknown operation: v9/manifest_digest");
    check(["kubewarden", "kubernetes", "delete"], "unknown operation: delete");
    check(["kubewarden", "tracing", "count"], "unknown operation: count");
    check(["kubewarden", "files", "read"], "unknown namespace: files");
}

#[test]
fn a_payload_of_another_shape_is_refused() {
    let all = Grants::everything();
    check(
        &all,
        ["kubewarden", "oci", "v1/oci_manifest"],
        "{}",
        "invalid type: map, expected a string at line 1 column 0",
    );
    check(
        &all,
        ["kubewarden", "kubernetes", "list_resources_all"],
        r#"{"kind":"Pod"}"#,
        "missing field `api_version` at line 1 column 14",
    );
    check(
        &all,
        ["kubewarden", "oci", "v2/verify"],
        r#"{"type":"OciManifest","image":"a"}"#,
        "unknown variant `OciManifest`",
    );
}

#[test]
fn a_failure_has_the_host_s_prefix() {
    let check = |path, payload, expected| check(&Grants::everything(), path, payload, expected);
    check(
        ["kubewarden", "oci", "v1/manifest_digest"],
        "\"busybox\"",
        r#"Callback evaluation failure: {"OciManifestDigest":{"image":"busybox"}}"#,
    );
    check(
        ["kubewarden", "oci", "v2/verify"],
        r#"{"type":"SigstorePubKeyVerify","image":"a","pub_keys":["k"],"annotations":null}"#,
        r#"Callback evaluation failure: {"SigstorePubKeyVerify":{"image":"a","pub_keys":["k"],"annotations":null}}"#,
    );
    check(
        ["kubewarden", "kubernetes", "can_i"],
        r#"{"subject_access_review":{"user":"u"},"disable_cache":true}"#,
        r#"Callback evaluation failure: {"KubernetesCanI":{"request":{"user":"u"},"disable_cache":true}}"#,
    );
    check(
        ["kubewarden", "kubernetes", "get_resource"],
        POD,
        r#"Callback evaluation failure: {"KubernetesGetResource":{"api_version":"v1","kind":"Pod","name":"a","namespace":"b","disable_cache":false,"field_masks":null}}"#,
    );
}

#[test]
fn what_was_not_granted_is_refused() {
    let grants = Grants::from_metadata(
        "{rules: [], hostCapabilities: [oci/*, kubernetes/get_resource], contextAwareResources: [{apiVersion: v1, kind: Node}]}",
    )
    .unwrap();
    check(
        &grants,
        ["kubewarden", "kubernetes", "get_resource"],
        POD,
        "Policy has not been granted access to Kubernetes v1/Pod resources. The violation has been reported.",
    );
    check(
        &grants,
        ["kubewarden", "kubernetes", "list_resources_all"],
        "{}",
        "Policy has not been granted access to the 'kubernetes/list_resources_all' host capability. The violation has been reported.",
    );
    check(
        &grants,
        ["kubewarden", "oci", "v1/manifest_digest"],
        "\"a\"",
        r#"Callback evaluation failure: {"OciManifestDigest":{"image":"a"}}"#,
    );
    // The server looks at the grant first, whether or not the operation exists.
    check(
        &Grants::from_metadata("{}").unwrap(),
        ["kubewarden", "files", "read"],
        "",
        "Policy has not been granted access to the 'files/read' host capability. The violation has been reported.",
    );
}
