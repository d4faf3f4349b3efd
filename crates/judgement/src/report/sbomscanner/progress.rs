//! ScanJobs of sbomscanner: when a report was made, and the state of an image without one.

use crate::reason::{NotScanned, Pending, ScanFailure, UnknownAge};
use crate::report::cluster::{self, Named, Objects};
use crate::report::source::Knowledge;
use image_admission_host::{Host, HostFailure};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const API_VERSION: &str = "sbomscanner.kubewarden.io/v1alpha1";
pub(super) const KIND: &str = "ScanJob";
/// The same for every request: the host keeps a watch open for each different mask.
const FIELDS: [&str; 4] = ["spec.registry", "status.conditions", "status.startTime", "status.completionTime"];
/// The longest message of the scanner's that is shown.
const MAX_WORDS_LENGTH: usize = 300;

/// The ScanJobs, by namespace, once they were needed.
pub(super) struct ScanJobs<'a> {
    objects: Objects<'a>,
    lists: BTreeMap<String, Result<Vec<ScanJob>, HostFailure>>,
}

#[derive(Debug)]
struct ScanJob {
    name: String,
    uid: String,
    registry: String,
    created: Option<Timestamp>,
    started: Option<Timestamp>,
    completed: Option<Timestamp>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Pending or running.
    Going,
    Complete,
    Failed(String),
}

impl<'a> ScanJobs<'a> {
    pub(super) fn new(host: &'a dyn Host) -> Self {
        Self { objects: Objects::new(host, API_VERSION, KIND), lists: BTreeMap::new() }
    }

    /// When the ScanJob with that uid was done, or why that is unknown: only the last few of a registry are kept.
    pub(super) fn completion(
        &mut self,
        namespace: &str,
        uid: &str,
    ) -> Result<Result<Timestamp, UnknownAge>, HostFailure> {
        let jobs = self.of(namespace)?;
        let job = jobs.iter().find(|job| job.uid == uid);
        Ok(match job {
            // A report of a running job was written after the job started.
            Some(job) => {
                let time = job.completed.or(job.started.filter(|_| matches!(job.state, State::Going)));
                time.ok_or_else(|| UnknownAge::ScanJobNotCompleted(job.name.clone()))
            }
            None => Err(UnknownAge::ScanJobGone),
        })
    }

    /// What the newest ScanJob of a registry says about an image that is known since `since` and has no report.
    pub(super) fn newest(
        &mut self,
        namespace: &str,
        registry: &str,
        since: Option<Timestamp>,
    ) -> Result<Knowledge<'a>, HostFailure> {
        let jobs = self.of(namespace)?;
        let newest = jobs.iter().filter(|job| job.registry == registry).max_by_key(|job| (job.created, &job.name));
        let shown = |name: &str| format!("{namespace}/{name}");
        Ok(match newest {
            None => Knowledge::Pending(Pending::NextScanJob { registry: cut(registry, 253), since }),
            Some(ScanJob { name, state: State::Going, started, created, .. }) => {
                Knowledge::Pending(Pending::ScanJob { job: shown(name), since: started.or(*created) })
            }
            Some(ScanJob { name, state: State::Failed(words), .. }) => {
                Knowledge::Failed(ScanFailure::ScanJob { job: shown(name), words: words.clone() })
            }
            Some(ScanJob { name, state: State::Complete, completed, .. }) => {
                let (job, registry, completed) = (shown(name), cut(registry, 253), *completed);
                Knowledge::NotScanned(NotScanned::ScanJobWithoutIt { job, registry, completed, since })
            }
        })
    }

    fn of(&mut self, namespace: &str) -> Result<&[ScanJob], HostFailure> {
        if !self.lists.contains_key(namespace) {
            let listed = list(&mut self.objects, namespace);
            self.lists.insert(namespace.to_owned(), listed);
        }
        match self.lists.get(namespace) {
            Some(Ok(jobs)) => Ok(jobs),
            Some(Err(failure)) => Err(failure.clone()),
            None => Ok(&[]),
        }
    }
}

fn list(objects: &mut Objects<'_>, namespace: &str) -> Result<Vec<ScanJob>, HostFailure> {
    let document = objects.list(namespace, None, &FIELDS)?;
    let items: Vec<Item<'_>> = cluster::items(&document, namespace)?;
    Ok(items.into_iter().map(ScanJob::from).collect())
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, flatten)]
    named: Named<'a>,
    #[serde(borrow)]
    uid: Option<JsonString<'a>>,
    #[serde(borrow)]
    creation_timestamp: Option<JsonString<'a>>,
}

impl cluster::Listed for Item<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata.named
    }
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    registry: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    start_time: Option<JsonString<'a>>,
    #[serde(borrow)]
    completion_time: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
    #[serde(borrow)]
    reason: Option<JsonString<'a>>,
    #[serde(borrow)]
    message: Option<JsonString<'a>>,
}

impl From<Item<'_>> for ScanJob {
    fn from(item: Item<'_>) -> Self {
        let text = |text: Option<JsonString<'_>>| text.map_or(String::new(), |text| text.0.into_owned());
        let time = |text: Option<JsonString<'_>>| Timestamp::parse(text?.as_str());
        let status = item.status.unwrap_or(Status { conditions: None, start_time: None, completion_time: None });
        let state = state(&status.conditions.unwrap_or_default());
        Self {
            name: item.metadata.named.name.0.into_owned(),
            uid: text(item.metadata.uid),
            registry: item.spec.map_or(String::new(), |spec| text(spec.registry)),
            created: time(item.metadata.creation_timestamp),
            started: time(status.start_time),
            completed: time(status.completion_time),
            state,
        }
    }
}

/// All conditions exist from the start, and the one that is true is the state. A ScanJob without conditions is new.
fn state(conditions: &[Condition<'_>]) -> State {
    let holds = |kind: &str| {
        let is = |text: &Option<JsonString<'_>>, word: &str| text.as_ref().is_some_and(|text| text.as_str() == word);
        conditions.iter().find(|condition| is(&condition.kind, kind) && is(&condition.status, "True"))
    };
    if let Some(failed) = holds("Failed").filter(|_| is_on(Remedy::TellFailedFromPending)) {
        let words = [&failed.message, &failed.reason].into_iter().flatten().map(JsonString::as_str);
        let words = words.filter(|words| !words.is_empty()).map(|words| cut(words, MAX_WORDS_LENGTH)).next();
        return State::Failed(words.unwrap_or_else(|| "it failed, and gives no reason".to_owned()));
    }
    if holds("Complete").is_some() { State::Complete } else { State::Going }
}
