//! Suites: what the policy is expected to decide, written as cases in YAML.

mod answers;
mod calls;
mod expectation;
mod keys;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use image_admission_cli::answers::recorded::Recorder;
use image_admission_cli::answers::{AnswerSource, Gate, Grants, Request};
use image_admission_engine::AdmissionRequest;
use serde_json::value::RawValue;

use super::identity::Identity;
use super::outcome::{Outcome, Stop, Verdict, Why};
use crate::command::policy::{Answer, Policy, PolicyError, log_line};
use answers::{Answers, Place, Usage};
use expectation::Expectation;

/// A suite that was read, with everything that it names.
#[derive(Debug)]
pub(super) struct Suite {
    /// Its file, as messages call it.
    pub(super) name: String,
    /// In the order of the file.
    pub(super) cases: Vec<Case>,
    /// The real paths of everything that belongs to the suite.
    pub(super) files: BTreeSet<PathBuf>,
    answers: BTreeMap<Place, Answers>,
}

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    /// Its name is unique in the suite.
    pub(super) identity: Identity,
    /// What the policy is deployed with.
    pub(super) settings: Settings,
    request: Box<RawValue>,
    place: Place,
    expectation: Expectation,
}

/// A policy's settings, and what messages call them.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// A file, or where in the suite.
    pub(super) name: String,
    /// All of them.
    pub(super) json: Box<RawValue>,
}

/// What came of a case.
#[derive(Debug)]
pub(super) struct Ran {
    /// Whether it holds.
    pub(super) outcome: Outcome,
    /// What the policy asked its host, in its order.
    requests: Vec<Request>,
    /// What the case's source had more than that.
    leftovers: Vec<String>,
}

impl Suite {
    /// Lets the policy decide one of the suite's cases, and compares.
    ///
    /// Fails when the module can't be used at all.
    pub(super) fn run(&self, case: &Case, policy: &Policy) -> Result<Ran, PolicyError> {
        let start = Instant::now();
        let mut prints = Vec::new();
        let Some(answers) = self.answers.get(&case.place) else {
            let verdict = Verdict::Stopped(Stop::Case("nothing was read that could answer".to_owned()));
            let outcome = Outcome { verdict, took: start.elapsed(), prints };
            return Ok(Ran { outcome, requests: Vec::new(), leftovers: Vec::new() });
        };
        let recorder = Arc::new(Recorder::new(answers.source()));
        let host = Arc::new(Gate::new(Grants::everything(), Arc::clone(&recorder) as Arc<dyn AnswerSource>));
        let answer = policy.answer(&case.request, host, &mut |entry| prints.push(log_line(entry)));
        let requests = recorder.requests();
        let missing = requests.iter().find_map(|request| answers.missing(request, &case.place));
        let verdict = match (missing, answer) {
            // What the policy makes of having no answer is beside the point.
            (Some(missing), Ok(_) | Err(PolicyError::NoAnswer(_))) => Verdict::Stopped(Stop::Case(missing)),
            (None, Ok(Answer { response, .. })) => {
                let object = AdmissionRequest::read(Some(&case.request)).and_then(|request| request.object()).ok();
                let calls: Vec<String> = requests.iter().map(calls::shown).collect();
                match case.expectation.differences(&response, object.as_ref(), &calls) {
                    parts if parts.is_empty() => Verdict::Passed,
                    parts => Verdict::Failed(Why(parts)),
                }
            }
            (None, Err(PolicyError::NoAnswer(why))) => Verdict::Stopped(Stop::Case(why.to_string())),
            (_, Err(other)) => return Err(other),
        };
        let outcome = Outcome { verdict, took: start.elapsed(), prints };
        Ok(Ran { outcome, requests, leftovers: recorder.leftovers() })
    }

    /// What there is to be asked for and no case asked for: it may be misspelt, or nobody needs it any more. `ran` has
    /// every case of the suite. Where one doesn't pass, nothing is said: it may not have come to its questions.
    pub(super) fn unused<'r>(&self, ran: impl IntoIterator<Item = (&'r Case, &'r Ran)>) -> Vec<String> {
        let mut usage = Usage::default();
        for (case, ran) in ran {
            if !matches!(ran.outcome.verdict, Verdict::Passed) {
                return Vec::new();
            }
            if let Some(answers) = self.answers.get(&case.place) {
                usage.add(&case.place, answers, &ran.requests, ran.leftovers.clone());
            }
        }
        usage.unused()
    }
}

/// Why suites can't be run: by suite, one problem a line.
#[derive(Debug, thiserror::Error)]
#[error("{}", _0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub(in crate::command) struct InvalidSuites(pub(in crate::command) Vec<InvalidSuite>);

/// Why one suite can't be run.
#[derive(Debug, thiserror::Error)]
#[error("the suite `{suite}` can't be run\n  {}", problems.join("\n").replace('\n', "\n  "))]
pub(in crate::command) struct InvalidSuite {
    /// Its file.
    pub(super) suite: String,
    /// What is wrong with it.
    pub(super) problems: Vec<String>,
}
