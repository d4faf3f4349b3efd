//! Acceptance: whether what a report found is within the limits.
//!
//! What counts, in this order: `denyAlways`, then `allowAlways`, then VEX, then exemptions, then the limits.

use crate::Timestamp;
use crate::exemption::{self, Exempt, ExemptionObjects};
use crate::finding::{Finding, Findings, OwnVerdict};
use crate::image::ImageReference;
use crate::message::cut;
use crate::reason::{
    EndedExemption, ExceededLimit, ExceededSetting, FINDINGS_SHOWN, NamedFinding, NamedFindings, UnknownExemptions,
    UnreadableReport,
};
use crate::remedy::{Remedy, is_on};
use crate::settings::{Count, Exemption, Limit, Limits, Settings};
use crate::text::Text;
use std::collections::BTreeSet;

/// The most ids that are kept of findings over a limit.
const IDS_KEPT: usize = 20;
/// The longest id, package or version that a reason repeats.
const MAX_NAME_LENGTH: usize = 60;

/// Whether a report is accepted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Within all limits.
    Accepted,
    /// Over these limits.
    Rejected(Vec<ExceededLimit>),
    /// The report can't be believed.
    Unreadable(UnreadableReport),
}

/// A verdict, and the exemptions without which it might be another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) used: Vec<UsedExemption<'a>>,
    /// Exemptions that a rejection had to do without, since they couldn't be looked up.
    pub(crate) unknown: Option<UnknownExemptions>,
}

/// An exemption that kept findings from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsedExemption<'a> {
    pub(crate) exemption: &'a Exemption,
    /// The ids of those findings.
    pub(crate) ids: BTreeSet<String>,
}

/// How much of a report is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The summary.
    Summary,
    /// The entries, as far as deciding needs them.
    Entries,
    /// The entries, and what people want to know about them.
    Explained,
    /// The same, and what exemptions look at that stand in the cluster.
    Exempted,
}

/// Which parts of an entry are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) ids: bool,
    /// Other names of the same vulnerability, which only lists of ids look at.
    pub(crate) aliases: bool,
    pub(crate) packages: bool,
    pub(crate) purls: bool,
    pub(crate) fixes: bool,
    pub(crate) scores: bool,
    pub(crate) published: bool,
}

/// Holds reports of one image against the limits.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    limits: Limits<'a>,
    exemptions: Vec<&'a Exemption>,
    /// Exemptions that stand in the cluster, and the image that they would be about.
    objects: Option<(&'a ExemptionObjects<'a>, ImageReference)>,
    now: Timestamp,
}

impl From<Verdict> for Judgement<'_> {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, used: Vec::new(), unknown: None }
    }
}

impl<'a> Judge<'a> {
    /// A judge for the reports of an image that a workload of `namespace` would run.
    pub(crate) fn new(settings: &'a Settings, reference: &ImageReference, namespace: &str, now: Timestamp) -> Self {
        Self {
            limits: settings.acceptance.of(namespace),
            exemptions: exemption::of_image(&settings.exemptions, reference, namespace),
            objects: None,
            now,
        }
    }

    /// The same, with the exemptions that stand in the cluster for findings that would reject.
    pub(crate) fn with_objects(
        mut self,
        objects: Option<&'a ExemptionObjects<'a>>,
        reference: &ImageReference,
    ) -> Self {
        self.objects = objects.map(|objects| (objects, reference.clone()));
        self
    }

    /// How much of a report to ask for first. A summary counts entries that aren't suppressed: within the limits it
    /// accepts for certain, where nothing else than totals decides.
    pub(crate) fn depth(&self) -> Depth {
        // Each is named, so that a new one can't be forgotten here.
        let Limits {
            max_severity,
            cvss_score,
            deny_always,
            allow_always,
            ignore_vex_status,
            fix_grace_period,
            count: _,
        } = self.limits;
        let only_totals = max_severity.iter().all(|(_, limit)| matches!(limit, Limit::Total(_)))
            && cvss_score.is_none()
            && deny_always.is_empty()
            && allow_always.is_empty()
            && !ignore_vex_status
            && fix_grace_period.is_none()
            && self.exemptions.is_empty();
        if only_totals { Depth::Summary } else { Depth::Entries }
    }

    /// Which parts of the entries to ask for.
    pub(crate) fn parts(&self, depth: Depth) -> Parts {
        let Limits {
            max_severity,
            cvss_score,
            deny_always,
            allow_always,
            ignore_vex_status: _,
            fix_grace_period,
            count,
        } = self.limits;
        let explained = matches!(depth, Depth::Explained | Depth::Exempted);
        let objects = match &self.objects {
            Some((objects, reference)) if depth == Depth::Exempted => objects.of_image(reference),
            _ => Vec::new(),
        };
        let exemptions = || self.exemptions.iter().chain(&objects);
        let lists = !deny_always.is_empty() || !allow_always.is_empty() || exemptions().next().is_some();
        Parts {
            ids: explained || lists || count == Count::Unique,
            aliases: lists,
            packages: explained,
            purls: exemptions().any(|exemption| !exemption.packages.is_empty()),
            fixes: explained
                || fix_grace_period.is_some()
                || max_severity.iter().any(|(_, limit)| matches!(limit, Limit::TotalWithoutFixes(_)))
                || exemptions().any(|exemption| exemption.expire_on_fix),
            scores: cvss_score.is_some(),
            published: fix_grace_period.is_some(),
        }
    }

    /// How much of a report that is over these limits to ask for: nothing in the cluster exempts what is always denied, nor a
    /// report from its own verdict.
    pub(crate) fn deeper(&self, exceeded: &[ExceededLimit]) -> Depth {
        let is_final =
            |limit: &ExceededLimit| matches!(limit.setting, ExceededSetting::DenyAlways | ExceededSetting::OwnVerdict);
        if self.objects.is_some() && !exceeded.iter().any(is_final) { Depth::Exempted } else { Depth::Explained }
    }

    /// Holds findings against the limits that were read as deep as this. What the cluster exempts is read anew as far as it is
    /// used, and what isn't as it was exempts nothing.
    pub(crate) fn judge_at(&self, depth: Depth, findings: &Findings<'_>) -> Judgement<'a> {
        let Some((objects, reference)) = self.objects.as_ref().filter(|_| depth == Depth::Exempted) else {
            return self.judge(findings);
        };
        // Each time round leaves out one more.
        loop {
            let exemptions = self.exemptions.iter().copied().chain(objects.of_image(reference)).collect();
            let judge = Self { limits: self.limits, exemptions, objects: None, now: self.now };
            let mut judgement = judge.judge(findings);
            if judgement.used.iter().all(|used| objects.is_current(used.exemption)) {
                if matches!(judgement.verdict, Verdict::Rejected(_)) {
                    judgement.unknown = objects.unknown();
                }
                return judgement;
            }
        }
    }

    /// Holds a report's findings against the limits.
    pub(crate) fn judge(&self, findings: &Findings<'_>) -> Judgement<'a> {
        match &findings.verdict {
            Some(OwnVerdict::Fail) => {
                let (ids, named) = (Vec::new(), NamedFindings::default());
                let exceeded = ExceededLimit { setting: ExceededSetting::OwnVerdict, count: 1, max: 0, ids, named };
                return Verdict::Rejected(vec![exceeded]).into();
            }
            Some(OwnVerdict::Other(word)) => {
                return Verdict::Unreadable(UnreadableReport::OwnVerdict(word.clone())).into();
            }
            Some(OwnVerdict::Pass) => {
                let mut exceeded = Vec::new();
                self.denied(findings.entries.as_deref().unwrap_or_default(), &mut exceeded);
                return verdict(exceeded).into();
            }
            None => {}
        }
        let Some(entries) = &findings.entries else { return self.judge_summary(findings).into() };
        for (severity, summed) in findings.summary.iter().flatten() {
            let listed = entries.iter().filter(|e| e.severity == *severity && !e.suppressed).count();
            if u64::try_from(listed) != Ok(*summed) && is_on(Remedy::SummaryMustAgree) {
                let (severity, summary) = (*severity, *summed);
                return Verdict::Unreadable(UnreadableReport::SummaryDiffers { severity, summary, listed }).into();
            }
        }
        self.judge_entries(entries)
    }

    fn judge_summary(&self, findings: &Findings<'_>) -> Verdict {
        let Some(summary) = &findings.summary else { return Verdict::Unreadable(UnreadableReport::NoFindings) };
        let mut exceeded = Vec::new();
        for (severity, limit) in self.limits.max_severity {
            let Limit::Total(max) = limit else { continue };
            let count: u64 = summary.iter().filter(|(of, _)| of == severity).map(|(_, number)| number).sum();
            if count > *max {
                exceeded.push(ExceededLimit {
                    setting: ExceededSetting::MaxSeverity(*severity, *limit),
                    count,
                    max: *max,
                    ids: Vec::new(),
                    named: NamedFindings::default(),
                });
            }
        }
        verdict(exceeded)
    }

    fn judge_entries(&self, entries: &[Finding<'_>]) -> Judgement<'a> {
        let mut exceeded = Vec::new();
        let mut room = FINDINGS_SHOWN.saturating_sub(self.denied(entries, &mut exceeded));
        let mut used: Vec<UsedExemption<'a>> = Vec::new();
        let counted: Vec<(&Finding<'_>, Exempt<'a>)> =
            entries.iter().filter_map(|entry| Some((entry, self.counts(entry, &mut used)?))).collect();
        for (severity, limit) in self.limits.max_severity {
            let of: Vec<_> = match limit {
                Limit::Total(_) => counted.iter().filter(|(e, _)| e.severity == *severity).collect(),
                Limit::TotalWithoutFixes(_) => {
                    counted.iter().filter(|(e, _)| e.severity == *severity && e.fixed_in.is_none()).collect()
                }
            };
            let (Limit::Total(max) | Limit::TotalWithoutFixes(max)) = *limit;
            let count = self.number_of(&of);
            if count > max {
                let (ids, named) = named(&of, self.limits.count, &mut room);
                let setting = ExceededSetting::MaxSeverity(*severity, *limit);
                exceeded.push(ExceededLimit { setting, count, max, ids, named });
            }
        }
        if let Some(cvss) = self.limits.cvss_score {
            let of: Vec<_> =
                counted.iter().filter(|(e, _)| e.score.is_some_and(|score| score >= cvss.threshold)).collect();
            let count = self.number_of(&of);
            if count > cvss.max_count {
                let (ids, named) = named(&of, self.limits.count, &mut room);
                let setting = ExceededSetting::CvssScore(cvss.threshold);
                exceeded.push(ExceededLimit { setting, count, max: cvss.max_count, ids, named });
            }
        }
        Judgement { verdict: verdict(exceeded), used, unknown: None }
    }

    /// Reports the findings that are never accepted, and says how many it named.
    fn denied(&self, entries: &[Finding<'_>], exceeded: &mut Vec<ExceededLimit>) -> usize {
        let (mut denied, mut ids) = (Vec::new(), Vec::new());
        for id in self.limits.deny_always {
            let found = entries
                .iter()
                .filter(|entry| !entry.suppressed || is_on(Remedy::DenyWhatVexClears))
                .find(|entry| entry.is_one_of(std::slice::from_ref(id)));
            ids.extend(found.is_some().then(|| id.clone()));
            denied.extend(found.map(|entry| match entry.id.as_ref().map(Text::as_str) {
                Some(own) if own.eq_ignore_ascii_case(id) => name(own, entry, &Exempt::No),
                also => NamedFinding { also: also.map(str::to_owned), ..name(id, entry, &Exempt::No) },
            }));
        }
        if denied.is_empty() {
            return 0;
        }
        let shown = denied.len().min(FINDINGS_SHOWN);
        let count = u64::try_from(denied.len()).unwrap_or(u64::MAX);
        let named = NamedFindings { shown: denied, ..NamedFindings::default() };
        exceeded.push(ExceededLimit { setting: ExceededSetting::DenyAlways, count, max: 0, ids, named });
        shown
    }

    /// Whether a finding counts, and what the exemptions say about it.
    fn counts(&self, entry: &Finding<'_>, used: &mut Vec<UsedExemption<'a>>) -> Option<Exempt<'a>> {
        if !self.is_limited(entry)
            || entry.is_one_of(self.limits.allow_always)
            || (entry.suppressed && !self.limits.ignore_vex_status)
            || (self.limits.ignore_vex_status && !is_on(Remedy::VexOnlyClears))
        {
            return None;
        }
        let exempt = exemption::of_finding(&self.exemptions, entry, self.now);
        if let Exempt::Yes(exemption) = exempt {
            let ids = entry.id.iter().map(|id| cut(id.as_str(), MAX_NAME_LENGTH));
            match used.iter_mut().find(|used| std::ptr::eq(used.exemption, exemption)) {
                Some(used) => used.ids.extend(ids),
                None => used.push(UsedExemption { exemption, ids: ids.collect() }),
            }
            return None;
        }
        let in_grace = self.limits.fix_grace_period.is_some_and(|period| {
            // A date that lies ahead is no date.
            let young = entry
                .published
                .is_some_and(|published| published <= self.now && !published.is_older_than(period, self.now));
            entry.fixed_in.is_some() && young
        });
        (!in_grace).then_some(exempt)
    }

    /// Whether any limit is about such findings.
    fn is_limited(&self, entry: &Finding<'_>) -> bool {
        self.limits.max_severity.iter().any(|(severity, _)| *severity == entry.severity)
            || self.limits.cvss_score.is_some_and(|cvss| entry.score.is_some_and(|score| score >= cvss.threshold))
    }

    /// How many count: different ids, those without one each for itself; or entries.
    fn number_of(&self, findings: &[&(&Finding<'_>, Exempt<'a>)]) -> u64 {
        let count = match self.limits.count {
            Count::Entries => findings.len(),
            Count::Unique if !is_on(Remedy::CountIds) => findings.len(),
            Count::Unique => {
                let ids: BTreeSet<_> = findings.iter().filter_map(|(e, _)| e.id.as_ref().map(Text::as_str)).collect();
                ids.len() + findings.iter().filter(|(e, _)| e.id.is_none()).count()
            }
        };
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

fn verdict(exceeded: Vec<ExceededLimit>) -> Verdict {
    if exceeded.is_empty() { Verdict::Accepted } else { Verdict::Rejected(exceeded) }
}

/// The ids, and those that are named, the worst first.
fn named(findings: &[&(&Finding<'_>, Exempt<'_>)], counted: Count, room: &mut usize) -> (Vec<String>, NamedFindings) {
    let mut worst: Vec<_> =
        findings.iter().filter_map(|(e, exempt)| Some((e.id.as_ref()?.as_str(), *e, exempt))).collect();
    worst.sort_by(|(a_id, a, _), (b_id, b, _)| {
        let score = |finding: &Finding<'_>| finding.score.unwrap_or(0.0);
        a.severity.cmp(&b.severity).then(score(b).total_cmp(&score(a))).then(a_id.cmp(b_id))
    });
    let mut seen = BTreeSet::new();
    let mut ids: Vec<String> =
        worst.iter().filter(|(id, ..)| seen.insert(*id)).map(|(id, ..)| (*id).to_owned()).collect();
    ids.truncate(IDS_KEPT);
    if counted == Count::Unique {
        let mut seen = BTreeSet::new();
        worst.retain(|(id, ..)| seen.insert(*id));
    }
    let shown: Vec<NamedFinding> =
        worst.iter().take(*room).map(|(id, finding, exempt)| name(id, finding, exempt)).collect();
    *room -= shown.len();
    let hidden = worst.iter().skip(shown.len());
    let ended = hidden.filter(|(_, _, exempt)| matches!(exempt, Exempt::Ended(_) | Exempt::Fixed(_))).count();
    let more = worst.len() - shown.len();
    (ids, NamedFindings { shown, more, ended: u64::try_from(ended).unwrap_or(u64::MAX) })
}

fn name(id: &str, finding: &Finding<'_>, exempt: &Exempt<'_>) -> NamedFinding {
    let text = |text: &Text<'_>| text.as_str().to_owned();
    NamedFinding {
        id: id.to_owned(),
        also: None,
        package: finding.package.as_ref().map(text).filter(|name| !name.is_empty()),
        fixed_in: finding.fixed_in.as_ref().map(text),
        exemption: match exempt {
            Exempt::Ended(exemption) => Some(EndedExemption::Expired(exemption.expires)),
            Exempt::Fixed(_) => Some(EndedExemption::Fixed),
            Exempt::Void(exemption) => EndedExemption::void(exemption, finding.severity),
            Exempt::No | Exempt::Yes(_) => None,
        },
    }
}

#[cfg(test)]
mod tests;
