//! Policies of public libraries, run as their authors wrote them. `tests/libraries` is the ledger: for each policy an
//! object that it denies, one that it admits, and what it says of the first; and for each policy that isn't run, why.
//! The texts are their authors' and not here: `make test-libraries` reads them from a folder of checkouts.
//!
//! What the libraries have of their own to test them holds too: [`suites`] for Gatekeeper's, [`rego_tests`]
//! for all others.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod rego_tests;
mod suites;

use image_admission_engine::Decision;
use image_admission_host::WireHost;
use image_admission_module_host::answers::files::{ClusterFiles, Files};
use image_admission_module_host::answers::{Gate, Grants, engine_calls};
use image_admission_settings::Settings;
use image_admission_untrusted::clock::Clock;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many policies of public libraries must run.
const POLICIES: usize = 150;
/// How many of one library make it count.
const OF_ONE: usize = 25;
/// How many libraries must count.
const LIBRARIES: usize = 4;
/// Names the folder of checkouts.
const CHECKOUTS: &str = "REGO_LIBRARIES";

/// What is known about the policies of one repository.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Ledger {
    /// `owner/name`
    repository: String,
    /// What the checksums are of.
    commit: String,
    /// The folders whose policies are all here; everything else in the repository is none of ours.
    folders: Vec<String>,
    /// Modules that policies refer to, by path, with their checksums.
    #[serde(default)]
    libraries: BTreeMap<String, String>,
    /// Objects that several entries share.
    #[serde(default)]
    objects: BTreeMap<String, Value>,
    policies: Vec<Entry>,
    /// Files, or folders with a slash at the end, that are not run, and why.
    #[serde(default)]
    left_out: BTreeMap<String, String>,
    /// What Gatekeeper's command line tests it with.
    suites: Option<suites::Expected>,
    /// Its tests in Rego.
    tests: Option<rego_tests::Expected>,
}

/// A policy that runs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    policy: String,
    sha256: String,
    /// Paths among the ledger's libraries.
    #[serde(default)]
    libraries: Vec<String>,
    parameters: Option<Value>,
    /// `v0` unless it says so.
    rego_version: Option<String>,
    /// `CREATE` unless it says so.
    operation: Option<String>,
    /// The object before an update.
    old: Option<Object>,
    /// What else the cluster holds.
    #[serde(default)]
    cluster: Vec<Value>,
    denied: Object,
    admitted: Object,
    /// What it says of the denied object, and nothing else.
    messages: BTreeSet<String>,
}

/// An object, or the name of a shared one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Object {
    Shared(String),
    Own(Value),
}

impl Object {
    fn value<'a>(&'a self, ledger: &'a Ledger) -> &'a Value {
        match self {
            Self::Own(value) => value,
            Self::Shared(name) => ledger.objects.get(name).unwrap_or_else(|| panic!("no object is named {name}")),
        }
    }
}

impl Ledger {
    /// The repository's name without its owner.
    fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap()
    }
}

impl Entry {
    fn objects(&self) -> impl Iterator<Item = &Object> {
        [&self.denied, &self.admitted].into_iter().chain(&self.old)
    }
}

fn ledgers() -> Vec<Ledger> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/libraries");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

/// A request of the API server.
fn request(object: &Value, old: Option<&Value>, operation: &str) -> Value {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let api_version = text(&object["apiVersion"]).unwrap();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let kind = text(&object["kind"]).unwrap();
    let mut request = json!({
        "uid": "entry", "operation": operation, "userInfo": {"username": "ann", "groups": ["team"]},
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": format!("{}s", kind.to_lowercase())},
        "name": object["metadata"]["name"], "object": object, "oldObject": old,
    });
    if let Some(namespace) = text(&object["metadata"]["namespace"]) {
        request["namespace"] = namespace.into();
    }
    request
}

/// What a policy says of a request, or why it can't decide.
fn messages(
    policy: &str,
    libraries: &BTreeMap<&str, String>,
    entry: &Entry,
    request: &Value,
) -> Result<BTreeSet<String>, String> {
    let mut named = json!({"name": entry.policy, "kinds": ["*"], "rego": policy});
    if let Some(parameters) = &entry.parameters {
        named["parameters"] = parameters.clone();
    }
    let mut settings = settings(named, &entry.cluster);
    settings["regoVersion"] = entry.rego_version.as_deref().unwrap_or("v0").into();
    settings["regoLibraries"] = libraries.iter().map(|(name, rego)| json!({"name": name, "rego": rego})).collect();
    match decide(&settings, &entry.cluster, request)?.policies.as_slice() {
        [policy] => policy.error.clone().map_or_else(|| Ok(policy.denials.clone()), Err),
        others => Err(format!("{} policies decided", others.len())),
    }
}

/// Settings with one policy, which sees these objects of the cluster.
fn settings(policy: Value, cluster: &[Value]) -> Value {
    let kinds: BTreeSet<(&str, &str)> =
        cluster.iter().map(|o| (o["apiVersion"].as_str().unwrap(), o["kind"].as_str().unwrap())).collect();
    json!({
        "preScanPolicies": {"defaultPolicy": "accept"},
        "regoPolicies": [policy],
        "context": kinds.iter().map(|(version, kind)| json!({"apiVersion": version, "kind": kind})).collect::<Vec<_>>(),
    })
}

/// What the policy decides, or why it isn't deployed.
fn decide(settings: &Value, objects: &[Value], request: &Value) -> Result<Decision, String> {
    let valid = image_admission_engine::validate_settings(&serde_json::to_vec(settings).unwrap()).response;
    if valid != br#"{"valid":true,"message":null}"# {
        return Err(String::from_utf8_lossy(&valid).into_owned());
    }
    let settings = Settings::read(settings).map_err(|error| error.to_string())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let gate = Gate::new(Grants::everything(), Arc::new(cluster(objects)));
    let host = WireHost(engine_calls(&gate));
    let request = to_raw_value(request).unwrap();
    Ok(image_admission_engine::decide(Some(&request), &settings, &host, Timestamp(now.try_into().unwrap())))
}

/// The cluster, with these objects.
fn cluster(objects: &[Value]) -> Files {
    if objects.is_empty() {
        return Files::new(None, None);
    }
    let folder = tempfile::tempdir().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    std::fs::write(folder.path().join("objects.json"), list.to_string()).unwrap();
    Files::new(Some(ClusterFiles::from_folder(folder.path()).unwrap()), None)
}

/// The text of a file, which must be the one that the ledger is about.
fn text(checkout: &Path, path: &str, checksum: &str) -> Result<String, String> {
    let bytes = std::fs::read(checkout.join(path)).map_err(|error| format!("{path}: {error}"))?;
    let found = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    if found != checksum {
        return Err(format!("{path}: its checksum is {found}, and the ledger is about {checksum}"));
    }
    String::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))
}

/// The clock that stops rules. It is slow: nothing here is compiled for speed, and the machine may have other work.
struct Started(LazyLock<Instant>);

impl Clock for Started {
    fn now(&self) -> Option<Duration> {
        Some(self.0.elapsed() / 20)
    }
}

static CLOCK: Started = Started(LazyLock::new(Instant::now));

/// Every module in and below a folder that is no test.
fn modules(checkout: &Path, folder: &Path, found: &mut Vec<String>) {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in files.map(|file| file.unwrap().path()) {
        if path.is_dir() {
            modules(checkout, &path, found);
            continue;
        }
        let name = path.strip_prefix(checkout).unwrap().to_str().unwrap().to_owned();
        let file = name.rsplit('/').next().unwrap();
        if file.ends_with(".rego") && !file.ends_with("_test.rego") && !file.starts_with("test_") {
            found.push(name);
        }
    }
}

/// What is wrong with a library's policies, and how many run as the ledger says.
fn run(ledger: &Ledger, checkout: &Path) -> (Vec<String>, usize) {
    let mut problems = Vec::new();
    let mut libraries = BTreeMap::new();
    for (path, checksum) in &ledger.libraries {
        match text(checkout, path, checksum) {
            Ok(text) => drop(libraries.insert(path.as_str(), text)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut passed = 0;
    for entry in &ledger.policies {
        let policy = match text(checkout, &entry.policy, &entry.sha256) {
            Ok(policy) => policy,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let needed = libraries.iter().filter(|(path, _)| entry.libraries.iter().any(|name| name == *path));
        let needed: BTreeMap<&str, String> = needed.map(|(path, text)| (*path, text.clone())).collect();
        let old = entry.old.as_ref().map(|old| old.value(ledger));
        let operation = entry.operation.as_deref().unwrap_or("CREATE");
        let ask = |object: &Object| messages(&policy, &needed, entry, &request(object.value(ledger), old, operation));
        let before = problems.len();
        match ask(&entry.denied) {
            Ok(said) if said == entry.messages => {}
            Ok(said) => problems.push(format!(
                "{}: of the denied object it says {said:#?}, and the ledger {:#?}",
                entry.policy, entry.messages
            )),
            Err(error) => problems.push(format!("{}: the denied object: {error}", entry.policy)),
        }
        match ask(&entry.admitted) {
            Ok(said) if said.is_empty() => {}
            Ok(said) => problems.push(format!("{}: of the admitted object it says {said:#?}", entry.policy)),
            Err(error) => problems.push(format!("{}: the admitted object: {error}", entry.policy)),
        }
        passed += usize::from(problems.len() == before);
    }
    let mut found = Vec::new();
    for folder in &ledger.folders {
        modules(checkout, &checkout.join(folder), &mut found);
    }
    let known = |path: &str| {
        ledger.policies.iter().any(|entry| entry.policy == path)
            || ledger.libraries.contains_key(path)
            || ledger.left_out.keys().any(|out| path == out || out.ends_with('/') && path.starts_with(out.as_str()))
    };
    problems.extend(found.iter().filter(|path| !known(path)).map(|path| format!("{path}: the ledger doesn't know it")));
    let is_there =
        |out: &&String| found.iter().any(|path| path == *out || out.ends_with('/') && path.starts_with(out.as_str()));
    problems.extend(
        ledger.left_out.keys().filter(|out| !is_there(out)).map(|out| format!("{out}: left out, and not there")),
    );
    (problems, passed)
}

/// The ledgers with their checkouts. What isn't there is told.
fn checkouts() -> Vec<(Ledger, PathBuf)> {
    let Some(folder) = std::env::var_os(CHECKOUTS).map(PathBuf::from) else {
        let wanted = ledgers().into_iter().map(|ledger| format!("\n  {} at {}", ledger.repository, ledger.commit));
        panic!(
            "set {CHECKOUTS} to a folder with a checkout of each of these, in folders of their names (the part after \
             the slash):{}",
            wanted.collect::<String>()
        );
    };
    image_admission_untrusted::clock::use_clock(&CLOCK);
    let with_checkout = |ledger: Ledger| {
        let checkout = folder.join(ledger.name());
        let (path, repository, commit) = (checkout.display(), &ledger.repository, &ledger.commit);
        assert!(checkout.is_dir(), "{path} is missing: check out {repository} at {commit} there");
        (ledger, checkout)
    };
    ledgers().into_iter().map(with_checkout).collect()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
#[ignore = "needs checkouts of the libraries: see `make test-libraries`"]
fn policies_of_public_libraries_run_unchanged() {
    let mut problems = Vec::new();
    for (ledger, checkout) in checkouts() {
        let (wrong, passed) = run(&ledger, &checkout);
        println!("{}: {passed} of {} run as the ledger says", ledger.repository, ledger.policies.len());
        problems.extend(wrong.into_iter().map(|problem| format!("{}/{problem}", ledger.name())));
    }
    assert_none(&problems);
}

#[test]
#[ignore = "needs checkouts of the libraries: see `make test-libraries`"]
fn what_libraries_test_of_themselves_holds_as_the_ledger_says() {
    let mut problems = Vec::new();
    let mut table =
        String::from("| library | its own tests | assertions | hold | the others |\n|---|---|---|---|---|\n");
    let mut row = |ledger: &Ledger, tests: &str, all: usize, hold: usize, reasons: &BTreeMap<&str, usize>| {
        let reasons: Vec<String> = reasons.iter().map(|(why, number)| format!("{number}: {why}")).collect();
        writeln!(table, "| {} | {tests} | {all} | {hold} | {} |", ledger.name(), reasons.join("; ")).unwrap();
    };
    for (ledger, checkout) in checkouts() {
        let mut wrong = Vec::new();
        if let Some(expected) = &ledger.suites {
            let found = suites::run(expected, &checkout);
            let (all, hold) = (found.assertions, found.assertions - found.wrong.len());
            row(&ledger, &format!("{} suites of `gator verify`", found.suites), all, hold, &expected.reasons());
            wrong.extend(found.problems(expected).into_iter().chain(suites::asked_of_gator(expected, &checkout)));
        }
        if let Some(expected) = &ledger.tests {
            let found = rego_tests::run(expected, &checkout);
            let tests = format!("{} files of `opa test`", found.files);
            row(&ledger, &tests, found.tests, found.passed, &expected.reasons());
            wrong.extend(found.problems(expected));
        }
        problems.extend(wrong.into_iter().map(|problem| format!("{}/{problem}", ledger.name())));
    }
    println!("{table}");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rego-reference.md");
    if !std::fs::read_to_string(guide).unwrap().contains(&table) {
        problems.push("docs/rego-reference.md has another table than this one".to_owned());
    }
    assert_none(&problems);
}

#[test]
fn the_ledger_holds_enough_and_nothing_superfluous() {
    let ledgers = ledgers();
    let counts: Vec<usize> = ledgers.iter().map(|ledger| ledger.policies.len()).collect();
    assert!(counts.iter().sum::<usize>() >= POLICIES, "{counts:?}");
    assert!(counts.iter().filter(|count| **count >= OF_ONE).count() >= LIBRARIES, "{counts:?}");
    for ledger in &ledgers {
        let name = &ledger.repository;
        let policies: BTreeSet<&str> = ledger.policies.iter().map(|entry| entry.policy.as_str()).collect();
        assert_eq!(policies.len(), ledger.policies.len(), "{name}: a policy is there twice");
        for entry in &ledger.policies {
            assert!(!entry.messages.is_empty(), "{name}: {} denies without a message", entry.policy);
            for library in &entry.libraries {
                assert!(ledger.libraries.contains_key(library), "{name}: {library} is no library");
            }
            for object in entry.objects() {
                let object = object.value(ledger);
                assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{name}: {}", entry.policy);
            }
        }
        for library in ledger.libraries.keys() {
            let is_used = ledger.policies.iter().any(|entry| entry.libraries.contains(library));
            assert!(is_used, "{name}: nothing refers to {library}");
        }
        for shared in ledger.objects.keys() {
            let is_it = |object: &Object| matches!(object, Object::Shared(name) if name == shared);
            assert!(ledger.policies.iter().flat_map(Entry::objects).any(is_it), "{name}: nothing uses {shared}");
        }
        for (path, reason) in &ledger.left_out {
            assert!(!policies.contains(path.as_str()), "{name}: {path} runs, and is left out");
            assert!(!reason.trim().is_empty() && !reason.contains('\n'), "{name}: {path} needs a reason of one line");
        }
    }
}
