//! Tags that move between two questions: whatever asks after an image gets the digest that was resolved first.

use super::world::{World, digest};
use super::{IMAGE, KEY, finding, report, stop_the_clock, with};
use image_admission_stub_host::Call;
use serde_json::{Value, json};

/// A policy that looks at what scanners say, of images that no scan was asked for.
fn rule(patch: &str) -> Value {
    json!([{"name": "scanned", "kinds": ["Pod"], "rego": format!("package scanned
{patch}
deny[msg] {{ some image; report := input.scanReports[image]; not report.Passed; msg := sprintf(\"%s is %s\", [report.Digest, report.Reason]) }}
warn[msg] {{ some image; report := input.scanReports[image]; msg := report.Digest }}")}])
}

/// The tag leads to a signed image that has findings, and as soon as it was asked for to a clean one.
fn moving() -> World {
    let clean = with(report('b', &[]), &[("/imageMetadata/digest", json!(digest('b')))]);
    World::default()
        .image(IMAGE, 'b')
        .image(IMAGE, 'a')
        .signed(&format!("reg.io/team/app@{}", digest('a')), KEY)
        .object(report('a', &[finding("CVE-1", "CRITICAL")]))
        .object(clean)
        .and(|host| host.moves(IMAGE, &digest('b')))
}

#[track_caller]
fn judges_what_was_resolved_first(world: &World, image: &str, settings: &Value) {
    stop_the_clock();
    let answer = world.decide(image, settings);
    let calls = world.host.calls();
    let is_resolved = |call: &&Call| call.operation == "v1/manifest_digest" && call.image().contains(IMAGE);
    let resolved = calls.iter().filter(is_resolved).count();
    assert_eq!((answer.allowed, resolved), (false, 1), "{}", answer.response);
    let message = answer.response["message"].as_str().unwrap_or_default();
    assert!(
        message.contains(&format!("Policy 'scanned' rejected. Reasons: {} is 1 critical", digest('a'))),
        "{message}"
    );
}

fn signed() -> Value {
    json!([{"name": "signed", "verifyPreScanAccepted": true,
            "attestors": [{"name": "team", "cosign": {"key": {"data": KEY}}}],
            "validations": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}]}])
}

#[test]
fn rules_judge_the_digest_that_verification_resolved() {
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": signed(),
                          "regoPolicies": rule("")});
    judges_what_was_resolved_first(&moving(), IMAGE, &settings);
}

#[test]
fn so_they_do_where_a_patch_wrote_the_image() {
    let patch = format!(
        "patch[operation] {{ input.spec.containers[0].image != \"{IMAGE}\"; \
         operation := {{\"op\": \"replace\", \"path\": \"/spec/containers/0/image\", \"value\": \"{IMAGE}\"}} }}"
    );
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": signed(),
                          "regoPolicies": rule(&patch)});
    judges_what_was_resolved_first(&moving(), "elsewhere.io/app:2", &settings);
}

#[test]
fn so_they_do_where_the_scan_phase_resolved_it() {
    let settings = json!({"scanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": rule("")});
    judges_what_was_resolved_first(&moving(), IMAGE, &settings);
}

/// What an expression asked of scanners is not asked again by a rule.
#[test]
fn so_they_do_where_an_expression_asked_for_the_report() {
    let policy = json!([{"name": "known", "verifyPreScanAccepted": true,
        "validations": [{"expression": "images.all.all(i, scanReport(i).Status != '')"}]}]);
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": policy,
                          "regoPolicies": rule("")});
    let world = moving();
    judges_what_was_resolved_first(&world, IMAGE, &settings);
    assert_eq!(world.host.count("v1/oci_manifest "), 1, "{:#?}", world.host.calls());
}
