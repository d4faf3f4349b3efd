//! Expressions that take too long.

use crate::clock::{use_clock_of, use_clock_without_time};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

fn evaluate(policies: &[&str]) -> String {
    let policy = |(number, text): (usize, &&str)| json!({"name": format!("p{number}"), "verifyPreScanAccepted": true, "mutateDigest": false, "failurePolicy": "Ignore", "verifications": [{"expression": text}]});
    let policies: Vec<Value> = policies.iter().enumerate().map(policy).collect();
    let request = json!({"uid": "u", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}});
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": policies});
    let payload = json!({"request": request, "settings": settings}).to_string();
    let host = StubHost::not_to_be_asked();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), Timestamp(1_790_000_000));
    let answer: Value = serde_json::from_slice(&answer.response).unwrap();
    answer["message"].as_str().unwrap_or("admitted").to_owned()
}

fn loops(depth: usize) -> String {
    let list = "[0,1,2,3,4,5,6,7,8,9]";
    (0..depth).rev().fold("true".to_owned(), |inner, n| format!("{list}.all(x{n}, {inner})"))
}

#[test]
fn expressions_are_stopped_where_no_time_is_left_from_the_beginning() {
    use_clock_of(Duration::ZERO);
    assert_eq!(evaluate(&[&loops(4)]), "admitted");
    use_clock_without_time();
    let why = evaluate(&[&loops(4)]);
    assert!(why.contains("stopped"), "{why}");
}

#[test]
fn expressions_that_take_too_long_are_stopped_whatever_is_ignored() {
    use_clock_of(Duration::from_millis(1));
    let stopped = "stopped: the expressions of one request have 150 ms";
    assert_eq!(evaluate(&[&loops(2)]), "admitted");
    for text in [loops(4), format!("{} || true", loops(4))] {
        let why = evaluate(&[&text]);
        assert!(why.contains(stopped), "{why}");
    }
    // The time is that of the whole request.
    let one = loops(2);
    let why = evaluate(&[one.as_str(); 12]);
    assert!(why.contains(stopped) && !why.contains("Policy p0 error"), "{why}");
}
