//! What makes a scan report accepted.

use super::later;
use super::read::{Problems, SettingsMap};
use std::fmt;

/// The limits of a report's findings, by severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// In the order of [`Severity::ALL`]; more findings than a limit says reject.
    pub max_severity: Vec<(Severity, Limit)>,
}

/// How bad a finding is.
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
    /// Not rated, or rated with a word that isn't known.
    Unknown,
}

/// How many findings of a severity are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most so many in all.
    Total(u64),
    /// At most so many that have no fix.
    TotalWithoutFixes(u64),
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 5] = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Unknown];

    /// The severity that a scanner's word stands for.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(word)).unwrap_or(Self::Unknown)
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

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Acceptance {
    let default = Acceptance { max_severity: vec![(Severity::Critical, Limit::Total(0))] };
    let path = settings.path().key("acceptance");
    let Some(map) = SettingsMap::of(settings.get("acceptance"), &path, problems) else { return default };
    map.known(&["maxSeverity"], &later::ACCEPTANCE, problems);
    later::refuse(&map, &later::ACCEPTANCE, problems);
    let path = path.key("maxSeverity");
    let Some(limits) = SettingsMap::of(map.get("maxSeverity"), &path, problems) else { return default };
    limits.known(&Severity::ALL.map(Severity::name), &[], problems);
    let max_severity: Vec<_> = Severity::ALL
        .into_iter()
        .filter(|severity| limits.has(severity.name()))
        .filter_map(|severity| Some((severity, read_limit(&limits, severity.name(), problems)?)))
        .collect();
    if max_severity.is_empty() { default } else { Acceptance { max_severity } }
}

fn read_limit(limits: &SettingsMap<'_, '_>, severity: &str, problems: &mut Problems) -> Option<Limit> {
    let path = limits.path().key(severity);
    let map = SettingsMap::of(limits.get(severity), &path, problems)?;
    map.known(&["total", "totalWithoutFixes"], &[], problems);
    if map.has("total") == map.has("totalWithoutFixes") {
        problems.add(path, "set one of `total` and `totalWithoutFixes`");
        return None;
    }
    let total = map.number("total", problems).map(Limit::Total);
    total.or_else(|| map.number("totalWithoutFixes", problems).map(Limit::TotalWithoutFixes))
}
