//! Why a builtin has no answer.

use regorus::Value;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// What it was given has none, as in OPA: the call is undefined.
    Undefined,
    /// It would take too much, or can't be made right here. Such an error rejects: `not` makes no answer of it.
    Refused(String),
}

/// What the engine is told.
///
/// # Errors
/// The builtin refuses to answer.
pub(super) fn told(answer: Result<Value, Unanswered>) -> anyhow::Result<Value> {
    match answer {
        Ok(value) => Ok(value),
        Err(Unanswered::Undefined) => Ok(Value::Undefined),
        Err(Unanswered::Refused(why)) => Err(anyhow::anyhow!(why)),
    }
}
