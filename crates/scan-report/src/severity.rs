//! Severities of findings, in the words of scanners.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The worst.
    Critical,
    /// The second worst.
    High,
    /// In the middle.
    Medium,
    /// The least.
    Low,
    /// Not rated, or rated with an unknown word.
    Unknown,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 5] = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Unknown];

    /// The severity that a scanner's word stands for.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|severity| severity.name().eq_ignore_ascii_case(word.trim()))
            .unwrap_or(Self::Unknown)
    }

    /// `critical`, as the settings and reports' summaries spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
