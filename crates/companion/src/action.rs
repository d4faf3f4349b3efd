//! What the companion has done: each is an order to whoever does I/O.

use crate::event::Happened;
use crate::image::NamedImage;
use crate::scan::ScanId;
use crate::scanner::{Kind, NewObject};
use crate::workload::WorkloadReference;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Ask the engine what is known of an image, and observe [`Observation::Judged`].
    Judge(NamedImage),
    /// Create these objects in turn, and observe [`Observation::Asked`].
    Ask {
        /// The scan.
        id: ScanId,
        /// The attempt.
        attempt: u32,
        /// The objects.
        objects: Vec<NewObject>,
    },
    /// Delete this object of ours, if it still has this identity.
    Delete {
        /// Its kind.
        kind: Kind,
        /// Its name. It is where the scanner's objects are.
        name: String,
        /// Its identity.
        uid: String,
        /// Whether what depends on it stays.
        keeps_dependents: bool,
    },
    /// Write an Event about a workload.
    Tell {
        /// The workload.
        workload: WorkloadReference,
        /// The image, as it spells it.
        image: String,
        /// What happened.
        happened: Happened,
    },
    /// Make a controller that waits try again now.
    Wake(WorkloadReference),
}
