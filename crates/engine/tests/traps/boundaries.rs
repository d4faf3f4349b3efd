//! Lines that no other test would miss: each of these fails when one of them is gone or off by one.

use super::world::{Answer, World, digest};
use super::{IMAGE, KEY, beside, finding, report, scan_job, signed_reports, trap, trivy, with};
use image_admission_stub_host::{Call, REFUSED, StubHost, manifest};
use image_admission_untrusted::remedy::Remedy;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

/// `allowed fresh`, `denied stale`.
fn said(answer: &Answer) -> String {
    format!("{} {}", if answer.allowed { "allowed" } else { "denied" }, answer.state)
}

#[track_caller]
fn decides(world: &World, image: &str, settings: &Value, expected: &str) -> Answer {
    let answer = world.decide(image, settings);
    assert_eq!(said(&answer), expected, "{}", answer.response);
    answer
}

fn message(answer: &Answer) -> &str {
    answer.response["message"].as_str().unwrap_or_default()
}

/// `reg.io/team/app` of that digest, named by the digest alone beside its tag.
fn pinned(letter: char) -> String {
    format!("{IMAGE}@{}", digest(letter))
}

/// An entry of an index.
fn entry(letter: char, platform: Option<&str>) -> Value {
    let platform = platform.map(|platform| {
        let (os, architecture) = platform.split_once('/').unwrap();
        json!({"os": os, "architecture": architecture})
    });
    let mut entry = json!({"digest": digest(letter)});
    if let Some(platform) = platform {
        entry["platform"] = platform;
    }
    entry
}

/// [`IMAGE`] as an index with a digest of the letter `f`.
fn index(entries: &[Value]) -> World {
    let mut world = World::default().image(IMAGE, 'f');
    for entry in entries {
        let at = format!("reg.io/team/app@{}", entry["digest"].as_str().unwrap());
        world = world.and(|host| host.manifest(&at, manifest()));
    }
    world.manifest('f', json!({"manifests": entries})).proven('f')
}

/// trivy-operator's report of [`IMAGE`] with one finding of that severity.
fn trivy_with(name: &str, severity: &str, updated: &str) -> Value {
    let mut report = trivy("web", name, json!(digest('a')));
    report["report"]["updateTimestamp"] = json!(updated);
    report["report"]["vulnerabilities"][0]["severity"] = json!(severity);
    report["report"]["summary"]["highCount"] = json!(0);
    report["report"]["summary"][format!("{}Count", severity.to_lowercase())] = json!(1);
    report
}

fn trivy_settings() -> Value {
    json!({"reports": {"sources": [{"trivyOperator": {}}]}})
}

const TODAY: &str = "2026-11-20T10:00:00Z";
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

#[test]
fn a_report_from_the_future_is_too_old() {
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "maxAge": "24h"}});
    // A scanner's clock may be ahead, by ten minutes.
    for (updated, expected) in [
        ("2026-11-20T12:10:00Z", "allowed fresh"),
        ("2026-11-20T12:10:01Z", "denied stale"),
        ("2036-11-20T12:00:00Z", "denied stale"),
    ] {
        let world = World::default().image(IMAGE, 'a').object(trivy_with("pod-p-app", "HIGH", updated));
        decides(&world, IMAGE, &settings, expected);
    }
}

#[test]
fn sbomscanners_report_of_the_index_says_nothing_about_an_entry_without_a_platform() {
    let of_index = with(report('f', &[]), &[("/imageMetadata/platform", json!("linux/amd64"))]);
    let of_entry = report('c', &[]);
    let world = index(&[entry('a', Some("linux/amd64")), entry('c', None)])
        .object(report('a', &[]))
        .object(with(of_index, &[("/metadata/name", json!("of-the-index"))]));
    let before = world.decide(IMAGE, &json!({}));
    assert!(!before.allowed, "{}", before.response);
    decides(&world.object(of_entry), IMAGE, &json!({}), "allowed fresh");
}

#[test]
fn of_a_digest_every_report_in_the_namespace_counts() {
    let world = World::default().image(IMAGE, 'a').object(trivy_with("pod-p-app", "HIGH", TODAY)).object(trivy_with(
        "replicaset-other-app",
        "CRITICAL",
        TODAY,
    ));
    let answer = decides(&world, &pinned('a'), &trivy_settings(), "denied fresh");
    assert!(message(&answer).contains("web/replicaset-other-app"), "{}", answer.response);
}

/// Between two reads the object may become another image's, whose findings explain nothing here.
#[test]
fn sbomscanners_explanation_is_of_the_same_image() {
    let bad = report('a', &[finding("CVE-1", "CRITICAL")]);
    for entries in [&[][..], &[finding("CVE-OTHER", "CRITICAL")]] {
        let other = with(bad.clone(), &[("/imageMetadata/digest", json!(digest('b')))]);
        let other = with(other, &[("/report", report('b', entries)["report"].clone())]);
        let world = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, other);
        let answer = decides(&world, IMAGE, &json!({}), "denied fresh");
        assert!(message(&answer).contains("1 critical finding"), "{}", answer.response);
        assert!(!message(&answer).contains("CVE-"), "{}", answer.response);
    }
    let same = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, bad);
    assert!(message(&same.decide(IMAGE, &json!({}))).contains("CVE-1"), "what is the same image's explains");
}

#[test]
fn trivy_operators_explanation_is_of_the_same_image() {
    let bad = trivy_with("pod-p-app", "CRITICAL", TODAY);
    for (severity, id) in [("LOW", "CVE-1"), ("CRITICAL", "CVE-OTHER")] {
        let mut other = trivy_with("pod-p-app", severity, TODAY);
        other["report"]["artifact"]["digest"] = json!(digest('b'));
        other["report"]["vulnerabilities"][0]["vulnerabilityID"] = json!(id);
        let world = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, other);
        let answer = decides(&world, IMAGE, &trivy_settings(), "denied fresh");
        assert!(message(&answer).contains("1 critical finding"), "{}", answer.response);
        assert!(!message(&answer).contains("CVE-"), "{}", answer.response);
    }
    let same = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, bad);
    assert!(message(&same.decide(IMAGE, &trivy_settings())).contains("CVE-1"), "what is the same image's explains");
}

#[test]
fn kubescapes_explanation_is_of_the_same_image() {
    let settings = json!({"reports": {"sources": [{"kubescape": {}}]}});
    let bad = kubescape('a', "Critical");
    for severity in ["Low", "Critical"] {
        let mut other = kubescape('a', severity);
        other["metadata"]["annotations"]["kubescape.io/image-id"] = json!(format!("reg.io/team/app@{}", digest('b')));
        other["spec"]["payload"]["matches"][0]["vulnerability"]["id"] = json!("CVE-OTHER");
        let world = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, other);
        let answer = decides(&world, IMAGE, &settings, "denied fresh");
        assert!(message(&answer).contains("1 critical finding"), "{}", answer.response);
        assert!(!message(&answer).contains("CVE-OTHER"), "{}", answer.response);
    }
    let same = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, bad);
    assert!(message(&same.decide(IMAGE, &settings)).contains("CVE-1 in p"), "what is the same image's explains");
}

/// By a second policy behind the one that pinned it: an image without a tag is `latest` for Kubescape, and its pin has none.
#[test]
fn what_kubescape_knows_as_latest_it_knows_by_its_pin() {
    let settings = json!({"reports": {"sources": [{"kubescape": {}}]}});
    for (severity, expected) in [("Low", "allowed fresh"), ("Critical", "denied fresh")] {
        let mut report = kubescape('a', severity);
        report["metadata"]["name"] = json!("reg.io-team-app-latest-aaaaaa");
        let world = World::default().image("reg.io/team/app:latest", 'a').object(report);
        decides(&world, "reg.io/team/app", &settings, expected);
        decides(&world, &format!("reg.io/team/app@{}", digest('a')), &settings, expected);
    }
}

#[test]
fn a_custom_explanation_is_of_the_same_image() {
    let settings = json!({"reports": {"sources": [{"custom": {
        "apiVersion": "scans.example/v1", "kind": "Scan", "namespaces": ["scans"], "name": "{digestHex}",
        "fields": {"digest": "d", "findings": "found", "severity": "severity", "id": "id", "package": "package"}}}]}});
    let of = |letter: char, severity: &str, id: &str| {
        let mut report = custom(&"a".repeat(64), &json!({}), letter);
        report["found"] = json!([{"severity": severity, "id": id, "package": "p"}]);
        report
    };
    let bad = of('a', "CRITICAL", "CVE-1");
    for other in [of('b', "LOW", "CVE-OTHER"), of('b', "CRITICAL", "CVE-OTHER")] {
        let world = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, other);
        let answer = decides(&world, IMAGE, &settings, "denied fresh");
        assert!(message(&answer).contains("1 critical finding"), "{}", answer.response);
        assert!(!message(&answer).contains("CVE-OTHER"), "{}", answer.response);
    }
    let same = World::default().image(IMAGE, 'a').object(bad.clone()).later(2, bad);
    assert!(message(&same.decide(IMAGE, &settings)).contains("CVE-1 in p"), "what is the same image's explains");
}

/// Kubescape's report of [`IMAGE`] under a digest of that letter, with one finding.
fn kubescape(letter: char, severity: &str) -> Value {
    json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
           "metadata": {"name": format!("reg.io-team-app-1.0-{}", letter.to_string().repeat(6)), "namespace": "kubescape",
                        "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest(letter)),
                                        "kubescape.io/image-tag": IMAGE}},
           "spec": {"payload": {"source": {"type": "image"}, "descriptor": {"name": "grype"}, "matches": [
               {"vulnerability": {"id": "CVE-1", "severity": severity}, "artifact": {"name": "p"}}]}}})
}

/// An explanation that contradicts itself softens nothing: known bad is not "the scan failed".
#[test]
fn an_unreadable_explanation_leaves_a_rejection_a_rejection() {
    let settings = json!({"scanPolicies": {"scanFailed": "accept-outages", "reportPending": "accept"}});
    let bad = report('a', &[finding("CVE-1", "CRITICAL"), finding("CVE-2", "CRITICAL")]);
    let without_entries = with(bad.clone(), &[("/report/results", json!([]))]);
    let world = World::default().image(IMAGE, 'a').object(bad).later(2, without_entries);
    let answer = decides(&world, IMAGE, &settings, "denied fresh");
    assert!(message(&answer).contains("2 critical findings"), "{}", answer.response);

    let mut bad = trivy_with("pod-p-app", "CRITICAL", TODAY);
    bad["report"]["summary"]["criticalCount"] = json!(2);
    let mut without_entries = bad.clone();
    without_entries["report"]["vulnerabilities"] = json!([]);
    let world = World::default().image(IMAGE, 'a').object(bad).later(2, without_entries);
    let settings = json!({"scanPolicies": settings["scanPolicies"], "reports": trivy_settings()["reports"]});
    let answer = decides(&world, IMAGE, &settings, "denied fresh");
    assert!(message(&answer).contains("2 critical findings"), "{}", answer.response);
}

#[test]
fn what_is_old_doesnt_count_beside_what_is_fresh() {
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "maxAge": "24h"}});
    let world = |here: (&str, &str), elsewhere: (&str, &str)| {
        World::default().image(IMAGE, 'a').object(trivy_with("pod-p-app", here.0, here.1)).object(trivy_with(
            "replicaset-other-app",
            elsewhere.0,
            elsewhere.1,
        ))
    };
    let (old_bad, old_clean) = (("CRITICAL", LONG_AGO), ("LOW", LONG_AGO));
    let (new_bad, new_clean) = (("CRITICAL", TODAY), ("LOW", TODAY));
    for (one, other, expected) in [
        (old_bad, new_clean, "allowed fresh"),
        (old_clean, new_bad, "denied fresh"),
        (old_clean, old_clean, "denied stale"),
        (new_clean, new_clean, "allowed fresh"),
    ] {
        decides(&world(one, other), &pinned('a'), &settings, expected);
        decides(&world(other, one), &pinned('a'), &settings, expected);
    }
}

/// A list is older than now. What became another image's since is no trace of this one.
#[test]
fn what_was_listed_and_became_another_images_says_nothing() {
    let elsewhere = with(report('a', &[]), &[("/metadata/name", json!("by-another-registry"))]);
    let other = with(elsewhere.clone(), &[("/imageMetadata/digest", json!(digest('b')))]);
    let world = World::default().image(IMAGE, 'a').object(other).and(|host| host.listed([elsewhere]));
    decides(&world, IMAGE, &json!({}), "denied not_scanned");

    let elsewhere = trivy_with("replicaset-other-app", "LOW", TODAY);
    let other = with(elsewhere.clone(), &[("/report/artifact/digest", json!(digest('b')))]);
    let world = World::default().image(IMAGE, 'a').object(other).and(|host| host.listed([elsewhere]));
    decides(&world, IMAGE, &trivy_settings(), "denied not_scanned");

    let elsewhere = custom("report", &json!({"app": "scans"}), 'a');
    let other = with(elsewhere.clone(), &[("/d", json!(digest('b')))]);
    let world = World::default().image(IMAGE, 'a').object(other).and(|host| host.listed([elsewhere]));
    decides(&world, IMAGE, &custom_settings(), "denied not_scanned");
}

/// A report of a kind of one's own, of that digest.
fn custom(name: &str, labels: &Value, letter: char) -> Value {
    json!({"apiVersion": "scans.example/v1", "kind": "Scan", "d": digest(letter), "v": "pass",
           "metadata": {"name": name, "namespace": "scans", "labels": labels}})
}

fn custom_settings() -> Value {
    json!({"reports": {"sources": [{"custom": {
        "apiVersion": "scans.example/v1", "kind": "Scan", "namespaces": ["scans"], "selector": "app=scans",
        "fields": {"digest": "d", "verdict": "v"}}}]}})
}

#[test]
fn a_selector_holds_although_a_watch_filters_nothing() {
    let labelled = || World::default().image(IMAGE, 'a').object(custom("report", &json!({"app": "scans"}), 'a'));
    decides(&labelled(), IMAGE, &custom_settings(), "allowed fresh");
    let world = labelled();
    world.decide(IMAGE, &custom_settings());
    let calls = world.host.calls();
    let is_selected = |call: &Call| call.operation.starts_with("list") && call.field("label_selector") == "app=scans";
    assert!(calls.iter().any(is_selected), "{calls:?}");
    let others = || World::default().image(IMAGE, 'a').object(custom("report", &json!({"app": "others"}), 'a'));
    for world in [others(), others().and(StubHost::unfiltered)] {
        decides(&world, IMAGE, &custom_settings(), "denied not_scanned");
    }
    // Between the list and now it lost its label.
    let world = others().and(|host| host.listed([custom("report", &json!({"app": "scans"}), 'a')]));
    decides(&world, IMAGE, &custom_settings(), "denied not_scanned");
}

#[test]
fn an_exemption_holds_until_the_last_second_of_its_last_day() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let settings = json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "r", "expires": "2026-11-20"}]});
    let end = Timestamp::parse("2026-11-20T23:59:59Z").unwrap();
    assert!(world.decide_at(IMAGE, &settings, end).allowed);
    let over = world.decide_at(IMAGE, &settings, Timestamp(end.0 + 1));
    assert!(!over.allowed && message(&over).contains("its exemption ended 2026-11-20"), "{}", over.response);
}

#[test]
fn an_exemptions_end_is_warned_of_for_exactly_seven_days() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let settings = json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "r", "expires": "2026-11-30"}]});
    let end = Timestamp::parse("2026-11-30T23:59:59Z").unwrap();
    let is_warned = |before: i64| {
        let answer = world.decide_at(IMAGE, &settings, Timestamp(end.0 - before));
        assert!(answer.allowed, "{}", answer.response);
        !answer.response["warnings"].is_null()
    };
    const DAY: i64 = 24 * 3600;
    assert!(is_warned(7 * DAY), "with seven days to go");
    assert!(!is_warned(7 * DAY + 1), "with a second more");
    assert!(is_warned(0) && is_warned(6 * DAY) && !is_warned(8 * DAY));
}

/// Grype names an advisory, and beside it the CVE that people know.
#[test]
fn a_vulnerability_goes_by_every_of_its_names() {
    let document = grype(&json!({"architecture": "amd64", "os": "linux"}), "Critical");
    let world = World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let mut settings = unsigned(&json!({}));
    decides(&world, IMAGE, &settings, "denied fresh");
    for (id, expected) in [("CVE-2026-1", "allowed fresh"), ("GHSA-1", "allowed fresh"), ("CVE-2026-2", "denied fresh")]
    {
        settings["exemptions"] = json!([{"vulnerability": id, "reason": "r", "expires": "2099-01-01"}]);
        decides(&world, IMAGE, &settings, expected);
    }
    let document = grype(&json!({"architecture": "amd64", "os": "linux"}), "Low");
    let world = World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let mut settings = unsigned(&json!({}));
    decides(&world, IMAGE, &settings, "allowed fresh");
    settings["acceptance"] = json!({"denyAlways": ["CVE-2026-1"]});
    decides(&world, IMAGE, &settings, "denied fresh");
}

#[test]
fn the_newest_scan_job_of_the_registry_decides() {
    let image = with(report('a', &[]), &[("/kind", json!("Image"))]);
    let failed = json!([{"type": "Failed", "status": "True", "message": "unauthorized"}]);
    let going = json!([{"type": "InProgress", "status": "True"}]);
    let job = |name: &str, registry: &str, created: &str, conditions: &Value| {
        with(
            scan_job(conditions, ""),
            &[
                ("/metadata/name", json!(name)),
                ("/metadata/uid", json!(name)),
                ("/metadata/creationTimestamp", json!(created)),
                ("/spec/registry", json!(registry)),
            ],
        )
    };
    let (older, newer, newest) = ("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z");
    for (before, after, expected) in [(&failed, &going, "denied pending"), (&going, &failed, "denied failed")] {
        // Another registry's says nothing about this one, however new it is.
        let of_other = job("y", "other", newest, before);
        // Neither its place in the list nor its name makes it the newest.
        for (first, second) in [("b", "c"), ("c", "b")] {
            let jobs = [job(first, "r", older, before), job(second, "r", newer, after), of_other.clone()];
            let world = |jobs: Vec<Value>| {
                let world = World::default().image(IMAGE, 'a').object(image.clone());
                jobs.into_iter().fold(world, World::object)
            };
            decides(&world(jobs.to_vec()), IMAGE, &json!({}), expected);
            decides(&world(jobs.iter().rev().cloned().collect()), IMAGE, &json!({}), expected);
        }
    }
}

/// Settings that take reports from beside the image, whoever put them there.
fn unsigned(more: &Value) -> Value {
    let mut registry = json!({"allowUnsigned": true});
    for (key, value) in more.as_object().unwrap() {
        registry[key] = value.clone();
    }
    json!({"reports": {"sources": [{"registry": registry}]}})
}

/// The same for those of an image's platforms.
fn of_platforms(platforms: &[&str], more: &Value) -> Value {
    let mut settings = unsigned(more);
    settings["reports"]["platforms"] = json!(platforms);
    settings
}

/// Grype's report of an image, with one finding.
fn grype(target: &Value, severity: &str) -> Value {
    json!({"descriptor": {"name": "grype", "timestamp": TODAY}, "source": {"type": "image", "target": target},
           "matches": [{"vulnerability": {"id": "GHSA-1", "severity": severity},
                        "relatedVulnerabilities": [{"id": "CVE-2026-1"}], "artifact": {"name": "p", "version": "1"}}]})
}

fn verdict(word: &str) -> Value {
    json!({"status": word, "detail": {}})
}

fn amd64_and_arm64() -> World {
    index(&[entry('a', Some("linux/amd64")), entry('c', Some("linux/arm64"))])
}

#[test]
fn a_signature_that_cant_be_looked_up_is_not_a_missing_one() {
    let artifact = || World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), verdict("pass"));
    let at = format!("reg.io/team/app@{}", digest('d'));
    let mut settings = signed_reports();
    settings["scanPolicies"] = json!({"reportPending": "accept"});
    decides(&artifact(), IMAGE, &settings, "allowed not_scanned");
    decides(&artifact().signed(&at, KEY), IMAGE, &settings, "allowed fresh");
    let world = artifact().and(|host| host.fails("v2/verify", REFUSED));
    let answer = decides(&world, IMAGE, &settings, "denied look_up_failed");
    assert!(message(&answer).contains("the registry refuses the connection"), "{}", answer.response);
}

#[test]
fn an_artifact_that_somebody_else_signed_doesnt_count() {
    let other = KEY.replace("MFk", "MFo");
    let world = World::default()
        .image(IMAGE, 'a')
        .artifact(&beside('a'), 'd', Some('a'), verdict("pass"))
        .signed(&format!("reg.io/team/app@{}", digest('d')), &other);
    decides(&world, IMAGE, &signed_reports(), "denied not_scanned");
    let mut settings = signed_reports();
    let both = json!([{"name": "ci", "cosign": {"key": {"data": KEY}}},
                      {"name": "release", "cosign": {"key": {"data": other}}}]);
    settings["reports"]["sources"][0]["registry"]["attestors"] = both;
    decides(&world, IMAGE, &settings, "allowed fresh");
}

#[test]
fn a_document_speaks_of_the_platform_that_it_names() {
    let document = grype(&json!({"architecture": "amd64", "os": "linux"}), "Low");
    let world = amd64_and_arm64().artifact(&beside('f'), 'd', Some('f'), document);
    decides(&world, IMAGE, &of_platforms(&["linux/amd64"], &json!({})), "allowed fresh");
    decides(&world, IMAGE, &of_platforms(&["linux/arm64"], &json!({})), "denied not_scanned");
    decides(&world, IMAGE, &unsigned(&json!({})), "denied not_scanned");
    // What it names comes before what the settings say.
    let arm64 = json!({"platform": "linux/arm64"});
    decides(&world, IMAGE, &of_platforms(&["linux/arm64"], &arm64), "denied not_scanned");
}

#[test]
fn a_document_of_an_index_whose_platform_cant_be_read_speaks_of_none() {
    let amd64 = of_platforms(&["linux/amd64"], &json!({"platform": "linux/amd64"}));
    for (os, architecture) in
        [("linux", "arm64/v8"), ("linux/arm", "v7"), ("linux", "a md"), ("linux", "/"), ("windows", ""), (" ", "arm64")]
    {
        let target = json!({"architecture": architecture, "os": os});
        let world = amd64_and_arm64().artifact(&beside('f'), 'd', Some('f'), grype(&target, "Low"));
        decides(&world, IMAGE, &amd64, "denied not_scanned");
        // Of the manifest itself nothing else can be meant.
        let world = amd64_and_arm64().artifact(&beside('a'), 'd', Some('a'), grype(&target, "Low"));
        decides(&world, IMAGE, &amd64, "allowed fresh");
    }
}

#[test]
fn a_document_of_an_index_without_a_platform_speaks_of_none_but_the_one_that_the_settings_name() {
    let world = amd64_and_arm64().artifact(&beside('f'), 'd', Some('f'), grype(&json!({}), "Low"));
    for platform in ["linux/amd64", "linux/arm64"] {
        decides(&world, IMAGE, &of_platforms(&[platform], &json!({})), "denied not_scanned");
        for named in ["linux/amd64", "linux/arm64"] {
            let expected = if named == platform { "allowed fresh" } else { "denied not_scanned" };
            decides(&world, IMAGE, &of_platforms(&[platform], &json!({"platform": named})), expected);
        }
    }
    decides(&world, IMAGE, &unsigned(&json!({"platform": "linux/amd64"})), "denied not_scanned");
    // Who judged the index judged all of it.
    let world = amd64_and_arm64().artifact(&beside('f'), 'd', Some('f'), verdict("pass"));
    decides(&world, IMAGE, &unsigned(&json!({})), "allowed fresh");
}

#[test]
fn a_document_of_the_index_says_nothing_about_an_entry_without_a_platform() {
    let amd64 = json!({"architecture": "amd64", "os": "linux"});
    let settings = unsigned(&json!({"platform": "linux/amd64"}));
    for document in [grype(&amd64, "Low"), grype(&json!({}), "Low"), verdict("pass")] {
        let world = index(&[entry('c', None)]).artifact(&beside('f'), 'd', Some('f'), document.clone());
        decides(&world, IMAGE, &settings, "denied not_scanned");
        let world = world.artifact(&beside('c'), 'e', Some('c'), document);
        decides(&world, IMAGE, &settings, "allowed fresh");
    }
}

#[test]
fn an_artifacts_answer_is_of_the_digest_that_was_asked_for() {
    let artifact = || World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), verdict("pass"));
    let settings = unsigned(&json!({}));
    for (misnamed, expected) in
        [(None, "allowed fresh"), (Some('d'), "allowed fresh"), (Some('e'), "denied look_up_failed")]
    {
        let world = match misnamed.map(digest) {
            Some(misnamed) => artifact().and(|host| {
                let manifest = json!({"subject": {"digest": digest('a')}});
                let answer = json!({"manifest": manifest, "digest": misnamed, "config": verdict("pass")});
                host.artifact_says(&format!("reg.io/team/app@{}", digest('d')), answer)
            }),
            None => artifact(),
        };
        decides(&world, IMAGE, &settings, expected);
    }
}

/// [`IMAGE`] and its index of referrers, where each has an artifact type and a document.
fn referrers(referrers: &[(&str, Value)]) -> World {
    let mut world = World::default().image(IMAGE, 'a');
    let mut entries = Vec::new();
    for (position, (artifact_type, document)) in referrers.iter().enumerate() {
        let digest_of = format!("sha256:{position:064x}");
        let at = format!("reg.io/team/app@{digest_of}");
        let manifest = json!({"schemaVersion": 2, "config": {}, "layers": [], "subject": {"digest": digest('a')}});
        world = world.and(|host| host.artifact(&at, manifest, document.clone()));
        entries.push(json!({"digest": digest_of, "artifactType": artifact_type}));
    }
    let tag = format!("reg.io/team/app:sha256-{}", "a".repeat(64));
    world.and(|host| host.tag(&tag, &digest('e'))).manifest('e', json!({"manifests": entries})).proven('e')
}

/// What another reader finds in the index may be the report that says that the image is bad.
#[test]
fn referrers_with_something_hidden_are_a_failed_look_up() {
    const SCAN: &str = "application/vnd.example.scan+json";
    let settings = unsigned(&json!({"artifactType": SCAN}));
    let world = referrers(&[(SCAN, verdict("pass"))]).unproven();
    trap(Remedy::ProveIndexes, &world, IMAGE, &settings, "denied look_up_failed", "allowed fresh");
}

#[test]
fn of_the_referrers_those_of_the_type_count() {
    const SCAN: &str = "application/vnd.example.scan+json";
    const OTHER: &str = "application/vnd.example.sbom+json";
    let settings = unsigned(&json!({"artifactType": SCAN}));
    let (pass, fail) = (verdict("pass"), verdict("fail"));
    for (there, expected) in [
        (vec![(SCAN, &pass)], "allowed fresh"),
        (vec![(OTHER, &fail), (SCAN, &pass)], "allowed fresh"),
        (vec![(OTHER, &pass), (SCAN, &fail)], "denied fresh"),
        (vec![(SCAN, &pass), (SCAN, &fail)], "denied fresh"),
        (vec![(OTHER, &pass)], "denied not_scanned"),
        (vec![], "denied not_scanned"),
        (vec![(SCAN, &pass); 16], "allowed fresh"),
        (vec![(SCAN, &pass); 17], "denied look_up_failed"),
        ([vec![(SCAN, &pass); 16], vec![(OTHER, &pass); 2]].concat(), "allowed fresh"),
    ] {
        let there: Vec<(&str, Value)> = there.into_iter().map(|(of, document)| (of, document.clone())).collect();
        decides(&referrers(&there), IMAGE, &settings, expected);
    }
    // Nothing refers to it.
    decides(&World::default().image(IMAGE, 'a'), IMAGE, &settings, "denied not_scanned");
}

/// A new workload's own report may be old, and that of its twin beside it new.
#[test]
fn a_stale_report_under_the_own_name_hides_no_fresh_one() {
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "maxAge": "24h"}});
    for (severity, expected) in [("LOW", "allowed fresh"), ("CRITICAL", "denied fresh")] {
        let world = World::default()
            .image(IMAGE, 'a')
            .object(trivy_with("pod-p-app", "LOW", LONG_AGO))
            .object(trivy_with("replicaset-other-app", severity, TODAY));
        decides(&world, IMAGE, &settings, expected);
    }
    let of_job = |name: &str, entries: &[Value]| {
        let name_of = if name == "old" { report('a', &[])["metadata"]["name"].clone() } else { json!(name) };
        let mut report = with(report('a', entries), &[("/metadata/name", name_of)]);
        report["metadata"]["labels"]["sbomscanner.kubewarden.io/scanjob-uid"] = json!(name);
        report
    };
    let job = |name: &str, completed: &str| {
        let done = json!([{"type": "Complete", "status": "True"}]);
        with(scan_job(&done, completed), &[("/metadata/name", json!(name)), ("/metadata/uid", json!(name))])
    };
    let settings = json!({"reports": {"maxAge": "24h"}});
    for (entries, expected) in [(vec![], "allowed fresh"), (vec![finding("CVE-1", "CRITICAL")], "denied fresh")] {
        let world = World::default()
            .image(IMAGE, 'a')
            .object(of_job("old", &[]))
            .object(of_job("new", &entries))
            .object(job("old", LONG_AGO))
            .object(job("new", TODAY));
        decides(&world, IMAGE, &settings, expected);
    }
}

/// Where a report under a name that nobody claims decides, the namespace isn't listed.
#[test]
fn a_report_that_decides_saves_the_list() {
    let lists = |report: &Value, image: &str, settings: &Value| {
        let world = World::default().image(IMAGE, 'a').object(report.clone());
        decides(&world, image, settings, "allowed fresh");
        world.host.count("list")
    };
    let (sbomscanners, trivys) = (report('a', &[]), trivy_with("pod-p-app", "LOW", TODAY));
    let by_tag_and_by_digest =
        |report, settings: &Value| (lists(report, IMAGE, settings), lists(report, &pinned('a'), settings));
    assert_eq!(by_tag_and_by_digest(&sbomscanners, &json!({})), (0, 1));
    assert_eq!(by_tag_and_by_digest(&trivys, &trivy_settings()), (1, 1), "an owner's name is a claim");
}

/// One GET of each computed name, one list, and one GET of each other report that names the digest.
#[test]
fn what_a_claimed_name_costs() {
    let mut world = World::default().image(IMAGE, 'a').object(trivy_with("pod-p-app", "LOW", TODAY));
    for number in 0..3 {
        let twin = trivy_with(&format!("replicaset-twin-{number}-app"), "LOW", TODAY);
        let other = trivy_with(&format!("replicaset-other-{number}-app"), "LOW", TODAY);
        world = world.object(twin).object(with(other, &[("/report/artifact/repository", json!("team/other"))]));
    }
    decides(&world, IMAGE, &trivy_settings(), "allowed fresh");
    let asked = (world.host.count("get_resource"), world.host.count("list"));
    assert_eq!(asked, (4, 1), "{:#?}", world.host.calls());
}

/// Which of two entries for one platform was scanned nobody can tell.
#[test]
fn the_indexs_digest_is_no_platforms_that_it_has_twice() {
    let of_index = |of: Value| {
        let mut report = trivy("web", "pod-p-app", json!(digest('f')));
        report["report"]["artifact"]["digest"] = of;
        report
    };
    let twice = [entry('a', Some("linux/amd64")), entry('c', Some("linux/amd64"))];
    let world = index(&twice[..1]).object(of_index(json!(digest('f'))));
    decides(&world, IMAGE, &trivy_settings(), "allowed fresh");
    let world = index(&twice).object(of_index(json!(digest('f'))));
    decides(&world, IMAGE, &trivy_settings(), "denied other_image");
    let document = grype(&json!({"architecture": "amd64", "os": "linux"}), "Low");
    let world = index(&twice).artifact(&beside('f'), 'd', Some('f'), document);
    decides(&world, IMAGE, &unsigned(&json!({})), "denied other_image");
}

/// An index within the index can't be judged. That hides nothing that the next source knows.
#[test]
fn what_cant_be_judged_hides_nothing_of_the_rest() {
    let mut nested = entry('c', Some("linux/arm64"));
    nested["mediaType"] = json!("application/vnd.oci.image.index.v1+json");
    let entries = [nested, entry('a', Some("linux/amd64"))];
    let settings = json!({"scanPolicies": {"scanFailed": "accept-outages"},
                          "reports": {"sources": [{"sbomscanner": {}}, {"trivyOperator": {}}]}});
    let world = |severity: &str| index(&entries).object(trivy_with("pod-p-app", severity, TODAY));
    decides(&world("CRITICAL"), IMAGE, &settings, "denied fresh");
    decides(&world("LOW"), IMAGE, &settings, "denied look_up_failed");
    decides(&world("LOW"), IMAGE, &json!({"reports": settings["reports"]}), "denied look_up_failed");
}

#[test]
fn what_is_always_denied_is_named_as_the_settings_do() {
    let document = grype(&json!({"architecture": "amd64", "os": "linux"}), "Low");
    let world = World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), document);
    let mut settings = unsigned(&json!({}));
    settings["acceptance"] = json!({"denyAlways": ["CVE-2026-1"]});
    let answer = decides(&world, IMAGE, &settings, "denied fresh");
    assert!(message(&answer).contains("CVE-2026-1") && message(&answer).contains("GHSA-1"), "{}", answer.response);
}

/// What a ScanJob at work wrote is no older than its start. One that failed or was done without a time says nothing.
#[test]
fn a_scan_job_at_work_made_its_reports_since_it_started() {
    let settings = json!({"reports": {"maxAge": "24h"}});
    let is = |kind: &str| json!([{"type": kind, "status": "True"}]);
    for (conditions, started, expected) in [
        (is("InProgress"), "2026-11-20T10:00:00Z", "allowed fresh"),
        (is("InProgress"), LONG_AGO, "denied stale"),
        (is("InProgress"), "", "denied stale"),
        (is("Failed"), "2026-11-20T10:00:00Z", "denied stale"),
        (is("Complete"), "2026-11-20T10:00:00Z", "denied stale"),
    ] {
        let job = with(scan_job(&conditions, ""), &[("/status/startTime", json!(started))]);
        let world = World::default().image(IMAGE, 'a').object(report('a', &[])).object(job);
        decides(&world, IMAGE, &settings, expected);
    }
}

/// Several Registry resources may have the same image scanned.
#[test]
fn of_several_images_of_the_scanners_the_worst_decides() {
    let image = |name: &str, registry: &str| {
        let image = with(report('a', &[]), &[("/kind", json!("Image")), ("/metadata/name", json!(name))]);
        with(image, &[("/imageMetadata/registry", json!(registry))])
    };
    let job = |name: &str, kind: &str, registry: &str| {
        let conditions = json!([{"type": kind, "status": "True"}]);
        let names = [("/metadata/name", json!(name)), ("/metadata/uid", json!(name))];
        with(with(scan_job(&conditions, ""), &names), &[("/spec/registry", json!(registry))])
    };
    for (first, second) in [("InProgress", "Failed"), ("Failed", "InProgress")] {
        let world = World::default()
            .image(IMAGE, 'a')
            .object(image("x", "r"))
            .object(image("y", "s"))
            .object(job("one", first, "r"))
            .object(job("two", second, "s"));
        decides(&world, IMAGE, &json!({"scanPolicies": {"reportPending": "accept"}}), "denied failed");
    }
}

/// Reports are written over in place: under the own name may still stand the previous image's.
#[test]
fn the_previous_images_report_hides_none_of_the_same_image_elsewhere() {
    let previous = with(trivy_with("pod-p-app", "LOW", TODAY), &[("/report/artifact/digest", json!(digest('b')))]);
    for (severity, expected) in [("LOW", "allowed fresh"), ("CRITICAL", "denied fresh")] {
        let world = World::default().image(IMAGE, 'a').object(previous.clone()).object(trivy_with(
            "replicaset-other-app",
            severity,
            TODAY,
        ));
        decides(&world, IMAGE, &trivy_settings(), expected);
    }
}

/// A tag that leads to what isn't there is no tag that isn't there.
#[test]
fn an_artifact_that_cant_be_read_is_a_failed_look_up() {
    let world = World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', Some('a'), verdict("pass"));
    let mut settings = unsigned(&json!({}));
    settings["scanPolicies"] = json!({"reportPending": "accept"});
    decides(&world, IMAGE, &settings, "allowed fresh");
    let world = world.and(|host| host.without(&format!("reg.io/team/app@{}", digest('d'))));
    decides(&world, IMAGE, &settings, "denied look_up_failed");
    let world = world.and(|host| host.without(&beside('a')));
    decides(&world, IMAGE, &settings, "allowed not_scanned");
}
