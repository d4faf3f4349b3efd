//! Entries that are added to a list, in the style in which it is written.

use serde_json::{Map, Value};

use super::{OwnLines, below, is_json, offset};
use image_admission_manifests::lines::{Lines, Part, Spot};

/// An entry: its keys with their values, strings or lists of them, in order.
type Entry = Vec<(&'static str, Value)>;

/// Adds entries to the list that a path leads to in a document, and makes the list where there is none. The texts in which that
/// may be written; none where it can't be.
pub(super) fn attempts(
    text: &str,
    number: usize,
    document: &mut Value,
    path: &[String],
    entries: &[Entry],
) -> Option<[Option<String>; 2]> {
    let (key, above) = path.split_last()?;
    let Value::Object(map) = above.iter().try_fold(document, |value, step| below(value, step))? else { return None };
    let place = Place { text, number, entries };
    let attempts = match map.get(key) {
        Some(Value::Array(list)) if !list.is_empty() => {
            let item = [path, &[(list.len() - 1).to_string()]].concat();
            [place.below_item(&item), place.behind_entry(&item)]
        }
        Some(Value::Array(_)) => [place.in_brackets(path), None],
        Some(Value::Null) => [place.below_key(path), None],
        Some(_) => return None,
        None => {
            let beside = place.neighbour(map, above)?;
            [place.above_key(key, &beside), place.before_key(key, &beside)]
        }
    };
    let list = map.entry(key.clone()).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut()?.extend(entries.iter().map(|entry| {
        let fields = entry.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Value::Object(fields.collect())
    }));
    Some(attempts)
}

/// A document of a text, and what is added to it.
struct Place<'a> {
    text: &'a str,
    number: usize,
    entries: &'a [Entry],
}

impl Place<'_> {
    /// Below the last item of a list whose items have lines of their own, in that item's style.
    fn below_item(&self, item: &[String]) -> Option<String> {
        let spot = self.spot(item)?;
        let lines = self.lines();
        let OwnLines { end, indent, .. } = OwnLines::at(&lines, spot)?;
        let is_between_brackets = self.text.get(offset(self.text, spot)?..)?.starts_with('{');
        let own: String = self.entries.iter().map(|entry| item_lines(entry, indent, is_between_brackets)).collect();
        self.with_lines(end, &own)
    }

    /// Behind the last entry of a list between brackets; where that begins a line, in a line below it.
    fn behind_entry(&self, item: &[String]) -> Option<String> {
        let spot = self.spot(item)?;
        let start = offset(self.text, spot)?;
        let end = start + super::end_of_entry(self.text.get(start..)?)?;
        let before = self.lines().get(spot.line - 1)?.chars().take(spot.column - 1).collect::<String>();
        let separator = if before.trim().is_empty() { format!(",\n{before}") } else { ", ".to_owned() };
        let own: String = self.between_brackets().iter().map(|entry| format!("{separator}{entry}")).collect();
        self.with(end, &own)
    }

    /// Into a list that is written as `[]`.
    fn in_brackets(&self, list: &[String]) -> Option<String> {
        let spot = Lines::of(self.text).spot(self.number, list, Part::Value)?;
        let start = offset(self.text, spot)?;
        let rest = self.text.get(start..)?.strip_prefix('[')?;
        rest.trim_start().strip_prefix(']')?;
        self.with(start + 1, &self.between_brackets().join(", "))
    }

    /// Below the key of a list that is written as nothing.
    fn below_key(&self, list: &[String]) -> Option<String> {
        let spot = self.spot(list)?;
        let OwnLines { start, indent, .. } = OwnLines::at(&self.lines(), spot)?;
        let own: String = self.entries.iter().map(|entry| item_lines(entry, indent + 2, true)).collect();
        self.with_lines(start + 1, &own)
    }

    /// As a list of its own above a key that begins a line, and above the remarks that belong to it.
    fn above_key(&self, key: &str, beside: &[String]) -> Option<String> {
        let spot = self.spot(beside)?;
        let lines = self.lines();
        let OwnLines { mut start, indent, .. } = OwnLines::at(&lines, spot)?;
        if is_json(self.text) {
            return None;
        }
        let is_remark = |line: &str| {
            let content = line.trim_start_matches(' ');
            content.starts_with('#') && line.len() - content.len() == indent
        };
        while start > 0 && lines.get(start - 1).is_some_and(|line| is_remark(line)) {
            start -= 1;
        }
        let items: String = self.entries.iter().map(|entry| item_lines(entry, indent + 2, true)).collect();
        self.with_lines(start, &format!("{:indent$}{key}:\n{items}", ""))
    }

    /// As a list between brackets before a key, in a line of its own where the key has one.
    fn before_key(&self, key: &str, beside: &[String]) -> Option<String> {
        let spot = self.spot(beside)?;
        let before = self.lines().get(spot.line - 1)?.chars().take(spot.column - 1).collect::<String>();
        let separator = if before.trim().is_empty() { format!(",\n{before}") } else { ", ".to_owned() };
        let key = if is_json(self.text) { format!("\"{key}\"") } else { key.to_owned() };
        let own = format!("{key}: [{}]{separator}", self.between_brackets().join(", "));
        self.with(offset(self.text, spot)?, &own)
    }

    /// The key that a new one is written before: the settings, else the first.
    fn neighbour(&self, map: &Map<String, Value>, above: &[String]) -> Option<Vec<String>> {
        let path = |key: &String| [above, std::slice::from_ref(key)].concat();
        let settings = map.keys().find(|key| *key == "settings").map(path);
        let first = || map.keys().map(path).min_by_key(|path| self.spot(path).map(|spot| (spot.line, spot.column)));
        settings.or_else(first)
    }

    /// Each entry, written between brackets.
    fn between_brackets(&self) -> Vec<String> {
        let is_json = is_json(self.text);
        self.entries.iter().map(|entry| between_brackets(entry, is_json)).collect()
    }

    fn spot(&self, path: &[String]) -> Option<Spot> {
        Lines::of(self.text).spot(self.number, path, Part::Key)
    }

    fn lines(&self) -> Vec<&str> {
        self.text.split_inclusive('\n').collect()
    }

    /// The text with something at a byte.
    fn with(&self, at: usize, own: &str) -> Option<String> {
        Some([self.text.get(..at)?, own, self.text.get(at..)?].concat())
    }

    /// The text with lines before one of its own.
    fn with_lines(&self, at: usize, own: &str) -> Option<String> {
        let lines = self.lines();
        let (before, after) = (lines.get(..at)?.concat(), lines.get(at..)?.concat());
        // The last line may have no end.
        let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        Some([&before, end, own, &after].concat())
    }
}

/// The lines of an item.
fn item_lines(entry: &Entry, indent: usize, is_between_brackets: bool) -> String {
    if is_between_brackets {
        return format!("{:indent$}- {}\n", "", between_brackets(entry, false));
    }
    let line = |(position, (key, value)): (usize, &(&str, Value))| {
        format!("{:indent$}{} {key}: {}\n", "", if position == 0 { "-" } else { " " }, written(value, false))
    };
    entry.iter().enumerate().map(line).collect()
}

/// `{apiVersion: v1, kind: Namespace}`
fn between_brackets(entry: &Entry, is_json: bool) -> String {
    let quote = if is_json { "\"" } else { "" };
    let fields: Vec<String> =
        entry.iter().map(|(key, value)| format!("{quote}{key}{quote}: {}", written(value, is_json))).collect();
    format!("{{{}}}", fields.join(", "))
}

/// `Namespace`, `["pods/ephemeralcontainers"]`
fn written(value: &Value, is_json: bool) -> String {
    match value {
        Value::String(text) if !is_json => text.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::lint::fix::values;
    use serde_json::json;
    use std::path::Path;

    const POD: &str = "{apiVersion: v1, kind: Pod}";

    /// What becomes of a text where a kind is added to `spec.list`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let path = ["spec".to_owned(), "list".to_owned()];
        let entries = [vec![("apiVersion", json!("v1")), ("kind", json!("Pod"))]];
        let mut wanted = values(Path::new("x.yaml"), text).unwrap();
        let found = attempts(text, 0, &mut wanted[0].1, &path, &entries).unwrap();
        let is_meant = |after: &String| values(Path::new("x.yaml"), after).as_ref() == Some(&wanted);
        assert_eq!(found.into_iter().flatten().find(is_meant).as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn entries_are_written_as_those_before_them() {
        check(
            "spec:\n  list: # granted\n    - {a: b} # first\n    # remark\n\n  # x\n  settings: {}\n",
            &format!(
                "spec:\n  list: # granted\n    - {{a: b}} # first\n    - {POD}\n    # remark\n\n  # x\n  settings: {{}}\n"
            ),
        );
        check(
            "spec:\n  list:\n  - a: b\n    # more\n    c: d\n  settings: {}\n",
            "spec:\n  list:\n  - a: b\n    # more\n    c: d\n  - apiVersion: v1\n    kind: Pod\n  settings: {}\n",
        );
        check("spec:\n  list:\n    - {a: b}", &format!("spec:\n  list:\n    - {{a: b}}\n    - {POD}\n"));
        check("spec: {list: [{a: [b]}], c: d}\n", &format!("spec: {{list: [{{a: [b]}}, {POD}], c: d}}\n"));
        check(
            "{\"spec\": {\n  \"list\": [\n    {\"a\": \"b\"}\n  ]}}\n",
            "{\"spec\": {\n  \"list\": [\n    {\"a\": \"b\"},\n    {\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n  ]}}\n",
        );
    }

    #[test]
    fn lists_are_written_in_quotes() {
        let entry = vec![("apiGroups", json!([""])), ("resources", json!(["pods/a", "b"]))];
        assert_eq!(between_brackets(&entry, false), "{apiGroups: [\"\"], resources: [\"pods/a\", \"b\"]}");
        assert_eq!(item_lines(&entry, 2, false), "  - apiGroups: [\"\"]\n    resources: [\"pods/a\", \"b\"]\n");
        let read: Value = serde_json::from_str(&between_brackets(&entry, true)).unwrap();
        assert_eq!(read, json!({"apiGroups": [""], "resources": ["pods/a", "b"]}));
    }

    #[test]
    fn a_list_is_made_where_there_is_none() {
        check("spec:\n  list: [ ] # none\n", &format!("spec:\n  list: [{POD} ] # none\n"));
        check("spec:\n  list: # none\n  a: b\n", &format!("spec:\n  list: # none\n    - {POD}\n  a: b\n"));
        check(
            "spec:\n  a: b\n  # remark\n  settings:\n    c: d\n",
            &format!("spec:\n  a: b\n  list:\n    - {POD}\n  # remark\n  settings:\n    c: d\n"),
        );
        check(
            "spec:\n  # remark\n  b: c\n  a: d\n",
            &format!("spec:\n  list:\n    - {POD}\n  # remark\n  b: c\n  a: d\n"),
        );
        check("spec: {a: b, settings: {}}\n", &format!("spec: {{a: b, list: [{POD}], settings: {{}}}}\n"));
        check(
            "{\"spec\": {\n  \"settings\": {}}}\n",
            "{\"spec\": {\n  \"list\": [{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}],\n  \"settings\": {}}}\n",
        );
    }
}
