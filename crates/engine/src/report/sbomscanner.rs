//! Reports of Kubewarden's sbomscanner: `VulnerabilityReport` of `storage.sbomscanner.kubewarden.io`.
//!
//! Since v0.10 a report's name is computed from the Registry resource that had the image scanned, the image's name and
//! the digest of the platform's manifest, so that one GET finds it. The scheme is the scanner's private matter: where
//! no computed name hits, or where the reference carries a digest, one list with a constant selector is searched, and
//! what it names is read anew, since a list proves nothing about now. Either way only what the report says about itself
//! makes it this image's.

use super::Answer;
use crate::acceptance::{Finding, Findings, Verdict, judge, needs_entries};
use crate::host::{Host, HostFailure, Resource};
use crate::image::{ImageReference, canonical_host};
use crate::platform::Platform;
use crate::resolve::{PlatformManifest, ResolvedImage};
use crate::settings::{SbomScanner, Settings, Severity};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::BTreeMap;

const API_VERSION: &str = "storage.sbomscanner.kubewarden.io/v1alpha1";
const KIND: &str = "VulnerabilityReport";
/// Docker Hub as the scanner writes it.
const DOCKER_HUB: &str = "index.docker.io";
/// What identifies a report; without it in the mask the host leaves it out.
const IDENTITY: [&str; 1] = ["imageMetadata"];
const WITH_SUMMARY: [&str; 2] = ["imageMetadata", "report.summary"];
const WITH_ENTRIES: [&str; 6] = [
    "imageMetadata",
    "report.summary",
    "report.results.vulnerabilities.cve",
    "report.results.vulnerabilities.severity",
    "report.results.vulnerabilities.fixedVersions",
    "report.results.vulnerabilities.suppressed",
];

/// The scanner's reports, as one request sees them.
pub(super) struct Source<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    /// The namespaces whose reports are trusted, each once.
    namespaces: Vec<&'a str>,
    registry_resources: &'a [String],
    /// Whether the limits need the reports' entries, or their summaries do.
    with_entries: bool,
    /// By registry host, the name of the Registry resource that workload scanning makes for it.
    workload_scans: BTreeMap<String, String>,
    /// What each namespace's list says, once it was needed.
    lists: BTreeMap<&'a str, Result<Vec<Listed>, HostFailure>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(source: &'a SbomScanner, settings: &'a Settings, host: &'a dyn Host, namespace: &'a str) -> Self {
        let own = Some(namespace).filter(|namespace| source.workload_namespace && !namespace.is_empty());
        let mut namespaces = Vec::new();
        for namespace in source.namespaces.iter().map(String::as_str).chain(own) {
            if !namespaces.contains(&namespace) {
                namespaces.push(namespace);
            }
        }
        Self {
            settings,
            host,
            namespaces,
            registry_resources: &source.registry_resources,
            with_entries: needs_entries(&settings.acceptance),
            workload_scans: BTreeMap::new(),
            lists: BTreeMap::new(),
        }
    }

    /// The reports for one platform of an image, and the first look-up that failed.
    pub(super) fn find(
        &mut self,
        reference: &ImageReference,
        image: &ResolvedImage,
        manifest: &PlatformManifest,
    ) -> Answer {
        let wanted = Wanted { reference, image, manifest };
        let host = scanners_host(reference);
        let workload_scan = self.workload_scans.entry(host.to_owned());
        let workload_scan = workload_scan.or_insert_with(|| format!("workloadscan-{}", sha256_hex(&[host])));
        let names = computed_names(&wanted, self.registry_resources, workload_scan);
        let mut reports = BTreeMap::new();
        let mut failure = None;
        for namespace in self.namespaces.clone() {
            // What others say still counts: one of them may know that the image is bad.
            if let Err(failed) = self.find_in(namespace, &names, &wanted, &mut reports) {
                failure.get_or_insert(failed.to_string());
            }
        }
        Answer { reports: reports.into_iter().collect(), failure }
    }

    /// Where it looks.
    pub(super) fn whereabouts(&self) -> String {
        let word = if self.namespaces.len() == 1 { "namespace" } else { "namespaces" };
        format!("from sbomscanner in {word} {}", self.namespaces.join(", "))
    }

    fn find_in(
        &mut self,
        namespace: &'a str,
        names: &[String],
        wanted: &Wanted<'_>,
        reports: &mut BTreeMap<String, Verdict>,
    ) -> Result<(), HostFailure> {
        let mut found = false;
        let mut read = Ok(());
        for name in names {
            // One that can't be read hides none of the others.
            match self.read(namespace, name, wanted, reports) {
                Ok(is_wanted) => found |= is_wanted,
                Err(failure) => read = read.and(Err(failure)),
            }
        }
        // Never list where a GET had no answer.
        read?;
        let mut read = Ok(());
        // A tag that was resolved leads to the reports of that tag. A tag beside a digest is only a claim, and whoever
        // makes it must not choose among the digest's reports: all of them count.
        if found && wanted.reference.digest().is_none() {
            return Ok(());
        }
        let host = self.host;
        let listed = self.lists.entry(namespace).or_insert_with(|| list(host, namespace));
        let listed: Vec<String> = match listed {
            Ok(listed) => {
                let described = listed.iter().filter(|item| wanted.is_described_by(Some(&item.image)));
                described.map(|item| item.name.clone()).collect()
            }
            Err(failure) => return Err(failure.clone()),
        };
        for name in listed.into_iter().filter(|name| !names.contains(name)) {
            read = read.and(self.read(namespace, &name, wanted, reports).map(|_| ()));
        }
        read
    }

    /// Reads a report by name, and says whether it is the wanted image's.
    fn read(
        &self,
        namespace: &str,
        name: &str,
        wanted: &Wanted<'_>,
        reports: &mut BTreeMap<String, Verdict>,
    ) -> Result<bool, HostFailure> {
        let resource = Resource { api_version: API_VERSION, kind: KIND, namespace, name };
        let fields: &[&str] = if self.with_entries { &WITH_ENTRIES } else { &WITH_SUMMARY };
        let document = match self.host.get_resource(&resource, fields) {
            Ok(document) => document,
            Err(HostFailure::NotFound(_)) => return Ok(false),
            Err(failure) => return Err(failure),
        };
        let report: Report<'_> = document.read()?;
        if report.metadata.namespace.as_ref().map(Text::as_str) != Some(namespace)
            || report.metadata.name.as_str() != name
            || report.kind.is_some_and(|kind| kind.as_str() != KIND)
            || !wanted.is_described_by(report.image_metadata.as_ref())
        {
            return Ok(false);
        }
        let verdict = match findings(report.report, self.with_entries) {
            Ok(findings) => judge(&findings, &self.settings.acceptance),
            Err(why) => Verdict::Inconsistent(why),
        };
        reports.insert(format!("{KIND} {namespace}/{name}"), verdict);
        Ok(true)
    }
}

/// What a report must speak of.
#[derive(Debug)]
struct Wanted<'a> {
    reference: &'a ImageReference,
    image: &'a ResolvedImage,
    manifest: &'a PlatformManifest,
}

impl Wanted<'_> {
    /// Whether a report's own words name this registry, repository, digest and platform. Its tag is only a claim.
    fn is_described_by(&self, image: Option<&ImageMetadata<'_>>) -> bool {
        let Some(image) = image else { return false };
        let platform = self.manifest.platform.as_ref();
        // What tells nearly every other report apart comes first: of a list, each is looked at.
        let digest = image.digest.as_ref().map(Text::as_str);
        (digest == Some(&self.manifest.digest) || (digest == Some(&self.image.digest) && platform.is_some()))
            && image.repository.as_ref().map(Text::as_str) == Some(self.reference.repository())
            && image
                .registry_uri
                .as_ref()
                .is_some_and(|host| canonical_host(host.as_str()).is_ok_and(|host| host == self.reference.host()))
            && platform.is_none_or(|wanted| {
                let described = image.platform.as_ref().and_then(|text| Platform::parse(text.as_str()));
                described.is_some_and(|described| described.is_same(wanted))
            })
    }
}

/// The names that the report can have: the Registry resource is one that the settings name, or the one that workload
/// scanning makes for the registry.
fn computed_names(wanted: &Wanted<'_>, registry_resources: &[String], workload_scan: &str) -> Vec<String> {
    let reference = wanted.reference;
    // Images that are pinned without a tag are kept with their digest in the tag's place.
    let tag = reference.tag().unwrap_or(&wanted.image.digest);
    let host = scanners_host(reference);
    let mut names: Vec<String> = Vec::new();
    for registry in registry_resources.iter().map(String::as_str).chain([workload_scan]) {
        let parts = [registry, "/", host, "/", reference.repository(), ":", tag, "@", &wanted.manifest.digest];
        let name = sha256_hex(&parts);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The registry's host as the scanner writes it.
fn scanners_host(reference: &ImageReference) -> &str {
    if reference.host() == "docker.io" { DOCKER_HUB } else { reference.host() }
}

fn sha256_hex(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
    }
    let nibble = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    hash.finalize().iter().flat_map(|byte| [nibble(byte >> 4), nibble(byte & 15)]).collect()
}

fn list(host: &dyn Host, namespace: &str) -> Result<Vec<Listed>, HostFailure> {
    let document = host.list_resources(API_VERSION, KIND, namespace, &IDENTITY)?;
    let list: List<'_> = document.read()?;
    let items =
        list.items.into_iter().filter(|item| item.metadata.namespace.as_ref().map(Text::as_str) == Some(namespace));
    let mut listed: Vec<Listed> = items
        .filter_map(|item| {
            Some(Listed { name: item.metadata.name.as_str().to_owned(), image: item.image_metadata?.into_owned() })
        })
        .collect();
    // The host lists in no order.
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// What a list says of a report.
#[derive(Debug)]
struct Listed {
    name: String,
    image: ImageMetadata<'static>,
}

/// A string of an answer, in the answer's own bytes where it has no escapes.
#[derive(Deserialize, Debug)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    fn as_str(&self) -> &str {
        &self.0
    }

    fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<ListItem<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListItem<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    image_metadata: Option<ImageMetadata<'a>>,
    #[serde(borrow)]
    report: Option<ReportBody<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct ImageMetadata<'a> {
    #[serde(borrow, rename = "registryURI")]
    registry_uri: Option<Text<'a>>,
    #[serde(borrow)]
    repository: Option<Text<'a>>,
    #[serde(borrow)]
    platform: Option<Text<'a>>,
    #[serde(borrow)]
    digest: Option<Text<'a>>,
}

impl ImageMetadata<'_> {
    fn into_owned(self) -> ImageMetadata<'static> {
        ImageMetadata {
            registry_uri: self.registry_uri.map(Text::into_owned),
            repository: self.repository.map(Text::into_owned),
            platform: self.platform.map(Text::into_owned),
            digest: self.digest.map(Text::into_owned),
        }
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

/// A clean target has null where others have a list.
#[derive(Deserialize)]
struct ResultEntry<'a> {
    #[serde(borrow)]
    vulnerabilities: Option<Vec<Vulnerability<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    cve: Option<Text<'a>>,
    #[serde(borrow)]
    severity: Option<Text<'a>>,
    #[serde(borrow)]
    fixed_versions: Option<Vec<Text<'a>>>,
    suppressed: Option<bool>,
}

fn findings(body: Option<ReportBody<'_>>, with_entries: bool) -> Result<Findings, String> {
    let body = body.ok_or("it has no report")?;
    let summary = body.summary.ok_or("it has no summary")?;
    let mut counts = Vec::new();
    for severity in Severity::ALL {
        let number = match severity {
            Severity::Critical => summary.critical,
            Severity::High => summary.high,
            Severity::Medium => summary.medium,
            Severity::Low => summary.low,
            Severity::Unknown => summary.unknown,
        };
        counts.push((severity, number.ok_or_else(|| format!("its summary doesn't say how many are {severity}"))?));
    }
    let entries = with_entries.then(|| {
        let vulnerabilities =
            body.results.into_iter().flatten().flat_map(|result| result.vulnerabilities.unwrap_or_default());
        vulnerabilities.map(Finding::from).collect()
    });
    Ok(Findings { summary: counts, entries })
}

impl From<Vulnerability<'_>> for Finding {
    fn from(entry: Vulnerability<'_>) -> Self {
        Self {
            id: entry.cve.filter(|id| !id.as_str().is_empty()).map(|id| id.0.into_owned()),
            severity: Severity::of(entry.severity.as_ref().map_or("", Text::as_str)),
            fixed: entry.fixed_versions.is_some_and(|versions| versions.iter().any(|v| !v.as_str().is_empty())),
            suppressed: entry.suppressed.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scanner's published vector for the resource of a registry, and the scheme of its reports' names.
    #[test]
    fn names_are_computed_as_the_scanner_does() {
        assert_eq!(format!("workloadscan-{}", sha256_hex(&["quay.io"])).get(..21), Some("workloadscan-271dacc9"));
        assert_eq!(
            sha256_hex(&["my-registry", "/", "ghcr.io"]),
            sha256_hex(&["my-registry/ghcr.io"]),
            "the parts are hashed as one text"
        );
        assert_eq!(sha256_hex(&[""]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
