//! RubyGems' versions: numbers and words. A word makes a pre-release.

use super::{is_number, numbers, split_while};
use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (segments(one)?, segments(other)?);
    let length = one.len().max(other.len());
    for at in 0..length {
        let (one, other) = (one.get(at).copied().unwrap_or("0"), other.get(at).copied().unwrap_or("0"));
        let order = match (is_number(one), is_number(other)) {
            (true, true) => numbers(one, other),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => one.cmp(other),
        };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

/// The numbers and the words, without zeros at the end of the release and at the end of the version.
fn segments(text: &str) -> Option<Vec<&str>> {
    let text = text.trim();
    let mut segments: Vec<&str> = Vec::new();
    for (number, part) in text.split('-').enumerate() {
        // A hyphen begins a pre-release.
        if number > 0 {
            segments.push("pre");
        }
        for part in part.split('.') {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return None;
            }
            let mut rest = part;
            while !rest.is_empty() {
                let is_digit = rest.starts_with(|c: char| c.is_ascii_digit());
                let (segment, behind) = split_while(rest, |c| c.is_ascii_digit() == is_digit);
                segments.push(segment);
                rest = behind;
            }
        }
    }
    if !segments.first().is_some_and(|first| is_number(first)) {
        return None;
    }
    let words = segments.iter().position(|segment| !is_number(segment)).unwrap_or(segments.len());
    let mut behind = segments.split_off(words);
    without_zeros(&mut segments);
    without_zeros(&mut behind);
    segments.append(&mut behind);
    Some(segments)
}

fn without_zeros(segments: &mut Vec<&str>) {
    while segments.last().is_some_and(|last| last.bytes().all(|b| b == b'0')) {
        segments.pop();
    }
}
