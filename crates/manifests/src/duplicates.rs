//! Keys that stand twice in one object of a file: one reader takes the first, another the last. Parsers say so of one of them, if at all.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::lines::{Lines, Spot};

/// The most that are told of: each is looked for by itself.
const MAX_TOLD: usize = 20;
/// How the error at one that is looked for is told from others.
const HERE: &str = "this key stands twice";

/// A key that stands in an object for a second time.
#[derive(Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The number of its document, from 0.
    pub document: usize,
    /// `acceptance.maxSeverity`, `exemptions[0].reason`
    pub path: String,
    /// Where it stands first, where that can be told.
    first: Option<usize>,
    /// Where it stands again.
    pub spot: Spot,
}

impl Duplicate {
    /// What is wrong, without the path.
    pub fn problem(&self) -> String {
        let line = self.spot.line;
        match self.first.filter(|first| *first != line) {
            Some(first) => format!("it stands twice, on line {first} and on line {line}; keep one of them"),
            None => format!("it stands twice, on line {line}; keep one of them"),
        }
    }
}

/// `acceptance.maxSeverity: it stands twice, on line 4 and on line 5; keep one of them`
impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem())
    }
}

/// Those of a text in YAML, in the order in which they stand.
pub(crate) fn in_yaml(text: &str) -> Vec<Duplicate> {
    let lines = Lines::of(text);
    let mut found = Vec::new();
    for (document, (before, text)) in lines.documents().enumerate() {
        found.extend(those_of(document, &lines, |walk| {
            let error = walk.deserialize(yaml_serde::Deserializer::from_str(text)).err()?;
            let at = error.location()?;
            error.to_string().contains(HERE).then_some((at.line() + before, at.column()))
        }));
    }
    found
}

/// Those of a text in JSON.
pub(crate) fn in_json(text: &str) -> Vec<Duplicate> {
    let lines = Lines::of(text);
    let mut found = those_of(0, &lines, |walk| {
        let error = walk.deserialize(&mut serde_json::Deserializer::from_str(text)).err()?;
        error.to_string().contains(HERE).then(|| (error.line(), error.column()))
    });
    // This parser says where the key ends.
    for Duplicate { spot, .. } in &mut found {
        let before = text.lines().nth(spot.line - 1).and_then(|line| line.get(..spot.column.saturating_sub(1)));
        spot.column = before.and_then(|before| before.rfind('"')).map_or(spot.column, |start| start + 1);
    }
    found
}

/// Those of one document. `read` walks through it, and says on which line and in which column the walk ended.
fn those_of(document: usize, lines: &Lines<'_>, read: impl Fn(Walk<'_>) -> Option<(usize, usize)>) -> Vec<Duplicate> {
    let all = RefCell::default();
    read(Walk { found: &all, path: &RefCell::default(), stop: None });
    let (mut duplicates, mut spots) = (Vec::new(), BTreeSet::new());
    for (number, steps) in all.into_inner().into_iter().enumerate().take(MAX_TOLD) {
        let (found, path) = (RefCell::default(), RefCell::default());
        let Some((line, column)) = read(Walk { found: &found, path: &path, stop: Some(number) }) else { continue };
        let first = lines.nearest(document, &steps).map(|spot| spot.line);
        // What is named by an anchor is met wherever it is meant.
        if spots.insert((line, column)) {
            duplicates.push(Duplicate { document, path: shown(&steps), first, spot: Spot { line, column } });
        }
    }
    duplicates
}

/// `exemptions[0].reason`
fn shown(steps: &[String]) -> String {
    let mut text = String::new();
    for step in steps {
        if !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit()) {
            text.push_str(&format!("[{step}]"));
        } else {
            text.push_str(if text.is_empty() { "" } else { "." });
            text.push_str(step);
        }
    }
    text
}

/// Walks through a document.
#[derive(Clone, Copy)]
struct Walk<'w> {
    /// What leads to each that was found.
    found: &'w RefCell<Vec<Vec<String>>>,
    /// What leads to where the walk is.
    path: &'w RefCell<Vec<String>>,
    /// The number of the one at which the walk ends, with an error that has its place.
    stop: Option<usize>,
}

impl Walk<'_> {
    /// Notes a key that is there for the second time.
    fn note<E: Error>(self, key: &str) -> Result<(), E> {
        let mut path = self.path.borrow().clone();
        path.push(key.to_owned());
        let number = self.found.borrow().len();
        self.found.borrow_mut().push(path);
        if self.stop == Some(number) { Err(E::custom(HERE)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for position in 0_usize.. {
            self.path.borrow_mut().push(position.to_string());
            let item = items.next_element_seed(self)?;
            self.path.borrow_mut().pop();
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key_seed(Key { walk: self, keys: &keys })? {
            self.path.borrow_mut().push(key.clone());
            map.next_value_seed(self)?;
            self.path.borrow_mut().pop();
            keys.insert(key);
        }
        Ok(())
    }
}

/// Reads a key, and notes it where it is there already.
struct Key<'k> {
    walk: Walk<'k>,
    keys: &'k BTreeSet<String>,
}

impl Key<'_> {
    fn read<E: Error>(self, key: String) -> Result<String, E> {
        if self.keys.contains(&key) {
            self.walk.note(&key)?;
        }
        Ok(key)
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Keys of YAML that are no texts become texts.
impl Visitor<'_> for Key<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        self.read(key.to_owned())
    }

    fn visit_bool<E: Error>(self, key: bool) -> Result<String, E> {
        self.read(key.to_string())
    }

    fn visit_i64<E: Error>(self, key: i64) -> Result<String, E> {
        self.read(key.to_string())
    }

    fn visit_u64<E: Error>(self, key: u64) -> Result<String, E> {
        self.read(key.to_string())
    }

    fn visit_f64<E: Error>(self, key: f64) -> Result<String, E> {
        self.read(key.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        self.read("null".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "a: 1\na: 2\n---\n# second\nspec:\n  b: {c: 1,\n    c: 2}\n  list:\n  - d: 1\n    d: &x {e: 1, e: 2}\n    d: 3\n  - *x\n1: x\n1: y\n";

    fn told(duplicates: &[Duplicate]) -> Vec<String> {
        duplicates.iter().map(|one| format!("{} {one}", one.document)).collect()
    }

    #[test]
    fn each_is_told_with_its_lines() {
        let twice = |document: usize, path: &str, lines: (usize, usize)| {
            let (first, second) = lines;
            format!("{document} {path}: it stands twice, on line {first} and on line {second}; keep one of them")
        };
        let on_one = "1 spec.list[0].d.e: it stands twice, on line 10; keep one of them".to_owned();
        assert_eq!(
            told(&in_yaml(YAML)),
            [
                twice(0, "a", (1, 2)),
                twice(1, "spec.b.c", (6, 7)),
                twice(1, "spec.list[0].d", (9, 10)),
                on_one,
                twice(1, "spec.list[0].d", (9, 11)),
                twice(1, "[1]", (13, 14)),
            ]
        );
        let json = "{\"a\": [{\"b\": 1,\n\t\"b\": \"\\ud83d\\ude00\"}],\n \"a\": 2}";
        assert_eq!(told(&in_json(json)), [twice(0, "a[0].b", (1, 2)), twice(0, "a", (1, 3))]);
    }

    #[test]
    fn what_has_none() {
        for text in
            ["", "a: 1\nb: {a: 1}\n---\na: 1\n", "- a: 1\n- a: 1\n", "a: [", "? {a: 1}\n: b\n", "{\"a\": {\"a\": 1}}"]
        {
            assert_eq!(in_yaml(text), [], "{text}");
            assert_eq!(in_json(text), [], "{text}");
        }
    }

    #[test]
    fn so_many_are_told_of() {
        let text: String = (0..100).map(|number| format!("k{number}: 1\nk{number}: 2\n")).collect();
        assert_eq!(in_yaml(&text).len(), MAX_TOLD);
    }
}
