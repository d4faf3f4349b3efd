//! What rejects a request, which settings decided, and what would undo it.

use super::change::{Action, Edit, path_of, position};
use super::{Advice, Cause, Decider, FilledBy, Opens, Whose, Why, advise, left_out};
use image_admission_engine::{
    AdmissionRequest, Decision, JudgedImage, Outcome, PreScanRejection, ScanOutcome, VerificationFailure,
    VerificationOutcome,
};
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{ImageReference, WorkloadImage};
use image_admission_judgement::reason::{
    Decisive, Denial, ExceededLimit, ExceededSetting, ImageWarning, LicenseFault, LookUpFailure, NamedByMirror,
    Rejection, ReportState, ScanReason, ScanStatus, UnreadableReport, Unresolved, Untold, Unverified,
};
use image_admission_judgement::report::{PlatformReport, ScanReport};
use image_admission_judgement::resolve::may_ask;
use image_admission_settings::policy::Rule;
use image_admission_settings::{
    ForgivenBy, ImageMatching, Limit, Limits, PhaseAction, Platforms, ScanAction, Settings, Severity, UNSAID_REASON,
};
use image_admission_untrusted::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The most vulnerabilities for which an exemption is proposed; beyond that, a higher limit is.
const MAX_EXEMPTED: usize = 5;
/// The duration of a proposed exemption, in seconds: thirty days.
const EXEMPTED_FOR: i64 = 30 * 24 * 3600;

/// Everything that rejects a request by itself; nothing for an admitted one. `before` are the settings without any tried change.
pub(super) fn causes(
    decision: &Decision,
    request: Option<&RawValue>,
    written: &Value,
    settings: &Settings,
    before: &Settings,
) -> Vec<Cause> {
    let namespace = namespace_of(request);
    let at = At { written, settings, before, namespace: &namespace, now: decision.decided_at };
    let mut causes = at.outcome(decision);
    causes.extend(at.verification(decision));
    if decision.outcome == Outcome::Scanned {
        causes.extend(decision.images.iter().filter_map(|judged| at.scan(judged)));
        causes.extend(decision.images.iter().filter_map(|judged| at.custom(judged)));
    }
    causes.extend(at.policies(decision));
    let mut causes = placed(causes, decision);
    let request = AdmissionRequest::read(request).ok();
    let workload = request.and_then(|request| WorkloadKind::of(&request.group, &request.kind));
    for cause in &mut causes {
        recognise_placeholder(cause, workload);
    }
    causes
}

/// Finds which webhook fills a placeholder image: Istio injects its gateways instead of `auto`, and OpenShift's image triggers fill
/// a blank.
fn recognise_placeholder(cause: &mut Cause, workload: Option<WorkloadKind>) {
    let filled_by = match cause.image.as_deref().map(str::trim) {
        Some("auto") => FilledBy::Istio,
        Some("") => FilledBy::OpenShift,
        _ => return,
    };
    if workload.is_some_and(WorkloadKind::is_template) {
        let text = cause.image.as_deref().unwrap_or_default().trim();
        cause.undo = vec![Edit::new(&["placeholders"], Action::Append(json!(text)), Opens::Placeholder(filled_by))];
        cause.advice.insert(0, Advice::NamePlaceholder(filled_by));
    } else {
        cause.advice.insert(0, Advice::FillPlaceholder(filled_by));
    }
}

/// What the Pods of an admitted workload wait for; nothing if they don't wait, or if it is rejected.
pub(super) fn waiting(
    decision: &Decision,
    request: Option<&RawValue>,
    written: &Value,
    settings: &Settings,
) -> Vec<Cause> {
    if !decision.is_allowed() {
        return Vec::new();
    }
    let namespace = namespace_of(request);
    let at = At { written, settings, before: settings, namespace: &namespace, now: decision.decided_at };
    let waiting = decision.images.iter().filter_map(|judged| {
        let scan = judged.scan.as_ref()?;
        if !matches!(scan.warning, Some(ImageWarning::PodsWait(..))) {
            return None;
        }
        // The reason that its Pods will get.
        let mut cause = at.denied(judged, scan, Denial::ReportPending)?;
        cause.advice = cause.advice.into_iter().map(|advice| Advice::ForPods(Box::new(advice))).collect();
        Some(cause)
    });
    placed(waiting.collect(), decision)
}

/// Each cause once, with the places of its image in the object.
fn placed(causes: Vec<Cause>, decision: &Decision) -> Vec<Cause> {
    let wrong = match &decision.outcome {
        Outcome::NotImages(images) => images.iter().collect(),
        Outcome::NamedByMirrors(images) => images.iter().map(|(image, _)| image).collect(),
        _ => Vec::new(),
    };
    let mut different: Vec<Cause> = Vec::new();
    for mut cause in causes {
        let images = decision.images.iter().map(|judged| &judged.image).chain(wrong.iter().copied());
        let own = images.filter(|image| cause.image.as_ref() == Some(&image.text));
        cause.places = own.map(WorkloadImage::place).collect();
        // Two containers of one image have one cause.
        if !different.contains(&cause) {
            different.push(cause);
        }
    }
    different
}

/// The gate of `acceptance` with this limit, if its action may be `warn`.
fn gate_that_can_warn(setting: &ExceededSetting) -> Option<&'static str> {
    match setting {
        ExceededSetting::KnownExploited(_) => Some("knownExploited"),
        ExceededSetting::Epss(..) => Some("epss"),
        ExceededSetting::EndOfLife(_) => Some("endOfLife"),
        ExceededSetting::Packages(_) => Some("packages"),
        ExceededSetting::Licenses(..) => Some("licenses"),
        ExceededSetting::MaxSeverity(..)
        | ExceededSetting::CvssScore(_)
        | ExceededSetting::DenyAlways
        | ExceededSetting::OwnVerdict => None,
    }
}

/// The gates of `acceptance` whose values the reports, or a list of the cluster, lack.
fn gates_in_vain(report: &ScanReport) -> BTreeSet<&'static str> {
    let gate = |platform: &PlatformReport| match &platform.reason.what {
        Decisive::Unreadable(UnreadableReport::Untold(Untold::Exploited))
        | Decisive::LookUpFailed(LookUpFailure::List(_)) => Some("knownExploited"),
        Decisive::Unreadable(UnreadableReport::Untold(Untold::Denied)) => Some("denyAlways"),
        Decisive::Unreadable(UnreadableReport::Untold(Untold::Epss)) => Some("epss"),
        Decisive::Unreadable(UnreadableReport::Untold(Untold::EndOfLife)) => Some("endOfLife"),
        _ => None,
    };
    report.platforms.iter().filter_map(gate).collect()
}

/// The setting of a gate for the action if a limit is exceeded.
fn action_of(setting: &ExceededSetting) -> &'static str {
    match setting {
        ExceededSetting::Licenses(LicenseFault::Unknown, _) => "unknown",
        _ => "action",
    }
}

/// A gate as it is written, but with the action `warn` in these settings of it.
fn warning(written: Option<&Value>, actions: &[&'static str]) -> Value {
    match written {
        Some(Value::Object(gate)) => {
            let mut gate = gate.clone();
            gate.extend(actions.iter().map(|action| ((*action).to_owned(), json!("warn"))));
            Value::Object(gate)
        }
        _ => json!("warn"),
    }
}

fn namespace_of(request: Option<&RawValue>) -> String {
    let Ok(request) = AdmissionRequest::read(request) else { return String::new() };
    match request.object() {
        Ok(object) => request.namespace_of(&object).to_owned(),
        Err(_) => request.namespace.clone(),
    }
}

/// The context of the causes: the settings, and the request's namespace.
struct At<'s> {
    written: &'s Value,
    settings: &'s Settings,
    /// The settings before any change.
    before: &'s Settings,
    namespace: &'s str,
    now: Timestamp,
}

impl<'s> At<'s> {
    /// What rejects the request as a whole, and the images that pre-scan rejects.
    fn outcome(&self, decision: &Decision) -> Vec<Cause> {
        let no_setting = |why: Why| {
            let advice = vec![Advice::RepairObject];
            Cause { image: None, places: Vec::new(), why, decided_by: Vec::new(), advice, undo: Vec::new() }
        };
        match &decision.outcome {
            Outcome::GlassBroken(_)
            | Outcome::NothingToJudge(_)
            | Outcome::PreScanAccepted
            | Outcome::Scanned
            | Outcome::NotVerified => Vec::new(),
            Outcome::UnreadableRequest(unreadable) => vec![no_setting(Why::UnreadableRequest(unreadable.clone()))],
            Outcome::UnreadableObject(unreadable) => vec![no_setting(Why::UnreadableObject(unreadable.clone()))],
            Outcome::NotImages(images) => {
                let cause = |image: &WorkloadImage| {
                    let why = Why::NotAnImage(image.reference.as_ref().err()?.clone());
                    Some(Cause { image: Some(image.text.clone()), ..no_setting(why) })
                };
                images.iter().filter_map(cause).collect()
            }
            Outcome::NamedByMirrors(images) => {
                let cause = |(image, why): &(WorkloadImage, NamedByMirror)| Cause {
                    image: Some(image.text.clone()),
                    decided_by: vec![self.decider(&["registries"], Value::Null)],
                    advice: vec![Advice::NameRegistry],
                    ..no_setting(Why::NamedByMirror(why.clone()))
                };
                images.iter().map(cause).collect()
            }
            Outcome::TooManyImages { images, max } => vec![Cause {
                image: None,
                places: Vec::new(),
                why: Why::TooManyImages { images: *images, max: *max },
                decided_by: vec![self.decider(&["maxImages"], json!(max))],
                advice: vec![Advice::Split(*max)],
                undo: vec![Edit::new(&["maxImages"], Action::Set(json!(images)), Opens::Images(*images))],
            }],
            Outcome::TooManyHostCalls { images, max } => {
                let more = max.saturating_mul(2);
                vec![Cause {
                    image: None,
                    places: Vec::new(),
                    why: Why::TooManyHostCalls { images: *images, max: *max },
                    decided_by: vec![self.decider(&["maxHostCalls"], json!(max))],
                    advice: vec![Advice::AskForLess],
                    undo: vec![Edit::new(&["maxHostCalls"], Action::Set(json!(more)), Opens::HostCalls(more))],
                }]
            }
            Outcome::TooMuchMemory => vec![no_setting(Why::TooMuchMemory)],
            Outcome::PreScanRejected(why) => self.pre_scan(decision, why),
        }
    }

    fn pre_scan(&self, decision: &Decision, why: &PreScanRejection) -> Vec<Cause> {
        let mut causes = Vec::new();
        // An image that custom rules admit is no cause.
        for judged in decision.images.iter().filter(|_| why.by_policies) {
            let Some(Rejection { policy: rule, .. }) = judged.pre_scan_rejection() else { continue };
            causes.push(Cause {
                image: Some(judged.image.text.clone()),
                places: Vec::new(),
                why: Why::PreScan,
                decided_by: vec![self.rule("preScanPolicies", rule)],
                advice: vec![Advice::TakeAnother("preScanPolicies")],
                undo: self.entry("preScanPolicies", judged, "scan").into_iter().collect(),
            });
        }
        for reason in &why.by_rules {
            causes.push(Cause {
                image: None,
                places: Vec::new(),
                why: Why::PreScanRules(reason.clone()),
                decided_by: vec![rules("preCustomRules")],
                advice: of_custom_rules([reason], "`preCustomRules`"),
                undo: Vec::new(),
            });
        }
        causes
    }

    /// The policies of `imageVerification` that reject.
    fn verification(&self, decision: &Decision) -> Vec<Cause> {
        let rejecting = decision.verification.iter().filter(|outcome| outcome.rejects());
        let causes = rejecting.map(|outcome| {
            let entries = self.find(&["imageVerification"]).and_then(Value::as_array).into_iter().flatten();
            let name = |entry: &Value| entry.pointer("/metadata/name").or(entry.get("name")).cloned();
            let position = entries.into_iter().position(|entry| name(entry) == Some(json!(outcome.name)));
            let entry = format!("[{}]", position.unwrap_or_default());
            let mut keys = vec!["imageVerification", &entry];
            if self.find(&[keys.as_slice(), &["spec"]].concat()).is_some() {
                keys.push("spec");
            }
            let shipped = [keys.as_slice(), &["validationActions"]].concat();
            let own = [keys.as_slice(), &["failureAction"]].concat();
            let (action, warn) = match self.find(&shipped) {
                Some(_) => (shipped, json!(["Warn"])),
                None => (own, json!("Warn")),
            };
            Cause {
                image: None,
                places: Vec::new(),
                why: Why::Verification(outcome.message().unwrap_or_default()),
                decided_by: vec![
                    Decider { path: path_of(&keys), value: json!(outcome.name), is_default: false },
                    self.decider(&action, json!("Enforce")),
                ],
                advice: advise::about_verification(outcome),
                undo: vec![
                    self.left_out(&keys, outcome, decision)
                        .unwrap_or_else(|| Edit::new(&action, Action::Set(warn), Opens::Warned(outcome.name.clone()))),
                ],
            }
        });
        causes.collect()
    }

    /// What makes a policy hold, the narrowest first: it leaves out the images that it rejects, or the namespace.
    fn left_out(&self, keys: &[&str], outcome: &VerificationOutcome, decision: &Decision) -> Option<Edit> {
        let (policy, name) = (self.find(keys)?, outcome.name.as_str());
        let written = left_out::Written { keys, policy, name, namespace: self.namespace };
        let images = unverified_images(outcome, decision);
        written.repositories(&images).or_else(|| written.namespace())
    }

    /// The policies in Rego that reject. No change is proposed: removing one would admit everything that it is about.
    fn policies(&self, decision: &Decision) -> Vec<Cause> {
        let rejecting = decision.policies.iter().filter(|policy| policy.rejects());
        let causes = rejecting.map(|policy| {
            let said: Vec<String> = policy.denials.iter().chain(&policy.error).cloned().collect();
            let (keys, names) = self.policy(&policy.name);
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let first = names.first().map(String::as_str).unwrap_or_default();
            let path = match self
                .find(&keys)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .position(|entry| is_named(entry, first))
            {
                Some(position) => format!("{}[{position}]", path_of(&keys)),
                None => path_of(&[keys.as_slice(), &[first]].concat()),
            };
            Cause {
                image: None,
                places: Vec::new(),
                why: Why::Policy { name: policy.name.clone(), said },
                decided_by: vec![Decider { path, value: json!(policy.name), is_default: false }],
                advice: rules_advice(
                    policy.error.is_some(),
                    !policy.denials.is_empty(),
                    format!("policy {}", policy.name),
                ),
                undo: Vec::new(),
            }
        });
        causes.collect()
    }

    /// Where a policy in Rego is written: the list that it is an entry of, or the object and its keys in a Conftest ConfigMap; and
    /// its name, or these keys.
    fn policy(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let keys = ["rego", "kinds"].map(|end| format!("conftest.policy.{name}.{end}"));
        let length = self.find(&["regoPolicies"]).and_then(Value::as_array).map_or(0, Vec::len);
        let positions: Vec<String> = (0..length).map(|position| format!("[{position}]")).collect();
        let mut places: Vec<Vec<&str>> = vec![Vec::new(), vec!["regoPolicies"], vec!["regoPolicies", "data"]];
        for position in &positions {
            places.push(vec!["regoPolicies", position]);
            places.push(vec!["regoPolicies", position, "data"]);
        }
        let has_keys = |place: &&Vec<&str>| self.find(&[place.as_slice(), &[&keys[0]]].concat()).is_some();
        match places.iter().find(has_keys) {
            Some(place) => (place.iter().map(|key| (*key).to_owned()).collect(), keys.to_vec()),
            None => (vec!["regoPolicies".to_owned()], vec![name.to_owned()]),
        }
    }

    /// Why custom rules of the scan phase reject an image.
    fn custom(&self, judged: &JudgedImage) -> Option<Cause> {
        let scan = judged.scan.as_ref().filter(|scan| !scan.custom.is_empty())?;
        Some(Cause {
            image: Some(judged.image.text.clone()),
            places: Vec::new(),
            why: Why::ScanRules(scan.custom.iter().cloned().collect()),
            decided_by: vec![rules("customRules")],
            advice: of_custom_rules(&scan.custom, "`customRules`"),
            undo: Vec::new(),
        })
    }

    /// Why the scan phase rejects an image.
    fn scan(&self, judged: &JudgedImage) -> Option<Cause> {
        let scan = judged.scan.as_ref()?;
        self.denied(judged, scan, scan.denied?)
    }

    /// The cause for an image that the scan phase denies for this reason.
    fn denied(&self, judged: &JudgedImage, scan: &ScanOutcome, denied: Denial) -> Option<Cause> {
        let rule = scan.rule.as_ref()?;
        let phase = self.scan_key();
        let mut cause = Cause {
            image: Some(judged.image.text.clone()),
            places: Vec::new(),
            why: Why::Scan(denied, None),
            decided_by: vec![self.rule(phase, rule)],
            advice: vec![Advice::TakeAnother(phase)],
            undo: Vec::new(),
        };
        let Some(report) = scan.report.as_ref().filter(|_| rule.action == ScanAction::ScanResult) else {
            cause.undo.extend(self.entry(phase, judged, "scan-result"));
            return Some(cause);
        };
        cause.why = Why::Scan(denied, Some(report.reason.clone()));
        cause.advice = advise::about_report(report, self.settings);
        match report.status {
            ScanStatus::Rejected | ScanStatus::Accepted => self.over_limits(judged, report, &mut cause),
            ScanStatus::ReportNotAvailable => {
                if report.state == ReportState::Stale {
                    cause.decided_by.push(self.decider(&["reports", "maxAge"], Value::Null));
                }
                self.fallback(phase, ("reportPending", "accept"), Opens::Pending(self.whose()), &mut cause);
            }
            ScanStatus::ScanFailed if !gates_in_vain(report).is_empty() => {
                for gate in gates_in_vain(report) {
                    cause.decided_by.push(self.gate(gate, &[], json!("reject")));
                    cause.undo.push(self.warning_gate(gate, &["action"]));
                }
            }
            ScanStatus::ScanFailed => {
                if may_ask(&judged.reference, self.settings).is_ok() {
                    if is_by_platforms(report) && self.settings.reports.platforms != Platforms::All {
                        cause.decided_by.push(self.decider(&["reports", "platforms"], json!("all")));
                        let all = Action::Set(json!("all"));
                        cause.undo.push(Edit::new(&["reports", "platforms"], all, Opens::EveryPlatform));
                    } else if may_ask(&judged.reference, self.before).is_ok() {
                        // A registry that the change lists is only called. Its failures aren't forgiven.
                        self.failure_fallback(phase, report.forgiven_by, &mut cause);
                    }
                } else {
                    cause.decided_by.push(self.decider(&["registries"], json!([])));
                    let host = judged.reference.host();
                    // An empty list allows every registry except those inside the network. With one entry, it allows only that one.
                    let is_only = self.settings.registries.is_empty();
                    let opens = Opens::Registry { host: host.to_owned(), is_only };
                    cause.undo.push(Edit::new(&["registries"], Action::Append(json!(host)), opens));
                }
            }
        }
        Some(cause)
    }

    /// The strictest value of `scanFailed` that forgives a failure; nothing if none does.
    fn failure_fallback(&self, phase: &str, forgiven_by: ForgivenBy, cause: &mut Cause) {
        let (fallback, opens) = match forgiven_by {
            ForgivenBy::AcceptOutages => ("accept-outages", Opens::Outages(self.whose())),
            ForgivenBy::Accept => ("accept", Opens::Failures(self.whose())),
            ForgivenBy::Nothing => return,
        };
        self.fallback(phase, ("scanFailed", fallback), opens, cause);
    }

    /// The setting for a status without a result, and the value that admits the image.
    fn fallback(&self, phase: &str, (key, value): (&str, &str), opens: Opens, cause: &mut Cause) {
        let keys = self.written(phase, key);
        cause.decided_by.push(self.decider(&keys, json!("reject")));
        cause.undo.push(self.of_namespace(phase, key, Action::Set(json!(value)), opens));
    }

    /// The limits that the reports of an image exceed.
    fn over_limits(&self, judged: &JudgedImage, report: &ScanReport, cause: &mut Cause) {
        let over: Vec<&ExceededLimit> = report.platforms.iter().flat_map(PlatformReport::exceeded).collect();
        let (mut exempted, mut denied): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
        let mut has_all = true;
        for exceeded in &over {
            let decider = match &exceeded.setting {
                ExceededSetting::MaxSeverity(severity, limit) => {
                    let kind = match limit {
                        Limit::Total(_) => "total",
                        Limit::TotalWithoutFixes(_) => "totalWithoutFixes",
                    };
                    self.gate("maxSeverity", &[severity.name(), kind], json!(exceeded.max))
                }
                ExceededSetting::CvssScore(_) => self.gate("cvssScore", &["maxCount"], json!(exceeded.max)),
                ExceededSetting::DenyAlways => self.gate("denyAlways", &[], json!([])),
                ExceededSetting::KnownExploited(_) => self.gate("knownExploited", &[], json!("reject")),
                ExceededSetting::Epss(..) => self.gate("epss", &[], Value::Null),
                ExceededSetting::EndOfLife(_) => self.gate("endOfLife", &[], json!("reject")),
                ExceededSetting::Packages(_) => self.gate("packages", &["deny"], Value::Null),
                ExceededSetting::Licenses(LicenseFault::Denied, _) => self.gate("licenses", &["deny"], Value::Null),
                ExceededSetting::Licenses(LicenseFault::NotAllowed, _) => {
                    self.gate("licenses", &["allow"], Value::Null)
                }
                ExceededSetting::Licenses(LicenseFault::Unknown, _) => {
                    self.gate("licenses", &["unknown"], json!("reject"))
                }
                ExceededSetting::OwnVerdict => continue,
            };
            if !cause.decided_by.contains(&decider) {
                cause.decided_by.push(decider);
            }
            if exceeded.setting == ExceededSetting::DenyAlways {
                denied.extend(exceeded.ids.iter().map(String::as_str));
                continue;
            }
            // The least severe of them may stay.
            let spared = usize::try_from(exceeded.max).unwrap_or(usize::MAX);
            has_all &= u64::try_from(exceeded.ids.len()) == Ok(exceeded.count);
            let rest = exceeded.ids.iter().rev().skip(spared).map(String::as_str);
            exempted.extend(rest);
        }
        if !denied.is_empty() {
            let all = self.settings.acceptance.of(self.namespace).deny_always;
            let rest: Vec<&String> = all.iter().filter(|id| !denied.contains(id.as_str())).collect();
            let ids = denied.iter().map(|id| (*id).to_owned()).collect();
            let opens = Opens::Denied { ids, whose: self.whose() };
            cause.undo.push(self.own_gate("denyAlways", json!(rest), opens));
        }
        let limits: Vec<&ExceededLimit> =
            over.into_iter().filter(|limit| limit.setting != ExceededSetting::DenyAlways).collect();
        if limits.iter().any(|limit| limit.setting == ExceededSetting::OwnVerdict) {
            cause.undo = self.entry(self.scan_key(), judged, "accept").into_iter().collect();
        } else if has_all && !exempted.is_empty() && exempted.len() <= MAX_EXEMPTED && !exempted.iter().any(is_pattern)
        {
            cause.undo.push(self.exemption(&judged.reference, &exempted));
        } else if !limits.is_empty() {
            cause.undo.extend(self.raised(&limits));
        }
    }

    /// An exemption of findings, complete except for its reason, which people must add.
    fn exemption(&self, reference: &ImageReference, ids: &BTreeSet<&str>) -> Edit {
        let (images, until) = (prefix_of(reference), Timestamp(self.now.0.saturating_add(EXEMPTED_FOR)).day());
        let mut exemption = Map::new();
        let mut set = |key: &str, value: Value| exemption.insert(key.to_owned(), value);
        match ids.iter().collect::<Vec<_>>().as_slice() {
            [id] => set("vulnerability", json!(id)),
            ids => set("vulnerabilities", json!(ids)),
        };
        // If the image is pinned, its digest replaces the tag.
        let pinned = reference.digest().is_none().then(|| format!("{}@", reference.name()));
        set("images", [images.clone()].into_iter().chain(pinned).collect());
        if !self.namespace.is_empty() {
            set("namespaces", json!([self.namespace]));
        }
        set("reason", json!(UNSAID_REASON));
        set("expires", json!(until));
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        let opens = Opens::Findings { ids, images, whose: self.whose(), until };
        Edit::new(&["exemptions"], Action::Append(Value::Object(exemption)), opens)
    }

    fn whose(&self) -> Whose {
        Whose(Some(self.namespace.to_owned()).filter(|namespace| !namespace.is_empty()))
    }

    /// The limits of the namespace, raised as far as needed.
    fn raised(&self, over: &[&ExceededLimit]) -> Vec<Edit> {
        let limits: Limits<'_> = self.settings.acceptance.of(self.namespace);
        let (mut by_severity, mut with_score) = (BTreeMap::<Severity, u64>::new(), None::<u64>);
        for exceeded in over {
            match &exceeded.setting {
                ExceededSetting::MaxSeverity(severity, _) => {
                    let most = by_severity.entry(*severity).or_default();
                    *most = exceeded.count.max(*most);
                }
                ExceededSetting::CvssScore(_) => with_score = with_score.max(Some(exceeded.count)),
                // No number undoes these.
                ExceededSetting::DenyAlways
                | ExceededSetting::KnownExploited(_)
                | ExceededSetting::Epss(..)
                | ExceededSetting::EndOfLife(_)
                | ExceededSetting::Packages(_)
                | ExceededSetting::Licenses(..)
                | ExceededSetting::OwnVerdict => {}
            }
        }
        let mut edits = Vec::new();
        if !by_severity.is_empty() {
            let severities = limits.max_severity.iter().map(|(severity, limit)| {
                let (kind, most) = match limit {
                    Limit::Total(most) => ("total", most),
                    Limit::TotalWithoutFixes(most) => ("totalWithoutFixes", most),
                };
                (severity.name().to_owned(), json!({kind: by_severity.get(severity).unwrap_or(most)}))
            });
            edits.push(self.own_gate("maxSeverity", Value::Object(severities.collect()), Opens::Limits(self.whose())));
        }
        if let (Some(cvss), Some(most)) = (limits.cvss_score, with_score) {
            let limit = json!({"threshold": cvss.threshold, "maxCount": most});
            edits.push(self.own_gate("cvssScore", limit, Opens::Limits(self.whose())));
        }
        let mut warning: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
        for exceeded in over {
            let Some(gate) = gate_that_can_warn(&exceeded.setting) else { continue };
            let (actions, action) = (warning.entry(gate).or_default(), action_of(&exceeded.setting));
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        edits.extend(warning.into_iter().map(|(gate, actions)| self.warning_gate(gate, &actions)));
        edits
    }

    /// A gate for this namespace alone, with the action `warn` instead of `reject`.
    fn warning_gate(&self, key: &'static str, actions: &[&'static str]) -> Edit {
        let opens = Opens::GateWarns { gate: key, whose: self.whose() };
        self.own_gate(key, warning(self.find(&self.written("acceptance", key)), actions), opens)
    }

    /// A gate's value for this namespace alone.
    fn own_gate(&self, key: &str, value: Value, opens: Opens) -> Edit {
        self.of_namespace("acceptance", key, Action::Set(value), opens)
    }

    fn gate(&self, key: &str, below: &[&str], default: Value) -> Decider {
        self.decider(&[&self.written("acceptance", key), below].concat(), default)
    }

    /// Where a setting for the namespace is written: in the entry of `byNamespace` that decides, or above it.
    fn written<'k>(&'k self, place: &'k str, key: &'k str) -> Vec<&'k str> {
        let entry = key_of(self.settings, place, self.namespace);
        let own = entry.map(|entry| vec![place, "byNamespace", entry, key]);
        own.filter(|own| self.find(own).is_some()).unwrap_or_else(|| vec![place, key])
    }

    /// A change of a setting for this namespace alone. It weakens no other namespace.
    fn of_namespace(&self, place: &str, key: &str, action: Action, opens: Opens) -> Edit {
        if self.namespace.is_empty() {
            return Edit::new(&[place, key], action, opens);
        }
        let edit = Edit::new(&[place, "byNamespace", self.namespace, key], action, opens);
        // A single entry decides as a whole. An entry for the namespace would lose the other settings of a glob's entry.
        match key_of(self.before, place, self.namespace).filter(|entry| *entry != self.namespace) {
            Some(glob) => {
                let keys = [place, "byNamespace", glob];
                edit.replacing(&keys, self.find(&keys))
            }
            None => edit,
        }
    }

    fn scan_key(&self) -> &'static str {
        if self.find(&["policies"]).is_some() { "policies" } else { "scanPolicies" }
    }

    /// The policy of a phase that decided, where it is written.
    fn rule<A: PhaseAction>(&self, phase: &str, rule: &Rule<A>) -> Decider {
        let entry = rule.namespace.as_ref().and_then(|namespace| key_of(self.settings, phase, namespace));
        let level: Vec<&str> = match entry {
            Some(entry) => vec![phase, "byNamespace", entry],
            None => vec![phase],
        };
        let action = rule.action.name();
        let Some(prefix) = &rule.prefix else {
            return self.decider(&[level.as_slice(), &["defaultPolicy"]].concat(), json!(action));
        };
        let keys = [level.as_slice(), &["customPolicies"]].concat();
        let list = self.find(&keys).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_it = |entry: &Value| {
            entry.get("prefix").and_then(Value::as_str) == Some(prefix.as_str())
                && entry.get("action").and_then(Value::as_str) == Some(action)
        };
        let position = list.iter().position(is_it).unwrap_or_default();
        let value = list.get(position).cloned().unwrap_or_default();
        Decider { path: format!("{}[{position}]", keys.join(".")), value, is_default: false }
    }

    /// An entry for the image's repository, before all others in the namespace's list, which replaces the list of the top level.
    /// None if no prefix is only about this image: with raw matching, a name without a tag may continue in any way.
    fn entry(&self, phase: &str, judged: &JudgedImage, action: &str) -> Option<Edit> {
        let text = &judged.image.text;
        let prefix = match (self.settings.image_matching, judged.reference.digest()) {
            (ImageMatching::Canonical, _) => prefix_of(&judged.reference),
            (ImageMatching::Raw, Some(_)) => text.clone(),
            (ImageMatching::Raw, None) => {
                let tag = judged.reference.tag().filter(|tag| text.ends_with(&format!(":{tag}")))?;
                text.strip_suffix(tag)?.to_owned()
            }
        };
        let whose = self.whose();
        let entry = Action::Prepend(json!({"prefix": prefix, "action": action}));
        let images = prefix;
        let opens = match action {
            "accept" => Opens::Accepted { images, whose },
            _ => Opens::Scanned { images, whose },
        };
        let edit = self.of_namespace(phase, "customPolicies", entry, opens);
        // The list of the top level, if the namespace has none.
        let top = [phase, "customPolicies"];
        let is_copied = !self.namespace.is_empty() && self.written(phase, "customPolicies") == top;
        Some(edit.copying(&top, self.find(&top).filter(|_| is_copied)))
    }

    fn decider(&self, keys: &[&str], default: Value) -> Decider {
        let written = self.find(keys);
        Decider { path: path_of(keys), value: written.cloned().unwrap_or(default), is_default: written.is_none() }
    }

    /// What is written at a path of keys; null is nothing.
    fn find(&self, keys: &[&str]) -> Option<&'s Value> {
        let below = |at: &'s Value, key: &&str| match at.as_array() {
            Some(list) => list.get(position(key)?),
            None => at.get(key),
        };
        keys.iter().try_fold(self.written, below).filter(|value| !value.is_null())
    }
}

/// The key of the entry of `byNamespace` that holds for a namespace, in a phase or in `acceptance`.
fn key_of<'s>(settings: &'s Settings, place: &str, namespace: &str) -> Option<&'s str> {
    match place {
        "acceptance" => settings.acceptance.key_of(namespace),
        "preScanPolicies" => settings.pre_scan.by_namespace.key_of(namespace),
        _ => settings.scan.by_namespace.key_of(namespace),
    }
}

/// The images that a policy rejects, if it names them; otherwise the request's only image.
fn unverified_images<'d>(outcome: &'d VerificationOutcome, decision: &'d Decision) -> BTreeSet<&'d str> {
    let Some(VerificationFailure::Failed(_, unverified)) = &outcome.failure else { return BTreeSet::new() };
    let image = |unverified: &'d Unverified| match unverified {
        Unverified::Image { image, .. } => Some(image.as_str()),
        Unverified::Attestation(_) => None,
    };
    let said: BTreeSet<&str> = unverified.iter().filter_map(image).collect();
    let all: BTreeSet<&str> = decision.images.iter().map(|judged| judged.image.text.as_str()).collect();
    if said.is_empty() && all.len() == 1 { all } else { said }
}

/// Whether an image can't be judged because of `reports.platforms`: it exists, and can be read.
fn is_by_platforms(report: &ScanReport) -> bool {
    let is_beside_it = match &report.reason {
        ScanReason::Unresolved(why) => {
            matches!(why, Unresolved::NoDigest(_) | Unresolved::NotADigest | Unresolved::NoManifest(_))
        }
        _ => false,
    };
    report.platforms.is_empty() && !is_beside_it
}

/// What to do about errors in rules, and about what they deny: no change of the object fixes an error in a rule.
fn rules_advice(has_failed: bool, denies: bool, whose: String) -> Vec<Advice> {
    let satisfied = denies.then(|| Advice::SatisfyRules(whose.clone()));
    has_failed.then_some(Advice::RepairRules(whose)).into_iter().chain(satisfied).collect()
}

/// The same for custom rules, whose errors are among their denials.
fn of_custom_rules<'r>(said: impl IntoIterator<Item = &'r String>, whose: &str) -> Vec<Advice> {
    let (failed, denied): (Vec<&String>, Vec<&String>) =
        said.into_iter().partition(|reason| reason.starts_with("Evaluation error"));
    rules_advice(!failed.is_empty(), !denied.is_empty(), whose.to_owned())
}

/// Custom rules, whose text isn't shown as a value.
fn rules(path: &str) -> Decider {
    Decider { path: path.to_owned(), value: Value::Null, is_default: false }
}

fn is_named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_str) == Some(name)
}

/// Whether an exemption would take an id for a pattern: the report's author chose it.
fn is_pattern(id: &&str) -> bool {
    id.contains(['*', '?'])
}

/// The prefix of a repository's images, up to their tags; for an image by digest, its whole name.
fn prefix_of(reference: &ImageReference) -> String {
    match reference.digest() {
        Some(digest) => reference.at(digest),
        None => format!("{}:", reference.name()),
    }
}
