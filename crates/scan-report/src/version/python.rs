//! Python's versions, as PEP 440 has them: `1!2.0rc1.post2.dev3+local`.
//!
//! The library has no numbers beyond 64 bits: a version with one can't be compared.

use pep440_rs::{LocalSegment, Version};
use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(read(one)?.cmp(&read(other)?))
}

fn read(text: &str) -> Option<Version> {
    let version: Version = text.trim().parse().ok()?;
    // To the library a large number of a local part is a word, which is less than every number.
    let is_large = |segment: &LocalSegment| matches!(segment, LocalSegment::String(digits) if digits.bytes().all(|b| b.is_ascii_digit()));
    (!version.local().iter().any(is_large)).then_some(version)
}
