//! A host for tests: registries, signatures and a cluster, told in a chain, that answer Kubewarden's calls as its host does,
//! masks and error texts included, and write down what they are asked.
//!
//! What it isn't told of isn't there: the image is unknown, the object can't be found, the list is empty.

#![expect(clippy::panic, reason = "it is for tests alone: what no test foresaw must fail")]

mod cluster;

use cluster::Cluster;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What a registry says of what it doesn't have.
const UNKNOWN: &str = "Callback evaluation failure: Fail to interact with OCI registry: Registry error: url u, envelope: OCI API errors: [OCI API error: manifest unknown]";

/// What the host says of a registry where nobody listens.
pub const REFUSED: &str = "Callback evaluation failure: Fail to interact with OCI registry: error sending request for url (u)\n\nCaused by:\n    0: error sending request for url (u)\n    1: Connection refused (os error 111)";

/// An answer, or the host's text.
type Answer = Result<Value, String>;

/// What answers before everything that was told until then.
type Answering = Box<dyn Fn(&Call) -> Option<Answer> + Send + Sync>;

/// One call, as it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// `oci` or `kubernetes`.
    pub namespace: String,
    /// For example `v1/manifest_digest`.
    pub operation: String,
    /// What is asked.
    pub payload: Value,
}

impl Call {
    /// The image that a registry is asked about, by the name that it is asked for; empty where the cluster is asked.
    #[must_use]
    pub fn image(&self) -> &str {
        self.payload.as_str().unwrap_or_else(|| self.field("image"))
    }

    /// A field of the payload; empty where it is none, or no text.
    #[must_use]
    pub fn field(&self, key: &str) -> &str {
        self.payload.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The fields that are asked for; none where everything is.
    pub fn masks(&self) -> impl Iterator<Item = &str> {
        self.payload.get("field_masks").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation, self.payload)
    }
}

/// The host.
#[derive(Default)]
pub struct StubHost {
    /// By `registry/repository:tag`, what it resolves to.
    tags: BTreeMap<String, String>,
    /// Tags that lead elsewhere once they were asked for.
    moved: BTreeMap<String, String>,
    /// By `registry/repository@digest`.
    manifests: BTreeMap<String, Value>,
    /// What is answered about artifacts, by `registry/repository@digest`.
    artifacts: BTreeMap<String, Value>,
    /// By `registry/repository@digest`, the keys or subjects of who signed it.
    signed: BTreeMap<String, BTreeSet<String>>,
    /// How what can't be asked after begins.
    down: BTreeSet<String>,
    cluster: Cluster,
    /// Users who may do what is asked about.
    may: BTreeSet<String>,
    /// Texts for all calls of an operation.
    fixed: BTreeMap<String, Result<Vec<u8>, String>>,
    answering: Vec<Answering>,
    calls: Mutex<Vec<Call>>,
}

/// The digest of a document's bytes.
#[must_use]
pub fn digest_of(document: &str) -> String {
    let hex: String = Sha256::digest(document.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The manifest of an image for one platform.
#[must_use]
pub fn manifest() -> Value {
    json!({"schemaVersion": 2, "config": {"digest": format!("sha256:{:064}", 0)}, "layers": []})
}

// === What is there ===

impl StubHost {
    /// A host that nobody may ask.
    #[must_use]
    pub fn not_to_be_asked() -> Self {
        Self::default().answer_with(|call| panic!("nobody is asked, and {call} is"))
    }

    /// An image for one platform at a tag.
    #[must_use]
    pub fn image(self, tag: &str, digest: &str) -> Self {
        self.tag(tag, digest).manifest(&at(tag, digest), manifest())
    }

    /// A manifest or an index at a tag, whose digest is the one of its document.
    #[must_use]
    pub fn pushed(self, tag: &str, manifest: Value) -> Self {
        let digest = digest_of(&manifest.to_string());
        self.tag(tag, &digest).manifest(&at(tag, &digest), manifest)
    }

    /// What a tag resolves to.
    #[must_use]
    pub fn tag(mut self, tag: &str, digest: &str) -> Self {
        self.tags.insert(tag.to_owned(), digest.to_owned());
        self
    }

    /// What a tag resolves to from the second question on.
    #[must_use]
    pub fn moves(mut self, tag: &str, digest: &str) -> Self {
        self.moved.insert(tag.to_owned(), digest.to_owned());
        self
    }

    /// The manifest or the index at `repository@digest`.
    #[must_use]
    pub fn manifest(mut self, at: &str, manifest: Value) -> Self {
        self.manifests.insert(at.to_owned(), manifest);
        self
    }

    /// An artifact at `repository@digest`: its manifest and its configuration.
    #[must_use]
    pub fn artifact(self, at: &str, manifest: Value, configuration: Value) -> Self {
        let (_, digest) = at.split_once('@').unwrap_or_default();
        let answer = json!({"manifest": manifest, "digest": digest, "config": configuration});
        self.artifact_says(at, answer).manifest(at, manifest)
    }

    /// The answer about the artifact at `repository@digest`, whatever it is.
    #[must_use]
    pub fn artifact_says(mut self, at: &str, answer: Value) -> Self {
        self.artifacts.insert(at.to_owned(), answer);
        self
    }

    /// Takes a tag, or what stands at `repository@digest`, out of its registry.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.tags.remove(name);
        self.manifests.remove(name);
        self.artifacts.remove(name);
        self
    }

    /// What stands at `repository@digest` was signed with this key, or by this subject.
    #[must_use]
    pub fn signed(mut self, at: &str, by: &str) -> Self {
        self.signed.entry(at.to_owned()).or_default().insert(by.to_owned());
        self
    }

    /// Nobody listens where an image's name begins so.
    #[must_use]
    pub fn down(mut self, beginning: &str) -> Self {
        self.down.insert(beginning.to_owned());
        self
    }

    /// The cluster lets this user do whatever is asked about.
    #[must_use]
    pub fn may(mut self, user: &str) -> Self {
        self.may.insert(user.to_owned());
        self
    }

    /// An object of the cluster, in the place of the one that stands there. Where it stands under another name or in another namespace than it says, its `metadata` has
    /// these as `asked-as` and `asked-in`.
    #[must_use]
    pub fn object(mut self, object: Value) -> Self {
        self.cluster.put(object);
        self
    }

    /// Several of them.
    #[must_use]
    pub fn objects(self, objects: impl IntoIterator<Item = Value>) -> Self {
        objects.into_iter().fold(self, Self::object)
    }

    /// From its n-th GET on, this is there in the place of the object of the same name.
    #[must_use]
    pub fn later(mut self, from: usize, object: Value) -> Self {
        self.cluster.later = Some((from, object));
        self
    }

    /// What lists show in the place of the objects that are there now: they are older.
    #[must_use]
    pub fn listed(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.cluster.listed = Some(objects.into_iter().collect());
        self
    }

    /// Lists show all objects of a kind, whatever is asked: as a watch that filters nothing.
    #[must_use]
    pub fn unfiltered(mut self) -> Self {
        self.cluster.is_unfiltered = true;
        self
    }

    /// A kind, a namespace or an object's name that can't be read.
    #[must_use]
    pub fn broken(mut self, what: &str) -> Self {
        self.cluster.broken.insert(what.to_owned());
        self
    }

    /// The answer to all calls of an operation, as it stands here. An empty operation is any that has no other.
    #[must_use]
    pub fn says(mut self, operation: &str, answer: impl Into<Vec<u8>>) -> Self {
        self.fixed.insert(operation.to_owned(), Ok(answer.into()));
        self
    }

    /// The host's text for all calls of an operation. An empty operation is any that has no other.
    #[must_use]
    pub fn fails(mut self, operation: &str, text: &str) -> Self {
        self.fixed.insert(operation.to_owned(), Err(text.to_owned()));
        self
    }

    /// Answers before everything that was told until here, unless it has no answer.
    #[must_use]
    pub fn answer_with(mut self, answer: impl Fn(&Call) -> Option<Answer> + Send + Sync + 'static) -> Self {
        self.answering.push(Box::new(answer));
        self
    }
}

// === What is asked ===

impl StubHost {
    /// The answer to a call.
    ///
    /// # Errors
    /// The host's text.
    pub fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let payload = serde_json::from_slice(payload)
            .unwrap_or_else(|error| panic!("the payload of {operation} is no JSON: {error}"));
        let call = Call { namespace: namespace.to_owned(), operation: operation.to_owned(), payload };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
        if let Some(answer) = self.answering.iter().rev().find_map(|answer| answer(&call)) {
            return answer.map(|answer| answer.to_string().into_bytes());
        }
        if let Some(fixed) = self.fixed.get(operation).or_else(|| self.fixed.get("")) {
            return fixed.clone();
        }
        self.answer(&call).map(|answer| answer.to_string().into_bytes())
    }

    /// The calls as a function, which is what engines ask.
    pub fn wire(&self) -> impl Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> {
        |namespace, operation, payload| self.call(namespace, operation, payload)
    }

    /// Every call, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What stands in the registries, by `repository@digest`.
    #[must_use]
    pub fn manifests(&self) -> &BTreeMap<String, Value> {
        &self.manifests
    }

    /// How many calls, written as operation and payload, begin so.
    #[must_use]
    pub fn count(&self, beginning: &str) -> usize {
        self.calls().iter().filter(|call| call.to_string().starts_with(beginning)).count()
    }

    /// Forgets what was asked: another request begins.
    pub fn forget(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn answer(&self, call: &Call) -> Answer {
        let image = call.image();
        if self.down.iter().any(|beginning| call.namespace == "oci" && image.starts_with(beginning.as_str())) {
            return Err(REFUSED.to_owned());
        }
        let unknown = || UNKNOWN.to_owned();
        match call.operation.as_str() {
            "v1/manifest_digest" => {
                if signed_at(image).is_some_and(|at| self.signed.contains_key(&at)) {
                    return Ok(json!({"digest": digest_of(image)}));
                }
                let moved = self.moved.get(image).filter(|_| self.times(call) > 1);
                Ok(json!({"digest": moved.or(self.tags.get(image)).ok_or_else(unknown)?}))
            }
            "v1/oci_manifest" => {
                let behind_tag = || self.manifests.get(&at(image, self.tags.get(image)?));
                self.manifests.get(image).or_else(behind_tag).cloned().ok_or_else(unknown)
            }
            "v1/oci_manifest_config" => self.artifacts.get(image).cloned().ok_or_else(unknown),
            "v2/verify" => self.verify(call),
            "can_i" => {
                let user = call.payload.pointer("/subject_access_review/user").and_then(Value::as_str);
                Ok(json!({"allowed": user.is_some_and(|user| self.may.contains(user))}))
            }
            "get_resource" => self.cluster.get(call, self.times(call)),
            "list_resources_by_namespace" | "list_resources_all" => self.cluster.list(call),
            _ => panic!("nobody answers {call}"),
        }
    }

    /// How often this was asked, this time included.
    fn times(&self, call: &Call) -> usize {
        let is_about_the_same = |other: &&Call| {
            other.operation == call.operation
                && other.image() == call.image()
                && ["api_version", "kind", "namespace", "name"].iter().all(|key| other.field(key) == call.field(key))
        };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(is_about_the_same).count()
    }

    fn verify(&self, call: &Call) -> Answer {
        let image = call.image();
        let no_signatures = || format!("Callback evaluation failure: no signatures found for image: {image} ");
        let by = self.signed.get(image).ok_or_else(no_signatures)?;
        if !by.iter().any(|by| names(&call.payload, by)) {
            return Err("Callback evaluation failure: Image verification failed: missing signatures".to_owned());
        }
        Ok(json!({"is_trusted": true, "digest": image.split_once('@').map(|(_, digest)| digest)}))
    }
}

impl fmt::Debug for StubHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StubHost").field("calls", &self.calls).finish_non_exhaustive()
    }
}

/// `repository@digest`, by a tag of the repository.
fn at(tag: &str, digest: &str) -> String {
    let (repository, _) = tag.rsplit_once(':').unwrap_or((tag, ""));
    format!("{repository}@{digest}")
}

/// `repository@sha256:<hex>` of the tag where cosign keeps its signatures, `repository:sha256-<hex>.sig`.
fn signed_at(tag: &str) -> Option<String> {
    let (repository, stem) = tag.strip_suffix(".sig")?.rsplit_once(":sha256-")?;
    Some(format!("{repository}@sha256:{stem}"))
}

/// Whether one of the texts in a document is this one.
fn names(document: &Value, text: &str) -> bool {
    match document {
        Value::String(own) => own == text,
        Value::Array(list) => list.iter().any(|one| names(one, text)),
        Value::Object(map) => map.values().any(|one| names(one, text)),
        _ => false,
    }
}
