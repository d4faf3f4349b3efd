//! Reports of Kubewarden's sbomscanner: `VulnerabilityReport` of `storage.sbomscanner.kubewarden.io`.
//!
//! Since v0.10 a report's name is computed from the Registry resource that had the image scanned, the image's name and the digest
//! of the platform's manifest, so that one GET finds it. First come the Registries that the settings name and that of workload scanning,
//! then all that the namespace has. Where these don't tell, one list with a constant selector is searched, and the reports that it
//! names are read again, because a list may be outdated. Either way, a report is this image's only if the report says so itself.
//!
//! A report doesn't say when it was made: its label names the ScanJob, which has the time of its completion. Without a report, an
//! `Image` of the same name shows that the scanner knows the image, and the newest ScanJob of its registry shows whether a scan is
//! pending or failed.

mod progress;
mod registries;

pub use registries::companions_registry;

use super::Rejects;
use super::cluster::{self, Named, NamedReports, Objects, origin};
use super::source::{self, Described, Knowledge, Statement, TaggedImage, WantedPlatform, judge_deeper};
use crate::acceptance::{Depth, Judge, Verdict};
use crate::reason::{OtherImage, UnknownAge, UnreadableReport, Whereabouts};
use data_encoding::HEXLOWER;
use image_admission_host::{Host, HostFailure};
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_scan_report::finding::{EpssScores, Exploited, Finding, Findings, summed};
use image_admission_scan_report::sbom;
use image_admission_scan_report::score::{self, Number};
use image_admission_settings::{ReportIdentity, SbomScanner, Severity};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use progress::ScanJobs;
use registries::Registries;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const API_VERSION: &str = "storage.sbomscanner.kubewarden.io/v1alpha1";
const REPORT: &str = "VulnerabilityReport";
const IMAGE: &str = "Image";
const SBOM: &str = "SBOM";
/// The kinds that are read, each with its `apiVersion`.
pub(super) const KINDS: [(&str, &str); 4] =
    [(API_VERSION, REPORT), (API_VERSION, IMAGE), (progress::API_VERSION, progress::KIND), registries::KIND];
/// The kind that is read for SBOMs.
pub(super) const SBOM_KIND: (&str, &str) = (API_VERSION, SBOM);
/// Docker Hub as the scanner writes it.
const DOCKER_HUB: &str = "index.docker.io";
/// What identifies a report. If the mask lacks it, the host leaves it out.
const IDENTITY: &str = "imageMetadata";
/// The label that names the ScanJob that made a report.
const SCAN_JOB: &str = "sbomscanner.kubewarden.io/scanjob-uid";

/// The scanner's reports, as one request sees them.
pub(super) struct SbomScannerReports<'a> {
    reports: Shelf<'a>,
    images: Catalogue<'a>,
    jobs: ScanJobs<'a>,
    /// Whether the time of a report matters.
    needs_time: bool,
    /// Whether an image whose scan failed is rejected, so that a list could only find what admits it.
    rejects_failed: bool,
}

/// The scanner's SBOMs, as one request sees them. They have the same names as the reports.
pub(super) struct SbomScannerSboms<'a> {
    sboms: Shelf<'a>,
    /// As of reports.
    rejects_failed: bool,
}

/// The scanner's objects of one kind, by image.
struct Shelf<'a> {
    /// The namespaces whose objects are trusted, without repeats.
    namespaces: Vec<&'a str>,
    registry_resources: &'a [String],
    /// Whether an image of which nothing is found is rejected, so that a list could only find what admits it.
    rejects_without: bool,
    /// By registry host, the name of the Registry resource that workload scanning makes for it.
    workload_scans: BTreeMap<String, String>,
    registries: Registries<'a>,
    catalogue: Catalogue<'a>,
}

/// Objects of one of the scanner's kinds, which say whose they are.
struct Catalogue<'a> {
    objects: Objects<'a>,
    /// What each namespace's list shows, once it was needed.
    lists: BTreeMap<&'a str, Result<Vec<Listed>, HostFailure>>,
}

impl<'a> SbomScannerReports<'a> {
    pub(super) fn new(
        settings: &'a SbomScanner,
        host: &'a dyn Host,
        namespace: &'a str,
        needs_time: bool,
        rejects: Rejects,
    ) -> Self {
        Self {
            reports: Shelf::new(settings, host, namespace, REPORT, rejects.unknown),
            images: Catalogue::new(host, IMAGE),
            jobs: ScanJobs::new(host),
            needs_time,
            rejects_failed: rejects.failed,
        }
    }

    /// Adds what the scanner is doing about an image without a report, for each of its Images.
    fn progress(
        &mut self,
        namespace: &'a str,
        names: &[String],
        wanted: &WantedPlatform<'_>,
        statements: &mut Vec<Statement<'a>>,
    ) -> Result<(), HostFailure> {
        let mut images = Vec::new();
        for name in names {
            images.extend(self.image(namespace, name, wanted)?);
        }
        if images.is_empty() {
            let further = match self.reports.names_in(namespace, wanted) {
                Some(further) => further,
                None => self.images.listed(namespace, wanted)?,
            };
            for name in further.into_iter().filter(|name| !names.contains(name)) {
                images.extend(self.image(namespace, &name, wanted)?);
            }
        }
        for (by, registry, created) in images {
            let known = self.jobs.newest(namespace, &registry, created)?;
            statements.push(Statement::new(by, known));
        }
        Ok(())
    }

    /// The digests that the reports of these names tell; none if there are no such reports.
    fn digests_under(
        &mut self,
        names: &[String],
        namespace: &str,
        tagged: &TaggedImage<'_>,
        fields: &[&str],
    ) -> Option<BTreeSet<String>> {
        let mut digests = None;
        for name in names {
            let Some(document) = self.reports.catalogue.objects.read_ahead(namespace, name, fields) else { continue };
            let digests = digests.get_or_insert_with(BTreeSet::new);
            if let Some(image) = document.read::<ListItem<'_>>().ok().and_then(|report| report.image_metadata) {
                let index = image.index_digest.as_ref().map(JsonString::as_str);
                digests.extend(tagged.named(&image.described(), index));
            }
        }
        digests
    }

    /// The Image of that name, if it is the wanted one: its name in messages, its registry, and its time of creation.
    fn image(
        &mut self,
        namespace: &str,
        name: &str,
        wanted: &WantedPlatform<'_>,
    ) -> Result<Option<(String, String, Option<Timestamp>)>, HostFailure> {
        let Some(document) = self.images.objects.get(namespace, name, &[IDENTITY])? else { return Ok(None) };
        let image: Image<'_> = document.read()?;
        let is_wanted = is_object(&image.kind, &image.metadata, self.images.objects.kind(), namespace, name)
            && image.image_metadata.as_ref().is_some_and(|metadata| metadata.describes(wanted));
        Ok(is_wanted.then(|| {
            let registry = image.image_metadata.and_then(|metadata| metadata.registry).map(JsonString::into_owned);
            let registry = registry.map_or(String::new(), |registry| registry.0.into_owned());
            (self.images.objects.shown(namespace, name), registry, image.metadata.created())
        }))
    }
}

impl<'a> SbomScannerSboms<'a> {
    pub(super) fn new(settings: &'a SbomScanner, host: &'a dyn Host, namespace: &'a str, rejects_failed: bool) -> Self {
        Self { sboms: Shelf::new(settings, host, namespace, SBOM, false), rejects_failed }
    }
}

impl<'a> Shelf<'a> {
    fn new(
        settings: &'a SbomScanner,
        host: &'a dyn Host,
        namespace: &'a str,
        kind: &'a str,
        rejects_without: bool,
    ) -> Self {
        Self {
            namespaces: settings.namespaces.around(namespace),
            registry_resources: &settings.registry_resources,
            rejects_without,
            workload_scans: BTreeMap::new(),
            registries: Registries::new(host),
            catalogue: Catalogue::new(host, kind),
        }
    }

    fn computed_names(&mut self, wanted: &WantedPlatform<'_>) -> Vec<String> {
        let mut names = Vec::new();
        for image in wanted.names() {
            // Images that are pinned without a tag are stored with their digest instead of the tag.
            let tag = image.tag().unwrap_or(&wanted.image.digest);
            names.extend(self.names_of(image, tag, &wanted.manifest.digest));
        }
        names
    }

    /// The names that the report of a platform can have, if the scanner knows the image by this reference. The Registry resource is
    /// one that the settings name, or the one that workload scanning makes for the registry.
    fn names_of(&mut self, image: &ImageReference, tag: &str, digest: &str) -> Vec<String> {
        let host = scanners_host(image);
        let workload_scan = self.workload_scans.entry(host.to_owned());
        let workload_scan = workload_scan.or_insert_with(|| registries::workload_scan(host));
        let registries = self.registry_resources.iter().chain([&*workload_scan]);
        let mut names = Vec::new();
        for name in registries.map(|registry| report_name(registry, host, image, tag, digest)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The names of the objects that an image can have beside those of the settings and of workload scanning.
    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        match self.names_in(namespace, wanted) {
            Some(names) => Ok(names),
            None if !is_on(Remedy::ListWhereNamesArentKnown) => Ok(Vec::new()),
            None => self.catalogue.listed(namespace, wanted),
        }
    }

    /// The names of all reports that a tag can have in a namespace. None where only a list tells: a digest may have been scanned
    /// under any tag, and without Registries nobody knows how reports are named. What admits without a report is listed, too: a
    /// report of the same image under another tag may reject it.
    fn names_in(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Option<Vec<String>> {
        if wanted.reference.digest().is_some() || !self.rejects_without {
            return None;
        }
        let digest = &wanted.manifest.digest;
        let mut names = Vec::new();
        for image in wanted.names() {
            let tag = image.tag()?;
            for registry in self.registries.of(namespace, image, tag)? {
                let digests = [&*wanted.image.digest, digest].into_iter().filter(|_| registry.knows_digests());
                for known in std::iter::once(tag).chain(digests) {
                    let name = registry.report_name(image, known, digest);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        Some(names)
    }

    fn whereabouts(&self) -> Whereabouts {
        Whereabouts::SbomScanner { namespaces: cluster::owned(&self.namespaces) }
    }
}

impl<'a> NamedReports<'a> for SbomScannerSboms<'a> {
    /// As of reports.
    const NAMES_ARE_CLAIMS: bool = false;

    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let objects = &mut self.sboms.catalogue.objects;
        let Some(document) = objects.get(namespace, name, &sbom_fields(judge))? else { return Ok(None) };
        let object: SbomObject<'_> = document.read()?;
        let by = objects.shown(namespace, name);
        if !is_object(&object.kind, &object.metadata, objects.kind(), namespace, name)
            || !object.image_metadata.as_ref().is_some_and(|image| image.describes(wanted))
        {
            let which = object.image_metadata.as_ref().map_or(OtherImage::Unnamed, ImageMetadata::shown);
            return Ok(Some(Statement::new(by, Knowledge::OfAnotherImage(which))));
        }
        let read = object.spdx.ok_or(UnreadableReport::NoSbom).and_then(|spdx| Ok(sbom::read_spdx(spdx.get())?));
        let (time, judgement) = match read {
            Ok(sbom) => (sbom.time, judge.judge_contents(&sbom.contents, sbom.time)),
            Err(why) => (None, Verdict::Unreadable(why).into()),
        };
        let (first_made, origin) = (object.metadata.created(), origin(objects, namespace, name));
        Ok(Some(Statement { by, time, first_made, known: Knowledge::Fresh(judgement), origin }))
    }

    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        self.sboms.further(namespace, wanted)
    }
}

impl<'a> source::Source<'a> for SbomScannerSboms<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let names = self.sboms.computed_names(wanted);
        let namespaces = self.sboms.namespaces.clone();
        let mut statements = cluster::search_all(self, &namespaces, |_| names.clone(), wanted, judge);
        if !self.rejects_failed {
            let list = |sboms: &mut Self, namespace| sboms.sboms.catalogue.listed(namespace, wanted);
            cluster::search_behind_failure(self, &namespaces, list, wanted, judge, &mut statements);
        }
        statements
    }

    fn whereabouts(&self) -> Whereabouts {
        self.sboms.whereabouts()
    }
}

impl<'a> NamedReports<'a> for SbomScannerReports<'a> {
    /// A name is made of the registry, the repository, the tag and the manifest's digest, as this module resolved them, and of a
    /// Registry resource that the settings or the scanner name. A Pod's author chooses only the image.
    const NAMES_ARE_CLAIMS: bool = false;

    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let depth = judge.depth();
        let Some(document) = self.reports.catalogue.objects.get(namespace, name, &fields(judge, depth))? else {
            return Ok(None);
        };
        let report: Report<'_> = document.read()?;
        let by = self.reports.catalogue.objects.shown(namespace, name);
        if !is_object(&report.kind, &report.metadata, self.reports.catalogue.objects.kind(), namespace, name)
            || !report.image_metadata.as_ref().is_some_and(|image| image.describes(wanted))
        {
            let which = report.image_metadata.as_ref().map_or(OtherImage::Unnamed, ImageMetadata::shown);
            return Ok(Some(Statement::new(by, Knowledge::OfAnotherImage(which))));
        }
        let scan_job = if self.needs_time { report.metadata.scan_job() } else { None };
        let time = match (self.needs_time, scan_job) {
            (false, _) => Err(UnknownAge::NotAsked),
            (true, _) if !is_on(Remedy::TimeOfScanJob) => report.metadata.created().ok_or(UnknownAge::NotAsked),
            (true, Some(uid)) => self.jobs.completion(namespace, &uid)?,
            (true, None) => Err(UnknownAge::NoScanJob),
        };
        let first_made = report.metadata.created();
        let objects = &mut self.reports.catalogue.objects;
        let (time, known) = wanted.hold_to_age(time, || {
            let first = match findings(report.report, depth) {
                Ok(findings) => findings,
                Err(why) => return Verdict::Unreadable(why).into(),
            };
            judge_deeper(judge, &first, |depth| {
                let document = objects.get(namespace, name, &fields(judge, depth)).ok()??;
                let report: Report<'_> = document.read().ok()?;
                let is_same = is_object(&report.kind, &report.metadata, objects.kind(), namespace, name)
                    && report.image_metadata.as_ref().is_some_and(|image| image.describes(wanted));
                let findings = is_same.then(|| findings(report.report, depth).ok())??;
                Some(judge.judge_at(depth, &findings))
            })
        });
        let origin = origin(&self.reports.catalogue.objects, namespace, name);
        Ok(Some(Statement { by, time, first_made, known, origin }))
    }

    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        self.reports.further(namespace, wanted)
    }
}

impl<'a> source::Source<'a> for SbomScannerReports<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let names = self.reports.computed_names(wanted);
        let namespaces = self.reports.namespaces.clone();
        let mut statements = cluster::search_all(self, &namespaces, |_| names.clone(), wanted, judge);
        // Only if nothing is known yet, and nothing failed.
        if statements.iter().all(|statement| matches!(statement.known, Knowledge::OfAnotherImage(_))) {
            for namespace in &namespaces {
                if let Err(failure) = self.progress(namespace, &names, wanted, &mut statements) {
                    statements.push(Statement::look_up_failed(&failure));
                }
            }
        }
        if !self.rejects_failed {
            let list = |reports: &mut Self, namespace| reports.reports.catalogue.listed(namespace, wanted);
            cluster::search_behind_failure(self, &namespaces, list, wanted, judge, &mut statements);
        }
        statements
    }

    fn whereabouts(&self) -> Whereabouts {
        self.reports.whereabouts()
    }

    /// The reports of an index's platforms have computed names, and name the index.
    fn digests_of(&mut self, tagged: &TaggedImage<'_>, judge: &Judge<'a>) -> BTreeSet<String> {
        let platform = tagged.platforms.iter().find(|platform| platform.unjudgeable.is_none());
        let Some((platform, tag)) = platform.zip(tagged.reference.tag()) else { return BTreeSet::new() };
        let names = self.reports.names_of(tagged.reference, tag, &platform.digest);
        let fields = fields(judge, judge.depth());
        let mut digests = BTreeSet::new();
        for namespace in self.reports.namespaces.clone() {
            let told = self.digests_under(&names, namespace, tagged, &fields).or_else(|| {
                let registries = self.reports.registries.of(namespace, tagged.reference, tag)?.into_iter();
                let further = registries.map(|registry| registry.report_name(tagged.reference, tag, &platform.digest));
                self.digests_under(&further.collect::<Vec<_>>(), namespace, tagged, &fields)
            });
            digests.extend(told.into_iter().flatten());
        }
        digests
    }
}

impl<'a> Catalogue<'a> {
    fn new(host: &'a dyn Host, kind: &'a str) -> Self {
        Self { objects: Objects::new(host, API_VERSION, kind), lists: BTreeMap::new() }
    }

    /// The names of the objects that say they are of the wanted image.
    fn listed(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure> {
        let objects = &mut self.objects;
        let listed = self.lists.entry(namespace).or_insert_with(|| list(objects, namespace));
        match listed {
            Ok(listed) => Ok(listed.iter().filter(|i| i.image.describes(wanted)).map(|i| i.name.clone()).collect()),
            Err(failure) => Err(failure.clone()),
        }
    }
}

/// The fields to request of a report: exactly those that the settings need.
fn fields(judge: &Judge<'_>, depth: Depth) -> Vec<&'static str> {
    let mut fields = vec![IDENTITY, "report.summary"];
    if depth == Depth::Summary {
        return fields;
    }
    fields.extend(["report.results.vulnerabilities.severity", "report.results.vulnerabilities.suppressed"]);
    let parts = judge.parts(depth);
    for (needed, field) in [
        (parts.ids, "report.results.vulnerabilities.cve"),
        (parts.packages, "report.results.vulnerabilities.packageName"),
        (parts.purls, "report.results.vulnerabilities.purl"),
        (parts.fixes, "report.results.vulnerabilities.fixedVersions"),
        (parts.scores && is_on(Remedy::AskForScores), "report.results.vulnerabilities.cvss"),
        (parts.exploited, "report.results.vulnerabilities.knownExploited"),
        (parts.epss_score, "report.results.vulnerabilities.epssScore"),
        (parts.epss_percentile, "report.results.vulnerabilities.epssPercentile"),
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
        IDENTITY,
        "spdx.spdxVersion",
        "spdx.creationInfo.created",
        "spdx.packages.SPDXID",
        "spdx.packages.name",
        "spdx.packages.versionInfo",
        "spdx.packages.primaryPackagePurpose",
        // Entries for the places of packages have no purl, and are no packages.
        "spdx.packages.externalRefs",
    ];
    if judge.asks_for_licenses() {
        fields.extend([
            "spdx.packages.licenseConcluded",
            "spdx.packages.licenseDeclared",
            "spdx.hasExtractedLicensingInfos.licenseId",
            "spdx.hasExtractedLicensingInfos.name",
        ]);
    }
    fields
}

/// Whether an object is the requested one.
fn is_object(
    kind: &Option<JsonString<'_>>,
    metadata: &Metadata<'_>,
    wanted: &str,
    namespace: &str,
    name: &str,
) -> bool {
    (metadata.namespace.as_ref().map(JsonString::as_str) == Some(namespace) || !is_on(Remedy::MatchNamespace))
        && metadata.name.as_str() == name
        && kind.as_ref().is_none_or(|kind| kind.as_str() == wanted)
}

/// The name of a report, an Image and an SBOM. A Registry, the host as the scanner writes it, and the digest of the platform's manifest
/// have a part in it.
fn report_name(registry: &str, host: &str, image: &ImageReference, tag: &str, digest: &str) -> String {
    hash(&format!("{registry}/{host}/{}:{tag}@{digest}", image.repository()))
}

/// The name under which a report is looked up, computed from its own `imageMetadata`. None where that doesn't name the Registry, the
/// image or its digest.
#[must_use]
pub fn computed_report_name(image_metadata: &Value) -> Option<String> {
    let text = |key: &str| image_metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (registry, host, tag, digest) = (text("registry")?, text("registryURI")?, text("tag")?, text("digest")?);
    // The scanner writes images that are pinned with their digest in the place of a tag.
    let image = ImageReference::parse(&format!("{host}/{}", text("repository")?)).ok()?;
    Some(report_name(registry, scanners_host(&image), &image, tag, digest))
}

/// The scanner's hash of a name: SHA-256, in hexadecimal digits.
fn hash(name: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(name))
}

/// The registry's host as the scanner writes it.
fn scanners_host(reference: &ImageReference) -> &str {
    if reference.host() == "docker.io" { DOCKER_HUB } else { reference.host() }
}

fn list(objects: &mut Objects<'_>, namespace: &str) -> Result<Vec<Listed>, HostFailure> {
    let document = objects.list(namespace, None, &[IDENTITY])?;
    let items: Vec<ListItem<'_>> = cluster::items(&document, namespace)?;
    let listed = |item: ListItem<'_>| {
        Some(Listed { name: item.metadata.name.0.into_owned(), image: item.image_metadata?.into_owned() })
    };
    Ok(items.into_iter().filter_map(listed).collect())
}

/// What a list shows of an object.
#[derive(Debug)]
struct Listed {
    name: String,
    image: ImageMetadata<'static>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListItem<'a> {
    #[serde(borrow)]
    metadata: Named<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
}

impl cluster::Listed for ListItem<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata
    }
}

/// The scanner's object for an image.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Image<'a> {
    #[serde(borrow)]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
}

/// The packages of an image.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SbomObject<'a> {
    #[serde(borrow)]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
    #[serde(borrow)]
    spdx: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow)]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
    #[serde(borrow)]
    report: Option<ReportBody<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: JsonString<'a>,
    #[serde(borrow)]
    namespace: Option<JsonString<'a>>,
    #[serde(borrow)]
    creation_timestamp: Option<JsonString<'a>>,
    /// Read only if the time matters.
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
}

impl Metadata<'_> {
    fn created(&self) -> Option<Timestamp> {
        Timestamp::parse(self.creation_timestamp.as_ref()?.as_str())
    }

    fn scan_job(&self) -> Option<String> {
        let mut labels: BTreeMap<String, Option<String>> = serde_json::from_str(self.labels?.get()).ok()?;
        labels.remove(SCAN_JOB)?.filter(|uid| !uid.is_empty())
    }
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct ImageMetadata<'a> {
    #[serde(borrow)]
    registry: Option<JsonString<'a>>,
    #[serde(borrow, rename = "registryURI")]
    registry_uri: Option<JsonString<'a>>,
    #[serde(borrow)]
    repository: Option<JsonString<'a>>,
    #[serde(borrow)]
    platform: Option<JsonString<'a>>,
    #[serde(borrow)]
    digest: Option<JsonString<'a>>,
    /// That of the index, since v0.10.
    #[serde(borrow)]
    index_digest: Option<JsonString<'a>>,
}

impl ImageMetadata<'_> {
    fn into_owned(self) -> ImageMetadata<'static> {
        ImageMetadata {
            registry: self.registry.map(JsonString::into_owned),
            registry_uri: self.registry_uri.map(JsonString::into_owned),
            repository: self.repository.map(JsonString::into_owned),
            platform: self.platform.map(JsonString::into_owned),
            digest: self.digest.map(JsonString::into_owned),
            // Nobody asks what an item of a list says of it, and lists are long.
            index_digest: None,
        }
    }

    /// Its registry and repository.
    fn described(&self) -> Described<'_> {
        Described {
            registry: self.registry_uri.as_ref().map(JsonString::as_str),
            repository: self.repository.as_ref().map(JsonString::as_str),
            ..Described::default()
        }
    }

    /// Whether it is of the wanted image. Its tag is only a claim.
    fn describes(&self, wanted: &WantedPlatform<'_>) -> bool {
        // Nearly every item of a list fails here.
        let Some(digest) = self.digest.as_ref().map(JsonString::as_str).filter(|digest| wanted.is_digest(digest))
        else {
            return false;
        };
        let platform = self.platform.as_ref().and_then(|text| Platform::parse(text.as_str()));
        let described = Described { digest: Some(digest), platform: platform.as_ref(), ..self.described() };
        wanted.is_named_by(Some(digest)) && wanted.is_described_by(&described, ReportIdentity::Digest)
    }

    /// Its image, for messages.
    fn shown(&self) -> OtherImage {
        let part =
            |text: &Option<JsonString<'_>>| text.as_ref().map_or("?".to_owned(), |text| text.as_str().to_owned());
        let (registry, repository) = (part(&self.registry_uri), part(&self.repository));
        let name = format!("{registry}/{repository}@{} for {}", part(&self.digest), part(&self.platform));
        OtherImage::Named(cut(&name, 200))
    }
}

#[derive(Deserialize)]
struct ReportBody<'a> {
    summary: Option<Summary>,
    #[serde(borrow)]
    results: Option<Vec<ResultEntry<'a>>>,
}

/// Counts of entries that are not suppressed.
#[derive(Deserialize)]
struct Summary {
    critical: Option<u64>,
    high: Option<u64>,
    medium: Option<u64>,
    low: Option<u64>,
    unknown: Option<u64>,
}

/// A clean target has null instead of a list.
#[derive(Deserialize)]
struct ResultEntry<'a> {
    #[serde(borrow)]
    vulnerabilities: Option<Entries<'a>>,
}

/// The findings of a target; each is made from its entry while that is read.
#[derive(Default)]
struct Entries<'a>(Vec<Finding<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Entries<'a> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(entry) = list.next_element::<Vulnerability<'a>>()? {
            memory::push(&mut self.0, entry.into())?;
        }
        Ok(self)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    cve: Option<JsonString<'a>>,
    #[serde(borrow)]
    severity: Option<JsonString<'a>>,
    #[serde(borrow)]
    package_name: Option<JsonString<'a>>,
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
    #[serde(borrow)]
    fixed_versions: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    cvss: Option<BTreeMap<JsonString<'a>, Option<Cvss>>>,
    suppressed: Option<bool>,
    known_exploited: Option<bool>,
    /// Strings, which may be empty.
    epss_score: Option<Number>,
    epss_percentile: Option<Number>,
}

#[derive(Deserialize)]
struct Cvss {
    v3score: Option<Number>,
}

fn findings(body: Option<ReportBody<'_>>, depth: Depth) -> Result<Findings<'_>, UnreadableReport> {
    let body = body.ok_or(UnreadableReport::NoReport)?;
    let summary = body.summary.ok_or(UnreadableReport::NoSummary)?;
    let counts = summed(|severity| match severity {
        Severity::Critical => summary.critical,
        Severity::High => summary.high,
        Severity::Medium => summary.medium,
        Severity::Low => summary.low,
        Severity::Unknown => summary.unknown,
    })?;
    if !is_on(Remedy::NullIsClean) && body.results.iter().flatten().any(|result| result.vulnerabilities.is_none()) {
        return Err(UnreadableReport::TargetWithoutList);
    }
    let entries = (depth != Depth::Summary).then(|| {
        let mut lists = body.results.into_iter().flatten().filter_map(|result| result.vulnerabilities);
        let Entries(mut entries) = lists.next().unwrap_or_default();
        lists.for_each(|list| entries.extend(list.0));
        entries
    });
    Ok(Findings { summary: Some(counts), entries, ..Findings::default() })
}

impl<'a> From<Vulnerability<'a>> for Finding<'a> {
    fn from(entry: Vulnerability<'a>) -> Self {
        let scores = entry
            .cvss
            .iter()
            .flatten()
            .filter_map(|(source, cvss)| Some((source.as_str(), cvss.as_ref()?.v3score.as_ref()?.0)));
        let mut epss = EpssScores::default();
        epss.add(entry.epss_score.unwrap_or_default().0, entry.epss_percentile.unwrap_or_default().0);
        Self {
            epss,
            exploited: entry.known_exploited.map(|is| if is { Exploited::Yes { due: None } } else { Exploited::No }),
            score: score::best(scores),
            id: entry.cve.filter(|id| !id.as_str().is_empty()),
            aliases: None,
            severity: Severity::of(entry.severity.as_ref().map_or("", JsonString::as_str)),
            package: entry.package_name,
            purl: entry.purl,
            fixed_in: entry.fixed_versions.into_iter().flatten().find(|version| !version.as_str().trim().is_empty()),
            published: None,
            known: None,
            suppressed: entry.suppressed.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scanner's published test vector for the resource of a registry, and the scheme of its reports' names.
    #[test]
    fn names_are_computed_as_the_scanner_does() {
        assert_eq!(format!("workloadscan-{}", hash("quay.io")).get(..21), Some("workloadscan-271dacc9"));
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn the_name_of_a_report_is_computed_from_what_it_says() {
        let digest = format!("sha256:{}", "1".repeat(64));
        let of = |registry_uri: &str, repository: &str, tag: &str| {
            computed_report_name(&serde_json::json!({"registry": "team", "registryURI": registry_uri,
                "repository": repository, "tag": tag, "digest": digest, "platform": "linux/amd64"}))
        };
        let name = hash(&format!("team/ghcr.io/app/web:1.0@{digest}"));
        assert_eq!(of("ghcr.io", "app/web", "1.0"), Some(name));
        let of_docker = hash(&format!("team/index.docker.io/library/nginx:{digest}@{digest}"));
        assert_eq!(of("index.docker.io", "library/nginx", &digest), Some(of_docker));
        assert_eq!(of("", "app/web", "1.0"), None);
        assert_eq!(of("ghcr.io", "App", "1.0"), None);
        assert_eq!(computed_report_name(&Value::Null), None);
    }
}
