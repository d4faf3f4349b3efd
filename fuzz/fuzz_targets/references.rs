//! Image references, as whoever writes a Pod spells them.
#![no_main]

use image_admission_fuzz::{Answers, artifact, decide, manifest, request};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|image: &str| {
    let clean = artifact(br#"{"status":"pass","detail":{}}"#).unwrap_or_default();
    let settings = json!({
        "registries": ["registry.example"],
        "preScanPolicies": {"customPolicies": [{"prefix": "registry.example/bad/", "action": "reject"}]},
        "reports": {"sources": [{"registry": {"tagSuffix": "scan", "allowUnsigned": true}}]},
    });
    let response = decide(&request(image), &settings, Answers { manifest: manifest(), artifact: clean });
    if response["accepted"] == true {
        let lower = image.to_ascii_lowercase();
        assert!(lower.starts_with("registry.example/") || lower.starts_with("registry.example:443/"), "{image:?}");
        assert!(!lower.starts_with("registry.example/bad/"), "{image:?}");
    }
});
