//! The work of the companion that leads: watches feed it, and what it says is done.

use crate::act;
use crate::clock::now;
use crate::cluster::{Watched, outlived, strip};
use crate::events::Events;
use crate::evidence;
use crate::http::Status;
use crate::judge::judge;
use crate::log::{line, write};
use crate::policy::Policy;
use crate::run::Options;
use crate::watch::{Purpose, Seen, Subject, identities, watch};
use image_admission_companion::event::{Event, Happened};
use image_admission_companion::evidence::{Evidence, EvidenceAction, EvidenceObservation, IMAGE_EVIDENCE, KnownObject};
use image_admission_companion::log::LogLevel;
use image_admission_companion::metrics::Metrics;
use image_admission_companion::{
    Action, Companion, CompanionSettings, Judgement, Observation, ScanFailure, Scanner, Workload, WorkloadReference,
};
use image_admission_image::ImageReference;
use image_admission_image::workload::WorkloadKind;
use image_admission_judgement::report::kinds_of;
use image_admission_judgement::resolve::may_ask;
use image_admission_registry_reader::{ApiToken, RegistryReader};
use image_admission_settings::ReportSource;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use kube::Client;
use kube::core::DynamicObject;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often the companion is asked what is due.
const TICK: Duration = Duration::from_millis(200);
/// How often it is looked at which images are used.
const USED: Duration = Duration::from_secs(5);
/// How often the policy is looked at.
const POLICY: Duration = Duration::from_secs(60);
/// How often reports are listed again: SBOMscanner's API begins a watch anew without what was deleted in between.
const RESYNC: Duration = Duration::from_secs(600);
/// What waits between the watches and the companion. More waits at the API server.
const WAITING: usize = 256;
/// The most characters of an error of the API server that are logged.
const MAX_REASON: usize = 200;
/// The longest that a write to the cluster may take.
const WRITE: Duration = Duration::from_secs(10);

/// What watches and tasks say.
#[derive(Debug)]
pub(crate) enum Heard {
    /// What the watch of this number has seen.
    Seen(usize, Seen),
    /// Objects of this subject aren't there any more.
    Gone(usize, BTreeSet<String>),
    /// What came of an action.
    Observation(Box<Observation>),
    /// What came of an action about evidence.
    Evidence(Box<EvidenceObservation>),
    /// The policy, as it is now.
    Policy(Box<Result<Policy, String>>),
}

/// The companion at work.
pub(crate) struct Work {
    client: Client,
    settings: CompanionSettings,
    policy: Arc<Policy>,
    companion: Companion,
    /// None if it isn't asked for.
    evidence: Option<Evidence>,
    registries: Arc<RegistryReader>,
    github_token: Option<ApiToken>,
    watched: Arc<Watched>,
    subjects: Vec<Subject>,
    /// The watches that have listed everything.
    in_sync: BTreeSet<usize>,
    /// By identity, the reports that go by themselves: when they should be made anew.
    mortal: BTreeMap<String, Timestamp>,
    /// By the kind, how often its watch failed.
    failures: BTreeMap<String, u64>,
    events: Arc<Events>,
    identity: String,
    tasks: JoinSet<()>,
    heard: Sender<Heard>,
}

impl Work {
    /// Works until the policy changes, or the clock is set back: then what was seen is in the future. Dropping what this returns ends
    /// everything that it began.
    pub(crate) async fn run(
        client: Client,
        options: &Options,
        policy: Policy,
        registries: Arc<RegistryReader>,
        status: &tokio::sync::watch::Sender<Status>,
    ) {
        let (heard, mut hears) = mpsc::channel(WAITING);
        let evidence = Evidence::new(&options.settings, &policy.settings.evidence);
        let mut subjects = subjects(&policy);
        if options.settings.evidence.is_some() && evidence.is_none() {
            warn("copies no evidence: the policy doesn't read it, without `evidence.fromCluster`");
        }
        if evidence.is_some() {
            subjects.push(Subject::new(Purpose::Evidence, IMAGE_EVIDENCE.api_version, IMAGE_EVIDENCE.kind, None));
        }
        let mut tasks = JoinSet::new();
        for (number, subject) in subjects.iter().enumerate() {
            tasks.spawn(watch(client.clone(), number, subject.clone(), heard.clone()));
        }
        let mut work = Self {
            companion: Companion::new(options.settings.clone(), policy.scanner.clone(), now()),
            evidence,
            watched: Arc::new(Watched::new(client.clone(), Arc::clone(&registries), &subjects)),
            registries,
            github_token: options.github_token.clone(),
            in_sync: BTreeSet::new(),
            mortal: BTreeMap::new(),
            policy: Arc::new(policy),
            client,
            settings: options.settings.clone(),
            failures: subjects.iter().map(|subject| (subject.resource.plural.clone(), 0)).collect(),
            events: Arc::default(),
            identity: options.identity.clone(),
            subjects,
            tasks,
            heard,
        };
        work.until_the_policy_changes(&mut hears, status).await;
    }

    async fn until_the_policy_changes(
        &mut self,
        hears: &mut Receiver<Heard>,
        status: &tokio::sync::watch::Sender<Status>,
    ) {
        let (mut tick, mut used) = (interval(TICK), interval(USED));
        let (mut policy, mut resync) = (interval(POLICY), interval(RESYNC));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = now();
        loop {
            if now() < last {
                warn("the clock was set back, so that everything is looked at anew");
                return;
            }
            last = now();
            tokio::select! {
                Some(heard) = hears.recv() => {
                    if !self.hear(heard) {
                        return;
                    }
                }
                _ = tick.tick() => {
                    self.act(now());
                    let _ = status.send(self.status(now()));
                }
                _ = used.tick() => self.look_at_images(now()),
                _ = policy.tick() => self.look_at_policy(),
                _ = resync.tick() => self.look_at_reports(),
            }
        }
    }

    /// Takes in what was said. Returns whether the policy is the same.
    fn hear(&mut self, heard: Heard) -> bool {
        match heard {
            Heard::Seen(number, seen) => self.see(number, seen, now()),
            Heard::Gone(number, uids) => {
                if let Some(subject) = self.subjects.get(number).cloned() {
                    self.lose(&subject, |uid| uids.contains(uid), now());
                }
            }
            Heard::Observation(observation) => self.companion.observe(*observation, now()),
            Heard::Evidence(observation) => self.observe_evidence(*observation, now()),
            Heard::Policy(read) => match *read {
                Ok(policy) => return policy.is_same(&self.policy),
                // The last good one holds.
                Err(why) => warn(&why),
            },
        }
        true
    }

    fn see(&mut self, number: usize, seen: Seen, now: Timestamp) {
        let Some(subject) = self.subjects.get(number).cloned() else { return };
        match seen {
            Seen::Applied(object) => self.set(&subject, *object, now),
            Seen::Deleted(object) => self.unset(&subject, &object, now),
            Seen::Listed(uids) => {
                self.in_sync.insert(number);
                match subject.purpose {
                    Purpose::Workloads(kind) => self.companion.observe(Observation::Workloads(kind, uids), now),
                    Purpose::Requests => self.companion.observe(Observation::Requests(uids), now),
                    Purpose::Shared => self.companion.observe(Observation::AllShared(uids), now),
                    Purpose::Reports => self.lose(&subject, |uid| !uids.contains(uid), now),
                    Purpose::Evidence => self.observe_evidence(EvidenceObservation::Objects(uids), now),
                    Purpose::Namespaces => {}
                }
            }
            // It goes on. Until then what is known stays, and the next judgement is as good as the last.
            Seen::Failed(why) => {
                let kind = &subject.resource.plural;
                *self.failures.entry(kind.clone()).or_default() += 1;
                warn(&format!("the watch of {kind} failed, and is tried again: {}", cut(&why, MAX_REASON)));
            }
        }
    }

    fn set(&mut self, subject: &Subject, mut object: DynamicObject, now: Timestamp) {
        match subject.purpose {
            Purpose::Workloads(kind) => {
                let Some(uid) = object.metadata.uid.clone() else { return };
                let workload = Workload::read(kind, &json(object));
                self.companion.observe(Observation::Workload { uid, workload }, now);
            }
            Purpose::Requests => {
                if let Some(request) = self.scanner().and_then(|scanner| scanner.read_request(&json(object))) {
                    self.companion.observe(Observation::Request(request), now);
                }
            }
            Purpose::Shared => {
                if let Some(shared) = self.scanner().and_then(|scanner| scanner.read_shared(&json(object))) {
                    self.companion.observe(Observation::Shared(shared), now);
                }
            }
            Purpose::Reports => {
                strip(&mut object);
                if let Some(due) = outlived(&object) {
                    self.mortal.insert(object.metadata.uid.clone().unwrap_or_default(), due);
                }
                self.watched.put(object.clone());
                self.touch(object, now);
            }
            Purpose::Evidence => {
                let (Some(evidence), Some(object)) = (&mut self.evidence, KnownObject::read(&json(object))) else {
                    return;
                };
                // A watch that begins anew shows everything again.
                if evidence.is_news(&object) {
                    let digest = object.digest.clone();
                    let images = evidence.images_of(&digest);
                    evidence.observe(EvidenceObservation::Object(object), now);
                    self.companion.observe(Observation::Evidence { digest, images }, now);
                }
            }
            Purpose::Namespaces => {
                let (name, labels) =
                    (object.metadata.name.unwrap_or_default(), object.metadata.labels.unwrap_or_default());
                let is_left_out = self.policy.leaves_out(&name, Some(&labels));
                self.companion.observe(Observation::Namespace { name, is_left_out }, now);
            }
        }
    }

    fn unset(&mut self, subject: &Subject, object: &DynamicObject, now: Timestamp) {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        match subject.purpose {
            Purpose::Workloads(_) => self.companion.observe(Observation::Workload { uid, workload: None }, now),
            Purpose::Requests => {
                if let Some(request) = self.scanner().and_then(|scanner| scanner.read_request(&json(object.clone()))) {
                    self.companion.observe(Observation::RequestGone(request), now);
                }
            }
            Purpose::Shared => {
                if let Some(shared) = self.scanner().and_then(|scanner| scanner.read_shared(&json(object.clone()))) {
                    self.companion.observe(Observation::SharedGone(shared), now);
                }
            }
            Purpose::Reports => {
                self.mortal.remove(&uid);
                self.watched.remove(object);
                self.touch(object.clone(), now);
            }
            Purpose::Evidence => {
                if let Some(object) = KnownObject::read(&json(object.clone())) {
                    let (digest, images) = (object.digest.clone(), BTreeSet::new());
                    self.companion.observe(Observation::Evidence { digest, images }, now);
                    self.observe_evidence(EvidenceObservation::ObjectGone(object), now);
                }
            }
            // Its workloads go too.
            Purpose::Namespaces => {}
        }
    }

    /// Reports are gone that no watch has told of.
    fn lose(&mut self, subject: &Subject, is_gone: impl Fn(&str) -> bool, now: Timestamp) {
        for report in self.watched.take(subject, is_gone) {
            self.mortal.remove(report.metadata.uid.as_deref().unwrap_or_default());
            self.touch(report, now);
        }
    }

    /// Something happened to a report: what it is about is judged anew.
    fn touch(&mut self, report: DynamicObject, now: Timestamp) {
        if let Some((id, attempt)) = self.scanner().and_then(|scanner| scanner.scan_of_report(&json(report))) {
            self.companion.observe(Observation::Report(id, attempt), now);
        }
    }

    fn observe_evidence(&mut self, observation: EvidenceObservation, now: Timestamp) {
        if let Some(evidence) = &mut self.evidence {
            evidence.observe(observation, now);
        }
    }

    /// Tells evidence which images are used, as far as the policy allows asking their registries.
    fn look_at_images(&mut self, now: Timestamp) {
        if self.evidence.is_some() && self.is_in_sync() {
            let may_ask = |image: &String| {
                ImageReference::parse(image).is_ok_and(|reference| may_ask(&reference, &self.policy.settings).is_ok())
            };
            let used = self.companion.used().into_iter().filter(|(image, _)| may_ask(image)).collect();
            self.observe_evidence(EvidenceObservation::Used(used), now);
        }
    }

    fn scanner(&self) -> Option<&Scanner> {
        self.policy.scanner.as_ref()
    }

    fn is_in_sync(&self) -> bool {
        self.in_sync.len() == self.subjects.len()
    }

    /// Does what is due, once everything was seen: what isn't known looks like what isn't there.
    fn act(&mut self, now: Timestamp) {
        while self.tasks.try_join_next().is_some() {}
        if !self.is_in_sync() {
            return;
        }
        let dying: BTreeSet<String> =
            self.mortal.iter().filter(|(_, due)| **due <= now).map(|(uid, _)| uid.clone()).collect();
        if !dying.is_empty() {
            // Also those that another report has taken the name of.
            self.mortal.retain(|uid, _| !dying.contains(uid));
            let subjects = self.subjects.iter().filter(|subject| subject.purpose == Purpose::Reports);
            for subject in subjects.cloned().collect::<Vec<_>>() {
                self.lose(&subject, |uid| dying.contains(uid), now);
            }
        }
        for action in self.companion.due(now) {
            self.start(action, now);
        }
        for action in self.evidence.as_mut().map(|evidence| evidence.due(now)).unwrap_or_default() {
            self.start_evidence(action);
        }
    }

    fn start_evidence(&mut self, action: EvidenceAction) {
        let (client, heard) = (self.client.clone(), self.heard.clone());
        let (registries, policy) = (Arc::clone(&self.registries), Arc::clone(&self.policy));
        let token = self.github_token.clone();
        self.tasks.spawn(async move {
            let mirrors = &policy.settings.mirrors;
            let observation = evidence::carry_out(action, &client, &registries, mirrors, token.as_ref()).await;
            let _ = heard.send(Heard::Evidence(Box::new(observation))).await;
        });
    }

    fn start(&mut self, action: Action, now: Timestamp) {
        let (client, heard) = (self.client.clone(), self.heard.clone());
        match action {
            Action::Judge(image) => {
                let (policy, watched) = (Arc::clone(&self.policy), Arc::clone(&self.watched));
                self.tasks.spawn_blocking(move || {
                    // What is left behind by a panic is thrown away with the answer.
                    let judging = AssertUnwindSafe(|| judge(&image, &policy, &watched, now));
                    let judgement = catch_unwind(judging).unwrap_or(Judgement::Failed { down: None, until: None });
                    // Nobody listens any more when the work has ended.
                    let _ = heard.blocking_send(Heard::Observation(Box::new(Observation::Judged(image, judgement))));
                });
            }
            Action::Ask { id, attempt, objects } => {
                self.tasks.spawn(async move {
                    let created = tokio::time::timeout(WRITE, act::create(&client, &objects)).await;
                    let result = created.unwrap_or(Err(ScanFailure::Outage));
                    let asked = Observation::Asked { id, attempt, result };
                    let _ = heard.send(Heard::Observation(Box::new(asked))).await;
                });
            }
            Action::Copy(digest) => self.observe_evidence(EvidenceObservation::Added(digest), now),
            Action::Delete { kind, name, uid, keeps_dependents } => {
                let Some(namespace) = self.scanner().map(|scanner| scanner.namespace().to_owned()) else { return };
                self.write("delete an object", async move {
                    act::delete(&client, (kind, &namespace, &name), uid, keeps_dependents).await
                });
            }
            Action::Wake(workload) => {
                self.write("wake a controller", async move { act::wake(&client, &workload, now).await })
            }
            Action::Tell { workload, image, happened } => {
                log(&workload, &image, &happened);
                let (events, identity) = (Arc::clone(&self.events), self.identity.clone());
                self.write("write an Event", async move {
                    let event = Event { workload: &workload, image: &image, happened: &happened };
                    events.tell(&client, &event, &identity, now).await
                });
            }
        }
    }

    /// Writes to the cluster. What fails is said, and done again by whoever still finds it to do.
    fn write(&mut self, what: &'static str, writing: impl Future<Output = Result<(), kube::Error>> + Send + 'static) {
        self.tasks.spawn(async move {
            match tokio::time::timeout(WRITE, writing).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn(&format!("cannot {what}: {}", cut(&error.to_string(), MAX_REASON))),
                Err(_) => warn(&format!("cannot {what}: no answer from the API server")),
            }
        });
    }

    fn status(&self, now: Timestamp) -> Status {
        let missing = (0..self.subjects.len()).find(|number| !self.in_sync.contains(number));
        let missing = missing.and_then(|number| self.subjects.get(number));
        let metrics = Metrics { leader: true, watch_failures: self.failures.clone(), ..self.companion.metrics(now) };
        let remark = missing.map(|subject| format!("the {} aren't listed yet", subject.resource.plural));
        Status { beat: Instant::now(), ready: missing.is_none(), remark: remark.unwrap_or_default(), metrics }
    }

    fn look_at_reports(&mut self) {
        let is_read = |(_, subject): &(usize, &Subject)| subject.purpose == Purpose::Reports;
        for (number, subject) in self.subjects.iter().enumerate().filter(is_read) {
            // What comes while it is listed is none of these.
            let known = self.watched.identities(subject);
            let (client, subject, heard) = (self.client.clone(), subject.clone(), self.heard.clone());
            self.tasks.spawn(async move {
                match identities(client, &subject).await {
                    Ok(there) => {
                        let gone = known.difference(&there).cloned().collect();
                        let _ = heard.send(Heard::Gone(number, gone)).await;
                    }
                    Err(error) => {
                        let reason = cut(&error.to_string(), MAX_REASON);
                        warn(&format!("cannot list the {}: {reason}", subject.resource.plural));
                    }
                }
            });
        }
    }

    fn look_at_policy(&mut self) {
        let (client, settings, heard) = (self.client.clone(), self.settings.clone(), self.heard.clone());
        self.tasks.spawn(async move {
            let reading = tokio::time::timeout(WRITE, Policy::read(&client, &settings)).await;
            let read =
                reading.unwrap_or_else(|_| Err("the policy can't be read: no answer from the API server".to_owned()));
            let _ = heard.send(Heard::Policy(Box::new(read))).await;
        });
    }
}

/// Everything that is watched.
fn subjects(policy: &Policy) -> Vec<Subject> {
    let mut subjects = vec![Subject::new(Purpose::Namespaces, "v1", "Namespace", None)];
    subjects.extend(WorkloadKind::ALL.map(Subject::workloads));
    let Some(scanner) = &policy.scanner else { return subjects };
    let kind = scanner.request_kind();
    subjects.push(Subject::new(Purpose::Requests, kind.api_version, kind.kind, Some(scanner.namespace())));
    if let Some(shared) = scanner.shared_kind() {
        subjects.push(Subject::new(Purpose::Shared, shared.api_version, shared.kind, Some(scanner.namespace())));
    }
    for source in &policy.settings.reports.sources {
        let namespaces = match source {
            ReportSource::SbomScanner(scanner) => &scanner.namespaces.named,
            ReportSource::TrivyOperator(operator) => &operator.namespaces.named,
            ReportSource::Registry(_)
            | ReportSource::Attestation(_)
            | ReportSource::Kubescape(_)
            | ReportSource::Custom(_) => continue,
        };
        for (api_version, kind) in kinds_of(source) {
            let of = |namespace: &String| Subject::new(Purpose::Reports, api_version, kind, Some(namespace));
            subjects.extend(namespaces.iter().map(of));
        }
    }
    subjects
}

fn json(object: DynamicObject) -> Value {
    // What came as JSON is JSON.
    serde_json::to_value(object).unwrap_or_default()
}

/// What users are told is in the log, too.
fn log(workload: &WorkloadReference, image: &str, happened: &Happened) {
    let told = match happened {
        Happened::ScanRequested(by) => line(LogLevel::Info, "asked for a scan").with("request", by),
        Happened::ImageScanned => line(LogLevel::Info, "an image is scanned"),
        Happened::ScanFailed(why) => {
            line(LogLevel::Warning, "an image wasn't scanned").with("why", &why.to_string()).with("reason", why.label())
        }
    };
    let WorkloadReference { kind, namespace, name, .. } = workload;
    write(&told.with("image", image).with("workload", &format!("{kind} {namespace}/{name}")));
}

fn warn(message: &str) {
    write(&line(LogLevel::Warning, message));
}
