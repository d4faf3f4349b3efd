//! Numbers of a changed object: unchanged ones keep their spelling.
//!
//! A number in the API server may have more digits than a float, or another spelling than `serde_json`'s (`1e3`). The host makes
//! the patch by comparing, so a number in another spelling would be an unintended change.

use crate::request::AdmissionRequest;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// The depth up to which numbers keep their spelling: each object and list is read once more at each level.
const DEEPEST: u8 = 32;

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(elements) => elements.iter().any(has_float),
        Value::Object(fields) => fields.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// A value, the original one, and its depth.
pub(super) struct Changed<'a> {
    value: &'a Value,
    original: Option<&'a RawValue>,
    depth: u8,
}

impl<'a> Changed<'a> {
    /// An object that was made from the request's.
    pub(super) fn of(object: &'a Value, request: Option<&'a RawValue>) -> Self {
        // Integers are written as they were read, and workloads have only integers.
        let original =
            request.filter(|_| has_float(object)).and_then(|request| AdmissionRequest::read(Some(request)).ok());
        Self { value: object, original: original.and_then(|request| request.raw_object()), depth: 0 }
    }
}

impl Serialize for Changed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(original) = self.original.filter(|_| self.depth < DEEPEST) else {
            return self.value.serialize(serializer);
        };
        let original = original.get();
        let inner = |value, original| Changed { value, original, depth: self.depth + 1 };
        match self.value {
            Value::Number(number) => match serde_json::from_str::<Number>(original) {
                Ok(own) if own == *number => self.original.serialize(serializer),
                _ => number.serialize(serializer),
            },
            Value::Array(elements) => {
                let originals: Vec<&RawValue> = serde_json::from_str(original).unwrap_or_default();
                // If a list's length changed, it is unknown which element was where.
                let is_as_long = originals.len() == elements.len();
                let mut originals = originals.into_iter().filter(|_| is_as_long);
                serializer.collect_seq(elements.iter().map(|value| inner(value, originals.next())))
            }
            Value::Object(fields) => {
                let originals: BTreeMap<String, &RawValue> = serde_json::from_str(original).unwrap_or_default();
                let original = |key: &String| originals.get(key).copied();
                serializer.collect_map(fields.iter().map(|(key, value)| (key, inner(value, original(key)))))
            }
            Value::Null | Value::Bool(_) | Value::String(_) => self.value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// An object written after a change of its fields.
    fn written(object: &str, change: impl FnOnce(&mut Value)) -> String {
        let request = format!(r#"{{"kind": {{"group": "", "version": "v1", "kind": "Pod"}}, "object": {object}}}"#);
        let request: Box<RawValue> = serde_json::from_str(&request).unwrap();
        let mut changed: Value = serde_json::from_str(object).unwrap();
        change(&mut changed);
        serde_json::to_string(&Changed::of(&changed, Some(&request))).unwrap()
    }

    #[test]
    fn numbers_that_nobody_changed_keep_their_text() {
        for number in [
            "397.23174066301476",
            "1e3",
            "-0.0",
            "-0",
            "1.50",
            "12345678901234567890123",
            "0.1e-7",
            "18446744073709551616",
            "1E+2",
            "7",
        ] {
            let object = format!(r#"{{"a":[{number},"x",{{"b":{number}}}],"c":{number}}}"#);
            let expected = format!(r#"{{"a":[{number},"x",{{"b":{number}}}],"c":{number},"new":true}}"#);
            assert_eq!(written(&object, |object| object["new"] = json!(true)), expected);
        }
    }

    #[test]
    fn numbers_that_somebody_changed_are_the_new_ones() {
        let object = r#"{"a":[1e3,2.50],"b":1e3,"c":{"\u0064":1e3},"e":1.0}"#;
        let changed = written(object, |object| {
            object["a"] = json!([2.5, 1000.0, 1e3]);
            object["b"] = json!(1001.5);
            object["e"] = json!(1);
        });
        assert_eq!(changed, r#"{"a":[2.5,1000.0,1000.0],"b":1001.5,"c":{"d":1e3},"e":1}"#);
        // In a shorter list, elements have other positions.
        let object = r#"{"l":[{"a":12345678901234567890123},{"a":12345678901234567890124},{"a":1.50}],"m":1.50}"#;
        let shorter = written(object, |object| drop(object["l"].as_array_mut().unwrap().remove(0)));
        assert_eq!(shorter, r#"{"l":[{"a":1.2345678901234568e+22},{"a":1.5}],"m":1.50}"#);
        // Instead of another value.
        assert_eq!(
            written(r#"{"a":"1e3","b":{"c":1e3}}"#, |object| object["a"] = json!(1e3)),
            r#"{"a":1000.0,"b":{"c":1e3}}"#
        );
        assert_eq!(written(r#"{"a":{"b":1e3}}"#, |object| object["a"] = json!([1e3])), r#"{"a":[1000.0]}"#);
    }

    #[test]
    fn what_is_deep_is_written_anew() {
        for (depth, kept) in [(30, true), (31, false), (100, false)] {
            let deep = |number: &str| format!(r#"{{"a":{}{number}{}}}"#, "[".repeat(depth), "]".repeat(depth));
            let expected = if kept { deep("1e3") } else { deep("1000.0") };
            assert_eq!(written(&deep("1e3"), |_| ()), expected, "{depth}");
        }
    }

    proptest! {
        /// Whatever spelling it keeps, it is the same object.
        #[test]
        fn what_is_written_is_the_object(
            floats in proptest::collection::vec(any::<f64>().prop_filter("a number", |float| float.is_finite()), 0..6),
            replaced in any::<usize>(),
        ) {
            let texts: Vec<String> = floats.iter().map(|float| format!("{float:e}")).collect();
            let object = format!(r#"{{"a":[{}]}}"#, texts.join(","));
            let change = |object: &mut Value| {
                if let Some(elements) = object["a"].as_array_mut().filter(|elements| !elements.is_empty()) {
                    let place = replaced % elements.len();
                    elements[place] = json!(0.5);
                }
            };
            let mut expected: Value = serde_json::from_str(&object).unwrap();
            change(&mut expected);
            let read: Value = serde_json::from_str(&written(&object, change)).unwrap();
            prop_assert_eq!(read, expected);
        }
    }
}
