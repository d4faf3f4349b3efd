//! The first level of a JSON object. What is below stays the text that it is, so that the guest gets what the user
//! wrote, however deep it goes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a JSON object.
#[derive(Debug, Serialize)]
pub struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// The fields, unless the value is no object.
    pub fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok().map(Self)
    }

    /// A field that has a value other than null.
    pub fn value(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied().filter(|value| value.get() != "null")
    }

    /// A field as it is written, also where that is null.
    pub fn written(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// Sets a field that is absent.
    pub fn complete(&mut self, name: &str, value: &'a RawValue) {
        self.0.entry(name.to_owned()).or_insert(value);
    }

    /// A field that is a text, and not an empty one.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.value(name)?.get()).ok().filter(|text: &String| !text.is_empty())
    }

    /// A field that is an object.
    pub fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.value(name)?)
    }

    /// What its fields are called, in order.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// A field that is a list.
    pub fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.value(name)?.get()).ok()
    }
}
