//! Images that run already: what proves it, of which finding, until when, and what is asked for it.

use super::world::{World, digest};
use super::{IMAGE, beside, trap, trivy, with};
use image_admission_stub_host::StubHost;
use image_admission_untrusted::remedy::{Remedy, without};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const KIND: &str = "Pod";

/// A Pod of the workload's own namespace that runs the image since before the finding was known.
fn pod() -> Value {
    named("web-1", "2026-11-01T09:00:00Z")
}

fn named(name: &str, since: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": KIND, "metadata": {"name": name, "namespace": "web"},
        "status": {"phase": "Running", "containerStatuses": [
            {"imageID": format!("reg.io/team/app@{}", digest('a')), "state": {"running": {"startedAt": since}}}]},
    })
}

fn changed(pointer: &str, value: Value) -> Value {
    with(pod(), &[(pointer, value)])
}

fn started(since: &str) -> Value {
    changed("/status/containerStatuses/0/state/running/startedAt", json!(since))
}

fn vulnerability(id: &str, severity: &str, published: Value) -> Value {
    json!({"vulnerabilityID": id, "severity": severity, "resource": "curl", "fixedVersion": "8", "publishedDate": published})
}

/// A report with these findings, of an image with a digest of that letter.
fn found(letter: char, vulnerabilities: &[Value]) -> Value {
    let count = |severity: &str| vulnerabilities.iter().filter(|found| found["severity"] == severity).count();
    with(
        trivy("web", if letter == 'c' { "pod-c-app" } else { "pod-p-app" }, json!(digest(letter))),
        &[
            ("/report/vulnerabilities", json!(vulnerabilities)),
            ("/report/summary/criticalCount", json!(count("CRITICAL"))),
            ("/report/summary/highCount", json!(count("HIGH"))),
        ],
    )
}

fn known(published: Value) -> World {
    World::default().image(IMAGE, 'a').object(found('a', &[vulnerability("CVE-1", "CRITICAL", published)]))
}

/// An image with one critical finding, known since the day before yesterday.
fn young() -> World {
    known(json!("2026-11-19T00:00:00Z"))
}

fn settings(acceptance: Value) -> Value {
    json!({"reports": {"sources": [{"trivyOperator": {}}]}, "acceptance": acceptance})
}

fn week() -> Value {
    settings(json!({"running": {"grace": "7d"}}))
}

/// Asserts that a finding rejects, and how the message ends.
#[track_caller]
fn is_rejected(world: &World, settings: &Value, said: &str) {
    let answer = world.decide(IMAGE, settings);
    assert!(!answer.allowed && answer.state == "fresh", "{}", answer.response);
    let message = answer.response["message"].as_str().unwrap();
    assert!(message.contains(said), "{message}");
}

const NOT_BEFORE: &str = "); no Pod of `web` runs it since before CVE-1 was known (2026-11-19)";

#[test]
fn what_runs_already_may_start_and_is_warned_of() {
    let world = young().object(pod());
    let answer = world.decide(IMAGE, &week());
    assert!(answer.allowed, "{}", answer.response);
    assert_eq!(
        answer.response["warnings"],
        json!([
            "image 'reg.io/team/app:1.0' runs since before CVE-1 was known (2026-11-19): it may start for 5 more days"
        ])
    );
    assert_eq!(
        answer.response["audit_annotations"]["container-1.warned"],
        "runs since 2026-11-01T09:00:00Z (Pod web/web-1): CVE-1 is known since 2026-11-19, and it may start until \
         2026-11-26T00:00:00Z"
    );
    is_rejected(&world, &settings(json!({})), "CVE-1 in curl (fixed in 8)");
    is_rejected(&young(), &week(), NOT_BEFORE);
    // Its days are counted, and end.
    let says = |now: &str, said: &str| {
        let answer = world.decide_at(IMAGE, &week(), Timestamp::parse(now).unwrap());
        let warning = answer.response["warnings"][0].as_str().unwrap_or_default();
        assert!(answer.allowed && warning.ends_with(said), "{now}: {}", answer.response);
    };
    says("2026-11-19T00:00:00Z", "for 7 more days");
    says("2026-11-24T12:00:00Z", "for 1 more day");
    says("2026-11-26T00:00:00Z", "for less than a day");
    let years = settings(json!({"running": {"grace": "5200w"}}));
    let warned = world.decide(IMAGE, &years).response["warnings"][0].as_str().unwrap_or_default().to_owned();
    assert!(warned.ends_with("it may start for more than a year"), "{warned}");
    let over = world.decide_at(IMAGE, &week(), Timestamp::parse("2026-11-26T00:00:01Z").unwrap());
    assert!(!over.allowed && !over.response["message"].as_str().unwrap().contains("no Pod of"), "{}", over.response);
}

#[test]
fn a_drained_node_leaves_a_pod_that_is_about_to_be_gone() {
    let leaving = changed("/metadata/deletionTimestamp", json!("2026-11-20T11:59:00Z"));
    assert!(young().object(leaving).decide(IMAGE, &week()).allowed);
}

#[test]
fn without_the_setting_nothing_is_asked() {
    let world = young().object(pod());
    assert!(!world.decide(IMAGE, &settings(json!({}))).allowed);
    assert!(!world.decide(IMAGE, &settings(json!({"byNamespace": {"shop": {"running": {"grace": "7d"}}}}))).allowed);
    assert_eq!(world.host.calls().iter().filter(|call| call.field("kind") == KIND).count(), 0);
}

/// A GET that proves that Pods can be read, one list, and a GET of the Pod that counts; nothing where that changes nothing.
#[test]
fn the_price_is_paid_where_nothing_but_young_findings_would_reject() {
    let asked = |world: &World, settings: &Value| -> Vec<String> {
        world.decide(IMAGE, settings);
        let calls = world.host.calls().into_iter().filter(|call| call.field("kind") == KIND);
        calls.map(|call| format!("{} {}", call.operation, call.field("name"))).collect()
    };
    let all = [
        "get_resource image-admission-asks-whether-this-can-be-read",
        "list_resources_by_namespace ",
        "get_resource web-1",
    ];
    assert_eq!(asked(&young().object(pod()), &week()), all);
    // One that started since is never read.
    assert_eq!(asked(&young().object(started("2026-11-19T00:00:00Z")), &week()), all[..2]);
    let clean = World::default().image(IMAGE, 'a').object(found('a', &[]));
    let of = |vulnerabilities: &[Value]| {
        World::default().image(IMAGE, 'a').object(found('a', vulnerabilities)).object(pod())
    };
    let (new, old) = (json!("2026-11-19T00:00:00Z"), json!("2026-10-01T00:00:00Z"));
    for (world, settings) in [
        (clean.object(pod()), week()),
        // An old finding rejects anyway.
        (of(&[vulnerability("CVE-1", "CRITICAL", new.clone()), vulnerability("CVE-2", "CRITICAL", old)]), week()),
        (of(&[vulnerability("CVE-1", "CRITICAL", json!(""))]), week()),
        (young().object(pod()), self::settings(json!({"running": {"grace": "7d"}, "denyAlways": ["CVE-1"]}))),
        (young().object(pod()), self::settings(json!({"running": {"grace": {"high": "7d"}}}))),
    ] {
        assert!(asked(&world, &settings).is_empty(), "{settings}");
    }
    // Two platforms of one index, and the Pod is read once.
    let index = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
        .object(found('a', &[vulnerability("CVE-1", "CRITICAL", new.clone())]))
        .object(with(
            found('c', &[vulnerability("CVE-1", "CRITICAL", new)]),
            &[("/metadata/namespace", json!("scans"))],
        ))
        .object(changed("/status/containerStatuses/0/imageID", json!(format!("reg.io/team/app@{}", digest('f')))));
    let sources = json!([{"trivyOperator": {"namespaces": ["scans"]}}]);
    let mut both = week();
    both["reports"]["sources"] = sources;
    assert!(asked(&index, &both).len() <= all.len());
}

/// A platform's own digest stands for the image where it is the only one.
#[test]
fn runtimes_name_an_index_or_its_platform() {
    let index = |platforms: &[(&str, char)], runs: char| {
        let runs = changed("/status/containerStatuses/0/imageID", json!(format!("reg.io/team/app@{}", digest(runs))));
        let report = found('f', &[vulnerability("CVE-1", "CRITICAL", json!("2026-11-19T00:00:00Z"))]);
        World::default().index(IMAGE, 'f', platforms).object(report).object(runs)
    };
    let (one, two) = ([("linux/amd64", 'a')], [("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let mut of_one = week();
    of_one["reports"]["platforms"] = json!(["linux/amd64"]);
    assert!(index(&one, 'f').decide(IMAGE, &week()).allowed);
    assert!(index(&one, 'a').decide(IMAGE, &week()).allowed);
    assert!(index(&two, 'f').decide(IMAGE, &of_one).allowed);
    assert!(index(&two, 'a').decide(IMAGE, &of_one).allowed);
    is_rejected(&index(&two, 'c'), &of_one, NOT_BEFORE);
    // An index that isn't proven may have been another image: what is pinned is its one platform.
    let unproven = |runs: char| {
        let report = found('a', &[vulnerability("CVE-1", "CRITICAL", json!("2026-11-19T00:00:00Z"))]);
        let world = World::default().index(IMAGE, 'f', &two).unproven().object(report);
        world.object(changed("/status/containerStatuses/0/imageID", json!(format!("reg.io/team/app@{}", digest(runs)))))
    };
    assert!(unproven('a').decide(IMAGE, &of_one).allowed);
    is_rejected(&unproven('f'), &of_one, NOT_BEFORE);
}

#[test]
fn a_pod_proves_nothing_of_another_image() {
    for id in [format!("reg.io/team/app@{}", digest('b')), format!("reg.io/team/app@{}", digest('b')) + "@sha256:a"] {
        let world = young().object(changed("/status/containerStatuses/0/imageID", json!(id)));
        is_rejected(&world, &week(), NOT_BEFORE);
    }
    let other = changed("/status/containerStatuses/0/imageID", json!(format!("reg.io/team/app@{}", digest('b'))));
    trap(Remedy::MatchRunningDigest, &young().object(other), IMAGE, &week(), "denied fresh", "allowed fresh");
    // What the author writes is no proof.
    let claimed = with(
        changed("/status/containerStatuses/0/imageID", json!("")),
        &[
            ("/spec", json!({"containers": [{"name": "app", "image": format!("reg.io/team/app@{}", digest('a'))}]})),
            ("/metadata/annotations", json!({"imageID": format!("reg.io/team/app@{}", digest('a'))})),
        ],
    );
    is_rejected(&young().object(claimed), &week(), NOT_BEFORE);
}

#[test]
fn a_pod_that_does_not_run_proves_nothing() {
    for phase in [json!("Succeeded"), json!("Failed"), json!("Pending"), json!("Unknown"), json!(null)] {
        let world = young().object(changed("/status/phase", phase));
        trap(Remedy::MustRun, &world, IMAGE, &week(), "denied fresh", "allowed fresh");
    }
    let done = json!({"terminated": {"startedAt": "2026-11-01T09:00:00Z"}});
    let world = young().object(changed("/status/containerStatuses/0/state", done.clone()));
    is_rejected(&world, &week(), NOT_BEFORE);
    // What prepares a Pod is done, and the Pod runs.
    let init = json!([{"imageID": format!("reg.io/team/app@{}", digest('a')), "state": done}]);
    assert!(young().object(changed("/status/initContainerStatuses", init)).decide(IMAGE, &week()).allowed);
}

#[test]
fn what_started_when_the_finding_was_known_did_not_run_before() {
    for since in ["2026-11-19T00:00:00Z", "2026-11-19T00:00:01Z", "2026-11-20T11:00:00Z", "2999-01-01T00:00:00Z"] {
        let world = young().object(started(since));
        trap(Remedy::RunSinceBefore, &world, IMAGE, &week(), "denied fresh", "allowed fresh");
        is_rejected(&world, &week(), NOT_BEFORE);
    }
    assert!(young().object(started("2026-11-18T23:59:59Z")).decide(IMAGE, &week()).allowed);
    // A container that was started again may run another image than the Pod began with.
    let again = with(started("2026-11-20T11:00:00Z"), &[("/status/startTime", json!("2026-11-01T09:00:00Z"))]);
    is_rejected(&young().object(again), &week(), NOT_BEFORE);
    for since in [json!(null), json!(""), json!(1_762_000_000), json!("yesterday"), json!({"seconds": 1})] {
        let pod = changed("/status/containerStatuses/0/state/running/startedAt", since);
        is_rejected(&young().object(pod), &week(), NOT_BEFORE);
    }
}

/// A report's order is nobody's word.
#[test]
fn of_findings_known_since_the_same_time_the_first_by_name_is_named() {
    let mut vulnerabilities = ["CVE-2", "CVE-1"].map(|id| vulnerability(id, "CRITICAL", json!("2026-11-19T00:00:00Z")));
    for _ in 0..2 {
        let world = World::default().image(IMAGE, 'a').object(found('a', &vulnerabilities));
        is_rejected(&world, &week(), NOT_BEFORE);
        vulnerabilities.reverse();
    }
}

#[test]
fn a_finding_of_unknown_date_is_not_young() {
    let ahead = known(json!("2026-11-20T12:00:01Z")).object(pod());
    trap(Remedy::KnownIsPast, &ahead, IMAGE, &week(), "denied fresh", "allowed fresh");
    let later = known(json!("2999-01-01T00:00:00Z")).object(pod());
    trap(Remedy::KnownIsPast, &later, IMAGE, &week(), "denied fresh", "allowed fresh");
    for published in [json!(null), json!(""), json!("yesterday"), json!("2026-11-19")] {
        is_rejected(&known(published).object(pod()), &week(), "CVE-1 in curl (fixed in 8)");
    }
    assert!(known(json!("2026-11-20T12:00:00Z")).object(pod()).decide(IMAGE, &week()).allowed);
}

/// After the first change every watch shows every object, whatever was asked for.
#[test]
fn a_pod_of_another_namespace_proves_nothing() {
    let elsewhere = |more: &[(&str, Value)]| with(with(pod(), &[("/metadata/namespace", json!("tenant"))]), more);
    is_rejected(&young().object(elsewhere(&[])), &week(), NOT_BEFORE);
    let world = young().object(elsewhere(&[("/metadata/asked-in", json!("web"))])).and(StubHost::unfiltered);
    trap(Remedy::MatchNamespace, &world, IMAGE, &week(), "denied fresh", "allowed fresh");
}

/// A list proves nothing about now: what it shows may be gone, or run something else.
#[test]
fn what_a_list_shows_to_run_is_read_anew() {
    for now in [
        changed("/metadata/name", json!("other-name")),
        changed("/status/phase", json!("Failed")),
        changed("/status/containerStatuses", json!(null)),
        started("2026-11-20T11:00:00Z"),
        changed("/status/containerStatuses/0/imageID", json!(format!("reg.io/team/app@{}", digest('b')))),
    ] {
        let world = young().object(now).and(|host| host.listed([pod()]));
        trap(Remedy::ReadWhatIsListed, &world, IMAGE, &week(), "denied fresh", "allowed fresh");
    }
    // Another Pod may prove it.
    let other = named("web-2", "2026-11-10T09:00:00Z");
    let world = young().object(other.clone()).and(|host| host.listed([pod(), other]));
    assert!(world.decide(IMAGE, &week()).allowed);
    // Only so many are read.
    let listed: Vec<Value> =
        (0..6).map(|number| named(&format!("gone-{number}"), "2026-11-01T09:00:00Z")).chain([pod()]).collect();
    let world = young().object(pod()).and(|host| host.listed(listed));
    is_rejected(&world, &week(), NOT_BEFORE);
    assert_eq!(world.host.calls().iter().filter(|call| call.field("name").starts_with("gone-")).count(), 5);
}

#[test]
fn a_look_up_that_failed_excuses_nothing_and_says_so() {
    let said = "; what runs already can't be looked up (Pod in `web`): no route to host";
    let world = young().object(pod()).broken(KIND);
    is_rejected(&world, &week(), said);
    let listed = || {
        let calls = world.host.calls();
        calls.iter().filter(|call| call.operation.starts_with("list") && call.field("kind") == KIND).count()
    };
    assert_eq!(listed(), 0, "nothing is listed where no GET was answered");
    without(Remedy::GetBeforeList, || world.decide(IMAGE, &week()));
    assert_eq!(listed(), 1, "without the remedy the list is asked for, and hangs");
    let mut forgiving = week();
    forgiving["scanPolicies"] = json!({"scanFailed": "accept-outages", "reportPending": "accept"});
    forgiving["registries"] = json!(["reg.io"]);
    is_rejected(&world, &forgiving, said);
    is_rejected(&young().object(pod()).broken("web-1"), &week(), said);
    let malformed = changed("/status", json!("Running"));
    let world = young().object(malformed).and(|host| host.listed([pod()]));
    is_rejected(&world, &week(), "what runs already can't be looked up (Pod in `web`): its answer can't be read");
}

/// A Pod that can't be read hides no other.
#[test]
fn pods_that_make_no_sense_prove_nothing() {
    let odd = with(named("a-odd", "2026-11-01T09:00:00Z"), &[("/status", json!(7))]);
    is_rejected(&young().object(odd.clone()), &week(), NOT_BEFORE);
    assert!(young().object(odd).object(pod()).decide(IMAGE, &week()).allowed);
}

#[test]
fn more_pods_than_are_looked_through_prove_nothing() {
    let many = |count: usize| {
        let pods = (0..count).map(|number| named(&format!("web-{number}"), "2026-11-01T09:00:00Z"));
        young().and(|host| host.objects(pods))
    };
    assert!(many(2_000).decide(IMAGE, &week()).allowed);
    is_rejected(&many(2_001), &week(), "; what runs already isn't looked up: `web` has more than 2000 Pods");
}

#[test]
fn findings_are_excused_one_by_one() {
    let world = |vulnerabilities: &[Value]| {
        World::default().image(IMAGE, 'a').object(found('a', vulnerabilities)).object(pod())
    };
    let (new, old) = (json!("2026-11-19T00:00:00Z"), json!("2026-10-01T00:00:00Z"));
    let of = |id: &str, known: &Value| vulnerability(id, "CRITICAL", known.clone());
    let one_more = settings(json!({"maxSeverity": {"critical": {"total": 1}}, "running": {"grace": "7d"}}));
    assert!(world(&[of("CVE-1", &new), of("CVE-2", &old)]).decide(IMAGE, &one_more).allowed);
    is_rejected(&world(&[of("CVE-1", &old), of("CVE-2", &old), of("CVE-3", &new)]), &one_more, "3 critical findings");
    let two = world(&[of("CVE-1", &new), of("CVE-2", &json!("2026-11-18T00:00:00Z"))]).decide(IMAGE, &week());
    assert_eq!(
        two.response["warnings"],
        json!([
            "image 'reg.io/team/app:1.0' runs since before CVE-2 and 1 more were known: it may start for 4 more days"
        ])
    );
    // It runs since before one of them.
    let world = World::default()
        .image(IMAGE, 'a')
        .object(found('a', &[of("CVE-1", &new), of("CVE-2", &json!("2026-11-18T00:00:00Z"))]))
        .object(started("2026-11-18T12:00:00Z"));
    is_rejected(&world, &week(), "no Pod of `web` runs it since before CVE-2 was known (2026-11-18)");
}

/// Another report of the same image, which knows of an older finding.
#[test]
fn what_is_rejected_all_the_same_is_not_said_to_start() {
    let old = found('a', &[vulnerability("CVE-2", "CRITICAL", json!("2026-10-01T00:00:00Z"))]);
    let world = young().object(pod()).object(with(old, &[("/metadata/name", json!("pod-q-app"))]));
    let answer = world.decide(IMAGE, &week());
    assert!(!answer.allowed, "{}", answer.response);
    assert_eq!(
        answer.response["warnings"],
        json!(["image 'reg.io/team/app:1.0' has scan reports that disagree: the worst decides"])
    );
    assert_eq!(answer.response["audit_annotations"].get("container-1.warned"), None);
}

/// What rejects whatever its age isn't excused.
#[test]
fn other_gates_hold_for_what_runs() {
    let with_gate = |gate: &str, value: Value| settings(json!({"running": {"grace": "7d"}, gate: value}));
    is_rejected(&young().object(pod()), &with_gate("denyAlways", json!(["CVE-1"])), "`denyAlways` names CVE-1");
    let list = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kev", "namespace": "security"},
                      "data": {"known-exploited": "CVE-1"}});
    let by_list = json!({"from": {"configMap": {"namespace": "security", "name": "kev"}}});
    let exploited = with_gate("knownExploited", by_list.clone());
    is_rejected(&young().object(pod()).object(list.clone()), &exploited, "exploited in the wild");
    // Nor what a list can't be asked for: that isn't an outage to forgive.
    let mut forgiving = exploited.clone();
    forgiving["scanPolicies"] = json!({"scanFailed": "accept-outages"});
    is_rejected(&young().object(pod()), &forgiving, "1 critical finding");
    let mut warns = by_list;
    warns["action"] = json!("warn");
    assert!(young().object(pod()).object(list).decide(IMAGE, &with_gate("knownExploited", warns)).allowed);
    let past = with(
        found('a', &[vulnerability("CVE-1", "CRITICAL", json!("2026-11-19T00:00:00Z"))]),
        &[("/report/os", json!({"family": "debian", "name": "9.13", "eosl": true}))],
    );
    let past = World::default().image(IMAGE, 'a').object(past).object(pod());
    is_rejected(&past, &with_gate("endOfLife", json!("reject")), "past its end of life");
    // Too old a report is none.
    let mut fresh = week();
    fresh["reports"]["maxAge"] = json!("1h");
    let answer = young().object(pod()).decide(IMAGE, &fresh);
    assert_eq!((answer.allowed, answer.state.as_str()), (false, "stale"), "{}", answer.response);
}

/// Every source that has the date.
#[test]
fn sources_tell_since_when_a_finding_is_known() {
    let trivy = json!({"SchemaVersion": 2, "ArtifactType": "container_image", "CreatedAt": "2026-11-20T10:00:00Z",
        "Metadata": {"OS": {"Family": "alpine", "Name": "3.20"}, "ImageConfig": {"os": "linux", "architecture": "amd64"},
                     "RepoDigests": [format!("reg.io/team/app@{}", digest('a'))]},
        "Results": [{"Target": "t", "Class": "os-pkgs", "Vulnerabilities": [
            {"VulnerabilityID": "CVE-1", "Severity": "CRITICAL", "PkgName": "curl", "FixedVersion": "8",
             "PublishedDate": "2026-11-19T00:00:00Z"}]}]});
    let cyclonedx = json!({"bomFormat": "CycloneDX", "specVersion": "1.6",
        "metadata": {"component": {"type": "container", "name": format!("reg.io/team/app@{}", digest('a'))}},
        "components": [{"bom-ref": "c", "type": "library", "name": "curl", "purl": "pkg:apk/alpine/curl@7"}],
        "vulnerabilities": [{"id": "CVE-1", "ratings": [{"severity": "critical"}], "affects": [{"ref": "c"}],
                             "published": "2026-11-19T00:00:00Z"}]});
    let grype = json!({"descriptor": {"name": "grype", "version": "0.110.0"}, "distro": {"name": "alpine"},
        "source": {"type": "image", "target": {"manifestDigest": digest('a'), "os": "linux", "architecture": "amd64"}},
        "matches": [{"vulnerability": {"id": "CVE-1", "severity": "Critical",
                                       "fix": {"state": "fixed", "versions": ["8"], "available": [{"version": "8", "date": "2026-11-19"}]}},
                     "artifact": {"name": "curl", "purl": "pkg:apk/alpine/curl@7"}}]});
    let attached =
        |document: Value| World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let mut registry = week();
    registry["reports"]["sources"] = json!([{"registry": {"allowUnsigned": true}}]);
    let mirrored = with(
        found('a', &[vulnerability("CVE-1", "CRITICAL", json!("2026-11-19T00:00:00Z"))]),
        &[("/metadata/name", json!(format!("sha256.{}", "a".repeat(64))))],
    );
    let mut custom = week();
    custom["reports"]["sources"] = json!([{"custom": {"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "namespaces": ["web"], "name": "sha256.{digestHex}", "identity": "digest", "fields": {
            "registry": "report.registry.server", "repository": "report.artifact.repository", "digest": "report.artifact.digest",
            "findings": "report.vulnerabilities", "id": "vulnerabilityID", "severity": "severity", "published": "publishedDate"}}}]);
    for (name, world, settings, is_dated) in [
        ("trivy-operator", young(), week(), true),
        ("custom", World::default().image(IMAGE, 'a').object(mirrored), custom, true),
        ("Trivy", attached(trivy), registry.clone(), true),
        ("CycloneDX", attached(cyclonedx), registry.clone(), true),
        // The day of a fix is not since when it is known.
        ("Grype", attached(grype), registry, false),
    ] {
        let without = world.decide(IMAGE, &settings);
        assert!(!without.allowed && without.state == "fresh", "{name}: {}", without.response);
        let answer = world.object(pod()).decide(IMAGE, &settings);
        assert_eq!(answer.allowed, is_dated, "{name}: {}", answer.response);
    }
}
