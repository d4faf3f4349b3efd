//! Why an image's packages are unknown to rules or expressions.

use super::{ReportReason, Unresolved};
use std::fmt;

/// Why an image's packages are unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum UnknownPackages {
    /// Nobody knows which manifests there are.
    Unresolved(Unresolved),
    /// No SBOM of one platform says.
    Untold {
        /// The platform; none if the image has only one.
        platform: Option<String>,
        /// What its sources say.
        why: Box<ReportReason>,
        /// Whether the failure may go away by itself, and isn't the doing of Pod authors or pushers.
        is_outage: bool,
    },
    /// All packages have more text than rules may read, in bytes.
    TooLarge(usize),
    /// The packages of all images of the request have more than that.
    TooLargeTogether(usize),
}

impl UnknownPackages {
    /// Whether `failurePolicy: Ignore` forgives it, whatever the registry said.
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
