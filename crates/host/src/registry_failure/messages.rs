//! The messages of registries that give no manifest. Each registry has its own, and they tell the kinds of failure apart.
//!
//! Of an error in the specification's form, the host shows only the message, not its code or the status. So the messages of Docker
//! Hub, ghcr.io, ECR, ACR, Artifact Registry, Quay, Harbor, Artifactory, GitLab, Nexus and CNCF Distribution are listed here;
//! `tests/registries/answers.yaml` has the full texts.

use super::{Failure, Refusal};

/// How messages begin. A `*` stands for a name without blanks, which the author of an image's name may choose.
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

/// The failure of a message, if its beginning is known.
pub(super) fn known(message: &str) -> Option<Failure> {
    BEGINNINGS.iter().find(|(beginning, _)| begins(message, beginning)).map(|(_, failure)| *failure)
}

/// Whether a message begins like this; the case of its first words is ignored.
fn begins(message: &str, beginning: &str) -> bool {
    let (first, rest) = beginning.split_once('*').map_or((beginning, None), |(first, rest)| (first, Some(rest)));
    let Some((start, behind)) = message.split_at_checked(first.len()) else { return false };
    start.eq_ignore_ascii_case(first)
        && rest.is_none_or(|rest| behind.split_once(rest).is_some_and(|(name, _)| !name.contains(' ')))
}
