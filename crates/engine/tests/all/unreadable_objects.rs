//! Objects that a JSON reader takes for something else: nothing gets round a patch by not being read.

use crate::clock::use_clock_of;
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// The answer about a custom resource with this `spec`, JSON, whose label a policy is to write.
fn answer(spec: &str, operation: &str) -> Value {
    use_clock_of(Duration::ZERO);
    let rego = r#"package p
patch[x] { x := {"op": "add", "path": "/metadata/labels/a", "value": "b"} }"#;
    let settings = json!({"regoPolicies": [{"name": "p", "kinds": ["example.com/Widget"], "rego": rego}]});
    let object =
        format!(r#"{{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {{"name": "w"}}, "spec": {spec}}}"#);
    let kind = r#"{"group": "example.com", "version": "v1", "kind": "Widget"}"#;
    let request = format!(
        r#"{{"uid": "u", "operation": "{operation}", "namespace": "shop", "name": "w", "kind": {kind}, "object": {object}}}"#
    );
    let payload = format!(r#"{{"request": {request}, "settings": {settings}}}"#);
    let response = validate(payload.as_bytes(), &WireHost(StubHost::default().wire()), Timestamp(0)).response;
    serde_json::from_slice(&response).unwrap()
}

#[test]
fn an_object_with_a_key_of_the_reader_s_own_is_rejected() {
    for spec in [
        r#"{"x": {"$serde_json::private::RawValue": "null", "y": 1}}"#,
        r#"{"a": 1.50, "b": {"$serde_json::private::RawValue": "{\"image\":\"good\"}"}}"#,
        r#"[{"$serde_json::private::Number": "1"}]"#,
    ] {
        for operation in ["CREATE", "UPDATE"] {
            let response = answer(spec, operation);
            assert_eq!((&response["accepted"], &response["code"]), (&json!(false), &json!(400)), "{spec}: {response}");
            let message = response["message"].as_str().unwrap();
            assert!(
                message.contains(
                    "the AdmissionRequest's object can't be read: a text in it begins with `$serde_json::private::`"
                ),
                "{message}"
            );
        }
        // Nothing is patched, and the object is gone.
        assert_eq!(answer(spec, "DELETE")["accepted"], true, "{spec}");
    }
    for spec in [r#"{"x": "of $serde_json::private::RawValue", "y": "\u003c"}"#, r#"{"\u003c": 1.50}"#] {
        let response = answer(spec, "CREATE");
        assert_eq!(response["mutated_object"]["metadata"]["labels"], json!({"a": "b"}), "{response}");
        let expected: Value = serde_json::from_str(spec).unwrap();
        assert_eq!(response["mutated_object"]["spec"], expected);
    }
}
