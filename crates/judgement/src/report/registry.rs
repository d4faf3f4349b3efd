//! Reports and SBOMs that a scanner in CI wrote: artifacts beside the image in its registry, or in the repository that the settings
//! name, whose configuration is the document; and signed statements whose predicate is.
//!
//! A signed document counts only if its signed manifest, or the report itself, names a digest of this image: a signed report of
//! another image verifies as well.

use super::source::{self, JudgedFor, Knowledge, Origin, Statement, WantedPlatform, judge_deeper};
use crate::acceptance::{Depth, Judge, Judgement, Verdict};
use crate::attached::{Attachments, Content, Found, Trusted};
use crate::reason::{DocumentKind, NotScanned, OtherImage, UnknownAge, UnreadableReport, Whereabouts};
use image_admission_attestors::Verifier;
use image_admission_host::Host;
use image_admission_image::platform::Platform;
use image_admission_scan_report::document::{self, ScannedDocument};
use image_admission_scan_report::sbom::{self, Sbom};
use image_admission_settings::{Artifact, AttachedArtifacts, RegistryReports};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The artifacts beside images, as one request sees them.
pub(super) struct AttachedReports<'a> {
    kind: DocumentKind,
    settings: &'a RegistryReports,
    attachments: Attachments<'a>,
    /// By artifact, the judgement on its report for an image. It is the same for each of the image's platforms, unless the judge
    /// distinguishes them.
    judged: BTreeMap<String, (JudgedFor, Rc<Result<Judged<'a>, UnreadableReport>>)>,
}

/// A document as it was read, and its judgement.
struct Judged<'a> {
    format: &'static str,
    digests: Vec<String>,
    platform: Option<Platform>,
    time: Option<Timestamp>,
    /// Whether it is a verdict about everything that it is attached to.
    is_verdict: bool,
    judgement: Judgement<'a>,
}

impl<'a> Judged<'a> {
    fn report(document: ScannedDocument<'_>, created: Option<Timestamp>, judge: &Judge<'a>) -> Self {
        Self {
            format: document.format,
            is_verdict: document.findings.verdict.is_some(),
            judgement: judge_deeper(judge, &document.findings, |depth| {
                // All of it was read at once.
                (depth == Depth::Excused).then(|| judge.judge_at(depth, &document.findings))
            }),
            digests: document.digests,
            platform: document.platform,
            time: document.time.or(created),
        }
    }

    fn sbom(sbom: Sbom<'_>, created: Option<Timestamp>, judge: &Judge<'a>) -> Self {
        let time = sbom.time.or(created);
        Self {
            format: sbom.format,
            is_verdict: false,
            judgement: judge.judge_contents(&sbom.contents, time),
            digests: sbom.digests,
            platform: sbom.platform,
            time,
        }
    }
}

impl<'a> AttachedReports<'a> {
    pub(super) fn new(
        kind: DocumentKind,
        settings: &'a RegistryReports,
        host: &'a dyn Host,
        verifier: &'a Verifier<'a>,
    ) -> Self {
        let attachments = Attachments::new(&settings.attached, host, verifier);
        Self { kind, settings, attachments, judged: BTreeMap::new() }
    }

    fn statement(
        &mut self,
        found: &Found<'_>,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Option<Statement<'a>> {
        match found {
            Found::Failure(failure) => Some(Statement::unverified(failure, wanted)),
            Found::Unsigned(artifact, unsigned) => {
                let why = NotScanned::Unsigned { artifact: artifact.clone(), unsigned: unsigned.clone() };
                Some(Statement::new(artifact.clone(), Knowledge::NotScanned(why)))
            }
            Found::Trusted(trusted) => match trusted.read() {
                Ok(content) => self.report(trusted, &content, wanted, judge),
                Err(failure) => Some(Statement::registry_failed(&failure, wanted)),
            },
        }
    }

    fn report(
        &mut self,
        trusted: &Trusted<'_>,
        content: &Content<'_>,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Option<Statement<'a>> {
        let artifact = trusted.artifact.as_str();
        let subject = content.subject.as_ref().map(JsonString::as_str);
        let judged = self.judged(artifact, content, wanted, judge);
        let judged = match judged.as_ref() {
            Ok(judged) => judged,
            Err(_) if subject.is_some_and(|digest| !wanted.is_digest(digest)) => {
                let which = OtherImage::Named(cut(subject.unwrap_or_default(), 160));
                return Some(Statement::new(format!("{} {artifact}", self.kind), Knowledge::OfAnotherImage(which)));
            }
            Err(why) => {
                let known = Knowledge::Fresh(Verdict::Unreadable(why.clone()).into());
                return Some(Statement::new(format!("{} {artifact}", self.kind), known));
            }
        };
        let noun = match self.kind {
            DocumentKind::Report => "report",
            DocumentKind::Sbom => "SBOM",
        };
        let by = format!("{} {noun} {artifact}", judged.format);
        let digests: Vec<&str> = subject.into_iter().chain(judged.digests.iter().map(String::as_str)).collect();
        let is_wanted = |digest: &&str| match judged.is_verdict {
            true => wanted.is_digest_of_whole(digest),
            false => wanted.is_digest(digest),
        };
        if !digests.iter().any(is_wanted) && is_on(Remedy::MatchSubject) {
            let which = match digests.first() {
                Some(digest) => OtherImage::Named(cut(digest, 160)),
                None => OtherImage::WithoutDigest,
            };
            return Some(Statement::new(by, Knowledge::OfAnotherImage(which)));
        }
        match self.entry(judged, subject, wanted) {
            _ if !is_on(Remedy::PlatformOfDocument) => {}
            Entry::Wanted => {}
            // It may have been made from this manifest all the same, so its findings count against the image.
            Entry::Doubted(_) if judged.judgement.verdict != Verdict::Accepted && is_on(Remedy::DoubtsClearNothing) => {
            }
            Entry::Doubted(platform) => {
                let why = NotScanned::OtherPlatform { report: by.clone(), platform };
                return Some(Statement::new(by, Knowledge::NotScanned(why)));
            }
            Entry::Another => return None,
            Entry::Unsaid => {
                let why = NotScanned::ArtifactWithoutPlatform { report: by.clone() };
                return Some(Statement::new(by, Knowledge::NotScanned(why)));
            }
        }
        let time = judged.time.ok_or(UnknownAge::NotMade);
        let (time, known) = wanted.hold_to_age(time, || judged.judgement.clone());
        let origin = Some(match trusted.statement() {
            Some(json) => Origin::Statement(Rc::clone(json)),
            None => Origin::Artifact(artifact.to_owned()),
        });
        Some(Statement { by, time, first_made: None, known, origin })
    }

    /// Reads an artifact's report once for an image: it may be large, and the image may have many platforms.
    fn judged(
        &mut self,
        artifact: &str,
        content: &Content<'_>,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Rc<Result<Judged<'a>, UnreadableReport>> {
        let judged_for = wanted.judged_for(judge);
        if let Some((of, judged)) = self.judged.get(artifact)
            && *of == judged_for
        {
            return Rc::clone(judged);
        }
        let created = content.created.as_ref().and_then(|text| Timestamp::parse(text.as_str()));
        let read = match self.kind {
            DocumentKind::Report => {
                document::read(content.json).map(|document| Judged::report(document, created, judge))
            }
            DocumentKind::Sbom => sbom::read(content.json).map(|sbom| Judged::sbom(sbom, created, judge)),
        };
        let judged = Rc::new(read.map_err(UnreadableReport::from));
        self.judged.insert(artifact.to_owned(), (judged_for, Rc::clone(&judged)));
        judged
    }

    /// Which entry of the image a document was made from. Digests come first: the image's builder chooses its platform, and
    /// scanners repeat that.
    fn entry(&self, judged: &Judged<'a>, subject: Option<&str>, wanted: &WantedPlatform<'_>) -> Entry {
        let manifest = wanted.manifest.digest.as_str();
        if judged.digests.iter().any(|digest| digest == manifest) {
            return Entry::Wanted;
        }
        if judged.digests.iter().any(|digest| wanted.is_another_entry(digest)) && is_on(Remedy::NamedEntryDecides) {
            return Entry::Another;
        }
        let is_attached = subject == Some(manifest);
        if wanted.manifest.platform.is_none() {
            return if wanted.stands_alone() || is_attached { Entry::Wanted } else { Entry::Another };
        }
        let is_wanted = |platform: &Platform| wanted.is_platform(Some(platform));
        match &judged.platform {
            // If the platform is none that is known, the manifest alone decides.
            Some(platform) if platform.is_unknown() && is_attached => Entry::Wanted,
            Some(platform) if is_wanted(platform) => Entry::Wanted,
            Some(platform) if is_attached => Entry::Doubted(platform.clone()),
            Some(_) => Entry::Another,
            None if is_attached => Entry::Wanted,
            None => match &self.settings.platform {
                Some(platform) if is_wanted(platform) => Entry::Wanted,
                Some(_) => Entry::Another,
                // A verdict on the index is about all of its entries; a scan of it is about one platform, and it is unknown which.
                None if judged.is_verdict => Entry::Wanted,
                None => Entry::Unsaid,
            },
        }
    }
}

/// Which entry of an image a document was made from.
enum Entry {
    /// The wanted one.
    Wanted,
    /// It is beside the wanted entry, but names another platform.
    Doubted(Platform),
    /// Another one.
    Another,
    /// Unknown.
    Unsaid,
}

impl<'a> source::Source<'a> for AttachedReports<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        // If the settings name the repository, nobody else chose its registry.
        let may_be_down = wanted.may_be_down || self.settings.attached.repository.is_some();
        let wanted = &WantedPlatform { may_be_down, ..*wanted };
        let mut found = vec![self.attachments.beside(wanted.reference, &wanted.image.digest)];
        if !wanted.stands_alone() {
            found.push(self.attachments.beside(wanted.reference, &wanted.manifest.digest));
        }
        let found = found.iter().flat_map(|found| found.iter());
        found.filter_map(|found| self.statement(found, wanted, judge)).collect()
    }

    fn whereabouts(&self) -> Whereabouts {
        let AttachedArtifacts { artifact, repository, .. } = &self.settings.attached;
        let repository = repository.as_ref().map(|repository| repository.as_str().to_owned());
        match artifact {
            Artifact::Tag(suffix) => Whereabouts::ArtifactTag { suffix: suffix.clone(), repository },
            Artifact::Type(media_type) => Whereabouts::ArtifactType { media_type: media_type.clone(), repository },
            Artifact::Statement(predicate_type) => {
                Whereabouts::Statement { predicate_type: predicate_type.clone(), repository }
            }
        }
    }
}
