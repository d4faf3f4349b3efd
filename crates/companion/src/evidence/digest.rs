//! One digest: where its evidence may be, when it is fetched, and what becomes of its object.

use super::object::{KnownObject, NewPiece, hash, new_object};
use super::place::{Place, repository};
use super::{EvidenceAction, RETRY, after};
use crate::backoff::wait;
use crate::image::UsedImages;
use crate::settings::GithubAttestations;
use image_admission_untrusted::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How long after a fetch there is none for what others do to an object.
pub(super) const CALM: i64 = 60;

/// A digest that is used, or that has an object.
#[derive(Debug)]
pub(super) struct Digest {
    /// Where it is used, `host/repository@digest`, and by which namespaces.
    pub(super) images: UsedImages,
    /// Where its evidence may be, and what is known of it there.
    pub(super) places: BTreeMap<Place, Known>,
    /// The repositories where it was used before it no longer was.
    was_in: BTreeSet<String>,
    /// Since when it isn't used.
    pub(super) unused: Option<Timestamp>,
    /// When it is fetched next.
    pub(super) due: Timestamp,
    /// When it was fetched last.
    pub(super) fetched: Option<Timestamp>,
    pub(super) failures: u32,
    /// How often in a row it was left open whether there is more: nothing was found, or not everywhere was looked.
    pub(super) left_open: u32,
    /// Whether something was just put beside it.
    pub(super) is_added: bool,
    pub(super) is_fetching: bool,
    pub(super) is_writing: bool,
    /// Whether what was fetched is being written: as long as it is in memory, it counts among what is fetched.
    pub(super) is_held: bool,
    pub(super) object: Option<KnownObject>,
    /// How many bytes were written into it last, if it isn't gone since.
    pub(super) written: usize,
    /// The identity of the object that was deleted last, and hasn't been seen to go.
    pub(super) deleted: Option<String>,
}

/// What is known of a place.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The namespaces that use the digest there.
    namespaces: BTreeSet<String>,
    /// Whether it had evidence when it last answered.
    pub(super) gave: Option<bool>,
    /// Since when it has evidence.
    gives_since: Option<Timestamp>,
    /// When it last answered.
    answered: Option<Timestamp>,
    /// Whether it failed since.
    pub(super) is_failing: bool,
    /// When it was asked last.
    pub(super) asked: Option<Timestamp>,
    /// Whether there were others whose turn it was, when places were asked last.
    pub(super) is_crowded_out: bool,
}

impl Known {
    /// It has answered, and had evidence or none; none: it failed.
    pub(super) fn answered(&mut self, gave: Option<bool>, now: Timestamp) {
        self.is_failing = gave.is_none();
        self.answered = gave.map(|_| now).or(self.answered);
        self.gave = gave.or(self.gave);
        self.gives_since = self.gives_since.or(Some(now)).filter(|_| self.gave == Some(true));
    }

    /// Those with evidence come first, in the order in which they came to have some. Then those where nobody has looked yet, and the
    /// others by turns.
    fn order(&self) -> (bool, Option<Timestamp>) {
        let gives = self.gave == Some(true);
        (!gives, if gives { self.gives_since } else { self.asked })
    }
}

impl Digest {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            images: UsedImages::new(),
            places: BTreeMap::new(),
            was_in: BTreeSet::new(),
            unused: Some(now),
            due: now,
            fetched: None,
            failures: 0,
            left_open: 0,
            is_added: false,
            is_fetching: false,
            is_writing: false,
            is_held: false,
            object: None,
            written: 0,
            deleted: None,
        }
    }

    pub(super) fn set_images(&mut self, images: UsedImages, github: Option<&GithubAttestations>, now: Timestamp) {
        self.unused = if images.is_empty() { self.unused.or(Some(now)) } else { None };
        if self.images != images {
            let is_elsewhere = !self.images.keys().eq(images.keys());
            let github = github.map(|github| github.repositories_of(&images)).unwrap_or_default().into_iter();
            let github = github.map(|(repository, namespaces)| (Place::Github(repository), namespaces));
            let beside = images.iter().map(|(image, namespaces)| (Place::Image(image.clone()), namespaces.clone()));
            let mut before = std::mem::take(&mut self.places);
            let known = |(place, namespaces): (Place, BTreeSet<String>)| {
                let known = Known { namespaces, ..before.remove(&place).unwrap_or_default() };
                (place, known)
            };
            self.places = beside.chain(github).map(known).collect();
            // Its evidence may be where nobody has looked yet.
            if is_elsewhere && self.places.values().any(|place| place.asked.is_none()) {
                self.fetch_soon(now);
            }
            if images.is_empty() {
                self.was_in = self.images.keys().map(|image| repository(image).to_owned()).collect();
            }
            self.images = images;
        }
    }

    /// How large its object is, or is about to be.
    pub(super) fn bytes(&self) -> usize {
        self.object.as_ref().map_or(0, |object| object.bytes).max(self.written)
    }

    /// The namespaces that use it.
    pub(super) fn namespaces(&self) -> BTreeSet<&str> {
        self.images.values().flatten().map(String::as_str).collect()
    }

    /// Whether it may be that of a tag in one of these repositories. If nobody knows where it was used, it may be any.
    pub(super) fn may_be_in(&self, repositories: &BTreeSet<&str>) -> bool {
        if self.was_in.is_empty() {
            return !repositories.is_empty();
        }
        self.was_in.iter().any(|own| repositories.contains(own.as_str()))
    }

    /// Where it is asked for next: namespaces by turns, each in the [order](Known::order) of its places. Whoever names the digest in
    /// repositories of theirs takes their own turns, whatever they put there, and no other's.
    pub(super) fn by_turns(&self) -> Vec<Place> {
        let mut places: Vec<_> = self.places.iter().map(|(place, known)| (known.order(), place, known)).collect();
        places.sort_by(|(order, place, _), (other_order, other, _)| (order, place).cmp(&(other_order, other)));
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        let mut by_turns = Vec::with_capacity(places.len());
        for (order, place, known) in places {
            let turns = known.namespaces.iter().map(|namespace| taken.get(namespace.as_str()).copied().unwrap_or(0));
            by_turns.push((turns.min().unwrap_or(0), order, place));
            for namespace in &known.namespaces {
                *taken.entry(namespace).or_default() += 1;
            }
        }
        by_turns.sort();
        by_turns.into_iter().map(|(_, _, place)| place.clone()).collect()
    }

    /// Whether somebody may wait for its evidence: nobody does for what has an object already, unless more was added.
    pub(super) fn is_hurried(&self) -> bool {
        self.is_added || (self.fetched.is_none() && self.object.is_none())
    }

    /// Whether what was just found is all that there is: no place that had something is missing, and if nothing was found, no place is.
    /// One that never had anything, and fails, keeps nothing from being copied. Nor does one whose turn it wasn't; nor one of other
    /// namespaces than those that found something, if it hasn't answered for `patience`.
    pub(super) fn is_whole(&self, pieces: &[NewPiece], patience: i64, now: Timestamp) -> bool {
        let gives = |place: &&Known| place.gave == Some(true) && place.answered == Some(now);
        let found: BTreeSet<&String> = self.places.values().filter(gives).flat_map(|place| &place.namespaces).collect();
        let is_others = |place: &Known| !found.is_empty() && !place.namespaces.iter().any(|own| found.contains(own));
        let is_late = |place: &Known| place.answered.is_some_and(|at| after(at, patience) <= now);
        self.places.values().all(|place| match place.gave {
            Some(true) => gives(&place) || place.is_crowded_out || (is_late(place) && is_others(place)),
            Some(false) => !place.is_failing || !pieces.is_empty(),
            None => !pieces.is_empty(),
        })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_fetching || self.is_writing
    }

    pub(super) fn is_to_be_fetched(&self, renewed_after: Option<i64>, now: Timestamp) -> bool {
        if self.is_busy() || self.images.is_empty() || self.object.as_ref().is_some_and(|object| !object.is_ours) {
            return false;
        }
        // One that was deleted and is still shown is about to go. A clock that is wrong must not have it written all the time.
        let shown = self.object.as_ref().filter(|object| self.deleted.as_ref() != Some(&object.uid));
        let is_calm = self.failures == 0 && self.fetched.is_none_or(|fetched| after(fetched, CALM) <= now);
        self.due <= now || (is_calm && shown.is_some_and(|object| object.is_old(renewed_after, now)))
    }

    /// What is to be done with the object, by what was found. Nothing, if it is as it should be.
    pub(super) fn write(
        &self,
        digest: &str,
        pieces: &[NewPiece],
        renewed_after: Option<i64>,
        patience: i64,
        now: Timestamp,
    ) -> Option<EvidenceAction> {
        if self.images.is_empty() {
            return None;
        }
        let (digest, hash) = (digest.to_owned(), hash(pieces));
        let replaces = match &self.object {
            None => None,
            // What a registry doesn't say now, it may have said before.
            Some(object) if !object.is_ours || !self.is_whole(pieces, patience, now) => return None,
            Some(object) => {
                let is_same = object.hash.as_ref() == Some(&hash) && !object.is_edited;
                if is_same && !object.is_old(renewed_after, now) {
                    return None;
                }
                Some(object.uid.clone())
            }
        };
        if pieces.is_empty() {
            return replaces.map(|uid| EvidenceAction::Delete { digest, uid });
        }
        let object = new_object(&digest, pieces, &hash);
        Some(EvidenceAction::Write { digest, replaces, object })
    }

    pub(super) fn fail(&mut self, digest: &str, now: Timestamp) {
        self.failures += 1;
        // What was added meanwhile isn't in what failed.
        if !self.is_added {
            self.due = after(now, wait(RETRY, self.failures, digest));
        }
    }

    /// Somebody else changed the object. It isn't fetched each time that somebody does.
    pub(super) fn fetch_soon(&mut self, now: Timestamp) {
        let calm = self.fetched.map_or(now, |fetched| after(fetched, CALM));
        self.due = self.due.min(calm.max(now));
    }

    /// The object with this identity is gone.
    pub(super) fn gone(&mut self, uid: &str, now: Timestamp) {
        self.object.take_if(|object| object.uid == uid);
        if self.deleted.take_if(|deleted| deleted == uid).is_none() {
            self.written = 0;
            self.fetch_soon(now);
        }
    }
}
