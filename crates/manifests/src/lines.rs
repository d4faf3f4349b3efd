//! On which line of a file something stands. YAML's values don't know where they come from, but its errors do: what is looked
//! for is refused where it is met.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The documents of a file, to look for lines in.
#[derive(Debug)]
pub struct Lines<'t> {
    /// The lines before each, and its text.
    documents: Vec<(usize, &'t str)>,
}

/// A place in a text, each from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The line, from one.
    pub line: usize,
    /// The column, from one.
    pub column: usize,
}

impl<'t> Lines<'t> {
    /// Those of a text in YAML or JSON.
    pub fn of(text: &'t str) -> Self {
        let mut documents = Vec::new();
        let (mut start, mut before, mut position) = (0, 0, 0);
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let is_marker = line.trim_end() == "---" || line.starts_with("--- ");
            if is_marker && position > 0 {
                documents.extend(text.get(start..position).map(|document| (before, document)));
                (start, before) = (position, number);
            }
            position += line.len();
        }
        documents.extend(text.get(start..).map(|document| (before, document)));
        // What stands before the first marker is a document only if it says something.
        let is_comment = |line: &str| line.trim().is_empty() || line.starts_with(['#', '%']);
        if documents.len() > 1 && documents.first().is_some_and(|(_, text)| text.lines().all(is_comment)) {
            documents.remove(0);
        }
        Self { documents }
    }

    /// The lines before each document, and its text.
    pub fn documents(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.documents.iter().copied()
    }

    /// Where stands what a path leads to in a document, or of the nearest thing on the way that is there. Documents count from
    /// 0; a part of a path is a key, or a position from 0.
    pub fn nearest(&self, document: usize, path: &[String]) -> Option<Spot> {
        (0..=path.len()).rev().find_map(|length| self.spot(document, path.get(..length)?, Part::Key))
    }

    /// Where exactly something stands: of a map's entry its key or its value.
    pub fn spot(&self, document: usize, path: &[String], part: Part) -> Option<Spot> {
        let (before, text) = self.documents.get(document)?;
        let yaml = yaml_serde::Deserializer::from_str(text);
        let error = Seek { path, part }.deserialize(yaml).err()?;
        let location = error.location()?;
        let is_it = error.to_string().contains(HERE);
        is_it.then_some(Spot { line: before + location.line(), column: location.column() })
    }
}

/// What of a map's entry is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where the key begins.
    Key,
    /// Where its value begins.
    Value,
}

/// How what is looked for is told from what is wrong; the error has the path before it.
const HERE: &str = "what is looked for stands here";

/// Looks for what a path leads to; meeting it is an error.
#[derive(Clone, Copy)]
struct Seek<'p> {
    path: &'p [String],
    part: Part,
}

impl Seek<'_> {
    /// At something that nothing is below.
    fn leaf<E: Error>(self) -> Result<(), E> {
        if self.path.is_empty() { Err(E::custom(HERE)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.leaf()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.leaf()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.leaf()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.leaf()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.leaf()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.leaf()
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.leaf()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((first, path)) = self.path.split_first() else { return self.leaf() };
        let wanted: Option<usize> = first.parse().ok();
        let mut position = 0;
        loop {
            let item = if wanted == Some(position) {
                items.next_element_seed(Seek { path, ..self })?
            } else {
                items.next_element::<IgnoredAny>()?.map(|_| ())
            };
            if item.is_none() {
                return Ok(());
            }
            position += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((wanted, path)) = self.path.split_first() else { return self.leaf() };
        let refuses = path.is_empty() && self.part == Part::Key;
        while let Some(is_it) = map.next_key_seed(Key { wanted, refuses })? {
            if is_it {
                map.next_value_seed(Seek { path, ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Whether a key is the one that is looked for; where nothing is looked for below it, meeting it is an error.
struct Key<'p> {
    wanted: &'p str,
    refuses: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        match key == self.wanted {
            true if self.refuses => Err(E::custom(HERE)),
            is_it => Ok(is_it),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# first\n---\nkind: Namespace\n---\n# second\nspec:\n  settings:\n    list:\n      # remark\n      - prefix: a\n        action: b\n      - {prefix: c,\n         action: d}\n    flow: {shop: {a: 1}, \"other\": [1,\n      2]}\n    'quoted': x\n---\n{\"json\": {\n  \"a\": [1,\n    2]}}\n";

    #[track_caller]
    fn check(document: usize, path: &str, line: Option<usize>) {
        let path: Vec<String> = path.split_whitespace().map(str::to_owned).collect();
        let found = Lines::of(TEXT).nearest(document, &path).map(|spot| spot.line);
        assert_eq!(found, line, "{document} {path:?}");
    }

    #[test]
    fn everything_has_a_line() {
        check(0, "kind", Some(3));
        check(1, "spec", Some(6));
        check(1, "spec settings list", Some(8));
        check(1, "spec settings list 0", Some(10));
        check(1, "spec settings list 0 action", Some(11));
        check(1, "spec settings list 1", Some(12));
        check(1, "spec settings list 1 action", Some(13));
        check(1, "spec settings flow shop", Some(14));
        check(1, "spec settings flow other 1", Some(15));
        check(1, "spec settings quoted", Some(16));
        check(2, "json a 1", Some(20));
    }

    #[test]
    fn what_is_not_there_has_the_line_of_what_it_would_be_in() {
        check(1, "spec settings registries", Some(7));
        check(1, "spec settings list 7 x", Some(8));
        check(1, "spec settings quoted 0", Some(16));
        check(0, "nothing at all", Some(3));
        check(9, "kind", None);
        for text in ["a: [", "a: 1\na: 2\n: b", ""] {
            assert_eq!(Lines::of(text).nearest(0, &["x".to_owned()]).filter(|spot| spot.line > 2), None, "{text}");
        }
    }

    #[test]
    fn a_value_stands_behind_its_key() {
        let path = ["a".to_owned()];
        let spot = |part| Lines::of("x: 1\na:   text\n").spot(0, &path, part).unwrap();
        assert_eq!(spot(Part::Key), Spot { line: 2, column: 1 });
        assert_eq!(spot(Part::Value), Spot { line: 2, column: 6 });
    }
}
