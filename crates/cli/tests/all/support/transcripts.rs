//! Transcripts: files `*.txt` with a command in their first line, `$ image-admission …`, and then all that comes of it.
//!
//! A new one needs only its first line; with `BLESS=1` in the environment the test writes the rest, to be read before
//! it is committed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What came of a command.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs `image-admission` in a folder.
pub(crate) fn image_admission(folder: &Path, arguments: &[&str], input: &[u8]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command.current_dir(folder).args(arguments).env_remove("NO_COLOR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Who doesn't read its input closes it early.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        output: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compares the transcripts in `folder` with what `run` makes of their commands' arguments and standard input.
pub(crate) fn check(folder: &Path, run: impl Fn(&[&str], &[u8]) -> Outcome) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "{}: where are the transcripts?", folder.display());
    let bless = std::env::var_os("BLESS").is_some();
    let mut differing = Vec::new();
    for path in paths {
        let written = fs::read_to_string(&path).unwrap();
        let first_line = written.lines().next().unwrap_or_default();
        let Some(command) = first_line.strip_prefix("$ image-admission ") else {
            panic!("{}: the first line must be a command, `$ image-admission …`", path.display())
        };
        let (arguments, input) = command.split_once(" < ").unwrap_or((command, ""));
        let input = if input.is_empty() { Vec::new() } else { fs::read(folder.join(input)).unwrap() };
        let arguments = words(arguments);
        let Outcome { code, output, errors } = run(&arguments, &input);
        let section = |name: &str, text: String| if text.is_empty() { text } else { format!("--- {name}\n{text}") };
        let actual =
            format!("{first_line}\n{}{}--- exit code {code}\n", section("output", output), section("errors", errors));
        if written == actual {
            continue;
        }
        if bless {
            fs::write(&path, actual).unwrap();
        } else {
            let diff = similar::TextDiff::from_lines(&written, &actual).unified_diff().to_string();
            differing.push(format!("{}\n{diff}", path.display()));
        }
    }
    assert!(differing.is_empty(), "BLESS=1 rewrites these:\n{}", differing.join("\n"));
}

/// The words of a command, as a shell has them: what is between two `'` is one.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut quoted = command.split('\'');
    while let Some(plain) = quoted.next() {
        words.extend(plain.split_whitespace());
        words.extend(quoted.next());
    }
    words
}
