//! Reads bundles: [sigstore_bundle.proto][proto], versions 0.1, 0.2 and 0.3.
//!
//! [proto]: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto

use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::certificate::Certificate;
use crate::dsse::Envelope;
use crate::sigstore::error::BundleError;
use crate::sigstore::json::{Bytes, LogId, Number, RawBytes};
use crate::sigstore::log::{Entry, MAX_HASHES, Proof, Required};

/// The most bytes of a bundle's JSON. Whoever parses it checks this before.
pub const MAX_BUNDLE_BYTES: usize = 5 * 1024 * 1024;

/// The most log entries, the most timestamps and the most certificates of a bundle. Honest ones have one or two, and in a chain three.
/// Each timestamp may cost as many signatures as a chain.
pub const MAX_ENTRIES: usize = 4;

/// A bundle, taken apart: a signature, and what proves whose it is. Nothing of it is proven yet.
#[derive(Clone, Debug)]
pub struct Bundle {
    pub(super) required: Required,
    pub(super) material: Material,
    pub(super) entries: Vec<Entry>,
    /// RFC 3161 timestamps of the signature, in DER.
    pub(super) timestamps: Vec<Vec<u8>>,
    pub(super) content: Signed,
}

/// What to verify the signature with.
#[derive(Clone, Debug)]
pub(super) enum Material {
    Certificate(Box<Certificate>),
    /// A key that whoever verifies must have.
    Key,
}

/// What was signed, and its signature.
#[derive(Clone, Debug)]
pub(super) enum Signed {
    Message { digest: Vec<u8>, signature: Vec<u8> },
    Envelope { envelope: Envelope, signature: Vec<u8> },
}

impl Bundle {
    /// Takes a bundle apart: `{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": …,
    /// "dsseEnvelope": …}`. What its JSON has beyond the fields that are read here is ignored.
    ///
    /// # Errors
    ///
    /// A [`BundleError`] if a field is missing or of another type, if a key is one that other parsers take for a field, if there are
    /// more than [`MAX_ENTRIES`] of something, if a certificate, an envelope or base64 is broken, if there is more than one signature, or if the
    /// certificates have a root among them: roots are trusted because whoever verifies has them.
    pub fn read(document: &Value) -> Result<Self, BundleError> {
        let read: Document =
            spelling::from_value(document).map_err(|error| BundleError::Json(cut(&error.to_string(), 200)))?;
        let version = Version::of(&read.media_type)?;
        let material = read.verification_material;
        let content = match (read.message_signature, read.dsse_envelope, document.get("dsseEnvelope")) {
            (Some(message), None, _) => message.read()?,
            (None, Some(_), Some(envelope)) => {
                let envelope = Envelope::read(envelope).map_err(BundleError::Envelope)?;
                let [signature] = envelope.signatures() else {
                    return Err(BundleError::SignatureCount(envelope.signatures().len()));
                };
                let signature = signature.clone();
                Signed::Envelope { envelope, signature }
            }
            _ => return Err(BundleError::Content),
        };
        let timestamps = material.timestamp_verification_data.unwrap_or_default().rfc3161_timestamps;
        for (field, count) in [("tlogEntries", material.tlog_entries.len()), ("rfc3161Timestamps", timestamps.len())] {
            if count > MAX_ENTRIES {
                return Err(BundleError::Count(field, count));
            }
        }
        Ok(Self {
            required: if version == Version::V01 { Required::Promise } else { Required::Proof },
            material: match (material.certificate, material.x509_certificate_chain, material.public_key) {
                (Some(certificate), None, None) => signing_certificate(vec![certificate])?,
                (None, Some(_), None) if version == Version::V03 => return Err(BundleError::Chain),
                (None, Some(chain), None) => signing_certificate(chain.certificates)?,
                (None, None, Some(_)) => Material::Key,
                _ => return Err(BundleError::Material),
            },
            entries: material.tlog_entries.into_iter().map(LogEntry::read).collect::<Result<_, _>>()?,
            timestamps: timestamps.into_iter().map(|timestamp| timestamp.signed_timestamp.0).collect(),
            content,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V01,
    V02,
    V03,
}

impl Version {
    fn of(media_type: &str) -> Result<Self, BundleError> {
        match media_type {
            "application/vnd.dev.sigstore.bundle+json;version=0.1" => Ok(Self::V01),
            "application/vnd.dev.sigstore.bundle+json;version=0.2" => Ok(Self::V02),
            "application/vnd.dev.sigstore.bundle+json;version=0.3"
            | "application/vnd.dev.sigstore.bundle.v0.3+json" => Ok(Self::V03),
            other => Err(BundleError::MediaType(cut(other, 100))),
        }
    }
}

/// The first certificate is the signer's. Others, in bundles before 0.3, are of authorities that trust roots have too.
fn signing_certificate(certificates: Vec<RawBytes>) -> Result<Material, BundleError> {
    if certificates.len() > MAX_ENTRIES {
        return Err(BundleError::Count("certificates", certificates.len()));
    }
    let mut certificates = certificates.iter().map(|certificate| Certificate::from_der(&certificate.raw_bytes.0));
    let leaf = certificates.next().ok_or(BundleError::NoCertificate)?.map_err(BundleError::Certificate)?;
    for certificate in certificates {
        if certificate.map_err(BundleError::Certificate)?.is_self_issued() {
            return Err(BundleError::RootInBundle);
        }
    }
    Ok(Material::Certificate(Box::new(leaf)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: String,
    verification_material: VerificationMaterial,
    message_signature: Option<MessageSignature>,
    // Read from the document itself, without a copy.
    dsse_envelope: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerificationMaterial {
    certificate: Option<RawBytes>,
    x509_certificate_chain: Option<CertificateChain>,
    public_key: Option<IgnoredAny>,
    #[serde(default)]
    tlog_entries: Vec<LogEntry>,
    timestamp_verification_data: Option<TimestampVerificationData>,
}

#[derive(Deserialize)]
struct CertificateChain {
    #[serde(default)]
    certificates: Vec<RawBytes>,
}

#[derive(Deserialize, Default)]
struct TimestampVerificationData {
    #[serde(default, rename = "rfc3161Timestamps")]
    rfc3161_timestamps: Vec<SignedTimestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedTimestamp {
    signed_timestamp: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageSignature {
    message_digest: MessageDigest,
    signature: Bytes,
}

#[derive(Deserialize)]
struct MessageDigest {
    algorithm: String,
    digest: Bytes,
}

impl MessageSignature {
    fn read(self) -> Result<Signed, BundleError> {
        if self.message_digest.algorithm != "SHA2_256" {
            return Err(BundleError::DigestAlgorithm(cut(&self.message_digest.algorithm, 100)));
        }
        Ok(Signed::Message { digest: self.message_digest.digest.0, signature: self.signature.0 })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    #[serde(default)]
    log_index: Number,
    log_id: LogId,
    kind_version: KindVersion,
    integrated_time: Option<Number>,
    inclusion_promise: Option<InclusionPromise>,
    inclusion_proof: Option<InclusionProof>,
    canonicalized_body: Bytes,
}

#[derive(Deserialize)]
struct KindVersion {
    kind: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InclusionPromise {
    signed_entry_timestamp: Bytes,
}

// Protobuf leaves out a number that is 0, and a list that is empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InclusionProof {
    #[serde(default)]
    log_index: Number,
    root_hash: Bytes,
    #[serde(default)]
    tree_size: Number,
    #[serde(default)]
    hashes: Vec<Bytes>,
    checkpoint: Option<Checkpoint>,
}

#[derive(Deserialize)]
struct Checkpoint {
    envelope: String,
}

impl LogEntry {
    fn read(self) -> Result<Entry, BundleError> {
        let proof = self.inclusion_proof.map(|proof| {
            if proof.hashes.len() > MAX_HASHES {
                return Err(BundleError::Count("hashes", proof.hashes.len()));
            }
            Ok(Proof {
                index: proof.log_index.0,
                size: proof.tree_size.0,
                root: proof.root_hash.0,
                hashes: proof.hashes.into_iter().map(|hash| hash.0).collect(),
                checkpoint: proof.checkpoint.map(|checkpoint| checkpoint.envelope),
            })
        });
        Ok(Entry {
            index: self.log_index.0,
            log_id: self.log_id.key_id.0,
            kind: self.kind_version.kind,
            version: self.kind_version.version,
            integrated_time: self.integrated_time.map(|time| time.0),
            promise: self.inclusion_promise.map(|promise| promise.signed_entry_timestamp.0),
            proof: proof.transpose()?,
            body: self.canonicalized_body.0,
        })
    }
}
