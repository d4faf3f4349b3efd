//! Why a scan failed, in words that are ours: what a scanner or a registry says of it isn't passed on.

use std::fmt;

/// Why a scan failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanFailure {
    /// There was no report when the time for the scan was over.
    Deadline,
    /// The object that the scan was asked for with was deleted by somebody else.
    Deleted,
    /// The scanner can't be asked for an image that is named by digest alone.
    DigestAlone,
    /// The API server refused the object that asks for the scan.
    Refused,
    /// The registry didn't say which image a tag is.
    Registry,
    /// The scanner said that the scan failed.
    Scanner,
}

impl ScanFailure {
    /// All of them, sorted by label.
    pub const ALL: [Self; 6] =
        [Self::Deadline, Self::Deleted, Self::DigestAlone, Self::Refused, Self::Registry, Self::Scanner];

    /// The value of a metric's label `reason`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Deleted => "deleted",
            Self::DigestAlone => "digest_alone",
            Self::Refused => "refused",
            Self::Registry => "registry",
            Self::Scanner => "scanner",
        }
    }
}

/// A clause without a subject, and what to do where something can be done.
impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "no report was made in time: see the scanner's log",
            Self::Deleted => "the request was deleted before there was a report",
            Self::DigestAlone => "the scanner can't scan an image that is named by digest alone: name its tag too",
            Self::Refused => "the API server refused the request: see the companion's log",
            Self::Registry => "the registry didn't resolve the tag: check the image's name and the pull credentials",
            Self::Scanner => "the scanner reported a failure: see its status",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sorted() {
        assert!(ScanFailure::ALL.map(ScanFailure::label).is_sorted());
    }
}
