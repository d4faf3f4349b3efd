//! One digest: where its evidence may be, when it is fetched, and what becomes of its object.

use super::object::{KnownObject, NewPiece, hash, new_object};
use super::place::Place;
use super::{EvidenceAction, RETRY, after};
use crate::backoff::wait;
use crate::settings::GithubAttestations;
use image_admission_untrusted::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How long after a fetch there is none for what others do to an object.
pub(super) const CALM: i64 = 60;

/// A digest that is used, or that has an object.
#[derive(Debug)]
pub(super) struct Digest {
    /// Where it is used: `host/repository@digest`.
    pub(super) images: BTreeSet<String>,
    /// Where its evidence may be, and what is known of it there.
    pub(super) places: BTreeMap<Place, Known>,
    /// Since when it isn't used.
    pub(super) unused: Option<Timestamp>,
    /// When it is fetched next.
    pub(super) due: Timestamp,
    /// When it was fetched last, and when that began.
    pub(super) fetched: Option<Timestamp>,
    pub(super) began: Option<Timestamp>,
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
    /// The identity of the object that was deleted last, and hasn't been seen to go.
    pub(super) deleted: Option<String>,
}

/// What is known of a place.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Whether it had evidence when it last answered.
    pub(super) gave: Option<bool>,
    /// Whether it failed since.
    pub(super) is_failing: bool,
    /// When it was asked last.
    pub(super) asked: Option<Timestamp>,
}

impl Digest {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            images: BTreeSet::new(),
            places: BTreeMap::new(),
            unused: Some(now),
            due: now,
            fetched: None,
            failures: 0,
            left_open: 0,
            began: None,
            is_added: false,
            is_fetching: false,
            is_writing: false,
            is_held: false,
            object: None,
            deleted: None,
        }
    }

    pub(super) fn set_images(&mut self, images: BTreeSet<String>, github: Option<&GithubAttestations>, now: Timestamp) {
        self.unused = if images.is_empty() { self.unused.or(Some(now)) } else { None };
        if self.images != images {
            let github = github.map(|github| github.repositories_of(&images)).unwrap_or_default();
            let places = images.iter().cloned().map(Place::Image).chain(github.into_iter().map(Place::Github));
            let mut before = std::mem::take(&mut self.places);
            self.places =
                places.map(|place| before.remove_entry(&place).unwrap_or((place, Known::default()))).collect();
            // Its evidence may be where nobody has looked yet.
            if self.places.values().any(|place| place.asked.is_none()) {
                self.fetch_soon(now);
            }
            self.images = images;
        }
    }

    /// Where it is asked for next: first where evidence was found, then where nobody has looked yet, then elsewhere by turns. Whoever
    /// names the digest in a repository of theirs takes no place of those that have something.
    pub(super) fn by_turns(&self) -> Vec<Place> {
        let mut places: Vec<(bool, Option<Timestamp>, &Place)> =
            self.places.iter().map(|(place, known)| (known.gave != Some(true), known.asked, place)).collect();
        places.sort();
        places.into_iter().map(|(_, _, place)| place.clone()).collect()
    }

    /// Whether somebody may wait for its evidence: nobody does for what has an object already, unless more was added.
    pub(super) fn is_hurried(&self) -> bool {
        self.is_added || (self.fetched.is_none() && self.object.is_none())
    }

    /// Whether what was just found is all that there is: no place that had something is missing, and if nothing was found, no place is.
    /// One that never had anything, and fails, keeps nothing from being copied.
    pub(super) fn is_whole(&self, pieces: &[NewPiece]) -> bool {
        self.places.values().all(|place| match place.gave {
            Some(true) => !place.is_failing && place.asked == self.began,
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
        now: Timestamp,
    ) -> Option<EvidenceAction> {
        if self.images.is_empty() {
            return None;
        }
        let (digest, hash) = (digest.to_owned(), hash(pieces));
        let replaces = match &self.object {
            None => None,
            // What a registry doesn't say now, it may have said before.
            Some(object) if !object.is_ours || !self.is_whole(pieces) => return None,
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
            self.fetch_soon(now);
        }
    }
}
