//! Container images: references, platforms, manifests, and where a Kubernetes object names its images.
//!
//! ```text
//! workload (kinds with a pod spec) ── workload_image (where it names images)
//!                                          │
//! pattern (names with `*`) ── reference ── internal (hosts that may be inside of the network)
//! platform ── manifest (an image's, or an index) ── manifest/proof (whether it is all that its digest says)
//! ```
//!
//! It never calls a registry: its callers bring the bytes.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod internal;
pub mod manifest;
mod pattern;
pub mod platform;
mod reference;
pub mod workload;
mod workload_image;

pub use internal::is_internal;
pub use pattern::{matches_image, names_of};
pub use reference::{ImageReference, MAX_REPOSITORY_LENGTH, ReferenceError, canonical_host, is_digest, is_host_like};
pub use workload_image::{ImageList, NotAnImage, UnreadableObject, WorkloadImage, images};
