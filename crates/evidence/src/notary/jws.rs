//! Envelopes of JWS: [RFC 7515] in its flattened JSON form, with the headers of Notary Project.
//!
//! [RFC 7515]: https://www.rfc-editor.org/rfc/rfc7515

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use image_admission_untrusted::json::utf8;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;

use super::{AUTHENTIC_SIGNING_TIME, EXPIRY, NotaryError, Parts, SIGNING_TIME};
use crate::dsse::BASE64_STANDARD;
use crate::key::{Hash, Scheme};

/// Takes an envelope apart.
pub(super) fn read(bytes: &[u8]) -> Result<Parts, NotaryError> {
    let document: Document = parse("the envelope", bytes)?;
    let protected = url_safe("protected", &document.protected)?;
    let protected: Protected = parse("the protected header", &protected)?;
    Ok(Parts {
        algorithm: algorithm(&protected.alg)?,
        content_type: protected.cty,
        critical: protected.crit,
        signing_scheme: protected.signing_scheme,
        signing_time: time(SIGNING_TIME, protected.signing_time)?,
        authentic_signing_time: time(AUTHENTIC_SIGNING_TIME, protected.authentic_signing_time)?,
        expiry: time(EXPIRY, protected.expiry)?,
        payload: url_safe("payload", &document.payload)?,
        signed_bytes: format!("{}.{}", document.protected, document.payload).into_bytes(),
        signature: url_safe("signature", &document.signature)?,
        certificates: document.header.x5c.into_iter().map(|der| standard("x5c", &der)).collect::<Result<_, _>>()?,
        timestamp: document
            .header
            .timestamp
            .map(|token| standard("io.cncf.notary.timestampSignature", &token))
            .transpose()?,
    })
}

/// The specification allows no other fields in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    payload: String,
    protected: String,
    header: Header,
    signature: String,
}

#[derive(Deserialize)]
struct Header {
    x5c: Vec<String>,
    #[serde(rename = "io.cncf.notary.timestampSignature")]
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct Protected {
    alg: String,
    cty: String,
    crit: Vec<String>,
    #[serde(rename = "io.cncf.notary.signingScheme")]
    signing_scheme: String,
    #[serde(rename = "io.cncf.notary.signingTime")]
    signing_time: Option<String>,
    #[serde(rename = "io.cncf.notary.authenticSigningTime")]
    authentic_signing_time: Option<String>,
    #[serde(rename = "io.cncf.notary.expiry")]
    expiry: Option<String>,
}

fn parse<'a, T: Deserialize<'a>>(part: &'static str, bytes: &'a [u8]) -> Result<T, NotaryError> {
    utf8(bytes).and_then(spelling::from_str).map_err(|error| NotaryError::json(part, &error))
}

fn algorithm(name: &str) -> Result<Scheme, NotaryError> {
    match name {
        "PS256" => Ok(Scheme::RsaPss(Hash::Sha256)),
        "PS384" => Ok(Scheme::RsaPss(Hash::Sha384)),
        "PS512" => Ok(Scheme::RsaPss(Hash::Sha512)),
        "ES256" => Ok(Scheme::Ecdsa(Hash::Sha256)),
        "ES384" => Ok(Scheme::Ecdsa(Hash::Sha384)),
        "ES512" => Ok(Scheme::Ecdsa(Hash::Sha512)),
        other => Err(NotaryError::Algorithm(cut(other, 100))),
    }
}

fn time(attribute: &'static str, text: Option<String>) -> Result<Option<Timestamp>, NotaryError> {
    text.map(|text| Timestamp::parse(&text).ok_or(NotaryError::Missing(attribute))).transpose()
}

/// RFC 7515, section 2: without padding.
fn url_safe(field: &'static str, text: &str) -> Result<Vec<u8>, NotaryError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| NotaryError::Base64(field))
}

/// RFC 7515, section 4.1.6.
fn standard(field: &'static str, text: &str) -> Result<Vec<u8>, NotaryError> {
    BASE64_STANDARD.decode(text).map_err(|_| NotaryError::Base64(field))
}
