//! What settings that somebody has cost, for objects that somebody has.

mod text;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use image_admission_manifests::request::{Request, Subject};
use image_admission_module_host::answers::{HostAnswers, HostCall};
use image_admission_module_host::runtime::{HostExchange, LogEntry, PolicyModule, Reply};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use web_time::Instant;

use super::Bench;
use super::calls::{Calls, Kind, Number};
use super::rules::Rule;
use crate::command::kept::Kept;
use crate::command::output::{Format, json, yaml};
use crate::command::policy::{Policy, PolicyError};
use crate::command::run::RunError;
use crate::command::terminal::{Paint, StandardOutput, without_commands};
use crate::command::{Ending, complain, nobody_answers, warn};
use crate::host_options::Host;

/// How long an object is timed.
const TIMED: Duration = Duration::from_secs(1);

/// What a request costs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    request: String,
    allowed: bool,
    /// Why, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    calls: Vec<CallsOfKind>,
    all_calls: Number,
    max_host_calls: usize,
    /// What reaches registries at least, if nothing is kept.
    registry_requests: usize,
    fuel: u64,
    /// The median, in microseconds.
    microseconds: u64,
    /// How many requests it is the median of.
    timed: usize,
    /// The most memory of the instance, in bytes.
    memory: usize,
    /// The slowest first.
    rules: Vec<RuleCost>,
    /// Rules whose cost nobody can tell.
    unmeasured: Vec<Unmeasured>,
}

#[derive(Debug, Serialize)]
struct CallsOfKind {
    kind: Kind,
    #[serde(flatten)]
    number: Number,
}

/// The fuel that a request saves without a rule; less than nothing if the rule spares it something.
#[derive(Debug, Serialize)]
struct RuleCost {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    fuel: i64,
    #[serde(skip)]
    shown: String,
}

#[derive(Clone, Debug, Serialize)]
struct Unmeasured {
    path: String,
    why: String,
}

/// A rule, and the policy without it, or why there is none.
struct Variant {
    rule: Rule,
    without: Result<Policy, String>,
}

/// Settings to measure, as they are and without each rule.
struct Measuring<'h> {
    counting: Policy,
    timing: Policy,
    variants: Vec<Variant>,
    host: &'h Host,
    answers: Arc<dyn HostAnswers>,
    /// How many requests are timed at most.
    requests: u32,
}

impl Bench {
    /// Measures every object that was named, and writes what each costs.
    pub(super) fn measure_objects(&self, output: &mut impl StandardOutput) -> Result<Ending, RunError> {
        let requests = self.asked.requests(&self.manifests)?;
        let (settings, grants) = self.asked.settings(&requests)?;
        let host = self.host.open(grants)?;
        host.remark().into_iter().for_each(warn);
        let option = &self.asked.module;
        // Registries and the cluster are asked once, whatever is tried.
        let answers: Arc<dyn HostAnswers> = Arc::new(Kept::new(host.answers()));
        let policy = |module: &Arc<PolicyModule>, settings: Box<RawValue>| {
            Policy::new(Arc::clone(module), option.path().to_owned(), settings, Arc::clone(&answers), &mut pass_over)
        };
        let counter = Arc::new(option.compile_counting(self.asked.timeout)?);
        let counting = match policy(&counter, settings.clone()) {
            Err(PolicyError::InvalidSettings(problems)) => {
                self.asked.complain_of_settings(&problems);
                return Ok(Ending::InvalidSettings);
            }
            policy => policy?,
        };
        let written: Value = serde_json::from_str(settings.get()).map_err(io::Error::from)?;
        let mut variants = Vec::new();
        for rule in Rule::all(&written) {
            let without = serde_json::value::to_raw_value(&rule.left_out_of(&written)).map_err(io::Error::from)?;
            let without = match policy(&counter, without) {
                Err(PolicyError::InvalidSettings(problems)) => {
                    let problem = problems.lines().next().unwrap_or_default();
                    Err(format!("the settings aren't valid without it: {problem}"))
                }
                without => Ok(without?),
            };
            variants.push(Variant { rule, without });
        }
        let timing = policy(&Arc::new(option.compile(self.asked.timeout)?), settings)?;
        let measuring = Measuring {
            counting,
            timing,
            variants,
            host: &host,
            answers: Arc::clone(&answers),
            requests: self.requests,
        };
        let (mut costs, mut ending) = (Vec::new(), Ending::Done);
        for request in &requests {
            match measuring.cost(request)? {
                Ok(cost) => costs.push(cost),
                Err(why) => {
                    complain(&format!("{}, {}: {why}", request.place, Subject::of(&request.json)));
                    ending = Ending::Failed;
                }
            }
        }
        host.save_recording()?;
        match self.output {
            Format::Text => {
                let text = text::text(&costs, self.verbose, Paint::for_output(output));
                write!(output, "{}", without_commands(&text))?;
            }
            Format::Json => write!(output, "{}", json(&costs)?)?,
            Format::Yaml => write!(output, "{}", yaml(&costs)?)?,
        }
        output.flush()?;
        Ok(ending)
    }
}

impl Measuring<'_> {
    /// What a request costs, or why it can't be told.
    fn cost(&self, request: &Request) -> Result<Result<Cost, String>, RunError> {
        let reply = self.counting.ask(&request.json, Arc::clone(&self.answers))?;
        if let Some(call) = self.unanswered(&reply.exchanges) {
            return Ok(Err(nobody_answers(&call)));
        }
        let Reply { response, exchanges, memory, fuel, .. } = reply;
        let response = match response {
            Ok(response) => response,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let fuel = fuel.unwrap_or_default();
        let response: Value = serde_json::from_slice(&response).unwrap_or_default();
        let (rules, unmeasured) = self.rules(request, fuel)?;
        let times = self.times(request)?;
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        let calls = Calls::of(&exchanges);
        let reason = response.pointer("/audit_annotations/reason").or_else(|| response.get("message"));
        let reason = reason.and_then(Value::as_str).and_then(|reason| reason.lines().next());
        Ok(Ok(Cost {
            request: Subject::of(&request.json).to_string(),
            allowed: response.get("accepted").and_then(Value::as_bool).unwrap_or_default(),
            reason: reason.map(str::to_owned),
            calls: calls.by_kind().map(|(kind, number)| CallsOfKind { kind, number }).collect(),
            all_calls: calls.all(),
            max_host_calls: self.counting.max_host_calls(),
            registry_requests: calls.registry_requests(),
            fuel,
            microseconds: u64::try_from(median.as_micros()).unwrap_or(u64::MAX),
            timed: times.len(),
            memory: memory.answered,
            rules,
            unmeasured,
        }))
    }

    /// What each rule costs, of a request that takes so much fuel with all of them.
    fn rules(&self, request: &Request, fuel: u64) -> Result<(Vec<RuleCost>, Vec<Unmeasured>), RunError> {
        let (mut costs, mut unmeasured) = (Vec::new(), Vec::new());
        for Variant { rule, without } in &self.variants {
            let left = match without {
                Ok(policy) => self.fuel(policy, request)?,
                Err(why) => Err(why.clone()),
            };
            match left {
                Ok(left) => costs.push(RuleCost {
                    path: rule.path(),
                    name: rule.name.clone(),
                    fuel: i64::try_from(fuel).unwrap_or(i64::MAX).saturating_sub_unsigned(left),
                    shown: rule.to_string(),
                }),
                Err(why) => unmeasured.push(Unmeasured { path: rule.path(), why }),
            }
        }
        // The settings' order decides between equals.
        costs.sort_by_key(|cost| std::cmp::Reverse(cost.fuel));
        Ok((costs, unmeasured))
    }

    /// The fuel of a request, or why it says nothing.
    fn fuel(&self, policy: &Policy, request: &Request) -> Result<Result<u64, String>, RunError> {
        let reply = policy.ask(&request.json, Arc::clone(&self.answers))?;
        Ok(match (self.unanswered(&reply.exchanges), reply.response) {
            (Some(call), _) => Err(format!("without it, {}", nobody_answers(&call))),
            (None, Err(why)) => Err(format!("without it, {why}")),
            (None, Ok(_)) => Ok(reply.fuel.unwrap_or_default()),
        })
    }

    /// How long requests took, ascending.
    fn times(&self, request: &Request) -> Result<Vec<Duration>, RunError> {
        let answers: Arc<dyn HostAnswers> = Arc::new(Ready(Arc::clone(&self.answers)));
        let (start, mut times) = (Instant::now(), Vec::new());
        for _ in 0..self.requests {
            let before = Instant::now();
            self.timing.ask(&request.json, Arc::clone(&answers))?.response.map_err(PolicyError::NoAnswer)?;
            times.push(before.elapsed());
            if start.elapsed() > TIMED {
                break;
            }
        }
        times.sort();
        Ok(times)
    }

    /// The first of the calls that nobody was there to answer.
    fn unanswered(&self, exchanges: &[HostExchange]) -> Option<String> {
        let calls: BTreeSet<String> = exchanges.iter().map(|exchange| format!("{:?}", exchange.call)).collect();
        self.host.unanswered_of(&calls)
    }
}

/// Answers that are there already: no call waits, so none needs a thread, which would be timed too.
struct Ready(Arc<dyn HostAnswers>);

impl HostAnswers for Ready {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        self.0.answer(call)
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// What the policy logs is that of `run`.
fn pass_over(_: &LogEntry) {}
