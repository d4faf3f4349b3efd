//! Mirrors: what is asked there and what is not, whose word counts, and by which names images and reports are known.

use super::world::{NOW, World, digest};
use super::{IMAGE, computed, report, trap, trivy, with};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};

/// [`IMAGE`] as the mirror has it.
const THERE: &str = "mirror.io/hub/team/app:1.0";

fn settings(ask: &str) -> Value {
    json!({"registries": [{"registry": "reg.io", "mirror": "mirror.io/hub", "ask": ask}, "mirror.io"]})
}

/// A report by the name that [`IMAGE`] has at the mirror, with changes.
fn scanned_there(letter: char, changes: &[(&str, Value)]) -> Value {
    let mut all = vec![
        ("/metadata/name", json!(computed("mirror.io", "hub/team/app", "1.0", &digest(letter)))),
        ("/imageMetadata/registryURI", json!("mirror.io")),
        ("/imageMetadata/repository", json!("hub/team/app")),
    ];
    all.extend(changes.iter().cloned());
    with(report(letter, &[]), &all)
}

/// What the calls to registries were about.
fn asked(world: &World) -> Vec<String> {
    let calls = world.host.calls();
    let images = calls.iter().filter(|call| call.namespace == "oci").map(|call| call.image().to_owned());
    images.collect()
}

/// The registry may be out of reach, and count every question.
#[test]
fn a_registry_that_has_a_mirror_is_never_asked() {
    let world = World::default().image(THERE, 'a').object(report('a', &[]));
    trap(Remedy::AskTheMirror, &world, IMAGE, &settings("mirror"), "allowed fresh", "denied look_up_failed");
    assert!(world.decide(IMAGE, &settings("mirror")).allowed);
    let at = format!("mirror.io/hub/team/app@{}", digest('a'));
    assert_eq!(asked(&world), [THERE.to_owned(), at]);
}

/// What the mirror serves is what is judged. It is pinned by its digest, so that it is what runs, wherever nodes pull it from.
#[test]
fn what_a_mirror_serves_is_judged_and_pinned_by_the_name_in_the_pod() {
    let world = World::default().image(THERE, 'b').image(IMAGE, 'a').object(report('a', &[]));
    assert!(!world.decide(IMAGE, &settings("mirror")).allowed, "the report is of what the registry has");
    let answer = world.object(report('b', &[])).decide(IMAGE, &settings("mirror"));
    assert!(answer.allowed, "{}", answer.response);
    let pinned = &answer.response["mutated_object"]["spec"]["containers"][0]["image"];
    assert_eq!(*pinned, json!(format!("{IMAGE}@{}", digest('b'))));
}

#[test]
fn a_mirror_that_says_another_digest_than_its_registry() {
    let world = World::default().image(THERE, 'b').image(IMAGE, 'a').object(report('b', &[])).object(report('a', &[]));
    trap(Remedy::AskBoth, &world, IMAGE, &settings("both"), "denied look_up_failed", "allowed fresh");
    let message = world.decide(IMAGE, &settings("both")).response["message"].to_string();
    for part in [&digest('a'), &digest('b'), "`mirror.io/hub`", "`reg.io`", "the mirror is behind"] {
        assert!(message.contains(part), "{message}");
    }
    // It is no outage.
    let forgiving = with(settings("both"), &[("/scanPolicies", json!({"scanFailed": "accept-outages"}))]);
    assert!(!world.decide(IMAGE, &forgiving).allowed);
    // A digest needs no word of either.
    let by_digest = format!("{IMAGE}@{}", digest('a'));
    let there = World::default().image(THERE, 'a').object(report('a', &[]));
    assert!(there.decide(&by_digest, &settings("both")).allowed);
    assert_eq!(asked(&there), [format!("mirror.io/hub/team/app@{}", digest('a'))]);
}

#[test]
fn both_agree() {
    let world = World::default().image(THERE, 'a').image(IMAGE, 'a').object(report('a', &[]));
    assert!(world.decide(IMAGE, &settings("both")).allowed);
    let at = format!("mirror.io/hub/team/app@{}", digest('a'));
    assert_eq!(asked(&world), [THERE.to_owned(), IMAGE.to_owned(), at]);
}

/// One of both that can't be asked is a failed look-up; the settings name both, so that it may be an outage.
#[test]
fn one_of_both_cant_be_asked() {
    for (down, where_) in
        [("mirror.io", "its mirror `mirror.io/hub` was asked"), ("reg.io", "the registry itself was asked")]
    {
        let world = World::default().image(THERE, 'a').image(IMAGE, 'a').object(report('a', &[]));
        let world = world.and(|host| host.down(down));
        let answer = world.decide(IMAGE, &settings("both"));
        assert!(!answer.allowed, "{}", answer.response);
        assert!(answer.response["message"].to_string().contains(where_), "{}", answer.response);
        // What the mirror has may be known to be bad, and was not judged: the registry's silence doesn't clear it.
        let forgiving = with(settings("both"), &[("/scanPolicies", json!({"scanFailed": "accept-outages"}))]);
        assert_eq!(world.decide(IMAGE, &forgiving).allowed, down == "mirror.io", "{down}");
    }
}

/// A mirror may be behind: a report that names the registry's tag alone is of what the registry has.
#[test]
fn a_tag_of_the_registry_says_nothing_of_what_the_mirror_has() {
    let report = json!({"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "metadata": {"name": "pod-p-app", "namespace": "web"},
        "report": {"updateTimestamp": "2026-11-20T10:00:00Z", "registry": {"server": "reg.io"}, "artifact": {"repository": "team/app", "tag": "1.0"},
                   "summary": {"criticalCount": 0, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0},
                   "vulnerabilities": []}});
    let by_tag = json!({"sources": [{"trivyOperator": {"identity": "tag"}}]});
    let world = World::default().image(THERE, 'a').image(IMAGE, 'a').object(report);
    let alone = with(settings("mirror"), &[("/reports", by_tag.clone())]);
    trap(Remedy::DigestAtMirror, &world, IMAGE, &alone, "denied other_image", "allowed fresh");
    let both = with(settings("both"), &[("/reports", by_tag)]);
    assert!(world.decide(IMAGE, &both).allowed);
}

/// Whoever names the image chooses how long its name is.
#[test]
fn a_name_that_is_too_long_for_the_mirror_is_no_outage() {
    let forgiving = with(settings("mirror"), &[("/scanPolicies", json!({"scanFailed": "accept-outages"}))]);
    let world = World::default();
    let answer = world.decide(&format!("reg.io/{}:1.0", "a".repeat(253)), &forgiving);
    assert!(!answer.allowed, "{}", answer.response);
    assert_eq!(asked(&world), [""; 0]);
}

#[test]
fn a_report_by_the_mirrors_name_counts() {
    for report in [
        scanned_there('a', &[]),
        // Named in another way, so that a list finds it.
        scanned_there('a', &[("/metadata/name", json!("other"))]),
    ] {
        let world = World::default().image(THERE, 'a').object(report);
        let by_digest = format!("{IMAGE}@{}", digest('a'));
        trap(Remedy::KnowNameAtMirror, &world, &by_digest, &settings("mirror"), "allowed fresh", "denied not_scanned");
    }
}

/// The worst decides, whichever name it stands under.
#[test]
fn reports_by_both_names_count() {
    let critical = json!([super::finding("CVE-1", "CRITICAL")]);
    let bad = [("/report/summary/critical", json!(1)), ("/report/results/0/vulnerabilities", critical.clone())];
    let world = World::default().image(THERE, 'a').object(report('a', &[])).object(scanned_there('a', &bad));
    assert!(!world.decide(IMAGE, &settings("mirror")).allowed);
    let world = World::default().image(THERE, 'a').object(with(report('a', &[]), &bad)).object(scanned_there('a', &[]));
    assert!(!world.decide(IMAGE, &settings("mirror")).allowed);
}

#[test]
fn a_report_of_another_repository_of_the_mirror_doesnt_count() {
    for (repository, registry) in
        [("other/team/app", "mirror.io"), ("hub/evil/app", "mirror.io"), ("team/app", "mirror.io")]
    {
        let changes =
            [("/imageMetadata/repository", json!(repository)), ("/imageMetadata/registryURI", json!(registry))];
        let world = World::default().image(THERE, 'a').object(scanned_there('a', &changes));
        trap(Remedy::MatchRepository, &world, IMAGE, &settings("mirror"), "denied other_image", "allowed fresh");
    }
    let changes = [("/imageMetadata/registryURI", json!("evil.io"))];
    let world = World::default().image(THERE, 'a').object(scanned_there('a', &changes));
    trap(Remedy::MatchRegistry, &world, IMAGE, &settings("mirror"), "denied other_image", "allowed fresh");
}

#[test]
fn a_report_of_another_digest_at_the_mirror_doesnt_count() {
    let changes = [("/imageMetadata/digest", json!(digest('b')))];
    let world = World::default().image(THERE, 'a').object(scanned_there('a', &changes));
    trap(Remedy::MatchDigest, &world, IMAGE, &settings("mirror"), "denied other_image", "allowed fresh");
}

/// `identity: tag` believes a report that names the registry's tag; that the mirror has such a tag too says nothing of it.
#[test]
fn a_report_of_a_tag_at_the_mirror_doesnt_count() {
    let mut there = trivy("web", "pod-p-app", json!(""));
    there["report"]["registry"]["server"] = json!("mirror.io");
    there["report"]["artifact"]["repository"] = json!("hub/team/app");
    let sources = json!({"sources": [{"trivyOperator": {"identity": "tag"}}]});
    let settings = with(settings("mirror"), &[("/reports", sources)]);
    let world = World::default().image(THERE, 'a').object(there.clone());
    trap(Remedy::DigestAtMirror, &world, IMAGE, &settings, "denied other_image", "allowed fresh");
    there["report"]["artifact"]["digest"] = json!(digest('a'));
    let world = World::default().image(THERE, 'a').object(there);
    assert!(world.decide(IMAGE, &settings).allowed);
}

/// A rule that rejects images of the registry doesn't know them by the mirror's name.
#[test]
fn a_pod_that_names_the_mirror_evades_no_rule() {
    let policies = json!({"defaultPolicy": "accept", "customPolicies": [{"prefix": "reg.io/", "action": "reject"}]});
    let rules = with(settings("mirror"), &[("/preScanPolicies", policies)]);
    let world = World::default().image(THERE, 'a');
    assert!(!world.decide(IMAGE, &rules).allowed);
    trap(Remedy::OneNameForEachImage, &world, THERE, &rules, "denied ", "allowed ");
    let message = world.decide(THERE, &rules).response["message"].to_string();
    assert!(message.contains("name it `reg.io/team/app:1.0`"), "{message}");
    // What stands beside the mirror's place is of that registry itself.
    assert!(world.decide("mirror.io/team/app:1.0", &rules).allowed);
}

/// Nor does a rule that lets the registry's images in say anything of what was pushed to the mirror.
#[test]
fn a_pod_that_names_the_mirror_is_let_in_by_no_rule() {
    for prefix in ["reg.io/", "mirror.io/"] {
        let policies = json!({"customPolicies": [{"prefix": prefix, "action": "accept"}]});
        let rules = with(settings("mirror"), &[("/preScanPolicies", policies)]);
        assert!(!World::default().decide(THERE, &rules).allowed, "{prefix}");
    }
}

/// A mirror's host is no registry that a Pod may name, unless it is listed itself.
#[test]
fn the_host_of_a_mirror_must_be_listed_to_be_named() {
    let settings = json!({"registries": [{"registry": "reg.io", "mirror": "mirror.io/hub"}]});
    let world = World::default().image("mirror.io/team/app:1.0", 'a');
    let answer = world.decide("mirror.io/team/app:1.0", &settings);
    assert!(
        answer.response["message"].to_string().contains("registry `mirror.io` isn't allowed"),
        "{}",
        answer.response
    );
    assert_eq!(asked(&world), [""; 0]);
}

/// An address inside of the network is asked where the settings name it, as a mirror too.
#[test]
fn a_mirror_may_be_internal() {
    let settings = json!({"registries": [{"registry": "reg.io", "mirror": "127.0.0.1:5000"}]});
    let world = World::default().image("127.0.0.1:5000/team/app:1.0", 'a').object(report('a', &[]));
    assert!(world.decide(IMAGE, &settings).allowed);
}

/// A policy about another kind finds images by itself, and its match rules know them by their registry's name.
#[test]
fn another_object_that_names_the_mirror_evades_no_policy() {
    let policy = json!({
        "name": "signed", "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [{"apiGroups": ["argoproj.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["workflows"]}],
            "imageRules": {"references": ["reg.io/*"]},
        },
        "images": [{"name": "steps", "expression": "object.spec.images"}],
        "attestors": [{"name": "ci", "cosign": {"key": {"data": super::KEY}}}],
        "verifications": [{"expression": "images.steps.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"}],
    });
    let settings = with(settings("mirror"), &[("/imageVerification", json!([policy]))]);
    let world = World::default().image(THERE, 'a').image("mirror.io/hub/team/signed:1.0", 'c');
    let world = world.signed(&format!("mirror.io/hub/team/signed@{}", digest('c')), super::KEY);
    let decide = |images: &[&str]| {
        let object = json!({"metadata": {"name": "w", "namespace": "web"}, "spec": {"images": images}});
        let request = json!({"uid": "u", "kind": {"group": "argoproj.io", "version": "v1", "kind": "Workflow"},
                             "resource": {"group": "argoproj.io", "version": "v1", "resource": "workflows"},
                             "operation": "CREATE", "namespace": "web", "object": object});
        let payload = json!({"request": request, "settings": settings}).to_string();
        let answer = validate(payload.as_bytes(), &WireHost(world.wire()), NOW).response;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        (answer["accepted"] == true, answer["message"].to_string())
    };
    assert!(decide(&["reg.io/team/signed:1.0"]).0, "{:?}", decide(&["reg.io/team/signed:1.0"]));
    assert!(!decide(&[IMAGE]).0);
    let (is_allowed, message) = decide(&[THERE]);
    assert!(!is_allowed && message.contains("name it `reg.io/team/app:1.0`"), "{message}");
    assert!(without(Remedy::OneNameForEachImage, || decide(&[THERE])).0, "its match rules don't know it");
}

/// What runs already is scaled and labelled whatever its image is called.
#[test]
fn an_update_of_what_is_named_by_the_mirror_is_no_new_image() {
    let pod = |label: &str| {
        json!({"metadata": {"name": "p", "namespace": "web", "labels": {"a": label}},
               "spec": {"containers": [{"name": "app", "image": THERE}]}})
    };
    let request = json!({"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "UPDATE",
                         "namespace": "web", "object": pod("new"), "oldObject": pod("old")});
    let payload = json!({"request": request, "settings": settings("mirror")}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(World::default().wire()), NOW).response;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["accepted"], true, "{answer}");
}

/// Signed reports stand beside the image, and so at the mirror.
#[test]
fn what_is_beside_an_image_is_beside_it_at_the_mirror() {
    let tag = format!("mirror.io/hub/team/app:sha256-{}.scan", "a".repeat(64));
    let world = World::default().image(THERE, 'a');
    let world = world.artifact(&tag, 'd', Some('a'), json!({"status": "pass", "detail": {}}));
    let settings = with(settings("mirror"), &[("/reports", super::signed_reports()["reports"].clone())]);
    assert!(!world.decide(IMAGE, &settings).allowed, "nobody signed it");
    let world = world.signed(&format!("mirror.io/hub/team/app@{}", digest('d')), super::KEY);
    trap(Remedy::AskTheMirror, &world, IMAGE, &settings, "allowed fresh", "denied look_up_failed");
}

/// Kubescape and others keep what they found under names that are made of the image's.
#[test]
fn names_that_are_computed_are_computed_of_both() {
    let clean = json!({"payload": {"matches": null, "source": {"type": "image"}, "descriptor": {"name": "grype"}}});
    let kubescape = json!({
        "apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest", "spec": clean,
        "metadata": {"name": "mirror.io-hub-team-app-1.0-aaaaaa", "namespace": "kubescape",
                     "annotations": {"kubescape.io/image-id": format!("mirror.io/hub/team/app@{}", digest('a')),
                                     "kubescape.io/image-tag": THERE}}});
    let custom = json!({
        "apiVersion": "example.com/v1", "kind": "Scan",
        "metadata": {"name": "mirror.io-hub-team-app", "namespace": "scans"},
        "spec": {"image": format!("{THERE}@{}", digest('a')), "verdict": "pass"}});
    let fields = json!({"image": "spec.image", "verdict": "spec.verdict"});
    let custom_source = json!({"custom": {"apiVersion": "example.com/v1", "kind": "Scan", "namespaces": ["scans"],
                                          "name": "{registry}-{repository}", "fields": fields}});
    for (source, object) in [(json!({"kubescape": {}}), kubescape), (custom_source, custom)] {
        let settings = with(settings("mirror"), &[("/reports", json!({"sources": [source]}))]);
        let world = World::default().image(THERE, 'a').object(object);
        trap(Remedy::KnowNameAtMirror, &world, IMAGE, &settings, "allowed fresh", "denied not_scanned");
    }
}

/// A report that the settings know no registry of is compared by its repository, under either name.
#[test]
fn a_report_without_a_registry_may_have_the_repository_of_the_mirror() {
    let object = |repository: &str| {
        json!({"apiVersion": "example.com/v1", "kind": "Scan", "metadata": {"name": format!("scan-{}", "a".repeat(64)), "namespace": "scans"},
               "spec": {"repository": repository, "digest": digest('a'), "verdict": "pass"}})
    };
    let source = json!({"custom": {"apiVersion": "example.com/v1", "kind": "Scan", "namespaces": ["scans"], "name": "scan-{digestHex}",
                                   "fields": {"repository": "spec.repository", "digest": "spec.digest", "verdict": "spec.verdict"}}});
    let settings = with(settings("mirror"), &[("/reports", json!({"sources": [source]}))]);
    for (repository, is_its) in [("team/app", true), ("hub/team/app", true), ("other/team/app", false)] {
        let world = World::default().image(THERE, 'a').object(object(repository));
        assert_eq!(world.decide(IMAGE, &settings).allowed, is_its, "{repository}");
    }
}
