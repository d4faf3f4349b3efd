//! The engine of image-admission: decides an AdmissionRequest by the images that it would run.
//!
//! It is pure: the request, the settings, the [`Host`] and the time are arguments, and the same arguments give the same bytes. It
//! uses no waPC, no files and no environment, which a lint enforces. A clock and a bound on memory are given to it once; they only
//! stop work. The guest, the command line and the playground are thin shells around it.
//!
//! The way of a request is `flow`, one call for each step. A step is a file here, or a crate that knows nothing of requests:
//!
//! ```text
//! payload ── request ── break_glass ── rego (patches) ── update ── prescan ── verification ── scan ── pin ── decision ── response
//!                                                                                  │           │
//!                                                                           cel, attestors  judgement
//! ```
//!
//! It never reads a document of a scanner, which `scan-report` does, and never words why a report rejects an image, which
//! `judgement` does.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod break_glass;
mod check;
mod contact;
mod context;
mod decision;
mod flow;
mod judged;
mod known_scan;
mod log;
mod payload;
mod pin;
mod prescan;
mod rego;
mod request;
mod response;
mod scan;
mod update;
mod verification;

use image_admission_host::Host;
use image_admission_settings::{InvalidSettings, Settings, VerificationPolicy};
use image_admission_untrusted::json;
use image_admission_untrusted::memory::finish_with;
use image_admission_untrusted::time::Timestamp;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use serde_json::Value;
use serde_json::value::RawValue;
use verification::{Nobody, Record};

pub use break_glass::{BrokenGlass, WholeGlass};
pub use check::{ReadKind, ReadRight, calls_made, check_settings, cluster_reads, kinds_read, lint, read_rights};
pub use contact::contact_line;
pub use decision::{Decision, NothingToJudge, Outcome};
pub use judged::{JudgedImage, ScanOutcome};
pub use known_scan::known_scan;
pub use log::{LogLevel, LogLine};
pub use prescan::PreScanRejection;
pub use rego::{PolicyOutcome, Seen, SeenModule};
pub use request::{AdmissionRequest, Operation, UnreadableRequest};
pub use response::Response;
pub use verification::{
    CallRecord, ErrorKind, ErrorRecord, ExpressionRecord, PolicyRecord, VerificationFailure, VerificationOutcome,
    reads_labels,
};

/// The engine's answer: the bytes for the host, and lines for its log.
#[derive(Debug, Clone)]
pub struct Answer {
    /// JSON, as Kubewarden's host reads it.
    pub response: Vec<u8>,
    /// What to log, in order.
    pub log: Vec<LogLine>,
}

/// Answers a validation: `{"request": AdmissionRequest, "settings": {…}}` in, a [`Response`] out. Every input gets an answer; one
/// that can't be read is rejected.
#[must_use]
pub fn validate(payload: &[u8], host: &dyn Host, now: Timestamp) -> Answer {
    let (request, settings) = match payload::read(payload) {
        Ok(read) => read,
        Err(response) => return Answer { response: response.to_json(None), log: Vec::new() },
    };
    let decision = decide(request, &settings, host, now);
    let mut log: Vec<LogLine> = log::broken_glass(&decision).into_iter().collect();
    if settings.verbose_log {
        log.extend(log::verbose(payload, &decision));
    }
    let response = Response::from(decision).to_json(request);
    finish_with(settings);
    Answer { response, log }
}

/// Answers whether settings are valid: the settings in, `{"valid": bool, "message": …}` out, with every problem.
///
/// It depends only on the settings: the host asks again at every start, and valid settings must stay valid.
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Answer {
    let settings = json::from_json::<Value>(payload)
        .map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))
        .and_then(|value| check_settings(&value));
    match settings {
        Ok(settings) => Answer {
            response: json::to_json(&SettingsValidationResponse { valid: true, message: None }),
            log: check::notices(&settings).into_iter().map(LogLine::warning).collect(),
        },
        Err(error) => Answer {
            response: json::to_json(&SettingsValidationResponse { valid: false, message: Some(error.to_string()) }),
            log: Vec::new(),
        },
    }
}

/// Decides a request in the spelling of Kubernetes; none is rejected. The decision keeps its time.
#[must_use]
pub fn decide(request: Option<&RawValue>, settings: &Settings, host: &dyn Host, now: Timestamp) -> Decision {
    let decision = match AdmissionRequest::read(request) {
        Ok(request) => flow::decide_request(&request, settings, host, now, &Nobody),
        Err(unreadable) => Decision::new(Outcome::UnreadableRequest(unreadable), now),
    };
    decision.worded(settings)
}

/// Decides a request like [`decide`], and records the result of each expression of `imageVerification` and what it saw, for authors
/// of expressions. What a Secret holds is left out.
///
/// The settings must be readable, but needn't be deployable: an error in an expression is recorded with it.
#[must_use]
pub fn decide_and_record(
    request: Option<&RawValue>,
    settings: &Settings,
    host: &dyn Host,
    now: Timestamp,
) -> (Decision, Vec<PolicyRecord>) {
    let request = match AdmissionRequest::read(request) {
        Ok(request) => request,
        Err(unreadable) => {
            let decision = Decision::new(Outcome::UnreadableRequest(unreadable), now);
            return (decision.worded(settings), Vec::new());
        }
    };
    let record = Record::of(&request);
    let decision = flow::decide_request(&request, settings, host, now, &record).worded(settings);
    let policies = record.policies(settings, &decision.verification, |policy| why_not(policy, &decision));
    (decision, policies)
}

/// Why a policy of `imageVerification` has no result, unless it left the request out.
fn why_not(policy: &VerificationPolicy, decision: &Decision) -> &'static str {
    match &decision.outcome {
        Outcome::GlassBroken(_) => "the glass was broken",
        Outcome::NothingToJudge(NothingToJudge::NothingNew) => "nothing new would run",
        Outcome::NothingToJudge(NothingToJudge::BeingDeleted) => "the object is being deleted",
        Outcome::PreScanAccepted if !policy.verify_pre_scan_accepted => {
            "pre-scan accepts the request, and `verifyPreScanAccepted` isn't set"
        }
        _ if decision.is_rejected_for_good() => "the request is rejected before policies are asked",
        _ => "the request has nothing that it is about",
    }
}
