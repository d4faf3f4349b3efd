//! Signatures of Notary Project, as `notation` writes them: envelopes of JWS and of COSE.
//!
//! The rules come from its [signature specification][signature], the specifications of [JWS][jws] and [COSE][cose] envelopes, and
//! its [trust store and trust policy specification][trust], at the level `strict`. Where these leave a choice, it is the one of its
//! own library, except for what fails closed here: a critical extension of a certificate that isn't read rejects, and a timestamp
//! that is there must be right if any authority is trusted for timestamps.
//!
//! Revocation can't be asked from here, so it is a list of the caller's.
//!
//! [signature]: https://github.com/notaryproject/specifications/blob/main/specs/signature-specification.md
//! [jws]: https://github.com/notaryproject/specifications/blob/main/specs/signature-envelope-jws.md
//! [cose]: https://github.com/notaryproject/specifications/blob/main/specs/signature-envelope-cose.md
//! [trust]: https://github.com/notaryproject/specifications/blob/main/specs/trust-store-trust-policy.md

mod cose;
mod identity;
mod jws;

use std::fmt;

use image_admission_untrusted::json::utf8;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use rsa::traits::PublicKeyParts as _;
use serde::Deserialize;
use spki::ObjectIdentifier;

use crate::certificate::{Certificate, CertificateError, ChainError, MAX_CHAIN, Usage, chain, check_valid};
use crate::key::{Hash, Message, PublicKey, Scheme};
use crate::timestamp::{Authority, Stamp, TimestampError, stamp};

pub use identity::{IdentityError, Revoked, RevokedError, TrustedIdentity};

/// The media type of envelopes of JWS.
pub const JWS: &str = "application/jose+json";

/// The media type of envelopes of COSE.
pub const COSE: &str = "application/cose";

/// The one type of payload read here.
pub const PAYLOAD_TYPE: &str = "application/vnd.cncf.notary.payload.v1+json";

/// The most bytes of an envelope. With a chain of certificates and a timestamp it has 5 to 20 KiB.
pub const MAX_ENVELOPE_BYTES: usize = 256 * 1024;

const SIGNING_SCHEME: &str = "io.cncf.notary.signingScheme";
const SIGNING_TIME: &str = "io.cncf.notary.signingTime";
const AUTHENTIC_SIGNING_TIME: &str = "io.cncf.notary.authenticSigningTime";
const EXPIRY: &str = "io.cncf.notary.expiry";

const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");

/// A signature, taken apart, but not verified. Nothing in it can be trusted yet.
#[derive(Clone, Debug)]
pub struct Envelope {
    store: Store,
    /// As the envelope says; the leaf's key must fit.
    algorithm: Scheme,
    /// The signing time of an authority that is trusted for it.
    authentic_signing_time: Option<Timestamp>,
    expiry: Option<Timestamp>,
    digest: String,
    signed_bytes: Vec<u8>,
    signature: Vec<u8>,
    leaf: Certificate,
    /// Those above the leaf, the root last.
    issuers: Vec<Certificate>,
    timestamp: Option<Vec<u8>>,
}

/// What kind of trust store an envelope's signing scheme asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// `ca`, for the scheme `notary.x509`: whoever has a certificate signs.
    CertificateAuthority,
    /// `signingAuthority`, for the scheme `notary.x509.signingAuthority`: a service signs, and says when.
    SigningAuthority,
}

/// What an envelope says about itself, for messages. Nothing of it is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims<'a> {
    /// The subject of the signer's certificate, as RFC 4514 writes it.
    pub subject: String,
    /// The digest of the image.
    pub digest: &'a str,
}

/// Whom to trust.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The certificates of the trust store. One of the signer's chain must be among them; usually its root.
    pub roots: &'a [Certificate],
    /// The roots of authorities that are believed when a signature was made. Without any, timestamps aren't looked at.
    pub timestamp_authorities: &'a [Certificate],
    /// One of these must be the signer.
    pub identities: &'a [TrustedIdentity],
    /// None of these may be in the signer's or a timestamp's chain.
    pub revoked: &'a [Revoked],
    /// What kind of trust store this is.
    pub store: Store,
}

/// Who signed. Only [`Envelope::verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The subject of the signer's certificate, as RFC 4514 writes it.
    pub subject: String,
    /// When it was signed at the latest, where a trusted authority says it.
    pub signed_at: Option<Timestamp>,
    /// The signer's and the timestamp's chains.
    certificates: Vec<Certificate>,
}

impl Signed {
    /// Checks that none of these is in the signer's or the timestamp's chain, for whoever looks them up only once the rest holds.
    ///
    /// # Errors
    ///
    /// [`NotaryError::Revoked`].
    pub fn check_revoked(&self, revoked: &[Revoked]) -> Result<(), NotaryError> {
        check_revoked(&self.certificates, revoked)
    }
}

/// When an envelope was signed.
struct SigningTime {
    earliest: Timestamp,
    latest: Timestamp,
    proven: Option<Timestamp>,
    /// The chain of the authority that proves it.
    authority: Vec<Certificate>,
}

impl Envelope {
    /// Takes an envelope apart.
    ///
    /// # Errors
    ///
    /// A [`NotaryError`] if `media_type` is neither [`JWS`] nor [`COSE`], if the envelope is larger than [`MAX_ENVELOPE_BYTES`] or
    /// isn't as its specification has it, if it has a critical attribute that isn't known, or if its payload isn't of
    /// [`PAYLOAD_TYPE`].
    pub fn read(media_type: &str, bytes: &[u8]) -> Result<Self, NotaryError> {
        if bytes.len() > MAX_ENVELOPE_BYTES {
            return Err(NotaryError::TooLarge);
        }
        match media_type {
            JWS => jws::read(bytes)?,
            COSE => cose::read(bytes)?,
            other => return Err(NotaryError::MediaType(cut(other, 100))),
        }
        .check()
    }

    /// What it says about itself.
    #[must_use]
    pub fn claims(&self) -> Claims<'_> {
        Claims { subject: self.leaf.subject(), digest: &self.digest }
    }

    /// Verifies that somebody trusted signed the image with this digest (`sha256:` and 64 lower-case hexadecimal digits).
    ///
    /// # Errors
    ///
    /// A [`NotaryError`] that says what is missing.
    pub fn verify(&self, trust: &Trust<'_>, digest: &str, now: Timestamp) -> Result<Signed, NotaryError> {
        if self.digest != digest {
            return Err(NotaryError::OtherDigest(cut(&self.digest, 100)));
        }
        if self.store != trust.store {
            return Err(NotaryError::OtherStore(self.store));
        }
        if let Some(expiry) = self.expiry.filter(|expiry| *expiry <= now) {
            return Err(NotaryError::Expired(expiry));
        }
        if !self.certificates().any(|certificate| trust.roots.contains(certificate)) {
            return Err(NotaryError::Untrusted(self.last().name()));
        }
        if !trust.identities.iter().any(|identity| identity.matches(&self.leaf)) {
            return Err(NotaryError::OtherIdentity(self.leaf.name()));
        }
        check_revoked(self.certificates(), trust.revoked)?;
        self.check_usages()?;
        if scheme_of(self.leaf.key()) != Some(self.algorithm) {
            return Err(NotaryError::OtherAlgorithm(self.leaf.name()));
        }
        let message = Message::of(&[&self.signed_bytes]);
        if !self.leaf.key().verifies_as(self.algorithm, &message, &self.signature) {
            return Err(NotaryError::Signature);
        }
        let SigningTime { earliest, latest, proven, authority } = self.time(trust, now)?;
        self.check_chain(trust.roots, earliest, latest)?;
        let certificates = self.certificates().cloned().chain(authority).collect();
        Ok(Signed { subject: self.leaf.subject(), signed_at: proven, certificates })
    }

    fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        std::iter::once(&self.leaf).chain(&self.issuers)
    }

    fn last(&self) -> &Certificate {
        self.issuers.last().unwrap_or(&self.leaf)
    }

    /// Without proof it is now that the certificates must be valid.
    fn time(&self, trust: &Trust<'_>, now: Timestamp) -> Result<SigningTime, NotaryError> {
        let at = |time, proven| SigningTime { earliest: time, latest: time, proven, authority: Vec::new() };
        if let Some(time) = self.authentic_signing_time {
            return Ok(at(time, Some(time)));
        }
        let Some(token) = self.timestamp.as_deref().filter(|_| !trust.timestamp_authorities.is_empty()) else {
            return Ok(at(now, None));
        };
        let authority = Authority { roots: trust.timestamp_authorities.to_vec(), ..Authority::default() };
        let stamp = stamp(token, &self.signature, &[authority])?;
        check_revoked(&stamp.chain, trust.revoked)?;
        let Stamp { time, earliest, latest, chain, .. } = stamp;
        Ok(SigningTime { earliest, latest, proven: Some(time), authority: chain })
    }

    /// The envelope has the whole chain in order, and nothing else.
    fn check_chain(&self, roots: &[Certificate], earliest: Timestamp, latest: Timestamp) -> Result<(), NotaryError> {
        let root = self.last();
        // A trusted root's signature on itself proves nothing more.
        if !root.is_self_issued() || !(roots.contains(root) || root.is_self_signed()) {
            return Err(NotaryError::Incomplete(root.name()));
        }
        let path = chain(&self.leaf, &self.issuers, std::slice::from_ref(root), earliest, Usage::NotaryCodeSigning)?;
        if !path.into_iter().eq(self.certificates()) {
            return Err(NotaryError::Order);
        }
        Ok(self.certificates().try_for_each(|certificate| check_valid(certificate, latest))?)
    }

    /// The specification's requirements on certificates, beyond those on every chain.
    fn check_usages(&self) -> Result<(), NotaryError> {
        for (index, certificate) in self.certificates().enumerate() {
            let usage = certificate.key_usage().filter(|_| certificate.is_critical(KEY_USAGE));
            let usage = usage.ok_or_else(|| NotaryError::NoKeyUsage(certificate.name()))?;
            let is_leaf = index == 0;
            let signs_more = usage.key_encipherment()
                || usage.data_encipherment()
                || usage.key_agreement()
                || usage.key_cert_sign()
                || usage.crl_sign()
                || usage.encipher_only()
                || usage.decipher_only();
            if is_leaf && (!usage.digital_signature() || signs_more || certificate.is_authority()) {
                return Err(NotaryError::NotForCode(certificate.name()));
            }
            if !is_leaf && !usage.key_cert_sign() {
                return Err(NotaryError::Chain(ChainError::NotAuthority(certificate.name())));
            }
        }
        Ok(())
    }
}

fn check_revoked<'a>(
    certificates: impl IntoIterator<Item = &'a Certificate>,
    revoked: &[Revoked],
) -> Result<(), NotaryError> {
    if revoked.is_empty() {
        return Ok(());
    }
    for certificate in certificates {
        let own = Revoked::all_of(certificate);
        if revoked.iter().any(|revoked| own.contains(revoked)) {
            return Err(NotaryError::Revoked(certificate.name()));
        }
    }
    Ok(())
}

/// The one scheme for a key; none for a key that may not sign.
fn scheme_of(key: &PublicKey) -> Option<Scheme> {
    match key {
        PublicKey::P256(_) => Some(Scheme::Ecdsa(Hash::Sha256)),
        PublicKey::P384(_) => Some(Scheme::Ecdsa(Hash::Sha384)),
        PublicKey::P521(_) => Some(Scheme::Ecdsa(Hash::Sha512)),
        PublicKey::Rsa(key) => match key.size() * 8 {
            2_048 => Some(Scheme::RsaPss(Hash::Sha256)),
            3_072 => Some(Scheme::RsaPss(Hash::Sha384)),
            4_096 => Some(Scheme::RsaPss(Hash::Sha512)),
            _ => None,
        },
        PublicKey::Ed25519(_) => None,
    }
}

/// What either kind of envelope has in it.
struct Parts {
    algorithm: Scheme,
    content_type: String,
    critical: Vec<String>,
    signing_scheme: String,
    signing_time: Option<Timestamp>,
    authentic_signing_time: Option<Timestamp>,
    expiry: Option<Timestamp>,
    payload: Vec<u8>,
    signed_bytes: Vec<u8>,
    signature: Vec<u8>,
    /// As DER, the leaf first.
    certificates: Vec<Vec<u8>>,
    timestamp: Option<Vec<u8>>,
}

impl Parts {
    fn check(self) -> Result<Envelope, NotaryError> {
        if self.content_type != PAYLOAD_TYPE {
            return Err(NotaryError::PayloadType(cut(&self.content_type, 100)));
        }
        let store = match self.signing_scheme.as_str() {
            "notary.x509" => Store::CertificateAuthority,
            "notary.x509.signingAuthority" => Store::SigningAuthority,
            other => return Err(NotaryError::SigningScheme(cut(other, 100))),
        };
        let (wanted, forbidden) = match store {
            Store::CertificateAuthority => {
                ((SIGNING_TIME, self.signing_time), (AUTHENTIC_SIGNING_TIME, self.authentic_signing_time))
            }
            Store::SigningAuthority => {
                ((AUTHENTIC_SIGNING_TIME, self.authentic_signing_time), (SIGNING_TIME, self.signing_time))
            }
        };
        if wanted.1.is_none() {
            return Err(NotaryError::Missing(wanted.0));
        }
        if forbidden.1.is_some() {
            return Err(NotaryError::Forbidden(forbidden.0));
        }
        self.check_critical()?;
        if self.certificates.len() > MAX_CHAIN {
            return Err(NotaryError::CertificateCount(self.certificates.len()));
        }
        let mut certificates = self.certificates.iter().map(|der| Certificate::from_der(der));
        let leaf = certificates.next().ok_or(NotaryError::CertificateCount(0))??;
        let issuers = certificates.collect::<Result<_, _>>()?;
        Ok(Envelope {
            store,
            algorithm: self.algorithm,
            authentic_signing_time: self.authentic_signing_time,
            expiry: self.expiry,
            digest: target_digest(&self.payload)?,
            signed_bytes: self.signed_bytes,
            signature: self.signature,
            leaf,
            issuers,
            timestamp: self.timestamp,
        })
    }

    /// Every critical attribute is known and there, once, and those that must be critical are.
    fn check_critical(&self) -> Result<(), NotaryError> {
        let mut must = vec![SIGNING_SCHEME];
        must.extend(self.authentic_signing_time.map(|_| AUTHENTIC_SIGNING_TIME));
        must.extend(self.expiry.map(|_| EXPIRY));
        for name in &self.critical {
            let known = must.iter().position(|must| must == name);
            must.swap_remove(known.ok_or_else(|| NotaryError::Critical(cut(name, 100)))?);
        }
        must.first().map_or(Ok(()), |name| Err(NotaryError::NotCritical(name)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    target_artifact: Descriptor,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    dead_code,
    reason = "the specification wants the media type and the size to be there, and the digest says it all"
)]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

fn target_digest(payload: &[u8]) -> Result<String, NotaryError> {
    let payload: Payload =
        utf8(payload).and_then(spelling::from_str).map_err(|error| NotaryError::json("the payload", &error))?;
    Ok(payload.target_artifact.digest)
}

/// Why an envelope can't be read, or why it isn't the signature of somebody trusted. Certificates are called by their subjects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotaryError {
    /// It is of another media type. Holds it.
    MediaType(String),
    /// It is larger than [`MAX_ENVELOPE_BYTES`].
    TooLarge,
    /// A part of it is no JSON as its specification has it. Holds the part and the parser's words.
    Json(&'static str, String),
    /// A field is no base64. Holds the field.
    Base64(&'static str),
    /// It is no CBOR as the specification of COSE envelopes has it.
    Cbor,
    /// An algorithm that the specification doesn't list. Holds it.
    Algorithm(String),
    /// The payload is of another type. Holds it.
    PayloadType(String),
    /// A signing scheme that isn't known. Holds it.
    SigningScheme(String),
    /// An attribute is missing, or is no time.
    Missing(&'static str),
    /// An attribute isn't allowed with the signing scheme.
    Forbidden(&'static str),
    /// A critical attribute isn't known, isn't there, or is named twice. Holds it.
    Critical(String),
    /// An attribute isn't marked critical, and must be.
    NotCritical(&'static str),
    /// It has no certificate, or more than [`MAX_CHAIN`]. Holds how many.
    CertificateCount(usize),
    /// One of its certificates can't be read.
    Certificate(CertificateError),
    /// It is about another image. Holds the digest.
    OtherDigest(String),
    /// It was made for another kind of trust store. Holds this.
    OtherStore(Store),
    /// It has expired. Holds when.
    Expired(Timestamp),
    /// None of its certificates is trusted. Holds its root.
    Untrusted(String),
    /// The signer is none of the trusted identities. Holds its subject.
    OtherIdentity(String),
    /// A certificate is revoked.
    Revoked(String),
    /// A certificate has no key usage, or none that is critical.
    NoKeyUsage(String),
    /// The signer's certificate is for more than signing.
    NotForCode(String),
    /// The algorithm isn't the one for the signer's key.
    OtherAlgorithm(String),
    /// The signature isn't by the key of the certificate, or something was changed.
    Signature,
    /// The timestamp proves nothing.
    Timestamp(TimestampError),
    /// The certificates don't lead to their root.
    Chain(ChainError),
    /// The last certificate is no root.
    Incomplete(String),
    /// There are certificates of no use among those of the chain, or in the wrong order.
    Order,
}

impl NotaryError {
    fn json(part: &'static str, error: &serde_json::Error) -> Self {
        Self::Json(part, cut(&error.to_string(), 200))
    }
}

impl From<CertificateError> for NotaryError {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl From<TimestampError> for NotaryError {
    fn from(error: TimestampError) -> Self {
        Self::Timestamp(error)
    }
}

impl From<ChainError> for NotaryError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl fmt::Display for NotaryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MediaType(found) => {
                write!(formatter, "the signature is of the media type `{found}`; only `{JWS}` and `{COSE}` are read")
            }
            Self::TooLarge => {
                write!(formatter, "the signature has more than `{MAX_ENVELOPE_BYTES}` bytes; sign with fewer annotations")
            }
            Self::Json(part, reason) => {
                write!(formatter, "{part} of the signature can't be read: `{reason}`; sign again with `notation`")
            }
            Self::Base64(field) => write!(formatter, "`{field}` is no base64; sign again with `notation`"),
            Self::Cbor => formatter.write_str("the signature is no `COSE_Sign1` of Notary Project; sign with `notation`"),
            Self::Algorithm(found) => write!(
                formatter,
                "the signature's algorithm is `{found}`; use one of PS256, PS384, PS512, ES256, ES384 and ES512"
            ),
            Self::PayloadType(found) => {
                write!(formatter, "the payload's type is `{found}`; only `{PAYLOAD_TYPE}` is read")
            }
            Self::SigningScheme(found) => write!(
                formatter,
                "the signing scheme is `{found}`; only `notary.x509` and `notary.x509.signingAuthority` are read"
            ),
            Self::Missing(attribute) => {
                write!(formatter, "the attribute `{attribute}` is missing or is no time; sign again with `notation`")
            }
            Self::Forbidden(attribute) => {
                write!(formatter, "the attribute `{attribute}` doesn't go with the signing scheme; sign without it")
            }
            Self::Critical(attribute) => write!(
                formatter,
                "the critical attribute `{attribute}` isn't supported, isn't there, or is named twice; sign without it"
            ),
            Self::NotCritical(attribute) => {
                write!(formatter, "the attribute `{attribute}` isn't marked critical; sign again with `notation`")
            }
            Self::CertificateCount(count) => write!(
                formatter,
                "the signature has `{count}` certificates; sign with a chain of 1 to {MAX_CHAIN}, the root included"
            ),
            Self::Certificate(error) => write!(formatter, "a certificate of the signature can't be read: {error}"),
            Self::OtherDigest(found) => {
                write!(formatter, "the signature is about the image `{found}`; sign the image that is to run")
            }
            Self::OtherStore(Store::CertificateAuthority) => formatter.write_str(
                "the signature is of the scheme `notary.x509`; trust its certificates as those of certificate authorities",
            ),
            Self::OtherStore(Store::SigningAuthority) => formatter.write_str(
                "the signature is of the scheme `notary.x509.signingAuthority`; trust its certificates as those of signing \
                 authorities",
            ),
            Self::Expired(expiry) => write!(formatter, "the signature expired at `{expiry}`; sign again"),
            Self::Untrusted(root) => write!(
                formatter,
                "the signature leads to the root `{root}`, which isn't trusted; add this root if you trust it"
            ),
            Self::OtherIdentity(subject) => write!(
                formatter,
                "the signature is by `{subject}`, who is none of the trusted identities; add this subject if you trust it"
            ),
            Self::Revoked(subject) => {
                write!(formatter, "the certificate `{subject}` is revoked; sign again with another certificate")
            }
            Self::NoKeyUsage(subject) => write!(
                formatter,
                "the certificate `{subject}` has no critical key usage; have it issued with one, as Notary Project wants it"
            ),
            Self::NotForCode(subject) => write!(
                formatter,
                "the certificate `{subject}` is for more than signing; use one with the key usage `digitalSignature` alone"
            ),
            Self::OtherAlgorithm(subject) => write!(
                formatter,
                "the signature's algorithm isn't the one for the key of `{subject}`; sign with an RSA key of 2,048, 3,072 \
                 or 4,096 bits, or an EC key, with `notation`"
            ),
            Self::Signature => formatter.write_str(
                "the signature isn't by the key of its certificate, or something was changed since; sign again",
            ),
            Self::Timestamp(error) => error.fmt(formatter),
            Self::Chain(error) => error.fmt(formatter),
            Self::Incomplete(subject) => write!(
                formatter,
                "the signature's last certificate `{subject}` is no root; sign with the whole chain"
            ),
            Self::Order => formatter.write_str(
                "the signature's certificates aren't one chain from the signer's to the root; sign with these in their order",
            ),
        }
    }
}

impl std::error::Error for NotaryError {}

#[cfg(test)]
mod tests;
