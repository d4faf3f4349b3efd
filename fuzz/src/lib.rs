//! A host that answers with what the fuzzer makes, so that every reader is reached on the way that a request takes; and what makes
//! documents by their structure.

pub mod structure;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use image_admission_engine::{validate, validate_settings};
use image_admission_host::{HostCalls, WireHost};
use image_admission_untrusted::clock::{Clock, use_clock};
use image_admission_untrusted::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::{LazyLock, Once};
use std::time::Duration;

/// The present.
pub const NOW: Timestamp = Timestamp(1_790_000_000);

/// The type of the statements that are asked for.
pub const PREDICATE: &str = "https://slsa.dev/provenance/v1";

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

impl HostCalls for &Answers {
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

/// The key that signs; its public half is the attestor's.
fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// The public half in PEM: RFC 8410's prefix, and the key's bytes.
pub fn public_key() -> String {
    let mut der = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".to_vec();
    der.extend(key().verifying_key().as_bytes());
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64_STANDARD.encode(der))
}

/// A DSSE envelope that the attestor signed, of whatever the payload is.
pub fn sign(payload: &[u8]) -> Value {
    let kind = "application/vnd.in-toto+json";
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend(payload);
    let signature = key().sign(&message).to_bytes();
    json!({
        "payloadType": kind,
        "payload": BASE64_STANDARD.encode(payload),
        "signatures": [{"sig": BASE64_STANDARD.encode(signature)}],
    })
}

/// Settings that let in what has an attestation of the attestor, and nothing else.
pub static VERIFICATION: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "preScanPolicies": {"defaultPolicy": "accept"},
        "registries": ["registry.example"],
        "imageVerification": [{
            "name": "signed", "verifyPreScanAccepted": true, "failurePolicy": "Ignore",
            "attestors": [{"name": "team", "cosign": {"key": {"data": public_key()}}}],
            "attestations": [{"name": "x", "intoto": {"type": PREDICATE}, "tagSuffix": "x"}],
            "verifications": [{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.x, [attestors.team]) > 0)"}],
        }],
    })
});

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
    static VALID: Once = Once::new();
    VALID.call_once(|| {
        let validity = validity(&settings.to_string());
        assert_eq!(validity["valid"], true, "{validity}");
    });
    answer(json!({"request": request, "settings": settings}).to_string().as_bytes(), answers)
}

/// The same of bytes.
pub fn answer(payload: &[u8], answers: Answers) -> Value {
    answer_at(payload, || &answers, NOW)
}

/// The same at a time, by a host that is made anew each time.
pub fn answer_at<H: HostCalls>(payload: &[u8], host: impl Fn() -> H, now: Timestamp) -> Value {
    let answer = validate(payload, &WireHost(host()), now);
    let again = validate(payload, &WireHost(host()), now);
    assert!(answer.response == again.response, "another answer for the same");
    let response: Value = serde_json::from_slice(&answer.response).expect("the answer is JSON");
    assert!(response["accepted"].is_boolean(), "{response}");
    response
}

/// Whether settings are valid, and what is wrong with them.
pub fn validity(settings: &str) -> Value {
    let validity = validate_settings(settings.as_bytes()).response;
    let validity: Value = serde_json::from_slice(&validity).expect("the answer is JSON");
    assert!(validity["valid"].is_boolean(), "{validity}");
    validity
}

/// Lets rules run, by a clock that stands still.
pub fn let_rules_run() {
    struct NoTimeGoesBy;
    impl Clock for NoTimeGoesBy {
        fn now(&self) -> Option<Duration> {
            Some(Duration::from_secs(1))
        }
    }
    use_clock(&NoTimeGoesBy);
}
