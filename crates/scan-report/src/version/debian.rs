//! dpkg's versions: `epoch:upstream-revision`.

use super::{is_number, numbers, split_while};
use std::cmp::Ordering;
use std::iter;

struct Version<'a> {
    epoch: &'a str,
    upstream: &'a str,
    revision: &'a str,
}

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (Version::read(one)?, Version::read(other)?);
    let epochs = numbers(one.epoch, other.epoch);
    Some(epochs.then_with(|| part(one.upstream, other.upstream)).then_with(|| part(one.revision, other.revision)))
}

impl<'a> Version<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (epoch, rest) = text.split_once(':').unwrap_or(("0", text));
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
        let is_made_of = |text: &str, more: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
        (is_number(epoch)
            && upstream.starts_with(|c: char| c.is_ascii_digit())
            && is_made_of(upstream, ".+~:-")
            && !revision.is_empty()
            && is_made_of(revision, ".+~"))
        .then_some(Self { epoch, upstream, revision })
    }
}

/// Compares non-digits and digits in turn. Among non-digits, `~` comes before the end, and letters before other characters.
fn part(mut one: &str, mut other: &str) -> Ordering {
    while !one.is_empty() || !other.is_empty() {
        let (text, rest) = split_while(one, |c| !c.is_ascii_digit());
        let (other_text, other_rest) = split_while(other, |c| !c.is_ascii_digit());
        let order = weights(text).cmp(weights(other_text));
        if order.is_ne() {
            return order;
        }
        let (digits, rest) = split_while(rest, |c| c.is_ascii_digit());
        let (other_digits, other_rest) = split_while(other_rest, |c| c.is_ascii_digit());
        let order = numbers(digits, other_digits);
        if order.is_ne() {
            return order;
        }
        (one, other) = (rest, other_rest);
    }
    Ordering::Equal
}

fn weights(text: &str) -> impl Iterator<Item = i32> {
    let weight = |b: u8| match b {
        b'~' => -1,
        b if b.is_ascii_alphabetic() => i32::from(b),
        b => i32::from(b) + 256,
    };
    text.bytes().map(weight).chain(iter::once(0))
}
