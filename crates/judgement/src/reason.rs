//! Reasons: why something was decided, as data; and the only place where these become words.
//!
//! Sources, judges and phases say what they found with a variant. Whoever looks for a message finds it by that name, here.

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
pub use denial::Denial;
pub use denial::{Rejection, ScanLine};
pub use exempted::UnknownExemptions;
pub use limit::{EndedExemption, FINDINGS_SHOWN, NamedFinding, NamedFindings};
pub use limit::{ExceededLimit, ExceededSetting};
pub use mirror::NamedByMirror;
pub use packages::UnknownPackages;
pub use report::DocumentKind;
pub use report::{Decisive, LookUpFailure, Made, OtherImage, ReportReason, Unexcused, UnusableList};
pub use running::{NotRunning, RunsAlready, UnknownRunning, YoungFinding};
pub use scan::ScanReason;
pub use status::{ReportState, ScanStatus};
pub use unreadable::{UnreadableReport, Untold};
pub use unresolved::{MAX_PLATFORMS, Unjudgeable, Unresolved};
pub use unscanned::{NotScanned, Pending, ScanFailure, Whereabouts};
pub use unsigned::AskedFor;
pub use unsigned::{Beside, Unsigned, Unverified};
pub use vex::{UnusableVex, UnusedVex};
pub use vex::{UsedVex, VexSaid};
pub use warning::Warned;
pub use warning::{ExemptedBy, GateWarning, ImageWarning, UsedExemption};
