//! Documents for rules, read without the engine's own reader, and the keys of what was read.
//!
//! That one takes an object with the key `$serde_json::private::Number` for a number, and `1e2000000000` there for
//! one of two billion digits. Whoever may create an object could end the module with it. And it knows no bound: an
//! object of 2 MiB can take a hundred times as much memory.

use image_admission_untrusted::memory;
use regorus::Value;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// Why a document isn't read.
#[derive(Debug)]
pub enum Unread {
    /// It isn't JSON or YAML, and why.
    Malformed(String),
    /// It takes too many bytes.
    TooMuch,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => f.write_str(why),
            Self::TooMuch => f.write_str("it is too large for rules"),
        }
    }
}

/// What a value takes beside its string: measured, in the module.
const VALUE: usize = 8;

/// Reads JSON that weighs at most `most`: eight bytes for each value, and those of its strings.
pub fn from_json(text: &str, most: usize) -> Result<Value, Unread> {
    let left = Cell::new(Some(most));
    let mut source = serde_json::Deserializer::from_str(text);
    let value = Document { left: &left }.deserialize(&mut source).and_then(|value| source.end().map(|()| value));
    value.map_err(|error| unread(&left, &error))
}

/// Reads the first of YAML documents in the same way; the others must be YAML too. An alias weighs what it stands for.
pub fn from_yaml(text: &str, most: usize) -> Result<Value, Unread> {
    let left = Cell::new(Some(most));
    let mut first = None;
    for document in yaml_serde::Deserializer::from_str(text) {
        let value = Document { left: &left }.deserialize(document).map_err(|error| unread(&left, &error))?;
        first.get_or_insert(value);
    }
    Ok(first.unwrap_or(Value::Null))
}

/// Converts JSON that was read already, within the same bounds. The engine's own conversion is the reader that is avoided here.
pub fn from_value(value: &Json, most: usize) -> Result<Value, Unread> {
    let left = Cell::new(Some(most));
    Document { left: &left }.deserialize(value).map_err(|error| unread(&left, &error))
}

/// Converts a value of the settings, or one that was made here.
pub fn from_own(value: &Json) -> Value {
    from_value(value, usize::MAX).unwrap_or(Value::Undefined)
}

fn unread(left: &Cell<Option<usize>>, error: &dyn fmt::Display) -> Unread {
    match left.get() {
        Some(_) => Unread::Malformed(error.to_string()),
        None => Unread::TooMuch,
    }
}

/// One value of a document.
#[derive(Clone, Copy)]
struct Document<'l> {
    /// The bytes left; none once there were too few.
    left: &'l Cell<Option<usize>>,
}

impl Document<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().and_then(|left| left.checked_sub(bytes.saturating_add(VALUE)));
        self.left.set(left);
        left.map(|_| ()).ok_or_else(|| E::custom("too much"))
    }
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.take(0).map(|()| Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        self.deserialize(source)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.take(0).map(|()| Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.take(0).map(|()| Value::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.take(0).map(|()| Value::from(value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        self.take(16).map(|()| Value::from(value))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        self.take(16).map(|()| Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // JSON has no such number, and it equals nothing.
        if !value.is_finite() {
            return Err(E::custom("a number that is not finite"));
        }
        self.take(0).map(|()| Value::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len()).map(|()| Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut list = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            memory::push(&mut list, value)?;
        }
        Ok(Value::from(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.take(0)?;
        memory::go_on()?;
        let mut map = BTreeMap::new();
        while let Some(key) = entries.next_key_seed(self)? {
            map.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::from(map))
    }
}

/// Sets a key of an object; any other value stays as it is.
pub fn set(object: &mut Value, key: &str, value: Value) {
    if let Ok(object) = object.as_object_mut() {
        object.insert(Value::from(key), value);
    }
}

/// The value of a key; null when there is none.
pub fn get(object: &Value, key: &str) -> Value {
    object.as_object().ok().and_then(|object| object.get(&Value::from(key)).cloned()).unwrap_or(Value::Null)
}
