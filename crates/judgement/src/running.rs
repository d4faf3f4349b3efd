//! Images that run already: what the status of Pods in a workload's own namespace proves.
//!
//! Kubelets write that status, and the right to write Pods doesn't include it. Pods are listed once for a request, and only if
//! nothing but young findings would reject it. A Pod counts as a GET shows it.

use crate::reason::UnknownRunning;
use crate::resolve::ResolvedImage;
use image_admission_host::cluster::{Listed, Named, Objects, items};
use image_admission_host::{Host, HostFailure};
use image_admission_image::is_digest;
use image_admission_settings::Settings;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

/// Where Pods are read.
pub const API_VERSION: &str = "v1";
/// What is read.
pub const KIND: &str = "Pod";
/// The requested fields.
const FIELDS: [&str; 6] = [
    "status.phase",
    "status.containerStatuses.imageID",
    "status.containerStatuses.state.running.startedAt",
    "status.initContainerStatuses.imageID",
    "status.initContainerStatuses.state.running.startedAt",
    "status.initContainerStatuses.state.terminated.startedAt",
];
/// The most Pods of a namespace that are searched.
const MAX_PODS: usize = 2_000;
/// The most Pods that are read again for one image, those that run longest first.
const MAX_READ: usize = 5;

/// The Pods of a workload's namespace, as one request sees them.
pub struct RunningPods<'a> {
    host: &'a dyn Host,
    /// The workload's namespace.
    namespace: &'a str,
    /// What the list shows, once it was needed.
    listed: OnceCell<Result<Vec<RunningPod>, UnknownRunning>>,
    /// What a GET shows, by name.
    read: RefCell<BTreeMap<String, Result<Option<RunningPod>, HostFailure>>>,
}

/// A running Pod.
#[derive(Debug, Clone)]
struct RunningPod {
    name: String,
    /// The digests of its containers' images, and since when each runs.
    started: Vec<(String, Timestamp)>,
}

/// Since when an image runs, and which Pod proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Since when.
    pub since: Timestamp,
    /// `web-7d4b9`
    pub pod: String,
}

/// One image, as far as Pods can prove that it runs.
#[derive(Debug, Clone)]
pub struct RunningImage<'a> {
    pods: &'a RunningPods<'a>,
    /// The digests that a runtime may report for it.
    digests: Vec<String>,
}

impl<'a> RunningPods<'a> {
    /// Those of a namespace; none if no setting needs what runs there. Makes no calls yet.
    pub fn new(settings: &'a Settings, host: &'a dyn Host, namespace: &'a str) -> Option<Self> {
        settings.acceptance.of(namespace).running?;
        Some(Self { host, namespace, listed: OnceCell::new(), read: RefCell::default() })
    }

    fn list(&self) -> Result<Vec<RunningPod>, UnknownRunning> {
        let mut pods = Objects::new(self.host, API_VERSION, KIND);
        let failed = |failure| UnknownRunning::LookUpFailed { namespace: self.namespace.to_owned(), failure };
        let document = pods.list(self.namespace, None, &FIELDS).map_err(failed)?;
        let items: Vec<Pod<'_>> = items(&document, self.namespace).map_err(failed)?;
        if items.len() > MAX_PODS {
            return Err(UnknownRunning::TooManyPods { namespace: self.namespace.to_owned(), max: MAX_PODS });
        }
        Ok(items.iter().filter_map(Pod::running).collect())
    }

    /// A Pod as it is now; none if it is gone, doesn't run or isn't the requested one.
    fn read(&self, name: &str) -> Result<Option<RunningPod>, HostFailure> {
        if let Some(known) = self.read.borrow().get(name) {
            return known.clone();
        }
        let read = self.get(name);
        self.read.borrow_mut().insert(name.to_owned(), read.clone());
        read
    }

    fn get(&self, name: &str) -> Result<Option<RunningPod>, HostFailure> {
        let Some(document) = Objects::new(self.host, API_VERSION, KIND).get(self.namespace, name, &FIELDS)? else {
            return Ok(None);
        };
        let pod: Pod<'_> = document.read()?;
        let Named { name: own, namespace } = &pod.metadata;
        let is_it = own.as_str() == name
            && (namespace.as_ref().map(JsonString::as_str) == Some(self.namespace) || !is_on(Remedy::MatchNamespace));
        Ok(if is_it { pod.running() } else { None })
    }
}

impl<'a> RunningImage<'a> {
    /// An image of which some platforms are judged. Runtimes report the digest that was requested, or that of the platform's
    /// manifest, which stands for the whole image if it is the only one.
    pub fn new(pods: &'a RunningPods<'a>, image: &ResolvedImage) -> Self {
        let whole = image.speaks_for_platforms.then(|| image.digest.clone());
        let only = match image.platforms.as_slice() {
            [platform] => Some(platform.digest.clone()),
            _ => None,
        };
        Self { pods, digests: whole.into_iter().chain(only).collect() }
    }

    /// The namespace whose Pods are searched.
    pub fn namespace(&self) -> &'a str {
        self.pods.namespace
    }

    /// Since when it runs, in the Pod that runs it longest; none if no Pod has run it since before `known`.
    ///
    /// # Errors
    /// It is unknown.
    pub(crate) fn runs_since_before(&self, known: Timestamp) -> Result<Option<Runs>, UnknownRunning> {
        let listed = self.pods.listed.get_or_init(|| self.pods.list()).as_ref().map_err(Clone::clone)?;
        let shown = listed.iter().filter_map(|pod| Some((self.started(pod, known)?, &pod.name)));
        let mut shown: Vec<(Timestamp, &String)> = shown.collect();
        shown.sort();
        let mut failed = None;
        for (since, name) in shown.into_iter().take(MAX_READ) {
            if !is_on(Remedy::ReadWhatIsListed) {
                return Ok(Some(Runs { since, pod: name.clone() }));
            }
            match self.pods.read(name) {
                Ok(pod) => {
                    if let Some(since) = pod.and_then(|pod| self.started(&pod, known)) {
                        return Ok(Some(Runs { since, pod: name.clone() }));
                    }
                }
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        let namespace = || self.pods.namespace.to_owned();
        failed.map_or(Ok(None), |failure| Err(UnknownRunning::LookUpFailed { namespace: namespace(), failure }))
    }

    /// Since when a Pod runs it, if that is before `known`.
    fn started(&self, pod: &RunningPod, known: Timestamp) -> Option<Timestamp> {
        let is_it = |digest: &String| self.digests.contains(digest) || !is_on(Remedy::MatchRunningDigest);
        let since = pod.started.iter().filter(|(digest, _)| is_it(digest)).map(|(_, since)| *since).min();
        since.filter(|since| *since < known || !is_on(Remedy::RunSinceBefore))
    }
}

impl fmt::Debug for RunningPods<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningPods").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// A Pod, as far as its status shows what runs. A Pod that is being deleted runs until it is gone: a drained node leaves such Pods.
#[derive(Deserialize)]
struct Pod<'a> {
    #[serde(borrow)]
    metadata: Named<'a>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    phase: Option<JsonString<'a>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<ContainerStatus<'a>>>,
}

#[derive(Deserialize)]
struct ContainerStatus<'a> {
    #[serde(borrow, rename = "imageID")]
    image_id: Option<JsonString<'a>>,
    #[serde(borrow)]
    state: Option<State<'a>>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    running: Option<Started<'a>>,
    #[serde(borrow)]
    terminated: Option<Started<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started<'a> {
    #[serde(borrow)]
    started_at: Option<JsonString<'a>>,
}

impl Listed for Pod<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata
    }
}

impl Pod<'_> {
    /// Its images; none if it doesn't run, or doesn't say which.
    fn running(&self) -> Option<RunningPod> {
        let status = self.status.as_ref()?;
        let must_run = is_on(Remedy::MustRun);
        if status.phase.as_ref().map(JsonString::as_str) != Some("Running") && must_run {
            return None;
        }
        let containers = status.container_statuses.iter().flatten().filter_map(|status| status.started(!must_run));
        // Init containers have ended while the Pod runs.
        let init = status.init_container_statuses.iter().flatten().filter_map(|status| status.started(true));
        let started: Vec<_> = containers.chain(init).collect();
        (!started.is_empty()).then(|| RunningPod { name: self.metadata.name.as_str().to_owned(), started })
    }
}

impl ContainerStatus<'_> {
    /// The digest of its image, and since when it runs. The Pod's own start proves nothing: its image may have been changed since,
    /// and a tag may lead elsewhere when a container restarts.
    fn started(&self, may_be_done: bool) -> Option<(String, Timestamp)> {
        // `docker-pullable://ghcr.io/team/app@sha256:…`; without the digest of a manifest it is the id of a configuration.
        let (_, digest) = self.image_id.as_ref()?.as_str().rsplit_once('@')?;
        let state = self.state.as_ref()?;
        let done = state.terminated.as_ref().filter(|_| may_be_done);
        let started_at = state.running.as_ref().or(done)?.started_at.as_ref()?;
        is_digest(digest).then_some(())?;
        Some((digest.to_owned(), Timestamp::parse(started_at.as_str())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SHA: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn started(status: Value) -> Option<Vec<(String, i64)>> {
        let text = json!({"metadata": {"name": "web", "namespace": "shop"}, "status": status}).to_string();
        let pod: Pod<'_> = serde_json::from_str(&text).ok()?;
        Some(pod.running()?.started.into_iter().map(|(digest, since)| (digest, since.0)).collect())
    }

    fn of(container: Value) -> Option<Vec<(String, i64)>> {
        started(json!({"phase": "Running", "containerStatuses": [container]}))
    }

    #[test]
    fn what_a_status_proves() {
        let runs = json!({"running": {"startedAt": "1970-01-01T00:00:07Z"}});
        for id in
            [format!("ghcr.io/team/app@{SHA}"), format!("docker-pullable://ghcr.io/team/app@{SHA}"), format!("@{SHA}")]
        {
            assert_eq!(of(json!({"imageID": id, "state": runs})), Some(vec![(SHA.to_owned(), 7)]), "{id}");
        }
        let image = format!("ghcr.io/team/app@{SHA}");
        for container in [
            json!({"imageID": SHA, "state": runs}),
            json!({"imageID": format!("docker://{SHA}"), "state": runs}),
            json!({"imageID": "", "state": runs}),
            json!({"imageID": null, "state": runs}),
            json!({"imageID": format!("{image}0"), "state": runs}),
            json!({"imageID": 7, "state": runs}),
            json!({"state": runs}),
            json!({"image": image, "state": runs}),
            json!({"imageID": image}),
            json!({"imageID": image, "state": null}),
            json!({"imageID": image, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}),
            json!({"imageID": image, "state": {"terminated": {"startedAt": "1970-01-01T00:00:07Z"}}}),
            json!({"imageID": image, "state": {"running": {}}}),
            json!({"imageID": image, "state": {"running": {"startedAt": null}}}),
            json!({"imageID": image, "state": {"running": {"startedAt": ""}}}),
            json!({"imageID": image, "state": {"running": {"startedAt": 7}}}),
            json!({"imageID": image, "state": {"running": "1970-01-01T00:00:07Z"}}),
            json!({"imageID": image, "lastState": runs}),
        ] {
            assert_eq!(of(container.clone()), None, "{container}");
        }
        for status in [
            json!(null),
            json!({}),
            json!({"phase": "Running"}),
            json!({"phase": "Running", "containerStatuses": null}),
            json!({"phase": "Running", "containerStatuses": {}}),
            json!({"phase": "Running", "ephemeralContainerStatuses": [{"imageID": image, "state": runs}]}),
            json!({"containerStatuses": [{"imageID": image, "state": runs}]}),
            json!({"phase": "Pending", "containerStatuses": [{"imageID": image, "state": runs}]}),
            json!({"phase": "Succeeded", "containerStatuses": [{"imageID": image, "state": runs}]}),
            json!({"phase": 1, "containerStatuses": [{"imageID": image, "state": runs}]}),
        ] {
            assert_eq!(started(status.clone()), None, "{status}");
        }
        // An init container has ended while the Pod runs, or runs beside the others.
        for state in [json!({"terminated": {"startedAt": "1970-01-01T00:00:07Z"}}), runs] {
            let status = json!({"phase": "Running", "initContainerStatuses": [{"imageID": image, "state": state}]});
            assert_eq!(started(status), Some(vec![(SHA.to_owned(), 7)]), "{state}");
        }
    }
}
