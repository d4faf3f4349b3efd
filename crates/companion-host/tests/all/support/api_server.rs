//! An API server that a person asks for a scan: it has Jobs, and a policy whose verdicts a test has written down.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use tempfile::NamedTempFile;

pub(crate) const DENIAL: &str = "admission webhook \"image-admission\" denied the request: ";

/// What is answered.
#[derive(Clone, Default)]
pub(crate) struct Verdicts {
    /// To each trial of a Pod: none admits it. The last one holds from then on.
    pub(crate) pods: Vec<Option<(u16, String)>>,
    /// To the Job.
    pub(crate) job: Option<(u16, String)>,
    /// To each trial of the Job after it was created.
    pub(crate) job_again: Option<(u16, String)>,
    /// To the deletion of the Job.
    pub(crate) delete: Option<(u16, String)>,
    /// To a list of Events.
    pub(crate) events: Option<(u16, String)>,
    /// The Events that the first list has, the second one too, and so on.
    pub(crate) told: Vec<Value>,
}

#[derive(Default)]
struct State {
    verdicts: Verdicts,
    pods: usize,
    lists: usize,
    seen: Vec<String>,
}

pub(crate) struct ApiServer {
    state: Arc<Mutex<State>>,
    pub(crate) kubeconfig: NamedTempFile,
}

impl ApiServer {
    pub(crate) fn start(verdicts: Verdicts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{}", listener.local_addr().unwrap())}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "shop"}}],
        });
        let mut kubeconfig = NamedTempFile::new().unwrap();
        write!(kubeconfig, "{config}").unwrap();
        let state = Arc::new(Mutex::new(State { verdicts, ..State::default() }));
        let its = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                respond(stream.unwrap(), &its);
            }
        });
        Self { state, kubeconfig }
    }

    /// What was asked so far, without trials and lists: `create Job shop`.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.clone()
    }
}

fn respond(mut stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(&stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let request = lines.next().unwrap_or_default();
    let length =
        lines.filter_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok()).last();
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, answer) = state.lock().unwrap().answer(method, path, &body);
    let answer = answer.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    );
}

impl State {
    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let object = || serde_json::from_slice::<Value>(body).unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_trial = query.contains("dryRun=All");
        match (method, path) {
            ("POST", "/api/v1/namespaces/shop/pods") => {
                assert!(is_trial, "a Pod was created");
                let verdict = self.verdicts.pods.get(self.pods).or(self.verdicts.pods.last()).cloned().flatten();
                self.pods += 1;
                answered(verdict, object())
            }
            ("POST", "/apis/batch/v1/namespaces/shop/jobs") if is_trial => {
                answered(self.verdicts.job_again.clone(), object())
            }
            ("POST", "/apis/batch/v1/namespaces/shop/jobs") => {
                self.seen.push("create".to_owned());
                let mut job = object();
                job["metadata"]["name"] = "scan-x2x7k".into();
                job["metadata"]["uid"] = "uid-1".into();
                answered(self.verdicts.job.clone(), job)
            }
            ("DELETE", "/apis/batch/v1/namespaces/shop/jobs/scan-x2x7k") => {
                self.seen.push("delete".to_owned());
                answered(
                    self.verdicts.delete.clone(),
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
                )
            }
            ("GET", "/apis/events.k8s.io/v1/namespaces/shop/events") => {
                assert!(query.contains("fieldSelector=regarding.uid%3Duid-1"), "{query}");
                self.lists += 1;
                let items: Vec<&Value> = self.verdicts.told.iter().take(self.lists).collect();
                let list =
                    json!({"apiVersion": "events.k8s.io/v1", "kind": "EventList", "metadata": {}, "items": items});
                answered(self.verdicts.events.clone(), list)
            }
            _ => panic!("the stub has no {method} of {path}"),
        }
    }
}

fn answered(verdict: Option<(u16, String)>, object: Value) -> (u16, Value) {
    match verdict {
        None => (200, object),
        Some((code, message)) => {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                "message": message, "code": code,
            });
            (code, status)
        }
    }
}
