//! Rego as the policy has it: OPA's language on regorus, evaluated within bounds, and refused where it can't be.
//!
//! ```text
//! evaluation modules evaluated within bounds
//!    │
//! rules      which rules the settings have: those of the phases with what is generated beside them, and policies with libraries
//!    │
//! deployment what is refused when the policy is deployed
//!    │
//! conformance OPA's own cases, asked of the evaluator as rules have it
//! ```
//!
//! Each module uses only those above it: decisions about requests don't need the checks of a deployment. This crate never sees a
//! request: its callers give rules their input, and read what they say.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod conformance;
mod deployment;
pub mod evaluation;
pub mod rules;

pub use deployment::{check, silent_denials, unseen};
