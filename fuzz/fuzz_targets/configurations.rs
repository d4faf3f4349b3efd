//! Configurations of images: whoever starts as root, or whose user nobody knows, is let in by no spelling.
#![no_main]

use image_admission_fuzz::{Answers, IMAGE, decide, manifest, request};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fuzz_target!(|document: &[u8]| {
    let Ok(config) = serde_json::from_slice::<&RawValue>(document) else { return };
    let kind = "application/vnd.oci.image.config.v1+json";
    let of = format!(r#"{{"schemaVersion":2,"config":{{"mediaType":"{kind}","digest":"{IMAGE}"}},"layers":[]}}"#);
    let artifact = format!(r#"{{"manifest":{of},"digest":"{IMAGE}","config":{config}}}"#).into_bytes();
    let settings = json!({
        "preScanPolicies": {"defaultPolicy": "accept"},
        "registries": ["registry.example"],
        // Its manifest is none of that digest.
        "reports": {"unprovenIndexes": "warn"},
        "imageVerification": [{
            "name": "user", "verifyPreScanAccepted": true,
            "verifications": [{"expression": "images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot && '%s'.format([c]) != ''))"}],
        }],
    });
    let response = decide(&request("registry.example/app:1"), &settings, Answers { manifest: manifest(), artifact });
    if response["accepted"] == true {
        let config: Value = serde_json::from_slice(document).expect("the engine has read it");
        let user = config["config"]["User"].as_str().unwrap_or_default().trim();
        let name = user.split(':').next().unwrap_or_default().trim();
        assert!(!name.is_empty() && name != "root" && name.parse() != Ok(0_i128), "{config}");
    }
});
