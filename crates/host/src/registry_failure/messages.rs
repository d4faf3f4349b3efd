//! What registries say where they give no manifest: each in words of its own, by which one kind of failure is told from another.
//!
//! Of an error in the specification's form the host shows the message alone, and neither its code nor the status. So the messages
//! are known here as Docker Hub, ghcr.io, ECR, ACR, Artifact Registry, Quay, Harbor, Artifactory, GitLab, Nexus and CNCF
//! Distribution write them; `tests/registries/answers.yaml` has each in whole.

use super::{Failure, Refusal};

/// How messages begin. A `*` stands for a name, which whoever names an image may choose: it has no blanks.
const BEGINNINGS: [(&str, Failure); 39] = [
    ("manifest unknown", Failure::NoManifest),
    ("the named manifest is not known to the registry", Failure::NoManifest),
    ("manifest tagged by \"*\" is not found", Failure::NoManifest),
    ("requested image not found", Failure::NoManifest),
    ("failed to fetch \"*\" from request \"", Failure::NoManifest),
    ("artifact * not found", Failure::NoManifest),
    ("repository name not known", Failure::Refused(Refusal::NoRepository)),
    ("repository not found", Failure::Refused(Refusal::NoRepository)),
    ("repository * not found", Failure::Refused(Refusal::NoRepository)),
    ("repository * is not found", Failure::Refused(Refusal::NoRepository)),
    ("the repository with name '*' does not exist", Failure::Refused(Refusal::NoRepository)),
    ("project * not found", Failure::Refused(Refusal::NoRepository)),
    ("too many requests", Failure::TooManyRequests),
    ("toomanyrequests", Failure::TooManyRequests),
    ("you have reached your pull rate limit", Failure::TooManyRequests),
    ("you have reached your unauthenticated pull rate limit", Failure::TooManyRequests),
    ("pull request limit exceeded", Failure::TooManyRequests),
    ("rate exceeded", Failure::TooManyRequests),
    ("rate limit exceeded", Failure::TooManyRequests),
    ("data limit exceeded", Failure::TooManyRequests),
    ("quota exceeded", Failure::TooManyRequests),
    ("retry-after: ", Failure::TooManyRequests),
    ("artifact download request rejected", Failure::Refused(Refusal::Policy)),
    ("request is prohibited by organization's policy", Failure::Refused(Refusal::Policy)),
    ("client with ip '*' is not allowed access", Failure::Refused(Refusal::Address)),
    ("since docker is a us company", Failure::Refused(Refusal::Address)),
    ("the amazon cloudfront distribution is configured to block access from your country", {
        Failure::Refused(Refusal::Address)
    }),
    ("denied", Failure::Denied),
    ("requested access to the resource is denied", Failure::Denied),
    ("unauthorized", Failure::Denied),
    ("authentication required", Failure::Denied),
    ("access forbidden", Failure::Denied),
    ("access to the requested resource is not authorized", Failure::Denied),
    ("the client does not have permission", Failure::Denied),
    ("permission \"*\" denied", Failure::Denied),
    ("permission denied", Failure::Denied),
    ("unauthenticated request", Failure::Denied),
    ("your authorization token has expired", Failure::Denied),
    ("user: * is not authorized to perform: ", Failure::Denied),
];

/// What a message says, as far as its beginning is known.
pub(super) fn known(message: &str) -> Option<Failure> {
    BEGINNINGS.iter().find(|(beginning, _)| begins(message, beginning)).map(|(_, failure)| *failure)
}

/// Whether a message begins so, in whatever case its first words are.
fn begins(message: &str, beginning: &str) -> bool {
    let (first, rest) = beginning.split_once('*').map_or((beginning, None), |(first, rest)| (first, Some(rest)));
    let Some((start, behind)) = message.split_at_checked(first.len()) else { return false };
    start.eq_ignore_ascii_case(first)
        && rest.is_none_or(|rest| behind.split_once(rest).is_some_and(|(name, _)| !name.contains(' ')))
}
