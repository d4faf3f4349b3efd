//! Why a bundle proves nothing.

use std::fmt;

use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;

use crate::certificate::{CertificateError, ChainError};
use crate::dsse::EnvelopeError;
use crate::sigstore::bundle::MAX_ENTRIES;
use crate::sigstore::identity::IdentityError;
use crate::sigstore::log::{EntryError, MAX_HASHES};
use crate::sigstore::sct::SctError;
use crate::timestamp::TimestampError;

/// Why a document is no bundle, or why it doesn't prove that somebody trusted signed the artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleError {
    /// It isn't JSON of this shape. Holds the parser's words.
    Json(String),
    /// It is of another type or version. Holds it.
    MediaType(String),
    /// It has neither a `messageSignature` nor a `dsseEnvelope`, or both.
    Content,
    /// It has none of `certificate`, `x509CertificateChain` and `publicKey`, or several.
    Material,
    /// It is of version 0.3, which has one `certificate`, and has a chain.
    Chain,
    /// Its chain is empty.
    NoCertificate,
    /// Its chain has a root.
    RootInBundle,
    /// It has too many of something. Holds the field and how many.
    Count(&'static str, usize),
    /// Its envelope doesn't have exactly one signature. Holds how many.
    SignatureCount(usize),
    /// A certificate can't be read.
    Certificate(CertificateError),
    /// Its envelope, or the statement in it, can't be read.
    Envelope(EnvelopeError),
    /// It was signed with a key, and was to be verified by a trust root.
    SignedByKey,
    /// It was signed with a certificate, and was to be verified by a key.
    SignedByCertificate,
    /// The digest of its message is of another hash than SHA-256. Holds it.
    DigestAlgorithm(String),
    /// It is about another artifact. Holds the digests that it is about.
    OtherArtifact(Vec<String>),
    /// It has a signature of a message with an Ed25519 key, which can't be verified by the message's digest.
    Ed25519,
    /// The signer's key didn't make its signature.
    Signature,
    /// It has no log entry, and the trust root names logs.
    NoEntry,
    /// Its log entries are of logs that aren't in the trust root. Holds the first log's identifier.
    OtherLog(String),
    /// A log entry proves nothing.
    Entry(EntryError),
    /// Nothing proves when it was signed.
    NoTime,
    /// Its timestamp proves nothing, and nothing else does.
    Timestamp(TimestampError),
    /// No authority of the trust root is trusted at the time of the signature.
    NoAuthority(Timestamp),
    /// No chain leads from its certificate to an authority of the trust root. Holds the time of the signature.
    Untrusted(Timestamp, ChainError),
    /// No certificate log is known to have its certificate.
    CertificateLog(SctError),
    /// Its certificate doesn't say who signed.
    Identity(IdentityError),
    /// Too few independent services vouch for it.
    BelowThreshold {
        /// Which.
        of: Service,
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// The trust root names too few independent services for any bundle.
    RootBelowThreshold {
        /// Which.
        of: Service,
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
}

/// What [`Thresholds`](crate::sigstore::Thresholds) count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Logs with an entry of the signature.
    TransparencyLogs,
    /// Logs that promised a time, and timestamp authorities.
    Times,
    /// Logs that promised to have the certificate.
    CertificateLogs,
}

impl fmt::Display for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TransparencyLogs => "transparency logs",
            Self::Times => "timestamp authorities and logs that promise a time",
            Self::CertificateLogs => "certificate logs",
        })
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(reason) => write!(formatter, "it is no Sigstore bundle: `{reason}`; sign again"),
            Self::MediaType(found) => write!(
                formatter,
                "the bundle's `mediaType` is `{found}`; only Sigstore bundles of the versions 0.1 to 0.3 are read"
            ),
            Self::Content => {
                formatter.write_str("the bundle has neither `messageSignature` nor `dsseEnvelope`, or both; sign again")
            }
            Self::Material => formatter.write_str(
                "the bundle has not exactly one of `certificate`, `x509CertificateChain` and `publicKey`; sign again",
            ),
            Self::Chain => formatter.write_str(
                "the bundle is of version 0.3 and has `x509CertificateChain`; write its first certificate as \
                 `certificate`",
            ),
            Self::NoCertificate => formatter.write_str("the bundle's `x509CertificateChain` is empty; sign again"),
            Self::RootInBundle => {
                formatter.write_str("the bundle has a root certificate; take it out, roots belong in the trust root")
            }
            Self::Count(field, count) => {
                let most = if *field == "hashes" { MAX_HASHES } else { MAX_ENTRIES };
                write!(formatter, "the bundle has `{count}` of `{field}`; keep at most {most}")
            }
            Self::SignatureCount(count) => {
                write!(formatter, "the bundle's envelope has `{count}` signatures; write one bundle for each signature")
            }
            Self::Certificate(error) => error.fmt(formatter),
            Self::Envelope(error) => error.fmt(formatter),
            Self::SignedByKey => formatter
                .write_str("the bundle was signed with a key, not with a certificate; name that key, or sign keyless"),
            Self::SignedByCertificate => formatter.write_str(
                "the bundle was signed with a certificate, not with a key; name the signer's identity, or sign with \
                 the key",
            ),
            Self::DigestAlgorithm(found) => write!(
                formatter,
                "the signed message's digest is by `{found}`; of an image only `SHA2_256` is known, sign its digest \
                 in a statement (`cosign sign`)"
            ),
            Self::OtherArtifact(digests) => write!(
                formatter,
                "the bundle is about `{}`, not about this image; sign this image",
                digests.iter().take(3).map(|digest| cut(digest, 100)).collect::<Vec<_>>().join("`, `")
            ),
            Self::Ed25519 => formatter.write_str(
                "the message was signed with an Ed25519 key, which needs the whole message, and of an image only its \
                 digest is known; sign its digest in a statement (`cosign sign`), or use another key",
            ),
            Self::Signature => formatter
                .write_str("the signature was made with another key, or what was signed was changed; sign again"),
            Self::NoEntry => formatter.write_str(
                "the bundle has no log entry, and the trust root names logs; sign with a log, or take `tlogs` out of \
                 the trust root",
            ),
            Self::OtherLog(log) => write!(
                formatter,
                "the bundle's log entry is of the log `{log}`, which the trust root doesn't have; update the trust \
                 root"
            ),
            Self::Entry(error) => error.fmt(formatter),
            Self::NoTime => formatter.write_str(
                "nothing proves when the bundle was signed; sign with a timestamp authority of the trust root, or \
                 with a log that promises a time (Rekor v1)",
            ),
            Self::Timestamp(error) => error.fmt(formatter),
            Self::NoAuthority(time) => write!(
                formatter,
                "the trust root has no certificate authority that is trusted at the signature's time `{time}`; update \
                 the trust root"
            ),
            Self::Untrusted(time, error) => write!(formatter, "signed at `{time}`: {error}"),
            Self::CertificateLog(error) => error.fmt(formatter),
            Self::Identity(error) => error.fmt(formatter),
            Self::BelowThreshold { of, found, needed } => write!(
                formatter,
                "of the trust root's {of}, `{found}` vouches for the signature, and `{needed}` different ones must; sign \
                 with more of them"
            ),
            Self::RootBelowThreshold { of, found, needed } => write!(
                formatter,
                "the trust root has `{found}` of the `{needed}` different {of} that must vouch for a signature; add \
                 others to the trust root, or ask for fewer"
            ),
        }
    }
}

impl std::error::Error for BundleError {}
