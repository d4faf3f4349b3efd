//! Keys of tokens: JSON Web Keys ([RFC 7517], [RFC 7518], [RFC 8037]), and PEM of certificates and public keys.
//!
//! What counts as a key is as in OPA, by Go's `crypto/x509` and `encoding/pem`.
//!
//! [RFC 7517]: https://www.rfc-editor.org/rfc/rfc7517
//! [RFC 7518]: https://www.rfc-editor.org/rfc/rfc7518
//! [RFC 8037]: https://www.rfc-editor.org/rfc/rfc8037

mod json_web_key;
mod pem;

use super::rsa;
use super::unanswered::Unanswered;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use spki::der::asn1::{AnyRef, BitStringRef, GeneralizedTime, UintRef, UtcTime};
use spki::der::{Decode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _};
use spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfoRef};
use std::borrow::Cow;

pub(super) use json_web_key::{is_algorithm, json_web_keys};

/// The most keys of a set. Each may be tried.
const MOST_KEYS: usize = 32;
/// The longest text of keys, in bytes.
const MAX_TEXT: usize = 256 * 1024;

// RFC 8017, RFC 5480 and RFC 8410.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P224: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.33");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");

// Go's decoders take whatever the last character has beside its bits, and no padding but the whole one.
const LOOSE: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const PADDED: GeneralPurposeConfig = LOOSE.with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
const BARE: GeneralPurposeConfig = LOOSE.with_decode_padding_mode(DecodePaddingMode::RequireNone);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, PADDED);
static STANDARD_BARE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, BARE);
pub(super) static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, PADDED);
static URL_SAFE_BARE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, BARE);

/// A key, and what its set says of it.
#[derive(Clone)]
pub(super) struct Key {
    /// `alg`; empty where nothing is said.
    pub(super) algorithm: String,
    /// `kid`; empty where nothing is said.
    pub(super) id: String,
    pub(super) public: Public,
    /// Its secret half, where it has been given.
    pub(super) private: Option<Private>,
}

/// What signatures are verified with.
#[derive(Clone)]
pub(super) enum Public {
    Rsa(rsa::PublicKey),
    P256(p256::ecdsa::VerifyingKey),
    P384(p384::ecdsa::VerifyingKey),
    P521(p521::ecdsa::VerifyingKey),
    /// Bytes that needn't be a point: no signature is one of a key that isn't.
    Ed25519([u8; 32]),
    /// A secret of HMAC.
    Secret(Vec<u8>),
    /// A key that signs nothing.
    Other,
}

/// What signatures are made with.
#[derive(Clone)]
pub(super) enum Private {
    Rsa(rsa::PrivateKey),
    Ed25519([u8; 32]),
    /// A key whose signatures aren't made here.
    Other,
}

/// Reads the keys of a text: a certificate, a public key, a JSON Web Key or a set of them.
///
/// # Errors
/// It is none of these, too long, or has a key that is too large.
pub(super) fn keys(text: &str) -> Result<Vec<Key>, Unanswered> {
    short(text)?;
    let Some(block) = pem::block(text) else {
        let keys = json_web_keys(text)?.into_iter();
        return Ok(keys.filter(|key| key.algorithm.is_empty() || is_algorithm(&key.algorithm)).collect());
    };
    let public = match (block.label, block.rest) {
        ("CERTIFICATE", "") => certified(&block.bytes)?,
        ("PUBLIC KEY", "") => {
            let info = SubjectPublicKeyInfoRef::try_from(block.bytes.as_slice()).map_err(|_| Unanswered::Undefined)?;
            public(&info)?.ok_or(Unanswered::Undefined)?
        }
        _ => return Err(Unanswered::Undefined),
    };
    Ok(vec![Key { algorithm: String::new(), id: String::new(), public, private: None }])
}

fn short(text: &str) -> Result<(), Unanswered> {
    match text.len() > MAX_TEXT {
        true => Err(Unanswered::Refused(format!("keys of {} bytes: at most {MAX_TEXT}", text.len()))),
        false => Ok(()),
    }
}

/// The public key of a certificate (RFC 5280, section 4.1), of which nothing else is looked at but the form.
fn certified(der: &[u8]) -> Result<Public, Unanswered> {
    fn info(der: &[u8]) -> Option<SubjectPublicKeyInfoRef<'_>> {
        let mut reader = SliceReader::new(der).ok()?;
        let certificate = AnyRef::decode(&mut reader).ok()?;
        reader.finish().ok()?;
        let [content, algorithm, signature] = *parts(certificate)? else { return None };
        signature.decode_as::<BitStringRef<'_>>().ok()?;
        let content = parts(content)?;
        let stated = content.first().copied().filter(|part| is_specific(*part, 0));
        let version = stated.map_or(Some(0), |version| u8::from_der(version.value()).ok())?;
        let mut content = content.into_iter().skip(usize::from(stated.is_some()));
        content.next()?.decode_as::<UintRef<'_>>().ok()?;
        let own = content.next()?;
        own.decode_as::<AlgorithmIdentifierRef<'_>>().ok()?;
        let (issuer, validity, subject) = (content.next()?, parts(content.next()?)?, content.next()?);
        let are_times = matches!(validity.as_slice(), [from, until] if is_time(*from) && is_time(*until));
        let info = content.next()?.decode_as().ok()?;
        // The identifiers of issuer and subject, which may stand before the extensions of version 3. What else follows isn't read.
        let after = content.find(|part| ![1, 2].iter().any(|number| is_specific(*part, *number)));
        let extensions = after.filter(|part| version == 2 && is_specific(*part, 3));
        let is_whole = own == algorithm
            && version < 3
            && are_times
            && is_name(issuer)
            && is_name(subject)
            && extensions.is_none_or(are_extensions);
        is_whole.then_some(info)
    }
    // A certificate of an algorithm that Go doesn't know is one, and verifies nothing.
    public(&info(der).ok_or(Unanswered::Undefined)?).map(|key| key.unwrap_or(Public::Other))
}

/// The elements of a sequence.
fn parts(sequence: AnyRef<'_>) -> Option<Vec<AnyRef<'_>>> {
    (sequence.tag() == Tag::Sequence).then(|| elements(sequence))?
}

fn elements(whole: AnyRef<'_>) -> Option<Vec<AnyRef<'_>>> {
    let mut reader = SliceReader::new(whole.value()).ok()?;
    let mut found = Vec::new();
    while !reader.is_finished() {
        found.push(AnyRef::decode(&mut reader).ok()?);
    }
    Some(found)
}

fn is_specific(part: AnyRef<'_>, number: u32) -> bool {
    part.tag().is_context_specific() && part.tag().number() == TagNumber(number)
}

/// Whether they are extensions in a sequence; what one says isn't read.
fn are_extensions(part: AnyRef<'_>) -> bool {
    let is_extension = |part: &AnyRef<'_>| match parts(*part).as_deref() {
        Some([name, rest @ .., value]) => {
            let is_critical = matches!(rest, [] | [_]) && rest.iter().all(|part| part.decode_as::<bool>().is_ok());
            name.decode_as::<ObjectIdentifier>().is_ok() && is_critical && value.tag() == Tag::OctetString
        }
        _ => false,
    };
    match elements(part).as_deref() {
        Some([extensions]) => parts(*extensions).is_some_and(|extensions| extensions.iter().all(is_extension)),
        _ => false,
    }
}

fn is_time(part: AnyRef<'_>) -> bool {
    part.decode_as::<UtcTime>().is_ok() || part.decode_as::<GeneralizedTime>().is_ok()
}

/// Whether it is a sequence of sets of names and their values.
fn is_name(part: AnyRef<'_>) -> bool {
    let is_named = |part: &AnyRef<'_>| {
        let named = parts(*part);
        matches!(named.as_deref(), Some([name, _]) if name.decode_as::<ObjectIdentifier>().is_ok())
    };
    let is_set =
        |part: &AnyRef<'_>| part.tag() == Tag::Set && elements(*part).is_some_and(|names| names.iter().all(is_named));
    parts(part).is_some_and(|sets| sets.iter().all(is_set))
}

/// The key that a `SubjectPublicKeyInfo` has; none of an algorithm that isn't known.
fn public(info: &SubjectPublicKeyInfoRef<'_>) -> Result<Option<Public>, Unanswered> {
    let bytes = info.subject_public_key.as_bytes().ok_or(Unanswered::Undefined)?;
    let parameters = info.algorithm.parameters;
    let key = match info.algorithm.oid {
        RSA => {
            if !parameters.is_some_and(AnyRef::is_null) {
                return Err(Unanswered::Undefined);
            }
            let numbers = AnyRef::try_from(bytes).ok().and_then(parts).ok_or(Unanswered::Undefined)?;
            let [modulus, exponent] = *numbers else { return Err(Unanswered::Undefined) };
            let modulus = modulus.decode_as::<UintRef<'_>>().map_err(|_| Unanswered::Undefined)?;
            let exponent = exponent.decode_as::<i64>().ok().and_then(|exponent| u64::try_from(exponent).ok());
            let exponent = exponent.filter(|exponent| *exponent > 0).ok_or(Unanswered::Undefined)?;
            Public::Rsa(rsa::PublicKey::new(modulus.as_bytes(), exponent)?)
        }
        ELLIPTIC_CURVE => {
            let curve = info.algorithm.parameters_oid().map_err(|_| Unanswered::Undefined)?;
            let curve = match curve {
                P256 => Curve::P256,
                P384 => Curve::P384,
                P521 => Curve::P521,
                P224 => {
                    return Err(Unanswered::Refused("a key on the curve P-224: use P-256 or a larger one".to_owned()));
                }
                _ => return Err(Unanswered::Undefined),
            };
            curve.key(bytes).ok_or(Unanswered::Undefined)?
        }
        ED25519 | X25519 => {
            let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| Unanswered::Undefined)?;
            match (parameters, info.algorithm.oid) {
                (None, ED25519) => Public::Ed25519(bytes),
                (None, _) => Public::Other,
                (Some(_), _) => return Err(Unanswered::Undefined),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(key))
}

/// A curve of NIST, by its name in RFC 7518.
#[derive(Debug, Clone, Copy)]
enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    /// The bytes of a number.
    fn size(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// The key that an uncompressed point is (SEC 1, section 2.3.3), if it is one.
    fn key(self, point: &[u8]) -> Option<Public> {
        if point.len() != 1 + 2 * self.size() || point.first() != Some(&4) {
            return None;
        }
        match self {
            Self::P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().map(Public::P256),
            Self::P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().map(Public::P384),
            Self::P521 => p521::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().map(Public::P521),
        }
    }
}

/// The bytes that a field of a JSON Web Key is, in either alphabet, with or without its padding; lines may end in it.
fn field_bytes(text: &str) -> Option<Vec<u8>> {
    let is_standard = text.contains(['+', '/']);
    let engine = match (is_standard, text.ends_with('=')) {
        (true, true) => &STANDARD,
        (true, false) => &STANDARD_BARE,
        (false, true) => &URL_SAFE,
        (false, false) => &URL_SAFE_BARE,
    };
    engine.decode(&*without_line_ends(text)).ok()
}

/// Go's decoders of base64 don't see them.
pub(super) fn without_line_ends(text: &str) -> Cow<'_, str> {
    match text.contains(['\r', '\n']) {
        true => Cow::Owned(text.replace(['\r', '\n'], "")),
        false => Cow::Borrowed(text),
    }
}
