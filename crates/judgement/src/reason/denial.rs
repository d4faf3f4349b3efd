//! Why the phases reject an image, in the words of Sysdig's admission controller, which alerts search for.

use super::{ScanReason, ScanStatus};
use std::fmt;

/// Why the scan phase denies an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The settings reject it, whatever was found in it.
    Policy,
    /// A report is over the limits.
    ScanResult,
    /// There is no report yet.
    ReportPending,
    /// Nobody can say what is in it.
    ScanFailed,
}

impl Denial {
    /// Its name in machine-readable results and in addresses of pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "scan-policy",
            Self::ScanResult => "scan-result",
            Self::ReportPending => "report-pending",
            Self::ScanFailed => "scan-failed",
        }
    }
}

/// An image that a policy of a phase rejects: `Image 'alpine' REJECTED. Global default policy - scan failed`
#[derive(Debug)]
pub struct Rejection<'a, P> {
    /// The image, as messages show it.
    pub image: String,
    /// The policy that decided, as messages show it.
    pub policy: &'a P,
    /// What the scan phase says; none in pre-scan.
    pub denial: Option<Denial>,
}

/// The result of a scan, below the lines of the denied images: `'alpine': accepted by …`
#[derive(Debug)]
pub struct ScanLine<'a> {
    /// The image, as messages show it.
    pub image: &'a str,
    /// What is known of it, and why.
    pub status: ScanStatus,
    /// Why the image is rejected.
    pub reason: &'a ScanReason,
    /// Whether only custom rules deny it.
    pub is_denied_by_rules_alone: bool,
}

impl fmt::Display for ScanLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': ", self.image)?;
        if self.is_denied_by_rules_alone {
            let scan = if self.status == ScanStatus::Accepted { "its scan passed" } else { "what is known of it" };
            write!(f, "only the rule `deny_image` in `customRules` denies it; {scan}: ")?;
        }
        write!(f, "{}", self.reason)
    }
}

impl<P: fmt::Display> fmt::Display for Rejection<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image '{}' REJECTED. {}", self.image, self.policy)?;
        self.denial.map_or(Ok(()), |denial| write!(f, " - {denial}"))
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy action is 'reject'",
            Self::ScanResult => "scan result is 'reject'",
            Self::ReportPending => "scan report is pending",
            Self::ScanFailed => "scan failed",
        })
    }
}
