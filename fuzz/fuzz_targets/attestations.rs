//! Envelopes. The fuzzer can't sign, so that nothing it makes is verified, and no statement is read.
#![no_main]

use image_admission_fuzz::{Answers, KEY, artifact, decide, manifest, request};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|document: &[u8]| {
    let Some(artifact) = artifact(document) else { return };
    let settings = json!({
        "preScanPolicies": {"defaultPolicy": "accept"},
        "registries": ["registry.example"],
        "imageVerification": [{
            "name": "signed", "verifyPreScanAccepted": true, "failurePolicy": "Ignore",
            "attestors": [{"name": "team", "cosign": {"key": {"data": KEY}}}],
            "attestations": [{"name": "x", "intoto": {"type": "https://slsa.dev/provenance/v1"}, "tagSuffix": "x"}],
            "verifications": [{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.x, [attestors.team]) > 0)"}],
        }],
    });
    let response = decide(&request("registry.example/app:1"), &settings, Answers { manifest: manifest(), artifact });
    assert_eq!(response["accepted"], false, "{response}");
});
