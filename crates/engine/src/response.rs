//! The response: a decision in the words that go back to Kubernetes.
//!
//! The messages are the seeds', to the letter, since people's alerts look for them; what this policy adds comes after
//! them, in warnings and in audit annotations.

use crate::decision::{Decision, JudgedImage, Outcome};
use crate::message::{cut, join_at_most, join_within};
use crate::settings::{InvalidSettings, PhaseAction, PreScanAction, ScanAction};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most images that a message names.
const IMAGES_IN_MESSAGE: usize = 20;
/// The most warnings of a response.
const MOST_WARNINGS: usize = 20;
/// Kubernetes' advice for a warning's length.
const LONGEST_WARNING: usize = 120;
/// The most images that audit annotations describe.
const IMAGES_IN_AUDIT: usize = 50;
/// The longest value of an audit annotation.
const LONGEST_AUDIT_VALUE: usize = 512;

/// The answer to a validation request, as Kubewarden's host reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Response {
    /// Whether the request is admitted.
    pub accepted: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The HTTP status of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The whole object as it should be; the host makes the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutated_object: Option<Value>,
    /// What the client is told although the request is admitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the audit log keeps. The API server puts the webhook's name before the keys.
    pub audit_annotations: BTreeMap<String, String>,
}

impl Response {
    /// The response to a request that reached a policy with settings that can't be used.
    #[must_use]
    pub fn invalid_settings(error: &InvalidSettings) -> Self {
        Self::rejected(format!("the policy's settings are not valid:\n{error}"), 500)
    }

    fn rejected(message: String, code: u16) -> Self {
        let reason = message.lines().next().unwrap_or_default();
        let audit = [("verdict", "rejected"), ("reason", reason)];
        Self {
            accepted: false,
            code: Some(code),
            mutated_object: None,
            warnings: Vec::new(),
            audit_annotations: audit.map(|(k, v)| (k.to_owned(), cut(v, LONGEST_AUDIT_VALUE))).into(),
            message: Some(message),
        }
    }

    fn accepted(reason: &str) -> Self {
        let audit = [("verdict", "allowed"), ("reason", reason)];
        Self {
            accepted: true,
            message: None,
            code: None,
            mutated_object: None,
            warnings: Vec::new(),
            audit_annotations: audit.map(|(k, v)| (k.to_owned(), cut(v, LONGEST_AUDIT_VALUE))).into(),
        }
    }
}

impl From<Decision> for Response {
    fn from(decision: Decision) -> Self {
        let mut response = match &decision.outcome {
            Outcome::NothingToJudge(why) => Self::accepted(why),
            Outcome::PreScanAccepted => Self::accepted("pre-scan accepts every image"),
            Outcome::Scanned => match scan_message(&decision.images) {
                Some(message) => Self::rejected(message, 403),
                None => Self::accepted(allowed_reason(&decision.images)),
            },
            Outcome::UnreadableRequest(why) => Self::rejected(why.to_string(), 400),
            Outcome::UnreadableObject(why) => Self::rejected(why.to_string(), 400),
            Outcome::NotImages(images) => {
                let lines: Vec<String> = images
                    .iter()
                    .filter_map(|image| {
                        let why = image.reference.as_ref().err()?;
                        let container = cut(&image.container, 64);
                        Some(format!(
                            "Image '{}' for container '{container}' is not an image reference: {why}",
                            image.shown()
                        ))
                    })
                    .collect();
                Self::rejected(join_at_most(lines.iter().map(String::as_str), "\n", IMAGES_IN_MESSAGE), 400)
            }
            Outcome::TooManyImages { images, most } => Self::rejected(
                format!("the workload names {images} different images, the setting `maxImages` allows {most}"),
                403,
            ),
            Outcome::PreScanRejected(reasons) => {
                let reasons = join_at_most(reasons.iter().map(String::as_str), ", ", IMAGES_IN_MESSAGE);
                Self::rejected(format!("Pre-scan rejected. Reasons: {reasons}"), 403)
            }
        };
        response.warnings = warnings(&decision.images, response.accepted);
        for judged in decision.images.iter().take(IMAGES_IN_AUDIT) {
            annotate(&mut response.audit_annotations, judged);
        }
        response.mutated_object = decision.mutated_object.filter(|_| response.accepted);
        response
    }
}

fn allowed_reason(images: &[JudgedImage]) -> &'static str {
    let warned = images.iter().any(|judged| judged.scan.as_ref().is_some_and(|scan| scan.warning.is_some()));
    if warned { "every image is admitted, with warnings" } else { "every image's scan is accepted" }
}

/// The seeds' line for each denied image, then for each what its scan report says.
fn scan_message(images: &[JudgedImage]) -> Option<String> {
    let mut lines = Vec::new();
    let mut reasons = Vec::new();
    let mut explained = BTreeSet::new();
    for judged in images {
        let (Some(scan), Some(denied)) = (&judged.scan, judged.denial()) else { continue };
        let image = judged.image.shown();
        lines.push(format!(
            "Image '{image}' for container '{}' failed scan policy check: Image '{image}' REJECTED. {} - {denied}",
            cut(&judged.image.container, 64),
            scan.rule
        ));
        if let Some(report) = &scan.report
            && explained.insert(image.clone())
        {
            reasons.push(format!("'{image}': {}", report.reason));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let mut message = join_at_most(lines.iter().map(String::as_str), "\n", IMAGES_IN_MESSAGE);
    if !reasons.is_empty() {
        message.push('\n');
        message.push_str(&join_at_most(reasons.iter().map(String::as_str), "\n", IMAGES_IN_MESSAGE));
    }
    Some(message)
}

fn warnings(images: &[JudgedImage], accepted: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut add = |text: (String, String)| {
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    };
    for judged in images {
        for text in wide_accepts(judged) {
            add(text);
        }
        let report = judged.scan.as_ref().and_then(|scan| scan.report.as_ref());
        for warning in report.into_iter().flat_map(|report| &report.warnings) {
            add(with_image(judged, warning));
        }
        if accepted && let Some(warning) = judged.scan.as_ref().and_then(|scan| scan.warning.as_deref()) {
            add(with_image(judged, warning));
        }
    }
    if warnings.len() > MOST_WARNINGS {
        let more = warnings.len() - (MOST_WARNINGS - 1);
        warnings.truncate(MOST_WARNINGS - 1);
        warnings.push((String::new(), format!("and {more} more warnings")));
    }
    warnings.into_iter().map(|(_, text)| text).collect()
}

/// `image 'x' <text>`, the image cut so that the text stays whole; before it the whole image, which tells warnings apart.
fn with_image(judged: &JudgedImage, text: &str) -> (String, String) {
    let image = &judged.image.text;
    let room = LONGEST_WARNING.saturating_sub(text.chars().count() + "image '' ".len());
    (image.clone(), cut(&format!("image '{}' {text}", cut(image, room)), LONGEST_WARNING))
}

/// Warns of prefixes that accepted an image although they may have been meant for another.
fn wide_accepts(judged: &JudgedImage) -> impl Iterator<Item = (String, String)> {
    let pre_scan = judged.pre_scan.as_ref().filter(|rule| rule.action == PreScanAction::Accept);
    let scan = judged.scan.as_ref().map(|scan| &scan.rule).filter(|rule| rule.action == ScanAction::Accept);
    let prefixes = [pre_scan.and_then(|rule| rule.prefix.as_ref()), scan.and_then(|rule| rule.prefix.as_ref())];
    prefixes.into_iter().flatten().filter_map(move |prefix| {
        let part = prefix.ends_inside()?;
        let text = format!("is accepted by '{}', which ends inside a {part}", cut(prefix.as_str(), 40));
        Some(with_image(judged, &text))
    })
}

fn annotate(annotations: &mut BTreeMap<String, String>, judged: &JudgedImage) {
    let key = judged.image.key();
    let mut add = |what: &str, value: &str| {
        annotations.insert(format!("{key}.{what}"), cut(value, LONGEST_AUDIT_VALUE));
    };
    add("image", &judged.image.text);
    if let Some(rule) = &judged.pre_scan {
        add("pre-scan", &format!("{}: {rule}", rule.action.name()));
    }
    let Some(scan) = &judged.scan else { return };
    add("scan", &format!("{}: {}", scan.rule.action.name(), scan.rule));
    let Some(report) = &scan.report else { return };
    add("status", report.status.name());
    add("state", report.state.name());
    add("reason", &report.reason);
    if let Some(digest) = &report.digest {
        add("digest", digest);
    }
    // One report may speak of several platforms.
    let mut reports: Vec<&str> = Vec::new();
    for name in report.platforms.iter().flat_map(|platform| &platform.reports) {
        if !reports.contains(&name.as_str()) {
            reports.push(name);
        }
    }
    if !reports.is_empty() {
        add("reports", &reports.join(", "));
    }
    if let Some(source) = report.source {
        add("source", source);
    }
    if !report.exemptions.is_empty() {
        add("exemptions", &join_within(&report.exemptions, "; ", LONGEST_AUDIT_VALUE));
    }
}
