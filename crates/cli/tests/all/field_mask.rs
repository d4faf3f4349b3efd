//! Field masks, as the host applies them.

use image_admission_module_host::answers::field_mask::FieldMask;
use serde_json::{Value, json};

#[track_caller]
fn check(paths: &[&str], mut value: Value, expected: Value) {
    FieldMask::new(paths).prune(&mut value);
    assert_eq!(value, expected);
}

#[test]
fn only_named_fields_are_kept() {
    check(&["a"], json!({"a": {"b": 1, "c": 2}, "d": 3}), json!({"a": {"b": 1, "c": 2}}));
    check(&["a.b"], json!({"a": {"b": 1, "c": 2}, "d": 3}), json!({"a": {"b": 1}}));
    check(&["a.b", "d"], json!({"a": {"c": 2}, "d": 3}), json!({"a": {}, "d": 3}));
    check(&["x"], json!({"a": 1}), json!({}));
}

#[test]
fn lists_are_passed_through() {
    check(&["a.b"], json!({"a": [{"b": 1, "c": 2}, {"c": 3}]}), json!({"a": [{"b": 1}, {}]}));
    check(&["a.b"], json!({"a": [[{"b": 1, "c": 2}]]}), json!({"a": [[{"b": 1}]]}));
    check(&["a.b"], json!({"a": ["text", 1]}), json!({"a": ["text", 1]}));
}

#[test]
fn a_value_that_is_no_object_is_kept() {
    check(&["a.b.c"], json!({"a": {"b": "text"}}), json!({"a": {"b": "text"}}));
    check(&["a.b"], json!({"a": null}), json!({"a": null}));
}

#[test]
fn a_longer_path_narrows_a_shorter_one() {
    check(&["a", "a.b"], json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}));
}

#[test]
fn no_path_keeps_everything() {
    check(&[], json!({"a": 1}), json!({"a": 1}));
}
