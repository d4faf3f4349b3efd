//! Where evidence of a digest may be.

use crate::github::GithubRepository;

/// Where evidence of a digest may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Beside an image, `host/repository@digest`.
    Image(String),
    /// At GitHub.
    Github(GithubRepository),
}

impl Place {
    /// Who is asked there.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Image(image) => host(image),
            Self::Github(repository) => repository.host(),
        }
    }
}

/// The registry and the repository of a canonical reference with a tag or a digest.
pub(super) fn repository(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    }
}

/// The registry of a canonical reference.
pub(super) fn host(image: &str) -> &str {
    image.split('/').next().unwrap_or_default()
}
