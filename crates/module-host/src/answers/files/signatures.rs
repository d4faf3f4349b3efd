//! Who signed the images of a list, and what the host says of it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::verification::{Constraint, GITHUB, Subject, missing};

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

fn satisfies(signer: &Signer, constraint: &Constraint<'_>) -> bool {
    let (Constraint::PubKey { annotations, .. }
    | Constraint::GenericIssuer { annotations, .. }
    | Constraint::GithubAction { annotations, .. }) = constraint;
    let is_signer = match (constraint, signer) {
        (Constraint::PubKey { key, .. }, Signer::Key(own)) => without_space(key) == *own,
        (Constraint::GenericIssuer { issuer, subject, .. }, Signer::Keyless { issuer: own_issuer, subject: own }) => {
            issuer == own_issuer && subject.is_of(own)
        }
        (Constraint::GenericIssuer { issuer, subject, .. }, Signer::GithubActions(Workflows { owner, repository })) => {
            // Which workflow it was isn't known, and with it the whole subject.
            matches!(subject, Subject::UrlPrefix(_))
                && *issuer == GITHUB
                && subject.is_of(&format!("https://github.com/{owner}/{repository}/"))
        }
        (Constraint::GithubAction { owner, repo, .. }, Signer::GithubActions(own)) => {
            *owner == own.owner && repo.is_none_or(|repo| repo == own.repository)
        }
        _ => false,
    };
    is_signer && annotations.is_none_or(BTreeMap::is_empty)
}

/// Whether each constraint is satisfied by somebody who signed, or the text of the real host's failure.
pub(super) fn check(constraints: &[Constraint<'_>], signers: &[Signer]) -> Result<(), String> {
    let unsatisfied: Vec<&Constraint<'_>> =
        constraints.iter().filter(|constraint| !signers.iter().any(|signer| satisfies(signer, constraint))).collect();
    if unsatisfied.is_empty() { Ok(()) } else { Err(missing(&unsatisfied)?) }
}
