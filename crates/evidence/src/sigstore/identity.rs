//! Who a certificate says that its signer is: the extensions that Fulcio writes ([OIDs of Sigstore][oids]).
//!
//! [oids]: https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md

use std::collections::BTreeMap;
use std::fmt;

use der::Decode as _;
use der::asn1::Utf8StringRef;
use spki::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::certificate::Certificate;

const SUBJECT_ALTERNATIVE_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const ISSUER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.1");
const USER_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.7");
const ISSUER_V2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.8");

/// Those whose value is the text itself, without DER. Newer ones say the same of any workflow, not only of GitHub's.
const PLAIN: [(ObjectIdentifier, &str); 5] = [
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.2"), "githubWorkflowTrigger"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.3"), "githubWorkflowSHA"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.4"), "githubWorkflowName"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.5"), "githubWorkflowRepository"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.6"), "githubWorkflowRef"),
];

/// Those whose value is an `UTF8String`.
const ENCODED: [(ObjectIdentifier, &str); 16] = [
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.9"), "buildSignerURI"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.10"), "buildSignerDigest"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.11"), "runnerEnvironment"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.12"), "sourceRepositoryURI"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.13"), "sourceRepositoryDigest"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.14"), "sourceRepositoryRef"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.15"), "sourceRepositoryIdentifier"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.16"), "sourceRepositoryOwnerURI"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.17"), "sourceRepositoryOwnerIdentifier"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.18"), "buildConfigURI"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.19"), "buildConfigDigest"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.20"), "buildTrigger"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.21"), "runInvocationURI"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.22"), "sourceRepositoryVisibilityAtSigning"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.23"), "deploymentEnvironment"),
    (ObjectIdentifier::new_unwrap("1.3.6.1.4.1.57264.1.24"), "tokenSubject"),
];

/// Who signed, as the authority certified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate's one name: a URI such as a workflow's, an email address, or a user name.
    pub subject: String,
    /// Who told the authority so: the issuer of the identity token, such as `https://token.actions.githubusercontent.com`.
    pub issuer: String,
    /// The other extensions of Fulcio by their documented names, such as `sourceRepositoryURI` and `runnerEnvironment`.
    pub extensions: BTreeMap<&'static str, String>,
}

impl Identity {
    /// Reads what a certificate says of its signer.
    pub(super) fn of(certificate: &Certificate) -> Result<Self, IdentityError> {
        let plain = |(identifier, name): (ObjectIdentifier, _)| {
            let value = certificate.extension(identifier)?;
            Some(std::str::from_utf8(value).map(|text| (name, text.to_owned())).map_err(|_| IdentityError::Text(name)))
        };
        let encoded = |(identifier, name): (ObjectIdentifier, _)| {
            let value = certificate.extension(identifier)?;
            Some(
                Utf8StringRef::from_der(value)
                    .map(|text| (name, text.as_str().to_owned()))
                    .map_err(|_| IdentityError::Text(name)),
            )
        };
        let issuers = [plain((ISSUER, "issuer")), encoded((ISSUER_V2, "issuer"))];
        let mut issuers = issuers.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
        issuers.dedup();
        let [(_, issuer)] = <[_; 1]>::try_from(issuers).map_err(|issuers| match issuers.is_empty() {
            true => IdentityError::NoIssuer,
            false => IdentityError::Issuers,
        })?;
        let extensions = PLAIN.into_iter().filter_map(plain).chain(ENCODED.into_iter().filter_map(encoded));
        Ok(Self { subject: subject(certificate)?, issuer, extensions: extensions.collect::<Result<_, _>>()? })
    }
}

fn subject(certificate: &Certificate) -> Result<String, IdentityError> {
    let names = certificate.extension(SUBJECT_ALTERNATIVE_NAME).ok_or(IdentityError::NoSubject)?;
    let names = SubjectAltName::from_der(names).map_err(|_| IdentityError::NoSubject)?;
    // With several names a caller could be shown one, and another reader the other.
    let [name] = names.0.as_slice() else { return Err(IdentityError::Subjects(names.0.len())) };
    match name {
        GeneralName::UniformResourceIdentifier(uri) => Ok(uri.as_str().to_owned()),
        GeneralName::Rfc822Name(address) => Ok(address.as_str().to_owned()),
        GeneralName::OtherName(name) if name.type_id == USER_NAME => name
            .value
            .decode_as::<Utf8StringRef<'_>>()
            .map(|name| name.as_str().to_owned())
            .map_err(|_| IdentityError::NoSubject),
        _ => Err(IdentityError::NoSubject),
    }
}

/// Why a certificate doesn't say who its signer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityError {
    /// It has no name that Fulcio writes: a URI, an email address or a user name.
    NoSubject,
    /// It has several names. Holds how many.
    Subjects(usize),
    /// It doesn't say who issued the identity token.
    NoIssuer,
    /// Its two extensions of the issuer differ.
    Issuers,
    /// An extension is no UTF-8, or no `UTF8String`. Holds its name.
    Text(&'static str),
}

impl fmt::Display for IdentityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSubject => formatter.write_str(
                "the certificate names no signer; use one whose alternative name is a URI, an email address or \
                 Fulcio's user name",
            ),
            Self::Subjects(count) => {
                write!(formatter, "the certificate has `{count}` names; use one with exactly one alternative name")
            }
            Self::NoIssuer => formatter.write_str(
                "the certificate doesn't say who issued the identity token (extension `1.3.6.1.4.1.57264.1.8`); use \
                 one of Fulcio",
            ),
            Self::Issuers => {
                formatter.write_str("the certificate names two issuers of the identity token; have it issued again")
            }
            Self::Text(name) => {
                write!(formatter, "the certificate's extension `{name}` is not text; have it issued again")
            }
        }
    }
}

impl std::error::Error for IdentityError {}
