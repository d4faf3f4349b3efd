//! What a host answers for manifests: of the image, and of what stands beside it.
#![no_main]

use image_admission_fuzz::{Answers, artifact, decide, request};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|document: &[u8]| {
    let settings = json!({
        "reports": {"sources": [{"registry": {"artifactType": "application/x", "allowUnsigned": true}}]},
        "acceptance": {"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}}},
    });
    let clean = artifact(br#"{"status":"fail"}"#).unwrap_or_default();
    let image = request("registry.example/app:1");
    let response = decide(&image, &settings, Answers { manifest: document.to_vec(), artifact: clean });
    assert_eq!(response["accepted"], false, "a report that fails, or none: {response}");
    decide(&image, &settings, Answers { manifest: document.to_vec(), artifact: document.to_vec() });
});
