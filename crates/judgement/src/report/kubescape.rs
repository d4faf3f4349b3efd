//! Reports of Kubescape: `VulnerabilityManifest` of `spdx.softwarecomposition.kubescape.io`, one for each image that was
//! run.
//!
//! A list of them comes back without contents, so they are read only by name. A name is made of the image as a Pod spelled it and
//! the last six digits of the digest under which a node knew it. That finds an object and proves nothing: its annotations have the
//! whole digest.
//!
//! A scan overwrites the previous report without a time; the object's own time is that of the first scan. And Kubescape moves the
//! findings that its `SecurityException`s name from `matches` to `ignoredMatches`, whichever workload they were made for. Ignored
//! matches aren't requested, so the authors of those exceptions are trusted.

use super::cluster::{Objects, origin};
use super::source::{self, JudgedFor, Knowledge, Statement, WantedPlatform, judge_deeper};
use crate::acceptance::{Depth, Judge, Judgement, Verdict};
use crate::reason::{NotScanned, OtherImage, Pending, ScanFailure, UnknownAge, UnreadableReport, Whereabouts};
use image_admission_host::{Document, Host, HostFailure};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest};
use image_admission_scan_report::document::grype;
use image_admission_scan_report::finding::Findings;
use image_admission_settings::Kubescape;
use image_admission_untrusted::memory::List;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;

const API_VERSION: &str = "spdx.softwarecomposition.kubescape.io/v1beta1";
/// The findings in an image.
const MANIFEST: &str = "VulnerabilityManifest";
/// The packages of an image; it exists before they are checked for vulnerabilities.
const BOM: &str = "SBOMSyft";
/// The kinds that are read, each with its `apiVersion`.
pub(super) const KINDS: [(&str, &str); 2] = [(API_VERSION, MANIFEST), (API_VERSION, BOM)];
/// The longest name of an object.
const MAX_NAME_LENGTH: usize = 253;
/// How many digits of a digest are in a name.
const DIGITS: usize = 6;
/// The first depth to request: there is no summary.
const DEPTH: Depth = Depth::Entries;

/// Kubescape's reports, as one request sees them.
pub(super) struct KubescapeReports<'a> {
    settings: &'a Kubescape,
    manifests: Kept<'a>,
    boms: Kept<'a>,
    /// By a report's name, its judgement for an image. It is the same for each of the image's platforms, unless the judge
    /// distinguishes them.
    judged: BTreeMap<String, (JudgedFor, Judged<'a>)>,
}

/// A report's judgement, or why there is none.
type Judged<'a> = Result<Result<Judgement<'a>, UnreadableReport>, HostFailure>;

/// Objects of one kind in one namespace, each read once: the platforms of an image share names. An object read with other fields is
/// kept separately.
struct Kept<'a> {
    objects: Objects<'a>,
    answers: BTreeMap<(String, Vec<&'static str>), Answer>,
}

type Answer = Result<Option<Rc<Answered>>, HostFailure>;

/// An object, and the part of it that says whose it is.
struct Answered {
    document: Document,
    object: Object,
}

impl<'a> Kept<'a> {
    fn new(host: &'a dyn Host, kind: &'a str) -> Self {
        Self { objects: Objects::new(host, API_VERSION, kind), answers: BTreeMap::new() }
    }

    fn get(&mut self, namespace: &str, name: &str, fields: &[&'static str]) -> Answer {
        let key = (name.to_owned(), fields.to_vec());
        if let Some(answer) = self.answers.get(&key) {
            return answer.clone();
        }
        let answer = self.objects.get(namespace, name, fields).and_then(|found| {
            let Some(document) = found else { return Ok(None) };
            let object = document.read()?;
            Ok(Some(Rc::new(Answered { document, object })))
        });
        self.answers.insert(key, answer.clone());
        answer
    }
}

/// The platform that was scanned, and the digest of its manifest, if a report has them.
type ScannedEntry = (Option<Platform>, Option<String>);

impl<'a> KubescapeReports<'a> {
    pub(super) fn new(settings: &'a Kubescape, host: &'a dyn Host) -> Self {
        Self { settings, manifests: Kept::new(host, MANIFEST), boms: Kept::new(host, BOM), judged: BTreeMap::new() }
    }

    /// The findings in the image, by one of the names that its report can have; none if there is no such object, or if it is
    /// another platform's.
    fn read(
        &mut self,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let namespace = &self.settings.namespace;
        let Some(answer) = self.manifests.get(namespace, name, &fields(judge, DEPTH))? else { return Ok(None) };
        let by = self.manifests.objects.shown(namespace, name);
        let object = &answer.object;
        let Some(digest) = object.digest_of(MANIFEST, namespace, name, wanted) else {
            return Ok(Some(Statement::new(by, Knowledge::OfAnotherImage(object.metadata.shown()))));
        };
        if !self.is_of_platform(digest, &object.scanned(), wanted) {
            return Ok(None);
        }
        if object.metadata.is_filtered() {
            return Ok(Some(Statement::new(by, Knowledge::NotScanned(NotScanned::OnlyWhatOneWorkloadUses))));
        }
        let first_made = object.metadata.creation_timestamp.as_deref().and_then(Timestamp::parse);
        let made = object.made().ok_or(UnknownAge::NotScanned);
        // For a report that is too old, the details of its findings don't matter.
        let is_fresh =
            matches!(wanted.hold_to_age(made.clone(), || Verdict::Accepted.into()), (_, Knowledge::Fresh(_)));
        let (time, known) = match self.judged(name, &answer, is_fresh, wanted, judge)? {
            Ok(judgement) => wanted.hold_to_age(made, || judgement),
            Err(why) => (None, Knowledge::Failed(ScanFailure::Unreadable(why))),
        };
        let origin = origin(&self.manifests.objects, namespace, name);
        Ok(Some(Statement { by, time, first_made, known, origin }))
    }

    /// The judgement on a report's findings.
    fn judged(
        &mut self,
        name: &str,
        answer: &Answered,
        is_fresh: bool,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Judged<'a> {
        let judged_for = wanted.judged_for(judge);
        if let Some((of, judged)) = self.judged.get(name)
            && *of == judged_for
        {
            return judged.clone();
        }
        let judged = answer.findings().map(|first| {
            let first = first?;
            Ok(judge_deeper(judge, &first, |depth| {
                if !is_fresh {
                    return None;
                }
                if judge.parts(depth) == judge.parts(DEPTH) {
                    return (depth == Depth::Excused).then(|| judge.judge_at(depth, &first));
                }
                let namespace = &self.settings.namespace;
                let again = self.manifests.get(namespace, name, &fields(judge, depth)).ok()??;
                // Under an index's digest, it may have been overwritten by another platform's report.
                let is_same = again.object.digest_of(MANIFEST, namespace, name, wanted)
                    == answer.object.digest_of(MANIFEST, namespace, name, wanted)
                    && again.object.scanned() == answer.object.scanned()
                    && !again.object.metadata.is_filtered();
                is_same.then_some(())?;
                Some(judge.judge_at(depth, &again.findings().ok()?.ok()?))
            }))
        });
        self.judged.insert(name.to_owned(), (judged_for, judged.clone()));
        judged
    }

    /// The progress of a scan without findings yet.
    fn progress(&mut self, name: &str, wanted: &WantedPlatform<'_>) -> Result<Option<Statement<'a>>, HostFailure> {
        let namespace = &self.settings.namespace;
        // The annotations are enough, and the list of packages is long.
        let Some(answer) = self.boms.get(namespace, name, &["status"])? else { return Ok(None) };
        let object = &answer.object;
        let Some(digest) = object.digest_of(BOM, namespace, name, wanted) else { return Ok(None) };
        if !self.is_of_platform(digest, &ScannedEntry::default(), wanted) {
            return Ok(None);
        }
        let known = match object.metadata.annotation("kubescape.io/status").unwrap_or_default() {
            "" => return Ok(None),
            "initializing" => Knowledge::Pending(Pending::Packages),
            "ready" | "completed" => Knowledge::Pending(Pending::Matches),
            status => {
                let reason = object.metadata.annotation("kubescape.io/status-reason");
                let (status, reason) = (status.to_owned(), reason.map(str::to_owned));
                Knowledge::Failed(ScanFailure::Packages { status, reason })
            }
        };
        Ok(Some(Statement::new(self.boms.objects.shown(namespace, name), known)))
    }

    /// Whether the findings under one of the image's digests are those of this platform.
    fn is_of_platform(&self, digest: &str, scanned: &ScannedEntry, wanted: &WantedPlatform<'_>) -> bool {
        let (platform, manifest) = scanned;
        // A platform's own digest proves it. Under an index's digest, the platform of the first node that ran it was scanned. The
        // manifest's digest in the report says which one that was. Without it, the platform in the report does, which the image's
        // builder chooses.
        digest == wanted.manifest.digest
            || manifest.as_ref() == Some(&wanted.manifest.digest)
            || wanted.manifest.platform.is_some()
                && wanted.is_platform(Some(platform.as_ref().unwrap_or(&self.settings.platform)))
                && !manifest
                    .as_ref()
                    .is_some_and(|manifest| wanted.is_another_entry(manifest) && is_on(Remedy::NamedEntryDecides))
    }

    /// What the objects of all names say, and the first failure.
    fn ask<'n>(
        names: &'n [String],
        mut ask: impl FnMut(&'n str) -> Result<Option<Statement<'a>>, HostFailure>,
    ) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        let mut failure = None;
        for name in names {
            match ask(name) {
                Ok(statement) => statements.extend(statement),
                Err(failed) => failure = failure.or(Some(failed)),
            }
        }
        statements.extend(failure.as_ref().map(Statement::look_up_failed));
        statements
    }
}

impl<'a> source::Source<'a> for KubescapeReports<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let is_scanned = wanted.stands_alone() || wanted.is_platform(Some(&self.settings.platform));
        let mut digests = vec![wanted.image.digest.as_str()];
        if is_scanned && !wanted.stands_alone() {
            digests.push(&wanted.manifest.digest);
        }
        let names = names(wanted, &digests);
        let statements = Self::ask(&names, |name| self.read(name, wanted, judge));
        if !is_scanned || statements.iter().any(|statement| !matches!(statement.known, Knowledge::OfAnotherImage(_))) {
            return statements;
        }
        // Another image's report under the same name says nothing about this one, and hides none of its reports.
        let progress = Self::ask(&names, |name| self.progress(name, wanted));
        if progress.is_empty() { statements } else { progress }
    }

    fn whereabouts(&self) -> Whereabouts {
        Whereabouts::Kubescape { namespace: self.settings.namespace.clone() }
    }
}

/// The names that the image's objects can have. Pods that this policy pinned have the digest after the tag; without one they were
/// scanned as `latest` before.
fn names(wanted: &WantedPlatform<'_>, digests: &[&str]) -> Vec<String> {
    let pinned = &wanted.image.digest;
    let mut spellings = Vec::new();
    for name in wanted.names().map(ImageReference::name) {
        let tag = wanted.reference.tag();
        spellings.push(format!("{name}:{}", tag.unwrap_or("latest")));
        spellings.extend(tag.map(|tag| format!("{name}:{tag}@{pinned}")));
        spellings.push(format!("{name}@{pinned}"));
    }
    digests.iter().flat_map(|digest| spellings.iter().filter_map(|spelling| slug(spelling, digest))).collect()
}

/// The name of an image's objects: `docker.io-library-nginx-1.27-a3ac8c`. None when it can't be one.
fn slug(spelling: &str, digest: &str) -> Option<String> {
    let as_name = |c: char| if matches!(c, ':' | '/' | '_' | '@') { '-' } else { c.to_ascii_lowercase() };
    let image: String = spelling.chars().map(as_name).take(MAX_NAME_LENGTH - DIGITS - 1).collect();
    let (_, digits) = digest.split_at_checked(digest.len().checked_sub(DIGITS)?)?;
    let name = format!("{image}-{digits}");
    let is_name = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// The fields to request of a report; `metadata` is always returned.
fn fields(judge: &Judge<'_>, depth: Depth) -> Vec<&'static str> {
    let parts = judge.parts(depth);
    let mut fields = vec![
        "spec.metadata.report.createdAt",
        "spec.payload.source.type",
        "spec.payload.source.target.os",
        "spec.payload.source.target.architecture",
        "spec.payload.source.target.architectureVariant",
        "spec.payload.source.target.manifestDigest",
        "spec.payload.descriptor.name",
        "spec.payload.matches.vulnerability.severity",
    ];
    let parts: [(bool, &[&'static str]); 6] = [
        (parts.ids, &["spec.payload.matches.vulnerability.id"]),
        (parts.aliases, &["spec.payload.matches.relatedVulnerabilities.id"]),
        (parts.packages, &["spec.payload.matches.artifact.name"]),
        (parts.purls, &["spec.payload.matches.artifact.purl"]),
        (
            parts.fixes,
            &["spec.payload.matches.vulnerability.fix.state", "spec.payload.matches.vulnerability.fix.versions"],
        ),
        (
            parts.scores,
            &[
                "spec.payload.matches.vulnerability.namespace",
                "spec.payload.matches.vulnerability.cvss.version",
                "spec.payload.matches.vulnerability.cvss.metrics.baseScore",
                "spec.payload.matches.relatedVulnerabilities.namespace",
                "spec.payload.matches.relatedVulnerabilities.cvss.version",
                "spec.payload.matches.relatedVulnerabilities.cvss.metrics.baseScore",
            ],
        ),
    ];
    fields.extend(parts.iter().filter(|(is_asked, _)| *is_asked).flat_map(|(_, fields)| fields.iter()));
    fields
}

/// An object of either kind, without its contents: those are read only if it is a report of the wanted image.
#[derive(Deserialize)]
struct Object {
    kind: Option<String>,
    metadata: Metadata,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    creation_timestamp: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Spec {
    metadata: Option<SpecMetadata>,
    payload: Option<Payload>,
}

#[derive(Deserialize)]
struct SpecMetadata {
    report: Option<ReportMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportMetadata {
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Payload {
    source: Option<Scanned>,
    descriptor: Option<Descriptor>,
}

/// What was scanned.
#[derive(Deserialize)]
struct Scanned {
    #[serde(rename = "type")]
    kind: Option<String>,
    target: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Descriptor {
    name: Option<String>,
}

/// The contents of a report.
#[derive(Deserialize)]
struct Contents<'a> {
    #[serde(borrow)]
    spec: Option<SpecContents<'a>>,
}

#[derive(Deserialize)]
struct SpecContents<'a> {
    #[serde(borrow)]
    payload: Option<PayloadContents<'a>>,
}

#[derive(Deserialize)]
struct PayloadContents<'a> {
    #[serde(borrow)]
    matches: Option<List<grype::Match<'a>>>,
}

impl Answered {
    /// The findings of a report. An image without findings has null instead of a list, and so has an object that came back without
    /// its contents. Only the former says what was scanned.
    fn findings(&self) -> Result<Result<Findings<'_>, UnreadableReport>, HostFailure> {
        let contents: Contents<'_> = self.document.read()?;
        let matches = match contents.spec.and_then(|spec| spec.payload?.matches) {
            Some(List(matches)) => matches,
            None if self.object.is_scanned() || !is_on(Remedy::MatchesMustBeThere) => Vec::new(),
            None => return Ok(Err(UnreadableReport::NoMatches)),
        };
        let entries = matches.into_iter().map(|found| found.into_finding(false)).collect();
        Ok(Ok(Findings { entries: Some(entries), ..Findings::default() }))
    }
}

impl Object {
    fn payload(&self) -> Option<&Payload> {
        self.spec.as_ref()?.payload.as_ref()
    }

    /// Whether it says what was scanned, or by which scanner.
    fn is_scanned(&self) -> bool {
        let payload = self.payload();
        let source = payload.and_then(|payload| payload.source.as_ref()?.kind.as_ref());
        let scanner = payload.and_then(|payload| payload.descriptor.as_ref()?.name.as_ref());
        source.into_iter().chain(scanner).any(|text| !text.is_empty())
    }

    /// What was scanned, as far as it says so.
    fn scanned(&self) -> ScannedEntry {
        let target = self.payload().and_then(|payload| payload.source.as_ref()?.target.as_ref());
        target.map(|target| grype::scanned_in(target)).unwrap_or_default()
    }

    /// The wanted image's digest in this object; none if it is another object or another image's.
    fn digest_of<'s>(
        &'s self,
        kind: &str,
        namespace: &str,
        name: &str,
        wanted: &WantedPlatform<'_>,
    ) -> Option<&'s str> {
        let is_object = self.metadata.namespace.as_deref() == Some(namespace)
            && self.metadata.name == name
            && self.kind.as_ref().is_none_or(|own| own == kind);
        let (id, tag) = (self.metadata.image_id(), self.metadata.annotation("kubescape.io/image-tag"));
        let (_, digest) = id?.rsplit_once('@')?;
        // A node that knows one image by several names may have put any of them before the digest.
        let is_repository =
            id.into_iter().chain(tag).filter_map(|text| ImageReference::parse(text).ok()).any(|named| {
                wanted.names().any(|name| named.host() == name.host() && named.repository() == name.repository())
            });
        let is_image = wanted.is_digest(digest) || !is_on(Remedy::WholeImageId);
        (is_object && is_digest(digest) && is_image && is_repository).then_some(digest)
    }

    /// When it was scanned, if it says so.
    fn made(&self) -> Option<Timestamp> {
        let report = self.spec.as_ref()?.metadata.as_ref()?.report.as_ref()?;
        Timestamp::parse(report.created_at.as_ref()?)
    }
}

impl Metadata {
    fn annotation(&self, key: &str) -> Option<&str> {
        Some(self.annotations.as_ref()?.get(key)?)
    }

    /// The image as the node knew it, `docker.io/library/nginx@sha256:…`, before which Docker writes a scheme.
    fn image_id(&self) -> Option<&str> {
        let id = self.annotation("kubescape.io/image-id")?;
        Some(id.split_once("://").map_or(id, |(_, id)| id))
    }

    /// Whether it covers only the packages that one workload uses.
    fn is_filtered(&self) -> bool {
        let context = self.labels.as_ref().and_then(|labels| labels.get("kubescape.io/context"));
        context.is_some_and(|context| context == "filtered")
    }

    /// Its image, for messages.
    fn shown(&self) -> OtherImage {
        let named = [self.image_id(), self.annotation("kubescape.io/image-tag")];
        let image = named.into_iter().flatten().find(|name| !name.is_empty());
        image.map_or(OtherImage::Unnamed, |image| OtherImage::Named(cut(image, 160)))
    }
}

#[cfg(test)]
mod tests;
