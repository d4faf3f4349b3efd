//! Reports of Aqua's trivy-operator: `VulnerabilityReport` of `aquasecurity.github.io`, one for each container of a
//! workload.
//!
//! The name is computed from the workload that owns the report, which for a Pod is mostly its controller. A container's reports are
//! overwritten in place, so the report with a name may still be about the previous image. And the Pod's author chooses owner and
//! containers, so the name doesn't replace the search. One list with a constant selector shows which reports are about the same
//! image, whatever workload they belong to. Each of them is read again, and the worst decides. The GET by name still comes first:
//! it finds reports that no list shows yet, and shows that the kind can be read at all.

mod owner;

use super::Subject;
use super::cluster::{self, Named, NamedReports, Objects, origin};
use super::source::{self, Described, Knowledge, Statement, TaggedImage, WantedPlatform, judge_deeper};
use crate::acceptance::{Depth, Judge, Verdict};
use crate::reason::{OtherImage, UnknownAge, UnreadableReport, Whereabouts};
use crate::resolve::PlatformManifest;
use image_admission_host::{Host, HostFailure, is_proven};
use image_admission_image::manifest::{Kind, Manifest};
use image_admission_scan_report::finding::{EpssScores, Finding, Findings, OperatingSystem, summed};
use image_admission_scan_report::sbom;
use image_admission_scan_report::score::{self, Number};
use image_admission_settings::{ReportIdentity, Severity, TrivyOperator};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory::List;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

pub use owner::Owner;

pub(super) const API_VERSION: &str = "aquasecurity.github.io/v1alpha1";
pub(super) const KIND: &str = "VulnerabilityReport";
pub(super) const SBOM_KIND: &str = "SbomReport";
/// As the settings spell it.
const SOURCE: &str = "trivyOperator";
const ARTIFACT: &str = "report.artifact";
const REGISTRY: &str = "report.registry";

/// The operator's reports, as one request sees them.
pub(super) struct TrivyOperatorReports<'a>(Shelf<'a>);

/// The operator's SBOMs, as one request sees them. They have the same names as the reports, and say whose they are in the same way.
pub(super) struct TrivyOperatorSboms<'a>(Shelf<'a>);

/// The operator's objects of one kind, by workload.
struct Shelf<'a> {
    settings: &'a TrivyOperator,
    host: &'a dyn Host,
    subject: &'a Subject,
    namespaces: Vec<&'a str>,
    objects: Objects<'a>,
    /// What each namespace's list shows, once it was needed.
    lists: BTreeMap<&'a str, Result<Vec<Listed>, HostFailure>>,
    /// The ids of images (the digests of their configurations) that had to be requested, by the manifest's name.
    image_ids: BTreeMap<String, Result<Option<String>, HostFailure>>,
}

impl<'a> TrivyOperatorReports<'a> {
    pub(super) fn new(settings: &'a TrivyOperator, host: &'a dyn Host, subject: &'a Subject) -> Self {
        Self(Shelf::new(settings, host, subject, KIND))
    }
}

impl<'a> TrivyOperatorSboms<'a> {
    pub(super) fn new(settings: &'a TrivyOperator, host: &'a dyn Host, subject: &'a Subject) -> Self {
        Self(Shelf::new(settings, host, subject, SBOM_KIND))
    }
}

impl<'a> Shelf<'a> {
    fn new(settings: &'a TrivyOperator, host: &'a dyn Host, subject: &'a Subject, kind: &'a str) -> Self {
        Self {
            settings,
            host,
            subject,
            namespaces: settings.namespaces.around(&subject.namespace),
            objects: Objects::new(host, API_VERSION, kind),
            lists: BTreeMap::new(),
            image_ids: BTreeMap::new(),
        }
    }

    /// Whether a report is of the wanted image, by the digest that it names: as of v0.24 that of the index or the manifest, and
    /// from v0.16 to v0.23 the image's id.
    fn is_of(&mut self, identity: &Identity<'_>, wanted: &WantedPlatform<'_>) -> Result<bool, HostFailure> {
        if self.is_described(identity, wanted) {
            return Ok(true);
        }
        let Some(digest) = identity.digest().filter(|_| is_on(Remedy::KnowImageId)) else { return Ok(false) };
        // The id is worth a call only if everything except the digest is this image's.
        let described = Described { digest: Some(&wanted.manifest.digest), ..self.described(identity) };
        if !wanted.is_described_by(&described, ReportIdentity::Digest) {
            return Ok(false);
        }
        Ok(self.image_id(wanted)?.as_deref() == Some(digest))
    }

    fn is_described(&self, identity: &Identity<'_>, wanted: &WantedPlatform<'_>) -> bool {
        wanted.is_named_by(identity.digest())
            && wanted.is_described_by(&self.described(identity), self.settings.identity)
    }

    /// Whether a report names this image, but only by its tag: a setting would accept that.
    fn is_only_of_tag(&self, identity: &Identity<'_>, wanted: &WantedPlatform<'_>) -> bool {
        self.settings.identity == ReportIdentity::Digest
            && identity.digest().is_none()
            && wanted.is_named_by(None)
            && wanted.is_described_by(&self.described(identity), ReportIdentity::Tag)
    }

    /// The first listed report that names this image only by its tag.
    fn only_of_tag(&self, wanted: &WantedPlatform<'_>) -> Option<Statement<'a>> {
        self.lists.iter().find_map(|(namespace, listed)| {
            let listed = listed.as_ref().ok()?.iter().find(|item| self.is_only_of_tag(&item.identity, wanted))?;
            let by = self.objects.shown(namespace, &listed.name);
            Some(Statement::new(by, Knowledge::OfAnotherImage(listed.identity.shown().only_by_tag(SOURCE))))
        })
    }

    fn described<'i>(&'i self, identity: &'i Identity<'_>) -> Described<'i> {
        Described {
            tag: identity.tag.as_ref().map(JsonString::as_str),
            digest: identity.digest(),
            platform: Some(&self.settings.platform),
            ..identity.described()
        }
    }

    fn image_id(&mut self, wanted: &WantedPlatform<'_>) -> Result<Option<String>, HostFailure> {
        let digest = &wanted.manifest.digest;
        let at = wanted.reference.at(digest);
        if !self.image_ids.contains_key(&at) {
            let found = self.host.manifest(&at).and_then(|document| {
                let manifest = Manifest::read(&document.0)?;
                // A manifest may hide data, so that a node reads another configuration.
                let counts = manifest.kind() == Kind::Image
                    && (is_proven(self.host, &manifest, digest) || !is_on(Remedy::ProveIndexes));
                Ok(manifest.image_id().filter(|_| counts))
            });
            // A pusher can leave the id out, and push it later. So it identifies nothing, and its lack is no outage.
            let id = found.or_else(|failure| if wanted.is_outage(&failure) { Err(failure) } else { Ok(None) });
            self.image_ids.insert(at.clone(), id);
        }
        self.image_ids.get(&at).cloned().unwrap_or(Ok(None))
    }

    /// The image of an object that isn't the wanted image's.
    fn of_another(
        &mut self,
        object: &Object<'_>,
        (namespace, name): (&str, &str),
        wanted: &WantedPlatform<'_>,
    ) -> Result<Option<OtherImage>, HostFailure> {
        let identity = Identity::of(object.report.as_ref());
        if object.is_named(self.objects.kind(), namespace, name) && self.is_of(&identity, wanted)? {
            return Ok(None);
        }
        let whose = identity.shown();
        Ok(Some(if self.is_only_of_tag(&identity, wanted) { whose.only_by_tag(SOURCE) } else { whose }))
    }

    /// Objects of the same image, whatever workload they are of.
    fn listed(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        let objects = &mut self.objects;
        let listed = self.lists.entry(namespace).or_insert_with(|| list(objects, namespace));
        let listed: Vec<Listed> = match listed {
            Ok(listed) => listed.iter().filter(|item| item.identity.is_of_repository(wanted)).cloned().collect(),
            Err(failure) => return Err(failure.clone()),
        };
        let by_digest: Vec<String> =
            listed.iter().filter(|item| self.is_described(&item.identity, wanted)).map(|i| i.name.clone()).collect();
        if !by_digest.is_empty() {
            return Ok(by_digest);
        }
        // An image's id is worth a call only if no digest decides.
        let mut by_id = Vec::new();
        for item in listed {
            if self.is_of(&item.identity, wanted)? {
                by_id.push(item.name);
            }
        }
        Ok(by_id)
    }

    /// The names under which a namespace has objects of the workload's containers.
    fn computed_names(&self, namespace: &str, containers: &[String]) -> Vec<String> {
        match namespace == self.subject.namespace {
            true => owner::report_names(&self.subject.owners, containers),
            false => Vec::new(),
        }
    }

    fn whereabouts(&self) -> Whereabouts {
        let (platform, namespaces) = (self.settings.platform.clone(), cluster::owned(&self.namespaces));
        Whereabouts::TrivyOperator { platform, namespaces }
    }
}

/// A kind of the operator's objects.
trait Kept<'a>: NamedReports<'a> + Sized {
    fn shelf(&self) -> &Shelf<'a>;

    /// What all trusted namespaces have about a platform.
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let shelf = self.shelf();
        if !wanted.is_platform(Some(&shelf.settings.platform)) {
            return Vec::new();
        }
        let namespaces = shelf.namespaces.clone();
        let (beside, names) =
            (shelf.subject.namespace.as_str(), shelf.computed_names(&shelf.subject.namespace, wanted.containers));
        let names = |namespace: &str| if namespace == beside { names.clone() } else { Vec::new() };
        let mut statements = cluster::search_all(self, &namespaces, names, wanted, judge);
        if statements.is_empty() {
            statements.extend(self.shelf().only_of_tag(wanted));
        }
        statements
    }
}

impl<'a> Kept<'a> for TrivyOperatorReports<'a> {
    fn shelf(&self) -> &Shelf<'a> {
        &self.0
    }
}

impl<'a> Kept<'a> for TrivyOperatorSboms<'a> {
    fn shelf(&self) -> &Shelf<'a> {
        &self.0
    }
}

impl<'a> NamedReports<'a> for TrivyOperatorSboms<'a> {
    /// As of reports.
    const NAMES_ARE_CLAIMS: bool = true;

    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let Some(document) = self.0.objects.get(namespace, name, &sbom_fields(judge))? else { return Ok(None) };
        let object: Object<'_> = document.read()?;
        let by = self.0.objects.shown(namespace, name);
        if let Some(whose) = self.0.of_another(&object, (namespace, name), wanted)? {
            return Ok(Some(Statement::new(by, Knowledge::OfAnotherImage(whose))));
        }
        let time = object.report.as_ref().and_then(Report::time);
        let bom = object.report.and_then(|report| report.components).ok_or(UnreadableReport::NoSbom);
        let judgement = match bom.and_then(|bom| Ok(sbom::read_cyclonedx(bom.get())?)) {
            Ok(sbom) => judge.judge_contents(&sbom.contents, time.or(sbom.time)),
            Err(why) => Verdict::Unreadable(why).into(),
        };
        let origin = origin(&self.0.objects, namespace, name);
        Ok(Some(Statement { by, time, first_made: None, known: Knowledge::Fresh(judgement), origin }))
    }

    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        self.0.listed(namespace, wanted)
    }
}

impl<'a> source::Source<'a> for TrivyOperatorSboms<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        Kept::find(self, wanted, judge)
    }

    fn whereabouts(&self) -> Whereabouts {
        self.0.whereabouts()
    }
}

impl<'a> NamedReports<'a> for TrivyOperatorReports<'a> {
    /// The controller, its name and the containers' names come from the object. Its author could choose, of all reports of the
    /// image, the one that was made before a finding was known.
    const NAMES_ARE_CLAIMS: bool = true;

    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let depth = judge.depth();
        let needs_time = wanted.max_age.is_some();
        let Some(document) = self.0.objects.get(namespace, name, &fields(judge, depth, needs_time))? else {
            return Ok(None);
        };
        let report: Object<'_> = document.read()?;
        let by = self.0.objects.shown(namespace, name);
        if let Some(whose) = self.0.of_another(&report, (namespace, name), wanted)? {
            return Ok(Some(Statement::new(by, Knowledge::OfAnotherImage(whose))));
        }
        let identity = Identity::of(report.report.as_ref());
        let time = |report: &Option<Report<'_>>| report.as_ref().and_then(Report::time);
        let made = time(&report.report).ok_or(UnknownAge::NotMade);
        let mut explained_at = None;
        let reports = &mut self.0.objects;
        let (time, known) = wanted.hold_to_age(made, || {
            let first = match findings(report.report, depth) {
                Ok(findings) => findings,
                Err(why) => return Verdict::Unreadable(why).into(),
            };
            judge_deeper(judge, &first, |depth| {
                let document = reports.get(namespace, name, &fields(judge, depth, true)).ok()??;
                let again: Object<'_> = document.read().ok()?;
                let is_same = again.is_named(KIND, namespace, name) && Identity::of(again.report.as_ref()) == identity;
                let made = time(&again.report);
                let findings = is_same.then(|| findings(again.report, depth).ok())??;
                explained_at = made;
                Some(judge.judge_at(depth, &findings))
            })
        });
        let origin = origin(&self.0.objects, namespace, name);
        Ok(Some(Statement { by, time: time.or(explained_at), first_made: None, known, origin }))
    }

    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        self.0.listed(namespace, wanted)
    }
}

impl<'a> source::Source<'a> for TrivyOperatorReports<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        Kept::find(self, wanted, judge)
    }

    fn whereabouts(&self) -> Whereabouts {
        self.0.whereabouts()
    }

    /// All reports are listed in any case, after a GET.
    fn digests_of(&mut self, tagged: &TaggedImage<'_>, judge: &Judge<'a>) -> BTreeSet<String> {
        let shelf = &mut self.0;
        let is_scanned =
            |own: &PlatformManifest| own.platform.as_ref().is_none_or(|own| own.is_same(&shelf.settings.platform));
        let mut digests = BTreeSet::new();
        if !tagged.platforms.is_empty() && !tagged.platforms.iter().any(is_scanned) {
            return digests;
        }
        for namespace in shelf.namespaces.clone() {
            if let Some(name) = shelf.computed_names(namespace, tagged.containers).first() {
                let fields = fields(judge, judge.depth(), tagged.needs_time);
                shelf.objects.read_ahead(namespace, name, &fields);
            }
            let objects = &mut shelf.objects;
            let listed = shelf.lists.entry(namespace).or_insert_with(|| list(objects, namespace));
            for item in listed.iter().flatten() {
                digests.extend(tagged.named(&item.identity.described(), item.identity.digest()));
            }
        }
        digests
    }
}

/// The fields to request of a report: exactly those that the settings need.
fn fields(judge: &Judge<'_>, depth: Depth, time: bool) -> Vec<&'static str> {
    let mut fields = vec![ARTIFACT, REGISTRY, "report.summary"];
    if time {
        fields.push("report.updateTimestamp");
    }
    let parts = judge.parts(depth);
    if parts.system {
        fields.push("report.os");
    }
    if depth == Depth::Summary {
        return fields;
    }
    fields.push("report.vulnerabilities.severity");
    for (needed, field) in [
        (parts.ids, "report.vulnerabilities.vulnerabilityID"),
        (parts.packages, "report.vulnerabilities.resource"),
        (parts.purls, "report.vulnerabilities.packagePURL"),
        (parts.fixes, "report.vulnerabilities.fixedVersion"),
        (parts.scores, "report.vulnerabilities.score"),
        (parts.scores, "report.vulnerabilities.cvss"),
        (parts.published, "report.vulnerabilities.publishedDate"),
    ] {
        if needed {
            fields.push(field);
        }
    }
    fields
}

/// The fields to request of an SBOM: those that the settings need of its packages.
fn sbom_fields(judge: &Judge<'_>) -> Vec<&'static str> {
    let mut fields = vec![
        ARTIFACT,
        REGISTRY,
        "report.updateTimestamp",
        "report.components.bomFormat",
        "report.components.metadata.timestamp",
        "report.components.components.type",
        "report.components.components.group",
        "report.components.components.name",
        "report.components.components.version",
        "report.components.components.purl",
    ];
    if judge.asks_for_licenses() {
        fields.push("report.components.components.licenses");
    }
    fields
}

fn list(objects: &mut Objects<'_>, namespace: &str) -> Result<Vec<Listed>, HostFailure> {
    let document = objects.list(namespace, None, &[ARTIFACT, REGISTRY])?;
    let items: Vec<Object<'_>> = cluster::items(&document, namespace)?;
    let listed = |item: Object<'_>| Listed {
        name: item.metadata.name.as_str().to_owned(),
        identity: Identity::of(item.report.as_ref()).into_owned(),
    };
    Ok(items.into_iter().map(listed).collect())
}

/// What a list shows of a report.
#[derive(Debug, Clone)]
struct Listed {
    name: String,
    identity: Identity<'static>,
}

/// What a report says about whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity<'a> {
    server: Option<JsonString<'a>>,
    repository: Option<JsonString<'a>>,
    tag: Option<JsonString<'a>>,
    digest: Option<JsonString<'a>>,
}

impl<'a> Identity<'a> {
    fn of(report: Option<&Report<'a>>) -> Self {
        let artifact = report.and_then(|report| report.artifact.as_ref());
        Self {
            server: report.and_then(|report| report.registry.as_ref()?.server.clone()),
            repository: artifact.and_then(|artifact| artifact.repository.clone()),
            tag: artifact.and_then(|artifact| artifact.tag.clone()),
            digest: artifact.and_then(|artifact| artifact.digest.clone()),
        }
    }

    fn into_owned(self) -> Identity<'static> {
        Identity {
            server: self.server.map(JsonString::into_owned),
            repository: self.repository.map(JsonString::into_owned),
            tag: self.tag.map(JsonString::into_owned),
            digest: self.digest.map(JsonString::into_owned),
        }
    }

    fn digest(&self) -> Option<&str> {
        self.digest.as_ref().map(JsonString::as_str).filter(|digest| !digest.is_empty())
    }

    /// Its registry and repository.
    fn described(&self) -> Described<'_> {
        Described {
            registry: self.server.as_ref().map(JsonString::as_str),
            repository: self.repository.as_ref().map(JsonString::as_str),
            ..Described::default()
        }
    }

    fn is_of_repository(&self, wanted: &WantedPlatform<'_>) -> bool {
        let own = self.repository.as_ref().map(JsonString::as_str);
        wanted.names().any(|name| own == Some(name.repository()))
    }

    /// Its image, for messages.
    fn shown(&self) -> OtherImage {
        let part = |text: &Option<JsonString<'_>>| text.as_ref().map_or(String::new(), |text| text.as_str().to_owned());
        let mut text = format!("{}/{}", part(&self.server), part(&self.repository));
        for (mark, part) in [(':', part(&self.tag)), ('@', part(&self.digest))] {
            if !part.is_empty() {
                text.push(mark);
                text.push_str(&part);
            }
        }
        if text == "/" { OtherImage::Unnamed } else { OtherImage::Named(cut(&text, 200)) }
    }
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Named<'a>,
    #[serde(borrow)]
    report: Option<Report<'a>>,
}

impl Object<'_> {
    /// Whether it is the requested one.
    fn is_named(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.metadata.namespace.as_ref().map(JsonString::as_str) == Some(namespace)
            && self.metadata.name.as_str() == name
            && self.kind.as_ref().is_none_or(|own| own.as_str() == kind)
    }
}

impl cluster::Listed for Object<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow)]
    update_timestamp: Option<JsonString<'a>>,
    #[serde(borrow)]
    registry: Option<Registry<'a>>,
    #[serde(borrow)]
    artifact: Option<Artifact<'a>>,
    #[serde(borrow)]
    os: Option<System<'a>>,
    summary: Option<Summary>,
    #[serde(borrow)]
    vulnerabilities: Option<List<Vulnerability<'a>>>,
    /// In an SBOM: the whole document.
    #[serde(borrow)]
    components: Option<&'a RawValue>,
}

impl Report<'_> {
    fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.update_timestamp.as_ref()?.as_str())
    }
}

/// The operating system; empty in an image without one.
#[derive(Deserialize)]
struct System<'a> {
    #[serde(borrow)]
    family: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    eosl: Option<bool>,
}

#[derive(Deserialize)]
struct Registry<'a> {
    #[serde(borrow)]
    server: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
struct Artifact<'a> {
    #[serde(borrow)]
    repository: Option<JsonString<'a>>,
    #[serde(borrow)]
    tag: Option<JsonString<'a>>,
    #[serde(borrow)]
    digest: Option<JsonString<'a>>,
}

/// Counts of all entries.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    critical_count: Option<u64>,
    high_count: Option<u64>,
    medium_count: Option<u64>,
    low_count: Option<u64>,
    unknown_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vulnerability<'a> {
    #[serde(borrow, rename = "vulnerabilityID")]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    resource: Option<JsonString<'a>>,
    #[serde(borrow, rename = "packagePURL")]
    purl: Option<JsonString<'a>>,
    #[serde(borrow)]
    fixed_version: Option<JsonString<'a>>,
    #[serde(borrow)]
    published_date: Option<JsonString<'a>>,
    #[serde(borrow)]
    severity: Option<JsonString<'a>>,
    score: Option<Number>,
    #[serde(borrow)]
    cvss: Option<BTreeMap<JsonString<'a>, Option<Cvss>>>,
}

#[derive(Deserialize)]
struct Cvss {
    #[serde(rename = "V40Score")]
    v4: Option<Number>,
    #[serde(rename = "V3Score")]
    v3: Option<Number>,
    #[serde(rename = "V2Score")]
    v2: Option<Number>,
}

impl Cvss {
    fn score(&self) -> f64 {
        score::newest(&[self.v4, self.v3, self.v2].map(Option::unwrap_or_default))
    }
}

fn findings(report: Option<Report<'_>>, depth: Depth) -> Result<Findings<'_>, UnreadableReport> {
    let report = report.ok_or(UnreadableReport::NoReport)?;
    let summary = report.summary.ok_or(UnreadableReport::NoSummary)?;
    let counts = summed(|severity| match severity {
        Severity::Critical => summary.critical_count,
        Severity::High => summary.high_count,
        Severity::Medium => summary.medium_count,
        Severity::Low => summary.low_count,
        Severity::Unknown => summary.unknown_count,
    })?;
    let entries = (depth != Depth::Summary)
        .then(|| report.vulnerabilities.into_iter().flat_map(|List(entries)| entries).map(Finding::from).collect());
    let system = report
        .os
        .map_or(OperatingSystem::Untold, |os| OperatingSystem::of(os.eosl, os.family.as_ref(), os.name.as_ref()));
    Ok(Findings { summary: Some(counts), entries, verdict: None, system })
}

impl<'a> From<Vulnerability<'a>> for Finding<'a> {
    fn from(entry: Vulnerability<'a>) -> Self {
        let vendors = entry.cvss.iter().flatten();
        let scores = vendors.filter_map(|(vendor, cvss)| Some((vendor.as_str(), cvss.as_ref()?.score())));
        // The report's single score may be any vendor's. All scores are there only if the operator is configured to keep them.
        let score = score::best(scores).or(entry.score.map(|score| score.0).filter(|score| *score > 0.0));
        let published = entry.published_date.and_then(|date| Timestamp::parse(date.as_str()));
        Self {
            score,
            id: entry.id.filter(|id| !id.as_str().is_empty()),
            aliases: None,
            severity: Severity::of(entry.severity.as_ref().map_or("", JsonString::as_str)),
            package: entry.resource,
            purl: entry.purl,
            fixed_in: entry.fixed_version.filter(|version| !version.as_str().trim().is_empty()),
            published,
            known: published,
            suppressed: false,
            exploited: None,
            epss: EpssScores::default(),
        }
    }
}
