//! `image-admission scan`, against a cluster that this file serves on loopback. What it does in which order, the tests of
//! `companion-host` say.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// A cluster whose policy admits `admitted:1`, denies `rejected:1`, and waits for a report of others.
struct Cluster {
    kubeconfig: NamedTempFile,
    requests: Receiver<String>,
}

impl Cluster {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut kubeconfig = NamedTempFile::new().unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{}", listener.local_addr().unwrap())}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
        });
        write!(kubeconfig, "{config}").unwrap();
        let (sender, requests) = channel();
        thread::spawn(move || listener.incoming().for_each(|stream| respond(stream.unwrap(), &sender)));
        Self { kubeconfig, requests }
    }

    fn scan(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
        command.arg("scan").args(arguments).arg("--kubeconfig").arg(self.kubeconfig.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn scanned(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        said(self.scan(arguments).wait_with_output().unwrap())
    }

    /// Waits for a request.
    fn is_asked(&self, wanted: &str) {
        while self.requests.recv_timeout(Duration::from_secs(30)).unwrap() != wanted {}
    }
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn respond(mut stream: TcpStream, sender: &Sender<String>) {
    let mut reader = BufReader::new(&stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let request = lines.next().unwrap_or_default();
    let length =
        lines.filter_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok()).last();
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let (method, path) = request.strip_suffix(" HTTP/1.1").and_then(|line| line.split_once(' ')).unwrap();
    let (status, answer) = answer(method, path, serde_json::from_slice(&body).unwrap_or_default());
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.to_string().len()
    );
    let _ = sender.send(format!("{method} {}", path.split('?').next().unwrap()));
}

fn answer(method: &str, path: &str, mut object: Value) -> (u16, Value) {
    let denied = |words: &str| {
        let message = format!("admission webhook \"image-admission\" denied the request: {words}");
        (403, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": 403}))
    };
    let image = |spec: &str| object.pointer(&format!("{spec}/containers/0/image")).cloned().unwrap_or_default();
    let is_pod = path.starts_with("/api/v1/namespaces/shop/pods?");
    match (method, image(if is_pod { "/spec" } else { "/spec/template/spec" }).as_str()) {
        ("POST", Some("admitted:1")) => (201, object),
        ("POST", Some("rejected:1")) => denied("Image 'rejected:1' failed\n'rejected:1': 1 critical\u{1b}"),
        ("POST", _) if is_pod => denied("scan report is pending"),
        ("POST", _) => {
            object["metadata"]["name"] = "scan-x2x7k".into();
            object["metadata"]["uid"] = "1".into();
            (201, object)
        }
        ("DELETE", _) => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
        _ => (
            200,
            json!({"apiVersion": "events.k8s.io/v1", "kind": "EventList", "metadata": {}, "items": [{
                "metadata": {"name": "a"}, "reportingController": "image-admission-companion", "reason": "ScanRequested",
                "note": "asked for a scan of `new:1`: CronJob `image-scans/scan-1`",
            }]}),
        ),
    }
}

const JOBS: &str = "/apis/batch/v1/namespaces/shop/jobs";

#[test]
fn each_image_has_its_line() {
    let cluster = Cluster::start();
    let (code, output, errors) = cluster.scanned(&["admitted:1", "rejected:1", "new:1", "-n", "shop"]);
    let wanted = "admitted:1: admitted\n\
                  rejected:1: denied\n  \
                  admission webhook \"image-admission\" denied the request: Image 'rejected:1' failed\n  \
                  'rejected:1': 1 critical\\u{1b}\n\
                  new:1: Job `shop/scan-x2x7k` asks the companion for its scan\n  \
                  kubectl events --namespace shop --for job/scan-x2x7k    # shows how far it is\n  \
                  kubectl delete --namespace shop job/scan-x2x7k          # once it is scanned\n";
    assert_eq!((code, output.as_str(), errors.as_str()), (Some(2), wanted, ""));
    assert_eq!(cluster.scanned(&["admitted:1", "-n", "shop", "--wait"]).0, Some(0));
}

#[test]
fn what_isnt_admitted_in_time_is_an_error_and_leaves_no_job() {
    let cluster = Cluster::start();
    let (code, output, errors) = cluster.scanned(&["new:1", "-n", "shop", "--wait", "--timeout", "1s"]);
    let wanted = "new:1: Job `shop/scan-x2x7k` asks the companion for its scan\n\
                  new:1: asked for: CronJob `image-scans/scan-1`\n\
                  error: new:1: not admitted in time\n  \
                  admission webhook \"image-admission\" denied the request: scan report is pending\n";
    assert_eq!((code, output.as_str(), errors.as_str()), (Some(1), "", wanted));
    cluster.is_asked(&format!("DELETE {JOBS}/scan-x2x7k"));
}

#[test]
fn an_interrupt_leaves_no_job() {
    let cluster = Cluster::start();
    let child = cluster.scan(&["new:1", "-n", "shop", "--wait"]);
    cluster.is_asked("GET /apis/events.k8s.io/v1/namespaces/shop/events");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let (code, _, errors) = said(child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.ends_with("error: new:1: not waited for any more\n"), "{errors}");
    cluster.is_asked(&format!("DELETE {JOBS}/scan-x2x7k"));
}
