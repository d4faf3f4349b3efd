//! The lines for the host's log beside an answer.

use crate::decision::{Decision, Outcome};
use crate::payload::Payload;
use crate::rego::{Seen, hide};
use crate::response::Response;
use image_admission_untrusted::json::from_json;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A line for the host's log, in the form that Kubewarden's host reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Its level.
    pub level: LogLevel,
    /// The message.
    pub message: String,
}

/// The level of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What was requested, seen and decided.
    Info,
    /// Something to look into.
    Warning,
}

impl LogLevel {
    /// `info` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }
}

impl LogLine {
    pub(crate) fn warning(message: String) -> Self {
        Self { level: LogLevel::Warning, message }
    }

    fn info(message: String) -> Self {
        Self { level: LogLevel::Info, message }
    }
}

/// A request that was let through unjudged: who did it and why. It is always logged.
pub(crate) fn broken_glass(decision: &Decision) -> Option<LogLine> {
    let Outcome::GlassBroken(broken) = &decision.outcome else { return None };
    Some(LogLine::warning(format!("break glass: admitted unjudged for `{}`: {}", broken.user, broken.reason)))
}

/// The request, what rules saw, and the decision. What a Secret holds is never logged.
pub(crate) fn verbose(payload: &[u8], decision: &Decision) -> Vec<LogLine> {
    let payload = from_json::<Payload<'_, &RawValue>>(payload);
    let Payload { request, settings } = payload.unwrap_or(Payload { request: None, settings: None });
    let input = match request.map(RawValue::get) {
        None => "null".to_owned(),
        // Unchanged, unless it may hold a Secret's values.
        Some(request) if !request.contains("Secret") => request.to_owned(),
        Some(request) => {
            let mut input: Value = serde_json::from_str(request).unwrap_or_default();
            hide(&mut input, false);
            input.to_string()
        }
    };
    let response = Response::from(decision.clone());
    let verdict = serde_json::to_string(&response.audit_annotations).unwrap_or_default();
    let mut lines = vec![
        LogLine::info(format!("input: {input}")),
        LogLine::info(format!("data: {}", settings.map_or("{}", RawValue::get))),
    ];
    for Seen { by, input, data, rules } in &decision.seen {
        for (what, document) in [("input", input), ("data", data)] {
            let mut document = document.clone();
            hide(&mut document, false);
            lines.push(LogLine::info(format!("{by}: {what}: {document}")));
        }
        for module in rules {
            lines.push(LogLine::info(format!("{by}: rules of {}: {}", module.name, module.rego)));
        }
    }
    lines.push(LogLine::info(format!("decided at {}: {verdict}", decision.decided_at.0)));
    lines
}
