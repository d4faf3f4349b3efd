//! Reports of scanners that stand beside an image, in every format.
#![no_main]

use image_admission_fuzz::{Answers, artifact, decide, manifest, request};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|report: &[u8]| {
    let Some(artifact) = artifact(report) else { return };
    let settings = json!({
        "reports": {"sources": [{"registry": {"tagSuffix": "scan", "allowUnsigned": true}}]},
        "acceptance": {"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}}},
    });
    decide(&request("registry.example/app:1"), &settings, Answers { manifest: manifest(), artifact });
});
