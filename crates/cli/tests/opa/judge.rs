//! The real OPA: the program of `e2e-tests/opa`, which reads questions as lines of JSON and answers each with one.

use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What the real OPA says of a question.
#[derive(Deserialize)]
pub(super) struct Said {
    /// The variables of the query, once for each way in which it holds.
    pub(super) result: Option<Vec<Value>>,
    /// Why there is no answer.
    pub(super) error: Option<String>,
}

/// Asks all questions, `{"modules": […], "v1": bool, "query": …, "input": …}`, one a line.
pub(super) fn ask(judge: &OsStr, questions: String) -> Vec<Said> {
    let mut opa = Command::new(judge).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = opa.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
    let output = opa.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
