//! The companion: it has images scanned that need a report, so that nobody has to ask for it.
//!
//! ```text
//! workload (what runs) ── companion (what is known, what is to be done) ── scanner ── scan (names)
//!                           │                                                │ (one file for each)
//!                  observation, action (in, out)
//!                  image, scan_progress (what is remembered of each)
//!                  registry, turns, wakes, budget, backoff (when, and whose turn it is) · settings
//!
//! evidence (which images' signatures are copied into the cluster, and when) ── github (attestations that only its API has)
//! lease (who leads) · event, metrics, log (what is said, as text) · on_demand (a scan that a person asks for)
//! ```
//!
//! It decides nothing of an admission, and nothing that it writes is believed: the policy reads the scanner's reports, whoever asked
//! for them. It does no I/O: observations and the time come in, actions come out.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod action;
mod backoff;
mod budget;
mod companion;
pub mod event;
pub mod evidence;
pub mod github;
mod image;
pub mod lease;
pub mod log;
pub mod metrics;
mod observation;
pub mod on_demand;
mod registry;
mod scan;
mod scan_failure;
mod scan_progress;
mod scanner;
mod settings;
mod turns;
mod wakes;
mod workload;

pub use action::Action;
pub use companion::Companion;
pub use image::{NamedImage, UsedImages};
pub use observation::Observation;
pub use scan::{ScanId, Target};
pub use scan_failure::ScanFailure;
pub use scanner::{
    End, Judgement, Kind, NewObject, NoScanner, Presence, Request, SbomScanner, ScanJob, Scanner, Shared,
    TemplateProblem, TrivyOperator,
};
pub use settings::{
    AttestedImages, CompanionSettings, CopiedEvidence, GithubAttestations, Registries, Retry, SbomScannerScans,
    ScanJobSettings, Scans, Seconds, TrivyOperatorScans,
};
pub use workload::{COMPANION, MANAGED_BY, Workload, WorkloadReference};
