//! The keys of a suite's maps: each is known, and has a value of its type, or there is a problem that says where.

use image_admission_untrusted::message::nearest;
use serde_json::{Map, Value};

/// What is wrong with a suite: where, and what.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    /// Notes one more.
    pub(super) fn add(&mut self, path: &str, problem: impl AsRef<str>) {
        let problem = problem.as_ref();
        self.0.push(if path.is_empty() { problem.to_owned() } else { format!("{path}: {problem}") });
    }

    /// All of them, if there is any.
    pub(super) fn all(self) -> Option<Vec<String>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

/// One map, and where in the suite it is.
#[derive(Clone, Debug)]
pub(super) struct Keys<'v> {
    path: String,
    value: &'v Value,
    map: &'v Map<String, Value>,
}

impl<'v> Keys<'v> {
    /// The map at a path, with no other keys than these. Anything else is a problem.
    pub(super) fn of(value: &'v Value, path: &str, known: &[&str], problems: &mut Problems) -> Option<Self> {
        let Value::Object(map) = value else {
            problems.add(path, wrong_type(&format!("a map with {}", listed(known)), value));
            return None;
        };
        let keys = Self { path: path.to_owned(), value, map };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            // As other tools call them.
            let is_cases = ["cases", "testCases"].contains(&key.as_str()) && known.contains(&"tests");
            let help = match is_cases.then_some("tests").or_else(|| nearest(key, known.iter().copied())) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            problems.add(&keys.at(key), format!("unknown key `{key}`; {help}"));
        }
        Some(keys)
    }

    /// Where the map is.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The map itself.
    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    /// The path of a key.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key, unless it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A value that must be a text.
    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<&'v str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            problems.add(&self.at(key), wrong_type("a text", value));
        }
        value.as_str()
    }

    /// A value that must be true or false; false if it is absent.
    pub(super) fn boolean(&self, key: &str, problems: &mut Problems) -> bool {
        let Some(value) = self.get(key) else { return false };
        if value.as_bool().is_none() {
            problems.add(&self.at(key), wrong_type("true or false", value));
        }
        value.as_bool().unwrap_or_default()
    }

    /// A value that must be a list of texts.
    pub(super) fn texts(&self, key: &str, problems: &mut Problems) -> Option<Vec<String>> {
        let value = self.get(key)?;
        let texts =
            value.as_array().and_then(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
        if texts.is_none() {
            problems.add(&self.at(key), wrong_type("a list of texts", value));
        }
        texts
    }
}

/// That a value is of another type than it must be.
pub(super) fn wrong_type(wanted: &str, value: &Value) -> String {
    const MAX_CHARACTERS: usize = 60;
    let text = value.to_string();
    let shown: String = text.chars().take(MAX_CHARACTERS).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    format!("`{shown}{dots}` is not {wanted}")
}

/// `a`, `b`, `c`
fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
