//! The rules of one request: those that are about it, what they see, and what they say.
//!
//! ```text
//! rules ──┬── policies (`regoPolicies`) ── patch, hash
//!         ├── phases (`preCustomRules`, `customRules`)
//!         └── input, cluster: what they see ── seen: what of that is logged
//! ```
//!
//! Nothing of Rego is touched by a request whose kind no rule looks at.

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
