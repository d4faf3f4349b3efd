//! How long to wait before something that failed is tried again.

use crate::settings::Retry;
use sha2::{Digest, Sha256};

/// The seconds to wait after so many failures in a row: the first wait, doubled each time, and up to a fifth longer, so that what
/// failed together isn't tried together. The name of what failed decides how much, so that the same input gives the same wait.
pub(crate) fn wait(retry: Retry, failures: u32, name: &str) -> i64 {
    let doubled = 1_i64.checked_shl(failures.saturating_sub(1)).filter(|factor| *factor > 0).unwrap_or(i64::MAX);
    let wait = retry.first.0.saturating_mul(doubled).min(retry.most.0);
    wait.saturating_add(spread(name, wait / 5))
}

/// A number from 0 to `most`, by a name.
pub(crate) fn spread(name: &str, most: i64) -> i64 {
    let hash = Sha256::digest(name);
    let part = hash.iter().take(4).fold(0_i64, |number, byte| number * 256 + i64::from(*byte));
    part.checked_rem(most.saturating_add(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Seconds;

    #[test]
    fn waits_double_up_to_the_longest() {
        let retry = Retry { first: Seconds(60), most: Seconds(21_600) };
        let waits: Vec<i64> = [1, 2, 3, 8, 9, 10, 63, 64, u32::MAX].map(|failures| wait(retry, failures, "a")).to_vec();
        for (wait, least) in waits.iter().zip([60, 120, 240, 7_680, 15_360, 21_600, 21_600, 21_600, 21_600]) {
            assert!((least..=least + least / 5).contains(wait), "{wait} for {least}");
        }
        assert_eq!(wait(Retry { first: Seconds(1), most: Seconds(1) }, 0, "a"), 1);
    }

    #[test]
    fn names_are_spread() {
        let waits: std::collections::BTreeSet<i64> =
            (0..100).map(|name: i32| spread(&name.to_string(), 1_000)).collect();
        assert!(waits.len() > 90);
        assert!(waits.iter().all(|wait| (0..=1_000).contains(wait)));
        assert_eq!((spread("a", 0), spread("a", -1)), (0, 0));
    }
}
