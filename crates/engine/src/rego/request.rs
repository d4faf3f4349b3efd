//! The rules of one request: those that are about it, what they see, and what they say.
//!
//! ```text
//! rules ──┬── policies (`regoPolicies`) ── library (what a module refers to), patch, hash
//!         ├── phases (`preCustomRules`, `customRules`) ── generated (what the settings say, in Rego)
//!         └── input, cluster: what they see ── seen: what of that is logged
//! ```

mod asked;
mod cluster;
pub mod generated;
mod hash;
mod input;
mod library;
mod patch;
mod phases;
mod policies;
mod rules;
mod seen;
mod shown;

pub(crate) use asked::Asked;
pub(crate) use input::ImageQuestion;
pub(crate) use library::{Pool, package, unmet};
pub(crate) use phases::{Modules, Phase, load_modules, with_package};
pub use policies::PolicyOutcome;
pub(crate) use policies::asked;
pub(crate) use rules::{PoliciesSaid, RequestRules};
pub(crate) use seen::{HIDDEN, hide};
pub use seen::{Seen, SeenModule};
