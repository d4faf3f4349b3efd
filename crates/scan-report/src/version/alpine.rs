//! apk's versions: `1.2.3a_rc1~0abc-r4`, numbers, a letter, suffixes, a commit and the package's revision.

use super::{numbers, split_while};
use std::cmp::Ordering;

/// The parts of a version, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    First(&'a str),
    Number(&'a str),
    Letter(&'a str),
    Suffix(usize),
    SuffixNumber(&'a str),
    Commit(&'a str),
    Revision(&'a str),
    End,
}

/// The suffixes in their order.
const SUFFIXES: [&str; 9] = ["alpha", "beta", "pre", "rc", "cvs", "svn", "git", "hg", "p"];
/// The number of suffixes that come before the release.
const BEFORE_RELEASE: usize = 4;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (parts(one.trim())?, parts(other.trim())?);
    for (one, other) in one.iter().zip(&other) {
        let order = match (one, other) {
            (Part::Number(one), Part::Number(other)) if one.starts_with('0') || other.starts_with('0') => {
                one.cmp(other)
            }
            (Part::First(one), Part::First(other))
            | (Part::Number(one), Part::Number(other))
            | (Part::SuffixNumber(one), Part::SuffixNumber(other))
            | (Part::Revision(one), Part::Revision(other)) => numbers(one, other),
            (Part::Letter(one), Part::Letter(other)) | (Part::Commit(one), Part::Commit(other)) => one.cmp(other),
            (Part::Suffix(one), Part::Suffix(other)) => one.cmp(other),
            (Part::End, Part::End) => Ordering::Equal,
            // The longer version is more, unless it goes on with a suffix that comes before the release.
            (Part::Suffix(suffix), _) if *suffix < BEFORE_RELEASE => Ordering::Less,
            (_, Part::Suffix(suffix)) if *suffix < BEFORE_RELEASE => Ordering::Greater,
            (one, other) => other.place().cmp(&one.place()),
        };
        if order.is_ne() {
            return Some(order);
        }
    }
    Some(Ordering::Equal)
}

impl Part<'_> {
    fn place(self) -> u8 {
        match self {
            Self::First(_) => 0,
            Self::Number(_) => 1,
            Self::Letter(_) => 2,
            Self::Suffix(_) => 3,
            Self::SuffixNumber(_) => 4,
            Self::Commit(_) => 5,
            Self::Revision(_) => 6,
            Self::End => 7,
        }
    }
}

fn parts(text: &str) -> Option<Vec<Part<'_>>> {
    let digits = |text| {
        let (digits, rest) = split_while(text, |c: char| c.is_ascii_digit());
        (!digits.is_empty()).then_some((digits, rest))
    };
    let (first, mut rest) = digits(text)?;
    let mut parts = vec![Part::First(first)];
    while let Some(behind) = rest.strip_prefix('.') {
        let (number, behind) = digits(behind)?;
        parts.push(Part::Number(number));
        rest = behind;
    }
    if rest.starts_with(|c: char| c.is_ascii_lowercase()) {
        let (letter, behind) = rest.split_at_checked(1)?;
        parts.push(Part::Letter(letter));
        rest = behind;
    }
    while let Some(behind) = rest.strip_prefix('_') {
        let (word, behind) = split_while(behind, |c| c.is_ascii_lowercase());
        parts.push(Part::Suffix(SUFFIXES.iter().position(|suffix| *suffix == word)?));
        rest = behind;
        if let Some((number, behind)) = digits(rest) {
            parts.push(Part::SuffixNumber(number));
            rest = behind;
        }
    }
    if let Some(behind) = rest.strip_prefix('~') {
        let (commit, behind) = split_while(behind, |c| matches!(c, '0'..='9' | 'a'..='f'));
        parts.push(Part::Commit(Some(commit).filter(|commit| !commit.is_empty())?));
        rest = behind;
    }
    if let Some(behind) = rest.strip_prefix("-r") {
        let (number, behind) = digits(behind)?;
        parts.push(Part::Revision(number));
        rest = behind;
    }
    parts.push(Part::End);
    rest.is_empty().then_some(parts)
}
