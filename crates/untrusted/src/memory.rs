//! The memory that a request may take, and JSON that is read within it.
//!
//! A module that is refused memory traps, and nobody is told why. So code that reads foreign input asks before a list grows, and
//! stops when there is no room. The request is then rejected at the end, whatever became of that error.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock};

/// A list may grow to this size, in bytes, without asking.
const SMALL: usize = 64 * 1024;

/// The limit on the engine's memory.
pub trait Memory: Sync {
    /// Whether so many more bytes may be taken. Once the answer is no, the memory counts as used up.
    fn has_room_for(&self, bytes: usize) -> bool;

    /// Whether more was asked for than may be taken.
    fn is_used_up(&self) -> bool;

    /// Whether large values may stay in memory when they are no longer needed: all of it is thrown away after the request.
    fn is_thrown_away(&self) -> bool {
        false
    }
}

static MEMORY: RwLock<&'static dyn Memory> = RwLock::new(&Unlimited);

struct Unlimited;

impl Memory for Unlimited {
    fn has_room_for(&self, _: usize) -> bool {
        true
    }

    fn is_used_up(&self) -> bool {
        false
    }
}

/// Sets how much memory the engine may take. Without this call there is no limit.
pub fn use_memory(memory: &'static dyn Memory) {
    *MEMORY.write().unwrap_or_else(PoisonError::into_inner) = memory;
}

/// Whether the request asked for more memory than it may take. Then it is rejected.
pub fn is_used_up() -> bool {
    MEMORY.read().unwrap_or_else(PoisonError::into_inner).is_used_up()
}

/// Drops a large value at the end of its use, unless all memory is thrown away after the request (why: docs/benchmarks.md).
pub fn finish_with<T>(value: T) {
    if MEMORY.read().unwrap_or_else(PoisonError::into_inner).is_thrown_away() {
        std::mem::forget(value);
    }
}

fn has_room_for(bytes: usize) -> bool {
    bytes <= SMALL || MEMORY.read().unwrap_or_else(PoisonError::into_inner).has_room_for(bytes)
}

/// Adds an element to a list whose length others chose.
///
/// # Errors
/// The list would have to grow, and there is no room.
pub fn push<T, E: Error>(list: &mut Vec<T>, element: T) -> Result<(), E> {
    if list.len() == list.capacity() {
        // A list doubles its capacity, and the old one stays until it is copied.
        room_for::<E>(list.len().saturating_mul(2 * size_of::<T>()))?;
    }
    list.push(element);
    Ok(())
}

/// Fails once the memory is used up.
///
/// # Errors
/// It is.
pub fn go_on<E: Error>() -> Result<(), E> {
    if is_used_up() { Err(used_up()) } else { Ok(()) }
}

/// Fails where there is no room for a copy of the value.
///
/// # Errors
/// There is none.
pub fn room_for_value<E: Error>(value: &Value) -> Result<(), E> {
    room_for(size_of_value(value))
}

/// The size of a value, estimated high: a map of one entry has room for eleven.
fn size_of_value(value: &Value) -> usize {
    const MAP: usize = 1024;
    let within = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size_of_value).sum(),
        Value::Object(map) => MAP + map.iter().map(|(key, value)| 2 * key.len() + size_of_value(value)).sum::<usize>(),
    };
    within.saturating_add(size_of::<Value>())
}

fn room_for<E: Error>(bytes: usize) -> Result<(), E> {
    if has_room_for(bytes) { Ok(()) } else { Err(used_up()) }
}

fn used_up<E: Error>() -> E {
    E::custom("it takes more memory than the policy may")
}

/// A list whose length others chose.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            push(&mut list, element)?;
        }
        Ok(List(list))
    }
}

/// Any JSON that others chose: as a value it can take a hundred times as much memory as its text.
#[derive(Debug, Default)]
pub struct AnyJson(pub Value);

impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueReader(()).deserialize(deserializer).map(Self)
    }
}

/// Reads any JSON.
///
/// # Errors
/// It isn't JSON, or there is no room for it.
pub fn read_value(json: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(json).map(|AnyJson(value)| value)
}

/// Where in a document a value stands, for readers that need it.
pub trait Place {
    /// The place of an element of the list there.
    fn element(&self, at: usize) -> Self;

    /// The place of an entry of the object there.
    fn entry(&self, key: &str) -> Self;

    /// Whether the entry there is kept, and replaces one that the object has under this key.
    fn is_kept(&self, object: &Map<String, Value>, key: &str) -> bool;
}

/// For readers that need no place. The last of two entries counts, as for other parsers.
impl Place for () {
    fn element(&self, _: usize) {}

    fn entry(&self, _: &str) {}

    fn is_kept(&self, _: &Map<String, Value>, _: &str) -> bool {
        true
    }
}

/// Reads any JSON value, at a place in its document.
#[derive(Debug)]
pub struct ValueReader<P>(pub P);

impl<'de, P: Place> DeserializeSeed<'de> for ValueReader<P> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Place> Visitor<'de> for ValueReader<P> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = elements.next_element_seed(Self(self.0.element(list.len())))? {
            push(&mut list, value)?;
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        go_on()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let place = self.0.entry(&key);
            let is_kept = place.is_kept(&map, &key);
            let value = entries.next_value_seed(Self(place))?;
            if is_kept {
                map.insert(key, value);
            }
        }
        Ok(map.into())
    }
}
