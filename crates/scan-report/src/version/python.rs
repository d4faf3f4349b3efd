//! Python's versions, as in PEP 440: `1!2.0rc1.post2.dev3+local`.
//!
//! The library has no numbers beyond 64 bits: versions with such a number can't be compared.

use pep440_rs::{LocalSegment, Version};
use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(read(one)?.cmp(&read(other)?))
}

fn read(text: &str) -> Option<Version> {
    let version: Version = text.trim().parse().ok()?;
    // The library reads a large number in a local part as a word, which is less than every number.
    let is_large = |segment: &LocalSegment| matches!(segment, LocalSegment::String(digits) if digits.bytes().all(|b| b.is_ascii_digit()));
    (!version.local().iter().any(is_large)).then_some(version)
}
