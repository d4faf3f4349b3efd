//! How often something may be done in a minute.

use image_admission_untrusted::time::Timestamp;
use std::collections::VecDeque;

const MINUTE: i64 = 60;

/// When something was done within the last minute: at most so often.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    per_minute: usize,
    done: VecDeque<Timestamp>,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub(crate) fn new(per_minute: usize) -> Self {
        Self { per_minute, done: VecDeque::new() }
    }

    /// Spends one, if one is left in the minute before `now`.
    pub(crate) fn spend(&mut self, now: Timestamp) -> bool {
        self.spend_of(self.per_minute, now)
    }

    /// Spends one if more than half is left, so that what is in a hurry finds some.
    pub(crate) fn spend_without_hurry(&mut self, now: Timestamp) -> bool {
        self.spend_of(self.per_minute.div_ceil(2), now)
    }

    fn spend_of(&mut self, most: usize, now: Timestamp) -> bool {
        while self.done.front().is_some_and(|done| done.0 <= now.0.saturating_sub(MINUTE)) {
            self.done.pop_front();
        }
        let is_left = self.done.len() < most;
        if is_left {
            self.done.push_back(now);
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_has_more() {
        let mut budget = Budget::new(3);
        let spent: Vec<i64> = (0..200).filter(|now| budget.spend(Timestamp(*now))).collect();
        assert_eq!(spent, [0, 1, 2, 60, 61, 62, 120, 121, 122, 180, 181, 182]);
    }

    #[test]
    fn half_is_kept_for_what_is_in_a_hurry() {
        let mut budget = Budget::new(4);
        let now = Timestamp(0);
        let spent = [false, false, false, true, true, true]
            .map(|is_in_hurry| if is_in_hurry { budget.spend(now) } else { budget.spend_without_hurry(now) });
        assert_eq!(spent, [true, true, false, true, true, false]);
        assert!(Budget::new(1).spend_without_hurry(now));
    }
}
