//! Why a scan failed, in words that are ours: what a scanner or a registry says of it isn't passed on.

use std::fmt;

/// Why a scan failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanFailure {
    /// There was no report when the time for the scan was over.
    Deadline,
    /// The scanner can't be asked for an image that is named by digest alone.
    DigestAlone,
    /// The API server says that the object which asks for the scan isn't valid.
    Invalid,
    /// The scanner says that it is done, and there is no report of this digest.
    NoReport,
    /// The scanner found nothing under the tag.
    NothingToScan,
    /// The scanner scans another platform.
    OtherPlatform,
    /// The API server didn't answer.
    Outage,
    /// The API server refused the object that asks for the scan.
    Refused,
    /// The scanner said that the scan failed.
    Scanner,
}

impl ScanFailure {
    /// All of them, sorted by label.
    pub const ALL: [Self; 9] = [
        Self::Deadline,
        Self::DigestAlone,
        Self::Invalid,
        Self::NoReport,
        Self::NothingToScan,
        Self::OtherPlatform,
        Self::Outage,
        Self::Refused,
        Self::Scanner,
    ];

    /// The value of a metric's label `reason`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::DigestAlone => "digest_alone",
            Self::Invalid => "invalid",
            Self::NoReport => "no_report",
            Self::NothingToScan => "nothing_to_scan",
            Self::OtherPlatform => "other_platform",
            Self::Outage => "outage",
            Self::Refused => "refused",
            Self::Scanner => "scanner",
        }
    }
}

/// A clause without a subject, and what to do where something can be done.
impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "no report was made in time; see the scanner's log",
            Self::DigestAlone => "the scanner can't scan an image that is named by digest alone; name its tag too",
            Self::Invalid => "the API server didn't take the request; see the companion's log",
            Self::NoReport => "the scanner is done, and made no report of this digest; the tag may have moved",
            Self::NothingToScan => "the scanner finds nothing under this tag; see its credentials for the registry",
            Self::OtherPlatform => "the scanner scans another platform; see `reports.platforms` of the policy",
            Self::Outage => "the API server didn't answer",
            Self::Refused => {
                "the API server refused the request; see the companion's rights, and whether the policy rejects the image"
            }
            Self::Scanner => "the scanner says that it failed; see its own status and log",
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
