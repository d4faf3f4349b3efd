//! GitHub's API, or whoever it sends to, that answers what a test says.

use super::evidence_server::serve;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The server's state.
#[derive(Clone, Default)]
pub(crate) struct GithubServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By path and query.
    answers: BTreeMap<String, Answer>,
    /// What was asked, and with which `Authorization`.
    seen: Vec<(String, Option<String>)>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::ok("") }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl GithubServer {
    /// Serves on loopback until the test's runtime ends. Returns `host:port`.
    pub(crate) async fn serve(&self) -> String {
        let server = self.clone();
        serve(move |request| {
            let response = server.answer(&request);
            async move {
                match response {
                    Some(response) => response,
                    None => std::future::pending().await,
                }
            }
        })
        .await
    }

    /// Answers this at a path with its query. A path without an answer isn't there; one with the status 0 is never answered.
    pub(crate) fn set(&self, path: &str, answer: Answer) {
        self.0.lock().unwrap().answers.insert(path.to_owned(), answer);
    }

    /// What was asked since the last time.
    pub(crate) fn take_seen(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.0.lock().unwrap().seen)
    }

    fn answer(&self, request: &Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        let path = request.uri().path_and_query().unwrap().to_string();
        let authorization = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
        let mut state = self.0.lock().unwrap();
        state.seen.push((path.clone(), authorization));
        let answer = state.answers.get(&path).cloned().unwrap_or(Answer::status(404));
        if answer.status == 0 {
            return None;
        }
        let response = answer
            .headers
            .into_iter()
            .fold(Response::builder().status(answer.status), |response, header| response.header(header.0, header.1));
        Some(response.body(Full::from(answer.body)).unwrap())
    }
}
