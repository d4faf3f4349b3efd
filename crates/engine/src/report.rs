//! Scan reports: what scanners say about exactly this image.

mod cluster;
mod custom;
mod document;
mod kubescape;
mod registry;
mod sbomscanner;
mod score;
mod source;
mod trivy_operator;

use crate::Timestamp;
use crate::acceptance::{ExceededLimit, Judge, Judgement, Verdict};
use crate::context::RequestContext;
use crate::host::{Host, HostFailure, Resource};
use crate::image::ImageReference;
use crate::message::{cut, join_at_most};
use crate::platform::Platform;
use crate::remedy::{Remedy, is_on};
use crate::resolve::{PlatformManifest, ResolvedImage, resolve};
use crate::settings::{EffectiveFallbacks, Fallback, ReportSource, Settings};
use serde::Serialize;
use serde_json::{Map, Value};
use source::{Known, Origin, Source, Statement, Wanted};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub(crate) use trivy_operator::Owner;

/// The most platforms that a reason names.
const PLATFORMS_SHOWN: usize = 4;
/// The longest reason of one platform.
const MAX_REASON_LENGTH: usize = 800;
/// The longest part of it that says what was found: who found it, and when, comes after it.
const MAX_FINDINGS_LENGTH: usize = 560;
/// An exemption that ends within so many seconds is warned of: seven days.
const SOON: i64 = 7 * 24 * 3600;

/// What is known about an image, in the four values that the seeds document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanStatus {
    /// Every platform asked for has a report that is accepted.
    Accepted,
    /// At least one platform has no report yet.
    ReportNotAvailable,
    /// The image can't be resolved, or a look-up failed, or a report can't be read.
    ScanFailed,
    /// At least one platform has a report that is not accepted.
    Rejected,
}

impl ScanStatus {
    /// `report_not_available`, as rules and messages spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::ReportNotAvailable => "report_not_available",
            Self::ScanFailed => "scan_failed",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for ScanStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What lies behind a status. None of these is ever taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportState {
    /// A report that is fresh enough decided.
    Fresh,
    /// Every report is older than `maxAge`.
    Stale,
    /// What stands where the report would stand speaks of another image.
    OtherImage,
    /// No scanner has looked at it, and none is about to.
    NotScanned,
    /// A scan is on its way.
    Pending,
    /// The scanner failed, or its report can't be read.
    Failed,
    /// The image can't be resolved, or a look-up failed.
    LookUpFailed,
}

impl ReportState {
    /// `look_up_failed`, as audit annotations spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::OtherImage => "other_image",
            Self::NotScanned => "not_scanned",
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::LookUpFailed => "look_up_failed",
        }
    }
}

/// What is known about one image: a status, why, and the digest that all of it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    /// The worst of the platforms' statuses.
    pub status: ScanStatus,
    /// What lies behind that status.
    pub state: ReportState,
    /// The same in one sentence.
    pub reason: String,
    /// Whether what failed may go away by itself, and nobody who writes a workload or pushes an image can cause it: only that is
    /// what `scanFailed: accept` forgives.
    #[serde(skip)]
    pub is_outage: bool,
    /// The digest that was judged, as soon as it is known.
    pub digest: Option<String>,
    /// What is written in the image's place: that digest, or the one platform's that is asked for.
    #[serde(skip)]
    pub(crate) pin: Option<String>,
    /// The source that knows the image, as the settings spell it.
    pub source: Option<&'static str>,
    /// Each platform that was asked for.
    pub platforms: Vec<PlatformReport>,
    /// Exemptions that kept findings from counting, each as its text for the audit log.
    pub exemptions: Vec<String>,
    /// What to tell people whatever the status is.
    pub warnings: Vec<String>,
}

/// A value of a scan report as rules and expressions see it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Text(&'a str),
    Flag(bool),
    None,
}

impl ScanReport {
    /// What rules in Rego and expressions in CEL see of it, by its keys. `image` is the text of the Pod.
    pub(crate) fn fields<'a>(&'a self, image: &'a str) -> [(&'static str, Field<'a>); 8] {
        let optional = |text: Option<&'a str>| text.map_or(Field::None, Field::Text);
        [
            ("ImageAndTag", Field::Text(image)),
            ("Status", Field::Text(self.status.name())),
            ("Passed", Field::Flag(self.status == ScanStatus::Accepted)),
            ("Reason", Field::Text(&self.reason)),
            ("Outage", Field::Flag(self.is_outage)),
            ("State", Field::Text(self.state.name())),
            ("Digest", optional(self.digest.as_deref())),
            ("Source", optional(self.source)),
        ]
    }
}

/// What is known about an image for one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformReport {
    /// `linux/amd64`; none when the image is for one platform only.
    pub platform: Option<String>,
    /// The digest of the platform's manifest.
    pub digest: String,
    /// What its reports say.
    pub status: ScanStatus,
    /// What lies behind that.
    pub state: ReportState,
    /// Why.
    pub reason: String,
    /// As [`ScanReport::is_outage`].
    #[serde(skip)]
    pub is_outage: bool,
    /// When the report that decided was made, where that is known.
    pub time: Option<String>,
    /// The reports that speak of it: `VulnerabilityReport sbomscanner/…`.
    pub reports: Vec<String>,
    /// The limits that the report that decided is over.
    #[serde(skip)]
    pub exceeded: Vec<ExceededLimit>,
    /// Where the report that decided can be read again.
    #[serde(skip)]
    pub(crate) origin: Option<Origin>,
}

/// The workload that images are judged for, as far as reports depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// The namespace it would run in.
    pub(crate) namespace: String,
    /// The names under which scanners may keep what they know about it.
    pub(crate) owners: Vec<Owner>,
    /// By image, the containers that would run it.
    pub(crate) containers: BTreeMap<ImageReference, Vec<String>>,
    /// The images of which one platform is pinned, by this request or by that of the Pods that come of it.
    pub(crate) pinned: Vec<ImageReference>,
}

/// What was found out about images, for whatever of the request asks after it: a tag is resolved once.
#[derive(Debug, Default)]
struct KnownImages {
    /// Digests that references were resolved to.
    digests: BTreeMap<ImageReference, String>,
    /// Those whose digest an attestor vouched for.
    vouched_for: BTreeSet<ImageReference>,
    found: BTreeMap<ImageReference, ScanReport>,
}

/// The reports of the images of one request. What one look-up answers for several images is asked for once.
pub(crate) struct ReportSearch<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    subject: &'a Subject,
    now: Timestamp,
    known: KnownImages,
    /// Made when the first image is looked for: many a request asks for none.
    sources: Vec<(&'static str, Box<dyn Source<'a> + 'a>)>,
}

impl<'a> ReportSearch<'a> {
    pub(crate) fn new(context: RequestContext<'a>, subject: &'a Subject) -> Self {
        let RequestContext { settings, host, now, .. } = context;
        Self { settings, host, subject, now, known: KnownImages::default(), sources: Vec::new() }
    }

    /// A source as the settings have it.
    fn source(&self, source: &'a ReportSource) -> Box<dyn Source<'a> + 'a> {
        let Self { settings, host, subject, .. } = *self;
        match source {
            ReportSource::SbomScanner(scanner) => {
                let needs_time = settings.reports.max_age.is_some();
                Box::new(sbomscanner::Source::new(scanner, host, &subject.namespace, needs_time))
            }
            ReportSource::TrivyOperator(operator) => Box::new(trivy_operator::Source::new(operator, host, subject)),
            ReportSource::Registry(registry) => Box::new(registry::Source::new(registry, host)),
            ReportSource::Kubescape(kubescape) => Box::new(kubescape::Source::new(kubescape, host)),
            ReportSource::Custom(custom) => Box::new(custom::Source::new(custom, host, &subject.namespace)),
        }
    }

    /// What the scanner itself wrote, whole: of the platform that decided; of several platforms with all of them under
    /// `Platforms`. None where there is no report.
    ///
    /// # Errors
    /// A report that was there can't be read again. That is never "no report": rules look into it for what they deny.
    pub(crate) fn whole(&self, report: &ScanReport) -> Result<Option<Value>, HostFailure> {
        let read = |platform: &PlatformReport| -> Result<Value, HostFailure> {
            match &platform.origin {
                None => Ok(Value::Null),
                Some(Origin::Object { api_version, kind, namespace, name }) => {
                    self.host.whole_resource(&Resource { api_version, kind, namespace, name })?.read()
                }
                Some(Origin::Artifact(artifact)) => {
                    let answer: Value = self.host.artifact(artifact)?.read()?;
                    Ok(answer.get("config").cloned().unwrap_or_default())
                }
            }
        };
        let worst = report.platforms.iter().find(|platform| platform.status == report.status);
        let Some(worst) = worst.filter(|platform| platform.origin.is_some()) else { return Ok(None) };
        let mut whole = read(worst)?;
        if report.platforms.len() > 1 {
            let name = |platform: &PlatformReport| platform.platform.clone().unwrap_or_else(|| platform.digest.clone());
            let mut all = Map::new();
            for platform in &report.platforms {
                all.insert(name(platform), read(platform)?);
            }
            if let Some(whole) = whole.as_object_mut() {
                whole.insert("Platforms".to_owned(), Value::Object(all));
            }
        }
        Ok(Some(whole))
    }

    /// Takes over digests that references were resolved to already, and which of them an attestor vouched for.
    pub(crate) fn know(
        &mut self,
        digests: BTreeMap<ImageReference, String>,
        vouched_for: impl Iterator<Item = ImageReference>,
    ) {
        self.known.digests.extend(digests);
        self.known.vouched_for.extend(vouched_for);
    }

    /// What is known about an image.
    pub(crate) fn find(&mut self, reference: &ImageReference) -> ScanReport {
        if let Some(report) = self.known.found.get(reference) {
            return report.clone();
        }
        let known = self.known.digests.get(reference);
        let (is_vouched_for, is_pinned) =
            (self.known.vouched_for.contains(reference), self.subject.pinned.contains(reference));
        let resolution = resolve(reference, known, is_vouched_for, is_pinned, self.settings, self.host);
        let report = match resolution.image {
            Ok(image) => self.search(reference, &image),
            Err(unresolved) => ScanReport {
                status: ScanStatus::ScanFailed,
                state: ReportState::LookUpFailed,
                reason: unresolved.to_string(),
                is_outage: unresolved.is_outage() && self.may_be_down(reference),
                pin: resolution.digest.clone(),
                digest: resolution.digest,
                source: None,
                platforms: Vec::new(),
                exemptions: Vec::new(),
                warnings: Vec::new(),
            },
        };
        self.known.found.insert(reference.clone(), report.clone());
        report
    }

    /// Whether a failure of an image's registry may be an outage: only where the settings name it.
    fn may_be_down(&self, reference: &ImageReference) -> bool {
        self.settings.names_registry(reference.host()) || !is_on(Remedy::ForgiveOutagesOnly)
    }

    fn search(&mut self, reference: &ImageReference, image: &ResolvedImage) -> ScanReport {
        let judge = Judge::new(self.settings, reference, &self.subject.namespace, self.now);
        let (said, known_to, asked) = self.ask(reference, image, &judge);
        let mut warnings = Vec::new();
        if image.is_unproven {
            warnings.push("its index may hold more than was judged: `unprovenIndexes` is `warn`".to_owned());
        }
        let mut exemptions = UsedExemptions::default();
        let whereabouts = || {
            let all: Vec<String> = self.sources.iter().take(asked).map(|(_, source)| source.whereabouts()).collect();
            all.join(", or ")
        };
        let forgiven = self.settings.scan.effective_fallbacks(&self.subject.namespace);
        let mut platforms = Vec::new();
        for (manifest, said) in image.platforms.iter().zip(said) {
            exemptions.note(&said);
            warnings.extend(disagreement(&said).filter(|warning| !warnings.contains(warning)));
            platforms.push(platform_report(manifest, said, known_to.unwrap_or_default(), forgiven, whereabouts));
        }
        warnings.extend(exemptions.ending(self.now));
        let worst = platforms.iter().map(|platform| (platform.status, platform.state, platform.is_outage));
        let worst = worst.reduce(|worst, next| {
            if gravity(next.0, next.2, forgiven) > gravity(worst.0, worst.2, forgiven) { next } else { worst }
        });
        let (status, state, is_outage) = worst.unwrap_or((ScanStatus::ScanFailed, ReportState::LookUpFailed, false));
        ScanReport {
            status,
            state,
            reason: reason(status, &platforms),
            is_outage,
            pin: Some(image.pin.clone()),
            digest: Some(image.digest.clone()),
            source: known_to,
            platforms,
            exemptions: exemptions.texts(),
            warnings,
        }
    }

    /// Asks the sources in turn, until one knows the image: what was said of each platform, by which source, and how many
    /// were asked. A failed look-up is no "doesn't know".
    fn ask(
        &mut self,
        reference: &ImageReference,
        image: &ResolvedImage,
        judge: &Judge<'a>,
    ) -> (Vec<Vec<Statement<'a>>>, Option<&'static str>, usize) {
        if self.sources.is_empty() {
            let sources = &self.settings.reports.sources;
            self.sources = sources.iter().map(|source| (source.name(), self.source(source))).collect();
        }
        let may_be_down = self.may_be_down(reference);
        let containers = self.subject.containers.get(reference).map(Vec::as_slice).unwrap_or_default();
        let mut said: Vec<Vec<Statement<'a>>> = image.platforms.iter().map(|_| Vec::new()).collect();
        for (number, (name, source)) in self.sources.iter_mut().enumerate() {
            for (manifest, said) in image.platforms.iter().zip(&mut said) {
                let max_age = self.settings.reports.max_age.as_ref();
                let wanted = Wanted { reference, image, manifest, containers, may_be_down, max_age, now: self.now };
                // No report can speak of what is no manifest; the others are judged all the same.
                if manifest.unjudgeable.is_none() {
                    said.extend(source.find(&wanted, judge));
                }
            }
            if said.iter().flatten().any(Statement::knows_the_image) {
                return (said, Some(*name), number + 1);
            }
        }
        (said, None, self.sources.len())
    }
}

/// The exemptions without which an image's reports might have come to something else: by their last day and reason, the
/// ids that they were needed for.
#[derive(Debug, Default)]
struct UsedExemptions(BTreeMap<(Timestamp, String), BTreeSet<String>>);

impl UsedExemptions {
    fn note(&mut self, said: &[Statement<'_>]) {
        for statement in said {
            let Known::Fresh(judgement) = &statement.known else { continue };
            for exempt in &judgement.used {
                let key = (exempt.exemption.expires, cut(&exempt.exemption.reason, 120));
                self.0.entry(key).or_default().extend(exempt.ids.iter().cloned());
            }
        }
    }

    /// A warning for each that ends soon.
    fn ending(&self, now: Timestamp) -> Vec<String> {
        let soon = self.0.iter().filter(|((expires, _), _)| expires.0.saturating_sub(now.0) <= SOON);
        soon.map(|((expires, reason), ids)| {
            format!("needs an exemption that ends {}: {} ({})", expires.day(), joined(ids, 2), cut(reason, 40))
        })
        .collect()
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.0.iter();
        texts.map(|((expires, reason), ids)| format!("{} until {}: {reason}", joined(ids, 8), expires.day())).collect()
    }
}

fn joined(ids: &BTreeSet<String>, most: usize) -> String {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    join_at_most(ids.into_iter(), ", ", most)
}

impl Statement<'_> {
    /// A source knows an image when it has a report for it, or says that one is on its way or failed. A look-up that
    /// failed may have hidden any of these.
    fn knows_the_image(&self) -> bool {
        match self.known {
            Known::Fresh(_) | Known::Stale(_) | Known::Pending(_) | Known::Failed(_) => true,
            Known::LookUpFailed(_) | Known::Provoked(_) => is_on(Remedy::StopAtFailure),
            Known::OfAnotherImage(_) | Known::NotScanned(_) => false,
        }
    }

    /// Whether a failure may go away by itself. A report in a registry that can't be read may be whoever's pushed it.
    fn is_outage(&self) -> bool {
        match &self.known {
            Known::Provoked(_) => !is_on(Remedy::ForgiveOutagesOnly),
            Known::Fresh(Judgement { verdict: Verdict::Unreadable(_), .. }) => {
                !matches!(self.origin, Some(Origin::Artifact(_)))
            }
            _ => true,
        }
    }

    fn is_fresh(&self) -> bool {
        matches!(self.known, Known::Fresh(_))
    }

    fn exceeded(&self) -> &[ExceededLimit] {
        match &self.known {
            Known::Fresh(Judgement { verdict: Verdict::Rejected(exceeded), .. }) => exceeded,
            _ => &[],
        }
    }

    /// What it comes to: status, state and a sentence.
    fn weight(&self, source: &str) -> (ScanStatus, ReportState, String) {
        let by = &self.by;
        let made = match (self.time, self.first_made) {
            (Some(time), _) => [" of ", &time.to_string()].concat(),
            (None, Some(time)) => [", first made ", &time.to_string()].concat(),
            (None, None) => String::new(),
        };
        match &self.known {
            Known::Fresh(Judgement { verdict: Verdict::Accepted, .. }) => {
                (ScanStatus::Accepted, ReportState::Fresh, ["accepted by ", by, &made].concat())
            }
            Known::Fresh(Judgement { verdict: Verdict::Rejected(exceeded), .. }) => (
                ScanStatus::Rejected,
                ReportState::Fresh,
                format!("{} ({source}: {by}{made})", cut(&texts_of(exceeded).join("; "), MAX_FINDINGS_LENGTH)),
            ),
            Known::Fresh(Judgement { verdict: Verdict::Unreadable(why), .. }) => {
                (ScanStatus::ScanFailed, ReportState::Failed, format!("{by} can't be read: {why}"))
            }
            Known::Stale(why) => (
                ScanStatus::ReportNotAvailable,
                ReportState::Stale,
                format!("waiting for a new scan: the scan report {by} is too old: {why}"),
            ),
            Known::OfAnotherImage(which) => (
                ScanStatus::ReportNotAvailable,
                ReportState::OtherImage,
                format!("no scan report yet: {by} is of another image, {which}"),
            ),
            Known::NotScanned(why) => {
                (ScanStatus::ReportNotAvailable, ReportState::NotScanned, format!("no scan report: {why}"))
            }
            Known::Pending(what) => (
                ScanStatus::ReportNotAvailable,
                ReportState::Pending,
                format!("no scan report yet: waiting for {what}"),
            ),
            Known::Failed(words) => {
                (ScanStatus::ScanFailed, ReportState::Failed, format!("the scan failed: {words}{}", of(by)))
            }
            Known::LookUpFailed(words) | Known::Provoked(words) => (
                ScanStatus::ScanFailed,
                ReportState::LookUpFailed,
                format!("the look-up of the scan report failed: {words}{}", of(by)),
            ),
        }
    }
}

fn texts_of(exceeded: &[ExceededLimit]) -> Vec<&str> {
    exceeded.iter().map(|limit| limit.text.as_str()).collect()
}

fn of(by: &str) -> String {
    if by.is_empty() { String::new() } else { format!(" ({by})") }
}

/// A warning when fresh reports of one platform come to different verdicts.
fn disagreement(said: &[Statement<'_>]) -> Option<String> {
    let mut fresh = said.iter().filter(|statement| statement.is_fresh());
    let first = fresh.next()?;
    // Nearly always there is one.
    let second = fresh.next()?;
    let status = |statement: &Statement<'_>| statement.weight("").0;
    let others = || [first, second].into_iter().chain(fresh.clone());
    let worst = others().reduce(|worst, next| if status(next) > status(worst) { next } else { worst })?;
    let agree = others().all(|statement| status(statement) == status(worst));
    (!agree).then(|| "has scan reports that disagree: the worst decides".to_owned())
}

/// The worst that a source says decides; of equals the first, in the order in which they were said. What is old doesn't
/// count beside what is fresh.
fn platform_report(
    manifest: &PlatformManifest,
    mut said: Vec<Statement<'_>>,
    source: &str,
    forgiven: EffectiveFallbacks,
    whereabouts: impl FnOnce() -> String,
) -> PlatformReport {
    if let Some(why) = manifest.unjudgeable {
        said.push(Statement::new(String::new(), Known::Provoked(why.to_owned())));
    }
    if said.iter().any(Statement::is_fresh) && is_on(Remedy::FreshBeforeStale) {
        said.retain(|statement| !matches!(statement.known, Known::Stale(_)));
    }
    if said.iter().any(Statement::knows_the_image) {
        said.retain(Statement::knows_the_image);
    }
    let reports = said.iter().filter(|s| s.is_fresh() || matches!(s.known, Known::Stale(_)));
    let reports: Vec<String> = reports.map(|statement| statement.by.clone()).collect();
    let judged = said.iter().map(|said| (said.weight(source), said));
    let grave = |(weight, said): &((ScanStatus, ReportState, String), &Statement<'_>)| {
        gravity(weight.0, said.is_outage(), forgiven)
    };
    let worst = judged
        .reduce(|worst, next| if grave(&next) > grave(&worst) && is_on(Remedy::WorstDecides) { next } else { worst });
    let decides = worst.as_ref().map(|(_, said)| *said);
    let (time, origin) = decides.map_or((None, None), |said| (said.time, said.origin.clone()));
    let exceeded = decides.map(|said| said.exceeded().to_vec()).unwrap_or_default();
    let is_outage = decides.is_none_or(Statement::is_outage);
    let (status, state, reason) = worst.map_or_else(
        || {
            let reason = format!("no scan report yet {}", whereabouts());
            (ScanStatus::ReportNotAvailable, ReportState::NotScanned, reason)
        },
        |(weight, _)| weight,
    );
    PlatformReport {
        platform: manifest.platform.as_ref().map(Platform::to_string),
        digest: manifest.digest.clone(),
        status,
        state,
        reason: cut(&reason, MAX_REASON_LENGTH),
        is_outage,
        time: time.map(|time| time.to_string()),
        reports,
        exceeded,
        origin,
    }
}

/// What decides before what: whatever rejects before what a setting forgives, so that nothing that is forgiven hides what
/// isn't; of these the worst status.
fn gravity(status: ScanStatus, is_outage: bool, forgiven: EffectiveFallbacks) -> (bool, ScanStatus, bool) {
    let is_forgiven = match status {
        ScanStatus::Accepted => true,
        ScanStatus::ReportNotAvailable => forgiven.report_pending == Fallback::Accept,
        ScanStatus::ScanFailed => forgiven.scan_failed == Fallback::Accept && is_outage,
        ScanStatus::Rejected => false,
    };
    (!is_forgiven && is_on(Remedy::ForgiveOutagesOnly), status, !is_outage)
}

/// The reasons of the platforms that made the status, platforms with the same reason together.
fn reason(status: ScanStatus, platforms: &[PlatformReport]) -> String {
    if status == ScanStatus::Accepted && platforms.len() > 1 {
        return format!("each of its {} platforms has a scan report that is accepted", platforms.len());
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for platform in platforms.iter().filter(|platform| platform.status == status) {
        let name = platform.platform.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|(reason, _)| *reason == platform.reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&platform.reason, vec![name])),
        }
    }
    let texts: Vec<String> = reasons
        .into_iter()
        .map(|(reason, names)| {
            let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
            if names.is_empty() {
                return reason.to_owned();
            }
            format!("{}: {reason}", join_at_most(names.into_iter(), ", ", PLATFORMS_SHOWN))
        })
        .collect();
    join_at_most(texts.iter().map(String::as_str), "; ", PLATFORMS_SHOWN)
}
