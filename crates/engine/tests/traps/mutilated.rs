//! Reports that lack something, or hold something else in its place: read or refused, never clean by accident.

use super::world::{World, digest};
use super::{IMAGE, finding, report, trivy, with};
use serde_json::{Value, json};

/// Every value in a document, by its JSON pointer, but for the document itself.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let here = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                all.push(here.clone());
                pointers(value, &here, all);
            }
        }
        Value::Array(list) => {
            for (position, value) in list.iter().enumerate() {
                let here = format!("{at}/{position}");
                all.push(here.clone());
                pointers(value, &here, all);
            }
        }
        _ => {}
    }
}

/// The document with what stands at a pointer removed, or replaced.
fn mutilated(document: &Value, pointer: &str, by: Option<&Value>) -> Value {
    let mut document = document.clone();
    if let Some(by) = by {
        *document.pointer_mut(pointer).unwrap() = by.clone();
        return document;
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.remove(&key.replace("~1", "/").replace("~0", "~"))),
        Value::Array(list) => drop(list.remove(key.parse().unwrap())),
        _ => {}
    }
    document
}

/// A report that rejects its image rejects it still, whatever becomes of any of its values.
fn never_clean(document: &Value, settings: &Value, world: impl Fn(Value) -> World) {
    let whole = world(document.clone()).decide(IMAGE, settings);
    assert_eq!((whole.allowed, whole.state.as_str()), (false, "fresh"), "{}", whole.response);
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    let others = [
        json!(null),
        json!(""),
        json!("x"),
        json!(0),
        json!(-1),
        json!(1e300),
        json!([]),
        json!({}),
        json!(false),
        json!([null]),
        json!([{}]),
    ];
    assert!(all.len() > 15, "{all:?}");
    // Anything there is a version that it is fixed in.
    for pointer in all.iter().filter(|pointer| !pointer.ends_with("/fixedVersion")) {
        for by in others.iter().map(Some).chain([None]) {
            let answer = world(mutilated(document, pointer, by)).decide(IMAGE, settings);
            assert!(!answer.allowed, "{pointer} replaced by {by:?} clears the image: {}", answer.response);
            assert!(
                answer.response["message"].as_str().unwrap().contains("'reg.io/team/app:1.0': "),
                "{}",
                answer.response
            );
        }
    }
}

/// A critical finding without a fix, where nothing but those counts: so that the entries decide.
fn unfixed(entry: Value) -> Value {
    with(entry, &[("/fixedVersions", json!([]))])
}

const UNFIXED: &str =
    r#"{"maxSeverity": {"critical": {"totalWithoutFixes": 0}}, "cvssScore": {"threshold": 7, "maxCount": 9}}"#;

fn acceptance() -> Value {
    serde_json::from_str(UNFIXED).unwrap()
}

#[test]
fn of_sbomscanner() {
    let mut entry = unfixed(finding("CVE-1", "CRITICAL"));
    entry["cvss"] = json!({"nvd": {"v3score": "9.8"}});
    let document = report('a', &[entry]);
    let world = |document| World::default().image(IMAGE, 'a').object(document);
    never_clean(&document, &json!({"acceptance": acceptance()}), world);
}

#[test]
fn of_trivy_operator() {
    let mut document = trivy("web", "pod-p-app", json!(digest('a')));
    document["report"]["summary"] =
        json!({"criticalCount": 1, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0});
    document["report"]["vulnerabilities"][0]["severity"] = json!("CRITICAL");
    document["report"]["vulnerabilities"][0]["fixedVersion"] = json!("");
    let world = |document| World::default().image(IMAGE, 'a').object(document);
    let settings =
        json!({"acceptance": acceptance(), "reports": {"sources": [{"trivyOperator": {}}], "maxAge": "24h"}});
    never_clean(&document, &settings, world);
}

/// These formats have no summary that a finding's severity could contradict, so that any severity has a limit here.
fn any_severity() -> Value {
    json!({"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}, "medium": {"total": 0}, "low": {"total": 0}, "unknown": {"total": 0}}})
}

#[test]
fn of_documents_beside_the_image() {
    let documents = [
        json!({"SchemaVersion": 2, "ArtifactType": "container_image", "CreatedAt": "2026-11-20T10:00:00Z",
               "Metadata": {"RepoDigests": ["x@sha256:1"], "ImageConfig": {"os": "linux", "architecture": "amd64"}},
               "Results": [{"Target": "t", "Class": "os-pkgs", "Vulnerabilities": [{"VulnerabilityID": "CVE-1", "PkgName": "p", "Severity": "CRITICAL", "FixedVersion": "2"}]}]}),
        json!({"SchemaVersion": 2, "ArtifactType": "cyclonedx", "CreatedAt": "2026-11-20T10:00:00Z", "Metadata": {"OS": {"Family": "alpine", "Name": "3.22"}},
               "Results": [{"Target": "t", "Class": "os-pkgs", "Vulnerabilities": [{"VulnerabilityID": "CVE-1", "PkgName": "p", "Severity": "CRITICAL", "FixedVersion": "2"}]}]}),
        json!({"descriptor": {"name": "grype", "timestamp": "2026-11-20T10:00:00Z"}, "source": {"type": "image", "target": {"architecture": "amd64", "os": "linux"}},
               "matches": [{"vulnerability": {"id": "CVE-1", "severity": "Critical", "fix": {"versions": ["2"], "state": "fixed"}}, "artifact": {"name": "p", "version": "1", "purl": "pkg:apk/p@1"}}]}),
        json!({"bomFormat": "CycloneDX", "specVersion": "1.6", "metadata": {"timestamp": "2026-11-20T10:00:00Z", "component": {"type": "container", "name": "app"}},
               "components": [{"bom-ref": "r", "name": "p", "purl": "pkg:apk/p@1"}],
               "vulnerabilities": [{"id": "CVE-1", "ratings": [{"severity": "critical", "score": 9.8}], "affects": [{"ref": "r"}]}]}),
        json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Trivy", "rules": [{"id": "CVE-1", "properties": {"security-severity": "9.8"}}]}},
               "results": [{"ruleId": "CVE-1", "level": "error", "message": {"text": "Package: p"}}]}]}),
        json!({"status": "fail", "detail": {"result": {"final_action": "stop", "rows": [1, 2, 3], "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8}}}),
    ];
    for document in documents {
        let world = |document| {
            let at = format!("reg.io/team/app:sha256-{}.scan", "a".repeat(64));
            World::default().image(IMAGE, 'a').artifact(&at, 'd', Some('a'), document)
        };
        let settings =
            json!({"acceptance": any_severity(), "reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
        let before = world(document.clone()).decide(IMAGE, &settings);
        assert_eq!(before.state, "fresh", "{document}");
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        for pointer in &all {
            // Trivy leaves out the list of a target without findings, and a list without its entry is a list.
            let is_entry = pointer.ends_with(|c: char| c.is_ascii_digit());
            let clean = |by: &Option<Value>| {
                pointer.ends_with("/Vulnerabilities") && by.as_ref().is_none_or(Value::is_null)
                    || is_entry && by.is_none()
            };
            let others = [None, Some(json!(null)), Some(json!("")), Some(json!({})), Some(json!(0))];
            for by in others.into_iter().filter(|by| !clean(by)) {
                let answer = world(mutilated(&document, pointer, by.as_ref())).decide(IMAGE, &settings);
                assert!(!answer.allowed, "{pointer} replaced by {by:?} clears the image: {document}");
            }
        }
    }
}
