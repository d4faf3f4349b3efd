//! What a case expects of the policy, and how what the policy said differs from it.
//!
//! What a case doesn't mention plays no part. With `exact` no warning and no change of the object is expected unless the case mentions
//! it.

use image_admission_engine::Response;
use serde_json::Value;

use crate::command::diff::{diff, diff_of_texts};
use crate::command::test::outcome::Part;

/// What is expected of a case.
#[derive(Debug)]
pub(super) enum Expectation {
    /// The settings are refused, with these words.
    Invalid(Message),
    /// A request is decided.
    Decision(Decision),
}

/// What the policy is expected to say of a request.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) verdict: Expected,
    /// None if warnings play no part.
    pub(super) warnings: Option<Vec<String>>,
    /// None if calls play no part.
    pub(super) calls: Option<Calls>,
}

/// The verdict, with what only one of the two can have.
#[derive(Debug)]
pub(super) enum Expected {
    Allowed(Mutation),
    Rejected(Message),
}

/// What becomes of an object that is allowed.
#[derive(Debug)]
pub(super) enum Mutation {
    /// That plays no part.
    Unsaid,
    /// It stays as it is.
    None,
    /// It is changed, however.
    Any,
    /// It becomes this.
    Into(Value),
}

/// What a rejection says, or the problems of settings.
#[derive(Debug)]
pub(super) enum Message {
    Any,
    Exactly(String),
    /// Each of these, somewhere.
    With(Vec<String>),
}

/// The calls of the host.
#[derive(Debug)]
pub(super) enum Calls {
    /// So many.
    Number(usize),
    /// These, in this order.
    These(Vec<String>),
}

impl Message {
    /// What differs when settings are expected to be refused; `problems` are those that the policy found, one a line.
    pub(super) fn differences(&self, problems: Option<&str>) -> Vec<Part> {
        let mut parts = Vec::new();
        match problems {
            Some(problems) => self.compare(problems, &mut parts),
            None => parts.push(text("expect.verdict: `invalid` was expected, and the policy finds the settings valid")),
        }
        parts
    }
}

impl Decision {
    /// What differs; nothing if it is all as expected. `object` is the request's, and `calls` are those that were made.
    pub(super) fn differences(&self, response: &Response, object: Option<&Value>, calls: &[String]) -> Vec<Part> {
        let mut parts = Vec::new();
        let message = response.message.as_deref().unwrap_or_default();
        match (&self.verdict, response.accepted) {
            (Expected::Allowed(_), false) => {
                // What else is different follows from that.
                parts.push(text("expect.verdict: `allowed` was expected, and the policy rejected the request:"));
                parts.push(indented(message));
                return parts;
            }
            (Expected::Rejected(_), true) => {
                let reason = response.audit_annotations.get("reason").map(String::as_str).unwrap_or_default();
                parts.push(text(format!(
                    "expect.verdict: `rejected` was expected, and the policy allowed the request: {reason}"
                )));
                return parts;
            }
            (Expected::Allowed(mutation), true) => {
                mutation.compare(response.mutated_object.as_ref(), object, &mut parts)
            }
            (Expected::Rejected(expected), false) => expected.compare(message, &mut parts),
        }
        if let Some(warnings) = self.warnings.as_ref().filter(|warnings| **warnings != response.warnings) {
            differ("expect.warnings", &lines(warnings), &lines(&response.warnings), &mut parts);
        }
        match &self.calls {
            Some(Calls::Number(number)) if *number != calls.len() => {
                parts.push(text(format!(
                    "expect.calls: `{number}` were expected, and the policy made {}:",
                    calls.len()
                )));
                parts.push(indented(&lines(calls)));
            }
            Some(Calls::These(expected)) if expected != calls => {
                differ("expect.calls", &lines(expected), &lines(calls), &mut parts);
            }
            _ => {}
        }
        parts
    }
}

impl Mutation {
    fn compare(&self, mutated: Option<&Value>, object: Option<&Value>, parts: &mut Vec<Part>) {
        match (self, mutated) {
            (Self::Unsaid, _) | (Self::None, None) | (Self::Any, Some(_)) => {}
            (Self::None, Some(after)) => {
                parts.push(text("expect.mutated: no change was expected, and the policy changes the object:"));
                parts.push(Part::Difference(diff(object.unwrap_or(&Value::Null), after)));
            }
            (Self::Any | Self::Into(_), None) => {
                parts.push(text("expect.mutated: a change was expected, and the policy leaves the object as it is"));
            }
            (Self::Into(expected), Some(after)) => {
                let expected = in_namespace_of(expected, object);
                if expected != *after {
                    parts.push(text(format!("expect.mutated: {SIGNS}:")));
                    parts.push(Part::Difference(diff(&expected, after)));
                }
            }
        }
    }
}

/// An object as it is expected, in the namespace of the request's where it names none: a manifest that names none gets it
/// filled in, and what is expected of it is written like it.
fn in_namespace_of(expected: &Value, object: Option<&Value>) -> Value {
    let mut expected = expected.clone();
    let namespace = object.and_then(|object| object.pointer("/metadata/namespace"));
    let metadata = expected.pointer_mut("/metadata").and_then(Value::as_object_mut);
    if let (Some(namespace), Some(metadata)) = (namespace, metadata) {
        metadata.entry("namespace").or_insert_with(|| namespace.clone());
    }
    expected
}

impl Message {
    fn compare(&self, message: &str, parts: &mut Vec<Part>) {
        match self {
            Self::Any => {}
            Self::Exactly(expected) => {
                if expected != message {
                    differ("expect.message", expected, message, parts);
                }
            }
            Self::With(texts) => {
                let missing: Vec<&String> = texts.iter().filter(|text| !message.contains(text.as_str())).collect();
                for missing in &missing {
                    parts.push(text(format!("expect.messageContains: `{missing}` is not in the message")));
                }
                if !missing.is_empty() {
                    parts.push(indented(message));
                }
            }
        }
    }
}

/// What the signs of a difference mean.
const SIGNS: &str = "what was expected (-), and what was (+)";

fn differ(key: &str, expected: &str, actual: &str, parts: &mut Vec<Part>) {
    parts.push(text(format!("{key}: {SIGNS}:")));
    parts.push(Part::Difference(diff_of_texts(&ended(expected), &ended(actual))));
}

/// A last line without an end would differ from one that has it.
fn ended(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn lines(texts: &[String]) -> String {
    texts.join("\n")
}

fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

fn indented(text: &str) -> Part {
    Part::Text(text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"))
}
