//! Builtins that OPA deprecated. Rules in v0 may call them; OPA refuses them in v1.

use regorus::Value;

/// Their names.
pub const DEPRECATED: [&str; 6] = ["all", "any", "cast_array", "cast_set", "re_match", "set_diff"];

/// Whether one element is true.
pub(super) fn any(arguments: &[Value]) -> Value {
    elements(arguments, |mut elements| Iterator::any(&mut elements, |element| *element == Value::Bool(true)))
}

/// Whether every element is true.
pub(super) fn all(arguments: &[Value]) -> Value {
    elements(arguments, |mut elements| Iterator::all(&mut elements, |element| *element == Value::Bool(true)))
}

fn elements(arguments: &[Value], holds: impl FnOnce(&mut dyn Iterator<Item = &Value>) -> bool) -> Value {
    match arguments {
        [Value::Array(list)] => Value::from(holds(&mut list.iter())),
        [Value::Set(set)] => Value::from(holds(&mut set.iter())),
        _ => Value::Undefined,
    }
}

/// The elements of the first set that the second one lacks.
pub(super) fn set_diff(arguments: &[Value]) -> Value {
    match arguments {
        [Value::Set(one), Value::Set(other)] => {
            let rest = one.iter().filter(|element| !other.contains(element)).cloned();
            Value::from(rest.collect::<std::collections::BTreeSet<_>>())
        }
        _ => Value::Undefined,
    }
}

/// An array as it is, a set as an array of its elements.
pub(super) fn cast_array(mut arguments: Vec<Value>) -> Value {
    match arguments.pop() {
        Some(Value::Set(set)) => Value::from(set.iter_sorted().cloned().collect::<Vec<_>>()),
        Some(array @ Value::Array(_)) => array,
        _ => Value::Undefined,
    }
}

/// A set as it is, an array as the set of its elements.
pub(super) fn cast_set(mut arguments: Vec<Value>) -> Value {
    match arguments.pop() {
        Some(Value::Array(list)) => Value::from(list.iter().cloned().collect::<std::collections::BTreeSet<_>>()),
        Some(set @ Value::Set(_)) => set,
        _ => Value::Undefined,
    }
}
