//! The builtins that are answered here: the original takes too long whatever is measured first, or ends the module on some
//! arguments. `subset` and `counted` answer only where regorus' builtin has no answer.

use super::super::document::{self, Unread};
use super::super::sprintf::sprintf;
use super::super::weight::{measure, too_large};
use super::Checked;
use super::checks::replaced_length;
use super::sizes::{MAX_COPIED, MAX_SIZE, comparisons, elements, text, text_of};
use regorus::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of the longest YAML that is read: it takes 150 times as much memory.
const MAX_YAML_LENGTH: usize = 256 * 1024;
/// Brackets in brackets, and indicators on one line, of YAML. The time to read it grows with their square.
const MAX_YAML_BRACKETS: usize = 128;

/// Reimplemented, since regorus' builtin copies the result so far for each set.
pub(super) fn union_of_sets(name: &str, args: &[Value]) -> Checked {
    measure(name, args, MAX_SIZE)?;
    let mut all = BTreeSet::new();
    for member in args.iter().flat_map(elements) {
        let Value::Set(set) = member else { return Ok(Some(Value::Undefined)) };
        all.extend(set.iter().cloned());
    }
    Ok(Some(Value::from(all)))
}

/// Reimplemented, since regorus' builtin copies the result so far for each object.
pub(super) fn merged(name: &str, args: &[Value]) -> Checked {
    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                let into = Arc::make_mut(into);
                for (key, value) in from.iter() {
                    match into.get_mut(key) {
                        Some(own) => merge(own, value),
                        None => {
                            into.insert(key.clone(), value.clone());
                        }
                    }
                }
            }
            (into, from) => *into = from.clone(),
        }
    }
    measure(name, args, MAX_SIZE)?;
    let mut all = Value::from(BTreeMap::new());
    for object in args.iter().flat_map(elements) {
        if !matches!(object, Value::Object(_)) {
            return Ok(Some(Value::Undefined));
        }
        merge(&mut all, object);
    }
    Ok(Some(all))
}

/// Answered here where an array is empty: regorus' builtin ends the module.
pub(super) fn subset(name: &str, args: &[Value]) -> Checked {
    measure(name, args, MAX_SIZE)?;
    match args {
        // The original has no answer to it, and ends the module.
        [Value::Object(_), Value::Object(_)] | [Value::Array(_), Value::Array(_)] | [Value::Set(_), Value::Set(_)]
            if holds_empty_array(args.get(1)) =>
        {
            Ok(Some(Value::from(is_subset(args.first(), args.get(1)))))
        }
        [Value::Array(all), Value::Array(some)] => comparisons(name, all.len(), some.len()),
        _ => Ok(None),
    }
}

/// Where a part stands in a string: regorus' builtin compares it at each character, however long it is.
pub(super) fn index(_: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    if part.is_empty() {
        return Ok(Some(Value::Undefined));
    }
    // `find` doesn't go back.
    let found = whole.find(&**part).filter(|_| !whole.is_empty()).and_then(|at| whole.get(..at));
    Ok(Some(found.map_or(Value::from(-1_i64), |before| Value::from(before.chars().count()))))
}

/// How often a part stands in a string; answered here where the part is empty.
pub(super) fn counted(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    if part.is_empty() {
        // The original ends the module; this is what Open Policy Agent says.
        return Ok(Some(Value::from(whole.chars().count() + 1)));
    }
    comparisons(name, whole.len(), part.len())
}

/// An upper bound of the length: each key is counted wherever it would be found alone.
pub(super) fn replaced_n(name: &str, args: &[Value]) -> Checked {
    let [Value::Object(pairs), Value::String(whole)] = args else { return Ok(None) };
    comparisons(name, pairs.len(), whole.len())?;
    let mut length = whole.len();
    for (old, new) in pairs.iter_sorted() {
        let (Value::String(old), Value::String(new)) = (old, new) else { return Ok(Some(Value::Undefined)) };
        length = length.saturating_add(replaced_length(whole, old, new).saturating_sub(whole.len()));
    }
    text_of(name, length)?;
    Ok(None)
}

/// As Go writes it; regorus' builtin has no answer where there are too few arguments, or too many.
pub(super) fn formatted(_: &str, args: &[Value]) -> Checked {
    sprintf(args.to_vec()).map(Some).map_err(|error| error.to_string())
}

/// JSON, read without the engine's own reader.
pub(super) fn json_read(name: &str, args: &[Value]) -> Checked {
    let spelled = args.first().map(text).unwrap_or_default();
    text_of(name, spelled.len())?;
    match document::from_json(spelled, MAX_SIZE) {
        Ok(value) => Ok(Some(value)),
        Err(Unread::TooMuch) => Err(too_large(name, MAX_SIZE)),
        // OPA has such numbers. Undefined would silence a rule's denial.
        Err(Unread::Malformed(why)) if why.contains("number out of range") => {
            Err(format!("`{name}` of a number that is out of range"))
        }
        Err(Unread::Malformed(_)) => Ok(Some(Value::Undefined)),
    }
}

/// Whether `json_read` reads it.
pub(super) fn json_valid(name: &str, args: &[Value]) -> Checked {
    if !matches!(args, [Value::String(_)]) {
        return Ok(Some(Value::from(false)));
    }
    json_read(name, args).map(|read| read.map(|value| Value::from(value != Value::Undefined)))
}

/// YAML, read in the same way.
pub(super) fn yaml_read(name: &str, args: &[Value]) -> Checked {
    let spelled = args.first().map(text).unwrap_or_default();
    if spelled.len() > MAX_YAML_LENGTH {
        return Err(format!("`{name}` of a text of {} bytes: at most {MAX_YAML_LENGTH}", spelled.len()));
    }
    if let Some(line) = nested_yaml(spelled) {
        return Err(format!("`{name}` of more than {MAX_YAML_BRACKETS} brackets in brackets, in line {line}"));
    }
    match document::from_yaml(spelled, MAX_COPIED) {
        Ok(value) => Ok(Some(value)),
        Err(Unread::TooMuch) => Err(too_large(name, MAX_COPIED)),
        Err(Unread::Malformed(_)) => Ok(Some(Value::Undefined)),
    }
}

/// Whether `yaml_read` reads it.
pub(super) fn yaml_valid(name: &str, args: &[Value]) -> Checked {
    if !matches!(args, [Value::String(_)]) {
        return Ok(Some(Value::from(false)));
    }
    yaml_read(name, args).map(|read| read.map(|value| Value::from(value != Value::Undefined)))
}

/// The line where brackets, or the indicators at the start of a line, go too deep. Brackets in quotes count as well: few documents
/// have so many more that open than close.
fn nested_yaml(spelled: &str) -> Option<usize> {
    let mut open: usize = 0;
    for (number, line) in (1..).zip(spelled.lines()) {
        for sign in line.bytes() {
            match sign {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        let indicators = line.split([' ', '\t']).take_while(|word| matches!(*word, "" | "-" | "?" | ":"));
        if open > MAX_YAML_BRACKETS || indicators.filter(|word| !word.is_empty()).count() > MAX_YAML_BRACKETS {
            return Some(number);
        }
    }
    None
}

fn holds_empty_array(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(object)) => object.values().any(|value| holds_empty_array(Some(value))),
        _ => false,
    }
}

/// As regorus' builtin, where an empty array is a subset of any array.
fn is_subset(all: Option<&Value>, some: Option<&Value>) -> bool {
    match (all, some) {
        (Some(Value::Object(all)), Some(Value::Object(some))) => {
            some.iter().all(|(key, value)| all.get(key).is_some_and(|own| is_subset(Some(own), Some(value))))
        }
        (Some(Value::Set(all)), Some(Value::Set(some))) => some.is_subset(all),
        (Some(Value::Array(_)), Some(Value::Array(some))) if some.is_empty() => true,
        (Some(Value::Array(all)), Some(Value::Array(some))) => {
            all.as_slice().windows(some.len()).any(|part| part == some.as_slice())
        }
        (Some(Value::Array(all)), Some(Value::Set(some))) => some.iter().all(|value| all.contains(value)),
        (all, some) => all == some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_not_nested_without_end() {
        for (text, line) in [
            ("[".repeat(128), None),
            ("[".repeat(129), Some(1)),
            ("a: b\n".to_owned() + &"- ".repeat(129), Some(2)),
            ("[[]]\n".repeat(1000), None),
            ("- a\n- {b: [c]}\n".repeat(1000), None),
        ] {
            assert_eq!(nested_yaml(&text), line, "{text}");
        }
    }
}
