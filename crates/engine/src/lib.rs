//! The engine of image-admission: decides an AdmissionRequest by the images that it would run.
//!
//! It is pure. The request, the settings, the [`Host`] and the time are arguments, and the same arguments give the same
//! bytes: no waPC, no clock, no files, no environment, which a lint enforces. The guest, the command line and the
//! playground are thin shells around it.
//!
//! The way of a request, and the file of each step:
//!
//! ```text
//! request ── workload ── image ── prescan ── verification ── scan ── decision ── response
//!                                    │                   │  │                │
//!                                    └──── policy ───────┘  │               pin
//!                     (which setting decides an image)      │
//!                                                  report ── resolve (one digest, its platforms)
//!                                                     └───── report/source ── acceptance ── exemption
//!                                                                   │
//!                              (sbomscanner, trivy_operator, registry, kubescape, custom: one file each)
//! ```
//!
//! [`Settings`] are read at the start, into types that can't be wrong. The [`Host`] is asked from `resolve`, from the
//! sources of `report`, from `verification` and for the cluster that rules in `rego` see.
//!
//! A request pays for every page of the stack that it is the first to touch. So the large steps are functions that aren't
//! inlined: what one of them needs is given back before the next.

// The engine's own `clippy.toml` names what does I/O; using any of it fails the build.
#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod acceptance;
mod decision;
mod exemption;
pub mod explain;
mod glob;
mod host;
mod image;
mod instance;
mod log;
mod manifest;
mod message;
mod pin;
mod platform;
mod pointer;
mod policy;
mod prescan;
mod referrers;
pub mod rego;
mod remedy;
mod report;
mod request;
mod resolve;
mod response;
mod scan;
pub mod settings;
mod spelling;
mod time;
#[cfg(test)]
mod traps;
mod verification;
mod workload;

use host::CountedHost;
use image::{images, keep_changed};
use instance::done_with;
use prescan::PreScan;
use rego::{Budget, RequestRules};
use report::ReportSearch;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use settings::{InvalidSettings, Settings};
use std::collections::{BTreeMap, BTreeSet};

pub use acceptance::{Broken, BrokenLimit};
pub use decision::{Decision, JudgedImage, Outcome, ScanOutcome};
pub use host::{Document, Host, HostCalls, HostFailure, Resource, WireHost};
pub use image::{ImageList, ImageReference, NotAnImage, ReferenceError, UnreadableObject, WorkloadImage};
pub use instance::leave_memory;
pub use log::LogLine;
pub use manifest::is_proven;
pub use platform::Platform;
pub use policy::Rule;
pub use rego::{Clock, NO_TIME, PolicyOutcome, Seen, SeenModule, use_clock};
pub use report::{PlatformReport, ReportState, ScanReport, ScanStatus};
pub use request::{AdmissionRequest, Operation, UnreadableRequest};
pub use response::Response;
pub use time::{Span, Timestamp};
pub use verification::{VerificationFailure, VerificationOutcome};
pub use workload::WorkloadKind;

/// What the engine answers: the bytes for the host, and lines for its log.
#[derive(Debug, Clone)]
pub struct Answer {
    /// JSON, as Kubewarden's host reads it.
    pub response: Vec<u8>,
    /// What to log, in order.
    pub log: Vec<LogLine>,
}

/// Answers a validation: `{"request": AdmissionRequest, "settings": {…}}` in, a [`Response`] out. Whatever comes in, an
/// answer comes out; what can't be read is rejected.
#[must_use]
pub fn validate(payload: &[u8], host: &dyn Host, now: Timestamp) -> Answer {
    let (request, settings) = match read(payload) {
        Ok(read) => read,
        Err(response) => return Answer { response: to_json(&response), log: Vec::new() },
    };
    let decision = decide(request, &settings, host, now);
    let log = if settings.verbose_log { log::verbose(payload, &decision) } else { Vec::new() };
    done_with(settings);
    Answer { response: respond(decision), log }
}

/// Answers whether settings are valid: the settings in, `{"valid": bool, "message": …}` out, with every problem.
///
/// It depends on the settings alone: the host asks again at every start, and what was valid must stay so.
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Answer {
    #[derive(serde::Serialize)]
    struct Validity {
        valid: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
    let settings = serde_json::from_slice::<Value>(payload)
        .map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))
        .and_then(|value| Settings::check(&value));
    match settings {
        Ok(settings) => Answer {
            response: to_json(&Validity { valid: true, message: None }),
            log: settings.notices().into_iter().map(LogLine::warning).collect(),
        },
        Err(error) => {
            Answer { response: to_json(&Validity { valid: false, message: Some(error.to_string()) }), log: Vec::new() }
        }
    }
}

/// Decides a request, in the spelling of Kubernetes; none is rejected. The decision keeps the time that it was made for.
#[must_use]
pub fn decide(request: Option<&RawValue>, settings: &Settings, host: &dyn Host, now: Timestamp) -> Decision {
    let request = match AdmissionRequest::read(request) {
        Ok(request) => request,
        Err(unreadable) => return Decision::without_images(Outcome::UnreadableRequest(unreadable), now),
    };
    let host = CountedHost::new(host, settings.max_host_calls);
    let mut decision = if settings.rego.is_empty() {
        decide_phases(&request, None, None, settings, &host, now)
    } else {
        decide_with_rules(&request, settings, &host, now)
    };
    if host.is_exceeded() {
        let images: BTreeSet<_> = decision.images.iter().map(|judged| &judged.reference).collect();
        decision.outcome = Outcome::TooManyHostCalls { images: images.len(), most: settings.max_host_calls };
        decision.mutated_object = None;
    }
    decision
}

/// The same where the settings have rules in Rego.
#[inline(never)]
fn decide_with_rules(request: &AdmissionRequest<'_>, settings: &Settings, host: &dyn Host, now: Timestamp) -> Decision {
    // Patches of rules come first: everything else sees what they leave.
    let budget = Budget::default();
    let mut rules = match RequestRules::load(request, settings, host, now, &budget) {
        Ok(Some(rules)) => rules,
        Ok(None) => return decide_phases(request, None, None, settings, host, now),
        Err(unreadable) => return Decision::without_images(Outcome::UnreadableRequest(unreadable), now),
    };
    let patched = rules.patch();
    let decision = decide_phases(request, patched, Some(&mut rules), settings, host, now);
    rules.decide(decision)
}

/// The two phases, for what has a pod spec and will run. `patched` is the object that rules left, if they changed it.
fn decide_phases(
    request: &AdmissionRequest<'_>,
    patched: Option<Value>,
    rules: Option<&mut RequestRules<'_>>,
    settings: &Settings,
    host: &dyn Host,
    now: Timestamp,
) -> Decision {
    let without_images = |outcome| Decision::without_images(outcome, now);
    if matches!(request.operation, Operation::Delete | Operation::Connect) {
        return without_images(Outcome::NothingToJudge("nothing new would run"));
    }
    let workload = WorkloadKind::of(&request.group, &request.kind);
    if workload.is_none() && settings.verification.is_empty() {
        return Decision {
            mutated_object: patched,
            ..without_images(Outcome::NothingToJudge("the kind has no pod spec"))
        };
    }
    let object = match patched.clone().map_or_else(|| request.object(), Ok) {
        Ok(object) => object,
        Err(unreadable) => return without_images(Outcome::UnreadableRequest(unreadable)),
    };
    let Some(workload) = workload else {
        let decision =
            Decision { mutated_object: patched, ..without_images(Outcome::NothingToJudge("the kind has no pod spec")) };
        return verify_only(decision, request, &object, settings, host);
    };
    let images = match new_images(request, &object, workload) {
        Ok(images) => images,
        Err(unreadable) => return without_images(Outcome::UnreadableObject(unreadable)),
    };
    if images.is_empty() {
        let outcome = Outcome::NothingToJudge("no new image would run");
        // A rule about the Pod as a whole has something to say even then.
        let decision = Decision { mutated_object: patched, ..without_images(outcome) };
        let mut decision = verify_only(decision, request, &object, settings, host);
        let Some(rules) = rules.filter(|_| !settings.rego.pre_custom_rules.is_empty()) else {
            return decision;
        };
        if let PreScan::Rejected(reasons) = rules.pre_scan(PreScan::Accepted, &mut decision, &object, workload) {
            decision.outcome = Outcome::PreScanRejected(reasons);
        }
        return decision;
    }
    let judged = match judged_images(images) {
        Ok(judged) => judged,
        Err(wrong) => return without_images(Outcome::NotImages(wrong)),
    };
    let different: BTreeSet<_> = judged.iter().map(|judged| &judged.reference).collect();
    if different.len() > settings.max_images {
        return without_images(Outcome::TooManyImages { images: different.len(), most: settings.max_images });
    }
    let decision = Decision { images: judged, mutated_object: patched, ..without_images(Outcome::Scanned) };
    decide_images(decision, request, object, workload, rules, settings, host)
}

/// The images that the request brings: all of a new object, the changed and added ones of an update, and of a Pod's
/// subresource for ephemeral containers only those.
fn new_images(
    request: &AdmissionRequest<'_>,
    object: &Value,
    workload: WorkloadKind,
) -> Result<Vec<WorkloadImage>, UnreadableObject> {
    let mut found = images(object, workload)?;
    if request.sub_resource == pin::EPHEMERAL_CONTAINERS {
        found.retain(|image| image.list == ImageList::Ephemeral);
    }
    if request.operation == Operation::Update
        && let Some(old) = request.old_object()
        && let Ok(old) = images(&old, workload)
    {
        keep_changed(&mut found, &old);
    }
    Ok(found)
}

/// What the two phases say of images, and the pins.
#[inline(never)]
fn decide_images(
    mut decision: Decision,
    request: &AdmissionRequest<'_>,
    mut object: Value,
    workload: WorkloadKind,
    mut rules: Option<&mut RequestRules<'_>>,
    settings: &Settings,
    host: &dyn Host,
) -> Decision {
    let namespace = namespace(&object, request).to_owned();
    let mut pre_scan = prescan::decide(&mut decision.images, &namespace, settings);
    if let Some(rules) = &mut rules {
        pre_scan = rules.pre_scan(pre_scan, &mut decision, &object, workload);
    }
    match pre_scan {
        PreScan::Rejected(reasons) => {
            decision.outcome = Outcome::PreScanRejected(reasons);
            return decision;
        }
        PreScan::Accepted => decision.outcome = Outcome::PreScanAccepted,
        PreScan::Scan => {}
    }
    let is_accepted = decision.outcome == Outcome::PreScanAccepted;
    if is_accepted && settings.verification.iter().all(|policy| !policy.verify_pre_scan_accepted) {
        return decision;
    }
    let subject = scan::subject(&decision.images, &object, workload, &namespace, !is_accepted, settings);
    let mut search = ReportSearch::new(settings, host, &subject, decision.decided_at);
    if !settings.verification.is_empty() {
        verify_images(&mut decision, request, &object, workload, settings, host, &mut search);
    }
    if !is_accepted {
        if decision.is_allowed() {
            scan::decide(&mut decision.images, &namespace, workload, settings, &mut search);
            if let Some(rules) = rules {
                rules.scan(&mut decision, &object, workload, &mut search);
            }
        } else {
            decision.outcome = Outcome::NotVerified;
        }
    }
    if decision.is_allowed() {
        match pin::pin(&mut object, &mut decision.images, workload, request, &settings.pin) {
            Ok(true) => decision.mutated_object = Some(object),
            Ok(false) => done_with(object),
            Err(unreadable) => decision.outcome = Outcome::UnreadableObject(unreadable),
        }
    }
    decision.known = search.take_known();
    done_with(search);
    decision
}

/// What verification says of a workload's images.
#[inline(never)]
fn verify_images<'a>(
    decision: &mut Decision,
    request: &AdmissionRequest<'_>,
    object: &Value,
    workload: WorkloadKind,
    settings: &'a Settings,
    host: &'a dyn Host,
    search: &mut ReportSearch<'_>,
) {
    let found = all_images(request, object, workload);
    // Of a new object every image is judged.
    let all: Vec<&WorkloadImage> = match &found {
        Some(found) => found.iter().collect(),
        None => decision.images.iter().map(|judged| &judged.image).collect(),
    };
    let subject = verification::Subject {
        request,
        object,
        namespace: namespace(object, request),
        images: &all,
        judged: &decision.images,
        is_accepted: decision.outcome == Outcome::PreScanAccepted,
        is_pinned: settings.pin.reaches(workload),
        now: decision.decided_at,
    };
    let verified = verification::verify(subject, settings, host, search);
    decision.set_verified(verified, search);
}

/// All images of an object, those that it had before an update too; none where those that are judged are all.
fn all_images(request: &AdmissionRequest<'_>, object: &Value, workload: WorkloadKind) -> Option<Vec<WorkloadImage>> {
    let is_new = request.operation == Operation::Create && request.sub_resource.is_empty();
    (!is_new).then(|| images(object, workload).unwrap_or_default())
}

/// What verification says of an object whose images no phase judges: of a kind without a pod spec, or without a new image.
fn verify_only(
    mut decision: Decision,
    request: &AdmissionRequest<'_>,
    object: &Value,
    settings: &Settings,
    host: &dyn Host,
) -> Decision {
    if settings.verification.is_empty() {
        return decision;
    }
    let namespace = namespace(object, request);
    let reports = report::Subject { namespace, owners: Vec::new(), containers: BTreeMap::new(), pinned: Vec::new() };
    let mut search = ReportSearch::new(settings, host, &reports, decision.decided_at);
    let now = decision.decided_at;
    let workload = WorkloadKind::of(&request.group, &request.kind);
    let found = workload.and_then(|workload| images(object, workload).ok()).unwrap_or_default();
    let subject = verification::Subject {
        request,
        object,
        namespace,
        images: &found.iter().collect::<Vec<_>>(),
        judged: &[],
        is_accepted: false,
        is_pinned: false,
        now,
    };
    let verified = verification::verify(subject, settings, host, &mut search);
    decision.set_verified(verified, &mut search);
    decision
}

/// The object's own namespace, which wins over the request's.
fn namespace<'a>(object: &'a Value, request: &'a AdmissionRequest<'_>) -> &'a str {
    let own =
        pointer::at(object, "/metadata/namespace").and_then(Value::as_str).filter(|namespace| !namespace.is_empty());
    own.unwrap_or(&request.namespace)
}

/// The images with their references, or those that have none.
fn judged_images(images: Vec<WorkloadImage>) -> Result<Vec<JudgedImage>, Vec<WorkloadImage>> {
    let mut judged = Vec::new();
    let mut wrong = Vec::new();
    for image in images {
        match &image.reference {
            Ok(reference) => {
                let reference = reference.clone();
                judged.push(JudgedImage::new(image, reference));
            }
            Err(_) => wrong.push(image),
        }
    }
    if wrong.is_empty() { Ok(judged) } else { Err(wrong) }
}

/// What the host sends, with the settings as they came or read as JSON.
#[derive(Deserialize)]
#[serde(expecting = "an object with a request and settings", bound(deserialize = "S: Deserialize<'de>"))]
struct Payload<'a, S> {
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    settings: Option<S>,
}

/// The request and the settings of a payload, or the response that says what is wrong with it.
#[inline(never)]
fn read(payload: &[u8]) -> Result<(Option<&RawValue>, Box<Settings>), Box<Response>> {
    // Settings are read on the way, and by themselves only where that fails, to say what is wrong.
    let (request, settings) = match serde_json::from_slice::<Payload<'_, Value>>(payload) {
        Ok(Payload { request, settings }) => (request, read_settings(&settings.unwrap_or_default())),
        Err(_) => match serde_json::from_slice::<Payload<'_, &RawValue>>(payload) {
            Ok(Payload { request, settings }) => (request, read_raw_settings(settings)),
            Err(error) => {
                return Err(Box::new(Response::unreadable(&UnreadableRequest::NotARequest(error.to_string()))));
            }
        },
    };
    match settings {
        Ok(settings) => Ok((request, settings)),
        Err(error) => Err(Box::new(Response::invalid_settings(&error))),
    }
}

#[inline(never)]
fn read_settings(value: &Value) -> Result<Box<Settings>, InvalidSettings> {
    Settings::read(value).map(Box::new)
}

fn read_raw_settings(raw: Option<&RawValue>) -> Result<Box<Settings>, InvalidSettings> {
    let value = raw.map(|raw| serde_json::from_str(raw.get())).transpose();
    let value = value.map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))?;
    read_settings(&value.unwrap_or_default())
}

#[inline(never)]
fn respond(decision: Decision) -> Vec<u8> {
    let response = Response::from(decision);
    let bytes = to_json(&response);
    done_with(response);
    bytes
}

/// The types that are answered have no value that can't be written as JSON; should one ever have, it rejects.
fn to_json(answer: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(answer)
        .unwrap_or_else(|_| br#"{"accepted":false,"valid":false,"message":"internal error"}"#.to_vec())
}
