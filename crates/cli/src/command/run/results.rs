//! Decisions in the form that all commands' results have: a finding for each reason to deny, at the line of the image.

use std::collections::BTreeMap;
use std::path::PathBuf;

use image_admission_engine::{JudgedImage, Outcome};
use image_admission_judgement::reason::Denial;

use crate::command::output::{Check, Finding, Level, Location, Object, Results, Rule};
use crate::command::policy::Answer;
use image_admission_manifests::document::{self, Place};
use image_admission_manifests::lines::{Lines, Part};
use image_admission_manifests::request::{Request, Subject};

const PRE_SCAN: &str = "pre-scan";
const SCAN_POLICY: &str = "scan-policy";
const SCAN_RESULT: &str = "scan-result";
const REPORT_PENDING: &str = "report-pending";
const SCAN_FAILED: &str = "scan-failed";
const CUSTOM_RULE: &str = "custom-rule";
const VERIFICATION: &str = "verification";
const REGO_POLICY: &str = "rego-policy";
const NAMED_BY_MIRROR: &str = "named-by-mirror";
const NOT_AN_IMAGE: &str = "not-an-image";
const DENIED: &str = "denied";
const WARNING: &str = "warning";
const NO_ANSWER: &str = "no-answer";

const RULES: [Rule; 13] = [
    denies(PRE_SCAN, "an image that pre-scan rejects by its name"),
    denies(SCAN_POLICY, "an image that the scan phase rejects whatever was found in it"),
    denies(SCAN_RESULT, "an image whose findings are over the limits"),
    denies(REPORT_PENDING, "an image that has no scan report yet"),
    denies(SCAN_FAILED, "an image of which nobody can say what is in it"),
    denies(CUSTOM_RULE, "a denial by custom rules"),
    denies(VERIFICATION, "an image that isn't signed or attested as it must be"),
    denies(REGO_POLICY, "a denial by a policy in Rego"),
    denies(NOT_AN_IMAGE, "a text that is no image reference"),
    denies(NAMED_BY_MIRROR, "an image that is named by a mirror of its registry"),
    denies(DENIED, "a request that is denied as a whole"),
    Rule { id: WARNING, summary: "what the policy warns of", level: Level::Warning },
    denies(NO_ANSWER, "a request that the policy has no answer to"),
];

const fn denies(id: &'static str, summary: &'static str) -> Rule {
    Rule { id, summary, level: Level::Error }
}

/// What came of a request.
pub(super) enum Answered {
    Answer(Box<Answer>),
    /// That there is no answer, and why.
    Nothing(String),
}

impl Answered {
    pub(super) fn is_allowed(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.response.accepted)
    }
}

/// All decisions.
pub(super) fn results(checks: Vec<Check>) -> Results {
    Results { command: "run", rules: RULES.to_vec(), checks, fail_on: Level::Error }
}

/// One decision.
pub(super) fn check(place: &Place, subject: &Subject, answer: &Answered, files: &Positions<'_>) -> Check {
    let about = About { place, subject, files };
    let findings = match answer {
        Answered::Nothing(why) => vec![about.finding(NO_ANSWER, Level::Unknown, why.clone(), None)],
        Answered::Answer(answer) => about.findings(answer),
    };
    let location = about.location(None);
    let group = location.file.clone().unwrap_or_else(|| "the standard input".to_owned());
    Check { group, name: subject.to_string(), location, findings, ..Check::default() }
}

/// The request that findings are about.
struct About<'a> {
    place: &'a Place,
    subject: &'a Subject,
    files: &'a Positions<'a>,
}

impl About<'_> {
    fn findings(&self, Answer { response, decision }: &Answer) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut deny = |rule, message: String, pointer: Option<&str>| {
            found.push(self.finding(rule, Level::Error, message, pointer));
        };
        if !response.accepted {
            if let Outcome::NotImages(images) = &decision.outcome {
                for image in images {
                    let why = image.reference.as_ref().err().map(ToString::to_string).unwrap_or_default();
                    let shown = Some(image.shown()).filter(|shown| !shown.is_empty());
                    let shown = shown.map_or_else(|| "(no image)".to_owned(), |shown| format!("`{shown}`"));
                    let message = format!("{shown} is not an image reference, {why}");
                    deny(NOT_AN_IMAGE, message, Some(&image.pointer));
                }
            }
            if let Outcome::NamedByMirrors(images) = &decision.outcome {
                for (image, why) in images {
                    deny(NAMED_BY_MIRROR, format!("`{}` is not judged: {why}", image.shown()), Some(&image.pointer));
                }
            }
            if let Outcome::PreScanRejected(why) = &decision.outcome {
                for judged in decision.images.iter().filter(|_| why.by_policies) {
                    if let Some(message) = judged.pre_scan_denial() {
                        deny(PRE_SCAN, message, Some(&judged.image.pointer));
                    }
                }
                why.by_rules.iter().for_each(|message| deny(CUSTOM_RULE, message.clone(), None));
            }
            for judged in &decision.images {
                for message in judged.denials() {
                    deny(rule(judged, &message), message, Some(&judged.image.pointer));
                }
            }
            for outcome in decision.verification.iter().filter(|outcome| outcome.rejects()) {
                deny(VERIFICATION, outcome.message().unwrap_or_default(), None);
            }
            for policy in &decision.policies {
                for message in policy.denials.iter().chain(&policy.error) {
                    deny(REGO_POLICY, format!("{}: {message}", policy.name), None);
                }
            }
            if found.is_empty() {
                let message = response.message.clone().unwrap_or_default();
                found.push(self.finding(DENIED, Level::Error, message, None));
            }
        }
        let warnings = response.warnings.iter();
        found.extend(warnings.map(|warning| self.finding(WARNING, Level::Warning, warning.clone(), None)));
        found
    }

    fn finding(&self, rule: &'static str, level: Level, message: String, pointer: Option<&str>) -> Finding {
        let title = Some(self.subject.to_string());
        Finding { rule, level, title, message, location: self.location(pointer) }
    }

    fn location(&self, pointer: Option<&str>) -> Location {
        let Subject { kind, namespace, name, .. } = self.subject.clone();
        Location {
            file: self.place.path().map(|path| path.display().to_string()),
            line: self.files.line(self.place, pointer.unwrap_or_default()),
            object: Some(Object { kind, namespace, name }),
            field: pointer.map(field),
        }
    }
}

/// Which rule a denial of the scan phase is of: the phase's own, or a custom one.
fn rule(judged: &JudgedImage, message: &str) -> &'static str {
    let Some(scan) = &judged.scan else { return DENIED };
    match scan.denied {
        _ if scan.custom.contains(message) => CUSTOM_RULE,
        Some(Denial::Policy) => SCAN_POLICY,
        Some(Denial::ScanResult) => SCAN_RESULT,
        Some(Denial::ReportPending) => REPORT_PENDING,
        Some(Denial::ScanFailed) => SCAN_FAILED,
        None => CUSTOM_RULE,
    }
}

/// `spec.containers[0].image` of `/spec/containers/0/image`
fn field(pointer: &str) -> String {
    let mut field = String::new();
    for step in pointer.split('/').skip(1) {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            field.extend(["[", step, "]"]);
        } else {
            field.extend([if field.is_empty() { "" } else { "." }, step]);
        }
    }
    field
}

/// The texts of the files that requests come from.
pub(super) struct Files(BTreeMap<PathBuf, String>);

/// Where everything in them stands.
pub(super) struct Positions<'t>(BTreeMap<PathBuf, Lines<'t>>);

impl Files {
    /// Those that can be read again; what can't has no lines.
    pub(super) fn of(requests: &[Request]) -> Self {
        let mut files = BTreeMap::new();
        for path in requests.iter().filter_map(|request| request.place.path()) {
            if !files.contains_key(path)
                && let Ok(text) = document::text(path)
            {
                files.insert(path.to_owned(), text);
            }
        }
        Self(files)
    }

    pub(super) fn lines(&self) -> Positions<'_> {
        Positions(self.0.iter().map(|(path, text)| (path.clone(), Lines::of(text))).collect())
    }
}

impl Positions<'_> {
    /// The line of what a JSON pointer leads to in the object of a request, or of its document. An item of a list has none: to
    /// find one, all of the list would have to be read.
    fn line(&self, place: &Place, pointer: &str) -> Option<usize> {
        let lines = self.0.get(place.path().filter(|_| place.index().is_none())?)?;
        let steps: Vec<String> =
            pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        let within = [&[][..], &["request", "object"], &["object"]];
        let exact = within.into_iter().find_map(|above| {
            let path: Vec<String> = above.iter().map(|step| (*step).to_owned()).chain(steps.iter().cloned()).collect();
            lines.spot(place.document(), &path, Part::Key)
        });
        exact.or_else(|| lines.nearest(place.document(), &[])).map(|spot| spot.line)
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn pointers_are_shown_as_fields() {
        for (pointer, shown) in [("/spec/containers/0/image", "spec.containers[0].image"), ("/spec", "spec"), ("", "")]
        {
            assert_eq!(field(pointer), shown);
        }
    }
}
