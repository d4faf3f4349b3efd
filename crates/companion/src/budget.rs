//! How often something may be done in a minute, and how much of anything is one namespace's.

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
        let is_left = self.is_left(false, now);
        if is_left {
            self.done.push_back(now);
        }
        is_left
    }

    /// Whether one is left; for what has time, whether more than half is, so that what is in a hurry finds some.
    pub(crate) fn is_left(&mut self, has_time: bool, now: Timestamp) -> bool {
        while self.done.front().is_some_and(|done| done.0 <= now.0.saturating_sub(MINUTE)) {
            self.done.pop_front();
        }
        let most = if has_time { self.per_minute.div_ceil(2) } else { self.per_minute };
        self.done.len() < most
    }
}

/// How much of something one namespace may take: a fifth is left for others.
pub(crate) fn most_of_one(all: usize) -> usize {
    (all - all / 5).max(1)
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
        let (mut budget, now) = (Budget::new(4), Timestamp(0));
        let left: Vec<(bool, bool)> =
            (0..4).map(|_| (budget.is_left(true, now), budget.is_left(false, now) && budget.spend(now))).collect();
        assert_eq!(left, [(true, true), (true, true), (false, true), (false, true)]);
        assert!(!budget.is_left(false, now));
        assert!(Budget::new(1).is_left(true, now));
    }
}
