//! Who signs in worlds: two keys that the host knows, and one that signs statements here.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

pub(crate) const TEAM_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVwI5hlIdBJCqfU8SYSc8YNsw6Jlt\nVSpeGjgcYKdBdDVrMD6JEq2k/bxnkUb6DGcB/E8oPzHDIfKkXoAdWqvoMA==\n-----END PUBLIC KEY-----\n";
pub(crate) const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEADLFD/uH8MUfmgA25ATXN2fJZMhQP7kyNDIq6slIEacE=\n-----END PUBLIC KEY-----\n";

/// Who has a key.
pub(super) fn attestor(name: &str, key: &str) -> Value {
    json!({"name": name, "cosign": {"key": {"data": key}}})
}

/// Who has the key that signs statements here.
pub(super) fn own_attestor() -> Value {
    let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    der.extend(own_key().verifying_key().as_bytes());
    attestor("own", &format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64_STANDARD.encode(der)))
}

/// A signed statement about a digest.
pub(super) fn envelope(predicate_type: &str, digest: &str, predicate: &Value) -> Value {
    let subject = json!([{"name": "app", "digest": {"sha256": digest.trim_start_matches("sha256:")}}]);
    let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type,
                           "subject": subject, "predicate": predicate});
    let (payload, kind) = (statement.to_string(), "application/vnd.in-toto+json");
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let signature = BASE64_STANDARD.encode(own_key().sign(signed.as_bytes()).to_bytes());
    json!({"payloadType": kind, "payload": BASE64_STANDARD.encode(payload), "signatures": [{"sig": signature}]})
}

fn own_key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}
