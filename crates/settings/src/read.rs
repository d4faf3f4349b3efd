//! Reading settings: values with their paths, and problems that add up.

use super::refused::Refused;
use image_admission_untrusted::message::nearest;
use image_admission_untrusted::time::WrittenDuration;
use serde_json::{Map, Value};
use std::fmt;

/// The path of a setting. Built on the stack while reading, spelled only for a problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Position(usize),
}

impl<'p> Path<'p> {
    /// The settings as a whole.
    pub(super) fn root() -> &'static Path<'static> {
        &Path { parent: None, step: Step::Root }
    }

    /// A key of the object here.
    pub(super) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An entry of the list here, counted from zero.
    pub(super) fn position(&'p self, position: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Position(position) }
    }

    /// `preScanPolicies.customPolicies[0].action`; `settings` for all of them.
    pub(super) fn text(&self) -> String {
        let above = self.parent.filter(|parent| !matches!(parent.step, Step::Root));
        let mut text = above.map(Path::text).unwrap_or_default();
        match self.step {
            Step::Root => text.push_str("settings"),
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Position(position) => {
                text.push('[');
                text.push_str(&position.to_string());
                text.push(']');
            }
        }
        text
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// What is wrong with the settings, in the order in which it was found.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    pub(super) fn add(&mut self, path: Path<'_>, text: impl fmt::Display) {
        self.0.push(format!("{path}: {text}"));
    }

    /// Adds a problem at a path that is given as a string.
    pub(super) fn add_at(&mut self, path: &str, text: impl fmt::Display) {
        self.0.push(format!("{path}: {text}"));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// A choice that a setting offers by name.
pub trait Choice: Copy + 'static {
    const CHOICES: &'static [(&'static str, Self)];

    fn of(text: &str) -> Option<Self> {
        Self::CHOICES.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
    }

    /// `accept, reject or scan`
    fn names() -> String {
        let names: Vec<&str> = Self::CHOICES.iter().map(|(name, _)| *name).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }
}

/// An object among the settings, with its path. A key whose value is null counts as absent, as an empty value in YAML does.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettingsMap<'v, 'p> {
    map: Option<&'v Map<String, Value>>,
    path: &'p Path<'p>,
}

impl<'v, 'p> SettingsMap<'v, 'p> {
    /// The object that a value is; an absent one has no keys. None, and a problem, when it is something else.
    pub(super) fn of(value: Option<&'v Value>, path: &'p Path<'p>, problems: &mut Problems) -> Option<Self> {
        Self::named(value, path, "an object", problems)
    }

    /// The same for values that people often write differently: `expected` says what is right, with an example.
    pub(super) fn named(
        value: Option<&'v Value>,
        path: &'p Path<'p>,
        expected: &str,
        problems: &mut Problems,
    ) -> Option<Self> {
        match value {
            None | Some(Value::Null) => Some(Self { map: None, path }),
            Some(Value::Object(map)) => Some(Self { map: Some(map), path }),
            Some(other) => {
                problems.add(*path, wrong_type(expected, other));
                None
            }
        }
    }

    pub(super) fn path(&self) -> &'p Path<'p> {
        self.path
    }

    pub(super) fn get(&self, key: &str) -> Option<&'v Value> {
        self.map?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        self.map.into_iter().flatten()
    }

    /// Reports each key that isn't among `keys`: with its entry in `refused`, or with the nearest known key.
    pub(super) fn known(&self, keys: &[&str], refused: &[Refused], problems: &mut Problems) {
        for (key, _) in self.entries() {
            if keys.contains(&key.as_str()) {
                continue;
            }
            if let Some(refused) = refused.iter().find(|refused| refused.name == key) {
                problems.add(self.path.key(key), refused.text());
                continue;
            }
            let help = match nearest(key, keys.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known here: {}", keys.join(", ")),
            };
            problems.add(self.path.key(key), format!("unknown setting `{key}`; {help}"));
        }
    }

    pub(super) fn boolean(&self, key: &str, default: bool, problems: &mut Problems) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(value)) => *value,
            Some(other) => {
                problems.add(self.path.key(key), wrong_type("true or false", other));
                default
            }
        }
    }

    pub(super) fn number(&self, key: &str, problems: &mut Problems) -> Option<u64> {
        let value = self.get(key)?;
        if value.as_u64().is_none() {
            problems.add(self.path.key(key), wrong_type("a whole number from 0", value));
        }
        value.as_u64()
    }

    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<&'v str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            problems.add(self.path.key(key), wrong_type("a string", value));
        }
        value.as_str()
    }

    /// A duration like `72h`; an empty string is none.
    pub(super) fn duration(&self, key: &str, problems: &mut Problems) -> Option<WrittenDuration> {
        if let Some(number @ Value::Number(_)) = self.get(key) {
            let example =
                number.as_u64().filter(|count| *count > 0).map_or("72h".to_owned(), |count| format!("{count}h"));
            problems.add(self.path.key(key), format!("`{number}` has no unit; write a duration like `{example}`"));
            return None;
        }
        let text = self.text(key, problems).filter(|text| !text.is_empty())?;
        let duration = WrittenDuration::parse(text);
        if duration.is_none() {
            problems.add(self.path.key(key), format!("`{text}` is not a duration like `72h` or `14d`"));
        }
        duration
    }

    pub(super) fn list(&self, key: &str, problems: &mut Problems) -> Option<&'v [Value]> {
        let value = self.get(key)?;
        if !value.is_array() {
            problems.add(self.path.key(key), wrong_type("a list", value));
        }
        value.as_array().map(Vec::as_slice)
    }

    /// The strings of a list, each with its position.
    pub(super) fn texts(&self, key: &str, problems: &mut Problems) -> Vec<(usize, &'v str)> {
        let path = self.path.key(key);
        let mut texts = Vec::new();
        for (position, value) in self.list(key, problems).unwrap_or_default().iter().enumerate() {
            match value.as_str() {
                Some(text) => texts.push((position, text)),
                None => problems.add(path.position(position), wrong_type("a string", value)),
            }
        }
        texts
    }

    /// Whether the value is there and empty: null, or a list or object without entries. Templates write it.
    pub(super) fn is_blank(&self, key: &str) -> bool {
        self.map.and_then(|map| map.get(key)).is_some_and(|value| match value {
            Value::Null => true,
            Value::Array(elements) => elements.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        })
    }

    /// The strings of a list that narrows its setting to some of every `what`. An empty list, or none after the colon, is refused:
    /// nobody means it.
    pub(super) fn narrowing_texts(&self, key: &str, what: &str, problems: &mut Problems) -> Vec<&'v str> {
        let path = self.path.key(key);
        let texts = self.texts(key, problems).into_iter().map(|(_, text)| text).collect();
        if self.is_blank(key) {
            let why = format!(
                "an empty list names no {what}: name those that are meant, or leave `{key}` out for every {what}"
            );
            problems.add(path, why);
        }
        texts
    }

    pub(super) fn choice<C: Choice>(&self, key: &str, default: C, problems: &mut Problems) -> C {
        let Some(text) = self.text(key, problems) else { return default };
        C::of(text).unwrap_or_else(|| {
            problems.add(self.path.key(key), format!("`{text}` is not a choice here; use {}", C::names()));
            default
        })
    }
}

/// `expected a string, but found a list`
pub(super) fn wrong_type(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("`{value}`"),
        Value::String(text) => format!("the string `{}`", image_admission_untrusted::message::cut(text, 40)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    format!("expected {expected}, but found {found}")
}
