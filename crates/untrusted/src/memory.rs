//! The memory that a request may take, and what is read of JSON within it.
//!
//! A module that is refused memory ends, and nobody is told why. So whoever reads what others made asks before a list grows,
//! and stops where there is no room. What stopped is rejected as a whole at the end, whatever was made of the failure.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock};

/// Growth of a list that nobody is asked about, in bytes: a small list is no reason to stop.
const SMALL: usize = 64 * 1024;

/// Where the engine's memory comes from, as far as it is limited.
pub trait Memory: Sync {
    /// Whether so many bytes more may be taken. Once they may not, the memory is used up.
    fn has_room_for(&self, bytes: usize) -> bool;

    /// Whether more was asked for than may be taken.
    fn is_used_up(&self) -> bool;
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

/// Tells the engine how much memory it may take. Without being told, it takes what there is.
pub fn use_memory(memory: &'static dyn Memory) {
    *MEMORY.write().unwrap_or_else(PoisonError::into_inner) = memory;
}

/// Whether the request took more memory than it may: then it is rejected.
pub fn is_used_up() -> bool {
    MEMORY.read().unwrap_or_else(PoisonError::into_inner).is_used_up()
}

fn has_room_for(bytes: usize) -> bool {
    bytes <= SMALL || MEMORY.read().unwrap_or_else(PoisonError::into_inner).has_room_for(bytes)
}

/// Adds an element to a list that others chose the length of.
///
/// # Errors
/// The list would have to grow, and there is no room.
pub fn push<T, E: Error>(list: &mut Vec<T>, element: T) -> Result<(), E> {
    if list.len() == list.capacity() {
        // A list doubles its size, and both are there while it is copied.
        room_for::<E>(list.len().saturating_mul(2 * size_of::<T>()))?;
    }
    list.push(element);
    Ok(())
}

/// Lets whoever reads go on, unless the memory is used up.
///
/// # Errors
/// It is.
pub fn go_on<E: Error>() -> Result<(), E> {
    if is_used_up() { Err(used_up()) } else { Ok(()) }
}

/// Lets whoever copies a value go on where there is room for it.
///
/// # Errors
/// There is none.
pub fn room_for_value<E: Error>(value: &Value) -> Result<(), E> {
    room_for(size_of_value(value))
}

/// What a value takes, and rather more: a map of one entry has room for eleven.
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

/// Any JSON that others chose: a value of it can take a hundred times as much as its text.
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
/// It is none, or there is no room for it.
pub fn read_value(json: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(json).map(|AnyJson(value)| value)
}

/// Where in a document a value stands, for those whom it concerns.
pub trait Place {
    /// Where an element of the list there stands.
    fn element(&self, at: usize) -> Self;

    /// Where an entry of the object there stands.
    fn entry(&self, key: &str) -> Self;

    /// Whether the entry there is kept, and takes the place of one that the object has under this key.
    fn is_kept(&self, object: &Map<String, Value>, key: &str) -> bool;
}

/// Nobody asks where, and the last of two entries counts, as for other parsers.
impl Place for () {
    fn element(&self, _: usize) {}

    fn entry(&self, _: &str) {}

    fn is_kept(&self, _: &Map<String, Value>, _: &str) -> bool {
        true
    }
}

/// Reads the value of any JSON that stands in a place.
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
