//! Scan reports: what scanners say about this exact image.

mod cluster;
mod custom;
mod kubescape;
mod registry;
mod sbomscanner;
mod source;
mod trivy_operator;

use crate::acceptance::{Judge, Judgement, Verdict};
use crate::configuration::configurations;
use crate::exemption::ExemptionObjects;
use crate::exploited::ExploitedCatalogue;
use crate::package::PackageRoom;
use crate::reason::{
    Decisive, DocumentKind, ExceededLimit, ExemptedBy, GateWarning, ImageWarning, LookUpFailure, Made, ReportReason,
    ReportState, ScanReason, ScanStatus, UnknownConfiguration, UnknownPackages, UsedExemption, UsedVex,
};
use crate::resolve::{
    Digests, PlatformManifest, Purpose, Resolution, ResolvedImage, find_index, resolve, resolve_digest,
};
use crate::running::{RunningImage, RunningPods};
use crate::vex::{VexDocuments, VexOfImage};
use image_admission_attestors::Verifier;
use image_admission_host::{Host, HostFailure, Resource};
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_settings::{
    EffectiveFallbacks, FailureFallback, Fallback, ForgivenBy, Mirror, ReportSource, SbomSource, Settings,
};
use image_admission_untrusted::memory::{AnyJson, read_value};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use source::{Knowledge, Origin, Source, Statement, TaggedImage, WantedPlatform};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

pub use sbomscanner::{companions_registry, computed_report_name};
pub use trivy_operator::Owner;

/// The longest reason of an exemption that is shown.
const MAX_EXEMPTION_REASON: usize = 120;
/// An exemption that ends within so many seconds causes a warning: seven days.
const SOON: i64 = 7 * 24 * 3600;

/// The most bytes of an image's packages that rules and expressions read, as [`PackageRoom`] counts them: the image's builder
/// chooses how many there are.
const MAX_PACKAGE_BYTES: usize = 4 << 20;
/// The same for all images of a request.
const MAX_PACKAGE_BYTES_TOGETHER: usize = 16 << 20;

/// The kinds of the cluster that a source reads, each with its `apiVersion`.
pub fn kinds_of(source: &ReportSource) -> Vec<(&str, &str)> {
    match source {
        ReportSource::SbomScanner(_) => sbomscanner::KINDS.to_vec(),
        ReportSource::TrivyOperator(_) => vec![(trivy_operator::API_VERSION, trivy_operator::KIND)],
        ReportSource::Registry(_) | ReportSource::Attestation(_) => Vec::new(),
        ReportSource::Kubescape(_) => kubescape::KINDS.to_vec(),
        ReportSource::Custom(custom) => vec![(&custom.api_version, &custom.kind)],
    }
}

/// The kind of the cluster that a source of SBOMs reads, with its `apiVersion`; none where it reads none.
pub fn sbom_kind_of(source: &SbomSource) -> Option<(&'static str, &'static str)> {
    match source {
        SbomSource::SbomScanner(_) => Some(sbomscanner::SBOM_KIND),
        SbomSource::TrivyOperator(_) => Some((trivy_operator::API_VERSION, trivy_operator::SBOM_KIND)),
        SbomSource::Registry(_) | SbomSource::Attestation(_) => None,
    }
}

/// What is known about one image: a status, the reason, and the digest that both are about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    /// The worst of the platforms' statuses.
    pub status: ScanStatus,
    /// What is behind that status.
    pub state: ReportState,
    /// The reason.
    pub reason: ScanReason,
    /// The value of `scanFailed` that admits an image whose scan failed.
    #[serde(skip)]
    pub forgiven_by: ForgivenBy,
    /// The digest that was judged, once it is known.
    pub digest: Option<String>,
    /// The digest that is pinned: that digest, or that of the one wanted platform.
    #[serde(skip)]
    pub pin: Option<String>,
    /// The source that knows the image, as the settings spell it.
    pub source: Option<&'static str>,
    /// Each wanted platform.
    pub platforms: Vec<PlatformReport>,
    /// Exemptions that kept findings from counting.
    pub exemptions: Vec<UsedExemption>,
    /// What VEX documents beside the image say that kept findings from counting.
    pub vex: Vec<UsedVex>,
    /// Warnings, whatever the status is.
    pub warnings: Vec<ImageWarning>,
}

/// A value of a scan report as rules and expressions see it.
#[derive(Debug, Clone)]
pub enum Field<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// True or false.
    Flag(bool),
    /// Unknown.
    None,
}

impl ScanReport {
    /// What rules in Rego and expressions in CEL see of it, by its keys. `image` is the image as the Pod spells it.
    pub fn fields<'a>(&'a self, image: &'a str) -> [(&'static str, Field<'a>); 9] {
        let text = |text: &'a str| Field::Text(text.into());
        let optional = |of: Option<&'a str>| of.map_or(Field::None, text);
        // A rule that forgives may not look at the status. What didn't fail has nothing to forgive, and of several platforms none may
        // hide behind another's failure.
        let is_forgiven = |by: fn(ForgivenBy) -> bool| {
            let mut others = self.platforms.iter().filter(|of| of.status != ScanStatus::Accepted);
            let is_outage = |of: &PlatformReport| of.status == ScanStatus::ScanFailed && by(of.forgiven_by);
            self.status == ScanStatus::ScanFailed && by(self.forgiven_by) && others.all(is_outage)
        };
        [
            ("ImageAndTag", text(image)),
            ("Status", text(self.status.name())),
            ("Passed", Field::Flag(self.status == ScanStatus::Accepted)),
            ("Reason", Field::Text(self.reason.to_string().into())),
            ("Outage", Field::Flag(is_forgiven(|by| by == ForgivenBy::AcceptOutages))),
            ("Forgivable", Field::Flag(is_forgiven(|by| by != ForgivenBy::Nothing))),
            ("State", text(self.state.name())),
            ("Digest", optional(self.digest.as_deref())),
            ("Source", optional(self.source)),
        ]
    }
}

/// What is known about an image for one platform.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformReport {
    /// `linux/amd64`, or `windows(10.0.17763.1)/amd64`; none when the image is for one platform only.
    pub platform: Option<String>,
    /// The digest of the platform's manifest.
    pub digest: String,
    /// The status from its reports.
    pub status: ScanStatus,
    /// What is behind that.
    pub state: ReportState,
    /// The reason.
    pub reason: ReportReason,
    /// As [`ScanReport::forgiven_by`].
    #[serde(skip)]
    pub forgiven_by: ForgivenBy,
    /// When the report that decided was made, where that is known.
    pub time: Option<String>,
    /// The reports about it: `VulnerabilityReport sbomscanner/…`.
    pub reports: Vec<String>,
    /// Where the report that decided can be read again.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

impl PlatformReport {
    /// Adds the result of an SBOM: the worse of both decides, and the report if they are equal. Rules read the report in any case.
    fn with(self, sbom: Self, forgiven: EffectiveFallbacks) -> Self {
        let grave = |of: &Self| gravity(of.status, of.forgiven_by, forgiven);
        let origin = self.origin.clone();
        let reports = [self.reports.as_slice(), sbom.reports.as_slice()].concat();
        let worse = if grave(&sbom) > grave(&self) { sbom } else { self };
        Self { reports, origin, ..worse }
    }

    /// The reason, in one sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        self.reason.to_string()
    }

    /// The limits that the report that decided is over.
    #[must_use]
    pub fn exceeded(&self) -> &[ExceededLimit] {
        self.reason.exceeded()
    }
}

/// The workload that images are judged for, as far as reports depend on it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The namespace it would run in.
    pub namespace: String,
    /// The workloads that scanners may store its reports under.
    pub owners: Vec<Owner>,
    /// By image, the containers that would run it.
    pub containers: BTreeMap<ImageReference, Vec<String>>,
    /// The images that are pinned, by this request or by the requests for the workload's Pods.
    pub pinned: Vec<ImageReference>,
}

/// What is known about an image, shared by all parts of the request: its tag is resolved once.
#[derive(Debug, Default)]
struct KnownImage {
    /// The digest that its reference was resolved to.
    digest: Option<String>,
    /// Whether an attestor signed that digest.
    is_vouched_for: bool,
    /// What its reference was resolved to, and whether its digest was signed then.
    resolved: Option<(bool, Rc<Resolution>)>,
    /// What its reports say.
    found: Option<Rc<ScanReport>>,
    /// What rules and expressions see of its platforms.
    configurations: Option<Result<Rc<Value>, UnknownConfiguration>>,
    /// The packages that rules and expressions see.
    packages: Option<Result<Rc<Value>, UnknownPackages>>,
}

/// The reports of the images of one request. A look-up that serves several images is made once.
pub struct ReportSearch<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    verifier: &'a Verifier<'a>,
    subject: &'a Subject,
    /// Exemptions in the cluster, if the settings use them.
    objects: Option<&'a ExemptionObjects<'a>>,
    /// What runs in the workload's namespace, where that may excuse findings.
    running: Option<&'a RunningPods<'a>>,
    now: Timestamp,
    known: BTreeMap<ImageReference, Rc<RefCell<KnownImage>>>,
    /// The bytes that are left for packages.
    package_room: PackageRoom,
    /// Made for the first image: many requests need no report.
    sources: Vec<(&'static str, Box<dyn Source<'a> + 'a>)>,
    /// The same for SBOMs, which are read only if a gate needs one.
    sboms: Vec<(&'static str, Box<dyn Source<'a> + 'a>)>,
    /// The cluster's list of exploited vulnerabilities, for all images of the request.
    exploited: Option<Rc<ExploitedCatalogue<'a>>>,
    /// The VEX documents, for all images of the request; none if the settings name no place for them.
    vex: Option<Rc<VexDocuments<'a>>>,
    /// Whether what is said of an index counts for its one wanted platform: see [`find_index`].
    asks_indexes: bool,
}

/// Which images are rejected that a source has no report of.
#[derive(Clone, Copy)]
struct Rejects {
    /// Those that it doesn't know.
    unknown: bool,
    /// Those whose scan failed.
    failed: bool,
}

/// The platforms of an image whose documents are wanted.
#[derive(Clone, Copy)]
struct JudgedPlatforms<'s> {
    reference: &'s ImageReference,
    image: &'s ResolvedImage,
    /// For each of the image's platforms, in their order, whether it is wanted.
    is_asked: &'s [bool],
}

/// What documents add to their results.
#[derive(Default)]
struct SaidBeside {
    exemptions: UsedExemptions,
    vex: Vec<UsedVex>,
    warnings: Vec<ImageWarning>,
}

impl fmt::Debug for ReportSearch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportSearch").field("known", &self.known.keys()).finish_non_exhaustive()
    }
}

impl<'a> ReportSearch<'a> {
    /// A search that has made no calls yet.
    pub fn new(
        settings: &'a Settings,
        host: &'a dyn Host,
        verifier: &'a Verifier<'a>,
        now: Timestamp,
        subject: &'a Subject,
        objects: Option<&'a ExemptionObjects<'a>>,
        running: Option<&'a RunningPods<'a>>,
    ) -> Self {
        let gate = settings.acceptance.of(&subject.namespace).known_exploited;
        let list = gate.and_then(|gate| gate.from.as_ref());
        let exploited = list.map(|list| Rc::new(ExploitedCatalogue::new(list, host, now)));
        let package_room = Rc::new(Cell::new(Some(MAX_PACKAGE_BYTES_TOGETHER)));
        let (known, sources, sboms) = (BTreeMap::new(), Vec::new(), Vec::new());
        let vex = VexDocuments::new(&settings.reports.vex, host, verifier, now).map(Rc::new);
        Self {
            settings,
            host,
            verifier,
            subject,
            objects,
            running,
            now,
            known,
            package_room,
            sources,
            sboms,
            exploited,
            vex,
            asks_indexes: true,
        }
    }

    /// The same for what is said of images alone, whatever index their tags stand for.
    #[must_use]
    pub fn without_indexes(self) -> Self {
        Self { asks_indexes: false, ..self }
    }

    /// A source as the settings have it. `rejects` says which images are rejected, where this source knows nothing good about them.
    fn source(&self, source: &'a ReportSource, rejects: Rejects) -> Box<dyn Source<'a> + 'a> {
        let Self { settings, host, verifier, subject, .. } = *self;
        match source {
            ReportSource::SbomScanner(scanner) => {
                let needs_time = settings.reports.max_age.is_some();
                let namespace = &subject.namespace;
                Box::new(sbomscanner::SbomScannerReports::new(scanner, host, namespace, needs_time, rejects))
            }
            ReportSource::TrivyOperator(operator) => {
                Box::new(trivy_operator::TrivyOperatorReports::new(operator, host, subject))
            }
            ReportSource::Registry(attached) | ReportSource::Attestation(attached) => {
                Box::new(registry::AttachedReports::new(DocumentKind::Report, attached, host, verifier))
            }
            ReportSource::Kubescape(kubescape) => Box::new(kubescape::KubescapeReports::new(kubescape, host)),
            ReportSource::Custom(custom) => Box::new(custom::CustomObjects::new(custom, host, &subject.namespace)),
        }
    }

    /// A source of SBOMs as the settings have it.
    fn sbom_source(&self, source: &'a SbomSource) -> Box<dyn Source<'a> + 'a> {
        let Self { host, verifier, subject, .. } = *self;
        match source {
            SbomSource::SbomScanner(scanner) => {
                let rejects_failed = self.rejects().failed;
                Box::new(sbomscanner::SbomScannerSboms::new(scanner, host, &subject.namespace, rejects_failed))
            }
            SbomSource::TrivyOperator(operator) => {
                Box::new(trivy_operator::TrivyOperatorSboms::new(operator, host, subject))
            }
            SbomSource::Registry(attached) | SbomSource::Attestation(attached) => {
                Box::new(registry::AttachedReports::new(DocumentKind::Sbom, attached, host, verifier))
            }
        }
    }

    /// The scanner's own report, whole: that of the platform that decided. For an image with several platforms it comes with all of
    /// them under `Platforms`. None if there is no report.
    ///
    /// # Errors
    /// A report that was there can't be read again. That is never "no report": rules that deny look into it.
    pub fn whole(&self, report: &ScanReport) -> Result<Option<Value>, HostFailure> {
        let read = |platform: &PlatformReport| -> Result<Value, HostFailure> {
            match &platform.origin {
                None => Ok(Value::Null),
                Some(Origin::Object { api_version, kind, namespace, name }) => self
                    .host
                    .whole_resource(&Resource { api_version, kind, namespace, name })?
                    .read()
                    .map(|AnyJson(whole)| whole),
                Some(Origin::Artifact(artifact)) => {
                    let AnyJson(answer) = self.host.artifact(artifact)?.read()?;
                    Ok(answer.get("config").cloned().unwrap_or_default())
                }
                Some(Origin::Statement(json)) => {
                    read_value(json).map_err(|error| HostFailure::Malformed(error.to_string()))
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

    /// Takes over digests of references that are resolved already, and which of them an attestor signed.
    pub fn know(
        &mut self,
        digests: BTreeMap<ImageReference, String>,
        vouched_for: impl Iterator<Item = ImageReference>,
    ) {
        for (reference, digest) in digests {
            self.known.entry(reference).or_default().borrow_mut().digest = Some(digest);
        }
        for reference in vouched_for {
            let mut known = self.known.entry(reference).or_default().borrow_mut();
            known.is_vouched_for = true;
            // A signed digest stays, even if an expression asked for the report before that was known.
            if let Some(found) = &mut known.found {
                let found = Rc::make_mut(found);
                found.pin.clone_from(&found.digest);
            }
        }
    }

    /// Takes over what references were resolved to before anything was judged, or why they couldn't be.
    pub fn know_resolved(&mut self, digests: &Digests) {
        for (reference, digest) in digests {
            let known = self.known(reference);
            match digest {
                Ok(digest) => known.borrow_mut().digest = Some(digest.clone()),
                Err(why) => {
                    let resolution = Resolution { digest: None, image: Err(why.clone()) };
                    known.borrow_mut().resolved = Some((false, Rc::new(resolution)));
                }
            }
        }
    }

    /// What is known about an image. Its name is the key, so that each look-up is made once.
    fn known(&mut self, reference: &ImageReference) -> Rc<RefCell<KnownImage>> {
        Rc::clone(self.known.entry(reference.clone()).or_default())
    }

    /// What is known about an image.
    pub fn find(&mut self, reference: &ImageReference) -> Rc<ScanReport> {
        let known = self.known(reference);
        if let Some(report) = &known.borrow().found {
            return Rc::clone(report);
        }
        let resolution = self.resolution(reference, &known);
        let report = match &resolution.image {
            Ok(image) => self.search(reference, image),
            Err(unresolved) => ScanReport {
                status: ScanStatus::ScanFailed,
                state: unresolved.state(),
                forgiven_by: unresolved.forgiven_by(self.settings.may_be_down(reference.host())),
                reason: ScanReason::Unresolved(unresolved.clone()),
                pin: resolution.digest.clone(),
                digest: resolution.digest.clone(),
                source: None,
                platforms: Vec::new(),
                exemptions: Vec::new(),
                vex: Vec::new(),
                warnings: Vec::new(),
            },
        };
        let report = Rc::new(report);
        known.borrow_mut().found = Some(Rc::clone(&report));
        report
    }

    /// What a reference stands for. It is resolved once, unless its digest was signed since.
    fn resolution(&mut self, reference: &ImageReference, known: &RefCell<KnownImage>) -> Rc<Resolution> {
        let mut known = known.borrow_mut();
        let is_vouched_for = known.is_vouched_for;
        if let Some((of, resolution)) = &known.resolved
            && *of == is_vouched_for
        {
            return Rc::clone(resolution);
        }
        let is_pinned = self.subject.pinned.contains(reference);
        let (purpose, settings, host) = (Purpose { is_vouched_for, is_pinned }, self.settings, self.host);
        let resolution = Rc::new(match &known.digest {
            Some(digest) => resolve_digest(reference, digest.clone(), purpose, settings, host),
            None => {
                resolve(reference, purpose, settings, host, |platforms| self.reported_digests(reference, platforms))
            }
        });
        if resolution.digest.is_some() {
            known.digest.clone_from(&resolution.digest);
        }
        known.resolved = Some((is_vouched_for, Rc::clone(&resolution)));
        resolution
    }

    /// The digests that reports of a tag's repository name. Only the first source is asked: it is in any case.
    fn reported_digests(&mut self, reference: &ImageReference, platforms: &[PlatformManifest]) -> BTreeSet<String> {
        let judge = Judge::new(self.settings, reference, &self.subject.namespace, self.now);
        let containers = self.subject.containers.get(reference).map(Vec::as_slice).unwrap_or_default();
        let needs_time = self.settings.reports.max_age.is_some();
        let tagged = TaggedImage { reference, platforms, containers, needs_time };
        self.report_sources().first_mut().map(|(_, source)| source.digests_of(&tagged, &judge)).unwrap_or_default()
    }

    /// Which images are rejected that no source has a report of.
    fn rejects(&self) -> Rejects {
        let fallbacks = self.settings.scan.effective_fallbacks(&self.subject.namespace);
        let may_be_admitted = self.settings.rules_read_reports();
        Rejects {
            unknown: fallbacks.report_pending == Fallback::Reject && !may_be_admitted,
            failed: fallbacks.scan_failed == FailureFallback::Reject && !may_be_admitted,
        }
    }

    /// The sources of reports, made once.
    fn report_sources(&mut self) -> &mut Vec<(&'static str, Box<dyn Source<'a> + 'a>)> {
        if self.sources.is_empty() {
            let rejects = self.rejects();
            let sources = &self.settings.reports.sources;
            let is_last = |position: usize| position + 1 == sources.len();
            let source = |(position, source): (usize, &'a ReportSource)| {
                let rejects = Rejects { unknown: rejects.unknown && is_last(position), ..rejects };
                (source.name(), self.source(source, rejects))
            };
            self.sources = sources.iter().enumerate().map(source).collect();
        }
        &mut self.sources
    }

    /// What an image is on each of its platforms that is judged: a list of what [`configurations`] tells.
    ///
    /// # Errors
    /// One of them is unknown.
    pub fn configurations(&mut self, reference: &ImageReference) -> Result<Rc<Value>, UnknownConfiguration> {
        let known = self.known(reference);
        if let Some(told) = &known.borrow().configurations {
            return told.clone();
        }
        let resolution = self.resolution(reference, &known);
        let told = match &resolution.image {
            Ok(image) => {
                let unproven = self.settings.reports.unproven_indexes;
                configurations(reference, image, unproven, self.host, self.now).map(Rc::new)
            }
            Err(unresolved) => Err(UnknownConfiguration::Unresolved(unresolved.clone())),
        };
        known.borrow_mut().configurations = Some(told.clone());
        told
    }

    /// The packages of all platforms of an image that are judged: a list of `{name, version, purl, licenses, platform}`, without
    /// the fields that the SBOM lacks.
    ///
    /// # Errors
    /// Those of one platform are unknown: it could be the one that runs.
    pub fn packages(&mut self, reference: &ImageReference) -> Result<Rc<Value>, UnknownPackages> {
        let known = self.known(reference);
        if let Some(told) = &known.borrow().packages {
            return told.clone();
        }
        let resolution = self.resolution(reference, &known);
        let told = match &resolution.image {
            Ok(image) => self.packages_of(reference, image).map(Rc::new),
            Err(unresolved) => Err(UnknownPackages::Unresolved(unresolved.clone())),
        };
        known.borrow_mut().packages = Some(told.clone());
        told
    }

    fn packages_of(&mut self, reference: &ImageReference, image: &ResolvedImage) -> Result<Value, UnknownPackages> {
        let judge = Judge::new(self.settings, reference, &self.subject.namespace, self.now);
        let judge = judge.telling_packages(Rc::clone(&self.package_room));
        let all = vec![true; image.platforms.len()];
        let before = self.package_room.get();
        let (statements, known_to, asked) =
            self.ask(DocumentKind::Sbom, JudgedPlatforms { reference, image, is_asked: &all }, &judge);
        let Some((before, left)) = before.zip(self.package_room.get()) else {
            return Err(UnknownPackages::TooLargeTogether(MAX_PACKAGE_BYTES_TOGETHER));
        };
        if before - left > MAX_PACKAGE_BYTES {
            return Err(UnknownPackages::TooLarge(MAX_PACKAGE_BYTES));
        }
        let mut told = Vec::new();
        let mut unknown: Option<UnknownPackages> = None;
        for (manifest, mut statements) in image.platforms.iter().zip(statements) {
            let fresh = statements.iter_mut().filter_map(|statement| match &mut statement.known {
                Knowledge::Fresh(judgement) => Some(std::mem::take(&mut judgement.packages)),
                _ => None,
            });
            let packages = fresh.fold(Vec::new(), |mut all, of_one| {
                all.extend(of_one);
                all
            });
            let nothing = || Decisive::Nothing(self.sboms.iter().take(asked).map(|(_, of)| of.whereabouts()).collect());
            // No setting forgives a failure here: the rule or expression decides what follows.
            let forgiven =
                EffectiveFallbacks { report_pending: Fallback::Reject, scan_failed: FailureFallback::Reject };
            let source = known_to.unwrap_or_default();
            let is_outage = manifest.unjudgeable.is_none() && statements.iter().all(Statement::is_told_but_for_outages);
            let decides = platform_report(DocumentKind::Sbom, manifest, statements, source, forgiven, nothing);
            if decides.status != ScanStatus::Accepted && is_on(Remedy::EveryPlatformTellsItsPackages) {
                let is_outage = decides.status == ScanStatus::ScanFailed && is_outage;
                // A failure that may go away by itself hides no other.
                if unknown.as_ref().is_none_or(|unknown| unknown.is_outage() && !is_outage) {
                    let (platform, why) = (decides.platform, Box::new(decides.reason));
                    unknown = Some(UnknownPackages::Untold { platform, why, is_outage });
                }
                continue;
            }
            for mut package in packages {
                if let Some(platform) = &manifest.platform {
                    package.insert("platform".to_owned(), platform.name().into());
                }
                told.push(Value::Object(package));
            }
        }
        unknown.map_or(Ok(Value::Array(told)), Err)
    }

    /// Whether a failure of an image's registry may be an outage: only if the settings list the registry.
    fn may_be_down(&self, reference: &ImageReference) -> bool {
        self.settings.may_be_down(reference.host()) || !is_on(Remedy::ForgiveOutagesOnly)
    }

    fn search(&mut self, reference: &ImageReference, image: &ResolvedImage) -> ScanReport {
        let mut judge = Judge::new(self.settings, reference, &self.subject.namespace, self.now);
        judge.know_exploited(self.exploited.clone());
        judge.know_objects(self.objects, reference);
        judge.know_running(self.running.map(|pods| RunningImage::new(pods, image)));
        let mut beside = SaidBeside::default();
        if image.is_unproven {
            beside.warnings.push(ImageWarning::UnprovenIndex);
        }
        let forgiven = self.settings.scan.effective_fallbacks(&self.subject.namespace);
        let all = vec![true; image.platforms.len()];
        let asked = JudgedPlatforms { reference, image, is_asked: &all };
        let (mut platforms, known_to) = self.judge_platforms(DocumentKind::Report, asked, &judge, &mut beside);
        // A rejected image needs no SBOM. One that the settings admit all the same does.
        if judge.asks_for_contents() && is_on(Remedy::SbomMustBeThere) {
            let is_let_in = |platform: &PlatformReport| !gravity(platform.status, platform.forgiven_by, forgiven).0;
            let asked: Vec<bool> = platforms.iter().map(is_let_in).collect();
            if asked.contains(&true) {
                let of = JudgedPlatforms { reference, image, is_asked: &asked };
                let (sboms, _) = self.judge_platforms(DocumentKind::Sbom, of, &judge, &mut beside);
                platforms = with_sboms(platforms, sboms, &asked, forgiven);
            }
        }
        let SaidBeside { exemptions, vex, mut warnings } = beside;
        warnings.extend(exemptions.ending(self.now));
        let worst = platforms.iter().map(|platform| (platform.status, platform.state, platform.forgiven_by));
        let worst = worst.reduce(|worst, next| {
            if gravity(next.0, next.2, forgiven) > gravity(worst.0, worst.2, forgiven) { next } else { worst }
        });
        let nothing_judged = (ScanStatus::ScanFailed, ReportState::LookUpFailed, ForgivenBy::Nothing);
        let (status, state, forgiven_by) = worst.unwrap_or(nothing_judged);
        // An image that is rejected doesn't start.
        warnings.retain(|warning| status == ScanStatus::Accepted || !warning.is_of_what_runs());
        ScanReport {
            status,
            state,
            reason: reason(status, &platforms),
            forgiven_by,
            pin: Some(image.pin.clone()),
            digest: Some(image.digest.clone()),
            source: known_to,
            platforms,
            exemptions: exemptions.into_list(),
            vex,
            warnings,
        }
    }

    /// The results of documents of one kind for each wanted platform, and the source that has them.
    fn judge_platforms(
        &mut self,
        kind: DocumentKind,
        of: JudgedPlatforms<'_>,
        judge: &Judge<'a>,
        beside: &mut SaidBeside,
    ) -> (Vec<PlatformReport>, Option<&'static str>) {
        let (statements, known_to, asked) = self.ask(kind, of, judge);
        let sources = match kind {
            DocumentKind::Report => &self.sources,
            DocumentKind::Sbom => &self.sboms,
        };
        let nothing = || {
            let places = sources.iter().take(asked).map(|(_, source)| source.whereabouts());
            Decisive::Nothing(places.collect())
        };
        let forgiven = self.settings.scan.effective_fallbacks(&self.subject.namespace);
        let mut platforms = Vec::with_capacity(of.image.platforms.len());
        for (manifest, statements) in of.image.platforms.iter().zip(statements) {
            beside.exemptions.note(&statements);
            note_vex(&statements, &mut beside.vex);
            let disagreement = disagree(&statements).then_some(ImageWarning::ReportsDisagree);
            for warning in warned(&statements).into_iter().chain(disagreement) {
                if !beside.warnings.contains(&warning) {
                    beside.warnings.push(warning);
                }
            }
            let source = known_to.unwrap_or_default();
            platforms.push(platform_report(kind, manifest, statements, source, forgiven, nothing));
        }
        (platforms, known_to)
    }

    /// Asks the sources in turn, until one knows the image, or the index of which it is the one wanted platform. Returns the statements
    /// about each wanted platform, their source, and how many sources were asked. A failed look-up never counts as "doesn't know".
    fn ask(
        &mut self,
        kind: DocumentKind,
        JudgedPlatforms { reference, image, is_asked }: JudgedPlatforms<'_>,
        judge: &Judge<'a>,
    ) -> (Vec<Vec<Statement<'a>>>, Option<&'static str>, usize) {
        let reports = &self.settings.reports;
        match kind {
            DocumentKind::Sbom if self.sboms.is_empty() => {
                self.sboms = reports.sboms.iter().map(|source| (source.name(), self.sbom_source(source))).collect();
            }
            DocumentKind::Sbom => {}
            DocumentKind::Report => {
                self.report_sources();
            }
        }
        // An image's packages never change, so an SBOM doesn't age.
        let (max_age, now) = (reports.max_age.as_ref().filter(|_| kind == DocumentKind::Report), self.now);
        let may_be_down = self.may_be_down(reference);
        let at_mirror = self.settings.mirrors.place_of(reference).filter(|_| is_on(Remedy::KnowNameAtMirror));
        let at_mirror = at_mirror.as_ref();
        let is_tag_certain = self.settings.mirrors.of(reference.host()).is_none_or(Mirror::asks_both);
        let containers = self.subject.containers.get(reference).map(Vec::as_slice).unwrap_or_default();
        let vex = self.vex.as_ref().filter(|_| kind == DocumentKind::Report);
        let mut index = None;
        let mut statements: Vec<Vec<Statement<'a>>> = image.platforms.iter().map(|_| Vec::new()).collect();
        let sources = match kind {
            DocumentKind::Report => &mut self.sources,
            DocumentKind::Sbom => &mut self.sboms,
        };
        for (number, (name, source)) in sources.iter_mut().enumerate() {
            for ((manifest, statements), is_asked) in image.platforms.iter().zip(&mut statements).zip(is_asked) {
                // No report can be about an entry that is no manifest. The others are judged all the same.
                if manifest.unjudgeable.is_some() || !*is_asked {
                    continue;
                }
                let wanted = WantedPlatform {
                    reference,
                    at_mirror,
                    is_tag_certain,
                    image,
                    manifest,
                    containers,
                    may_be_down,
                    max_age,
                    now,
                };
                let mut found = find_in(source.as_mut(), &wanted, judge, vex);
                if self.asks_indexes
                    && !found.iter().any(Statement::knows_the_image)
                    && let Some(index) =
                        index.get_or_insert_with(|| find_index(reference, image, self.settings, self.host))
                    && let Some(manifest) = index.platforms.first()
                {
                    let of_index =
                        find_in(source.as_mut(), &WantedPlatform { image: index, manifest, ..wanted }, judge, vex);
                    if of_index.iter().any(Statement::knows_the_image) {
                        found = of_index;
                    }
                }
                statements.extend(found);
            }
            if statements.iter().flatten().any(Statement::knows_the_image) {
                return (statements, Some(*name), number + 1);
            }
        }
        (statements, None, sources.len())
    }
}

/// What a source knows of a platform. A VEX statement about one platform may not apply to another.
fn find_in<'a>(
    source: &mut (dyn Source<'a> + 'a),
    wanted: &WantedPlatform<'_>,
    judge: &Judge<'a>,
    vex: Option<&Rc<VexDocuments<'a>>>,
) -> Vec<Statement<'a>> {
    let of_platform = vex.map(|vex| {
        Box::new(judge.clone().with_vex(VexOfImage::new(vex, wanted.reference, wanted.image, wanted.manifest)))
    });
    let found = source.find(wanted, of_platform.as_deref().unwrap_or(judge));
    found.into_iter().map(|statement| statement.of_index(wanted)).collect()
}

/// The exemptions that an image's result may depend on: by their last day, reason and object, the ids that they were needed for.
#[derive(Debug, Default)]
struct UsedExemptions(BTreeMap<(Timestamp, String, Option<ExemptedBy>), BTreeSet<String>>);

impl UsedExemptions {
    fn note(&mut self, statements: &[Statement<'_>]) {
        for statement in statements {
            let Knowledge::Fresh(judgement) = &statement.known else { continue };
            for exempt in &judgement.used {
                let reason = cut(&exempt.exemption.reason, MAX_EXEMPTION_REASON);
                let key = (exempt.exemption.expires, reason, ExemptedBy::of(exempt.exemption));
                self.0.entry(key).or_default().extend(exempt.ids.iter().cloned());
            }
        }
    }

    /// A warning for each that ends soon.
    fn ending(&self, now: Timestamp) -> Vec<ImageWarning> {
        let soon = self.list().filter(|used| used.expires.0.saturating_sub(now.0) <= SOON);
        soon.map(ImageWarning::ExemptionEnds).collect()
    }

    fn into_list(self) -> Vec<UsedExemption> {
        self.list().collect()
    }

    fn list(&self) -> impl Iterator<Item = UsedExemption> {
        let all = self.0.iter();
        all.map(|((expires, reason, by), ids)| UsedExemption {
            expires: *expires,
            reason: reason.clone(),
            ids: ids.clone(),
            by: by.clone(),
        })
    }
}

/// Notes the VEX statements that an image's result may depend on.
fn note_vex(statements: &[Statement<'_>], used: &mut Vec<UsedVex>) {
    for statement in statements {
        let Knowledge::Fresh(judgement) = &statement.known else { continue };
        for cleared in &judgement.cleared {
            match used.iter_mut().find(|known| known.said == cleared.said) {
                Some(known) => known.ids.extend(cleared.ids.iter().cloned()),
                None => used.push(cleared.clone()),
            }
        }
    }
}

impl Statement<'_> {
    /// A source knows an image if it has a report for it, or says that one is pending or failed. A failed look-up may have hidden
    /// any of these.
    fn knows_the_image(&self) -> bool {
        match self.known {
            Knowledge::Fresh(_) | Knowledge::Stale(_) | Knowledge::Pending(_) | Knowledge::Failed(_) => true,
            Knowledge::LookUpFailed(_) | Knowledge::Provoked(_) => is_on(Remedy::StopAtFailure),
            Knowledge::OfAnotherImage(_) | Knowledge::NotScanned(_) => false,
        }
    }

    /// Which value of `scanFailed` forgives a failure. Anybody with push access may have pushed what can't be read in a registry.
    /// Only an object is the scanner's own, and some of its errors are caused by the image, too.
    fn forgiven_by(&self) -> ForgivenBy {
        let is_outage = match &self.known {
            Knowledge::Provoked(_) => false,
            // A missing right doesn't come back by itself.
            Knowledge::LookUpFailed(HostFailure::NotGranted(_) | HostFailure::Withheld(_)) => false,
            Knowledge::Fresh(Judgement { verdict: Verdict::Unreadable(why), .. }) => {
                matches!(self.origin, Some(Origin::Object { .. })) && why.is_of_the_scanner()
            }
            Knowledge::Fresh(Judgement { verdict: Verdict::Incomparable(list), .. }) => list.is_outage,
            _ => true,
        };
        let is_forgiven = is_outage || !is_on(Remedy::ForgiveOutagesOnly);
        if is_forgiven { ForgivenBy::AcceptOutages } else { ForgivenBy::Accept }
    }

    /// Whether it is accepted, unknown, or hidden by a failure that may go away by itself and isn't the doing of Pod authors or
    /// pushers. An unreadable document or a missing right is no such failure.
    fn is_told_but_for_outages(&self) -> bool {
        match &self.known {
            Knowledge::LookUpFailed(failure) => failure.is_outage(),
            Knowledge::Fresh(judgement) => judgement.verdict == Verdict::Accepted,
            _ => !self.knows_the_image(),
        }
    }

    /// Whether a scan failed, or what it wrote can't be judged. A look-up without an answer says neither.
    fn is_of_failure(&self) -> bool {
        let is_answered = match &self.known {
            Knowledge::LookUpFailed(failure) => matches!(failure, HostFailure::Malformed(_)),
            _ => true,
        };
        is_answered && self.status().0 == ScanStatus::ScanFailed
    }

    fn is_fresh(&self) -> bool {
        matches!(self.known, Knowledge::Fresh(_))
    }

    /// Its status.
    fn status(&self) -> (ScanStatus, ReportState) {
        match &self.known {
            Knowledge::Fresh(Judgement { verdict: Verdict::Accepted, .. }) => {
                (ScanStatus::Accepted, ReportState::Fresh)
            }
            Knowledge::Fresh(Judgement { verdict: Verdict::Rejected(_), .. }) => {
                (ScanStatus::Rejected, ReportState::Fresh)
            }
            Knowledge::Fresh(Judgement { verdict: Verdict::Unreadable(_), .. }) | Knowledge::Failed(_) => {
                (ScanStatus::ScanFailed, ReportState::Failed)
            }
            Knowledge::Fresh(Judgement { verdict: Verdict::Incomparable(_), .. }) => {
                (ScanStatus::ScanFailed, ReportState::LookUpFailed)
            }
            Knowledge::Stale(_) => (ScanStatus::ReportNotAvailable, ReportState::Stale),
            Knowledge::OfAnotherImage(_) => (ScanStatus::ReportNotAvailable, ReportState::OtherImage),
            Knowledge::NotScanned(_) => (ScanStatus::ReportNotAvailable, ReportState::NotScanned),
            Knowledge::Pending(_) => (ScanStatus::ReportNotAvailable, ReportState::Pending),
            Knowledge::LookUpFailed(_) | Knowledge::Provoked(_) => (ScanStatus::ScanFailed, ReportState::LookUpFailed),
        }
    }

    /// Its reason, if it is the one that decides.
    fn into_reason(self, kind: DocumentKind, source: &'static str) -> ReportReason {
        let made = match (self.time, self.first_made) {
            (Some(time), _) => Made::At(time),
            (None, Some(time)) => Made::FirstAt(time),
            (None, None) => Made::Unknown,
        };
        let what = match self.known {
            Knowledge::Fresh(Judgement { verdict: Verdict::Accepted, .. }) => Decisive::Accepted,
            Knowledge::Fresh(Judgement { verdict: Verdict::Rejected(exceeded), unexcused, .. }) => {
                Decisive::Rejected(exceeded, source, unexcused)
            }
            Knowledge::Fresh(Judgement { verdict: Verdict::Unreadable(why), .. }) => Decisive::Unreadable(why),
            Knowledge::Fresh(Judgement { verdict: Verdict::Incomparable(why), .. }) => {
                Decisive::LookUpFailed(LookUpFailure::List(why))
            }
            Knowledge::Stale(why) => Decisive::Stale(why),
            Knowledge::OfAnotherImage(which) => Decisive::OfAnotherImage(which),
            Knowledge::NotScanned(why) => Decisive::NotScanned(why),
            Knowledge::Pending(what) => Decisive::Pending(what),
            Knowledge::Failed(why) => Decisive::Failed(why),
            Knowledge::LookUpFailed(failure) => Decisive::LookUpFailed(LookUpFailure::Host(failure)),
            Knowledge::Provoked(failure) => Decisive::LookUpFailed(failure),
        };
        ReportReason { of: kind, by: self.by, made, what }
    }
}

/// The warnings of gates about fresh reports.
fn warned(statements: &[Statement<'_>]) -> Vec<ImageWarning> {
    let judgements = statements.iter().filter_map(|statement| match &statement.known {
        Knowledge::Fresh(judgement) => Some(judgement),
        _ => None,
    });
    judgements
        .flat_map(|judgement| &judgement.warned)
        .map(|what| ImageWarning::Gate(GateWarning(what.clone())))
        .collect()
}

/// Whether fresh reports of one platform have different verdicts.
fn disagree(statements: &[Statement<'_>]) -> bool {
    let mut fresh = statements.iter().filter(|statement| statement.is_fresh()).map(|statement| statement.status().0);
    fresh.next().is_some_and(|first| fresh.any(|other| other != first))
}

/// The reports of each platform, combined with the SBOMs if they were needed.
fn with_sboms(
    reports: Vec<PlatformReport>,
    sboms: Vec<PlatformReport>,
    is_asked: &[bool],
    forgiven: EffectiveFallbacks,
) -> Vec<PlatformReport> {
    let pairs = reports.into_iter().zip(sboms).zip(is_asked);
    pairs.map(|((report, sbom), is_asked)| if *is_asked { report.with(sbom, forgiven) } else { report }).collect()
}

/// The worst statement of a source decides, and the first of equals. An old one doesn't count beside a fresh one.
fn platform_report(
    kind: DocumentKind,
    manifest: &PlatformManifest,
    mut statements: Vec<Statement<'_>>,
    source: &'static str,
    forgiven: EffectiveFallbacks,
    nothing: impl FnOnce() -> Decisive,
) -> PlatformReport {
    if let Some(why) = manifest.unjudgeable {
        statements.push(Statement::new(String::new(), Knowledge::Provoked(LookUpFailure::Unjudgeable(why))));
    }
    if statements.iter().any(Statement::is_fresh) && is_on(Remedy::FreshBeforeStale) {
        statements.retain(|statement| !matches!(statement.known, Knowledge::Stale(_)));
    }
    if statements.iter().any(Statement::knows_the_image) {
        statements.retain(Statement::knows_the_image);
    }
    let reports = statements.iter().filter(|s| s.is_fresh() || matches!(s.known, Knowledge::Stale(_)));
    let reports: Vec<String> = reports.map(|statement| statement.by.clone()).collect();
    let grave = |statement: &Statement<'_>| gravity(statement.status().0, statement.forgiven_by(), forgiven);
    let mut decides = statements
        .into_iter()
        .reduce(|worst, next| if grave(&next) > grave(&worst) && is_on(Remedy::WorstDecides) { next } else { worst });
    let forgiven_by = decides.as_ref().map_or(ForgivenBy::AcceptOutages, Statement::forgiven_by);
    let (time, origin) = decides.as_mut().map_or((None, None), |statement| (statement.time, statement.origin.take()));
    let nothing_known = (ScanStatus::ReportNotAvailable, ReportState::NotScanned);
    let (status, state) = decides.as_ref().map_or(nothing_known, Statement::status);
    let state = match (kind, status) {
        (DocumentKind::Sbom, ScanStatus::ReportNotAvailable) => ReportState::NoSbom,
        _ => state,
    };
    let reason = decides.map_or_else(
        || ReportReason { of: kind, by: String::new(), made: Made::Unknown, what: nothing() },
        |statement| statement.into_reason(kind, source),
    );
    PlatformReport {
        platform: manifest.platform.as_ref().map(Platform::text),
        digest: manifest.digest.clone(),
        status,
        state,
        reason,
        forgiven_by,
        time: time.map(|time| time.to_string()),
        reports,
        origin,
    }
}

/// The order in which results decide. What rejects comes before what a setting forgives, so that nothing forgiven hides it.
/// Otherwise the worst status comes first.
fn gravity(
    status: ScanStatus,
    forgiven_by: ForgivenBy,
    forgiven: EffectiveFallbacks,
) -> (bool, ScanStatus, ForgivenBy) {
    let is_forgiven = match status {
        ScanStatus::Accepted => true,
        ScanStatus::ReportNotAvailable => forgiven.report_pending == Fallback::Accept,
        ScanStatus::ScanFailed => forgiven.scan_failed.forgives(forgiven_by),
        ScanStatus::Rejected => false,
    };
    (!is_forgiven && is_on(Remedy::ForgiveOutagesOnly), status, forgiven_by)
}

/// The reasons of the platforms that made the status.
fn reason(status: ScanStatus, platforms: &[PlatformReport]) -> ScanReason {
    if status == ScanStatus::Accepted && platforms.len() > 1 {
        return ScanReason::EveryPlatformAccepted(platforms.len());
    }
    let made_it = platforms.iter().filter(|platform| platform.status == status);
    ScanReason::Platforms(made_it.map(|platform| (platform.platform.clone(), platform.reason.clone())).collect())
}
