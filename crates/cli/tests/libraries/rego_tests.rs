//! The `*_test.rego` files of the libraries, run by `image-admission test`. The judge is `opa test`: where the environment
//! names one, it must pass every test that the ledger counts.

use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// What is known of a library's tests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Expected {
    /// The folders with the rules and their tests.
    folders: Vec<String>,
    /// Whether each folder that has tests, in it or in its folder `tests`, is tested apart from all others.
    #[serde(default)]
    apart: bool,
    /// `v0` unless it says so.
    rego_version: Option<String>,
    /// What names the judge: a library with builtins of its own needs its own.
    #[serde(default = "opa")]
    opa: String,
    /// How many tests there are. OPA passes all of them.
    number: usize,
    /// Modules that are refused, with those that test them: the others are tested without them.
    #[serde(default)]
    left_out: Vec<LeftOut>,
    /// Exactly the tests that don't pass.
    #[serde(default)]
    wrong: Vec<Wrong>,
}

fn opa() -> String {
    "OPA".to_owned()
}

/// Modules that can't be read, and so refuse everything that is read with them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LeftOut {
    why: String,
    files: BTreeSet<String>,
    /// How many tests they have.
    number: usize,
}

/// Tests that don't pass for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wrong {
    why: String,
    /// Their names; if there are many, what the errors have in them instead, and how many there are.
    #[serde(default)]
    tests: BTreeSet<String>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    number: usize,
}

impl Wrong {
    fn is_about(&self, test: &str, said: &str) -> bool {
        self.tests.contains(test) || self.has_error(said)
    }

    fn has_error(&self, said: &str) -> bool {
        self.errors.iter().any(|error| said.contains(error))
    }
}

impl Expected {
    /// Why tests don't pass, and how many.
    pub(crate) fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut reasons = BTreeMap::new();
        let wrong = self.wrong.iter().map(|wrong| (wrong.why.as_str(), wrong.tests.len() + wrong.number));
        for (why, number) in wrong.chain(self.left_out.iter().map(|out| (out.why.as_str(), out.number))) {
            *reasons.entry(why).or_default() += number;
        }
        reasons
    }

    fn is_left_out(&self, file: &str) -> bool {
        self.left_out.iter().any(|out| out.files.contains(file))
    }

    fn version(&self) -> &str {
        self.rego_version.as_deref().unwrap_or("v0")
    }
}

/// What becomes of a library's tests.
#[derive(Default)]
pub(crate) struct Found {
    /// How many files have tests.
    pub(crate) files: usize,
    pub(crate) tests: usize,
    pub(crate) passed: usize,
    /// What is said of those that don't pass.
    wrong: BTreeMap<String, String>,
    /// What can't be run, or is other than OPA has it.
    problems: Vec<String>,
}

/// The modules in and below a folder, by their paths in the checkout.
fn modules(checkout: &Path, folder: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(checkout.join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            modules(checkout, &path, found);
        } else if entry.path().extension() == Some(OsStr::new("rego")) {
            found.insert(path);
        }
    }
}

/// The folder whose rules a file tests.
fn tested(path: &str) -> Option<&str> {
    let (folder, file) = path.rsplit_once('/')?;
    folder.strip_suffix("/tests").or_else(|| file.ends_with("_test.rego").then_some(folder))
}

/// Runs all tests of a library.
pub(crate) fn run(expected: &Expected, checkout: &Path) -> Found {
    let mut all = BTreeSet::new();
    expected.folders.iter().for_each(|folder| modules(checkout, folder, &mut all));
    let mut found = Found { tests: expected.left_out.iter().map(|out| out.number).sum(), ..Found::default() };
    let missing = expected.left_out.iter().flat_map(|out| &out.files).filter(|path| !all.contains(*path));
    found.problems.extend(missing.map(|path| format!("{path}: left out, and not there")));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    if !expected.apart {
        found.group(expected, checkout, "", &all);
        return found;
    }
    for folder in all.iter().filter_map(|path| tested(path)).collect::<BTreeSet<_>>() {
        let is_below = |path: &&str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let files: Vec<&str> = all.iter().copied().filter(is_below).collect();
        found.group(expected, checkout, &format!("{folder}: "), &files);
    }
    found
}

impl Found {
    /// Runs the tests of modules that belong together; `label` stands before their names.
    fn group(&mut self, expected: &Expected, checkout: &Path, label: &str, files: &[&str]) {
        let version = expected.version();
        let read: Vec<&str> = files.iter().copied().filter(|path| !expected.is_left_out(path)).collect();
        let mut ours = Vec::new();
        if !read.is_empty() {
            let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
            // A test may take its time where nothing is compiled for speed.
            command.args(["test", "--timeout", "60", "-o", "json", &format!("--{version}")]).args(read);
            ours = self.results(label, &command.current_dir(checkout).output().unwrap());
        }
        let with_tests: BTreeSet<&str> = ours.iter().map(file).collect();
        self.files += with_tests.len();
        self.tests += ours.len();
        self.passed += ours.iter().filter(|test| problem(test).is_none()).count();
        self.wrong.extend(ours.iter().filter_map(|test| Some((name(label, test), problem(test)?))));
        if let Some(opa) = std::env::var_os(&expected.opa) {
            let mut command = Command::new(opa);
            command
                .args(["test", "--timeout", "60s", "--format", "json", &format!("--{version}-compatible")])
                .args(files);
            let judged = self.results(label, &command.current_dir(checkout).output().unwrap());
            self.compare(expected, label, &ours, &judged);
        }
    }

    /// Whether OPA has the same tests, and passes all of them.
    fn compare(&mut self, expected: &Expected, label: &str, ours: &[Value], judged: &[Value]) {
        let names = |tests: &mut dyn Iterator<Item = &Value>| tests.map(|test| name(label, test)).collect();
        let own: BTreeSet<String> = names(&mut ours.iter());
        let opas: BTreeSet<String> = names(&mut judged.iter().filter(|test| !expected.is_left_out(file(test))));
        self.problems.extend(own.symmetric_difference(&opas).map(|test| format!("{test}: only one of both has it")));
        let fails = judged.iter().filter_map(|test| Some((name(label, test), problem(test)?)));
        self.problems.extend(fails.map(|(test, said)| format!("{test}: OPA doesn't pass it: {said}")));
        for out in &expected.left_out {
            let number = judged.iter().filter(|test| out.files.contains(file(test))).count();
            if ![0, out.number].contains(&number) {
                self.problems
                    .push(format!("{:?}: left out with {} tests, and OPA has {number}", out.files, out.number));
            }
        }
    }

    /// The results of `test -o json`.
    fn results(&mut self, label: &str, output: &Output) -> Vec<Value> {
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            self.problems.push(format!("{label}the tests can't be run: {}: {said}", output.status));
            Vec::new()
        })
    }

    /// Where the ledger says otherwise.
    pub(crate) fn problems(&self, expected: &Expected) -> Vec<String> {
        let mut problems = self.problems.clone();
        if self.tests != expected.number {
            problems.push(format!("there are {} tests, and the ledger says {}", self.tests, expected.number));
        }
        for (test, said) in &self.wrong {
            match expected.wrong.iter().filter(|wrong| wrong.is_about(test, said)).count() {
                1 => {}
                0 => problems.push(format!("{test}: doesn't pass: {said}")),
                number => problems.push(format!("{test}: doesn't pass for {number} reasons: {said}")),
            }
        }
        for wrong in &expected.wrong {
            let right = wrong.tests.iter().filter(|test| !self.wrong.contains_key(*test));
            problems.extend(right.map(|test| format!("{test}: passes now, or isn't there: take it out of the ledger")));
            let number = self.wrong.values().filter(|said| wrong.has_error(said)).count();
            if number != wrong.number {
                problems.push(format!(
                    "{number} tests say one of {:?}, and the ledger says {}",
                    wrong.errors, wrong.number
                ));
            }
        }
        problems
    }
}

fn name(label: &str, test: &Value) -> String {
    format!("{label}{}.{}", test["package"].as_str().unwrap(), test["name"].as_str().unwrap())
}

fn file(test: &Value) -> &str {
    test["location"]["file"].as_str().unwrap()
}

/// What is said of a test that doesn't pass.
fn problem(test: &Value) -> Option<String> {
    if test["skip"] == true {
        return Some("skipped".to_owned());
    }
    match &test["error"] {
        Value::Null => (test["fail"] == true).then(|| "fails".to_owned()),
        error => Some(error.to_string()),
    }
}
