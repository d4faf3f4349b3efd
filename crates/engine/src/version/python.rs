//! Python's versions, as PEP 440 has them: `1!2.0rc1.post2.dev3+local`.
//!
//! The library has no numbers beyond 64 bits: a version with one can't be compared, and in its local part it counts as a word.

use pep440_rs::Version;
use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let read = |text: &str| text.trim().parse::<Version>().ok();
    Some(read(one)?.cmp(&read(other)?))
}
