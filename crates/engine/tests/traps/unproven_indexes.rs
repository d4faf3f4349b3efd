//! What runs where somebody wrote an index, and another than the scan phase asks after reports.

use super::world::{Answer, World, digest};
use super::{IMAGE, report, stop_the_clock, with};
use serde_json::{Value, json};

/// An index of these entries, where `a` (linux/amd64) and `c` (linux/arm64) have clean reports.
fn index(entries: &[Value]) -> World {
    let arm64 = with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]);
    let world = World::default().image(IMAGE, 'f').object(report('a', &[])).object(arm64);
    world.manifest('f', json!({"manifests": entries})).proven('f')
}

fn of(letter: char, os: &str, architecture: &str, variant: &str) -> Value {
    let mut platform = json!({"os": os, "architecture": architecture});
    if !variant.is_empty() {
        platform["variant"] = json!(variant);
    }
    json!({"digest": digest(letter), "platform": platform})
}

fn runs(answer: &Answer) -> String {
    answer.response["mutated_object"]["spec"]["containers"][0]["image"].as_str().unwrap_or("as it was").to_owned()
}

/// containerd takes an empty `os` for the node's own, `i386` for `386`, and of equals the first in the index.
#[test]
fn a_platform_in_the_words_of_containerd_is_judged() {
    let clean = || [of('a', "linux", "amd64", ""), of('c', "linux", "arm64", "")];
    let both = json!(["linux/amd64", "linux/arm64"]);
    let exact = json!(["linux/amd64", "linux/arm64/v8"]);
    let mut wrong = Vec::new();
    for (what, listed, hidden) in [
        ("os left empty", &both, of('e', "", "amd64", "")),
        ("os left empty, arm64", &both, of('e', "", "arm64", "")),
        ("os left empty, variant", &both, of('e', "", "arm64", "v8")),
        ("variant v8.0", &exact, of('e', "linux", "arm64", "v8.0")),
    ] {
        let entries = [vec![hidden], clean().to_vec()].concat();
        let answer = index(&entries).decide(IMAGE, &json!({"reports": {"platforms": listed}}));
        if answer.allowed {
            wrong.push(what);
        }
    }
    let entries = [of('e', "linux", "i386", ""), of('a', "linux", "386", ""), of('c', "linux", "arm64", "")];
    let of_386 = with(report('a', &[]), &[("/imageMetadata/platform", json!("linux/386"))]);
    let world = index(&entries).object(of_386);
    if world.decide(IMAGE, &json!({"reports": {"platforms": both}})).allowed {
        wrong.push("i386 beside 386");
    }
    assert_eq!(wrong, Vec::<&str>::new(), "admitted with an entry that nobody judged, which nodes run");
}

/// The bytes of the index aren't what is shown.
fn unproven() -> World {
    index(&[of('a', "linux", "amd64", "")]).unproven()
}

/// Pre-scan accepts, so that nothing but an expression looks at reports: what it was told is what runs.
#[test]
fn what_an_expression_was_told_is_what_runs() {
    let settings = |mutate: bool| {
        json!({
            "preScanPolicies": {"defaultPolicy": "accept"}, "reports": {"platforms": ["linux/amd64"]},
            "imageVerification": [{"name": "scanned", "verifyPreScanAccepted": true,
                "validationConfigurations": {"mutateDigest": mutate, "verifyDigest": false},
                "validations": [{"expression": "images.all.all(i, scanReport(i).Passed)"}]}]})
    };
    for image in [IMAGE.to_owned(), format!("{IMAGE}@{}", digest('f'))] {
        for mutate in [true, false] {
            let answer = unproven().decide(&image, &settings(mutate));
            let is_safe = !answer.allowed || runs(&answer).ends_with(&digest('a'));
            assert!(is_safe, "{image} {mutate}: runs {}: {}", runs(&answer), answer.response);
        }
    }
}

/// The same of a rule in Rego, which is asked when everything is pinned already.
#[test]
fn what_a_rule_was_told_is_what_runs() {
    stop_the_clock();
    let rule = "package scanned\ndeny[msg] { some image; report := input.scanReports[image]; not report.Passed; msg := report.Reason }";
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "reports": {"platforms": ["linux/amd64"]},
        "regoPolicies": [{"name": "scanned", "kinds": ["Pod"], "rego": rule}]});
    let answer = unproven().decide(IMAGE, &settings);
    assert!(!answer.allowed || runs(&answer).ends_with(&digest('a')), "runs {}: {}", runs(&answer), answer.response);
}

/// An image that an expression finds elsewhere in the object is pinned by nobody.
#[test]
fn an_image_outside_of_the_lists_is_not_taken_for_pinned() {
    let settings = json!({"reports": {"platforms": ["linux/amd64"]},
        "imageVerification": [{"name": "sidecar", "validations": [{"expression": "scanReport('reg.io/team/app:1.0').Passed"}]}]});
    // What runs is another image, which is clean.
    let world = unproven().image("reg.io/team/app:2.0", 'a');
    let answer = world.decide("reg.io/team/app:2.0", &settings);
    assert!(!answer.allowed, "{}", answer.response);
}

/// A policy that only audits, and that the image fails, decides about no digest.
#[test]
fn who_was_asked_and_did_not_sign_unpins_no_platform() {
    let settings = json!({"reports": {"platforms": ["linux/amd64"]}, "imageVerification": [{"name": "signed",
        "validationActions": ["Audit"], "attestors": [{"name": "team", "cosign": {"key": {"data": super::KEY}}}],
        "validations": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}]}]});
    let world = index(&[of('a', "linux", "amd64", ""), of('e', "linux", "arm64", "")]);
    let answer = world.decide(IMAGE, &settings);
    assert!(!answer.allowed || runs(&answer).ends_with(&digest('a')), "runs {}: {}", runs(&answer), answer.response);
}

/// A scanner that names the index reports on what it saw in it, which may be what is hidden; what is pinned is what is shown.
#[test]
fn a_report_of_an_unproven_index_says_nothing_of_the_platform_that_is_pinned() {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'e')]).unproven().object(report('f', &[]));
    let answer = world.decide(IMAGE, &json!({"reports": {"platforms": ["linux/amd64"]}}));
    assert!(!answer.allowed, "runs {}: {}", runs(&answer), answer.response);
}

/// Who signed the index signed what they read in it, which may be what is hidden: they never saw what is pinned.
#[test]
fn a_signature_of_an_unproven_index_vouches_for_no_platform() {
    let settings = json!({"reports": {"platforms": ["linux/amd64"]}, "imageVerification": [{"name": "signed",
        "attestors": [{"name": "team", "cosign": {"key": {"data": super::KEY}}}],
        "validations": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}]}]});
    let world = unproven().signed(&format!("reg.io/team/app@{}", digest('f')), super::KEY);
    let answer = world.decide(IMAGE, &settings);
    assert!(!answer.allowed, "runs {}: {}", runs(&answer), answer.response);
}
