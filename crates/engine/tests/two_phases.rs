//! The two phases against a model of them: random settings, requests and scan statuses; the engine's answer must be the
//! model's.
//!
//! The model is written from the contract of the phases and shares nothing with the engine. It parses nothing either:
//! the canonical names of the images and prefixes that the cases are made of stand in two tables, by hand.
//!
//! `TWO_PHASES_CASES=100000 cargo test --test two_phases` looks harder than the 2,000 cases of a plain run.

use image_admission_engine::settings::Identity;
use image_admission_engine::{Document, Host, HostFailure, Manifest, Resource, Timestamp, validate};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseResult, TestError, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

// === The model ===

/// What the contract says about a case.
enum Expected {
    /// No image is new: allowed, and the host is not asked.
    NothingToJudge,
    /// Allowed, not pinned, and the host is not asked.
    PreScanAccepted,
    /// Denied with this message, and the host is not asked.
    PreScanRejected(String),
    /// Denied; the message starts with these lines.
    ScanRejected(Vec<String>),
    /// Allowed, and this object written in the place of the request's.
    Pinned(Value),
    /// Allowed by the scan phase, with nothing to write.
    NotPinned,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToJudge => f.write_str("allowed: nothing to judge"),
            Self::PreScanAccepted => f.write_str("allowed: accepted by pre-scan"),
            Self::PreScanRejected(message) => write!(f, "denied: {message}"),
            Self::ScanRejected(lines) => write!(f, "denied:\n{}", lines.join("\n")),
            Self::Pinned(object) => write!(f, "allowed, and written: {object:#}"),
            Self::NotPinned => f.write_str("allowed: nothing to pin"),
        }
    }
}

/// The policy that decides about an image in a phase.
struct Rule {
    action: &'static str,
    scope: String,
}

fn expected(case: &Case) -> Expected {
    let judged: Vec<&Container> = case.containers.iter().filter(|container| case.is_judged(container)).collect();
    if judged.is_empty() {
        return Expected::NothingToJudge;
    }

    let rules: Vec<Rule> = judged.iter().map(|container| case.rule(&case.pre_scan, "scan", &container.image)).collect();
    let reasons: BTreeSet<String> = judged
        .iter()
        .zip(&rules)
        .filter(|(_, rule)| rule.action == "reject")
        .map(|(container, rule)| format!("Image '{}' REJECTED. {}", container.image.text(), rule.scope))
        .collect();
    if !reasons.is_empty() {
        let reasons: Vec<String> = reasons.into_iter().collect();
        return Expected::PreScanRejected(format!("Pre-scan rejected. Reasons: {}", reasons.join(", ")));
    }
    if rules.iter().all(|rule| rule.action == "accept") {
        return Expected::PreScanAccepted;
    }

    let lines: Vec<String> = judged.iter().filter_map(|container| case.scan_line(container)).collect();
    if !lines.is_empty() {
        return Expected::ScanRejected(lines);
    }
    let pins: Vec<&Container> = judged.into_iter().filter(|container| case.is_pinned(container)).collect();
    if pins.is_empty() { Expected::NotPinned } else { Expected::Pinned(case.pinned_object(&pins)) }
}

impl Case {
    /// On an update, an image is judged unless the same list had the same name with the same string.
    fn is_judged(&self, container: &Container) -> bool {
        match self.change {
            Change::CreatePod | Change::CreateDeployment => true,
            Change::UpdatePod | Change::UpdateDeployment => !container.is_unchanged(),
            Change::AddEphemeral => container.list == List::Ephemeral && !container.is_unchanged(),
        }
    }

    /// The object's namespace, else the request's.
    fn namespace(&self) -> &'static str {
        self.object_namespace.or(self.request_namespace).unwrap_or("")
    }

    /// The first custom policy that matches, of the namespace if it has a list, else of the top level; else a default.
    fn rule(&self, phase: &Phase, fallback: &'static str, image: &Image) -> Rule {
        let namespace = self.namespace();
        let own = phase.by_namespace.get(namespace);
        let of_namespace = format!("Namespace '{namespace}'");

        let (list, place) = match own.and_then(|level| level.custom_policies.as_ref()) {
            Some(list) => (Some(list), of_namespace.as_str()),
            None => (phase.top.custom_policies.as_ref(), "Global"),
        };
        if let Some((prefix, action)) =
            list.into_iter().flatten().find(|(prefix, action)| self.matches(prefix, action, image))
        {
            return Rule { action, scope: format!("{place} custom policy (prefix '{}')", prefix.written) };
        }
        match own.and_then(|level| level.default_policy) {
            Some(action) => Rule { action, scope: format!("{of_namespace} default policy") },
            None => {
                Rule { action: phase.top.default_policy.unwrap_or(fallback), scope: "Global default policy".to_owned() }
            }
        }
    }

    fn matches(&self, prefix: &Prefix, action: &str, image: &Image) -> bool {
        if self.image_matching == Some("raw") {
            return image.text().starts_with(prefix.written);
        }
        image.names(action == "reject").iter().any(|name| name.starts_with(prefix.canonical))
    }

    /// Why the scan phase denies an image, if it does.
    fn scan_line(&self, container: &Container) -> Option<String> {
        let image = container.image.text();
        let rule = self.rule(&self.scan, "scan-result", &container.image);
        let reason = match (rule.action, self.status(&container.image).word()) {
            ("accept", _) => None,
            ("reject", _) => Some("policy action is 'reject'"),
            (_, "accepted") => None,
            (_, "rejected") => Some("scan result is 'reject'"),
            (_, "report_not_available") => {
                let waits = self.change.is_pod() && self.fallback(|level| level.report_pending) == "reject";
                waits.then_some("scan report is pending")
            }
            _ => (self.fallback(|level| level.scan_failed) == "reject").then_some("scan failed"),
        };
        let (name, scope) = (&container.name, rule.scope);
        let denial = |reason| format!("Image '{image}' REJECTED. {scope} - {reason}");
        reason.map(|reason| {
            format!("Image '{image}' for container '{name}' failed scan policy check: {}", denial(reason))
        })
    }

    /// The namespace's value, the top level's, `reject`.
    fn fallback(&self, key: fn(&Level) -> Option<&'static str>) -> &'static str {
        let own = self.scan.by_namespace.get(self.namespace());
        own.and_then(key).or(key(&self.scan.top)).unwrap_or("reject")
    }

    /// Whether an image that the scan phase admitted gets its digest: in Pods, where it is known and not there yet.
    fn is_pinned(&self, container: &Container) -> bool {
        let resolved = self.status(&container.image) != Status::Unresolvable;
        self.change.is_pod() && self.pin != Pin::Off && !container.image.by_digest && resolved
    }

    fn pinned_object(&self, pins: &[&Container]) -> Value {
        let mut annotations = self.annotations();
        let mut containers = self.containers.clone();
        for (position, container) in containers.iter_mut().enumerate() {
            if !pins.iter().any(|pinned| pinned.name == container.name) {
                continue;
            }
            let (original, pinned) =
                (container.image.text(), format!("{}@{}", container.image.text(), container.image.digest()));
            if self.pin == Pin::WithAnnotations && self.change != Change::AddEphemeral {
                let before = self.containers.iter().take(position).filter(|other| other.list == container.list).count();
                let key =
                    format!("admission.sysdig.com/{}-{}", container.list.annotation(), before + container.list.first());
                annotations.insert(format!("{key}-original-image"), original.into());
                annotations.insert(format!("{key}-mutated-image"), pinned.clone().into());
            }
            container.pinned = Some(pinned);
        }
        self.object(&containers, &annotations)
    }
}

impl Image {
    /// The names that prefixes are compared with: without the tag when there is a digest, and for the entries that
    /// reject with it too. An image of Docker's library has a second, shorter one.
    fn names(&self, with_the_tag_too: bool) -> Vec<String> {
        let digest = self.digest();
        let ends = match (self.by_digest, self.tag) {
            (false, tag) => vec![format!(":{}", tag.unwrap_or("latest"))],
            (true, Some(tag)) if with_the_tag_too => vec![format!("@{digest}"), format!(":{tag}@{digest}")],
            (true, _) => vec![format!("@{digest}")],
        };
        let mut repositories = vec![format!("{}/{}", self.host, self.repository)];
        if let ("docker.io", Some(short)) = (self.host, self.repository.strip_prefix("library/"))
            && !short.contains('/')
        {
            repositories.push(format!("docker.io/{short}"));
        }
        repositories.iter().flat_map(|repository| ends.iter().map(move |end| format!("{repository}{end}"))).collect()
    }
}

// === What cases are made of ===

/// An image, and what its name means.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Image {
    /// The name in the Pod, without the digest.
    name: &'static str,
    host: &'static str,
    repository: &'static str,
    tag: Option<&'static str>,
    /// The digit that its digest is made of; what one digest names has one status.
    content: char,
    /// Whether the digest is written in the Pod.
    by_digest: bool,
}

const fn image(
    name: &'static str,
    host: &'static str,
    repository: &'static str,
    tag: &'static str,
    content: char,
) -> Image {
    Image { name, host, repository, tag: Some(tag), content, by_digest: false }
}

const fn untagged(name: &'static str, host: &'static str, repository: &'static str, content: char) -> Image {
    Image { name, host, repository, tag: None, content, by_digest: false }
}

const fn by_digest(image: Image) -> Image {
    Image { by_digest: true, ..image }
}

const IMAGES: [Image; 23] = [
    untagged("nginx", "docker.io", "library/nginx", '0'),
    image("nginx:latest", "docker.io", "library/nginx", "latest", '0'),
    image("nginx:1.0", "docker.io", "library/nginx", "1.0", '1'),
    image("library/nginx:1.0", "docker.io", "library/nginx", "1.0", '1'),
    image("index.docker.io/library/nginx:1.0", "docker.io", "library/nginx", "1.0", '1'),
    by_digest(untagged("nginx", "docker.io", "library/nginx", '0')),
    by_digest(image("docker.io/nginx:1.0", "docker.io", "library/nginx", "1.0", '2')),
    image("team/app:1", "docker.io", "team/app", "1", '3'),
    image("library/team/app:1", "docker.io", "library/team/app", "1", 'e'),
    image("Docker.io/team/app:1", "docker.io", "team/app", "1", '3'),
    image("registry-1.docker.io/teamevil/app:1", "docker.io", "teamevil/app", "1", '4'),
    image("ghcr.io/team/app:1.0", "ghcr.io", "team/app", "1.0", '5'),
    image("GHCR.IO/team/app:1.0", "ghcr.io", "team/app", "1.0", '5'),
    image("ghcr.io:443/team/app:1.0", "ghcr.io", "team/app", "1.0", '5'),
    by_digest(untagged("ghcr.io/team/app", "ghcr.io", "team/app", '5')),
    by_digest(image("ghcr.io/team/app:1.0", "ghcr.io", "team/app", "1.0", '6')),
    untagged("ghcr.io/team/app", "ghcr.io", "team/app", '7'),
    image("ghcr.io/team/application/web:1.0", "ghcr.io", "team/application/web", "1.0", '8'),
    image("ghcr.io.evil.com/team/app:1.0", "ghcr.io.evil.com", "team/app", "1.0", '9'),
    image("ghcr.io:5000/team/app:1.0", "ghcr.io:5000", "team/app", "1.0", 'a'),
    untagged("Registry.Example.com:5000/team/app", "registry.example.com:5000", "team/app", 'b'),
    image("localhost/team/app:1", "localhost", "team/app", "1", 'c'),
    image("localhost:5000/nginx:1.0", "localhost:5000", "nginx", "1.0", 'd'),
];

impl Image {
    /// The string in the Pod.
    fn text(&self) -> String {
        if self.by_digest { format!("{}@{}", self.name, self.digest()) } else { self.name.to_owned() }
    }

    fn digest(&self) -> String {
        format!("sha256:{}", String::from(self.content).repeat(64))
    }

    /// The name that a registry knows it by, when it is asked for the tag.
    fn by_tag(&self) -> String {
        format!("{}/{}:{}", self.host, self.repository, self.tag.unwrap_or("latest"))
    }

    /// The name of what runs.
    fn by_content(&self) -> String {
        format!("{}/{}@{}", self.host, self.repository, self.digest())
    }
}

/// A prefix, and what it means for canonical names.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    written: &'static str,
    canonical: &'static str,
}

const fn same(written: &'static str) -> Prefix {
    Prefix { written, canonical: written }
}

const fn means(written: &'static str, canonical: &'static str) -> Prefix {
    Prefix { written, canonical }
}

const PREFIXES: [Prefix; 37] = [
    same(""),
    same("docker.io"),
    same("docker.io/"),
    same("docker.io/library/"),
    same("docker.io/nginx"),
    same("docker.io/nginx:1"),
    same("docker.io/library/nginx:latest"),
    same("docker.io/library/nginx@sha256:0"),
    same("docker.io/library/nginx:1.0@sha256:2"),
    same("docker.io/team"),
    same("docker.io/team/"),
    means("DOCKER.IO/team/app:1", "docker.io/team/app:1"),
    means("index.docker.io/", "docker.io/"),
    means("index.docker.io", "docker.io"),
    means("library/", "docker.io/library/"),
    means("team/", "docker.io/team/"),
    means("team/app:1", "docker.io/team/app:1"),
    // Without a slash it is the beginning of a host, whatever it looks like.
    same("nginx"),
    same("nginx:1.0"),
    same("gh"),
    same("ghcr.io"),
    means("GHCR.IO", "ghcr.io"),
    means("GHCR", "ghcr"),
    means("Registry", "registry"),
    same("ghcr.io/"),
    means("ghcr.io:443/", "ghcr.io/"),
    same("ghcr.io:"),
    same("ghcr.io:50"),
    same("ghcr.io:5000/"),
    same("ghcr.io/team/"),
    means("GHCR.io/team/app", "ghcr.io/team/app"),
    same("ghcr.io/team/app:1"),
    same("ghcr.io/team/app:1.0@sha256:6"),
    same("ghcr.io/team/app@sha256:"),
    means("Registry.Example.com:5000/team", "registry.example.com:5000/team"),
    same("localhost"),
    same("localhost/team/"),
];

/// What a registry and the scanner know about the content of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Status {
    Accepted,
    Rejected,
    NoReport,
    /// The host's list still has the report, the cluster doesn't.
    ReportIsGone,
    Unresolvable,
    NoManifest,
    UnreadableReport,
    ReportWithoutSummary,
}

impl Status {
    /// As `ScanReport.Status` says it.
    fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::NoReport | Self::ReportIsGone => "report_not_available",
            Self::Unresolvable | Self::NoManifest | Self::UnreadableReport | Self::ReportWithoutSummary => {
                "scan_failed"
            }
        }
    }
}

/// The lists of a pod spec that name images, in the order of messages.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Eq, Ord)]
enum List {
    Init,
    Containers,
    Ephemeral,
    Volumes,
}

impl List {
    const ALL: [Self; 4] = [Self::Init, Self::Containers, Self::Ephemeral, Self::Volumes];

    fn key(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Containers => "containers",
            Self::Ephemeral => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    fn annotation(self) -> &'static str {
        match self {
            Self::Init => "init-container",
            Self::Containers => "container",
            Self::Ephemeral => "ephemeral-container",
            Self::Volumes => "volume",
        }
    }

    /// The position of its first image: a volume without one comes before the volumes that have one.
    fn first(self) -> usize {
        if self == Self::Volumes { 2 } else { 1 }
    }
}

/// A container, or a volume with an image.
#[derive(Debug, Clone)]
struct Container {
    list: List,
    name: String,
    image: Image,
    /// What the engine should write in the image's place.
    pinned: Option<String>,
    old: Old,
}

/// What the old object has in a container's place.
#[derive(Debug, Clone, Copy)]
enum Old {
    Same,
    Absent,
    OtherImage(Image),
    OtherName,
    OtherList(List),
}

impl Container {
    fn is_unchanged(&self) -> bool {
        match self.old {
            Old::Same => true,
            Old::OtherImage(image) => image.text() == self.image.text(),
            Old::OtherList(list) => list == self.list,
            Old::Absent | Old::OtherName => false,
        }
    }

    /// The container in the old object.
    fn before(&self) -> Option<Self> {
        let same = self.clone();
        match self.old {
            Old::Same => Some(same),
            Old::Absent => None,
            Old::OtherImage(image) => Some(Self { image, ..same }),
            Old::OtherName => Some(Self { name: format!("old-{}", self.name), ..same }),
            Old::OtherList(list) => Some(Self { list, ..same }),
        }
    }

    fn json(&self) -> Value {
        let image = self.pinned.clone().unwrap_or_else(|| self.image.text());
        if self.list == List::Volumes {
            return json!({"name": self.name, "image": {"reference": image, "pullPolicy": "Always"}});
        }
        json!({"name": self.name, "image": image, "args": ["serve"]})
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    CreatePod,
    UpdatePod,
    /// An update of the subresource `ephemeralcontainers`.
    AddEphemeral,
    CreateDeployment,
    UpdateDeployment,
}

impl Change {
    fn is_pod(self) -> bool {
        !matches!(self, Self::CreateDeployment | Self::UpdateDeployment)
    }
}

/// The keys that stand at the top level of a phase and in its namespaces alike; `None` is an absent key.
#[derive(Debug, Clone, Default)]
struct Level {
    default_policy: Option<&'static str>,
    custom_policies: Option<Vec<(Prefix, &'static str)>>,
    report_pending: Option<&'static str>,
    scan_failed: Option<&'static str>,
}

impl Level {
    fn json(&self) -> Value {
        let mut keys = Map::new();
        let choices = [
            ("defaultPolicy", self.default_policy),
            ("reportPending", self.report_pending),
            ("scanFailed", self.scan_failed),
        ];
        for (key, choice) in choices {
            if let Some(choice) = choice {
                keys.insert(key.to_owned(), choice.into());
            }
        }
        if let Some(list) = &self.custom_policies {
            let entries = list.iter().map(|(prefix, action)| json!({"prefix": prefix.written, "action": action}));
            keys.insert("customPolicies".to_owned(), entries.collect());
        }
        Value::Object(keys)
    }
}

/// A phase; without anything, its key is absent.
#[derive(Debug, Clone, Default)]
struct Phase {
    top: Level,
    by_namespace: BTreeMap<&'static str, Level>,
}

impl Phase {
    fn json(&self) -> Value {
        let mut phase = self.top.json();
        if let (Some(keys), false) = (phase.as_object_mut(), self.by_namespace.is_empty()) {
            let namespaces = self.by_namespace.iter().map(|(name, level)| ((*name).to_owned(), level.json()));
            keys.insert("byNamespace".to_owned(), Value::Object(namespaces.collect()));
        }
        phase
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pin {
    WithAnnotations,
    WithoutAnnotations,
    Off,
}

#[derive(Debug, Clone)]
struct Case {
    pre_scan: Phase,
    scan: Phase,
    /// `scanPolicies`, or the older name.
    scan_key: &'static str,
    image_matching: Option<&'static str>,
    pin: Pin,
    change: Change,
    object_namespace: Option<&'static str>,
    request_namespace: Option<&'static str>,
    /// Whether the object comes with annotations, a forged one of the policy's own among them.
    annotated: bool,
    /// In the order of messages.
    containers: Vec<Container>,
    /// By the digit of the content.
    statuses: Vec<Status>,
}

impl Case {
    fn status(&self, image: &Image) -> Status {
        let digit = image.content.to_digit(16).and_then(|digit| usize::try_from(digit).ok());
        digit.and_then(|digit| self.statuses.get(digit)).copied().unwrap_or(Status::NoReport)
    }

    fn settings(&self) -> Value {
        let mut settings = Map::new();
        for (key, phase) in [("preScanPolicies", &self.pre_scan), (self.scan_key, &self.scan)] {
            let phase = phase.json();
            if phase != json!({}) {
                settings.insert(key.to_owned(), phase);
            }
        }
        if let Some(matching) = self.image_matching {
            settings.insert("imageMatching".to_owned(), matching.into());
        }
        match self.pin {
            Pin::WithAnnotations => None,
            Pin::WithoutAnnotations => settings.insert("pin".to_owned(), json!({"annotations": false})),
            Pin::Off => settings.insert("pin".to_owned(), json!({"enabled": false})),
        };
        Value::Object(settings)
    }

    fn request(&self) -> Value {
        let (group, kind, resource) =
            if self.change.is_pod() { ("", "Pod", "pods") } else { ("apps", "Deployment", "deployments") };
        let created = matches!(self.change, Change::CreatePod | Change::CreateDeployment);
        let mut request = json!({
            "uid": "1299d386-525b-4032-98ae-1949f69f9cfc",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "resource": {"group": group, "version": "v1", "resource": resource},
            "operation": if created { "CREATE" } else { "UPDATE" },
            "userInfo": {"username": "someone"},
            "object": self.object(&self.containers, &self.annotations()),
        });
        if let Some(keys) = request.as_object_mut() {
            if self.change == Change::AddEphemeral {
                keys.insert("subResource".to_owned(), "ephemeralcontainers".into());
            }
            if let Some(namespace) = self.request_namespace {
                keys.insert("namespace".to_owned(), namespace.into());
            }
            if !created {
                let before: Vec<Container> = self.containers.iter().filter_map(Container::before).collect();
                keys.insert("oldObject".to_owned(), self.object(&before, &self.annotations()));
            }
        }
        request
    }

    fn annotations(&self) -> Map<String, Value> {
        let annotations = [("team", "blue"), ("admission.sysdig.com/container-1-original-image", "forged")];
        let there = annotations.into_iter().filter(|_| self.annotated);
        there.map(|(key, value)| (key.to_owned(), value.into())).collect()
    }

    fn object(&self, containers: &[Container], annotations: &Map<String, Value>) -> Value {
        let mut metadata = json!({"name": "web"});
        if let Some(keys) = metadata.as_object_mut() {
            if let Some(namespace) = self.object_namespace {
                keys.insert("namespace".to_owned(), namespace.into());
            }
            if !annotations.is_empty() {
                keys.insert("annotations".to_owned(), Value::Object(annotations.clone()));
            }
        }
        let mut spec = Map::new();
        for list in List::ALL {
            let scratch = (list == List::Volumes).then(|| json!({"name": "scratch", "emptyDir": {}}));
            let images = containers.iter().filter(|container| container.list == list).map(Container::json);
            spec.insert(list.key().to_owned(), scratch.into_iter().chain(images).collect());
        }
        if self.change.is_pod() {
            return json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        }
        // A template's own namespace is never read.
        let template = json!({"metadata": {"namespace": "prod", "labels": {"app": "web"}}, "spec": spec});
        let spec = json!({"replicas": 1, "template": template});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    }
}

// === The host ===

/// A cluster and registries where every content has the case's status. It notes what it is asked.
struct Cluster<'a> {
    case: &'a Case,
    asked: RefCell<Vec<String>>,
    /// What the engine must never do to a host.
    wrongs: RefCell<Vec<String>>,
}

impl Cluster<'_> {
    /// The image that a canonical name means. Only those that are judged may be asked for.
    fn find(&self, asked: &str, name: fn(&Image) -> String) -> Result<Image, HostFailure> {
        self.asked.borrow_mut().push(asked.to_owned());
        let mut judged = self.case.containers.iter().filter(|container| self.case.is_judged(container));
        judged.find(|container| name(&container.image) == asked).map(|container| container.image).ok_or_else(|| {
            self.wrongs.borrow_mut().push(format!("the host is asked for {asked}, which is no name of a judged image"));
            HostFailure::NotFound("unknown".to_owned())
        })
    }

    fn report(&self, image: &Image, with_summary: bool) -> Value {
        let host = if image.host == "docker.io" { "index.docker.io" } else { image.host };
        let critical = u8::from(self.case.status(image) == Status::Rejected);
        let mut report = json!({
            "kind": "VulnerabilityReport",
            "metadata": {"name": report_name(image), "namespace": "sbomscanner"},
            "imageMetadata": {
                "registryURI": host,
                "repository": image.repository,
                "digest": image.digest(),
                "platform": "linux/amd64",
            },
            "report": {},
        });
        if let (true, Some(body)) = (with_summary, report.pointer_mut("/report")) {
            let summary = json!({"critical": critical, "high": 2, "medium": 0, "low": 1, "unknown": 0});
            *body = json!({"summary": summary, "results": []});
        }
        report
    }
}

fn report_name(image: &Image) -> String {
    format!("report-{}", image.content)
}

fn document(value: &Value) -> Document {
    Document(value.to_string().into_bytes())
}

impl Host for Cluster<'_> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        if self.asked.borrow().iter().any(|asked| asked == image) {
            self.wrongs.borrow_mut().push(format!("the host is asked to resolve {image} twice"));
        }
        // A tag beside a digest is never resolved.
        let tagged = self.find(image, |image| if image.by_digest { String::new() } else { image.by_tag() })?;
        match self.case.status(&tagged) {
            Status::Unresolvable => Err(HostFailure::NotFound("manifest unknown".to_owned())),
            _ => Ok(tagged.digest()),
        }
    }

    fn manifest(&self, image: &str) -> Result<Manifest, HostFailure> {
        let found = self.find(image, Image::by_content)?;
        match self.case.status(&found) {
            Status::Unresolvable => Err(HostFailure::NotFound("manifest unknown".to_owned())),
            Status::NoManifest => Err(HostFailure::Failed("no route to the registry".to_owned())),
            _ => Ok(Manifest::Image { config: None }),
        }
    }

    fn get_resource(&self, resource: &Resource<'_>, _fields: &[&str]) -> Result<Document, HostFailure> {
        self.asked.borrow_mut().push("get".to_owned());
        let absent = HostFailure::NotFound("no such report".to_owned());
        let Some(image) = IMAGES.iter().find(|image| report_name(image) == resource.name) else { return Err(absent) };
        match self.case.status(image) {
            Status::UnreadableReport => Err(HostFailure::Failed("the API server is overloaded".to_owned())),
            Status::Accepted | Status::Rejected => Ok(document(&self.report(image, true))),
            Status::ReportWithoutSummary => Ok(document(&self.report(image, false))),
            _ => Err(absent),
        }
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        self.wrongs.borrow_mut().push(format!("no source of these cases reads artifacts, and {image} is read"));
        Err(HostFailure::Failed("not answered".to_owned()))
    }

    fn verify(&self, image: &str, _: &Identity) -> Result<(), HostFailure> {
        self.wrongs.borrow_mut().push(format!("nothing of these cases is signed, and {image} is verified"));
        Err(HostFailure::Failed("not answered".to_owned()))
    }

    fn list_resources(&self, _: &str, _: &str, _: &str, _: Option<&str>, _: &[&str]) -> Result<Document, HostFailure> {
        if !self.asked.borrow().iter().any(|asked| asked == "get") {
            self.wrongs.borrow_mut().push("listed reports before one was read".to_owned());
        }
        let reported = IMAGES.iter().filter(|image| self.case.status(image) != Status::NoReport);
        let reports: BTreeMap<String, Value> =
            reported.map(|image| (report_name(image), self.report(image, true))).collect();
        Ok(document(&json!({"items": reports.into_values().collect::<Vec<Value>>()})))
    }
}

// === Generators ===

// Rejections are rare, so that most cases get past pre-scan with several images.
const PRE_SCAN_ACTIONS: [&str; 9] = ["accept", "accept", "accept", "accept", "scan", "scan", "scan", "scan", "reject"];
const SCAN_ACTIONS: [&str; 7] =
    ["scan-result", "scan-result", "scan-result", "scan-result", "accept", "accept", "reject"];
const FALLBACKS: [&str; 2] = ["accept", "reject"];
const NAMESPACES: [&str; 2] = ["prod", "dev"];

fn level(actions: &'static [&'static str], with_status: bool) -> impl Strategy<Value = Level> {
    let fallback = move || prop::option::of(select(&FALLBACKS)).prop_map(move |choice| choice.filter(|_| with_status));
    let custom_policies = vec((select(&PREFIXES), select(actions)), 0..8);
    let keys =
        (prop::option::of(select(actions)), prop::option::weighted(0.75, custom_policies), fallback(), fallback());
    keys.prop_map(|(default_policy, custom_policies, report_pending, scan_failed)| Level {
        default_policy,
        custom_policies,
        report_pending,
        scan_failed,
    })
}

fn phase(actions: &'static [&'static str], with_status: bool) -> impl Strategy<Value = Phase> {
    let namespaces = btree_map(select(&NAMESPACES), level(actions, with_status), 0..3);
    let phase = (level(actions, with_status), namespaces).prop_map(|(top, by_namespace)| Phase { top, by_namespace });
    prop_oneof![1 => Just(Phase::default()), 9 => phase]
}

fn containers() -> impl Strategy<Value = Vec<Container>> {
    let list = prop_oneof![
        3 => Just(List::Containers),
        2 => Just(List::Init),
        2 => Just(List::Ephemeral),
        2 => Just(List::Volumes),
    ];
    let old = prop_oneof![
        3 => Just(Old::Same),
        2 => Just(Old::Absent),
        2 => select(&IMAGES).prop_map(Old::OtherImage),
        1 => Just(Old::OtherName),
        1 => select(&List::ALL).prop_map(Old::OtherList),
    ];
    vec((list, select(&IMAGES), old), 0..8).prop_map(|mut containers| {
        containers.sort_by_key(|(list, ..)| *list);
        let named = containers.into_iter().enumerate();
        named
            .map(|(position, (list, image, old))| Container {
                list,
                name: format!("c{position}"),
                image,
                pinned: None,
                old,
            })
            .collect()
    })
}

fn statuses() -> impl Strategy<Value = Vec<Status>> {
    let status = prop_oneof![
        8 => Just(Status::Accepted),
        2 => Just(Status::Rejected),
        1 => Just(Status::NoReport),
        1 => Just(Status::ReportIsGone),
        1 => Just(Status::Unresolvable),
        1 => Just(Status::NoManifest),
        1 => Just(Status::UnreadableReport),
        1 => Just(Status::ReportWithoutSummary),
    ];
    vec(status, 16)
}

fn case() -> impl Strategy<Value = Case> {
    let settings = (
        phase(&PRE_SCAN_ACTIONS, false),
        phase(&SCAN_ACTIONS, true),
        select(&["scanPolicies", "policies"]),
        select(&[None, None, Some("canonical"), Some("raw")]),
        select(&[Pin::WithAnnotations, Pin::WithAnnotations, Pin::WithoutAnnotations, Pin::Off]),
    );
    let change = prop_oneof![
        4 => Just(Change::CreatePod),
        2 => Just(Change::UpdatePod),
        1 => Just(Change::AddEphemeral),
        1 => Just(Change::CreateDeployment),
        1 => Just(Change::UpdateDeployment),
    ];
    // `staging` is in no settings.
    let namespace = || prop::option::weighted(0.8, select(&["prod", "prod", "dev", "staging"]));
    let request = (change, namespace(), namespace(), any::<bool>(), containers());
    (settings, request, statuses()).prop_map(|(settings, request, statuses)| {
        let (pre_scan, scan, scan_key, image_matching, pin) = settings;
        let (change, object_namespace, request_namespace, annotated, containers) = request;
        Case {
            pre_scan,
            scan,
            scan_key,
            image_matching,
            pin,
            change,
            object_namespace,
            request_namespace,
            annotated,
            containers,
            statuses,
        }
    })
}

// === The property ===

/// What the cases of a run must have been about, in the words of the model's answers: a property that holds because
/// nothing interesting was tried holds for nothing.
const REACHED: [&str; 22] = [
    "allowed: nothing to judge",
    "allowed: accepted by pre-scan",
    "allowed: nothing to pin",
    "REJECTED. Global default policy",
    "REJECTED. Global custom policy (prefix '",
    "REJECTED. Namespace 'prod' default policy",
    "REJECTED. Namespace 'prod' custom policy (prefix '",
    "custom policy (prefix 'docker.io/",
    "custom policy (prefix 'index.docker.io",
    "Pre-scan rejected. Reasons: Image '",
    "policy, Image '",
    "Image 'nginx' REJECTED.",
    "- policy action is 'reject'",
    "- scan result is 'reject'",
    "- scan report is pending",
    "- scan failed",
    "/container-1-original-image\": \"forged\"",
    "/container-1-mutated-image\": \"",
    "/container-2-mutated-image\": \"",
    "/init-container-1-mutated-image\": \"",
    "/ephemeral-container-1-mutated-image\": \"",
    "/volume-2-mutated-image\": \"",
];

#[test]
fn the_engine_answers_what_the_contract_says() {
    // Read when this is compiled (cargo does that again when it changes), so that nothing here reads the environment.
    let cases = option_env!("TWO_PHASES_CASES")
        .and_then(|cases| cases.parse().ok())
        .map_or(2_000, |cases: u32| cases.max(2_000));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let reached = RefCell::new(BTreeSet::new());
    let result = TestRunner::new(config).run(&case(), |case| {
        let expected = expected(&case);
        let text = expected.to_string();
        reached.borrow_mut().extend(REACHED.into_iter().filter(|words| text.contains(words)));
        check(&case, &expected)
    });
    let failure = match &result {
        Ok(()) => String::new(),
        Err(TestError::Fail(reason, _) | TestError::Abort(reason)) => reason.to_string(),
    };
    assert!(result.is_ok(), "{failure}");

    let missed: Vec<&str> = REACHED.into_iter().filter(|words| !reached.borrow().contains(words)).collect();
    assert!(missed.is_empty(), "no case of {cases} was about {missed:?}");
}

fn check(case: &Case, expected: &Expected) -> TestCaseResult {
    let (settings, request) = (case.settings(), case.request());
    let host = Cluster { case, asked: RefCell::default(), wrongs: RefCell::default() };
    let payload = json!({"request": request, "settings": settings}).to_string();
    let response = validate(payload.as_bytes(), &host, Timestamp(1_790_000_000)).response;
    let answer: Value = serde_json::from_slice(&response).map_err(|error| TestCaseError::fail(error.to_string()))?;

    let mut wrongs = host.wrongs.take();
    wrongs.extend(differences(expected, &answer).into_iter().map(str::to_owned));
    wrongs.extend(calls_amiss(case, expected, &host.asked.take()));
    if wrongs.is_empty() {
        return Ok(());
    }
    let statuses: BTreeMap<String, Status> =
        case.containers.iter().map(|container| (container.image.text(), case.status(&container.image))).collect();
    let asked = format!("settings: {settings:#}\n\nrequest: {request:#}\n\nstatuses: {statuses:#?}");
    let answers = format!("the model: {expected}\n\nthe engine: {answer:#}");
    Err(TestCaseError::fail(format!("{}\n\n{asked}\n\n{answers}", wrongs.join("\n"))))
}

/// Where the engine's answer is another than the model's.
fn differences(expected: &Expected, answer: &Value) -> Vec<&'static str> {
    let accepted = answer.get("accepted").and_then(Value::as_bool);
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default();
    let written = answer.get("mutated_object").filter(|object| !object.is_null());

    let (allowed, says, writes) = match expected {
        Expected::NothingToJudge | Expected::PreScanAccepted | Expected::NotPinned => (true, message.is_empty(), None),
        Expected::Pinned(object) => (true, message.is_empty(), Some(object)),
        Expected::PreScanRejected(expected) => (false, message == expected, None),
        Expected::ScanRejected(lines) => {
            let mut found = message.lines();
            let first = lines.iter().all(|line| found.next() == Some(line));
            (false, first && !found.any(|line| line.contains("failed scan policy check")), None)
        }
    };
    let checks = [
        (accepted == Some(allowed), "it is not allowed, or not denied, as it should be"),
        (says, "the message is another"),
        (written == writes, "what is written in the object's place is another"),
    ];
    checks.into_iter().filter(|(right, _)| !right).map(|(_, wrong)| wrong).collect()
}

/// What the host should have been asked, or not: nothing unless the scan phase decides, and then about every image that
/// no rule rejects, those with the action `accept` too.
fn calls_amiss(case: &Case, expected: &Expected, asked: &[String]) -> Vec<String> {
    if matches!(expected, Expected::NothingToJudge | Expected::PreScanAccepted | Expected::PreScanRejected(_)) {
        return asked.iter().map(|call| format!("the host is asked for nothing here, but was: {call}")).collect();
    }
    let judged = case.containers.iter().filter(|container| case.is_judged(container)).map(|container| &container.image);
    let looked_up = judged.filter(|image| case.rule(&case.scan, "scan-result", image).action != "reject");
    let name = |image: &Image| if image.by_digest { image.by_content() } else { image.by_tag() };
    let missing = looked_up.map(name).filter(|name| !asked.contains(name));
    missing.map(|name| format!("the host was not asked for {name}")).collect()
}
