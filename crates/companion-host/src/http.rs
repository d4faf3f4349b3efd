//! `/healthz`, `/readyz` and `/metrics` over HTTP/1.1. Whoever reaches the Pod may ask, so connections are few and short.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use image_admission_companion::metrics::Metrics;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// The most connections at once. For one more, the oldest ends.
const CONNECTIONS: usize = 64;
/// The time in which a request's head must have come.
const HEAD: Duration = Duration::from_secs(5);
/// The time in which a connection ends.
const CONNECTION: Duration = Duration::from_secs(10);
/// The time after which a loop that wasn't heard of counts as stuck.
const STUCK: Duration = Duration::from_secs(60);

/// What the companion's loop says of itself.
#[derive(Debug, Clone)]
pub struct Status {
    /// When the loop last came round. It must come round more often than once a minute.
    pub beat: Instant,
    /// Whether this instance can do its work: it leads, or could lead.
    pub ready: bool,
    /// Why it isn't ready, or what is wrong all the same. It is the body of `/readyz`; empty means `ok`.
    pub remark: String,
    /// Its metrics.
    pub metrics: Metrics,
}

/// Listens at an address, `127.0.0.1:8081`; `:8081` means all addresses of the machine.
pub async fn bind(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':') {
        None => TcpListener::bind(address).await,
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            // A machine without IPv6.
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(format!("0.0.0.0:{port}")).await
            }
            result => result,
        },
    }
}

/// Answers until it is dropped. `/healthz` fails also when the sender of `status` is gone.
///
/// An answer takes no time, and whoever holds connections keeps nobody waiting: kubelet's probes would end the process.
pub async fn serve(listener: TcpListener, status: watch::Receiver<Status>) {
    let mut connections = JoinSet::new();
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                open.push_back(connections.spawn(answer(stream, status.clone())));
            }
            // For example too many open files, which takes time to change.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn answer(stream: TcpStream, status: watch::Receiver<Status>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(request.method(), request.uri().path(), &status);
        async { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // What can fail is the client's.
    let _ = timeout(CONNECTION, connection).await;
}

fn respond(method: &Method, path: &str, status: &watch::Receiver<Status>) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD alone\n".to_owned());
    }
    let runs = status.has_changed().is_ok();
    let status = status.borrow();
    let verdict = |good| if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match path {
        "/healthz" if runs && status.beat.elapsed() < STUCK => plain(StatusCode::OK, "ok\n".to_owned()),
        "/healthz" => plain(StatusCode::SERVICE_UNAVAILABLE, "the loop is stuck\n".to_owned()),
        "/readyz" if status.remark.is_empty() => {
            plain(verdict(status.ready), if status.ready { "ok\n" } else { "not ready\n" }.to_owned())
        }
        "/readyz" => plain(verdict(status.ready), format!("{}\n", status.remark)),
        "/metrics" => {
            let mut response = plain(StatusCode::OK, status.metrics.to_string());
            let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, format);
            response
        }
        _ => plain(StatusCode::NOT_FOUND, "`/healthz`, `/readyz` or `/metrics`\n".to_owned()),
    }
}

fn plain(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
