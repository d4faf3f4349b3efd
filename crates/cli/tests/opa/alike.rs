//! When two answers are the same.

use serde_json::Value;

/// Equal as JSON: numbers by their value.
pub(super) fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    // A key that is no text is JSON as Go writes it, for browsers.
                    let go = key.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
                    other.get(key).or_else(|| other.get(&go)).is_some_and(|other| alike(value, other))
                })
        }
        _ => one == other,
    }
}

/// The ways in which a query holds, in an order of their own; with `bindings_too`, what is bound to lists as well.
pub(super) fn sorted(values: &[Value], bindings_too: bool) -> Vec<Value> {
    let mut values = values.to_vec();
    if bindings_too {
        for value in values.iter_mut().filter_map(Value::as_object_mut).flat_map(|object| object.values_mut()) {
            if let Value::Array(items) = value {
                items.sort_by_key(Value::to_string);
            }
        }
    }
    values.sort_by_key(Value::to_string);
    values
}
