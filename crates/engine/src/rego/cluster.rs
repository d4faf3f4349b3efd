//! The cluster as data: the kinds of `context` that the rules of a request mention.

use image_admission_host::{Host, HostFailure, Resource};
use image_admission_rego::evaluation::document::{from_json, get, set};
use image_admission_rego::evaluation::module::Facts;
use image_admission_settings::ContextKind;
use image_admission_untrusted::message::cut;
use regorus::Value;
use std::collections::BTreeMap;

/// The most that rules see of one kind, in bytes as documents are measured.
const MAX_OBJECTS: usize = 16 * 1024 * 1024;
/// A name that hardly any object has: "not found" is an answer too.
const NOBODY: &str = "image-admission-asks-whether-it-may-read";

/// The objects of one request's rules. Each kind is read once.
pub(crate) struct Cluster<'a> {
    kinds: &'a [ContextKind],
    host: &'a dyn Host,
    namespace: String,
    read: BTreeMap<usize, Result<Vec<Value>, String>>,
}

impl<'a> Cluster<'a> {
    /// `namespace` is the request's; empty for objects without one.
    pub(crate) fn new(kinds: &'a [ContextKind], host: &'a dyn Host, namespace: &str) -> Self {
        let namespace = if namespace.is_empty() { "default" } else { namespace };
        Self { kinds, host, namespace: namespace.to_owned(), read: BTreeMap::new() }
    }

    /// The data that modules mention: `kubernetes` and `inventory`; none if they mention neither.
    ///
    /// # Errors
    /// The first kind that can't be read, and why.
    pub(super) fn data(&mut self, modules: &[Facts]) -> Result<Option<Value>, String> {
        let mut data = Documents::default();
        for (position, kind) in self.kinds.iter().enumerate() {
            let in_kubernetes = mentioned(modules, &["kubernetes", &kind.plural]);
            // The namespace and the name may be anything, so the keys that a rule has for them don't select a kind.
            let in_inventory = modules.iter().flat_map(|facts| &facts.data).any(|reference| {
                let keys: Vec<Option<&str>> = reference.keys.iter().map(Option::as_deref).collect();
                match keys.as_slice() {
                    [Some("inventory"), Some("cluster"), path @ ..]
                    | [Some("inventory"), Some("namespace"), _, path @ ..] => {
                        agree(path, &[&kind.api_version, &kind.kind])
                    }
                    [Some("inventory"), None, ..]
                    | [Some("inventory")]
                    | [Some("inventory"), Some("namespace")]
                    | [None, ..] => true,
                    _ => false,
                }
            });
            if !in_kubernetes && !in_inventory {
                continue;
            }
            let (host, namespace) = (self.host, &self.namespace);
            let objects = self.read.entry(position).or_insert_with(|| list(kind, host, namespace));
            for object in objects.as_ref().map_err(Clone::clone)? {
                data.add(kind, object, in_kubernetes, in_inventory);
            }
            // A kind without objects is an empty object.
            if in_kubernetes {
                data.kubernetes.entry(kind.plural.clone()).or_insert_with(Value::new_object);
            }
        }
        Ok(data.into_value())
    }
}

fn mentioned(modules: &[Facts], path: &[&str]) -> bool {
    // `data.kubernetes.admission` is a package, and no kind. A reference to it never matches another kind.
    modules.iter().flat_map(|facts| &facts.data).any(|reference| reference.may_reach(path))
}

fn agree(keys: &[Option<&str>], path: &[&str]) -> bool {
    keys.iter().zip(path).all(|(key, part)| key.is_none_or(|key| key == *part))
}

#[derive(Default)]
struct Documents {
    kubernetes: BTreeMap<String, Value>,
    namespaced: Option<Value>,
    cluster: Option<Value>,
}

impl Documents {
    fn add(&mut self, kind: &ContextKind, object: &Value, in_kubernetes: bool, in_inventory: bool) {
        let metadata = get(object, "metadata");
        let (name, namespace) = (get(&metadata, "name"), get(&metadata, "namespace"));
        let namespace = Some(namespace).filter(|namespace| namespace.as_string().is_ok_and(|text| !text.is_empty()));
        let path = |start: Option<Value>, rest: &[&Value]| {
            start.into_iter().chain(rest.iter().map(|key| (*key).clone())).collect::<Vec<_>>()
        };
        if in_kubernetes {
            let objects = self.kubernetes.entry(kind.plural.clone()).or_insert_with(Value::new_object);
            put(objects, &path(namespace.clone(), &[&name]), object.clone());
        }
        if in_inventory {
            let root = if namespace.is_some() { &mut self.namespaced } else { &mut self.cluster };
            let (api_version, kind) = (Value::from(kind.api_version.as_str()), Value::from(kind.kind.as_str()));
            let keys = path(namespace, &[&api_version, &kind, &name]);
            put(root.get_or_insert_with(Value::new_object), &keys, object.clone());
        }
    }

    fn into_value(self) -> Option<Value> {
        let mut data = Value::new_object();
        let mut found = false;
        if !self.kubernetes.is_empty() {
            let mut kubernetes = Value::new_object();
            for (plural, objects) in self.kubernetes {
                set(&mut kubernetes, &plural, objects);
            }
            set(&mut data, "kubernetes", kubernetes);
            found = true;
        }
        if self.namespaced.is_some() || self.cluster.is_some() {
            let mut inventory = Value::new_object();
            set(&mut inventory, "namespace", self.namespaced.unwrap_or_else(Value::new_object));
            set(&mut inventory, "cluster", self.cluster.unwrap_or_else(Value::new_object));
            set(&mut data, "inventory", inventory);
            found = true;
        }
        found.then_some(data)
    }
}

/// Sets a value at a path of keys, and makes the objects on the way.
fn put(object: &mut Value, path: &[Value], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if let Ok(object) = object.as_object_mut() {
        put(object.get_or_insert_with(key.clone(), Value::new_object), rest, value);
    }
}

/// All objects of a kind. First one object is requested: a list without the right to it never returns.
fn list(kind: &ContextKind, host: &dyn Host, namespace: &str) -> Result<Vec<Value>, String> {
    let ContextKind { api_version, kind: name, .. } = kind;
    let failed = |failure: &HostFailure| match failure {
        HostFailure::NotGranted(_) => {
            format!("{api_version} {name} of `context` is not granted: add it to the policy's `contextAwareResources`")
        }
        other => format!("{api_version} {name} of `context` can't be read: {}", cut(&other.to_string(), 200)),
    };
    // Every cluster has the namespace `default`. The host caches it, since it is found.
    let probe = if name == "Namespace" && api_version == "v1" { "default" } else { NOBODY };
    match host.get_resource(&Resource { api_version, kind: name, namespace, name: probe }, &["metadata.name"]) {
        Ok(_) | Err(HostFailure::NotFound(_)) => {}
        Err(failure) => return Err(failed(&failure)),
    }
    let document = host.list_all_resources(api_version, name).map_err(|failure| failed(&failure))?;
    let unreadable =
        || format!("{api_version} {name} of `context` can't be read: the host's answer is no list of objects");
    let text = std::str::from_utf8(&document.0).map_err(|_| unreadable())?;
    let answer = from_json(text, MAX_OBJECTS)
        .map_err(|error| format!("{api_version} {name} of `context` can't be read: {error}"))?;
    let items = get(&answer, "items");
    let mut objects = Vec::new();
    for item in items.as_array().map_err(|_| unreadable())?.iter() {
        let mut object = item.clone();
        if object.as_object().is_err() || get(&get(&object, "metadata"), "name").as_string().is_err() {
            return Err(unreadable());
        }
        // Items of a list may lack their kind.
        for (key, value) in [("apiVersion", api_version), ("kind", name)] {
            if get(&object, key) == Value::Null {
                set(&mut object, key, Value::from(value.as_str()));
            }
        }
        objects.push(object);
    }
    Ok(objects)
}
