//! Limits, lists and exemptions: tables, and the laws that hold whatever the findings are.

use super::*;
use image_admission_scan_report::finding::EpssScores;
use image_admission_settings::Severity;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::rc::Rc;

const NOW: Timestamp = Timestamp(1_795_176_000);
const DAY: i64 = 24 * 3600;

fn finding(id: &str, severity: Severity) -> Finding<'static> {
    Finding {
        id: (!id.is_empty()).then(|| id.to_owned().into()),
        aliases: None,
        severity,
        package: Some("curl".into()),
        purl: Some("pkg:apk/alpine/curl@8".into()),
        fixed_in: Some("9".into()),
        score: Some(7.5),
        published: None,
        known: None,
        suppressed: false,
        exploited: None,
        epss: EpssScores::default(),
    }
}

/// The verdict in words, as [`said`] has it, and the ids that exemptions kept from counting.
fn judged(
    settings: &Value,
    entries: &[Finding<'_>],
    verdict: Option<OwnVerdict>,
) -> (Result<Vec<String>, String>, Vec<String>) {
    let settings = Settings::read(settings).unwrap();
    let reference = ImageReference::parse("ghcr.io/team/app:1.0").unwrap();
    let judge = Judge::new(&settings, &reference, "web", NOW);
    let judgement = judge.judge(&Findings { entries: Some(entries.to_vec()), verdict, ..Findings::default() });
    (said(judgement.verdict), judgement.used.into_iter().flat_map(|used| used.ids).collect())
}

/// A verdict in words: the limits that a report is over, or why it can't be believed.
fn said(verdict: Verdict) -> Result<Vec<String>, String> {
    match verdict {
        Verdict::Accepted => Ok(Vec::new()),
        Verdict::Rejected(broken) => Ok(broken.iter().map(ToString::to_string).collect()),
        Verdict::Unreadable(why) => Err(why.to_string()),
        Verdict::Incomparable(why) => Err(why.to_string()),
    }
}

#[track_caller]
fn check(acceptance: Value, entries: &[Finding<'_>], broken: &[&str]) {
    let (verdict, _) =
        judged(&json!({"acceptance": acceptance, "reports": {"sources": [{"trivyOperator": {}}]}}), entries, None);
    assert_eq!(verdict, Ok(broken.iter().map(|text| (*text).to_owned()).collect()));
}

#[test]
fn at_most_five_findings_are_named_the_worst_first() {
    use Severity::{Critical, High};
    let scored = |id: &str, severity, score| Finding { score: Some(score), ..finding(id, severity) };
    let entries = [
        scored("CVE-1", High, 7.0),
        scored("CVE-2", High, 8.9),
        scored("CVE-3", Critical, 9.1),
        scored("CVE-4", Critical, 9.9),
        scored("CVE-5", High, 7.0),
        scored("CVE-6", High, 7.1),
        scored("CVE-6", High, 7.1),
    ];
    let shown = |ids: &[&str]| ids.iter().map(|id| format!("{id} in curl (fixed in 9)")).collect::<Vec<_>>().join(", ");
    check(
        json!({"maxSeverity": {"high": {"total": 0}, "critical": {"total": 0}}}),
        &entries,
        &[
            &format!("2 critical findings, at most 0 accepted: {}", shown(&["CVE-4", "CVE-3"])),
            &format!("4 high findings, at most 0 accepted: {} and 1 more", shown(&["CVE-2", "CVE-6", "CVE-1"])),
        ],
    );
    check(
        json!({"maxSeverity": {"critical": {"total": 0}}, "cvssScore": {"threshold": 7.1}, "denyAlways": ["CVE-1", "CVE-2", "CVE-3"]}),
        &entries,
        &[
            &format!("`denyAlways` names {}", shown(&["CVE-1", "CVE-2", "CVE-3"])),
            &format!("2 critical findings, at most 0 accepted: {}", shown(&["CVE-4", "CVE-3"])),
            "4 findings with a CVSS score from 7.1, at most 0 accepted",
        ],
    );
}

#[test]
fn findings_without_an_id_count_each_for_itself() {
    let entries = [finding("", Severity::High), finding("", Severity::High)];
    check(json!({"maxSeverity": {"high": {"total": 1}}}), &entries, &["2 high findings, at most 1 accepted"]);
    check(json!({"maxSeverity": {"high": {"total": 2}}}), &entries, &[]);
}

#[test]
fn an_id_counts_where_any_of_its_packages_has_no_fix() {
    let unfixed = Finding { fixed_in: None, ..finding("CVE-1", Severity::High) };
    let limit = json!({"maxSeverity": {"high": {"totalWithoutFixes": 0}}});
    check(limit.clone(), &[finding("CVE-1", Severity::High)], &[]);
    let broken = "1 high finding without a fix, at most 0 accepted: CVE-1 in curl (no fix)";
    check(limit, &[finding("CVE-1", Severity::High), unfixed], &[broken]);
}

#[test]
fn a_fix_counts_from_the_end_of_its_grace_period_on() {
    let acceptance = json!({"fixGracePeriod": "14d"});
    let published = |seconds: Option<i64>| Finding {
        published: seconds.map(|seconds| Timestamp(NOW.0 + seconds)),
        ..finding("CVE-1", Severity::Critical)
    };
    let broken = ["1 critical finding, at most 0 accepted: CVE-1 in curl (fixed in 9)"];
    check(acceptance.clone(), &[published(Some(-14 * DAY))], &[]);
    check(acceptance.clone(), &[published(Some(-14 * DAY - 1))], &broken);
    check(acceptance.clone(), &[published(None)], &broken);
    check(acceptance.clone(), &[published(Some(DAY))], &broken);
    let unfixed = Finding { fixed_in: None, ..published(Some(-DAY)) };
    check(acceptance, &[unfixed], &["1 critical finding, at most 0 accepted: CVE-1 in curl (no fix)"]);
}

#[test]
fn aliases_are_names_of_the_same_vulnerability() {
    let aliased = Finding { aliases: Some(Rc::new(["CVE-2".into()])), ..finding("GHSA-1", Severity::Critical) };
    check(json!({"allowAlways": ["cve-2"]}), std::slice::from_ref(&aliased), &[]);
    check(
        json!({"maxSeverity": {"low": {"total": 0}}, "denyAlways": ["CVE-2"]}),
        &[aliased],
        &["`denyAlways` names CVE-2, here GHSA-1, in curl (fixed in 9)"],
    );
}

#[test]
fn a_reports_own_verdict_comes_before_the_limits_and_after_what_is_always_denied() {
    let critical = [finding("CVE-1", Severity::Critical)];
    let with = |settings: Value, word: &str| judged(&settings, &critical, Some(OwnVerdict::of(word))).0;
    let rejected = |text: &str| Ok(vec![text.to_owned()]);
    for pass in ["pass", "PASS", "passed", "accepted"] {
        assert_eq!(with(json!({}), pass), Ok(Vec::new()), "{pass}");
    }
    let denied = json!({"acceptance": {"denyAlways": ["CVE-1"]}});
    assert_eq!(with(denied, "pass"), rejected("`denyAlways` names CVE-1 in curl (fixed in 9)"));
    for fail in ["fail", "failed", "Rejected"] {
        assert_eq!(
            with(json!({"acceptance": {"allowAlways": ["CVE-1"]}}), fail),
            rejected("the report's own verdict is `fail`")
        );
    }
    for other in ["", "warn", "pass\n", "true"] {
        assert!(with(json!({}), other).is_err(), "{other}");
    }
}

#[test]
fn a_summary_decides_only_what_it_can_know() {
    let depth = |acceptance: Value, exemptions: Value| {
        let settings = json!({"acceptance": acceptance, "exemptions": exemptions, "reports": {"sources": [{"trivyOperator": {}}]}});
        let settings = Settings::read(&settings).unwrap();
        Judge::new(&settings, &ImageReference::parse("ghcr.io/team/app:1.0").unwrap(), "web", NOW).depth()
    };
    let exemption = |more: Value| {
        let mut exemption = json!({"vulnerability": "CVE-1", "reason": "r", "expires": "2099-01-01"});
        exemption.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([exemption])
    };
    let totals = json!({"maxSeverity": {"critical": {"total": 0}, "high": {"total": 7}}});
    assert_eq!(depth(totals, json!([])), Depth::Summary);
    for acceptance in [
        json!({"maxSeverity": {"high": {"totalWithoutFixes": 0}}}),
        json!({"cvssScore": {"threshold": 9}}),
        json!({"denyAlways": ["CVE-1"]}),
        json!({"allowAlways": ["CVE-1"]}),
        json!({"ignoreVexStatus": true}),
        json!({"fixGracePeriod": "1d"}),
    ] {
        assert_eq!(depth(acceptance.clone(), json!([])), Depth::Entries, "{acceptance}");
    }
    assert_eq!(depth(json!({}), exemption(json!({}))), Depth::Entries);
    // One for another image or namespace changes nothing.
    assert_eq!(depth(json!({}), exemption(json!({"images": ["docker.io/"]}))), Depth::Summary);
    assert_eq!(depth(json!({}), exemption(json!({"namespaces": ["other"]}))), Depth::Summary);
}

#[test]
fn an_ended_exemption_gives_way_to_one_that_holds() {
    let exempted = |list: Value| judged(&json!({"exemptions": list}), &[finding("CVE-1", Severity::Critical)], None);
    let one = |expires: &str| json!({"vulnerability": "CVE-1", "reason": expires, "expires": expires});
    let (verdict, used) = exempted(json!([one("2020-01-01"), one("2099-01-01")]));
    assert_eq!((verdict, used), (Ok(Vec::new()), vec!["CVE-1".to_owned()]));
    let (verdict, used) = exempted(json!([one("2020-01-01"), one("2021-01-01")]));
    // Since then it counts.
    let text = "1 critical finding, at most 0 accepted: CVE-1 in curl (fixed in 9; its exemption ended 2021-01-01)";
    assert_eq!((verdict, used.len()), (Ok(vec![text.to_owned()]), 0));
}

fn any_finding() -> impl Strategy<Value = Finding<'static>> {
    let severity = prop::sample::select(&Severity::ALL);
    let published = prop::option::of(-30..3i64);
    let parts = (0..6u8, severity, prop::option::of(0..101u32), any::<bool>(), published, any::<bool>(), 0..3u8);
    parts.prop_map(|(id, severity, score, fixed, published, suppressed, package)| Finding {
        score: score.map(|tenths| f64::from(tenths) / 10.0),
        fixed_in: fixed.then(|| "9".into()),
        published: published.map(|days| Timestamp(NOW.0 + days * DAY)),
        known: published.map(|days| Timestamp(NOW.0 + days * DAY)),
        suppressed,
        exploited: None,
        epss: EpssScores::default(),
        purl: (package > 0).then(|| format!("pkg:apk/p{package}@1").into()),
        ..finding(&if id == 0 { String::new() } else { format!("CVE-{id}") }, severity)
    })
}

fn any_settings() -> impl Strategy<Value = Value> {
    let limit = (any::<bool>(), 0..4u64).prop_map(|(fixes, number)| {
        if fixes { json!({"total": number}) } else { json!({"totalWithoutFixes": number}) }
    });
    let limits = prop::collection::btree_map(prop::sample::select(&Severity::ALL), limit, 0..4);
    let cvss = prop::option::of((0..101u32, 0..4u64));
    let ids = || prop::collection::vec((1..6u8).prop_map(|id| format!("CVE-{id}")), 0..3);
    let parts = (limits, cvss, ids(), ids(), any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(1..7u8));
    parts.prop_map(|(limits, cvss, deny, allow, ignore_vex, grace, entries, exempted)| {
        let limits: Value = limits.into_iter().map(|(severity, limit)| (severity.name().to_owned(), limit)).collect();
        let exemptions: Vec<Value> = exempted
            .map(|id| json!({"vulnerability": format!("CVE-{id}"), "packages": ["pkg:apk/p1@"], "reason": "r", "expires": "2099-01-01"}))
            .into_iter()
            .collect();
        json!({
            "reports": {"sources": [{"trivyOperator": {}}]},
            "exemptions": exemptions,
            "acceptance": {
                "maxSeverity": limits, "denyAlways": deny, "allowAlways": allow, "ignoreVexStatus": ignore_vex,
                "cvssScore": cvss.map(|(tenths, most)| json!({"threshold": f64::from(tenths) / 10.0, "maxCount": most})),
                "fixGracePeriod": if grace { "14d" } else { "" }, "count": if entries { "entries" } else { "unique" },
            },
        })
    })
}

fn is_accepted(settings: &Value, entries: &[Finding<'_>]) -> bool {
    judged(settings, entries, None).0 == Ok(Vec::new())
}

/// The settings with one more value in a list.
fn with_one_more(settings: &Value, pointer: &str, value: Value) -> Value {
    let mut settings = settings.clone();
    settings.pointer_mut(pointer).unwrap().as_array_mut().unwrap().push(value);
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn laws(settings in any_settings(), entries in prop::collection::vec(any_finding(), 0..8), more in any_finding(), id in 1..6u8) {
        let accepted = is_accepted(&settings, &entries);
        let id = format!("CVE-{id}");

        // The order of the findings decides nothing.
        let reversed: Vec<_> = entries.iter().rev().cloned().collect();
        prop_assert_eq!(is_accepted(&settings, &reversed), accepted);

        // An additional finding clears nothing.
        let mut with_more = entries.clone();
        with_more.push(more);
        prop_assert!(accepted || !is_accepted(&settings, &with_more));

        // Allowing a finding causes no rejection.
        let allowing = with_one_more(&settings, "/acceptance/allowAlways", json!(id));
        prop_assert!(!accepted || is_accepted(&allowing, &entries));
        let exemption = json!({"vulnerability": id, "reason": "r", "expires": "2099-01-01"});
        prop_assert!(!accepted || is_accepted(&with_one_more(&settings, "/exemptions", exemption), &entries));
        // An exemption that has ended has no effect.
        let ended = json!({"vulnerability": "*", "reason": "r", "expires": "2020-01-01"});
        prop_assert_eq!(is_accepted(&with_one_more(&settings, "/exemptions", ended), &entries), accepted);

        // Denying a finding clears nothing, and it is denied whatever else applies.
        let denying = with_one_more(&settings, "/acceptance/denyAlways", json!(id));
        prop_assert!(accepted || !is_accepted(&denying, &entries));
        let there = entries.iter().any(|entry| entry.id.as_ref().is_some_and(|own| own.as_str() == id));
        prop_assert!(!there || !is_accepted(&denying, &entries));

        // Ignoring what VEX clears clears nothing.
        let mut ignoring = settings.clone();
        *ignoring.pointer_mut("/acceptance/ignoreVexStatus").unwrap() = json!(true);
        prop_assert!(accepted || !is_accepted(&ignoring, &entries));
    }
}
