//! Events about workloads, as `events.k8s.io/v1` defines them. Their words are ours, with names of images and objects: what a
//! scanner or a registry says isn't passed on.

use crate::scan_failure::ScanFailure;
use crate::workload::{COMPANION, MANAGED_BY, WorkloadReference};
use data_encoding::HEXLOWER;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The most bytes of a name, as `metadata.name` of any object.
const NAME: usize = 253;
/// The most bytes of a note. The API server takes 1,024.
const NOTE: usize = 1_000;
/// The most characters of an image in a note.
const IMAGE: usize = 600;
/// The most bytes of `reportingInstance`.
const INSTANCE: usize = 128;

/// What happened to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// The scanner was asked, by this object: `CronJob image-scans/scan-…`.
    ScanRequested(String),
    /// There is a report.
    ImageScanned,
    /// There is none. It is asked for again later, if that may help.
    ScanFailed(ScanFailure),
}

/// What an Event of the companion says, to one who looks at its workload and knows the image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// The scanner was asked, by this object.
    Asked(String),
    /// There is a report.
    Scanned,
    /// There is none, and why.
    Failed(String),
}

impl Told {
    /// Reads an Event; none if it isn't the companion's. Anybody who may write Events can write such a one.
    #[must_use]
    pub fn read(event: &Value) -> Option<Self> {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        text("reportingController").filter(|by| *by == COMPANION)?;
        let note = text("note")?;
        // An image has no space.
        let after = |before: &str| note.split_once(before).map_or(note, |(_, rest)| rest).to_owned();
        match text("reason")? {
            "ScanRequested" => Some(Self::Asked(after("`: "))),
            "ImageScanned" => Some(Self::Scanned),
            "ScanFailed" => Some(Self::Failed(after("` wasn't scanned: "))),
            _ => None,
        }
    }
}

/// An Event about a workload and one of its images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The workload that it is about. The Event is in its namespace.
    pub workload: &'a WorkloadReference,
    /// The image, `host/repository[:tag][@digest]`.
    pub image: &'a str,
    /// What happened to it.
    pub happened: &'a Happened,
}

impl Event<'_> {
    /// Its name. The same workload, image and reason always give the same one, so that a repeat is found: creating it fails with
    /// 409, and [`repeat`] is written instead.
    #[must_use]
    pub fn name(&self) -> String {
        let identity = [&self.workload.uid, self.image, self.happened.reason()].join("\n");
        let digest = Sha256::digest(identity).iter().take(8).copied().collect::<Vec<u8>>();
        let suffix = format!(".{}", HEXLOWER.encode(&digest));
        let object = within(&self.workload.name, NAME - suffix.len());
        [object.trim_end_matches(['.', '-']), &suffix].concat()
    }

    /// The Event to create. `instance` is the identity of this process.
    #[must_use]
    pub fn to_json(&self, instance: &str, time: Timestamp) -> Value {
        let WorkloadReference { kind, namespace, name, uid } = self.workload;
        let api_version = match kind.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": self.name(),
                "namespace": namespace,
                "labels": {MANAGED_BY: COMPANION},
                "annotations": {"image-admission.kubewarden.io/image": self.image},
            },
            "eventTime": micro_time(time),
            "type": if matches!(self.happened, Happened::ScanFailed(_)) { "Warning" } else { "Normal" },
            "reason": self.happened.reason(),
            "action": "Scan",
            "note": self.note(),
            "regarding": {"apiVersion": api_version, "kind": kind.name(), "namespace": namespace, "name": name, "uid": uid},
            "reportingController": COMPANION,
            "reportingInstance": within(instance, INSTANCE),
        })
    }

    fn note(&self) -> String {
        let image = cut(self.image, IMAGE);
        let note = match self.happened {
            Happened::ScanRequested(by) => format!("asked for a scan of `{image}`: {by}"),
            Happened::ImageScanned => format!("`{image}` has a scan report"),
            Happened::ScanFailed(failure) => format!("`{image}` wasn't scanned: {failure}"),
        };
        within(&note, NOTE).to_owned()
    }
}

impl Happened {
    /// `ScanRequested`, `ImageScanned` or `ScanFailed`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ScanRequested(_) => "ScanRequested",
            Self::ImageScanned => "ImageScanned",
            Self::ScanFailed(_) => "ScanFailed",
        }
    }
}

/// The merge patch for an Event that happened again: how often in all (at least 2 times) and when last. The API server lets nothing
/// else of an Event change.
#[must_use]
pub fn repeat(count: u32, time: Timestamp) -> Value {
    json!({"series": {"count": count.max(2), "lastObservedTime": micro_time(time)}})
}

/// A time as `MicroTime` has it: the API server reads no other precision.
fn micro_time(time: Timestamp) -> String {
    time.to_string().replace('Z', ".000000Z")
}

/// As much of a text as has at most `most` bytes.
fn within(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_image::workload::WorkloadKind;

    const TIME: Timestamp = Timestamp(1_793_534_400);
    const IMAGE: &str = "ghcr.io/team/app:1@sha256:0f1e2d3c";

    fn workload(name: &str) -> WorkloadReference {
        let (namespace, uid) = ("shop".to_owned(), "uid-of-web".to_owned());
        WorkloadReference { kind: WorkloadKind::Deployment, namespace, name: name.to_owned(), uid }
    }

    fn requested() -> Happened {
        Happened::ScanRequested("CronJob image-scans/scan-1".to_owned())
    }

    #[test]
    fn an_event_in_full() {
        let event = Event { workload: &workload("web"), image: IMAGE, happened: &requested() };
        // printf 'uid-of-web\nghcr.io/team/app:1@sha256:0f1e2d3c\nScanRequested' | sha256sum
        let expected = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": "web.ec58e2d2e6be8a01",
                "namespace": "shop",
                "labels": {"app.kubernetes.io/managed-by": "image-admission-companion"},
                "annotations": {"image-admission.kubewarden.io/image": IMAGE},
            },
            "eventTime": "2026-11-01T12:00:00.000000Z",
            "type": "Normal",
            "reason": "ScanRequested",
            "action": "Scan",
            "note": "asked for a scan of `ghcr.io/team/app:1@sha256:0f1e2d3c`: CronJob image-scans/scan-1",
            "regarding": {
                "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "uid-of-web",
            },
            "reportingController": "image-admission-companion",
            "reportingInstance": "companion-1",
        });
        assert_eq!(event.to_json("companion-1", TIME), expected);
    }

    #[test]
    fn what_each_event_says() {
        let failed = Happened::ScanFailed;
        for (happened, kind, reason, note) in [
            (Happened::ImageScanned, "Normal", "ImageScanned", "`IMAGE` has a scan report"),
            (
                failed(ScanFailure::Deadline),
                "Warning",
                "ScanFailed",
                "`IMAGE` wasn't scanned: no report was made in time; see the scanner's log",
            ),
            (
                failed(ScanFailure::DigestAlone),
                "Warning",
                "ScanFailed",
                "`IMAGE` wasn't scanned: the scanner can't scan an image that is named by digest alone; name its tag too",
            ),
        ] {
            let event = Event { workload: &workload("web"), image: "IMAGE", happened: &happened };
            let event = event.to_json("companion-1", TIME);
            assert_eq!((&event["type"], &event["reason"]), (&json!(kind), &json!(reason)));
            assert_eq!(event["note"], note);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (happened, told) in [
            (requested(), Told::Asked("CronJob image-scans/scan-1".to_owned())),
            (Happened::ImageScanned, Told::Scanned),
            (
                Happened::ScanFailed(ScanFailure::Deadline),
                Told::Failed("no report was made in time; see the scanner's log".to_owned()),
            ),
        ] {
            let event = Event { workload: &workload("web"), image: IMAGE, happened: &happened };
            let mut event = event.to_json("companion-1", TIME);
            assert_eq!(Told::read(&event), Some(told));
            event["reportingController"] = json!("job-controller");
            assert_eq!(Told::read(&event), None);
        }
    }

    #[test]
    fn a_name_stands_for_workload_image_and_reason() {
        let name = |uid: &str, image: &str, happened: &Happened| {
            let workload = WorkloadReference { uid: uid.to_owned(), ..workload("web") };
            Event { workload: &workload, image, happened }.name()
        };
        let first = name("1", "a", &requested());
        assert_eq!(first, name("1", "a", &Happened::ScanRequested("other".to_owned())));
        assert_ne!(first, name("2", "a", &requested()));
        assert_ne!(first, name("1", "b", &requested()));
        assert_ne!(first, name("1", "a", &Happened::ImageScanned));
        assert_ne!(name("1a", "b", &requested()), name("1", "ab", &requested()));
    }

    #[test]
    fn what_is_long_is_cut_to_what_the_api_server_takes() {
        let long = "a".repeat(235);
        // The character before the suffix of 17 would be a dot or a dash.
        for (name, kept) in [(long.clone() + "bcd", 236), (long.clone() + ".cd", 235), (long + "-cd", 235)] {
            let workload = workload(&name);
            let event = Event { workload: &workload, image: IMAGE, happened: &requested() };
            assert_eq!(event.name().len(), kept + 17);
            assert_eq!(event.name().get(..kept), name.get(..kept));
        }
        let workload = workload(&"n".repeat(253));
        let image = "ä".repeat(5_000);
        let event = Event { workload: &workload, image: &image, happened: &Happened::ImageScanned };
        let event = event.to_json(&"i".repeat(253), TIME);
        let note = event["note"].as_str().unwrap();
        assert!((990..=1_000).contains(&note.len()), "{}", note.len());
        assert_eq!(event["reportingInstance"].as_str().unwrap().len(), 128);
    }

    #[test]
    fn an_image_breaks_no_note() {
        let event = Event { workload: &workload("web"), image: "a\n\u{202e}b", happened: &Happened::ImageScanned };
        assert_eq!(event.to_json("i", TIME)["note"], r"`a\u{a}\u{202e}b` has a scan report");
    }

    #[test]
    fn a_repeat_changes_the_series_alone() {
        let series = |count, time| json!({"series": {"count": count, "lastObservedTime": time}});
        assert_eq!(repeat(7, TIME), series(7, "2026-11-01T12:00:00.000000Z"));
        assert_eq!(repeat(1, TIME), series(2, "2026-11-01T12:00:00.000000Z"));
    }
}
