//! Rego: custom rules of the phases, and policies by kind.
//!
//! ```text
//! settings ── library (what a module refers to) ── evaluator ── policies, phases
//!                        │                            │
//!                      module (its syntax, read)    bounds, builtins
//!                        └── compile, recursion: what is refused when the policy is deployed
//! input, cluster: what rules see ── patch: what they change
//! ```
//!
//! The engine is regorus. Nothing of it is touched by a request whose kind no rule looks at.

mod bounds;
mod builtins;
mod cluster;
mod compile;
mod document;
mod evaluator;
pub mod generated;
mod growth;
mod hash;
pub mod image_has_prefix;
mod image_reference;
mod input;
mod library;
mod module;
mod patch;
mod phases;
mod policies;
mod recursion;
mod request;
mod seen;
mod sprintf;
mod variables;

use crate::Timestamp;
use crate::message::cut;
use crate::settings::ImageMatching;
use regorus::Value;
use std::collections::BTreeSet;

pub(crate) use cluster::Cluster;
pub(crate) use compile::check;
pub(crate) use evaluator::Budget;
pub(crate) use input::{Input, scan_report};
pub(crate) use phases::{Phase, PhaseRules, settings_data};
pub use policies::PolicyOutcome;
pub use regorus::utils::limits::TimeSource as Clock;
pub(crate) use request::{PoliciesSaid, RequestRules};
pub(crate) use seen::hide;
pub use seen::{Seen, SeenModule};

/// The largest value that is written out to be shown, in bytes as bounds weigh them.
const MAX_SHOWN: usize = 64 * 1024;
/// The longest value that a message repeats.
const MAX_VALUE_LENGTH: usize = 200;

/// The time that a [`Clock`] tells when the memory is used up: no rule has so much.
pub const NO_TIME: std::time::Duration = evaluator::NO_TIME;

/// Makes an engine of `image-admission`'s command line one like the policy's: with the builtins that are added or kept
/// within bounds here, whatever its modules call, and with OPA's answer to builtins that have none: undefined.
///
/// # Errors
/// The engine has an extension of such a name already.
pub fn make_alike(engine: &mut regorus::Engine, now: Timestamp) -> anyhow::Result<()> {
    engine.set_strict_builtin_errors(false);
    let called: BTreeSet<&str> = builtins::names().collect();
    let crossed = bounds::Crossed::default();
    builtins::install(engine, &called, now, ImageMatching::Canonical, &crossed)?;
    bounds::install(engine, &called, &crossed)
}

/// Gives the engine the clock that stops rules. It is read while rules run, and nowhere else; without one no rule runs.
/// The first clock stays.
pub fn use_clock(clock: &'static dyn Clock) {
    let _ = regorus::utils::limits::set_time_source(clock);
}

/// A value as messages repeat it. One that shares its parts may be longer than any memory when it is written out.
fn shown(value: &Value) -> String {
    if bounds::weighs_at_most(value, MAX_SHOWN) {
        cut(&value.to_string(), MAX_VALUE_LENGTH)
    } else {
        "(too large to show)".to_owned()
    }
}

/// The contract's words for a value that is no answer.
fn unexpected_value(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Set(_) => "set",
        Value::Object(_) => "object",
        Value::Undefined => "undefined",
    };
    format!("Evaluation error - unexpected value type: {kind} - value: {}", shown(value))
}
