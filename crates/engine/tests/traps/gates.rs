//! What is exploited, likely to be, or past its end of life: what is missing, empty, old or of another is never fine.

use super::world::{Answer, NOW, World, digest};
use super::{IMAGE, beside, finding, report, trap, trivy, with};
use image_admission_untrusted::remedy::Remedy;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

/// The ConfigMap that the settings name, with a list.
fn list(text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kev", "namespace": "security"},
           "data": {"known-exploited": text, "README": "…"}})
}

fn refreshed(text: &str, at: &str) -> Value {
    with(list(text), &[("/metadata/annotations", json!({"image-admission/refreshed-at": at}))])
}

/// The image has a finding that no severity rejects.
fn world(list: Value) -> World {
    World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-2026-1", "LOW")])).object(list)
}

fn by_list(more: Value) -> Value {
    let mut gate = json!({"from": {"configMap": {"namespace": "security", "name": "kev"}}});
    gate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"acceptance": {"knownExploited": gate}})
}

fn message(answer: &Answer) -> &str {
    answer.response["message"].as_str().unwrap().split_once('\n').unwrap().1
}

#[test]
fn a_finding_that_the_list_names_rejects() {
    let answer = world(list("CVE-2026-1\nCVE-2026-2\n")).decide(IMAGE, &by_list(json!({})));
    assert!(!answer.allowed);
    let by = super::computed("reg.io", "team/app", "1.0", &digest('a'));
    assert_eq!(
        message(&answer),
        format!(
            "'{IMAGE}': 1 finding exploited in the wild (KEV): CVE-2026-1 in openssl (fixed in 3.1) (sbomscanner: \
             VulnerabilityReport sbomscanner/{by}, first made 2026-11-01T00:00:00Z)"
        )
    );
    let kev = json!({"count": 1, "vulnerabilities": [{"cveID": "CVE-2026-1", "dueDate": "2026-12-01"}]}).to_string();
    let answer = world(list(&kev)).decide(IMAGE, &by_list(json!({})));
    assert!(
        message(&answer).contains("exploited in the wild (KEV, due 2026-12-01): CVE-2026-1"),
        "{}",
        answer.response
    );
    assert!(world(list("CVE-2026-2")).decide(IMAGE, &by_list(json!({}))).allowed);
    // Told to warn, it is admitted, and the audit log has all of it.
    let warned = world(list(&kev)).decide(IMAGE, &by_list(json!({"action": "warn"})));
    assert!(warned.allowed);
    let text = "1 finding exploited in the wild (KEV, due 2026-12-01): CVE-2026-1 in openssl (fixed in 3.1)";
    assert_eq!(warned.response["audit_annotations"]["container-1.warned"], text);
    assert!(warned.response["warnings"][0].as_str().unwrap().contains("exploited in the wild"), "{}", warned.response);
}

#[test]
fn it_is_asked_for_once_and_only_where_something_was_found() {
    let pod = |world: &World| {
        world.decide(IMAGE, &by_list(json!({})));
        world.host.calls().iter().filter(|call| call.field("kind") == "ConfigMap").count()
    };
    let two = [finding("CVE-2026-1", "LOW"), finding("CVE-2026-2", "LOW")];
    let of =
        |entries: &[Value]| World::default().image(IMAGE, 'a').object(report('a', entries)).object(list("CVE-1-1"));
    assert_eq!((pod(&of(&two)), pod(&of(&[]))), (1, 0));
}

#[test]
fn a_list_that_is_no_list_clears_nothing() {
    trap(
        Remedy::EmptyListClearsNothing,
        &world(list("# none\n")),
        IMAGE,
        &by_list(json!({})),
        "denied look_up_failed",
        "allowed fresh",
    );
    let missing = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-2026-1", "LOW")]));
    let elsewhere = with(list("CVE-1-1"), &[("/metadata/namespace", json!("web"))]);
    for (world, why) in [
        (missing, "there is no such ConfigMap"),
        (world(elsewhere), "there is no such ConfigMap"),
        (world(list("not found")), "`not found` is not the id of a vulnerability"),
        (world(with(list("CVE-1-1"), &[("/data", json!({"other": "CVE-1-1"}))])), "it has no key `known-exploited`"),
        (world(with(list("CVE-1-1"), &[("/data", json!(null))])), "it has no key `known-exploited`"),
        (world(with(list("CVE-1-1"), &[("/data", json!(7))])), "its answer can't be read: invalid type"),
        (world(list("CVE-1-1")).broken("ConfigMap"), ""),
    ] {
        let answer = world.decide(IMAGE, &by_list(json!({})));
        assert_eq!((answer.allowed, answer.state.as_str()), (false, "look_up_failed"), "{}", answer.response);
        let said = format!("'{IMAGE}': the list of exploited vulnerabilities, ConfigMap security/kev, can't be used: ");
        assert!(message(&answer).starts_with(&said) && message(&answer).contains(why), "{}", answer.response);
        // Told to warn, it says so.
        let warned = world.decide(IMAGE, &by_list(json!({"action": "warn"})));
        assert!(warned.allowed, "{}", warned.response);
        let audit = warned.response["audit_annotations"]["container-1.warned"].as_str().unwrap();
        assert!(audit.starts_with("the list of exploited vulnerabilities"), "{audit}");
    }
}

#[test]
fn a_list_that_is_old_or_of_unknown_age_clears_nothing() {
    let week = by_list(json!({"maxAge": "7d"}));
    assert!(world(refreshed("CVE-1-1", "2026-11-14T12:00:00Z")).decide(IMAGE, &week).allowed);
    let kev = |released: &str| {
        list(&json!({"dateReleased": released, "vulnerabilities": [{"cveID": "CVE-1-1"}]}).to_string())
    };
    assert!(world(kev("2026-11-19T15:00:00.1234Z")).decide(IMAGE, &week).allowed);
    for (list, why) in [
        (refreshed("CVE-1-1", "2026-11-13T11:00:00Z"), "it is of 2026-11-13T11:00:00Z, and `maxAge` is 7d"),
        (kev("2026-11-01T00:00:00Z"), "it is of 2026-11-01T00:00:00Z, and `maxAge` is 7d"),
        (refreshed("CVE-1-1", "2026-11-21T12:00:00Z"), "it is of 2026-11-21T12:00:00Z, which is still to come"),
        (list("CVE-1-1"), "nothing says how old it is"),
        (refreshed("CVE-1-1", "today"), "nothing says how old it is"),
    ] {
        let world = world(list);
        trap(Remedy::OldListClearsNothing, &world, IMAGE, &week, "denied look_up_failed", "allowed fresh");
        assert!(message(&world.decide(IMAGE, &week)).contains(why), "{why}");
        assert!(world.decide(IMAGE, &by_list(json!({}))).allowed, "without `maxAge` its age is nobody's concern");
    }
}

/// What doesn't go away by itself would let in whatever is listed, from the day on which nobody renews the list.
#[test]
fn what_a_gate_is_not_told_is_no_outage() {
    let forgiving = |settings: Value| {
        let mut settings = settings;
        settings["scanPolicies"] = json!({"scanFailed": "accept-outages"});
        settings
    };
    let week = forgiving(by_list(json!({"maxAge": "7d"})));
    let missing = || World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-2026-1", "LOW")]));
    let untold = forgiving(json!({"acceptance": {"knownExploited": "reject"}}));
    let end_of_life = forgiving(json!({"acceptance": {"endOfLife": "reject"}}));
    for (world, settings) in [
        (world(refreshed("CVE-2026-1", "2026-11-01T00:00:00Z")), &week),
        (world(list("")), &week),
        (missing(), &week),
        (missing(), &untold),
        (missing(), &end_of_life),
    ] {
        let answer = world.decide(IMAGE, settings);
        assert!(!answer.allowed, "{settings}: {}", answer.response);
    }
    let broken = world(list("CVE-1-1")).broken("ConfigMap");
    assert!(broken.decide(IMAGE, &week).allowed, "the cluster doesn't answer, and will");
}

#[test]
fn sbomscanner_may_say_it_itself() {
    let of = |more: Value| {
        let mut found = finding("CVE-2026-1", "LOW");
        found.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        World::default().image(IMAGE, 'a').object(report('a', &[found]))
    };
    let exploited = json!({"acceptance": {"knownExploited": "reject"}});
    assert!(of(json!({"knownExploited": false})).decide(IMAGE, &exploited).allowed);
    let answer = of(json!({"knownExploited": true})).decide(IMAGE, &exploited);
    assert!(message(&answer).starts_with(&format!("'{IMAGE}': 1 finding exploited in the wild (KEV): CVE-2026-1")));
    // A scanner that doesn't know of such a thing yet.
    trap(Remedy::UntoldIsNotFine, &of(json!({})), IMAGE, &exploited, "denied failed", "allowed fresh");
    // What it says beside a list is heard too.
    let both = of(json!({"knownExploited": true})).object(list("CVE-1-1"));
    assert!(!both.decide(IMAGE, &by_list(json!({}))).allowed);
    assert!(of(json!({})).object(list("CVE-1-1")).decide(IMAGE, &by_list(json!({}))).allowed);
    let likely = json!({"acceptance": {"epss": {"percentile": 0.95, "score": 0.5}}});
    for (forecast, allowed) in [
        (json!({"epssScore": "0.01", "epssPercentile": "0.94"}), true),
        (json!({"epssScore": "0.01", "epssPercentile": "0.95"}), false),
        (json!({"epssScore": "0.5", "epssPercentile": ""}), false),
        (json!({"epssScore": "0.49", "epssPercentile": ""}), true),
    ] {
        assert_eq!(of(forecast.clone()).decide(IMAGE, &likely).allowed, allowed, "{forecast}");
    }
    for forecast in [json!({"epssScore": "", "epssPercentile": ""}), json!({}), json!({"epssScore": "n/a"})] {
        trap(Remedy::UntoldIsNotFine, &of(forecast), IMAGE, &likely, "denied fresh", "allowed fresh");
    }
}

/// Findings as SBOMscanner's API server writes them, by the names in its CRD: what is false or empty is left out. So a finding that
/// isn't exploited tells as little as one of a scanner that was given no list.
#[test]
fn sbomscanner_leaves_out_what_is_false() {
    let of = |told: &str| {
        let text = format!(
            r#"{{"cve": "CVE-2026-1", "title": "t", "packageName": "openssl", "packagePath": "/usr", "purl": "pkg:deb/debian/openssl@3.0",
                "installedVersion": "3.0", "fixedVersions": ["3.1"], "diffID": "sha256:1", "severity": "LOW", "severitySource": "nvd",
                "suppressed": false{told}}}"#
        );
        World::default().image(IMAGE, 'a').object(report('a', &[serde_json::from_str(&text).unwrap()]))
    };
    let scored = r#", "epssScore": "0.97", "epssPercentile": "0.999""#;
    let exploited = of(&format!(r#", "knownExploited": true{scored}"#));
    let gate = json!({"acceptance": {"knownExploited": "reject"}});
    let answer = exploited.decide(IMAGE, &gate);
    assert!(message(&answer).contains("1 finding exploited in the wild (KEV): CVE-2026-1"), "{}", answer.response);
    trap(Remedy::UntoldIsNotFine, &of(scored), IMAGE, &gate, "denied failed", "allowed fresh");
    let answer = of(scored).decide(IMAGE, &gate);
    assert!(message(&answer).contains("name a list of the cluster in `knownExploited.from`"), "{}", answer.response);
    assert!(of(scored).object(list("CVE-2026-2")).decide(IMAGE, &by_list(json!({}))).allowed);
    for (limit, name) in [(json!({"score": 0.97}), "score"), (json!({"percentile": 0.999}), "percentile")] {
        let epss = json!({"acceptance": {"epss": limit}});
        assert!(!of(scored).decide(IMAGE, &epss).allowed, "{name}");
        let lower = of(r#", "epssScore": "0.969", "epssPercentile": "0.9989""#);
        assert!(lower.decide(IMAGE, &epss).allowed, "{name}");
    }
}

#[test]
fn documents_of_grype_say_it() {
    let document = |vulnerability: Value| {
        let mut found = json!({"id": "CVE-2026-1", "severity": "Low", "fix": {"versions": [], "state": "not-fixed"}});
        found.as_object_mut().unwrap().extend(vulnerability.as_object().unwrap().clone());
        json!({"descriptor": {"name": "grype"}, "source": {"type": "image", "target": {"os": "linux", "architecture": "amd64"}},
               "matches": [{"vulnerability": found, "artifact": {"name": "curl"}}]})
    };
    let of = |document: Value| World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let gate = |acceptance: Value| json!({"acceptance": acceptance, "reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
    let exploited = gate(json!({"knownExploited": "reject"}));
    let listed = json!({"risk": 80, "knownExploited": [{"cve": "CVE-2026-1", "dueDate": "2026-12-01"}]});
    let answer = of(document(listed)).decide(IMAGE, &exploited);
    assert!(message(&answer).contains("exploited in the wild (KEV, due 2026-12-01)"), "{}", answer.response);
    assert!(of(document(json!({"risk": 0.1}))).decide(IMAGE, &exploited).allowed);
    // A version that knew of no catalogue, or a vulnerability that its database knows nothing about.
    trap(Remedy::UntoldIsNotFine, &of(document(json!({}))), IMAGE, &exploited, "denied failed", "allowed fresh");
    let unknown = of(document(json!({"risk": 0, "severity": null})));
    trap(Remedy::UntoldIsNotFine, &unknown, IMAGE, &exploited, "denied failed", "allowed fresh");
    let likely = gate(json!({"epss": {"percentile": 0.9}}));
    let forecast = |percentile: f64| json!({"epss": [{"cve": "CVE-2026-1", "epss": 0.1, "percentile": percentile}]});
    assert!(!of(document(forecast(0.9))).decide(IMAGE, &likely).allowed);
    assert!(of(document(forecast(0.89))).decide(IMAGE, &likely).allowed);
    trap(Remedy::UntoldIsNotFine, &of(document(json!({}))), IMAGE, &likely, "denied fresh", "allowed fresh");
}

#[test]
fn a_system_past_its_end_of_life_is_told_by_each_that_knows() {
    let operator = |os: Value| {
        let mut object = trivy("web", "pod-p-app", json!(digest('a')));
        object["report"]["os"] = os;
        World::default().image(IMAGE, 'a').object(object)
    };
    let settings = |source: Value| json!({"acceptance": {"endOfLife": "reject"}, "reports": {"sources": [source]}});
    let by_operator = settings(json!({"trivyOperator": {}}));
    let ended = operator(json!({"family": "alpine", "name": "3.10.2", "eosl": true})).decide(IMAGE, &by_operator);
    assert!(
        message(&ended).contains("the operating system alpine 3.10.2 is past its end of life"),
        "{}",
        ended.response
    );
    assert!(operator(json!({"family": "alpine", "name": "3.22.1"})).decide(IMAGE, &by_operator).allowed);
    trap(Remedy::UntoldIsNotFine, &operator(json!(null)), IMAGE, &by_operator, "denied failed", "allowed fresh");

    let ci = settings(json!({"registry": {"allowUnsigned": true}}));
    let of = |document: Value| World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let trivy = |metadata: Value| {
        let metadata = with(
            json!({"Metadata": metadata}),
            &[("/Metadata/ImageConfig", json!({"os": "linux", "architecture": "amd64"}))],
        );
        let mut document = json!({"SchemaVersion": 2, "Results": [{"Class": "os-pkgs"}]});
        document.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        of(document)
    };
    let answer = trivy(json!({"OS": {"Family": "debian", "Name": "10.1", "EOSL": true}})).decide(IMAGE, &ci);
    assert!(
        message(&answer).contains("the operating system debian 10.1 is past its end of life"),
        "{}",
        answer.response
    );
    assert!(trivy(json!({"OS": {"Family": "debian", "Name": "13"}})).decide(IMAGE, &ci).allowed);
    trap(Remedy::UntoldIsNotFine, &trivy(json!({})), IMAGE, &ci, "denied failed", "allowed fresh");

    let grype = |more: Value| {
        let mut document = json!({"descriptor": {"name": "grype"}, "matches": [], "distro": {"name": "debian", "version": "10"},
            "source": {"type": "image", "target": {"os": "linux", "architecture": "amd64"}}});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        of(document)
    };
    let alerts = json!({"alertsByPackage": [{"package": {}, "alerts": [{"type": "distro-eol", "message": "…"}]}]});
    let answer = grype(alerts).decide(IMAGE, &ci);
    assert!(message(&answer).contains("the operating system debian 10 is past its end of life"), "{}", answer.response);
    let looks = |looks: bool| json!({"descriptor": {"name": "grype", "configuration": {"alerts": {"enable-eol-distro-warnings": looks}}}});
    assert!(grype(looks(true)).decide(IMAGE, &ci).allowed);
    assert!(grype(json!({"distro": {"name": "", "version": ""}})).decide(IMAGE, &ci).allowed);
    for untold in [looks(false), json!({})] {
        trap(Remedy::UntoldIsNotFine, &grype(untold), IMAGE, &ci, "denied failed", "allowed fresh");
    }
}

#[test]
fn objects_of_any_kind_say_it_where_the_settings_name_the_fields() {
    let object = |finding: Value, eol: Value| {
        json!({"apiVersion": "g/v1", "kind": "Scan", "metadata": {"name": "a".repeat(64), "namespace": "scans"},
               "spec": {"digest": digest('a'), "eol": eol, "found": [finding]}})
    };
    let fields = json!({"digest": "spec.digest", "findings": "spec.found", "id": "id", "severity": "severity",
        "knownExploited": "kev", "epssScore": "epss.score", "endOfLife": "spec.eol"});
    let custom =
        json!({"apiVersion": "g/v1", "kind": "Scan", "namespaces": ["scans"], "name": "{digestHex}", "fields": fields});
    let settings = json!({"reports": {"sources": [{"custom": custom}]},
        "acceptance": {"knownExploited": "reject", "epss": {"score": 0.5}, "endOfLife": "reject"}});
    let decide = |kev: Value, score: Value, eol: Value| {
        let found = json!({"id": "CVE-1", "severity": "LOW", "kev": kev, "epss": {"score": score}});
        let answer =
            World::default().image(IMAGE, 'a').object(object(found, eol)).decide_at(IMAGE, &settings, Timestamp(NOW.0));
        (answer.allowed, answer.state)
    };
    let (fresh, failed) = ("fresh".to_owned(), "failed".to_owned());
    assert_eq!(decide(json!(false), json!(0.1), json!(false)), (true, fresh.clone()));
    assert_eq!(decide(json!(true), json!(0.1), json!(false)), (false, fresh.clone()));
    assert_eq!(decide(json!(false), json!("0.7"), json!(false)), (false, fresh.clone()));
    assert_eq!(decide(json!(false), json!(0.1), json!(true)), (false, fresh.clone()));
    assert_eq!(decide(json!(null), json!(0.1), json!(false)), (false, failed.clone()));
    assert_eq!(decide(json!("no"), json!(0.1), json!(false)), (false, failed.clone()));
    assert_eq!(decide(json!(false), json!(null), json!(false)), (false, fresh));
    assert_eq!(decide(json!(false), json!(0.1), json!("no")), (false, failed));
}
