//! Who is trusted, and who no longer is, as people write it.

use std::collections::BTreeMap;
use std::fmt;

use image_admission_untrusted::message::cut;

use crate::certificate::Certificate;

const PREFIX: &str = "x509.subject:";

/// The attributes that each identity must have, so that none is wider than its author knows.
const MANDATORY: [&str; 3] = ["C", "ST", "O"];
/// The others, by their names in RFC 4514 and in Go, which `notation` reads them with.
const OPTIONAL: [&str; 8] = ["CN", "L", "OU", "STREET", "POSTALCODE", "SERIALNUMBER", "DC", "UID"];

/// Whom to trust, of those who have a certificate of a trusted root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedIdentity {
    /// Everybody: `*`.
    Anybody,
    /// Those whose subject has each of these attributes, once and with this value.
    Subject(BTreeMap<&'static str, String>),
}

impl TrustedIdentity {
    /// Reads `*`, or `x509.subject:` and attributes as RFC 4514 writes them: `x509.subject: C=US, ST=WA, O=wabbit-networks.io`.
    /// Country, state (`ST` or `S`) and organization must be among them.
    ///
    /// # Errors
    ///
    /// An [`IdentityError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, IdentityError> {
        if text == "*" {
            return Ok(Self::Anybody);
        }
        let subject = text.strip_prefix(PREFIX).ok_or_else(|| IdentityError::Kind(cut(text, 100)))?;
        let mut attributes = BTreeMap::new();
        for attribute in split(subject)? {
            let (name, value) = attribute;
            let upper = name.to_ascii_uppercase();
            let upper = if upper == "S" { "ST" } else { upper.as_str() };
            let known = MANDATORY.into_iter().chain(OPTIONAL).find(|known| *known == upper);
            let known = known.ok_or_else(|| IdentityError::Attribute(cut(&name, 100)))?;
            if value.is_empty() {
                return Err(IdentityError::Syntax(cut(subject, 100)));
            }
            if attributes.insert(known, value).is_some() {
                return Err(IdentityError::Twice(known));
            }
        }
        match MANDATORY.into_iter().find(|name| !attributes.contains_key(name)) {
            Some(missing) => Err(IdentityError::Missing(missing)),
            None => Ok(Self::Subject(attributes)),
        }
    }

    /// Whether the certificate's subject is this one.
    #[must_use]
    pub fn matches(&self, certificate: &Certificate) -> bool {
        match self {
            Self::Anybody => true,
            Self::Subject(attributes) => attributes.iter().all(|(name, value)| {
                let mut found = certificate.subject_values(name);
                found.next() == Some(value) && found.next().is_none()
            }),
        }
    }
}

/// Attributes with their values, without what escapes characters.
fn split(subject: &str) -> Result<Vec<(String, String)>, IdentityError> {
    let syntax = || IdentityError::Syntax(cut(subject, 100));
    let mut attributes = Vec::new();
    let mut rest = subject.chars().peekable();
    loop {
        let mut name = String::new();
        loop {
            match rest.next().ok_or_else(syntax)? {
                '=' => break,
                character => name.push(character),
            }
        }
        while rest.next_if_eq(&' ').is_some() {}
        let mut value = String::new();
        // How much of the value stays when the spaces at its end go.
        let mut kept = 0;
        let more = loop {
            match rest.next() {
                None => break false,
                Some(',') => break true,
                Some('\\') => {
                    value.push(escaped(rest.next(), &mut rest).ok_or_else(syntax)?);
                    kept = value.len();
                }
                Some('+' | ';' | '<' | '>' | '"') => return Err(syntax()),
                Some('#') if value.is_empty() => return Err(syntax()),
                Some(character) => {
                    value.push(character);
                    if character != ' ' {
                        kept = value.len();
                    }
                }
            }
        };
        value.truncate(kept);
        attributes.push((name.trim().to_owned(), value));
        if !more {
            return Ok(attributes);
        }
    }
}

/// The character after a backslash: itself, or a byte of ASCII as two hexadecimal digits.
fn escaped(first: Option<char>, rest: &mut impl Iterator<Item = char>) -> Option<char> {
    let first = first?;
    match first.to_digit(16) {
        Some(high) => {
            let byte = high * 16 + rest.next()?.to_digit(16)?;
            char::from_u32(byte).filter(char::is_ascii)
        }
        None => Some(first),
    }
}

/// A certificate that is no longer trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// By its serial number, in lower-case hexadecimal digits without leading zeros, whoever issued it.
    SerialNumber(String),
    /// By the SHA-256 of its DER, in lower-case hexadecimal digits.
    Fingerprint(String),
}

impl Revoked {
    /// Reads a serial number of at most 20 bytes or a SHA-256 fingerprint, in hexadecimal digits of either case, with colons or
    /// without, as `openssl x509 -noout -serial -fingerprint -sha256` writes them after the `=`.
    ///
    /// # Errors
    ///
    /// A [`RevokedError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, RevokedError> {
        let digits = text.replace(':', "").to_ascii_lowercase();
        let number = digits.trim_start_matches('0');
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match digits.len() {
            64 if is_hex => Ok(Self::Fingerprint(digits)),
            1..=42 if is_hex && !number.is_empty() => Ok(Self::SerialNumber(number.to_owned())),
            _ => Err(RevokedError(cut(text, 100))),
        }
    }

    /// All that a certificate can be revoked by.
    pub(super) fn all_of(certificate: &Certificate) -> Vec<Self> {
        let number = certificate.serial_number().trim_start_matches('0').to_owned();
        let fingerprints = certificate.fingerprints().into_iter().map(Self::Fingerprint);
        std::iter::once(Self::SerialNumber(number)).chain(fingerprints).collect()
    }
}

/// Why a string is no identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// It is neither `*` nor a subject. Holds it.
    Kind(String),
    /// The subject isn't written as in RFC 4514, or has several attributes in one place. Holds it.
    Syntax(String),
    /// The subject has an attribute that isn't known. Holds it.
    Attribute(String),
    /// The subject has an attribute twice.
    Twice(&'static str),
    /// The subject lacks an attribute.
    Missing(&'static str),
}

impl fmt::Display for IdentityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(found) => {
                write!(formatter, "the identity is `{found}`; give `*`, or `{PREFIX}` and a certificate's subject")
            }
            Self::Syntax(found) => write!(
                formatter,
                "the subject `{found}` isn't like `C=US, ST=WA, O=Team`; write it so, with a backslash before `,` and other \
                 special characters in values"
            ),
            Self::Attribute(found) => write!(
                formatter,
                "the subject's attribute `{found}` isn't known; use `{}` and `{}`",
                MANDATORY.join("`, `"),
                OPTIONAL.join("`, `")
            ),
            Self::Twice(name) => write!(formatter, "the subject has the attribute `{name}` twice; leave one out"),
            Self::Missing(name) => write!(
                formatter,
                "the subject lacks the attribute `{name}`; give at least `{}`",
                MANDATORY.join("`, `")
            ),
        }
    }
}

impl std::error::Error for IdentityError {}

/// Why a string names no certificate. Holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedError(pub String);

impl fmt::Display for RevokedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(found) = self;
        write!(
            formatter,
            "`{found}` is neither a serial number nor a SHA-256 fingerprint of a certificate; give its hexadecimal digits, as \
             `openssl x509 -noout -serial -fingerprint -sha256` writes them"
        )
    }
}

impl std::error::Error for RevokedError {}
