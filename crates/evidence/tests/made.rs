//! What real tools signed: `tests/made/index.json` says of each file what it proves.

#![expect(clippy::panic, reason = "a test that can't go on must fail")]

use std::fs;
use std::path::PathBuf;

use image_admission_evidence::dsse::{Envelope, EnvelopeError, Statement};
use image_admission_evidence::key::PublicKey;
use serde::Deserialize;
use serde_json::Value;

/// `index.json`.
#[derive(Deserialize)]
struct Index {
    /// The digest of the image that all the files are about.
    image: String,
    files: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file: String,
    form: String,
    trust: Trust,
    predicate_type: Option<String>,
    unverifiable: Option<String>,
}

/// Names of files.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trust {
    key: Option<String>,
}

#[test]
fn envelopes_by_keys() {
    let Index { image, files } = index();
    let mut count = 0;
    for file in &files {
        let document = match file.form.as_str() {
            "dsse" => json(&file.file),
            "sigstore" => json(&file.file).get("dsseEnvelope").cloned().unwrap_or_default(),
            _ => continue,
        };
        let (Some(key), false) = (&file.trust.key, document.is_null()) else { continue };
        let statement = statement(&document, key);
        if file.unverifiable.is_some() {
            assert_eq!(statement, Err(EnvelopeError::NotSigned(vec![key.clone()])), "{}", file.file);
            continue;
        }
        let Statement { predicate_type, subjects, .. } =
            statement.unwrap_or_else(|error| panic!("{}: {error}", file.file));
        assert_eq!(
            (Some(&predicate_type), &subjects),
            (file.predicate_type.as_ref(), &vec![image.clone()]),
            "{}",
            file.file
        );
        let other = Err(EnvelopeError::NotSigned(vec!["other.pub".to_owned()]));
        assert_eq!(self::statement(&document, "other.pub"), other, "{}", file.file);
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

fn statement(envelope: &Value, key: &str) -> Result<Statement, EnvelopeError> {
    Envelope::read(envelope)?.verify(&[(key, &public_key(key))])?.statement()
}

fn index() -> Index {
    serde_json::from_str(&text("index.json")).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}

fn public_key(name: &str) -> PublicKey {
    PublicKey::from_pem(&text(name)).unwrap()
}

fn text(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/made").join(name)).unwrap()
}
