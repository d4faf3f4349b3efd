//! What registries answer where they give no manifest, row by row of `registries/answers.yaml`: what the message says, what
//! `explain` advises, and which `scanFailed` forgives it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on must fail")]

use image_admission_explain::explain;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json, value::to_raw_value};
use std::collections::{BTreeMap, BTreeSet};

const ANSWERS: &str = include_str!("../../host/tests/registries/answers.yaml");
const REGISTRY: &str = "registry.example.com";
const URL: &str = "https://registry.example.com/v2/team/app/manifests/1.0";

/// A row. What the registry answers itself, the command line's tests serve.
#[derive(Deserialize)]
struct Row {
    registry: String,
    case: String,
    body: String,
    host: String,
    class: String,
    words: String,
    advice: String,
}

impl Row {
    /// What the host says, in the first of its two forms: with the chain of causes below.
    fn text(&self) -> String {
        let error = self.host.replace("$URL", URL).replace("$BODY", &self.body);
        let error = format!("Fail to interact with OCI registry: {error}");
        format!("Host error: Callback evaluation failure: {error}\n\nCaused by:\n    0: {error}\n    1: {error}\n")
    }
}

fn rows() -> Vec<Row> {
    yaml_serde::from_str(ANSWERS).unwrap()
}

/// The message of a rejection, and what is advised; none where the Pod is admitted.
fn decided(text: &str, settings: &Value) -> Option<(String, Vec<String>)> {
    let image = format!("{REGISTRY}/team/app:1.0");
    let spec = json!({"containers": [{"name": "c", "image": image}]});
    let request = to_raw_value(&json!({
        "uid": "u", "operation": "CREATE", "namespace": "n", "name": "x", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "userInfo": {"username": "someone"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "n"}, "spec": spec},
    }))
    .unwrap();
    let host = StubHost::default().fails("", text);
    let (decision, explanation) = explain(Some(&request), settings, &WireHost(host.wire()), Timestamp(0)).unwrap();
    if decision.is_allowed() {
        return None;
    }
    let [cause] = &explanation.causes[..] else { panic!("{:?}", explanation.causes) };
    Some((cause.why.to_string(), cause.advice.iter().map(ToString::to_string).collect()))
}

fn settings(registries: &[&str], scan_failed: &str) -> Value {
    json!({"registries": registries, "scanPolicies": {"scanFailed": scan_failed}})
}

#[test]
fn each_answer_is_told_and_advised_about() {
    for row in rows() {
        let name = format!("{}, {}", row.registry, row.case);
        let (why, advice) = decided(&row.text(), &settings(&[REGISTRY], "reject")).unwrap_or_else(|| panic!("{name}"));
        assert!(why.ends_with(&format!("its digest can't be looked up: {}", row.words)), "{name}: {why}");
        assert_eq!(advice, [row.advice.as_str()], "{name}");
    }
}

#[test]
fn credentials_are_advised_only_where_it_is_about_them() {
    for row in rows() {
        let (_, advice) = decided(&row.text(), &settings(&[REGISTRY], "reject")).unwrap();
        let is_advised = advice.iter().any(|advice| advice.contains("credentials"));
        assert_eq!(is_advised, row.class == "denied", "{}, {}: {advice:?}", row.registry, row.case);
    }
}

#[test]
fn outages_are_told_from_other_failures_and_only_of_registries_that_are_listed() {
    for row in rows() {
        let name = format!("{}, {}", row.registry, row.case);
        let is_forgiven = |registries: &[&str], by| decided(&row.text(), &settings(registries, by)).is_none();
        assert_eq!(is_forgiven(&[REGISTRY], "accept-outages"), row.class == "outage", "{name}");
        assert!(!is_forgiven(&[], "accept-outages"), "{name}");
        assert!(is_forgiven(&[REGISTRY], "accept") && is_forgiven(&[], "accept"), "{name}");
    }
}

#[test]
fn every_registry_says_when_too_many_ask_who_may_not_and_what_is_missing() {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows() {
        assert!(["outage", "denied", "refused", "not found"].contains(&row.class.as_str()), "{}", row.class);
        classes.entry(row.registry).or_default().insert(row.class);
    }
    for registry in
        ["Docker Hub", "ghcr.io", "ECR", "ACR", "Artifact Registry", "Quay", "Harbor", "Artifactory", "GitLab"]
    {
        for class in ["outage", "denied", "not found"] {
            assert!(classes[registry].contains(class), "{registry}: no row of class `{class}`");
        }
    }
    // It limits nobody.
    assert_eq!(classes["Nexus"], ["denied", "not found"].map(str::to_owned).into());
}
