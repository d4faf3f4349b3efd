//! Rego on the command line: modules and data that are ready to be evaluated, for `eval` and `test`.

mod clock;
mod problem;
mod sources;

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use web_time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use image_admission_rego::evaluation::make_alike;
use image_admission_untrusted::time::Timestamp;
use regorus::unstable::{Module as ParsedModule, NodeRef, Rule, RuleHead};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, LimitError, PolicyLengthConfig, Value};

pub(in crate::command) use clock::start as start_clock;
pub(super) use problem::{Problem, Problems};
pub(super) use sources::{SourceError, Sources};

/// In which Rego modules are written that don't say it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RegoVersion {
    /// As the policy's settings have it, if they don't say otherwise.
    #[default]
    V0,
    /// `if` and `contains` are keywords, and needed.
    V1,
}

/// Which Rego is meant.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct VersionOptions {
    /// Modules are in Rego v0, unless they import `rego.v1`; this is the default
    #[arg(long, alias = "v0-compatible", conflicts_with = "v1")]
    v0: bool,

    /// Modules are in Rego v1: `deny contains msg if { … }`
    #[arg(long, alias = "v1-compatible")]
    v1: bool,
}

impl VersionOptions {
    /// The version that was asked for.
    pub(super) fn version(self) -> RegoVersion {
        if self.v1 { RegoVersion::V1 } else { RegoVersion::V0 }
    }
}

/// One module of rules, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// How messages call it: a file's path, or where in the settings it is.
    pub(super) name: String,
    /// The rules.
    pub(super) text: String,
    /// What they are written in.
    pub(super) version: RegoVersion,
}

/// Data, and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// How messages call it.
    pub(super) name: String,
    /// Everything, from the root of `data` on.
    pub(super) value: Value,
}

/// The work units between two looks at the clock: some ten microseconds.
const UNITS_BETWEEN_CHECKS: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// Tests hold whole objects in one line, and an own corpus in one file: the policy's limits are for its settings.
const LENGTHS: PolicyLengthConfig = PolicyLengthConfig {
    max_col: NonZeroU32::new(1 << 20).unwrap(),
    max_file_bytes: NonZeroUsize::new(1 << 26).unwrap(),
    max_lines: NonZeroUsize::new(1 << 20).unwrap(),
};

/// Modules and data that belong together, and are ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Program {
    engine: Engine,
}

impl Program {
    /// Compiles the modules; one evaluation may then take `limit`. Queries are in `version`.
    ///
    /// Fails with every problem of every module.
    pub(super) fn new(
        modules: Vec<Module>,
        data: Vec<Data>,
        version: RegoVersion,
        limit: Duration,
    ) -> Result<Self, Problems> {
        clock::start();
        let mut engine = new_engine(version);
        engine.set_policy_length_config(LENGTHS);
        engine.set_gather_prints(true);
        let mut problems = Vec::new();
        for Module { name, text, version } in modules {
            engine.set_rego_v0(version == RegoVersion::V0);
            if let Err(error) = engine.add_policy(name, text) {
                problems.push(hinted(Problem::read(&error.to_string()), version));
            }
        }
        engine.set_rego_v0(version == RegoVersion::V0);
        for Data { name, value } in data {
            if let Err(error) = engine.add_data(value) {
                problems.push(Problem::without_place(&format!("{name}: other data contradicts it: {error}")));
            }
        }
        problems.extend(engine.get_modules().iter().flat_map(|module| &module.policy).filter_map(|rule| keyword(rule)));
        if problems.is_empty() {
            // What the modules have between them, such as a variable that nothing binds, shows at the first evaluation.
            if let Err(error) = engine.eval_query("true".to_owned(), false) {
                problems.push(hinted(Problem::read(&error.to_string()), version));
            }
        }
        // Only now: the time is for what is evaluated.
        engine.set_execution_timer_config(ExecutionTimerConfig { limit, check_interval: UNITS_BETWEEN_CHECKS });
        if problems.is_empty() { Ok(Self { engine }) } else { Err(Problems(problems)) }
    }

    /// The modules, in their order.
    pub(super) fn modules(&mut self) -> Vec<NodeRef<ParsedModule>> {
        self.engine.get_modules().clone()
    }

    /// An engine of its own for one evaluation, so that none leaves anything behind for the next.
    pub(super) fn engine(&self) -> Engine {
        self.engine.clone()
    }
}

/// What is wrong with a rule that has the name of a keyword of v1: `test_a if { … }` are two rules in v0, and the first is always true.
fn keyword(rule: &Rule) -> Option<Problem> {
    let Rule::Spec { head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. }, .. } = rule else { return None };
    let span = refr.span();
    let name = ["if", "contains"].into_iter().find(|keyword| *keyword == span.text())?;
    Some(Problem::without_place(&format!(
        "{}:{}: `{name}` is a rule of its own in Rego v0; where it is meant as the keyword, give `--v1`, or write `import rego.v1` \
         below `package`",
        span.source.file(),
        span.line
    )))
}

/// A problem of modules in a version, with a hint where they seem to be in the other.
fn hinted(mut problem: Problem, version: RegoVersion) -> Problem {
    if version == RegoVersion::V0 && problem.is_like_v1() {
        problem.add_hint("if this is Rego v1, give `--v1`, or write `import rego.v1` below `package`");
    }
    problem
}

/// What an evaluation's error says, by its type where it has one.
macro_rules! failure {
    ($error:expr) => {
        $crate::command::rego::Failure::new($error.downcast_ref::<regorus::LimitError>(), &$error.to_string())
    };
}
pub(super) use failure;

/// Why an evaluation has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It was stopped.
    #[error("it took longer than {}", shown(*_0))]
    Time(Duration),
    /// The rules went wrong.
    #[error(transparent)]
    Problem(Problem),
}

impl Failure {
    /// See [`failure`].
    pub(super) fn new(limit: Option<&LimitError>, text: &str) -> Self {
        match limit {
            Some(LimitError::TimeLimitExceeded { limit, .. }) => Self::Time(*limit),
            _ => Self::Problem(Problem::read(text)),
        }
    }
}

/// A time as people write it: `1.2ms`.
pub(super) fn shown(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    let (number, unit) = match nanos {
        nanos if nanos >= 1e9 => (nanos / 1e9, "s"),
        nanos if nanos >= 1e6 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e3, "µs"),
    };
    let number = format!("{number:.1}");
    format!("{}{unit}", number.strip_suffix(".0").unwrap_or(&number))
}

/// An engine with the functions that the policy has, and with the time of this moment.
fn new_engine(version: RegoVersion) -> Engine {
    let mut engine = Engine::new();
    engine.set_rego_v0(version == RegoVersion::V0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    // A new engine has no extensions that these could clash with.
    let _ = make_alike(&mut engine, now);
    engine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(shown(Duration::from_secs(5)), "5s");
        assert_eq!(shown(Duration::from_micros(1234)), "1.2ms");
        assert_eq!(shown(Duration::from_nanos(500)), "0.5µs");
    }
}
