//! The response as JSON. It has the whole object where an image is pinned.

use super::{Response, numbers};
use crate::json::{write_list, write_text};
use serde_json::value::RawValue;

/// The bytes that `serde_json` would write, with numbers as the request has them.
pub(super) fn write(response: &Response, request: Option<&RawValue>) -> Vec<u8> {
    // Each field is named, so that a new one can't be forgotten here.
    let Response { accepted, message, code, mutated_object, warnings, audit_annotations } = response;
    // What a usual response takes: growing would leave memory behind that was written once.
    let mut json = Vec::with_capacity(1024 + 80 * audit_annotations.len());
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
        numbers::write(&mut json, object, request);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_what_serde_json_writes(
            accepted: bool,
            message: Option<String>,
            code: Option<u16>,
            object: Option<String>,
            warnings: Vec<String>,
            audit_annotations: BTreeMap<String, String>,
        ) {
            let mutated_object = object.map(|text| serde_json::json!({"metadata": {"name": text}}));
            let response = Response { accepted, message, code, mutated_object, warnings, audit_annotations };
            prop_assert_eq!(String::from_utf8(write(&response, None)).unwrap(), serde_json::to_string(&response).unwrap());
        }
    }
}
