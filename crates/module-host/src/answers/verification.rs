//! What `v2/verify` asks, answers and says of an image that it doesn't trust, wherever the signatures come from.

use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;

use super::request::{Keyless, KeylessPrefix, Request};

/// The issuer of what GitHub's workflows sign with.
pub(super) const GITHUB: &str = "https://token.actions.githubusercontent.com";

/// The answer to `v2/verify`. An image that isn't trusted is an error.
#[derive(Debug, Serialize)]
pub(super) struct Verified {
    is_trusted: bool,
    digest: String,
}

impl Verified {
    /// The image with this digest is trusted.
    pub(super) fn new(digest: String) -> Self {
        Self { is_trusted: true, digest }
    }
}

/// What a signature must be by, in the form in which the host's failure repeats it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(super) enum Constraint<'a> {
    PubKey { owner: Option<&'a str>, key: &'a str, annotations: Annotations<'a> },
    GenericIssuer { issuer: &'a str, subject: Subject<'a>, annotations: Annotations<'a> },
    GithubAction { owner: &'a str, repo: Option<&'a str>, annotations: Annotations<'a> },
}

/// What a signature must carry.
pub(super) type Annotations<'a> = Option<&'a BTreeMap<String, String>>;

/// Whose certificate it must be.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Subject<'a> {
    Equal(&'a str),
    /// As the URL is written canonically, which is what the host compares.
    UrlPrefix(String),
}

impl<'a> Constraint<'a> {
    /// The image that a request asks about, and the constraints that must all be satisfied, or why the host looks at
    /// none; nothing for a request that isn't answered by constraints.
    pub(super) fn of(request: &'a Request) -> Option<(&'a str, Result<Vec<Self>, String>)> {
        let (image, constraints, none) = match request {
            Request::SigstorePubKeyVerify { image, pub_keys, annotations } => {
                let annotations = annotations.as_ref();
                let constraint = |key: &'a String| Self::PubKey { owner: None, key, annotations };
                (image, pub_keys.iter().map(constraint).collect(), "Must provide at least one pub key")
            }
            Request::SigstoreKeylessVerify { image, keyless, annotations } => {
                let constraint = |Keyless { issuer, subject }: &'a Keyless| {
                    let subject = Subject::Equal(subject);
                    Self::GenericIssuer { issuer, subject, annotations: annotations.as_ref() }
                };
                (image, keyless.iter().map(constraint).collect(), "Must provide keyless info")
            }
            Request::SigstoreKeylessPrefixVerify { image, keyless_prefix, annotations } => {
                let constraint = |KeylessPrefix { issuer, url_prefix }: &'a KeylessPrefix| {
                    let prefix = Url::parse(url_prefix).map_err(|_| url_prefix)?;
                    let subject = Subject::UrlPrefix(prefix.to_string());
                    Ok(Self::GenericIssuer { issuer, subject, annotations: annotations.as_ref() })
                };
                let constraints: Result<Vec<Self>, &String> = keyless_prefix.iter().map(constraint).collect();
                match constraints {
                    Ok(constraints) => (image, constraints, "Must provide keyless info"),
                    Err(prefix) => {
                        let why = format!("`{prefix}` is not a URL, at which the real host breaks down");
                        return Some((image, Err(why)));
                    }
                }
            }
            Request::SigstoreGithubActionsVerify { image, owner, repo, annotations } => {
                let (repo, annotations) = (repo.as_deref(), annotations.as_ref());
                let constraint = (!owner.is_empty()).then_some(Self::GithubAction { owner, repo, annotations });
                (image, constraint.into_iter().collect(), "Must provide owner info")
            }
            _ => return None,
        };
        let constraints: Vec<Self> = constraints;
        Some((image, if constraints.is_empty() { Err(none.to_owned()) } else { Ok(constraints) }))
    }
}

impl Subject<'_> {
    /// Whether a certificate's subject is this one.
    pub(super) fn is_of(&self, subject: &str) -> bool {
        match self {
            Self::Equal(equal) => *equal == subject,
            // The host ends it with a slash, so that `…/team` is no prefix of `…/teammate`.
            Self::UrlPrefix(prefix) => {
                subject.strip_prefix(prefix).is_some_and(|rest| prefix.ends_with('/') || rest.starts_with('/'))
            }
        }
    }
}

/// The text of the real host's failure for constraints that no signature satisfies.
pub(super) fn missing(constraints: &[&Constraint<'_>]) -> Result<String, String> {
    let mut text =
        "Image verification failed: missing signatures\nThe following constraints were not satisfied:\n".to_owned();
    for constraint in constraints {
        text.push_str(&yaml_serde::to_string(constraint).map_err(|e| e.to_string())?);
    }
    Ok(text)
}
