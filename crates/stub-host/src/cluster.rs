//! The objects of a cluster: what a GET and a list make of them.

use crate::{Answer, Call};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What the cluster holds, and what is wrong with it.
#[derive(Default)]
pub(crate) struct Cluster {
    pub(crate) objects: Vec<Value>,
    /// What is there in an object's place from its n-th GET on.
    pub(crate) later: Option<(usize, Value)>,
    /// What lists show in the place of what is there.
    pub(crate) listed: Option<Vec<Value>>,
    pub(crate) is_unfiltered: bool,
    /// Kinds, namespaces and names that can't be read.
    pub(crate) broken: BTreeSet<String>,
}

impl Cluster {
    pub(crate) fn put(&mut self, object: Value) {
        self.objects.retain(|other| place(other) != place(&object));
        self.objects.push(object);
    }

    /// The object that is asked for, for the n-th time.
    pub(crate) fn get(&self, call: &Call, times: usize) -> Answer {
        self.check(call)?;
        let asked = ["api_version", "kind", "namespace", "name"].map(|key| call.field(key));
        let is_asked_for = |object: &Value| place(object) == asked;
        let later = self.later.as_ref().filter(|(from, later)| times >= *from && is_asked_for(later));
        let there = || self.objects.iter().find(|object| is_asked_for(object));
        let object = later.map(|(_, later)| later).or_else(there).ok_or_else(|| absent(call))?;
        Ok(masked(object, call))
    }

    pub(crate) fn list(&self, call: &Call) -> Answer {
        self.check(call)?;
        let is_listed = |object: &&Value| {
            let namespace = call.payload.get("namespace").and_then(Value::as_str);
            place(object)[..2] == [call.field("api_version"), call.field("kind")]
                && (self.is_unfiltered
                    || namespace.is_none_or(|own| text(object, &["metadata", "namespace"]) == Some(own))
                        && call.field("label_selector").split(',').all(|term| is_selected(object, term)))
        };
        let there = self.listed.as_ref().unwrap_or(&self.objects);
        let items: Vec<Value> = there.iter().filter(is_listed).map(|object| masked(object, call)).collect();
        let (version, kind) = (call.field("api_version"), format!("{}List", call.field("kind")));
        Ok(json!({"apiVersion": version, "kind": kind, "metadata": {}, "items": items}))
    }

    fn check(&self, call: &Call) -> Result<(), String> {
        if ["kind", "namespace", "name"].iter().any(|key| self.broken.contains(call.field(key))) {
            return Err("Callback evaluation failure: no route to host".to_owned());
        }
        Ok(())
    }
}

/// Whether a term of a label selector holds: `a=b`, or `a!=b`.
fn is_selected(object: &Value, term: &str) -> bool {
    let Some((key, value)) = term.split_once('=') else { return true };
    let label = |key: &str| text(object, &["metadata", "labels", key.trim()]);
    match key.strip_suffix('!') {
        Some(key) => label(key) != Some(value.trim()),
        None => label(key) == Some(value.trim()),
    }
}

/// Where an object stands: its API version, kind, namespace and name.
fn place(object: &Value) -> [&str; 4] {
    let of = |asked: &str, own: &str| text(object, &["metadata", asked]).or(text(object, &["metadata", own]));
    let (namespace, name) = (of("asked-in", "namespace"), of("asked-as", "name"));
    [text(object, &["apiVersion"]), text(object, &["kind"]), namespace, name].map(Option::unwrap_or_default)
}

fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |at, key| at.get(key))?.as_str()
}

fn absent(call: &Call) -> String {
    let (version, kind, name) = (call.field("api_version"), call.field("kind"), call.field("name"));
    let namespace = call.payload.get("namespace").and_then(Value::as_str);
    format!(
        "Callback evaluation failure: Cannot find {version}/{kind} named '{name}' inside of namespace '{namespace:?}'"
    )
}

/// The object with what the masks name, and with what no mask takes away. No mask at all is everything.
fn masked(object: &Value, call: &Call) -> Value {
    let fields: Vec<&str> = call.masks().collect();
    let mut object = object.clone();
    if let (false, Value::Object(map)) = (fields.is_empty(), &mut object) {
        map.retain(|key, value| {
            ["apiVersion", "kind", "metadata"].contains(&key.as_str()) || keep(key, value, &fields)
        });
    }
    object
}

/// Prunes a field to what the masks name of it; whether they name any. A mask below another one narrows it.
fn keep(key: &str, value: &mut Value, fields: &[&str]) -> bool {
    let below: Vec<&str> = fields.iter().filter_map(|field| field.strip_prefix(key)?.strip_prefix('.')).collect();
    if !below.is_empty() {
        prune(value, &below);
    }
    !below.is_empty() || fields.contains(&key)
}

fn prune(value: &mut Value, fields: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, fields)),
        Value::Object(map) => map.retain(|key, value| keep(key, value, fields)),
        _ => {}
    }
}
