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

pub(crate) use age::{StaleReport, UnknownAge};
pub(crate) use configuration::{RefusedConfiguration, UnknownConfiguration};
pub use contents::{FoundPackage, LicenseFault, PackageFault};
pub use denial::Denial;
pub(crate) use denial::{Rejection, ScanLine};
pub(crate) use exempted::UnknownExemptions;
pub(crate) use limit::{EndedExemption, FINDINGS_SHOWN, NamedFinding, NamedFindings};
pub use limit::{ExceededLimit, ExceededSetting};
pub use mirror::NamedByMirror;
pub(crate) use packages::UnknownPackages;
pub use report::DocumentKind;
pub(crate) use report::{Decisive, LookUpFailure, Made, OtherImage, ReportReason, Unexcused, UnusableList};
pub(crate) use running::{NotRunning, RunsAlready, UnknownRunning, YoungFinding};
pub use scan::ScanReason;
pub use status::{ReportState, ScanStatus};
pub(crate) use unreadable::{UnreadableReport, Untold};
pub(crate) use unresolved::{MAX_PLATFORMS, Unjudgeable, Unresolved};
pub(crate) use unscanned::{NotScanned, Pending, ScanFailure, Whereabouts};
pub(crate) use unsigned::AskedFor;
pub use unsigned::{Beside, Unsigned, Unverified};
pub(crate) use vex::{UnreadableVex, UnusableVex, UnusedVex};
pub use vex::{UsedVex, VexSaid};
pub(crate) use warning::Warned;
pub use warning::{ExemptedBy, GateWarning, ImageWarning, UsedExemption};
