//! JSON pointers that this project writes itself: their steps have nothing to unescape.

use serde_json::Value;

/// The value at `/spec/containers/0`; the value itself for an empty pointer. No step may have a `~` or a `/` of its own.
pub fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, step| match value {
        Value::Object(entries) => entries.get(step),
        Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The same value, to be changed.
pub fn at_mut<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    pointer.split('/').skip(1).try_fold(value, |value, step| match value {
        Value::Object(entries) => entries.get_mut(step),
        Value::Array(elements) => elements.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_it_finds_is_what_a_pointer_means() {
        let mut value = json!({"spec": {"containers": [{"image": "a"}, {"image": "b"}]}, "": 1});
        for pointer in [
            "",
            "/spec",
            "/spec/containers/1/image",
            "/spec/containers/2",
            "/spec/containers/x",
            "/spec/image/x",
            "/",
            "/none",
        ] {
            let found = value.pointer(pointer).cloned();
            assert_eq!(at(&value, pointer), found.as_ref(), "{pointer}");
            assert_eq!(at_mut(&mut value, pointer).cloned(), found, "{pointer}");
        }
    }
}
