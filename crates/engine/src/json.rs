//! JSON as it is written at every request: texts that need no escapes, nearly all, are looked at by words and written at once.

use crate::word::{append, has_escapes};
use serde_json::Value;

/// A value, as `serde_json` writes it.
pub(crate) fn write_value(json: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => json.extend_from_slice(b"null"),
        Value::Bool(is) => json.extend_from_slice(if *is { b"true" } else { b"false" }),
        Value::Number(number) => json.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => write_text(json, text),
        Value::Array(elements) => write_list(json, b"[]", elements, write_value),
        Value::Object(entries) => write_list(json, b"{}", entries, |json, (key, value)| {
            write_text(json, key);
            json.push(b':');
            write_value(json, value);
        }),
    }
}

/// A list, or the entries of an object.
pub(crate) fn write_list<T>(
    json: &mut Vec<u8>,
    &[open, close]: &[u8; 2],
    list: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    json.push(open);
    for (position, element) in list.into_iter().enumerate() {
        if position > 0 {
            json.push(b',');
        }
        write(json, element);
    }
    json.push(close);
}

/// A text, as `serde_json` writes it.
pub(crate) fn write_text(json: &mut Vec<u8>, text: &str) {
    if !has_escapes(text.as_bytes()) {
        json.push(b'"');
        append(json, text.as_bytes());
        json.push(b'"');
    } else {
        // A text can't fail.
        let _ = serde_json::to_writer(json, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Any value, and texts with nothing to escape often.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            "[ -~]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_what_serde_json_writes(value in value()) {
            let mut json = Vec::new();
            write_value(&mut json, &value);
            prop_assert_eq!(String::from_utf8(json).unwrap(), value.to_string());
        }
    }
}
