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
fn sbomscanner_by_what_is_exploited() {
    let mut first = finding("CVE-1", "LOW");
    first.as_object_mut().unwrap().extend(
        json!({"knownExploited": false, "epssScore": "0.1", "epssPercentile": "0.2"}).as_object().unwrap().clone(),
    );
    let mut cleared = first.clone();
    cleared["suppressed"] = json!(true);
    cleared["knownExploited"] = json!(true);
    let world = World::default().image(IMAGE, 'a').object(report('a', &[first, cleared]));
    let identity = ["get VulnerabilityReport imageMetadata", "get VulnerabilityReport report.summary"];
    let check = |acceptance: Value, fields: &[&str]| {
        let fields: Vec<String> =
            ["severity", "suppressed"].iter().chain(fields).map(|field| format!("{ENTRIES}{field}")).collect();
        let all: Vec<&str> = identity.into_iter().chain(fields.iter().map(String::as_str)).collect();
        each_field_matters(&world, &json!({"acceptance": acceptance}), &all);
    };
    check(json!({"knownExploited": "reject", "count": "entries"}), &["knownExploited"]);
    check(json!({"epss": {"score": 0.5}, "count": "entries"}), &["epssScore"]);
    check(json!({"epss": {"percentile": 0.5}, "count": "entries"}), &["epssPercentile"]);
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
    let mut several = trivy("web", "replicaset-other-app", json!(digest('a')));
    several["report"]["os"] = json!({"family": "alpine", "name": "3.22.0"});
    let mut unfixed = several["report"]["vulnerabilities"][0].clone();
    unfixed["vulnerabilityID"] = json!("CVE-2");
    unfixed["fixedVersion"] = json!("");
    let all = json!([several["report"]["vulnerabilities"][0], unfixed, unfixed]);
    several["report"]["vulnerabilities"] = all;
    several["report"]["summary"]["highCount"] = json!(3);
    let world = World::default().image(IMAGE, 'a').object(several);
    let base = ["report.artifact", "report.registry", "report.summary"];
    let listed = ["list VulnerabilityReport report.artifact", "list VulnerabilityReport report.registry"];
    let check = |settings: Value, fields: &[&str]| {
        let fields = base.into_iter().chain(fields.iter().copied());
        let all: Vec<String> = fields.map(|field| format!("get VulnerabilityReport {field}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).chain(listed).collect();
        each_field_matters(&world, &settings, &all);
    };
    check(json!({"reports": {"sources": sources}}), &[]);
    check(json!({"reports": {"sources": sources, "maxAge": "24h"}}), &["report.updateTimestamp"]);
    check(json!({"reports": {"sources": sources}, "acceptance": {"endOfLife": "reject"}}), &["report.os"]);
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

#[test]
fn trivy_operator_over_the_limits() {
    let mut scored = trivy("web", "replicaset-other-app", json!(digest('a')));
    // The vendors' scores come first, where the operator keeps them; the one score where it doesn't.
    let mut kept = scored["report"]["vulnerabilities"][0].clone();
    kept["vulnerabilityID"] = json!("CVE-2");
    kept["score"] = json!(1.0);
    kept["cvss"] = json!({"nvd": {"V3Score": 9.8}});
    let all = json!([scored["report"]["vulnerabilities"][0], kept, kept]);
    scored["report"]["vulnerabilities"] = all;
    scored["report"]["summary"]["highCount"] = json!(3);
    let world = World::default().image(IMAGE, 'a').object(scored);
    let settings = json!({
        "reports": {"sources": [{"trivyOperator": {}}]},
        "acceptance": {"cvssScore": {"threshold": 7, "maxCount": 0}},
        "exemptions": [{"vulnerability": "CVE-1", "packages": ["pkg:apk/alpine/curl@"], "reason": "r", "expires": "2099-01-01"}],
    });
    each_field_matters(
        &world,
        &settings,
        &[
            "get VulnerabilityReport report.artifact",
            "get VulnerabilityReport report.registry",
            "get VulnerabilityReport report.summary",
            "get VulnerabilityReport report.updateTimestamp",
            "get VulnerabilityReport report.vulnerabilities.severity",
            "get VulnerabilityReport report.vulnerabilities.vulnerabilityID",
            "get VulnerabilityReport report.vulnerabilities.score",
            "get VulnerabilityReport report.vulnerabilities.cvss",
            "get VulnerabilityReport report.vulnerabilities.resource",
            "get VulnerabilityReport report.vulnerabilities.fixedVersion",
            "get VulnerabilityReport report.vulnerabilities.packagePURL",
            "list VulnerabilityReport report.artifact",
            "list VulnerabilityReport report.registry",
        ],
    );
}

#[test]
fn kubescape() {
    let object = json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
        "metadata": {"name": "reg.io-team-app-1.0-aaaaaa", "namespace": "kubescape",
                     "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest('a'))}},
        "spec": {"payload": {"source": {"type": "image"}, "matches": [
            {"vulnerability": {"id": "CVE-1", "severity": "High", "fix": {"versions": ["2"], "state": "fixed"}}, "artifact": {"name": "curl"}},
            {"vulnerability": {"id": "CVE-2", "severity": "High"}, "artifact": {"name": "zlib"}},
            {"vulnerability": {"id": "CVE-2", "severity": "High"}, "artifact": {"name": "libz"}}]}}});
    let world = World::default().image(IMAGE, 'a').object(object);
    let settings = json!({"reports": {"sources": [{"kubescape": {}}]}, "acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 1}}}});
    assert!(world.decide(IMAGE, &settings).allowed);
    let asked = world.asked.take();
    let of_findings = asked.iter().filter(|field| field.contains(".matches.") && !field.ends_with(".severity"));
    let of_findings: Vec<&String> = of_findings.collect();
    assert_eq!(of_findings.len(), 3, "{asked:?}");
    for field in of_findings {
        *world.withheld.borrow_mut() = Some(field.clone());
        assert!(!world.decide(IMAGE, &settings).allowed, "without `{field}` the answer is the same");
    }
    world.withheld.take();
    let over = json!({"reports": {"sources": [{"kubescape": {}}]}, "acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 0}}}});
    let rejected = world.decide(IMAGE, &over);
    *world.withheld.borrow_mut() =
        Some("get VulnerabilityManifest spec.payload.matches.vulnerability.severity".to_owned());
    assert_ne!(world.decide(IMAGE, &over), rejected);
}

#[test]
fn objects_of_any_kind() {
    let object = json!({"apiVersion": "g/v1", "kind": "Scan", "metadata": {"name": "a".repeat(64), "namespace": "scans"},
        "spec": {"digest": digest('a')}, "status": {"at": "2026-11-20T10:00:00Z", "found": [
            {"id": "CVE-1", "severity": "HIGH", "fix": "2"}, {"id": "CVE-2", "severity": "HIGH"}, {"id": "CVE-2", "severity": "HIGH"}]}});
    let world = World::default().image(IMAGE, 'a').object(object);
    let custom = json!({"apiVersion": "g/v1", "kind": "Scan", "namespaces": ["scans"], "name": "{digestHex}",
        "fields": {"digest": "spec.digest", "time": "status.at", "findings": "status.found", "id": "id", "severity": "severity", "fixedVersion": "fix"}});
    let settings = json!({"reports": {"sources": [{"custom": custom}], "maxAge": "24h"},
                          "acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 1}}}});
    each_field_matters(
        &world,
        &settings,
        &[
            "get Scan spec.digest",
            "get Scan status.at",
            "get Scan status.found.id",
            "get Scan status.found.severity",
            "get Scan status.found.fix",
        ],
    );
}

#[test]
fn pods_that_run() {
    let pod = |name: &str, container: Value, init: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web"}, "status": {
            "phase": "Running", "containerStatuses": [container], "initContainerStatuses": [init]}})
    };
    let of = |letter: char| format!("reg.io/team/app@{}", digest(letter));
    let since = |state: &str| json!({state: {"startedAt": "2026-11-01T09:00:00Z"}});
    let (runs, other) = (since("running"), json!({"imageID": of('b'), "state": {}}));
    for (container, init, field) in [
        (json!({"imageID": of('a'), "state": runs}), other.clone(), "containerStatuses.state.running"),
        (other.clone(), json!({"imageID": of('a'), "state": runs}), "initContainerStatuses.state.running"),
        (other, json!({"imageID": of('a'), "state": since("terminated")}), "initContainerStatuses.state.terminated"),
    ] {
        let mut report = trivy("web", "pod-p-app", json!(digest('a')));
        report["report"]["vulnerabilities"][0]["publishedDate"] = json!("2026-11-19T00:00:00Z");
        let world = World::default().image(IMAGE, 'a').object(report).object(pod("web-1", container, init));
        let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]},
                              "acceptance": {"maxSeverity": {"high": {"total": 0}}, "running": {"grace": "7d"}}});
        let answer = world.decide(IMAGE, &settings);
        assert!(answer.allowed, "{}", answer.response);
        let list = field.split('.').next().unwrap();
        let deciding = ["phase".to_owned(), format!("{list}.imageID"), format!("{field}.startedAt")];
        let asked: Vec<String> = world.asked.take().into_iter().filter(|field| field.contains(" Pod ")).collect();
        for operation in ["get", "list"] {
            assert_eq!(asked.iter().filter(|field| field.starts_with(operation)).count(), 6, "{asked:?}");
            for deciding in &deciding {
                *world.withheld.borrow_mut() = Some(format!("{operation} Pod status.{deciding}"));
                let without: Answer = world.decide(IMAGE, &settings);
                assert!(!without.allowed, "without `{deciding}` the answer is the same: it needn't be asked for");
                world.withheld.take();
            }
        }
    }
}
