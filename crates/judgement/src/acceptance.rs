//! Acceptance: whether what a report found is within the limits.
//!
//! What counts is decided in this order: `denyAlways`, `allowAlways`, VEX (the report's own, then documents beside the image),
//! exemptions, known or likely exploitation, grace periods and images that run already, limits.

use crate::exemption::{self, Exempt, ExemptionObjects};
use crate::exploited::ExploitedCatalogue;
use crate::package::{self, PackageRoom};
use crate::reason::{
    EndedExemption, ExceededLimit, ExceededSetting, FINDINGS_SHOWN, NamedFinding, NamedFindings, NotRunning,
    RunsAlready, Unexcused, UnreadableReport, Untold, UnusableList, UnusedVex, UsedVex, Warned, YoungFinding,
};
use crate::running::RunningImage;
use crate::vex::{ImageVex, Vex, VexOfImage};
use image_admission_image::ImageReference;
use image_admission_scan_report::finding::{Exploited, Finding, Findings, OperatingSystem, OwnVerdict};
use image_admission_scan_report::package::Contents;
use image_admission_settings::{Count, Exemption, GateAction, Limit, Limits, MissingScores, Settings};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The most ids that are kept of findings over a limit.
const IDS_KEPT: usize = 20;
/// The longest id, package or version that a reason repeats.
const MAX_NAME_LENGTH: usize = 60;
/// The most VEX documents that a rejection names.
const DOCUMENTS_SHOWN: usize = 2;

/// Whether a report is accepted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Within all limits.
    Accepted,
    /// Over these limits.
    Rejected(Vec<ExceededLimit>),
    /// The report can't be believed, or lacks what a gate needs.
    Unreadable(UnreadableReport),
    /// Its findings can't be compared with the list of known exploited vulnerabilities.
    Incomparable(UnusableList),
}

/// A verdict, and the exemptions that it may depend on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement<'a> {
    pub verdict: Verdict,
    pub used: Vec<UsedExemption<'a>>,
    /// VEX statements that it may depend on.
    pub cleared: Vec<UsedVex>,
    /// What gates with the action `warn` found.
    pub warned: Vec<Warned>,
    /// Findings that don't count because the image runs already.
    pub young: Vec<YoungFinding>,
    /// Why nothing excused a rejection.
    pub unexcused: Vec<Unexcused>,
    /// The image's packages, if rules or expressions use them.
    pub packages: Vec<Map<String, Value>>,
}

/// An exemption that kept findings from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsedExemption<'a> {
    pub exemption: &'a Exemption,
    /// The ids of those findings.
    pub ids: BTreeSet<String>,
}

/// How much of a report to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The summary.
    Summary,
    /// The entries, as far as deciding needs them.
    Entries,
    /// The entries, with the details that messages show.
    Explained,
    /// The same, with the look-ups that may excuse findings: VEX documents, and exemptions and Pods of the cluster.
    Excused,
}

/// Which parts of an entry to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub ids: bool,
    /// Other names of the same vulnerability, which only lists of ids look at.
    pub aliases: bool,
    pub packages: bool,
    pub purls: bool,
    pub fixes: bool,
    pub scores: bool,
    pub published: bool,
    pub exploited: bool,
    pub epss_score: bool,
    pub epss_percentile: bool,
    /// What the report says of the operating system, beside its entries.
    pub system: bool,
}

/// Holds reports of one image against the limits.
#[derive(Debug, Clone)]
pub(crate) struct Judge<'a> {
    limits: Limits<'a>,
    exemptions: Vec<&'a Exemption>,
    exploited: Option<Rc<ExploitedCatalogue<'a>>>,
    /// The exemptions in the cluster, and the image that they would be about.
    objects: Option<(&'a ExemptionObjects<'a>, ImageReference)>,
    /// Those that are among `exemptions`, and how often a finding is compared with them.
    compared: Option<(&'a ExemptionObjects<'a>, usize)>,
    /// What the cluster can prove of the image, where those that run already have a grace period.
    running: Option<RunningImage<'a>>,
    /// What VEX documents may say of a platform of the image, for findings that would cause a rejection.
    documents: Option<VexOfImage<'a>>,
    /// What they say, once that is known.
    vex: Option<Rc<ImageVex>>,
    /// The room for packages, if they are listed instead of checked against gates.
    package_room: Option<PackageRoom>,
    now: Timestamp,
}

/// A finding that counts for something, and for what.
struct Weighed<'f, 'e, 'a> {
    finding: &'f Finding<'e>,
    exempt: Exempt<'a>,
    /// What VEX says of it without taking it out.
    vex: Option<UnusedVex>,
    exploitation: Exploitation,
    is_likely: bool,
    /// Whether a grace period still leaves it out.
    is_in_grace: bool,
}

/// Whether a finding is exploited, for `knownExploited`.
enum Exploitation {
    /// It isn't, or no gate asks.
    No,
    Yes(Option<Timestamp>),
    Untold,
    /// There is no usable list.
    Incomparable(UnusableList),
}

impl From<Verdict> for Judgement<'_> {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            used: Vec::new(),
            cleared: Vec::new(),
            warned: Vec::new(),
            young: Vec::new(),
            unexcused: Vec::new(),
            packages: Vec::new(),
        }
    }
}

impl<'a> Judge<'a> {
    /// A judge for the reports of an image that a workload of `namespace` would run.
    pub(crate) fn new(settings: &'a Settings, reference: &ImageReference, namespace: &str, now: Timestamp) -> Self {
        Self {
            limits: settings.acceptance.of(namespace),
            exemptions: exemption::of_image(&settings.exemptions, reference, namespace),
            exploited: None,
            objects: None,
            compared: None,
            running: None,
            documents: None,
            vex: None,
            package_room: None,
            now,
        }
    }

    /// The same for rules and expressions that read an image's packages: no gate applies, and packages are listed.
    pub(crate) fn telling_packages(self, room: PackageRoom) -> Self {
        Self { package_room: Some(room), ..self }
    }

    /// Gives it the list that the cluster holds of what is exploited.
    pub(crate) fn know_exploited(&mut self, exploited: Option<Rc<ExploitedCatalogue<'a>>>) {
        self.exploited = exploited;
    }

    /// Gives it the cluster's exemptions for findings that would cause a rejection.
    pub(crate) fn know_objects(&mut self, objects: Option<&'a ExemptionObjects<'a>>, reference: &ImageReference) {
        self.objects = objects.map(|objects| (objects, reference.clone()));
    }

    /// Gives it what the cluster can prove of an image that runs already.
    pub(crate) fn know_running(&mut self, running: Option<RunningImage<'a>>) {
        self.running = running;
    }

    /// The same, with what VEX documents may say of a platform of the image. A namespace that ignores VEX reads none.
    pub(crate) fn with_vex(mut self, documents: VexOfImage<'a>) -> Self {
        self.documents = Some(documents).filter(|_| !self.limits.ignore_vex_status);
        self
    }

    /// The platform that it judges reports of, if other platforms may be judged differently.
    pub(crate) fn platform(&self) -> Option<&str> {
        self.documents.as_ref().map(VexOfImage::platform)
    }

    /// Whether it lists packages, and applies no gate.
    pub(crate) fn lists_packages(&self) -> bool {
        self.package_room.is_some()
    }

    /// How much of a report to request first. A summary counts entries that aren't suppressed. Within the limits it is enough to
    /// accept, if nothing but totals decides.
    pub(crate) fn depth(&self) -> Depth {
        // Each is named, so that a new one can't be forgotten here.
        let Limits {
            max_severity,
            cvss_score,
            deny_always,
            allow_always,
            ignore_vex_status,
            fix_grace_period,
            unfixed_grace_period,
            known_exploited,
            epss,
            // What it excuses is requested once something rejects.
            running: _,
            // No entry says it.
            end_of_life: _,
            // No report does, either.
            packages: _,
            licenses: _,
            count: _,
        } = self.limits;
        let only_totals = max_severity.iter().all(|(_, limit)| matches!(limit, Limit::Total(_)))
            && cvss_score.is_none()
            && deny_always.is_empty()
            && allow_always.is_empty()
            && !ignore_vex_status
            && fix_grace_period.is_none()
            && unfixed_grace_period.is_none()
            && known_exploited.is_none()
            && epss.is_none()
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
            unfixed_grace_period,
            known_exploited,
            epss,
            running: _,
            end_of_life,
            packages: _,
            licenses: _,
            count,
        } = self.limits;
        // Findings of a gate that only warns aren't read again.
        let warns = known_exploited.is_some_and(|gate| gate.action == GateAction::Warn)
            || epss.is_some_and(|epss| epss.action == GateAction::Warn);
        let explained = matches!(depth, Depth::Explained | Depth::Excused) || warns;
        let objects = match &self.objects {
            Some((objects, reference)) if depth == Depth::Excused => objects.of_image(reference),
            _ => Vec::new(),
        };
        let exemptions = || self.exemptions.iter().chain(&objects);
        let asks_vex = self.documents.is_some() && depth == Depth::Excused;
        let lists = !deny_always.is_empty()
            || !allow_always.is_empty()
            || exemptions().next().is_some()
            || asks_vex
            || known_exploited.is_some_and(|gate| gate.from.is_some());
        let grace = fix_grace_period.is_some() || unfixed_grace_period.is_some();
        Parts {
            ids: explained || lists || count == Count::Unique,
            aliases: lists,
            packages: explained,
            purls: asks_vex || exemptions().any(|exemption| !exemption.packages.is_empty()),
            fixes: explained
                || grace
                || max_severity.iter().any(|(_, limit)| matches!(limit, Limit::TotalWithoutFixes(_)))
                || exemptions().any(|exemption| exemption.expire_on_fix),
            scores: cvss_score.is_some(),
            published: grace || (self.running.is_some() && depth == Depth::Excused),
            exploited: known_exploited.is_some(),
            epss_score: epss.is_some_and(|epss| epss.score.is_some()),
            epss_percentile: epss.is_some_and(|epss| epss.percentile.is_some()),
            system: end_of_life.is_some(),
        }
    }

    /// Whether a gate asks what an image is made of.
    pub(crate) fn asks_for_contents(&self) -> bool {
        self.limits.packages.is_some() || self.limits.licenses.is_some()
    }

    /// Whether a gate, a rule or an expression needs its licences.
    pub(crate) fn asks_for_licenses(&self) -> bool {
        self.limits.licenses.is_some() || self.package_room.is_some()
    }

    /// Checks an image's packages against the gates for them. An SBOM doesn't age, because its image never changes. But one that is
    /// dated in the future doesn't count.
    pub(crate) fn judge_contents(&self, contents: &Contents<'_>, made: Option<Timestamp>) -> Judgement<'a> {
        if let Some(made) = made.filter(|made| made.is_ahead_of(self.now) && is_on(Remedy::SbomIsPast)) {
            return Verdict::Unreadable(UnreadableReport::SbomAhead(made)).into();
        }
        if let Some(room) = &self.package_room {
            return match package::known(contents, room) {
                Ok(packages) => Judgement { packages, ..Verdict::Accepted.into() },
                Err(why) => Verdict::Unreadable(why).into(),
            };
        }
        let found = match package::exceeded(contents, self.limits.packages, self.limits.licenses) {
            Ok(found) => found,
            Err(why) => return Verdict::Unreadable(why).into(),
        };
        let mut exceeded = Vec::new();
        let mut judgement = Judgement::from(Verdict::Accepted);
        for (action, limit) in found {
            match action {
                GateAction::Reject => exceeded.push(limit),
                GateAction::Warn => judgement.warned.push(Warned::Exceeded(limit)),
            }
        }
        judgement.verdict = verdict(exceeded);
        judgement
    }

    /// How much to request of a report that is over these limits. Nothing excuses what is always denied, or a report's own verdict.
    pub(crate) fn deeper(&self, exceeded: &[ExceededLimit]) -> Depth {
        let is_final = |limit: &ExceededLimit| {
            matches!(
                limit.setting,
                ExceededSetting::DenyAlways | ExceededSetting::EndOfLife(_) | ExceededSetting::OwnVerdict
            )
        };
        if self.may_be_excused() && !exceeded.iter().any(is_final) { Depth::Excused } else { Depth::Explained }
    }

    /// Whether something beside the report may excuse its findings.
    pub(crate) fn may_be_excused(&self) -> bool {
        self.documents.is_some() || self.objects.is_some() || self.running.is_some()
    }

    /// Holds findings against the limits that were read as deep as this.
    pub(crate) fn judge_at(&self, depth: Depth, findings: &Findings<'_>) -> Judgement<'a> {
        if depth != Depth::Excused {
            return self.judge(findings);
        }
        let Some(documents) = &self.documents else { return self.judge_excused(findings) };
        let vex = documents.read();
        let judge = Self { vex: Some(Rc::clone(&vex)), ..self.clone() };
        let mut judgement = judge.judge_excused(findings);
        if matches!(judgement.verdict, Verdict::Rejected(_)) {
            let unusable = vex.uncompared().into_iter().chain(vex.unusable.iter().cloned());
            judgement.unexcused.extend(unusable.take(DOCUMENTS_SHOWN).map(Unexcused::Vex));
        }
        judgement
    }

    /// Holds findings against the limits with what the cluster excuses.
    fn judge_excused(&self, findings: &Findings<'_>) -> Judgement<'a> {
        let mut judgement = self.judge_exempted(findings, None);
        let Some(running) = self.running.as_ref().filter(|_| matches!(judgement.verdict, Verdict::Rejected(_))) else {
            return judgement;
        };
        // Pods that couldn't change the verdict aren't looked up.
        let at_best = self.judge_exempted(findings, Some(Timestamp(i64::MIN)));
        // Of several that are known since the same time the first is named, whatever the order of the report.
        let youngest = at_best.young.iter().max_by_key(|finding| (finding.known, Reverse(*finding)));
        let Some(youngest) = youngest else { return judgement };
        if at_best.verdict != Verdict::Accepted {
            return judgement;
        }
        let why = match running.runs_since_before(youngest.known) {
            Ok(Some(runs)) => {
                let mut excused = self.judge_exempted(findings, Some(runs.since));
                if excused.verdict == Verdict::Accepted {
                    let mut young = std::mem::take(&mut excused.young);
                    young.sort();
                    young.dedup();
                    let pod = [running.namespace(), "/", &runs.pod].concat();
                    let runs = RunsAlready { since: runs.since, pod, findings: young, now: self.now };
                    excused.warned.push(Warned::Runs(runs));
                    return excused;
                }
                let missed = at_best.young.iter().filter(|finding| finding.known <= runs.since).min();
                missed.map(|finding| (running.namespace(), finding))
            }
            Ok(None) => Some((running.namespace(), youngest)),
            Err(why) => {
                judgement.unexcused.push(Unexcused::NotRunning(NotRunning::Unknown(why)));
                None
            }
        };
        judgement.unexcused.extend(why.map(|(namespace, finding)| {
            let (namespace, finding) = (namespace.to_owned(), finding.clone());
            Unexcused::NotRunning(NotRunning::NotBefore { namespace, finding })
        }));
        judgement
    }

    /// Checks findings against the limits, with the cluster's exemptions. Each exemption that is used is read again, and one that
    /// changed exempts nothing. The image runs since `runs_since`, if that is known.
    fn judge_exempted(&self, findings: &Findings<'_>, runs_since: Option<Timestamp>) -> Judgement<'a> {
        let Some((objects, reference)) = &self.objects else { return self.judge_running(findings, runs_since) };
        // Each iteration leaves out more.
        loop {
            let of_objects = objects.of_image(reference);
            let compared = Some((*objects, objects.comparisons(&of_objects)));
            let exemptions = self.exemptions.iter().copied().chain(of_objects).collect();
            let exploited = self.exploited.clone();
            let (limits, now) = (self.limits, self.now);
            let vex = self.vex.clone();
            let judge = Self {
                limits,
                exemptions,
                exploited,
                objects: None,
                compared,
                running: None,
                documents: None,
                vex,
                package_room: None,
                now,
            };
            let mut judgement = judge.judge_running(findings, runs_since);
            // All are looked at, so that one round leaves out each that changed.
            let changed = judgement.used.iter().filter(|used| !objects.is_current(used.exemption)).count();
            if changed == 0 {
                if matches!(judgement.verdict, Verdict::Rejected(_)) {
                    judgement.unexcused.extend(objects.unknown().map(Unexcused::Exemptions));
                }
                return judgement;
            }
        }
    }

    /// Holds a report's findings against the limits.
    pub(crate) fn judge(&self, findings: &Findings<'_>) -> Judgement<'a> {
        self.judge_running(findings, None)
    }

    /// The same for an image that runs since then.
    fn judge_running(&self, findings: &Findings<'_>, runs_since: Option<Timestamp>) -> Judgement<'a> {
        let mut judgement = self.judge_findings(findings, runs_since);
        self.judge_system(&findings.system, &mut judgement);
        judgement
    }

    fn judge_findings(&self, findings: &Findings<'_>, runs_since: Option<Timestamp>) -> Judgement<'a> {
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
                return match &findings.entries {
                    Some(entries) => self.judge_entries(entries, true, runs_since),
                    None => self.judge_word(),
                };
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
        self.judge_entries(entries, false, runs_since)
    }

    /// Judges a report that says `pass` and lists nothing: gates that need findings have none to check, and nobody can tell whether one
    /// that is always denied is there.
    fn judge_word(&self) -> Judgement<'a> {
        if !self.limits.deny_always.is_empty() {
            return Verdict::Unreadable(UnreadableReport::Untold(Untold::Denied)).into();
        }
        let mut judgement = Judgement::from(Verdict::Accepted);
        let gates = [
            (self.limits.known_exploited.map(|gate| gate.action), Untold::Exploited),
            (self.limits.epss.map(|gate| gate.action), Untold::Epss),
        ];
        for (action, what) in gates {
            if let Some(action) = action {
                untold(action, what, &mut judgement);
            }
        }
        judgement
    }

    /// Whether the operating system is past its end of life: nobody maintains it, so its reports look clean.
    fn judge_system(&self, system: &OperatingSystem, judgement: &mut Judgement<'a>) {
        let Some(action) = self.limits.end_of_life else { return };
        match system {
            OperatingSystem::Maintained => {}
            OperatingSystem::Untold => untold(action, Untold::EndOfLife, judgement),
            OperatingSystem::PastEndOfLife(name) => {
                let (ids, named) = (Vec::new(), NamedFindings::default());
                let setting = ExceededSetting::EndOfLife(name.clone());
                let exceeded = ExceededLimit { setting, count: 1, max: 0, ids, named };
                match (action, &mut judgement.verdict) {
                    (GateAction::Warn, _) => judgement.warned.push(Warned::Exceeded(exceeded)),
                    (GateAction::Reject, Verdict::Rejected(all)) => all.push(exceeded),
                    (GateAction::Reject, other) => *other = Verdict::Rejected(vec![exceeded]),
                }
            }
        }
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

    /// Judges the entries. If the report itself says `pass`, the limits are skipped.
    fn judge_entries(&self, entries: &[Finding<'_>], passed: bool, runs_since: Option<Timestamp>) -> Judgement<'a> {
        let mut exceeded = Vec::new();
        let mut room = FINDINGS_SHOWN.saturating_sub(self.denied(entries, &mut exceeded));
        let mut judgement = Judgement::from(Verdict::Accepted);
        let mut weighed: Vec<Weighed<'_, '_, 'a>> =
            entries.iter().filter_map(|entry| self.weigh(entry, &mut judgement)).collect();
        for weighed in weighed.iter_mut().filter(|weighed| !weighed.is_in_grace) {
            let young = self.is_young(weighed.finding, runs_since);
            weighed.is_in_grace = young.is_some();
            judgement.young.extend(young);
        }
        self.judge_exploited(&weighed, &mut exceeded, &mut room, &mut judgement);
        self.judge_likely(&weighed, &mut exceeded, &mut room, &mut judgement);
        let limited = || weighed.iter().filter(|weighed| !weighed.is_in_grace && !passed);
        for (severity, limit) in self.limits.max_severity {
            let of: Vec<_> = match limit {
                Limit::Total(_) => limited().filter(|w| w.finding.severity == *severity).collect(),
                Limit::TotalWithoutFixes(_) => {
                    limited().filter(|w| w.finding.severity == *severity && w.finding.fixed_in.is_none()).collect()
                }
            };
            let (Limit::Total(max) | Limit::TotalWithoutFixes(max)) = *limit;
            let setting = ExceededSetting::MaxSeverity(*severity, *limit);
            exceeded.extend(self.exceeded(setting, max, &of, &mut room));
        }
        if let Some(cvss) = self.limits.cvss_score {
            let of: Vec<_> = limited().filter(|w| w.finding.score.is_some_and(|s| s >= cvss.threshold)).collect();
            let setting = ExceededSetting::CvssScore(cvss.threshold);
            exceeded.extend(self.exceeded(setting, cvss.max_count, &of, &mut room));
        }
        // What is known to be too bad comes before what is unknown.
        if !exceeded.is_empty() {
            judgement.verdict = Verdict::Rejected(exceeded);
        }
        judgement
    }

    /// A limit that findings are over.
    fn exceeded(
        &self,
        setting: ExceededSetting,
        max: u64,
        of: &[&Weighed<'_, '_, 'a>],
        room: &mut usize,
    ) -> Option<ExceededLimit> {
        let count = self.number_of(of);
        (count > max).then(|| {
            let (ids, named) = named(of, self.limits.count, room);
            ExceededLimit { setting, count, max, ids, named }
        })
    }

    /// What `knownExploited` makes of the findings.
    fn judge_exploited(
        &self,
        weighed: &[Weighed<'_, '_, 'a>],
        exceeded: &mut Vec<ExceededLimit>,
        room: &mut usize,
        judgement: &mut Judgement<'a>,
    ) {
        let Some(gate) = self.limits.known_exploited else { return };
        let due = |weighed: &Weighed<'_, '_, 'a>| match weighed.exploitation {
            Exploitation::Yes(due) => due,
            _ => None,
        };
        let of: Vec<_> = weighed.iter().filter(|w| matches!(w.exploitation, Exploitation::Yes(_))).collect();
        let first_due = of.iter().filter_map(|weighed| due(weighed)).min();
        let found = self.exceeded(ExceededSetting::KnownExploited(first_due), 0, &of, room);
        match gate.action {
            GateAction::Reject => exceeded.extend(found),
            GateAction::Warn => judgement.warned.extend(found.map(Warned::Exceeded)),
        }
        let incomparable = weighed.iter().find_map(|weighed| match &weighed.exploitation {
            Exploitation::Incomparable(why) => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = incomparable {
            match gate.action {
                GateAction::Reject => judgement.verdict = Verdict::Incomparable(why),
                GateAction::Warn => judgement.warned.push(Warned::List(why)),
            }
        } else if weighed.iter().any(|weighed| matches!(weighed.exploitation, Exploitation::Untold)) {
            untold(gate.action, Untold::Exploited, judgement);
        }
    }

    /// What `epss` makes of the findings.
    fn judge_likely(
        &self,
        weighed: &[Weighed<'_, '_, 'a>],
        exceeded: &mut Vec<ExceededLimit>,
        room: &mut usize,
        judgement: &mut Judgement<'a>,
    ) {
        let Some(epss) = self.limits.epss else { return };
        let of: Vec<_> = weighed.iter().filter(|weighed| weighed.is_likely).collect();
        let without: Vec<_> = of.iter().copied().filter(|weighed| self.lacks_epss(weighed.finding)).collect();
        let setting = ExceededSetting::Epss(epss, self.number_of(&without));
        let found = self.exceeded(setting, 0, &of, room);
        match epss.action {
            GateAction::Reject => exceeded.extend(found),
            GateAction::Warn => judgement.warned.extend(found.map(Warned::Exceeded)),
        }
    }

    /// Reports the findings that are never accepted, and says how many it named.
    fn denied(&self, entries: &[Finding<'_>], exceeded: &mut Vec<ExceededLimit>) -> usize {
        let (mut denied, mut ids) = (Vec::new(), Vec::new());
        for id in self.limits.deny_always {
            let found = entries
                .iter()
                .filter(|entry| !entry.suppressed || is_on(Remedy::DenyWhatVexClears))
                .filter(|entry| entry.is_one_of(std::slice::from_ref(id)))
                .min_by_key(|entry| place(entry));
            ids.extend(found.is_some().then(|| id.clone()));
            denied.extend(found.map(|entry| match entry.id.as_ref().map(JsonString::as_str) {
                Some(own) if own.eq_ignore_ascii_case(id) => name(own, entry, &Exempt::No, None),
                also => NamedFinding { also: also.map(str::to_owned), ..name(id, entry, &Exempt::No, None) },
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

    /// What a finding counts for, if anything, and what VEX documents and exemptions say about it.
    fn weigh<'f, 'e>(&self, entry: &'f Finding<'e>, judgement: &mut Judgement<'a>) -> Option<Weighed<'f, 'e, 'a>> {
        if entry.is_one_of(self.limits.allow_always)
            || (entry.suppressed && !self.limits.ignore_vex_status)
            || (self.limits.ignore_vex_status && !is_on(Remedy::VexOnlyClears))
        {
            return None;
        }
        let (exploitation, is_likely) = (self.exploitation(entry), self.is_likely(entry));
        if !self.is_limited(entry) && !is_likely && matches!(exploitation, Exploitation::No) {
            return None;
        }
        let vex = match self.vex.as_ref().map_or(Vex::Silent, |vex| vex.of(entry)) {
            Vex::Silent => None,
            Vex::Counts(unused) => Some(unused),
            Vex::Clears(said) => {
                for said in said {
                    match judgement.cleared.iter_mut().find(|cleared| cleared.said == said.said) {
                        Some(cleared) => cleared.ids.extend(said.ids),
                        None => judgement.cleared.push(said),
                    }
                }
                return None;
            }
        };
        let used = &mut judgement.used;
        let exempt = match self.compared {
            Some((objects, times)) if !objects.may_compare(times * entry.ids().count()) => Exempt::No,
            _ => exemption::of_finding(&self.exemptions, entry, self.now),
        };
        if let Exempt::Yes(exemption) = exempt {
            let ids = entry.id.iter().map(|id| cut(id.as_str(), MAX_NAME_LENGTH));
            match used.iter_mut().find(|used| std::ptr::eq(used.exemption, exemption)) {
                Some(used) => used.ids.extend(ids),
                None => used.push(UsedExemption { exemption, ids: ids.collect() }),
            }
            return None;
        }
        let is_in_grace = self.is_in_grace(entry);
        Some(Weighed { finding: entry, exempt, vex, exploitation, is_likely, is_in_grace })
    }

    /// Whether a finding is exploited. The report and the list are each enough.
    fn exploitation(&self, entry: &Finding<'_>) -> Exploitation {
        if self.limits.known_exploited.is_none() {
            return Exploitation::No;
        }
        let listed = match &self.exploited {
            Some(catalogue) => match catalogue.says(entry) {
                Ok(listed) => listed,
                Err(why) if entry.exploited.is_none_or(|said| said == Exploited::No) => {
                    return Exploitation::Incomparable(why);
                }
                Err(_) => None,
            },
            None => None,
        };
        match (entry.exploited, listed) {
            (Some(Exploited::Yes { due: said }), Some(Exploited::Yes { due: listed })) => {
                Exploitation::Yes(said.into_iter().chain(listed).min())
            }
            (Some(Exploited::Yes { due }), _) | (_, Some(Exploited::Yes { due })) => Exploitation::Yes(due),
            (Some(Exploited::No), _) | (_, Some(Exploited::No)) => Exploitation::No,
            (None, None) if is_on(Remedy::UntoldIsNotFine) => Exploitation::Untold,
            (None, None) => Exploitation::No,
        }
    }

    /// Whether a finding reaches a threshold of `epss`, or may reach one.
    fn is_likely(&self, entry: &Finding<'_>) -> bool {
        let Some(epss) = self.limits.epss else { return false };
        let is_from =
            |value: Option<f64>, from: Option<f64>| value.zip(from).is_some_and(|(value, from)| value >= from);
        is_from(entry.epss.score, epss.score)
            || is_from(entry.epss.percentile, epss.percentile)
            || (epss.missing == MissingScores::Count && self.lacks_epss(entry))
    }

    /// Whether a finding has no value that `epss` could compare. If both thresholds are set, one value is enough.
    fn lacks_epss(&self, entry: &Finding<'_>) -> bool {
        let Some(epss) = self.limits.epss else { return false };
        let has_score = epss.score.is_some() && entry.epss.score.is_some();
        let has_percentile = epss.percentile.is_some() && entry.epss.percentile.is_some();
        !has_score && !has_percentile && is_on(Remedy::UntoldIsNotFine)
    }

    /// Whether a finding doesn't count yet, since it, or its fix, is young.
    fn is_in_grace(&self, entry: &Finding<'_>) -> bool {
        let periods = match entry.fixed_in {
            Some(_) => self.limits.fix_grace_period,
            None => self.limits.unfixed_grace_period,
        };
        periods.and_then(|periods| periods.of(entry.severity)).is_some_and(|period| {
            // A date in the future is no date.
            entry.published.is_some_and(|published| published <= self.now && !published.is_older_than(period, self.now))
        })
    }

    /// The same for an image that runs since then: whether the finding became known while the image ran, and doesn't count yet.
    fn is_young(&self, entry: &Finding<'_>, runs_since: Option<Timestamp>) -> Option<YoungFinding> {
        let (period, known) = (self.limits.running?.of(entry.severity)?, entry.known?);
        let ran_before = runs_since? < known || !is_on(Remedy::RunSinceBefore);
        let is_past = known <= self.now || !is_on(Remedy::KnownIsPast);
        (ran_before && is_past && !known.is_older_than(period, self.now)).then(|| YoungFinding {
            until: known.after(period),
            known,
            id: entry.id.as_ref().map_or(String::new(), |id| id.as_str().to_owned()),
        })
    }

    /// Whether any limit is about such findings.
    fn is_limited(&self, entry: &Finding<'_>) -> bool {
        self.limits.max_severity.iter().any(|(severity, _)| *severity == entry.severity)
            || self.limits.cvss_score.is_some_and(|cvss| entry.score.is_some_and(|score| score >= cvss.threshold))
    }

    /// How many count: different ids (without an id, each finding counts), or entries.
    fn number_of(&self, findings: &[&Weighed<'_, '_, 'a>]) -> u64 {
        let count = match self.limits.count {
            Count::Entries => findings.len(),
            Count::Unique if !is_on(Remedy::CountIds) => findings.len(),
            Count::Unique => {
                let ids: BTreeSet<_> =
                    findings.iter().filter_map(|w| w.finding.id.as_ref().map(JsonString::as_str)).collect();
                ids.len() + findings.iter().filter(|w| w.finding.id.is_none()).count()
            }
        };
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

/// Applies a gate to a report that lacks what the gate needs. What is known to be too bad stays so.
fn untold(action: GateAction, what: Untold, judgement: &mut Judgement<'_>) {
    match (action, &judgement.verdict) {
        (GateAction::Warn, _) => judgement.warned.push(Warned::Untold(what)),
        _ if !is_on(Remedy::UntoldIsNotFine) => {}
        (GateAction::Reject, Verdict::Accepted) => {
            judgement.verdict = Verdict::Unreadable(UnreadableReport::Untold(what));
        }
        (GateAction::Reject, Verdict::Rejected(_) | Verdict::Unreadable(_) | Verdict::Incomparable(_)) => {}
    }
}

fn verdict(exceeded: Vec<ExceededLimit>) -> Verdict {
    if exceeded.is_empty() { Verdict::Accepted } else { Verdict::Rejected(exceeded) }
}

/// The ids, and the findings that are named, the worst first.
fn named(findings: &[&Weighed<'_, '_, '_>], counted: Count, room: &mut usize) -> (Vec<String>, NamedFindings) {
    let mut worst: Vec<_> =
        findings.iter().filter_map(|w| Some((w.finding.id.as_ref()?.as_str(), w.finding, *w))).collect();
    worst.sort_by(|(a_id, a, _), (b_id, b, _)| {
        let score = |finding: &Finding<'_>| finding.score.unwrap_or(0.0);
        let by_score = a.severity.cmp(&b.severity).then(score(b).total_cmp(&score(a)));
        by_score.then(a_id.cmp(b_id)).then_with(|| place(a).cmp(&place(b)))
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
        worst.iter().take(*room).map(|(id, finding, w)| name(id, finding, &w.exempt, w.vex.as_ref())).collect();
    *room -= shown.len();
    let hidden = worst.iter().skip(shown.len());
    let ended = hidden.filter(|(_, _, w)| matches!(w.exempt, Exempt::Ended(_) | Exempt::Fixed(_))).count();
    let more = worst.len() - shown.len();
    (ids, NamedFindings { shown, more, ended: u64::try_from(ended).unwrap_or(u64::MAX) })
}

/// What tells the findings of one vulnerability apart. Their order in a report is the scanner's, and may be another in the next one.
fn place<'f>(finding: &'f Finding<'_>) -> [Option<&'f str>; 4] {
    [&finding.id, &finding.package, &finding.purl, &finding.fixed_in].map(|text| text.as_ref().map(JsonString::as_str))
}

fn name(id: &str, finding: &Finding<'_>, exempt: &Exempt<'_>, vex: Option<&UnusedVex>) -> NamedFinding {
    let text = |text: &JsonString<'_>| text.as_str().to_owned();
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
        vex: vex.cloned(),
    }
}

#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod tests;
