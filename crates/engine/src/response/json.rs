//! The response as JSON. It has the whole object where an image is pinned, and is written at every request: texts that need no
//! escapes, nearly all, are looked at by words and written at once.

use super::Response;
use crate::word::{all, among, is};
use serde_json::Value;

/// The bytes that `serde_json` would write.
pub(super) fn write(response: &Response) -> Vec<u8> {
    // Each field is named, so that a new one can't be forgotten here.
    let Response { accepted, message, code, mutated_object, warnings, audit_annotations } = response;
    // What a usual response takes.
    let mut json = Vec::with_capacity(2048);
    json.extend_from_slice(b"{\"accepted\":");
    json.extend_from_slice(if *accepted { b"true" } else { b"false" });
    if let Some(message) = message {
        json.extend_from_slice(b",\"message\":");
        write_text(&mut json, message);
    }
    if let Some(code) = code {
        json.extend_from_slice(b",\"code\":");
        json.extend_from_slice(code.to_string().as_bytes());
    }
    if let Some(object) = mutated_object {
        json.extend_from_slice(b",\"mutated_object\":");
        write_value(&mut json, object);
    }
    if !warnings.is_empty() {
        json.extend_from_slice(b",\"warnings\":");
        write_list(&mut json, b"[]", warnings, |json, warning| write_text(json, warning));
    }
    json.extend_from_slice(b",\"audit_annotations\":");
    write_list(&mut json, b"{}", audit_annotations, |json, (key, value)| {
        write_text(json, key);
        json.push(b':');
        write_text(json, value);
    });
    json.push(b'}');
    json
}

fn write_value(json: &mut Vec<u8>, value: &Value) {
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

fn write_list<T>(
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

fn write_text(json: &mut Vec<u8>, text: &str) {
    let plain = |word| among(word, b' ', b'~') & !is(word, b'"') & !is(word, b'\\');
    if all(text.as_bytes(), plain) {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    } else {
        // A text can't fail.
        let _ = serde_json::to_writer(json, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::Response;
    use proptest::prelude::*;
    use serde_json::json;

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
        fn it_is_what_serde_json_writes(
            accepted: bool,
            message: Option<String>,
            code: Option<u16>,
            mutated_object in prop::option::of(value()),
            warnings: Vec<String>,
            audit_annotations: std::collections::BTreeMap<String, String>,
        ) {
            let response = Response { accepted, message, code, mutated_object, warnings, audit_annotations };
            prop_assert_eq!(String::from_utf8(write(&response)).unwrap(), serde_json::to_string(&response).unwrap());
        }
    }
}
