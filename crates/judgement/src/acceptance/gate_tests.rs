//! What is exploited or likely to be, systems past their end of life, and grace by severity: tables.

use super::*;
use image_admission_scan_report::finding::EpssScores;
use image_admission_settings::Severity;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_795_176_000);
const DAY: i64 = 24 * 3600;

fn finding(id: &str, severity: Severity) -> Finding<'static> {
    Finding {
        id: (!id.is_empty()).then(|| id.to_owned().into()),
        aliases: None,
        severity,
        package: Some("curl".into()),
        purl: None,
        fixed_in: Some("9".into()),
        score: None,
        published: None,
        known: None,
        suppressed: false,
        exploited: Some(Exploited::No),
        epss: EpssScores { score: Some(0.01), percentile: Some(0.2) },
    }
}

fn exploited(id: &str, due: Option<&str>) -> Finding<'static> {
    let due = due.map(|day| Timestamp::end_of_day(day).unwrap());
    Finding { exploited: Some(Exploited::Yes { due }), ..finding(id, Severity::Low) }
}

/// The verdict on findings (`accepted`, `rejected: …`, `unreadable: …`), and the warnings.
fn judge(acceptance: &Value, findings: &Findings<'_>) -> (String, Vec<String>) {
    let settings = json!({"acceptance": acceptance, "reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
    let settings = Settings::read(&settings).unwrap();
    let reference = ImageReference::parse("ghcr.io/team/app:1.0").unwrap();
    let judgement = Judge::new(&settings, &reference, "web", NOW).judge(findings);
    let verdict = match judgement.verdict {
        Verdict::Accepted => "accepted".to_owned(),
        Verdict::Rejected(over) => {
            format!("rejected: {}", over.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        Verdict::Unreadable(why) => format!("unreadable: {why}"),
        Verdict::Incomparable(why) => format!("incomparable: {why}"),
    };
    let warned = judgement.warned.into_iter().map(|warned| crate::reason::GateWarning(warned).to_string());
    (verdict, warned.collect())
}

fn entries(entries: &[Finding<'static>]) -> Findings<'static> {
    Findings { entries: Some(entries.to_vec()), ..Findings::default() }
}

#[track_caller]
fn check(acceptance: Value, findings: &[Finding<'static>], verdict: &str, warned: &[&str]) {
    assert_eq!(
        judge(&acceptance, &entries(findings)),
        (verdict.to_owned(), warned.iter().map(|w| (*w).to_owned()).collect())
    );
}

const UNTOLD: &str = "it doesn't say which findings are exploited in the wild, which `knownExploited` asks for: name a list of the \
    cluster in `knownExploited.from`";

#[test]
fn what_is_exploited_rejects_however_low_it_is_rated() {
    let reject = json!({"knownExploited": "reject"});
    let one = "1 finding exploited in the wild (KEV, due 2026-12-01): CVE-1 in curl (fixed in 9)";
    check(
        reject.clone(),
        &[exploited("CVE-1", Some("2026-12-01")), finding("CVE-2", Severity::High)],
        &format!("rejected: {one}"),
        &[],
    );
    check(json!({"knownExploited": "warn"}), &[exploited("CVE-1", Some("2026-12-01"))], "accepted", &[one]);
    check(json!({"knownExploited": {}}), &[exploited("CVE-1", Some("2026-12-01"))], &format!("rejected: {one}"), &[]);
    check(json!({}), &[exploited("CVE-1", None)], "accepted", &[]);
    check(
        reject.clone(),
        &[exploited("CVE-1", Some("2027-01-01")), exploited("CVE-2", Some("2026-12-01")), exploited("CVE-3", None)],
        "rejected: 3 findings exploited in the wild (KEV, the first due 2026-12-01): CVE-1 in curl (fixed in 9), CVE-2 in curl \
         (fixed in 9), CVE-3 in curl (fixed in 9)",
        &[],
    );
    check(
        reject,
        &[exploited("CVE-1", None), finding("CVE-2", Severity::Critical)],
        "rejected: 1 finding exploited in the wild (KEV): CVE-1 in curl (fixed in 9); 1 critical finding, at most 0 accepted: \
         CVE-2 in curl (fixed in 9)",
        &[],
    );
}

#[test]
fn lists_vex_and_exemptions_come_before_what_is_exploited() {
    check(json!({"knownExploited": "reject", "allowAlways": ["CVE-1"]}), &[exploited("CVE-1", None)], "accepted", &[]);
    let cleared = Finding { suppressed: true, ..exploited("CVE-1", None) };
    check(json!({"knownExploited": "reject"}), std::slice::from_ref(&cleared), "accepted", &[]);
    let counts = "rejected: 1 finding exploited in the wild (KEV): CVE-1 in curl (fixed in 9)";
    check(json!({"knownExploited": "reject", "ignoreVexStatus": true}), &[cleared], counts, &[]);
    // A grace period is only for findings that aren't exploited yet.
    let young = Finding { published: Some(Timestamp(NOW.0 - DAY)), ..exploited("CVE-1", None) };
    check(json!({"knownExploited": "reject", "fixGracePeriod": "14d"}), &[young], counts, &[]);
    let settings = json!({"acceptance": {"knownExploited": "reject"}, "reports": {"sources": [{"registry": {"allowUnsigned": true}}]},
        "exemptions": [{"vulnerability": "CVE-1", "reason": "r", "expires": "2099-01-01"}]});
    let settings = Settings::read(&settings).unwrap();
    let judge = Judge::new(&settings, &ImageReference::parse("ghcr.io/team/app:1.0").unwrap(), "web", NOW);
    let judgement = judge.judge(&entries(&[exploited("CVE-1", None)]));
    assert_eq!((judgement.verdict, judgement.used.len()), (Verdict::Accepted, 1));
}

#[test]
fn what_a_report_does_not_say_is_not_fine() {
    let untold = Finding { exploited: None, ..finding("CVE-1", Severity::Low) };
    let reject = json!({"knownExploited": "reject"});
    check(reject.clone(), std::slice::from_ref(&untold), &format!("unreadable: {UNTOLD}"), &[]);
    check(
        json!({"knownExploited": "warn"}),
        std::slice::from_ref(&untold),
        "accepted",
        &[&format!("its report: {UNTOLD}")],
    );
    // What is known to be too bad comes first.
    check(
        reject.clone(),
        &[untold.clone(), finding("CVE-2", Severity::Critical)],
        "rejected: 1 critical finding, at most 0 accepted: CVE-2 in curl (fixed in 9)",
        &[],
    );
    let gone = Finding { suppressed: true, ..untold };
    check(reject.clone(), &[gone], "accepted", &[]);
    check(reject.clone(), &[], "accepted", &[]);
    // A verdict without findings lists nothing. With findings, they are checked too, beside the limits that it stands for.
    let pass = |entries| Findings { entries, verdict: Some(OwnVerdict::Pass), ..Findings::default() };
    assert_eq!(judge(&reject, &pass(None)).0, format!("unreadable: {UNTOLD}"));
    assert_eq!(judge(&json!({}), &pass(None)).0, "accepted");
    let denies = json!({"denyAlways": ["CVE-1"]});
    let unlisted = "unreadable: it lists no findings, so that nothing tells whether `denyAlways` names one";
    assert_eq!(judge(&denies, &pass(None)).0, unlisted);
    assert_eq!(judge(&denies, &pass(Some(vec![finding("CVE-2", Severity::Critical)]))).0, "accepted");
    let (verdict, _) =
        judge(&reject, &pass(Some(vec![exploited("CVE-1", None), finding("CVE-2", Severity::Critical)])));
    assert_eq!(verdict, "rejected: 1 finding exploited in the wild (KEV): CVE-1 in curl (fixed in 9)");
}

#[test]
fn what_is_likely_to_be_exploited() {
    let forecast = |id: &str, score: Option<f64>, percentile: Option<f64>| Finding {
        epss: EpssScores { score, percentile },
        ..finding(id, Severity::Low)
    };
    let epss = |more: Value| {
        let mut epss = json!({"percentile": 0.95});
        epss.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"epss": epss})
    };
    let one =
        |what: &str| format!("rejected: 1 finding likely to be exploited (EPSS {what}): CVE-1 in curl (fixed in 9)");
    check(epss(json!({})), &[forecast("CVE-1", Some(0.1), Some(0.95))], &one("percentile from 0.95"), &[]);
    check(epss(json!({})), &[forecast("CVE-1", Some(0.9), Some(0.949))], "accepted", &[]);
    check(
        epss(json!({"score": 0.9})),
        &[forecast("CVE-1", Some(0.9), Some(0.5))],
        &one("score from 0.9 or percentile from 0.95"),
        &[],
    );
    check(
        epss(json!({"action": "warn"})),
        &[forecast("CVE-1", None, Some(1.0))],
        "accepted",
        &[one("percentile from 0.95").trim_start_matches("rejected: ")],
    );
    // A finding without a value may have any value.
    let without = forecast("CVE-1", Some(0.01), None);
    check(epss(json!({})), std::slice::from_ref(&without), &one("percentile from 0.95; 1 without one"), &[]);
    check(epss(json!({"missing": "ignore"})), std::slice::from_ref(&without), "accepted", &[]);
    check(epss(json!({"score": 0.5})), &[without], "accepted", &[]);
    check(json!({}), &[forecast("CVE-1", Some(1.0), Some(1.0))], "accepted", &[]);
}

#[test]
fn a_system_past_its_end_of_life_looks_clean() {
    let of = |system: OperatingSystem, entries: Vec<Finding<'static>>| Findings {
        entries: Some(entries),
        system,
        ..Findings::default()
    };
    let ended = || OperatingSystem::PastEndOfLife("alpine 3.10".to_owned());
    let text = "the operating system alpine 3.10 is past its end of life: nobody reports what is found in it any more";
    let (reject, warn) = (json!({"endOfLife": "reject"}), json!({"endOfLife": "warn"}));
    assert_eq!(judge(&reject, &of(ended(), vec![])), (format!("rejected: {text}"), vec![]));
    assert_eq!(judge(&warn, &of(ended(), vec![])), ("accepted".to_owned(), vec![text.to_owned()]));
    assert_eq!(judge(&json!({}), &of(ended(), vec![])).0, "accepted");
    assert_eq!(judge(&reject, &of(OperatingSystem::Maintained, vec![])).0, "accepted");
    let untold = "it doesn't say whether the operating system is past its end of life, which `endOfLife` asks for";
    assert_eq!(judge(&reject, &of(OperatingSystem::Untold, vec![])).0, format!("unreadable: {untold}"));
    assert_eq!(judge(&warn, &of(OperatingSystem::Untold, vec![])).1, [format!("its report: {untold}")]);
    let critical = vec![finding("CVE-1", Severity::Critical)];
    let broken = "rejected: 1 critical finding, at most 0 accepted: CVE-1 in curl (fixed in 9)";
    assert_eq!(judge(&reject, &of(ended(), critical.clone())).0, format!("{broken}; {text}"));
    assert_eq!(judge(&reject, &of(OperatingSystem::Untold, critical)).0, broken);
    let summed =
        Findings { summary: Some(Severity::ALL.map(|s| (s, 0)).to_vec()), system: ended(), ..Findings::default() };
    assert_eq!(judge(&reject, &summed).0, format!("rejected: {text}"));
}

#[test]
fn grace_by_severity_and_for_what_has_no_fix() {
    let aged = |id: &str, severity, days: i64, fixed: bool| Finding {
        published: Some(Timestamp(NOW.0 - days * DAY)),
        fixed_in: fixed.then(|| "9".into()),
        ..finding(id, severity)
    };
    let limits = json!({"critical": {"total": 0}, "high": {"total": 0}});
    let by_severity = json!({"maxSeverity": limits, "fixGracePeriod": {"critical": "3d", "high": "14d"}});
    check(
        by_severity.clone(),
        &[aged("CVE-1", Severity::Critical, 3, true), aged("CVE-2", Severity::High, 14, true)],
        "accepted",
        &[],
    );
    check(
        by_severity.clone(),
        &[aged("CVE-1", Severity::Critical, 4, true), aged("CVE-2", Severity::High, 4, true)],
        "rejected: 1 critical finding, at most 0 accepted: CVE-1 in curl (fixed in 9)",
        &[],
    );
    let unfixed = "rejected: 1 high finding, at most 0 accepted: CVE-2 in curl (no fix)";
    check(by_severity, &[aged("CVE-2", Severity::High, 4, false)], unfixed, &[]);
    let only_critical = json!({"maxSeverity": limits, "fixGracePeriod": {"critical": "3d"}});
    check(
        only_critical,
        &[aged("CVE-2", Severity::High, 1, true)],
        "rejected: 1 high finding, at most 0 accepted: CVE-2 in curl (fixed in 9)",
        &[],
    );
    let without = json!({"maxSeverity": limits, "unfixedGracePeriod": {"high": "30d"}});
    check(without.clone(), &[aged("CVE-2", Severity::High, 30, false)], "accepted", &[]);
    check(without.clone(), &[aged("CVE-2", Severity::High, 31, false)], unfixed, &[]);
    check(
        without,
        &[aged("CVE-2", Severity::High, 1, true)],
        "rejected: 1 high finding, at most 0 accepted: CVE-2 in curl (fixed in 9)",
        &[],
    );
}

#[test]
fn what_is_wrong_with_the_settings() {
    let problems = |acceptance: Value, source: Value| {
        let settings = json!({"acceptance": acceptance, "reports": {"sources": [source]}});
        Settings::read(&settings).map_or_else(|error| error.to_string(), |_| String::new())
    };
    let ci = || json!({"registry": {"allowUnsigned": true}});
    for (acceptance, why) in [
        (
            json!({"knownExploited": "deny"}),
            "acceptance.knownExploited: `deny` is not a choice here; use reject or warn",
        ),
        (
            json!({"knownExploited": true}),
            "acceptance.knownExploited: expected `reject`, `warn`, or an object like `{action: reject, from: …}`, but found `true`",
        ),
        (
            json!({"knownExploited": {"maxAge": "7d"}}),
            "acceptance.knownExploited.maxAge: it is the age of the list in `from`, which is missing",
        ),
        (
            json!({"knownExploited": {"from": {}}}),
            "acceptance.knownExploited.from: `configMap` is missing: what holds the list, `{namespace: …, name: …}`",
        ),
        (
            json!({"knownExploited": {"from": {"configMap": {"name": "a"}}}}),
            "acceptance.knownExploited.from.configMap.namespace: the ConfigMap's namespace is missing",
        ),
        (
            json!({"knownExploited": {"from": {"configMap": {"namespace": "A", "name": "a"}}}}),
            "acceptance.knownExploited.from.configMap.namespace: `A` can't be the namespace of a ConfigMap",
        ),
        (
            json!({"knownExploited": {"from": {"configMap": {"namespace": "a", "name": "a", "key": "a/b"}}}}),
            "acceptance.knownExploited.from.configMap.key: `a/b` can't be the key of a ConfigMap",
        ),
        (
            json!({"knownExploited": {"from": {"configmap": {}, "configMap": {"namespace": "a", "name": "a"}}}}),
            "acceptance.knownExploited.from.configmap: unknown setting `configmap`; did you mean `configMap`?",
        ),
        (
            json!({"epss": {}}),
            "acceptance.epss: set `score`, `percentile` or both: the lowest that counts, like `{percentile: 0.95}`",
        ),
        (json!({"epss": 0.9}), "acceptance.epss: expected an object like `{percentile: 0.95}`, but found `0.9`"),
        (
            json!({"epss": {"percentile": 95}}),
            "acceptance.epss.percentile: expected a number above 0 and at most 1, like 0.95, but found `95`",
        ),
        (
            json!({"epss": {"score": 0}}),
            "acceptance.epss.score: expected a number above 0 and at most 1, like 0.95, but found `0`",
        ),
        (
            json!({"epss": {"score": 0.5, "missing": "reject"}}),
            "acceptance.epss.missing: `reject` is not a choice here; use count or ignore",
        ),
        (json!({"endOfLife": "accept"}), "acceptance.endOfLife: `accept` is not a choice here; use reject or warn"),
        (
            json!({"fixGracePeriod": {"severe": "3d"}}),
            "acceptance.fixGracePeriod.severe: unknown setting `severe`; known here: critical, high, medium, low, unknown",
        ),
        (
            json!({"unfixedGracePeriod": {"high": "soon"}}),
            "acceptance.unfixedGracePeriod.high: `soon` is not a duration like `72h` or `14d`",
        ),
        (
            json!({"unfixedGracePeriod": {"high": 3}}),
            "acceptance.unfixedGracePeriod.high: `3` has no unit; write a duration like `3h`",
        ),
        (
            json!({"byNamespace": {"web": {"epss": {}}}}),
            "acceptance.byNamespace.web.epss: set `score`, `percentile` or both: the lowest that counts, like `{percentile: 0.95}`",
        ),
    ] {
        assert_eq!(problems(acceptance, ci()), why);
    }
    let with_scores = json!({"custom": {"apiVersion": "a/v1", "kind": "Scan", "namespaces": ["a"], "fields":
        {"digest": "d", "findings": "f", "id": "i", "severity": "s", "epssScore": "e"}}});
    for (acceptance, source, why) in [
        (
            json!({"knownExploited": "reject"}),
            json!({"trivyOperator": {}}),
            "acceptance.knownExploited: reports of trivyOperator don't say what is exploited: name a list of the cluster in `from`",
        ),
        (
            json!({"byNamespace": {"web": {"knownExploited": "warn"}}}),
            json!({"kubescape": {}}),
            "acceptance.byNamespace.web.knownExploited: reports of kubescape don't say what is exploited: name a list of the cluster in `from`",
        ),
        (
            json!({"epss": {"score": 0.5}}),
            json!({"trivyOperator": {}}),
            "acceptance.epss: reports of trivyOperator have no EPSS scores; those of Grype in registry and of sbomscanner may have, and of custom with `fields.epssScore` or `fields.epssPercentile`",
        ),
        (
            json!({"epss": {"percentile": 0.9, "missing": "ignore"}}),
            with_scores.clone(),
            "acceptance.epss: reports of custom have no EPSS percentiles; those of Grype in registry and of sbomscanner may have, and of custom with `fields.epssScore` or `fields.epssPercentile`",
        ),
        (json!({"epss": {"percentile": 0.9, "score": 0.5}}), with_scores.clone(), ""),
        (
            json!({"endOfLife": "reject"}),
            json!({"sbomscanner": {}}),
            "acceptance.endOfLife: reports of sbomscanner don't say whether a system is past its end of life; those of trivyOperator and registry may",
        ),
        (
            json!({"unfixedGracePeriod": {"high": "3d"}}),
            json!({"sbomscanner": {}}),
            "acceptance.unfixedGracePeriod: no source has dates of fixes or vulnerabilities (sbomscanner); trivyOperator and registry have, and custom with `fields.published`",
        ),
        (
            json!({"knownExploited": {"from": {"configMap": {"namespace": "a", "name": "b"}}}}),
            json!({"trivyOperator": {}}),
            "",
        ),
    ] {
        assert_eq!(problems(acceptance, source), why);
    }
    // One source that knows is enough for a warning, but not for a rejection.
    let two = |action: &str| {
        let settings = json!({"acceptance": {"endOfLife": action}, "reports": {"sources": [{"sbomscanner": {}}, {"trivyOperator": {}}]}});
        Settings::read(&settings).is_ok()
    };
    assert!(two("warn") && !two("reject"));
}
