//! A reader against registries on loopback that do what they shouldn't.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that can't go on must fail")]
