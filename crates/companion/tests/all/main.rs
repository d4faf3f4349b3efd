//! The companion in a cluster that is played.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod evidence;
mod laws;
mod scanners;
mod stories;
mod tenants;
mod world;
