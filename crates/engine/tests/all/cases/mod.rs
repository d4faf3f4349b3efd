//! Random settings, requests and scan statuses, for every test that looks at the two phases.
//!
//! Nothing is parsed here: the canonical names of the images and prefixes that the cases are made of stand in two tables,
//! by hand.

mod cluster;

pub(crate) use cluster::Cluster;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// An image, and what its name means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Image {
    /// The name in the Pod, without the digest.
    pub(crate) name: &'static str,
    pub(crate) host: &'static str,
    pub(crate) repository: &'static str,
    pub(crate) tag: Option<&'static str>,
    /// The digit that its digest is made of; what one digest names has one status.
    pub(crate) content: char,
    /// Whether the digest is written in the Pod.
    pub(crate) by_digest: bool,
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

pub(crate) const IMAGES: [Image; 23] = [
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
    pub(crate) fn text(&self) -> String {
        if self.by_digest { format!("{}@{}", self.name, self.digest()) } else { self.name.to_owned() }
    }

    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", String::from(self.content).repeat(64))
    }

    /// The name that a registry knows it by, when it is asked for the tag.
    pub(crate) fn by_tag(&self) -> String {
        format!("{}/{}:{}", self.host, self.repository, self.tag.unwrap_or("latest"))
    }

    /// The name of what runs.
    pub(crate) fn by_content(&self) -> String {
        format!("{}/{}@{}", self.host, self.repository, self.digest())
    }
}

/// A prefix, and what it means for canonical names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefix {
    pub(crate) written: &'static str,
    pub(crate) canonical: &'static str,
}

const fn same(written: &'static str) -> Prefix {
    Prefix { written, canonical: written }
}

const fn means(written: &'static str, canonical: &'static str) -> Prefix {
    Prefix { written, canonical }
}

pub(crate) const PREFIXES: [Prefix; 40] = [
    same("g"),
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
    // Every tag: unless the entry accepts, a digest in the tag's place too.
    same("ghcr.io/team/app:"),
    same("docker.io/nginx:"),
    means("team/app:", "docker.io/team/app:"),
    means("Registry.Example.com:5000/team", "registry.example.com:5000/team"),
    same("localhost"),
    same("localhost/team/"),
];

/// What a registry and the scanner know about the content of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Status {
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
    /// Whether a failure is nobody's doing who names images: a tag that isn't there is.
    pub(crate) fn is_outage(self) -> bool {
        self != Self::Unresolvable
    }

    /// As `ScanReport.Status` says it.
    pub(crate) fn word(self) -> &'static str {
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
pub(crate) enum List {
    Init,
    Containers,
    Ephemeral,
    Volumes,
}

impl List {
    const ALL: [Self; 4] = [Self::Init, Self::Containers, Self::Ephemeral, Self::Volumes];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Containers => "containers",
            Self::Ephemeral => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }
}

/// A container, or a volume with an image.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    pub(crate) list: List,
    pub(crate) name: String,
    pub(crate) image: Image,
    /// What the engine should write in the image's place.
    pub(crate) pinned: Option<String>,
    pub(crate) old: Old,
}

/// What the old object has in a container's place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Old {
    Same,
    Absent,
    OtherImage(Image),
    /// The same image by its digest.
    Digest,
    OtherName,
    OtherList(List),
}

impl Container {
    /// What the old object has under the same name in the same list.
    fn image_before(&self) -> Option<Image> {
        match self.old {
            Old::Same => Some(self.image),
            Old::OtherImage(image) => Some(image),
            Old::Digest => Some(by_digest(self.image)),
            Old::OtherList(list) => (list == self.list).then_some(self.image),
            Old::Absent | Old::OtherName => None,
        }
    }

    /// The same string, the same digest of the same repository, or, in a template, the same tag in another spelling.
    fn is_unchanged(&self, change: Change) -> bool {
        self.image_before().is_some_and(|before| {
            let now = self.image;
            let is_same_digest = before.by_digest && now.by_digest && before.by_content() == now.by_content();
            let is_same_tag = !before.by_digest && !now.by_digest && before.by_tag() == now.by_tag();
            before.text() == now.text() || is_same_digest || is_same_tag && !change.is_pod()
        })
    }

    /// The container in the old object.
    pub(crate) fn before(&self) -> Option<Self> {
        let same = self.clone();
        match self.old {
            Old::Same => Some(same),
            Old::Absent => None,
            Old::OtherImage(image) => Some(Self { image, ..same }),
            Old::Digest => Some(Self { image: by_digest(self.image), ..same }),
            Old::OtherName => Some(Self { name: format!("old-{}", self.name), ..same }),
            Old::OtherList(list) => Some(Self { list, ..same }),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let image = self.pinned.clone().unwrap_or_else(|| self.image.text());
        if self.list == List::Volumes {
            return json!({"name": self.name, "image": {"reference": image, "pullPolicy": "Always"}});
        }
        json!({"name": self.name, "image": image, "args": ["serve"]})
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    CreatePod,
    UpdatePod,
    /// An update of the subresource `ephemeralcontainers`.
    AddEphemeral,
    CreateDeployment,
    UpdateDeployment,
}

impl Change {
    pub(crate) fn is_pod(self) -> bool {
        !matches!(self, Self::CreateDeployment | Self::UpdateDeployment)
    }
}

/// The keys that stand at the top level of a phase and in its namespaces alike; `None` is an absent key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    pub(crate) default_policy: Option<&'static str>,
    pub(crate) custom_policies: Option<Vec<(Prefix, &'static str)>>,
    pub(crate) report_pending: Option<&'static str>,
    pub(crate) scan_failed: Option<&'static str>,
    /// The keys that are written as null where they are absent, as YAML writes a key without a value.
    pub(crate) nulls: &'static [&'static str],
}

impl Level {
    pub(crate) fn json(&self) -> Value {
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
        for key in self.nulls {
            keys.entry(*key).or_insert(Value::Null);
        }
        Value::Object(keys)
    }
}

/// A phase; without anything, its key is absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phase {
    pub(crate) top: Level,
    pub(crate) by_namespace: BTreeMap<&'static str, Level>,
}

impl Phase {
    /// What holds in a namespace, with the name or the glob that it is written under: the name itself, else the glob with the
    /// most characters beside its `*`, then the fewest `*`, then the first by the alphabet.
    pub(crate) fn of_namespace(&self, namespace: &str) -> Option<(&'static str, &Level)> {
        let stars = |glob: &str| glob.matches('*').count();
        let globs = self.by_namespace.iter().filter(|(key, _)| stars(key) > 0 && stands_for(key, namespace));
        let best = globs.min_by_key(|(key, _)| (usize::MAX - (key.len() - stars(key)), stars(key), **key));
        let named = self.by_namespace.get_key_value(namespace).or(best.filter(|_| !namespace.is_empty()));
        named.map(|(key, level)| (*key, level))
    }

    pub(crate) fn json(&self) -> Value {
        let mut phase = self.top.json();
        if let (Some(keys), false) = (phase.as_object_mut(), self.by_namespace.is_empty()) {
            let namespaces = self.by_namespace.iter().map(|(name, level)| ((*name).to_owned(), level.json()));
            keys.insert("byNamespace".to_owned(), Value::Object(namespaces.collect()));
        }
        phase
    }
}

/// Whether a text is one that a glob stands for.
fn stands_for(glob: &str, text: &str) -> bool {
    match glob.split_once('*') {
        None => glob == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|end| (0..=end.len()).filter_map(|taken| end.get(taken..)).any(|end| stands_for(rest, end))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pin {
    WithAnnotations,
    WithoutAnnotations,
    Off,
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) pre_scan: Phase,
    pub(crate) scan: Phase,
    /// `scanPolicies`, or the older name.
    pub(crate) scan_key: &'static str,
    pub(crate) image_matching: Option<&'static str>,
    pub(crate) pin: Pin,
    pub(crate) change: Change,
    pub(crate) object_namespace: Option<&'static str>,
    pub(crate) request_namespace: Option<&'static str>,
    /// Whether the object comes with annotations, a forged one of the policy's own among them.
    pub(crate) annotated: bool,
    /// In the order of messages.
    pub(crate) containers: Vec<Container>,
    /// By the digit of the content.
    pub(crate) statuses: Vec<Status>,
}

impl Case {
    /// The object's namespace, else the request's.
    pub(crate) fn namespace(&self) -> &'static str {
        self.object_namespace.filter(|own| !own.is_empty()).or(self.request_namespace).unwrap_or("")
    }

    pub(crate) fn status(&self, image: &Image) -> Status {
        let digit = image.content.to_digit(16).and_then(|digit| usize::try_from(digit).ok());
        digit.and_then(|digit| self.statuses.get(digit)).copied().unwrap_or(Status::NoReport)
    }

    /// On an update, an image is judged unless the same list had the same image under the same name.
    pub(crate) fn is_judged(&self, container: &Container) -> bool {
        match self.change {
            Change::CreatePod | Change::CreateDeployment => true,
            _ => self.is_changed(container) && !self.is_kept(container),
        }
    }

    fn is_changed(&self, container: &Container) -> bool {
        match self.change {
            Change::CreatePod | Change::CreateDeployment => true,
            Change::UpdatePod | Change::UpdateDeployment => !container.is_unchanged(self.change),
            Change::AddEphemeral => container.list == List::Ephemeral && !container.is_unchanged(self.change),
        }
    }

    /// Whether the registry is asked what the tag stands for, to compare it with the digest that was there. In a Pod that helps
    /// nobody unless the digest is written back.
    pub(crate) fn is_compared(&self, container: &Container) -> bool {
        let is_of_digest = |before: Image| {
            let now = container.image;
            before.by_digest && !now.by_digest && (before.host, before.repository) == (now.host, now.repository)
        };
        let is_update = !matches!(self.change, Change::CreatePod | Change::CreateDeployment);
        is_update
            && self.is_changed(container)
            && container.image_before().is_some_and(is_of_digest)
            && (!self.change.is_pod() || self.pin != Pin::Off)
    }

    /// Whether the tag stands for that digest, which a Pod keeps.
    pub(crate) fn is_kept(&self, container: &Container) -> bool {
        self.is_compared(container)
            && container.image_before().is_some_and(|before| before.content == container.image.content)
            && self.status(&container.image) != Status::Unresolvable
    }

    pub(crate) fn settings(&self) -> Value {
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
        // Those that stand for hosts inside of a network are asked only when they are named.
        let hosts: BTreeSet<&str> = IMAGES.iter().map(|image| image.host).collect();
        settings.insert("registries".to_owned(), json!(hosts));
        Value::Object(settings)
    }

    pub(crate) fn request(&self) -> Value {
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

    pub(crate) fn annotations(&self) -> Map<String, Value> {
        let annotations = [("team", "blue"), ("admission.sysdig.com/container-1-original-image", "forged")];
        let there = annotations.into_iter().filter(|_| self.annotated);
        there.map(|(key, value)| (key.to_owned(), value.into())).collect()
    }

    pub(crate) fn object(&self, containers: &[Container], annotations: &Map<String, Value>) -> Value {
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

impl Image {
    /// Whether a custom policy matches it.
    pub(crate) fn matches(&self, prefix: &Prefix, action: &str, image_matching: Option<&str>) -> bool {
        let of_digest = |prefix: &str| match prefix.strip_suffix(':') {
            Some(name) if ["reject", "scan", "scan-result"].contains(&action) => format!("{name}@"),
            _ => prefix.to_owned(),
        };
        if image_matching == Some("raw") {
            let starts = [prefix.written, &of_digest(prefix.written)];
            return self
                .texts(action == "reject")
                .iter()
                .any(|text| starts.iter().any(|start| text.starts_with(start)));
        }
        let starts = [prefix.canonical, &of_digest(prefix.canonical)];
        self.names(action == "reject").iter().any(|name| starts.iter().any(|start| name.starts_with(start)))
    }

    /// What stands in the Pod, as `raw` compares it: without the tag beside a digest, and for the entries that reject with it too.
    fn texts(&self, with_the_tag_too: bool) -> Vec<String> {
        let tag = self.tag.filter(|_| self.by_digest).map(|tag| format!(":{tag}")).unwrap_or_default();
        let without_tag = Self { name: self.name.strip_suffix(&tag).unwrap_or(self.name), ..*self };
        let with_tag = with_the_tag_too.then(|| self.text());
        with_tag.into_iter().chain([without_tag.text()]).collect()
    }

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

// === Generators ===

// Rejections are rare, so that most cases get past pre-scan with several images.
const PRE_SCAN_ACTIONS: [&str; 9] = ["accept", "accept", "accept", "accept", "scan", "scan", "scan", "scan", "reject"];
const SCAN_ACTIONS: [&str; 7] =
    ["scan-result", "scan-result", "scan-result", "scan-result", "accept", "accept", "reject"];
const FALLBACKS: [&str; 2] = ["accept", "reject"];
const FAILURE_FALLBACKS: [&str; 3] = ["accept", "accept-outages", "reject"];
const KEYS: [&str; 4] = ["defaultPolicy", "customPolicies", "reportPending", "scanFailed"];
/// Names and globs; several of them match `prod`, and some are as exact as each other.
const NAMESPACES: [&str; 9] = ["prod", "prod", "dev", "dev", "pr*", "*od", "p*d", "*d*", "*"];

fn level(actions: &'static [&'static str], with_status: bool) -> impl Strategy<Value = Level> {
    let fallback = move |choices: &'static [&'static str]| {
        prop::option::of(select(choices)).prop_map(move |choice| choice.filter(|_| with_status))
    };
    let custom_policies = vec((select(&PREFIXES), select(actions)), 0..8);
    let keys: &[&str] = if with_status { &KEYS } else { &["defaultPolicy", "customPolicies"] };
    let nulls = select(vec![&[], keys]);
    let level = (
        prop::option::of(select(actions)),
        prop::option::weighted(0.75, custom_policies),
        fallback(&FALLBACKS),
        fallback(&FAILURE_FALLBACKS),
        nulls,
    );
    level.prop_map(|(default_policy, custom_policies, report_pending, scan_failed, nulls)| Level {
        default_policy,
        custom_policies,
        report_pending,
        scan_failed,
        nulls,
    })
}

fn phase(actions: &'static [&'static str], with_status: bool) -> impl Strategy<Value = Phase> {
    let namespaces = btree_map(select(&NAMESPACES), level(actions, with_status), 0..5);
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
        1 => Just(Old::Digest),
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

pub(crate) fn case() -> impl Strategy<Value = Case> {
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
    // `staging` is in no settings by its name.
    let namespace = || prop::option::weighted(0.8, select(&["prod", "prod", "dev", "staging", ""]));
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
