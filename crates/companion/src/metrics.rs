//! The companion's metrics, as Prometheus' text format 0.0.4. Labels come from enums: nothing that others name becomes a series.

use crate::scan_failure::ScanFailure;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The numbers of all metrics. Those that count events only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Whether this instance leads.
    pub leader: bool,
    /// Images that are followed, each once for each namespace.
    pub images: u64,
    /// Those of them that have no fresh report, or couldn't be looked up yet.
    pub images_waiting: u64,
    /// How often an image wasn't followed, since there were too many.
    pub left_out: u64,
    /// Scans that wait for their turn.
    pub scans_waiting: u64,
    /// Scans that the scanner was asked for, and hasn't ended.
    pub scans_asked: u64,
    /// Scans that failed, and are asked for again later.
    pub scans_failed: u64,
    /// How many scans were asked for.
    pub requested: u64,
    /// How many of them ended with a report.
    pub reported: u64,
    /// How many of them failed.
    pub failed: BTreeMap<ScanFailure, u64>,
    /// How many requests to registries failed.
    pub registry_failures: u64,
    /// How many watches failed, by the plural of the kind in lower case.
    pub watch_failures: BTreeMap<String, u64>,
    /// How long the image waits that has waited longest. Zero if none waits.
    pub oldest_wait: Duration,
}

/// The text that `/metrics` answers with: families sorted by name, series by label.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watch_failures: Vec<(&str, u64)> =
            self.watch_failures.iter().map(|(kind, failures)| (kind.as_str(), *failures)).collect();
        let failed = ScanFailure::ALL.map(|reason| (reason.label(), count(&self.failed, &reason)));
        let scans = [("asked", self.scans_asked), ("failed", self.scans_failed), ("waiting", self.scans_waiting)];
        family(f, "images", "gauge", "Images that are followed.", &Series::One(self.images))?;
        let left_out = Series::One(self.left_out);
        family(f, "images_left_out_total", "counter", "Images that are too many to follow.", &left_out)?;
        family(
            f,
            "images_waiting",
            "gauge",
            "Images without a fresh scan report, or not looked up yet.",
            &Series::One(self.images_waiting),
        )?;
        let leader = Series::One(self.leader.into());
        family(f, "leader", "gauge", "Whether this instance leads: 1 or 0.", &leader)?;
        let oldest_wait = Series::One(self.oldest_wait.as_secs());
        family(f, "oldest_wait_seconds", "gauge", "How long the image waits that has waited longest.", &oldest_wait)?;
        let registry_failures = Series::One(self.registry_failures);
        family(f, "registry_failures_total", "counter", "Requests to registries that failed.", &registry_failures)?;
        family(f, "scans", "gauge", "Scans by state.", &Series::By("state", &scans))?;
        family(f, "scans_failed_total", "counter", "Scans that failed.", &Series::By("reason", &failed))?;
        family(f, "scans_reported_total", "counter", "Scans that ended with a report.", &Series::One(self.reported))?;
        family(f, "scans_requested_total", "counter", "Scans that were asked for.", &Series::One(self.requested))?;
        family(f, "watch_failures_total", "counter", "Watches that failed.", &Series::By("kind", &watch_failures))
    }
}

/// The series of one metric.
enum Series<'a> {
    One(u64),
    /// The label, and its values with their numbers.
    By(&'a str, &'a [(&'a str, u64)]),
}

/// A series that nothing was counted for is there too, with 0: a rate needs a value to start from.
fn count<K: Ord>(counts: &BTreeMap<K, u64>, key: &K) -> u64 {
    counts.get(key).copied().unwrap_or_default()
}

fn family(out: &mut impl fmt::Write, name: &str, kind: &str, help: &str, series: &Series<'_>) -> fmt::Result {
    let name = format!("image_admission_companion_{name}");
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
    match series {
        Series::One(value) => writeln!(out, "{name} {value}"),
        Series::By(label, values) => {
            values.iter().try_for_each(|(of, value)| writeln!(out, "{name}{{{label}=\"{}\"}} {value}", escaped(of)))
        }
    }
}

/// The value of a label, with backslashes, quotes and line ends escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place() {
        let metrics = Metrics {
            leader: true,
            images: 1,
            left_out: 12,
            images_waiting: 2,
            scans_waiting: 3,
            scans_asked: 4,
            scans_failed: 5,
            requested: 6,
            reported: 7,
            failed: BTreeMap::from([(ScanFailure::Deadline, 8)]),
            registry_failures: 9,
            watch_failures: BTreeMap::from([("pods".to_owned(), 10)]),
            oldest_wait: Duration::from_millis(11_900),
        };
        let text = metrics.to_string();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.ends_with(" 0")).collect();
        let expected = [
            "images 1",
            "images_left_out_total 12",
            "images_waiting 2",
            "leader 1",
            "oldest_wait_seconds 11",
            "registry_failures_total 9",
            "scans{state=\"asked\"} 4",
            "scans{state=\"failed\"} 5",
            "scans{state=\"waiting\"} 3",
            "scans_failed_total{reason=\"deadline\"} 8",
            "scans_reported_total 7",
            "scans_requested_total 6",
            "watch_failures_total{kind=\"pods\"} 10",
        ];
        assert_eq!(samples, expected.map(|sample| format!("image_admission_companion_{sample}")));
    }

    #[test]
    fn each_family_is_described_once_and_sorted() {
        let text = Metrics::default().to_string();
        let described: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        assert_eq!(described.len(), 11);
        assert!(described.is_sorted());
        assert!(text.starts_with(
            "# HELP image_admission_companion_images Images that are followed.\n\
             # TYPE image_admission_companion_images gauge\n\
             image_admission_companion_images 0\n"
        ));
        // Counters, and only they, are named so.
        assert!(described.iter().all(|line| line.ends_with(" counter") == line.contains("_total ")));
        assert_eq!(text.lines().filter(|line| line.starts_with("# HELP ")).count(), 11);
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 8 + 3 + 9);
    }

    #[test]
    fn values_of_labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
        let mut text = String::new();
        family(&mut text, "x", "gauge", "X.", &Series::By("y", &[("\"", 1)])).unwrap();
        assert_eq!(text.lines().last(), Some(r#"image_admission_companion_x{y="\""} 1"#));
    }
}
