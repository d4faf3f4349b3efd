//! The status of an image, as rules, messages and annotations spell it.

use super::DocumentKind;
use serde::Serialize;
use std::fmt;

/// The status of an image, one of the four values that Sysdig's scanner documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanStatus {
    /// Every wanted platform has an accepted report.
    Accepted,
    /// At least one platform has no report yet.
    ReportNotAvailable,
    /// The image can't be resolved, or a look-up failed, or a report can't be read.
    ScanFailed,
    /// At least one platform has a report that is not accepted.
    Rejected,
}

impl ScanStatus {
    /// `report_not_available`, as rules and messages spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::ReportNotAvailable => "report_not_available",
            Self::ScanFailed => "scan_failed",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for ScanStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is behind a status. None of these is ever taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportState {
    /// A report that is fresh enough decided.
    Fresh,
    /// Every report is older than `maxAge`.
    Stale,
    /// The report found is of another image.
    OtherImage,
    /// No scanner has looked at it, and none is about to.
    NotScanned,
    /// Its report is accepted, and it has no SBOM for a gate that needs one.
    NoSbom,
    /// A scan is on its way.
    Pending,
    /// The scanner failed, or its report can't be read.
    Failed,
    /// The image can't be resolved, or a look-up failed.
    LookUpFailed,
    /// The settings don't allow its registry, so nothing was looked up.
    RegistryNotAllowed,
}

impl ReportState {
    /// The document that an image without a result lacks.
    pub fn lacks(self) -> DocumentKind {
        if self == Self::NoSbom { DocumentKind::Sbom } else { DocumentKind::Report }
    }

    /// `look_up_failed`, as audit annotations spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::OtherImage => "other_image",
            Self::NotScanned => "not_scanned",
            Self::NoSbom => "no_sbom",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::LookUpFailed => "look_up_failed",
            Self::RegistryNotAllowed => "registry_not_allowed",
        }
    }
}
