//! A host that answers with what the fuzzer makes, so that every reader is reached on the way that a request takes.

use image_admission_engine::{HostCalls, Timestamp, WireHost, validate, validate_settings};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The key that attestations are verified with.
pub const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEADLFD/uH8MUfmgA25ATXN2fJZMhQP7kyNDIq6slIEacE=\n-----END PUBLIC KEY-----\n";

/// The digest of the image.
pub const IMAGE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
/// The digest of what stands beside it.
pub const ARTIFACT: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// What the host answers; what is none is "manifest unknown".
#[derive(Default)]
pub struct Answers {
    /// The manifest of the image.
    pub manifest: Vec<u8>,
    /// The artifact beside it, whole.
    pub artifact: Vec<u8>,
}

impl HostCalls for Answers {
    fn call(&self, _: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let payload: Value = serde_json::from_slice(payload).expect("the engine writes JSON");
        let of = |text: &str| json!({"digest": text, "is_trusted": true}).to_string().into_bytes();
        match operation {
            // What stands beside an image has the image's digest in its tag.
            "v1/manifest_digest" if payload.to_string().contains(":sha256-") => Ok(of(ARTIFACT)),
            "v1/manifest_digest" => Ok(of(IMAGE)),
            "v1/oci_manifest" => Ok(self.manifest.clone()),
            "v1/oci_manifest_config" => Ok(self.artifact.clone()),
            "v2/verify" => Err("Image verification failed".to_owned()),
            _ => Err("Cannot find v1/X named 'x'".to_owned()),
        }
    }
}

/// An image's manifest that is well made.
pub fn manifest() -> Vec<u8> {
    br#"{"schemaVersion":2,"config":{"digest":"sha256:3333333333333333333333333333333333333333333333333333333333333333"},"layers":[]}"#.to_vec()
}

/// An artifact of a configuration; none where that is no JSON, which no host hands out.
pub fn artifact(config: &[u8]) -> Option<Vec<u8>> {
    let config: &RawValue = serde_json::from_slice(config).ok()?;
    let artifact =
        format!(r#"{{"manifest":{{"subject":{{"digest":"{IMAGE}"}}}},"digest":"{ARTIFACT}","config":{config}}}"#);
    Some(artifact.into_bytes())
}

/// A request for a Pod of one image.
pub fn request(image: &str) -> Value {
    json!({
        "uid": "u", "operation": "CREATE", "namespace": "default",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}},
    })
}

/// What the engine answers: an answer there must be, whatever comes in, and the same for the same.
pub fn decide(request: &Value, settings: &Value, answers: Answers) -> Value {
    // With settings that are refused nothing else is ever read.
    static VALID: std::sync::Once = std::sync::Once::new();
    VALID.call_once(|| {
        let validity = validate_settings(settings.to_string().as_bytes()).response;
        assert!(validity.starts_with(br#"{"valid":true"#), "{}", String::from_utf8_lossy(&validity));
    });
    answer(json!({"request": request, "settings": settings}).to_string().as_bytes(), answers)
}

/// The same of bytes.
pub fn answer(payload: &[u8], answers: Answers) -> Value {
    let host = WireHost(answers);
    let answer = validate(payload, &host, Timestamp(1_790_000_000));
    let again = validate(payload, &host, Timestamp(1_790_000_000));
    assert!(answer.response == again.response, "another answer for the same");
    let response: Value = serde_json::from_slice(&answer.response).expect("the answer is JSON");
    assert!(response["accepted"].is_boolean(), "{response}");
    response
}
