//! Who signed the images of a list, and what the host says of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::request::{Keyless, KeylessPrefix, Request};

/// The issuer of what GitHub's workflows sign with.
const GITHUB: &str = "https://token.actions.githubusercontent.com";

/// Somebody who signed an image. Their signatures carry no annotations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Signer {
    /// Whoever has the key to this one, PEM without white space.
    Key(String),
    /// An identity in a certificate.
    Keyless { issuer: String, subject: String },
    /// A workflow of this repository; the list doesn't say which.
    GithubActions(Workflows),
}

/// A signer as the list has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Written {
    key: Option<String>,
    issuer: Option<String>,
    subject: Option<String>,
    github_actions: Option<Workflows>,
}

/// Whose workflows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Workflows {
    owner: String,
    repository: String,
}

impl TryFrom<Written> for Signer {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match (written.key, written.issuer, written.subject, written.github_actions) {
            (Some(key), None, None, None) if key.trim().starts_with("-----BEGIN PUBLIC KEY-----") => {
                Ok(Self::Key(without_space(&key)))
            }
            (Some(_), None, None, None) => {
                Err("`key` is no public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`")
            }
            (None, Some(issuer), Some(subject), None) => Ok(Self::Keyless { issuer, subject }),
            (None, None, None, Some(workflows)) => Ok(Self::GithubActions(workflows)),
            _ => Err("say who signed in one of three ways: `key`, or `issuer` and `subject`, or `githubActions`"),
        }
    }
}

fn without_space(pem: &str) -> String {
    pem.split_whitespace().collect()
}

/// What a signature must be by, in the form in which the host's failure repeats it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(super) enum Constraint<'a> {
    PubKey { owner: Option<&'a str>, key: &'a str, annotations: Annotations<'a> },
    GenericIssuer { issuer: &'a str, subject: Subject<'a>, annotations: Annotations<'a> },
    GithubAction { owner: &'a str, repo: Option<&'a str>, annotations: Annotations<'a> },
}

type Annotations<'a> = Option<&'a BTreeMap<String, String>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Subject<'a> {
    Equal(&'a str),
    UrlPrefix(&'a str),
}

impl<'a> Constraint<'a> {
    /// The image that a request asks about, and the constraints that must all be satisfied, or why the host looks at
    /// none; nothing when the list can't tell.
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
                if let Some(prefix) = keyless_prefix.iter().find(|prefix| !prefix.url_prefix.contains("://")) {
                    let prefix = &prefix.url_prefix;
                    return Some((image, Err(format!("`{prefix}` is not a URL, at which the real host breaks down"))));
                }
                let constraint = |KeylessPrefix { issuer, url_prefix }: &'a KeylessPrefix| {
                    let subject = Subject::UrlPrefix(url_prefix);
                    Self::GenericIssuer { issuer, subject, annotations: annotations.as_ref() }
                };
                (image, keyless_prefix.iter().map(constraint).collect(), "Must provide keyless info")
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

    fn is_satisfied_by(&self, signer: &Signer) -> bool {
        let (Self::PubKey { annotations, .. }
        | Self::GenericIssuer { annotations, .. }
        | Self::GithubAction { annotations, .. }) = self;
        let is_signer = match (self, signer) {
            (Self::PubKey { key, .. }, Signer::Key(own)) => without_space(key) == *own,
            (Self::GenericIssuer { issuer, subject, .. }, Signer::Keyless { issuer: own_issuer, subject: own }) => {
                issuer == own_issuer && subject.is_of(own)
            }
            (Self::GenericIssuer { issuer, subject, .. }, Signer::GithubActions(Workflows { owner, repository })) => {
                // Which workflow it was isn't known, and with it the whole subject.
                matches!(subject, Subject::UrlPrefix(_))
                    && *issuer == GITHUB
                    && subject.is_of(&format!("https://github.com/{owner}/{repository}/"))
            }
            (Self::GithubAction { owner, repo, .. }, Signer::GithubActions(own)) => {
                *owner == own.owner && repo.is_none_or(|repo| repo == own.repository)
            }
            _ => false,
        };
        is_signer && annotations.is_none_or(BTreeMap::is_empty)
    }
}

impl Subject<'_> {
    fn is_of(&self, subject: &str) -> bool {
        match self {
            Self::Equal(equal) => *equal == subject,
            // The host ends it with a slash, so that `…/team` is no prefix of `…/teammate`.
            Self::UrlPrefix(prefix) => {
                subject.strip_prefix(prefix).is_some_and(|rest| prefix.ends_with('/') || rest.starts_with('/'))
            }
        }
    }
}

/// Whether each constraint is satisfied by somebody who signed, or the text of the real host's failure.
pub(super) fn check(constraints: &[Constraint<'_>], signers: &[Signer]) -> Result<(), String> {
    let missing: Vec<&Constraint<'_>> = constraints
        .iter()
        .filter(|constraint| !signers.iter().any(|signer| constraint.is_satisfied_by(signer)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut text =
        "Image verification failed: missing signatures\nThe following constraints were not satisfied:\n".to_owned();
    for constraint in missing {
        text.push_str(&yaml_serde::to_string(constraint).map_err(|e| e.to_string())?);
    }
    Err(text)
}
