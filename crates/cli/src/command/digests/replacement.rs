//! Texts that take the place of others, all at once.

use std::collections::BTreeMap;

/// The hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// What becomes of digests, and of names that are computed from them.
#[derive(Debug, Default)]
pub(super) struct Replacement {
    /// By the old digest's hexadecimal digits: the new ones. They stand in tags too, and names may be nothing else.
    digits: BTreeMap<String, String>,
    /// Other names, by the old one.
    names: BTreeMap<String, String>,
    /// What was added, for people: whose it is, the old text and the new one.
    told: Vec<(String, String, String)>,
}

impl Replacement {
    /// That `old`, which is of `whose`, becomes `new`: two digests, or two names.
    pub(super) fn add(&mut self, whose: &str, old: &str, new: &str) {
        let hex = |text: &str| {
            let digits = text.strip_prefix("sha256:").unwrap_or(text);
            (digits.len() == DIGITS && digits.bytes().all(is_digit)).then(|| digits.to_owned())
        };
        match (hex(old), hex(new)) {
            (Some(old), Some(new)) => self.digits.insert(old, new),
            _ => self.names.insert(old.to_owned(), new.to_owned()),
        };
        let told = (whose.to_owned(), old.to_owned(), new.to_owned());
        if !self.told.contains(&told) {
            self.told.push(told);
        }
    }

    /// Takes in what happens after this.
    pub(super) fn extend(&mut self, later: Self) {
        for new in self.digits.values_mut() {
            if let Some(newer) = later.digits.get(new) {
                new.clone_from(newer);
            }
        }
        for (old, new) in later.digits {
            self.digits.entry(old).or_insert(new);
        }
        self.names.extend(later.names);
        self.told.extend(later.told);
    }

    /// Whether nothing is replaced.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// What is replaced, for people: whose it is, the old text and the new one.
    pub(super) fn told(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.told.iter().map(|(whose, old, new)| (whose.as_str(), old.as_str(), new.as_str()))
    }

    /// A text with everything replaced. Digests are replaced at once, so that two may change places.
    pub(super) fn applied(&self, text: &str) -> String {
        let mut applied = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.bytes().position(is_digit) {
            let (before, from) = rest.split_at(start);
            let end = from.bytes().position(|byte| !is_digit(byte)).unwrap_or(from.len());
            let (digits, after) = from.split_at(end);
            applied.push_str(before);
            // A longer run of digits is something else.
            applied.push_str(self.digits.get(digits).map_or(digits, String::as_str));
            rest = after;
        }
        applied.push_str(rest);
        for (old, new) in &self.names {
            applied = applied.replace(old, new);
        }
        applied
    }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_digests_are_replaced_at_once() {
        let [a, b, c] = ["a", "b", "c"].map(|digit| digit.repeat(DIGITS));
        let mut replacement = Replacement::default();
        replacement.add("one", &format!("sha256:{a}"), &format!("sha256:{b}"));
        replacement.add("two", &b, &a);
        replacement.add("three", "its-name", "another");
        let text = format!("{a} x@sha256:{b} sha256-{a}.scan a{a} {c} its-name");
        assert_eq!(replacement.applied(&text), format!("{b} x@sha256:{a} sha256-{b}.scan a{a} {c} another"));
    }

    #[test]
    fn what_happens_later_is_one_replacement_with_what_was_before() {
        let [a, b, c] = ["a", "b", "c"].map(|digit| digit.repeat(DIGITS));
        let mut replacement = Replacement::default();
        replacement.add("one", &a, &b);
        let mut later = Replacement::default();
        later.add("one", &b, &c);
        replacement.extend(later);
        assert_eq!(replacement.applied(&format!("{a} {b}")), format!("{c} {c}"));
    }
}
