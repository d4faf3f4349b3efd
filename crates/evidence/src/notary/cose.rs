//! Envelopes of COSE: a `COSE_Sign1_Tagged` of [RFC 9052], with the headers of Notary Project.
//!
//! It is read item by item. So nothing is allocated by a length that the envelope names, nothing nests, and a label that stands
//! twice is seen. Lengths must be definite, as in deterministic encodings.
//!
//! [RFC 9052]: https://www.rfc-editor.org/rfc/rfc9052

use std::collections::BTreeSet;

use ciborium_ll::{Decoder, Encoder, Header};
use image_admission_untrusted::time::Timestamp;

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
    let mut items = Items(bytes);
    if items.header()? != Header::Tag(SIGN1) || items.array()? != 4 {
        return Err(NotaryError::Cbor);
    }
    let protected_bytes = items.bytes()?;
    let unprotected = Unprotected::read(&mut items)?;
    let payload = items.bytes()?;
    let signature = items.bytes()?;
    items.end()?;

    let mut items = Items(protected_bytes);
    let protected = Protected::read(&mut items)?;
    items.end()?;
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
    fn read(items: &mut Items<'_>) -> Result<Self, NotaryError> {
        let mut header = Self::default();
        items.map(|label, items| {
            match label {
                Label::Number(ALGORITHM) => header.algorithm = Some(algorithm(items.number()?)?),
                Label::Number(CRITICAL) => header.critical = critical(items)?,
                Label::Number(CONTENT_TYPE) => header.content_type = Some(items.text()?.to_owned()),
                Label::Text(SIGNING_SCHEME) => header.signing_scheme = Some(items.text()?.to_owned()),
                Label::Text(SIGNING_TIME) => header.signing_time = Some(time(SIGNING_TIME, items)?),
                Label::Text(AUTHENTIC_SIGNING_TIME) => {
                    header.authentic_signing_time = Some(time(AUTHENTIC_SIGNING_TIME, items)?);
                }
                Label::Text(EXPIRY) => header.expiry = Some(time(EXPIRY, items)?),
                _ => items.skip()?,
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
    fn read(items: &mut Items<'_>) -> Result<Self, NotaryError> {
        let mut header = Self::default();
        items.map(|label, items| {
            match label {
                Label::Number(X5CHAIN) => {
                    for _ in 0..items.array()? {
                        header.certificates.push(items.bytes()?.to_vec());
                    }
                }
                Label::Text(TIMESTAMP_SIGNATURE) => header.timestamp = Some(items.bytes()?.to_vec()),
                _ => items.skip()?,
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

/// IANA's register of COSE, where RSASSA-PSS has a salt of the hash's length (RFC 8230).
fn algorithm(number: i64) -> Result<Scheme, NotaryError> {
    match number {
        -7 => Ok(Scheme::Ecdsa(Hash::Sha256)),
        -35 => Ok(Scheme::Ecdsa(Hash::Sha384)),
        -36 => Ok(Scheme::Ecdsa(Hash::Sha512)),
        -37 => Ok(Scheme::RsaPss(Hash::Sha256)),
        -38 => Ok(Scheme::RsaPss(Hash::Sha384)),
        -39 => Ok(Scheme::RsaPss(Hash::Sha512)),
        other => Err(NotaryError::Algorithm(other.to_string())),
    }
}

fn critical(items: &mut Items<'_>) -> Result<Vec<String>, NotaryError> {
    let mut names = Vec::new();
    for _ in 0..items.array()? {
        match items.label()? {
            Label::Text(name) => names.push(name.to_owned()),
            // What COSE itself defines needn't be named, and no other number is known.
            Label::Number(number) => return Err(NotaryError::Critical(number.to_string())),
        }
    }
    Ok(names)
}

fn time(attribute: &'static str, items: &mut Items<'_>) -> Result<Timestamp, NotaryError> {
    if items.header()? != Header::Tag(EPOCH_TIME) {
        return Err(NotaryError::Missing(attribute));
    }
    items.number().map(Timestamp).map_err(|_| NotaryError::Missing(attribute))
}

/// The `Sig_structure`.
fn signed_bytes(protected: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
    let mut signed = Vec::new();
    let mut encoder = Encoder::from(&mut signed);
    encoder.push(Header::Array(Some(4))).ok()?;
    encoder.text("Signature1", None).ok()?;
    for bytes in [protected, &[], payload] {
        encoder.bytes(bytes, None).ok()?;
    }
    Some(signed)
}

/// What is still to be read.
struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    fn header(&mut self) -> Result<Header, NotaryError> {
        let mut decoder = Decoder::from(self.0);
        let header = decoder.pull().map_err(|_| NotaryError::Cbor)?;
        self.take(decoder.offset())?;
        Ok(header)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], NotaryError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(NotaryError::Cbor)?;
        self.0 = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<(), NotaryError> {
        if self.0.is_empty() { Ok(()) } else { Err(NotaryError::Cbor) }
    }

    fn bytes(&mut self) -> Result<&'a [u8], NotaryError> {
        match self.header()? {
            Header::Bytes(Some(length)) => self.take(length),
            _ => Err(NotaryError::Cbor),
        }
    }

    fn string(&mut self, length: usize) -> Result<&'a str, NotaryError> {
        std::str::from_utf8(self.take(length)?).map_err(|_| NotaryError::Cbor)
    }

    fn text(&mut self) -> Result<&'a str, NotaryError> {
        match self.label()? {
            Label::Text(text) => Ok(text),
            Label::Number(_) => Err(NotaryError::Cbor),
        }
    }

    fn number(&mut self) -> Result<i64, NotaryError> {
        match self.label()? {
            Label::Number(number) => Ok(number),
            Label::Text(_) => Err(NotaryError::Cbor),
        }
    }

    fn label(&mut self) -> Result<Label<'a>, NotaryError> {
        match self.header()? {
            Header::Positive(number) => i64::try_from(number).map(Label::Number).map_err(|_| NotaryError::Cbor),
            // RFC 8949, section 3.1: minus 1 minus the number.
            Header::Negative(number) => {
                i64::try_from(number).map(|number| Label::Number(!number)).map_err(|_| NotaryError::Cbor)
            }
            Header::Text(Some(length)) => Ok(Label::Text(self.string(length)?)),
            _ => Err(NotaryError::Cbor),
        }
    }

    fn array(&mut self) -> Result<usize, NotaryError> {
        match self.header()? {
            Header::Array(Some(length)) => Ok(length),
            _ => Err(NotaryError::Cbor),
        }
    }

    /// Reads each value with its label, which must be another one each time.
    fn map(
        &mut self,
        mut value: impl FnMut(Label<'a>, &mut Self) -> Result<(), NotaryError>,
    ) -> Result<(), NotaryError> {
        let Header::Map(Some(length)) = self.header()? else {
            return Err(NotaryError::Cbor);
        };
        let mut seen = BTreeSet::new();
        for _ in 0..length {
            let label = self.label()?;
            if !seen.insert(label) {
                return Err(NotaryError::Cbor);
            }
            value(label, self)?;
        }
        Ok(())
    }

    /// Passes over one item, whatever is in it.
    fn skip(&mut self) -> Result<(), NotaryError> {
        let mut left: usize = 1;
        while let Some(fewer) = left.checked_sub(1) {
            let inside = match self.header()? {
                Header::Positive(_) | Header::Negative(_) | Header::Float(_) | Header::Simple(_) => Some(0),
                Header::Bytes(Some(length)) => self.take(length).ok().map(|_| 0),
                Header::Text(Some(length)) => self.string(length).ok().map(|_| 0),
                Header::Tag(_) => Some(1),
                Header::Array(Some(length)) => Some(length),
                Header::Map(Some(length)) => length.checked_mul(2),
                _ => None,
            };
            left = inside.and_then(|inside| fewer.checked_add(inside)).ok_or(NotaryError::Cbor)?;
        }
        Ok(())
    }
}
