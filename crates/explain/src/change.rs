//! Changes of settings, tried until they admit a request, and made as small as possible.

use super::Opens;
use super::causes::causes;
use image_admission_engine::decide;
use image_admission_host::Host;
use image_admission_settings::Settings;
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Why no change admits a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// The changes.
    pub edits: Vec<Edit>,
    /// What still rejects it then, and no setting undoes.
    pub still: String,
}

/// The most edits of a change: each is tried on its own.
const MAX_EDITS: usize = 60;
/// How often another cause may be undone: a rejection by one phase hides that of the next.
const ROUNDS: usize = 6;

/// A change of settings that admits a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The changes, all of which are needed.
    pub edits: Vec<Edit>,
    /// The settings after the change.
    pub settings: Value,
}

/// One change of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edit {
    /// Its path.
    pub path: String,
    /// The action there.
    #[serde(flatten)]
    pub action: Action,
    /// What that admits.
    pub opens: Opens,
    /// For a list that replaces another one, and begins as its copy: the path of that list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<String>,
    /// For an entry of `byNamespace` that replaces a glob's entry, and begins as its copy: the path of that entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The path, key by key.
    #[serde(skip)]
    keys: Vec<String>,
    /// The list that it copies.
    #[serde(skip)]
    copied: Value,
    /// The entry that it replaces.
    #[serde(skip)]
    replaced: Value,
}

/// The action at a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It becomes this.
    Set(Value),
    /// The list there begins with this.
    Prepend(Value),
    /// The list there ends with this.
    Append(Value),
}

impl Edit {
    /// A change at a path of keys; `[0]` is a position.
    pub(super) fn new(keys: &[&str], action: Action, opens: Opens) -> Self {
        let owned = keys.iter().map(|key| (*key).to_owned()).collect();
        Self {
            path: path_of(keys),
            action,
            opens,
            copies: None,
            replaces: None,
            keys: owned,
            copied: Value::Null,
            replaced: Value::Null,
        }
    }

    /// The same for a list that doesn't exist yet and replaces another one.
    pub(super) fn copying(self, keys: &[&str], list: Option<&Value>) -> Self {
        let list = list.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        Self { copies: list.map(|_| path_of(keys)), copied: list.cloned().unwrap_or_default(), ..self }
    }

    /// The same for an entry of `byNamespace` that doesn't exist yet and replaces another one.
    pub(super) fn replacing(self, keys: &[&str], entry: Option<&Value>) -> Self {
        Self { replaces: entry.map(|_| path_of(keys)), replaced: entry.cloned().unwrap_or_default(), ..self }
    }

    /// The same for the whole replaced entry, after the change; none if no entry is replaced.
    #[must_use]
    pub fn replacement(&self) -> Option<Self> {
        self.replaces.as_ref()?;
        let (_, entry) = self.keys.split_last()?;
        let keys: Vec<&str> = entry.iter().map(String::as_str).collect();
        let copied = self.replaced.clone();
        Some(Self { path: path_of(&keys), keys: entry.to_vec(), copies: self.replaces.clone(), copied, ..self.clone() })
    }

    /// The last key of its path.
    #[must_use]
    pub fn key(&self) -> &str {
        self.keys.last().map_or("", String::as_str)
    }

    /// The value at its path in settings; null counts as none.
    #[must_use]
    pub fn written_in<'s>(&self, settings: &'s Value) -> Option<&'s Value> {
        let below = |at: &'s Value, key: &String| match at.as_array() {
            Some(list) => list.get(position(key)?),
            None => at.get(key),
        };
        self.keys.iter().try_fold(settings, below).filter(|value| !value.is_null())
    }

    /// The same with one vulnerability less, for an exemption of several; none otherwise.
    fn without_vulnerability(&self, position: usize) -> Option<Self> {
        let Action::Append(exemption) = &self.action else { return None };
        let mut exemption = exemption.as_object()?.clone();
        let mut ids = exemption.remove("vulnerabilities")?.as_array()?.clone();
        if ids.len() < 2 || position >= ids.len() {
            return None;
        }
        ids.remove(position);
        match ids.as_slice() {
            [id] => exemption.insert("vulnerability".to_owned(), id.clone()),
            _ => exemption.insert("vulnerabilities".to_owned(), ids.clone().into()),
        };
        let mut fewer = Self { action: Action::Append(Value::Object(exemption)), ..self.clone() };
        if let Opens::Findings { ids: opened, .. } = &mut fewer.opens {
            opened.retain(|opened| ids.iter().any(|id| id.as_str() == Some(opened)));
        }
        Some(fewer)
    }

    fn apply(&self, settings: &mut Value) {
        if let Some((_, entry)) = self.keys.split_last().filter(|_| self.replaces.is_some()) {
            at(settings, entry, &|value| {
                if value.is_null() {
                    *value = self.replaced.clone();
                }
            });
        }
        at(settings, &self.keys, &|value| {
            if value.is_null() {
                *value = self.copied.clone();
            }
            match &self.action {
                Action::Set(new) => *value = new.clone(),
                Action::Prepend(entry) => listed(value, |list| list.insert(0, entry.clone())),
                Action::Append(entry) => listed(value, |list| list.push(entry.clone())),
            }
        });
    }
}

/// `imageVerification[0].failureAction`
pub(super) fn path_of(keys: &[&str]) -> String {
    let mut path = String::new();
    for key in keys {
        if !path.is_empty() && !key.starts_with('[') {
            path.push('.');
        }
        path.push_str(key);
    }
    path
}

/// Changes the value at a path of keys. A value on the way that is no object is replaced by one: missing settings are null.
fn at(value: &mut Value, keys: &[String], change: &dyn Fn(&mut Value)) {
    let Some((key, rest)) = keys.split_first() else { return change(value) };
    if let (Value::Array(list), Some(position)) = (&mut *value, position(key)) {
        return list.get_mut(position).map_or((), |entry| at(entry, rest, change));
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Value::Object(map) = value {
        at(map.entry(key.as_str()).or_insert(Value::Null), rest, change);
    }
}

/// The position of a key like `[0]`.
pub(super) fn position(key: &str) -> Option<usize> {
    key.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Changes a list; another value is replaced by a list.
fn listed(value: &mut Value, change: impl FnOnce(&mut Vec<Value>)) {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    if let Value::Array(list) = value {
        change(list);
    }
}

/// A change that admits the request, as small as leaving out parts of it can make it.
///
/// # Errors
/// What still rejects it after all changes, if there were any.
pub(super) fn find(
    request: Option<&RawValue>,
    settings: &Value,
    before: &Settings,
    host: &dyn Host,
    now: Timestamp,
) -> Result<Change, Option<Stuck>> {
    let mut edits: Vec<Edit> = Vec::new();
    for _ in 0..ROUNDS {
        let changed = with(settings, &edits);
        let read = image_admission_engine::check_settings(&changed).map_err(|_| None)?;
        let decision = decide(request, &read, host, now);
        let causes = causes(&decision, request, &changed, &read, before);
        if causes.is_empty() {
            return if decision.is_allowed() { Ok(smallest(edits, request, settings, host, now)) } else { Err(None) };
        }
        let before = edits.len();
        for cause in causes {
            if cause.undo.is_empty() {
                let still = cause.why.to_string();
                return Err((!edits.is_empty()).then_some(Stuck { edits, still }));
            }
            for edit in cause.undo {
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
        if edits.len() == before || edits.len() > MAX_EDITS {
            return Err(None);
        }
    }
    Err(None)
}

/// Leaves out unneeded edits.
fn smallest(edits: Vec<Edit>, request: Option<&RawValue>, settings: &Value, host: &dyn Host, now: Timestamp) -> Change {
    let admits = |edits: &[Edit]| {
        let read = image_admission_engine::check_settings(&with(settings, edits));
        read.is_ok_and(|read| decide(request, &read, host, now).is_allowed())
    };
    let mut needed = edits.clone();
    for edit in edits.iter().rev() {
        let without: Vec<Edit> = needed.iter().filter(|other| *other != edit).cloned().collect();
        if admits(&without) {
            needed = without;
        }
    }
    // One finding less may be enough, if platforms share some.
    for position in 0..needed.len() {
        let mut id = 0;
        while let Some(fewer) = needed.get(position).and_then(|edit| edit.without_vulnerability(id)) {
            let mut without = needed.clone();
            without.splice(position..=position, [fewer]);
            if admits(&without) {
                needed = without;
            } else {
                id += 1;
            }
        }
    }
    Change { settings: with(settings, &needed), edits: needed }
}

fn with(settings: &Value, edits: &[Edit]) -> Value {
    let mut changed = settings.clone();
    edits.iter().for_each(|edit| edit.apply(&mut changed));
    changed
}
