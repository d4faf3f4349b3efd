//! A world to set traps in: a registry and a cluster that answer as Kubewarden's host does, masks included.

use crate::{HostCalls, Timestamp, WireHost, validate};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The present in every test: 2026-11-20T12:00:00Z.
pub(super) const NOW: Timestamp = Timestamp(1_795_176_000);

/// What the registry and the cluster hold.
#[derive(Default)]
pub(super) struct World {
    /// By `registry/repository:tag`, what it resolves to.
    pub(super) tags: BTreeMap<String, String>,
    /// Tags that lead elsewhere once they were asked for.
    pub(super) moved: BTreeMap<String, String>,
    /// By `registry/repository@digest`.
    pub(super) manifests: BTreeMap<String, Value>,
    /// Artifacts' configurations, by `registry/repository@digest`.
    pub(super) configs: BTreeMap<String, Value>,
    /// By `registry/repository@digest`, the public key (PEM) of who signed it.
    pub(super) signed: BTreeMap<String, String>,
    /// Whether no signature can be looked up.
    pub(super) unverifiable: bool,
    /// The digest that artifacts are answered with, whichever was asked for.
    pub(super) misnamed: Option<String>,
    pub(super) objects: Vec<Value>,
    /// What is there in an object's place from its n-th GET of a request on.
    pub(super) later: Option<(usize, Value)>,
    /// How often that object was asked for.
    pub(super) reads: Cell<usize>,
    /// Kinds that can't be read.
    pub(super) broken: BTreeSet<String>,
    /// Kinds that a list shows all of, whatever was asked: as a watch that filters nothing.
    pub(super) unfiltered: bool,
    /// What a list shows in the place of what is there now.
    pub(super) listed: Option<Vec<Value>>,
    /// A field that the host leaves out although it is asked for.
    pub(super) withheld: RefCell<Option<String>>,
    /// Every field that was asked for, by operation and kind.
    pub(super) asked: RefCell<BTreeSet<String>>,
    /// By the letters of an index's digest, those that its document has: the world is told in letters that can be read, and
    /// answers with digests that can be proven.
    pub(super) proven: BTreeMap<String, String>,
    /// Every call, in order.
    pub(super) calls: RefCell<Vec<String>>,
}

/// What came out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    /// The state of the first container's image.
    pub(super) state: String,
    /// All of it, for comparing.
    pub(super) response: Value,
}

/// The end of a name of Kubescape's, in JSON: the last six digits of a digest.
fn ending(hex: &str) -> String {
    let (_, end) = hex.split_at(hex.len() - 6);
    format!("-{end}\"")
}

/// A digest made of one letter.
pub(super) fn digest(letter: char) -> String {
    format!("sha256:{}", letter.to_string().repeat(64))
}

impl World {
    /// An image for one platform, with a digest of that letter.
    pub(super) fn image(mut self, name: &str, letter: char) -> Self {
        let (repository, _) = name.rsplit_once(':').unwrap_or((name, ""));
        self.tags.insert(name.to_owned(), digest(letter));
        let manifest = json!({"schemaVersion": 2, "config": {"digest": digest('0')}, "layers": []});
        self.manifests.insert(format!("{repository}@{}", digest(letter)), manifest);
        self
    }

    /// An image for several platforms: its index, and a digest for each platform.
    pub(super) fn index(mut self, name: &str, letter: char, platforms: &[(&str, char)]) -> Self {
        let (repository, _) = name.rsplit_once(':').unwrap_or((name, ""));
        self.tags.insert(name.to_owned(), digest(letter));
        let entries: Vec<Value> = platforms
            .iter()
            .map(|(platform, letter)| {
                let parts: Vec<&str> = platform.split('/').collect();
                let mut of = json!({"os": parts[0], "architecture": parts[1]});
                if let Some(variant) = parts.get(2) {
                    of["variant"] = json!(variant);
                }
                json!({"digest": digest(*letter), "platform": of})
            })
            .collect();
        for (_, letter) in platforms {
            let manifest = json!({"schemaVersion": 2, "config": {"digest": digest('0')}, "layers": []});
            self.manifests.insert(format!("{repository}@{}", digest(*letter)), manifest);
        }
        self.manifests.insert(format!("{repository}@{}", digest(letter)), json!({"manifests": entries}));
        self.proven(letter)
    }

    /// From now on the manifest with that digest has the one of its document, and can be proven.
    pub(super) fn proven(mut self, letter: char) -> Self {
        let told = letter.to_string().repeat(64);
        self.proven.remove(&told);
        let end = format!("@{}", digest(letter));
        let (_, manifest) = self.manifests.iter().find(|(at, _)| at.ends_with(&end)).unwrap();
        let document = self.as_proven(manifest.to_string());
        let hash = Sha256::digest(document.as_bytes());
        self.proven.insert(told, hash.iter().map(|byte| format!("{byte:02x}")).collect());
        self
    }

    /// An artifact at a tag, whose configuration is a document.
    pub(super) fn artifact(mut self, tag: &str, letter: char, subject: Option<char>, document: Value) -> Self {
        let (repository, _) = tag.rsplit_once(':').unwrap_or((tag, ""));
        let at = format!("{repository}@{}", digest(letter));
        self.tags.insert(tag.to_owned(), digest(letter));
        let subject = subject.map(|letter| json!({"digest": digest(letter)}));
        self.manifests.insert(at.clone(), json!({"schemaVersion": 2, "config": {}, "layers": [], "subject": subject}));
        self.configs.insert(at, document);
        self
    }

    pub(super) fn signed(mut self, at: &str, key: &str) -> Self {
        self.signed.insert(at.to_owned(), key.to_owned());
        self
    }

    pub(super) fn object(mut self, object: Value) -> Self {
        self.objects.push(object);
        self
    }

    pub(super) fn broken(mut self, kind: &str) -> Self {
        self.broken.insert(kind.to_owned());
        self
    }

    /// The object of the same name is there only up to its n-th GET; then this one is in its place.
    pub(super) fn later(mut self, from: usize, object: Value) -> Self {
        self.later = Some((from, object));
        self
    }

    /// What the policy answers about a Pod of that image in the namespace `web`.
    pub(super) fn decide(&self, image: &str, settings: &Value) -> Answer {
        self.decide_at(image, settings, NOW)
    }

    /// What it answers at another time.
    pub(super) fn decide_at(&self, image: &str, settings: &Value, now: Timestamp) -> Answer {
        self.calls.borrow_mut().clear();
        self.reads.set(0);
        let pod = json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"containers": [{"name": "app", "image": image}]}});
        let request = json!({"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE",
                             "namespace": "web", "object": pod});
        let payload = self.as_proven(json!({"request": request, "settings": settings}).to_string());
        let response = String::from_utf8(validate(payload.as_bytes(), &WireHost(self), now).response).unwrap();
        let response: Value = serde_json::from_str(&self.as_told(response)).unwrap();
        Answer {
            allowed: response["accepted"] == true,
            state: response["audit_annotations"]["container-1.state"].as_str().unwrap_or_default().to_owned(),
            response,
        }
    }

    fn as_proven(&self, text: String) -> String {
        // Kubescape's names end with the last six digits.
        self.proven
            .iter()
            .fold(text, |text, (told, proven)| text.replace(told, proven).replace(&ending(told), &ending(proven)))
    }

    fn as_told(&self, text: String) -> String {
        self.proven
            .iter()
            .fold(text, |text, (told, proven)| text.replace(proven, told).replace(&ending(proven), &ending(told)))
    }

    fn answer(&self, operation: &str, payload: &Value) -> Result<Value, String> {
        let unknown = || {
            "Fail to interact with OCI registry: Registry error: url u, envelope: OCI API errors: [OCI API error: manifest unknown]".to_owned()
        };
        let image = payload.as_str().unwrap_or_default();
        match operation {
            "v1/manifest_digest" => {
                let asked = self
                    .calls
                    .borrow()
                    .iter()
                    .filter(|call| call.starts_with(operation) && call.contains(image))
                    .count();
                let moved = self.moved.get(image).filter(|_| asked > 1).cloned();
                let digest = moved.as_ref().or(self.tags.get(image));
                Ok(json!({"digest": digest.ok_or_else(unknown)?}))
            }
            "v1/oci_manifest" => self.manifests.get(image).cloned().ok_or_else(unknown),
            "v1/oci_manifest_config" => {
                let (_, digest) = image.split_once('@').ok_or("only by digest")?;
                let manifest = self.manifests.get(image).ok_or_else(unknown)?;
                let digest = self.misnamed.as_deref().unwrap_or(digest);
                Ok(json!({"manifest": manifest, "digest": digest, "config": self.configs.get(image)}))
            }
            "v2/verify" => self.verify(payload),
            "get_resource" => self.get(payload),
            "list_resources_by_namespace" => self.list(payload),
            other => Err(format!("unknown operation: {other}")),
        }
    }

    fn verify(&self, payload: &Value) -> Result<Value, String> {
        let image = payload["image"].as_str().ok_or("no image")?;
        let (repository, digest) = image.split_once('@').ok_or("only by digest")?;
        if self.unverifiable {
            return Err(format!(
                "error sending request for url ({repository})\n\nCaused by:\n    0: Connection refused (os error 111)"
            ));
        }
        let key = self.signed.get(image).ok_or_else(|| format!("no signatures found for image: {image} "))?;
        if payload["type"] == "SigstorePubKeyVerify" && payload["pub_keys"] == json!([key]) {
            Ok(json!({"is_trusted": true, "digest": digest}))
        } else {
            Err("Image verification failed: missing signatures".to_owned())
        }
    }

    fn get(&self, payload: &Value) -> Result<Value, String> {
        let (version, kind, name) = (&payload["api_version"], &payload["kind"], &payload["name"]);
        if self.broken.contains(kind.as_str().unwrap_or_default()) {
            return Err("ApiError: the server is overloaded".to_owned());
        }
        let is_asked = |object: &&Value| {
            object["apiVersion"] == *version
                && object["kind"] == *kind
                && object["metadata"]["name"] == *name
                && object["metadata"]["asked-in"].as_str().or(object["metadata"]["namespace"].as_str())
                    == payload["namespace"].as_str()
        };
        let mut found = self.objects.iter().find(is_asked);
        if let Some((from, later)) = self.later.as_ref().filter(|(_, later)| is_asked(&later)) {
            self.reads.set(self.reads.get() + 1);
            found = found.filter(|_| self.reads.get() < *from).or(Some(later));
        }
        let absent = || {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!(
                "Cannot find {}/{} named '{}' inside of namespace 'Some({})'",
                text(version),
                text(kind),
                text(name),
                payload["namespace"]
            )
        };
        Ok(self.masked(found.ok_or_else(absent)?, payload))
    }

    fn list(&self, payload: &Value) -> Result<Value, String> {
        let (version, kind) = (&payload["api_version"], &payload["kind"]);
        if self.broken.contains(kind.as_str().unwrap_or_default()) {
            return Err("the first list of what can't be listed hangs for ever".to_owned());
        }
        let there = self.listed.as_ref().unwrap_or(&self.objects);
        let selector = payload["label_selector"].as_str().unwrap_or_default();
        let items = there.iter().filter(|object| {
            let mut terms = selector.split(',').filter_map(|term| term.split_once('='));
            let in_namespace = object["metadata"]["namespace"] == payload["namespace"];
            let is_selected = terms.all(|(key, value)| object["metadata"]["labels"][key.trim()] == value.trim());
            object["apiVersion"] == *version
                && object["kind"] == *kind
                && (in_namespace && is_selected || self.unfiltered)
        });
        let items: Vec<Value> = items.map(|object| self.masked(object, payload)).collect();
        Ok(json!({"items": items}))
    }

    /// The object with what the mask names, and with what no mask takes away.
    fn masked(&self, object: &Value, payload: &Value) -> Value {
        let mut masked = Map::new();
        for always in ["apiVersion", "kind", "metadata"] {
            masked.insert(always.to_owned(), object[always].clone());
        }
        let mut masked = Value::Object(masked);
        let operation = if payload.get("name").is_some() { "get" } else { "list" };
        for field in payload["field_masks"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let asked = format!("{operation} {} {field}", payload["kind"].as_str().unwrap_or_default());
            if self.withheld.borrow().as_ref() != Some(&asked) {
                let steps: Vec<&str> = field.split('.').collect();
                copy(object, &mut masked, &steps);
            }
            self.asked.borrow_mut().insert(asked);
        }
        masked
    }
}

/// Copies what stands at a path, lists being passed through.
fn copy(from: &Value, to: &mut Value, steps: &[&str]) {
    let Some((step, rest)) = steps.split_first() else {
        *to = from.clone();
        return;
    };
    match from {
        Value::Object(map) => {
            let Some(value) = map.get(*step) else { return };
            if !to.is_object() {
                *to = json!({});
            }
            copy(value, &mut to[*step], rest);
        }
        Value::Array(list) => {
            if !to.is_array() {
                *to = Value::Array(vec![json!({}); list.len()]);
            }
            for (position, value) in list.iter().enumerate() {
                copy(value, &mut to[position], steps);
            }
        }
        other => *to = other.clone(),
    }
}

impl HostCalls for &World {
    fn call(&self, _: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let payload = self.as_told(String::from_utf8(payload.to_vec()).unwrap());
        let payload: Value = serde_json::from_str(&payload).unwrap();
        self.calls.borrow_mut().push(format!("{operation} {payload}"));
        self.answer(operation, &payload).map(|answer| self.as_proven(answer.to_string()).into_bytes())
    }
}
