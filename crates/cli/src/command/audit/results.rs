//! What was found in the form that all commands' results have: each workload is a check, and each reason a finding.

use super::judgement::Reason;
use super::report::{Change, Report, Told, Workload};
use crate::command::output::{Check, Finding, Level, Location, Object, Results, Rule};

const WARNING: &str = "warning";
const NEWLY_ADMITTED: &str = "newly-admitted";
const UNREADABLE: &str = "unreadable-source";

/// What may be found. The reasons' names are those of [`Reason::rule`].
const RULES: [Rule; 18] = [
    denial("unreadable-object", "an object that isn't what its definition says"),
    denial("not-an-image", "an image that is no image reference"),
    denial("named-by-mirror", "an image that is named by a mirror of its registry"),
    denial("too-many-images", "more different images than `maxImages` allows"),
    denial("too-many-host-calls", "more host calls than `maxHostCalls` allows"),
    denial("pre-scan", "an image that pre-scan rejects by its name"),
    denial("custom-rules", "what custom rules reject"),
    denial("verification", "an image that isn't signed or attested as a policy of `imageVerification` wants"),
    denial("rego-policy", "an object that a policy in Rego rejects"),
    denial("scan-policy", "an image that a scan policy rejects whatever was found"),
    denial("scan-result", "an image whose scan report breaks a limit"),
    denial("report-pending", "an image that has no scan report yet"),
    denial("registry-not-allowed", "an image of a registry that `registries` doesn't allow"),
    denial("scan-failed", "an image that couldn't be scanned or looked up"),
    denial("other", "an object that is rejected for another reason"),
    denial(UNREADABLE, "something that couldn't be read, listed or answered"),
    Rule { id: WARNING, summary: "a warning for the creator of an object", level: Level::Warning },
    Rule { id: NEWLY_ADMITTED, summary: "what other settings deny", level: Level::Note },
];

const fn denial(id: &'static str, summary: &'static str) -> Rule {
    Rule { id, summary, level: Level::Error }
}

/// Every workload, and what can't be read.
pub(super) fn all(report: &Report) -> Results {
    let unread = report.problems.iter().map(|problem| {
        let location = Location::default();
        let finding =
            Finding { rule: UNREADABLE, level: Level::Unknown, title: None, message: problem.clone(), location };
        Check { name: "everything can be read and answered".to_owned(), findings: vec![finding], ..Check::default() }
    });
    let checks = report.workloads.iter().map(check).chain(unread).collect();
    Results { command: "audit", rules: RULES.to_vec(), checks, fail_on: Level::Error }
}

fn check(workload: &Workload) -> Check {
    let location = Location {
        file: workload.file.clone(),
        object: Some(Object {
            kind: workload.name.kind.clone(),
            namespace: workload.name.namespace.clone(),
            name: workload.name.name.clone(),
        }),
        ..Location::default()
    };
    let finding = |rule, level, message| Finding {
        rule,
        level,
        title: Some(workload.name.to_string()),
        message,
        location: location.clone(),
    };
    let denied = workload.reasons.iter().map(|told| finding(told.what.rule, Level::Error, reason(told)));
    let warnings = workload.warnings.iter().map(|told| finding(WARNING, Level::Warning, told.what.message.clone()));
    let before = workload.before.iter().filter(|_| workload.change == Some(Change::NewlyAdmitted));
    let admitted = before
        .flat_map(|before| &before.reasons)
        .map(|told| finding(NEWLY_ADMITTED, Level::Note, format!("before: {}", reason(told))));
    Check {
        group: workload.name.namespace.clone(),
        name: workload.name.short(),
        findings: denied.chain(warnings).chain(admitted).collect(),
        location,
        ..Check::default()
    }
}

/// A reason with the image that it is about.
fn reason(told: &Told<Reason>) -> String {
    match &told.what.image {
        Some(image) => format!("image {image}: {}", told.what.message),
        None => told.what.message.clone(),
    }
}
