//! How long findings don't count: one duration for all of them, or one for each severity.

use super::Severity;
use crate::read::{Path, Problems, SettingsMap};
use image_admission_untrusted::time::WrittenDuration;
use serde_json::Value;

/// Durations in which findings don't count, by severity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GracePeriods(Vec<(Severity, WrittenDuration)>);

impl GracePeriods {
    /// The duration for findings of a severity; none where they count at once.
    #[must_use]
    pub fn of(&self, severity: Severity) -> Option<&WrittenDuration> {
        self.0.iter().find(|(of, _)| *of == severity).map(|(_, duration)| duration)
    }

    /// Whether they are at least as long as others, for each severity.
    pub fn cover(&self, others: &Self) -> bool {
        let is_covered = |severity: &Severity, duration: &WrittenDuration| {
            self.of(*severity).is_some_and(|own| !own.is_shorter_than(duration))
        };
        others.0.iter().all(|(severity, duration)| is_covered(severity, duration))
    }
}

/// `14d` for every severity, or `{critical: 3d, high: 14d}`: others have none. An empty string or object counts as absent.
pub(super) fn read(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Option<GracePeriods> {
    match map.get(key)? {
        value @ Value::Object(_) => read_by_severity(value, &map.path().key(key), problems),
        _ => {
            let duration = map.duration(key, problems)?;
            Some(GracePeriods(Severity::ALL.into_iter().map(|severity| (severity, duration.clone())).collect()))
        }
    }
}

/// `{grace: 7d}`, or `{grace: {critical: 3d, high: 7d}}`.
pub(super) fn read_running(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<GracePeriods> {
    map.get("running")?;
    let path = map.path().key("running");
    let running = SettingsMap::named(map.get("running"), &path, "an object like `{grace: 7d}`", problems)?;
    running.known(&["grace"], &[], problems);
    if !running.has("grace") {
        problems.add(path, "`grace` is missing: how long what runs may start after a finding is known, like `7d`");
    }
    read(&running, "grace", problems)
}

fn read_by_severity(value: &Value, path: &Path<'_>, problems: &mut Problems) -> Option<GracePeriods> {
    let map = SettingsMap::of(Some(value), path, problems)?;
    map.known(&Severity::ALL.map(Severity::name), &[], problems);
    let spans: Vec<_> = Severity::ALL
        .into_iter()
        .filter_map(|severity| Some((severity, map.duration(severity.name(), problems)?)))
        .collect();
    (!spans.is_empty()).then_some(GracePeriods(spans))
}
