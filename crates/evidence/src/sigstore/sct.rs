//! Signed certificate timestamps: promises of certificate logs, embedded in the signer's certificate ([RFC 6962, section 3][sct]).
//!
//! What a log signed is the certificate as it was before the promises were put into it, so they are taken out again.
//!
//! [sct]: https://www.rfc-editor.org/rfc/rfc6962#section-3.2

use std::collections::BTreeSet;
use std::fmt;

use der::asn1::{Any, AnyRef, OctetStringRef};
use der::{Class, Decode as _, Encode as _, Reader as _, SliceReader, Tagged as _};
use image_admission_untrusted::time::Timestamp;
use sha2::{Digest as _, Sha256};
use spki::ObjectIdentifier;

use crate::certificate::Certificate;
use crate::key::{Hash, Message, Scheme};
use crate::sigstore::trust_root::Log;

/// The most promises of a certificate that are tried.
const MAX_PROMISES: usize = 16;

const EXTENSION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.11129.2.4.2");

/// How many operators of these logs promised to have the certificate, at least one. It stops at `needed`.
pub(super) fn verify(leaf: &Certificate, issuer: &Certificate, logs: &[Log], needed: usize) -> Result<usize, SctError> {
    let extension = leaf.extension(EXTENSION).ok_or(SctError::None)?;
    let list = <&OctetStringRef>::from_der(extension).map_err(|_| SctError::Malformed)?;
    let promises = promises(list.as_bytes()).ok_or(SctError::Malformed)?;
    let issuer = Sha256::digest(issuer.key_info().map_err(|_| SctError::Malformed)?);
    let certificate = without_promises(leaf.signed_part()).map_err(|_| SctError::Malformed)?;
    let length = u32::try_from(certificate.len()).map_err(|_| SctError::Malformed)?.to_be_bytes();
    let [_, length @ ..] = length;

    let mut reason = SctError::OtherLog;
    let mut operators = BTreeSet::new();
    for promise in &promises {
        for log in logs.iter().filter(|log| log.id == promise.log_id) {
            if !log.validity.contains(promise.time) {
                reason = SctError::LogNotValid(promise.time);
                continue;
            }
            // Version 1, a certificate's timestamp, …, an entry of a certificate without promises.
            let message = Message::of(&[
                &[0, 0],
                promise.milliseconds,
                &[0, 1],
                &issuer,
                &length,
                &certificate,
                promise.extensions_with_length,
            ]);
            if !log.key.verifies_as(promise.scheme, &message, promise.signature) {
                reason = SctError::Signature;
                continue;
            }
            operators.insert(log.operator.as_str());
            if operators.len() >= needed {
                return Ok(operators.len());
            }
        }
    }
    if operators.is_empty() { Err(reason) } else { Ok(operators.len()) }
}

struct Promise<'a> {
    log_id: &'a [u8],
    milliseconds: &'a [u8],
    time: Timestamp,
    extensions_with_length: &'a [u8],
    scheme: Scheme,
    signature: &'a [u8],
}

/// The promises of version 1, in TLS' presentation language.
fn promises(list: &[u8]) -> Option<Vec<Promise<'_>>> {
    let mut list = list;
    let mut rest = vector(&mut list)?;
    if !list.is_empty() {
        return None;
    }
    let mut promises = Vec::new();
    while !rest.is_empty() && promises.len() < MAX_PROMISES {
        let mut promise = vector(&mut rest)?;
        if take(&mut promise, 1)? != [0] {
            continue;
        }
        let log_id = take(&mut promise, 32)?;
        let milliseconds = take(&mut promise, 8)?;
        let extensions_with_length = {
            let before = promise;
            let length = vector(&mut promise)?.len();
            before.get(..length + 2)?
        };
        let scheme = match take(&mut promise, 2)? {
            [4, 3] => Scheme::Ecdsa(Hash::Sha256),
            [4, 1] => Scheme::RsaPkcs1(Hash::Sha256),
            // RFC 6962, section 2.1.4: logs sign in no other way.
            _ => continue,
        };
        let signature = vector(&mut promise)?;
        let seconds = u64::from_be_bytes(milliseconds.try_into().ok()?) / 1000;
        let time = Timestamp(i64::try_from(seconds).ok()?);
        promises.push(Promise { log_id, milliseconds, time, extensions_with_length, scheme, signature });
    }
    Some(promises)
}

/// Bytes with their length before them, in two bytes.
fn vector<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take(bytes, 2)?;
    take(bytes, usize::from(u16::from_be_bytes(length.try_into().ok()?)))
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// A `TBSCertificate` without the extension of the promises.
fn without_promises(certificate: &[u8]) -> der::Result<Vec<u8>> {
    rebuilt(AnyRef::from_der(certificate)?, |field| {
        // The extensions are field 3, explicitly tagged.
        let is_extensions = field.tag().class() == Class::ContextSpecific && field.tag().number().value() == 3;
        if !is_extensions {
            return field.to_der();
        }
        rebuilt(field, |extensions| {
            rebuilt(extensions, |extension| {
                let identifier = ObjectIdentifier::decode(&mut SliceReader::new(extension.value())?)?;
                if identifier == EXTENSION { Ok(Vec::new()) } else { extension.to_der() }
            })
        })
    })
}

/// A constructed value whose parts were rewritten.
fn rebuilt(value: AnyRef<'_>, rewrite: impl Fn(AnyRef<'_>) -> der::Result<Vec<u8>>) -> der::Result<Vec<u8>> {
    let mut reader = SliceReader::new(value.value())?;
    let mut content = Vec::new();
    while !reader.is_finished() {
        content.extend(rewrite(reader.decode()?)?);
    }
    Any::new(value.tag(), content)?.to_der()
}

/// Why no certificate log is known to have a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SctError {
    /// The certificate has no promises in it.
    None,
    /// They can't be read.
    Malformed,
    /// They are of logs that aren't in the trust root.
    OtherLog,
    /// A log isn't trusted at the time of its promise.
    LogNotValid(Timestamp),
    /// A log's key didn't sign its promise.
    Signature,
}

impl fmt::Display for SctError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str(
                "the certificate has no signed certificate timestamp, and the trust root names certificate logs; have \
                 it issued by an authority that logs, or take `ctlogs` out of the trust root",
            ),
            Self::Malformed => {
                formatter.write_str("the certificate's signed certificate timestamps can't be read; sign again")
            }
            Self::OtherLog => formatter.write_str(
                "the certificate's signed certificate timestamps are of logs that the trust root doesn't have; update \
                 the trust root",
            ),
            Self::LogNotValid(time) => write!(
                formatter,
                "the trust root doesn't trust the certificate log at `{time}`; update the trust root, or sign again"
            ),
            Self::Signature => formatter.write_str(
                "the certificate log's key didn't sign the certificate's timestamp; the trust root has another key of \
                 the log",
            ),
        }
    }
}

impl std::error::Error for SctError {}
