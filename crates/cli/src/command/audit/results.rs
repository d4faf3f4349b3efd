//! What was found in the form that all commands' results have: each workload is a check, and each reason a finding.

use super::denial::DenialRule;
use super::judgement::Reason;
use super::report::{Change, Report, Told, Workload};
use crate::command::output::{Check, Finding, Level, Location, Object, Results, Rule};

const WARNING: &str = "warning";
const NEWLY_ADMITTED: &str = "newly-admitted";
const UNREADABLE: &str = "unreadable-source";

/// What may be found.
fn rules() -> Vec<Rule> {
    let error = |id, summary| Rule { id, summary, level: Level::Error };
    let denials = DenialRule::ALL.into_iter().map(DenialRule::words);
    let mut rules: Vec<Rule> = denials.map(|words| error(words.id, words.summary)).collect();
    rules.push(error(UNREADABLE, "something that couldn't be read, listed or answered"));
    rules.push(Rule { id: WARNING, summary: "a warning for the creator of an object", level: Level::Warning });
    rules.push(Rule { id: NEWLY_ADMITTED, summary: "what other settings deny", level: Level::Note });
    rules
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
    Results { command: "audit", rules: rules(), checks, fail_on: Level::Error }
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
    let denied = workload.reasons.iter().map(|told| finding(told.what.rule.words().id, Level::Error, reason(told)));
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
