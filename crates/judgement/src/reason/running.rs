//! Images that run already: the warning about one that is admitted for it, and why another isn't.

use image_admission_host::HostFailure;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::fmt;

/// Seconds.
const DAY: i64 = 24 * 3600;
/// The most findings that the audit log names.
const FINDINGS_SHOWN: usize = 8;
/// The longest id that a warning repeats, and the audit log.
const MAX_ID_IN_WARNING: usize = 30;
const MAX_ID: usize = 60;

/// An image that is admitted although it has findings: they weren't known when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsAlready {
    /// Since when it runs.
    pub since: Timestamp,
    /// The Pod that proves it, `shop/web-7d4b9`.
    pub pod: String,
    /// These findings, those that end first before the others; never empty.
    pub findings: Vec<YoungFinding>,
    /// The present.
    pub now: Timestamp,
}

/// A finding that became known a short time ago.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct YoungFinding {
    /// Until when an image that ran before may start with it.
    pub until: Timestamp,
    /// Since when it is known.
    pub known: Timestamp,
    /// Its id; empty where it has none.
    pub id: String,
}

/// Why it is unknown what runs in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownRunning {
    /// The Pods can't be listed or read.
    LookUpFailed {
        /// The namespace.
        namespace: String,
        /// The host's error.
        failure: HostFailure,
    },
    /// There are more Pods than are looked through.
    TooManyPods {
        /// The namespace.
        namespace: String,
        /// So many are looked through.
        max: usize,
    },
}

/// Why an image isn't admitted as one that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRunning {
    /// It isn't known what runs.
    Unknown(UnknownRunning),
    /// It hasn't run since before this finding was known.
    NotBefore {
        /// The namespace.
        namespace: String,
        /// The finding.
        finding: YoungFinding,
    },
}

impl RunsAlready {
    /// As much of it as fits into a warning, after the image's name. The audit log has all of it.
    pub fn short(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.findings.first() else { return Ok(()) };
        let id = named(&first.id, MAX_ID_IN_WARNING);
        match self.findings.len() - 1 {
            0 => write!(f, "runs since before {id} was known ({})", first.known.day())?,
            more => write!(f, "runs since before {id} and {more} more were known")?,
        }
        f.write_str(": it may start for ")?;
        match first.until.0.saturating_sub(self.now.0) / DAY {
            0 => f.write_str("less than a day"),
            1 => f.write_str("1 more day"),
            days if days > 365 => f.write_str("more than a year"),
            days => write!(f, "{days} more days"),
        }
    }
}

/// ``runs since 2026-11-01T09:00:00Z (Pod shop/web): CVE-1 is known since 2026-11-18, and it may start until 2026-11-25T12:00:00Z``
impl fmt::Display for RunsAlready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runs since {} (Pod {}): ", self.since, self.pod)?;
        for (number, finding) in self.findings.iter().take(FINDINGS_SHOWN).enumerate() {
            let YoungFinding { until, known, id } = finding;
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{} is known since {}, and it may start until {until}", named(id, MAX_ID), known.day())?;
        }
        match self.findings.len().saturating_sub(FINDINGS_SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for UnknownRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookUpFailed { namespace, failure } => {
                write!(f, "what runs already can't be looked up (Pod in `{namespace}`): {failure}")
            }
            Self::TooManyPods { namespace, max } => {
                write!(f, "what runs already isn't looked up: `{namespace}` has more than {max} Pods")
            }
        }
    }
}

impl fmt::Display for NotRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(why) => write!(f, "{why}"),
            Self::NotBefore { namespace, finding } => {
                let (id, known) = (named(&finding.id, MAX_ID), finding.known.day());
                write!(f, "no Pod of `{namespace}` runs it since before {id} was known ({known})")
            }
        }
    }
}

fn named(id: &str, most: usize) -> String {
    if id.is_empty() { "a finding".to_owned() } else { cut(id, most) }
}
