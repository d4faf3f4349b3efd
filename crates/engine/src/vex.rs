//! VEX beside reports: what somebody whom the settings name signed of the vulnerabilities in an image.
//!
//! Documents are looked for once for a platform of an image, and only where a finding would reject it. Whoever can push may copy a
//! signed one beside any image: a document is about this image where its signed manifest, or a statement in it, names a digest of
//! it. The newest word of an attestor undoes their older ones, and nobody's undoes another's that a finding counts.

mod cyclonedx;
mod document;
mod openvex;
mod statement;

use crate::Timestamp;
use crate::attached::{Attachments, Found, Trusted};
use crate::finding::Finding;
use crate::host::Host;
use crate::image::ImageReference;
use crate::message::cut;
use crate::reason::{Unsigned, UnusableVex, UnusedVex, UsedVex, VexSaid};
use crate::remedy::{Remedy, is_on};
use crate::resolve::{PlatformManifest, ResolvedImage};
use crate::settings::AttachedArtifacts;
use statement::{Means, Named, Reach, VexStatement};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

pub(crate) use cyclonedx::AnalysisState;

/// The longest name of an attestor that is told.
const MAX_ATTESTOR_LENGTH: usize = 64;

/// The documents about images, as one request sees them.
pub(crate) struct VexDocuments<'a> {
    /// Where they stand, each place with what was found there.
    places: RefCell<Vec<(&'a AttachedArtifacts, Attachments<'a>)>>,
    /// By the image and its platform's digest, what is said of it.
    read: RefCell<BTreeMap<(String, String), Rc<ImageVex>>>,
    now: Timestamp,
}

/// One platform of an image, as far as documents may speak of it.
#[derive(Debug, Clone)]
pub(crate) struct VexOfImage<'a> {
    documents: Rc<VexDocuments<'a>>,
    reference: ImageReference,
    /// Its own digest, where that speaks for the platform, and that of the platform's manifest.
    digests: Vec<String>,
}

/// What all documents say of a platform of an image.
#[derive(Debug)]
pub(crate) struct ImageVex {
    statements: Vec<Relevant>,
    /// By the vulnerability's name in lower case, the statements that have it.
    by_name: BTreeMap<String, Vec<usize>>,
    /// Documents that take nothing out, and why; what keeps all others from doing so comes first.
    pub(crate) unusable: Vec<UnusableVex>,
    now: Timestamp,
}

/// A statement that reaches into the image.
#[derive(Debug)]
struct Relevant {
    reach: Reach,
    means: Means,
    time: Option<Timestamp>,
    said: VexSaid,
}

/// What is said of a finding.
#[derive(Debug)]
pub(crate) enum Vex {
    /// Nothing.
    Silent,
    /// It doesn't count, says this.
    Clears(UsedVex),
    /// Something, and it counts all the same.
    Counts(UnusedVex),
}

impl<'a> VexDocuments<'a> {
    /// Those at the places of the settings; none where these name no place. Nothing is asked yet.
    pub(crate) fn new(places: &'a [AttachedArtifacts], host: &'a dyn Host, now: Timestamp) -> Option<Self> {
        let attachments = places.iter().map(|place| (place, Attachments::new(place, host))).collect::<Vec<_>>();
        (!attachments.is_empty()).then(|| Self { places: attachments.into(), read: RefCell::default(), now })
    }

    /// What stands beside a platform of an image.
    fn read(&self, reference: &ImageReference, digests: &[String]) -> ImageVex {
        let (statements, by_name, unusable) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut vex = ImageVex { statements, by_name, unusable, now: self.now };
        for (place, attachments) in self.places.borrow_mut().iter_mut() {
            for digest in digests {
                for found in attachments.beside(reference, digest).iter() {
                    match found {
                        Found::Failure(failure) => vex.unusable.push(UnusableVex::LookUpFailed(failure.clone())),
                        Found::Unsigned(artifact, why) => {
                            let unsigned = Unsigned::new(*why, place.attestors.clone());
                            vex.unusable.push(UnusableVex::Unsigned { artifact: artifact.clone(), unsigned });
                        }
                        Found::Trusted(trusted) => vex.add(trusted, reference, digests),
                    }
                }
            }
        }
        vex.settle();
        vex
    }
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
        Self { documents: Rc::clone(documents), reference: reference.clone(), digests }
    }

    /// The digest of the platform's manifest.
    pub(crate) fn platform(&self) -> &str {
        self.digests.last().map_or("", String::as_str)
    }

    /// What is said of it: looked up, once.
    pub(crate) fn read(&self) -> Rc<ImageVex> {
        let key = (self.reference.name(), self.digests.join(" "));
        if let Some(known) = self.documents.read.borrow().get(&key) {
            return Rc::clone(known);
        }
        let vex = Rc::new(self.documents.read(&self.reference, &self.digests));
        self.documents.read.borrow_mut().insert(key, Rc::clone(&vex));
        vex
    }
}

impl ImageVex {
    /// What is said of a finding, by any of its names.
    pub(crate) fn of(&self, finding: &Finding<'_>) -> Vex {
        let mut newest: BTreeMap<&str, &Relevant> = BTreeMap::new();
        let mut unused = None;
        for statement in self.about(finding) {
            if let Some(why) = statement.untimely(self.now) {
                unused = unused.or(Some(why));
                continue;
            }
            let weight = |own: &Relevant| (own.time.unwrap_or(Timestamp(i64::MAX)), own.means);
            let newest = newest.entry(statement.said.attestor.as_str()).or_insert(statement);
            if weight(statement) > weight(newest) && is_on(Remedy::NewestWordCounts) {
                *newest = statement;
            }
        }
        let says = |means| newest.values().find(|own| own.means == means);
        if let Some(counts) = says(Means::Counts) {
            return Vex::Counts(UnusedVex::Counts(counts.said.clone()));
        }
        match (says(Means::Cleared), says(Means::Unjustified)) {
            (Some(cleared), _) => Vex::Clears(UsedVex::new(cleared.said.clone(), finding.ids().next())),
            (None, Some(unjustified)) => Vex::Counts(UnusedVex::Unjustified(unjustified.said.clone())),
            (None, None) => unused.map_or(Vex::Silent, Vex::Counts),
        }
    }

    /// The statements about a finding, each once.
    fn about(&self, finding: &Finding<'_>) -> Vec<&Relevant> {
        let named = finding.ids().filter_map(|id| self.by_name.get(&id.to_ascii_lowercase()));
        let mut positions: Vec<usize> = named.flatten().copied().collect();
        positions.sort_unstable();
        positions.dedup();
        let statements = positions.into_iter().filter_map(|position| self.statements.get(position));
        statements.filter(|statement| statement.reach.has(finding)).collect()
    }

    /// Adds what a signed document says.
    fn add(&mut self, trusted: &Trusted, reference: &ImageReference, digests: &[String]) {
        let artifact = || trusted.artifact.clone();
        let content = match trusted.read() {
            Ok(content) => content,
            Err(failure) => return self.unusable.push(UnusableVex::LookUpFailed(failure)),
        };
        let is_ours = |digest: &str| digests.iter().any(|own| own == digest) || !is_on(Remedy::MatchSubject);
        let subject = content.subject();
        if let Some(other) = subject.filter(|digest| !is_ours(digest)) {
            let which = Some(cut(other, 160));
            return self.unusable.push(UnusableVex::OfAnotherImage { artifact: artifact(), which });
        }
        let statements = match document::read(content.config.get()) {
            Ok(statements) => statements,
            Err(why) => return self.unusable.push(UnusableVex::Unreadable { artifact: artifact(), why }),
        };
        let image = Named { reference, digests, is_subject: subject.is_some_and(is_ours) };
        let before = self.statements.len();
        let is_empty = statements.is_empty();
        for statement in statements {
            self.add_statement(statement, image, trusted);
        }
        if !image.is_subject && self.statements.len() == before && !is_empty {
            self.unusable.push(UnusableVex::OfAnotherImage { artifact: artifact(), which: None });
        }
    }

    fn add_statement(&mut self, statement: VexStatement, image: Named<'_>, trusted: &Trusted) {
        let Some(reach) = statement.reach(image) else { return };
        let says = statement.says;
        let said = VexSaid {
            status: says.status,
            justification: says.justification,
            attestor: cut(trusted.signed_by.as_deref().unwrap_or_default(), MAX_ATTESTOR_LENGTH),
            artifact: trusted.artifact.clone(),
        };
        let is_bare = says.means == Means::Unjustified && !is_on(Remedy::JustifyVex);
        let means = if is_bare { Means::Cleared } else { says.means };
        for name in statement.names {
            self.by_name.entry(name.to_ascii_lowercase()).or_default().push(self.statements.len());
        }
        self.statements.push(Relevant { reach, means, time: statement.time, said });
    }

    /// What can't be read could be the document that says that a finding counts: then none takes anything out.
    fn settle(&mut self) {
        self.unusable.sort_by_key(|why| !why.hides_statements());
        if self.unusable.first().is_some_and(UnusableVex::hides_statements) && is_on(Remedy::UnreadVexClearsNothing) {
            self.statements.clear();
            self.by_name.clear();
        }
    }
}

impl Relevant {
    /// Why its time keeps it from taking anything out. What says that a finding counts may be of any time.
    fn untimely(&self, now: Timestamp) -> Option<UnusedVex> {
        if self.means == Means::Counts || !is_on(Remedy::TimeOfVex) {
            return None;
        }
        match self.time {
            None => Some(UnusedVex::Undated(self.said.clone())),
            Some(time) if time.is_ahead_of(now) => Some(UnusedVex::Ahead(self.said.clone(), time)),
            Some(_) => None,
        }
    }
}

impl fmt::Debug for VexDocuments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VexDocuments").field("now", &self.now).finish_non_exhaustive()
    }
}
