//! What is judged is what runs: nothing hidden in an index, no platform that escapes, no failure that an author chose, and no
//! more questions than may be asked.

use super::world::{Answer, NOW, World, digest};
use super::{IMAGE, finding, report, stop_the_clock, trap, trivy, with};
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};

/// `allowed fresh`, `denied look_up_failed`.
#[track_caller]
fn decides(world: &World, image: &str, settings: &Value, expected: &str) -> Answer {
    let answer = world.decide(image, settings);
    let said = format!("{} {}", if answer.allowed { "allowed" } else { "denied" }, answer.state);
    assert_eq!(said, expected, "{}", answer.response);
    answer
}

/// The image that the Pod would run.
fn runs(answer: &Answer) -> &str {
    answer.response["mutated_object"]["spec"]["containers"][0]["image"].as_str().unwrap_or("as it was")
}

fn message(answer: &Answer) -> &str {
    answer.response["message"].as_str().unwrap_or_default()
}

fn of_platforms(platforms: &Value) -> Value {
    json!({"reports": {"platforms": platforms}})
}

/// Two platforms, both clean, in an index whose bytes hold more than what the host shows: nothing else has its digest.
fn unproven() -> World {
    let arm64 = with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]);
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    world.unproven().object(report('a', &[])).object(arm64)
}

#[test]
fn an_index_with_something_hidden_is_never_clean() {
    // Whatever forgives failures: no value forgives this one.
    let accepts = json!({"scanPolicies": {"scanFailed": "accept", "reportPending": "accept"}});
    trap(Remedy::ProveIndexes, &unproven(), IMAGE, &json!({}), "denied look_up_failed", "allowed fresh");
    trap(Remedy::ProveIndexes, &unproven(), IMAGE, &accepts, "denied look_up_failed", "allowed fresh");
    trap(Remedy::ForgiveOutagesOnly, &unproven(), IMAGE, &accepts, "denied look_up_failed", "allowed look_up_failed");
    let by_digest = format!("reg.io/team/app@{}", digest('f'));
    decides(&unproven(), &by_digest, &json!({}), "denied look_up_failed");
    let said = message(&unproven().decide(IMAGE, &json!({}))).to_owned();
    assert!(said.contains("buildx") && said.contains("`reports.platforms`"), "{said}");
    // Its own digest in a report is no help: the scanner may have looked at what is hidden.
    let of_index = with(report('f', &[]), &[("/metadata/name", json!("of-the-index"))]);
    decides(&unproven().object(of_index), IMAGE, &json!({}), "denied look_up_failed");
}

#[test]
fn the_way_out_for_hidden_things_is_the_owner_s_and_warns() {
    let answer = decides(&unproven(), IMAGE, &json!({"reports": {"unprovenIndexes": "warn"}}), "allowed fresh");
    let warnings = answer.response["warnings"].to_string();
    assert!(warnings.contains("its index may hold more than was judged"), "{warnings}");
    decides(&unproven(), IMAGE, &json!({"reports": {"unprovenIndexes": "reject"}}), "denied look_up_failed");
}

#[test]
fn the_one_platform_that_is_asked_for_is_pinned() {
    let amd64 = of_platforms(&json!(["linux/amd64"]));
    let pinned = format!("{IMAGE}@{}", digest('a'));
    let proven =
        World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]).object(report('a', &[]));
    for world in [unproven(), proven] {
        assert_eq!(runs(&decides(&world, IMAGE, &amd64, "allowed fresh")), pinned);
        // The index's digest is no promise of the platform's.
        let by_digest = format!("{IMAGE}@{}", digest('f'));
        assert_eq!(runs(&decides(&world, &by_digest, &amd64, "allowed fresh")), pinned);
    }
    // Two that are asked for, or nothing that is pinned: then the index runs, and must be proven.
    decides(&unproven(), IMAGE, &of_platforms(&json!(["linux/amd64", "linux/arm64"])), "denied look_up_failed");
    for pin in [json!({"enabled": false}), json!({"kinds": ["Deployment"]})] {
        let settings = json!({"reports": {"platforms": ["linux/amd64"]}, "pin": pin});
        decides(&unproven(), IMAGE, &settings, "denied look_up_failed");
    }
}

#[test]
fn an_index_that_is_proven_is_pinned_as_it_is() {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a')]).object(report('a', &[]));
    let answer = decides(&world, IMAGE, &json!({}), "allowed fresh");
    assert_eq!(runs(&answer), format!("{IMAGE}@{}", digest('f')));
    let by_digest = format!("{IMAGE}@{}", digest('f'));
    assert_eq!(runs(&decides(&world, &by_digest, &json!({}), "allowed fresh")), "as it was");
}

/// A manifest with two configurations names one of them to the host, and the other to whoever scanned it.
#[test]
fn an_image_id_counts_only_from_a_manifest_that_is_proven() {
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]}});
    let world = World::default().image(IMAGE, 'a').object(trivy("web", "pod-p-app", json!(digest('0'))));
    trap(Remedy::ProveIndexes, &world, IMAGE, &settings, "denied other_image", "allowed fresh");
}

#[test]
fn entries_without_a_platform_escape_no_list_of_platforms() {
    let index = |entries: &[Value]| {
        let world = World::default().image(IMAGE, 'f').object(report('a', &[]));
        world.manifest('f', json!({"manifests": entries})).proven('f')
    };
    let of = |letter: char, os: &str, architecture: &str| json!({"digest": digest(letter), "platform": {"os": os, "architecture": architecture}});
    let bare: Vec<Value> = (0..80).map(|n| json!({"digest": format!("sha256:{n:064x}")})).collect();
    let amd64 = of_platforms(&json!(["linux/amd64"]));
    // Runtimes take the one that names its platform.
    let named = [bare.clone(), vec![of('a', "linux", "amd64")]].concat();
    let answer = decides(&index(&named), IMAGE, &amd64, "allowed fresh");
    assert_eq!(runs(&answer), format!("{IMAGE}@{}", digest('a')));
    // Where none does, they take any.
    let answer = decides(&index(&bare), IMAGE, &amd64, "denied look_up_failed");
    assert!(message(&answer).contains("80 platforms, 64 are the most"), "{}", answer.response);
    decides(&index(&[bare[1].clone(), of('a', "linux", "s390x")]), IMAGE, &amd64, "denied not_scanned");
    // A 64-bit machine also runs what is for 32 bits, where there is nothing else.
    let both = of_platforms(&json!(["linux/amd64", "linux/arm64"]));
    decides(&index(&[of('a', "linux", "amd64"), of('b', "linux", "arm")]), IMAGE, &both, "denied not_scanned");
    decides(&index(&[of('a', "linux", "amd64"), of('b', "linux", "386")]), IMAGE, &amd64, "allowed fresh");
    decides(&index(&[of('b', "linux", "386"), of('c', "windows", "amd64")]), IMAGE, &amd64, "denied not_scanned");
    let none = decides(&index(&[of('c', "windows", "amd64")]), IMAGE, &amd64, "denied look_up_failed");
    assert!(message(&none).contains("none of its platforms (windows/amd64)"), "{}", none.response);
}

/// An entry that some machines take hides no other: the others go on to what stands in for it, or says no platform.
#[test]
fn decoys_hide_nothing_that_runs() {
    let platform = |architecture: &str| json!({"os": "linux", "architecture": architecture});
    let of =
        |architecture: &str, variant: &str| json!({"os": "linux", "architecture": architecture, "variant": variant});
    let also = |key: &str, value: Value| with(platform("amd64"), &[(&format!("/{key}"), value)]);
    let (i386, unsaid) = (platform("386"), json!({}));
    let world = |entries: &[&Value], scanned: &str| {
        let entries =
            ('a'..).zip(entries).map(|(letter, platform)| json!({"digest": digest(letter), "platform": platform}));
        let index = json!({"manifests": entries.collect::<Vec<Value>>()});
        let scanned = with(report('a', &[]), &[("/imageMetadata/platform", json!(scanned))]);
        World::default().image(IMAGE, 'f').manifest('f', index).proven('f').object(scanned)
    };
    for (asked, decoy, scanned, hidden) in [
        ("linux/amd64", of("amd64", "v3"), "linux/amd64/v3", &i386),
        ("linux/amd64", of("amd64", "zzz"), "linux/amd64/zzz", &i386),
        ("linux/amd64", of("amd64", "1"), "linux/amd64/1", &unsaid),
        ("linux/amd64", of("amd64", "v1"), "linux/amd64", &unsaid),
        ("linux/amd64", platform("x86_64"), "linux/amd64", &unsaid),
        ("linux/amd64", platform("AMD64"), "linux/amd64", &unsaid),
        ("linux/amd64", also("os.features", json!(["sgx"])), "linux/amd64", &i386),
        ("linux/amd64", also("os.version", json!("6.1")), "linux/amd64", &unsaid),
        ("linux/amd64/v3", of("amd64", "v3"), "linux/amd64/v3", &platform("amd64")),
        ("linux/amd64/v3", of("amd64", "v3"), "linux/amd64/v3", &i386),
        ("linux/arm64", of("arm64", "v9"), "linux/arm64/v9", &of("arm", "v7")),
        ("linux/arm64", of("arm64", "9.0"), "linux/arm64/v9", &of("arm", "v7")),
        ("linux/arm64", of("arm64", "v8.1"), "linux/arm64/v8.1", &of("arm", "v6")),
        ("linux/arm/v7", of("armhf", "v6"), "linux/arm/v7", &of("arm", "v5")),
        ("linux/arm/v7", platform("arm"), "linux/arm/v7", &of("arm", "v6")),
        ("linux/arm", of("arm", "v7"), "linux/arm/v7", &unsaid),
        ("linux/s390x", of("s390x", "z13"), "linux/s390x/z13", &unsaid),
    ] {
        let settings = of_platforms(&json!([asked]));
        let world = world(&[&decoy, hidden], scanned);
        trap(Remedy::DecoysHideNothing, &world, IMAGE, &settings, "denied not_scanned", "allowed fresh");
    }
    // containerd on FreeBSD takes an image for Linux where there is none for its own.
    let freebsd = json!({"os": "freebsd", "architecture": "amd64", "variant": "v3"});
    let world_of_freebsd = world(&[&freebsd, &platform("amd64")], "freebsd/amd64/v3");
    decides(&world_of_freebsd, IMAGE, &of_platforms(&json!(["freebsd/amd64"])), "denied not_scanned");
    // With one that all of them take, nobody goes on.
    for (asked, own) in [
        ("linux/amd64", platform("amd64")),
        ("linux/arm64", of("arm64", "v8")),
        ("linux/arm64", platform("arm64")),
        ("linux/arm/v7", of("arm", "v7")),
    ] {
        let world = world(&[&own, &i386, &of("arm", "v4"), &unsaid], asked);
        decides(&world, IMAGE, &of_platforms(&json!([asked])), "allowed fresh");
    }
}

/// What whoever writes a Pod or pushes an image can cause is no outage. `accept` forgives it all the same, but for what may not be asked
/// and for bytes in which nodes may read another image.
#[test]
fn only_outages_are_forgiven() {
    let forgives =
        json!({"scanPolicies": {"scanFailed": "accept-outages", "reportPending": "accept"}, "registries": ["reg.io"]});
    let by_nothing = ["a registry that isn't listed", "both an image and an index"];
    let clean = || World::default().image(IMAGE, 'a').object(report('a', &[]));
    let nested = || {
        let entry = json!({"digest": digest('b'), "mediaType": "application/vnd.oci.image.index.v1+json"});
        clean().manifest('a', json!({"manifests": [entry]})).proven('a')
    };
    let manifest = |manifest: Value| clean().manifest('a', manifest).proven('a');
    let windows =
        json!({"manifests": [{"digest": digest('b'), "platform": {"os": "windows", "architecture": "amd64"}}]});
    let mut listed = forgives.clone();
    listed["reports"] = json!({"platforms": ["linux/amd64"]});
    let provoked: Vec<(&str, World, &str, &Value)> = vec![
        ("a registry that isn't listed", clean(), "other.io/team/app:1.0", &forgives),
        ("a tag that isn't there", clean(), "reg.io/team/app:2.0", &forgives),
        (
            "a digest that isn't there",
            clean(),
            "reg.io/team/app@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            &forgives,
        ),
        ("an index in an index", nested(), IMAGE, &forgives),
        ("no platform", manifest(json!({"manifests": []})), IMAGE, &forgives),
        (
            "both an image and an index",
            manifest(json!({"manifests": [], "config": {}, "layers": []})),
            IMAGE,
            &forgives,
        ),
        ("none of the platforms", manifest(windows), IMAGE, &listed),
    ];
    for (what, world, image, settings) in provoked {
        let answer = world.decide(image, settings);
        assert!(!answer.allowed, "{what}: {}", answer.response);
        let state = if what.starts_with("a registry") { "registry_not_allowed" } else { "look_up_failed" };
        assert_eq!(answer.state, state, "{what}");
        assert!(message(&answer).contains("scan failed"), "{what}: {}", answer.response);
        let without =
            image_admission_untrusted::remedy::without(Remedy::ForgiveOutagesOnly, || world.decide(image, settings));
        assert!(without.allowed, "{what}: the remedy makes no difference: {}", without.response);
        let mut forgives_all = settings.clone();
        forgives_all["scanPolicies"]["scanFailed"] = json!("accept");
        let answer = world.decide(image, &forgives_all);
        assert_eq!(answer.allowed, !by_nothing.contains(&what), "{what}: {}", answer.response);
        if answer.allowed {
            let warnings = answer.response["warnings"].to_string();
            assert!(warnings.contains("could not be scanned, and `scanFailed` is `accept`"), "{what}: {warnings}");
        }
    }
    // The cluster that can't be asked is one.
    decides(&clean().broken("VulnerabilityReport"), IMAGE, &forgives, "allowed look_up_failed");
}

/// Whoever pushes an index may leave out what it names, and push that afterwards: its image ID is none, and no outage.
#[test]
fn a_manifest_that_is_yet_to_be_pushed_is_no_outage() {
    let settings = json!({"scanPolicies": {"scanFailed": "accept-outages"}, "registries": ["reg.io"],
                          "reports": {"sources": [{"trivyOperator": {}}]}});
    let world = || {
        World::default().index(IMAGE, 'f', &[("linux/amd64", 'a')]).object(trivy(
            "web",
            "pod-p-app",
            json!(digest('0')),
        ))
    };
    let at = format!("reg.io/team/app@{}", digest('a'));
    let missing = world().and(|host| host.without(&at));
    decides(&missing, IMAGE, &settings, "denied other_image");
    let malformed = world().manifest('a', json!({"schemaVersion": 2}));
    decides(&malformed, IMAGE, &settings, "denied other_image");
}

/// A platform that rejects does so beside any other, and a setting that forgives one status hides no other.
#[test]
fn fallbacks_hold_platform_by_platform() {
    let nested = json!({"digest": digest('d'), "mediaType": "application/vnd.oci.image.index.v1+json"});
    let index = |entries: &[Value]| {
        let world = World::default().image(IMAGE, 'f').object(report('a', &[]));
        world.manifest('f', json!({"manifests": entries})).proven('f')
    };
    let of = |letter: char, architecture: &str| json!({"digest": digest(letter), "platform": {"os": "linux", "architecture": architecture}});
    let settings =
        |pending: &str, failed: &str| json!({"scanPolicies": {"reportPending": pending, "scanFailed": failed}});
    let arm64 =
        |change: (&str, Value)| with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64")), change]);
    let unreadable = || arm64(("/report/summary", Value::Null));
    // amd64 is clean, arm64 has a report that contradicts itself: it failed, by nobody's choice.
    let failed = || index(&[of('a', "amd64"), of('c', "arm64")]).object(unreadable());
    decides(&failed(), IMAGE, &settings("reject", "accept-outages"), "allowed failed");
    decides(&failed(), IMAGE, &settings("accept", "reject"), "denied failed");
    // s390x has no report at all.
    let and_pending = || index(&[of('a', "amd64"), of('c', "arm64"), of('e', "s390x")]).object(unreadable());
    decides(&and_pending(), IMAGE, &settings("reject", "accept"), "denied not_scanned");
    decides(&and_pending(), IMAGE, &settings("accept", "reject"), "denied failed");
    decides(&and_pending(), IMAGE, &settings("accept", "accept-outages"), "allowed failed");
    // What somebody put there hides none of it, and is hidden by none.
    let filled = || index(&[of('a', "amd64"), of('c', "arm64"), nested.clone()]).object(unreadable());
    decides(&filled(), IMAGE, &settings("accept", "accept-outages"), "denied look_up_failed");
    decides(&filled(), IMAGE, &settings("accept", "accept"), "allowed look_up_failed");
    let bad = with(report('c', &[finding("CVE-1", "CRITICAL")]), &[("/imageMetadata/platform", json!("linux/arm64"))]);
    let known_bad = index(&[of('a', "amd64"), of('c', "arm64"), nested]).object(bad);
    decides(&known_bad, IMAGE, &settings("accept", "accept"), "denied fresh");
}

#[test]
fn a_request_asks_the_host_a_limited_number_of_times() {
    let platforms: Vec<String> = (0..40).map(|n| format!("linux/arch{n}")).collect();
    let platforms: Vec<(&str, char)> = platforms.iter().map(|platform| (platform.as_str(), 'a')).collect();
    let world = World::default().index(IMAGE, 'f', &platforms);
    let settings = |most: u64| json!({"maxHostCalls": most, "scanPolicies": {"reportPending": "accept", "scanFailed": "accept-outages", "defaultPolicy": "accept"}});
    let enough = world.decide(IMAGE, &settings(400));
    assert!(enough.allowed, "{}", enough.response);
    let calls = world.host.calls().len();
    assert!((10..400).contains(&calls), "{calls}");
    for (most, allowed) in [(calls as u64, true), (calls as u64 - 1, false), (1, false)] {
        let answer = world.decide(IMAGE, &settings(most));
        assert_eq!(answer.allowed, allowed, "{most}: {}", answer.response);
        assert!(world.host.calls().len() <= usize::try_from(most).unwrap());
        if !allowed {
            let expected = format!("deciding about 1 different images takes more than the {most} host calls");
            assert!(message(&answer).contains(&expected), "{}", answer.response);
            assert_eq!(answer.response["mutated_object"], Value::Null);
        }
    }
}

/// Pushers choose how large an index is, and in how many spellings it is tried; Pod authors choose how many images there are.
#[test]
fn what_is_hashed_for_a_request_is_bounded() {
    let large = |number: usize| format!("reg.io/team/large@sha256:{}", number.to_string().repeat(64));
    let entry = json!({"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}});
    let index = json!({"manifests": [entry], "annotations": {"large": "x".repeat(300_000)}});
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a')]).object(report('a', &[]));
    let world = (1..=2).fold(world, |world, number| world.and(|host| host.manifest(&large(number), index.clone())));
    // Each is hashed for 8 MiB, and a request for 16.
    for (count, expected) in [(1, "fresh"), (2, "look_up_failed")] {
        let images: Vec<String> = (1..=count).map(large).chain([IMAGE.to_owned()]).collect();
        let images: Vec<&str> = images.iter().map(String::as_str).collect();
        let answer = world.decide_all_at(&images, &json!({}), NOW);
        let state = |number: usize| answer.response["audit_annotations"][format!("container-{number}.state")].clone();
        assert_eq!((state(1), state(count + 1)), (json!("look_up_failed"), json!(expected)), "{}", answer.response);
    }
}

/// A policy of a namespace is never granted what another source has, and its author chooses that namespace.
#[test]
fn what_the_policy_may_not_read_is_no_outage() {
    const DENIED: &str = "Policy has not been granted access to Kubernetes storage.sbomscanner.kubewarden.io/v1alpha1/VulnerabilityReport resources. The violation has been reported.";
    const WITHHELD: &str = "Policy has not been granted access to the 'kubernetes/get_resource' host capability. The violation has been reported.";
    for said in [DENIED, WITHHELD] {
        let world = World::default().image(IMAGE, 'a').and(|host| host.fails("get_resource", said));
        let settings = |value: &str| json!({"scanPolicies": {"scanFailed": value}});
        decides(&world, IMAGE, &settings("reject"), "denied look_up_failed");
        decides(&world, IMAGE, &settings("accept-outages"), "denied look_up_failed");
        decides(&world, IMAGE, &settings("accept"), "allowed look_up_failed");
    }
    let down = World::default().image(IMAGE, 'a').and(|host| host.fails("get_resource", "the cluster is away"));
    decides(&down, IMAGE, &json!({"scanPolicies": {"scanFailed": "accept-outages"}}), "allowed look_up_failed");
}

/// Its Pods are looked up by the signed digest again, whether or not an expression asked for the report before.
#[test]
fn a_signed_index_stays_whoever_asked_for_its_report() {
    let world = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a')])
        .object(report('a', &[]))
        .signed(&format!("reg.io/team/app@{}", digest('f')), super::KEY);
    for more in ["", " && scanReport(i).Passed"] {
        let expression = format!("images.all.all(i, verifyImageSignatures(i, [attestors.ci]) > 0{more})");
        let settings = json!({"reports": {"platforms": ["linux/amd64"]}, "imageVerification": [{"name": "s",
            "attestors": [{"name": "ci", "cosign": {"key": {"data": super::KEY}}}],
            "verifications": [{"expression": expression}]}]});
        let answer = decides(&world, IMAGE, &settings, "allowed fresh");
        assert_eq!(runs(&answer), format!("{IMAGE}@{}", digest('f')), "{more}");
    }
}

/// `Outage` and `Forgivable` are about failed scans. What was rejected, and what nobody scanned, isn't forgiven by a rule that reads
/// no `Status`.
#[test]
fn only_a_failed_scan_is_an_outage_to_rules() {
    let bad = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let unscanned = World::default().image(IMAGE, 'a');
    let down = World::default().image(IMAGE, 'a').and(|host| host.fails("get_resource", "the cluster is away"));
    // One platform's report can't be read, and nobody scanned the other.
    let half = with(report('a', &[]), &[("/report/summary", Value::Null)]);
    let half = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]).object(half);
    stop_the_clock();
    for (world, is_let_in) in [(bad, false), (unscanned, false), (half, false), (down, true)] {
        for flag in ["Outage", "Forgivable"] {
            let expression = format!("images.all.all(i, scanReport(i).Passed || scanReport(i).{flag})");
            let rego = format!(
                "package outages\ndeny[msg] {{ some image; report := input.scanReports[image]; not report.Passed; not report.{flag}; msg := report.Reason }}"
            );
            for own in [
                json!({"imageVerification": [{"name": "own", "validations": [{"expression": expression}]}]}),
                json!({"regoPolicies": [{"name": "own", "kinds": ["Pod"], "rego": rego}]}),
            ] {
                let settings = with(own, &[("/scanPolicies", json!({"defaultPolicy": "accept"}))]);
                let answer = world.decide(IMAGE, &settings);
                assert_eq!(answer.allowed, is_let_in, "{settings}: {}", answer.response);
            }
        }
    }
}
