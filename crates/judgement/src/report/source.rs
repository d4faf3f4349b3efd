//! What all sources of reports have in common: each says what it knows about one platform of an image.

use crate::acceptance::{Depth, Judge, Judgement, Verdict};
use crate::reason::{
    LookUpFailure, NotScanned, OtherImage, Pending, ScanFailure, StaleReport, UnknownAge, UnreadableReport, Untold,
    Whereabouts,
};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_attestors::{Asked, Failure};
use image_admission_host::HostFailure;
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, canonical_host};
use image_admission_scan_report::finding::Findings;
use image_admission_settings::ReportIdentity;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A place where reports are looked for. It lives for one request, and lists nothing twice. The first source that knows the image
/// ends the search, even if its report is too old, pending or failed, or its look-up failed. A source only makes statements:
/// `report` alone judges them.
pub(crate) trait Source<'a> {
    /// Everything that it knows about one platform of an image; nothing if it doesn't know the image.
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>>;

    /// Where it looks, after "no scan report yet".
    fn whereabouts(&self) -> Whereabouts;

    /// The digests that reports of a tag's repository name, as far as they are found without the tag's digest.
    fn digests_of(&mut self, _tagged: &TaggedImage<'_>, _judge: &Judge<'a>) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// One platform of an image, for which reports are wanted.
#[derive(Debug)]
pub(crate) struct WantedPlatform<'a> {
    pub reference: &'a ImageReference,
    /// Its name at the mirror of its registry, if it has one: scanners of the mirror use that name.
    pub at_mirror: Option<&'a ImageReference>,
    /// Whether the registry has confirmed its tag: a mirror alone may be outdated, or have another image under the tag.
    pub is_tag_certain: bool,
    pub image: &'a ResolvedImage,
    pub manifest: &'a PlatformManifest,
    /// The names of the containers that would run it, for scanners with a report for each container.
    pub containers: &'a [String],
    /// Whether a failure of its registry may be an outage.
    pub may_be_down: bool,
    /// How old a report may be, and the present time.
    pub max_age: Option<&'a WrittenDuration>,
    pub now: Timestamp,
}

/// An image whose digest reports may tell.
#[derive(Debug)]
pub(crate) struct TaggedImage<'a> {
    pub reference: &'a ImageReference,
    /// Its wanted platforms; none if it is for one platform only.
    pub platforms: &'a [PlatformManifest],
    /// As [`WantedPlatform::containers`].
    pub containers: &'a [String],
    /// Whether the age of reports matters.
    pub needs_time: bool,
}

impl TaggedImage<'_> {
    /// The digest that a report names, if it describes an image of the same registry and repository.
    pub(crate) fn named(&self, described: &Described<'_>, digest: Option<&str>) -> Option<String> {
        digest.filter(|digest| !digest.is_empty() && is_named_by(described, self.reference)).map(str::to_owned)
    }
}

/// What a judgement on a document depends on, beside the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JudgedFor {
    reference: ImageReference,
    digest: String,
    /// The digest of the platform's manifest, and its platform in the index, if that matters.
    manifest: Option<String>,
    platform: Option<Platform>,
    lists_packages: bool,
}

/// What a report says about whose it is, unchanged.
#[derive(Debug, Default)]
pub(crate) struct Described<'a> {
    pub registry: Option<&'a str>,
    pub repository: Option<&'a str>,
    pub tag: Option<&'a str>,
    pub digest: Option<&'a str>,
    pub platform: Option<&'a Platform>,
}

/// Something that a source knows.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    /// Its source: `VulnerabilityReport sbomscanner/…`.
    pub by: String,
    /// When it was made, if that is known.
    pub time: Option<Timestamp>,
    /// If that is unknown, when the report was first made; scanners may have renewed it since.
    pub first_made: Option<Timestamp>,
    /// What is known.
    pub known: Knowledge<'a>,
    /// Where the whole report can be read again, if it is one.
    pub origin: Option<Origin>,
}

/// Where a report is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An object of the cluster.
    Object {
        /// `group/version`
        api_version: String,
        kind: String,
        namespace: String,
        name: String,
    },
    /// The configuration of an artifact, `repository@digest`.
    Artifact(String),
    /// It is this text: the predicate of a statement.
    Statement(Rc<str>),
}

/// What is known about an image. None of these is ever taken for another.
#[derive(Debug)]
pub(crate) enum Knowledge<'a> {
    /// A report that is fresh enough, and its judgement.
    Fresh(Judgement<'a>),
    /// A report that is too old, or whose age is unknown.
    Stale(StaleReport),
    /// The report that was found is another image's.
    OfAnotherImage(OtherImage),
    /// The scanner knows it, but hasn't scanned it.
    NotScanned(NotScanned),
    /// A scan is on its way.
    Pending(Pending),
    /// The scanner failed.
    Failed(ScanFailure),
    /// The look-up failed.
    LookUpFailed(HostFailure),
    /// The look-up failed in a way that Pod authors or pushers can cause: no outage.
    Provoked(LookUpFailure),
}

impl<'a> Statement<'a> {
    pub(crate) fn new(by: String, known: Knowledge<'a>) -> Self {
        Self { by, time: None, first_made: None, known, origin: None }
    }

    pub(crate) fn look_up_failed(failure: &HostFailure) -> Self {
        Self::new(String::new(), Knowledge::LookUpFailed(failure.clone()))
    }

    /// The same for the image's registry, where pushers choose what can be read.
    pub(crate) fn registry_failed(failure: &HostFailure, wanted: &WantedPlatform<'_>) -> Self {
        let failure = failure.clone();
        let known = match wanted.is_outage(&failure) {
            true => Knowledge::LookUpFailed(failure),
            false => Knowledge::Provoked(LookUpFailure::Host(failure)),
        };
        Self::new(String::new(), known)
    }
}

impl Statement<'_> {
    /// It is unknown who signed a document. What isn't there or can't be used in the cluster is no outage.
    pub(crate) fn unverified(failure: &Failure, wanted: &WantedPlatform<'_>) -> Self {
        let host_failure = failure.to_host_failure();
        match failure.asked {
            Asked::Registry => Self::registry_failed(&host_failure, wanted),
            Asked::Cluster if failure.is_outage() => Self::look_up_failed(&host_failure),
            Asked::Cluster => Self::new(String::new(), Knowledge::Provoked(LookUpFailure::Host(host_failure))),
        }
    }

    /// The same. If the report names this image's index but none of its entries, the statement says so.
    pub(crate) fn of_index(mut self, wanted: &WantedPlatform<'_>) -> Self {
        if let Knowledge::OfAnotherImage(which @ OtherImage::Named(_)) = &mut self.known
            && let OtherImage::Named(name) = which
            && !wanted.stands_alone()
            && name.ends_with(&wanted.image.digest)
        {
            *which = OtherImage::OfIndex(std::mem::take(name));
        }
        self
    }
}

impl WantedPlatform<'_> {
    /// Whether a failure of the image's registry may go away by itself, and isn't the doing of Pod authors or pushers.
    pub(crate) fn is_outage(&self, failure: &HostFailure) -> bool {
        self.may_be_down && failure.is_outage()
    }

    /// The names that reports may have for it: its own, and the one at a mirror.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ImageReference> + Clone {
        std::iter::once(self.reference).chain(self.at_mirror)
    }

    /// Whether a report names this registry, repository, digest and platform. With [`ReportIdentity::Tag`], a report without a
    /// digest is matched by its tag, unless the reference has a digest: then the tag beside it is only a claim. A mirror's tags
    /// prove nothing about the registry's. So a report that uses the mirror's name, or an image that was only found at the mirror,
    /// is matched by digest.
    pub(crate) fn is_described_by(&self, described: &Described<'_>, identity: ReportIdentity) -> bool {
        // First what rules out nearly every report of a list.
        let digest = described.digest.filter(|digest| !digest.is_empty());
        (match digest {
            Some(digest) => self.is_digest(digest),
            None => {
                identity == ReportIdentity::Tag
                    && self.image.speaks_for_platforms
                    && (self.is_unmistakable(Platform::is_kin) || !is_on(Remedy::MistakeNoEntry))
                    && (self.is_tag_certain || !is_on(Remedy::DigestAtMirror))
                    && (self.reference.digest().is_none() || !is_on(Remedy::IgnoreTagBesideDigest))
                    && self.reference.tag().is_some_and(|tag| described.tag == Some(tag))
            }
        }) && (is_named_by(described, self.reference)
            || (digest.is_some() || !is_on(Remedy::DigestAtMirror))
                && self.at_mirror.is_some_and(|name| is_named_by(described, name)))
            && self.is_platform(described.platform)
    }

    /// Whether a digest is that of the platform's manifest, or of its index if a scanner of the index can't have taken another
    /// entry.
    pub(crate) fn is_digest(&self, digest: &str) -> bool {
        self.is_digest_where(digest, |other, platform| other.is_kin(platform))
    }

    /// The same for a statement about the whole index, and not about the entry that a scanner took.
    pub(crate) fn is_digest_of_whole(&self, digest: &str) -> bool {
        self.is_digest_where(digest, Platform::is_same)
    }

    fn is_digest_where(&self, digest: &str, is_mistaken: impl Fn(&Platform, &Platform) -> bool) -> bool {
        digest == self.manifest.digest
            || (digest == self.image.digest
                && self.image.speaks_for_platforms
                && (self.is_unmistakable(is_mistaken) || !is_on(Remedy::MistakeNoEntry))
                && is_on(Remedy::KnowIndexDigest))
            || !is_on(Remedy::MatchDigest)
    }

    /// Whether no other entry of the index could be taken for this one. Scanners and runtimes may take an entry without a platform,
    /// each for another machine.
    fn is_unmistakable(&self, is_mistaken: impl Fn(&Platform, &Platform) -> bool) -> bool {
        let Some(platform) = &self.manifest.platform else { return true };
        let could_be = |other: &PlatformManifest| {
            other.digest != self.manifest.digest
                && other.platform.as_ref().is_none_or(|other| is_mistaken(other, platform))
        };
        !self.entries().any(could_be)
    }

    /// Whether a digest is that of another entry of the same index.
    pub(crate) fn is_another_entry(&self, digest: &str) -> bool {
        digest != self.manifest.digest && self.entries().any(|other| other.digest == digest)
    }

    /// All entries of the index that are for machines, wanted or not.
    fn entries(&self) -> impl Iterator<Item = &PlatformManifest> {
        self.image.platforms.iter().chain(&self.image.others)
    }

    /// Whether a report for a platform is one for this. If this has no platform, [`WantedPlatform::is_named_by`] decides.
    pub(crate) fn is_platform(&self, described: Option<&Platform>) -> bool {
        let wanted = self.manifest.platform.as_ref();
        wanted.is_none_or(|wanted| described.is_some_and(|described| described.is_same(wanted)))
            || !is_on(Remedy::MatchPlatform)
    }

    /// Whether a digest distinguishes this from the rest of its index. An entry without a platform in the index could run anywhere,
    /// so a report about the index may be about another entry.
    pub(crate) fn is_named_by(&self, digest: Option<&str>) -> bool {
        self.manifest.platform.is_some() || self.stands_alone() || digest == Some(&self.manifest.digest)
    }

    /// What a judgement by this judge depends on.
    pub(crate) fn judged_for(&self, judge: &Judge<'_>) -> JudgedFor {
        JudgedFor {
            reference: self.reference.clone(),
            digest: self.image.digest.clone(),
            manifest: judge.platform().map(str::to_owned),
            platform: judge.platform().and(self.manifest.platform.clone()),
            lists_packages: judge.lists_packages(),
        }
    }

    /// Whether the image has only one platform, so that statements about the image are about that.
    pub(crate) fn stands_alone(&self) -> bool {
        self.manifest.digest == self.image.digest
    }

    /// Whether a report is too old; otherwise its judgement.
    pub(crate) fn hold_to_age<'a>(
        &self,
        time: Result<Timestamp, UnknownAge>,
        judge: impl FnOnce() -> Judgement<'a>,
    ) -> (Option<Timestamp>, Knowledge<'a>) {
        let Some(max_age) = self.max_age else { return (time.ok(), Knowledge::Fresh(judge())) };
        match time {
            Err(_) if !is_on(Remedy::UnknownAgeIsOld) => (None, Knowledge::Fresh(judge())),
            Err(why) => (None, Knowledge::Stale(StaleReport::UnknownAge(why, max_age.clone()))),
            Ok(time) if time.is_ahead_of(self.now) => {
                (Some(time), Knowledge::Stale(StaleReport::Ahead(time, max_age.clone())))
            }
            Ok(time) if time.is_older_than(max_age, self.now) => {
                (Some(time), Knowledge::Stale(StaleReport::Old(time, max_age.clone())))
            }
            Ok(time) => (Some(time), Knowledge::Fresh(judge())),
        }
    }
}

/// Whether a report names the registry and the repository of a name.
fn is_named_by(described: &Described<'_>, name: &ImageReference) -> bool {
    (described.repository == Some(name.repository()) || !is_on(Remedy::MatchRepository))
        && described.registry.is_some_and(|host| is_registry(host, name.host()))
}

fn is_registry(host: &str, wanted: &str) -> bool {
    // Nearly every report has the wanted name, which needs no folding.
    host == wanted
        || !is_on(Remedy::MatchRegistry)
        || is_on(Remedy::FoldRegistryNames) && canonical_host(host).is_ok_and(|host| host == wanted)
}

/// Reads a report as deep as needed: first as deep as the decision needs, and once more for the details of findings that reject,
/// and what may exempt them. `read` returns the judgement at a depth, or nothing if the findings can't be read.
pub(crate) fn judge_deeper<'a>(
    judge: &Judge<'a>,
    first: &Findings<'_>,
    read: impl FnOnce(Depth) -> Option<Judgement<'a>>,
) -> Judgement<'a> {
    let judgement = judge.judge(first);
    let depth = match &judgement.verdict {
        Verdict::Rejected(exceeded) => judge.deeper(exceeded),
        // Whether these findings are exploited can't be told. That of an exempt one needn't be.
        Verdict::Unreadable(UnreadableReport::Untold(Untold::Exploited)) | Verdict::Incomparable(_)
            if judge.may_be_excused() =>
        {
            Depth::Excused
        }
        _ => return judgement,
    };
    match read(depth) {
        // With more ids, fewer findings may count, and the limits may hold. A contradiction is never accepted.
        Some(explained) if !matches!(explained.verdict, Verdict::Unreadable(_) | Verdict::Incomparable(_)) => explained,
        _ => judgement,
    }
}
