//! Sysdig's ConfigMap with its settings: they are read as if they stood at the top level.
//!
//! A `kind: ConfigMap` is replaced by its `data`, and `policy.json` by the settings in its string. Other settings may stand beside
//! them, since Sysdig's controllers lack most of them. Nothing may stand twice.

use super::read::{Path, Problems, SettingsMap, wrong_type};
use image_admission_untrusted::memory::{Place, ValueReader};
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};
use std::cell::RefCell;

/// The key of Sysdig's ConfigMap whose string is the settings, as JSON.
const POLICY: &str = "policy.json";
/// The keys of a ConfigMap.
const ENVELOPE: [&str; 5] = ["apiVersion", "kind", "metadata", "immutable", "data"];

/// The settings without their wrapping; none where there is no wrapping.
pub(super) fn unwrapped(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Value> {
    let is_config_map = settings.get("kind").and_then(Value::as_str) == Some("ConfigMap");
    if !is_config_map && !settings.has(POLICY) {
        return None;
    }
    let root = settings.path();
    let is_inside = |key: &str| !(is_config_map && ENVELOPE.contains(&key));
    let mut inner: Map<String, Value> =
        settings.entries().filter(|(key, _)| is_inside(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    if is_config_map {
        match settings.get("data") {
            Some(Value::Object(data)) => add(&mut inner, data.clone(), "data", root, problems),
            Some(other) => problems.add(root.key("data"), wrong_type("the data of a ConfigMap", other)),
            None => problems.add(root.key("data"), "it is missing: a ConfigMap has its settings there"),
        }
    }
    match inner.remove(POLICY) {
        None | Some(Value::Null) => {}
        Some(Value::Object(policy)) => add(&mut inner, policy, POLICY, root, problems),
        Some(Value::String(text)) => match read(&text) {
            Ok((Value::Object(policy), twice)) => {
                twice.iter().for_each(|path| problems.add_at(path, "it stands twice in the text; keep one of them"));
                add(&mut inner, policy, POLICY, root, problems);
            }
            Ok((other, _)) => problems.add(root.key(POLICY), wrong_type("the text of an object in JSON", &other)),
            Err(error) => problems.add(root.key(POLICY), format!("its text is no JSON: {error}")),
        },
        Some(other) => problems.add(root.key(POLICY), wrong_type("a text in JSON", &other)),
    }
    Some(Value::Object(inner))
}

/// Reads JSON, and the paths of its duplicate keys, of which a reader would take the last.
fn read(text: &str) -> Result<(Value, Vec<String>), serde_json::Error> {
    let twice = RefCell::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let place = TextPlace { path: POLICY.to_owned(), twice: &twice };
    let value = ValueReader(place).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, twice.into_inner()))
}

/// A place in the JSON, and the paths of its duplicate keys.
struct TextPlace<'t> {
    path: String,
    twice: &'t RefCell<Vec<String>>,
}

/// The first of two entries is kept, and the other is noted.
impl Place for TextPlace<'_> {
    fn element(&self, at: usize) -> Self {
        Self { path: format!("{}[{at}]", self.path), ..*self }
    }

    fn entry(&self, key: &str) -> Self {
        Self { path: format!("{}.{key}", self.path), ..*self }
    }

    fn is_kept(&self, object: &Map<String, Value>, key: &str) -> bool {
        let is_second = object.contains_key(key);
        if is_second {
            self.twice.borrow_mut().push(self.path.clone());
        }
        !is_second
    }
}

/// Adds what was wrapped. A setting that also stands outside is a problem: neither value can be chosen.
fn add(
    settings: &mut Map<String, Value>,
    wrapped: Map<String, Value>,
    wrapping: &str,
    root: &Path<'_>,
    problems: &mut Problems,
) {
    for (key, value) in wrapped {
        if settings.contains_key(&key) {
            problems.add(root.key(&key), format!("it stands in `{wrapping}` and beside it; keep one of them"));
        } else {
            settings.insert(key, value);
        }
    }
}
