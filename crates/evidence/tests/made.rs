//! What real tools signed: `tests/made/index.json` says of each file what it proves.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test reads files, and must fail if it can't go on"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image_admission_evidence::certificate::{Certificate, ChainError};
use image_admission_evidence::dsse::{Envelope, EnvelopeError, Statement};
use image_admission_evidence::key::PublicKey;
use image_admission_evidence::notary::{self, NotaryError, Store, TrustedIdentity};
use image_admission_evidence::sigstore::{self, Bundle, BundleError, CheckpointError, EntryError, SctError, TrustRoot};
use image_admission_evidence::timestamp::TimestampError;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

const OTHER_IMAGE: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

const HOUR: i64 = 60 * 60;

/// Certificates for notation are valid for ten years.
const YEARS: i64 = 11 * 366 * 24 * HOUR;

/// `index.json`.
#[derive(Deserialize)]
struct Index {
    /// The digest of the image that all the files are about.
    image: String,
    /// When they were made, in seconds since 1970.
    made: i64,
    files: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file: String,
    form: String,
    trust: Trust,
    identity: Option<String>,
    issuer: Option<String>,
    #[serde(default)]
    extensions: BTreeMap<String, String>,
    signer: Option<String>,
    predicate_type: Option<String>,
    /// In seconds since 1970.
    time: Option<i64>,
    #[serde(default)]
    expires: bool,
    unverifiable: Option<String>,
}

/// Names of files.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trust {
    key: Option<String>,
    trusted_root: Option<String>,
    ca: Option<String>,
    signing_authority: Option<String>,
    tsa: Option<String>,
}

#[test]
fn envelopes_by_keys() {
    let Index { image, files, .. } = index();
    let mut count = 0;
    for file in files.iter().filter(|file| file.form == "dsse") {
        let key = file.trust.key.as_deref().unwrap();
        let document = json(&file.file);
        let statement = |key: &str| Envelope::read(&document)?.verify(&[(key, &public_key(key))])?.statement();
        let refused = |key: &str| Err(EnvelopeError::NotSigned(vec![key.to_owned()]));
        assert_eq!(statement("other.pub"), refused("other.pub"), "{}", file.file);
        if file.unverifiable.is_some() {
            assert_eq!(statement(key), refused(key), "{}", file.file);
            continue;
        }
        check_statement(file, &image, &statement(key).unwrap_or_else(|error| panic!("{}: {error}", file.file)));
        count += 1;
    }
    assert!(count >= 2, "{count}");
}

#[test]
fn bundles() {
    let Index { image, files, .. } = index();
    let mut count = 0;
    for file in files.iter().filter(|file| file.form == "sigstore") {
        let document = json(&file.file);
        let signed = verify(&file.trust, &document, &image);
        if file.unverifiable.is_some() {
            let reason = match file.file.as_str() {
                "sign-ed25519.json" => BundleError::Signature,
                "blob-p384.json" => BundleError::DigestAlgorithm("SHA2_384".to_owned()),
                "blob-ed25519.json" => BundleError::Json("missing field `algorithm`".to_owned()),
                _ => BundleError::Chain,
            };
            assert_eq!(signed, Err(reason), "{}", file.file);
            continue;
        }
        let signed = signed.unwrap_or_else(|error| panic!("{}: {error}", file.file));
        assert_eq!(signed.statement.is_some(), file.predicate_type.is_some(), "{}", file.file);
        if let Some(statement) = &signed.statement {
            check_statement(file, &image, statement);
        }
        let identity = signed.identity;
        assert_eq!(identity.as_ref().map(|identity| &identity.subject), file.identity.as_ref(), "{}", file.file);
        assert_eq!(identity.as_ref().map(|identity| &identity.issuer), file.issuer.as_ref(), "{}", file.file);
        for (name, value) in &file.extensions {
            let found = identity.as_ref().and_then(|identity| identity.extensions.get(name.as_str()));
            assert_eq!(found, Some(value), "{}: {name}", file.file);
        }
        let time = file.time.map(Timestamp);
        assert!(time.is_none_or(|time| signed.times.contains(&time)), "{}: {:?}", file.file, signed.times);

        assert_eq!(
            verify(&file.trust, &document, OTHER_IMAGE),
            Err(BundleError::OtherArtifact(vec![image.clone()])),
            "{}",
            file.file
        );
        if file.trust.key.is_some() {
            let other = Trust { key: Some("other.pub".to_owned()), ..file.trust.clone() };
            assert_eq!(verify(&other, &document, &image), Err(BundleError::Signature), "{}", file.file);
        }
        count += 1;
    }
    assert!(count >= 30, "{count}");
}

/// Each text of a bundle is changed, and the bundle is refused. Only what nobody signed may be anything.
#[test]
fn bundles_with_one_text_changed() {
    let hint = "/verificationMaterial/publicKey/hint";
    // A proof says again where the entry is, and that is what counts.
    let log_index = "/verificationMaterial/tlogEntries/0/logIndex";
    // By a key, the entry of the log is enough.
    let timestamp = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";
    let Index { image, files, .. } = index();
    for (name, unsigned) in [
        ("sign-p256.json", vec![hint]),
        ("blob-p256.json", vec![hint]),
        ("sign-p256-logged.json", vec![hint, timestamp]),
        ("keyless-attest.json", vec![log_index]),
        ("keyless-blob.json", vec![log_index]),
        ("keyless-blob-logged1.json", vec![]),
        ("workflow-attest-logged1.json", vec![]),
        ("workflow-attest-timestamped.json", vec![]),
    ] {
        let file = files.iter().find(|file| file.file == name).unwrap();
        let document = json(name);
        let mut paths = Vec::new();
        texts(&document, String::new(), &mut paths);
        paths.retain(|path| verify(&file.trust, &changed(&document, path), &image).is_ok());
        assert_eq!(paths, unsigned, "{name}");
    }
}

/// A key or a certificate of the trust root is another one, and what the bundle has from there proves nothing.
#[test]
fn trust_roots_with_one_part_replaced() {
    let Index { image, .. } = index();
    let authority = "/certificateAuthorities/0/certChain/certificates/0/rawBytes";
    let first_log = "/tlogs/1/publicKey/rawBytes";
    let second_log = "/tlogs/0/publicKey/rawBytes";
    let certificate_log = "/ctlogs/0/publicKey/rawBytes";
    let refused = |name: &str, path: &str| {
        let other = if path.contains("/publicKey/") { "other.pub" } else { "notary-other-ca.pem" };
        let mut root = json("root.json");
        *root.pointer_mut(path).unwrap() = base64_of(other).into();
        let root = TrustRoot::read(&root.to_string()).unwrap();
        Bundle::read(&json(name)).unwrap().verify_by_root(&root, &image).expect_err(path)
    };
    for (name, log, reason) in [
        ("keyless-sign.json", second_log, EntryError::Checkpoint(CheckpointError::Signature)),
        ("keyless-sign-logged1.json", first_log, EntryError::Promise),
    ] {
        assert!(matches!(refused(name, authority), BundleError::Untrusted(..)), "{name}");
        assert_eq!(refused(name, certificate_log), BundleError::CertificateLog(SctError::Signature), "{name}");
        assert_eq!(refused(name, log), BundleError::Entry(reason), "{name}");
    }
    // No log tells the time here.
    let timestamp = refused("keyless-sign.json", "/timestampAuthorities/0/certChain/certificates/0/rawBytes");
    assert_eq!(timestamp, BundleError::Timestamp(TimestampError::NoAuthority));
}

#[test]
fn notations() {
    let Index { image, made, files } = index();
    let mut count = 0;
    for file in files.iter().filter(|file| file.form.starts_with("notary-")) {
        let envelope = envelope(file);
        if file.unverifiable.is_some() {
            let reason = NotaryError::Critical("com.example.unknown".to_owned());
            assert_eq!(envelope.err(), Some(reason), "{}", file.file);
            continue;
        }
        let envelope = envelope.unwrap_or_else(|error| panic!("{}: {error}", file.file));
        let signed = verify_notation(&file.trust, &envelope, &image, made + HOUR);
        let signed = signed.unwrap_or_else(|error| panic!("{}: {error}", file.file));
        assert_eq!(Some(&signed.subject), file.signer.as_ref(), "{}", file.file);
        let is_authority = file.trust.signing_authority.is_some();
        assert_eq!(signed.signed_at.is_some(), file.time.is_some() || is_authority, "{}", file.file);
        let time = file.time.map(Timestamp);
        assert!(time.is_none() || signed.signed_at == time, "{}: {:?}", file.file, signed.signed_at);

        // What a time proves outlasts the certificates.
        match verify_notation(&file.trust, &envelope, &image, made + YEARS) {
            Ok(later) => assert_eq!((&later, later.signed_at.is_some()), (&signed, true), "{}", file.file),
            Err(NotaryError::Expired(_)) => assert!(file.expires, "{}", file.file),
            Err(NotaryError::Chain(ChainError::NotValid { .. })) => assert_eq!(signed.signed_at, None, "{}", file.file),
            Err(error) => panic!("{}: {error}", file.file),
        }
        let other = verify_notation(&file.trust, &envelope, OTHER_IMAGE, made + HOUR);
        assert_eq!(other, Err(NotaryError::OtherDigest(image.clone())), "{}", file.file);
        let other = "notary-other-ca.pem".to_owned();
        let other = match is_authority {
            true => Trust { signing_authority: Some(other), ..Trust::default() },
            false => Trust { ca: Some(other), ..Trust::default() },
        };
        let untrusted = verify_notation(&other, &envelope, &image, made + HOUR);
        assert!(matches!(untrusted, Err(NotaryError::Untrusted(_))), "{}: {untrusted:?}", file.file);
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

/// Each text of an envelope is changed likewise.
#[test]
fn notations_with_one_text_changed() {
    let Index { image, made, files } = index();
    let agent = "/header/io.cncf.notary.signingAgent";
    for (name, unsigned) in [
        ("notation-jws-p256.json", vec![agent]),
        ("notation-jws-expiry.json", vec![agent]),
        ("notation-jws-timestamped.json", vec![agent]),
        ("authority-jws.json", vec![agent]),
    ] {
        let file = files.iter().find(|file| file.file == name).unwrap();
        let document = json(name);
        let mut paths = Vec::new();
        texts(&document, String::new(), &mut paths);
        paths.retain(|path| {
            let envelope = notary::Envelope::read(notary::JWS, changed(&document, path).to_string().as_bytes());
            envelope.is_ok_and(|envelope| verify_notation(&file.trust, &envelope, &image, made + HOUR).is_ok())
        });
        assert_eq!(paths, unsigned, "{name}");
    }
}

/// Each byte of an envelope of COSE is changed likewise. Nobody signed which tool made it.
#[test]
fn notations_with_one_byte_changed() {
    let Index { image, made, files } = index();
    let file = files.iter().find(|file| file.file == "notation-cose-p256.base64").unwrap();
    let bytes = STANDARD.decode(text(&file.file).trim()).unwrap();
    let accepted: Vec<u8> = (0..bytes.len())
        .filter(|index| {
            let mut bytes = bytes.clone();
            bytes[*index] ^= 1;
            let envelope = notary::Envelope::read(notary::COSE, &bytes);
            envelope.is_ok_and(|envelope| verify_notation(&file.trust, &envelope, &image, made + HOUR).is_ok())
        })
        .map(|index| bytes[index])
        .collect();
    assert_eq!(String::from_utf8_lossy(&accepted), "io.cncf.notary.signingAgentnotation-go/1.3.2");
}

/// The paths to all texts.
fn texts(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| texts(value, format!("{path}/{name}"), found)),
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(index, value)| texts(value, format!("{path}/{index}"), found));
        }
        Value::String(_) => found.push(path),
        _ => {}
    }
}

/// The same document with another character in the middle of one text.
fn changed(document: &Value, path: &str) -> Value {
    let mut document = document.clone();
    let value = document.pointer_mut(path).unwrap();
    let text = value.as_str().unwrap();
    let (before, after) = text.split_at(text.len() / 2);
    let other = if after.starts_with('7') { '8' } else { '7' };
    *value = before.chars().chain([other]).chain(after.chars().skip(1)).collect::<String>().into();
    document
}

fn verify(trust: &Trust, document: &Value, image: &str) -> Result<sigstore::Signed, BundleError> {
    let bundle = Bundle::read(document)?;
    let root = trust.trusted_root.as_deref().map(|name| TrustRoot::read(&text(name)).unwrap());
    match &trust.key {
        Some(key) => bundle.verify_by_key(&public_key(key), root.as_ref(), image),
        None => bundle.verify_by_root(&root.unwrap(), image),
    }
}

fn verify_notation(
    names: &Trust,
    envelope: &notary::Envelope,
    image: &str,
    now: i64,
) -> Result<notary::Signed, NotaryError> {
    let (store, roots) = match (&names.ca, &names.signing_authority) {
        (Some(name), None) => (Store::CertificateAuthority, certificates(name)),
        (None, Some(name)) => (Store::SigningAuthority, certificates(name)),
        _ => panic!("there must be one trust store"),
    };
    let trust = notary::Trust {
        roots: &roots,
        timestamp_authorities: &names.tsa.as_deref().map(certificates).unwrap_or_default(),
        identities: &[TrustedIdentity::parse("x509.subject: C=DE, ST=Berlin, O=Example").unwrap()],
        revoked: &[],
        store,
    };
    envelope.verify(&trust, image, Timestamp(now))
}

fn envelope(file: &File) -> Result<notary::Envelope, NotaryError> {
    let text = text(&file.file);
    match file.form.as_str() {
        "notary-jws" => notary::Envelope::read(notary::JWS, text.as_bytes()),
        _ => notary::Envelope::read(notary::COSE, &STANDARD.decode(text.trim()).unwrap()),
    }
}

fn check_statement(file: &File, image: &str, statement: &Statement) {
    assert_eq!(Some(&statement.predicate_type), file.predicate_type.as_ref(), "{}", file.file);
    assert_eq!(statement.subjects, [image], "{}", file.file);
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

fn certificates(name: &str) -> Vec<Certificate> {
    Certificate::all_from_pem(&text(name)).unwrap()
}

fn text(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/made").join(name)).unwrap()
}

/// What is between the lines of PEM.
fn base64_of(name: &str) -> String {
    text(name).lines().filter(|line| !line.starts_with("-----")).collect()
}
