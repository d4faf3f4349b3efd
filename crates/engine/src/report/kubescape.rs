//! Reports of Kubescape: `VulnerabilityManifest` of `spdx.softwarecomposition.kubescape.io`, one for each image that was
//! run.
//!
//! A list of them comes back without contents, so that they are read by name only. A name is made of the image as a Pod
//! spelled it and the last six digits of the digest under which a node knew it. That finds an object and proves
//! nothing: its annotations have the whole digest.
//!
//! A scan writes over the report of the one before and doesn't say when; the object's own time is that of the first
//! scan. And Kubescape moves what its `SecurityException`s name from `matches` to `ignoredMatches`, whichever workload
//! they were made for: what it ignored is not asked for, so whoever may write those exceptions is trusted.

use super::cluster::Objects;
use super::document::grype;
use super::source::{self, Known, Statement, Wanted, judge_deeper};
use super::text::Text;
use crate::Timestamp;
use crate::acceptance::{Depth, Findings, Judge};
use crate::host::{Document, Host, HostFailure};
use crate::image::{ImageReference, is_digest};
use crate::message::cut;
use crate::platform::Platform;
use crate::settings::Kubescape;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;

const API_VERSION: &str = "spdx.softwarecomposition.kubescape.io/v1beta1";
/// What was found in an image.
const MANIFEST: &str = "VulnerabilityManifest";
/// What an image is made of; it is there before anything is looked for in it.
const BOM: &str = "SBOMSyft";
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// How many digits of a digest stand in a name.
const DIGITS: usize = 6;

/// Kubescape's reports, as one request sees them.
pub(super) struct Source<'a> {
    settings: &'a Kubescape,
    manifests: Kept<'a>,
    boms: Kept<'a>,
}

/// Objects of one kind in one namespace, each asked for once: the platforms of an image share names.
struct Kept<'a> {
    objects: Objects<'a>,
    answers: BTreeMap<String, Result<Option<Rc<Document>>, HostFailure>>,
}

impl<'a> Kept<'a> {
    fn new(host: &'a dyn Host, kind: &'a str) -> Self {
        Self { objects: Objects::new(host, API_VERSION, kind), answers: BTreeMap::new() }
    }

    fn get(&mut self, namespace: &str, name: &str, fields: &[&str]) -> Result<Option<Rc<Document>>, HostFailure> {
        if let Some(answer) = self.answers.get(name) {
            return answer.clone();
        }
        let answer = self.objects.get(namespace, name, fields).map(|found| found.map(Rc::new));
        self.answers.insert(name.to_owned(), answer.clone());
        answer
    }
}

impl<'a> Source<'a> {
    pub(super) fn new(settings: &'a Kubescape, host: &'a dyn Host) -> Self {
        Self { settings, manifests: Kept::new(host, MANIFEST), boms: Kept::new(host, BOM) }
    }

    /// What is found in the image, by one of the names that its report can have; none when there is no such object, or
    /// when it is of another platform.
    fn read(
        &mut self,
        name: &str,
        wanted: &Wanted<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure> {
        let namespace = &self.settings.namespace;
        // There is no summary.
        let depth = Depth::Entries;
        let Some(document) = self.manifests.get(namespace, name, &fields(judge, depth))? else { return Ok(None) };
        let object: Object<'_> = document.read()?;
        let by = self.manifests.objects.shown(namespace, name);
        let Some(digest) = object.digest_of(MANIFEST, namespace, name, wanted) else {
            return Ok(Some(Statement::new(by, Known::OfAnotherImage(object.metadata.shown()))));
        };
        let payload = object.spec.as_ref().and_then(|spec| spec.payload.as_ref());
        let target = payload.and_then(|payload| payload.source.as_ref()?.target);
        if !self.is_of_platform(digest, target.and_then(grype::platform_in).as_ref(), wanted) {
            return Ok(None);
        }
        if object.metadata.is_filtered() {
            let why = "it lists only what one workload uses of the image".to_owned();
            return Ok(Some(Statement::new(by, Known::NotScanned(why))));
        }
        let first_made = object.metadata.creation_timestamp.as_ref().and_then(|text| Timestamp::parse(text.as_str()));
        let made = object.made().ok_or_else(|| "it doesn't say when it was scanned".to_owned());
        let first = match findings(object.spec) {
            Ok(findings) => findings,
            Err(why) => return Ok(Some(Statement { by, time: None, first_made, known: Known::Failed(why) })),
        };
        let objects = &mut self.manifests.objects;
        let (time, known) = wanted.weigh(made, || {
            judge_deeper(judge, &first, |explained| {
                if judge.parts(explained) == judge.parts(depth) {
                    return None;
                }
                let document = objects.get(namespace, name, &fields(judge, explained)).ok()??;
                let again: Object<'_> = document.read().ok()?;
                again.digest_of(MANIFEST, namespace, name, wanted)?;
                Some(judge.judge(&findings(again.spec).ok()?))
            })
        });
        Ok(Some(Statement { by, time, first_made, known }))
    }

    /// How far an image is, of which nothing was found out yet.
    fn progress(&mut self, name: &str, wanted: &Wanted<'_>) -> Result<Option<Statement<'a>>, HostFailure> {
        let namespace = &self.settings.namespace;
        // Its annotations say all, and of packages there are many.
        let Some(document) = self.boms.get(namespace, name, &["status"])? else { return Ok(None) };
        let object: Object<'_> = document.read()?;
        let Some(digest) = object.digest_of(BOM, namespace, name, wanted) else { return Ok(None) };
        if !self.is_of_platform(digest, None, wanted) {
            return Ok(None);
        }
        let known = match object.metadata.annotation("kubescape.io/status").unwrap_or_default() {
            "" => return Ok(None),
            "initializing" => Known::Pending("Kubescape is listing its packages".to_owned()),
            "ready" | "completed" => {
                Known::Pending("its packages are listed, their vulnerabilities are not matched yet".to_owned())
            }
            status => {
                let reason = object.metadata.annotation("kubescape.io/status-reason");
                let reason = reason.map_or(String::new(), |reason| format!(" ({})", cut(reason, 80)));
                Known::Failed(format!("the list of its packages is `{}`{reason}", cut(status, 80)))
            }
        };
        Ok(Some(Statement::new(self.boms.objects.shown(namespace, name), known)))
    }

    /// Whether what was found under a digest of the image was found in this platform of it.
    fn is_of_platform(&self, digest: &str, described: Option<&Platform>, wanted: &Wanted<'_>) -> bool {
        // A platform's own digest says so. Under an index's, whichever node ran it first had its platform scanned.
        digest == wanted.manifest.digest
            || wanted.manifest.platform.is_some()
                && wanted.is_platform(Some(described.unwrap_or(&self.settings.platform)))
    }

    /// What every name says, and the first failure.
    fn ask<'n>(
        names: &'n [String],
        mut ask: impl FnMut(&'n str) -> Result<Option<Statement<'a>>, HostFailure>,
    ) -> Vec<Statement<'a>> {
        let mut said = Vec::new();
        let mut failure = None;
        for name in names {
            match ask(name) {
                Ok(statement) => said.extend(statement),
                Err(failed) => failure = failure.or(Some(failed)),
            }
        }
        said.extend(failure.as_ref().map(Statement::look_up_failed));
        said
    }
}

impl<'a> source::Source<'a> for Source<'a> {
    fn find(&mut self, wanted: &Wanted<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let is_scanned = wanted.stands_alone() || wanted.is_platform(Some(&self.settings.platform));
        let mut digests = vec![wanted.image.digest.as_str()];
        if is_scanned && !wanted.stands_alone() {
            digests.push(&wanted.manifest.digest);
        }
        let names = names(wanted, &digests);
        let said = Self::ask(&names, |name| self.read(name, wanted, judge));
        if !is_scanned || said.iter().any(|said| !matches!(said.known, Known::OfAnotherImage(_))) {
            return said;
        }
        // Another image's report under the same name says nothing about this one, and hides nothing of it.
        let progress = Self::ask(&names, |name| self.progress(name, wanted));
        if progress.is_empty() { said } else { progress }
    }

    fn whereabouts(&self) -> String {
        format!("from Kubescape in namespace {}", self.settings.namespace)
    }
}

/// The names that the image's objects can have. Pods that this policy pinned have the digest beside the tag.
fn names(wanted: &Wanted<'_>, digests: &[&str]) -> Vec<String> {
    let (name, pinned) = (wanted.reference.name(), &wanted.image.digest);
    let mut spellings = Vec::new();
    if let Some(tag) = wanted.reference.tag() {
        spellings.push(format!("{name}:{tag}"));
        spellings.push(format!("{name}:{tag}@{pinned}"));
    }
    spellings.push(format!("{name}@{pinned}"));
    digests.iter().flat_map(|digest| spellings.iter().filter_map(|spelling| slug(spelling, digest))).collect()
}

/// The name of an image's objects: `docker.io-library-nginx-1.27-a3ac8c`. None when it can't be one.
fn slug(spelling: &str, digest: &str) -> Option<String> {
    let as_name = |c: char| if matches!(c, ':' | '/' | '_' | '@') { '-' } else { c.to_ascii_lowercase() };
    let image: String = spelling.chars().map(as_name).take(LONGEST_NAME - DIGITS - 1).collect();
    let (_, digits) = digest.split_at_checked(digest.len().checked_sub(DIGITS)?)?;
    let name = format!("{image}-{digits}");
    let is_name = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'))
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// What of a report is asked for; `metadata` is always there.
fn fields(judge: &Judge<'_>, depth: Depth) -> Vec<&'static str> {
    let parts = judge.parts(depth);
    let mut fields = vec![
        "spec.metadata.report.createdAt",
        "spec.payload.source.type",
        "spec.payload.source.target.os",
        "spec.payload.source.target.architecture",
        "spec.payload.source.target.architectureVariant",
        "spec.payload.descriptor.name",
        "spec.payload.matches.vulnerability.severity",
    ];
    let parts: [(bool, &[&'static str]); 5] = [
        (parts.ids, &["spec.payload.matches.vulnerability.id", "spec.payload.matches.relatedVulnerabilities.id"]),
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

/// What a report found. An image in which nothing was found has null where others have a list, and so has an object
/// that came back without its contents; only the former says what was scanned.
fn findings(spec: Option<Spec<'_>>) -> Result<Findings<'_>, String> {
    let payload = spec.and_then(|spec| spec.payload).unwrap_or_default();
    let source = payload.source.and_then(|source| source.kind);
    let scanner = payload.descriptor.and_then(|descriptor| descriptor.name);
    let is_scanned = source.into_iter().chain(scanner).any(|text| !text.as_str().is_empty());
    let matches = match payload.matches {
        Some(matches) => matches,
        None if is_scanned => Vec::new(),
        None => {
            return Err("it has no `matches`, and doesn't say what was scanned: it may lack its contents".to_owned());
        }
    };
    let entries = matches.into_iter().map(|found| found.into_finding(false)).collect();
    Ok(Findings { summary: None, entries: Some(entries), verdict: None })
}

/// An object of either kind.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<Text<'a>, Text<'a>>>,
    #[serde(borrow)]
    labels: Option<BTreeMap<Text<'a>, Text<'a>>>,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    metadata: Option<SpecMetadata<'a>>,
    #[serde(borrow)]
    payload: Option<Payload<'a>>,
}

#[derive(Deserialize)]
struct SpecMetadata<'a> {
    #[serde(borrow)]
    report: Option<ReportMetadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportMetadata<'a> {
    #[serde(borrow)]
    created_at: Option<Text<'a>>,
}

#[derive(Deserialize, Default)]
struct Payload<'a> {
    #[serde(borrow)]
    matches: Option<Vec<grype::Match<'a>>>,
    #[serde(borrow)]
    source: Option<Scanned<'a>>,
    #[serde(borrow)]
    descriptor: Option<Descriptor<'a>>,
}

/// What was scanned.
#[derive(Deserialize)]
struct Scanned<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    target: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Descriptor<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

impl Object<'_> {
    /// The digest of the wanted image under which this object knows it; none when it is another object or image.
    fn digest_of<'s>(&'s self, kind: &str, namespace: &str, name: &str, wanted: &Wanted<'_>) -> Option<&'s str> {
        let is_object = self.metadata.namespace.as_ref().map(Text::as_str) == Some(namespace)
            && self.metadata.name.as_str() == name
            && self.kind.as_ref().is_none_or(|own| own.as_str() == kind);
        let (id, tag) = (self.metadata.image_id(), self.metadata.annotation("kubescape.io/image-tag"));
        let (_, digest) = id?.rsplit_once('@')?;
        // A node that knows one image by several names may have put any of them before the digest.
        let is_repository =
            id.into_iter().chain(tag).filter_map(|text| ImageReference::parse(text).ok()).any(|named| {
                named.host() == wanted.reference.host() && named.repository() == wanted.reference.repository()
            });
        (is_object && is_digest(digest) && wanted.is_digest(digest) && is_repository).then_some(digest)
    }

    /// When it was scanned, where it says so.
    fn made(&self) -> Option<Timestamp> {
        let report = self.spec.as_ref()?.metadata.as_ref()?.report.as_ref()?;
        Timestamp::parse(report.created_at.as_ref()?.as_str())
    }
}

impl Metadata<'_> {
    fn annotation(&self, key: &'static str) -> Option<&str> {
        Some(self.annotations.as_ref()?.get(&Text::from(key))?.as_str())
    }

    /// The image as the node knew it, `docker.io/library/nginx@sha256:…`, before which Docker writes a scheme.
    fn image_id(&self) -> Option<&str> {
        let id = self.annotation("kubescape.io/image-id")?;
        Some(id.split_once("://").map_or(id, |(_, id)| id))
    }

    /// Whether it is of one workload's relevant packages.
    fn is_filtered(&self) -> bool {
        let context = self.labels.as_ref().and_then(|labels| labels.get(&Text::from("kubescape.io/context")));
        context.is_some_and(|context| context.as_str() == "filtered")
    }

    /// Whose it is, for people.
    fn shown(&self) -> String {
        let named = [self.image_id(), self.annotation("kubescape.io/image-tag")];
        let image = named.into_iter().flatten().find(|name| !name.is_empty());
        image.map_or("one that it doesn't name".to_owned(), |image| cut(image, 160))
    }
}

#[cfg(test)]
mod tests;
