//! The two phases against a model of them: random settings, requests and scan statuses; the engine's answer must be the
//! model's.
//!
//! The model is written from the contract of the phases and shares nothing with the engine.
//!
//! `TWO_PHASES_CASES=100000 cargo test --test all two_phases` looks harder than the 2,000 cases of a plain run.

use crate::cases::{Case, Change, Cluster, Container, Image, Level, List, Phase, Pin, Status, case};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_untrusted::time::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestError, TestRunner};
use serde_json::{Value, json};
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
    /// The same without a question that the scan phase has: digests that were there are kept.
    Kept(Value),
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
            Self::Kept(object) => write!(f, "allowed, and kept: {object:#}"),
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
    let kept = case.containers.iter().filter(|container| case.is_kept(container) && case.change.is_pod());
    let kept: Vec<&Container> = kept.collect();
    if judged.is_empty() {
        return if kept.is_empty() { Expected::NothingToJudge } else { Expected::Kept(case.pinned_object(&kept)) };
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
        return if kept.is_empty() { Expected::PreScanAccepted } else { Expected::Kept(case.pinned_object(&kept)) };
    }

    let lines: Vec<String> = judged.iter().filter_map(|container| case.scan_line(container)).collect();
    if !lines.is_empty() {
        return Expected::ScanRejected(lines);
    }
    let pins = judged.into_iter().filter(|container| case.is_pinned(container));
    let pins: Vec<&Container> = pins.chain(kept).collect();
    if pins.is_empty() { Expected::NotPinned } else { Expected::Pinned(case.pinned_object(&pins)) }
}

impl Case {
    /// The first custom policy that matches, of the namespace if it has a list, else of the top level; else a default.
    fn rule(&self, phase: &Phase, fallback: &'static str, image: &Image) -> Rule {
        let namespace = self.namespace();
        let own = phase.of_namespace(namespace).map(|(_, level)| level);
        let of_namespace = format!("Namespace '{namespace}'");

        let (list, place) = match own.and_then(|level| level.custom_policies.as_ref()) {
            Some(list) => (Some(list), of_namespace.as_str()),
            None => (phase.top.custom_policies.as_ref(), "Global"),
        };
        if let Some((prefix, action)) =
            list.into_iter().flatten().find(|(prefix, action)| image.matches(prefix, action, self.image_matching))
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
            _ => {
                let is_forgiven = match self.fallback(|level| level.scan_failed) {
                    "accept" => true,
                    "accept-outages" => self.status(&container.image).is_outage(),
                    _ => false,
                };
                (!is_forgiven).then_some("scan failed")
            }
        };
        let (name, scope) = (&container.name, rule.scope);
        let denial = |reason| format!("Image '{image}' REJECTED. {scope} - {reason}");
        reason.map(|reason| {
            format!("Image '{image}' for container '{name}' failed scan policy check: {}", denial(reason))
        })
    }

    /// The namespace's value, the top level's, `reject`.
    fn fallback(&self, key: fn(&Level) -> Option<&'static str>) -> &'static str {
        let own = self.scan.of_namespace(self.namespace()).map(|(_, level)| level);
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

impl List {
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

// === The property ===

/// What the cases of a run must have been about, in the words of the model's answers: a property that holds because
/// nothing interesting was tried holds for nothing.
const REACHED: [&str; 24] = [
    "allowed: nothing to judge",
    "allowed: accepted by pre-scan",
    "allowed: nothing to pin",
    "allowed, and kept",
    "REJECTED. Global default policy",
    "REJECTED. Global custom policy (prefix '",
    "REJECTED. Namespace 'prod' default policy",
    // By a glob alone.
    "REJECTED. Namespace 'staging' default policy",
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
    let host = Cluster::new(case);
    let payload = json!({"request": request, "settings": settings}).to_string();
    let response = validate(payload.as_bytes(), &WireHost(host.stub.wire()), Timestamp(1_790_000_000)).response;
    let answer: Value = serde_json::from_slice(&response).map_err(|error| TestCaseError::fail(error.to_string()))?;

    let mut wrongs = host.wrongs();
    wrongs.extend(differences(expected, &answer).into_iter().map(str::to_owned));
    wrongs.extend(calls_amiss(case, expected, &host.asked()));
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
        Expected::Pinned(object) | Expected::Kept(object) => (true, message.is_empty(), Some(object)),
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
    if matches!(
        expected,
        Expected::NothingToJudge | Expected::PreScanAccepted | Expected::PreScanRejected(_) | Expected::Kept(_)
    ) {
        let compared = case.containers.iter().filter(|container| case.is_compared(container));
        let compared: Vec<String> = compared.map(|container| container.image.by_tag()).collect();
        let amiss = asked.iter().filter(|call| !compared.contains(call));
        return amiss.map(|call| format!("the host is asked for nothing here, but was: {call}")).collect();
    }
    let judged = case.containers.iter().filter(|container| case.is_judged(container)).map(|container| &container.image);
    let looked_up = judged.filter(|image| case.rule(&case.scan, "scan-result", image).action != "reject");
    let name = |image: &Image| if image.by_digest { image.by_content() } else { image.by_tag() };
    let missing = looked_up.map(name).filter(|name| !asked.contains(name));
    missing.map(|name| format!("the host was not asked for {name}")).collect()
}
