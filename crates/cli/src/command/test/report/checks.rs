//! Results of tests in the form that all commands' results have.

use super::{Complaint, Finished};
use crate::command::output::{Check, Finding, Level, Location, Results, Rule};
use crate::command::test::outcome::Verdict;

const FAILED: &str = "failed-test";
const STOPPED: &str = "stopped-test";
const SKIPPED: &str = "skipped-test";
const UNUSED: &str = "unused-answer";

const RULES: [Rule; 4] = [
    Rule { id: FAILED, summary: "a test that fails", level: Level::Error },
    Rule { id: STOPPED, summary: "a test that has no result", level: Level::Error },
    Rule { id: SKIPPED, summary: "a test that is left out", level: Level::Warning },
    Rule { id: UNUSED, summary: "an answer of a suite that no case asks for", level: Level::Error },
];

/// All tests, and what is wrong with whole suites.
pub(super) fn all(results: &[Finished], complaints: &[Complaint]) -> Results {
    let checks = results.iter().map(check).chain(complaints.iter().map(complaint));
    Results { command: "test", rules: RULES.to_vec(), checks: checks.collect(), fail_on: Level::Warning }
}

/// One test.
pub(super) fn check(Finished { identity, outcome }: &Finished) -> Check {
    let location = Location { file: Some(identity.file.clone()), line: Some(identity.line), ..Location::default() };
    let found = match &outcome.verdict {
        Verdict::Passed => None,
        Verdict::Failed(why) => Some((FAILED, Level::Error, why.to_string())),
        Verdict::Stopped(stop) => Some((STOPPED, Level::Unknown, stop.to_string())),
        Verdict::Skipped => Some((SKIPPED, Level::Warning, "skipped".to_owned())),
    };
    let finding = found.map(|(rule, level, message)| Finding {
        rule,
        level,
        title: Some(identity.name.clone()),
        message,
        location: location.clone(),
    });
    Check {
        group: identity.scope.name().to_owned(),
        name: identity.name.clone(),
        location,
        took: Some(outcome.took),
        prints: outcome.prints.clone(),
        is_skipped: matches!(outcome.verdict, Verdict::Skipped),
        findings: finding.into_iter().collect(),
    }
}

/// What is wrong with a whole suite counts as one more test of it.
pub(super) fn complaint(Complaint { suite, problem }: &Complaint) -> Check {
    let location = Location { file: Some(suite.clone()), ..Location::default() };
    let finding = Finding {
        rule: UNUSED,
        level: Level::Unknown,
        title: None,
        message: problem.clone(),
        location: location.clone(),
    };
    let name = "every answer is used".to_owned();
    Check { group: suite.clone(), name, location, findings: vec![finding], ..Check::default() }
}
