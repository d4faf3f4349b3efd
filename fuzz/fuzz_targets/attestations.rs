//! Envelopes that nobody signed: none is verified, whatever it holds. Signed ones are `statements`.
#![no_main]

use image_admission_fuzz::{Answers, VERIFICATION, artifact, decide, manifest, request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    let Some(artifact) = artifact(document) else { return };
    let response =
        decide(&request("registry.example/app:1"), &VERIFICATION, Answers { manifest: manifest(), artifact });
    assert_eq!(response["accepted"], false, "{response}");
});
