//! Why the phases reject an image, in the words of Sysdig's admission controller, which people's alerts look for.

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
    /// A name for it, by which results of different runs are compared, and which addresses of pages have.
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
    /// The image as people see it.
    pub image: String,
    /// The policy that decided, as people see it.
    pub policy: &'a P,
    /// What the scan phase says; none in pre-scan.
    pub denial: Option<Denial>,
}

/// What a scan came to, below the lines of the images that are denied: `'alpine': accepted by …`
#[derive(Debug)]
pub struct ScanLine<'a> {
    /// The image as people see it.
    pub image: &'a str,
    /// What is known of it, and why.
    pub status: ScanStatus,
    /// Why the image is rejected.
    pub reason: &'a ScanReason,
    /// Whether nothing but custom rules denies it.
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
