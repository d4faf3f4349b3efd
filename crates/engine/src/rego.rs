//! The rules of one request: those that are about it, what they see, and their results.
//!
//! ```text
//! rules ──┬── policies (`regoPolicies`) ── patch, hash
//!         ├── phases (`preCustomRules`, `customRules`)
//!         ├── input, cluster: what they see ── seen: what of that is logged
//!         └── shown: values in messages, by their type
//! ```
//!
//! A request whose kind no rule is about doesn't use Rego at all.

mod cluster;
mod hash;
mod input;
mod patch;
mod phases;
mod policies;
mod rules;
mod seen;
mod shown;

pub use policies::PolicyOutcome;
pub(crate) use rules::{PoliciesSaid, RequestRules};
pub(crate) use seen::{HIDDEN, hide};
pub use seen::{Seen, SeenModule};
