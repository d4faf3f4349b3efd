//! A registry with one repository, and an API server that has objects with evidence, and others that can be read: at one address.

use data_encoding::HEXLOWER;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const REPOSITORY: &str = "/v2/team/app/";
const OBJECTS: &str = "/apis/image-admission.kubewarden.io/v1alpha1/imageevidences";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The server's state.
#[derive(Clone, Default)]
pub(crate) struct EvidenceServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Below the repository's path: the media type and the bytes.
    content: BTreeMap<String, (String, Vec<u8>)>,
    /// With which status the registry answers everything.
    fails: Option<StatusCode>,
    /// By name.
    objects: BTreeMap<String, Value>,
    /// By their paths, what else is in the cluster, or why it can't be read.
    others: BTreeMap<String, Result<Value, StatusCode>>,
    created: u64,
}

/// Answers on loopback until the test's runtime ends. Returns `host:port`.
pub(crate) async fn serve<F>(answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static) -> String
where
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

impl EvidenceServer {
    /// Serves on loopback until the test's runtime ends. Returns `host:port`.
    pub(crate) async fn serve(&self) -> String {
        let server = self.clone();
        serve(move |request| {
            let server = server.clone();
            async move { server.answer(request).await }
        })
        .await
    }

    /// Puts a manifest at its digest, and at a tag if there is one.
    pub(crate) fn manifest(&self, tag: Option<&str>, bytes: &[u8]) -> Value {
        let own = digest(bytes);
        let document: Value = serde_json::from_slice(bytes).unwrap();
        let media_type = document["mediaType"].as_str().unwrap();
        for reference in tag.into_iter().chain([own.as_str()]) {
            let content = (media_type.to_owned(), bytes.to_vec());
            self.0.lock().unwrap().content.insert(format!("manifests/{reference}"), content);
        }
        json!({"mediaType": media_type, "digest": own, "size": bytes.len()})
    }

    /// Puts an artifact with these layers at its digest, and at a tag if there is one.
    pub(crate) fn artifact(&self, tag: Option<&str>, layers: &[(&str, &[u8])]) -> Value {
        self.artifact_of(tag, ("application/vnd.oci.empty.v1+json", b"{}"), layers)
    }

    /// The same with a configuration.
    pub(crate) fn artifact_of(&self, tag: Option<&str>, config: (&str, &[u8]), layers: &[(&str, &[u8])]) -> Value {
        let blob = |(media_type, bytes): &(&str, &[u8])| {
            let own = digest(bytes);
            let content = ("application/octet-stream".to_owned(), bytes.to_vec());
            self.0.lock().unwrap().content.insert(format!("blobs/{own}"), content);
            json!({"mediaType": media_type, "digest": own, "size": bytes.len()})
        };
        let config = blob(&config);
        let layers: Vec<Value> = layers.iter().map(blob).collect();
        let artifact = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        self.manifest(tag, artifact.to_string().as_bytes())
    }

    /// Puts an index at a tag.
    pub(crate) fn index(&self, tag: &str, entries: &[Value]) {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        self.manifest(Some(tag), index.to_string().as_bytes());
    }

    /// Takes away what is at a tag.
    pub(crate) fn untag(&self, tag: &str) {
        self.0.lock().unwrap().content.remove(&format!("manifests/{tag}")).unwrap();
    }

    pub(crate) fn fail(&self, status: Option<StatusCode>) {
        self.0.lock().unwrap().fails = status;
    }

    pub(crate) fn object(&self, name: &str) -> Option<Value> {
        self.0.lock().unwrap().objects.get(name).cloned()
    }

    /// What a GET of this path gives from now on.
    pub(crate) fn put(&self, path: &str, object: Result<Value, StatusCode>) {
        self.0.lock().unwrap().others.insert(path.to_owned(), object);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut state = self.0.lock().unwrap();
        if let Some(path) = head.uri.path().strip_prefix(REPOSITORY) {
            return state.as_registry(path);
        }
        let (status, object) = state.as_cluster(&head.method, head.uri.path(), &body);
        Response::builder().status(status).body(Full::from(object.to_string())).unwrap()
    }
}

impl State {
    fn as_registry(&self, path: &str) -> Response<Full<Bytes>> {
        let answer = |status: StatusCode| Response::builder().status(status);
        if let Some(status) = self.fails {
            return answer(status).body(Full::default()).unwrap();
        }
        let Some((media_type, bytes)) = self.content.get(path) else {
            return answer(StatusCode::NOT_FOUND).body(Full::default()).unwrap();
        };
        let answer = answer(StatusCode::OK).header("content-type", media_type);
        answer.header("docker-content-digest", digest(bytes)).body(Full::from(bytes.clone())).unwrap()
    }

    fn as_cluster(&mut self, method: &Method, path: &str, body: &[u8]) -> (StatusCode, Value) {
        let refusal = |status: StatusCode, reason: &str| {
            let failure = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "", "reason": reason, "code": status.as_u16()});
            (status, failure)
        };
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let name = path.strip_prefix(OBJECTS).and_then(|rest| rest.strip_prefix('/'));
        match (method, name) {
            (&Method::POST, None) if path == OBJECTS => {
                let name = document["metadata"]["name"].as_str().unwrap().to_owned();
                if self.objects.contains_key(&name) {
                    return refusal(StatusCode::CONFLICT, "AlreadyExists");
                }
                self.created += 1;
                let mut object = document;
                object["metadata"]["uid"] = json!(format!("uid-{}", self.created));
                object["metadata"]["generation"] = json!(1);
                object["metadata"]["creationTimestamp"] = json!("2026-11-28T00:00:00Z");
                self.objects.insert(name, object.clone());
                (StatusCode::CREATED, object)
            }
            (&Method::DELETE, Some(name)) => {
                let Some(object) = self.objects.get(name) else { return refusal(StatusCode::NOT_FOUND, "NotFound") };
                if document["preconditions"]["uid"] != object["metadata"]["uid"] {
                    return refusal(StatusCode::CONFLICT, "Conflict");
                }
                self.objects.remove(name);
                (StatusCode::OK, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            }
            (&Method::GET, name) => {
                let object = name.and_then(|name| self.objects.get(name)).cloned();
                match self.others.get(path).cloned().or(object.map(Ok)) {
                    Some(Ok(object)) => (StatusCode::OK, object),
                    Some(Err(status)) => refusal(status, &status.canonical_reason().unwrap().replace(' ', "")),
                    None => refusal(StatusCode::NOT_FOUND, "NotFound"),
                }
            }
            _ => panic!("the stub has no {method} of {path}"),
        }
    }
}
