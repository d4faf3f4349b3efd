//! Field masks: each field that is asked for must matter, and what matters is asked for.

use super::world::{Answer, World, digest};
use super::{IMAGE, finding, report, scan_job, trivy, with};
use serde_json::{Value, json};

/// Decides with every field that is asked for, then without each of them: the answer must be another.
#[track_caller]
fn each_field_matters(world: &World, settings: &Value, expected: &[&str]) {
    let answer = world.decide(IMAGE, settings);
    let asked = world.asked.take();
    let expected: Vec<String> = expected.iter().map(|field| (*field).to_owned()).collect();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(asked.iter().cloned().collect::<Vec<_>>(), sorted, "{}", answer.response);
    for field in expected {
        *world.withheld.borrow_mut() = Some(field.clone());
        let without: Answer = world.decide(IMAGE, settings);
        assert_ne!(without, answer, "without `{field}` the answer is the same: it needn't be asked for");
        world.withheld.take();
    }
    world.asked.take();
}

fn scored(id: &str, severity: &str, score: &str) -> Value {
    let mut finding = finding(id, severity);
    finding["cvss"] = json!({"nvd": {"v3score": score}});
    finding
}

const ENTRIES: &str = "get VulnerabilityReport report.results.vulnerabilities.";

#[test]
fn sbomscanner_by_summary() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "HIGH")]));
    each_field_matters(
        &world,
        &json!({}),
        &["get VulnerabilityReport imageMetadata", "get VulnerabilityReport report.summary"],
    );
}

#[test]
fn sbomscanner_by_entries() {
    let mut suppressed = scored("CVE-9", "HIGH", "9.9");
    suppressed["suppressed"] = json!(true);
    let mut unfixed = scored("CVE-2", "HIGH", "5.0");
    unfixed["fixedVersions"] = json!([]);
    let mut twice = unfixed.clone();
    twice["packageName"] = json!("libssl");
    let entries = [scored("CVE-1", "HIGH", "5.0"), unfixed, twice, suppressed];
    let world = World::default().image(IMAGE, 'a').object(report('a', &entries));
    let identity = ["get VulnerabilityReport imageMetadata", "get VulnerabilityReport report.summary"];
    let check = |settings: Value, fields: &[&str]| {
        let fields: Vec<String> = fields.iter().map(|field| format!("{ENTRIES}{field}")).collect();
        let all: Vec<&str> = identity.into_iter().chain(fields.iter().map(String::as_str)).collect();
        each_field_matters(&world, &settings, &all);
    };
    // Within the limits: what decides.
    check(
        json!({"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 1}}}}),
        &["severity", "suppressed", "cve", "fixedVersions"],
    );
    check(
        json!({"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 2}}, "count": "entries"}}),
        &["severity", "suppressed", "fixedVersions"],
    );
    // Over the limits: what people want to know comes on top.
    check(
        json!({"acceptance": {"cvssScore": {"threshold": 5, "maxCount": 1}}}),
        &["severity", "suppressed", "cve", "cvss", "packageName", "fixedVersions"],
    );
    check(
        json!({"acceptance": {"maxSeverity": {"high": {"total": 0}}}, "exemptions": [
            {"vulnerability": "CVE-2", "packages": ["pkg:apk/alpine/openssl@"], "reason": "r", "expires": "2099-01-01"}]}),
        &["severity", "suppressed", "cve", "purl", "packageName", "fixedVersions"],
    );
}

#[test]
fn sbomscanner_by_age_and_progress() {
    let done = json!([{"type": "Complete", "status": "True"}]);
    let aged =
        World::default().image(IMAGE, 'a').object(report('a', &[])).object(scan_job(&done, "2026-11-20T10:00:00Z"));
    let settings = json!({"reports": {"maxAge": "24h"}});
    assert!(aged.decide(IMAGE, &settings).allowed);
    *aged.withheld.borrow_mut() = Some("list ScanJob status.completionTime".to_owned());
    assert_eq!(aged.decide(IMAGE, &settings).state, "stale");

    let image = with(report('a', &[]), &[("/kind", json!("Image"))]);
    let going = json!([{"type": "Complete", "status": "False"}, {"type": "InProgress", "status": "True"}]);
    let world = World::default().image(IMAGE, 'a').object(image).object(scan_job(&going, ""));
    let pending = world.decide(IMAGE, &json!({}));
    assert_eq!(pending.state, "pending");
    for field in ["get Image imageMetadata", "list ScanJob spec.registry", "list ScanJob status.startTime"] {
        *world.withheld.borrow_mut() = Some(field.to_owned());
        assert_ne!(world.decide(IMAGE, &json!({})), pending, "{field}");
    }
    let image = with(report('a', &[]), &[("/kind", json!("Image"))]);
    let world = World::default().image(IMAGE, 'a').object(image).object(scan_job(&done, ""));
    *world.withheld.borrow_mut() = Some("list ScanJob status.conditions".to_owned());
    let blind = world.decide(IMAGE, &json!({}));
    world.withheld.take();
    assert_ne!(world.decide(IMAGE, &json!({})), blind);
}

#[test]
fn sbomscanner_by_list() {
    let elsewhere = with(report('a', &[]), &[("/metadata/name", json!("by-another-registry"))]);
    let world = World::default().image(IMAGE, 'a').object(elsewhere);
    each_field_matters(
        &world,
        &json!({}),
        &[
            "get VulnerabilityReport imageMetadata",
            "get VulnerabilityReport report.summary",
            "list VulnerabilityReport imageMetadata",
        ],
    );
}

#[test]
fn trivy_operator() {
    let sources = json!([{"trivyOperator": {}}]);
    // Beside the finding with a fix, one without, in two packages.
    let mut several = trivy("web", "pod-p-app", json!(digest('a')));
    let mut unfixed = several["report"]["vulnerabilities"][0].clone();
    unfixed["vulnerabilityID"] = json!("CVE-2");
    unfixed["fixedVersion"] = json!("");
    let all = json!([several["report"]["vulnerabilities"][0], unfixed, unfixed]);
    several["report"]["vulnerabilities"] = all;
    several["report"]["summary"]["highCount"] = json!(3);
    let world = World::default().image(IMAGE, 'a').object(several);
    let base = ["report.artifact", "report.registry", "report.summary"];
    let check = |settings: Value, fields: &[&str]| {
        let fields = base.into_iter().chain(fields.iter().copied());
        let all: Vec<String> = fields.map(|field| format!("get VulnerabilityReport {field}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        each_field_matters(&world, &settings, &all);
    };
    check(json!({"reports": {"sources": sources}}), &[]);
    check(json!({"reports": {"sources": sources, "maxAge": "24h"}}), &["report.updateTimestamp"]);
    let grace = json!({"maxSeverity": {"high": {"total": 1}}, "fixGracePeriod": "10d"});
    check(
        json!({"reports": {"sources": sources}, "acceptance": grace}),
        &[
            "report.vulnerabilities.severity",
            "report.vulnerabilities.fixedVersion",
            "report.vulnerabilities.publishedDate",
            "report.vulnerabilities.vulnerabilityID",
        ],
    );
}
