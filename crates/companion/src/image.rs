//! An image that workloads use, and what the engine said of it.

use crate::scan::ScanId;
use crate::scan_failure::ScanFailure;
use crate::scanner::Presence;
use image_admission_image::ImageReference;
use image_admission_untrusted::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// An image as a workload of a namespace spells it: settings may judge it differently in another namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedImage {
    /// The namespace.
    pub namespace: String,
    /// The string in the workload.
    pub image: String,
}

/// Images that are used, each with the namespaces that use it.
pub type UsedImages = BTreeMap<String, BTreeSet<String>>;

/// An image that is looked after.
#[derive(Debug)]
pub(crate) struct Image {
    /// The host of its registry, if it is an image reference.
    pub(crate) registry: Option<String>,
    /// The identities of the workloads that use it.
    pub(crate) users: BTreeSet<String>,
    /// When it is judged next.
    pub(crate) due: Timestamp,
    pub(crate) is_being_judged: bool,
    pub(crate) was_judged: bool,
    /// How often in a row it couldn't be looked up.
    pub(crate) failures: u32,
    /// Why the scanner can't be asked for it.
    pub(crate) impossible: Option<ScanFailure>,
    /// Its scans, and whether each is there.
    pub(crate) scans: BTreeMap<ScanId, Presence>,
}

impl NamedImage {
    /// `host/repository:tag`, or `host/repository@digest` where the digest is known, if it is an image reference.
    pub(crate) fn name(&self) -> Option<String> {
        let reference = ImageReference::parse(&self.image).ok()?;
        Some(reference.digest().map_or_else(|| reference.text(), |digest| reference.at(digest)))
    }

    /// The host of its registry, if it is an image reference.
    pub(crate) fn registry(&self) -> Option<String> {
        ImageReference::parse(&self.image).ok().map(|reference| reference.host().to_owned())
    }
}

impl Image {
    /// One that is looked after from now on.
    pub(crate) fn new(named: &NamedImage, now: Timestamp) -> Self {
        Self {
            registry: named.registry(),
            users: BTreeSet::new(),
            due: now,
            is_being_judged: false,
            was_judged: false,
            failures: 0,
            impossible: None,
            scans: BTreeMap::new(),
        }
    }

    /// Whether a report is missing, or can't be had.
    pub(crate) fn lacks(&self) -> bool {
        self.impossible.is_some() || self.scans.values().any(|presence| *presence != Presence::Reported)
    }
}
