//! What who has images scanned is told of an image: the same that a Pod would find, and nothing where no report decides.

use image_admission_engine::{check_settings, known_scan};
use image_admission_host::WireHost;
use image_admission_stub_host::{StubHost, digest_of, manifest};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const IMAGE: &str = "ghcr.io/team/web:1.0";
const NOW: &str = "2026-11-28T12:00:00Z";

fn settings(more: &Value) -> Value {
    let mut settings = json!({
        "registries": ["ghcr.io"],
        "reports": {"sources": [{"trivyOperator": {"namespaces": ["image-scans"]}}], "platforms": ["linux/amd64"]},
    });
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

fn digest() -> String {
    digest_of(&manifest().to_string())
}

/// A report as trivy-operator writes it, of this age in hours.
fn report(digest: &str, hours: i64) -> Value {
    let made = Timestamp(Timestamp::parse(NOW).unwrap().0 - hours * 3_600);
    json!({
        "apiVersion": "aquasecurity.github.io/v1alpha1",
        "kind": "VulnerabilityReport",
        "metadata": {"name": "cronjob-scan-image", "namespace": "image-scans"},
        "report": {
            "updateTimestamp": made.to_string(),
            "registry": {"server": "ghcr.io"},
            "artifact": {"repository": "team/web", "digest": digest},
            "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0},
            "vulnerabilities": [],
        },
    })
}

fn host() -> StubHost {
    StubHost::default().pushed(IMAGE, manifest())
}

/// The state of the image, and of its only platform.
#[track_caller]
fn check(image: &str, more: Value, host: StubHost, expected: Option<&str>) {
    let settings = check_settings(&settings(&more)).unwrap().only_reports();
    let found = known_scan(image, "shop", &settings, &WireHost(host.wire()), Timestamp::parse(NOW).unwrap());
    let state = found.map(|(_, report)| {
        assert!(report.platforms.iter().all(|platform| platform.state == report.state));
        report.state.name()
    });
    assert_eq!(state, expected, "{image} {more}");
}

#[test]
fn what_is_known_of_a_scan() {
    let has = |hours| host().object(report(&digest(), hours));
    let max_age = json!({"reports": {"sources": [{"trivyOperator": {"namespaces": ["image-scans"]}}], "platforms": ["linux/amd64"], "maxAge": "24h"}});
    check(IMAGE, json!({}), host(), Some("not_scanned"));
    check(IMAGE, json!({}), has(0), Some("fresh"));
    check(IMAGE, json!({}), has(1_000), Some("fresh"));
    check(IMAGE, max_age.clone(), has(23), Some("fresh"));
    check(IMAGE, max_age, has(25), Some("stale"));
    check(IMAGE, json!({}), host().object(report(&digest_of("another"), 0)), Some("not_scanned"));
    check("ghcr.io/team/none:1", json!({}), host(), Some("look_up_failed"));
    check("quay.io/team/web:1", json!({}), StubHost::not_to_be_asked(), Some("registry_not_allowed"));
}

/// Whoever moves a tag would take the report of what it stood for away: a platform that a workload names has a scan of its own.
#[test]
fn a_platforms_scan_isnt_that_of_its_tags_index() {
    let index = json!({"manifests": [{"digest": digest(), "platform": {"os": "linux", "architecture": "amd64"}}]});
    let of_index = report(&digest_of(&index.to_string()), 0);
    let host = || {
        let at = format!("ghcr.io/team/web@{}", digest());
        StubHost::default().pushed(IMAGE, index.clone()).manifest(&at, manifest()).object(of_index.clone())
    };
    check(IMAGE, json!({}), host(), Some("fresh"));
    check(&format!("{IMAGE}@{}", digest()), json!({}), host(), Some("not_scanned"));
}

#[test]
fn where_no_report_decides_nobody_is_asked() {
    let pre_scan = |policy: &str| json!({"preScanPolicies": {"defaultPolicy": policy}});
    check(IMAGE, pre_scan("accept"), StubHost::not_to_be_asked(), None);
    check(IMAGE, pre_scan("reject"), StubHost::not_to_be_asked(), None);
    check(IMAGE, json!({"scanPolicies": {"defaultPolicy": "reject"}}), StubHost::not_to_be_asked(), None);
    check("Not an image", json!({}), StubHost::not_to_be_asked(), None);
    check("", json!({}), StubHost::not_to_be_asked(), None);
    // In another namespace it may be otherwise.
    let elsewhere = json!({"preScanPolicies": {"byNamespace": {"kitchen": {"defaultPolicy": "accept"}}}});
    check(IMAGE, elsewhere, host(), Some("not_scanned"));
}

#[test]
fn what_says_nothing_of_reports_isnt_asked() {
    let more = json!({
        "acceptance": {"running": {"grace": "7d"}},
        "exemptionsFrom": {"namespace": "exemptions"},
        "imageVerification": [{"name": "by-name", "verifications": [{"expression": "false"}]}],
        "regoPolicies": [{"name": "no", "kinds": ["Pod"], "rego": "package no\nviolation[{\"msg\": \"no\"}] { true }"}],
    });
    let read = check_settings(&settings(&more)).unwrap();
    let stub = host().object(report(&digest(), 0));
    let (_, report) =
        known_scan(IMAGE, "shop", &read.only_reports(), &WireHost(stub.wire()), Timestamp::parse(NOW).unwrap())
            .unwrap();
    assert_eq!(report.state.name(), "fresh");
    let kinds: Vec<String> = stub
        .calls()
        .iter()
        .filter(|call| call.operation.contains("resource"))
        .map(|call| call.field("kind").to_owned())
        .collect();
    assert!(kinds.iter().all(|kind| kind == "VulnerabilityReport"), "{kinds:?}");
    assert_eq!(stub.count("oci/v2/verify"), 0);
}
