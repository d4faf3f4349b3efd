//! How large arguments are, and the limits that several builtins share.

use super::Checked;
use regorus::Value;

/// Bytes of the longest string that a builtin makes. `json.marshal` of the largest request is below it; a string is held up to
/// three times while it is made, which has to fit between the soft limit of memory and the hard one.
pub(super) const MAX_TEXT: usize = 4 << 20;
/// Elements of the longest list that a builtin makes of a string: 6 MiB of them.
pub(super) const MAX_ELEMENTS: usize = 100_000;
/// Bytes, as [`measure`](super::super::weight::measure) counts them, of what a builtin goes through as a whole.
pub(super) const MAX_SIZE: usize = 8 << 20;
/// The same for builtins that copy what they render at each level of nesting.
pub(super) const MAX_COPIED: usize = 2 << 20;
/// Comparisons of a builtin that goes through one list for each element of another: 50 ms of them.
pub(super) const MAX_COMPARISONS: usize = 16 << 20;

/// A builtin that makes a string of so many bytes.
pub(super) fn text_of(name: &str, length: usize) -> Checked {
    match length > MAX_TEXT {
        true => Err(format!("`{name}` of a text of {length} bytes: at most {MAX_TEXT}")),
        false => Ok(None),
    }
}

/// A builtin that makes a list of so many elements.
pub(super) fn list_of(name: &str, length: usize) -> Checked {
    match length > MAX_ELEMENTS {
        true => Err(format!("`{name}` of {length} elements: at most {MAX_ELEMENTS}")),
        false => Ok(None),
    }
}

/// A builtin that compares each of so many with each of so many others.
pub(super) fn comparisons(name: &str, one: usize, other: usize) -> Checked {
    match one.saturating_mul(other) > MAX_COMPARISONS {
        true => Err(format!("`{name}` of {one} times {other} comparisons: at most {MAX_COMPARISONS}")),
        false => Ok(None),
    }
}

/// The string that an argument is; else an empty one.
pub(super) fn text(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => "",
    }
}

/// The members of an array or a set.
pub(super) fn elements(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Set(set) => set.iter().collect(),
        _ => Vec::new(),
    }
}

/// How many elements or keys a value has.
pub(super) fn length(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len(),
        Value::Set(set) => set.len(),
        Value::Object(object) => object.len(),
        _ => 0,
    }
}
