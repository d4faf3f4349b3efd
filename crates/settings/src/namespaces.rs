//! Names of namespaces, patterns of them like `prod-*`, and settings by namespace.

use super::read::{Path, Problems, SettingsMap};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most characters of a namespace's name.
const MAX_NAME: usize = 63;

/// A DNS label, as Kubernetes names namespaces.
pub(super) fn is_namespace_name(text: &str) -> bool {
    can_match(text) && !text.contains('*')
}

/// Whether a namespace can have such a name, where `*` stands for any characters.
fn can_match(text: &str) -> bool {
    let literal = text.bytes().filter(|byte| *byte != b'*');
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && literal.clone().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && literal.count() <= MAX_NAME
}

/// The name of a namespace, or a glob in which `*` stands for any characters, even none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePattern(String);

impl NamespacePattern {
    /// # Errors
    /// Why no namespace has such a name, with what to write instead.
    fn read(text: &str) -> Result<Self, String> {
        if !can_match(text) {
            return Err(format!(
                "`{text}` can't be the name of a namespace: use at most {MAX_NAME} lower-case letters, digits and `-`, with no `-` at an end, or a pattern of them with `*`, like `prod-*`"
            ));
        }
        if text.contains("**") {
            return Err(format!("`{text}` has several `*` in a row, which say what one says; write one"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it may match several namespaces.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.0.contains('*')
    }

    /// Whether it matches a namespace. The empty string is the name of none.
    #[must_use]
    pub fn matches(&self, namespace: &str) -> bool {
        !namespace.is_empty() && image_admission_untrusted::glob::matches(&self.0, namespace, |a, b| a == b)
    }

    /// Whether it matches every namespace that another one matches.
    fn covers(&self, other: &str) -> bool {
        // A name has no `*`, so that only a `*` here matches that of the other pattern.
        self.matches(other)
    }

    /// Globs in this order: the one with the most characters beside its `*` first, then the one with the fewest `*`.
    fn order(&self) -> (Reverse<usize>, usize, &str) {
        let stars = self.0.bytes().filter(|byte| *byte == b'*').count();
        (Reverse(self.0.len() - stars), stars, &self.0)
    }
}

/// The patterns of a list that narrows its setting. Invalid ones are reported.
pub(super) fn read_patterns(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Vec<NamespacePattern> {
    let path = map.path().key(key);
    let texts = map.narrowing_texts(key, "namespace", problems).into_iter();
    let patterns = texts.filter_map(|text| read_pattern(text, path, problems));
    patterns.collect()
}

fn read_pattern(text: &str, path: Path<'_>, problems: &mut Problems) -> Option<NamespacePattern> {
    NamespacePattern::read(text).map_err(|why| problems.add(path, why)).ok()
}

/// Settings by namespace. Exactly one entry holds for a namespace: that of its name, else that of the most exact glob.
#[derive(Debug, Clone, PartialEq)]
pub struct ByNamespace<T> {
    names: BTreeMap<String, T>,
    /// The most exact first.
    globs: Vec<(NamespacePattern, T)>,
}

impl<T> Default for ByNamespace<T> {
    fn default() -> Self {
        Self { names: BTreeMap::new(), globs: Vec::new() }
    }
}

impl<T> ByNamespace<T> {
    /// Reads `byNamespace` of an object: `read_entry` gets each entry with its key. `known` are the settings of an entry.
    pub(super) fn read(
        above: &SettingsMap<'_, '_>,
        known: &[&str],
        problems: &mut Problems,
        mut read_entry: impl FnMut(&SettingsMap<'_, '_>, &str, &mut Problems) -> T,
    ) -> Self {
        let mut read = Self::default();
        let path = above.path().key("byNamespace");
        let Some(entries) = SettingsMap::of(above.get("byNamespace"), &path, problems) else { return read };
        for (key, value) in entries.entries() {
            let path = path.key(key);
            let pattern = read_pattern(key, path, problems);
            let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
            map.known(known, &[], problems);
            let entry = read_entry(&map, key, problems);
            match pattern {
                // An entry without a value counts as absent: globs still decide.
                _ if value.is_null() => {}
                Some(pattern) if pattern.is_glob() => read.globs.push((pattern, entry)),
                Some(pattern) => _ = read.names.insert(pattern.0, entry),
                None => {}
            }
        }
        read.globs.sort_by(|(one, _), (other, _)| one.order().cmp(&other.order()));
        read
    }

    /// The entry that holds for a namespace, with its key.
    #[must_use]
    pub fn of(&self, namespace: &str) -> Option<(&str, &T)> {
        match self.names.get_key_value(namespace) {
            Some((name, entry)) => Some((name.as_str(), entry)),
            None => self.globs().find(|(glob, _)| glob.matches(namespace)).map(|(glob, entry)| (glob.as_str(), entry)),
        }
    }

    /// The key of the entry that holds for a namespace.
    pub fn key_of(&self, namespace: &str) -> Option<&str> {
        self.of(namespace).map(|(key, _)| key)
    }

    /// Every entry with its key: the names in alphabetical order, then the globs, the most exact first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> + Clone {
        let names = self.names.iter().map(|(name, entry)| (name.as_str(), entry));
        names.chain(self.globs().map(|(glob, entry)| (glob.as_str(), entry)))
    }

    /// Every entry.
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter().map(|(_, entry)| entry)
    }

    /// Every key as a pattern, in the order of [`Self::iter`].
    pub(super) fn patterns(&self) -> impl Iterator<Item = NamespacePattern> {
        self.iter().map(|(key, _)| NamespacePattern(key.to_owned()))
    }

    /// What may hold for an entry's namespaces without it: other entries, and `None` where the settings for all namespaces may.
    pub(super) fn without(&self, key: &str) -> Vec<Option<(&str, &T)>> {
        let is_name = self.names.contains_key(key);
        let mut others = Vec::new();
        let behind = self.globs().skip_while(|(glob, _)| !is_name && glob.as_str() != key);
        for (glob, entry) in behind.skip(usize::from(!is_name)) {
            let covers = glob.covers(key);
            // Two globs may match the same namespaces.
            if covers || !is_name {
                others.push(Some((glob.as_str(), entry)));
            }
            if covers {
                return others;
            }
        }
        others.push(None);
        others
    }

    fn globs(&self) -> impl Iterator<Item = (&NamespacePattern, &T)> + Clone {
        self.globs.iter().map(|(glob, entry)| (glob, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(keys: &[&str]) -> Result<ByNamespace<String>, Vec<String>> {
        let entries: serde_json::Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), json!({}))).collect();
        read_value(&json!({"byNamespace": entries}))
    }

    fn read_value(value: &Value) -> Result<ByNamespace<String>, Vec<String>> {
        let mut problems = Problems::default();
        let map = SettingsMap::of(Some(value), Path::root(), &mut problems).unwrap();
        let read = ByNamespace::read(&map, &[], &mut problems, |_, key, _| key.to_owned());
        if problems.is_empty() { Ok(read) } else { Err(problems.into_texts()) }
    }

    #[test]
    fn the_most_exact_entry_holds() {
        let by_namespace =
            read(&["*", "prod-*", "prod-a", "*-a", "prod-*-a", "p*d-*", "*d-*-a", "a*", "*b", "test"]).unwrap();
        for (namespace, key) in [
            ("prod-a", Some("prod-a")),
            ("prod-b", Some("prod-*")),
            ("prod-b-a", Some("prod-*-a")),
            ("paid-b-a", Some("*d-*-a")),
            ("paid-b", Some("p*d-*")),
            ("test-a", Some("*-a")),
            ("test", Some("test")),
            ("test2", Some("*")),
            // As many characters and as many `*`: the first in alphabetical order.
            ("ab", Some("*b")),
            ("", None),
        ] {
            assert_eq!(by_namespace.key_of(namespace), key, "{namespace}");
            assert_eq!(by_namespace.of(namespace).map(|(_, entry)| entry.as_str()), key, "{namespace}");
        }
        // As many characters: the one with fewer `*`.
        assert_eq!(read(&["*ab*", "a*b"]).unwrap().key_of("ab"), Some("a*b"));
        assert_eq!(read(&["prod-*"]).unwrap().key_of("prod"), None);
        assert_eq!(read(&[]).unwrap().key_of("prod"), None);
        let keys = ["prod-a", "test", "prod-*-a", "prod-*", "*d-*-a", "p*d-*", "*-a", "*b", "a*", "*"];
        assert_eq!(by_namespace.iter().map(|(key, _)| key).collect::<Vec<_>>(), keys);
        assert!(by_namespace.values().eq(keys));
    }

    #[test]
    fn an_entry_without_a_value_is_none() {
        let by_namespace = read_value(&json!({"byNamespace": {"prod-a": null, "*": {}, "prod-*": null}})).unwrap();
        assert_eq!(by_namespace.key_of("prod-a"), Some("*"));
        assert_eq!(read_value(&json!({"byNamespace": null})).unwrap(), ByNamespace::default());
    }

    #[test]
    fn names_that_no_namespace_can_have_are_refused() {
        let long = "a".repeat(64);
        for key in
            ["", "Shop", "Kube_System", "-a", "a-", "a.b", "a b", "a?", "prod-[ab]", "é", "*-", "-*", "A*", &long]
        {
            assert_eq!(
                read(&[key]),
                Err(vec![format!(
                    "byNamespace.{key}: `{key}` can't be the name of a namespace: use at most 63 lower-case letters, digits and `-`, with no `-` at an end, or a pattern of them with `*`, like `prod-*`"
                )])
            );
            assert!(!is_namespace_name(key), "{key}");
        }
        for key in ["**", "prod-**", "a**b"] {
            assert_eq!(
                read(&[key]),
                Err(vec![format!(
                    "byNamespace.{key}: `{key}` has several `*` in a row, which say what one says; write one"
                )])
            );
        }
        for key in ["a", "0", "a-b", "a--b", &"a".repeat(63)] {
            assert!(is_namespace_name(key) && read(&[key]).is_ok(), "{key}");
        }
        for key in ["*", "*a", "a*", "a-*", "*-a", "a*b*c", &["a".repeat(63), "*".to_owned()].concat()] {
            assert!(!is_namespace_name(key) && read(&[key]).is_ok(), "{key}");
        }
    }

    #[test]
    fn what_holds_without_an_entry() {
        let keys = |all: &[&str], key: &str| -> Vec<String> {
            let by_namespace = read(all).unwrap();
            let without = by_namespace.without(key);
            without.into_iter().map(|other| other.map_or("top".to_owned(), |(key, _)| key.to_owned())).collect()
        };
        assert_eq!(keys(&["prod-a"], "prod-a"), ["top"]);
        assert_eq!(keys(&["prod-a", "test-*", "*"], "prod-a"), ["*"]);
        assert_eq!(keys(&["prod-a", "prod-*", "*"], "prod-a"), ["prod-*"]);
        assert_eq!(keys(&["prod-a", "prod-*", "*a"], "prod-*"), ["*a", "top"]);
        assert_eq!(keys(&["prod-*", "*a", "p*", "*"], "prod-*"), ["*a", "p*"]);
        assert_eq!(keys(&["prod-*", "p*"], "p*"), ["top"]);
    }
}
