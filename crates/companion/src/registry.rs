//! A registry: how often it may be asked, and whether it answers.

use crate::backoff::wait;
use crate::budget::Budget;
use crate::settings::{Retry, Seconds};
use image_admission_untrusted::time::Timestamp;

/// The waits after a look-up that failed.
pub(crate) const LOOK_UP: Retry = Retry { first: Seconds(2), most: Seconds(600) };

/// How many questions a registry has at once: one that stays silent holds up no other.
const ASKED_AT_ONCE: usize = 4;

/// A registry.
#[derive(Debug)]
pub(crate) struct Registry {
    budget: Budget,
    failures: u32,
    until: Option<Timestamp>,
    /// How many questions it hasn't answered yet.
    asked: usize,
}

impl Registry {
    /// A registry that may be asked so often in any minute.
    pub(crate) fn new(per_minute: usize) -> Self {
        Self { budget: Budget::new(per_minute), failures: 0, until: None, asked: 0 }
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

    /// Whether it may be asked now; what has time leaves half of the budget to what is in a hurry.
    pub(crate) fn is_open(&mut self, has_time: bool, now: Timestamp) -> bool {
        let answers = self.until.is_none_or(|until| until <= now);
        answers && self.asked < ASKED_AT_ONCE && self.budget.is_left(has_time, now)
    }

    /// It is asked.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.budget.spend(now);
        self.asked += 1;
    }

    /// It has answered, or failed.
    pub(crate) fn end(&mut self) {
        self.asked = self.asked.saturating_sub(1);
    }

    /// Whether an answer is awaited.
    pub(crate) fn is_busy(&self) -> bool {
        self.asked > 0
    }
}
