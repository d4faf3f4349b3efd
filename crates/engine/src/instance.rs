//! What becomes of memory that a request no longer needs.
//!
//! The policy server starts every request from a clean instance and throws that away, with all its memory. Taking large
//! values apart before is an eighth of what a request with rules costs, for nobody. So whoever runs the engine may say
//! that it needn't.

use std::sync::OnceLock;

static LEAVES: OnceLock<fn() -> bool> = OnceLock::new();

/// Lets the engine leave large values in memory when they are no longer needed, as long as `may` says yes. What runs one
/// request after the other in the same memory says no before that is used up. The first to be given stays.
pub fn leave_memory(may: fn() -> bool) {
    let _ = LEAVES.set(may);
}

/// Drops a value that nothing needs any more, or leaves it where it is. Not for what does anything when it is dropped.
pub(crate) fn done_with<T>(value: T) {
    if LEAVES.get().is_some_and(|may| may()) {
        std::mem::forget(value);
    }
}
