//! The first bound that a builtin exceeded, kept whatever the engine makes of its error.

use std::sync::{Arc, Mutex, PoisonError};

/// The error of the first builtin that exceeded a bound.
///
/// The engine drops an error inside of a function if another definition of that function has an answer. What was
/// evaluated then lacks a part, so that the decision must not rest on it: look here after each evaluation.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstExceededBound(Arc<Mutex<Option<String>>>);

impl FirstExceededBound {
    /// The error, if there was one since the last time.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes an error, unless there was one before.
    pub(super) fn note(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| text.to_owned());
    }
}
