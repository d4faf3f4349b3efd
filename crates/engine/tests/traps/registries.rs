//! sbomscanner's Registries name all reports of a tag: no list says that there is none, and the traps of not listing.

use super::sboms::{package, spdx};
use super::world::{Answer, NOW, World, digest};
use super::{IMAGE, finding, report, stop_the_clock, trap, with};
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const REGISTRY: &str = "Registry";
/// The Registry that the companion makes for `reg.io/team/app:1.0`.
const COMPANIONS: &str = "image-admission-b1fcf27f5c2b0e42ec7125a695c1dca8";

fn registry(name: &str, uri: &str) -> Value {
    json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": REGISTRY,
           "metadata": {"name": name, "namespace": "sbomscanner"}, "spec": {"uri": uri}})
}

fn companions(name: &str) -> Value {
    let label = json!({"app.kubernetes.io/managed-by": "image-admission-companion"});
    with(registry(name, "reg.io"), &[("/metadata/labels", label)])
}

/// A report of digest `a` under a tag, of a Registry, with the scanner's spelling of the registry's host.
fn of(registry: &str, host: &str, tag: &str, entries: &[Value]) -> Value {
    let name = Sha256::digest(format!("{registry}/{host}/team/app:{tag}@{}", digest('a')));
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let changes = [
        ("/metadata/name", json!(name)),
        ("/imageMetadata/registryURI", json!(host)),
        ("/imageMetadata/tag", json!(tag)),
    ];
    with(report('a', entries), &changes)
}

fn critical() -> [Value; 1] {
    [finding("CVE-1", "CRITICAL")]
}

fn decided(answer: &Answer) -> String {
    format!("{} {}", if answer.allowed { "allowed" } else { "denied" }, answer.state)
}

/// What was listed, each kind once for each time.
fn lists(world: &World) -> Vec<String> {
    let calls = world.host.calls();
    let lists = calls.iter().filter(|call| call.operation.starts_with("list_"));
    lists.map(|call| call.field("kind").to_owned()).collect()
}

#[test]
fn every_registry_of_the_host_is_asked_and_no_report_listed() {
    for (name, uri, host) in
        [("team", "reg.io", "reg.io"), ("team", "REG.io", "REG.io"), ("team", "reg.io:443", "reg.io:443")]
    {
        let world = World::default().image(IMAGE, 'a').object(registry("other", "ghcr.io")).object(registry(name, uri));
        let answer = world.decide(IMAGE, &json!({}));
        assert_eq!(
            (decided(&answer).as_str(), lists(&world)),
            ("denied not_scanned", vec![REGISTRY.to_owned()]),
            "{uri}"
        );
        for (entries, right) in [(vec![], "allowed fresh"), (critical().to_vec(), "denied fresh")] {
            let world = World::default().image(IMAGE, 'a').object(registry("other", "ghcr.io"));
            let world = world.object(registry(name, uri)).object(of(name, host, "1.0", &entries));
            let answer = world.decide(IMAGE, &json!({}));
            assert_eq!(decided(&answer), right, "{uri}: {}", answer.response);
            assert_eq!(lists(&world), [REGISTRY], "{uri}");
        }
    }
}

/// The scanner knows Docker Hub by two names, and writes one.
#[test]
fn docker_hub_is_one_registry() {
    for uri in ["docker.io", "index.docker.io"] {
        let world = World::default().image("docker.io/team/app:1.0", 'a').object(registry("hub", uri));
        let world = world.object(of("hub", "index.docker.io", "1.0", &[]));
        assert_eq!(decided(&world.decide("team/app:1.0", &json!({}))), "allowed fresh", "{uri}");
    }
}

#[test]
fn a_registry_of_the_companion_is_found_by_its_tag() {
    let others = (0..3).map(|number| companions(&format!("image-admission-{number:032}")));
    let world = others.fold(World::default().image(IMAGE, 'a').object(companions(COMPANIONS)), World::object);
    let answer = world.decide(IMAGE, &json!({}));
    assert_eq!((decided(&answer).as_str(), lists(&world)), ("denied not_scanned", vec![REGISTRY.to_owned()]));
    let scanned = world.object(of(COMPANIONS, "reg.io", "1.0", &critical()));
    assert_eq!(decided(&scanned.decide(IMAGE, &json!({}))), "denied fresh");
    assert_eq!(lists(&scanned), [REGISTRY]);
}

/// A report of the same digest under another tag isn't the tag's. A digest has no tag of its own: all reports count.
#[test]
fn a_digest_is_looked_for_under_every_tag() {
    let world = World::default().image(IMAGE, 'a').object(registry("team", "reg.io"));
    let world = world.object(of("team", "reg.io", "2.0", &critical()));
    assert_eq!(decided(&world.decide(IMAGE, &json!({}))), "denied not_scanned");
    for image in [format!("reg.io/team/app@{}", digest('a')), format!("{IMAGE}@{}", digest('a'))] {
        trap(Remedy::ListWhereNamesArentKnown, &world, &image, &accepting(), "denied fresh", "allowed not_scanned");
    }
}

fn accepting() -> Value {
    json!({"scanPolicies": {"reportPending": "accept"}})
}

/// Neither names a report: so nothing is known of them until they are listed.
#[test]
fn registries_that_arent_there_or_cant_be_read_are_not_none() {
    let scanned = |host: World| host.image(IMAGE, 'a').object(of("team", "reg.io", "1.0", &critical()));
    let without = scanned(World::default());
    let unreadable = scanned(World::default()).object(registry("other", "reg.io")).broken(REGISTRY);
    for world in [without, unreadable] {
        trap(Remedy::ListWhereNamesArentKnown, &world, IMAGE, &accepting(), "denied fresh", "allowed not_scanned");
    }
}

/// The Image is under the same name as the report, and tells what the scanner does.
#[test]
fn a_scan_on_its_way_is_seen_without_a_list_of_images() {
    let image = with(of("team", "reg.io", "1.0", &[]), &[("/kind", json!("Image"))]);
    let world = World::default().image(IMAGE, 'a').object(registry("team", "reg.io")).object(image);
    assert_eq!(decided(&world.decide(IMAGE, &json!({}))), "denied pending");
    assert_eq!(lists(&world), [REGISTRY, "ScanJob"]);
}

/// As with a report under the name of workload scanning: the registry isn't asked for the digest.
#[test]
fn a_report_of_any_registry_tells_the_tags_digest() {
    let world = World::default().index(IMAGE, 'i', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let named = with(of("team", "reg.io", "1.0", &[]), &[("/imageMetadata/indexDigest", json!(digest('i')))]);
    let world = world.object(registry("team", "reg.io")).object(named);
    let settings = json!({"reports": {"platforms": ["linux/amd64"]}});
    let answer = world.decide(IMAGE, &settings);
    assert_eq!(decided(&answer), "allowed fresh", "{}", answer.response);
    let calls: Vec<String> = world.host.calls().iter().map(|call| call.operation.clone()).collect();
    let expected = ["v1/oci_manifest", "get_resource", "get_resource", "list_resources_by_namespace", "get_resource"];
    assert_eq!(calls, expected);
}

/// One look shows that the policy may not read them: each image would cost a call of those that a request may make.
#[test]
fn registries_that_cant_be_read_are_tried_once() {
    let images = ["reg.io/team/app:1", "reg.io/team/app:2", "reg.io/team/app:3"];
    let world = images.iter().fold(World::default(), |world, image| world.image(image, 'a')).broken(REGISTRY);
    assert!(!world.decide_all_at(&images, &json!({}), NOW).allowed);
    let of_registries = world.host.calls().iter().filter(|call| call.field("kind") == REGISTRY).count();
    assert_eq!(of_registries, 1);
}

/// Workload scanning knows a pinned image by its digest: the same image by tag has that report.
#[test]
fn a_report_of_the_pinned_image_is_the_tags_too() {
    let workload_scan = "workloadscan-of-another-spelling";
    for (entries, right) in [(vec![], "allowed fresh"), (critical().to_vec(), "denied fresh")] {
        let world = World::default().image(IMAGE, 'a').object(registry(workload_scan, "reg.io"));
        let world = world.object(of(workload_scan, "reg.io", &digest('a'), &entries));
        assert_eq!(decided(&world.decide(IMAGE, &json!({}))), right);
        assert_eq!(lists(&world), [REGISTRY]);
        // Each name once: those of workload scanning by the settings' name, and by the Registry's by tag and digest.
        let asked = world.host.calls().into_iter().filter(|call| call.field("kind") == "VulnerabilityReport");
        let asked: Vec<String> = asked.map(|call| call.field("name").to_owned()).collect();
        let different: std::collections::BTreeSet<&String> = asked.iter().collect();
        assert_eq!((asked.len(), different.len()), (if entries.is_empty() { 3 } else { 4 }, 3), "{asked:?}");
    }
    // Of an index, by either digest.
    for known in ['b', 'a'] {
        let world = World::default().index(IMAGE, 'b', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
        let world = world.object(registry(workload_scan, "reg.io"));
        let world = world.object(of(workload_scan, "reg.io", &digest(known), &critical()));
        // Names of reports are hashes of digests, so that these stay as they are told.
        let settings = json!({"reports": {"platforms": ["linux/amd64"], "unprovenIndexes": "warn"}});
        assert_eq!(decided(&world.unproven().decide(IMAGE, &settings)), "denied fresh", "{known}");
    }
}

/// Where nothing known admits, a report of the same image under any tag may reject it.
#[test]
fn what_is_admitted_without_a_report_is_listed() {
    let second = json!({"reports": {"sources": [{"sbomscanner": {}}, {"registry": {"allowUnsigned": true}}]}});
    for settings in [accepting(), second] {
        let world = World::default().image(IMAGE, 'a').object(registry("team", "reg.io"));
        let world = world.object(of("team", "reg.io", "2.0", &critical()));
        assert_eq!(decided(&world.decide(IMAGE, &settings)), "denied fresh", "{settings}");
    }
}

/// Each name costs a call: one list costs less.
#[test]
fn many_registries_are_not_asked_one_by_one() {
    for (count, listed) in [(8, vec![REGISTRY]), (9, vec![REGISTRY, "VulnerabilityReport"])] {
        let world = World::default().image(IMAGE, 'a').object(of("team-0", "reg.io", "1.0", &[]));
        let world = (0..count).fold(world, |world, number| world.object(registry(&format!("team-{number}"), "reg.io")));
        assert_eq!(decided(&world.decide(IMAGE, &json!({}))), "allowed fresh", "{count}");
        assert_eq!(lists(&world), listed, "{count}");
    }
}

#[test]
fn a_registry_without_a_host_is_docker_hub() {
    let mut nameless = registry("hub", "");
    for world in [registry("hub", ""), {
        nameless["spec"] = json!({});
        nameless
    }] {
        let world = World::default().image("docker.io/team/app:1.0", 'a').object(world);
        let world = world.object(of("hub", "index.docker.io", "1.0", &[]));
        assert_eq!(decided(&world.decide("team/app:1.0", &json!({}))), "allowed fresh");
    }
}

/// What rules and expressions make of an image without a report is theirs: they see what a list shows, whatever the settings reject.
#[test]
fn what_rules_judge_is_listed() {
    stop_the_clock();
    let denies = "deny_image[\"bad\"] { input.ScanReport.Status == \"rejected\" }";
    let rule = |text: &str| json!([{"name": "x", "kinds": ["Pod"], "rego": format!("package x\n{text}")}]);
    let own = "deny[\"bad\"] { input.scanReports[_].Status == \"rejected\" }";
    let library =
        json!([{"name": "lib", "rego": "package lib.made\nof(all) { all.scanReports[_].Status == \"rejected\" }"}]);
    let by_library = "import data.lib.made\ndeny[\"bad\"] { made.of(input) }";
    let expression = "images.all.all(i, scanReport(i).Status != 'rejected')";
    for settings in [
        json!({"scanPolicies": {"autoGenerate": false}, "customRules": denies}),
        json!({"scanPolicies": {"defaultPolicy": "accept"}, "customRules": denies}),
        json!({"scanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": rule(own)}),
        json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": rule(own)}),
        json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": rule(by_library), "regoLibraries": library}),
        json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [
            {"name": "x", "verifyPreScanAccepted": true, "verifications": [{"expression": expression}]}]}),
    ] {
        let world = World::default().image(IMAGE, 'a').object(registry("team", "reg.io"));
        assert!(world.decide(IMAGE, &settings).allowed, "{settings}");
        let world = world.object(of("team", "reg.io", "2.0", &critical()));
        let answer = world.decide(IMAGE, &settings);
        assert!(!answer.allowed, "{settings}\n{}", answer.response);
    }
}

/// Whoever may write Registries can hide one from the list by the companion's label: where nothing found admits, its reports are listed.
#[test]
fn a_registry_that_claims_to_be_the_companions_hides_no_report() {
    let world = World::default().image(IMAGE, 'a').object(companions("team")).object(registry("other", "reg.io"));
    let world = world.object(of("team", "reg.io", "1.0", &critical()));
    assert_eq!(decided(&world.decide(IMAGE, &accepting())), "denied fresh");
    assert_eq!(decided(&world.decide(IMAGE, &json!({}))), "denied not_scanned");
}

/// A scan that failed may be forgiven: a report of the same image under any tag may reject it.
#[test]
fn a_failed_scan_hides_no_report_under_another_tag() {
    let condition = json!([{"type": "Failed", "status": "True", "message": "it crashed"}]);
    let job = json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "ScanJob",
                     "metadata": {"name": "job", "namespace": "sbomscanner", "uid": "job", "creationTimestamp": "2026-11-19T00:00:00Z"},
                     "spec": {"registry": "r"}, "status": {"conditions": condition}});
    let image = with(of("team", "reg.io", "1.0", &[]), &[("/kind", json!("Image"))]);
    let crashed = || World::default().image(IMAGE, 'a').object(registry("team", "reg.io"));
    let crashed = || crashed().object(image.clone()).object(job.clone());
    for fallback in ["accept-outages", "accept"] {
        let settings = json!({"scanPolicies": {"scanFailed": fallback}});
        assert_eq!(decided(&crashed().decide(IMAGE, &settings)), "allowed failed");
        let bad = crashed().object(of("team", "reg.io", "2.0", &critical()));
        assert_eq!(decided(&bad.decide(IMAGE, &settings)), "denied fresh", "{fallback}");
        // A clean one doesn't say what became of this scan.
        let clean = crashed().object(of("team", "reg.io", "2.0", &[]));
        assert_eq!(decided(&clean.decide(IMAGE, &settings)), "allowed failed", "{fallback}");
    }
    // Where it rejects anyway, nothing is listed for it.
    let bad = crashed().object(of("team", "reg.io", "2.0", &critical()));
    assert_eq!(decided(&bad.decide(IMAGE, &json!({}))), "denied failed");
    assert_eq!(lists(&bad), [REGISTRY, "ScanJob"]);
}

/// The same of a report that can't be read: by a name that the settings compute, or by one that a Registry tells.
#[test]
fn an_unreadable_report_hides_none_under_another_tag() {
    let unreadable = with(of("team", "reg.io", "1.0", &[]), &[("/report/summary", Value::Null)]);
    let world = || World::default().image(IMAGE, 'a').object(registry("team", "reg.io")).object(unreadable.clone());
    for resources in [json!([]), json!(["team"])] {
        let settings = |fallback: &str| {
            let sources = json!([{"sbomscanner": {"registryResources": resources}}]);
            json!({"reports": {"sources": sources}, "scanPolicies": {"scanFailed": fallback}})
        };
        let bad = || world().object(of("team", "reg.io", "2.0", &critical()));
        for fallback in ["accept-outages", "accept"] {
            assert_eq!(decided(&world().decide(IMAGE, &settings(fallback))), "allowed failed");
            assert_eq!(decided(&bad().decide(IMAGE, &settings(fallback))), "denied fresh", "{fallback}");
            let clean = world().object(of("team", "reg.io", "2.0", &[]));
            assert_eq!(decided(&clean.decide(IMAGE, &settings(fallback))), "allowed failed", "{fallback}");
        }
        let rejecting = bad();
        assert_eq!(decided(&rejecting.decide(IMAGE, &settings("reject"))), "denied failed");
        assert!(!lists(&rejecting).contains(&"VulnerabilityReport".to_owned()), "{:?}", lists(&rejecting));
    }
}

/// And of an SBOM.
#[test]
fn an_unreadable_sbom_hides_none_under_another_tag() {
    let sbom = |tag: &str, purl: &str| {
        let report = of("team", "reg.io", tag, &[]);
        json!({"apiVersion": report["apiVersion"], "kind": "SBOM", "metadata": report["metadata"],
               "imageMetadata": report["imageMetadata"], "spdx": spdx(&[package(purl, "MIT")])})
    };
    let unreadable = with(sbom("1.0", "pkg:npm/fine@1"), &[("/spdx", Value::Null)]);
    let world =
        || World::default().image(IMAGE, 'a').object(of("team", "reg.io", "1.0", &[])).object(unreadable.clone());
    let source = json!([{"sbomscanner": {"registryResources": ["team"]}}]);
    let settings = json!({"acceptance": {"packages": {"deny": [{"purl": "pkg:npm/bad"}]}},
                          "reports": {"sources": source, "sboms": source}, "scanPolicies": {"scanFailed": "accept"}});
    assert_eq!(decided(&world().decide(IMAGE, &settings)), "allowed failed");
    for (purl, expected) in [("pkg:npm/bad@1", "denied fresh"), ("pkg:npm/fine@1", "allowed failed")] {
        assert_eq!(decided(&world().object(sbom("2.0", purl)).decide(IMAGE, &settings)), expected, "{purl}");
    }
}
