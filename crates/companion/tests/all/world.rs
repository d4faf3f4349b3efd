//! A cluster that is played: it does what the companion says, with a scanner that takes its time, and time goes by in seconds.

use image_admission_companion::event::Happened;
use image_admission_companion::{
    Action, Companion, CompanionSettings, End, Judgement, NamedImage, NewObject, Observation, Presence, Request,
    ScanFailure, ScanId, ScanJob, ScanJobSettings, Scanner, Shared, Target, Workload, WorkloadReference,
};
use image_admission_image::ImageReference;
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::Settings;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Which scanner is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    TrivyOperator,
    SbomScanner,
    /// Jobs whose reports the policy reads in registries.
    Job,
    /// The same, where it reads them in the cluster alone, into which they are copied.
    JobWithEvidence,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::TrivyOperator, Kind::SbomScanner, Kind::Job, Kind::JobWithEvidence];

/// How the scanner treats what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// A report after so many seconds.
    Scans(i64),
    /// It says that it failed; trivy-operator says nothing.
    Fails,
    /// It says that it is done, and makes no report.
    Skips,
    /// Nothing.
    Silent,
}

pub(crate) struct World {
    pub(crate) companion: Companion,
    pub(crate) scanner: Scanner,
    pub(crate) settings: CompanionSettings,
    pub(crate) now: Timestamp,
    pub(crate) mood: Mood,
    /// Why nothing can be created.
    pub(crate) refusal: Option<ScanFailure>,
    /// Whether registries answer.
    pub(crate) registry_is_up: bool,
    /// When a registry that is down says that it may be asked again.
    pub(crate) registry_says: Option<Timestamp>,
    /// By image, which digest it has and whether its report is there, where that isn't by [`Self::reports`].
    pub(crate) verdicts: BTreeMap<String, (char, Presence)>,
    /// Scans that the scanner never ends.
    pub(crate) endless: BTreeSet<ScanId>,
    /// Images that no registry hands out.
    pub(crate) missing: BTreeSet<String>,
    pub(crate) workloads: BTreeMap<String, Workload>,
    pub(crate) requests: BTreeMap<String, Request>,
    /// By name, what requests share.
    pub(crate) shared: BTreeMap<String, Shared>,
    /// By scan, when the report was made.
    pub(crate) reports: BTreeMap<ScanId, Timestamp>,
    /// The requests whose scans have made their reports, whatever became of these.
    scanned: BTreeSet<String>,
    /// Whether reports beside images count only after they were copied into the cluster.
    copies: bool,
    /// By the digest of the image, the scans whose reports aren't copied yet.
    beside: BTreeMap<String, ScanId>,
    /// The scans beside whose images somebody has looked since the companion began.
    fetched: BTreeSet<ScanId>,
    /// What was asked for, and when.
    pub(crate) asked: Vec<(ScanId, Timestamp)>,
    /// All actions, as text: the same run gives the same ones.
    pub(crate) log: Vec<String>,
    pub(crate) told: Vec<(String, Happened)>,
    pub(crate) woken: Vec<(String, Timestamp)>,
    pub(crate) withdrawn: Vec<(Request, Timestamp)>,
    pub(crate) look_ups: Vec<(String, Timestamp)>,
    /// How often something shared was deleted.
    pub(crate) deletions: usize,
    heard: Vec<Observation>,
    uids: u64,
}

pub(crate) fn scanner(kind: Kind) -> Scanner {
    let source = match kind {
        Kind::TrivyOperator => json!({"trivyOperator": {"namespaces": ["image-scans"]}}),
        Kind::SbomScanner => json!({"sbomscanner": {"namespaces": ["sbomscanner"]}}),
        Kind::Job | Kind::JobWithEvidence => attestation(),
    };
    let settings = json!({"registries": ["ghcr.io"], "reports": {"sources": [source], "platforms": ["linux/amd64"]}});
    let job = ScanJob::read(&ScanJobSettings::default(), &cron_job());
    Scanner::of(&Settings::read(&settings).unwrap(), &CompanionSettings::default(), Some(job)).unwrap().0
}

/// A source of reports that Jobs make.
pub(crate) fn attestation() -> Value {
    let key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\n\
               awcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\n-----END PUBLIC KEY-----\n";
    json!({"attestation": {
        "predicateType": "https://cosign.sigstore.dev/attestation/vuln/v1",
        "attestors": [{"name": "scans", "cosign": {"key": {"data": key}}}],
    }})
}

/// The template of Jobs.
pub(crate) fn cron_job() -> Value {
    let image = json!({"fieldRef": {"fieldPath": "metadata.annotations['image-admission.kubewarden.io/image']"}});
    let pod = json!({"containers": [{"name": "attest", "env": [{"name": "IMAGE", "valueFrom": image}]}]});
    json!({"spec": {"suspend": true, "jobTemplate": {"spec": {"template": {"spec": pod}}}}})
}

/// The evidence of a digest, and the images that have it.
pub(crate) fn evidence(digest: String, images: &[&str]) -> Observation {
    Observation::Evidence { digest, images: images.iter().map(|image| (*image).to_owned()).collect() }
}

impl World {
    pub(crate) fn new(kind: Kind, settings: CompanionSettings) -> Self {
        let (scanner, now) = (scanner(kind), Timestamp(1_000_000));
        Self {
            companion: Companion::new(settings.clone(), Some(scanner.clone()), now),
            scanner,
            settings,
            now,
            mood: Mood::Scans(5),
            refusal: None,
            registry_is_up: true,
            registry_says: None,
            verdicts: BTreeMap::new(),
            endless: BTreeSet::new(),
            missing: BTreeSet::new(),
            workloads: BTreeMap::new(),
            requests: BTreeMap::new(),
            shared: BTreeMap::new(),
            reports: BTreeMap::new(),
            scanned: BTreeSet::new(),
            copies: kind == Kind::JobWithEvidence,
            beside: BTreeMap::new(),
            fetched: BTreeSet::new(),
            asked: Vec::new(),
            log: Vec::new(),
            told: Vec::new(),
            woken: Vec::new(),
            withdrawn: Vec::new(),
            look_ups: Vec::new(),
            deletions: 0,
            heard: Vec::new(),
            uids: 0,
        }
    }

    /// A Deployment's ReplicaSet with one image, which lacks its Pods.
    pub(crate) fn run(&mut self, namespace: &str, name: &str, image: &str) {
        self.run_kind(WorkloadKind::ReplicaSet, namespace, name, &[image]);
    }

    pub(crate) fn run_kind(&mut self, kind: WorkloadKind, namespace: &str, name: &str, images: &[&str]) {
        let uid = format!("{namespace}/{name}");
        let reference =
            WorkloadReference { kind, namespace: namespace.to_owned(), name: name.to_owned(), uid: uid.clone() };
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        let workload = Workload { reference, images, is_owned: false, lacks_pods: true };
        self.workloads.insert(uid.clone(), workload.clone());
        self.heard.push(Observation::Workload { uid, workload: Some(workload) });
    }

    pub(crate) fn stop(&mut self, namespace: &str, name: &str) {
        let uid = format!("{namespace}/{name}");
        self.workloads.remove(&uid);
        self.heard.push(Observation::Workload { uid, workload: None });
    }

    pub(crate) fn delete_report(&mut self, image: &str) {
        let id = self.id(image);
        self.reports.remove(&id);
        match (self.scanner.makes_evidence(), self.copies) {
            (true, true) => self.heard.push(evidence(digest_of(&id), &[])),
            // No watch sees what goes from a registry.
            (true, false) => {}
            (false, _) => self.heard.push(Observation::Report(id, 1)),
        }
    }

    /// The companion is killed, and another begins, which sees all that is there.
    pub(crate) fn restart(&mut self) {
        self.companion = Companion::new(self.settings.clone(), Some(self.scanner.clone()), self.now);
        self.heard.clear();
        for (uid, workload) in &self.workloads {
            self.heard.push(Observation::Workload { uid: uid.clone(), workload: Some(workload.clone()) });
        }
        self.heard.extend(self.requests.values().cloned().map(Observation::Request));
        self.heard.extend(self.shared.values().cloned().map(Observation::Shared));
        self.fetched.clear();
    }

    pub(crate) fn id(&self, image: &str) -> ScanId {
        let reference = ImageReference::parse(image).unwrap();
        match self.scanner {
            Scanner::TrivyOperator(_) | Scanner::Job(_) => ScanId::of(&reference.name()),
            Scanner::SbomScanner(_) => {
                ScanId::of(&format!("{}:{}", reference.name(), reference.tag().unwrap_or_default()))
            }
        }
    }

    pub(crate) fn has_report(&self, image: &str) -> bool {
        self.reports.contains_key(&self.id(image))
    }

    /// Lets so many seconds go by.
    pub(crate) fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now.0 += 1;
            self.scan();
            for observation in std::mem::take(&mut self.heard) {
                self.companion.observe(observation, self.now);
            }
            for action in self.companion.due(self.now) {
                self.log.push(format!("{} {action:?}", self.now));
                self.perform(action);
            }
        }
    }

    /// Requests that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.values().filter(|of| of.end.is_none() && !self.scanned.contains(&of.uid)).count()
    }

    /// What the scanner does in a second.
    fn scan(&mut self) {
        let is_trivy = matches!(self.scanner, Scanner::TrivyOperator(_));
        let (makes_evidence, copies) = (self.scanner.makes_evidence(), self.copies);
        for request in self.requests.values_mut() {
            let age = self.now.0 - request.created.0;
            let end = match self.mood {
                _ if self.endless.contains(&request.id) => continue,
                Mood::Scans(seconds) if age == seconds && copies => {
                    self.beside.insert(digest_of(&request.id), request.id.clone());
                    End::Complete
                }
                Mood::Scans(seconds) if age == seconds && makes_evidence => {
                    self.reports.insert(request.id.clone(), self.now);
                    End::Complete
                }
                Mood::Scans(seconds) if age == seconds => {
                    self.reports.insert(request.id.clone(), self.now);
                    self.scanned.insert(request.uid.clone());
                    self.heard.push(Observation::Report(request.id.clone(), request.attempt));
                    End::Complete
                }
                Mood::Fails if age == 3 => End::Failed(ScanFailure::Scanner),
                Mood::Skips if age == 3 => End::Complete,
                _ => continue,
            };
            if !is_trivy {
                request.end = Some(end);
                self.heard.push(Observation::Request(request.clone()));
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Judge(image) => {
                self.look_ups.push((image.image.clone(), self.now));
                let judgement = self.judge(&image);
                self.heard.push(Observation::Judged(image.clone(), judgement));
                // What is beside an image is copied once it is known that it is used.
                let id = self.id(&image.image);
                if self.fetched.insert(id.clone()) {
                    self.copy(digest_of(&id));
                }
            }
            Action::Ask { id, attempt, objects } => {
                let result = self.refusal.map_or(Ok(()), Err);
                if result.is_ok() {
                    let request = self.create(&id, attempt, &objects);
                    self.asked.push((id.clone(), self.now));
                    self.heard.push(Observation::Request(request));
                }
                self.heard.push(Observation::Asked { id, attempt, result });
            }
            Action::Delete { kind, uid, keeps_dependents, .. } if kind == self.scanner.request_kind() => {
                assert_eq!(keeps_dependents, !self.scanner.makes_evidence(), "a report stays, and a Pod goes");
                let Some(request) = self.requests.remove(&uid) else { return };
                self.withdrawn.push((request.clone(), self.now));
                self.heard.push(Observation::RequestGone(request));
            }
            Action::Delete { uid, .. } => {
                self.deletions += 1;
                let gone = self.shared.extract_if(.., |_, shared| shared.uid == uid).map(|(_, shared)| shared);
                self.heard.extend(gone.map(Observation::SharedGone));
            }
            Action::Tell { workload, happened, .. } => self.told.push((workload.uid, happened)),
            Action::Copy(digest) => self.copy(digest),
            Action::Wake(workload) => self.woken.push((workload.uid, self.now)),
        }
    }

    fn copy(&mut self, digest: String) {
        if let Some(id) = self.beside.remove(&digest) {
            self.reports.insert(id, self.now);
            self.heard.push(evidence(digest, &[]));
        }
    }

    fn judge(&self, image: &NamedImage) -> Judgement {
        let reference = ImageReference::parse(&image.image).unwrap();
        if image.image.starts_with("ghcr.io/accepted") {
            return Judgement::NotAsked;
        }
        if !self.registry_is_up || image.image.starts_with("ghcr.io/broken/") {
            return Judgement::Failed { down: Some(reference.host().to_owned()), until: self.registry_says };
        }
        if self.missing.contains(&image.image) {
            return Judgement::Failed { down: None, until: None };
        }
        let id = self.id(&image.image);
        let presence = if self.reports.contains_key(&id) { Presence::Reported } else { Presence::Missing };
        let (digit, presence) = self.verdicts.get(&image.image).copied().unwrap_or(('0', presence));
        let same = format!("sha256:{}", digit.to_string().repeat(64));
        let digest = if self.scanner.makes_evidence() { digest_of(&id) } else { same };
        let target = Target { reference, digest };
        Judgement::Known(vec![(id, target, presence)])
    }

    /// The request is the last object; its name says what it is.
    fn create(&mut self, id: &ScanId, attempt: u32, objects: &[NewObject]) -> Request {
        for new in objects.iter().filter(|new| Some(new.kind) == self.scanner.shared_kind()) {
            self.uids += 1;
            let mut object = new.object.clone();
            object["metadata"]["uid"] = self.uids.to_string().into();
            let shared = self.scanner.read_shared(&object).unwrap();
            let shared = self.shared.entry(shared.name.clone()).or_insert(shared);
            self.heard.push(Observation::Shared(shared.clone()));
        }
        self.uids += 1;
        let name = objects.last().unwrap().object["metadata"]["name"].as_str().unwrap().to_owned();
        let request =
            Request { id: id.clone(), attempt, name, uid: self.uids.to_string(), created: self.now, end: None };
        let names: BTreeSet<&String> = self.requests.values().map(|of| &of.name).collect();
        assert!(!names.contains(&request.name), "{} is asked for twice", request.name);
        self.requests.insert(request.uid.clone(), request.clone());
        request
    }
}

/// A digest that a scan of Jobs is about.
fn digest_of(id: &ScanId) -> String {
    format!("sha256:{}", id.to_string().repeat(2))
}
