//! An envelope (DSSE) about the first image of the world, as each kind of key signs it. The keys were thrown away.

use serde_json::{Value, json};

/// The predicate's type, of SLSA.
pub(super) const PREDICATE: &str = "https://slsa.dev/provenance/v1";

/// The in-toto statement in base64: the image's index was built by `https://ci.example`.
const PAYLOAD: &str = "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJuYW1lIjoidGVhbS9hcHAwIiwiZGlnZXN0Ijp7InNoYTI1NiI6ImJlZTkwOTY4OGZjZGFlYjk5MTBjMjI3YTljNzMzNGM1YmI1MTQ4N2E4NjMzMmFkZDEwYjhiOGQ1Zjk2ODBkODAifX1dLCJwcmVkaWNhdGVUeXBlIjoiaHR0cHM6Ly9zbHNhLmRldi9wcm92ZW5hbmNlL3YxIiwicHJlZGljYXRlIjp7InJ1bkRldGFpbHMiOnsiYnVpbGRlciI6eyJpZCI6Imh0dHBzOi8vY2kuZXhhbXBsZSJ9fX19";

/// A key, and its signature.
#[derive(Debug)]
pub(super) struct Signer {
    /// What the key is called, in an attestation's tag, too.
    pub(super) name: &'static str,
    /// The public key, as PEM.
    pub(super) key: &'static str,
    signature: &'static str,
}

/// Plain Ed25519.
pub(super) const ED25519: Signer = Signer {
    name: "ed25519",
    key: "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAJ08IFrEnd5EvbQ7DoQ/T4VkxL5ah86LoxKaycBgvqCM=\n-----END PUBLIC KEY-----\n",
    signature: "DzredWBnPcPzkYyYijIEkSjBDmqHhXPHwPY4mWrduGaYX7u01+m/w2wK6KuZddxQ9Q+3hM9Ww1sqxEN8MhSDAA==",
};

/// ECDSA over P-256, with SHA-256.
pub(super) const P256: Signer = Signer {
    name: "p256",
    key: "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENh6rW1AbqYdaS3WFhIfvlLuLdLC5\nukCOyheEVSxl8Ed7R0NWQ1rJWQOEE9FCdI9EoHO3pgbmSQkYCEcBAQhfxg==\n-----END PUBLIC KEY-----\n",
    signature: "MEQCIGZfSMU07m10UO/dqyv9NYqTj4yW+0vSYS9MGOpnBlZNAiAVlfNk0WQcVW7P1Anm7QoJoTmCpIMRtqPM/1IrGEHvpA==",
};

/// ECDSA over P-384, with SHA-384.
pub(super) const P384: Signer = Signer {
    name: "p384",
    key: "-----BEGIN PUBLIC KEY-----\nMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEkViZ1Niij1WIKlBWt6d9t7TskVBFHc0d\nKsB4fOkNNzeYXoLZ+bl//3o12CO/15ESIlBKgP31OYYBhKqCOkAw79VofeKNGfxY\nQ1M3TNZb4iiwf+sDDYYoUuK50YaOVPcg\n-----END PUBLIC KEY-----\n",
    signature: "MGUCMFeb9NZ42KduBYYFUev0qdmVAJwelVCj1obfKFORbwf9YE4jeXM93++0nPPHtjmXqgIxAOpm920wqVb4x4+BhUmyimavCiz2lNlOYZNSJdk3hBm7tSv8fDebSZL0O0hxopkhOw==",
};

/// Everybody who signed it.
pub(super) const SIGNERS: [Signer; 3] = [ED25519, P256, P384];

impl Signer {
    /// The envelope with the signature.
    pub(super) fn envelope(&self) -> Value {
        let signatures = [json!({"sig": self.signature})];
        json!({"payloadType": "application/vnd.in-toto+json", "payload": PAYLOAD, "signatures": signatures})
    }
}
