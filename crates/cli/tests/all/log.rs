//! What the module writes to the host's log: with `verboseLog` what was decided on, without it nothing; never the data
//! of a Secret; and at deployment the prefixes that match more than they seem to.

use crate::support;
use image_admission_module_host::answers::files::Files;
use image_admission_module_host::answers::{Gate, Grants};
use image_admission_module_host::runtime::PolicyModule;
use serde_json::{Value, json};
use std::sync::Arc;

/// The lines that a call logs, as `level: message`.
fn logged(function: &str, payload: &Value) -> Vec<String> {
    let module = PolicyModule::from_file(&support::module_path()).unwrap();
    let host = Arc::new(Gate::new(Grants::default(), Arc::new(Files::new(None, None))));
    let reply = module.call(function, payload.to_string().as_bytes(), host);
    reply.response.unwrap();
    reply.logs.iter().map(|line| format!("{}: {}", line.level, line.message.as_deref().unwrap_or_default())).collect()
}

fn request(kind: &str, object: Value, verbose: bool) -> Value {
    let request = json!({"operation": "CREATE", "kind": {"kind": kind}, "object": object});
    json!({"request": request, "settings": {"verboseLog": verbose, "preScanPolicies": {"defaultPolicy": "reject"}}})
}

fn pod() -> Value {
    json!({"spec": {"containers": [{"name": "c", "image": "nginx"}]}})
}

#[test]
fn nothing_is_logged_unless_asked_for() {
    assert_eq!(logged("validate", &request("Pod", pod(), false)), [] as [&str; 0]);
}

#[test]
fn verbose_logs_the_input_the_settings_and_the_verdict() {
    let lines = logged("validate", &request("Pod", pod(), true));
    let [input, data, verdict] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(input.starts_with("info: input: {") && input.contains(r#""image":"nginx""#), "{input}");
    assert!(data.starts_with("info: data: {") && data.contains(r#""defaultPolicy":"reject""#), "{data}");
    assert!(verdict.starts_with("info: decided at 1") && verdict.contains(r#""verdict":"rejected""#), "{verdict}");
}

#[test]
fn the_data_of_a_secret_is_never_logged() {
    let lines = logged("validate", &request("Secret", json!({"data": {"password": "aHVudGVyMg=="}}), true));
    let input = lines.first().map(String::as_str).unwrap_or_default();
    assert!(input.starts_with("info: input: {") && input.contains(r#""data":"not logged""#), "{input}");
    assert!(!lines.concat().contains("aHVudGVyMg=="), "{lines:?}");
}

#[test]
fn prefixes_that_match_more_than_they_seem_to_are_logged_at_deployment() {
    let settings = json!({"registries": ["docker.io"], "scanPolicies": {"customPolicies": [{"prefix": "docker.io/my", "action": "accept"}]}});
    assert_eq!(
        logged("validate_settings", &settings),
        [
            "warning: scanPolicies.customPolicies[0]: the prefix `docker.io/my` ends inside a path segment, and matches any continuation; end it with `/`, or with `:` and `@` for one repository"
        ]
    );
}
