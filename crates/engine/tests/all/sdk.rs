//! Kubewarden's SDK beside the engine: its types are used where they say the same. What they lose is named here, so that the engine's
//! own go once the SDK has it.

use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_untrusted::time::Timestamp;
use kubewarden_policy_sdk::request::KubernetesAdmissionRequest;
use kubewarden_policy_sdk::response::ValidationResponse;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NOW: Timestamp = Timestamp(1_795_000_000);

/// The paths of all strings, numbers and truth values of a document, by Kubernetes' names.
fn leaves(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, &format!("{path}.{}", camel(name)), found))
        }
        Value::Null => {}
        value => {
            if !matches!(value.as_str(), Some("")) && *value != json!([]) {
                found.insert(format!("{}={value}", path.trim_start_matches('.')));
            }
        }
    }
}

/// `user_info` is `userInfo`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (initial, rest) = part.split_at(1.min(part.len()));
        name + &initial.to_uppercase() + rest
    })
}

#[test]
fn what_the_sdk_loses_of_a_request() {
    let request = json!({
        "uid": "u", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"}, "subResource": "scale",
        "requestKind": {"group": "apps", "version": "v1beta1", "kind": "Deployment"},
        "requestResource": {"group": "apps", "version": "v1beta1", "resource": "deployments"}, "requestSubResource": "scale",
        "name": "app", "namespace": "shop", "operation": "UPDATE",
        "userInfo": {"username": "someone", "uid": "1", "groups": ["one"], "extra": {"key": ["value"]}},
        "object": {"spec": {"replicas": 1}}, "oldObject": {"spec": {"replicas": 2}}, "dryRun": true, "options": {"kind": "UpdateOptions"},
        "newer": "than the SDK",
    });
    let read: KubernetesAdmissionRequest = serde_json::from_value(request.clone()).unwrap();
    let [mut sent, mut kept] = [BTreeSet::new(), BTreeSet::new()];
    leaves(&request, "", &mut sent);
    leaves(&serde_json::to_value(&read).unwrap(), "", &mut kept);
    let lost: Vec<&str> = sent.difference(&kept).map(String::as_str).collect();
    assert_eq!(
        lost,
        [r#"newer="than the SDK""#, r#"requestResource.resource="deployments""#, r#"resource.resource="deployments""#]
    );
}

/// Rules see a request as it was written. The SDK writes it in other words.
#[test]
fn names_that_the_sdk_writes_otherwise() {
    let written = serde_json::to_value(KubernetesAdmissionRequest::default()).unwrap();
    let others: Vec<&String> = written.as_object().unwrap().keys().filter(|name| name.contains('_')).collect();
    let names = [
        "dry_run",
        "old_object",
        "request_kind",
        "request_resource",
        "request_sub_resource",
        "sub_resource",
        "user_info",
    ];
    assert_eq!(others, names);
}

fn response(object: &Value, settings: &Value) -> Vec<u8> {
    let host = WireHost(|_: &str, _: &str, _: &[u8]| Err::<Vec<u8>, _>("nobody is there".to_owned()));
    let request = json!({"uid": "u", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": object});
    validate(json!({"request": request, "settings": settings}).to_string().as_bytes(), &host, NOW).response
}

/// A response is the SDK's, whose annotations have no order: the same request would be answered with other bytes each time.
#[test]
fn responses_are_the_sdks() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    for settings in [json!({"preScanPolicies": {"defaultPolicy": "accept"}}), json!({}), json!({"colour": 1})] {
        let bytes = response(&pod, &settings);
        let written: Value = serde_json::from_slice(&bytes).unwrap();
        let read: ValidationResponse = serde_json::from_slice(&bytes).unwrap();
        let again = serde_json::to_value(&read).unwrap();
        let said = |value: &Value| {
            value.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect::<Vec<_>>()
        };
        assert_eq!(said(&again), said(&written));
        assert_eq!(bytes, response(&pod, &settings));
    }
}

/// A number that nobody changes keeps its text. The SDK's objects have none.
#[test]
fn the_sdk_has_no_text_of_a_number() {
    let text = r#"{"accepted":true,"mutated_object":{"a":12345678901234567890123}}"#;
    let read: ValidationResponse = serde_json::from_str(text).unwrap();
    assert_eq!(read.mutated_object.unwrap()["a"].to_string(), "1.2345678901234568e+22");
}
