//! Envelopes of COSE: a `COSE_Sign1_Tagged` of [RFC 9052], with the headers of Notary Project.
//!
//! It is read item by item. So nothing is allocated by a length that the envelope names, nothing nests, and a label that stands
//! twice is seen.
//!
//! [RFC 9052]: https://www.rfc-editor.org/rfc/rfc9052

use std::collections::BTreeSet;

use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use minicbor::data::{Tag, Type};
use minicbor::{Decoder, Encoder};

use super::{AUTHENTIC_SIGNING_TIME, EXPIRY, NotaryError, Parts, SIGNING_SCHEME, SIGNING_TIME};
use crate::key::{Hash, Scheme};

// RFC 9052, sections 2 and 3.1, and RFC 9360.
const SIGN1: u64 = 18;
const ALGORITHM: i64 = 1;
const CRITICAL: i64 = 2;
const CONTENT_TYPE: i64 = 3;
const X5CHAIN: i64 = 33;
const TIMESTAMP_SIGNATURE: &str = "io.cncf.notary.timestampSignature";

/// RFC 8949, section 3.4.2.
const EPOCH_TIME: u64 = 1;

/// Takes an envelope apart.
pub(super) fn read(bytes: &[u8]) -> Result<Parts, NotaryError> {
    let mut decoder = Decoder::new(bytes);
    if decoder.tag()? != Tag::new(SIGN1) || decoder.array()? != Some(4) {
        return Err(NotaryError::Cbor);
    }
    let protected_bytes = decoder.bytes()?;
    let unprotected = Unprotected::read(&mut decoder)?;
    let payload = decoder.bytes()?;
    let signature = decoder.bytes()?;
    if decoder.position() != bytes.len() {
        return Err(NotaryError::Cbor);
    }

    let mut decoder = Decoder::new(protected_bytes);
    let protected = Protected::read(&mut decoder)?;
    if decoder.position() != protected_bytes.len() {
        return Err(NotaryError::Cbor);
    }
    Ok(Parts {
        algorithm: protected.algorithm.ok_or(NotaryError::Cbor)?,
        content_type: protected.content_type.ok_or(NotaryError::Cbor)?,
        critical: protected.critical,
        signing_scheme: protected.signing_scheme.ok_or(NotaryError::Cbor)?,
        signing_time: protected.signing_time,
        authentic_signing_time: protected.authentic_signing_time,
        expiry: protected.expiry,
        payload: payload.to_vec(),
        signed_bytes: signed_bytes(protected_bytes, payload).ok_or(NotaryError::Cbor)?,
        signature: signature.to_vec(),
        certificates: unprotected.certificates,
        timestamp: unprotected.timestamp,
    })
}

#[derive(Default)]
struct Protected {
    algorithm: Option<Scheme>,
    content_type: Option<String>,
    critical: Vec<String>,
    signing_scheme: Option<String>,
    signing_time: Option<Timestamp>,
    authentic_signing_time: Option<Timestamp>,
    expiry: Option<Timestamp>,
}

impl Protected {
    fn read(decoder: &mut Decoder<'_>) -> Result<Self, NotaryError> {
        let mut header = Self::default();
        read_map(decoder, |label, decoder| {
            match label {
                Label::Number(ALGORITHM) => header.algorithm = Some(algorithm(decoder)?),
                Label::Number(CRITICAL) => header.critical = critical(decoder)?,
                Label::Number(CONTENT_TYPE) => header.content_type = Some(decoder.str()?.to_owned()),
                Label::Text(SIGNING_SCHEME) => header.signing_scheme = Some(decoder.str()?.to_owned()),
                Label::Text(SIGNING_TIME) => header.signing_time = Some(time(SIGNING_TIME, decoder)?),
                Label::Text(AUTHENTIC_SIGNING_TIME) => {
                    header.authentic_signing_time = Some(time(AUTHENTIC_SIGNING_TIME, decoder)?);
                }
                Label::Text(EXPIRY) => header.expiry = Some(time(EXPIRY, decoder)?),
                _ => decoder.skip()?,
            }
            Ok(())
        })?;
        Ok(header)
    }
}

#[derive(Default)]
struct Unprotected {
    certificates: Vec<Vec<u8>>,
    timestamp: Option<Vec<u8>>,
}

impl Unprotected {
    fn read(decoder: &mut Decoder<'_>) -> Result<Self, NotaryError> {
        let mut header = Self::default();
        read_map(decoder, |label, decoder| {
            match label {
                Label::Number(X5CHAIN) => {
                    for _ in 0..decoder.array()?.ok_or(NotaryError::Cbor)? {
                        header.certificates.push(decoder.bytes()?.to_vec());
                    }
                }
                Label::Text(TIMESTAMP_SIGNATURE) => header.timestamp = Some(decoder.bytes()?.to_vec()),
                _ => decoder.skip()?,
            }
            Ok(())
        })?;
        Ok(header)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label<'a> {
    Number(i64),
    Text(&'a str),
}

fn label<'a>(decoder: &mut Decoder<'a>) -> Result<Label<'a>, NotaryError> {
    Ok(if decoder.datatype()? == Type::String { Label::Text(decoder.str()?) } else { Label::Number(decoder.i64()?) })
}

fn read_map<'a>(
    decoder: &mut Decoder<'a>,
    mut value: impl FnMut(Label<'a>, &mut Decoder<'a>) -> Result<(), NotaryError>,
) -> Result<(), NotaryError> {
    let mut seen = BTreeSet::new();
    for _ in 0..decoder.map()?.ok_or(NotaryError::Cbor)? {
        let label = label(decoder)?;
        if !seen.insert(label) {
            return Err(NotaryError::Cbor);
        }
        value(label, decoder)?;
    }
    Ok(())
}

/// IANA's register of COSE, where RSASSA-PSS has a salt of the hash's length (RFC 8230).
fn algorithm(decoder: &mut Decoder<'_>) -> Result<Scheme, NotaryError> {
    match decoder.i64()? {
        -7 => Ok(Scheme::Ecdsa(Hash::Sha256)),
        -35 => Ok(Scheme::Ecdsa(Hash::Sha384)),
        -36 => Ok(Scheme::Ecdsa(Hash::Sha512)),
        -37 => Ok(Scheme::RsaPss(Hash::Sha256)),
        -38 => Ok(Scheme::RsaPss(Hash::Sha384)),
        -39 => Ok(Scheme::RsaPss(Hash::Sha512)),
        other => Err(NotaryError::Algorithm(other.to_string())),
    }
}

fn critical(decoder: &mut Decoder<'_>) -> Result<Vec<String>, NotaryError> {
    let mut names = Vec::new();
    for _ in 0..decoder.array()?.ok_or(NotaryError::Cbor)? {
        names.push(match label(decoder)? {
            Label::Text(name) => name.to_owned(),
            // A number needn't be named: what COSE itself defines is understood. None of another meaning is.
            Label::Number(number) => return Err(NotaryError::Critical(cut(&number.to_string(), 100))),
        });
    }
    Ok(names)
}

fn time(attribute: &'static str, decoder: &mut Decoder<'_>) -> Result<Timestamp, NotaryError> {
    let is_time = decoder.datatype()? == Type::Tag && decoder.tag()? == Tag::new(EPOCH_TIME);
    let seconds = is_time.then(|| decoder.i64().ok()).flatten();
    seconds.map(Timestamp).ok_or(NotaryError::Missing(attribute))
}

/// The `Sig_structure`.
fn signed_bytes(protected: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new());
    encoder.array(4).ok()?.str("Signature1").ok()?.bytes(protected).ok()?.bytes(&[]).ok()?.bytes(payload).ok()?;
    Some(encoder.into_writer())
}

impl From<minicbor::decode::Error> for NotaryError {
    fn from(_: minicbor::decode::Error) -> Self {
        Self::Cbor
    }
}
