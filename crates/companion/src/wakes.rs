//! Controllers that wait for Pods, and are made to try again when their images are scanned.

use image_admission_untrusted::time::Timestamp;
use std::collections::BTreeMap;

/// After how many seconds a controller is made to try again, as long as it lacks Pods: policy servers see a report no sooner than we do.
const WAITS: [i64; 3] = [1, 4, 10];

/// Controllers that are to try again, by their identities: when, and how often they were made to.
#[derive(Debug, Default)]
pub(crate) struct Wakes(BTreeMap<String, (Timestamp, usize)>);

/// A controller that is to try again now.
pub(crate) struct Due {
    pub(crate) uid: String,
    times: usize,
}

impl Wakes {
    /// A controller is to try again soon.
    pub(crate) fn begin(&mut self, uid: String, now: Timestamp) {
        self.set(uid, 0, now);
    }

    /// Those that are to try again now, who are forgotten until it is said that they were made to.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<Due> {
        self.0.extract_if(.., |_, (due, _)| *due <= now).map(|(uid, (_, times))| Due { uid, times }).collect()
    }

    /// A controller was made to try again, and may have to once more.
    pub(crate) fn woken(&mut self, due: Due, now: Timestamp) {
        self.set(due.uid, due.times + 1, now);
    }

    fn set(&mut self, uid: String, times: usize, now: Timestamp) {
        if let Some(wait) = WAITS.get(times) {
            self.0.insert(uid, (Timestamp(now.0.saturating_add(*wait)), times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_made_to_try_again_three_times() {
        let mut wakes = Wakes::default();
        wakes.begin("1".to_owned(), Timestamp(0));
        let mut woken = Vec::new();
        for now in 0..60 {
            for due in wakes.take_due(Timestamp(now)) {
                woken.push((now, due.uid.clone()));
                wakes.woken(due, Timestamp(now));
            }
        }
        assert_eq!(woken, [1, 5, 15].map(|now| (now, "1".to_owned())));
    }

    #[test]
    fn one_that_waits_no_more_is_left_alone() {
        let mut wakes = Wakes::default();
        wakes.begin("1".to_owned(), Timestamp(0));
        assert_eq!(wakes.take_due(Timestamp(1)).len(), 1);
        assert_eq!(wakes.take_due(Timestamp(60)).len(), 0);
    }
}
