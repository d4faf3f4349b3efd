//! A piece of evidence, as the tools write it that make it: what kind it is, and which images it is about.
//!
//! Only that is read here. Whoever brings evidence needn't be believed: the policy verifies it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image_admission_evidence::dsse::{Envelope, EnvelopeError, decode_base64};
use image_admission_evidence::key::PublicKey;
use image_admission_evidence::media_type::{ARTIFACT_TYPE, COSE_CONFIGURATION, DSSE_ENVELOPE, SIGSTORE_BUNDLE};
use image_admission_evidence::notary::{COSE, Envelope as NotaryEnvelope, JWS, NotaryError};
use image_admission_evidence::sigstore::{Bundle, BundleError, MAX_BUNDLE_BYTES};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most bytes of a piece.
pub const MAX_BYTES: usize = MAX_BUNDLE_BYTES;

/// The type of the artifacts that Notary Project's signatures are layers of.
const NOTARY_ARTIFACT: &str = "application/vnd.cncf.notary.signature";
/// The type of a configuration that is none.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The first byte of a COSE_Sign1 with its tag (RFC 9052, section 4.2).
const COSE_SIGN1_TAG: u8 = 0xd2;

/// A piece of evidence.
#[derive(Clone, Debug)]
pub struct Piece {
    media_type: String,
    bytes: Vec<u8>,
    signed: Signed,
    about: Vec<String>,
}

/// Who can have signed it.
#[derive(Clone, Debug)]
enum Signed {
    Bundle(Box<Bundle>),
    Envelope(Envelope),
    /// A certificate, as always in Notary Project.
    Notary,
}

/// Why something is no evidence that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It has too many bytes. Holds them.
    #[error("it has {0} bytes, and {MAX_BYTES} are the most")]
    TooLarge(usize),
    /// It is no JSON, and no COSE. Holds the parser's words.
    #[error("it is neither JSON nor a COSE_Sign1: {0}")]
    NotJson(String),
    /// It is JSON of another kind.
    #[error(
        "it is no Sigstore bundle (`cosign sign --bundle`, `gh attestation download`), no DSSE envelope (`cosign download attestation`), and no signature of Notary Project"
    )]
    UnknownKind,
    /// It is a bundle that the policy can't read.
    #[error("its bundle can't be read: {0}")]
    Bundle(#[from] BundleError),
    /// It is an envelope that the policy can't read.
    #[error("its envelope can't be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// It is a signature of Notary Project that the policy can't read.
    #[error("its signature can't be read: {0}")]
    Notary(#[from] NotaryError),
    /// Something is missing in it, or can't be read. Holds what.
    #[error("its {0} can't be read")]
    Unreadable(&'static str),
}

/// Why a key doesn't verify a piece.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnverifiedError {
    /// What the bundle lacks.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// What the envelope lacks.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// No key can have signed it.
    #[error("it is a signature of Notary Project, which certificates make, and no key")]
    ByCertificate,
}

impl Piece {
    /// Every piece in a file: one document, or several as JSON lines.
    ///
    /// # Errors
    /// One of the documents is no evidence that can be used, or there is none.
    pub fn all_in(file: &[u8]) -> Result<Vec<Self>, PieceError> {
        if file.first() == Some(&COSE_SIGN1_TAG) {
            return Ok(vec![Self::of_notary(COSE, file)?]);
        }
        let no_json = |why: String| PieceError::NotJson(cut(&why, 100));
        let text = str::from_utf8(file).map_err(|error| no_json(error.to_string()))?;
        let mut pieces = Vec::new();
        for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            pieces.push(Self::of_json(document.map_err(|error| no_json(error.to_string()))?.get())?);
        }
        if pieces.is_empty() { Err(PieceError::Empty) } else { Ok(pieces) }
    }

    /// The pieces in the configuration or a layer of an artifact.
    ///
    /// # Errors
    /// The document is no evidence that can be used.
    pub fn of_configuration(media_type: &str, bytes: &[u8]) -> Result<Vec<Self>, PieceError> {
        if media_type != COSE_CONFIGURATION {
            return Self::all_in(bytes);
        }
        let document: Option<Value> = serde_json::from_slice(bytes).ok();
        let data = document.as_ref().and_then(|document| decoded(document.get("data")?));
        Ok(vec![Self::of_notary(COSE, &data.ok_or(PieceError::Unreadable("data"))?)?])
    }

    /// Its type.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// The bytes, as they were signed and written.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same as the configuration of an artifact: its type and its bytes.
    #[must_use]
    pub fn configuration(&self) -> (String, Vec<u8>) {
        if self.media_type != COSE {
            return (self.media_type.clone(), self.bytes.clone());
        }
        (COSE_CONFIGURATION.to_owned(), json!({"data": STANDARD.encode(&self.bytes)}).to_string().into_bytes())
    }

    /// The digests of the images that it says it is about.
    #[must_use]
    pub fn about(&self) -> &[String] {
        &self.about
    }

    /// Verifies that a key signed it, and that it is about the image with this digest.
    ///
    /// # Errors
    /// Why it doesn't count.
    pub fn verify(&self, key: &PublicKey, digest: &str) -> Result<(), UnverifiedError> {
        match &self.signed {
            Signed::Bundle(bundle) => drop(bundle.verify_by_key(key, None, digest)?),
            Signed::Envelope(envelope) => drop(envelope.verify(&[("--key", key)])?),
            Signed::Notary => return Err(UnverifiedError::ByCertificate),
        }
        Ok(())
    }

    fn of_json(text: &str) -> Result<Self, PieceError> {
        if text.len() > MAX_BYTES {
            return Err(PieceError::TooLarge(text.len()));
        }
        let document: Value =
            spelling::from_str(text).map_err(|error| PieceError::NotJson(cut(&error.to_string(), 100)))?;
        let own_type = document.get("mediaType").and_then(Value::as_str).filter(|own| own.starts_with(SIGSTORE_BUNDLE));
        let has = |key| document.get(key).is_some();
        match (own_type, document.get("dsseEnvelope")) {
            (Some(own), envelope) => {
                let signed = Signed::Bundle(Box::new(Bundle::read(&document)?));
                let about = envelope.map_or_else(|| signed_digest(&document), subjects)?;
                Ok(Self { media_type: own.to_owned(), bytes: text.as_bytes().to_owned(), signed, about })
            }
            (None, Some(envelope)) => Self::of_envelope(envelope, &envelope.to_string()),
            (None, None) if has("payloadType") => Self::of_envelope(&document, text),
            (None, None) if has("protected") && has("signature") => Self::of_notary(JWS, text.as_bytes()),
            (None, None) => Err(PieceError::UnknownKind),
        }
    }

    fn of_envelope(envelope: &Value, text: &str) -> Result<Self, PieceError> {
        let signed = Signed::Envelope(Envelope::read(envelope)?);
        let about = subjects(envelope)?;
        Ok(Self { media_type: DSSE_ENVELOPE.to_owned(), bytes: text.as_bytes().to_owned(), signed, about })
    }

    fn of_notary(media_type: &str, bytes: &[u8]) -> Result<Self, PieceError> {
        let about = vec![NotaryEnvelope::read(media_type, bytes)?.claims().digest.to_owned()];
        Ok(Self { media_type: media_type.to_owned(), bytes: bytes.to_owned(), signed: Signed::Notary, about })
    }
}

/// Whether documents of this type are evidence, as layers and configurations.
pub fn is_evidence(media_type: &str) -> bool {
    media_type.starts_with(SIGSTORE_BUNDLE) || [DSSE_ENVELOPE, JWS, COSE, COSE_CONFIGURATION].contains(&media_type)
}

/// Whether artifacts of this type may hold evidence. Those without a type may, and so may those that cosign 2 lists with the type of
/// an empty configuration.
pub fn may_hold_evidence(artifact_type: Option<&str>) -> bool {
    artifact_type.is_none_or(|own| is_evidence(own) || [ARTIFACT_TYPE, NOTARY_ARTIFACT, EMPTY].contains(&own))
}

/// The digests of the subjects of an envelope's statement.
fn subjects(envelope: &Value) -> Result<Vec<String>, PieceError> {
    let payload = envelope.get("payload").and_then(decoded);
    let statement: Option<Value> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
    let subjects = statement.as_ref().and_then(|statement| statement.get("subject")?.as_array());
    let digest = |subject: &Value| Some(format!("sha256:{}", subject.pointer("/digest/sha256")?.as_str()?));
    Ok(subjects.ok_or(PieceError::Unreadable("statement"))?.iter().filter_map(digest).collect())
}

/// The digest that a bundle without an envelope has a signature of.
fn signed_digest(bundle: &Value) -> Result<Vec<String>, PieceError> {
    let digest = bundle.pointer("/messageSignature/messageDigest/digest").and_then(decoded);
    let hex = |digest: Vec<u8>| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    digest.map(|digest| vec![format!("sha256:{}", hex(digest))]).ok_or(PieceError::Unreadable("messageDigest"))
}

/// The bytes of base64, the standard or the URL-safe one.
fn decoded(text: &Value) -> Option<Vec<u8>> {
    decode_base64(text.as_str()?)
}
