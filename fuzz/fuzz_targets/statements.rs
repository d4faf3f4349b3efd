//! In-toto statements in envelopes that are signed: what a verifier in Go reads of one that counts is what counts here.
#![no_main]

use image_admission_fuzz::{Answers, IMAGE, PREDICATE, VERIFICATION, artifact, decide, manifest, request, sign};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|statement: &[u8]| {
    let Some(artifact) = artifact(sign(statement).to_string().as_bytes()) else { return };
    let answers = Answers { manifest: manifest(), artifact };
    let response = decide(&request("registry.example/app:1"), &VERIFICATION, answers);
    if response["accepted"] == true {
        let statement = go_reads(statement);
        assert_eq!(field(&statement, "predicateType"), Some(&Value::from(PREDICATE)), "{statement}");
        let subjects = field(&statement, "subject").and_then(Value::as_array).expect("a list of subjects");
        let hex = IMAGE.strip_prefix("sha256:").expect("a digest");
        let is_image = |subject: &Value| field(subject, "digest").is_some_and(|digest| digest["sha256"] == hex);
        assert!(subjects.iter().any(is_image), "{statement}");
    }
});

/// A document whose keys are kept apart: where two fall on one field of a reader in Go, the statement has to be refused.
fn go_reads(document: &[u8]) -> Value {
    let statement: Value = serde_json::from_slice(document).expect("a statement that counts is JSON");
    let written = String::from_utf8_lossy(document);
    for name in ["_type", "predicateType", "subject"] {
        let spelt = statement.as_object().expect("an object").keys().filter(|key| folded(key) == folded(name)).count();
        assert_eq!(spelt, 1, "keys that a reader in Go takes for `{name}`: {written}");
    }
    statement
}

/// The one field that a reader in Go takes for `name`.
fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let mut fields = object.as_object()?.iter().filter(|(key, _)| folded(key) == folded(name));
    let (_, value) = fields.next()?;
    assert!(fields.next().is_none(), "two keys that a reader in Go takes for `{name}`: {object}");
    Some(value)
}

/// Go's folding of keys: letters of either case, and the two other characters that fold into ASCII.
fn folded(key: &str) -> String {
    key.chars()
        .map(|letter| match letter {
            'ſ' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}
