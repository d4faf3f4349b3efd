//! Suites: what the policy is expected to decide, written as cases in YAML.

mod answers;
mod calls;
mod expectation;
mod keys;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use web_time::Instant;

use image_admission_engine::AdmissionRequest;
use image_admission_module_host::answers::recorded::Recorder;
use image_admission_module_host::answers::{AnswerSource, Gate, Grants, Request};
use serde_json::value::RawValue;

use super::identity::Identity;
use super::outcome::{Outcome, Part, Stop, Verdict, Why};
use crate::command::policy::{Answer, Policy, PolicyError, log_line};
use answers::{Answers, Place, Usage};
use expectation::{Decision, Message};

/// A suite that was read, with everything that it names.
#[derive(Debug)]
pub(super) struct Suite {
    /// Its file, as messages call it.
    pub(super) name: String,
    /// In the order of the file.
    pub(super) cases: Vec<Case>,
    /// The real paths of everything that belongs to the suite, be it there or not.
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
    question: Question,
}

/// What a case asks, and which answer it expects.
#[derive(Debug)]
enum Question {
    /// What the policy decides about a request, with answers from a place.
    Request { request: Box<RawValue>, place: Place, expected: Decision },
    /// With which words it refuses the settings.
    Settings(Message),
}

/// A policy's settings, and what messages call them.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// A file, or where in the suite.
    pub(super) name: String,
    /// All of them.
    pub(super) json: Box<RawValue>,
    /// What their policy may ask of the host.
    pub(super) grants: Grants,
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

impl Case {
    /// Whether the case expects its settings to be refused.
    pub(super) fn wants_refusal(&self) -> bool {
        matches!(self.question, Question::Settings(_))
    }
}

impl Suite {
    /// Lets the policy decide one of the suite's cases, and compares. Instead of a policy there may be the problems of the
    /// case's settings.
    ///
    /// Fails when the module can't be used at all.
    pub(super) fn run(&self, case: &Case, policy: Result<&Policy, &str>) -> Result<Ran, PolicyError> {
        let start = Instant::now();
        let mut prints = Vec::new();
        let mut asked = (Vec::new(), Vec::new());
        let verdict = match (&case.question, policy) {
            (Question::Settings(expected), policy) => of_differences(expected.differences(policy.err())),
            (Question::Request { .. }, Err(problems)) => Verdict::Stopped(Stop::Case(problems.to_owned())),
            (Question::Request { request, place, expected }, Ok(policy)) => match self.answers.get(place) {
                None => Verdict::Stopped(Stop::Case("nothing was read that could answer".to_owned())),
                Some(answers) => {
                    let recorder = Arc::new(Recorder::new(answers.source()));
                    let host = Gate::new(case.settings.grants.clone(), Arc::clone(&recorder) as Arc<dyn AnswerSource>);
                    let answer = policy.answer(request, Arc::new(host), &mut |entry| prints.push(log_line(entry)));
                    asked = (recorder.requests(), recorder.leftovers());
                    let requests = &asked.0;
                    match (requests.iter().find_map(|request| answers.missing(request, place)), answer) {
                        // What the policy makes of having no answer is beside the point.
                        (Some(missing), Ok(_) | Err(PolicyError::NoAnswer(_))) => Verdict::Stopped(Stop::Case(missing)),
                        (None, Ok(Answer { response, .. })) => {
                            let object =
                                AdmissionRequest::read(Some(request)).and_then(|request| request.object()).ok();
                            let calls: Vec<String> = requests.iter().map(calls::shown).collect();
                            of_differences(expected.differences(&response, object.as_ref(), &calls))
                        }
                        (None, Err(PolicyError::NoAnswer(why))) => Verdict::Stopped(Stop::Case(why.to_string())),
                        (_, Err(other)) => return Err(other),
                    }
                }
            },
        };
        let (requests, leftovers) = asked;
        Ok(Ran { outcome: Outcome { verdict, took: start.elapsed(), prints }, requests, leftovers })
    }

    /// What users of the suite's answers should know.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        self.answers.iter().filter_map(|(place, answers)| answers.remark(place))
    }

    /// What there is to be asked for and no case asked for: it may be misspelt, or nobody needs it any more. `ran` has
    /// every case of the suite. Where one doesn't pass, nothing is said: it may not have come to its questions.
    pub(super) fn unused<'r>(&self, ran: impl IntoIterator<Item = (&'r Case, &'r Ran)>) -> Vec<String> {
        let mut usage = Usage::default();
        for (case, ran) in ran {
            if !matches!(ran.outcome.verdict, Verdict::Passed) {
                return Vec::new();
            }
            if let Question::Request { place, .. } = &case.question
                && let Some(answers) = self.answers.get(place)
            {
                usage.add(place, answers, &ran.requests, ran.leftovers.clone());
            }
        }
        usage.unused()
    }
}

fn of_differences(parts: Vec<Part>) -> Verdict {
    if parts.is_empty() { Verdict::Passed } else { Verdict::Failed(Why(parts)) }
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
    /// What it names all the same.
    pub(super) files: BTreeSet<PathBuf>,
}
