//! Why a report is too old, or counts as too old.

use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use std::fmt;

/// Why a report isn't fresh enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaleReport {
    /// Its age is unknown.
    UnknownAge(UnknownAge, WrittenDuration),
    /// Its time is in the future.
    Ahead(Timestamp, WrittenDuration),
    /// It is older than it may be.
    Old(Timestamp, WrittenDuration),
}

/// Why the age of a report is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownAge {
    /// It wasn't requested, because nothing depends on it.
    NotAsked,
    /// A report has no time at which it was made.
    NotMade,
    /// It has no time of its scan.
    NotScanned,
    /// sbomscanner's reports take the time of their ScanJob, and it names none.
    NoScanJob,
    /// That ScanJob is gone.
    ScanJobGone,
    /// The ScanJob of this name has no completion time.
    ScanJobNotCompleted(String),
    /// The settings don't say where the time is.
    NoField,
    /// The value at the settings' path is no time.
    NoTime {
        /// The settings' path.
        path: String,
        /// The value there.
        value: String,
    },
    /// There is no value.
    Missing {
        /// The settings' path.
        path: String,
    },
}

impl StaleReport {
    /// The whole message about the report of this name, `VulnerabilityReport sbomscanner/…`.
    pub(super) fn message(&self, report: &str) -> String {
        format!("waiting for a new scan: the scan report {report} is too old: {self}")
    }
}

impl fmt::Display for StaleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAge(why, max_age) => write!(f, "{why}, so that it counts as older than {max_age}"),
            Self::Ahead(time, max_age) => {
                write!(f, "its time {time} lies ahead, so that it counts as older than {max_age}")
            }
            Self::Old(time, max_age) => write!(f, "it is of {time}, older than {max_age}"),
        }
    }
}

impl fmt::Display for UnknownAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => Ok(()),
            Self::NotMade => f.write_str("it doesn't say when it was made"),
            Self::NotScanned => f.write_str("it doesn't say when it was scanned"),
            Self::NoScanJob => f.write_str("it doesn't name the ScanJob that made it"),
            Self::ScanJobGone => f.write_str("the ScanJob that made it, which would know its time, is gone"),
            Self::ScanJobNotCompleted(name) => write!(f, "the ScanJob {name} that made it has no completion time"),
            Self::NoField => f.write_str("the setting `fields.time` is not set"),
            Self::NoTime { path, value } => write!(f, "`{path}` is no time but {value}"),
            Self::Missing { path } => write!(f, "`{path}` has no time"),
        }
    }
}
