//! Attestations: in-toto statements in signed DSSE envelopes, verified against public keys.
//!
//! The rules come from the [DSSE protocol and envelope, version 1.0.2][dsse] and from the in-toto
//! [statement layouts v0.1 and v1][statement]. What is signed is not the payload but its pre-authentication encoding,
//! which binds the payload's type and length to it.
//!
//! There is one way through, and each step is possible only with the result of the one before. [`Envelope::read`] takes the
//! document apart, [`Envelope::verify`] returns a [`Verified`] if a trusted key signed it, and only a [`Verified`] has a
//! [`Verified::statement`]. The statement is read from exactly the bytes whose signature was checked.
//!
//! [dsse]: https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md
//! [statement]: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md

use std::fmt;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use image_admission_untrusted::json::utf8;
use image_admission_untrusted::spelling::{self, Misspelt};
use serde_json::{Map, Value};

use crate::key::{Hash, Message, PublicKey};

/// The one payload type read here: in-toto's, for every version of its statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The most bytes a payload may have once decoded. It bounds hashing and parsing.
pub const MAX_PAYLOAD_BYTES: usize = 5 * 1024 * 1024;

/// The most signatures an envelope may have; honest ones have one or two. Each is tried with each key, and twice with one of P-384, which
/// takes 10 ms: with sixteen, the sixteen envelopes of one object took longer than a request may.
pub const MAX_SIGNATURES: usize = 4;

/// The most subjects a statement may have.
pub const MAX_SUBJECTS: usize = 1_000;

/// The most characters of a document's string in an error.
const MAX_SHOWN_CHARS: usize = 100;

/// The values of `_type` that name a statement layout read here. v1 changed nothing in the fields used below.
const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v0.1", "https://in-toto.io/Statement/v1"];

// The padding is optional, because signers differ; everything else is strict.
const BASE64: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
pub(crate) static BASE64_STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, BASE64);
static BASE64_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, BASE64);

/// A DSSE envelope with an in-toto payload: taken apart, but not verified. Nothing in it can be trusted or read yet.
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    signatures: Vec<Vec<u8>>,
}

// The derived form would write out megabytes of payload that nobody has verified.
impl fmt::Debug for Envelope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Envelope")
            .field("payload_bytes", &self.payload.len())
            .field("signatures", &self.signatures.len())
            .finish()
    }
}

impl Envelope {
    /// Takes an envelope apart: `{"payloadType": …, "payload": <base64>, "signatures": [{"sig": <base64>}, …]}`.
    ///
    /// Base64 is the standard or the URL-safe one, with or without padding. `keyid` and all other fields are ignored: they aren't
    /// signed, and every key is tried with every signature anyway.
    ///
    /// # Errors
    ///
    /// An [`EnvelopeError`] if a field is missing or of another type, if a key is one that other parsers take for a field,
    /// if the payload's type isn't [`PAYLOAD_TYPE`], if
    /// some base64 is broken, or if there is more than [`MAX_PAYLOAD_BYTES`] or [`MAX_SIGNATURES`].
    pub fn read(document: &Value) -> Result<Self, EnvelopeError> {
        let envelope = document.as_object().ok_or_else(|| EnvelopeError::shape("the envelope", "an object"))?;
        spelling::check(envelope, &["payloadType", "payload", "signatures"])?;
        let payload_type = text(envelope, "payloadType")?;
        if payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType(shown(payload_type)));
        }

        let signatures = list(envelope, "signatures")?;
        if signatures.is_empty() || signatures.len() > MAX_SIGNATURES {
            return Err(EnvelopeError::SignatureCount(signatures.len()));
        }
        let signatures = signatures
            .iter()
            .map(|signature| {
                let signature =
                    signature.as_object().ok_or_else(|| EnvelopeError::shape("signatures[]", "an object"))?;
                spelling::check(signature, &["sig"])?;
                decode("sig", text(signature, "sig")?)
            })
            .collect::<Result<_, _>>()?;

        let payload = text(envelope, "payload")?;
        // Checked before the decoding, so that it never allocates too much.
        if payload.len() > MAX_PAYLOAD_BYTES.div_ceil(3) * 4 {
            return Err(EnvelopeError::PayloadTooLarge);
        }
        let payload = decode("payload", payload)?;
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(EnvelopeError::PayloadTooLarge);
        }

        Ok(Self { payload, signatures })
    }

    /// Verifies the envelope with each of `keys`, which come with their names for messages.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError::NotSigned`] if none of the keys made any of the signatures, or if there is no key.
    pub fn verify<'a>(&'a self, keys: &[(&'a str, &PublicKey)]) -> Result<Verified<'a>, EnvelopeError> {
        let header = header(PAYLOAD_TYPE, &self.payload);
        let message = Message::of(&[header.as_bytes(), &self.payload]);
        let signers: Vec<&str> = keys
            .iter()
            .filter(|(_, key)| self.signatures.iter().any(|signature| key.verifies(&message, signature)))
            .map(|(name, _)| *name)
            .collect();
        if signers.is_empty() {
            return Err(EnvelopeError::NotSigned(keys.iter().map(|(name, _)| shown(name)).collect()));
        }
        Ok(Verified { payload: &self.payload, signers })
    }

    /// What was signed, byte by byte, if nobody changed it since.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The signatures, decoded.
    pub(crate) fn signatures(&self) -> &[Vec<u8>] {
        &self.signatures
    }

    /// The SHA-256, or another hash, of what its signatures are made over.
    pub(crate) fn digest(&self, hash: Hash) -> Vec<u8> {
        let header = header(PAYLOAD_TYPE, &self.payload);
        Message::of(&[header.as_bytes(), &self.payload]).digest(hash).to_vec()
    }

    /// The predicate type and the subjects of a payload whose signature nobody has checked, if it is a statement.
    #[must_use]
    pub fn claims(&self) -> Option<(String, Vec<String>)> {
        let unverified = Verified { payload: &self.payload, signers: Vec::new() };
        unverified.statement().ok().map(|statement| (statement.predicate_type, statement.subjects))
    }
}

/// An envelope that at least one trusted key signed. Only [`Envelope::verify`] makes one.
#[derive(Clone, PartialEq, Eq)]
pub struct Verified<'a> {
    payload: &'a [u8],
    signers: Vec<&'a str>,
}

impl fmt::Debug for Verified<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Verified")
            .field("payload_bytes", &self.payload.len())
            .field("signers", &self.signers)
            .finish()
    }
}

impl Verified<'_> {
    /// Reads the statement that was signed.
    ///
    /// # Errors
    ///
    /// An [`EnvelopeError`] if the payload is no JSON object (or is nested more than 127 deep, where the parser stops, or has
    /// a key twice), if a key is one that other parsers take for a field that is read here,
    /// if `_type` names no statement layout known here, if `predicateType` is missing or empty, or if `subject` is
    /// missing, empty, longer than [`MAX_SUBJECTS`], without any `sha256`, or has a `sha256` that is none.
    pub fn statement(&self) -> Result<Statement, EnvelopeError> {
        let json: Value = utf8(self.payload)
            .and_then(spelling::from_str)
            .map_err(|error| EnvelopeError::NotJson(error.to_string()))?;
        let statement = json.as_object().ok_or_else(|| EnvelopeError::shape("the statement", "an object"))?;
        spelling::check(statement, &["_type", "predicateType", "subject", "predicate"])?;

        let statement_type = text(statement, "_type")?;
        if !STATEMENT_TYPES.contains(&statement_type) {
            return Err(EnvelopeError::StatementType(shown(statement_type)));
        }
        let predicate_type = text(statement, "predicateType")?.to_owned();
        if predicate_type.is_empty() {
            return Err(EnvelopeError::shape("predicateType", "a text that isn't empty"));
        }
        let subjects = subjects(list(statement, "subject")?)?;

        Ok(Statement { predicate_type, subjects, json })
    }
}

/// The `sha256` digests of a statement's subjects.
fn subjects(subjects: &[Value]) -> Result<Vec<String>, EnvelopeError> {
    if subjects.is_empty() || subjects.len() > MAX_SUBJECTS {
        return Err(EnvelopeError::SubjectCount(subjects.len()));
    }
    let mut digests = Vec::with_capacity(subjects.len());
    for subject in subjects {
        if let Some(subject) = subject.as_object() {
            spelling::check(subject, &["digest"])?;
        }
        let digest = subject
            .get("digest")
            .and_then(Value::as_object)
            .ok_or_else(|| EnvelopeError::shape("subject[].digest", "an object"))?;
        spelling::check(digest, &["sha256"])?;
        // A subject may be a commit, or a file with another algorithm. That is no image, and no error.
        if !digest.contains_key("sha256") {
            continue;
        }
        let hex = text(digest, "sha256")?;
        if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(EnvelopeError::SubjectDigest(shown(hex)));
        }
        digests.push(format!("sha256:{hex}"));
    }
    if digests.is_empty() { Err(EnvelopeError::NoSubjectDigest) } else { Ok(digests) }
}

/// An in-toto statement that a trusted key signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What kind of claim this is, such as `https://slsa.dev/provenance/v1`. Never empty.
    pub predicate_type: String,
    /// What the claim is about: `sha256:` and 64 lower-case hexadecimal digits for every subject that has such a
    /// digest, in the statement's order. Never empty.
    pub subjects: Vec<String>,
    /// The whole statement, its predicate included.
    pub json: Value,
}

/// Why a document is no envelope, why nobody trusted signed it, or why what they signed is no statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeError {
    /// A field is missing or of another type. Holds the field and what it has to be.
    Shape(&'static str, &'static str),
    /// The payload is of another type. Holds it.
    PayloadType(String),
    /// There are no signatures, or too many. Holds how many.
    SignatureCount(usize),
    /// A field is not base64. Holds the field.
    Base64(&'static str),
    /// The payload is larger than [`MAX_PAYLOAD_BYTES`].
    PayloadTooLarge,
    /// None of the keys made any of the signatures. Holds the keys' names.
    NotSigned(Vec<String>),
    /// The payload is not JSON. Holds the parser's words.
    NotJson(String),
    /// `_type` names no statement layout known here. Holds it.
    StatementType(String),
    /// There are no subjects, or too many. Holds how many.
    SubjectCount(usize),
    /// A subject's `sha256` is none. Holds it.
    SubjectDigest(String),
    /// No subject has a `sha256`.
    NoSubjectDigest,
    /// A key is one that other parsers take for a field.
    Misspelt(Misspelt),
}

impl From<Misspelt> for EnvelopeError {
    fn from(misspelt: Misspelt) -> Self {
        Self::Misspelt(misspelt)
    }
}

impl EnvelopeError {
    fn shape(field: &'static str, expected: &'static str) -> Self {
        Self::Shape(field, expected)
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(field, expected) => {
                write!(formatter, "`{field}` is not {expected}; attest again with a tool that writes in-toto in DSSE")
            }
            Self::PayloadType(found) => {
                write!(formatter, "the payload's type is `{found}`; only `{PAYLOAD_TYPE}` is read")
            }
            Self::SignatureCount(0) => formatter.write_str("the envelope has no signatures; sign it"),
            Self::SignatureCount(count) => write!(
                formatter,
                "the envelope has `{count}` signatures; write an envelope with at most {MAX_SIGNATURES}"
            ),
            Self::Base64(field) => write!(formatter, "`{field}` is not base64, or was cut off; attest again"),
            Self::PayloadTooLarge => write!(
                formatter,
                "the payload has more than `{MAX_PAYLOAD_BYTES}` bytes; put the bulk elsewhere and attest to its digest"
            ),
            Self::NotSigned(keys) if keys.is_empty() => {
                formatter.write_str("there is no key to verify the envelope with; give at least one")
            }
            Self::NotSigned(keys) => write!(
                formatter,
                "no signature of the envelope was made with `{}`; sign it with such a key, or add the key it was \
                 signed with",
                keys.join("`, `")
            ),
            Self::NotJson(reason) => {
                write!(formatter, "the signed payload is not JSON that can be read: `{reason}`; attest again")
            }
            Self::StatementType(found) => {
                let [old, new] = STATEMENT_TYPES;
                write!(formatter, "the statement's `_type` is `{found}`; only `{old}` and `{new}` are read")
            }
            Self::SubjectCount(0) => {
                formatter.write_str("the statement has no `subject`; attest again and name the image's digest")
            }
            Self::SubjectCount(count) => write!(
                formatter,
                "the statement has `{count}` subjects; attest to at most {MAX_SUBJECTS} in one statement"
            ),
            Self::SubjectDigest(found) => write!(
                formatter,
                "a subject's `sha256` is `{found}`; it has to be 64 lower-case hexadecimal digits, attest again"
            ),
            Self::Misspelt(misspelt) => write!(formatter, "{misspelt}; attest again"),
            Self::NoSubjectDigest => formatter.write_str(
                "no subject of the statement has a `sha256` digest; attest again and name the image's digest",
            ),
        }
    }
}

impl std::error::Error for EnvelopeError {}

/// DSSE's pre-authentication encoding up to the payload itself: both lengths are in bytes.
fn header(payload_type: &str, payload: &[u8]) -> String {
    format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len())
}

fn decode(field: &'static str, text: &str) -> Result<Vec<u8>, EnvelopeError> {
    decode_base64(text).ok_or(EnvelopeError::Base64(field))
}

/// The bytes of base64, of either alphabet, with or without padding. Protobuf's JSON has it so, too.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    // The two alphabets differ in two characters; a string without them is the same in both.
    let engine = if text.contains(['-', '_']) { &BASE64_URL_SAFE } else { &BASE64_STANDARD };
    engine.decode(text).ok()
}

fn text<'a>(object: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, EnvelopeError> {
    object.get(field).and_then(Value::as_str).ok_or_else(|| EnvelopeError::shape(field, "a text"))
}

fn list<'a>(object: &'a Map<String, Value>, field: &'static str) -> Result<&'a [Value], EnvelopeError> {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| EnvelopeError::shape(field, "a list"))
}

/// The beginning of somebody else's string, for an error.
fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(MAX_SHOWN_CHARS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
