//! The evidence that stands beside an image in its registry, wherever the tools put it that make it.

use super::piece::{MAX_BYTES, Piece, is_evidence, may_hold_evidence};
use super::{Artifact, Descriptor, Repository, RepositoryError};

/// Where cosign 2 puts attestations, behind the image's digest.
const ATTESTATIONS: &str = "att";

/// A piece that stands beside an image.
#[derive(Debug)]
pub struct Found {
    /// The piece.
    pub piece: Piece,
    /// The digest of its artifact, or the end of its tag.
    pub artifact: String,
    /// Whether it is a configuration, which hosts hand out. Otherwise it is a layer.
    pub is_configuration: bool,
}

/// Everything about an image that stands beside it: what refers to it, and what is at cosign 2's tag. `warn` hears of what can't be
/// used.
///
/// # Errors
/// The registry doesn't say what there is.
pub fn beside(repository: &Repository, warn: &mut impl FnMut(&str)) -> Result<Vec<Found>, RepositoryError> {
    let mut found = Vec::new();
    for referrer in repository.referrers()? {
        if !may_hold_evidence(referrer.artifact_type.as_deref()) {
            continue;
        }
        match repository.artifact(&referrer.digest) {
            Ok(artifact) => found.extend(pieces(repository, &referrer.digest, &artifact, warn)?),
            Err(why @ (RepositoryError::Missing(_) | RepositoryError::Unreadable { .. })) => {
                warn(&format!("{why}; it is left out"));
            }
            Err(other) => return Err(other),
        }
    }
    if let Some(artifact) = repository.artifact_at(ATTESTATIONS)? {
        found.extend(pieces(repository, &format!(".{ATTESTATIONS}"), &artifact, warn)?);
    }
    Ok(found)
}

/// The pieces in an artifact that are about the image.
fn pieces(
    repository: &Repository,
    name: &str,
    artifact: &Artifact,
    warn: &mut impl FnMut(&str),
) -> Result<Vec<Found>, RepositoryError> {
    let is_configuration = is_evidence(&artifact.config.media_type);
    let documents: Vec<&Descriptor> = match is_configuration {
        true => vec![&artifact.config],
        false => artifact.layers.iter().filter(|layer| is_evidence(&layer.media_type)).collect(),
    };
    let mut found = Vec::new();
    for document in documents {
        let mut left_out = |why: &str| warn(&format!("`{}` of `{name}` is left out: {why}", document.digest));
        if document.size > MAX_BYTES as u64 {
            left_out(&format!("it has {} bytes, and {MAX_BYTES} are the most", document.size));
            continue;
        }
        let bytes = repository.document(document)?;
        match Piece::of_configuration(&document.media_type, &bytes) {
            Err(why) => left_out(&why.to_string()),
            Ok(pieces) => {
                for piece in pieces {
                    if piece.about().iter().any(|digest| digest == repository.digest()) {
                        found.push(Found { piece, artifact: name.to_owned(), is_configuration });
                    } else {
                        left_out("it isn't about this image");
                    }
                }
            }
        }
    }
    Ok(found)
}
