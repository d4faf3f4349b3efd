//! RPM's versions: `epoch:version-release`.
//!
//! As in RPM's dependencies, a version without a release is compared with any release of it.

use super::{is_number, numbers, split_while};
use std::cmp::Ordering;

struct Version<'a> {
    epoch: &'a str,
    version: &'a str,
    release: Option<&'a str>,
}

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (Version::read(one)?, Version::read(other)?);
    let order = numbers(one.epoch, other.epoch).then_with(|| part(one.version, other.version));
    Some(match (one.release, other.release) {
        (Some(release), Some(other)) => order.then_with(|| part(release, other)),
        _ => order,
    })
}

impl<'a> Version<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (epoch, rest) = text.split_once(':').unwrap_or(("0", text));
        let (version, release) = match rest.rsplit_once('-') {
            Some((version, release)) => (version, Some(release)),
            None => (rest, None),
        };
        let is_part = |text: &str| {
            text.bytes().any(|b| b.is_ascii_alphanumeric())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+~^".contains(&b))
        };
        (is_number(epoch) && is_part(version) && release.is_none_or(is_part)).then_some(Self {
            epoch,
            version,
            release,
        })
    }
}

/// Numbers and words, whatever separates them. `~` comes before the end, `^` behind it and before anything else.
fn part(mut one: &str, mut other: &str) -> Ordering {
    loop {
        let separates = |c: char| !c.is_ascii_alphanumeric() && c != '~' && c != '^';
        (one, other) = (one.trim_start_matches(separates), other.trim_start_matches(separates));
        match (one.strip_prefix('~'), other.strip_prefix('~')) {
            (Some(rest), Some(other_rest)) => {
                (one, other) = (rest, other_rest);
                continue;
            }
            (Some(_), None) => return Ordering::Less,
            (None, Some(_)) => return Ordering::Greater,
            (None, None) => {}
        }
        match (one.strip_prefix('^'), other.strip_prefix('^')) {
            (Some(rest), Some(other_rest)) => {
                (one, other) = (rest, other_rest);
                continue;
            }
            (Some(_), None) => return if other.is_empty() { Ordering::Greater } else { Ordering::Less },
            (None, Some(_)) => return if one.is_empty() { Ordering::Less } else { Ordering::Greater },
            (None, None) => {}
        }
        if one.is_empty() || other.is_empty() {
            return one.len().min(1).cmp(&other.len().min(1));
        }
        let is_digit = one.starts_with(|c: char| c.is_ascii_digit());
        let belongs = |c: char| if is_digit { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
        let (segment, rest) = split_while(one, belongs);
        let (other_segment, other_rest) = split_while(other, belongs);
        if other_segment.is_empty() {
            // A number is more than a word.
            return if is_digit { Ordering::Greater } else { Ordering::Less };
        }
        let order = if is_digit { numbers(segment, other_segment) } else { segment.cmp(other_segment) };
        if order.is_ne() {
            return order;
        }
        (one, other) = (rest, other_rest);
    }
}
