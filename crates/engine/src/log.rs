//! The log: what goes to the host's log beside an answer.

use crate::AdmissionRequest;
use crate::decision::Decision;
use crate::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

/// A line for the host's log, in the form that Kubewarden's host reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// `info` or `warning`.
    pub level: &'static str,
    /// The text.
    pub message: String,
}

impl LogLine {
    pub(crate) fn warning(message: String) -> Self {
        Self { level: "warning", message }
    }

    fn info(message: String) -> Self {
        Self { level: "info", message }
    }
}

/// What was decided on, and what was decided. The object of a Secret is never logged.
pub(crate) fn verbose(request: Option<&RawValue>, settings: Option<&RawValue>, decision: &Decision) -> Vec<LogLine> {
    let is_secret = AdmissionRequest::read(request).is_ok_and(|request| request.kind == "Secret");
    let input = match request {
        Some(_) if is_secret => "a Secret, which is not logged",
        Some(request) => request.get(),
        None => "null",
    };
    let response = Response::from(decision.clone());
    let verdict = serde_json::to_string(&response.audit_annotations).unwrap_or_default();
    vec![
        LogLine::info(format!("input: {input}")),
        LogLine::info(format!("data: {}", settings.map_or("{}", RawValue::get))),
        LogLine::info(format!("decided at {}: {verdict}", decision.decided_at.0)),
    ]
}
