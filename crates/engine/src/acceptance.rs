//! Acceptance: whether what a report found is within the limits.

use crate::message::count;
use crate::settings::{Acceptance, Limit, Severity};
use std::collections::BTreeSet;

/// What a scanner found in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// The report's own count of entries that are not suppressed, by severity; one for each of [`Severity::ALL`].
    pub(crate) summary: Vec<(Severity, u64)>,
    /// The entries, when they were asked for.
    pub(crate) entries: Option<Vec<Finding>>,
}

/// One entry of a report: a vulnerability in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// `CVE-…`; none when the report doesn't say.
    pub(crate) id: Option<String>,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// Whether a version without it is known.
    pub(crate) fixed: bool,
    /// Whether a VEX document says that it doesn't count.
    pub(crate) suppressed: bool,
}

/// Whether a report is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Within all limits.
    Accepted,
    /// Over these limits, each in a few words.
    Rejected(Vec<String>),
    /// The report contradicts itself.
    Inconsistent(String),
}

/// Whether the limits need the entries. A summary counts entries and limits count ids, so that the summary alone
/// decides where the two must agree: whether there is any at all.
pub(crate) fn needs_entries(acceptance: &Acceptance) -> bool {
    acceptance.max_severity.iter().any(|(_, limit)| *limit != Limit::Total(0))
}

/// Holds a report's findings against the limits.
pub(crate) fn judge(findings: &Findings, acceptance: &Acceptance) -> Verdict {
    if let Some(entries) = &findings.entries {
        for (severity, summed) in &findings.summary {
            let counted = entries.iter().filter(|e| e.severity == *severity && !e.suppressed).count();
            if u64::try_from(counted) != Ok(*summed) {
                return Verdict::Inconsistent(format!("its summary says {summed} {severity}, but it lists {counted}"));
            }
        }
    }
    let mut broken = Vec::new();
    for (severity, limit) in &acceptance.max_severity {
        let (number, most, kind) = match limit {
            Limit::Total(most) => (number_of(findings, *severity, |_| true), most, ""),
            Limit::TotalWithoutFixes(most) => (number_of(findings, *severity, |e| !e.fixed), most, " without a fix"),
        };
        if number > *most {
            let text = format!("{}{kind}, at most {most} accepted", count(number, &format!("{severity} finding")));
            broken.push(text);
        }
    }
    if broken.is_empty() { Verdict::Accepted } else { Verdict::Rejected(broken) }
}

/// How many different ids count; how many entries, where only the summary is known.
fn number_of(findings: &Findings, severity: Severity, counts: impl Fn(&Finding) -> bool) -> u64 {
    let Some(entries) = &findings.entries else {
        return findings.summary.iter().filter(|(of, _)| *of == severity).map(|(_, number)| number).sum();
    };
    let counted = entries.iter().filter(|e| e.severity == severity && !e.suppressed && counts(e));
    let (named, nameless): (Vec<_>, Vec<_>) = counted.partition(|e| e.id.is_some());
    let ids: BTreeSet<_> = named.iter().map(|e| &e.id).collect();
    u64::try_from(ids.len() + nameless.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, severity: Severity, fixed: bool, suppressed: bool) -> Finding {
        Finding { id: (!id.is_empty()).then(|| id.to_owned()), severity, fixed, suppressed }
    }

    fn findings(entries: &[Finding]) -> Findings {
        let summary = Severity::ALL.map(|severity| {
            (severity, entries.iter().filter(|e| e.severity == severity && !e.suppressed).count() as u64)
        });
        Findings { summary: summary.to_vec(), entries: Some(entries.to_vec()) }
    }

    #[track_caller]
    fn check(entries: &[Finding], limits: &[(Severity, Limit)], broken: &[&str]) {
        let expected = match broken {
            [] => Verdict::Accepted,
            broken => Verdict::Rejected(broken.iter().map(|text| (*text).to_owned()).collect()),
        };
        assert_eq!(judge(&findings(entries), &Acceptance { max_severity: limits.to_vec() }), expected);
    }

    #[test]
    fn more_than_the_limit_rejects() {
        use Severity::{Critical, High, Unknown};
        let a = finding("CVE-1", Critical, true, false);
        let b = finding("CVE-2", Critical, false, false);
        check(&[], &[(Critical, Limit::Total(0))], &[]);
        check(std::slice::from_ref(&a), &[(Critical, Limit::Total(0))], &["1 critical finding, at most 0 accepted"]);
        check(std::slice::from_ref(&a), &[(Critical, Limit::Total(1))], &[]);
        check(std::slice::from_ref(&a), &[(High, Limit::Total(0))], &[]);
        check(&[a.clone(), b.clone()], &[(Critical, Limit::Total(1))], &["2 critical findings, at most 1 accepted"]);
        check(&[a.clone(), a.clone()], &[(Critical, Limit::Total(1))], &[]);
        check(std::slice::from_ref(&a), &[(Critical, Limit::TotalWithoutFixes(0))], &[]);
        check(
            &[a.clone(), b.clone()],
            &[(Critical, Limit::TotalWithoutFixes(0))],
            &["1 critical finding without a fix, at most 0 accepted"],
        );
        check(&[finding("CVE-3", Critical, false, true)], &[(Critical, Limit::Total(0))], &[]);
        check(
            &[finding("CVE-4", Unknown, false, false)],
            &[(Unknown, Limit::Total(0))],
            &["1 unknown finding, at most 0 accepted"],
        );
        let nameless = finding("", High, false, false);
        check(&[nameless.clone(), nameless], &[(High, Limit::Total(1))], &["2 high findings, at most 1 accepted"]);
    }

    #[test]
    fn a_summary_that_contradicts_the_entries_is_no_verdict() {
        let mut report = findings(&[finding("CVE-1", Severity::Critical, true, false)]);
        report.summary = Severity::ALL.map(|severity| (severity, 0)).to_vec();
        let verdict = judge(&report, &Acceptance { max_severity: vec![(Severity::Critical, Limit::Total(0))] });
        assert_eq!(verdict, Verdict::Inconsistent("its summary says 0 critical, but it lists 1".to_owned()));
    }

    #[test]
    fn only_the_limit_zero_is_decided_by_the_summary() {
        let needs = |limit| needs_entries(&Acceptance { max_severity: vec![(Severity::High, limit)] });
        assert!(!needs(Limit::Total(0)));
        assert!(needs(Limit::Total(1)));
        assert!(needs(Limit::TotalWithoutFixes(0)));
    }
}
