//! The cases of `tests/cases` at the root: the contract of the two phases row by row, updates and controllers, and
//! what an attacker tries. Each is decided by the engine and by the policy's module in the native host, which must
//! give the same bytes; and what the real hosts answered to the same request must be the same too.
//!
//! `BLESS=1` writes words that changed into the cases, to be read before they are committed. What the real hosts answered
//! is never blessed: `tests/real-host/record.py` asks them again.

use crate::generated_worlds::{generated, host_of};
use crate::support;
use crate::support::clock::use_read_clock;
use image_admission_engine::{check_settings, decide};
use image_admission_explain::{Cause, Why, explain};
use image_admission_host::WireHost;
use image_admission_judgement::reason::Denial;
use image_admission_module_host::answers::files::{ClusterFiles, Files, ImageFile};
use image_admission_module_host::answers::{Gate, Grants, HostAnswers, engine_calls};
use image_admission_module_host::runtime::PolicyModule;
use image_admission_settings::ForgivenBy;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use support::{module_path, root, wording};

/// One case, as the files spell it. Unknown keys fail: a misspelt expectation expects nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    name: String,
    settings: Option<Value>,
    /// A file of the workspace that has them.
    settings_file: Option<String>,
    /// A workload in shorthand; or `object`, or `objectFile`, whole.
    workload: Option<Workload>,
    #[serde(default, deserialize_with = "present")]
    object: Option<Value>,
    /// A file of the workspace that has it.
    object_file: Option<String>,
    /// The object before an update.
    old: Option<Workload>,
    /// Fields of the AdmissionRequest that differ from a plain creation.
    #[serde(default)]
    request: Map<String, Value>,
    expect: Expectation,
    /// The file that it stands in.
    #[serde(skip)]
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Workload {
    kind: Option<String>,
    #[serde(default, deserialize_with = "present")]
    namespace: Option<Value>,
    template_namespace: Option<String>,
    init: Option<Vec<String>>,
    containers: Option<Vec<String>>,
    ephemeral: Option<Vec<String>>,
    volumes: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expectation {
    allowed: bool,
    /// The whole message; or how it starts or ends, where the rest is a host's.
    message: Option<String>,
    message_starts: Option<String>,
    message_ends: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    /// What differs from the request's object, by JSON pointer; nothing else may.
    #[serde(default)]
    written: BTreeMap<String, Value>,
    /// Audit annotations that must be there.
    #[serde(default)]
    audit: BTreeMap<String, String>,
    /// How many host calls are made.
    calls: Option<usize>,
}

/// A null that is written is not an absent key.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// A file of the workspace.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the test world in a text: `{digest of team/app:1.0}`.
fn fill(text: &str) -> String {
    names().iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The other way round.
fn unfill(text: &str) -> String {
    let mut names: Vec<_> = names().into_iter().collect();
    // What is part of another value is found in it only where that is gone.
    names.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(value, &format!("{{{name}}}")))
}

fn names() -> BTreeMap<String, String> {
    yaml_serde::from_str(&read("tests/world/names.yaml")).unwrap()
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for file in [
        "prescan",
        "scan",
        "updates",
        "attacks",
        "demo",
        "acceptance",
        "sboms",
        "exemptions",
        "reports",
        "vex",
        "seeds_rego",
        "rego",
        "verification",
        "evidence",
        "attested-reports",
        "configurations",
        "break_glass",
        "message",
        "mirrors",
    ] {
        let file = format!("tests/cases/{file}.yaml");
        let found = read_cases(&fill(&read(&file))).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(!found.is_empty(), "{file} has no cases");
        cases.extend(found.into_iter().map(|case| Case { file: file.clone(), ..case }));
    }
    cases
}

fn read_cases(text: &str) -> Result<Vec<Case>, yaml_serde::Error> {
    let mut document: yaml_serde::Value = yaml_serde::from_str(text)?;
    document.apply_merge()?;
    yaml_serde::from_value(document)
}

impl Workload {
    fn object(&self) -> Value {
        let kind = self.kind.as_deref().unwrap_or("Pod");
        let mut spec = Map::new();
        for (field, letter, images) in [
            ("initContainers", 'i', &self.init),
            ("containers", 'c', &self.containers),
            ("ephemeralContainers", 'e', &self.ephemeral),
        ] {
            if let Some(images) = images {
                let named = images.iter().enumerate();
                let entries: Vec<_> =
                    named.map(|(i, image)| json!({"name": format!("{letter}{}", i + 1), "image": image})).collect();
                spec.insert(field.to_owned(), entries.into());
            }
        }
        if let Some(images) = &self.volumes {
            let named = images.iter().enumerate();
            let entries: Vec<_> =
                named.map(|(i, image)| json!({"name": format!("v{}", i + 1), "image": {"reference": image}})).collect();
            spec.insert("volumes".to_owned(), entries.into());
        }
        let mut spec = Value::Object(spec);
        if kind != "Pod" {
            let mut template = json!({"spec": spec});
            if let Some(namespace) = &self.template_namespace {
                template["metadata"] = json!({"namespace": namespace});
            }
            spec = json!({"template": template});
        }
        if kind == "CronJob" {
            spec = json!({"jobTemplate": {"spec": spec}});
        }
        let mut metadata = json!({"name": "p"});
        let namespace = self.namespace.clone().unwrap_or_else(|| "default".into());
        if !namespace.is_null() {
            metadata["namespace"] = namespace;
        }
        let api_version = match kind {
            "Pod" | "ReplicationController" => "v1",
            "Job" | "CronJob" => "batch/v1",
            _ => "apps/v1",
        };
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
    }
}

impl Case {
    fn request(&self) -> Value {
        let object = match (&self.object, &self.object_file, &self.workload) {
            (Some(object), None, None) => object.clone(),
            (None, Some(file), None) => yaml_serde::from_str(&read(file)).unwrap(),
            (None, None, Some(workload)) => workload.object(),
            _ => panic!("{}: one of `object`, `objectFile` and `workload`", self.name),
        };
        let old = self.old.as_ref().map(Workload::object);
        let no_object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        let known = [&object].into_iter().chain(&old).find(|value| !value.is_null()).unwrap_or(&no_object);
        let (group, version) = known["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
        let kind = known["kind"].as_str().unwrap();
        let mut request = json!({
            "uid": "case", "operation": "CREATE", "userInfo": {"username": "someone"},
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": plural(kind)},
            "name": known["metadata"]["name"].as_str().unwrap_or(""),
            "namespace": known["metadata"]["namespace"].as_str().unwrap_or("default"),
            "object": object, "oldObject": old,
        });
        request.as_object_mut().unwrap().extend(self.request.clone());
        request
    }

    fn payload(&self) -> Vec<u8> {
        serde_json::to_vec(&json!({"request": self.request(), "settings": self.settings()})).unwrap()
    }

    fn settings(&self) -> Value {
        match &self.settings_file {
            Some(file) => yaml_serde::from_str(&read(file)).unwrap(),
            None => with_registries(self.settings.clone().unwrap_or_else(|| json!({}))),
        }
    }

    /// Writes the words of the response into the case's file, where others are expected.
    fn bless(&self, response: &Response) {
        let path = root().join(&self.file);
        let message = self.expect.message.iter().zip(&response.message);
        let warnings = self.expect.warnings.iter().zip(&response.warnings);
        let audit = &response.audit_annotations;
        let audit = self.expect.audit.iter().filter_map(|(key, value)| Some((value, audit.get(key)?)));
        for (expected, given) in message.chain(warnings).chain(audit).filter(|(expected, given)| expected != given) {
            let file = std::fs::read_to_string(&path).unwrap();
            let reworded = wording::reword(&file, &self.name, &unfill(expected), &unfill(given));
            std::fs::write(&path, reworded.unwrap_or_else(|error| panic!("{}: {error}", self.file))).unwrap();
        }
    }

    /// Holds a response against what the case expects.
    #[track_caller]
    fn check(&self, response: &Response, calls: usize) {
        let (name, expect) = (&self.name, &self.expect);
        assert_eq!(response.accepted, expect.allowed, "{name}: {:?}", response.message);
        let message = response.message.as_deref().unwrap_or_default();
        assert!(expect.allowed == response.message.is_none(), "{name}: a message exactly where it is rejected");
        if let Some(expected) = &expect.message {
            assert_eq!(message, expected, "{name}");
        }
        assert!(message.starts_with(expect.message_starts.as_deref().unwrap_or_default()), "{name}: {message}");
        assert!(message.ends_with(expect.message_ends.as_deref().unwrap_or_default()), "{name}: {message}");
        let says = [&expect.message, &expect.message_starts, &expect.message_ends].iter().any(|m| m.is_some());
        assert!(expect.allowed != says, "{name}: a rejection says what its message is, an admission has none");
        assert_eq!(response.warnings, expect.warnings, "{name}");
        let object = self.request()["object"].clone();
        let mut expected = object.clone();
        for (pointer, value) in &expect.written {
            write(&mut expected, pointer, value);
        }
        assert_eq!(response.mutated_object.clone().unwrap_or(object), expected, "{name}");
        assert_eq!(
            response.mutated_object.is_some(),
            !expect.written.is_empty(),
            "{name}: a mutation without a change"
        );
        let verdict = if expect.allowed { "allowed" } else { "rejected" };
        assert_eq!(response.audit_annotations["verdict"], verdict, "{name}");
        assert!(!response.audit_annotations["reason"].is_empty(), "{name}");
        for (key, value) in &expect.audit {
            assert_eq!(response.audit_annotations.get(key), Some(value), "{name}");
        }
        if let Some(expected) = expect.calls {
            assert_eq!(calls, expected, "{name}: host calls");
        }
    }
}

/// Settings of a case, which may ask the test world's registries unless they say whom.
fn with_registries(mut settings: Value) -> Value {
    let registries: Value = yaml_serde::from_str(&read("tests/world/registries.yaml")).unwrap();
    if let Some(settings) = settings.as_object_mut() {
        settings.entry("registries").or_insert(registries);
    }
    settings
}

/// The resource of a kind, as far as cases have them.
fn plural(kind: &str) -> String {
    format!("{}{}", kind.to_lowercase(), if kind.ends_with('s') { "es" } else { "s" })
}

/// Sets what a JSON pointer points to; of a missing last part it makes a key.
fn write(object: &mut Value, pointer: &str, value: &Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match object.pointer_mut(parent).unwrap_or_else(|| panic!("{parent} is missing")) {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value.clone(),
        parent => parent[key] = value.clone(),
    }
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Response {
    accepted: bool,
    message: Option<String>,
    code: Option<u16>,
    mutated_object: Option<Value>,
    #[serde(default)]
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
}

/// The test world, with what the policy's metadata asks to be granted, the kinds that an operator grants for rules of
/// their own, and nothing else.
fn world() -> Arc<dyn HostAnswers> {
    let cluster = ClusterFiles::from_folder(&root().join("tests/world/cluster")).unwrap();
    let images = ImageFile::from_file(&root().join("tests/world/images.yaml")).unwrap();
    let mut metadata: Value = yaml_serde::from_str(&read("policy-metadata.yml")).unwrap();
    let granted: Vec<Value> = yaml_serde::from_str(&read("tests/world/granted.yaml")).unwrap();
    metadata["contextAwareResources"].as_array_mut().unwrap().extend(granted);
    let grants = Grants::from_metadata(&metadata.to_string()).unwrap();
    Arc::new(Gate::new(grants, Arc::new(Files::new(Some(cluster), Some(images)))))
}

fn by_engine(case: &Case, world: &dyn HostAnswers) -> (Vec<u8>, usize) {
    use_read_clock();
    let calls = Cell::new(0);
    let answer = engine_calls(world);
    let host = WireHost(|namespace: &str, operation: &str, payload: &[u8]| {
        calls.set(calls.get() + 1);
        answer(namespace, operation, payload)
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let answer = image_admission_engine::validate(&case.payload(), &host, Timestamp(now.try_into().unwrap()));
    (answer.response, calls.get())
}

/// What `crates/playground/tests` asks a browser's module again: each case with its host's answers, and the response.
#[test]
#[ignore = "writes a file for the playground's tests: `make playground-tests`"]
fn cases_are_written_for_the_playground() {
    use_read_clock();
    let world = world();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap();
    let mut lines = String::new();
    for case in cases() {
        lines.push_str(&playground_line(&case.name, &case.payload(), world.as_ref(), Timestamp(now)));
    }
    let (worlds, now) = generated(100);
    for (number, world) in worlds.iter().enumerate() {
        let host = host_of(world);
        let name = format!("generated world {number}");
        lines.push_str(&playground_line(&name, world.payload().as_bytes(), host.as_ref(), now));
    }
    std::fs::write(root().join("target/playground-cases.jsonl"), lines).unwrap();
}

/// A request with its host's answers, and the response.
fn playground_line(name: &str, payload: &[u8], world: &dyn HostAnswers, now: Timestamp) -> String {
    let calls = RefCell::new(Vec::new());
    let answer = engine_calls(world);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_owned()).unwrap();
    let host = WireHost(|namespace: &str, operation: &str, payload: &[u8]| {
        let answered = answer(namespace, operation, payload);
        calls.borrow_mut().push(json!({
            "namespace": namespace, "operation": operation, "payload": text(payload),
            "answer": answered.as_deref().ok().map(text),
            "failure": answered.as_ref().err().map(|words| words.trim_start_matches("Host error: ")),
        }));
        answered
    });
    let response = text(&image_admission_engine::validate(payload, &host, now).response);
    let line =
        json!({"name": name, "seconds": now.0, "payload": text(payload), "calls": calls.take(), "response": response});
    format!("{line}\n")
}

#[test]
fn the_engine_decides_every_case_as_expected() {
    let world = world();
    for case in cases() {
        let (response, calls) = by_engine(&case, world.as_ref());
        let response: Response = serde_json::from_slice(&response).unwrap();
        if std::env::var_os("BLESS").is_some() {
            case.bless(&response);
        } else {
            case.check(&response, calls);
        }
    }
}

/// What to do is said of everything that rejects. A change that is proposed admits the request, says what it opens, removes no
/// rules, and forgives no failure of a registry that it would have to list first.
#[test]
fn every_rejection_is_explained() {
    use_read_clock();
    let world = world();
    let host = WireHost(engine_calls(world.as_ref()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let now = Timestamp(now.try_into().unwrap());
    let (mut changed, mut unchanged) = (0, Vec::new());
    for case in cases() {
        let (name, settings) = (&case.name, case.settings());
        let request = serde_json::value::to_raw_value(&case.request()).unwrap();
        let (decision, explanation) = explain(Some(&request), &settings, &host, now).unwrap();
        assert_eq!(decision.is_allowed(), case.expect.allowed, "{name}");
        assert_eq!(explanation.causes.is_empty(), decision.is_allowed(), "{name}");
        for cause in &explanation.causes {
            assert!(!cause.why.to_string().is_empty(), "{name}");
            assert!(!cause.advice.is_empty(), "{name}: {cause:?}");
            for decider in cause.decided_by.iter().filter(|decider| !decider.is_default) {
                let written = written(&settings, &decider.path);
                assert!(written.is_some(), "{name}: {} is not in {settings}", decider.path);
            }
        }
        let admits = |settings: &Value| {
            let settings = check_settings(settings).unwrap_or_else(|error| panic!("{name}: {error}"));
            decide(Some(&request), &settings, &host, now).is_allowed()
        };
        match explanation.change {
            Some(change) => {
                assert!(admits(&change.settings), "{name}: {:?}", change.edits);
                assert!(!change.edits.is_empty() && !admits(&settings), "{name}");
                let changes = |key: &str| change.edits.iter().any(|edit| edit.path.split('.').any(|part| part == key));
                assert!(!changes("regoPolicies"), "{name}");
                assert!(!changes("registries") || !changes("scanFailed"), "{name}");
                assert!(change.edits.iter().all(|edit| !edit.opens.to_string().is_empty()), "{name}");
                changed += 1;
            }
            None if case.expect.allowed => {}
            None => unchanged.push((
                name.clone(),
                explanation.causes,
                forgives_scans(&settings).is_some_and(|all| !admits(&all)),
            )),
        }
    }
    // An image that isn't there, of a registry that had to be listed first, or one that holds something hidden: no change forgives that.
    let is_beyond_scans = |image: &str| {
        let pod = json!({"metadata": {"namespace": "n"}, "spec": {"containers": [{"name": "c", "image": image}]}});
        let request =
            json!({"kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "object": pod});
        let settings = json!({"scanPolicies": {"reportPending": "accept", "scanFailed": "accept"},
                              "registries": ["localhost:5000", "docker.io", "ghcr.io", "quay.io"]});
        let request = serde_json::value::to_raw_value(&request).unwrap();
        let decision = decide(Some(&request), &check_settings(&settings).unwrap(), &host, now);
        decision.images.iter().any(|judged| {
            judged
                .scan
                .as_ref()
                .and_then(|scan| scan.report.as_ref())
                .is_some_and(|report| report.forgiven_by != ForgivenBy::AcceptOutages)
        })
    };
    // Nothing but that, rules of one's own, and an object that is wrong by itself has no change of the settings.
    for (name, causes, is_unforgiven) in &unchanged {
        let is_own_rule = |path: &str| {
            ["preCustomRules", "customRules"].contains(&path)
                || path.starts_with("regoPolicies")
                || path.contains("conftest.policy.")
        };
        let stays = |cause: &Cause| {
            matches!(cause.why, Why::NamedByMirror(_))
                // Whoever pushed what makes no sense chose it: the settings that forgive every scan were tried.
                || (*is_unforgiven && matches!(cause.why, Why::Scan(Denial::ScanFailed, _)))
                || cause.decided_by.iter().all(|decider| is_own_rule(&decider.path))
                || cause.image.as_deref().is_some_and(is_beyond_scans)
        };
        assert!(causes.iter().any(stays), "{name}: {causes:?}");
    }
    assert!(changed > 100, "{changed}");
}

/// What decided is named by the glob that it is written under. A change is for the request's namespace alone, and keeps what the
/// glob's entry says beside it: one entry decides as a whole.
#[test]
fn what_a_glob_of_namespaces_decided_is_explained() {
    use_read_clock();
    let world = world();
    let host = WireHost(engine_calls(world.as_ref()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let explained = |image: &str, settings: &Value| {
        let pod =
            json!({"metadata": {"namespace": "prod-a"}, "spec": {"containers": [{"name": "c1", "image": image}]}});
        let request =
            json!({"kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "object": pod});
        let request = serde_json::value::to_raw_value(&request).unwrap();
        let settings = with_registries(settings.clone());
        explain(Some(&request), &settings, &host, Timestamp(now.try_into().unwrap())).unwrap().1
    };
    let check = |image: &str, settings: Value, decided_by: &[&str], edit: [&str; 2], pointer: &str, expected: Value| {
        let explanation = explained(image, &settings);
        let deciders = explanation.causes.iter().flat_map(|cause| &cause.decided_by);
        assert_eq!(deciders.map(|decider| decider.path.as_str()).collect::<Vec<_>>(), decided_by);
        let change = explanation.change.unwrap();
        let edits: Vec<_> =
            change.edits.iter().map(|edit| [edit.path.as_str(), edit.replaces.as_deref().unwrap()]).collect();
        assert_eq!(edits, [edit]);
        assert_eq!(change.settings.pointer(pointer), Some(&expected), "{}", change.settings);
    };
    let list = json!([{"prefix": "localhost:5000/other/", "action": "accept"}]);
    let digest = "localhost:5000/team/single:";
    check(
        "localhost:5000/team/single:1.0",
        json!({"preScanPolicies": {"customPolicies": list, "byNamespace": {"*": {}, "prod-*": {"defaultPolicy": "reject"}}}}),
        &["preScanPolicies.byNamespace.prod-*.defaultPolicy"],
        ["preScanPolicies.byNamespace.prod-a.customPolicies", "preScanPolicies.byNamespace.prod-*"],
        "/preScanPolicies/byNamespace/prod-a",
        json!({"defaultPolicy": "reject", "customPolicies": [{"prefix": digest, "action": "scan"}, list[0]]}),
    );
    check(
        "localhost:5000/team/single:1.0",
        json!({"preScanPolicies": {"byNamespace": {"prod-*": {"defaultPolicy": "reject", "customPolicies": list}}}}),
        &["preScanPolicies.byNamespace.prod-*.defaultPolicy"],
        ["preScanPolicies.byNamespace.prod-a.customPolicies", "preScanPolicies.byNamespace.prod-*"],
        "/preScanPolicies/byNamespace/prod-a",
        json!({"defaultPolicy": "reject", "customPolicies": [{"prefix": digest, "action": "scan"}, list[0]]}),
    );
    check(
        "localhost:5000/team/pending:1.0",
        json!({"scanPolicies": {"reportPending": "accept", "byNamespace": {"prod-*": {"reportPending": "reject", "scanFailed": "accept"}}}}),
        &["scanPolicies.defaultPolicy", "scanPolicies.byNamespace.prod-*.reportPending"],
        ["scanPolicies.byNamespace.prod-a.reportPending", "scanPolicies.byNamespace.prod-*"],
        "/scanPolicies/byNamespace/prod-a",
        json!({"reportPending": "accept", "scanFailed": "accept"}),
    );
    check(
        "localhost:5000/team/bad:1.0",
        json!({"acceptance": {"byNamespace": {"prod-*": {"denyAlways": ["CVE-2025-10000"], "maxSeverity": {"critical": {"total": 5}}, "count": "entries"}}}}),
        &["scanPolicies.defaultPolicy", "acceptance.byNamespace.prod-*.denyAlways"],
        ["acceptance.byNamespace.prod-a.denyAlways", "acceptance.byNamespace.prod-*"],
        "/acceptance/byNamespace/prod-a",
        json!({"denyAlways": [], "maxSeverity": {"critical": {"total": 5}}, "count": "entries"}),
    );
}

/// The same settings with every scan forgiven that fails or is pending; none where they aren't written in one piece.
fn forgives_scans(settings: &Value) -> Option<Value> {
    let mut settings = settings.clone();
    let key = if settings.get("policies").is_some() { "policies" } else { "scanPolicies" };
    let phase = settings.as_object_mut()?.entry(key).or_insert_with(|| json!({})).as_object_mut()?;
    phase.remove("byNamespace");
    phase.insert("reportPending".to_owned(), json!("accept"));
    phase.insert("scanFailed".to_owned(), json!("accept"));
    Some(settings)
}

/// What settings have at a path like `scanPolicies.byNamespace.shop.customPolicies[0]`.
fn written<'v>(settings: &'v Value, path: &str) -> Option<&'v Value> {
    // Keys of a ConfigMap have dots.
    if path.starts_with("conftest.") {
        return settings.get(path);
    }
    let (above, key) = match path.split_once(".conftest.") {
        Some((above, key)) => (above, Some(format!("conftest.{key}"))),
        None => (path, None),
    };
    let steps = above.replace('[', ".").replace(']', "");
    let value = steps.split('.').try_fold(settings, |at, key| match at {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        at => at.get(key),
    })?;
    key.map_or(Some(value), |key| value.get(key))
}

#[test]
fn the_module_gives_the_same_bytes_as_the_engine() {
    let world = world();
    let module = PolicyModule::from_file(&module_path()).unwrap();
    for case in cases() {
        let reply = module.call("validate", &case.payload(), Arc::clone(&world));
        let response = reply.response.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let (engine, calls) = by_engine(&case, world.as_ref());
        assert_eq!(String::from_utf8_lossy(&response), String::from_utf8_lossy(&engine), "{}", case.name);
        assert_eq!(reply.exchanges.len(), calls, "{}", case.name);
    }
}

#[test]
fn the_settings_of_every_case_are_valid() {
    let module = PolicyModule::from_file(&module_path()).unwrap();
    for case in cases() {
        let reply = module.call("validate_settings", &serde_json::to_vec(&case.settings()).unwrap(), world());
        assert_eq!(reply.response.unwrap(), br#"{"valid":true,"message":null}"#, "{}", case.name);
    }
}

/// What `tests/real-host/record.py` wrote.
#[derive(Deserialize)]
struct Recording {
    hosts: BTreeMap<String, String>,
    cases: Vec<Recorded>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Recorded {
    name: String,
    settings: Value,
    request: Value,
    policy_server: RealAnswer,
    kwctl: RealAnswer,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RealAnswer {
    allowed: bool,
    message: Option<String>,
    code: Option<u16>,
    patch: Option<json_patch::Patch>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
}

impl RealAnswer {
    /// The answer as the policy's own response: the patch applied.
    fn response(&self, request: &Value) -> Response {
        let mutated_object = self.patch.as_ref().map(|patch| {
            let mut object = request["object"].clone();
            json_patch::patch(&mut object, patch).unwrap();
            object
        });
        Response {
            accepted: self.allowed,
            message: self.message.clone(),
            code: self.code,
            mutated_object,
            warnings: self.warnings.clone(),
            audit_annotations: self.audit_annotations.clone(),
        }
    }
}

#[test]
fn the_real_hosts_answered_every_case_as_the_native_host_does() {
    let recording: Recording = serde_json::from_str(&read("tests/real-host/answers.json")).unwrap();
    assert!(recording.hosts.contains_key("kwctl") && recording.hosts.contains_key("policy-server"));
    let cases = cases();
    let names: Vec<_> = recording.cases.iter().map(|case| &case.name).collect();
    let again = "run tests/real-host/record.py again";
    assert_eq!(
        names,
        cases.iter().map(|case| &case.name).collect::<Vec<_>>(),
        "the recording is of other cases: {again}"
    );
    let world = world();
    let module = PolicyModule::from_file(&module_path()).unwrap();
    let mut different = Vec::new();
    for (case, recorded) in cases.iter().zip(&recording.cases) {
        assert_eq!(recorded.request, case.request(), "{}: the case has changed: {again}", case.name);
        assert_eq!(recorded.settings, case.settings(), "{}: the case has changed: {again}", case.name);
        let native = module.call("validate", &case.payload(), Arc::clone(&world)).response.unwrap();
        let native: Response = serde_json::from_slice(&native).unwrap();
        for (host, answer) in [("policy-server", &recorded.policy_server), ("kwctl", &recorded.kwctl)] {
            let answer = answer.response(&recorded.request);
            if answer != native {
                different.push(format!("{host}: {}\n  it answered {answer:?}\n  and here    {native:?}", case.name));
            }
        }
    }
    assert!(different.is_empty(), "{} answers differ:\n{}", different.len(), different.join("\n"));
}
