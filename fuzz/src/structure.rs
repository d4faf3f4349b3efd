//! Documents by structure: what the fuzzer's bytes choose, and what they change.

use libfuzzer_sys::arbitrary::Unstructured;
use serde_json::{Map, Value, json};

/// Choices out of the fuzzer's bytes. When these are used up, each is the first, and nothing happens that happens once in so many times.
pub struct Choices<'b>(Unstructured<'b>);

impl Clone for Choices<'_> {
    fn clone(&self) -> Self {
        Self(Unstructured::new(self.0.peek_bytes(self.0.len()).unwrap_or_default()))
    }
}

impl<'b> Choices<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// A number below another.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.int_in_range(0..=end.saturating_sub(1)).unwrap_or_default()
    }

    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    pub fn of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }

    /// A short string of any characters.
    pub fn text(&mut self) -> String {
        let length = self.below(24).min(self.0.len());
        String::from_utf8_lossy(self.0.bytes(length).unwrap_or_default()).into_owned()
    }
}

/// A value that readers may not think of.
pub fn odd(choices: &mut Choices<'_>) -> Value {
    match choices.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(1e308),
        6 => json!(0.5),
        7 => json!(""),
        8 => json!([]),
        9 => json!({}),
        10 => json!([null, {}, ""]),
        11 => json!({"": {"a": []}}),
        12 => json!("x".repeat(5_000)),
        13 => (0..100).fold(json!(0), |inner, _| json!([inner])),
        14 => json!(format!("sha256:{}", "a".repeat(64))),
        _ => json!(choices.text()),
    }
}

/// Changes one place of a document: what is there is missing, has another name, is there twice, stands in a list, is in part another
/// string, or is something else.
pub fn change(document: &mut Value, choices: &mut Choices<'_>) {
    let places = places(document);
    let at = document.pointer_mut(choices.of(&places)).expect("a place of the document");
    match (choices.below(8), at) {
        (0, Value::Object(map)) => drop(take(map, choices)),
        (1, Value::Object(map)) => {
            if let Some((key, value)) = take(map, choices) {
                map.insert(renamed(&key, choices), value);
            }
        }
        (2, Value::Object(map)) => {
            if let Some((key, value)) = take(map, choices) {
                map.insert(renamed(&key, choices), value.clone());
                map.insert(key, value);
            }
        }
        (0, Value::Array(list)) if !list.is_empty() => drop(list.remove(choices.below(list.len()))),
        (1 | 2, Value::Array(list)) if !list.is_empty() => list.push(choices.of(list).clone()),
        (3, at) => *at = json!([at.take()]),
        (0..=2, Value::String(text)) => {
            let end =
                text.char_indices().map(|(end, _)| end).nth(choices.below(text.chars().count())).unwrap_or_default();
            text.truncate(end);
            text.push_str(&choices.text());
        }
        (_, at) => *at = odd(choices),
    }
}

/// A key of an object, with its value.
fn take(map: &mut Map<String, Value>, choices: &mut Choices<'_>) -> Option<(String, Value)> {
    let key = map.keys().nth(choices.below(map.len()))?.clone();
    map.remove_entry(&key)
}

/// A key that some readers take for another one.
fn renamed(key: &str, choices: &mut Choices<'_>) -> String {
    match choices.below(4) {
        0 => key.to_uppercase(),
        1 => key.replacen('s', "ſ", 1),
        2 => format!("{key} "),
        _ => choices.text(),
    }
}

/// The pointers of all places of a document.
pub fn places(document: &Value) -> Vec<String> {
    fn add(places: &mut Vec<String>, value: &Value, at: String) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    add(places, value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")));
                }
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(n, value)| add(places, value, format!("{at}/{n}")))
            }
            _ => {}
        }
        places.push(at);
    }
    let mut all = Vec::new();
    add(&mut all, document, String::new());
    all
}

/// The same JSON, where keys stand from the last to the first.
pub fn backwards(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries = map.iter().rev().map(|(key, value)| format!("{}:{}", json!(key), backwards(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(backwards).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
