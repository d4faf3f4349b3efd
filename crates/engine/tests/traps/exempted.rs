//! Exemptions that stand in the cluster: what an object may say, whose word it is, and what is asked for it.

use super::world::{NOW, World, digest};
use super::{IMAGE, finding, report, trap, trivy, with};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};

const KIND: &str = "ImageExemption";

/// An object of the workload's own namespace that exempts the one finding.
fn object() -> Value {
    json!({
        "apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": KIND,
        "metadata": {"name": "cve-1", "namespace": "web", "creationTimestamp": "2026-11-01T09:00:00Z"},
        "spec": {"vulnerability": "CVE-1", "reason": "TICKET-7", "expires": "2026-11-30", "approvedBy": "alice"},
    })
}

fn changed(pointer: &str, value: Value) -> Value {
    with(object(), &[(pointer, value)])
}

fn lacking(part: &str, key: &str) -> Value {
    let mut object = object();
    object[part].as_object_mut().unwrap().remove(key);
    object
}

/// An image with one critical finding.
fn bad() -> World {
    World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]))
}

fn own() -> Value {
    json!({"exemptionsFrom": {"workloadNamespace": true}})
}

fn bounded() -> Value {
    json!({"exemptionsFrom": {"workloadNamespace": true, "maxDuration": "30d", "requireApprovedBy": true}})
}

/// Asserts that a finding rejects, and what the message says of it.
#[track_caller]
fn is_rejected(world: &World, settings: &Value, said: &str) {
    let answer = world.decide(IMAGE, settings);
    assert!(!answer.allowed && answer.state == "fresh", "{}", answer.response);
    let message = answer.response["message"].as_str().unwrap();
    assert!(message.contains(said), "{message}");
}

#[test]
fn an_object_exempts_and_is_named() {
    let answer = bad().object(object()).decide(IMAGE, &bounded());
    assert!(answer.allowed, "{}", answer.response);
    assert_eq!(
        answer.response["audit_annotations"]["container-1.exemptions"],
        "CVE-1 until 2026-11-30: TICKET-7 (ImageExemption web/cve-1, approved by alice)"
    );
    assert_eq!(answer.response["warnings"], Value::Null);
    let soon = bad().object(changed("/spec/expires", json!("2026-11-26"))).decide(IMAGE, &bounded());
    assert_eq!(
        soon.response["warnings"],
        json!([
            "image 'reg.io/team/app:1.0' needs an exemption that ends 2026-11-26: CVE-1 (ImageExemption web/cve-1)"
        ])
    );
}

#[test]
fn without_the_setting_nothing_is_asked() {
    let world = bad().object(object());
    assert!(!world.decide(IMAGE, &json!({})).allowed);
    assert_eq!(world.host.calls().iter().filter(|call| call.field("kind") == KIND).count(), 0);
}

/// A GET that proves that the kind can be read, one list, and a GET of what is used; nothing for an image that is accepted.
#[test]
fn the_price_is_paid_where_a_finding_would_reject() {
    let asked = |world: &World, image: &str, settings: &Value| -> Vec<String> {
        let answer = world.decide(image, settings);
        assert!(answer.allowed || settings["acceptance"]["denyAlways"].is_array(), "{}", answer.response);
        let calls = world.host.calls().into_iter().filter(|call| call.field("kind") == KIND);
        calls.map(|call| format!("{} {}", call.operation, call.field("name"))).collect()
    };
    let nobody = "get_resource image-admission-asks-whether-this-can-be-read";
    let list = "list_resources_by_namespace ";
    let own = own();
    assert_eq!(asked(&bad().object(object()), IMAGE, &own), [nobody, list, "get_resource cve-1"]);
    let clean = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "HIGH")]));
    assert!(asked(&clean.object(object()), IMAGE, &own).is_empty());
    // What is always denied nothing exempts.
    let denied = json!({"acceptance": {"denyAlways": ["CVE-1"]}, "exemptionsFrom": {"workloadNamespace": true}});
    assert!(asked(&bad().object(object()), IMAGE, &denied).is_empty());
    // Two platforms: each is exempted, and what exempts them is asked for once.
    let index = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
        .object(report('a', &[finding("CVE-1", "CRITICAL")]))
        .object(with(
            report('c', &[finding("CVE-1", "CRITICAL")]),
            &[("/imageMetadata/platform", json!("linux/arm64"))],
        ))
        .object(object());
    assert_eq!(asked(&index, IMAGE, &own), [nobody, list, "get_resource cve-1"]);
    // Both namespaces, each once.
    let central = json!({"exemptionsFrom": {"workloadNamespace": true, "namespace": "kubewarden"}});
    assert_eq!(asked(&bad().object(object()), IMAGE, &central), [nobody, list, nobody, list, "get_resource cve-1"]);
    let same = json!({"exemptionsFrom": {"workloadNamespace": true, "namespace": "web"}});
    assert_eq!(asked(&bad().object(object()), IMAGE, &same), [nobody, list, "get_resource cve-1"]);
}

/// Nobody says whether a finding is exploited: neither a report of SBOMscanner's, nor a list that isn't there. That of an exempt one
/// needn't be known, with and without a finding beside it that exceeds a limit.
#[test]
fn whether_an_exempt_finding_is_exploited_may_be_unknown() {
    let list = json!({"from": {"configMap": {"namespace": "security", "name": "kev"}}});
    for gate in [json!("reject"), list] {
        let settings = with(own(), &[("/acceptance", json!({"knownExploited": gate}))]);
        for severity in ["LOW", "CRITICAL"] {
            let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", severity)]));
            let exempt = world.object(object()).decide(IMAGE, &settings);
            assert!(exempt.allowed, "{}", exempt.response);
            assert_eq!(
                exempt.response["audit_annotations"]["container-1.exemptions"],
                "CVE-1 until 2026-11-30: TICKET-7 (ImageExemption web/cve-1, approved by alice)"
            );
            let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-2", severity)]));
            assert!(!world.object(object()).decide(IMAGE, &settings).allowed, "{severity}");
        }
    }
}

/// The reports of each source are read as far as exemptions look.
#[test]
fn every_source_asks_for_what_objects_look_at() {
    let by_package = with(
        changed("/spec/packages", json!(["pkg:apk/alpine/curl@", "pkg:apk/alpine/openssl@"])),
        &[("/spec/expireOnFix", json!(false))],
    );
    let settings = |source: Value| {
        json!({"reports": {"sources": [source], "platforms": ["linux/amd64"]}, "exemptionsFrom": {"workloadNamespace": true},
               "acceptance": {"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}}}})
    };
    let grype = json!({"descriptor": {"name": "grype", "version": "0.80.0"}, "distro": {"name": "alpine"},
        "source": {"type": "image", "target": {"manifestDigest": digest('a'), "os": "linux", "architecture": "amd64"}},
        "matches": [{"vulnerability": {"id": "CVE-1", "severity": "Critical"},
                     "artifact": {"name": "curl", "purl": "pkg:apk/alpine/curl@7"}}]});
    let kubescape = json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
        "metadata": {"name": "reg.io-team-app-1.0-aaaaaa", "namespace": "kubescape",
                     "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest('a'))}},
        "spec": {"payload": {"source": grype["source"], "matches": grype["matches"]}}});
    let world = || World::default().image(IMAGE, 'a');
    let beside = format!("reg.io/team/app:sha256-{}.scan", "a".repeat(64));
    let custom = json!({"custom": {"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "namespaces": ["web"], "name": "sha256.{digestHex}", "identity": "digest", "fields": {
            "registry": "report.registry.server", "repository": "report.artifact.repository", "digest": "report.artifact.digest",
            "findings": "report.vulnerabilities", "id": "vulnerabilityID", "severity": "severity", "purl": "packagePURL"}}});
    let of_trivy = || trivy("web", "pod-p-app", json!(digest('a')));
    let mirrored = trivy("web", &format!("sha256.{}", "a".repeat(64)), json!(digest('a')));
    for (name, world, source) in [
        ("sbomscanner", bad(), json!({"sbomscanner": {}})),
        ("trivyOperator", world().object(of_trivy()), json!({"trivyOperator": {}})),
        ("kubescape", world().object(kubescape), json!({"kubescape": {}})),
        ("registry", world().artifact(&beside, 'd', Some('a'), grype), json!({"registry": {"allowUnsigned": true}})),
        ("custom", world().object(mirrored), custom),
    ] {
        let settings = settings(source);
        is_rejected(&world, &settings, "CVE-1");
        let world = world.object(by_package.clone());
        let answer = world.decide(IMAGE, &settings);
        assert!(answer.allowed, "{name}: {}", answer.response);
        let other = with(by_package.clone(), &[("/spec/packages", json!(["pkg:apk/alpine/zlib@"]))]);
        is_rejected(&world.object(other), &settings, "CVE-1");
    }
}

#[test]
fn an_exemption_that_can_not_be_read_as_a_whole_holds_for_nothing() {
    // A restriction that can't be read isn't none.
    let world = bad().object(changed("/spec/packages", json!("pkg:apk/alpine/curl@")));
    trap(Remedy::MalformedExemptsNothing, &world, IMAGE, &own(), "denied fresh", "allowed fresh");
    is_rejected(&world, &own(), "ImageExemption web/cve-1 doesn't hold: spec.packages: expected a list");
    for (object, said) in [
        (lacking("spec", "reason"), "spec.reason: say why"),
        (changed("/spec/reason", json!(" ")), "spec.reason: say why"),
        (changed("/spec/reason", json!("\u{200b}")), "spec.reason: say why"),
        (lacking("spec", "expires"), "spec.expires: every exemption ends"),
        (changed("/spec/expires", json!("soon")), "spec.expires: `soon` is not a day"),
        (changed("/spec/expires", json!(20_270_131)), "spec.expires: expected a string"),
        (changed("/spec/images", json!([1])), "spec.images[0]: expected a string"),
        (changed("/spec/images", json!([])), "spec.images: an empty list names no image"),
        (changed("/spec/images", json!(null)), "spec.images: an empty list names no image"),
        (changed("/spec/images", json!([""])), "spec.images: an empty text is the beginning of every image's name"),
        (changed("/spec/namespaces", json!([])), "spec.namespaces: an empty list names no namespace"),
        (changed("/spec/packages", json!([])), "spec.packages: an empty list names no package"),
        (changed("/spec/approvedBy", json!(["alice"])), "spec.approvedBy: expected a string"),
        // Who wrote it knows more restrictions than this policy does.
        (changed("/spec/platforms", json!(["linux/arm64"])), "spec.platforms: unknown setting"),
    ] {
        is_rejected(&bad().object(object), &own(), said);
    }
    // Of these nobody can say what they are about.
    for object in
        [changed("/spec", json!("CVE-1")), changed("/spec/vulnerability", json!(1)), lacking("spec", "vulnerability")]
    {
        is_rejected(&bad().object(object), &own(), "CVE-1 in openssl (fixed in 3.1)");
    }
    // One that can't be read hides no other.
    let other = changed("/metadata/name", json!("other"));
    let world = bad().object(changed("/metadata/creationTimestamp", json!(1))).object(other);
    assert!(world.decide(IMAGE, &own()).allowed);
}

#[test]
fn objects_are_held_to_the_bounds() {
    let is_bound = |object: Value, settings: &Value, said: &str| {
        let world = bad().object(object);
        trap(Remedy::BoundExemptions, &world, IMAGE, settings, "denied fresh", "allowed fresh");
        is_rejected(&world, settings, &format!("ImageExemption web/cve-1 doesn't hold: {said}"));
    };
    is_bound(lacking("spec", "approvedBy"), &bounded(), "it doesn't say who approved it");
    for nobody in [" ", "\u{200b}", "—"] {
        is_bound(changed("/spec/approvedBy", json!(nobody)), &bounded(), "it doesn't say who approved it");
    }
    // The last day begins within thirty days of 2026-11-01T09:00:00Z.
    assert!(bad().object(changed("/spec/expires", json!("2026-12-01"))).decide(IMAGE, &bounded()).allowed);
    let too_long = "its last day is more than 30d after it was made";
    is_bound(changed("/spec/expires", json!("2026-12-02")), &bounded(), too_long);
    is_bound(changed("/spec/expires", json!("9999-12-31")), &bounded(), too_long);
    let high = json!({"exemptionsFrom": {"workloadNamespace": true, "severities": ["high", "medium"]}});
    is_bound(object(), &high, "such objects may exempt no critical finding");
    let all = json!({"exemptionsFrom": {"workloadNamespace": true, "severities": ["critical"]}});
    assert!(bad().object(object()).decide(IMAGE, &all).allowed);
    // The bounds are those of all objects.
    let central = json!({"exemptionsFrom": {"namespace": "kubewarden", "requireApprovedBy": true}});
    let elsewhere = with(lacking("spec", "approvedBy"), &[("/metadata/namespace", json!("kubewarden"))]);
    is_rejected(&bad().object(elsewhere), &central, "ImageExemption kubewarden/cve-1 doesn't hold");
}

#[test]
fn an_exemption_that_may_last_only_so_long_says_when_it_was_made() {
    for (made, said) in [
        (None, "it doesn't say when it was made"),
        (Some("yesterday"), "it doesn't say when it was made"),
        (Some("2026-11-20T12:00:01Z"), "it was made at 2026-11-20T12:00:01Z, which is later than now"),
        (Some("2999-01-01T00:00:00Z"), "which is later than now"),
    ] {
        let object = made.map_or_else(
            || lacking("metadata", "creationTimestamp"),
            |made| changed("/metadata/creationTimestamp", json!(made)),
        );
        let world = bad().object(object);
        trap(Remedy::KnowAgeOfExemptions, &world, IMAGE, &bounded(), "denied fresh", "allowed fresh");
        is_rejected(&world, &bounded(), said);
        assert!(world.decide(IMAGE, &own()).allowed, "where it may last for ever, its age says nothing");
    }
}

#[test]
fn an_exemption_that_is_about_to_be_gone_is_gone() {
    let world = bad().object(changed("/metadata/deletionTimestamp", json!("2026-11-20T11:00:00Z")));
    trap(Remedy::DeletedExemptsNothing, &world, IMAGE, &own(), "denied fresh", "allowed fresh");
}

#[test]
fn an_object_holds_in_its_own_namespace_alone() {
    let of = |namespace: &str| bad().object(changed("/metadata/namespace", json!(namespace)));
    let central = json!({"exemptionsFrom": {"namespace": "kubewarden"}});
    assert!(of("kubewarden").decide(IMAGE, &central).allowed);
    assert!(!of("web").decide(IMAGE, &central).allowed, "a team's own isn't asked for");
    assert!(!of("shop").decide(IMAGE, &own()).allowed);
    // It may hold for less, and says where: not for another.
    let world = |namespaces: Value| {
        bad().object(with(changed("/spec/namespaces", namespaces), &[("/metadata/namespace", json!("kubewarden"))]))
    };
    assert!(world(json!(["web"])).decide(IMAGE, &central).allowed);
    assert!(!world(json!(["shop"])).decide(IMAGE, &central).allowed);
    assert!(!bad().object(changed("/spec/namespaces", json!(["shop"]))).decide(IMAGE, &own()).allowed);
}

/// After the first change every watch shows every object, whatever was asked for.
#[test]
fn an_object_of_another_namespace_exempts_nothing() {
    let forged = with(object(), &[("/metadata/namespace", json!("tenant")), ("/metadata/asked-in", json!("web"))]);
    let world = bad().object(forged).and(StubHost::unfiltered);
    trap(Remedy::MatchNamespace, &world, IMAGE, &own(), "denied fresh", "allowed fresh");
}

/// A list proves nothing about now: what it shows may be gone, or say less.
#[test]
fn what_a_list_exempts_is_read_anew() {
    for now in [
        changed("/metadata/name", json!("other-name")),
        changed("/spec/vulnerability", json!("CVE-2")),
        changed("/spec/expires", json!("2026-11-01")),
        lacking("spec", "approvedBy"),
    ] {
        let world = bad().object(now).and(|host| host.listed([object()]));
        trap(Remedy::ReadWhatIsListed, &world, IMAGE, &own(), "denied fresh", "allowed fresh");
    }
    // What another object exempts too is exempted.
    let other = changed("/metadata/name", json!("cve-1-too"));
    let world = bad().object(other.clone()).and(|host| host.listed([object(), other]));
    assert!(world.decide(IMAGE, &own()).allowed);
}

/// For each that changed, the findings are compared anew. Hosts keep what a GET answered, so whoever changes many objects at once would
/// choose how often.
#[test]
fn many_that_change_at_once_exempt_nothing() {
    let listed = |count: usize| {
        let one = |number: usize| {
            let name = json!(format!("changed-{number}"));
            with(object(), &[("/metadata/name", name), ("/spec/expires", json!("2026-12-01"))])
        };
        let listed: Vec<Value> = (0..count).map(one).chain([object()]).collect();
        bad().object(object()).and(|host| host.listed(listed))
    };
    assert!(listed(10).decide(IMAGE, &own()).allowed);
    let world = listed(100);
    is_rejected(
        &world,
        &own(),
        "exemptions can't be looked up (ImageExemption in `web`): more than 10 of them changed",
    );
    let read =
        world.host.calls().into_iter().filter(|call| call.field("kind") == KIND && call.operation == "get_resource");
    assert_eq!(read.count(), 12, "one for the kind, and one for each that changed");
}

#[test]
fn a_look_up_that_failed_admits_nothing_and_says_so() {
    let failed = |settings: &Value| {
        let world = bad().object(object()).broken(KIND);
        let said = "; exemptions can't be looked up (ImageExemption in `web`): no route to host";
        is_rejected(&world, settings, said);
        world
    };
    let world = failed(&own());
    assert_eq!(world.host.count("list"), 0, "nothing is listed where no GET was answered");
    without(Remedy::GetBeforeList, || world.decide(IMAGE, &own()));
    assert_eq!(world.host.count("list"), 1, "without the remedy the list is asked for, and hangs");
    let mut forgiving = own();
    forgiving["scanPolicies"] = json!({"scanFailed": "accept-outages", "reportPending": "accept"});
    forgiving["registries"] = json!(["reg.io"]);
    failed(&forgiving);
    // What the other namespace exempts holds all the same.
    let both = json!({"exemptionsFrom": {"namespace": "kubewarden", "workloadNamespace": true}});
    let world = bad().object(changed("/metadata/namespace", json!("kubewarden"))).broken("web");
    assert!(world.decide(IMAGE, &both).allowed);
}

/// What is used is read by name, and may not be readable.
#[test]
fn an_object_that_can_not_be_read_anew_exempts_nothing() {
    let world = bad().object(object()).broken("cve-1");
    is_rejected(&world, &own(), "exemptions can't be looked up (ImageExemption in `web`): no route to host");
    let malformed = json!({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": KIND,
        "metadata": {"name": "cve-1", "namespace": "web", "creationTimestamp": 7}});
    let world = bad().object(malformed).and(|host| host.listed([object()]));
    is_rejected(&world, &own(), "exemptions can't be looked up (ImageExemption in `web`): its answer can't be read");
}

#[test]
fn findings_are_exempted_one_by_one() {
    let world = World::default()
        .image(IMAGE, 'a')
        .object(report('a', &[finding("CVE-1", "CRITICAL"), finding("CVE-2", "CRITICAL")]))
        .object(object());
    let answer = world.decide(IMAGE, &own());
    assert!(!answer.allowed);
    let message = answer.response["message"].as_str().unwrap();
    assert!(message.contains("1 critical finding, at most 0 accepted: CVE-2 in openssl"), "{message}");
    let second = with(changed("/metadata/name", json!("cve-2")), &[("/spec/vulnerability", json!("CVE-2"))]);
    assert!(world.object(second).decide(IMAGE, &own()).allowed);
}

#[test]
fn an_object_that_ended_says_so() {
    let world = bad().object(changed("/spec/expires", json!("2026-11-19")));
    is_rejected(&world, &own(), "CVE-1 in openssl (fixed in 3.1; its exemption ended 2026-11-19)");
    let world = bad().object(changed("/spec/expireOnFix", json!(true)));
    is_rejected(&world, &own(), "its exemption ended with the fix");
}

/// Texts of others are one line, and bounded.
#[test]
fn an_object_can_not_write_lines_of_its_own() {
    let spec = json!({"vulnerability": "CVE-1", "reason": format!("a\nb{}", "x".repeat(500)), "expires": "2026-11-30",
                      "approvedBy": format!("alice\nbob{}", "y".repeat(500))});
    let answer = bad().object(changed("/spec", spec)).decide(IMAGE, &own());
    let used = answer.response["audit_annotations"]["container-1.exemptions"].as_str().unwrap();
    assert!(answer.allowed && used.lines().count() == 1 && used.chars().count() < 320, "{used}");
}

/// Each of them is compared with each finding: whoever may write objects in their namespace chooses how many there are, and would
/// choose how long a worker of the policy server is busy.
#[test]
fn more_than_is_compared_exempts_nothing() {
    let many = |namespace: &str, count: usize| {
        let world = (0..count).fold(bad(), |world, number| {
            let ids: Vec<String> = (0..100).map(|id| format!("CVE-2026-{number}-{id}")).collect();
            let spec = json!({"vulnerabilities": ids, "reason": "r", "expires": "2026-11-30"});
            let name = format!("many-{number}");
            let place = [("/metadata/name", json!(name)), ("/metadata/namespace", json!(namespace)), ("/spec", spec)];
            world.object(with(object(), &place))
        });
        world.object(changed("/metadata/namespace", json!(namespace)))
    };
    assert!(many("web", 99).decide(IMAGE, &own()).allowed);
    let why =
        "exemptions can't be looked up (ImageExemption in `web`): they name 10001 vulnerabilities, packages, images";
    is_rejected(&many("web", 100), &own(), why);
    // Those of the policy's owner hold.
    let central = json!({"exemptionsFrom": {"namespace": "kubewarden", "workloadNamespace": true}});
    assert!(many("kubewarden", 100).decide(IMAGE, &central).allowed);
}

/// What they are compared with counts as well: how many findings an image has is its builder's choice.
#[test]
fn more_comparisons_than_a_request_may_exempt_nothing() {
    let ids: Vec<String> = (0..99).map(|id| format!("CVE-2026-{id}")).collect();
    let of = |namespace: &str, findings: usize, named: Value| {
        let world =
            World::default().image(IMAGE, 'a').object(report('a', &vec![finding("CVE-1", "CRITICAL"); findings]));
        let world = (0..50).fold(world, |world, number| {
            let place =
                [("/metadata/name", json!(format!("many-{number}"))), ("/metadata/namespace", json!(namespace))];
            let object = with(object(), &place);
            let spec = json!({"vulnerability": "CVE-1", "reason": "r", "expires": "2026-11-30"});
            world.object(with(object, &[("/spec", with_keys(spec, &named))]))
        });
        world.object(changed("/metadata/namespace", json!(namespace)))
    };
    // 5,001 names, and each of 199 or 200 findings is compared with each of them.
    for named in [json!({"vulnerabilities": ids}), json!({"packages": vec!["pkg:npm/x@"; 99]})] {
        assert!(of("web", 199, named.clone()).decide(IMAGE, &own()).allowed, "{named}");
        let why = "exemptions can't be looked up (ImageExemption in `web`): comparing them with all findings takes more than 1000000 steps";
        is_rejected(&of("web", 200, named.clone()), &own(), why);
        let central = json!({"exemptionsFrom": {"namespace": "kubewarden", "workloadNamespace": true}});
        assert!(of("kubewarden", 200, named).decide(IMAGE, &central).allowed);
    }
    // Names of images and namespaces are bounded, too.
    for named in [json!({"images": vec!["reg.io/other/"; 200]}), json!({"namespaces": vec!["web"; 200]})] {
        is_rejected(
            &of("web", 1, named),
            &own(),
            "vulnerabilities, packages, images and namespaces, 10000 are the most",
        );
    }
}

/// Adds keys to an object.
fn with_keys(mut object: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

/// An image with many critical findings, and objects that name many vulnerabilities each: a comparison for each pair takes time.
fn many(findings: usize, namespace: &str, objects: usize, named: usize) -> World {
    let entries: Vec<Value> = (0..findings).map(|number| finding(&format!("CVE-1-{number}"), "CRITICAL")).collect();
    let world = World::default().image(IMAGE, 'a').object(report('a', &entries));
    (0..objects).fold(world, |world, number| {
        let ids: Vec<String> = (0..named).map(|id| format!("CVE-1-{}", number * named + id)).collect();
        let spec = json!({"vulnerabilities": ids, "reason": "r", "expires": "2026-11-30"});
        let name = format!("many-{number}");
        world.object(with(
            object(),
            &[("/metadata/name", json!(name)), ("/metadata/namespace", json!(namespace)), ("/spec", spec)],
        ))
    })
}

/// Each exemption that is used is read again, and one that can't be read any more exempts nothing: findings are judged anew.
#[test]
#[expect(clippy::disallowed_types, reason = "a test of how long something takes")]
fn exemptions_that_can_not_all_be_read_again_are_told_in_time() {
    let settings = with(own(), &[("/maxHostCalls", json!(20))]);
    let start = std::time::Instant::now();
    let answer = many(1_000, "web", 1_000, 1).decide(IMAGE, &settings);
    assert!(!answer.allowed, "{}", answer.response);
    assert!(
        answer.response["message"].as_str().unwrap().contains("more than the 20 host calls"),
        "{}",
        answer.response
    );
    // Judged anew for each exemption it would take minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// An object holds in the namespace that the Pods are in, and for names that images have.
#[test]
fn neither_a_template_nor_a_star_extends_an_object() {
    let pod = json!({"containers": [{"name": "app", "image": IMAGE}]});
    let template = json!({"metadata": {"namespace": "shop"}, "spec": pod});
    let deployment = json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"template": template}});
    let request = json!({"uid": "u", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"}, "operation": "CREATE",
                         "namespace": "web", "object": deployment});
    let payload = json!({"request": request, "settings": own()}).to_string();
    for (namespace, is_accepted) in [("shop", false), ("web", true)] {
        let world = bad().object(changed("/metadata/namespace", json!(namespace)));
        let answer = validate(payload.as_bytes(), &WireHost(world.wire()), NOW).response;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["accepted"], is_accepted, "{namespace}: {answer}");
    }
    for images in ["*", "reg.io/*", "*/app", "reg.io/team/app:*"] {
        assert!(!bad().object(changed("/spec/images", json!([images]))).decide(IMAGE, &own()).allowed, "{images}");
    }
}
