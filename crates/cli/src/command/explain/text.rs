//! An explanation as people read it.

use image_admission_engine::explain::{Cause, Decider, Explanation};
use serde_json::Value;

use crate::command::HOW_TO_ANSWER;
use crate::command::diff::diff;
use crate::command::request::Subject;
use crate::command::terminal::{Paint, in_one_line, printable, without_commands};

/// The whole text of one request. `unanswered` is what the policy asked and nobody was there to answer.
pub(super) fn text(
    subject: &Subject,
    explanation: &Explanation,
    warnings: &[String],
    unanswered: Option<&str>,
    paint: Paint,
) -> String {
    without_commands(&written(subject, explanation, warnings, unanswered, paint)).into_owned()
}

fn written(
    subject: &Subject,
    explanation: &Explanation,
    warnings: &[String],
    unanswered: Option<&str>,
    paint: Paint,
) -> String {
    let heading = paint.bold(&in_one_line(&subject.to_string())).into_owned();
    let warned = || -> String {
        warnings.iter().map(|warning| format!("{}: {}\n", paint.yellow("warning"), in_one_line(warning))).collect()
    };
    if explanation.causes.is_empty() {
        let wait = if explanation.waiting.is_empty() { "" } else { ", but its Pods wait" };
        let waiting: String = explanation.waiting.iter().map(|cause| described(cause, paint)).collect();
        let gap = if waiting.is_empty() { "" } else { "\n" };
        return format!("{heading}: {}{}\n{waiting}{gap}{}", paint.green("allowed"), paint.yellow(wait), warned());
    }
    let mut text = format!("{heading}: {}\n", paint.red("denied"));
    for cause in &explanation.causes {
        text.push_str(&described(cause, paint));
    }
    match &explanation.change {
        Some(change) => {
            text.push_str(
                "\nIf that can't be done: the smallest change of the settings that would have admitted it. It opens\n",
            );
            for edit in &change.edits {
                text.push_str(&format!("  - {}\n", in_one_line(&edit.opens.to_string())));
            }
            text.push('\n');
            for line in diff(&explanation.settings, &change.settings) {
                text.push_str(&line.shown(paint));
                text.push('\n');
            }
        }
        None => text.push_str(&format!("\n{}\n", why_not(&explanation.causes, unanswered))),
    }
    let warned = warned();
    if !warned.is_empty() {
        text.push_str(&format!("\n{warned}"));
    }
    text.push('\n');
    text
}

fn described(cause: &Cause, paint: Paint) -> String {
    let image =
        cause.image.as_deref().map_or("the request", |image| if image.is_empty() { "(no image)" } else { image });
    let mut text = format!("\n  {}\n", paint.bold(&in_one_line(image)));
    let mut row = |label: &str, value: &str| {
        text.push_str(&format!("    {}  {value}\n", paint.dim(&format!("{label:10}"))));
    };
    for (index, place) in cause.places.iter().enumerate() {
        row(if index == 0 { "where" } else { "" }, &in_one_line(place));
    }
    for (index, line) in printable(&cause.why.to_string()).lines().enumerate() {
        row(if index == 0 { "why" } else { "" }, line);
    }
    for (index, decider) in cause.decided_by.iter().enumerate() {
        row(if index == 0 { "decided by" } else { "" }, &in_one_line(&setting(decider)));
    }
    for (index, advice) in cause.advice.iter().enumerate() {
        row(if index == 0 { "to do" } else { "" }, &in_one_line(&advice.to_string()));
    }
    text
}

/// `scanPolicies.defaultPolicy: scan-result (the default)`
fn setting(decider: &Decider) -> String {
    let value = match &decider.value {
        Value::Null => String::new(),
        Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    };
    format!("{}{value}{}", decider.path, if decider.is_default { " (the default)" } else { "" })
}

/// Why there is no change.
fn why_not(causes: &[Cause], unanswered: Option<&str>) -> String {
    if let Some(call) = unanswered {
        return format!(
            "No change can be tried, since nobody is there to answer `{}`: {HOW_TO_ANSWER}.",
            in_one_line(call)
        );
    }
    let rules: Vec<&str> = causes
        .iter()
        .flat_map(|cause| &cause.decided_by)
        .map(|decider| decider.path.as_str())
        .filter(is_of_rules)
        .collect();
    match rules.first() {
        _ if causes.iter().any(|cause| cause.decided_by.is_empty()) => {
            "No change of the settings admits it: the object is wrong by itself.".to_owned()
        }
        Some(path) => {
            format!(
                "No change of the settings is proposed: the rules in `{path}` reject it, and must change, or the object."
            )
        }
        None => "No change of the settings was found that admits it and opens no more than is needed.".to_owned(),
    }
}

/// Whether rules of one's own stand at a path.
fn is_of_rules(path: &&str) -> bool {
    ["preCustomRules", "customRules"].contains(path)
        || path.starts_with("regoPolicies")
        || path.contains("conftest.policy.")
}
