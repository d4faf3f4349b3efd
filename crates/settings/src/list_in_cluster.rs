//! A list in a ConfigMap, which somebody keeps up to date.

use super::attestors::KeyReference;
use super::namespaces::is_namespace_name;
use super::read::{Problems, SettingsMap};
use super::reports::is_resource_name;
use image_admission_untrusted::time::{Timestamp, WrittenDuration};

/// A list in a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListInCluster {
    /// The ConfigMap, and the key that holds the list.
    pub place: KeyReference,
    /// How old the list may be. An older one can't be used.
    pub max_age: Option<WrittenDuration>,
}

impl ListInCluster {
    /// The annotation that says when the list was fetched.
    pub const REFRESHED: &str = "image-admission/refreshed-at";

    /// Why a list of this time is too old, or may be; none if it may be as old as that.
    #[must_use]
    pub fn why_too_old(&self, time: Option<Timestamp>, now: Timestamp) -> Option<String> {
        let max_age = self.max_age.as_ref()?;
        match time {
            None => Some(format!(
                "nothing says how old it is, and `maxAge` is {max_age}: annotate it with `{}`",
                Self::REFRESHED
            )),
            Some(time) if time.is_ahead_of(now) => {
                Some(format!("it is of {time}, which is still to come, and `maxAge` is {max_age}"))
            }
            Some(time) if time.is_older_than(max_age, now) => {
                Some(format!("it is of {time}, and `maxAge` is {max_age}"))
            }
            Some(_) => None,
        }
    }
}

/// What the key `from` has, `{configMap: {namespace: …, name: …, key: …}}`.
pub(super) fn read_place(
    from: &SettingsMap<'_, '_>,
    default_key: &'static str,
    problems: &mut Problems,
) -> Option<KeyReference> {
    if !from.has("configMap") {
        problems.add(*from.path(), "`configMap` is missing: what holds the list, `{namespace: …, name: …}`");
        return None;
    }
    let path = from.path().key("configMap");
    let map = SettingsMap::named(from.get("configMap"), &path, "an object like `{namespace: …, name: …}`", problems)?;
    map.known(&["namespace", "name", "key"], &[], problems);
    let namespace = named(&map, "namespace", None, is_namespace_name, problems);
    let name = named(&map, "name", None, is_resource_name, problems);
    let key = named(&map, "key", Some(default_key), is_key, problems);
    Some(KeyReference { kind: "ConfigMap", namespace: namespace?, name: name?, key: key? })
}

/// A string that must be a name. It is required unless it has a default.
fn named(
    map: &SettingsMap<'_, '_>,
    key: &str,
    default: Option<&str>,
    is_name: fn(&str) -> bool,
    problems: &mut Problems,
) -> Option<String> {
    let path = map.path().key(key);
    if !map.has(key) && default.is_none() {
        problems.add(path, format!("the ConfigMap's {key} is missing"));
        return None;
    }
    let text = if map.has(key) { map.text(key, problems)? } else { default? };
    if !is_name(text) {
        problems.add(path, format!("`{text}` can't be the {key} of a ConfigMap"));
        return None;
    }
    Some(text.to_owned())
}

/// Whether a string can be a key of a ConfigMap.
fn is_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text != "."
        && text != ".."
}
