//! What every source of reports is: asked about one platform of an image, it says what it knows.

use crate::acceptance::{Depth, Judge, Judgement, Verdict};
use crate::reason::{
    LookUpFailure, NotScanned, OtherImage, Pending, ScanFailure, StaleReport, UnknownAge, Whereabouts,
};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_host::HostFailure;
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, canonical_host};
use image_admission_scan_report::finding::Findings;
use image_admission_settings::ReportIdentity;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::{Span, Timestamp};

/// A place where reports are looked for. It lives for one request, and lists nothing twice. The first source that knows the image ends
/// the search, also with a report that is too old, pending or failed, or with a look-up that failed. A source only makes statements:
/// `report` alone judges them.
pub(crate) trait Source<'a> {
    /// Everything that it knows about one platform of an image; nothing when it doesn't know it.
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>>;

    /// Where it looks, after "no scan report yet".
    fn whereabouts(&self) -> Whereabouts;
}

/// One platform of an image, of which reports must speak.
#[derive(Debug)]
pub(crate) struct WantedPlatform<'a> {
    pub reference: &'a ImageReference,
    /// What it is called at the mirror of its registry, where it has one: whoever scans that calls it so.
    pub at_mirror: Option<&'a ImageReference>,
    /// Whether its tag is what the registry says that it is: a mirror alone may be behind, or have another image under it.
    pub is_tag_certain: bool,
    pub image: &'a ResolvedImage,
    pub manifest: &'a PlatformManifest,
    /// The names of the containers that would run it, for scanners that keep a report for each.
    pub containers: &'a [String],
    /// Whether a failure of its registry may be an outage.
    pub may_be_down: bool,
    /// How old a report may be, and what time it is.
    pub max_age: Option<&'a Span>,
    pub now: Timestamp,
}

/// The image that a report was judged for, and its platform's digest, where it matters which.
pub(crate) type JudgedFor = (ImageReference, Option<String>);

/// What a report says about whose it is, in its own words.
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
    /// What says so: `VulnerabilityReport sbomscanner/…`.
    pub by: String,
    /// When it was said, if that is known.
    pub time: Option<Timestamp>,
    /// Where that isn't known, when the report was made for the first time; scanners may have renewed it since.
    pub first_made: Option<Timestamp>,
    /// What it comes to.
    pub known: Knowledge<'a>,
    /// Where the whole report can be read again, when it is one.
    pub origin: Option<Origin>,
}

/// Where a report stands.
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
}

/// What is known about an image. None of these is ever taken for another.
#[derive(Debug)]
pub(crate) enum Knowledge<'a> {
    /// A report that is fresh enough, and what it comes to.
    Fresh(Judgement<'a>),
    /// A report that is too old, or whose age isn't known.
    Stale(StaleReport),
    /// What stands where its report would stand speaks of another image.
    OfAnotherImage(OtherImage),
    /// It is not scanned although the scanner knows it.
    NotScanned(NotScanned),
    /// A scan is on its way.
    Pending(Pending),
    /// The scanner failed.
    Failed(ScanFailure),
    /// The look-up failed.
    LookUpFailed(HostFailure),
    /// It failed by what somebody chose who names or pushes images: no outage.
    Provoked(LookUpFailure),
}

impl<'a> Statement<'a> {
    pub(crate) fn new(by: String, known: Knowledge<'a>) -> Self {
        Self { by, time: None, first_made: None, known, origin: None }
    }

    pub(crate) fn look_up_failed(failure: &HostFailure) -> Self {
        Self::new(String::new(), Knowledge::LookUpFailed(failure.clone()))
    }

    /// The same in the registry of the image, where whoever pushes chooses what there is to be read.
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
    /// The same, and where it is another image's because it names no entry of the index that it names, so said.
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
    /// Whether a failure of the image's registry may go away by itself, and nobody chose it who names or pushes images.
    pub(crate) fn is_outage(&self, failure: &HostFailure) -> bool {
        self.may_be_down && failure.is_outage()
    }

    /// The names that reports may know it by: its own, and the one at a mirror.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ImageReference> + Clone {
        std::iter::once(self.reference).chain(self.at_mirror)
    }

    /// Whether a report's own words name this registry, repository, digest and platform. With [`ReportIdentity::Tag`], a
    /// report that names no digest is known by its tag, unless the reference carries a digest: then the tag beside it is
    /// only a claim. Which tags a mirror has is no word of the registry's: what names the image as the mirror does, and what was
    /// found at the mirror alone, is known by its digest.
    pub(crate) fn is_described_by(&self, described: &Described<'_>, identity: ReportIdentity) -> bool {
        // What tells nearly every other report apart comes first: of a list, each is looked at.
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

    /// Whether a digest is that of the platform's manifest, or of the index that it stands in, where a scanner of the index can't have
    /// taken another of its entries.
    pub(crate) fn is_digest(&self, digest: &str) -> bool {
        self.is_digest_where(digest, |other, platform| other.is_kin(platform))
    }

    /// The same of what was said of the index as a whole, and not of the entry that a scanner took.
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

    /// Whether the index has no other entry that could be taken for this one. Scanners and runtimes take one without a platform for
    /// some machine's, each for another.
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

    /// All that the index has for machines, asked for or not.
    fn entries(&self) -> impl Iterator<Item = &PlatformManifest> {
        self.image.platforms.iter().chain(&self.image.others)
    }

    /// Whether a report for a platform is one for this. Without a platform of its own, [`WantedPlatform::is_named_by`] tells.
    pub(crate) fn is_platform(&self, described: Option<&Platform>) -> bool {
        let wanted = self.manifest.platform.as_ref();
        wanted.is_none_or(|wanted| described.is_some_and(|described| described.is_same(wanted)))
            || !is_on(Remedy::MatchPlatform)
    }

    /// Whether a digest is enough to tell this from the rest of its index. An entry that the index names no platform for
    /// could run anywhere: what is known about the index was found out about another.
    pub(crate) fn is_named_by(&self, digest: Option<&str>) -> bool {
        self.manifest.platform.is_some() || self.stands_alone() || digest == Some(&self.manifest.digest)
    }

    /// Whether the image has one platform only, so that what is said of it is said of that.
    pub(crate) fn stands_alone(&self) -> bool {
        self.manifest.digest == self.image.digest
    }

    /// What a report comes to: too old, or whatever the judge makes of it.
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
    // Nearly every report has the one name that it is wanted by, which takes nothing to fold.
    host == wanted
        || !is_on(Remedy::MatchRegistry)
        || is_on(Remedy::FoldRegistryNames) && canonical_host(host).is_ok_and(|host| host == wanted)
}

/// Reads a report as deep as it takes: as deep as deciding needs at first, and once more for what people want to know
/// about findings that reject, and what may exempt them. `read` gives what the findings at a depth come to, or nothing where
/// they can't be had.
pub(crate) fn judge_deeper<'a>(
    judge: &Judge<'a>,
    first: &Findings<'_>,
    read: impl FnOnce(Depth) -> Option<Judgement<'a>>,
) -> Judgement<'a> {
    let judgement = judge.judge(first);
    let Verdict::Rejected(exceeded) = &judgement.verdict else { return judgement };
    match read(judge.deeper(exceeded)) {
        // More ids of fewer findings may be within the limits, a contradiction never is.
        Some(explained) if !matches!(explained.verdict, Verdict::Unreadable(_) | Verdict::Incomparable(_)) => explained,
        _ => judgement,
    }
}
