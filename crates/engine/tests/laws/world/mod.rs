//! Worlds in which everything goes together: settings, a request, and what registries, scanners, signers and the cluster hold.
//!
//! A world is made of parts that a law can change: a switch of the settings, a container, a finding, a thing that is there.
//! All dates are told from the world's own present.

mod content;
mod settings;
mod signers;
mod things;
mod workload;

pub(crate) use content::{Content, Finding, IMAGES, Progress};
pub(crate) use settings::Switch;
pub(crate) use signers::{OTHER_KEY, TEAM_KEY};
pub(crate) use things::{Role, Thing};
pub(crate) use workload::{Container, Form, LISTS, Workload};

use content::content;
use image_admission_engine::{validate, validate_settings};
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};
use settings::switches;
use things::{OWN_API, things};
use workload::workload;

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) switches: Vec<Switch>,
    pub(crate) workload: Workload,
    /// What is at the names of [`IMAGES`], in their order.
    pub(crate) contents: Vec<Content>,
    /// `ImageExemption` objects.
    pub(crate) exemptions: Vec<Value>,
    /// Whether `alice` has the right to break the glass.
    pub(crate) may_break: bool,
    /// Things that were taken away.
    pub(crate) without: Vec<Thing>,
    /// Whether lists of the cluster, and of findings, have the opposite order.
    pub(crate) is_reversed: bool,
    /// How many seconds after its present it is asked about.
    pub(crate) later: i64,
}

/// What the engine answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) bytes: String,
    pub(crate) response: Value,
}

impl Answer {
    pub(crate) fn is_admitted(&self) -> bool {
        self.response["accepted"] == true
    }

    pub(crate) fn message(&self) -> &str {
        self.response["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.message().contains("scan report is pending")
    }

    /// The audit annotations of images with one of these ends.
    pub(crate) fn audit(&self, ends: &[&str]) -> Vec<(&str, &str)> {
        let annotations = self.response["audit_annotations"].as_object().into_iter().flatten();
        let told = annotations.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        told.filter(|(key, _)| ends.iter().any(|end| key.ends_with(end))).collect()
    }
}

impl World {
    pub(crate) fn settings(&self) -> Value {
        let mut settings = json!({});
        for switch in &self.switches {
            switch.set(&mut settings);
        }
        settings
    }

    pub(crate) fn payload(&self) -> String {
        json!({"request": self.workload.request(self), "settings": self.settings()}).to_string()
    }

    /// Everything that is there.
    pub(crate) fn things(&self) -> Vec<Thing> {
        let mut things = things(self);
        things.retain(|thing| !self.without.contains(thing));
        if self.is_reversed {
            things.reverse();
        }
        things
    }

    pub(crate) fn host(&self) -> StubHost {
        let host = self.things().into_iter().fold(StubHost::default(), |host, thing| thing.tell(host));
        if self.may_break { host.may("alice") } else { host }
    }

    pub(crate) fn decide(&self) -> Answer {
        self.decide_with(&self.payload(), &self.host())
    }

    /// The same with another payload, or with a host that remembers what it was asked.
    pub(crate) fn decide_with(&self, payload: &str, host: &StubHost) -> Answer {
        let at = Timestamp(self.now.0 + self.later);
        let bytes = validate(payload.as_bytes(), &WireHost(host.wire()), at).response;
        let response = serde_json::from_slice(&bytes).unwrap();
        Answer { bytes: String::from_utf8(bytes).unwrap(), response }
    }

    /// The names of the sources of reports.
    pub(crate) fn sources(&self) -> Vec<String> {
        let sources = self.setting("reports.sources").unwrap_or_else(|| json!([{"sbomscanner": {}}]));
        sources.as_array().unwrap().iter().flat_map(|source| source.as_object().unwrap().keys().cloned()).collect()
    }

    /// The same world, where images without a report, and those whose scan failed, are rejected: Pods, since a controller is admitted
    /// without a report, and its Pods wait.
    pub(crate) fn forgiving_nothing(&self) -> Self {
        self.with(|world| {
            for path in ["scanPolicies.reportPending", "scanPolicies.scanFailed", "scanPolicies.byNamespace"] {
                world.switch_off(path);
            }
            world.workload.kind = "Pod";
        })
    }

    /// The same world with some of it changed.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut world = self.clone();
        change(&mut world);
        world
    }

    /// What a switch is at, if it is on.
    pub(crate) fn setting(&self, path: &str) -> Option<Value> {
        let pointer = format!("/{}", path.replace('.', "/"));
        self.settings().pointer(&pointer).cloned()
    }

    /// Whether a switch is on, or one below it.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.setting(path).is_some()
    }

    /// Puts a switch at a value.
    pub(crate) fn switch(&mut self, path: &str, value: Value) {
        self.switches.retain(|switch| switch.path != path);
        self.switches.push(Switch { path: path.to_owned(), value });
    }

    /// Puts the whole settings in the place of all switches.
    pub(crate) fn set(&mut self, settings: &Value) {
        self.switches = vec![Switch { path: String::new(), value: settings.clone() }];
    }

    /// Takes a switch out.
    pub(crate) fn switch_off(&mut self, path: &str) {
        self.switches.retain(|switch| !switch.path.starts_with(path));
    }

    /// Whether its settings can be deployed.
    pub(crate) fn is_valid(&self) -> bool {
        self.problems().is_none()
    }

    fn problems(&self) -> Option<String> {
        let answer = validate_settings(self.settings().to_string().as_bytes()).response;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        answer["message"].as_str().map(str::to_owned)
    }

    /// The switches that can't be together are taken out: the settings have no word against them then.
    fn made_valid(mut self) -> Self {
        loop {
            let Some(problems) = self.problems() else { return self };
            let before = self.switches.len();
            self.switches.retain(|switch| !problems.lines().any(|problem| problem.starts_with(&switch.path)));
            assert_ne!(self.switches.len(), before, "no switch is to blame: {problems}\n{:#}", self.settings());
        }
    }
}

/// What a time was so many hours before another.
pub(crate) fn ago(now: Timestamp, hours: i64) -> String {
    Timestamp(now.0 - hours * 3_600).to_string()
}

/// The day so many days after a time.
pub(crate) fn day(now: Timestamp, days: i64) -> String {
    Timestamp(now.0 + days * 86_400).day()
}

/// Worlds of that time.
pub(crate) fn worlds(now: Timestamp) -> impl Strategy<Value = World> {
    let contents: Vec<_> = (0..IMAGES.len()).map(|_| content()).collect();
    let exemptions = subsequence(exemptions(now), 0..=3);
    let parts = (switches(now), workload(), contents, exemptions, any::<bool>());
    parts.prop_map(move |(switches, workload, contents, exemptions, may_break)| {
        let (without, is_reversed, later) = (Vec::new(), false, 0);
        World { now, switches, workload, contents, exemptions, may_break, without, is_reversed, later }.made_valid()
    })
}

/// Objects that exempt: within all bounds, from another namespace, too late, and too long.
fn exemptions(now: Timestamp) -> Vec<Value> {
    let object = |name: &str, namespace: &str, made: i64, mut spec: Value| {
        spec["reason"] = json!(format!("TICKET-{name}"));
        json!({"apiVersion": OWN_API, "kind": "ImageExemption", "spec": spec,
               "metadata": {"name": name, "namespace": namespace, "creationTimestamp": ago(now, made)}})
    };
    vec![
        object("web", "web", 48, json!({"vulnerability": "CVE-2026-1", "expires": day(now, 9), "approvedBy": "alice"})),
        object(
            "all",
            "kubewarden",
            48,
            json!({"vulnerability": "CVE-2026-*", "expires": day(now, 3), "approvedBy": "bob"}),
        ),
        object("ended", "web", 900, json!({"vulnerability": "CVE-2026-2", "expires": day(now, -2)})),
        object(
            "long",
            "kubewarden",
            48,
            json!({"vulnerabilities": ["CVE-2026-3", "CVE-2026-4"], "expires": day(now, 300)}),
        ),
    ]
}
