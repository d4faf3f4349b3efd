//! A piece of evidence, as the tools write it that make it: what kind it is, and which images it is about.
//!
//! Only that is read here. Whoever brings evidence needn't be believed: the policy verifies it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use coset::{CoseSign1, TaggedCborSerializable};
use image_admission_evidence::dsse::{Envelope, EnvelopeError};
use image_admission_evidence::key::{Message, PublicKey};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most bytes of a piece. Hosts hand out no larger configuration.
pub(in crate::command) const MAX_BYTES: usize = 5 << 20;

/// How the types of Sigstore's bundles begin, of every version.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const JWS: &str = "application/jose+json";
const COSE: &str = "application/cose";
/// Hosts read configurations as JSON, so that COSE stands in an object: `{"data": "<base64>"}`.
const COSE_IN_JSON: &str = "application/vnd.image-admission.cose.v1+json";
/// The type of the artifacts that Notary Project's signatures are layers of.
const NOTARY_ARTIFACT: &str = "application/vnd.cncf.notary.signature";
/// The type of a configuration that is none.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The first byte of a COSE_Sign1 with its tag (RFC 9052, section 4.2).
const COSE_SIGN1_TAG: u8 = 0xd2;

// Tools differ in the padding.
const PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, PADDING);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, PADDING);

/// A piece of evidence.
#[derive(Clone, Debug)]
pub(in crate::command) struct Piece {
    media_type: String,
    bytes: Vec<u8>,
    signed: Signed,
    about: Vec<String>,
}

/// What is signed.
#[derive(Clone, Debug)]
enum Signed {
    /// A statement about images.
    Statement(Envelope),
    /// The image's manifest, with this signature.
    Manifest(Vec<u8>),
    /// What Notary Project signs, by a certificate.
    Notary,
}

/// Why something is no evidence that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::command) enum PieceError {
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
    /// Its envelope can't be read.
    #[error("its envelope can't be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Something is missing in it, or can't be read. Holds what.
    #[error("its {0} can't be read")]
    Unreadable(&'static str),
}

impl Piece {
    /// Every piece in a file: one document, or several as JSON lines.
    pub(in crate::command) fn all_in(file: &[u8]) -> Result<Vec<Self>, PieceError> {
        if file.first() == Some(&COSE_SIGN1_TAG) {
            return Ok(vec![Self::of_cose(file)?]);
        }
        let no_json = |why: String| PieceError::NotJson(cut(&why, 100));
        let text = str::from_utf8(file).map_err(|error| no_json(error.to_string()))?;
        let mut pieces = Vec::new();
        for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
            pieces.push(Self::of_json(document.map_err(|error| no_json(error.to_string()))?.get())?);
        }
        if pieces.is_empty() { Err(PieceError::Empty) } else { Ok(pieces) }
    }

    /// The piece that is the configuration of an artifact.
    pub(in crate::command) fn of_configuration(media_type: &str, bytes: &[u8]) -> Result<Vec<Self>, PieceError> {
        if media_type != COSE_IN_JSON {
            return Self::all_in(bytes);
        }
        let document: Option<Value> = serde_json::from_slice(bytes).ok();
        let data = document.as_ref().and_then(|document| decoded(document.get("data")?));
        Ok(vec![Self::of_cose(&data.ok_or(PieceError::Unreadable("data"))?)?])
    }

    /// Its type.
    pub(in crate::command) fn media_type(&self) -> &str {
        &self.media_type
    }

    /// The bytes, as they were signed and written.
    pub(in crate::command) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same as the configuration of an artifact: its type and its bytes.
    pub(in crate::command) fn configuration(&self) -> (String, Vec<u8>) {
        if self.media_type != COSE {
            return (self.media_type.clone(), self.bytes.clone());
        }
        (COSE_IN_JSON.to_owned(), json!({"data": STANDARD.encode(&self.bytes)}).to_string().into_bytes())
    }

    /// The digests of the images that it says it is about.
    pub(in crate::command) fn about(&self) -> &[String] {
        &self.about
    }

    /// Whether a key signed it; `manifest` is that of the image. None where no key can have: Notary Project signs by certificates.
    pub(in crate::command) fn is_signed_by(&self, key: &PublicKey, manifest: &[u8]) -> Option<bool> {
        match &self.signed {
            Signed::Statement(envelope) => Some(envelope.verify(&[("", key)]).is_ok()),
            Signed::Manifest(signature) => Some(key.verifies(&Message::of(&[manifest]), signature)),
            Signed::Notary => None,
        }
    }

    fn of_json(text: &str) -> Result<Self, PieceError> {
        within_bounds(text.len())?;
        let document: Value =
            spelling::from_str(text).map_err(|error| PieceError::NotJson(cut(&error.to_string(), 100)))?;
        let own_type = document.get("mediaType").and_then(Value::as_str).filter(|own| own.starts_with(BUNDLE));
        let envelope = document.get("dsseEnvelope");
        let has = |key| document.get(key).is_some();
        let piece = |media_type: &str, bytes: &str, (signed, about)| Self {
            media_type: media_type.to_owned(),
            bytes: bytes.as_bytes().to_owned(),
            signed,
            about,
        };
        match (own_type, envelope) {
            (Some(own), Some(envelope)) => Ok(piece(own, text, statement(envelope)?)),
            (Some(own), None) => Ok(piece(own, text, message(&document)?)),
            (None, Some(envelope)) => Ok(piece(ENVELOPE, &envelope.to_string(), statement(envelope)?)),
            (None, None) if has("payloadType") => Ok(piece(ENVELOPE, text, statement(&document)?)),
            (None, None) if has("protected") && has("signature") => {
                let payload = document.get("payload").and_then(decoded);
                Ok(piece(JWS, text, (Signed::Notary, vec![target(payload)?])))
            }
            _ => Err(PieceError::UnknownKind),
        }
    }

    fn of_cose(bytes: &[u8]) -> Result<Self, PieceError> {
        within_bounds(bytes.len())?;
        let envelope = CoseSign1::from_tagged_slice(bytes).map_err(|_| PieceError::Unreadable("COSE_Sign1"))?;
        let about = vec![target(envelope.payload)?];
        Ok(Self { media_type: COSE.to_owned(), bytes: bytes.to_owned(), signed: Signed::Notary, about })
    }
}

/// Whether documents of this type are evidence, as layers and configurations.
pub(super) fn is_evidence(media_type: &str) -> bool {
    media_type.starts_with(BUNDLE) || [ENVELOPE, JWS, COSE, COSE_IN_JSON].contains(&media_type)
}

/// Whether artifacts of this type may hold evidence. Those without a type may, and so may those that cosign 2 lists with the type of
/// an empty configuration.
pub(super) fn may_hold_evidence(artifact_type: Option<&str>) -> bool {
    artifact_type.is_none_or(|own| is_evidence(own) || [NOTARY_ARTIFACT, EMPTY].contains(&own))
}

fn within_bounds(bytes: usize) -> Result<(), PieceError> {
    if bytes > MAX_BYTES { Err(PieceError::TooLarge(bytes)) } else { Ok(()) }
}

/// The statement of an envelope, and the digests of its subjects.
fn statement(document: &Value) -> Result<(Signed, Vec<String>), PieceError> {
    let envelope = Envelope::read(document)?;
    let payload = document.get("payload").and_then(decoded);
    let statement = payload.and_then(|payload| serde_json::from_slice::<Value>(&payload).ok());
    let subjects = statement.as_ref().and_then(|statement| statement.get("subject")?.as_array());
    let subjects = subjects.ok_or(PieceError::Unreadable("statement"))?.iter();
    let digest = |subject: &Value| Some(format!("sha256:{}", subject.pointer("/digest/sha256")?.as_str()?));
    Ok((Signed::Statement(envelope), subjects.filter_map(digest).collect()))
}

/// The signature of a bundle that has no envelope, and the digest of what is signed.
fn message(bundle: &Value) -> Result<(Signed, Vec<String>), PieceError> {
    let signature = bundle.pointer("/messageSignature/signature").and_then(decoded);
    let digest = bundle.pointer("/messageSignature/messageDigest");
    let is_sha256 = |digest: &&Value| digest.get("algorithm").is_some_and(|own| own == "SHA2_256");
    let digest = digest.filter(is_sha256).and_then(|digest| decoded(digest.get("digest")?));
    let (signature, digest) = signature.zip(digest).ok_or(PieceError::Unreadable("messageSignature"))?;
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((Signed::Manifest(signature), vec![format!("sha256:{hex}")]))
}

/// The digest of what Notary Project's payload is about.
fn target(payload: Option<Vec<u8>>) -> Result<String, PieceError> {
    let payload: Option<Value> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
    let digest = payload.as_ref().and_then(|payload| payload.pointer("/targetArtifact/digest")?.as_str());
    digest.map(str::to_owned).ok_or(PieceError::Unreadable("payload"))
}

/// The bytes of base64, the standard or the URL-safe one.
fn decoded(text: &Value) -> Option<Vec<u8>> {
    let text = text.as_str()?;
    BASE64.decode(text).or_else(|_| BASE64_URL.decode(text)).ok()
}
