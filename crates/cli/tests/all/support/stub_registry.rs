//! A registry in memory, on loopback: with or without the referrers API, and with another writer where a test wants one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::registry::digest_of;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A registry whose repositories are one.
pub(crate) struct StubRegistry {
    /// `host:port`
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    has_referrers: bool,
    /// By digest.
    blobs: BTreeMap<String, Vec<u8>>,
    /// By digest and by tag.
    manifests: BTreeMap<String, Manifest>,
    /// What is uploaded now.
    upload: Vec<u8>,
    /// How often something was written.
    writes: usize,
    /// What another writer puts at a tag, each time after somebody else did.
    rivals: BTreeMap<String, Vec<Manifest>>,
}

#[derive(Clone)]
struct Manifest {
    media_type: String,
    bytes: Vec<u8>,
}

impl StubRegistry {
    pub(crate) fn start(has_referrers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State { has_referrers, ..State::default() }));
        let (own, shared) = (address.clone(), Arc::clone(&state));
        thread::spawn(move || {
            for connection in listener.incoming() {
                respond(connection.unwrap(), &own, &shared);
            }
        });
        Self { address, state }
    }

    /// Puts a document there that a manifest names, and returns what it says of it.
    pub(crate) fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = digest_of(bytes);
        self.state.lock().unwrap().blobs.insert(digest.clone(), bytes.to_owned());
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    }

    /// Puts a manifest at a tag, or at its digest alone, and returns its digest.
    pub(crate) fn manifest(&self, tag: Option<&str>, bytes: &[u8]) -> String {
        self.state.lock().unwrap().put(tag, bytes)
    }

    /// Puts everything there that real tools left in a registry: a file of `e2e-tests/forms`.
    pub(crate) fn load(&self, form: &Value) {
        for blob in form["blobs"].as_array().unwrap() {
            self.blob("", blob.as_str().unwrap().as_bytes());
        }
        for (reference, manifest) in form["manifests"].as_object().unwrap() {
            let tag = Some(reference.as_str()).filter(|reference| !reference.contains(':'));
            self.manifest(tag, manifest["body"].as_str().unwrap().as_bytes());
        }
    }

    /// Has another writer put manifests at a tag, one each time that somebody else puts one there.
    pub(crate) fn rival(&self, tag: &str, manifests: &[Value]) {
        let manifests = manifests.iter().rev().map(|manifest| Manifest::of(manifest.to_string().as_bytes()));
        self.state.lock().unwrap().rivals.insert(tag.to_owned(), manifests.collect());
    }

    /// What stands at a tag or a digest.
    pub(crate) fn read(&self, reference: &str) -> Option<Vec<u8>> {
        self.state.lock().unwrap().manifests.get(reference).map(|manifest| manifest.bytes.clone())
    }

    /// The bytes of a digest.
    pub(crate) fn read_blob(&self, digest: &str) -> Option<Vec<u8>> {
        self.state.lock().unwrap().blobs.get(digest).cloned()
    }

    /// How often clients wrote anything.
    pub(crate) fn writes(&self) -> usize {
        self.state.lock().unwrap().writes
    }
}

impl Manifest {
    fn of(bytes: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(bytes).unwrap();
        Self { media_type: document["mediaType"].as_str().unwrap_or_default().to_owned(), bytes: bytes.to_owned() }
    }
}

impl State {
    fn put(&mut self, tag: Option<&str>, bytes: &[u8]) -> String {
        let digest = digest_of(bytes);
        for reference in tag.into_iter().chain([digest.as_str()]) {
            self.manifests.insert(reference.to_owned(), Manifest::of(bytes));
        }
        digest
    }

    /// The index of what names a digest as its subject.
    fn referrers(&self, digest: &str) -> Value {
        let by_digest = self.manifests.iter().filter(|(reference, _)| reference.contains(':'));
        let entries = by_digest.filter_map(|(own, manifest)| {
            let document: Value = serde_json::from_slice(&manifest.bytes).unwrap();
            (document.pointer("/subject/digest")? == digest).then(|| {
                json!({"mediaType": manifest.media_type, "digest": own, "size": manifest.bytes.len(),
                    "artifactType": document["artifactType"]})
            })
        });
        json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries.collect::<Vec<_>>()})
    }

    /// The status, the headers and the body of an answer.
    fn answer(&mut self, method: &str, path: &str, body: &[u8], address: &str) -> (u16, String, Vec<u8>) {
        let missing = || (404, String::new(), br#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#.to_vec());
        let at = |path: &str| format!("Location: http://{address}{path}\r\n");
        if method != "GET" && method != "HEAD" {
            self.writes += 1;
        }
        if path == "/v2/" {
            return (200, String::new(), Vec::new());
        }
        if let Some((_, reference)) = path.split_once("/manifests/") {
            if method == "PUT" {
                let digest = self.put(Some(reference), body);
                if let Some(rival) = self.rivals.get_mut(reference).and_then(Vec::pop) {
                    self.put(Some(reference), &rival.bytes);
                }
                return (201, format!("{}Docker-Content-Digest: {digest}\r\n", at(path)), Vec::new());
            }
            let Some(found) = self.manifests.get(reference) else { return missing() };
            let head =
                format!("Content-Type: {}\r\nDocker-Content-Digest: {}\r\n", found.media_type, digest_of(&found.bytes));
            return (200, head, found.bytes.clone());
        }
        if let Some((_, digest)) = path.split_once("/referrers/") {
            if !self.has_referrers {
                return (404, String::new(), b"404 page not found".to_vec());
            }
            return (200, format!("Content-Type: {INDEX}\r\n"), self.referrers(digest).to_string().into_bytes());
        }
        match (method, path.split_once("?digest=")) {
            ("POST", _) => {
                self.upload.clear();
                (202, at(&format!("{path}1")), Vec::new())
            }
            ("PATCH", _) => {
                self.upload.extend(body);
                (202, format!("{}Range: 0-{}\r\n", at(path), self.upload.len() - 1), Vec::new())
            }
            ("PUT", Some((_, digest))) => {
                self.upload.extend(body);
                let digest = digest.replace("%3A", ":");
                assert_eq!(digest, digest_of(&self.upload));
                self.blobs.insert(digest, std::mem::take(&mut self.upload));
                // As crane's registry, which doesn't say where it put it.
                (201, String::new(), Vec::new())
            }
            _ => match self.blobs.get(path.rsplit('/').next().unwrap()) {
                Some(bytes) => (200, String::new(), bytes.clone()),
                None => missing(),
            },
        }
    }
}

fn respond(mut connection: TcpStream, address: &str, state: &Mutex<State>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut request = String::new();
    reader.read_line(&mut request).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, head, answer) = state.lock().unwrap().answer(method, path, &body, address);
    let length = answer.len();
    let head = format!("HTTP/1.1 {status} x\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    // Whoever doesn't read its answer closes early.
    let _ = connection.write_all(head.as_bytes());
    if method != "HEAD" {
        let _ = connection.write_all(&answer);
    }
}
