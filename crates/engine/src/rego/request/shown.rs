//! Values of rules as messages repeat them.

use crate::message::cut;
use crate::rego::engine::is_within;
use regorus::Value;

/// The largest value that is written out to be shown, in bytes as bounds measure them.
const MAX_SHOWN: usize = 64 * 1024;
/// The longest value that a message repeats.
const MAX_VALUE_LENGTH: usize = 200;

/// The contract's words for a value that is no answer.
pub(super) fn unexpected_value(value: &Value) -> String {
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

/// A value as messages repeat it. One that shares its parts may be longer than any memory when it is written out.
pub(super) fn shown(value: &Value) -> String {
    if is_within(value, MAX_SHOWN) {
        cut(&value.to_string(), MAX_VALUE_LENGTH)
    } else {
        "(too large to show)".to_owned()
    }
}
