//! Values of rules in messages: only their type. A value may be the contents of a Secret, and messages are read by rejected users
//! and in the log.

use regorus::Value;

/// The contract's error for a value that is no answer, with the rule and what it should have returned. The value itself isn't
/// shown.
pub(super) fn unexpected_value(rule: &str, value: &Value, gives: &str) -> String {
    let kind = kind_of(value);
    format!("Evaluation error - unexpected value type: {kind}; rule `{rule}` gives {gives}")
}

/// The name of a value's type in messages.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Set(_) => "set",
        Value::Object(_) => "object",
        Value::Undefined => "undefined",
    }
}
