//! Attestors: whether somebody whom the settings name vouches for an artifact, and what they say of it.
//!
//! ```text
//! verifier (what one request asked, and knows) ── piece (evidence, held against an attestor) ── identity (whose certificate it is)
//!    ├── cluster (keys, trust roots, objects with evidence) ── revoked (certificates that no longer count)
//!    └── referrers, artifact (what stands beside an artifact in its registry)
//! ```
//!
//! The host's word counts, and so does evidence that an attestor signed. Who brought it doesn't. It never decides what follows for
//! an image, and never reads what is stated.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod artifact;
mod cluster;
mod failure;
mod identity;
mod piece;
pub mod referrers;
mod revoked;
mod verifier;

pub use failure::{Asked, Failure};
pub use piece::{Piece, Refused};
pub use verifier::{Refusal, Verdict, Verifier};
