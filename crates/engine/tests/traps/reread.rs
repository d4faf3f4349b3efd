//! What is read once more, to explain a rejection, must be the same object of the same image's same platform.

use super::world::{World, digest};
use super::{IMAGE, finding, report, trivy, with};
use serde_json::{Value, json};

/// What is read first rejects; what stands there afterwards must clear nothing.
#[track_caller]
fn stays_rejected(world: World, first: &Value, then: Value, settings: &Value) -> String {
    let answer = world.object(first.clone()).later(2, then).decide(IMAGE, settings);
    assert_eq!((answer.allowed, answer.state.as_str()), (false, "fresh"), "{}", answer.response);
    answer.response["message"].as_str().unwrap_or_default().to_owned()
}

/// The same object as a namespace that isn't trusted has it.
fn forged(clean: Value) -> Value {
    let namespace = clean["metadata"]["namespace"].clone();
    with(clean, &[("/metadata/namespace", json!("tenant")), ("/metadata/asked-in", namespace)])
}

fn trivy_with(severity: &str, updated: &str) -> Value {
    let mut report = trivy("web", "pod-p-app", json!(digest('a')));
    report["report"]["updateTimestamp"] = json!(updated);
    report["report"]["vulnerabilities"][0]["severity"] = json!(severity);
    report["report"]["summary"]["highCount"] = json!(0);
    report["report"]["summary"][format!("{}Count", severity.to_lowercase())] = json!(1);
    report
}

fn trivy_settings() -> Value {
    json!({"reports": {"sources": [{"trivyOperator": {}}]}})
}

const TODAY: &str = "2026-11-20T10:00:00Z";

#[test]
fn sbomscanners_of_the_same_namespace() {
    let bad = report('a', &[finding("CVE-1", "CRITICAL")]);
    let image = World::default().image(IMAGE, 'a');
    stays_rejected(image, &bad, forged(report('a', &[])), &json!({}));
}

#[test]
fn trivy_operators_of_the_same_namespace() {
    let image = World::default().image(IMAGE, 'a');
    let clean = forged(trivy_with("LOW", TODAY));
    stays_rejected(image, &trivy_with("CRITICAL", TODAY), clean, &trivy_settings());
}

/// The time of another image's report is not this one's.
#[test]
fn trivy_operators_time_is_of_the_same_image() {
    let mut other = trivy_with("LOW", "2020-02-02T02:02:02Z");
    other["report"]["artifact"]["digest"] = json!(digest('b'));
    let image = World::default().image(IMAGE, 'a');
    let message = stays_rejected(image, &trivy_with("CRITICAL", TODAY), other, &trivy_settings());
    assert!(!message.contains("2020-02-02"), "{message}");
}

/// Kubescape keeps one object for an index, of whichever platform was scanned last.
#[test]
fn kubescapes_of_the_same_platform() {
    let of = |architecture: &str, severity: &str| {
        json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
               "metadata": {"name": "reg.io-team-app-1.0-ffffff", "namespace": "kubescape",
                            "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest('f'))}},
               "spec": {"payload": {
                   "source": {"type": "image", "target": {"os": "linux", "architecture": architecture}},
                   "matches": [{"vulnerability": {"id": "CVE-1", "severity": severity}, "artifact": {"name": "p"}}]}}})
    };
    let settings = json!({"reports": {"sources": [{"kubescape": {}}], "platforms": ["linux/amd64"]}});
    let index = || World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    assert!(index().object(of("amd64", "Low")).decide(IMAGE, &settings).allowed);
    stays_rejected(index(), &of("amd64", "Critical"), of("arm64", "Low"), &settings);
    // What one workload uses of the image is not all of it.
    let mut filtered = of("amd64", "Low");
    filtered["metadata"]["labels"] = json!({"kubescape.io/context": "filtered"});
    stays_rejected(index(), &of("amd64", "Critical"), filtered, &settings);
}
