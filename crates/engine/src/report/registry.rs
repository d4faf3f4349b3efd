//! Reports beside the image in its registry: artifacts whose configuration is what a scanner in CI wrote.
//!
//! Whoever can push to the repository can put one there. So a tag is resolved once; what it resolves to must be signed by
//! somebody whom the settings name; and it must say itself, in its signed manifest or in the report, that it is about a
//! digest of this image: a signed report of another image verifies as well.

use super::document;
use super::source::{self, Knowledge, Origin, Statement, WantedPlatform, judge_deeper};
use crate::Timestamp;
use crate::acceptance::{Depth, Judge, Judgement, Verdict};
use crate::host::{Document, Host, HostFailure, Untrusted};
use crate::image::ImageReference;
use crate::message::cut;
use crate::platform::Platform;
use crate::reason::{NotScanned, OtherImage, UnknownAge, UnreadableReport, Unsigned, Whereabouts};
use crate::referrers::artifacts_beside;
use crate::remedy::{Remedy, is_on};
use crate::settings::{Artifact, RegistryReports};
use crate::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most artifacts of one type beside one image: whoever pushes them chooses how many there are.
const MAX_ARTIFACTS: usize = 16;
/// Where a manifest says when it was made.
const CREATED: &str = "org.opencontainers.image.created";

/// The artifacts beside images, as one request sees them.
pub(super) struct AttachedReports<'a> {
    settings: &'a RegistryReports,
    host: &'a dyn Host,
    /// By the image's name at a digest: what was found beside it.
    found: BTreeMap<String, Rc<Vec<Found>>>,
    /// By artifact, what its report comes to for an image: the same for each of its platforms.
    judged: BTreeMap<String, (ImageReference, Rc<Result<Judged<'a>, UnreadableReport>>)>,
}

/// A report as it was read, and what it comes to.
struct Judged<'a> {
    format: &'static str,
    digests: Vec<String>,
    platform: Option<Platform>,
    time: Option<Timestamp>,
    /// Whether it is a verdict, about all that it is attached to.
    is_verdict: bool,
    judgement: Judgement<'a>,
}

/// What was found beside a digest.
enum Found {
    /// An artifact that is trusted: its name, and the host's answer.
    Report(String, Document),
    /// An artifact that nobody signed who was asked for, and what the host says of it.
    Unsigned(String, Untrusted),
    Failure(HostFailure),
}

impl<'a> AttachedReports<'a> {
    pub(super) fn new(settings: &'a RegistryReports, host: &'a dyn Host) -> Self {
        Self { settings, host, found: BTreeMap::new(), judged: BTreeMap::new() }
    }

    fn beside(&mut self, reference: &ImageReference, digest: &str) -> Rc<Vec<Found>> {
        let at = reference.at(digest);
        if let Some(found) = self.found.get(&at) {
            return Rc::clone(found);
        }
        let found = match self.artifacts(reference, digest) {
            Ok(artifacts) => artifacts.iter().map(|artifact| self.load(reference.at(artifact))).collect(),
            Err(failure) => vec![Found::Failure(failure)],
        };
        let found = Rc::new(found);
        self.found.insert(at, Rc::clone(&found));
        found
    }

    /// The digests of the artifacts beside a digest.
    fn artifacts(&self, reference: &ImageReference, digest: &str) -> Result<Vec<String>, HostFailure> {
        let (suffix, media_type) = match &self.settings.artifact {
            Artifact::Tag(suffix) => (Some(suffix.as_str()), ""),
            Artifact::Type(media_type) => (None, media_type.as_str()),
        };
        let found = artifacts_beside(self.host, reference, digest, suffix, |kind| kind == media_type)?;
        // One that isn't read could be the one that says that the image is bad.
        if found.len() > MAX_ARTIFACTS {
            let (of, number) = (reference.at(digest), found.len());
            return Err(HostFailure::Malformed(format!(
                "{of} has {number} artifacts of one type, {MAX_ARTIFACTS} are the most"
            )));
        }
        Ok(found)
    }

    /// Verifies an artifact, `repository@digest`, and reads it.
    fn load(&self, artifact: String) -> Found {
        let mut trusted = self.settings.allow_unsigned || !is_on(Remedy::VerifySignature);
        let (mut failure, mut untrusted) = (None, Untrusted::Unsaid);
        for attestor in self.settings.attestors.iter().filter(|_| !self.settings.allow_unsigned) {
            match self.host.verify(&artifact, &attestor.identity, &attestor.annotations) {
                Ok(_) => {
                    trusted = true;
                    break;
                }
                Err(HostFailure::NotTrusted(why)) => untrusted = untrusted.min(why),
                Err(other) => failure = failure.or(Some(other)),
            }
        }
        match (trusted, failure) {
            (false, Some(failure)) => Found::Failure(failure),
            (false, None) => Found::Unsigned(artifact, untrusted),
            (true, _) => match self.host.artifact(&artifact) {
                Ok(document) => Found::Report(artifact, document),
                Err(failure) => Found::Failure(failure),
            },
        }
    }

    fn statement(&mut self, found: &Found, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Option<Statement<'a>> {
        match found {
            Found::Failure(failure) => Some(Statement::registry_failed(failure, wanted)),
            Found::Unsigned(artifact, why) => {
                let unsigned = Unsigned::new(*why, self.settings.attestors.clone());
                let why = NotScanned::Unsigned { artifact: artifact.clone(), unsigned };
                Some(Statement::new(artifact.clone(), Knowledge::NotScanned(why)))
            }
            Found::Report(artifact, document) => match document.read::<Answer<'_>>() {
                Ok(answer) => self.report(artifact, &answer, wanted, judge),
                Err(failure) => Some(Statement::registry_failed(&failure, wanted)),
            },
        }
    }

    fn report(
        &mut self,
        artifact: &str,
        answer: &Answer<'_>,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Option<Statement<'a>> {
        if artifact.rsplit_once('@').map(|(_, digest)| digest) != Some(answer.digest.as_str()) {
            let failure = HostFailure::Malformed(format!("asked for {artifact}, the answer is of another digest"));
            return Some(Statement::registry_failed(&failure, wanted));
        }
        let subject = answer.manifest.subject.as_ref().and_then(|subject| subject.digest.as_ref()).map(Text::as_str);
        let judged = self.judged(artifact, answer, wanted.reference, judge);
        let judged = match judged.as_ref() {
            Ok(judged) => judged,
            Err(_) if subject.is_some_and(|digest| !wanted.is_digest(digest)) => {
                let which = OtherImage::Named(cut(subject.unwrap_or_default(), 160));
                return Some(Statement::new(format!("scan report {artifact}"), Knowledge::OfAnotherImage(which)));
            }
            Err(why) => {
                let known = Knowledge::Fresh(Verdict::Unreadable(why.clone()).into());
                return Some(Statement::new(format!("scan report {artifact}"), known));
            }
        };
        let by = format!("{} report {artifact}", judged.format);
        let digests: Vec<&str> = subject.into_iter().chain(judged.digests.iter().map(String::as_str)).collect();
        if !digests.iter().any(|digest| wanted.is_digest(digest)) && is_on(Remedy::MatchSubject) {
            let which = match digests.first() {
                Some(digest) => OtherImage::Named(cut(digest, 160)),
                None => OtherImage::WithoutDigest,
            };
            return Some(Statement::new(by, Knowledge::OfAnotherImage(which)));
        }
        match self.is_for_platform(judged, &digests, wanted) {
            _ if !is_on(Remedy::PlatformOfDocument) => {}
            Some(true) => {}
            Some(false) => return None,
            None => {
                let why = NotScanned::ArtifactWithoutPlatform { report: by.clone() };
                return Some(Statement::new(by, Knowledge::NotScanned(why)));
            }
        }
        let time = judged.time.ok_or(UnknownAge::NotMade);
        let (time, known) = wanted.hold_to_age(time, || judged.judgement.clone());
        let origin = Some(Origin::Artifact(artifact.to_owned()));
        Some(Statement { by, time, first_made: None, known, origin })
    }

    /// Reads an artifact's report once for an image: it may be large, and the image have many platforms.
    fn judged(
        &mut self,
        artifact: &str,
        answer: &Answer<'_>,
        reference: &ImageReference,
        judge: &Judge<'a>,
    ) -> Rc<Result<Judged<'a>, UnreadableReport>> {
        if let Some((of, judged)) = self.judged.get(artifact)
            && of == reference
        {
            return Rc::clone(judged);
        }
        let annotations = answer.manifest.annotations.as_ref();
        let created = annotations.and_then(|all| Timestamp::parse(all.get(&Text::from(CREATED))?.as_ref()?.as_str()));
        let judged = Rc::new(document::read(answer.config.get()).map(|document| Judged {
            format: document.format,
            is_verdict: document.findings.verdict.is_some(),
            judgement: judge_deeper(judge, &document.findings, |depth| {
                // All of it was read at once.
                (depth == Depth::Excused).then(|| judge.judge_at(depth, &document.findings))
            }),
            digests: document.digests,
            platform: document.platform,
            time: document.time.or(created),
        }));
        self.judged.insert(artifact.to_owned(), (reference.clone(), Rc::clone(&judged)));
        judged
    }

    /// Whether a report about a digest of this image is one for the wanted platform; none when nothing says so.
    fn is_for_platform(&self, judged: &Judged<'a>, digests: &[&str], wanted: &WantedPlatform<'_>) -> Option<bool> {
        let names_manifest = digests.contains(&wanted.manifest.digest.as_str());
        if wanted.manifest.platform.is_none() {
            return Some(wanted.stands_alone() || names_manifest);
        }
        if let Some(platform) = &judged.platform {
            return Some(wanted.is_platform(Some(platform)));
        }
        if names_manifest {
            return Some(true);
        }
        if let Some(platform) = &self.settings.platform {
            return Some(wanted.is_platform(Some(platform)));
        }
        // Who judged the index as a whole judged all of it; who scanned it scanned one platform, whichever that was.
        judged.is_verdict.then_some(true)
    }
}

impl<'a> source::Source<'a> for AttachedReports<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let mut found = vec![self.beside(wanted.reference, &wanted.image.digest)];
        if !wanted.stands_alone() {
            found.push(self.beside(wanted.reference, &wanted.manifest.digest));
        }
        let found = found.iter().flat_map(|found| found.iter());
        found.filter_map(|found| self.statement(found, wanted, judge)).collect()
    }

    fn whereabouts(&self) -> Whereabouts {
        match &self.settings.artifact {
            Artifact::Tag(suffix) => Whereabouts::ArtifactTag { suffix: suffix.clone() },
            Artifact::Type(media_type) => Whereabouts::ArtifactType { media_type: media_type.clone() },
        }
    }
}

/// An artifact's manifest, digest and configuration.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    manifest: ArtifactManifest<'a>,
    #[serde(borrow)]
    digest: Text<'a>,
    #[serde(borrow)]
    config: &'a RawValue,
}

#[derive(Deserialize)]
struct ArtifactManifest<'a> {
    #[serde(borrow)]
    subject: Option<Subject<'a>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<Text<'a>, Option<Text<'a>>>>,
}

#[derive(Deserialize)]
struct Subject<'a> {
    #[serde(borrow)]
    digest: Option<Text<'a>>,
}
