//! Whole payloads, and AdmissionRequests with settings that are well made.
#![no_main]

use image_admission_fuzz::{Answers, answer, artifact, manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    let answers = || Answers { manifest: manifest(), artifact: artifact(br#"{"status":"fail"}"#).unwrap_or_default() };
    answer(payload, answers());
    let Ok(text) = std::str::from_utf8(payload) else { return };
    answer(format!(r#"{{"settings":{{}},"request":{text}}}"#).as_bytes(), answers());
    let object = format!(
        r#"{{"settings":{{"verboseLog":true}},"request":{{"uid":"u","operation":"CREATE","namespace":"n","kind":{{"group":"","version":"v1","kind":"Pod"}},"object":{text}}}}}"#
    );
    answer(object.as_bytes(), answers());
});
