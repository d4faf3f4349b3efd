//! Judges an image by what is known of it: where reports come from, which of them count, and what their verdict is.
//!
//! ```text
//! resolve (one digest, its platforms) ── report ── report/source ── acceptance ── exemption, running, vex, exploited
//!                                          │      (one file for each source)          │
//!                                   attached (what is signed of it)    package (its SBOM)
//! configuration (what it is)
//! reason (why, as data, and the words of it)
//! ```
//!
//! It never sees a request, and never decides one. It judges images, and its caller runs the phases.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod acceptance;
mod attached;
mod comparisons;
mod configuration;
pub mod exemption;
mod exploited;
mod package;
pub mod reason;
pub mod report;
pub mod resolve;
pub mod running;
mod vex;
