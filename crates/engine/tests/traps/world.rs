//! A world to set traps in: a host whose digests are told in letters, and proven.

use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::{StubHost, digest_of, manifest};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The present in every test: 2026-11-20T12:00:00Z.
pub(super) const NOW: Timestamp = Timestamp(1_795_176_000);

/// What the registry and the cluster hold, told in letters that can be read.
#[derive(Default)]
pub(super) struct World {
    pub(super) host: StubHost,
    /// A field that the host leaves out although it is asked for.
    pub(super) withheld: RefCell<Option<String>>,
    /// Every field that was asked for, by operation and kind.
    pub(super) asked: RefCell<BTreeSet<String>>,
    /// By the letters of a digest, those that its document has: what is asked and answered has digests that can be proven.
    proven: BTreeMap<String, String>,
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
    /// The same, with more to tell of its host.
    pub(super) fn and(mut self, tell: impl FnOnce(StubHost) -> StubHost) -> Self {
        self.host = tell(self.host);
        self
    }

    /// An image for one platform, with a digest of that letter.
    pub(super) fn image(self, name: &str, letter: char) -> Self {
        self.and(|host| host.image(name, &digest(letter)))
    }

    /// An image for several platforms: its index, and a digest for each platform.
    pub(super) fn index(self, name: &str, letter: char, platforms: &[(&str, char)]) -> Self {
        let (repository, _) = name.rsplit_once(':').unwrap_or((name, ""));
        let entry = |(platform, letter): &(&str, char)| {
            let parts: Vec<&str> = platform.split('/').collect();
            let mut of = json!({"os": parts[0], "architecture": parts[1]});
            if let Some(variant) = parts.get(2) {
                of["variant"] = json!(variant);
            }
            json!({"digest": digest(*letter), "platform": of})
        };
        let index = json!({"manifests": platforms.iter().map(entry).collect::<Vec<Value>>()});
        let at = |letter: char| format!("{repository}@{}", digest(letter));
        let world =
            platforms.iter().fold(self, |world, (_, letter)| world.and(|host| host.manifest(&at(*letter), manifest())));
        world.and(|host| host.tag(name, &digest(letter)).manifest(&at(letter), index)).proven(letter)
    }

    /// What stands beside [`super::IMAGE`], with a digest of that letter.
    pub(super) fn manifest(self, letter: char, manifest: Value) -> Self {
        self.and(|host| host.manifest(&format!("reg.io/team/app@{}", digest(letter)), manifest))
    }

    /// From now on the manifest with that digest has the one of its document, and can be proven.
    pub(super) fn proven(mut self, letter: char) -> Self {
        let told = letter.to_string().repeat(64);
        self.proven.remove(&told);
        let end = format!("@{}", digest(letter));
        let (_, manifest) = self.host.manifests().iter().find(|(at, _)| at.ends_with(&end)).unwrap();
        let hash = digest_of(&self.as_proven(manifest.to_string()));
        self.proven.insert(told, hash.trim_start_matches("sha256:").to_owned());
        self
    }

    /// Nothing has the digest of its document: the bytes hold more than what the host shows.
    pub(super) fn unproven(mut self) -> Self {
        self.proven.clear();
        self
    }

    /// An artifact at a tag, whose configuration is a document.
    pub(super) fn artifact(self, tag: &str, letter: char, subject: Option<char>, document: Value) -> Self {
        let (repository, _) = tag.rsplit_once(':').unwrap_or((tag, ""));
        let at = format!("{repository}@{}", digest(letter));
        let subject = subject.map(|letter| json!({"digest": digest(letter)}));
        let manifest = json!({"schemaVersion": 2, "config": {}, "layers": [], "subject": subject});
        self.and(|host| host.tag(tag, &digest(letter)).artifact(&at, manifest, document))
    }

    pub(super) fn signed(self, at: &str, key: &str) -> Self {
        self.and(|host| host.signed(at, key))
    }

    pub(super) fn object(self, object: Value) -> Self {
        self.and(|host| host.object(object))
    }

    pub(super) fn broken(self, kind: &str) -> Self {
        self.and(|host| host.broken(kind))
    }

    /// The object of the same name is there only up to its n-th GET; then this one is in its place.
    pub(super) fn later(self, from: usize, object: Value) -> Self {
        self.and(|host| host.later(from, object))
    }

    /// What the policy answers about a Pod of that image in the namespace `web`.
    pub(super) fn decide(&self, image: &str, settings: &Value) -> Answer {
        self.decide_at(image, settings, NOW)
    }

    /// What it answers at another time.
    pub(super) fn decide_at(&self, image: &str, settings: &Value, now: Timestamp) -> Answer {
        self.decide_all_at(&[image], settings, now)
    }

    /// What it answers about a Pod of several images; the state is that of the first.
    pub(super) fn decide_all_at(&self, images: &[&str], settings: &Value, now: Timestamp) -> Answer {
        self.host.forget();
        let name = |number: usize| if number == 0 { "app".to_owned() } else { format!("app-{number}") };
        let containers = images.iter().enumerate();
        let containers: Vec<Value> =
            containers.map(|(number, image)| json!({"name": name(number), "image": image})).collect();
        let pod = json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"containers": containers}});
        let request = json!({"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE",
                             "namespace": "web", "object": pod});
        let payload = self.as_proven(json!({"request": request, "settings": settings}).to_string());
        let response = validate(payload.as_bytes(), &WireHost(self.wire()), now).response;
        let response = self.as_told(String::from_utf8(response).unwrap());
        let response: Value = serde_json::from_str(&response).unwrap();
        Answer {
            allowed: response["accepted"] == true,
            state: response["audit_annotations"]["container-1.state"].as_str().unwrap_or_default().to_owned(),
            response,
        }
    }

    /// The host's calls, where what can be proven is.
    pub(super) fn wire(&self) -> impl Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> {
        |namespace, operation, payload| {
            let payload = self.as_told(String::from_utf8(payload.to_vec()).unwrap());
            let mut payload = serde_json::from_str(&payload).unwrap();
            let asked = self.withhold(operation, &mut payload);
            let answer = self.host.call(namespace, operation, payload.to_string().as_bytes())?;
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["items"] != json!([]) {
                self.asked.borrow_mut().extend(asked);
            }
            Ok(self.as_proven(answer.to_string()).into_bytes())
        }
    }

    /// The fields that are asked for. The one that is withheld is asked for no longer.
    fn withhold(&self, operation: &str, payload: &mut Value) -> Vec<String> {
        let operation = if operation == "get_resource" { "get" } else { "list" };
        let of = format!("{operation} {}", payload["kind"].as_str().unwrap_or_default());
        let fields = payload.pointer_mut("/field_masks").and_then(Value::as_array_mut);
        let asked = fields.into_iter().flatten().map(|field| {
            let asked = format!("{of} {}", field.as_str().unwrap());
            if self.withheld.borrow().as_ref() == Some(&asked) {
                // What is there whatever is asked for: no field at all would be all of them.
                *field = json!("metadata");
            }
            asked
        });
        asked.collect()
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
}
