//! VEX documents beside images: signed statements about the vulnerabilities in an image, by attestors that the settings name.
//!
//! Documents are looked for once for a platform of an image, and only if a finding would reject it. Anybody with push access may
//! copy a signed one beside any image. So a document is about this image only if its signed manifest, or a statement in it, names a
//! digest of the image. An attestor's newest statement replaces their older ones. If one attestor says that a finding counts, no
//! other can undo that. A document with several signers is a statement of each of them.

use crate::attached::{Attachments, Found, Trusted};
use crate::comparisons::Comparisons;
use crate::reason::{UnusableVex, UnusedVex, UsedVex, VexSaid};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_attestors::Verifier;
use image_admission_host::Host;
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_scan_report::finding::Finding;
use image_admission_scan_report::vex::read;
use image_admission_scan_report::vex::statement::{Means, Named, PackageOfFinding, Reach, Says, VexStatement};
use image_admission_settings::{AttachedArtifacts, Attestor};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// The longest name of an attestor that is shown.
const MAX_ATTESTOR_LENGTH: usize = 64;
/// The most comparisons of packages in documents with findings.
const MAX_COMPARISONS: usize = 5_000_000;

/// The key of a look-up: an image, its digests, and its platform.
type Asked = (String, String, Option<Platform>);

/// The documents about images, as one request sees them.
pub(crate) struct VexDocuments<'a> {
    /// The places of the documents, each with what was found there.
    places: RefCell<Vec<(&'a AttachedArtifacts, Attachments<'a>)>>,
    /// By the image, its digests and its platform, the statements about it.
    read: RefCell<BTreeMap<Asked, Rc<ImageVex>>>,
    /// Everybody whose statements count.
    speakers: Vec<Speaker<'a>>,
    comparisons: Rc<Comparisons>,
    now: Timestamp,
}

/// Somebody whose newest statement counts: all attestors of a place with one name. Attestors of two places are the same if they are
/// recognised in the same ways.
type Speaker<'a> = Vec<&'a Attestor>;

/// One platform of an image, as far as documents may speak of it.
#[derive(Debug, Clone)]
pub(crate) struct VexOfImage<'a> {
    documents: Rc<VexDocuments<'a>>,
    reference: ImageReference,
    /// The image's own digest, if it stands for the platform, and that of the platform's manifest.
    digests: Vec<String>,
    platform: Option<Platform>,
}

/// All statements about a platform of an image.
#[derive(Debug)]
pub(crate) struct ImageVex {
    statements: Vec<Relevant>,
    /// By the vulnerability's name in lower case, the positions of its statements.
    by_name: BTreeMap<String, Vec<usize>>,
    /// Documents that clear nothing, and why; those that prevent all others from clearing come first.
    pub unusable: Vec<UnusableVex>,
    comparisons: Rc<Comparisons>,
    now: Timestamp,
}

/// A statement that applies to the image.
#[derive(Debug)]
struct Relevant {
    reach: Reach,
    /// How many names a finding is compared with.
    size: usize,
    means: Means,
    time: Option<Timestamp>,
    status: String,
    justification: Option<String>,
    document: Rc<Signed>,
}

/// A signed document.
#[derive(Debug)]
struct Signed {
    /// `repository@digest`
    artifact: String,
    /// Its signers: their numbers and names.
    signers: BTreeMap<usize, String>,
}

/// A statement, as made by one of its signers.
#[derive(Debug, Clone, Copy)]
struct Word<'v> {
    statement: &'v Relevant,
    signer: usize,
}

/// The statements about a finding.
#[derive(Debug)]
pub(crate) enum Vex {
    /// There are none.
    Silent,
    /// These say that it doesn't count.
    Clears(Vec<UsedVex>),
    /// There is one, and the finding still counts.
    Counts(UnusedVex),
}

impl<'a> VexDocuments<'a> {
    /// Those at the places in the settings; none if there are no places. Makes no calls yet.
    pub(crate) fn new(
        places: &'a [AttachedArtifacts],
        host: &'a dyn Host,
        verifier: &'a Verifier<'a>,
        now: Timestamp,
    ) -> Option<Self> {
        if places.is_empty() {
            return None;
        }
        let attachments = places.iter().map(|place| (place, Attachments::with_every_signer(place, host, verifier)));
        let attachments = attachments.collect::<Vec<_>>();
        let mut speakers = Vec::new();
        for (place, attestor) in places.iter().flat_map(|place| place.attestors.iter().map(move |own| (place, own))) {
            let speaker = speaker(place, attestor);
            if !speakers.contains(&speaker) {
                speakers.push(speaker);
            }
        }
        let comparisons = Rc::new(Comparisons::new(MAX_COMPARISONS));
        Some(Self { places: attachments.into(), read: RefCell::default(), speakers, comparisons, now })
    }

    /// The documents beside a platform of an image.
    fn read(&self, image: &VexOfImage<'a>) -> ImageVex {
        let VexOfImage { reference, digests, platform, .. } = image;
        let platform = platform.as_ref();
        let named = Named { reference, digests, platform, is_subject: false, is_near: false };
        let (statements, by_name, unusable) = (Vec::new(), BTreeMap::new(), Vec::new());
        let comparisons = Rc::clone(&self.comparisons);
        let mut vex = ImageVex { statements, by_name, unusable, comparisons, now: self.now };
        for (place, attachments) in self.places.borrow_mut().iter_mut() {
            for digest in digests {
                for found in attachments.beside(reference, digest).iter() {
                    match found {
                        Found::Failure(failure) => {
                            vex.unusable.push(UnusableVex::LookUpFailed(failure.to_host_failure()));
                        }
                        Found::Unsigned(artifact, unsigned) => {
                            let (artifact, unsigned) = (artifact.clone(), unsigned.clone());
                            vex.unusable.push(UnusableVex::Unsigned { artifact, unsigned });
                        }
                        Found::Trusted(trusted) => vex.add(trusted, self.signed(place, trusted), named),
                    }
                }
            }
        }
        vex.settle();
        vex
    }

    /// The signers of a document at a place.
    fn signed(&self, place: &'a AttachedArtifacts, trusted: &Trusted<'a>) -> Signed {
        let number = |attestor: &&'a Attestor| {
            let own = speaker(place, attestor);
            self.speakers.iter().position(|speaker| *speaker == own)
        };
        let signers = trusted.signers.iter().filter_map(|attestor| {
            let name = cut(&attestor.name, MAX_ATTESTOR_LENGTH);
            Some((number(attestor)?, name))
        });
        let mut of_artifact = BTreeMap::new();
        of_artifact.extend(signers);
        if !is_on(Remedy::VerifySignature) {
            of_artifact.entry(0).or_default();
        }
        Signed { artifact: trusted.artifact.clone(), signers: of_artifact }
    }
}

/// All attestors of a place with the name of one of them.
fn speaker<'a>(place: &'a AttachedArtifacts, attestor: &Attestor) -> Speaker<'a> {
    place.attestors.iter().filter(|own| own.name == attestor.name).collect()
}

impl<'a> VexOfImage<'a> {
    /// A platform of an image.
    pub(crate) fn new(
        documents: &Rc<VexDocuments<'a>>,
        reference: &ImageReference,
        image: &ResolvedImage,
        manifest: &PlatformManifest,
    ) -> Self {
        let whole = Some(&image.digest).filter(|digest| image.speaks_for_platforms && **digest != manifest.digest);
        let digests = whole.into_iter().chain([&manifest.digest]).cloned().collect();
        let platform = manifest.platform.clone();
        Self { documents: Rc::clone(documents), reference: reference.clone(), digests, platform }
    }

    /// The digest of the platform's manifest.
    pub(crate) fn platform(&self) -> &str {
        self.digests.last().map_or("", String::as_str)
    }

    /// The statements about it, looked up once.
    pub(crate) fn read(&self) -> Rc<ImageVex> {
        // An image with a digest may belong to an index that isn't known.
        let name = self.reference.at(self.reference.digest().unwrap_or_default());
        let key = (name, self.digests.join(" "), self.platform.clone());
        if let Some(known) = self.documents.read.borrow().get(&key) {
            return Rc::clone(known);
        }
        let vex = Rc::new(self.documents.read(self));
        self.documents.read.borrow_mut().insert(key, Rc::clone(&vex));
        vex
    }
}

impl ImageVex {
    /// The statements about a finding, by any of its names. If it is about several vulnerabilities, each must be cleared.
    pub(crate) fn of(&self, finding: &Finding<'_>) -> Vex {
        if self.comparisons.are_used_up() {
            return Vex::Silent;
        }
        let said = self.all_about(finding);
        // A statement that wasn't compared may say that the finding counts.
        if self.comparisons.are_used_up() { Vex::Silent } else { said }
    }

    /// Why findings weren't compared with what documents say of them, if some weren't.
    pub(crate) fn uncompared(&self) -> Option<UnusableVex> {
        self.comparisons.are_used_up().then_some(UnusableVex::TooMuch)
    }

    fn all_about(&self, finding: &Finding<'_>) -> Vex {
        let mut cves: Vec<String> =
            finding.ids().map(str::to_ascii_lowercase).filter(|id| id.starts_with("cve-")).collect();
        cves.sort_unstable();
        cves.dedup();
        let all = self.about(finding, finding.ids());
        if all.is_empty() {
            return self.elsewhere(finding).map_or(Vex::Silent, |said| Vex::Counts(UnusedVex::Elsewhere(said)));
        }
        if cves.len() < 2 || !is_on(Remedy::ClearEveryCve) {
            return self.weigh(&all, finding);
        }
        let (mut used, mut silent) = (Vec::new(), None);
        // A statement under another name, such as an advisory's, is about all of them: that isn't enough to clear any.
        let mut others = self.about(finding, finding.ids().filter(|id| !id.to_ascii_lowercase().starts_with("cve-")));
        others.retain(|own| own.means != Means::Cleared);
        for cve in cves {
            let mut about = self.about(finding, [cve.as_str()].into_iter());
            if self.comparisons.take(others.len()) {
                about.extend(&others);
            }
            match self.weigh(&about, finding) {
                Vex::Clears(more) => used.extend(more),
                Vex::Counts(why) => return Vex::Counts(why),
                Vex::Silent => silent = silent.or(Some(cve)),
            }
        }
        match (silent, used.into_iter().next()) {
            (None, Some(first)) => Vex::Clears(vec![first]),
            (Some(cve), Some(first)) => Vex::Counts(UnusedVex::Partly(first.said, cve.to_ascii_uppercase())),
            (_, None) => Vex::Silent,
        }
    }

    /// What clears a vulnerability of the finding, and isn't about its package.
    fn elsewhere(&self, finding: &Finding<'_>) -> Option<VexSaid> {
        let mut named = finding.ids().filter_map(|id| self.by_name.get(&id.to_ascii_lowercase())).flatten();
        let statement = named.find_map(|at| self.statements.get(*at).filter(|own| own.means == Means::Cleared))?;
        let signer = *statement.document.signers.keys().next()?;
        Some(Word { statement, signer }.said())
    }

    /// Combines the newest statement of each attestor: if one says that the finding counts, it does.
    fn weigh(&self, statements: &[&Relevant], finding: &Finding<'_>) -> Vex {
        let mut newest: BTreeMap<usize, Word<'_>> = BTreeMap::new();
        let mut unused = None;
        let words = statements
            .iter()
            .flat_map(|statement| statement.document.signers.keys().map(|signer| Word { statement, signer: *signer }));
        for word in words {
            if let Some(why) = word.untimely(self.now) {
                unused = unused.or(Some(why));
                continue;
            }
            let newest = newest.entry(word.signer).or_insert(word);
            if word.weight() > newest.weight() && is_on(Remedy::NewestWordCounts) {
                *newest = word;
            }
        }
        let says = |means| newest.values().find(|word| word.statement.means == means).map(Word::said);
        if let Some(said) = says(Means::Counts) {
            return Vex::Counts(UnusedVex::Counts(said));
        }
        match (says(Means::Cleared), says(Means::Unjustified)) {
            (Some(said), _) => Vex::Clears(vec![UsedVex::new(said, finding.ids().next())]),
            (None, Some(said)) => Vex::Counts(UnusedVex::Unjustified(said)),
            (None, None) => unused.map_or(Vex::Silent, Vex::Counts),
        }
    }

    /// The statements about a finding by one of these names, each once.
    fn about<'i>(&self, finding: &Finding<'_>, ids: impl Iterator<Item = &'i str>) -> Vec<&Relevant> {
        let named = ids.filter_map(|id| self.by_name.get(&id.to_ascii_lowercase()));
        let mut positions: Vec<usize> = named.flatten().copied().collect();
        if positions.is_empty() {
            return Vec::new();
        }
        positions.sort_unstable();
        positions.dedup();
        let package = finding.purl.as_ref().and_then(|purl| PackageOfFinding::of(purl.as_str()));
        let statements = positions.into_iter().filter_map(|position| self.statements.get(position));
        let may_compare = |statement: &&Relevant| self.comparisons.take(1 + statement.size);
        statements.take_while(may_compare).filter(|statement| statement.reach.has(package.as_ref())).collect()
    }

    /// Adds the statements of a signed document.
    fn add(&mut self, trusted: &Trusted<'_>, signed: Signed, image: Named<'_>) {
        let artifact = || trusted.artifact.clone();
        let content = match trusted.read() {
            Ok(content) => content,
            Err(failure) => return self.unusable.push(UnusableVex::LookUpFailed(failure)),
        };
        let is_ours = |digest: &str| image.digests.iter().any(|own| own == digest) || !is_on(Remedy::MatchSubject);
        let subject = content.subject.as_ref().map(JsonString::as_str);
        if let Some(other) = subject.filter(|digest| !is_ours(digest)) {
            let which = Some(cut(other, 160));
            return self.unusable.push(UnusableVex::OfAnotherImage { artifact: artifact(), which });
        }
        let statements = match read(content.json) {
            Ok(statements) => statements,
            Err(why) => return self.unusable.push(UnusableVex::Unreadable { artifact: artifact(), why }),
        };
        let is_subject = subject.is_some_and(is_ours);
        let is_near = is_subject || statements.iter().any(|statement| statement.is_named(image));
        let image = Named { is_subject, is_near, ..image };
        let document = Rc::new(signed);
        let before = self.statements.len();
        let is_empty = statements.is_empty();
        for statement in statements {
            self.add_statement(statement, image, &document);
        }
        if !image.is_subject && self.statements.len() == before && !is_empty {
            self.unusable.push(UnusableVex::OfAnotherImage { artifact: artifact(), which: None });
        }
    }

    fn add_statement(&mut self, statement: VexStatement, image: Named<'_>, document: &Rc<Signed>) {
        let Some(reach) = statement.reach(image) else { return };
        let Says { status, justification, means } = statement.says;
        let is_bare = means == Means::Unjustified && !is_on(Remedy::JustifyVex);
        let means = if is_bare { Means::Cleared } else { means };
        for name in statement.names {
            self.by_name.entry(name.to_ascii_lowercase()).or_default().push(self.statements.len());
        }
        let (size, time, document) = (reach.size(), statement.time, Rc::clone(document));
        self.statements.push(Relevant { reach, size, means, time, status, justification, document });
    }

    /// A document that can't be read might say that a finding counts: then no document clears anything.
    fn settle(&mut self) {
        self.unusable.sort_by_key(|why| !why.hides_statements());
        if self.unusable.first().is_some_and(UnusableVex::hides_statements) && is_on(Remedy::UnreadVexClearsNothing) {
            self.statements.clear();
            self.by_name.clear();
        }
    }
}

impl Word<'_> {
    /// The newest weighs most, and of equal times the worst. A statement without a time may be the newest.
    fn weight(&self) -> (Timestamp, Means) {
        (self.statement.time.unwrap_or(Timestamp(i64::MAX)), self.statement.means)
    }

    /// Why its time keeps it from clearing a finding. A statement that doesn't clear one may have any time.
    fn untimely(&self, now: Timestamp) -> Option<UnusedVex> {
        if self.statement.means != Means::Cleared || !is_on(Remedy::TimeOfVex) {
            return None;
        }
        match self.statement.time {
            None => Some(UnusedVex::Undated(self.said())),
            Some(time) if time.is_ahead_of(now) => Some(UnusedVex::Ahead(self.said(), time)),
            Some(_) => None,
        }
    }

    fn said(&self) -> VexSaid {
        let Relevant { status, justification, document, .. } = self.statement;
        VexSaid {
            status: status.clone(),
            justification: justification.clone(),
            attestor: document.signers.get(&self.signer).cloned().unwrap_or_default(),
            artifact: document.artifact.clone(),
        }
    }
}

impl fmt::Debug for VexDocuments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VexDocuments").field("now", &self.now).finish_non_exhaustive()
    }
}
