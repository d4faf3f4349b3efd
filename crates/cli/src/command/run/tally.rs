//! How many requests were decided in which way, and with what exit code that ends.

use std::fmt;

use crate::command::Ending;

/// How many requests were decided in which way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    allowed: usize,
    denied: usize,
    /// Those without a decision.
    pub(super) unanswered: usize,
}

impl Tally {
    /// Counts a decision.
    pub(super) fn count(&mut self, is_allowed: bool) {
        *(if is_allowed { &mut self.allowed } else { &mut self.denied }) += 1;
    }

    /// The ending that the requests have together: the worst of them.
    pub(super) fn ending(self) -> Ending {
        match (self.denied, self.unanswered) {
            (0, 0) => Ending::Allowed,
            (_, 0) => Ending::Denied,
            (_, _) => Ending::Failed,
        }
    }
}

/// `3 requests: 1 allowed, 2 denied`
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allowed, denied, unanswered } = self;
        write!(f, "{} requests", allowed + denied + unanswered)?;
        let parts = [(allowed, "allowed"), (denied, "denied"), (unanswered, "without an answer")];
        for (index, (number, what)) in parts.into_iter().filter(|(number, _)| **number > 0).enumerate() {
            write!(f, "{} {number} {what}", if index == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}
