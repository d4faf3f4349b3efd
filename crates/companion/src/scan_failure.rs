//! Why a scan failed, in words that are ours: what a scanner or a registry says of it isn't passed on.

use std::fmt;

/// Why a scan failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanFailure {
    /// There was no report when the time for the scan was over.
    Deadline,
    /// RBAC or an admission policy refused the object that asks for the scan.
    Forbidden,
    /// The API server refused that object as invalid, or since another scan is under way.
    Invalid,
    /// The scanner was done, and there was no report of this digest.
    NoReport,
    /// The scanner can't be asked for an image that is named by digest alone.
    NoTag,
    /// The scanner found nothing to scan under the tag.
    NothingToScan,
    /// The scanner scans another platform.
    OtherPlatform,
    /// The API server didn't answer, or failed.
    Outage,
    /// The scanner said that the scan failed.
    Scanner,
}

impl ScanFailure {
    /// All of them, sorted by label.
    pub const ALL: [Self; 9] = [
        Self::Deadline,
        Self::Forbidden,
        Self::Invalid,
        Self::NoReport,
        Self::NoTag,
        Self::NothingToScan,
        Self::OtherPlatform,
        Self::Outage,
        Self::Scanner,
    ];

    /// The value of a metric's label `reason`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Forbidden => "forbidden",
            Self::Invalid => "invalid",
            Self::NoReport => "no_report",
            Self::NoTag => "no_tag",
            Self::NothingToScan => "nothing_to_scan",
            Self::OtherPlatform => "other_platform",
            Self::Outage => "outage",
            Self::Scanner => "scanner",
        }
    }
}

/// What happened, and where to look or what to change.
impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "there was no report in time: see the scanner's log",
            Self::Forbidden => "the companion may not ask the scanner: check its rights and admission policies",
            Self::Invalid => "the API server refused the request for a scan: see the companion's log",
            Self::NoReport => "the scanner is done, and there is no report of this digest: see the scanner's log",
            Self::NoTag => "SBOMscanner scans tags, and the image is named by digest alone: name its tag too",
            Self::NothingToScan => "the scanner found no such image: check the tag, and the scanner's pull secrets",
            Self::OtherPlatform => "the scanner scans another platform of the image: check the policy's `platforms`",
            Self::Outage => "the API server didn't take the request for a scan",
            Self::Scanner => "the scanner says that the scan failed: see its log",
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
