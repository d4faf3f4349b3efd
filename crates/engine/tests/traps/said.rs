//! What people are told who have something to do: the line below the first, which is documented to the letter.

use super::world::{NOW, World, digest};
use super::{IMAGE, finding, report, trivy, with};
use serde_json::{Value, json};

/// The lines below the first.
#[track_caller]
fn said(world: &World, settings: &Value) -> String {
    let answer = world.decide_at(IMAGE, settings, NOW);
    assert!(!answer.allowed, "{}", answer.response);
    let message = answer.response["message"].as_str().unwrap();
    message.split_once('\n').unwrap().1.to_owned()
}

/// Under the workload's name, and where only a list shows it. The setting that is named does accept it.
#[test]
fn a_report_of_the_tag_alone_says_which_setting_accepts_it() {
    let settings = |identity: &str| json!({"reports": {"sources": [{"trivyOperator": {"identity": identity}}]}});
    for name in ["pod-p-app", "somewhere-else"] {
        let of = |tag: &str| {
            let artifact = json!({"repository": "team/app", "tag": tag, "digest": ""});
            World::default()
                .image(IMAGE, 'a')
                .object(with(trivy("web", name, json!("")), &[("/report/artifact", artifact)]))
        };
        assert_eq!(
            said(&of("1.0"), &settings("digest")),
            format!(
                "'{IMAGE}': no scan report yet: VulnerabilityReport web/{name} names only the tag {IMAGE}, which may have been \
                 another image when it was scanned; set `identity: tag` in the source `trivyOperator` to accept that"
            )
        );
        assert!(of("1.0").decide(IMAGE, &settings("tag")).allowed);
        // Of another tag, no setting accepts it.
        assert!(!said(&of("0.9"), &settings("digest")).contains("identity: tag"));
    }
}

#[test]
fn a_registry_that_is_not_listed_is_no_failed_scan() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
    assert_eq!(
        said(&world, &json!({"registries": ["ghcr.io"]})),
        format!(
            "'{IMAGE}': registry `reg.io` isn't allowed (settings: `registries: ghcr.io`); take the image from an allowed one, or \
             add `reg.io`"
        )
    );
}

#[test]
fn custom_rules_alone_are_named_beside_a_scan_that_passed() {
    let by = format!("VulnerabilityReport sbomscanner/{}", super::computed("reg.io", "team/app", "1.0", &digest('a')));
    let rules = |more: &str| json!({"customRules": format!("deny_image[\"not today\"] {{ true }}\n{more}")});
    let only = "only the rule `deny_image` in `customRules` denies it";
    let clean = World::default().image(IMAGE, 'a').object(report('a', &[]));
    let accepted = format!("accepted by {by}, first made 2026-11-01T00:00:00Z");
    assert_eq!(said(&clean, &rules("")), format!("'{IMAGE}': {only}; its scan passed: {accepted}"));
    // Where the scan rejects too, its findings stand for themselves; by generated rules that are evaluated with one's own too.
    let bad = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    for more in ["", "valid_policy_value[\"other\"] { true }"] {
        assert!(said(&bad, &rules(more)).starts_with(&format!("'{IMAGE}': 1 critical finding")), "{more}");
        assert!(said(&clean, &rules(more)).contains("its scan passed"), "{more}");
    }
    // What a policy lets in although nobody scanned it.
    let unknown = World::default().image(IMAGE, 'a');
    let accepting = with(rules(""), &[("/scanPolicies", json!({"reportPending": "accept"}))]);
    assert_eq!(
        said(&unknown, &accepting),
        format!("'{IMAGE}': {only}; what is known of it: no scan report yet from sbomscanner in namespace sbomscanner")
    );
}

#[test]
fn waiting_does_not_help_where_the_scan_job_skipped_the_image() {
    let image = |created: &str| {
        let known =
            with(report('a', &[]), &[("/kind", json!("Image")), ("/metadata/creationTimestamp", json!(created))]);
        let job = json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "ScanJob", "spec": {"registry": "r"},
            "metadata": {"name": "done", "namespace": "sbomscanner", "uid": "job", "creationTimestamp": "2026-11-01T00:00:00Z"},
            "status": {"conditions": [{"type": "Complete", "status": "True"}], "completionTime": "2026-11-02T00:00:00Z"}});
        World::default().image(IMAGE, 'a').object(known).object(job)
    };
    assert_eq!(
        said(&image("2026-11-01T00:00:01Z"), &json!({})),
        format!(
            "'{IMAGE}': no scan report: waiting won't help: the ScanJob sbomscanner/done skipped it, and ended \
             2026-11-02T00:00:00Z without a report of this image; see what the Registry `r` leaves out, and scan it again"
        )
    );
    // One that came later is no reason to look for what leaves it out.
    assert_eq!(
        said(&image("2026-11-03T00:00:00Z"), &json!({})),
        format!(
            "'{IMAGE}': no scan report: the ScanJob sbomscanner/done ended 2026-11-02T00:00:00Z, before the scanner knew the \
             image; the next one may have it"
        )
    );
}

/// A scanner may list the findings of one vulnerability in another order the next time.
#[test]
fn the_order_of_a_reports_findings_makes_no_difference() {
    let first = finding("CVE-1", "CRITICAL");
    let second = with(first.clone(), &[("/packageName", json!("libssl")), ("/fixedVersions", json!([]))]);
    let third = with(first.clone(), &[("/purl", json!("pkg:apk/alpine/openssl@3.0?arch=arm64"))]);
    let of = |entries: &[&Value]| {
        let entries: Vec<Value> = entries.iter().map(|entry| (*entry).clone()).collect();
        World::default().image(IMAGE, 'a').object(report('a', &entries))
    };
    for settings in
        [json!({}), json!({"acceptance": {"count": "entries"}}), json!({"acceptance": {"denyAlways": ["CVE-1"]}})]
    {
        let told = said(&of(&[&first, &second, &third]), &settings);
        assert_eq!(said(&of(&[&third, &second, &first]), &settings), told);
        assert_eq!(said(&of(&[&second, &first, &third]), &settings), told);
    }
}
