//! JSON patches from rules: applied to the object, and missing parents are made.

use image_admission_untrusted::json::from_json;
use image_admission_untrusted::memory;
use image_admission_untrusted::message::cut;
use json_patch::PatchOperation;
use serde_json::{Map, Value};
use std::fmt;

/// Maps whose values are strings: nothing can be below one of their keys.
const TEXT_MAPS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];

/// The longest path in an error.
const MAX_PATH_LENGTH: usize = 160;

/// Why a patch can't be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchError {
    /// It is no JSON patch, RFC 6902.
    NotAPatch(String),
    /// It is base64 for URLs, which the API server doesn't read.
    Base64Url,
    /// It is no base64.
    NotBase64,
    /// One of its operations is invalid, with what may be shown of it.
    NotAnOperation(String),
    /// A path goes below a string; the second is what was probably meant.
    SlashInKey { path: String, meant: String },
    /// An operation fails.
    Fails { operation: String, why: String },
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPatch(why) => write!(f, "it is no JSON patch: {why}"),
            Self::NotAnOperation(shown) => {
                write!(
                    f,
                    "it is no JSON patch: `{shown}` is no operation, which has `op`, `path` and what belongs to it"
                )
            }
            Self::Base64Url => f.write_str("its patch is encoded for URLs; encode it with `base64.encode`"),
            Self::NotBase64 => {
                f.write_str("its patch is not base64; encode it with `base64.encode(json.marshal(patches))`")
            }
            Self::SlashInKey { path, meant } => {
                write!(f, "the path `{path}` goes below a text; a slash in a key is written `~1`: `{meant}`")
            }
            Self::Fails { operation, why } => write!(f, "the operation `{operation}` fails: {why}"),
        }
    }
}

/// The patch in a response's `patch`: base64 of a list of operations.
pub(super) fn decode(text: &str) -> Result<Value, PatchError> {
    let bytes = base64(text)?;
    from_json(&bytes).map_err(|error| PatchError::NotAPatch(error.to_string()))
}

/// Applies a list of operations. After an error the object is half patched, and useless. `is_written` says whether a step of a path
/// is in the rules' own text: an error shows no other step, and no value.
pub(super) fn apply(
    object: &mut Value,
    operations: Value,
    is_written: &impl Fn(&str) -> bool,
) -> Result<(), PatchError> {
    let Value::Array(operations) = operations else {
        return Err(PatchError::NotAPatch("it is no list".to_owned()));
    };
    for operation in operations {
        apply_one(object, operation, is_written)?;
    }
    Ok(())
}

fn apply_one(object: &mut Value, operation: Value, is_written: &impl Fn(&str) -> bool) -> Result<(), PatchError> {
    let shown = shown(&operation, is_written);
    let read: PatchOperation =
        serde_json::from_value(operation).map_err(|_| PatchError::NotAnOperation(shown.clone()))?;
    let path = read.path().to_string();
    check_keys(&path, is_written)?;
    if matches!(read, PatchOperation::Add(_) | PatchOperation::Copy(_) | PatchOperation::Move(_)) {
        make_parents(object, &path);
    }
    // A copy may put the object into itself, and so may the next one.
    if let PatchOperation::Copy(copy) = &read
        && let Ok(copied) = copy.from.resolve(object)
    {
        let is_refused =
            |error: serde_json::Error| PatchError::Fails { operation: shown.clone(), why: error.to_string() };
        memory::room_for_value(copied).map_err(is_refused)?;
    }
    json_patch::patch(object, std::slice::from_ref(&read))
        .map_err(|error| PatchError::Fails { operation: shown, why: error.kind.to_string() })
}

/// An operation in errors, `add /metadata/labels/a`: its kind and its path.
fn shown(operation: &Value, is_written: &impl Fn(&str) -> bool) -> String {
    const KNOWN: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let op = match text("op") {
        None => "(no op)",
        Some(op) if KNOWN.contains(&op) || is_written(op) => op,
        Some(_) => "…",
    };
    match text("path") {
        Some(path) => format!("{op} {}", cut(&shown_path(path, is_written), MAX_PATH_LENGTH)),
        None => op.to_owned(),
    }
}

/// A path, with `…` instead of each step that isn't in the rules' text: it came from elsewhere.
fn shown_path(path: &str, is_written: &impl Fn(&str) -> bool) -> String {
    let steps: Vec<&str> = path.split('/').map(|step| shown_step(step, is_written)).collect();
    steps.join("/")
}

fn shown_step<'s>(step: &'s str, is_written: &impl Fn(&str) -> bool) -> &'s str {
    if step.is_empty() || step == "-" || is_written(step) { step } else { "…" }
}

/// Refuses a path below a key of a map of strings: its author forgot that a slash separates keys.
fn check_keys(path: &str, is_written: &impl Fn(&str) -> bool) -> Result<(), PatchError> {
    let keys: Vec<&str> = path.split('/').skip(1).collect();
    let Some(position) = keys.iter().position(|key| TEXT_MAPS.contains(key)) else { return Ok(()) };
    // A custom resource may have a field with such a name and anything below it. Metadata and selectors never have.
    let of_metadata = position.checked_sub(1).and_then(|before| keys.get(before)).is_some_and(|key| *key == "metadata");
    let is_selector = keys.get(position).is_some_and(|key| matches!(*key, "matchLabels" | "nodeSelector"));
    if keys.len() < position + 3 || !(of_metadata || is_selector) {
        return Ok(());
    }
    let shown: Vec<&str> = keys.iter().map(|key| shown_step(key, is_written)).collect();
    let (Some(before), Some(after)) = (shown.get(..=position), shown.get(position + 1..)) else { return Ok(()) };
    let meant = format!("/{}/{}", before.join("/"), after.join("~1"));
    Err(PatchError::SlashInKey { path: shown_path(path, is_written), meant })
}

/// Makes the missing parents of a path: lists if the next step is an index, objects otherwise.
fn make_parents(object: &mut Value, path: &str) {
    let keys: Vec<String> = path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let mut here = object;
    for (key, next) in keys.iter().zip(keys.iter().skip(1)) {
        let missing = || if next == "-" { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        let step = match here {
            Value::Object(map) => {
                let step = map.entry(key.clone()).or_insert(Value::Null);
                if step.is_null() {
                    *step = missing();
                }
                step
            }
            Value::Array(list) => match key.parse::<usize>().ok().and_then(|position| list.get_mut(position)) {
                Some(step) => step,
                None => return,
            },
            _ => return,
        };
        here = step;
    }
}

/// Decodes base64 of RFC 4648, section 4.
fn base64(text: &str) -> Result<Vec<u8>, PatchError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    let unpadded = text.trim_end_matches('=');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if let Some(other) = unpadded.bytes().find(|byte| !is_plain(*byte)) {
        return Err(if matches!(other, b'-' | b'_') { PatchError::Base64Url } else { PatchError::NotBase64 });
    }
    // Base64 for URLs has no padding either.
    if !text.len().is_multiple_of(4) {
        return Err(PatchError::Base64Url);
    }
    for byte in unpadded.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(object: Value, operations: Value) -> Result<Value, String> {
        let mut object = object;
        apply(&mut object, operations, &|_| true).map(|()| object).map_err(|error| error.to_string())
    }

    #[test]
    fn operations_are_those_of_the_standard_and_missing_parents_are_made() {
        let add = |path: &str, value: Value| json!([{"op": "add", "path": path, "value": value}]);
        for (object, operations, result) in [
            (
                json!({}),
                add("/metadata/annotations/a~1b", json!("c")),
                json!({"metadata": {"annotations": {"a/b": "c"}}}),
            ),
            (
                json!({"metadata": {"labels": null}}),
                add("/metadata/labels/a", json!("b")),
                json!({"metadata": {"labels": {"a": "b"}}}),
            ),
            (json!({}), add("/spec/tolerations/-", json!({"k": 1})), json!({"spec": {"tolerations": [{"k": 1}]}})),
            (json!({"a": [{}]}), add("/a/0/b/c", json!(1)), json!({"a": [{"b": {"c": 1}}]})),
            (json!({"a": 1}), json!([{"op": "remove", "path": "/a"}]), json!({})),
            (json!({"a": 1}), json!([{"op": "replace", "path": "/a", "value": 2}]), json!({"a": 2})),
            (json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/b/c"}]), json!({"b": {"c": 1}})),
            (json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": 1, "b": 1})),
            (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 1}]), json!({"a": 1})),
            (json!({}), json!([]), json!({})),
        ] {
            assert_eq!(patched(object, operations.clone()).unwrap(), result, "{operations}");
        }
    }

    #[test]
    fn what_is_no_patch_is_told() {
        for (object, operations, why) in [
            (
                json!({}),
                json!([{"op": "add", "path": "/metadata/annotations/acmecorp.com/myannotation", "value": "x"}]),
                "the path `/metadata/annotations/acmecorp.com/myannotation` goes below a text; a slash in a key is written `~1`: `/metadata/annotations/acmecorp.com~1myannotation`",
            ),
            (
                json!({}),
                json!([{"op": "add", "path": "/spec/template/metadata/labels/a.b/c/d", "value": "x"}]),
                "the path `/spec/template/metadata/labels/a.b/c/d` goes below a text; a slash in a key is written `~1`: `/spec/template/metadata/labels/a.b~1c~1d`",
            ),
            (json!({}), json!({"op": "add"}), "it is no JSON patch: it is no list"),
            (json!({}), json!("x"), "it is no JSON patch: it is no list"),
        ] {
            assert_eq!(patched(object, operations).unwrap_err(), why);
        }
        for operations in [
            json!([1]),
            json!([{"op": "add"}]),
            json!([{"op": "jump", "path": "/a"}]),
            json!([{"op": "add", "path": "a", "value": 1}]),
        ] {
            let why = patched(json!({}), operations.clone()).unwrap_err();
            assert!(why.starts_with("it is no JSON patch: `"), "{operations}: {why}");
        }
        for operations in [
            json!([{"op": "remove", "path": "/a"}]),
            json!([{"op": "test", "path": "/a", "value": 2}]),
            json!([{"op": "replace", "path": "/x/y", "value": 2}]),
        ] {
            let why = patched(json!({}), operations.clone()).unwrap_err();
            assert!(
                why.starts_with("the operation `re") || why.starts_with("the operation `test"),
                "{operations}: {why}"
            );
        }
        // A custom resource may have a field with this name.
        let deep = json!([{"op": "add", "path": "/spec/annotations/a/b", "value": "x"}]);
        assert_eq!(patched(json!({}), deep).unwrap(), json!({"spec": {"annotations": {"a": {"b": "x"}}}}));
    }

    #[test]
    fn patches_of_responses_are_base64_and_nothing_else() {
        // `[]`, `[ ]` and `["ÿÿ>"]`-like bytes with and without padding.
        assert_eq!(decode("W10=").unwrap(), json!([]));
        assert_eq!(decode("WyBd").unwrap(), json!([]));
        assert_eq!(decode("W10"), Err(PatchError::Base64Url));
        assert_eq!(decode("W_8-XQ=="), Err(PatchError::Base64Url));
        assert_eq!(decode("W1 0="), Err(PatchError::NotBase64));
        assert_eq!(decode("W10-"), Err(PatchError::Base64Url));
        assert!(matches!(decode(""), Err(PatchError::NotAPatch(_))));
        assert!(matches!(decode("AAAA"), Err(PatchError::NotAPatch(_))));
    }
}
