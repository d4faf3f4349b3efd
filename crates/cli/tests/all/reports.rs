//! Reports through the module: large ones, real ones where they are at hand, and what the clock decides.

use crate::support;
use crate::support::host::stub;
use image_admission_module_host::runtime::PolicyModule;
use image_admission_stub_host::{Call, StubHost};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static MODULE: LazyLock<PolicyModule> = LazyLock::new(|| PolicyModule::from_file(&support::module_path()).unwrap());

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A registry with one image, and a cluster without a report of it.
fn image() -> StubHost {
    StubHost::default().image("ghcr.io/team/app:1.0", DIGEST)
}

/// The same, and a cluster whose report of it, whatever its name, has this body.
fn with(report: Value) -> StubHost {
    image().answer_with(move |call| {
        (call.operation == "get_resource").then(|| {
            let mut report = report.clone();
            report["metadata"] = json!({"name": call.field("name"), "namespace": call.field("namespace")});
            Ok(report)
        })
    })
}

#[track_caller]
fn decide(world: StubHost, settings: &Value) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "web"},
                        "spec": {"containers": [{"name": "c", "image": "ghcr.io/team/app:1.0"}]}});
    let payload =
        json!({"request": {"kind": {"kind": "Pod"}, "operation": "CREATE", "object": object}, "settings": settings});
    let reply = MODULE.call("validate", payload.to_string().as_bytes(), stub(world));
    serde_json::from_slice(&reply.response.unwrap_or_else(|error| panic!("no answer: {error}"))).unwrap()
}

/// sbomscanner's report of the image, whose body is this.
fn sbomscanner(body: &Value) -> Value {
    json!({"imageMetadata": {"registryURI": "ghcr.io", "repository": "team/app", "platform": "linux/amd64", "digest": DIGEST}, "report": body})
}

fn summary(high: usize) -> Value {
    json!({"critical": 0, "high": high, "medium": 0, "low": 0, "unknown": 0, "suppressed": 0})
}

/// Ten megabytes of findings, each with a description that no mask took away.
fn ten_megabytes() -> (usize, Value) {
    let number = 10_000;
    let findings: Vec<Value> = (0..number)
        .map(|i| {
            json!({"cve": format!("CVE-2025-{i}"), "severity": "HIGH", "packageName": "p", "purl": "pkg:apk/p@1", "fixedVersions": ["2"],
                   "suppressed": false, "cvss": {"nvd": {"v3score": "7.5"}}, "description": "x".repeat(850)})
        })
        .collect();
    (number, json!({"summary": summary(number), "results": [{"vulnerabilities": findings}]}))
}

#[test]
fn a_report_of_ten_megabytes_is_judged() {
    let (number, body) = ten_megabytes();
    let report = sbomscanner(&body);
    assert!(report.to_string().len() > 10_000_000);
    let settings = json!({"acceptance": {"cvssScore": {"threshold": 7, "maxCount": 9_999}}});
    let response = decide(with(report.clone()), &settings);
    let message = response["message"].as_str().unwrap();
    assert!(
        message
            .contains(&format!("{number} findings with a CVSS score from 7.0, at most 9999 accepted: CVE-2025-0 in p")),
        "{message}"
    );
    let enough = json!({"acceptance": {"cvssScore": {"threshold": 7, "maxCount": 10_000}}});
    assert_eq!(decide(with(report), &enough)["accepted"], true);
}

/// A digest may have been scanned under any tag, so that all ten thousand are looked through.
#[test]
fn a_list_of_ten_thousand_reports_is_searched() {
    let mut listed = String::from(r#"{"items":["#);
    for i in 0..10_000 {
        let digest = if i == 7_777 { DIGEST.to_owned() } else { format!("sha256:{i:064x}") };
        let comma = if i == 0 { "" } else { "," };
        write!(
            listed,
            r#"{comma}{{"metadata":{{"name":"report-{i}","namespace":"sbomscanner","uid":"{i:032}","labels":{{"a":"b"}}}},"imageMetadata":{{"registry":"r","registryURI":"ghcr.io","repository":"team/app","tag":"1.0","platform":"linux/amd64","digest":"{digest}"}}}}"#
        )
        .unwrap();
    }
    listed.push_str("]}");
    let body = json!({"summary": {"critical": 1, "high": 0, "medium": 0, "low": 0, "unknown": 0},
                      "results": [{"vulnerabilities": [{"cve": "CVE-1", "severity": "CRITICAL"}]}]});
    let absent = |call: &Call| {
        let is_other = call.operation == "get_resource" && call.field("name") != "report-7777";
        is_other.then(|| Err("Cannot find x named 'y' inside of namespace 'Some(\"n\")'".to_owned()))
    };
    let world = with(sbomscanner(&body)).answer_with(absent).says("list_resources_by_namespace", listed);
    let image = format!("ghcr.io/team/app@{DIGEST}");
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}});
    let payload = json!({"request": {"kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "n", "object": object}, "settings": {}});
    let start = Instant::now();
    let reply = MODULE.call("validate", payload.to_string().as_bytes(), stub(world));
    let response: Value = serde_json::from_slice(&reply.response.unwrap()).unwrap();
    let message = response["message"].as_str().unwrap();
    assert!(message.contains("1 critical finding, at most 0 accepted: CVE-1 (no fix) (sbomscanner: VulnerabilityReport sbomscanner/report-7777"), "{message}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// The fixtures of others are no part of this project: they are read where they are at hand.
#[test]
fn real_reports_are_read_where_they_are_at_hand() {
    let fixtures = support::root().join("../shared/fixtures");
    if !fixtures.is_dir() {
        println!("no fixtures beside the checkout: the project's own stand for them");
        return;
    }
    let read = |path: &str| -> Value {
        let text = std::fs::read_to_string(fixtures.join(path)).unwrap();
        yaml_serde::from_str(&text).unwrap()
    };
    let entries =
        json!({"acceptance": {"maxSeverity": {"critical": {"total": 0}, "unknown": {"totalWithoutFixes": 999}}}});
    let of = |response: &Value| {
        response["message"].as_str().unwrap_or_default().lines().nth(1).unwrap_or_default().to_owned()
    };

    let bodies = [
        (
            "sbomscanner/golang-1.12-alpine-amd64.sbomscanner-vex.json",
            read("sbomscanner/golang-1.12-alpine-amd64.sbomscanner-vex.json"),
        ),
        (
            "sbomscanner/golang-1.12-alpine-arm64-v8.sbomscanner.json",
            read("sbomscanner/golang-1.12-alpine-arm64-v8.sbomscanner.json"),
        ),
        ("sbomscanner/vulnerabilityreport.yaml", read("sbomscanner/vulnerabilityreport.yaml")["report"].clone()),
    ];
    for (name, body) in bodies {
        let response = decide(with(sbomscanner(&body)), &entries);
        let critical = body["summary"]["critical"].as_u64().unwrap();
        assert!(critical > 0 && of(&response).contains(" critical finding"), "{name}: {response}");
        assert_eq!(response["audit_annotations"]["container-1.state"], "fresh", "{name}: {response}");
    }

    for (name, says) in [
        ("vulnerabilityreport_no_vuln", None),
        (
            "vulnerabilityreport_single_vuln",
            Some("1 critical finding, at most 0 accepted: CVE-2023-23914 in curl (fixed in 7.87.0-r2)"),
        ),
        ("vulnerabilityreport_many", Some(" critical finding")),
        ("vulnerabilityreport_extended", None),
    ] {
        let mut report = read(&format!("trivy-operator/{name}.json"));
        if report["items"].is_array() {
            report = report["items"][0].clone();
        }
        report["report"]["registry"] = json!({"server": "ghcr.io"});
        report["report"]["artifact"] = json!({"repository": "team/app", "digest": DIGEST});
        let mut settings = entries.clone();
        settings["reports"] = json!({"sources": [{"trivyOperator": {}}]});
        let response = decide(with(report), &settings);
        assert_eq!(response["audit_annotations"]["container-1.state"], "fresh", "{name}: {response}");
        match says {
            Some(text) => assert!(of(&response).contains(text), "{name}: {response}"),
            None => assert_eq!(response["accepted"], true, "{name}: {response}"),
        }
    }
}

/// `2026-11-20` for a number of days from now.
fn day(from_now: i64) -> String {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    image_admission_untrusted::time::Timestamp(now + from_now * 24 * 3600).day()
}

#[test]
fn the_clock_ends_exemptions_and_warns_a_week_before() {
    let body = json!({"summary": {"critical": 1, "high": 0, "medium": 0, "low": 0, "unknown": 0},
                      "results": [{"vulnerabilities": [{"cve": "CVE-1", "severity": "CRITICAL", "fixedVersions": ["2"]}]}]});
    let decide = |expires: String| {
        let settings = json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "TICKET-7", "expires": expires}]});
        decide(with(sbomscanner(&body)), &settings)
    };
    let ended = decide(day(-2));
    let message = ended["message"].as_str().unwrap();
    assert!(message.contains(&format!("CVE-1 (fixed in 2; its exemption ended {})", day(-2))), "{message}");
    let soon = decide(day(3));
    assert_eq!(soon["accepted"], true, "{soon}");
    let warning = format!("image 'ghcr.io/team/app:1.0' needs an exemption that ends {}: CVE-1 (TICKET-7)", day(3));
    assert_eq!(soon["warnings"], json!([warning]));
    let far = decide(day(30));
    assert!(far["accepted"] == true && far["warnings"].is_null(), "{far}");
    assert_eq!(far["audit_annotations"]["container-1.exemptions"], format!("CVE-1 until {}: TICKET-7", day(30)));
}

/// The same Pod, before and after its report is there.
#[test]
fn a_pending_pod_is_admitted_by_the_identical_request_once_it_is_scanned() {
    let before = decide(image(), &json!({}));
    assert_eq!(before["audit_annotations"]["container-1.state"], "not_scanned", "{before}");
    assert_eq!(before["accepted"], false);
    let after = decide(with(sbomscanner(&json!({"summary": summary(3)}))), &json!({}));
    assert_eq!(after["accepted"], true, "{after}");
}
