//! What the checks say: a line for each thing that was looked at.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// What is checked. Each has a section in docs/doctor.md, under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    Policy,
    Settings,
    Server,
    Webhook,
    Certificates,
    Namespaces,
    Rights,
    Companion,
    Reports,
    ReportNames,
    Clock,
    Canary,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    #[value(skip)]
    Ok,
    // It can't be read, which is never taken for fine.
    #[value(skip)]
    Unknown,
    /// Warnings and failures
    Warn,
    /// Failures
    Fail,
}

/// A thing that was looked at, and what is to be said of it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: Check,
    pub(super) status: Status,
    /// `ClusterAdmissionPolicy image-admission`
    pub(super) subject: String,
    pub(super) message: String,
}

/// What is to be said of one thing by one check.
#[derive(Debug)]
pub(super) struct About<'s> {
    check: Check,
    subject: &'s str,
    pub(super) findings: Vec<Finding>,
}

impl<'s> About<'s> {
    pub(super) fn new(check: Check, subject: &'s str) -> Self {
        Self { check, subject, findings: Vec::new() }
    }

    pub(super) fn add(&mut self, status: Status, message: impl Into<String>) {
        let (check, subject, message) = (self.check, self.subject.to_owned(), message.into());
        self.findings.push(Finding { check, status, subject, message });
    }

    /// Everything that was said; `fine` if nothing was.
    pub(super) fn or_ok(mut self, fine: impl Into<String>) -> Vec<Finding> {
        if self.findings.is_empty() {
            self.add(Status::Ok, fine);
        }
        self.findings
    }

    /// The only thing to be said.
    pub(super) fn only(mut self, status: Status, message: impl Into<String>) -> Vec<Finding> {
        self.add(status, message);
        self.findings
    }
}

/// `report-names`
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Fail => "fail",
        })
    }
}
