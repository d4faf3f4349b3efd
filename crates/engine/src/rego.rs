//! Rego: custom rules of the phases, and policies by kind.
//!
//! ```text
//! engine     modules evaluated within bounds
//!    │
//! request    the rules of one request: what they see, change and say
//!    │
//! deployment what is refused when the policy is deployed
//!    │
//! conformance what OPA's own cases ask: the evaluator as rules of the settings have it
//! ```
//!
//! Each room uses those above it, and none below: requests are decided without what is only checked when the policy is
//! deployed. The engine is regorus. Nothing of it is touched by a request whose kind no rule looks at.

pub mod conformance;
mod deployment;
mod engine;
mod request;

pub(crate) use deployment::{check, silent_denials, unseen};
pub(crate) use engine::Budget;
pub use engine::image_has_prefix;
pub use engine::make_alike;
pub use request::generated;
pub(crate) use request::{HIDDEN, PoliciesSaid, RequestRules, hide};
pub use request::{PolicyOutcome, Seen, SeenModule};
