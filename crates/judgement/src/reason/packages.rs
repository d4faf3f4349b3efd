//! Why it isn't known what an image is made of, where rules or expressions ask for its packages.

use super::{ReportReason, Unresolved};
use std::fmt;

/// Why it isn't known what an image is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum UnknownPackages {
    /// Nobody knows which manifests there are.
    Unresolved(Unresolved),
    /// Of one platform no SBOM tells.
    Untold {
        /// The platform; none where the image has one alone.
        platform: Option<String>,
        /// What its sources say.
        why: Box<ReportReason>,
        /// Whether it failed at what may go away by itself, and that nobody chose who names or pushes images.
        is_outage: bool,
    },
    /// All packages have more text than rules are told, in bytes.
    TooLarge(usize),
    /// Those of all images of the request have.
    TooLargeTogether(usize),
}

impl UnknownPackages {
    /// Whether it is what `failurePolicy: Ignore` forgives, whatever the registry said.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Untold { is_outage: true, .. })
    }
}

impl fmt::Display for UnknownPackages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved(unresolved) => unresolved.fmt(f),
            Self::Untold { platform: Some(platform), why, .. } => {
                write!(f, "its packages aren't known for {platform}: {why}")
            }
            Self::Untold { platform: None, why, .. } => write!(f, "its packages aren't known: {why}"),
            Self::TooLargeTogether(most) => {
                write!(f, "the packages of all images have more than {most} bytes together")
            }
            Self::TooLarge(most) => write!(f, "its packages have more than {most} bytes together"),
        }
    }
}
