//! The engine of image-admission: decides an AdmissionRequest by the images that it would run.
//!
//! It is pure. The request, the settings, the [`Host`] and the time are arguments, and the same arguments give the same
//! bytes: no waPC, no clock, no files, no environment, which a lint enforces. The guest, the command line and the
//! playground are thin shells around it.
//!
//! The way of a request, and the file of each step:
//!
//! ```text
//! request ── workload ── image ── prescan ──────────── scan ──────────── decision ── response
//!                                    │                   │  │                │
//!                                    └──── policy ───────┘  │               pin
//!                     (which setting decides an image)      │
//!                                                  report ── resolve (one digest, its platforms)
//!                                                     └───── report/source ── acceptance ── exemption
//!                                                                   │
//!                              (sbomscanner, trivy_operator, registry, kubescape, custom: one file each)
//! ```
//!
//! [`Settings`] are read at the start, into types that can't be wrong. The [`Host`] is asked from `resolve` and from
//! the sources of `report` only.

// The engine's own `clippy.toml` names what does I/O; using any of it fails the build.
#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod acceptance;
mod decision;
mod exemption;
mod host;
mod image;
mod log;
mod message;
mod pin;
mod platform;
mod policy;
mod prescan;
mod remedy;
mod report;
mod request;
mod resolve;
mod response;
mod scan;
pub mod settings;
mod time;
#[cfg(test)]
mod traps;
mod workload;

use image::{images, keep_changed};
use prescan::PreScan;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use settings::{InvalidSettings, Settings};
use std::collections::BTreeSet;

pub use decision::{Decision, JudgedImage, Outcome, ScanOutcome};
pub use host::{Descriptor, Document, Host, HostCalls, HostFailure, Manifest, Resource, WireHost};
pub use image::{ImageList, ImageReference, NotAnImage, ReferenceError, UnreadableObject, WorkloadImage};
pub use log::LogLine;
pub use platform::Platform;
pub use policy::Rule;
pub use report::{PlatformReport, ReportState, ScanReport, ScanStatus};
pub use request::{AdmissionRequest, Operation, UnreadableRequest};
pub use response::Response;
pub use time::{Span, Timestamp};
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
    #[derive(Deserialize)]
    #[serde(expecting = "an object with a request and settings")]
    struct Payload<'a> {
        #[serde(borrow)]
        request: Option<&'a RawValue>,
        #[serde(borrow)]
        settings: Option<&'a RawValue>,
    }
    let payload: Payload<'_> = match serde_json::from_slice(payload) {
        Ok(payload) => payload,
        Err(error) => {
            let unreadable = UnreadableRequest::NotARequest(error.to_string());
            let response = Response::from(Decision::without_images(Outcome::UnreadableRequest(unreadable), now));
            return Answer { response: to_json(&response), log: Vec::new() };
        }
    };
    let settings = match read_settings(payload.settings) {
        Ok(settings) => settings,
        Err(error) => return Answer { response: to_json(&Response::invalid_settings(&error)), log: Vec::new() },
    };
    let decision = decide(payload.request, &settings, host, now);
    let log =
        if settings.verbose_log { log::verbose(payload.request, payload.settings, &decision) } else { Vec::new() };
    Answer { response: to_json(&Response::from(decision)), log }
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
    let settings = serde_json::from_slice::<&RawValue>(payload)
        .map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))
        .and_then(|raw| read_settings(Some(raw)));
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
    let without_images = |outcome| Decision::without_images(outcome, now);
    let request = match AdmissionRequest::read(request) {
        Ok(request) => request,
        Err(unreadable) => return without_images(Outcome::UnreadableRequest(unreadable)),
    };
    if matches!(request.operation, Operation::Delete | Operation::Connect) {
        return without_images(Outcome::NothingToJudge("nothing new would run"));
    }
    let Some(workload) = WorkloadKind::of(&request.group, &request.kind) else {
        return without_images(Outcome::NothingToJudge("the kind has no pod spec"));
    };
    let object = match request.object() {
        Ok(object) => object,
        Err(unreadable) => return without_images(Outcome::UnreadableRequest(unreadable)),
    };
    let images = match new_images(&request, &object, workload) {
        Ok(images) => images,
        Err(unreadable) => return without_images(Outcome::UnreadableObject(unreadable)),
    };
    if images.is_empty() {
        return without_images(Outcome::NothingToJudge("no new image would run"));
    }
    let judged = match judged_images(images) {
        Ok(judged) => judged,
        Err(wrong) => return without_images(Outcome::NotImages(wrong)),
    };
    let different: BTreeSet<_> = judged.iter().map(|judged| &judged.reference).collect();
    if different.len() > settings.max_images {
        return without_images(Outcome::TooManyImages { images: different.len(), most: settings.max_images });
    }
    let decision = Decision { outcome: Outcome::Scanned, images: judged, mutated_object: None, decided_at: now };
    decide_images(decision, &request, object, workload, settings, host)
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

/// The two phases, and the pins.
fn decide_images(
    mut decision: Decision,
    request: &AdmissionRequest<'_>,
    mut object: Value,
    workload: WorkloadKind,
    settings: &Settings,
    host: &dyn Host,
) -> Decision {
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|namespace| !namespace.is_empty());
    let namespace = own.unwrap_or(&request.namespace).to_owned();
    match prescan::decide(&mut decision.images, &namespace, settings) {
        PreScan::Accepted => decision.outcome = Outcome::PreScanAccepted,
        PreScan::Rejected(reasons) => decision.outcome = Outcome::PreScanRejected(reasons),
        PreScan::Scan => {
            let subject = scan::subject(&decision.images, &object, &request.kind, &namespace, settings);
            scan::decide(&mut decision.images, &subject, workload, settings, host, decision.decided_at);
            if decision.is_allowed() {
                match pin::pin(&mut object, &mut decision.images, workload, request, &settings.pin) {
                    Ok(true) => decision.mutated_object = Some(object),
                    Ok(false) => {}
                    Err(unreadable) => decision.outcome = Outcome::UnreadableObject(unreadable),
                }
            }
        }
    }
    decision
}

/// The images with their references, or those that have none.
fn judged_images(images: Vec<WorkloadImage>) -> Result<Vec<JudgedImage>, Vec<WorkloadImage>> {
    let mut judged = Vec::new();
    let mut wrong = Vec::new();
    for image in images {
        match &image.reference {
            Ok(reference) => {
                let reference = reference.clone();
                judged.push(JudgedImage { image, reference, pre_scan: None, scan: None, pinned: None });
            }
            Err(_) => wrong.push(image),
        }
    }
    if wrong.is_empty() { Ok(judged) } else { Err(wrong) }
}

fn read_settings(raw: Option<&RawValue>) -> Result<Settings, InvalidSettings> {
    let value = match raw {
        None => Value::Null,
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))?,
    };
    Settings::read(&value)
}

/// The types that are answered have no value that can't be written as JSON; should one ever have, it rejects.
fn to_json(answer: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(answer)
        .unwrap_or_else(|_| br#"{"accepted":false,"valid":false,"message":"internal error"}"#.to_vec())
}
