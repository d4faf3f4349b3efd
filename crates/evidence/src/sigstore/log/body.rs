//! What an entry of a log is about: `canonicalizedBody`, of the [kinds][v1] `hashedrekord` 0.0.1, `dsse` 0.0.1 and `intoto` 0.0.2 of
//! Rekor v1, and of the [kinds][v2] `hashedrekord` 0.0.2 and `dsse` 0.0.2 of Rekor v2.
//!
//! [v1]: https://github.com/sigstore/rekor/tree/main/pkg/types
//! [v2]: https://github.com/sigstore/rekor-tiles/tree/main/api/proto/rekor/v2

use std::fmt;

use image_admission_untrusted::json::utf8;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::certificate::{Certificate, hex};
use crate::dsse::{Envelope, decode_base64};
use crate::key::{Hash, PublicKey};
use crate::sigstore::json::{Bytes, RawBytes};
use crate::sigstore::log::Entry;

/// Whose signature an entry has to be about.
#[derive(Clone, Copy, Debug)]
pub(in crate::sigstore) enum Signer<'a> {
    Certificate(&'a Certificate),
    Key(&'a PublicKey),
}

/// What was signed, with its one signature.
#[derive(Clone, Copy, Debug)]
pub(in crate::sigstore) enum Content<'a> {
    /// A message of which the SHA-256 is known.
    Message { digest: &'a [u8], signature: &'a [u8] },
    /// An envelope.
    Envelope { envelope: &'a Envelope, signature: &'a [u8] },
}

/// Compares an entry with a bundle: it must have this signature, of this signer, of this content.
pub(super) fn compare(entry: &Entry, signer: Signer<'_>, content: Content<'_>) -> Result<(), BodyError> {
    let logged = read(entry)?;
    let (Content::Message { signature, .. } | Content::Envelope { signature, .. }) = content;
    if logged.signature != signature {
        return Err(BodyError::OtherSignature);
    }
    if !logged.signer.is(signer) {
        return Err(BodyError::OtherSigner);
    }
    let is_same = match (logged.subject, content) {
        (
            Subject::Message(Hash::Sha256, logged) | Subject::Signed(Hash::Sha256, logged),
            Content::Message { digest, .. },
        ) => logged == digest,
        (Subject::Signed(hash, logged), Content::Envelope { envelope, .. }) => logged == envelope.digest(hash),
        (Subject::Payload(Hash::Sha256, logged), Content::Envelope { envelope, .. }) => {
            logged == Sha256::digest(envelope.payload()).as_slice()
        }
        _ => return Err(BodyError::OtherKind(entry.kind.clone())),
    };
    if is_same { Ok(()) } else { Err(BodyError::OtherContent) }
}

struct Logged {
    subject: Subject,
    signature: Vec<u8>,
    signer: LoggedSigner,
}

enum Subject {
    /// The digest of a message.
    Message(Hash, Vec<u8>),
    /// The digest of an envelope's payload.
    Payload(Hash, Vec<u8>),
    /// The digest of what the signature is made over: a message, or an envelope's pre-authentication encoding.
    Signed(Hash, Vec<u8>),
}

enum LoggedSigner {
    Pem(Vec<u8>),
    Certificate(Vec<u8>),
    Key(Vec<u8>),
}

impl LoggedSigner {
    fn is(&self, signer: Signer<'_>) -> bool {
        match (self, signer) {
            (Self::Pem(pem), Signer::Certificate(certificate)) => std::str::from_utf8(pem)
                .ok()
                .and_then(|pem| Certificate::all_from_pem(pem).ok())
                .and_then(|all| all.into_iter().next())
                .is_some_and(|logged| logged.der() == certificate.der()),
            (Self::Pem(pem), Signer::Key(key)) => {
                std::str::from_utf8(pem).is_ok_and(|pem| PublicKey::from_pem(pem).as_ref() == Ok(key))
            }
            (Self::Certificate(der), Signer::Certificate(certificate)) => der == certificate.der(),
            (Self::Key(der), Signer::Key(key)) => PublicKey::from_der(der).as_ref() == Ok(key),
            (Self::Certificate(_), Signer::Key(_)) | (Self::Key(_), Signer::Certificate(_)) => false,
        }
    }
}

fn read(entry: &Entry) -> Result<Logged, BodyError> {
    let body: Body<'_> = parse(utf8(&entry.body).map_err(|error| BodyError::json(&error))?)?;
    if (body.kind.as_str(), body.api_version.as_str()) != (entry.kind.as_str(), entry.version.as_str()) {
        return Err(BodyError::Kind(cut(&format!("{} {}", body.kind, body.api_version), 100)));
    }
    match (body.kind.as_str(), body.api_version.as_str()) {
        ("hashedrekord", "0.0.1") => {
            let spec: HashedRekord1 = parse(body.spec.get())?;
            let (hash, digest) = spec.data.hash.read()?;
            Ok(Logged {
                subject: Subject::Message(hash, digest),
                signature: spec.signature.content.0,
                signer: LoggedSigner::Pem(spec.signature.public_key.content.0),
            })
        }
        ("dsse", "0.0.1") => {
            let spec: Dsse1 = parse(body.spec.get())?;
            let (hash, digest) = spec.payload_hash.read()?;
            let signature = only(spec.signatures)?;
            Ok(Logged {
                subject: Subject::Payload(hash, digest),
                signature: signature.signature.0,
                signer: LoggedSigner::Pem(signature.verifier.0),
            })
        }
        ("intoto", "0.0.2") => {
            let spec: Intoto2 = parse(body.spec.get())?;
            let (hash, digest) = spec.content.payload_hash.read()?;
            let signature = only(spec.content.envelope.signatures)?;
            // What the log took was base64 already.
            let bytes = std::str::from_utf8(&signature.sig.0).ok().and_then(decode_base64);
            Ok(Logged {
                subject: Subject::Payload(hash, digest),
                signature: bytes.ok_or(BodyError::OtherSignature)?,
                signer: LoggedSigner::Pem(signature.public_key.0),
            })
        }
        ("hashedrekord", "0.0.2") => {
            let spec: HashedRekord2 = parse(body.spec.get())?;
            let (hash, digest) = spec.hashed_rekord_v002.data.read()?;
            spec.hashed_rekord_v002.signature.read(Subject::Signed(hash, digest))
        }
        ("dsse", "0.0.2") => {
            let spec: Dsse2 = parse(body.spec.get())?;
            let (hash, digest) = spec.dsse_v002.payload_hash.read()?;
            only(spec.dsse_v002.signatures)?.read(Subject::Payload(hash, digest))
        }
        (kind, version) => Err(BodyError::Kind(cut(&format!("{kind} {version}"), 100))),
    }
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, BodyError> {
    spelling::from_str(json).map_err(|error| BodyError::json(&error))
}

fn only<T>(signatures: Vec<T>) -> Result<T, BodyError> {
    let [signature]: [T; 1] = signatures.try_into().map_err(|all: Vec<T>| BodyError::SignatureCount(all.len()))?;
    Ok(signature)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: String,
    api_version: String,
    #[serde(borrow)]
    spec: &'a RawValue,
}

#[derive(Deserialize)]
struct HashedRekord1 {
    data: Data1,
    signature: Signature1,
}

#[derive(Deserialize)]
struct Data1 {
    hash: HexDigest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Signature1 {
    content: Bytes,
    public_key: PublicKey1,
}

#[derive(Deserialize)]
struct PublicKey1 {
    content: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dsse1 {
    payload_hash: HexDigest,
    signatures: Vec<DsseSignature1>,
}

#[derive(Deserialize)]
struct DsseSignature1 {
    signature: Bytes,
    verifier: Bytes,
}

#[derive(Deserialize)]
struct Intoto2 {
    content: IntotoContent2,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntotoContent2 {
    envelope: IntotoEnvelope2,
    payload_hash: HexDigest,
}

#[derive(Deserialize)]
struct IntotoEnvelope2 {
    signatures: Vec<IntotoSignature2>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntotoSignature2 {
    sig: Bytes,
    public_key: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HashedRekord2 {
    hashed_rekord_v002: HashedRekordContent2,
}

#[derive(Deserialize)]
struct HashedRekordContent2 {
    data: BytesDigest,
    signature: Signature2,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dsse2 {
    dsse_v002: DsseContent2,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DsseContent2 {
    payload_hash: BytesDigest,
    signatures: Vec<Signature2>,
}

#[derive(Deserialize)]
struct Signature2 {
    content: Bytes,
    verifier: Verifier2,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verifier2 {
    public_key: Option<RawBytes>,
    x509_certificate: Option<RawBytes>,
}

/// A digest as Rekor v1 writes it, `sha256` and hexadecimal digits.
#[derive(Deserialize)]
struct HexDigest {
    algorithm: String,
    value: String,
}

/// A digest as Rekor v2 writes it, `SHA2_256` and base64.
#[derive(Deserialize)]
struct BytesDigest {
    algorithm: String,
    digest: Bytes,
}

impl HexDigest {
    fn read(self) -> Result<(Hash, Vec<u8>), BodyError> {
        if self.algorithm != "sha256" {
            return Err(BodyError::Hash(cut(&self.algorithm, 100)));
        }
        Ok((Hash::Sha256, from_hex(&self.value).ok_or(BodyError::OtherContent)?))
    }
}

impl BytesDigest {
    fn read(self) -> Result<(Hash, Vec<u8>), BodyError> {
        let hash = match self.algorithm.as_str() {
            "SHA2_256" => Hash::Sha256,
            "SHA2_384" => Hash::Sha384,
            "SHA2_512" => Hash::Sha512,
            other => return Err(BodyError::Hash(cut(other, 100))),
        };
        Ok((hash, self.digest.0))
    }
}

impl Signature2 {
    fn read(self, subject: Subject) -> Result<Logged, BodyError> {
        let signer = match (self.verifier.x509_certificate, self.verifier.public_key) {
            (Some(certificate), None) => LoggedSigner::Certificate(certificate.raw_bytes.0),
            (None, Some(key)) => LoggedSigner::Key(key.raw_bytes.0),
            _ => return Err(BodyError::OtherSigner),
        };
        Ok(Logged { subject, signature: self.content.0, signer })
    }
}

/// The bytes of lower-case hexadecimal digits.
pub(in crate::sigstore) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect();
    // What isn't written back as it was read had a sign, or upper-case digits, or one digit too few.
    bytes.filter(|bytes| hex(bytes) == text)
}

/// Why an entry isn't about a bundle's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It isn't JSON of the shape of its kind. Holds the parser's words.
    Json(String),
    /// It is of another kind or version than the bundle says, or of one that isn't read here. Holds them.
    Kind(String),
    /// It is of a kind for other content than the bundle's. Holds it.
    OtherKind(String),
    /// It has no signature, or several. Holds how many.
    SignatureCount(usize),
    /// A digest is of a hash that isn't read here. Holds it.
    Hash(String),
    /// It has another signature.
    OtherSignature,
    /// It has another certificate or key.
    OtherSigner,
    /// It is about another message or envelope.
    OtherContent,
}

impl BodyError {
    fn json(error: &serde_json::Error) -> Self {
        Self::Json(cut(&error.to_string(), 200))
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(reason) => {
                write!(formatter, "the log entry's `canonicalizedBody` can't be read: `{reason}`; sign again")
            }
            Self::Kind(kind) => write!(
                formatter,
                "the log entry is of the kind `{kind}`; only `hashedrekord` and `dsse` 0.0.1 and 0.0.2, and `intoto` \
                 0.0.2 are read, and `kindVersion` must say the same"
            ),
            Self::OtherKind(kind) => {
                write!(
                    formatter,
                    "the log entry is a `{}`, which is not for what the bundle has; sign again",
                    cut(kind, 100)
                )
            }
            Self::SignatureCount(count) => {
                write!(formatter, "the log entry has `{count}` signatures; only entries with one are read")
            }
            Self::Hash(found) => write!(formatter, "the log entry has a digest by `{found}`; sign again with SHA-256"),
            Self::OtherSignature => {
                formatter.write_str("the log entry is about another signature; the bundle was put together of several")
            }
            Self::OtherSigner => formatter
                .write_str("the log entry is about another certificate or key; the bundle was put together of several"),
            Self::OtherContent => {
                formatter.write_str("the log entry is about other content; the bundle was put together of several")
            }
        }
    }
}

impl std::error::Error for BodyError {}
