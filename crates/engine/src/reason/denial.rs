//! Why the phases reject an image, in the words of Sysdig's admission controller, which people's alerts look for.

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

/// An image that a policy of a phase rejects: `Image 'alpine' REJECTED. Global default policy - scan failed`
#[derive(Debug)]
pub(crate) struct Rejection<'a, P> {
    /// The image as people see it.
    pub(crate) image: String,
    /// The policy that decided, as people see it.
    pub(crate) policy: &'a P,
    /// What the scan phase says; none in pre-scan.
    pub(crate) denial: Option<Denial>,
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
