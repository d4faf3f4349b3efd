//! An API server that has one Lease, and refuses a write with an outdated `resourceVersion`. Each client reaches it by a link of
//! its own, which can fail.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kubewarden/leases";
pub(crate) const NAME: &str = "image-admission-companion";

/// The server's state.
#[derive(Clone, Default)]
pub(crate) struct LeaseServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
}

/// What a link does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Works,
    /// Answers with 500, and does nothing.
    Fails,
    /// Does nothing, and never answers.
    Silent,
    /// Does what is asked, and never answers.
    LosesAnswers,
}

/// The way of one client to the server.
pub(crate) struct Link {
    pub(crate) client: kube::Client,
    mode: Arc<Mutex<Mode>>,
}

impl Link {
    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }
}

impl LeaseServer {
    /// The Lease, or null.
    pub(crate) fn lease(&self) -> Value {
        self.0.lock().unwrap().lease.clone().unwrap_or_default()
    }

    pub(crate) fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// Writes the Lease as somebody else would.
    pub(crate) fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut state = self.0.lock().unwrap();
        let mut lease = state.lease.take().unwrap_or_else(|| json!({"metadata": {"name": NAME}, "spec": {}}));
        edit(&mut lease);
        state.store(lease);
    }

    /// Opens a link. It ends with the test's runtime.
    pub(crate) async fn link(&self) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mode = Arc::new(Mutex::new(Mode::Works));
        let (server, its_mode) = (self.clone(), mode.clone());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (server, mode) = (server.clone(), its_mode.clone());
                let service = service_fn(move |request| {
                    let (server, mode) = (server.clone(), mode.clone());
                    async move { Ok::<_, Infallible>(server.answer(request, &mode).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        let client = kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
        Link { client, mode }
    }

    async fn answer(&self, request: Request<Incoming>, mode: &Mutex<Mode>) -> Response<Full<Bytes>> {
        let mode = *mode.lock().unwrap();
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let answer = match mode {
            Mode::Silent => std::future::pending().await,
            Mode::Fails => Err(StatusCode::INTERNAL_SERVER_ERROR),
            Mode::Works | Mode::LosesAnswers => self.0.lock().unwrap().answer(&head.method, head.uri.path(), &body),
        };
        if mode == Mode::LosesAnswers {
            std::future::pending::<()>().await;
        }
        let (status, body) = match answer {
            Ok((status, object)) => (status, object),
            Err(status) => {
                let message = format!("the stub answers {status}");
                let reason = match status {
                    StatusCode::NOT_FOUND => "NotFound",
                    StatusCode::CONFLICT => "Conflict",
                    _ => "InternalError",
                };
                let failure = json!({
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "message": message,
                    "reason": reason,
                    "code": status.as_u16(),
                });
                (status, failure)
            }
        };
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = status;
        response
    }
}

impl State {
    fn answer(&mut self, method: &Method, path: &str, body: &[u8]) -> Result<(StatusCode, Value), StatusCode> {
        let of_the_lease = path.strip_prefix(LEASES).and_then(|rest| rest.strip_prefix('/')) == Some(NAME);
        match (method, of_the_lease) {
            (&Method::GET, true) => {
                self.lease.clone().map(|lease| (StatusCode::OK, lease)).ok_or(StatusCode::NOT_FOUND)
            }
            (&Method::PUT, true) => {
                let lease = serde_json::from_slice::<Value>(body).unwrap();
                let current = self.lease.as_ref().ok_or(StatusCode::NOT_FOUND)?;
                if lease["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"] {
                    return Err(StatusCode::CONFLICT);
                }
                Ok((StatusCode::OK, self.store(lease)))
            }
            (&Method::POST, false) if path == LEASES => {
                if self.lease.is_some() {
                    return Err(StatusCode::CONFLICT);
                }
                Ok((StatusCode::CREATED, self.store(serde_json::from_slice(body).unwrap())))
            }
            _ => panic!("the stub has no {method} of {path}"),
        }
    }

    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease.insert(lease).clone()
    }
}
