//! A tag whose digest a report tells: one call to the registry, and the traps of what wasn't requested by digest.

use super::world::{Answer, NOW, World, digest};
use super::{IMAGE, report, with};
use image_admission_stub_host::{StubHost, digest_of};
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};

/// An index of `a` (linux/amd64) and `c` (linux/arm64), with annotations of its own.
fn index(annotation: &str) -> Value {
    let entry = |letter: char, architecture: &str| json!({"digest": digest(letter), "platform": {"architecture": architecture, "os": "linux"}});
    json!({"schemaVersion": 2, "manifests": [entry('a', "amd64"), entry('c', "arm64")], "annotations": {"made": annotation}})
}

/// The digest of a document as BuildKit writes it: the second of the spellings that are tried.
fn digest_as_built(index: &Value) -> String {
    // The types of OCI have these keys in this order.
    let text = |value: &Value| serde_json::to_string(value).unwrap();
    let entries: Vec<String> = index["manifests"].as_array().unwrap().iter().map(|entry| {
        let platform = &entry["platform"];
        format!(
            "    {{\n      \"digest\": {},\n      \"platform\": {{\n        \"architecture\": {},\n        \"os\": {}\n      }}\n    }}",
            text(&entry["digest"]), text(&platform["architecture"]), text(&platform["os"])
        )
    }).collect();
    let made = text(&index["annotations"]["made"]);
    digest_of(&format!(
        "{{\n  \"schemaVersion\": 2,\n  \"manifests\": [\n{}\n  ],\n  \"annotations\": {{\n    \"made\": {made}\n  }}\n}}",
        entries.join(",\n")
    ))
}

/// Clean reports of both platforms by sbomscanner, which name an index.
fn scanned(index: &str) -> StubHost {
    let named = |letter: char, platform: &str| {
        let changes = [("/imageMetadata/indexDigest", json!(index)), ("/imageMetadata/platform", json!(platform))];
        with(report(letter, &[]), &changes)
    };
    StubHost::default().object(named('a', "linux/amd64")).object(named('c', "linux/arm64"))
}

/// The same, and a tag that leads to a document with a digest.
fn tagged(host: StubHost, shown: &Value, digest: &str) -> World {
    let at = format!("reg.io/team/app@{digest}");
    World::default().and(|_| host.tag(IMAGE, digest).manifest(&at, shown.clone()))
}

fn runs(answer: &Answer) -> String {
    answer.response["mutated_object"]["spec"]["containers"][0]["image"].as_str().unwrap_or("as it was").to_owned()
}

fn pinned(digest: &str) -> String {
    format!("{IMAGE}@{digest}")
}

fn calls(world: &World) -> Vec<String> {
    world.host.calls().iter().map(|call| call.operation.clone()).collect()
}

#[test]
fn one_call_tells_all_of_an_image_that_has_a_report() {
    let shown = index("1");
    for digest in [digest_of(&shown.to_string()), digest_as_built(&shown)] {
        let world = tagged(scanned(&digest), &shown, &digest);
        let answer = world.decide(IMAGE, &json!({}));
        assert_eq!((answer.allowed, runs(&answer)), (true, pinned(&digest)), "{}", answer.response);
        assert_eq!(calls(&world), ["v1/oci_manifest", "get_resource", "get_resource"]);
    }
}

/// What follows needs no other call than before, and has the same answer.
#[test]
fn the_registry_is_asked_where_no_report_tells() {
    let shown = index("1");
    let digest = digest_of(&shown.to_string());
    let world = tagged(scanned(""), &shown, &digest);
    let answer = world.decide(IMAGE, &json!({}));
    assert_eq!((answer.allowed, runs(&answer)), (true, pinned(&digest)), "{}", answer.response);
    assert_eq!(calls(&world), ["v1/oci_manifest", "get_resource", "v1/manifest_digest", "get_resource"]);
}

/// The tag has another index of the same platforms since.
#[test]
fn a_report_of_the_index_before_tells_no_digest() {
    let (before, shown) = (digest_of(&index("1").to_string()), index("2"));
    let now = digest_of(&shown.to_string());
    let world = tagged(scanned(&before), &shown, &now);
    assert_eq!(runs(&world.decide(IMAGE, &json!({}))), pinned(&now));
    let fooled = without(Remedy::ProveReportedDigest, || world.decide(IMAGE, &json!({})));
    assert_eq!(runs(&fooled), pinned(&before));
}

/// The bytes at the tag hold more than what the host shows. Where the digest is pinned, the bytes that the scanner saw run.
#[test]
fn what_isnt_pinned_must_have_the_digest_of_its_tag() {
    let shown = index("1");
    let clean = digest_of(&shown.to_string());
    let world = tagged(scanned(&clean), &shown, &digest('e'));
    let answer = world.decide(IMAGE, &json!({}));
    assert_eq!((answer.allowed, runs(&answer)), (true, pinned(&clean)));
    for settings in [json!({"pin": {"enabled": false}}), json!({"pin": {"exclude": ["reg.io/team/*"]}})] {
        assert!(!world.decide(IMAGE, &settings).allowed, "{settings}");
        assert!(without(Remedy::PinReportedDigest, || world.decide(IMAGE, &settings)).allowed, "{settings}");
    }
}

/// The scanner may have scanned an index that hides something, and names it: it is as little proven as without its report.
#[test]
fn a_report_of_what_hides_something_proves_nothing() {
    let hidden = digest('e');
    let answer = tagged(scanned(&hidden), &index("1"), &hidden).decide(IMAGE, &json!({}));
    assert!(!answer.allowed, "{}", answer.response);
}

/// Between the manifest and the digest, somebody pushes an index with another platform, which nobody scanned.
#[test]
fn a_tag_that_moves_is_read_again_by_its_digest() {
    let (before, mut after) = (index("1"), index("2"));
    after["manifests"][1]["digest"] = json!(digest('b'));
    let (first, second) = (digest_of(&before.to_string()), digest_of(&after.to_string()));
    let at = format!("reg.io/team/app@{second}");
    // The first answer of a digest call is already the new one.
    let host = scanned("").manifest(IMAGE, before).tag(IMAGE, &second).manifest(&at, after);
    let world = tagged(host, &json!({}), &first).and(|host| host.tag(IMAGE, &second));
    let answer = world.decide(IMAGE, &json!({}));
    assert!(!answer.allowed, "{}", answer.response);
    assert!(without(Remedy::ProveTaggedManifest, || world.decide(IMAGE, &json!({}))).allowed);
}

/// A report of the same bytes in another registry says nothing of the digest under which they are here.
#[test]
fn a_report_of_another_registry_tells_no_digest() {
    let shown = index("1");
    let (here, elsewhere) = (digest_of(&shown.to_string()), digest_as_built(&shown));
    let of = |name: &str, server: &str, digest: &str| {
        json!({"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
               "metadata": {"name": name, "namespace": "scans"},
               "report": {"updateTimestamp": "2026-11-19T00:00:00Z", "registry": {"server": server},
                          "artifact": {"repository": "team/app", "tag": "1.0", "digest": digest},
                          "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0},
                          "vulnerabilities": []}})
    };
    let settings = json!({"reports": {"platforms": ["linux/amd64"],
        "sources": [{"trivyOperator": {"workloadNamespace": false, "namespaces": ["scans"]}}]},
        "imageVerification": []});
    let host =
        StubHost::default().object(of("here", "reg.io", &digest('a'))).object(of("elsewhere", "evil.io", &elsewhere));
    let world = tagged(host, &shown, &here);
    let judged = |answer: &Answer| answer.response["audit_annotations"]["container-1.digest"].clone();
    let answer = world.decide_at(IMAGE, &settings, NOW);
    assert_eq!((answer.allowed, judged(&answer)), (true, json!(here)), "{}", answer.response);
    let fooled = without(Remedy::MatchRegistry, || world.decide_at(IMAGE, &settings, NOW));
    assert_eq!(judged(&fooled), json!(elsewhere), "{}", fooled.response);
}

/// With trivy-operator, a report that names the index spares the same call. The list is one that is needed in any case.
#[test]
fn a_listed_report_tells_the_digest_too() {
    let shown = index("1");
    let digest = digest_as_built(&shown);
    let object = json!({"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "metadata": {"name": "any", "namespace": "scans"},
        "report": {"updateTimestamp": "2026-11-19T00:00:00Z", "registry": {"server": "reg.io"},
                   "artifact": {"repository": "team/app", "tag": "1.0", "digest": digest},
                   "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0},
                   "vulnerabilities": []}});
    let world = tagged(StubHost::default().object(object), &shown, &digest);
    let settings = json!({"reports": {"platforms": ["linux/amd64"],
        "sources": [{"trivyOperator": {"workloadNamespace": false, "namespaces": ["scans"]}}]}});
    let answer = world.decide(IMAGE, &settings);
    assert!(answer.allowed, "{}", answer.response);
    let asked: Vec<String> = calls(&world).into_iter().filter(|operation| operation.starts_with("v1/")).collect();
    assert_eq!(asked, ["v1/oci_manifest"], "{:#?}", world.host.calls());
}

/// What can't be had by its tag is resolved as it is without reports: a digest that is known is pinned, where outages are forgiven.
#[test]
fn a_manifest_that_is_away_hides_no_digest() {
    let world =
        tagged(scanned(""), &index("1"), &digest('e')).and(|host| host.fails("v1/oci_manifest", "connection refused"));
    let answer =
        world.decide(IMAGE, &json!({"registries": ["reg.io"], "scanPolicies": {"scanFailed": "accept-outages"}}));
    assert_eq!((answer.allowed, runs(&answer)), (true, pinned(&digest('e'))), "{}", answer.response);
}

/// trivy-operator's list costs most of all: it is read only where its platform is wanted.
#[test]
fn reports_of_another_platform_are_not_listed() {
    let world = tagged(StubHost::default(), &index("1"), &digest('e'));
    let settings = json!({"reports": {"platforms": ["linux/arm64"],
        "sources": [{"trivyOperator": {"workloadNamespace": false, "namespaces": ["scans"]}}]}});
    assert!(!world.decide(IMAGE, &settings).allowed);
    assert_eq!(world.host.count("list_resources"), 0, "{:#?}", world.host.calls());
}
