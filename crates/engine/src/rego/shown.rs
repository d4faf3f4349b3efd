//! Values of rules as messages speak of them: by their type. A value may be what a Secret holds, and messages are read by
//! whoever is rejected, and by whoever reads the log.

use regorus::Value;

/// The contract's words for a value that is no answer, with the rule and what it should have given. The value itself isn't
/// repeated.
pub(super) fn unexpected_value(rule: &str, value: &Value, gives: &str) -> String {
    let kind = kind_of(value);
    format!("Evaluation error - unexpected value type: {kind}; rule `{rule}` gives {gives}")
}

/// What a value is called in messages.
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
