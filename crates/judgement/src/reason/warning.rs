//! Warnings about an image that is admitted, or about a report whatever its result.

use super::contents;
use super::{
    DocumentKind, ExceededLimit, ExceededSetting, NamedFindings, RunsAlready, ScanStatus, Untold, UnusableList,
};
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::{Exemption, FailureFallback};
use image_admission_untrusted::message::{cut, join_at_most};
use image_admission_untrusted::time::Timestamp;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// The longest reason of an exemption that a warning repeats.
const MAX_REASON_IN_WARNING: usize = 40;
/// The longest name of an object, and of its approver, that is shown.
const MAX_OBJECT: usize = 120;
const MAX_APPROVER: usize = 60;
/// The most ids that the audit log and a warning name.
const IDS_SHOWN: usize = 8;
const IDS_IN_WARNING: usize = 2;

/// A warning about an image; the image's name comes before it.
#[derive(Debug, Clone, PartialEq)]
pub enum ImageWarning {
    /// The settings admit it, whatever its status is.
    AdmittedByPolicy(ScanStatus),
    /// It has no report, or no SBOM, and the settings accept that.
    PendingAccepted(DocumentKind),
    /// It has no report, or no SBOM, and the Pods made from the workload will wait for it.
    PodsWait(DocumentKind, WorkloadKind),
    /// It couldn't be scanned, and this value of `scanFailed` accepts that.
    FailureAccepted(FailureFallback),
    /// It is a placeholder in a template, which is filled in the Pod.
    Placeholder,
    /// Its index isn't proven, and the settings accept that.
    UnprovenIndex,
    /// Fresh reports of one platform have different verdicts.
    ReportsDisagree,
    /// It needs an exemption that ends soon.
    ExemptionEnds(UsedExemption),
    /// A gate would reject it, if its action weren't `warn`, or if the image didn't run already.
    Gate(GateWarning),
}

/// What a gate with the action `warn` found, `1 finding exploited in the wild (KEV): CVE-1 in curl (fixed in 9)`.
#[derive(Debug, Clone, PartialEq)]
pub struct GateWarning(pub Warned);

/// The same as data.
#[derive(Debug, Clone, PartialEq)]
pub enum Warned {
    /// A limit that only warns.
    Exceeded(ExceededLimit),
    /// A report lacks what a gate needs.
    Untold(Untold),
    /// The list of exploited vulnerabilities can't be used.
    List(UnusableList),
    /// It runs already.
    Runs(RunsAlready),
}

impl ImageWarning {
    /// Whether it says that an image may start because it runs already.
    pub(crate) fn is_of_what_runs(&self) -> bool {
        matches!(self, Self::Gate(GateWarning(Warned::Runs(_))))
    }
}

impl GateWarning {
    /// As much of it as fits into a warning, after the image's name. The audit log has all of it.
    fn short(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Warned::Exceeded(limit) => match &limit.setting {
                ExceededSetting::EndOfLife(_) => f.write_str("has an operating system past its end of life"),
                ExceededSetting::Packages(_) => write!(f, "has {}", contents::packages(limit.count)),
                ExceededSetting::Licenses(fault, _) => write!(f, "has {}", contents::licenses(*fault, limit.count)),
                _ => write!(f, "has {}", ExceededLimit { named: NamedFindings::default(), ..limit.clone() }),
            },
            Warned::Untold(Untold::Denied) => f.write_str("has a report without findings"),
            Warned::Untold(Untold::Exploited) => f.write_str("has a report that doesn't say what is exploited"),
            Warned::Untold(Untold::Epss) => f.write_str("has a report without EPSS scores"),
            Warned::Untold(Untold::EndOfLife) => f.write_str("has a report that doesn't say whether its system ended"),
            Warned::List(_) => f.write_str("can't be compared with the list of what is exploited"),
            Warned::Runs(runs) => runs.short(f),
        }
    }
}

impl fmt::Display for GateWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Warned::Exceeded(limit) => write!(f, "{limit}"),
            Warned::Untold(what) => write!(f, "its report: {what}"),
            Warned::List(why) => write!(f, "{why}"),
            Warned::Runs(runs) => write!(f, "{runs}"),
        }
    }
}

/// An exemption that kept findings from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedExemption {
    /// Its last day.
    pub expires: Timestamp,
    /// Why it is there.
    pub reason: String,
    /// The ids of those findings.
    pub ids: BTreeSet<String>,
    /// The object that it is in; none: the settings.
    pub by: Option<ExemptedBy>,
}

/// An object of the cluster that exempts findings, and its approver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExemptedBy {
    /// `ImageExemption shop/web`
    pub object: String,
    /// Who approved it, as it says itself.
    pub approved_by: Option<String>,
}

impl ExemptedBy {
    /// The object that an exemption is in, with strings cut for messages.
    pub fn of(exemption: &Exemption) -> Option<Self> {
        let object = exemption.object.as_ref()?;
        let approved_by = object.approved_by.as_ref().map(|name| cut(name, MAX_APPROVER));
        Some(Self { object: cut(&object.to_string(), MAX_OBJECT), approved_by })
    }
}

impl fmt::Display for ImageWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AdmittedByPolicy(status) => write!(f, "is admitted by policy, its scan status is '{status}'"),
            Self::PendingAccepted(what) => write!(f, "has no {what} yet, and `reportPending` is `accept`"),
            Self::PodsWait(what, workload) => write!(f, "has no {what} yet: Pods of this {workload} wait for it"),
            Self::Placeholder => f.write_str("is a placeholder: the Pod's image is judged"),
            Self::FailureAccepted(fallback) => write!(f, "could not be scanned, and `scanFailed` is `{fallback}`"),
            Self::UnprovenIndex => f.write_str("its index may hold more than was judged: `unprovenIndexes` is `warn`"),
            Self::ReportsDisagree => f.write_str("has scan reports that disagree: the worst decides"),
            Self::Gate(warning) => warning.short(f),
            Self::ExemptionEnds(UsedExemption { expires, reason, ids, by }) => {
                // The object also has the reason, and is what to change.
                let reason = by.as_ref().map_or(reason, |by| &by.object);
                let (day, reason) = (expires.day(), cut(reason, MAX_REASON_IN_WARNING));
                write!(f, "needs an exemption that ends {day}: {} ({reason})", joined(ids, IDS_IN_WARNING))
            }
        }
    }
}

/// `CVE-1, CVE-2 until 2026-12-31: no shell in the image`, for the audit log; with the object if it is in one: `… (ImageExemption
/// shop/web, approved by alice)`.
impl fmt::Display for UsedExemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expires, reason, ids, by } = self;
        write!(f, "{} until {}: {reason}", joined(ids, IDS_SHOWN), expires.day())?;
        let Some(ExemptedBy { object, approved_by }) = by else { return Ok(()) };
        match approved_by {
            Some(name) => write!(f, " ({object}, approved by {name})"),
            None => write!(f, " ({object})"),
        }
    }
}

/// Serialized as its message.
impl Serialize for UsedExemption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for ImageWarning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn joined(ids: &BTreeSet<String>, most: usize) -> String {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    join_at_most(ids.into_iter(), ", ", most)
}
