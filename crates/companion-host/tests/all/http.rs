//! Health and metrics, asked by bytes on a socket.

use image_admission_companion::metrics::Metrics;
use image_admission_companion_host::http::{Status, bind, serve};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

async fn start(status: Status) -> (SocketAddr, watch::Sender<Status>) {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = watch::channel(status);
    tokio::spawn(serve(listener, receiver));
    (address, sender)
}

fn good() -> Status {
    Status { beat: Instant::now(), ready: true, remark: String::new(), metrics: Metrics::default() }
}

/// The answer to a request, until the server closes the connection.
async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(Duration::from_secs(30), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

/// The status, and the body.
async fn check(address: SocketAddr, request: &str, status: u16, body: &str) {
    let answer = ask(address, request).await;
    let (head, its_body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {head}");
    assert_eq!(its_body, body, "{request}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered() {
    let metrics = Metrics { images: 7, ..Metrics::default() };
    let (address, status) = start(Status { metrics: metrics.clone(), ..good() }).await;
    check(address, "GET /healthz", 200, "ok\n").await;
    check(address, "GET /readyz", 200, "ok\n").await;
    check(address, "GET /metrics", 200, &metrics.to_string()).await;
    check(address, "GET /healthz?verbose", 200, "ok\n").await;
    check(address, "HEAD /healthz", 200, "").await;
    check(address, "GET /", 404, "`/healthz`, `/readyz` or `/metrics`\n").await;
    check(address, "GET /metrics/", 404, "`/healthz`, `/readyz` or `/metrics`\n").await;
    check(address, "POST /healthz", 405, "GET and HEAD alone\n").await;
    let answer = ask(address, "HEAD /metrics").await;
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains(&format!("content-length: {}\r\n", metrics.to_string().len())), "{answer}");

    status.send_modify(|status| status.remark = "the policy is the one of 10 minutes ago".to_owned());
    check(address, "GET /readyz", 200, "the policy is the one of 10 minutes ago\n").await;
    status.send_modify(|status| status.ready = false);
    check(address, "GET /readyz", 503, "the policy is the one of 10 minutes ago\n").await;
    check(address, "GET /healthz", 200, "ok\n").await;
    status.send_modify(|status| status.remark = String::new());
    check(address, "GET /readyz", 503, "not ready\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_is_stuck_or_gone_isnt_healthy() {
    let long_ago = Instant::now().checked_sub(Duration::from_secs(61)).unwrap();
    let (address, status) = start(Status { beat: long_ago, ..good() }).await;
    check(address, "GET /healthz", 503, "the loop is stuck\n").await;
    status.send_modify(|status| status.beat = Instant::now());
    check(address, "GET /healthz", 200, "ok\n").await;
    drop(status);
    check(address, "GET /healthz", 503, "the loop is stuck\n").await;
}

/// Connections that say nothing or little, more than are held at once, keep nobody waiting as long as kubelet's probes have.
#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_keep_nobody_waiting() {
    let (address, _status) = start(good()).await;
    let mut slow = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost:").await.unwrap();
        }
        slow.push(stream);
    }
    let began = Instant::now();
    check(address, "GET /healthz", 200, "ok\n").await;
    let waited = began.elapsed();
    assert!(waited < Duration::from_secs(4), "{waited:?}");
    // Those that are held are sent away.
    let mut last = slow.pop().unwrap();
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(20), last.read_to_end(&mut answer)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_closed_after_its_answer() {
    let (address, _status) = start(good()).await;
    let answer = ask(address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz").await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "{answer}");
    let long = format!("GET /{}", "a".repeat(1_000_000));
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server stops reading, so that writing all may fail.
    let _ = stream.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 2"));
}

#[tokio::test]
async fn an_address_without_a_host_is_all_of_the_machine() {
    let listener = bind(":0").await.unwrap();
    assert!(listener.local_addr().unwrap().ip().is_unspecified());
    let used = format!(":{}", listener.local_addr().unwrap().port());
    assert_eq!(bind(&used).await.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    assert!(bind("8081").await.is_err());
}
