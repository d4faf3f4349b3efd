//! Documents about container images: scan reports, SBOMs and VEX, in one form for all formats. Bytes in, findings out.
//!
//! ```text
//! document (scanners' own reports, one file for each format) ── finding ── severity · score
//! sbom (SPDX, CycloneDX) ── package ── purl · version (one file for each order of versions) · license
//! vex (OpenVEX, CycloneDX) ── vex/statement
//! unreadable_document (why a document can't be believed)
//! ```
//!
//! It never fetches a document, and never decides: callers decide which findings an image may have.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod document;
pub mod finding;
pub mod license;
pub mod package;
pub mod purl;
pub mod sbom;
pub mod score;
pub mod severity;
pub mod unreadable_document;
pub mod version;
pub mod vex;
