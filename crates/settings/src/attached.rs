//! Artifacts that say something about images: how they are found, in which repository, and who must have signed them.

use super::attestors::{self, Attestor};
use super::read::{Problems, SettingsMap};
use super::repository::{self, ArtifactRepository};
use serde_json::Value;

/// Where artifacts about images are, and whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedArtifacts {
    /// How an image's artifacts are found.
    pub artifact: Artifact,
    /// Their repository, unless it is the image's own.
    pub repository: Option<ArtifactRepository>,
    /// Who may have signed an artifact; one of them is enough.
    pub attestors: Vec<Attestor>,
    /// Whether artifacts need no signature, although others may have pushed them.
    pub allow_unsigned: bool,
}

/// How an artifact about an image is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifact {
    /// By its tag, `sha256-<hex>.<suffix>`.
    Tag(String),
    /// By its type, in the index of referrers at `sha256-<hex>`.
    Type(String),
    /// It is a signed statement of this predicate type: evidence, in the cluster or among the referrers.
    Statement(String),
}

/// The keys that say where artifacts are. Callers that allow `allowUnsigned` have that key too.
pub(super) const KEYS: [&str; 4] = ["tagSuffix", "artifactType", "repository", "attestors"];

/// The keys that say which statements count.
pub(super) const STATEMENT_KEYS: [&str; 3] = [PREDICATE_TYPE, "repository", "attestors"];
const PREDICATE_TYPE: &str = "predicateType";

/// What an unsigned artifact could do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsigned {
    /// What any pusher could write, after "could write".
    pub(super) danger: &'static str,
    /// Whether `allowUnsigned: true` can accept that.
    pub(super) may_be_allowed: bool,
}

/// Reads whose artifacts count, and where their repository is.
pub(super) fn read(
    map: &SettingsMap<'_, '_>,
    artifact: Artifact,
    unsigned: Unsigned,
    problems: &mut Problems,
) -> AttachedArtifacts {
    let attestors = attestors::read(map, "attestors", problems);
    let allow_unsigned = unsigned.may_be_allowed && map.boolean("allowUnsigned", false, problems);
    if attestors.is_empty() && !allow_unsigned && map.list("attestors", problems).is_none_or(<[Value]>::is_empty) {
        let way_out = if unsigned.may_be_allowed { ", or set `allowUnsigned: true`" } else { "" };
        let danger = unsigned.danger;
        problems.add(
            map.path().key("attestors"),
            format!(
                "anybody who can push to the repository could write {danger}: name who must have signed it{way_out}"
            ),
        );
    }
    AttachedArtifacts { artifact, repository: repository::read(map, problems), attestors, allow_unsigned }
}

/// Reads which statements count, of a predicate type like `example`.
pub(super) fn read_predicate_type(map: &SettingsMap<'_, '_>, example: &str, problems: &mut Problems) -> Artifact {
    let path = map.path().key(PREDICATE_TYPE);
    let predicate_type = map.text(PREDICATE_TYPE, problems);
    match predicate_type {
        None => problems.add(path, format!("it is missing: the type of the statement's predicate, like `{example}`")),
        Some(text) if text.is_empty() || text.contains(char::is_whitespace) => {
            problems.add(path, format!("`{text}` is not the type of a predicate, like `{example}`"));
        }
        Some(_) => {}
    }
    Artifact::Statement(predicate_type.unwrap_or_default().to_owned())
}

/// Reads how artifacts are found: by default at the tag `sha256-<hex>.<suffix>`.
pub(super) fn read_artifact(map: &SettingsMap<'_, '_>, suffix: &str, problems: &mut Problems) -> Artifact {
    let path = map.path();
    match (map.text("tagSuffix", problems), map.text("artifactType", problems)) {
        (Some(_), Some(_)) => {
            problems.add(path.key("artifactType"), "`tagSuffix` and `artifactType` are two ways; keep one of them");
            Artifact::Tag(String::new())
        }
        (None, Some(media_type)) => {
            if media_type.is_empty() || media_type.contains(char::is_whitespace) {
                problems.add(path.key("artifactType"), format!("`{media_type}` is not a media type"));
            }
            Artifact::Type(media_type.to_owned())
        }
        (written, None) => {
            let suffix = written.unwrap_or(suffix);
            // `sha256-`, the 64 characters of the digest and a dot leave 56 of a tag's 128 characters.
            if suffix.is_empty()
                || suffix.len() > 56
                || !suffix.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
            {
                problems.add(path.key("tagSuffix"), format!("`{suffix}` can't be the end of a tag"));
            }
            Artifact::Tag(suffix.to_owned())
        }
    }
}
