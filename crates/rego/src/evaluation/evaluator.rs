//! Evaluating: one set of modules, with the limits that keep a rule from taking the server down.

use super::bounds;
use super::builtins;
use super::clock::tell_regorus;
use super::first_exceeded_bound::FirstExceededBound;
use super::module::Facts;
use image_admission_settings::{ImageMatching, RegoVersion};
use image_admission_untrusted::clock::{self, NO_TIME};
use image_admission_untrusted::memory::finish_with;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use regorus::unstable::{Module as Ast, Ref};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, LimitError, PolicyLengthConfig, Value};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// What all Rego of a request may take, so that it ends within 600 ms: a builtin or an operator that was begun goes on for up to
/// 150. The server stops a policy after 1 to 2 seconds, without saying why.
const BUDGET: Duration = Duration::from_millis(450);
/// After how many steps of an evaluation the clock is read, and the memory checked: one or two statements lie between two checks.
const STEPS_BETWEEN_CHECKS: NonZeroU32 = NonZeroU32::new(4).expect("is not zero");
/// How long a module's text may be: longer than anything in use. The default allows lines of 1024 characters only.
const LENGTHS: PolicyLengthConfig = PolicyLengthConfig {
    max_col: NonZeroU32::new(1 << 20).expect("is not zero"),
    max_file_bytes: NonZeroUsize::new(1 << 20).expect("is not zero"),
    max_lines: NonZeroUsize::new(1 << 20).expect("is not zero"),
};
/// The longest error that is passed on.
const MAX_ERROR_LENGTH: usize = 400;

/// A module in Rego, with the name that messages give it.
#[derive(Debug, Clone, Copy)]
pub struct ModuleText<'s> {
    /// What messages call it.
    pub name: &'s str,
    /// The module.
    pub rego: &'s str,
    /// In which syntax it is written.
    pub version: RegoVersion,
}

/// The time that is left for the Rego of one request. Host calls between evaluations don't count.
#[derive(Debug)]
pub struct Budget {
    /// None: as much as it takes, without a clock.
    left: Cell<Option<Duration>>,
}

/// Modules that are loaded, and answer for their rules.
#[derive(Debug)]
pub struct Evaluator<'b> {
    /// None: nothing is loaded yet.
    engine: Option<Engine>,
    /// The first bound that a builtin met. Its error may not have reached the end of an evaluation.
    exceeded: FirstExceededBound,
    budget: &'b Budget,
}

/// Why there is no answer. It rejects, whatever the rule would have said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationError {
    /// The time for all Rego of the request was used up by this.
    TimeIsUp,
    /// It was used up before this.
    NoTimeLeft,
    /// The memory that the module may use is nearly used up.
    OutOfMemory,
    /// Nobody gave the engine a clock, so that nothing would stop a rule.
    NoClock,
    /// Anything else, in one line, with the place in the module.
    Failed(String),
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeIsUp => {
                write!(f, "stopped: the Rego of one request has {} ms", BUDGET.as_millis())
            }
            Self::NoTimeLeft => {
                write!(f, "not evaluated: the {} ms for the Rego of one request are used up", BUDGET.as_millis())
            }
            Self::OutOfMemory => f.write_str("stopped: it uses more memory than the policy may"),
            Self::NoClock => f.write_str("there is no clock that could stop a rule"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: Cell::new(Some(BUDGET)) }
    }
}

impl Budget {
    /// As much time as it takes: for reading modules when the policy is deployed, where nothing is evaluated.
    pub fn unlimited() -> Self {
        Self { left: Cell::new(None) }
    }

    /// Does `work` with the time that is left, and subtracts what it took.
    fn spend<T>(
        &self,
        work: impl FnOnce(Option<Duration>) -> Result<T, EvaluationError>,
    ) -> Result<T, EvaluationError> {
        let Some(left) = self.left.get() else { return work(None) };
        let start = clock::now().ok_or(EvaluationError::NoClock)?;
        if start >= NO_TIME {
            return Err(EvaluationError::OutOfMemory);
        }
        if left.is_zero() {
            return Err(EvaluationError::NoTimeLeft);
        }
        let done = work(Some(left));
        let now = clock::now().ok_or(EvaluationError::NoClock)?;
        let taken = now.saturating_sub(start);
        self.left.set(Some(left.saturating_sub(taken)));
        // Checked whatever came of it. The engine drops an error inside of a function, even of its own limits, if another
        // definition has an answer. That answer then lacks a part. Or it passes on only the error's text.
        if now >= NO_TIME {
            Err(EvaluationError::OutOfMemory)
        } else if taken > left {
            Err(EvaluationError::TimeIsUp)
        } else {
            done
        }
    }
}

impl Drop for Evaluator<'_> {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            finish_with(engine);
        }
    }
}

impl<'b> Evaluator<'b> {
    /// An evaluator without any module yet.
    pub fn new(budget: &'b Budget) -> Self {
        Self { engine: None, exceeded: FirstExceededBound::default(), budget }
    }

    /// Forgets every module.
    pub(crate) fn start_again(&mut self) {
        self.engine = None;
    }

    /// Loads a module, and says what it is about.
    ///
    /// # Errors
    /// It is no Rego of its version.
    pub fn load(&mut self, text: &ModuleText<'_>) -> Result<Facts, EvaluationError> {
        let engine = engine(&mut self.engine);
        self.budget.spend(|_| {
            engine.set_rego_v0(text.version == RegoVersion::V0);
            engine
                .add_policy(text.name.to_owned(), text.rego.to_owned())
                .map_err(|error| EvaluationError::Failed(one_line(&error)))?;
            engine
                .get_modules()
                .last()
                .map(|module: &Ref<Ast>| Facts::of(module))
                .ok_or_else(|| EvaluationError::Failed("the module is gone".to_owned()))
        })
    }

    /// Adds the builtins that modules call and that this project adds or keeps within bounds.
    ///
    /// # Errors
    /// A function is called that isn't there, which is refused when the policy is deployed: the engine would drop the error of a
    /// call inside of a function that has another answer. Or a builtin is there already, which is a bug here.
    pub fn extend(
        &mut self,
        modules: &[Facts],
        now: Timestamp,
        matching: ImageMatching,
    ) -> Result<(), EvaluationError> {
        let called: BTreeSet<&str> = modules.iter().flat_map(|facts| facts.calls.keys()).map(String::as_str).collect();
        let is_defined = |name: &str| {
            let is_own = || modules.iter().any(|facts| facts.functions.contains(name));
            name.starts_with("data.") || builtins::exists(name) || is_own()
        };
        if let Some(missing) = called.iter().find(|name| !is_defined(name)) {
            return Err(EvaluationError::Failed(format!("there is no function `{missing}`")));
        }
        let failed = |error: anyhow::Error| EvaluationError::Failed(one_line(&error));
        let engine = engine(&mut self.engine);
        self.exceeded = FirstExceededBound::default();
        builtins::install(engine, &called, now, matching, &self.exceeded).map_err(failed)?;
        bounds::install(engine, &called, &self.exceeded).map_err(failed)
    }

    /// Adds a document to `data`.
    ///
    /// # Errors
    /// It contradicts what is there already. Which value does isn't repeated: it may be a Secret's.
    pub fn add_data(&mut self, data: Value) -> Result<(), EvaluationError> {
        let contradicts = || EvaluationError::Failed("the data contradicts what is there already".to_owned());
        engine(&mut self.engine).add_data(data).map_err(|_| contradicts())
    }

    /// What the rules see as `input` from now on.
    pub fn set_input(&mut self, input: Value) {
        engine(&mut self.engine).set_input(input);
    }

    /// The value of a rule, `data.package.rule`; none when it is undefined.
    ///
    /// # Errors
    /// The evaluation failed, or was stopped.
    pub fn rule(&mut self, path: &str) -> Result<Option<Value>, EvaluationError> {
        let (engine, exceeded) = (engine(&mut self.engine), &self.exceeded);
        self.budget.spend(|left| {
            if let Some(limit) = left {
                engine.set_execution_timer_config(ExecutionTimerConfig { limit, check_interval: STEPS_BETWEEN_CHECKS });
            }
            let value = engine.eval_rule(path.to_owned()).map_err(|error| failure(&error));
            match (value, exceeded.take()) {
                (Err(stopped @ (EvaluationError::TimeIsUp | EvaluationError::OutOfMemory)), _) => Err(stopped),
                (_, Some(bound)) => Err(EvaluationError::Failed(cut(&bound, MAX_ERROR_LENGTH))),
                (Ok(Value::Undefined), None) => Ok(None),
                (Ok(value), None) => Ok(Some(value)),
                (Err(error), None) => Err(error),
            }
        })
    }

    /// The values of a query's variables, an object for each way in which it holds.
    ///
    /// # Errors
    /// The evaluation failed, or was stopped.
    pub fn query(&mut self, query: &str) -> Result<Vec<Value>, EvaluationError> {
        let (engine, exceeded) = (engine(&mut self.engine), &self.exceeded);
        self.budget.spend(|_| {
            let found = engine.eval_query(query.to_owned(), false).map_err(|error| failure(&error))?;
            match exceeded.take() {
                Some(bound) => Err(EvaluationError::Failed(cut(&bound, MAX_ERROR_LENGTH))),
                None => Ok(found.result.into_iter().map(|way| way.bindings).collect()),
            }
        })
    }

    /// Does all that is done before a rule is evaluated, and evaluates none.
    ///
    /// # Errors
    /// What can't be evaluated, like variables that nothing binds.
    pub fn prepare(&mut self) -> Result<(), EvaluationError> {
        engine(&mut self.engine).eval_query("true".to_owned(), false).map(|_| ()).map_err(|error| failure(&error))
    }

    /// The documents that rules see as `data`.
    pub fn data(&self) -> Value {
        self.engine.as_ref().map_or_else(Value::new_object, Engine::get_data)
    }

    /// The syntax of every module loaded so far.
    pub fn modules(&mut self) -> &[Ref<Ast>] {
        engine(&mut self.engine).get_modules()
    }
}

/// The engine, with the configuration that all engines have.
fn engine(slot: &mut Option<Engine>) -> &mut Engine {
    slot.get_or_insert_with(|| {
        tell_regorus();
        let mut engine = Engine::new();
        // As in OPA: a builtin that has no answer is undefined. An exceeded bound is an error.
        engine.set_strict_builtin_errors(false);
        // Modules may be of any length. How deep they are nested is checked when the policy is deployed.
        engine.set_policy_length_config(LENGTHS);
        engine
    })
}

fn failure(error: &anyhow::Error) -> EvaluationError {
    match error.downcast_ref::<LimitError>() {
        Some(LimitError::TimeLimitExceeded { elapsed, .. }) if *elapsed >= NO_TIME / 2 => EvaluationError::OutOfMemory,
        Some(LimitError::TimeLimitExceeded { .. }) => EvaluationError::TimeIsUp,
        Some(LimitError::MemoryLimitExceeded { .. }) => EvaluationError::OutOfMemory,
        _ => EvaluationError::Failed(one_line(error)),
    }
}

/// An error of the Rego engine in one line. The engine draws it over several: `--> name:line:column`, the source and a caret, and
/// then `error: why`.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
    let why = text.lines().find_map(|line| line.trim_start().strip_prefix("error: "));
    let line = match (place, why) {
        (Some(place), Some(why)) => format!("{}: {}", place.trim(), why.trim()),
        _ => text.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    cut(&line, MAX_ERROR_LENGTH)
}
