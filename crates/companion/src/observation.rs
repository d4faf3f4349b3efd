//! What the companion is told: what runs, what the scanner has, and what came of its actions.

use crate::image::NamedImage;
use crate::scan::ScanId;
use crate::scan_failure::ScanFailure;
use crate::scanner::{Judgement, Request, Shared};
use crate::workload::Workload;
use image_admission_image::workload::WorkloadKind;
use std::collections::BTreeSet;

/// Something that was seen.
#[derive(Debug, Clone)]
pub enum Observation {
    /// A workload as it is now; none: it runs nothing, or is gone.
    Workload {
        /// Its identity.
        uid: String,
        /// What it is.
        workload: Option<Workload>,
    },
    /// All workloads of a kind, by their identities: others of this kind are gone.
    Workloads(WorkloadKind, BTreeSet<String>),
    /// Whether the policy leaves out a namespace.
    Namespace {
        /// Its name.
        name: String,
        /// Whether it does.
        is_left_out: bool,
    },
    /// What the engine says of an image.
    Judged(NamedImage, Judgement),
    /// A request of ours as it is now.
    Request(Request),
    /// All requests of ours, by their identities: others are gone.
    Requests(BTreeSet<String>),
    /// A request of ours is gone.
    RequestGone(Request),
    /// What requests of ours share, as it is now.
    Shared(Shared),
    /// All that is shared, by its identities: others are gone.
    AllShared(BTreeSet<String>),
    /// What requests of ours share is gone.
    SharedGone(Shared),
    /// A report that came from a request of ours has come, has changed, or is gone.
    Report(ScanId, u32),
    /// The evidence of a digest in the cluster has come, has changed, or is gone.
    Evidence {
        /// The digest.
        digest: String,
        /// The images with this digest, as [`Companion::used`](crate::Companion::used) names them. None if it is gone.
        images: BTreeSet<String>,
    },
    /// A request of ours was created, or wasn't.
    Asked {
        /// The scan.
        id: ScanId,
        /// The attempt.
        attempt: u32,
        /// Why it wasn't.
        result: Result<(), ScanFailure>,
    },
}
