//! `image-admission test` and `image-admission eval`, as their users see them.
//!
//! Each file `rego/*.txt` is a transcript, see `support/transcripts.rs`; how long something took is written as `TIME`
//! there. In a command, `< FILE` feeds the standard input.

use crate::support::transcripts;
use std::fs;
use std::path::PathBuf;

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;
use transcripts::{Outcome, image_admission};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rego"))
}

#[test]
fn transcripts_are_as_they_were_read() {
    let times =
        [Regex::new(r"(\()[0-9.]+(?:µs|ms|s)(\))").unwrap(), Regex::new(r#"("?duration"?: )[0-9]+()"#).unwrap()];
    transcripts::check(&folder(), |arguments, input| {
        let outcome = image_admission(&folder(), arguments, input);
        let output =
            times.iter().fold(outcome.output, |text, time| time.replace_all(&text, "${1}TIME${2}").into_owned());
        Outcome { output, ..outcome }
    });
}

/// Runs `test` in a folder with these files.
fn test(files: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    image_admission(folder.path(), &[&["test"], arguments].concat(), b"")
}

const PASSING: &str = "package p\ntest_x { true }\n";

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let files = [("p/x.rego", PASSING), ("p/data.json", r#"{"x": 1}"#)];
    for paths in [&["."][..], &["p", "p/x.rego", "./p/../p/x.rego"], &["p/x.rego", "p", "p/data.json"]] {
        let outcome = test(&files, paths);
        assert_eq!((outcome.code, outcome.output.as_str()), (0, "PASS: 1/1\n"), "{}", outcome.errors);
    }
}

#[test]
fn cases_that_do_not_hold_are_named_in_the_older_syntax_too() {
    let lists = "package lists\nn = {\"a\": 1, \"b\": 2}\n";
    let text = "package p\nimport data.lists as all\n\
                test_x[name] = true { given := all.n[name]; given < 2 }\n\
                test_y[name] = given { given := {\"a\": true, \"b\": false, \"c\": 1}[name] }\n";
    let outcome = test(&[("lists.rego", lists), ("p.rego", text)], &["."]);
    let expected = "data.p.test_x: FAIL\n  p.rego:3: the case `b` is not true\n\
                    data.p.test_y: FAIL\n  p.rego:4: the cases `b`, `c` are not true\n";
    assert!(outcome.code == 2 && outcome.output.starts_with(expected), "{}{}", outcome.output, outcome.errors);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_is_followed_once() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("x.rego"), PASSING).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("again")).unwrap();
    let outcome = image_admission(folder.path(), &["test", "."], b"");
    assert_eq!((outcome.code, outcome.output.as_str()), (0, "PASS: 1/1\n"), "{}", outcome.errors);
}

#[test]
fn long_lines_are_read() {
    let long = format!("package p\ntest_x {{ \"{0}\" == \"{0}\" }}\n", "x".repeat(5000));
    assert_eq!(test(&[("x.rego", &long)], &["."]).code, 0);
}

#[test]
fn windows_files_are_read() {
    let windows = PASSING.replace('\n', "\r\n");
    assert_eq!(test(&[("x.rego", &format!("\u{feff}{windows}"))], &["."]).code, 0);
}

#[test]
fn one_test_leaves_nothing_behind_for_the_next() {
    let rules = "package p\n\
        f(x) = 1 { x }\n\
        f(x) = 2 { x }\n\
        test_a { f(1) with input as {\"x\": 1} with data.y as 2 }\n\
        test_b { not input.x; not data.y }\n";
    let outcome = test(&[("x.rego", rules)], &["-o", "json", "."]);
    let results: Vec<Value> = serde_json::from_str(&outcome.output).unwrap();
    assert!(results[0]["error"]["message"].is_string(), "{}", results[0]);
    assert_eq!((results[1].get("fail"), results[1].get("error")), (None, None), "{}", results[1]);
}
