//! `image-admission test` with suites of cases, as its users see it.
//!
//! Each file `suites/*.txt` is a transcript, see `support/transcripts.rs`; how long something took is written as `TIME`
//! there. The policy's module is given with `--module` where the command doesn't name one.

use crate::support;
use crate::support::transcripts;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

use regex::Regex;
use support::{module_path, root};
use tempfile::TempDir;
use transcripts::{Outcome, image_admission};

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = root().join("crates/cli/tests/suites");
    let module = module_path().display().to_string();
    transcripts::check(&folder, |arguments, input| {
        let mut arguments = arguments.to_vec();
        if !arguments.contains(&"--module") {
            arguments.extend(["--module", &module]);
        }
        without_times(image_admission(&folder, &arguments, input))
    });
}

fn without_times(outcome: Outcome) -> Outcome {
    let times = [
        Regex::new(r"(\()[0-9.]+(?:µs|ms|s)(\))").unwrap(),
        Regex::new(r#"("?duration"?: )[0-9]+()"#).unwrap(),
        Regex::new(r#"( time=")[0-9.]+(")"#).unwrap(),
    ];
    let output = times.iter().fold(outcome.output, |text, time| time.replace_all(&text, "${1}TIME${2}").into_owned());
    Outcome { output, ..outcome }
}

#[test]
fn the_order_of_results_is_that_of_the_files_however_many_threads_there_are() {
    let folder = root().join("crates/cli/tests/suites");
    let module = module_path().display().to_string();
    let run = |jobs| {
        let arguments = ["test", "-v", "--module", &module, "--jobs", jobs, "passing_test.yaml", "failing_test.yaml"];
        without_times(image_admission(&folder, &arguments, b""))
    };
    let one = run("1");
    assert_eq!(one.code, 2);
    assert_eq!(run("16"), one);
}

#[test]
fn the_demo_is_a_suite_that_passes() {
    let module = module_path().display().to_string();
    let outcome = image_admission(&root(), &["test", "--module", &module, "examples/demo"], b"");
    let expected = Outcome { code: 0, output: "PASS: 5/5\n".to_owned(), errors: String::new() };
    assert_eq!(outcome, expected);
}

#[test]
fn a_change_of_any_file_runs_the_cases_again() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("suites")).unwrap();
    // The settings are beside the folder that is watched, and a suite names them.
    let settings = |action: &str| write("settings.yaml", &format!("preScanPolicies: {{defaultPolicy: {action}}}\n"));
    settings("accept");
    let suite = "settings: ../settings.yaml\ntests:\n  - name: app\n    object: {apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: app, image: app}]}}\n    expect: {verdict: allowed}\n";
    write("suites/a_test.yaml", suite);
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command.current_dir(folder.path()).args(["test", "-v", "--watch", "--module"]).arg(module_path()).arg("suites");
    let mut process = Ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let lines = lines_of(process.0.stdout.take().unwrap());
    let errors = lines_of(process.0.stderr.take().unwrap());

    wait_for(&lines, "PASS: 1/1");
    wait_for(&lines, "waiting for a change; interrupt to end");
    settings("reject");
    wait_for(&lines, "settings.yaml changed");
    wait_for(&lines, "FAIL: 1/1");
    wait_for(&lines, "waiting for a change; interrupt to end");
    // What can't be run is told, and may be repaired; so may a file that isn't there.
    write("suites/a_test.yaml", &suite.replace("settings.yaml", "other.yaml"));
    wait_for(&lines, "suites/a_test.yaml changed");
    wait_for(&errors, "settings: there is no `suites/../other.yaml`; paths are relative to the suite's folder");
    wait_for(&lines, "waiting for a change; interrupt to end");
    write("other.yaml", "preScanPolicies: {defaultPolicy: accept}\n");
    wait_for(&lines, "PASS: 1/1");
    wait_for(&lines, "waiting for a change; interrupt to end");
    write("suites/b_test.yaml", &suite.replace("app", "another"));
    wait_for(&lines, "suites/b_test.yaml changed");
    wait_for(&lines, "FAIL: 1/2");
    wait_for(&lines, "waiting for a change; interrupt to end");
    assert!(process.0.try_wait().unwrap().is_none(), "it ends by itself");
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines that a process writes, as they come.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    spawn(move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

/// Waits for a line that ends so.
#[track_caller]
fn wait_for(lines: &Receiver<String>, end: &str) {
    let mut before = Vec::new();
    loop {
        match lines.recv_timeout(Duration::from_secs(120)) {
            Ok(line) if line.ends_with(end) => return,
            Ok(line) => before.push(line),
            Err(_) => panic!("no line ends with `{end}`, but there are {before:#?}"),
        }
    }
}

#[test]
fn the_guide_shows_the_demo() {
    let guide = fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let demo = fs::read_to_string(root().join("examples/demo/demo_test.yaml")).unwrap();
    assert!(
        guide.contains(&format!("```yaml\n{demo}```\n")),
        "docs/testing.md doesn't show examples/demo/demo_test.yaml"
    );
}

/// Runs a suite that is nothing but this text, and can't be run.
#[track_caller]
fn check_invalid(suite: &str, problem: &str) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a_test.yaml"), suite).unwrap();
    let errors = format!("error: the suite `a_test.yaml` can't be run\n  {problem}\n");
    let expected = Outcome { code: 1, output: String::new(), errors };
    assert_eq!(image_admission(folder.path(), &["test", "."], b""), expected, "{suite}");
}

#[test]
fn what_is_no_suite_is_refused() {
    check_invalid("", "it is empty; its cases are a list below `tests`");
    check_invalid("a: 1\n---\nb: 1\n", "it has several documents; a suite is one");
    check_invalid(
        "[]",
        "`[]` is not a map with `settings`, `settingsOf`, `images`, `cluster`, `replay`, `exact`, `tests`",
    );
    check_invalid(
        "settings: {}",
        "tests: it is missing; a file with this name is a suite: list its cases below `tests`, or rename it if it is none",
    );
    check_invalid("tests: {}", "tests: `{}` is not a list of cases");
    check_invalid("tests: []", "tests: there is no case, so that nothing is tested; add one, or remove the suite");
    let replaced =
        "settings: {}\ntests: [{name: x, settings: {}, object: {apiVersion: v1, kind: X}, expect: {verdict: allowed}}]";
    check_invalid(replaced, "settings: no case uses it, as each has its own; remove it here");
}
