//! Evidence: signatures and attestations that stand beside used images, or that GitHub has, copied into objects of the cluster.
//!
//! ```text
//! used images ── tags (which digest) ── digest (where its evidence may be, when it is fetched) ── actions
//!                                          └── place, object (who is asked; what is in the cluster)
//! ```
//!
//! Like [`crate::Companion`], it is a value: observations come in, actions come out, and the time is an argument. An object is only
//! written after a fetch, so that nothing of a fetch is kept. Objects that somebody else made are left alone. What is in an object isn't
//! believed: the policy verifies it.

mod digest;
mod object;
mod place;

use crate::backoff::{spread, wait};
use crate::budget::most_of_one;
use crate::image::UsedImages;
use crate::registry::Registry;
use crate::scanner::Kind;
use crate::settings::{CompanionSettings, CopiedEvidence, GithubAttestations, Retry, Seconds};
use digest::{CALM, Digest};
use image_admission_image::{ImageReference, is_digest};
use image_admission_settings::{Evidence as PolicyEvidence, EvidenceObject};
use image_admission_untrusted::time::Timestamp;
use place::{host, repository};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use object::size;
pub use object::{KnownObject, NewPiece, name_of};
pub use place::Place;

/// The kind of the objects.
pub const IMAGE_EVIDENCE: Kind = Kind { api_version: EvidenceObject::API_VERSION, kind: EvidenceObject::KIND };

/// How many images are looked up or fetched at once.
const AT_ONCE: usize = 8;
/// In how many places the evidence of one digest is looked for at once.
const PLACES_AT_ONCE: usize = 4;
/// How long after its last look-up a tag is looked up again.
const TAG: i64 = 3_600;
/// The waits after a fetch or a write that failed.
const RETRY: Retry = Retry { first: Seconds(60), most: Seconds(6 * 3_600) };
/// Due when something happens.
const NEVER: Timestamp = Timestamp(i64::MAX);

/// Why something couldn't be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchFailure {
    /// The registry doesn't answer, or takes no more requests.
    Registry {
        /// Its host.
        host: String,
        /// When it may be asked again, if it says so.
        until: Option<Timestamp>,
    },
    /// The registry answers, and doesn't hand this out.
    Image,
}

/// Something that was seen.
#[derive(Debug, Clone)]
pub enum EvidenceObservation {
    /// Everything that is used, and by which namespaces: `host/repository:tag`, or `host/repository@digest`.
    Used(UsedImages),
    /// What came of [`EvidenceAction::Resolve`].
    Resolved {
        /// The image.
        image: String,
        /// Its digest.
        result: Result<String, FetchFailure>,
    },
    /// What came of [`EvidenceAction::Fetch`].
    Fetched {
        /// The digest.
        digest: String,
        /// What was found, in all places that answered.
        pieces: Vec<NewPiece>,
        /// Of each place, whether something was found there, or why it gives nothing.
        answers: Vec<(Place, Result<bool, FetchFailure>)>,
    },
    /// What came of [`EvidenceAction::Write`], [`EvidenceAction::LeaveOut`] and [`EvidenceAction::Delete`].
    Written {
        /// The digest.
        digest: String,
        /// Whether it was done.
        is_done: bool,
    },
    /// An object as it is now.
    Object(KnownObject),
    /// An object is gone.
    ObjectGone(KnownObject),
    /// Something was just put beside an image with this digest.
    Added(String),
    /// All objects, by their identities: others are gone.
    Objects(BTreeSet<String>),
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum EvidenceAction {
    /// Ask a registry for the digest of a tag.
    Resolve(String),
    /// Ask for the evidence of a digest.
    Fetch {
        /// The digest.
        digest: String,
        /// Where.
        places: Vec<Place>,
    },
    /// Create an object, after this one in its place is deleted.
    Write {
        /// The digest.
        digest: String,
        /// The identity of the one in its place.
        replaces: Option<String>,
        /// The object.
        object: Value,
    },
    /// Say that all objects together are too large for one more, or for a larger one.
    LeaveOut(String),
    /// Delete an object.
    Delete {
        /// The digest.
        digest: String,
        /// The object's identity.
        uid: String,
    },
}

/// What is known of evidence, and what is to be done.
#[derive(Debug)]
pub struct Evidence {
    settings: CopiedEvidence,
    /// After how long an object is written anew: half the time that the policy believes it.
    renewed_after: Option<i64>,
    per_minute: usize,
    /// The images that are used by their digests.
    by_digest: UsedImages,
    /// The images that are used by their tags.
    tags: BTreeMap<String, Tag>,
    digests: BTreeMap<String, Digest>,
    /// By host. GitHub's API is one of them.
    registries: BTreeMap<String, Registry>,
    under_way: usize,
    actions: Vec<EvidenceAction>,
}

/// A tag.
#[derive(Debug)]
struct Tag {
    /// Who uses it.
    namespaces: BTreeSet<String>,
    digest: Option<String>,
    due: Timestamp,
    failures: u32,
    is_asked: bool,
    /// Whether its registry didn't answer when it was asked last.
    is_unreachable: bool,
}

impl Tag {
    fn new(now: Timestamp) -> Self {
        let namespaces = BTreeSet::new();
        Self { namespaces, digest: None, due: now, failures: 0, is_asked: false, is_unreachable: false }
    }
}

impl Evidence {
    /// What has seen nothing yet. None if the companion's settings don't ask for evidence, or the policy's don't read it.
    #[must_use]
    pub fn new(settings: &CompanionSettings, policy: &PolicyEvidence) -> Option<Self> {
        let evidence = settings.evidence.clone().filter(|_| policy.from_cluster)?;
        Some(Self {
            settings: evidence,
            renewed_after: policy.max_age.as_ref().map(|age| (age.seconds() / 2).max(CALM)),
            per_minute: settings.registries.per_minute,
            by_digest: UsedImages::new(),
            tags: BTreeMap::new(),
            digests: BTreeMap::new(),
            registries: BTreeMap::new(),
            under_way: 0,
            actions: Vec::new(),
        })
    }

    /// Takes something in.
    pub fn observe(&mut self, observation: EvidenceObservation, now: Timestamp) {
        match observation {
            EvidenceObservation::Used(images) => self.set_used(images, now),
            EvidenceObservation::Resolved { image, result } => self.resolved(&image, result, now),
            EvidenceObservation::Fetched { digest, pieces, answers } => {
                self.fetched(&digest, &pieces, answers, now);
            }
            EvidenceObservation::Written { digest, is_done } => {
                if let Some(known) = self.digests.get_mut(&digest) {
                    known.is_writing = false;
                    if std::mem::take(&mut known.is_held) {
                        self.under_way = self.under_way.saturating_sub(1);
                    }
                    if !is_done {
                        (known.deleted, known.written) = (None, 0);
                        known.fail(&digest, now);
                    }
                }
            }
            EvidenceObservation::Object(object) => {
                let known = self.digests.entry(object.digest.clone()).or_insert_with(|| Digest::new(now));
                if object.is_edited && known.object.as_ref() != Some(&object) {
                    known.fetch_soon(now);
                }
                known.object = Some(object);
            }
            EvidenceObservation::ObjectGone(object) => {
                if let Some(known) = self.digests.get_mut(&object.digest) {
                    known.gone(&object.uid, now);
                }
            }
            EvidenceObservation::Added(digest) => {
                if let Some(known) = self.digests.get_mut(&digest) {
                    known.due = now;
                    known.is_added = true;
                }
            }
            EvidenceObservation::Objects(uids) => {
                for known in self.digests.values_mut() {
                    let uid = known.object.as_ref().map(|object| object.uid.clone());
                    if let Some(uid) = uid.filter(|uid| !uids.contains(uid)) {
                        known.gone(&uid, now);
                    }
                }
            }
        }
    }

    /// Whether an object isn't known as it is.
    #[must_use]
    pub fn is_news(&self, object: &KnownObject) -> bool {
        self.digests.get(&object.digest).is_none_or(|known| known.object.as_ref() != Some(object))
    }

    /// The images with a digest, among all that are used.
    #[must_use]
    pub fn images_of(&self, digest: &str) -> BTreeSet<String> {
        let is_tag = |(_, tag): &(&String, &Tag)| tag.digest.as_deref() == Some(digest);
        let tags = self.tags.iter().filter(is_tag).map(|(image, _)| image.clone());
        let named = self.digests.get(digest).into_iter().flat_map(|known| known.images.keys().cloned());
        tags.chain(named).collect()
    }

    /// What is to be done now. Call it after observations, and each second.
    pub fn due(&mut self, now: Timestamp) -> Vec<EvidenceAction> {
        self.delete_unused(now);
        // Somebody may wait for what was never fetched, or has just been added.
        self.fetch(true, now);
        self.resolve(now);
        self.fetch(false, now);
        self.digests.retain(|_, known| !known.images.is_empty() || known.object.is_some() || known.is_busy());
        std::mem::take(&mut self.actions)
    }

    fn set_used(&mut self, images: UsedImages, now: Timestamp) {
        let (by_digest, tagged): (UsedImages, UsedImages) =
            images.into_iter().partition(|(image, _)| image.contains('@'));
        self.by_digest = by_digest;
        self.tags.retain(|image, _| tagged.contains_key(image));
        for (image, namespaces) in tagged {
            self.tags.entry(image).or_insert_with(|| Tag::new(now)).namespaces = namespaces;
        }
        let github = self.settings.github.as_ref().map(GithubAttestations::host);
        let images = self.by_digest.keys().chain(self.tags.keys()).map(|image| host(image));
        let hosts: BTreeSet<&str> = images.chain(github).collect();
        self.registries.retain(|name, registry| registry.is_busy() || hosts.contains(name.as_str()));
        self.set_users(now);
    }

    /// Notes where each digest is used.
    fn set_users(&mut self, now: Timestamp) {
        let mut users: BTreeMap<String, UsedImages> = BTreeMap::new();
        let resolved = self.tags.iter().filter_map(|(image, tag)| {
            let reference = ImageReference::parse(image).ok()?;
            tag.digest.as_ref().map(|digest| (reference.at(digest), &tag.namespaces))
        });
        let by_digest = self.by_digest.iter().map(|(image, namespaces)| (image.clone(), namespaces));
        for (image, namespaces) in by_digest.chain(resolved) {
            // Objects have names by this algorithm alone.
            let digest = image.split_once('@').map(|(_, digest)| digest.to_owned());
            if let Some(digest) = digest.filter(|digest| digest.starts_with("sha256:") && is_digest(digest)) {
                users.entry(digest).or_default().entry(image).or_default().extend(namespaces.iter().cloned());
            }
        }
        let github = self.settings.github.as_ref();
        for (digest, known) in &mut self.digests {
            known.set_images(users.remove(digest).unwrap_or_default(), github, now);
        }
        for (digest, images) in users {
            let mut known = Digest::new(now);
            known.set_images(images, github, now);
            self.digests.insert(digest, known);
        }
    }

    fn resolved(&mut self, image: &str, result: Result<String, FetchFailure>, now: Timestamp) {
        self.under_way = self.under_way.saturating_sub(1);
        self.answered(host(image), result.as_ref().err(), now);
        let is_unreachable = matches!(result, Err(FetchFailure::Registry { .. }));
        let Some(tag) = self.tags.get_mut(image) else { return };
        tag.is_asked = false;
        tag.is_unreachable = is_unreachable;
        match result {
            Ok(digest) => {
                tag.failures = 0;
                tag.due = after(now, TAG + spread(image, TAG / 5));
                tag.digest = Some(digest);
                self.set_users(now);
            }
            Err(_) => {
                tag.failures += 1;
                tag.due = after(now, wait(RETRY, tag.failures, image));
            }
        }
    }

    fn fetched(
        &mut self,
        digest: &str,
        pieces: &[NewPiece],
        answers: Vec<(Place, Result<bool, FetchFailure>)>,
        now: Timestamp,
    ) {
        for (place, answer) in &answers {
            self.answered(place.host(), answer.as_ref().err(), now);
        }
        // The object is written anew before the policy finds it too old.
        let patience = self.renewed_after.map_or(self.settings.forget.0, |after| after / 2);
        let Some(known) = self.digests.get_mut(digest) else {
            self.under_way = self.under_way.saturating_sub(1);
            return;
        };
        known.is_fetching = false;
        known.fetched = Some(now);
        for (place, answer) in answers {
            if let Some(place) = known.places.get_mut(&place) {
                place.answered(answer.ok(), now);
            }
        }
        if known.is_whole(pieces, patience, now) {
            let most = self.settings.refresh;
            known.failures = 0;
            // A signature may be on its way, or where nobody has looked yet.
            let is_left_open = pieces.is_empty() || known.places.values().any(|place| place.asked.is_none());
            known.left_open = if is_left_open { known.left_open.saturating_add(1) } else { 0 };
            let pause = match known.left_open {
                0 => most.0.saturating_add(spread(digest, most.0 / 5)),
                times => wait(Retry { first: RETRY.first, most }, times, digest),
            };
            // What was added meanwhile may not be in the answer.
            known.due = if known.due == NEVER { after(now, pause) } else { known.due };
        } else {
            known.fail(digest, now);
        }
        let Some(mut action) = known.write(digest, pieces, self.renewed_after, patience, now) else {
            self.under_way = self.under_way.saturating_sub(1);
            return;
        };
        if matches!(action, EvidenceAction::Write { .. }) && !self.has_room(digest, size(pieces)) {
            action = EvidenceAction::LeaveOut(digest.to_owned());
        }
        let Some(known) = self.digests.get_mut(digest) else { return };
        known.written = if matches!(action, EvidenceAction::Write { .. }) { size(pieces) } else { 0 };
        if let EvidenceAction::Write { replaces: Some(uid), .. } | EvidenceAction::Delete { uid, .. } = &action {
            known.deleted = Some(uid.clone());
        }
        (known.is_writing, known.is_held) = (true, true);
        self.actions.push(action);
    }

    /// Whether an object of this size may be written for a digest. As of images, no namespace takes all the room that the others leave.
    fn has_room(&self, digest: &str, bytes: usize) -> bool {
        let Some(own) = self.digests.get(digest) else { return false };
        let mut all = 0;
        let mut of_users: BTreeMap<&str, usize> = own.namespaces().into_iter().map(|user| (user, 0)).collect();
        for (_, other) in self.digests.iter().filter(|(other, _)| *other != digest) {
            let size = other.bytes();
            all += size;
            for namespace in if size > 0 { other.namespaces() } else { BTreeSet::new() } {
                if let Some(of_user) = of_users.get_mut(namespace) {
                    *of_user += size;
                }
            }
        }
        let most = self.settings.mebibytes.saturating_mul(1 << 20);
        of_users.values().any(|of_user| of_user + bytes <= most_of_one(most.saturating_sub(all - of_user)))
    }

    /// Notes whether a host answers.
    fn answered(&mut self, host: &str, failure: Option<&FetchFailure>, now: Timestamp) {
        let registry = self.registry(host);
        registry.end();
        match failure {
            Some(FetchFailure::Registry { until, .. }) => registry.fail(host, *until, now),
            Some(FetchFailure::Image) | None => {
                registry.succeed();
            }
        }
    }

    fn delete_unused(&mut self, now: Timestamp) {
        let forget = self.settings.forget.0;
        // A tag whose registry is down may be that of a digest that seems not to be used.
        let is_unclear = |(_, tag): &(&String, &Tag)| tag.digest.is_none() && tag.is_unreachable;
        let unclear: BTreeSet<&str> = self.tags.iter().filter(is_unclear).map(|(image, _)| repository(image)).collect();
        for (digest, known) in &mut self.digests {
            let is_over = known.unused.is_some_and(|since| after(since, forget) <= now);
            let is_forgotten = is_over && !known.may_be_in(&unclear);
            let Some(object) = known.object.as_ref().filter(|object| is_forgotten && object.is_ours) else { continue };
            let uid = object.uid.clone();
            let may_try = known.failures == 0 || known.due <= now;
            if !known.is_busy() && may_try && known.deleted.as_ref() != Some(&uid) {
                known.is_writing = true;
                known.deleted = Some(uid.clone());
                self.actions.push(EvidenceAction::Delete { digest: digest.clone(), uid });
            }
        }
    }

    fn resolve(&mut self, now: Timestamp) {
        let is_due = |tag: &Tag| !tag.is_asked && tag.due <= now;
        let due = self.tags.iter().filter(|(_, tag)| is_due(tag)).map(|(image, tag)| (tag.due, image.clone()));
        let mut due: Vec<(Timestamp, String)> = due.collect();
        due.sort();
        for (_, image) in due {
            if self.under_way >= AT_ONCE {
                return;
            }
            let registry = self.registry(host(&image));
            if !registry.is_open(true, now) {
                continue;
            }
            registry.begin(now);
            if let Some(tag) = self.tags.get_mut(&image) {
                tag.is_asked = true;
                self.under_way += 1;
                self.actions.push(EvidenceAction::Resolve(image));
            }
        }
    }

    /// Fetches what is due: what somebody may wait for, or what has time.
    fn fetch(&mut self, is_hurried: bool, now: Timestamp) {
        let renewed_after = self.renewed_after;
        let due = self.digests.iter().filter(|(_, known)| known.is_to_be_fetched(renewed_after, now));
        let due = due.filter(|(_, known)| known.is_hurried() == is_hurried);
        let mut due: Vec<(Timestamp, String)> = due.map(|(digest, known)| (known.due, digest.clone())).collect();
        due.sort();
        for (_, digest) in due {
            if self.under_way >= AT_ONCE {
                return;
            }
            let mut places = self.digests.get(&digest).map(Digest::by_turns).unwrap_or_default();
            places.retain(|place| self.registry(place.host()).is_open(!is_hurried, now));
            let crowded_out = places.split_off(places.len().min(PLACES_AT_ONCE));
            let Some(known) = self.digests.get_mut(&digest).filter(|_| !places.is_empty()) else { continue };
            for (place, known) in &mut known.places {
                known.is_crowded_out = crowded_out.contains(place);
                if places.contains(place) {
                    known.asked = Some(now);
                }
            }
            (known.is_fetching, known.is_added, known.due) = (true, false, NEVER);
            self.under_way += 1;
            for place in &places {
                self.registry(place.host()).begin(now);
            }
            self.actions.push(EvidenceAction::Fetch { digest, places });
        }
    }

    fn registry(&mut self, host: &str) -> &mut Registry {
        let per_minute = self.per_minute;
        self.registries.entry(host.to_owned()).or_insert_with(|| Registry::new(per_minute))
    }
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    Timestamp(now.0.saturating_add(seconds))
}
