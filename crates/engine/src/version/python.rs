//! Python's versions, as PEP 440 has them: `1!2.0rc1.post2.dev3+local`.

use super::{numbers, split_while};
use std::cmp::Ordering;

/// A version's parts, each with a rank before its number where it may be missing.
struct Version<'a> {
    epoch: &'a str,
    release: Vec<&'a str>,
    before: (u8, &'a str),
    after: (u8, &'a str),
    development: (u8, &'a str),
    local: Vec<&'a str>,
}

/// The words for what comes before a release, each with its rank. Longer ones first: some begin like others.
const BEFORE: [(&str, u8); 8] =
    [("alpha", 1), ("beta", 2), ("preview", 3), ("pre", 3), ("rc", 3), ("a", 1), ("b", 2), ("c", 3)];
/// The words for what comes after one.
const AFTER: [&str; 3] = ["post", "rev", "r"];

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (one.trim().to_ascii_lowercase(), other.trim().to_ascii_lowercase());
    let (one, other) = (Version::read(&one)?, Version::read(&other)?);
    let ranked = |one: (u8, &str), other: (u8, &str)| one.0.cmp(&other.0).then_with(|| numbers(one.1, other.1));
    let order = numbers(one.epoch, other.epoch)
        .then_with(|| release(&one.release, &other.release))
        .then_with(|| ranked(one.before, other.before))
        .then_with(|| ranked(one.after, other.after))
        .then_with(|| ranked(one.development, other.development))
        .then_with(|| local(&one.local, &other.local));
    Some(order)
}

fn release(one: &[&str], other: &[&str]) -> Ordering {
    let at = |of: &[&str], at: usize| of.get(at).copied().unwrap_or("0").to_owned();
    let places = 0..one.len().max(other.len());
    places
        .map(|place| numbers(&at(one, place), &at(other, place)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// A word is less than a number, and who has fewer parts is less.
fn local(one: &[&str], other: &[&str]) -> Ordering {
    let is_number = |text: &str| super::is_number(text);
    let parts = one.iter().zip(other).map(|(one, other)| match (is_number(one), is_number(other)) {
        (true, true) => numbers(one, other),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => one.cmp(other),
    });
    parts.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
}

impl<'a> Version<'a> {
    /// Of a text in lower case.
    fn read(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, local) = match text.split_once('+') {
            Some((text, local)) => (text, local.split(['.', '-', '_']).collect()),
            None => (text, Vec::new()),
        };
        if local.iter().any(|part: &&str| part.is_empty() || !part.bytes().all(|b| b.is_ascii_alphanumeric())) {
            return None;
        }
        let (epoch, text) = text.split_once('!').unwrap_or(("0", text));
        let (first, mut rest) = digits(text)?;
        let mut release = vec![first];
        while let Some((number, behind)) = rest.strip_prefix('.').and_then(digits) {
            release.push(number);
            rest = behind;
        }
        let before = BEFORE.iter().find_map(|(word, rank)| {
            let (number, behind) = numbered(rest, word)?;
            Some(((*rank, number), behind))
        });
        let before = before.map(|(before, behind)| {
            rest = behind;
            before
        });
        let after = AFTER.iter().find_map(|word| numbered(rest, word)).or_else(|| digits(rest.strip_prefix('-')?));
        let after = after.map(|(number, behind)| {
            rest = behind;
            (1, number)
        });
        let development = numbered(rest, "dev").map(|(number, behind)| {
            rest = behind;
            (0, number)
        });
        // What is only in development comes before everything; a release behind all that comes before it.
        let without_before = if after.is_none() && development.is_some() { (0, "0") } else { (4, "0") };
        (super::is_number(epoch) && rest.is_empty()).then_some(Self {
            epoch,
            release,
            before: before.unwrap_or(without_before),
            after: after.unwrap_or((0, "0")),
            development: development.unwrap_or((1, "0")),
            local,
        })
    }
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let (digits, rest) = split_while(text, |c: char| c.is_ascii_digit());
    (!digits.is_empty()).then_some((digits, rest))
}

/// A word with its number, which may be missing, and what follows; with a separator before each, or none.
fn numbered<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let separated = |text: &'a str| text.strip_prefix(['.', '-', '_']).unwrap_or(text);
    let rest = separated(text).strip_prefix(word)?;
    Some(digits(separated(rest)).unwrap_or(("0", rest)))
}
