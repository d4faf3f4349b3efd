//! The traps that scanners, hosts and attackers set, each with its remedy at work and switched off; and the fields that
//! are asked for, each of which must matter.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod attacks;
mod boundaries;
mod configurations;
mod elsewhere;
mod empty;
mod excluded;
mod exempted;
mod fields;
mod gates;
mod mirrors;
mod moved;
mod mutilated;
mod packages;
mod registries;
mod reported_digest;
mod reread;
mod running;
mod said;
mod sboms;
mod unproven_indexes;
mod updates;
mod vex;
mod what_runs;
mod which_entry;
mod which_report_counts;
mod world;

use image_admission_stub_host::StubHost;
use image_admission_untrusted::clock::{Clock, use_clock};
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;
use world::{Answer, World, digest};

const SB: &str = "storage.sbomscanner.kubewarden.io/v1alpha1";
const IMAGE: &str = "reg.io/team/app:1.0";

/// Rules in Rego take no time: how long they take on this machine decides nothing.
fn stop_the_clock() {
    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Option<Duration> {
            Some(Duration::from_secs(1))
        }
    }

    use_clock(&Stopped);
}

/// The name that sbomscanner's workload scan gives a report.
fn computed(registry: &str, repository: &str, tag: &str, digest: &str) -> String {
    let hex = |text: &str| Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect::<String>();
    hex(&format!("workloadscan-{}/{registry}/{repository}:{tag}@{digest}", hex(registry)))
}

/// sbomscanner's report of `reg.io/team/app:1.0`, whose manifest has a digest of that letter.
fn report(letter: char, entries: &[Value]) -> Value {
    let count =
        |severity: &str| entries.iter().filter(|e| e["severity"] == severity && e["suppressed"] != true).count();
    json!({
        "apiVersion": SB, "kind": "VulnerabilityReport",
        "metadata": {"name": computed("reg.io", "team/app", "1.0", &digest(letter)), "namespace": "sbomscanner",
                     "creationTimestamp": "2026-11-01T00:00:00Z", "labels": {"sbomscanner.kubewarden.io/scanjob-uid": "job"}},
        "imageMetadata": {"registry": "r", "registryURI": "reg.io", "repository": "team/app", "tag": "1.0",
                          "platform": "linux/amd64", "digest": digest(letter)},
        "report": {"summary": {"critical": count("CRITICAL"), "high": count("HIGH"), "medium": count("MEDIUM"),
                               "low": count("LOW"), "unknown": count("UNKNOWN"), "suppressed": 0},
                   "results": [{"target": "t", "vulnerabilities": entries}]},
    })
}

fn finding(id: &str, severity: &str) -> Value {
    json!({"cve": id, "severity": severity, "packageName": "openssl", "purl": "pkg:apk/alpine/openssl@3.0",
           "fixedVersions": ["3.1"], "suppressed": false})
}

/// An object with some of its values replaced, by JSON pointer.
fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    object
}

/// Runs a case with its remedy and without it. The answer must be right with it and wrong without.
#[track_caller]
fn trap(remedy: Remedy, world: &World, image: &str, settings: &Value, right: &str, wrong: &str) {
    let said = |answer: &Answer| format!("{} {}", if answer.allowed { "allowed" } else { "denied" }, answer.state);
    let answer = world.decide(image, settings);
    assert_eq!(said(&answer), right, "{remedy:?} at work: {}", answer.response);
    let caught = without(remedy, || world.decide(image, settings));
    assert_eq!(said(&caught), wrong, "{remedy:?} switched off: {}", caught.response);
}

#[test]
fn a_report_of_another_registry_doesnt_count() {
    let other = with(report('a', &[]), &[("/imageMetadata/registryURI", json!("evil.io"))]);
    let world = World::default().image(IMAGE, 'a').object(other);
    trap(Remedy::MatchRegistry, &world, IMAGE, &json!({}), "denied other_image", "allowed fresh");
}

#[test]
fn docker_hub_has_several_names() {
    let mut hub = with(report('a', &[]), &[("/imageMetadata/registryURI", json!("index.docker.io"))]);
    hub["metadata"]["name"] = json!(computed("index.docker.io", "team/app", "1.0", &digest('a')));
    let world = World::default().image("docker.io/team/app:1.0", 'a').object(hub);
    trap(Remedy::FoldRegistryNames, &world, "team/app:1.0", &json!({}), "allowed fresh", "denied other_image");
}

#[test]
fn a_report_of_another_repository_doesnt_count() {
    let other = with(report('a', &[]), &[("/imageMetadata/repository", json!("evil/app"))]);
    let world = World::default().image(IMAGE, 'a').object(other);
    trap(Remedy::MatchRepository, &world, IMAGE, &json!({}), "denied other_image", "allowed fresh");
}

#[test]
fn a_report_of_another_digest_doesnt_count() {
    let other = with(report('a', &[]), &[("/imageMetadata/digest", json!(digest('b')))]);
    let world = World::default().image(IMAGE, 'a').object(other);
    trap(Remedy::MatchDigest, &world, IMAGE, &json!({}), "denied other_image", "allowed fresh");
}

/// After the first change every watch shows every report, whatever was asked for.
#[test]
fn a_watch_that_filters_nothing_shows_other_namespaces() {
    let forged = with(
        report('a', &[]),
        &[("/metadata/namespace", json!("tenant")), ("/metadata/asked-in", json!("sbomscanner"))],
    );
    let world = World::default().image(IMAGE, 'a').object(forged).and(StubHost::unfiltered);
    trap(Remedy::MatchNamespace, &world, IMAGE, &json!({}), "denied other_image", "allowed fresh");
}

#[test]
fn a_report_of_another_platform_doesnt_count() {
    let amd64_under_arm64 = with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/amd64"))]);
    let world = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
        .object(report('a', &[]))
        .object(amd64_under_arm64);
    trap(Remedy::MatchPlatform, &world, IMAGE, &json!({}), "denied other_image", "allowed fresh");
}

/// An entry that the index names no platform for could run anywhere: what was scanned of the index needn't be it.
#[test]
fn a_report_of_the_index_says_nothing_about_an_entry_without_a_platform() {
    let manifests = json!({"manifests": [
        {"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}}, {"digest": digest('c')}]});
    let world = World::default().image(IMAGE, 'f').object(trivy("web", "pod-p-app", json!(digest('f'))));
    let world = world.manifest('f', manifests.clone()).proven('f');
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]}});
    let answer = world.decide(IMAGE, &settings);
    assert!(!answer.allowed, "{}", answer.response);
    let world = world.manifest('f', json!({"manifests": [manifests["manifests"][0]]}));
    assert!(world.proven('f').decide(IMAGE, &settings).allowed);
}

#[test]
fn arm64_is_arm64_v8() {
    let arm64 = with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]);
    let world = World::default().index(IMAGE, 'f', &[("linux/arm64/v8", 'c')]).object(arm64);
    trap(Remedy::FillVariants, &world, IMAGE, &json!({}), "allowed fresh", "denied other_image");
}

/// With `reportPending: accept` an outage would let everything in.
#[test]
fn a_look_up_that_failed_is_not_no_report() {
    let world = World::default().image(IMAGE, 'a').broken("VulnerabilityReport");
    let settings = json!({"scanPolicies": {"reportPending": "accept"},
        "reports": {"sources": [{"custom": {"apiVersion": SB, "kind": "VulnerabilityReport", "namespaces": ["x"],
                                            "name": "{digestHex}", "fields": {"digest": "d", "verdict": "v"}}}]}});
    let (right, wrong) = ("denied look_up_failed", "allowed not_scanned");
    trap(Remedy::TellFailureFromAbsence, &world, IMAGE, &settings, right, wrong);
}

#[test]
fn a_failed_source_is_not_skipped() {
    let world = World::default()
        .image(IMAGE, 'a')
        .object(trivy("web", "pod-p-app", json!(digest('a'))))
        .broken("ImageManifestVuln");
    let settings = json!({"reports": {"sources": [
        {"custom": {"apiVersion": "q/v1", "kind": "ImageManifestVuln", "namespaces": ["x"], "name": "{digestHex}",
                    "fields": {"digest": "d", "verdict": "v"}}},
        {"trivyOperator": {}},
    ]}});
    trap(Remedy::StopAtFailure, &world, IMAGE, &settings, "denied look_up_failed", "allowed fresh");
}

/// The first list of a kind that may not be listed never returns.
#[test]
fn nothing_is_listed_before_a_get_was_answered() {
    let world = World::default().image(IMAGE, 'a').broken("VulnerabilityReport");
    let settings =
        json!({"reports": {"sources": [{"trivyOperator": {"namespaces": ["scans"], "workloadNamespace": false}}]}});
    let lists = || world.host.count("list");
    let answer = world.decide(IMAGE, &settings);
    assert_eq!((answer.state.as_str(), lists()), ("look_up_failed", 0));
    without(Remedy::GetBeforeList, || world.decide(IMAGE, &settings));
    assert_eq!(lists(), 1, "without the remedy the list is asked for, and hangs");
}

/// A list proves nothing about now: what it shows may be gone, or known to be bad.
#[test]
fn a_list_is_only_an_index() {
    let elsewhere = |entries: &[Value]| with(report('a', entries), &[("/metadata/name", json!("by-another-registry"))]);
    let world = World::default()
        .image(IMAGE, 'a')
        .object(elsewhere(&[finding("CVE-1", "CRITICAL")]))
        .and(|host| host.listed([elsewhere(&[])]));
    trap(Remedy::ReadWhatIsListed, &world, IMAGE, &json!({}), "denied fresh", "allowed fresh");
}

#[test]
fn the_worst_of_several_reports_decides() {
    let bad = with(
        report('a', &[finding("CVE-1", "CRITICAL")]),
        &[("/metadata/name", json!("z")), ("/imageMetadata/tag", json!("2.0"))],
    );
    let world = World::default().image(IMAGE, 'a').object(report('a', &[])).object(bad);
    let image = format!("reg.io/team/app:1.0@{}", digest('a'));
    trap(Remedy::WorstDecides, &world, &image, &json!({}), "denied fresh", "allowed fresh");
    let warnings = world.decide(&image, &json!({})).response["warnings"].to_string();
    assert!(warnings.contains("has scan reports that disagree: the worst decides"), "{warnings}");
}

#[test]
fn a_clean_target_has_null_for_a_list() {
    let clean = with(report('a', &[]), &[("/report/results", json!([{"target": "t", "vulnerabilities": null}]))]);
    let world = World::default().image(IMAGE, 'a').object(clean);
    let settings = json!({"acceptance": {"maxSeverity": {"low": {"totalWithoutFixes": 0}}}});
    trap(Remedy::NullIsClean, &world, IMAGE, &settings, "allowed fresh", "denied failed");
}

#[test]
fn a_summary_that_says_less_than_the_entries_is_not_believed() {
    let lying = with(report('a', &[finding("CVE-1", "CRITICAL")]), &[("/report/summary/critical", json!(0))]);
    let world = World::default().image(IMAGE, 'a').object(lying);
    let settings = json!({"acceptance": {"maxSeverity": {"critical": {"totalWithoutFixes": 0}}}});
    trap(Remedy::SummaryMustAgree, &world, IMAGE, &settings, "denied failed", "allowed fresh");
}

/// The closest peer's gate never fires, because its mask leaves the scores out.
#[test]
fn scores_are_asked_for_where_they_decide() {
    let mut scored = finding("CVE-1", "MEDIUM");
    scored["cvss"] = json!({"nvd": {"v3score": "9.8"}});
    let world = World::default().image(IMAGE, 'a').object(report('a', &[scored]));
    let settings = json!({"acceptance": {"cvssScore": {"threshold": 7, "maxCount": 0}}});
    trap(Remedy::AskForScores, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
}

#[test]
fn a_score_of_zero_is_no_score() {
    let mut scored = finding("CVE-1", "MEDIUM");
    scored["cvss"] = json!({"nvd": {"v3score": "0"}, "redhat": {"v3score": 8.1}});
    let world = World::default().image(IMAGE, 'a').object(report('a', &[scored]));
    let settings = json!({"acceptance": {"cvssScore": {"threshold": 7, "maxCount": 0}}});
    trap(Remedy::SkipZeroScores, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
}

#[test]
fn one_vulnerability_in_two_packages_counts_once() {
    let mut other = finding("CVE-1", "HIGH");
    other["packageName"] = json!("libssl");
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "HIGH"), other]));
    let settings = json!({"acceptance": {"maxSeverity": {"high": {"total": 1}}}});
    trap(Remedy::CountIds, &world, IMAGE, &settings, "allowed fresh", "denied fresh");
}

/// The closest peer's score gate counts nothing at all when VEX is ignored.
#[test]
fn ignoring_vex_makes_more_count_and_nothing_less() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let settings = json!({"acceptance": {"ignoreVexStatus": true}});
    trap(Remedy::VexOnlyClears, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
}

#[test]
fn what_is_always_denied_is_denied_although_vex_clears_it() {
    let mut cleared = finding("CVE-1", "CRITICAL");
    cleared["suppressed"] = json!(true);
    let world = World::default().image(IMAGE, 'a').object(report('a', &[cleared]));
    let settings = json!({"acceptance": {"denyAlways": ["CVE-1"]}});
    trap(Remedy::DenyWhatVexClears, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
}

fn scan_job(conditions: &Value, completed: &str) -> Value {
    json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "ScanJob",
           "metadata": {"name": "job", "namespace": "sbomscanner", "uid": "job", "creationTimestamp": "2026-11-01T00:00:00Z"},
           "spec": {"registry": "r"}, "status": {"conditions": conditions, "startTime": "2026-11-01T00:01:00Z", "completionTime": completed}})
}

#[test]
fn a_failed_scan_is_not_a_pending_one() {
    let mut image = report('a', &[]);
    image["kind"] = json!("Image");
    let failed = json!([{"type": "InProgress", "status": "False"}, {"type": "Failed", "status": "True", "message": "unauthorized"}]);
    let world = World::default().image(IMAGE, 'a').object(image).object(scan_job(&failed, ""));
    let settings = json!({"scanPolicies": {"reportPending": "accept"}});
    trap(Remedy::TellFailedFromPending, &world, IMAGE, &settings, "denied failed", "allowed pending");
}

/// A rescan writes the same object anew: its creation is its first scan.
#[test]
fn the_time_of_a_report_is_its_scan_jobs() {
    let done = json!([{"type": "Complete", "status": "True"}]);
    let world =
        World::default().image(IMAGE, 'a').object(report('a', &[])).object(scan_job(&done, "2026-11-20T10:00:00Z"));
    let settings = json!({"reports": {"maxAge": "24h"}});
    trap(Remedy::TimeOfScanJob, &world, IMAGE, &settings, "allowed fresh", "denied stale");
}

#[test]
fn a_report_of_unknown_age_is_too_old() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
    let settings = json!({"reports": {"maxAge": "24h"}});
    trap(Remedy::UnknownAgeIsOld, &world, IMAGE, &settings, "denied stale", "allowed fresh");
}

/// trivy-operator's report of `reg.io/team/app:1.0`.
fn trivy(namespace: &str, name: &str, digest: Value) -> Value {
    json!({"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport", "metadata": {"name": name, "namespace": namespace},
           "report": {"updateTimestamp": "2026-11-20T10:00:00Z", "registry": {"server": "reg.io"},
                      "artifact": {"repository": "team/app", "tag": "1.0", "digest": digest},
                      "summary": {"criticalCount": 0, "highCount": 1, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0},
                      "vulnerabilities": [{"vulnerabilityID": "CVE-1", "severity": "HIGH", "resource": "curl", "fixedVersion": "8",
                                           "score": 7.5, "packagePURL": "pkg:apk/alpine/curl@7", "publishedDate": "2026-11-19T00:00:00Z"}]}})
}

#[test]
fn trivy_operator_names_the_index() {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a')]).object(trivy(
        "web",
        "pod-p-app",
        json!(digest('f')),
    ));
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]}});
    trap(Remedy::KnowIndexDigest, &world, IMAGE, &settings, "allowed fresh", "denied other_image");
}

#[test]
fn older_trivy_operators_name_the_image_id() {
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]}});
    let report = trivy("web", "pod-p-app", json!(digest('0')));
    let world =
        World::default().index(IMAGE, 'f', &[("linux/amd64", 'a')]).proven('a').proven('f').object(report.clone());
    trap(Remedy::KnowImageId, &world, IMAGE, &settings, "allowed fresh", "denied other_image");
    let alone = World::default().image(IMAGE, 'a').proven('a').object(report);
    trap(Remedy::KnowImageId, &alone, IMAGE, &settings, "allowed fresh", "denied other_image");
}

#[test]
fn a_tag_beside_a_digest_identifies_nothing() {
    let world = World::default().image(IMAGE, 'a').object(trivy("web", "pod-p-app", Value::Null));
    let settings = json!({"reports": {"sources": [{"trivyOperator": {"identity": "tag"}}]}});
    let image = format!("reg.io/team/app:1.0@{}", digest('a'));
    trap(Remedy::IgnoreTagBesideDigest, &world, &image, &settings, "denied other_image", "allowed fresh");
    assert!(world.decide(IMAGE, &settings).allowed, "by tag alone it counts where the settings say so");
}

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyQ==\n-----END PUBLIC KEY-----\n";

fn beside(letter: char) -> String {
    format!("reg.io/team/app:sha256-{}.scan", letter.to_string().repeat(64))
}

fn signed_reports() -> Value {
    json!({"reports": {"sources": [{"registry": {"attestors": [{"name": "ci", "cosign": {"key": {"data": KEY}}}]}}]}})
}

#[test]
fn an_artifact_that_nobody_signed_doesnt_count() {
    let world = World::default().image(IMAGE, 'a').artifact(
        &beside('a'),
        'd',
        Some('a'),
        json!({"status": "pass", "detail": {}}),
    );
    trap(Remedy::VerifySignature, &world, IMAGE, &signed_reports(), "denied not_scanned", "allowed fresh");
}

#[test]
fn a_signed_report_of_another_image_doesnt_count() {
    let world = World::default()
        .image(IMAGE, 'a')
        .artifact(&beside('a'), 'd', Some('b'), json!({"status": "pass", "detail": {}}))
        .signed(&format!("reg.io/team/app@{}", digest('d')), KEY);
    trap(Remedy::MatchSubject, &world, IMAGE, &signed_reports(), "denied other_image", "allowed fresh");
}

/// Between two calls a tag may move: it is asked for once, and everything else by digest.
#[test]
fn an_artifacts_tag_is_resolved_once() {
    let world = World::default()
        .image(IMAGE, 'a')
        .artifact(&beside('a'), 'd', Some('a'), json!({"status": "pass", "detail": {}}))
        .signed(&format!("reg.io/team/app@{}", digest('d')), KEY);
    assert!(world.decide(IMAGE, &signed_reports()).allowed);
    let calls = world.host.calls().into_iter().map(|call| call.to_string());
    let of_artifact: Vec<String> = calls.filter(|call| call.contains(".scan") || call.contains(&digest('d'))).collect();
    assert_eq!(of_artifact.len(), 3, "{of_artifact:?}");
    assert!(of_artifact[0].starts_with("v1/manifest_digest"), "{of_artifact:?}");
    assert!(of_artifact[1].starts_with("v2/verify") && of_artifact[1].contains(&digest('d')), "{of_artifact:?}");
    assert!(
        of_artifact[2].starts_with("v1/oci_manifest_config") && of_artifact[2].contains(&digest('d')),
        "{of_artifact:?}"
    );
}

/// The host keeps a watch open for each different question: none names an image.
#[test]
fn every_list_is_the_same_question() {
    let settings = json!({"reports": {"maxAge": "1h", "sources": [{"sbomscanner": {}}]}});
    let mut lists = std::collections::BTreeSet::new();
    for (name, letter) in [("reg.io/team/app:1.0", 'a'), ("reg.io/team/other:2.0", 'b'), ("quay.io/x/y:3", 'c')] {
        let mut known =
            with(report(letter, &[]), &[("/kind", json!("Image")), ("/imageMetadata/digest", json!(digest(letter)))]);
        known["imageMetadata"]["repository"] = json!(name.split_once('/').unwrap().1.rsplit_once(':').unwrap().0);
        known["imageMetadata"]["registryURI"] = json!(name.split_once('/').unwrap().0);
        let world = World::default().image(name, letter).object(known);
        world.decide(name, &settings);
        lists.extend(world.host.calls().iter().map(ToString::to_string).filter(|call| call.starts_with("list")));
    }
    let kinds: Vec<bool> = ["VulnerabilityReport", "Registry", "Image", "ScanJob"]
        .map(|kind| lists.iter().filter(|list| list.contains(&format!("\"{kind}\""))).count() == 1)
        .into();
    assert_eq!((lists.len(), kinds), (4, vec![true; 4]), "{lists:?}");
}

/// The same Pod: rejected as pending, then its report appears, and the identical request is admitted.
#[test]
fn a_report_that_appears_admits_the_identical_request() {
    let world = World::default().image(IMAGE, 'a');
    let before = world.decide(IMAGE, &json!({}));
    assert_eq!((before.allowed, before.state.as_str()), (false, "not_scanned"));
    let world = world.object(report('a', &[]));
    let after = world.decide(IMAGE, &json!({}));
    assert_eq!((after.allowed, after.state.as_str()), (true, "fresh"));
}

#[test]
fn an_exemption_that_ends_within_a_week_is_warned_of() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let warnings = |expires: &str| {
        let settings = json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "TICKET-7", "expires": expires}]});
        let answer = world.decide(IMAGE, &settings);
        (answer.allowed, answer.response["warnings"].clone())
    };
    let soon = json!(["image 'reg.io/team/app:1.0' needs an exemption that ends 2026-11-26: CVE-1 (TICKET-7)"]);
    assert_eq!(warnings("2026-11-26"), (true, soon));
    assert_eq!(warnings("2026-11-28"), (true, Value::Null));
    // Of several the one that ends last counts: the image needs no other.
    let exemption = |expires: &str| json!({"vulnerability": "CVE-1", "reason": "TICKET-7", "expires": expires});
    for ends in [["2026-11-26", "2026-11-28"], ["2026-11-28", "2026-11-26"]] {
        let answer = world.decide(IMAGE, &json!({"exemptions": ends.map(exemption)}));
        assert_eq!((answer.allowed, &answer.response["warnings"]), (true, &Value::Null));
        let used = &answer.response["audit_annotations"]["container-1.exemptions"];
        assert_eq!(used, "CVE-1 until 2026-11-28: TICKET-7");
    }
    // The end of its last day, not the beginning.
    assert!(warnings("2026-11-20").0 && !warnings("2026-11-19").0);
}
