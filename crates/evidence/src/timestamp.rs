//! Timestamps: an authority's signature that a message was there at a time ([RFC 3161], with [RFC 5816]).
//!
//! A token is a message of CMS ([RFC 5652]). Its structures are derived here from the specifications instead of taken from the crate
//! `cms`: that one reads certificates into values and writes them again, which changes the bytes that were hashed where an issuer
//! wrote a default out; and it reads much that no token has.
//!
//! [RFC 3161]: https://www.rfc-editor.org/rfc/rfc3161
//! [RFC 5816]: https://www.rfc-editor.org/rfc/rfc5816
//! [RFC 5652]: https://www.rfc-editor.org/rfc/rfc5652

use std::fmt;

use der::asn1::{AnyRef, BitStringRef, IntRef, OctetStringRef};
use der::{Decode as _, Encode as _, Sequence, Tag, TagNumber, Tagged as _};
use image_admission_untrusted::time::Timestamp;
use sha1::Sha1;
use sha2::Digest as _;
use spki::{AlgorithmIdentifierRef, ObjectIdentifier};
use x509_cert::ext::Extension;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;

use crate::certificate::{Certificate, ChainError, Usage, chain};
use crate::key::{Hash, Message, RSA, Scheme};

/// The most bytes of a token, the certificates in it included. They have 1 to 8 KiB.
pub const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// The most certificates in a token.
const MAX_CERTIFICATES: usize = 16;

// RFC 5652, RFC 3161 and RFC 5035.
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.12");
const SIGNING_CERTIFICATE_V2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.2.47");
const SUBJECT_KEY_IDENTIFIER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");

/// Whom timestamps are believed from.
#[derive(Clone, Debug, Default)]
pub struct Authority {
    /// The only certificate that may sign them. Without one, it is a certificate in the token that leads to a root.
    pub leaf: Option<Certificate>,
    /// Other certificates on the way to a root, besides those in the token.
    pub intermediates: Vec<Certificate>,
    /// The trusted roots.
    pub roots: Vec<Certificate>,
    /// The first second for which it is believed.
    pub valid_from: Option<Timestamp>,
    /// The last second for which it is believed.
    pub valid_until: Option<Timestamp>,
    /// Who runs it, for those that ask for timestamps of several.
    pub operator: String,
}

/// The time at which a message was there, by an authority's own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The time in the token.
    pub time: Timestamp,
    /// The first second that it may have been, as accurate as the authority says.
    pub earliest: Timestamp,
    /// The last second that it may have been.
    pub latest: Timestamp,
    /// The authority's certificates, its own first and the root last.
    pub chain: Vec<Certificate>,
    /// The authority's [`operator`](Authority::operator).
    pub operator: String,
}

/// The time that a token proves for `message`. `token` is the DER of a `TimeStampResp`, or of the `TimeStampToken` in it.
///
/// The first of `authorities` that made the token proves it. Its certificate must have been valid at that time; whether it is today
/// doesn't matter.
///
/// # Errors
///
/// A [`TimestampError`] if the token is larger than [`MAX_TOKEN_BYTES`] or can't be read, if it is about another message, or if none of
/// the authorities made it.
pub fn verify(token: &[u8], message: &[u8], authorities: &[Authority]) -> Result<Timestamp, TimestampError> {
    Ok(stamp(token, message, authorities)?.time)
}

/// As [`verify`], with the authority's accuracy and certificates.
///
/// # Errors
///
/// As [`verify`].
pub fn stamp(token: &[u8], message: &[u8], authorities: &[Authority]) -> Result<Stamp, TimestampError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TimestampError::TooLarge);
    }
    let content = content_info(token)?;
    if content.content_type != SIGNED_DATA {
        return Err(TimestampError::ContentType(content.content_type));
    }
    let signed: SignedData<'_> = content.content.decode_as()?;
    if signed.content.content_type != TST_INFO {
        return Err(TimestampError::ContentType(signed.content.content_type));
    }
    let info_bytes = signed.content.content.as_bytes();
    let mut stamp = stamp_of(&TstInfo::from_der(info_bytes)?, message)?;

    let signers: Vec<SignerInfo<'_>> = elements(signed.signers, Tag::Set)?;
    let [signer] = signers.as_slice() else {
        return Err(TimestampError::SignerCount(signers.len()));
    };
    let attributes = Attributes::read(signer.signed_attributes)?;
    attributes.check(signer, info_bytes)?;

    let embedded = signed.certificates.unwrap_or_default();
    if embedded.len() > MAX_CERTIFICATES {
        return Err(TimestampError::TooManyCertificates);
    }
    // Those that can't be read are no way to a root; they may be there for others.
    let embedded: Vec<Certificate> = embedded
        .into_iter()
        .filter_map(|certificate| Certificate::from_der(&certificate.to_der().ok()?).ok())
        .collect();
    let mut reason = TimestampError::NoAuthority;
    for authority in authorities {
        match check_authority(authority, signer, &attributes, &embedded, stamp.time) {
            Ok(chain) => {
                stamp.chain = chain;
                stamp.operator = authority.operator.clone();
                return Ok(stamp);
            }
            // Another authority than the one that made it says nothing about why that one isn't believed.
            Err(error) if reason == TimestampError::NoAuthority => reason = error,
            Err(_) => {}
        }
    }
    Err(reason)
}

// RFC 3161, section 2.4.2.
#[derive(Sequence)]
struct Response<'a> {
    status: Status<'a>,
    #[asn1(optional = "true")]
    token: Option<ContentInfo<'a>>,
}

#[derive(Sequence)]
struct Status<'a> {
    status: u8,
    #[asn1(optional = "true")]
    text: Option<Vec<AnyRef<'a>>>,
    #[asn1(optional = "true")]
    failure: Option<BitStringRef<'a>>,
}

#[derive(Sequence)]
struct TstInfo<'a> {
    version: u8,
    policy: ObjectIdentifier,
    imprint: Imprint<'a>,
    serial_number: IntRef<'a>,
    time: AnyRef<'a>,
    #[asn1(optional = "true")]
    accuracy: Option<Accuracy>,
    #[asn1(default = "Default::default")]
    ordering: bool,
    #[asn1(optional = "true")]
    nonce: Option<IntRef<'a>>,
    #[asn1(context_specific = "0", optional = "true")]
    authority: Option<AnyRef<'a>>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", constructed = "true", optional = "true")]
    extensions: Option<Vec<Extension>>,
}

#[derive(Sequence)]
struct Imprint<'a> {
    algorithm: AlgorithmIdentifierRef<'a>,
    digest: &'a OctetStringRef,
}

#[derive(Sequence)]
struct Accuracy {
    #[asn1(optional = "true")]
    seconds: Option<u32>,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    milliseconds: Option<u16>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    microseconds: Option<u16>,
}

// RFC 5652, sections 3, 5.1, 5.2 and 5.3.
#[derive(Sequence)]
struct ContentInfo<'a> {
    content_type: ObjectIdentifier,
    #[asn1(context_specific = "0")]
    content: AnyRef<'a>,
}

#[derive(Sequence)]
struct SignedData<'a> {
    version: u8,
    digest_algorithms: AnyRef<'a>,
    content: EncapsulatedContent<'a>,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", constructed = "true", optional = "true")]
    certificates: Option<Vec<AnyRef<'a>>>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", constructed = "true", optional = "true")]
    revocations: Option<Vec<AnyRef<'a>>>,
    signers: AnyRef<'a>,
}

#[derive(Sequence)]
struct EncapsulatedContent<'a> {
    content_type: ObjectIdentifier,
    #[asn1(context_specific = "0")]
    content: &'a OctetStringRef,
}

#[derive(Sequence)]
struct SignerInfo<'a> {
    version: u8,
    identifier: AnyRef<'a>,
    digest_algorithm: AlgorithmIdentifierRef<'a>,
    signed_attributes: AnyRef<'a>,
    signature_algorithm: AlgorithmIdentifierRef<'a>,
    signature: &'a OctetStringRef,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", constructed = "true", optional = "true")]
    unsigned_attributes: Option<Vec<AnyRef<'a>>>,
}

#[derive(Sequence)]
struct IssuerAndSerialNumber {
    issuer: Name,
    serial_number: SerialNumber,
}

#[derive(Sequence)]
struct Attribute<'a> {
    identifier: ObjectIdentifier,
    values: AnyRef<'a>,
}

// RFC 5035, sections 3 and 4. The policies aren't read.
#[derive(Sequence)]
struct SigningCertificate<'a> {
    certificates: Vec<CertificateIdentifier<'a>>,
    #[asn1(optional = "true")]
    policies: Option<Vec<AnyRef<'a>>>,
}

/// Of both versions: in the first there is no algorithm, and the hash is SHA-1.
#[derive(Sequence)]
struct CertificateIdentifier<'a> {
    #[asn1(optional = "true")]
    algorithm: Option<AlgorithmIdentifierRef<'a>>,
    digest: &'a OctetStringRef,
    #[asn1(optional = "true")]
    issuer_and_serial_number: Option<Vec<AnyRef<'a>>>,
}

fn content_info(token: &[u8]) -> Result<ContentInfo<'_>, TimestampError> {
    let Ok(response) = Response::from_der(token) else {
        return Ok(ContentInfo::from_der(token)?);
    };
    match (response.status.status, response.token) {
        // "granted" and "grantedWithMods".
        (0 | 1, Some(token)) => Ok(token),
        (status, _) => Err(TimestampError::NotGranted(status)),
    }
}

fn stamp_of(info: &TstInfo<'_>, message: &[u8]) -> Result<Stamp, TimestampError> {
    if info.version != 1 {
        return Err(TimestampError::Malformed);
    }
    if let Some(extension) = info.extensions.iter().flatten().find(|extension| extension.critical) {
        return Err(TimestampError::CriticalExtension(extension.extn_id));
    }
    let algorithm = info.imprint.algorithm.oid;
    let hash = Hash::of(algorithm).ok_or(TimestampError::Algorithm(algorithm))?;
    if Message::of(&[message]).digest(hash) != info.imprint.digest.as_bytes() {
        return Err(TimestampError::OtherMessage);
    }
    let (time, has_fraction) = generalized_time(info.time).ok_or(TimestampError::Malformed)?;
    let accuracy = info.accuracy.as_ref().map_or(0, Accuracy::whole_seconds);
    Ok(Stamp {
        time,
        earliest: Timestamp(time.0.saturating_sub(accuracy)),
        latest: Timestamp(time.0.saturating_add(accuracy).saturating_add(i64::from(has_fraction))),
        chain: Vec::new(),
        operator: String::new(),
    })
}

impl Accuracy {
    /// Rounded up, so that nothing is called more accurate than it is.
    fn whole_seconds(&self) -> i64 {
        let rest = self.milliseconds.is_some_and(|part| part > 0) || self.microseconds.is_some_and(|part| part > 0);
        i64::from(self.seconds.unwrap_or(0)) + i64::from(rest)
    }
}

/// The second of a `GeneralizedTime`, and whether there is a fraction of one, which RFC 3161 allows and RFC 5280 doesn't.
fn generalized_time(value: AnyRef<'_>) -> Option<(Timestamp, bool)> {
    let text = (value.tag() == Tag::GeneralizedTime).then(|| std::str::from_utf8(value.value()).ok())??;
    let (seconds, fraction) = match text.strip_suffix('Z')?.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (text.strip_suffix('Z')?, None),
    };
    if fraction.is_some_and(|digits| digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit())) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| seconds.get(range);
    let (date, clock) = ((part(0..4)?, part(4..6)?, part(6..8)?), (part(8..10)?, part(10..12)?, seconds.get(12..)?));
    let time = format!("{}-{}-{}T{}:{}:{}Z", date.0, date.1, date.2, clock.0, clock.1, clock.2);
    Some((Timestamp::parse(&time)?, fraction.is_some()))
}

/// The elements of a `SET OF`, in any order: some authorities don't sort them as DER has it.
fn elements<'a, T: der::Decode<'a, Error = der::Error>>(set: AnyRef<'a>, tag: Tag) -> Result<Vec<T>, TimestampError> {
    if set.tag() != tag {
        return Err(TimestampError::Malformed);
    }
    Ok(AnyRef::new(Tag::Sequence, set.value())?.decode_as()?)
}

/// What the signer signed: attributes, one of which is the digest of the content.
struct Attributes<'a> {
    /// As the signature has it: a `SET OF`, though it is tagged otherwise in the token (RFC 5652, section 5.4).
    signed_bytes: Vec<u8>,
    all: Vec<Attribute<'a>>,
}

impl<'a> Attributes<'a> {
    fn read(attributes: AnyRef<'a>) -> Result<Self, TimestampError> {
        let tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };
        Ok(Self { signed_bytes: AnyRef::new(Tag::Set, attributes.value())?.to_der()?, all: elements(attributes, tag)? })
    }

    /// The one value of an attribute; none where it isn't there.
    fn value(&self, identifier: ObjectIdentifier) -> Result<Option<AnyRef<'a>>, TimestampError> {
        let found: Vec<_> = self.all.iter().filter(|attribute| attribute.identifier == identifier).collect();
        match found.as_slice() {
            [] => Ok(None),
            [attribute] => match elements(attribute.values, Tag::Set)?.as_slice() {
                [value] => Ok(Some(*value)),
                _ => Err(TimestampError::Attribute(identifier)),
            },
            _ => Err(TimestampError::Attribute(identifier)),
        }
    }

    fn check(&self, signer: &SignerInfo<'_>, content: &[u8]) -> Result<(), TimestampError> {
        let content_type = self.value(CONTENT_TYPE)?.and_then(|value| value.decode_as::<ObjectIdentifier>().ok());
        if content_type != Some(TST_INFO) {
            return Err(TimestampError::Attribute(CONTENT_TYPE));
        }
        let hash = digest_hash(signer)?;
        let digest = self.value(MESSAGE_DIGEST)?.and_then(|value| value.decode_as::<&OctetStringRef>().ok());
        if digest.map(OctetStringRef::as_bytes) != Some(Message::of(&[content]).digest(hash)) {
            return Err(TimestampError::Attribute(MESSAGE_DIGEST));
        }
        Ok(())
    }

    /// Checks that the signer meant this certificate: its key may be certified by others, too. The hash says which, so that names
    /// and numbers beside it needn't be compared.
    fn check_signing_certificate(&self, certificate: &Certificate) -> Result<(), TimestampError> {
        let mut identified = false;
        for identifier in [SIGNING_CERTIFICATE, SIGNING_CERTIFICATE_V2] {
            let Some(value) = self.value(identifier)? else {
                continue;
            };
            let signing: SigningCertificate<'_> = value.decode_as()?;
            let first = signing.certificates.first().ok_or(TimestampError::Attribute(identifier))?;
            let sha1;
            let message = Message::of(&[certificate.der()]);
            let digest = match first.algorithm {
                // The first version has no other hash. It stands beside the signature, and proves nothing alone.
                None if identifier == SIGNING_CERTIFICATE => {
                    sha1 = Sha1::digest(certificate.der());
                    sha1.as_slice()
                }
                None => message.digest(Hash::Sha256),
                Some(algorithm) => {
                    message.digest(Hash::of(algorithm.oid).ok_or(TimestampError::Algorithm(algorithm.oid))?)
                }
            };
            if digest != first.digest.as_bytes() {
                return Err(TimestampError::Attribute(identifier));
            }
            identified = true;
        }
        if identified { Ok(()) } else { Err(TimestampError::Attribute(SIGNING_CERTIFICATE_V2)) }
    }
}

fn check_authority(
    authority: &Authority,
    signer: &SignerInfo<'_>,
    attributes: &Attributes<'_>,
    embedded: &[Certificate],
    at: Timestamp,
) -> Result<Vec<Certificate>, TimestampError> {
    let candidates = match &authority.leaf {
        Some(leaf) => std::slice::from_ref(leaf),
        None => embedded,
    };
    let certificate = candidates.iter().find(|candidate| is_identified(signer.identifier, candidate));
    let certificate = certificate.ok_or(TimestampError::NoAuthority)?;
    attributes.check_signing_certificate(certificate)?;
    let intermediates: Vec<Certificate> = authority.intermediates.iter().chain(embedded).cloned().collect();
    let chain = chain(certificate, &intermediates, &authority.roots, at, Usage::TimeStamping)?;
    if !certificate.key().verifies_as(
        scheme(signer)?,
        &Message::of(&[&attributes.signed_bytes]),
        signer.signature.as_bytes(),
    ) {
        return Err(TimestampError::Signature);
    }
    let is_within =
        authority.valid_from.is_none_or(|from| from <= at) && authority.valid_until.is_none_or(|until| at <= until);
    if is_within { Ok(chain.into_iter().cloned().collect()) } else { Err(TimestampError::NotBelieved(at)) }
}

/// Whether a `SignerIdentifier` means this certificate.
fn is_identified(identifier: AnyRef<'_>, certificate: &Certificate) -> bool {
    if identifier.tag() == (Tag::ContextSpecific { constructed: false, number: TagNumber(0) }) {
        let own = certificate.extension(SUBJECT_KEY_IDENTIFIER);
        let own = own.and_then(|value| <&OctetStringRef>::from_der(value).ok());
        return own.map(OctetStringRef::as_bytes) == Some(identifier.value());
    }
    identifier
        .decode_as::<IssuerAndSerialNumber>()
        .is_ok_and(|named| certificate.is_issued_as(&named.issuer, &named.serial_number))
}

fn digest_hash(signer: &SignerInfo<'_>) -> Result<Hash, TimestampError> {
    let algorithm = signer.digest_algorithm.oid;
    Hash::of(algorithm).ok_or(TimestampError::Algorithm(algorithm))
}

fn scheme(signer: &SignerInfo<'_>) -> Result<Scheme, TimestampError> {
    let algorithm = &signer.signature_algorithm;
    // RFC 3370, section 3.2: the algorithm of the key stands for RSASSA-PKCS1-v1_5 with the digest's hash.
    if algorithm.oid == RSA {
        return Ok(Scheme::RsaPkcs1(digest_hash(signer)?));
    }
    Scheme::of(algorithm).ok_or(TimestampError::Algorithm(algorithm.oid))
}

/// Why a token proves no time for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimestampError {
    /// It is larger than [`MAX_TOKEN_BYTES`].
    TooLarge,
    /// The DER or the structure is broken.
    Malformed,
    /// The authority refused the request. Holds its status.
    NotGranted(u8),
    /// It is something else than a timestamp. Holds its type.
    ContentType(ObjectIdentifier),
    /// It has no signer, or more than one. Holds how many.
    SignerCount(usize),
    /// It has too many certificates.
    TooManyCertificates,
    /// It has a critical extension, and none is read here. Holds it.
    CriticalExtension(ObjectIdentifier),
    /// A hash or a signature is of an algorithm that isn't read here. Holds it.
    Algorithm(ObjectIdentifier),
    /// A signed attribute is missing, stands twice, or is about something else. Holds it.
    Attribute(ObjectIdentifier),
    /// It is about another message.
    OtherMessage,
    /// None of the authorities has the certificate that it names.
    NoAuthority,
    /// The certificate that it names isn't trusted.
    Chain(ChainError),
    /// The signature isn't by the key of the certificate that it names.
    Signature,
    /// The authority isn't believed for this time. Holds it.
    NotBelieved(Timestamp),
}

impl From<der::Error> for TimestampError {
    fn from(_: der::Error) -> Self {
        Self::Malformed
    }
}

impl From<ChainError> for TimestampError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl fmt::Display for TimestampError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(
                formatter,
                "the timestamp has more than `{MAX_TOKEN_BYTES}` bytes; ask the authority for one with fewer certificates"
            ),
            Self::Malformed => {
                formatter.write_str("the timestamp is no DER as in RFC 3161; sign again with another authority")
            }
            Self::NotGranted(status) => {
                write!(formatter, "the timestamp was refused with the status `{status}`; ask the authority again")
            }
            Self::ContentType(found) => {
                write!(formatter, "the timestamp's content is of type `{found}`, not a `TSTInfo`; sign again")
            }
            Self::SignerCount(count) => {
                write!(formatter, "the timestamp has `{count}` signers; use an authority that signs once")
            }
            Self::TooManyCertificates => write!(
                formatter,
                "the timestamp has more than `{MAX_CERTIFICATES}` certificates; ask for one with fewer certificates"
            ),
            Self::CriticalExtension(identifier) => write!(
                formatter,
                "the timestamp has the critical extension `{identifier}`, which isn't supported; use another authority"
            ),
            Self::Algorithm(identifier) => write!(
                formatter,
                "the timestamp's algorithm `{identifier}` isn't supported; use an authority with SHA-256 or better"
            ),
            Self::Attribute(identifier) => {
                write!(formatter, "the timestamp's signed attribute `{identifier}` is missing or wrong; sign again")
            }
            Self::OtherMessage => formatter.write_str("the timestamp is about another signature; sign again"),
            Self::NoAuthority => formatter.write_str(
                "the timestamp is by none of the trusted timestamp authorities; add its root if you trust it",
            ),
            Self::Chain(error) => write!(formatter, "the timestamp's authority isn't trusted: {error}"),
            Self::Signature => {
                formatter.write_str("the timestamp isn't signed with the key of its certificate; sign again")
            }
            Self::NotBelieved(time) => write!(
                formatter,
                "the timestamp's authority isn't trusted for `{time}`; sign again with a current authority"
            ),
        }
    }
}

impl std::error::Error for TimestampError {}

#[cfg(test)]
pub(crate) mod tests;
