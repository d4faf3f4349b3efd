//! Runs the policy's module as the server does, and answers what it asks.
//!
//! ```text
//! runtime ── the module, a clean instance for each request (in a browser the engine, which it is made of)
//!    │
//! answers ── its host calls: from files, a recording, or a live registry and cluster
//!    │
//! disk ── where files are (in a browser in memory)
//!
//! piece ── evidence, as tools write it
//!    │
//! repository ── what stands beside an image in a live registry, which no call of the module changes
//! ```
//!
//! `runtime` and `answers` are at the level of the wire: JSON bytes in, JSON bytes or an error string out. Nothing here decides.

pub mod answers;
pub mod disk;
pub mod piece;
#[cfg(feature = "live")]
pub mod repository;
pub mod runtime;
