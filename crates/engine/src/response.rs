//! The response: a decision in the form that goes back to Kubernetes.
//!
//! The messages are exactly those of Sysdig's admission controller, since alerts search for them. What this policy adds comes after
//! them, in warnings and in audit annotations.

mod numbers;

use crate::contact::contact_line;
use crate::decision::{Decision, NothingToJudge, Outcome};
use crate::judged::JudgedImage;
use crate::rego::PolicyOutcome;
use crate::request::UnreadableRequest;
use crate::verification::VerificationOutcome;
use image_admission_image::WorkloadImage;
use image_admission_judgement::reason::{Denial, ImageWarning, NamedByMirror, ScanLine, UsedExemption, UsedVex};
use image_admission_settings::{FailureAction, InvalidSettings, MessageStyle, PhaseAction, PreScanAction, ScanAction};
use image_admission_untrusted::json::to_json;
use image_admission_untrusted::memory::finish_with;
use image_admission_untrusted::message::{cut, join_at_most, join_within};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// The most images in a message.
const IMAGES_IN_MESSAGE: usize = 20;
/// The message for a request that needs too much memory.
const TOO_MUCH_MEMORY: &str = "deciding about the request takes more memory than the policy may: make the object smaller, name fewer \
                               images, or have scanners and rules keep less";
/// The most reasons in a message for one image, or for one policy.
const REASONS_IN_MESSAGE: usize = 20;
/// The most policies in a message.
const POLICIES_IN_MESSAGE: usize = 20;
/// The most warnings of a response.
const MAX_WARNINGS: usize = 20;
/// Kubernetes' recommended length of a warning.
const MAX_WARNING_LENGTH: usize = 120;
/// The most images in audit annotations.
const IMAGES_IN_AUDIT: usize = 50;
/// The longest value of an audit annotation.
const MAX_AUDIT_VALUE_LENGTH: usize = 512;

/// The answer to a validation request.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Whether the request is admitted.
    pub accepted: bool,
    /// Why not.
    pub message: Option<String>,
    /// The HTTP status of a rejection.
    pub code: Option<u16>,
    /// The whole object after changes; the host makes the patch.
    pub mutated_object: Option<Value>,
    /// Warnings for the client of an admitted request.
    pub warnings: Vec<String>,
    /// The entries for the audit log. The API server puts the webhook's name before the keys.
    pub audit_annotations: BTreeMap<String, String>,
}

/// The same as Kubewarden's host reads it. The SDK's `ValidationResponse` isn't used: its annotations have no order, and its
/// numbers lose their spelling.
#[derive(Serialize)]
struct WireResponse<'a> {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutated_object: Option<numbers::Changed<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    audit_annotations: &'a BTreeMap<String, String>,
}

impl Response {
    /// The response to an unreadable request.
    pub(crate) fn unreadable(why: &UnreadableRequest) -> Self {
        Self::rejected(why.to_string(), 400)
    }

    /// The response to a request if the policy's settings can't be used.
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
            audit_annotations: audit.map(|(k, v)| (k.to_owned(), cut(v, MAX_AUDIT_VALUE_LENGTH))).into(),
            message: Some(message),
        }
    }

    /// The messages of `imageVerification` come first: an image that isn't verified isn't scanned.
    fn add_verification(&mut self, decision: &Decision) {
        for outcome in &decision.verification {
            let ignored = outcome.ignored.iter().map(|why| format!("ignored: {why}"));
            // In the message, each reason has its own line; an annotation is one line.
            let message = outcome.message().filter(|_| !outcome.rejects()).map(|message| message.replace('\n', "; "));
            let told: Vec<String> = message.into_iter().chain(ignored).collect();
            // Policies share a key if their names differ only in characters that a key can't have.
            if !told.is_empty() {
                self.append(annotation_key("verification", &outcome.name), told.into_iter(), "; ");
            }
            for (image, attestors) in &outcome.verified {
                let named = || decision.images.iter().filter(|judged| judged.image.text == *image);
                for judged in named().take(IMAGES_IN_AUDIT) {
                    let by = attestors.iter().map(|attestor| [attestor, " (", &outcome.name, ")"].concat());
                    self.append(judged.image.key() + ".verified-by", by, ", ");
                }
                if named().next().is_none() {
                    let by = attestors.iter().cloned().collect::<Vec<_>>().join(", ");
                    let own = std::iter::once(format!("{image}: {by}"));
                    self.append(annotation_key("verified", &outcome.name), own, "; ");
                }
            }
        }
        // An expression may have the name of one of these annotations: they aren't overwritten.
        for (key, value) in decision.verification.iter().rev().flat_map(|outcome| &outcome.annotations) {
            self.audit_annotations.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let lines: Vec<String> = decision
            .verification
            .iter()
            .filter(|outcome| outcome.rejects())
            .filter_map(VerificationOutcome::message)
            .collect();
        if lines.is_empty() {
            return;
        }
        let lines = join_at_most(lines.iter().map(String::as_str), "\n", POLICIES_IN_MESSAGE);
        let message = match self.message.take().filter(|message| !message.is_empty()) {
            Some(message) => format!("{lines}\n{message}"),
            None => lines,
        };
        self.reject(message, 403);
    }

    /// Makes it a rejection, and keeps the audit annotations.
    fn reject(&mut self, message: String, code: u16) {
        let mut annotations = std::mem::take(&mut self.audit_annotations);
        *self = Self::rejected(message, code);
        annotations.append(&mut self.audit_annotations);
        self.audit_annotations = annotations;
    }

    /// Appends to an audit annotation that may exist already.
    fn append(&mut self, key: String, texts: impl Iterator<Item = String>, separator: &str) {
        let value = self.audit_annotations.entry(key).or_default();
        let before = Some(std::mem::take(value)).filter(|before| !before.is_empty());
        let all: Vec<String> = before.into_iter().chain(texts).collect();
        *value = join_within(&all, separator, MAX_AUDIT_VALUE_LENGTH);
    }

    /// Who broke the glass and why; or, in a rejection, why it stayed intact.
    fn add_glass(&mut self, decision: &Decision) {
        let mut add = |key: &str, value: &str| {
            self.audit_annotations.insert(key.to_owned(), cut(value, MAX_AUDIT_VALUE_LENGTH));
        };
        if let Outcome::GlassBroken(broken) = &decision.outcome {
            add("break-glass", &broken.reason);
            add("break-glass.user", &broken.user);
        }
        let Some(whole) = &decision.whole_glass else { return };
        let whole = whole.to_string();
        add("break-glass.refused", &whole);
        if let Some(message) = &mut self.message {
            message.push('\n');
            message.push_str(&whole);
        }
    }

    /// How to ask for the reports that are missing, where the settings say that somebody hears it.
    fn add_scan_command(&mut self, decision: &Decision) {
        let Some(message) = self.message.as_mut().filter(|_| decision.scan_on_demand) else { return };
        let mut images: Vec<String> = Vec::new();
        for judged in &decision.images {
            let image = judged.image.shown();
            if judged.scan.as_ref().is_some_and(|scan| scan.denied == Some(Denial::ReportPending))
                && !images.contains(&image)
                && images.len() < IMAGES_IN_MESSAGE
            {
                images.push(image);
            }
        }
        if !images.is_empty() {
            message.push_str("\nAsk for a scan: `image-admission scan ");
            message.push_str(&images.join(" "));
            message.push_str(" --wait`");
        }
    }

    /// The contact comes last, after all reasons of a message.
    fn add_contact(&mut self, decision: &Decision) {
        if let Some(message) = &mut self.message
            && let Some(line) = contact_line(decision)
        {
            message.push('\n');
            message.push_str(&line);
        }
    }

    /// The messages of policies in Rego come after those of the phases, one line for each policy.
    fn add_policies(&mut self, decision: &Decision) {
        let annotations = &mut self.audit_annotations;
        if let Some(hash) = &decision.policies_hash {
            annotations.insert("rego-hash".to_owned(), hash.clone());
            let names: Vec<String> = decision.policies.iter().map(|policy| policy.name.clone()).collect();
            annotations.insert("rego-policies".to_owned(), join_within(&names, ", ", MAX_AUDIT_VALUE_LENGTH));
        }
        let lines: Vec<String> = decision.policies.iter().filter_map(policy_message).collect();
        if lines.is_empty() {
            return;
        }
        let lines = join_at_most(lines.iter().map(String::as_str), "\n", POLICIES_IN_MESSAGE);
        let denies = decision.policies.iter().any(|policy| !policy.denials.is_empty());
        let (message, code) = match self.message.take() {
            Some(message) => (format!("{message}\n{lines}"), self.code.unwrap_or(403)),
            None => (lines, if denies { 403 } else { 500 }),
        };
        self.reject(message, code);
    }

    /// The response as Kubewarden's host reads it: JSON. A changed object keeps the spelling of the request's numbers.
    #[must_use]
    pub fn to_json(&self, request: Option<&RawValue>) -> Vec<u8> {
        let object = self.mutated_object.as_ref();
        to_json(&WireResponse {
            accepted: self.accepted,
            message: self.message.as_deref(),
            code: self.code,
            mutated_object: object.map(|object| numbers::Changed::of(object, request)),
            warnings: &self.warnings,
            audit_annotations: &self.audit_annotations,
        })
    }

    fn accepted(reason: &str) -> Self {
        let audit = [("verdict", "allowed"), ("reason", reason)];
        Self {
            accepted: true,
            message: None,
            code: None,
            mutated_object: None,
            warnings: Vec::new(),
            audit_annotations: audit.map(|(k, v)| (k.to_owned(), cut(v, MAX_AUDIT_VALUE_LENGTH))).into(),
        }
    }
}

impl From<Decision> for Response {
    fn from(mut decision: Decision) -> Self {
        let mut response = match &decision.outcome {
            Outcome::GlassBroken(_) => Self::accepted("the glass was broken: nothing was judged"),
            Outcome::NothingToJudge(why) => Self::accepted(match why {
                NothingToJudge::NothingNew => "nothing new would run",
                NothingToJudge::BeingDeleted => "the object is being deleted",
                NothingToJudge::NoPodSpec => "the kind has no pod spec",
                NothingToJudge::NoNewImage => "no new image would run",
            }),
            Outcome::PreScanAccepted => Self::accepted("pre-scan accepts every image"),
            Outcome::Scanned => match scan_message(&decision.images, style_of(&decision)) {
                Some(message) => Self::rejected(message, 403),
                None => Self::accepted(allowed_reason(&decision.images)),
            },
            Outcome::UnreadableRequest(why) => Self::unreadable(why),
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
            Outcome::NamedByMirrors(images) => {
                let line = |(image, why): &(WorkloadImage, NamedByMirror)| {
                    format!(
                        "Image '{}' for container '{}' is not judged: {why}",
                        image.shown(),
                        cut(&image.container, 64)
                    )
                };
                let lines: Vec<String> = images.iter().map(line).collect();
                Self::rejected(join_at_most(lines.iter().map(String::as_str), "\n", IMAGES_IN_MESSAGE), 403)
            }
            Outcome::TooManyImages { images, max } => Self::rejected(
                format!("the workload names {images} different images, the setting `maxImages` allows {max}"),
                403,
            ),
            Outcome::TooManyHostCalls { images, max } => Self::rejected(
                format!(
                    "deciding about {images} different images takes more than the {max} host calls that the setting \
                     `maxHostCalls` allows: name fewer images, images of fewer platforms, or raise it"
                ),
                403,
            ),
            Outcome::TooMuchMemory => Self::rejected(TOO_MUCH_MEMORY.to_owned(), 403),
            Outcome::PreScanRejected(_) => {
                let reasons = decision.pre_scan_reasons();
                let reasons = join_at_most(reasons.iter().map(String::as_str), ", ", IMAGES_IN_MESSAGE);
                Self::rejected(format!("Pre-scan rejected. Reasons: {reasons}"), 403)
            }
            Outcome::NotVerified => Self::rejected(String::new(), 403),
        };
        response.add_verification(&decision);
        response.add_policies(&decision);
        response.add_glass(&decision);
        response.add_scan_command(&decision);
        response.add_contact(&decision);
        response.warnings = warnings(&decision, response.accepted);
        let own = std::mem::take(&mut response.audit_annotations);
        response.audit_annotations = decision.images.iter().take(IMAGES_IN_AUDIT).flat_map(annotations).collect();
        // An expression may have the name of an image's annotation: that isn't overwritten.
        for (key, value) in own {
            response.audit_annotations.entry(key).or_insert(value);
        }
        response.mutated_object = decision.mutated_object.take().filter(|_| response.accepted);
        finish_with(decision);
        response
    }
}

/// `verification.signed`: the key of a policy's annotation, whatever characters its name has.
fn annotation_key(what: &str, policy: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = policy.chars().map(|c| if is_allowed(c) { c } else { '-' }).collect();
    cut(&format!("{what}.{name}"), 63).trim_end_matches(['…', '.', '-', '_']).to_owned()
}

/// `Policy 'no-latest' rejected. Reasons: …`, or why it could not decide.
fn policy_message(policy: &PolicyOutcome) -> Option<String> {
    let name = cut(&policy.name, 64);
    match &policy.error {
        Some(error) => Some(format!("Policy '{name}' rejected. {error}")),
        None if policy.denials.is_empty() => None,
        None => {
            let reasons = join_at_most(policy.denials.iter().map(String::as_str), ", ", REASONS_IN_MESSAGE);
            Some(format!("Policy '{name}' rejected. Reasons: {reasons}"))
        }
    }
}

fn allowed_reason(images: &[JudgedImage]) -> &'static str {
    if images.iter().any(|judged| judged.scan.as_ref().is_some_and(|scan| scan.rule.is_none())) {
        return "custom rules deny no image";
    }
    let warned = images.iter().any(|judged| judged.scan.as_ref().is_some_and(|scan| scan.warning.is_some()));
    if warned { "every image is admitted, with warnings" } else { "every image's scan is accepted" }
}

fn style_of(decision: &Decision) -> MessageStyle {
    decision.message.as_ref().map(|message| message.style).unwrap_or_default()
}

/// The line of Sysdig's admission controller for each denied image, then the scan report of each; or each report before its image's
/// line.
fn scan_message(images: &[JudgedImage], style: MessageStyle) -> Option<String> {
    let mut lines = Vec::new();
    let mut reasons = Vec::new();
    let mut explained = BTreeSet::new();
    for judged in images {
        let Some(scan) = judged.scan.as_ref().filter(|_| judged.is_denied()) else { continue };
        let image = judged.image.shown();
        let denials = judged.denials();
        let line = format!(
            "Image '{image}' for container '{}' failed scan policy check: {}",
            cut(&judged.image.container, 64),
            join_at_most(denials.iter().map(String::as_str), ", ", REASONS_IN_MESSAGE)
        );
        if let Some(report) = &scan.report
            && explained.insert(image.clone())
        {
            let is_denied_by_rules_alone = scan.denied.is_none();
            let (status, reason) = (report.status, &report.reason);
            let reason = ScanLine { image: &image, status, reason, is_denied_by_rules_alone }.to_string();
            match style {
                MessageStyle::Documented => reasons.push(reason),
                MessageStyle::ReasonFirst => {
                    lines.push([reason.as_str(), "\n", &line].concat());
                    continue;
                }
            }
        }
        lines.push(line);
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

fn warnings(decision: &Decision, accepted: bool) -> Vec<String> {
    let (mut warnings, mut seen) = (Vec::new(), BTreeSet::new());
    let mut add = |text: (String, String)| {
        let shown = text.1.clone();
        // Each of very many containers may spell its image in a way of its own.
        if seen.insert(text) {
            warnings.push(shown);
        }
    };
    if let Outcome::GlassBroken(broken) = &decision.outcome {
        let text = format!("break glass: admitted unjudged for `{}`: {}", cut(&broken.user, 40), broken.reason);
        add((String::new(), cut(&text, MAX_WARNING_LENGTH)));
        if let Some(kind) = broken.makes_pods {
            let text = format!(
                "break glass: the Pods of this {} are judged: only a bare Pod is admitted unjudged",
                kind.name()
            );
            add((String::new(), text));
        }
    }
    for judged in &decision.images {
        for text in wide_accepts(judged) {
            add(text);
        }
        let report = judged.scan.as_ref().and_then(|scan| scan.report.as_ref());
        for warning in report.into_iter().flat_map(|report| &report.warnings) {
            add(with_image(&judged.image, &warning.to_string()));
        }
        if accepted && let Some(warning) = judged.scan.as_ref().and_then(|scan| scan.warning.as_ref()) {
            add(with_image(&judged.image, &warning.to_string()));
        }
    }
    for placeholder in &decision.placeholders {
        add(with_image(placeholder, &ImageWarning::Placeholder.to_string()));
    }
    for outcome in &decision.verification {
        if outcome.action == FailureAction::Warn
            && let Some(message) = outcome.message()
        {
            add((String::new(), cut(message.lines().next().unwrap_or_default(), MAX_WARNING_LENGTH)));
        }
        for why in &outcome.ignored {
            // A warning is short, and the audit annotation has the path too.
            let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
            add((String::new(), cut(&format!("policy {} ignores: {why}", cut(&outcome.name, 40)), MAX_WARNING_LENGTH)));
        }
    }
    for warning in &decision.verification_warnings {
        add((String::new(), cut(warning, MAX_WARNING_LENGTH)));
    }
    for policy in &decision.policies {
        for warning in &policy.warnings {
            add((String::new(), cut(&format!("{}: {warning}", cut(&policy.name, 40)), MAX_WARNING_LENGTH)));
        }
    }
    if warnings.len() > MAX_WARNINGS {
        let more = warnings.len() - (MAX_WARNINGS - 1);
        warnings.truncate(MAX_WARNINGS - 1);
        warnings.push(format!("and {more} more warnings"));
    }
    warnings
}

/// `image 'x' <text>`, with the image cut so that the text isn't; with it the whole image, which distinguishes warnings.
fn with_image(image: &WorkloadImage, text: &str) -> (String, String) {
    let image = &image.text;
    let room = MAX_WARNING_LENGTH.saturating_sub(text.chars().count() + "image '' ".len());
    (image.clone(), cut(&format!("image '{}' {text}", cut(image, room)), MAX_WARNING_LENGTH))
}

/// Warns of prefixes that accepted an image but may have been meant for another.
fn wide_accepts(judged: &JudgedImage) -> impl Iterator<Item = (String, String)> {
    let pre_scan = judged.pre_scan.as_ref().filter(|rule| rule.action == PreScanAction::Accept);
    let scan =
        judged.scan.as_ref().and_then(|scan| scan.rule.as_ref()).filter(|rule| rule.action == ScanAction::Accept);
    let prefixes = [pre_scan.and_then(|rule| rule.prefix.as_ref()), scan.and_then(|rule| rule.prefix.as_ref())];
    prefixes.into_iter().flatten().filter_map(move |prefix| {
        let part = prefix.ends_inside()?;
        let text = format!("is accepted by '{}', which ends inside a {part}", cut(prefix.as_str(), 40));
        Some(with_image(&judged.image, &text))
    })
}

/// The audit annotations of an image.
fn annotations(judged: &JudgedImage) -> Vec<(String, String)> {
    let key = judged.image.key();
    let mut annotations = Vec::new();
    let mut add = |what: &str, value: &str| {
        annotations.push(([&key, what].concat(), cut(value, MAX_AUDIT_VALUE_LENGTH)));
    };
    let scan = judged.scan.as_ref();
    let report = scan.and_then(|scan| scan.report.as_ref());
    if let Some(report) = report {
        if let Some(digest) = &report.digest {
            add(".digest", digest);
        }
        if !report.exemptions.is_empty() {
            let used: Vec<String> = report.exemptions.iter().map(UsedExemption::to_string).collect();
            add(".exemptions", &join_within(&used, "; ", MAX_AUDIT_VALUE_LENGTH));
        }
    }
    add(".image", &judged.image.text);
    if let Some(rule) = &judged.pre_scan {
        add(".pre-scan", &[rule.action.name(), ": ", &rule.text()].concat());
    }
    if let Some(report) = report {
        add(".reason", &report.reason.text());
        // One report may be about several platforms.
        let mut reports: Vec<&str> = Vec::new();
        for name in report.platforms.iter().flat_map(|platform| &platform.reports) {
            if !reports.contains(&name.as_str()) {
                reports.push(name);
            }
        }
        if !reports.is_empty() {
            add(".reports", &reports.join(", "));
        }
    }
    if let Some(rule) = scan.and_then(|scan| scan.rule.as_ref()) {
        add(".scan", &[rule.action.name(), ": ", &rule.text()].concat());
    }
    let Some(report) = report else { return annotations };
    if let Some(source) = report.source {
        add(".source", source);
    }
    add(".state", report.state.name());
    add(".status", report.status.name());
    if !report.vex.is_empty() {
        let used: Vec<String> = report.vex.iter().map(UsedVex::to_string).collect();
        add(".vex", &join_within(&used, "; ", MAX_AUDIT_VALUE_LENGTH));
    }
    let gates = report.warnings.iter().filter_map(|warning| match warning {
        ImageWarning::Gate(gate) => Some(gate.to_string()),
        _ => None,
    });
    let gates: Vec<String> = gates.collect();
    if !gates.is_empty() {
        add(".warned", &join_within(&gates, "; ", MAX_AUDIT_VALUE_LENGTH));
    }
    annotations
}
