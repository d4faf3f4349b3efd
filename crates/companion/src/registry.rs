//! A registry: how often it may be asked, and whether it answers.

use crate::backoff::wait;
use crate::budget::Budget;
use crate::settings::{Retry, Seconds};
use image_admission_untrusted::time::Timestamp;

/// The waits after a look-up that failed.
pub(crate) const LOOK_UP: Retry = Retry { first: Seconds(2), most: Seconds(600) };

/// A registry.
#[derive(Debug)]
pub(crate) struct Registry {
    budget: Budget,
    failures: u32,
    until: Option<Timestamp>,
}

impl Registry {
    /// A registry that may be asked so often in any minute.
    pub(crate) fn new(per_minute: usize) -> Self {
        Self { budget: Budget::new(per_minute), failures: 0, until: None }
    }

    /// It doesn't answer. It is asked again after a while, and not before it says, if it says when.
    pub(crate) fn fail(&mut self, host: &str, said: Option<Timestamp>, now: Timestamp) {
        // Look-ups that were under way together fail together.
        if self.until.is_none_or(|until| until <= now) {
            self.failures += 1;
            self.until = Some(Timestamp(now.0.saturating_add(wait(LOOK_UP, self.failures, host))));
        }
        self.until = self.until.max(said);
    }

    /// It answers. Returns whether it didn't before.
    pub(crate) fn succeed(&mut self) -> bool {
        let did_not = std::mem::take(&mut self.failures) > 0;
        if did_not {
            self.until = None;
        }
        did_not
    }

    /// Whether it may be asked now, which then counts as done.
    pub(crate) fn may_ask(&mut self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until <= now) && self.budget.spend(now)
    }
}
