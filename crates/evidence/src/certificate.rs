//! X.509 certificates, and the chains that lead from one to a trusted root ([RFC 5280, section 6][path]).
//!
//! What is checked of a chain: each certificate's validity at the time in question; of each issuer its name, its signature, that it
//! is an authority that may sign certificates, and how many others may stand below it; of the leaf what it may be used for. A
//! critical extension that isn't read here rejects, and so do critical name constraints. Revocation isn't looked up.
//!
//! [path]: https://www.rfc-editor.org/rfc/rfc5280#section-6

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use der::asn1::{AnyRef, BitStringRef};
use der::referenced::OwnedToRef as _;
use der::{Decode, Encode as _, Sequence, Tag, Tagged as _};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use sha2::{Digest as _, Sha256};
use spki::{AlgorithmIdentifierRef, ObjectIdentifier};
use x509_cert::TbsCertificate;
use x509_cert::certificate::Version;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::time::Time;

use crate::dsse::BASE64_STANDARD;
use crate::key::{KeyError, Message, PublicKey, Scheme, ecdsa_forms};

/// The most bytes of a certificate. Those that sign code have 1 to 3 KiB.
pub const MAX_CERTIFICATE_BYTES: usize = 32 * 1024;

/// The most certificates of a chain, leaf and root included.
pub const MAX_CHAIN: usize = 8;

/// The most signatures that the search for one chain verifies: those of the longest chain, and one more. Whoever brings the
/// certificates chooses how long each takes.
const MAX_SIGNATURES: usize = MAX_CHAIN;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

// RFC 5280, sections 4.2.1.3, 4.2.1.4, 4.2.1.6, 4.2.1.9 and 4.2.1.12.
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const SUBJECT_ALTERNATIVE_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const CERTIFICATE_POLICIES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.32");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
const ANY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");
const CODE_SIGNING: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.3");
const TIME_STAMPING: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.8");

/// What Notary Project's signers may not be for: anything, servers, clients, email, time stamping, and answers about revocation.
const NOT_CODE_SIGNING: [ObjectIdentifier; 6] = [
    ANY_USAGE,
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1"),
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2"),
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.4"),
    TIME_STAMPING,
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.9"),
];

/// The critical extensions that are read, here or by callers. Policies restrict nothing where no policy is asked for; what could ask
/// for one (policy constraints) is not among them.
const KNOWN: [ObjectIdentifier; 5] =
    [KEY_USAGE, SUBJECT_ALTERNATIVE_NAME, BASIC_CONSTRAINTS, CERTIFICATE_POLICIES, EXTENDED_KEY_USAGE];

/// The attributes of names that have a short name in RFC 4514 or in Go's `crypto/x509/pkix`.
const ATTRIBUTES: [(ObjectIdentifier, &str); 11] = [
    (ObjectIdentifier::new_unwrap("2.5.4.3"), "CN"),
    (ObjectIdentifier::new_unwrap("2.5.4.5"), "SERIALNUMBER"),
    (ObjectIdentifier::new_unwrap("2.5.4.6"), "C"),
    (ObjectIdentifier::new_unwrap("2.5.4.7"), "L"),
    (ObjectIdentifier::new_unwrap("2.5.4.8"), "ST"),
    (ObjectIdentifier::new_unwrap("2.5.4.9"), "STREET"),
    (ObjectIdentifier::new_unwrap("2.5.4.10"), "O"),
    (ObjectIdentifier::new_unwrap("2.5.4.11"), "OU"),
    (ObjectIdentifier::new_unwrap("2.5.4.17"), "POSTALCODE"),
    (ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.1"), "UID"),
    (ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.25"), "DC"),
];

/// A certificate, taken apart. Nothing about it is proven before [`chain`] has led from it to a trusted root.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    signed_part: Vec<u8>,
    content: TbsCertificate,
    key: PublicKey,
    /// None if it is one that isn't read here, which matters only below a root.
    scheme: Option<Scheme>,
    signature: Vec<u8>,
    basic_constraints: Option<BasicConstraints>,
    key_usage: Option<KeyUsage>,
    extended_key_usage: Option<ExtendedKeyUsage>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Certificate").field(&self.name()).finish()
    }
}

#[derive(Sequence)]
struct Signed<'a> {
    part: AnyRef<'a>,
    algorithm: AlgorithmIdentifierRef<'a>,
    signature: BitStringRef<'a>,
}

impl Certificate {
    /// Reads a certificate of version 3 from its DER.
    ///
    /// # Errors
    ///
    /// A [`CertificateError`] if it is larger than [`MAX_CERTIFICATE_BYTES`], if it is no DER, if an extension stands twice or can't
    /// be read, or if its key is none of [`PublicKey`].
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        if der.len() > MAX_CERTIFICATE_BYTES {
            return Err(CertificateError::TooLarge);
        }
        let signed = Signed::from_der(der)?;
        let content: TbsCertificate = signed.part.decode_as()?;
        // RFC 5280, section 4.1.1.2: the algorithm outside, which nobody signed, must be the one inside.
        if content.version() != Version::V3 || content.signature().owned_to_ref() != signed.algorithm {
            return Err(CertificateError::Malformed);
        }
        let mut seen = BTreeSet::new();
        let twice = content.extensions().into_iter().flatten().find(|extension| !seen.insert(extension.extn_id));
        if let Some(extension) = twice {
            return Err(CertificateError::DuplicateExtension(extension.extn_id));
        }
        Ok(Self {
            der: der.to_vec(),
            // DER has one encoding of a value, so these are the bytes that were signed.
            signed_part: signed.part.to_der()?,
            key: PublicKey::from_spki(&content.subject_public_key_info().owned_to_ref())?,
            scheme: Scheme::of(&signed.algorithm),
            signature: signed.signature.as_bytes().ok_or(CertificateError::Malformed)?.to_vec(),
            basic_constraints: decode_extension(&content, BASIC_CONSTRAINTS)?,
            key_usage: decode_extension(&content, KEY_USAGE)?,
            extended_key_usage: decode_extension(&content, EXTENDED_KEY_USAGE)?,
            content,
        })
    }

    /// Reads every certificate of a PEM file, in its order. Text between the blocks is ignored, as tools write comments there.
    ///
    /// # Errors
    ///
    /// A [`CertificateError`] if there is no certificate, if there is a block of another kind, such as a private key, or if one of the
    /// certificates can't be read.
    pub fn all_from_pem(pem: &str) -> Result<Vec<Self>, CertificateError> {
        let mut certificates = Vec::new();
        let mut rest = pem;
        while let Some((text, block)) = rest.split_once(BEGIN) {
            no_other_block(text)?;
            let (body, after) = block.split_once(END).ok_or(CertificateError::NotPem)?;
            let body: String = body.split_ascii_whitespace().collect();
            let der = BASE64_STANDARD.decode(body).map_err(|_| CertificateError::NotPem)?;
            certificates.push(Self::from_der(&der)?);
            rest = after;
        }
        no_other_block(rest)?;
        if certificates.is_empty() { Err(CertificateError::NotPem) } else { Ok(certificates) }
    }

    /// The bytes it was read from.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The key that it certifies.
    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// The DER inside the `extnValue` of an extension.
    #[must_use]
    pub fn extension(&self, identifier: ObjectIdentifier) -> Option<&[u8]> {
        find_extension(&self.content, identifier).map(|extension| extension.extn_value.as_bytes())
    }

    /// Whether a time lies in its validity, both ends included.
    #[must_use]
    pub fn is_valid_at(&self, at: Timestamp) -> bool {
        self.valid_from() <= at && at <= self.valid_until()
    }

    /// The first second of its validity.
    #[must_use]
    pub fn valid_from(&self) -> Timestamp {
        timestamp(self.content.validity().not_before)
    }

    /// The last second of its validity.
    #[must_use]
    pub fn valid_until(&self) -> Timestamp {
        timestamp(self.content.validity().not_after)
    }

    /// Its subject as RFC 4514 writes it, `CN=app,O=Team,C=DE`. Empty if it has none, as Fulcio's have not.
    #[must_use]
    pub fn subject(&self) -> String {
        let rdns = self.content.subject().iter_rdn().map(|rdn| {
            let attributes = rdn.iter().map(|attribute| match (short_name(attribute.oid), string(&attribute.value)) {
                (Some(name), Some(value)) => format!("{name}={}", escaped(value)),
                (name, _) => {
                    let value = attribute.value.to_der().unwrap_or_default();
                    let name = name.map_or_else(|| attribute.oid.to_string(), str::to_owned);
                    format!("{name}=#{}", hex(&value))
                }
            });
            attributes.collect::<Vec<_>>().join("+")
        });
        let mut rdns: Vec<String> = rdns.collect();
        rdns.reverse();
        rdns.join(",")
    }

    /// The values of the attribute `name` of its subject, such as `O`; none that isn't a string of UTF-8, and no name of which RFC 4514
    /// has no short form.
    pub fn subject_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let attributes = self.content.subject().iter();
        attributes
            .filter(move |attribute| short_name(attribute.oid) == Some(name))
            .filter_map(|attribute| string(&attribute.value))
    }

    /// The serial number that its issuer gave it, in lower-case hexadecimal digits.
    #[must_use]
    pub fn serial_number(&self) -> String {
        hex(self.content.serial_number().as_bytes())
    }

    /// The SHA-256 of its DER, in lower-case hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex(&Sha256::digest(&self.der))
    }

    /// Its fingerprint, and those that it may have had when it was issued: nobody signed its signature, and anybody can write one of
    /// ECDSA in another way.
    pub(crate) fn fingerprints(&self) -> Vec<String> {
        let forms = ecdsa_forms(&self.signature);
        let earlier = forms.iter().filter_map(|signature| {
            let part = AnyRef::from_der(&self.signed_part).ok()?;
            let algorithm = self.content.signature().owned_to_ref();
            let signature = BitStringRef::from_bytes(signature).ok()?;
            let certificate = Signed { part, algorithm, signature }.to_der().ok()?;
            Some(hex(&Sha256::digest(certificate)))
        });
        std::iter::once(self.fingerprint()).chain(earlier).collect()
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        let subject = self.subject();
        if subject.is_empty() { format!("serial number {}", self.serial_number()) } else { cut(&subject, 100) }
    }

    /// What its issuer signed.
    pub(crate) fn signed_part(&self) -> &[u8] {
        &self.signed_part
    }

    /// The DER of its `SubjectPublicKeyInfo`.
    pub(crate) fn key_info(&self) -> Result<Vec<u8>, der::Error> {
        self.content.subject_public_key_info().to_der()
    }

    /// Whether this authority issued it with this serial number, by what it says itself.
    pub(crate) fn is_issued_as(&self, issuer: &Name, serial_number: &SerialNumber) -> bool {
        self.content.issuer() == issuer && self.content.serial_number() == serial_number
    }

    pub(crate) fn key_usage(&self) -> Option<&KeyUsage> {
        self.key_usage.as_ref()
    }

    pub(crate) fn is_critical(&self, identifier: ObjectIdentifier) -> bool {
        find_extension(&self.content, identifier).is_some_and(|extension| extension.critical)
    }

    /// Whether it says that it may issue others.
    pub(crate) fn is_authority(&self) -> bool {
        self.basic_constraints.as_ref().is_some_and(|constraints| constraints.ca)
    }

    /// Whether it signed itself, as roots do.
    pub(crate) fn is_self_signed(&self) -> bool {
        self.is_self_issued() && self.scheme.is_some_and(|scheme| self.is_signed_by(&self.key, scheme))
    }

    fn is_signed_by(&self, key: &PublicKey, scheme: Scheme) -> bool {
        key.verifies_as(scheme, &Message::of(&[&self.signed_part]), &self.signature)
    }

    /// Whether it is its own issuer by name.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.content.issuer() == self.content.subject()
    }
}

/// What a leaf is to be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Its extended key usage has code signing, as Sigstore asks for.
    CodeSigning,
    /// It has no extended key usage, or one with nothing that Notary Project forbids. Those of issuers
    /// aren't looked at, as its specification has it.
    NotaryCodeSigning,
    /// Its extended key usage is critical and has nothing but time stamping (RFC 3161, section 2.3).
    TimeStamping,
}

/// Finds a chain from `leaf` to one of `roots`, in which everything was valid at a time. It begins with the leaf and ends with the root.
///
/// Roots are trusted as they are: nobody's signature on them is looked at. A leaf that is itself a root is a chain of one.
///
/// # Errors
///
/// A [`ChainError`] that says why the leaf can't be used for this, or what was wrong with the issuers that were found by name.
pub fn chain<'a>(
    leaf: &'a Certificate,
    intermediates: &'a [Certificate],
    roots: &'a [Certificate],
    at: Timestamp,
    usage: Usage,
) -> Result<Vec<&'a Certificate>, ChainError> {
    check_any(leaf, at)?;
    check_leaf(leaf, usage)?;
    let mut search = Search { intermediates, roots, at, usage, signatures: MAX_SIGNATURES, reason: None };
    let path = if roots.contains(leaf) { Some(vec![leaf]) } else { search.extend(&[leaf]) };
    path.ok_or_else(|| search.reason.unwrap_or_else(|| ChainError::NoIssuer(leaf.name())))
}

struct Search<'a> {
    intermediates: &'a [Certificate],
    roots: &'a [Certificate],
    at: Timestamp,
    usage: Usage,
    /// How many more may be verified.
    signatures: usize,
    /// The first thing that was wrong with an issuer.
    reason: Option<ChainError>,
}

impl<'a> Search<'a> {
    /// The rest of a path that leads to a root, if there is one.
    fn extend(&mut self, path: &[&'a Certificate]) -> Option<Vec<&'a Certificate>> {
        let last = *path.last()?;
        if path.len() >= MAX_CHAIN {
            self.note(ChainError::TooLong);
            return None;
        }
        let mut found = false;
        let roots = self.roots.iter().map(|root| (root, true));
        for (issuer, is_root) in roots.chain(self.intermediates.iter().map(|other| (other, false))) {
            if issuer.content.subject() != last.content.issuer() || path.contains(&issuer) {
                continue;
            }
            found = true;
            if let Err(reason) = self.check_issuer(path, last, issuer) {
                self.note(reason);
                continue;
            }
            let longer: Vec<_> = path.iter().copied().chain([issuer]).collect();
            let whole = if is_root { Some(longer) } else { self.extend(&longer) };
            if whole.is_some() {
                return whole;
            }
        }
        if !found {
            self.note(ChainError::NoIssuer(last.name()));
        }
        None
    }

    /// Another authority may have the same name, so a signature that doesn't fit is the least of the reasons.
    fn note(&mut self, reason: ChainError) {
        if matches!(self.reason, None | Some(ChainError::Signature { .. })) {
            self.reason = Some(reason);
        }
    }

    fn check_issuer(
        &mut self,
        path: &[&Certificate],
        subject: &Certificate,
        issuer: &Certificate,
    ) -> Result<(), ChainError> {
        check_any(issuer, self.at)?;
        let path_length = issuer.basic_constraints.as_ref().and_then(|constraints| constraints.path_len_constraint);
        if !issuer.is_authority() || issuer.key_usage.as_ref().is_some_and(|usage| !usage.key_cert_sign()) {
            return Err(ChainError::NotAuthority(issuer.name()));
        }
        let between = path.iter().skip(1).filter(|certificate| !certificate.is_self_issued()).count();
        if path_length.is_some_and(|most| between > usize::from(most)) {
            return Err(ChainError::PathLength(issuer.name()));
        }
        // As browsers and Go have it, an authority that is restricted to some usages issues for no other.
        let purposes = self.usage.issuers_purpose().zip(issuer.extended_key_usage.as_ref());
        if purposes.is_some_and(|(purpose, usages)| !has(usages, &[purpose, ANY_USAGE])) {
            return Err(ChainError::Usage { subject: issuer.name(), usage: self.usage });
        }
        let scheme = subject.scheme.ok_or_else(|| ChainError::SignatureAlgorithm(subject.name()))?;
        self.signatures = self.signatures.checked_sub(1).ok_or(ChainError::TooManySignatures)?;
        if subject.is_signed_by(&issuer.key, scheme) {
            Ok(())
        } else {
            Err(ChainError::Signature { subject: subject.name(), issuer: issuer.name() })
        }
    }
}

impl Usage {
    fn issuers_purpose(self) -> Option<ObjectIdentifier> {
        match self {
            Self::CodeSigning => Some(CODE_SIGNING),
            Self::NotaryCodeSigning => None,
            Self::TimeStamping => Some(TIME_STAMPING),
        }
    }
}

fn check_any(certificate: &Certificate, at: Timestamp) -> Result<(), ChainError> {
    check_valid(certificate, at)?;
    let mut extensions = certificate.content.extensions().into_iter().flatten();
    match extensions.find(|extension| extension.critical && !KNOWN.contains(&extension.extn_id)) {
        Some(extension) => Err(ChainError::CriticalExtension(certificate.name(), extension.extn_id)),
        None => Ok(()),
    }
}

pub(crate) fn check_valid(certificate: &Certificate, at: Timestamp) -> Result<(), ChainError> {
    if certificate.is_valid_at(at) {
        return Ok(());
    }
    Err(ChainError::NotValid {
        subject: certificate.name(),
        from: certificate.valid_from(),
        until: certificate.valid_until(),
        at,
    })
}

fn check_leaf(leaf: &Certificate, usage: Usage) -> Result<(), ChainError> {
    let signs = leaf.key_usage.as_ref().is_none_or(KeyUsage::digital_signature);
    let purposes = leaf.extended_key_usage.as_ref();
    let fits = match usage {
        Usage::CodeSigning => purposes.is_some_and(|usages| has(usages, &[CODE_SIGNING])),
        Usage::NotaryCodeSigning => purposes.is_none_or(|usages| !has(usages, &NOT_CODE_SIGNING)),
        Usage::TimeStamping => {
            leaf.is_critical(EXTENDED_KEY_USAGE) && purposes.is_some_and(|usages| usages.0 == [TIME_STAMPING])
        }
    };
    if signs && fits { Ok(()) } else { Err(ChainError::Usage { subject: leaf.name(), usage }) }
}

fn has(usages: &ExtendedKeyUsage, any: &[ObjectIdentifier]) -> bool {
    usages.0.iter().any(|usage| any.contains(usage))
}

fn find_extension(content: &TbsCertificate, identifier: ObjectIdentifier) -> Option<&Extension> {
    content.extensions()?.iter().find(|extension| extension.extn_id == identifier)
}

fn decode_extension<'a, T: Decode<'a, Error = der::Error>>(
    content: &'a TbsCertificate,
    identifier: ObjectIdentifier,
) -> Result<Option<T>, CertificateError> {
    let extension = find_extension(content, identifier);
    Ok(extension.map(|extension| T::from_der(extension.extn_value.as_bytes())).transpose()?)
}

fn timestamp(time: Time) -> Timestamp {
    Timestamp(i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX))
}

fn short_name(attribute: ObjectIdentifier) -> Option<&'static str> {
    ATTRIBUTES.iter().find(|(identifier, _)| *identifier == attribute).map(|(_, name)| *name)
}

fn string(value: &der::Any) -> Option<&str> {
    let is_utf8 = matches!(value.tag(), Tag::Utf8String | Tag::PrintableString | Tag::Ia5String);
    is_utf8.then(|| std::str::from_utf8(value.value()).ok())?
}

/// RFC 4514, section 2.4.
fn escaped(value: &str) -> String {
    let last = value.chars().count().saturating_sub(1);
    let characters = value.chars().enumerate().flat_map(|(index, character)| {
        let special = matches!(character, '"' | '+' | ',' | ';' | '<' | '>' | '\\');
        let outer = (index == 0 && matches!(character, ' ' | '#')) || (index == last && character == ' ');
        (special || outer).then_some('\\').into_iter().chain([character])
    });
    characters.collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn no_other_block(text: &str) -> Result<(), CertificateError> {
    match text.split_once("-----BEGIN ") {
        Some((_, label)) => Err(CertificateError::Label(cut(label.split("-----").next().unwrap_or_default(), 100))),
        None => Ok(()),
    }
}

/// Why something is no certificate that can be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateError {
    /// There is no complete PEM block of a certificate.
    NotPem,
    /// There is a PEM block of another kind. Holds its label.
    Label(String),
    /// It is larger than [`MAX_CERTIFICATE_BYTES`].
    TooLarge,
    /// The DER or the structure is broken, or the version is older than 3.
    Malformed,
    /// An extension stands twice. Holds its object identifier.
    DuplicateExtension(ObjectIdentifier),
    /// Its key can't be used.
    Key(KeyError),
}

impl From<der::Error> for CertificateError {
    fn from(_: der::Error) -> Self {
        Self::Malformed
    }
}

impl From<KeyError> for CertificateError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem => {
                write!(formatter, "there is no PEM certificate; give each as a whole block from `{BEGIN}` to `{END}`")
            }
            Self::Label(label) => {
                write!(formatter, "there is a PEM block `{label}` among the certificates; give certificates alone")
            }
            Self::TooLarge => {
                write!(formatter, "the certificate has more than `{MAX_CERTIFICATE_BYTES}` bytes; use a smaller one")
            }
            Self::Malformed => formatter.write_str(
                "the certificate is no DER of an X.509 certificate of version 3; look at it with `openssl x509 -text`",
            ),
            Self::DuplicateExtension(identifier) => write!(
                formatter,
                "the certificate has the extension `{identifier}` twice; have it issued again without that"
            ),
            Self::Key(error) => write!(formatter, "the certificate's key can't be used: {error}"),
        }
    }
}

impl std::error::Error for CertificateError {}

/// Why no chain leads from a leaf to a trusted root. Certificates are called by their subjects, or by their serial numbers where they
/// have no subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// Nobody among the intermediates and roots has the name of this certificate's issuer.
    NoIssuer(String),
    /// A certificate isn't valid at the time.
    NotValid {
        /// Which it is.
        subject: String,
        /// The first second of its validity.
        from: Timestamp,
        /// The last one.
        until: Timestamp,
        /// The time in question.
        at: Timestamp,
    },
    /// An issuer is no authority, or may not sign certificates.
    NotAuthority(String),
    /// An issuer's `pathLenConstraint` allows fewer authorities below it.
    PathLength(String),
    /// An authority of the issuer's name didn't sign it.
    Signature {
        /// What it should have signed.
        subject: String,
        /// The authority.
        issuer: String,
    },
    /// A certificate was signed in a way that isn't read here, such as with SHA-1.
    SignatureAlgorithm(String),
    /// A certificate has a critical extension that isn't read here. Holds its object identifier, too.
    CriticalExtension(String, ObjectIdentifier),
    /// A certificate may not be used for this.
    Usage {
        /// Which it is.
        subject: String,
        /// What it was to be used for.
        usage: Usage,
    },
    /// There are more than [`MAX_CHAIN`] certificates on the way.
    TooLong,
    /// Too many issuers of the same name were tried.
    TooManySignatures,
}

impl fmt::Display for ChainError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIssuer(subject) => write!(
                formatter,
                "the issuer of the certificate `{subject}` is not among the trusted ones; add its root if you trust it"
            ),
            Self::NotValid { subject, from, until, at } => write!(
                formatter,
                "the certificate `{subject}` is valid from `{from}` to `{until}`, and not at `{at}`; sign again, with a \
                 timestamp"
            ),
            Self::NotAuthority(issuer) => write!(
                formatter,
                "the certificate `{issuer}` may not issue others; sign with a certificate of a certificate authority"
            ),
            Self::PathLength(issuer) => write!(
                formatter,
                "the authority `{issuer}` allows fewer authorities below it; have the certificate issued without them"
            ),
            Self::Signature { subject, issuer } => write!(
                formatter,
                "the authority `{issuer}` has the name of the issuer of the certificate `{subject}`, but not its key; \
                 add the root that issued it if you trust it"
            ),
            Self::SignatureAlgorithm(subject) => write!(
                formatter,
                "the certificate `{subject}` was signed with an algorithm that isn't supported; have it issued with \
                 SHA-256 or better"
            ),
            Self::CriticalExtension(subject, identifier) => write!(
                formatter,
                "the certificate `{subject}` has the critical extension `{identifier}`, which isn't supported; have it \
                 issued without that"
            ),
            Self::Usage { subject, usage } => {
                let usage = match usage {
                    Usage::CodeSigning | Usage::NotaryCodeSigning => "code signing",
                    Usage::TimeStamping => "time stamping alone",
                };
                write!(
                    formatter,
                    "the certificate `{subject}` is not for {usage}; use one with this extended key usage and with \
                     `digitalSignature`"
                )
            }
            Self::TooLong => {
                write!(formatter, "the chain has more than `{MAX_CHAIN}` certificates; use one with fewer authorities")
            }
            Self::TooManySignatures => write!(
                formatter,
                "more than `{MAX_SIGNATURES}` signatures of certificates were tried; give fewer authorities of one name"
            ),
        }
    }
}

impl std::error::Error for ChainError {}

#[cfg(test)]
pub(crate) mod tests;
