//! Names of cluster objects that scanners compute from digests.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::replacement::Replacement;

/// An object whose name is the one that its scanner computes.
#[derive(Debug)]
pub(super) struct Computed {
    /// Its kind, and its namespace if it has one.
    shown: String,
    name: String,
    parts: Parts,
}

/// What a name is computed from.
#[derive(Debug)]
enum Parts {
    /// sbomscanner's: the hash of `registry resource/host/repository:tag@digest`.
    Hashed(String),
    /// Kubescape's: the image as it is spelled, and the last digits of a digest.
    Spelled { image: String, digest: String },
}

impl Parts {
    fn name(&self) -> String {
        match self {
            Self::Hashed(text) => Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect(),
            Self::Spelled { image, digest } => {
                let as_name = |c: char| if matches!(c, ':' | '/' | '_' | '@') { '-' } else { c.to_ascii_lowercase() };
                let image: String = image.chars().map(as_name).take(MAX_NAME_LENGTH - LAST_DIGITS - 1).collect();
                let start = digest.len().saturating_sub(LAST_DIGITS);
                format!("{image}-{}", digest.get(start..).unwrap_or_default())
            }
        }
    }

    fn replaced(&self, by: &Replacement) -> Self {
        match self {
            Self::Hashed(text) => Self::Hashed(by.applied(text)),
            Self::Spelled { image, digest } => Self::Spelled { image: by.applied(image), digest: by.applied(digest) },
        }
    }
}

/// The longest name of an object.
const MAX_NAME_LENGTH: usize = 253;
/// How many digits of a digest Kubescape's names end with.
const LAST_DIGITS: usize = 6;

/// The objects in a value whose names are computed, however deep they are: in lists, in recorded answers.
pub(super) fn computed(value: &Value) -> Vec<Computed> {
    let mut found = Vec::new();
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                found.extend(of_object(value));
                waiting.extend(fields.values());
            }
            _ => {}
        }
    }
    found
}

fn of_object(object: &Value) -> Option<Computed> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let parts = of_sbomscanner(object).into_iter().chain(of_kubescape(object)).find(|parts| parts.name() == name)?;
    let kind = text("/kind").unwrap_or("object");
    let shown = text("/metadata/namespace").map_or(kind.to_owned(), |namespace| format!("{kind} in {namespace}"));
    Some(Computed { shown, name: name.to_owned(), parts })
}

fn of_sbomscanner(object: &Value) -> Option<Parts> {
    let image = object.get("imageMetadata")?;
    let field = |key: &str| image.get(key).and_then(Value::as_str);
    let (registry, host) = (field("registry")?, field("registryURI")?);
    let (repository, tag, digest) = (field("repository")?, field("tag")?, field("digest")?);
    Some(Parts::Hashed(format!("{registry}/{host}/{repository}:{tag}@{digest}")))
}

fn of_kubescape(object: &Value) -> Vec<Parts> {
    let Some(annotations) = object.pointer("/metadata/annotations") else { return Vec::new() };
    let annotation = |key: &str| annotations.get(key).and_then(Value::as_str);
    let Some(id) = annotation("kubescape.io/image-id") else { return Vec::new() };
    let spelled = |image: &str| Parts::Spelled { image: image.to_owned(), digest: id.to_owned() };
    [annotation("kubescape.io/image-tag"), Some(id)].into_iter().flatten().map(spelled).collect()
}

/// The names that become others, once digests are replaced.
pub(super) fn renamed(computed: Vec<Computed>, digests: &Replacement) -> Replacement {
    let mut renamed = Replacement::default();
    for Computed { shown, name, parts } in computed {
        let new = parts.replaced(digests).name();
        if new != name {
            renamed.add(&shown, &name, &new);
        }
    }
    renamed
}
