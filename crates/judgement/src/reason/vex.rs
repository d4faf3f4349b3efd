//! VEX documents beside an image: who excuses a finding, and why one doesn't.

use super::Unsigned;
use image_admission_host::HostFailure;
use image_admission_scan_report::vex::UnreadableVex;
use image_admission_untrusted::message::{cut, join_at_most};
use image_admission_untrusted::time::Timestamp;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// The most ids that the audit log names.
const IDS_SHOWN: usize = 8;
/// The longest name of an artifact.
const MAX_ARTIFACT_LENGTH: usize = 300;

/// What a signed document says of a vulnerability.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VexSaid {
    /// Its status string, `not_affected`.
    pub status: String,
    /// Why it isn't affected.
    pub justification: Option<String>,
    /// Who signed it, as the settings name them.
    pub attestor: String,
    /// `repository@digest`
    pub artifact: String,
}

/// What a signed document says that keeps findings from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedVex {
    /// The statement, and its author.
    pub said: VexSaid,
    /// The ids of those findings.
    pub ids: BTreeSet<String>,
}

/// Why what is said of a finding doesn't take it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusedVex {
    /// It says that the finding counts, or may count.
    Counts(VexSaid),
    /// It doesn't say why the image isn't affected.
    Unjustified(VexSaid),
    /// It is about one of the finding's several vulnerabilities, and no statement is about this one.
    Partly(VexSaid, String),
    /// It is about other packages.
    Elsewhere(VexSaid),
    /// It has no time.
    Undated(VexSaid),
    /// Its time is in the future.
    Ahead(VexSaid, Timestamp),
}

/// Why a document takes nothing out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusableVex {
    /// It is unknown which documents there are.
    LookUpFailed(HostFailure),
    /// It is signed, but can't be read.
    Unreadable {
        /// The document.
        artifact: String,
        /// Why it can't be read.
        why: UnreadableVex,
    },
    /// None of the wanted signers signed it.
    Unsigned {
        /// The document.
        artifact: String,
        /// The wanted signers.
        unsigned: Unsigned,
    },
    /// It is about another image; none: it names no image by a digest.
    OfAnotherImage {
        /// The document.
        artifact: String,
        /// The image that it is about.
        which: Option<String>,
    },
    /// All together say more of the findings than is compared.
    TooMuch,
}

impl UsedVex {
    /// A statement, and the first of the findings that it keeps from counting.
    pub fn new(said: VexSaid, id: Option<&str>) -> Self {
        Self { said, ids: id.map(|id| cut(id, 60)).into_iter().collect() }
    }
}

impl UnusableVex {
    /// Whether it may hide a statement that a finding counts.
    pub(crate) fn hides_statements(&self) -> bool {
        match self {
            Self::LookUpFailed(_) | Self::Unreadable { .. } | Self::TooMuch => true,
            Self::Unsigned { .. } | Self::OfAnotherImage { .. } => false,
        }
    }
}

/// `not_affected (vulnerable_code_not_present), by security (registry.example.com/app@sha256:…)`
impl fmt::Display for VexSaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status)?;
        if let Some(justification) = &self.justification {
            write!(f, " ({justification})")?;
        }
        write!(f, ", by {} ({})", self.attestor, cut(&self.artifact, MAX_ARTIFACT_LENGTH))
    }
}

/// `CVE-1, CVE-2: not_affected (…), by security (…)`, for the audit log.
impl fmt::Display for UsedVex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        write!(f, "{}: {}", join_at_most(ids.into_iter(), ", ", IDS_SHOWN), self.said)
    }
}

/// Serialized as its message.
impl Serialize for UsedVex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// After the finding: `VEX of security says under_investigation`.
impl fmt::Display for UnusedVex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Counts(said)
        | Self::Unjustified(said)
        | Self::Partly(said, _)
        | Self::Elsewhere(said)
        | Self::Undated(said)
        | Self::Ahead(said, _)) = self;
        let VexSaid { status, attestor, .. } = said;
        write!(f, "VEX of {attestor} says ")?;
        match self {
            Self::Counts(_) if status.is_empty() => f.write_str("nothing that is known"),
            Self::Counts(_) => f.write_str(status),
            Self::Unjustified(_) => write!(f, "{status} without a justification"),
            Self::Partly(_, other) => write!(f, "{status}, and nobody says so of {}", cut(other, 60)),
            Self::Elsewhere(_) => write!(f, "{status}, but not of this package"),
            Self::Undated(_) => write!(f, "{status} without a time"),
            Self::Ahead(_, time) => write!(f, "{status} from {time} on"),
        }
    }
}

impl fmt::Display for UnusableVex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |artifact: &str| cut(artifact, MAX_ARTIFACT_LENGTH);
        match self {
            Self::LookUpFailed(failure) => write!(f, "VEX documents can't be looked up: {failure}"),
            Self::Unreadable { artifact, why } => write!(f, "VEX is not used: {why} ({})", short(artifact)),
            Self::Unsigned { artifact, unsigned } => write!(f, "VEX is {unsigned} ({})", short(artifact)),
            Self::OfAnotherImage { artifact, which: Some(which) } => {
                write!(f, "VEX is of another image, {which} ({})", short(artifact))
            }
            Self::OfAnotherImage { artifact, which: None } => {
                write!(f, "VEX names no digest of this image ({})", short(artifact))
            }
            Self::TooMuch => {
                f.write_str("VEX is not used: its documents name more packages than are compared with findings")
            }
        }
    }
}
