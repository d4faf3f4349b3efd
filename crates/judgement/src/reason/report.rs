//! What decides about an image for one platform: a report, an error in it, or its absence.

use super::{
    ExceededLimit, NotRunning, NotScanned, Pending, ScanFailure, StaleReport, Unjudgeable, UnknownExemptions,
    UnreadableReport, UnusableVex, Whereabouts,
};
use image_admission_host::HostFailure;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde::{Serialize, Serializer};
use std::fmt;

/// The longest reason of one platform.
const MAX_REASON_LENGTH: usize = 800;
/// The longest part of a reason that says what was found: who found it, and when, comes after it.
const MAX_FINDINGS_LENGTH: usize = 560;
/// The longest part of a reason that says why nothing excuses what was found.
const MAX_UNEXCUSED_LENGTH: usize = 160;
/// The same of a VEX document.
const MAX_VEX_LENGTH: usize = 280;

/// What a source has of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// What a scanner found.
    Report,
    /// What it is made of.
    Sbom,
}

/// What decides about one platform, and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportReason {
    /// Whether it is about findings or packages.
    pub of: DocumentKind,
    /// The report, `VulnerabilityReport sbomscanner/…`; empty if there is nothing to name.
    pub by: String,
    /// When it was made.
    pub made: Made,
    /// The result.
    pub what: Decisive,
}

/// When a report was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It says so.
    At(Timestamp),
    /// Unknown. It was first made then, and may have been renewed since.
    FirstAt(Timestamp),
    /// Nothing tells.
    Unknown,
}

/// What decides about one platform.
#[derive(Debug, Clone, PartialEq)]
pub enum Decisive {
    /// A report that is fine.
    Accepted,
    /// Over these limits, from this source; and why nothing excuses that.
    Rejected(Vec<ExceededLimit>, &'static str, Vec<Unexcused>),
    /// A report that can't be believed.
    Unreadable(UnreadableReport),
    /// A report that is too old.
    Stale(StaleReport),
    /// A report of another image.
    OfAnotherImage(OtherImage),
    /// A scanner knows the image, and has no result for it.
    NotScanned(NotScanned),
    /// A scan is awaited.
    Pending(Pending),
    /// A scan failed.
    Failed(ScanFailure),
    /// The look-up failed.
    LookUpFailed(LookUpFailure),
    /// No source knows the image: where they looked.
    Nothing(Vec<Whereabouts>),
}

/// Why something that may excuse findings doesn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unexcused {
    /// Exemptions that couldn't be looked up.
    Exemptions(UnknownExemptions),
    /// It isn't known to run already.
    NotRunning(NotRunning),
    /// VEX documents that take nothing out.
    Vex(UnusableVex),
}

impl Unexcused {
    /// The longest message of it. Names of signed artifacts and of their signers are long.
    fn longest(&self) -> usize {
        match self {
            Self::Exemptions(_) | Self::NotRunning(_) => MAX_UNEXCUSED_LENGTH,
            Self::Vex(_) => MAX_VEX_LENGTH,
        }
    }
}

/// The image of a report that was found instead of the wanted one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherImage {
    /// Its name in the report.
    Named(String),
    /// The report names none.
    Unnamed,
    /// The digest of the platform's index. The scanner may have scanned another entry, or the index isn't proven.
    OfIndex(String),
    /// A document beside an image, without any digest.
    WithoutDigest,
    /// This image, but by its tag alone; a setting of this source would accept that.
    OnlyTag {
        /// The name, with the tag.
        name: String,
        /// The source's setting.
        source: &'static str,
    },
}

/// Why a look-up failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUpFailure {
    /// The host couldn't call, or was refused.
    Host(HostFailure),
    /// No report could be about the image.
    Unjudgeable(Unjudgeable),
    /// Its findings can't be compared with the list of known exploited vulnerabilities.
    List(UnusableList),
}

/// Why the list of exploited vulnerabilities in a ConfigMap can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableList {
    /// `namespace/name` of the ConfigMap.
    pub list: String,
    /// The error message.
    pub why: String,
    /// Whether the cluster could not be asked for it, which goes away by itself. A list that is missing, too old or cut off doesn't.
    pub is_outage: bool,
}

impl OtherImage {
    /// The same for a report that names this image by its tag alone.
    pub(crate) fn only_by_tag(self, source: &'static str) -> Self {
        match self {
            Self::Named(name) => Self::OnlyTag { name, source },
            other => other,
        }
    }
}

impl ReportReason {
    /// The limits that decide.
    pub fn exceeded(&self) -> &[ExceededLimit] {
        match &self.what {
            Decisive::Rejected(exceeded, ..) => exceeded,
            _ => &[],
        }
    }
}

/// Serialized as its message.
impl Serialize for ReportReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ReportReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cut(&self.whole(), MAX_REASON_LENGTH))
    }
}

impl ReportReason {
    fn whole(&self) -> String {
        let Self { of, by, made, what } = self;
        match what {
            Decisive::Accepted => format!("accepted by {by}{made}"),
            Decisive::Rejected(exceeded, source, unexcused) => {
                let exceeded: Vec<String> = exceeded.iter().map(ExceededLimit::to_string).collect();
                let found = cut(&exceeded.join("; "), MAX_FINDINGS_LENGTH);
                let unexcused = unexcused.iter().map(|why| cut(&format!("; {why}"), why.longest()));
                format!("{found} ({source}: {by}{made}){}", unexcused.collect::<String>())
            }
            Decisive::Unreadable(UnreadableReport::Untold(what)) => format!("{by} can't decide: {what}"),
            Decisive::Unreadable(why) => format!("{by} can't be read: {why}"),
            Decisive::Stale(why) => why.message(by),
            Decisive::OfAnotherImage(OtherImage::OnlyTag { name, source }) => format!(
                "no {of} yet: {by} names only the tag {name}, which may have been another image when it was scanned; \
                 set `identity: tag` in the source `{source}` to accept that"
            ),
            Decisive::OfAnotherImage(OtherImage::OfIndex(name)) => format!(
                "no {of} yet: {by} is of the index {name}, and may be of another entry of it; one that names the platform's own \
                 digest counts"
            ),
            Decisive::OfAnotherImage(which) => format!("no {of} yet: {by} is of another image, {which}"),
            Decisive::NotScanned(why) => format!("no {of}: {why}"),
            Decisive::Pending(what) => format!("no {of} yet: waiting for {what}"),
            Decisive::Failed(why) => format!("the scan failed: {why}{}", Of(by)),
            Decisive::LookUpFailed(why @ LookUpFailure::List(_)) => format!("{why}{}", Of(by)),
            Decisive::LookUpFailed(why) => format!("the look-up of the {of} failed: {why}{}", Of(by)),
            Decisive::Nothing(places) => {
                let places: Vec<String> = places.iter().map(Whereabouts::to_string).collect();
                format!("no {of} yet {}", places.join(", or "))
            }
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "scan report",
            Self::Sbom => "SBOM",
        })
    }
}

/// ` (VulnerabilityReport sbomscanner/…)`
struct Of<'a>(&'a str);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0) }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => write!(f, " of {time}"),
            Self::FirstAt(time) => write!(f, ", first made {time}"),
            Self::Unknown => Ok(()),
        }
    }
}

impl fmt::Display for OtherImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) | Self::OnlyTag { name, .. } | Self::OfIndex(name) => f.write_str(name),
            Self::Unnamed => f.write_str("one that it doesn't name"),
            Self::WithoutDigest => f.write_str("one that neither its manifest nor the report names by a digest"),
        }
    }
}

impl fmt::Display for LookUpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(failure) => write!(f, "{failure}"),
            Self::Unjudgeable(why) => write!(f, "{why}"),
            Self::List(why) => write!(f, "{why}"),
        }
    }
}

impl fmt::Display for Unexcused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exemptions(why) => write!(f, "{why}"),
            Self::NotRunning(why) => write!(f, "{why}"),
            Self::Vex(why) => write!(f, "{why}"),
        }
    }
}

impl fmt::Display for UnusableList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the list of exploited vulnerabilities, ConfigMap {}, can't be used: {}", self.list, self.why)
    }
}
