//! `internal.template_string`: what the engine's parser makes of `$"{image} is old"`.

use super::sprintf::sprintf;
use anyhow::bail;
use regorus::Value;

/// What a template string calls.
pub const TEMPLATE_STRING: &str = "internal.template_string";

/// Joins an array of strings and of what each expression came to: an array of one value, or of none where it is undefined.
///
/// # Errors
/// An expression has several values, or the string is longer than the bounds.
pub(super) fn template_string(arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::Array(parts)] = arguments else { return Ok(Value::Undefined) };
    let mut format = String::new();
    let mut values = Vec::new();
    for part in parts.iter() {
        let value = match part {
            Value::Array(found) => match found.as_slice() {
                [] => Value::from("<undefined>"),
                [value] => value.clone(),
                _ => bail!("an expression of a template string has several values; ask for one"),
            },
            text => text.clone(),
        };
        format.push_str("%v");
        values.push(value);
    }
    sprintf(vec![Value::from(format), Value::from(values)])
}
