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

use std::cell::OnceCell;
use std::fmt;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::ed25519::signature::MultipartVerifier as _;
use image_admission_untrusted::json::utf8;
use image_admission_untrusted::spelling::{self, Misspelt};
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256, Sha384};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

/// The one payload type read here: in-toto's, for every version of its statement.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The most bytes a payload may have once decoded. It bounds hashing and parsing.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 5 * 1024 * 1024;

/// The most signatures an envelope may have. Each is tried with each key, so this bounds the curve arithmetic.
pub(crate) const MAX_SIGNATURES: usize = 16;

/// The most subjects a statement may have.
pub(crate) const MAX_SUBJECTS: usize = 1_000;

/// The most characters of a document's string in an error.
const MAX_SHOWN_CHARS: usize = 100;

/// The values of `_type` that name a statement layout read here. v1 changed nothing in the fields used below.
const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v0.1", "https://in-toto.io/Statement/v1"];

const PEM_LABEL: &str = "PUBLIC KEY";

// RFC 8017 (the first, and RSASSA-PSS for the second), RFC 5480 and RFC 8410.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const RSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const CURVE_P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const CURVE_P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

// The padding is optional, because signers differ; everything else is strict.
const BASE64: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
static BASE64_STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, BASE64);
static BASE64_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, BASE64);

/// A public key that envelopes are verified with. Two keys are equal if they are the same point of the same curve,
/// however their PEM was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeKey {
    /// ECDSA on NIST P-256, over SHA-256.
    P256(p256::ecdsa::VerifyingKey),
    /// ECDSA on NIST P-384, over SHA-384 or SHA-256.
    P384(p384::ecdsa::VerifyingKey),
    /// Ed25519 as in RFC 8032, not pre-hashed.
    Ed25519(ed25519_dalek::VerifyingKey),
}

impl EnvelopeKey {
    /// Reads one key from PEM: a single `-----BEGIN PUBLIC KEY-----` block (a `SubjectPublicKeyInfo`, what
    /// `cosign generate-key-pair` and `openssl pkey -pubout` write), with nothing but white space around it.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] for anything else: other PEM blocks, RSA, other curves and algorithms, and key bytes that are no
    /// usable point of their curve.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let der = public_key_block(pem)?;
        let key = SubjectPublicKeyInfoRef::try_from(der.as_slice()).map_err(|_| KeyError::Malformed)?;
        let bytes = key.subject_public_key.as_bytes().ok_or(KeyError::Malformed)?;
        match key.algorithm.oid {
            ELLIPTIC_CURVE => {
                // Curves spelled out in numbers instead of named are refused: a signer could choose weak ones.
                let curve = key.algorithm.parameters_oid().map_err(|_| KeyError::UnnamedCurve)?;
                match curve {
                    CURVE_P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                        .map(Self::P256)
                        .map_err(|_| KeyError::NotOnCurve("P-256")),
                    CURVE_P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                        .map(Self::P384)
                        .map_err(|_| KeyError::NotOnCurve("P-384")),
                    other => Err(KeyError::Curve(other.to_string())),
                }
            }
            ED25519 => {
                // RFC 8410, section 3: the parameters must be absent.
                if key.algorithm.parameters.is_some() {
                    return Err(KeyError::Malformed);
                }
                let key = bytes
                    .try_into()
                    .ok()
                    .and_then(|bytes| ed25519_dalek::VerifyingKey::from_bytes(bytes).ok())
                    .ok_or(KeyError::NotOnCurve("Ed25519"))?;
                // Anybody can make a signature that such a key accepts for almost every message. With these keys out,
                // plain verification is as good as the library's strict one, which can't take a message in parts.
                if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self::Ed25519(key)) }
            }
            RSA | RSA_PSS => Err(KeyError::Rsa),
            other => Err(KeyError::Algorithm(other.to_string())),
        }
    }

    /// Whether `signature` is this key's signature of `message`.
    ///
    /// An ECDSA signature is the DER of `r` and `s` (written by cosign, go-securesystemslib and the key management services), or
    /// the two numbers at fixed width one after the other (in the protocol's own example and reference implementation). DSSE leaves
    /// the choice open, and neither can be taken for the other. Reading the second form as well accepts nothing that the key's
    /// holder didn't sign.
    fn verifies(&self, message: &Message<'_>, signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => p256::ecdsa::Signature::from_der(signature)
                .or_else(|_| p256::ecdsa::Signature::from_slice(signature))
                .is_ok_and(|signature| key.verify_prehash(message.sha256(), &signature).is_ok()),
            // SHA-384 is the hash that belongs to the curve, and cosign 2.6 and later sign with it. Up to 2.5 cosign signed with
            // SHA-256 whatever the curve (`LoadPrivateKey` named `crypto.SHA256`), and `cosign verify-attestation --key` still
            // verifies with that in 3.1 (sigstore/cosign issue 5092). Both are in registries, so both are tried. SHA-256 is not
            // weak: it only gives up the curve's margin over 128 bits.
            Self::P384(key) => p384::ecdsa::Signature::from_der(signature)
                .or_else(|_| p384::ecdsa::Signature::from_slice(signature))
                .is_ok_and(|signature| {
                    key.verify_prehash(message.sha384(), &signature).is_ok()
                        || key.verify_prehash(message.sha256(), &signature).is_ok()
                }),
            // Pre-hashed Ed25519 is not tried: cosign 2.6 and later sign with it if given an imported Ed25519 key, but
            // their own `verify-attestation --key` verifies the plain form (sigstore/cosign pull request 5074).
            Self::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.multipart_verify(&message.parts(), &signature).is_ok()),
        }
    }
}

/// The bytes between the armour of the one `PUBLIC KEY` block in `pem`.
fn public_key_block(pem: &str) -> Result<Vec<u8>, KeyError> {
    let rest = pem.trim().strip_prefix("-----BEGIN ").ok_or(KeyError::NotPem)?;
    let (label, rest) = rest.split_once("-----").ok_or(KeyError::NotPem)?;
    match label {
        PEM_LABEL => {}
        label if label.ends_with("PRIVATE KEY") => return Err(KeyError::PrivateKey),
        "RSA PUBLIC KEY" => return Err(KeyError::Rsa),
        other => return Err(KeyError::Label(shown(other))),
    }
    let (body, rest) = rest.split_once("-----END PUBLIC KEY-----").ok_or(KeyError::NotPem)?;
    if !rest.is_empty() {
        return Err(KeyError::MoreThanOneBlock);
    }
    let body: String = body.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(body).map_err(|_| KeyError::Malformed)
}

/// Why a string is no key that envelopes can be verified with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyError {
    /// There is no complete PEM block, or there is text before it.
    NotPem,
    /// There is text after the first PEM block.
    MoreThanOneBlock,
    /// The PEM block is of another kind, such as a certificate. Holds its label.
    Label(String),
    /// The PEM block is a private key, which belongs nowhere near a verifier.
    PrivateKey,
    /// The base64, the DER or the structure is broken.
    Malformed,
    /// An RSA key.
    Rsa,
    /// An elliptic curve that isn't read here. Holds its object identifier.
    Curve(String),
    /// The curve is given by its numbers instead of its name.
    UnnamedCurve,
    /// The key bytes aren't a point of the curve they name.
    NotOnCurve(&'static str),
    /// An Ed25519 key of low order, which signatures can be made for without a private key.
    Weak,
    /// An algorithm that isn't read here. Holds its object identifier.
    Algorithm(String),
}

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem => formatter.write_str(
                "the key is not PEM; give the whole block from `-----BEGIN PUBLIC KEY-----` to \
                 `-----END PUBLIC KEY-----`",
            ),
            Self::MoreThanOneBlock => {
                formatter.write_str("there is text after the key's PEM block; give each key on its own")
            }
            Self::Label(label) => write!(
                formatter,
                "the PEM block is a `{label}`, not a `{PEM_LABEL}`; give the public key itself (of a certificate: \
                 `openssl x509 -pubkey -noout`)"
            ),
            Self::PrivateKey => formatter.write_str(
                "the PEM block is a private key; give the public key (`openssl pkey -pubout`), and replace the private \
                 key if others could read it here",
            ),
            Self::Malformed => formatter
                .write_str("the key's PEM block holds no readable public key; write it again (`openssl pkey -pubout`)"),
            Self::Rsa => formatter.write_str(
                "an RSA key can't verify an envelope here, since the RSA crate has an open timing advisory \
                 (RUSTSEC-2023-0071); use ECDSA P-256, P-384 or Ed25519",
            ),
            Self::Curve(curve) => write!(
                formatter,
                "the key is on the elliptic curve `{}`, which isn't supported; use ECDSA P-256, P-384 or Ed25519",
                curve_name(curve)
            ),
            Self::UnnamedCurve => formatter.write_str(
                "the key doesn't name its elliptic curve; write it again with a named curve \
                 (`openssl pkey -pubout -ec_param_enc named_curve`)",
            ),
            Self::NotOnCurve(curve) => {
                write!(formatter, "the key is no valid `{curve}` key; write it again from its private key")
            }
            Self::Weak => formatter.write_str(
                "the Ed25519 key is of low order: anybody could sign for it; use a key from a key generator",
            ),
            Self::Algorithm(algorithm) => write!(
                formatter,
                "the key's algorithm `{algorithm}` isn't supported; use ECDSA P-256, P-384 or Ed25519"
            ),
        }
    }
}

impl std::error::Error for KeyError {}

/// The usual name of a curve that people do try, or its object identifier.
fn curve_name(identifier: &str) -> &str {
    match identifier {
        "1.3.132.0.35" => "P-521",
        "1.3.132.0.33" => "P-224",
        "1.3.132.0.10" => "secp256k1",
        other => other,
    }
}

/// A DSSE envelope with an in-toto payload: taken apart, but not verified. Nothing in it can be trusted or read yet.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
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
    pub(crate) fn read(document: &Value) -> Result<Self, EnvelopeError> {
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
    pub(crate) fn verify<'a>(&'a self, keys: &[(&'a str, &EnvelopeKey)]) -> Result<Verified<'a>, EnvelopeError> {
        let message = Message::new(&self.payload);
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
}

/// An envelope that at least one trusted key signed. Only [`Envelope::verify`] makes one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verified<'a> {
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
    pub(crate) fn statement(&self) -> Result<Statement, EnvelopeError> {
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
pub(crate) struct Statement {
    /// What kind of claim this is, such as `https://slsa.dev/provenance/v1`. Never empty.
    pub(crate) predicate_type: String,
    /// What the claim is about: `sha256:` and 64 lower-case hexadecimal digits for every subject that has such a
    /// digest, in the statement's order. Never empty.
    pub(crate) subjects: Vec<String>,
    /// The whole statement, its predicate included.
    pub(crate) json: Value,
}

/// Why a document is no envelope, why nobody trusted signed it, or why what they signed is no statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeError {
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

/// The bytes that a signature of a payload is made over. Each hash is computed once, however many signatures and keys are tried.
struct Message<'a> {
    header: String,
    payload: &'a [u8],
    sha256: OnceCell<[u8; 32]>,
    sha384: OnceCell<[u8; 48]>,
}

impl<'a> Message<'a> {
    fn new(payload: &'a [u8]) -> Self {
        Self { header: header(PAYLOAD_TYPE, payload), payload, sha256: OnceCell::new(), sha384: OnceCell::new() }
    }

    /// The encoding in two parts, so that the payload needn't be copied behind its header.
    fn parts(&self) -> [&[u8]; 2] {
        [self.header.as_bytes(), self.payload]
    }

    fn sha256(&self) -> &[u8] {
        self.sha256.get_or_init(|| Sha256::new_with_prefix(&self.header).chain_update(self.payload).finalize().into())
    }

    fn sha384(&self) -> &[u8] {
        self.sha384.get_or_init(|| Sha384::new_with_prefix(&self.header).chain_update(self.payload).finalize().into())
    }
}

/// DSSE's pre-authentication encoding up to the payload itself: both lengths are in bytes.
fn header(payload_type: &str, payload: &[u8]) -> String {
    format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len())
}

/// The bytes of a Base64 string, in either alphabet.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    decode("", text).ok()
}

fn decode(field: &'static str, text: &str) -> Result<Vec<u8>, EnvelopeError> {
    // The two alphabets differ in two characters; a string without them is the same in both.
    let engine = if text.contains(['-', '_']) { &BASE64_URL_SAFE } else { &BASE64_STANDARD };
    engine.decode(text).map_err(|_| EnvelopeError::Base64(field))
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
