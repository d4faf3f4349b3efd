//! `trusted_root.json`: the authorities and logs that bundles are verified against ([sigstore_trustroot.proto][proto]).
//!
//! [proto]: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_trustroot.proto

use std::fmt;

use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use image_admission_untrusted::unreadable::unreadable;
use serde::Deserialize;

use crate::certificate::{Certificate, CertificateError};
use crate::key::{KeyError, PublicKey};
use crate::sigstore::json::{Bytes, LogId, RawBytes};
use crate::timestamp;

/// The most bytes of a trust root. That of Sigstore's public instance has 7 KiB.
pub const MAX_TRUST_ROOT_BYTES: usize = 1024 * 1024;

/// The most authorities, and the most logs, of each kind.
pub const MAX_AUTHORITIES: usize = 64;

const MEDIA_TYPES: [&str; 2] =
    ["application/vnd.dev.sigstore.trustedroot+json;version=0.1", "application/vnd.dev.sigstore.trustedroot.v0.2+json"];

/// Who is trusted to certify signers, to log signatures and certificates, and to tell the time, each within its validity.
#[derive(Clone, Debug)]
pub struct TrustRoot {
    /// Logs of signatures: Rekor.
    pub(super) logs: Vec<Log>,
    /// Logs of certificates.
    pub(super) certificate_logs: Vec<Log>,
    /// Who certifies signers: Fulcio.
    pub(super) certificate_authorities: Vec<CertificateAuthority>,
    pub(super) timestamp_authorities: Vec<timestamp::Authority>,
    pub(super) thresholds: Thresholds,
}

/// How many independent services must vouch for a signature ([client specification, section 4.6][spec]). Services are independent if
/// the trust root names different operators of them, or no operators and different addresses.
///
/// [spec]: https://github.com/sigstore/architecture-docs/blob/main/client-spec.md
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// How many logs must have an entry of the signature. Without it: one, if the trust root names logs.
    pub transparency_logs: Option<usize>,
    /// How many logs and timestamp authorities must prove when it was signed. Without it: one, or none for signatures by a key.
    pub timestamps: Option<usize>,
    /// How many logs must have promised to have the certificate. Without it: one, if the trust root names such logs.
    pub certificate_logs: Option<usize>,
}

/// A log, whose key signs what it promises and how large it is.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// What bundles and certificates name it by.
    pub(super) id: Vec<u8>,
    /// What its signatures of checkpoints begin with.
    pub(super) checkpoint_id: Vec<u8>,
    pub(super) key: PublicKey,
    pub(super) validity: Validity,
    /// Who runs it, or else its address.
    pub(super) operator: String,
}

/// An authority that certifies signers.
#[derive(Clone, Debug)]
pub(super) struct CertificateAuthority {
    /// Its own certificate and those above it.
    pub(super) certificates: Vec<Certificate>,
    pub(super) validity: Validity,
}

/// When something is trusted, both ends included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    pub(super) from: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

impl Validity {
    /// The part of it in which a certificate is valid.
    fn of_both(self, certificate: &Certificate) -> Self {
        Self {
            from: self.from.max(Some(certificate.valid_from())),
            until: Some(self.until.map_or(certificate.valid_until(), |until| until.min(certificate.valid_until()))),
        }
    }

    pub(super) fn contains(self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at <= until)
    }
}

impl TrustRoot {
    /// Reads a `trusted_root.json` of version 0.1 or 0.2, as `cosign trusted-root create` and Sigstore's own repository have it.
    /// `gh attestation trusted-root` writes several, one in each line.
    ///
    /// # Errors
    ///
    /// A [`TrustRootError`] if it is larger than [`MAX_TRUST_ROOT_BYTES`], if there are more than [`MAX_AUTHORITIES`] of a kind, if a
    /// key or certificate can't be read, or if a log doesn't say when its validity begins.
    pub fn read(json: &str) -> Result<Self, TrustRootError> {
        if json.len() > MAX_TRUST_ROOT_BYTES {
            return Err(TrustRootError::TooLarge);
        }
        let document: Document = spelling::from_str(json).map_err(|error| TrustRootError::Json(unreadable(&error)))?;
        if !MEDIA_TYPES.contains(&document.media_type.as_str()) {
            return Err(TrustRootError::MediaType(cut(&document.media_type, 100)));
        }
        Ok(Self {
            logs: each("tlogs", document.tlogs, log)?,
            certificate_logs: each("ctlogs", document.ctlogs, log)?,
            certificate_authorities: each("certificateAuthorities", document.certificate_authorities, |authority| {
                let (certificates, validity) = authority.read()?;
                Ok(CertificateAuthority { certificates, validity })
            })?,
            timestamp_authorities: each("timestampAuthorities", document.timestamp_authorities, |authority| {
                let operator = operator(authority.operator.as_deref(), &authority.uri);
                let (certificates, validity) = authority.read()?;
                Ok(timestamp::Authority {
                    // The signer may stand first. Otherwise timestamps bring it.
                    leaf: certificates.first().filter(|first| !first.is_authority()).cloned(),
                    intermediates: Vec::new(),
                    roots: certificates,
                    valid_from: validity.from,
                    valid_until: validity.until,
                    operator,
                })
            })?,
            thresholds: Thresholds::default(),
        })
    }

    /// The same with other thresholds. A root that names too few services for them verifies nothing.
    #[must_use]
    pub fn with_thresholds(self, thresholds: Thresholds) -> Self {
        Self { thresholds, ..self }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    media_type: String,
    #[serde(default)]
    tlogs: Vec<LogInstance>,
    #[serde(default)]
    ctlogs: Vec<LogInstance>,
    #[serde(default)]
    certificate_authorities: Vec<Authority>,
    #[serde(default)]
    timestamp_authorities: Vec<Authority>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogInstance {
    #[serde(default)]
    base_url: String,
    hash_algorithm: String,
    public_key: Key,
    log_id: LogId,
    checkpoint_key_id: Option<LogId>,
    operator: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    raw_bytes: Bytes,
    key_details: String,
    valid_for: Option<Range>,
}

#[derive(Deserialize, Default)]
struct Range {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authority {
    #[serde(default)]
    uri: String,
    cert_chain: Chain,
    valid_for: Option<Range>,
    operator: Option<String>,
}

#[derive(Deserialize)]
struct Chain {
    certificates: Vec<RawBytes>,
}

fn each<T, U>(
    field: &'static str,
    all: Vec<T>,
    read: impl Fn(T) -> Result<U, TrustRootError>,
) -> Result<Vec<U>, TrustRootError> {
    if all.len() > MAX_AUTHORITIES {
        return Err(TrustRootError::Count(field, all.len()));
    }
    all.into_iter().map(read).collect()
}

fn log(instance: LogInstance) -> Result<Log, TrustRootError> {
    if instance.hash_algorithm != "SHA2_256" {
        return Err(TrustRootError::HashAlgorithm(cut(&instance.hash_algorithm, 100)));
    }
    let name = || cut(&instance.base_url, 100);
    let validity = validity(instance.public_key.valid_for)?;
    if validity.from.is_none() {
        return Err(TrustRootError::NoStart(name()));
    }
    let bytes = &instance.public_key.raw_bytes.0;
    let key = if instance.public_key.key_details.starts_with("PKCS1_RSA_") {
        PublicKey::from_pkcs1(bytes)
    } else {
        PublicKey::from_der(bytes)
    };
    let id = instance.log_id.key_id.0;
    Ok(Log {
        checkpoint_id: instance.checkpoint_key_id.map_or_else(|| id.clone(), |id| id.key_id.0),
        id,
        key: key.map_err(|error| TrustRootError::Key(name(), error))?,
        validity,
        operator: operator(instance.operator.as_deref(), &instance.base_url),
    })
}

/// Documents of version 0.1 name no operators.
fn operator(operator: Option<&str>, address: &str) -> String {
    operator.filter(|operator| !operator.is_empty()).unwrap_or(address).to_owned()
}

impl Authority {
    /// Its certificates, the root last, and when all of them are valid.
    ///
    /// Whoever trusts the document trusts each of them as it is. What they say of each other isn't verified once more at every
    /// request: over P-384, as these authorities sign, that would be half of all the work.
    fn read(self) -> Result<(Vec<Certificate>, Validity), TrustRootError> {
        let name = || cut(&self.uri, 100);
        let certificates = self.cert_chain.certificates;
        if certificates.is_empty() {
            return Err(TrustRootError::NoCertificate(name()));
        }
        let certificates = each("certificates", certificates, |certificate| {
            Certificate::from_der(&certificate.raw_bytes.0).map_err(|error| TrustRootError::Certificate(name(), error))
        })?;
        let validity = certificates.iter().fold(validity(self.valid_for)?, Validity::of_both);
        Ok((certificates, validity))
    }
}

fn validity(range: Option<Range>) -> Result<Validity, TrustRootError> {
    let time = |text: Option<String>| {
        text.map(|text| Timestamp::parse(&text).ok_or_else(|| TrustRootError::Time(cut(&text, 100)))).transpose()
    };
    let range = range.unwrap_or_default();
    Ok(Validity { from: time(range.start)?, until: time(range.end)? })
}

/// Why a document is no trust root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustRootError {
    /// It is larger than [`MAX_TRUST_ROOT_BYTES`].
    TooLarge,
    /// It isn't JSON of this shape. Holds the parser's words, without a value: the Secret that is named may hold something else.
    Json(String),
    /// It is of another type or version. Holds it.
    MediaType(String),
    /// There are more than [`MAX_AUTHORITIES`] of a kind. Holds the field and how many.
    Count(&'static str, usize),
    /// A log's tree is of another hash than SHA-256. Holds it.
    HashAlgorithm(String),
    /// A log doesn't say when its validity begins, which the specification requires. Holds its address.
    NoStart(String),
    /// A time isn't RFC 3339. Holds it.
    Time(String),
    /// A log's key can't be read. Holds its address.
    Key(String, KeyError),
    /// An authority has no certificates. Holds its address.
    NoCertificate(String),
    /// An authority's certificate can't be read. Holds its address.
    Certificate(String, CertificateError),
}

impl fmt::Display for TrustRootError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(
                formatter,
                "the trust root has more than `{MAX_TRUST_ROOT_BYTES}` bytes; give one `trusted_root.json`"
            ),
            Self::Json(reason) => {
                write!(
                    formatter,
                    "the trust root is no `trusted_root.json`: `{reason}`; give one document as it was published"
                )
            }
            Self::MediaType(found) => {
                let [old, new] = MEDIA_TYPES;
                write!(formatter, "the trust root's `mediaType` is `{found}`; only `{old}` and `{new}` are read")
            }
            Self::Count(field, count) => {
                write!(formatter, "the trust root has `{count}` of `{field}`; keep at most {MAX_AUTHORITIES}")
            }
            Self::HashAlgorithm(found) => {
                write!(formatter, "a log of the trust root has the hash `{found}`; only `SHA2_256` is read")
            }
            Self::NoStart(log) => write!(
                formatter,
                "the log `{log}` of the trust root doesn't say since when it is valid; add `publicKey.validFor.start`"
            ),
            Self::Time(found) => {
                write!(formatter, "the trust root has the time `{found}`; write it as `2026-01-31T12:00:00Z`")
            }
            Self::Key(log, error) => write!(formatter, "the log `{log}` of the trust root: {error}"),
            Self::NoCertificate(authority) => {
                write!(formatter, "the authority `{authority}` of the trust root has no certificates; add its chain")
            }
            Self::Certificate(authority, error) => {
                write!(formatter, "the authority `{authority}` of the trust root: {error}")
            }
        }
    }
}

impl std::error::Error for TrustRootError {}
