//! Runs the companion: watches the cluster, asks registries, and does what the companion says.
//!
//! ```text
//! run (leads or waits: lease, http, shutdown) ── work (what is seen, what is done) ── watch (sparse: as much as is needed), policy
//!                           │                          └─── act (writes to the cluster)
//!                           │                └──── evidence (from registries and, by `github`, its API into the cluster)
//!                         judge (asks the policy's engine) ── cluster (what watches have seen), registries
//! ```
//!
//! `on_demand` is the other side: how a person asks for a scan, and waits for it.
//!
//! It decides nothing: which image needs a scan the policy's engine says, and when it is asked for `companion` says.

mod act;
mod clock;
mod cluster;
mod events;
pub mod evidence;
mod github;
pub mod http;
mod judge;
pub mod lease;
mod log;
mod objects;
mod on_demand;
mod policy;
mod run;
pub mod shutdown;
mod sparse;
mod watch;
mod work;

pub use image_admission_registry_reader::{ApiToken, TokenError};
pub use on_demand::{News, ScanOptions, ScanTiming, Tried, scan, try_image};
pub use run::{Options, RunError, run};
