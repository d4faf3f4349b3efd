//! Reasons: why something was decided, as data, and the messages made from them. Errors of a document or a list in the cluster are
//! worded where it is read.
//!
//! Sources, judges and phases report what they found as a variant. Search for that name here to find its message.

mod age;
mod configuration;
mod contents;
mod denial;
mod exempted;
mod limit;
mod mirror;
mod packages;
mod report;
mod running;
mod scan;
mod status;
mod unreadable;
mod unresolved;
mod unscanned;
mod unsigned;
mod vex;
mod warning;

pub use age::{StaleReport, UnknownAge};
pub use configuration::{RefusedConfiguration, UnknownConfiguration};
pub use contents::{FoundPackage, LicenseFault, PackageFault};
pub use denial::{Denial, Rejection, ScanLine};
pub use exempted::UnknownExemptions;
pub use limit::{EndedExemption, ExceededLimit, ExceededSetting, FINDINGS_SHOWN, NamedFinding, NamedFindings};
pub use mirror::NamedByMirror;
pub use packages::UnknownPackages;
pub use report::{Decisive, DocumentKind, LookUpFailure, Made, OtherImage, ReportReason, Unexcused, UnusableList};
pub use running::{NotRunning, RunsAlready, UnknownRunning, YoungFinding};
pub use scan::ScanReason;
pub use status::{ReportState, ScanStatus};
pub use unreadable::{UnreadableReport, Untold};
pub use unresolved::{MAX_PLATFORMS, Unjudgeable, Unresolved};
pub use unscanned::{NotScanned, Pending, ScanFailure, Whereabouts};
pub use unsigned::{ATTESTATION_OF, AskedFor, Beside, Unsigned, Unverified};
pub use vex::{UnusableVex, UnusedVex, UsedVex, VexSaid};
pub use warning::{ExemptedBy, GateWarning, ImageWarning, UsedExemption, Warned};
