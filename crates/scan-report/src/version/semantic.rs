//! Semantic versions (npm, Cargo, Go, Hex, Swift), and NuGet's, which have a fourth number and ignore case.
//!
//! This accepts more than the specification: a `v` before the version, and more or fewer numbers than three; missing ones are 0.
//! The part behind `+` doesn't count.

use super::{is_number, numbers};
use std::cmp::Ordering;

struct Version<'a> {
    numbers: Vec<&'a str>,
    /// Empty for a release.
    before_release: Vec<&'a str>,
}

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (Version::read(one)?, Version::read(other)?);
    let length = one.numbers.len().max(other.numbers.len());
    for at in 0..length {
        let (number, other_number) = (one.number(at), other.number(at));
        let order = numbers(number, other_number);
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(match (one.before_release.is_empty(), other.before_release.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => before_release(&one.before_release, &other.before_release),
    })
}

/// Compares part by part: a number is less than a word, and fewer parts are less.
fn before_release(one: &[&str], other: &[&str]) -> Ordering {
    let parts = one.iter().zip(other).map(|(one, other)| match (is_number(one), is_number(other)) {
        (true, true) => numbers(one, other),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        // NuGet ignores case; elsewhere no two versions differ only in case.
        (false, false) => one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase()),
    });
    parts.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
}

impl<'a> Version<'a> {
    fn number(&self, at: usize) -> &'a str {
        self.numbers.get(at).copied().unwrap_or("0")
    }

    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(text, _)| text);
        let (numbers, before_release) = match text.split_once('-') {
            Some((numbers, rest)) => (numbers, rest.split('.').collect()),
            None => (text, Vec::new()),
        };
        let numbers: Vec<&str> = numbers.split('.').collect();
        let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        (numbers.iter().all(|number| is_number(number)) && before_release.iter().all(is_word))
            .then_some(Self { numbers, before_release })
    }
}
