//! Maven's versions: numbers and qualifiers, in lists. A list begins at a hyphen, and between a digit and a letter.

use super::{is_number, numbers, split_while};
use std::cmp::Ordering;

/// A part of a version.
#[derive(Debug)]
enum Item {
    Number(String),
    Word(String),
    List(Vec<Item>),
}

/// The known qualifiers in their order; the empty one is the release itself. All others come after them, in alphabetical order.
const QUALIFIERS: [&str; 7] = ["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"];
const RELEASE: usize = 5;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (read(one.trim())?, read(other.trim())?);
    Some(lists(&one, &other))
}

/// To Maven every string is a version. Here it must begin with a digit: `${log4j.version}` and `unspecified` aren't versions, and
/// `v2.14.1` would be less than every number.
fn read(text: &str) -> Option<Vec<Item>> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return None;
    }
    let text = text.to_ascii_lowercase();
    Some(list(&text))
}

/// The items of a list. A list goes on to the end: a list inside of it is its last item.
fn list(mut rest: &str) -> Vec<Item> {
    let mut items = Vec::new();
    while !rest.is_empty() {
        let is_digit = rest.starts_with(|c: char| c.is_ascii_digit());
        let (part, behind) = split_while(rest, |c| c != '.' && c != '-' && c.is_ascii_digit() == is_digit);
        let is_followed_by_digit = behind.starts_with(|c: char| c.is_ascii_digit());
        match part {
            // There is nothing between two separators.
            "" => items.push(Item::Number("0".to_owned())),
            number if is_digit => items.push(Item::Number(number.to_owned())),
            word => items.push(Item::Word(qualifier(word, is_followed_by_digit).to_owned())),
        }
        rest = match behind.strip_prefix('.') {
            // A qualifier begins a list even after a dot.
            Some(behind) if begins_with_qualifier(behind) => {
                items.push(Item::List(list(behind)));
                ""
            }
            Some(behind) => behind,
            None if behind.is_empty() => "",
            // At a hyphen, or between a digit and a letter.
            None => {
                items.push(Item::List(list(behind.strip_prefix('-').unwrap_or(behind))));
                ""
            }
        };
    }
    normalize(&mut items);
    items
}

/// Whether a string begins with a word that ends the version, or that a number follows directly.
fn begins_with_qualifier(text: &str) -> bool {
    let (word, behind) = split_while(text, |c| c != '.' && c != '-' && !c.is_ascii_digit());
    !word.is_empty() && (behind.is_empty() || behind.starts_with(|c: char| c.is_ascii_digit()))
}

/// Removes items without meaning (zeros, the release, empty lists) at the end and before a list.
fn normalize(items: &mut Vec<Item>) {
    for at in (0..items.len()).rev() {
        let Some(item) = items.get(at) else { continue };
        if item.is_null() {
            items.remove(at);
        } else if !matches!(item, Item::List(_)) {
            break;
        }
    }
}

/// The canonical name of a qualifier.
fn qualifier(word: &str, is_followed_by_digit: bool) -> &str {
    match word {
        "a" if is_followed_by_digit => "alpha",
        "b" if is_followed_by_digit => "beta",
        "m" if is_followed_by_digit => "milestone",
        "ga" | "final" | "release" => "",
        "cr" => "rc",
        other => other,
    }
}

/// The rank of a qualifier; unknown ones are compared by their letters.
fn place(word: &str) -> (usize, &str) {
    match QUALIFIERS.iter().position(|known| *known == word) {
        Some(place) => (place, ""),
        None => (QUALIFIERS.len(), word),
    }
}

impl Item {
    fn is_null(&self) -> bool {
        match self {
            Self::Number(number) => is_number(number) && number.bytes().all(|b| b == b'0'),
            Self::Word(word) => place(word).0 == RELEASE,
            Self::List(items) => items.is_empty(),
        }
    }

    /// Compares it with a missing item.
    fn with_nothing(&self) -> Ordering {
        match self {
            Self::Number(number) => numbers(number, "0"),
            Self::Word(word) => place(word).0.cmp(&RELEASE),
            Self::List(items) => {
                items.iter().map(Self::with_nothing).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
        }
    }

    /// A number is more than a list, and a list more than a word.
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => numbers(one, other),
            (Self::Number(_), _) => Ordering::Greater,
            (_, Self::Number(_)) => Ordering::Less,
            (Self::Word(one), Self::Word(other)) => place(one).cmp(&place(other)),
            (Self::Word(_), Self::List(_)) => Ordering::Less,
            (Self::List(_), Self::Word(_)) => Ordering::Greater,
            (Self::List(one), Self::List(other)) => lists(one, other),
        }
    }
}

fn lists(one: &[Item], other: &[Item]) -> Ordering {
    let places = 0..one.len().max(other.len());
    let mut orders = places.map(|at| match (one.get(at), other.get(at)) {
        (Some(one), Some(other)) => one.compare(other),
        (Some(one), None) => one.with_nothing(),
        (None, Some(other)) => other.with_nothing().reverse(),
        (None, None) => Ordering::Equal,
    });
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
