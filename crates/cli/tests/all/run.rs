//! `image-admission run`, as its users see it.
//!
//! Each file `run/*.txt` is a transcript, see `support/transcripts.rs`. In a command, `$WORLD` stands for the options of
//! the test world, and `< FILE` feeds the standard input. The policy's module is given with `--module` where the command
//! doesn't name one.

use crate::support;
use crate::support::transcripts;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{module_path, root};
use tempfile::TempDir;
use transcripts::Outcome;

const DENIED_MESSAGE: &str = "Pre-scan rejected. Reasons: Image 'reg.io/a:1' REJECTED. Global default policy";

fn folder() -> PathBuf {
    root().join("crates/cli/tests/run")
}

/// The options of the test world.
fn world() -> [String; 4] {
    let world = root().join("tests/world");
    let path = |name: &str| world.join(name).display().to_string();
    ["--images".to_owned(), path("images.yaml"), "--cluster".to_owned(), path("cluster")]
}

/// Runs the command in the folder of the transcripts.
fn image_admission(arguments: &[&str], input: &[u8]) -> Outcome {
    let mut arguments = arguments.to_vec();
    let module;
    if arguments.contains(&"-f") && !arguments.contains(&"--module") {
        module = module_path().display().to_string();
        arguments.extend(["--module", &module]);
    }
    transcripts::image_admission(&folder(), &arguments, input)
}

/// Runs it with a text as `-f -`.
fn decide(input: impl AsRef<[u8]>, options: &[&str]) -> Outcome {
    image_admission(&[&["run", "-f", "-"], options].concat(), input.as_ref())
}

/// Runs it with settings that reject everything, and returns the one entry of its JSON.
#[track_caller]
fn entry(input: impl AsRef<[u8]>, options: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let settings = write(&folder, "settings.yaml", "{registries: [reg.io], preScanPolicies: {defaultPolicy: reject}}");
    let outcome = decide(input, &[options, &["-o", "json", "--settings", &settings]].concat());
    assert_eq!(outcome.errors, "");
    let mut entries: Vec<Value> = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[track_caller]
fn check_error(input: impl AsRef<[u8]>, options: &[&str], error: &str) {
    let expected = Outcome { code: 1, output: String::new(), errors: format!("error: {error}\n") };
    assert_eq!(decide(input, options), expected);
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

fn request(object: &Value) -> Value {
    json!({
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "shop",
        "object": object,
    })
}

fn review(version: &str, request: &Value) -> Value {
    json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview", "request": request})
}

#[test]
fn transcripts_are_as_they_were_read() {
    let world = world();
    transcripts::check(&folder(), |arguments, input| {
        let arguments: Vec<&str> = arguments
            .iter()
            .flat_map(|argument| match *argument {
                "$WORLD" => world.iter().map(String::as_str).collect(),
                argument => vec![argument],
            })
            .collect();
        image_admission(&arguments, input)
    });
}

#[test]
fn every_form_of_a_request_is_understood() {
    let pod = pod("reg.io/a:1");
    let with_bom = format!("\u{feff}{pod}");
    let yaml = yaml_serde::to_string(&pod).unwrap();
    let stream = format!("{}\n", serde_json::to_string_pretty(&pod).unwrap().replace("  ", "\t"));
    let mut bare = pod.clone();
    bare.as_object_mut().unwrap().retain(|key, _| key != "apiVersion" && key != "kind");
    for form in [
        pod.to_string(),
        with_bom,
        yaml.clone(),
        format!("# first\n---\n{yaml}---\n"),
        stream,
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: c, image: 'reg.io/a:1'}]}}".to_owned(),
        "x: &x {name: c}\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec: {containers: [{<<: *x, image: 'reg.io/a:1'}]}\n".to_owned(),
        request(&pod).to_string(),
        yaml_serde::to_string(&request(&pod)).unwrap(),
        review("v1", &request(&pod)).to_string(),
        review("v1beta1", &request(&pod)).to_string(),
        json!({"apiVersion": "v1", "kind": "List", "items": [pod]}).to_string(),
        json!({"apiVersion": "v1", "kind": "PodList", "items": [bare]}).to_string(),
    ] {
        let entry = entry(&form, &[]);
        let expected = json!({"kind": "Pod", "namespace": "shop", "name": "p", "operation": "CREATE"});
        assert_eq!((&entry["request"], &entry["message"]), (&expected, &json!(DENIED_MESSAGE)), "{form}");
    }
}

#[test]
fn json_is_passed_on_as_it_is_written() {
    let settings = "verboseLog: true";
    let folder = TempDir::new().unwrap();
    let settings = write(&folder, "settings.yaml", settings);
    let written = r#"{ "kind": "ConfigMap",  "apiVersion": "v1", "data": {"n": 1.50, "n": 1e2, "u": "\u0041"} }"#;
    let outcome = decide(written, &["--settings", &settings]);
    assert_eq!(outcome.code, 0);
    assert!(outcome.errors.contains(&format!("\"object\":{written},")), "{}", outcome.errors);
    let review = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"1","kind":{{"kind":"ConfigMap"}},"object":{written}}}}}"#
    );
    let outcome = decide(review, &["--settings", &settings]);
    assert!(outcome.errors.contains(&format!("\"object\":{written}}}\n")), "{}", outcome.errors);
}

/// The module gives back what it was given, and this command expects that: numbers keep their text beside a patch.
#[test]
fn numbers_are_the_same_from_the_module_and_here() {
    let rego = r#"package p
patch[p] { p := {"op": "add", "path": "/metadata/labels/team", "value": "a"} }"#;
    let policy = serde_json::json!({"name": "p", "kinds": ["example.com/Widget"], "rego": rego});
    let settings = serde_json::json!({"registries": ["ghcr.io"], "regoPolicies": [policy]}).to_string();
    let folder = TempDir::new().unwrap();
    let settings = write(&folder, "settings.json", &settings);
    for number in ["397.23174066301476", "1e3", "-0.0", "12345678901234567890123", "1.50", "18446744073709551616"] {
        let object = format!(
            r#"{{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {{"name": "w"}}, "spec": {{"n": {number}, "list": [{number}]}}}}"#
        );
        let outcome = decide(&object, &["--settings", &settings, "-o", "json"]);
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{number}");
        let entries: Value = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(entries[0]["mutatedObject"]["metadata"]["labels"]["team"], "a", "{number}");
    }
}

#[test]
fn several_requests_end_with_the_worst() {
    let settings = TempDir::new().unwrap();
    let settings = write(
        &settings,
        "s.yaml",
        "preScanPolicies: {defaultPolicy: accept, customPolicies: [{prefix: bad.io/, action: reject}]}",
    );
    let (good, bad) = (pod("good.io/a:1"), pod("bad.io/a:1"));
    let code = |input: String| decide(input, &["--settings", &settings]).code;
    assert_eq!(code(format!("{good}\n{good}")), 0);
    assert_eq!(code(format!("{bad}\n{good}")), 2);
    assert_eq!(code(format!("{good}{bad}")), 2);
}

#[test]
fn data_is_the_same_in_json_and_yaml() {
    let world = world();
    let mut arguments = vec!["run", "-f", "pod.yaml", "-f", "workloads.yaml", "-o", "json", "--settings", "local.yaml"];
    arguments.extend(world.iter().map(String::as_str));
    let json = image_admission(&arguments, b"");
    arguments[6] = "yaml";
    let yaml = image_admission(&arguments, b"");
    assert_eq!((json.code, yaml.code), (2, 2));
    let from_json: Vec<Value> = serde_json::from_str(&json.output).unwrap();
    let from_yaml: Vec<Value> = yaml_serde::from_str(&yaml.output).unwrap();
    assert_eq!(from_json, from_yaml);
    assert_eq!(from_json.len(), 5);
}

#[test]
fn a_recording_gives_the_same_answers_and_leaves_nothing_over() {
    let folder = TempDir::new().unwrap();
    let session = folder.path().join("session.yaml").display().to_string();
    let world = world();
    let run = |file: &str, options: &[&str]| {
        image_admission(&[&["run", "-f", file, "--settings", "local.yaml"], options].concat(), b"")
    };
    let with_world: Vec<&str> = world.iter().map(String::as_str).chain(["--record", &session]).collect();
    let recorded = run("workloads.yaml", &with_world);
    assert_eq!(recorded.code, 2);
    assert_eq!(run("workloads.yaml", &["--replay", &session]), recorded);

    let left_over = run("pod.yaml", &["--replay", &session]);
    assert_eq!(left_over.code, 1);
    assert!(left_over.output.starts_with("Pod web in namespace shop, create\n"), "{}", left_over.output);
    let wanted = "error: the recording has more than was asked for; record it again, or remove:\n  exchange 1 was never asked for: {\"OciManifest\":{\"image\":\"localhost:5000/team/pending:1.0\"}}\n";
    assert!(left_over.errors.starts_with(wanted), "{}", left_over.errors);
}

#[test]
fn deep_nesting_is_rejected_by_the_policy_itself() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let manifest = format!(r#"{{"apiVersion":"v1","kind":"Pod","spec":{deep}}}"#);
    let in_metadata = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{deep}}}"#);
    let review = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"1","kind":{{"kind":"Pod"}},"object":{deep}}}}}"#
    );
    for input in [&manifest, &in_metadata, &review] {
        let outcome = decide(input, &["--settings", "local.yaml"]);
        assert_eq!((outcome.code, outcome.errors.as_str()), (2, ""));
        assert!(outcome.output.contains("recursion limit exceeded"), "{}", outcome.output);
    }
    let lists = format!(r#"{}{}"#, r#"{"kind":"List","items":["#.repeat(10_000), "]}".repeat(10_000));
    check_error(lists, &[], "the standard input, item 1: a list within a list; take its items out");
    check_error(&deep, &[], "the standard input: a Kubernetes object must be a map with `apiVersion` and `kind`");
    let yaml = decide(format!("apiVersion: v1\nkind: Pod\nspec: {deep}"), &[]);
    assert_eq!(yaml.code, 1);
    assert!(
        yaml.errors.starts_with("error: the standard input is not YAML: recursion limit exceeded"),
        "{}",
        yaml.errors
    );
    let settings = TempDir::new().unwrap();
    let settings = write(&settings, "settings.json", &deep);
    assert_eq!(decide(&manifest, &["--settings", &settings]).code, 3);
}

#[test]
fn what_is_no_request_is_named() {
    let is_it = "is this a Kubernetes object?";
    check_error("", &[], "there is no document in the standard input");
    check_error("# nothing\n---\n", &[], "there is no document in the standard input");
    check_error(b"a: \xff", &[], "the standard input is not UTF-8 text: its byte 4 is wrong");
    check_error(
        "{a: b: c}",
        &[],
        "the standard input is neither JSON (key must be a string at line 1 column 2) nor YAML (did not find expected ',' or '}' at line 1 column 6, while parsing a flow mapping)",
    );
    check_error(
        "a: 1\na: 2\n",
        &[],
        "the standard input says two things at once:\n  a: it stands twice, on line 1 and on line 2; keep one of them",
    );
    check_error("a: 1\n", &[], &format!("the standard input: `apiVersion` is missing; {is_it}"));
    let second = format!("{}{{\"apiVersion\":\"v1\"}}", pod("a"));
    check_error(second, &[], &format!("the standard input, document 2: `kind` is missing; {is_it}"));
    let item = json!({"apiVersion": "v1", "kind": "List", "items": [pod("a"), {}]}).to_string();
    check_error(item, &[], &format!("the standard input, item 2: `apiVersion` is missing; {is_it}"));
    let empty = json!({"apiVersion": "v1", "kind": "List", "items": []}).to_string();
    check_error(empty, &[], "the standard input: the list has no items");
    let response = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {}}).to_string();
    check_error(response, &[], "the standard input: the AdmissionReview has no `request`");
    check_error(
        review("v2", &request(&pod("a"))).to_string(),
        &[],
        "the standard input: `admission.k8s.io/v2` is not a version of AdmissionReview; use `admission.k8s.io/v1` or `admission.k8s.io/v1beta1`",
    );
}

#[test]
fn what_is_no_object_for_the_policy_is_denied_by_it() {
    for (request, message) in [
        (json!({"uid": "1", "kind": {"kind": "Pod"}}), "the AdmissionRequest has no object"),
        (json!({"uid": "1", "kind": {"kind": "Pod"}, "object": null}), "the AdmissionRequest has no object"),
        (json!(5), "the AdmissionRequest can't be read: "),
    ] {
        let entry = entry(review("v1", &request).to_string(), &[]);
        assert_eq!(entry["allowed"], false);
        assert!(entry["message"].as_str().unwrap().starts_with(message), "{entry}");
    }
}

#[test]
fn usage_errors_and_help_have_their_exit_codes() {
    for arguments in [
        &[][..],
        &["run"],
        &["walk"],
        &["run", "-f", "pod.yaml", "--live", "--replay", "x"],
        &["run", "-f", "pod.yaml", "--timeout", "0"],
    ] {
        let outcome = image_admission(arguments, b"");
        assert_eq!((outcome.code, outcome.output.as_str()), (1, ""), "{arguments:?}");
        assert!(outcome.errors.contains("Usage:") || outcome.errors.contains("--help"), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["run", "-h"]] {
        let outcome = image_admission(arguments, b"");
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{arguments:?}");
    }
}

/// A module whose settings are always valid, and whose `validate` does what `body` does.
fn guest(folder: &TempDir, body: &str) -> String {
    let template = include_str!("../run/guest.wat");
    assert!(template.contains(";; VALIDATE"));
    let path = folder.path().join("guest.wasm");
    fs::write(&path, wat::parse_str(template.replace(";; VALIDATE", body)).unwrap()).unwrap();
    path.display().to_string()
}

#[test]
fn a_module_that_fails_has_no_answer() {
    let folder = TempDir::new().unwrap();
    let slow = "Policy execution interrupted because it exceeded the allowed execution time";
    for (body, error) in [("(loop $again (br $again))", slow), ("(unreachable)", "the policy crashed at `0: ")] {
        let module = guest(&folder, body);
        let outcome = decide(pod("a").to_string().repeat(2), &["--module", &module, "--timeout", "0.2"]);
        assert_eq!(outcome.code, 1);
        let lines: Vec<&str> = outcome.output.lines().collect();
        let [_, first, second, "", "2 requests: 2 without an answer"] = lines.as_slice() else { panic!("{lines:#?}") };
        assert_eq!(first, second);
        assert!(first.starts_with(&format!("Pod p in namespace shop  no answer  {error}")), "{first}");
        let start = format!("error: the standard input, document 1, Pod p in namespace shop: {error}");
        assert!(outcome.errors.starts_with(&start), "{}", outcome.errors);

        let data = decide(pod("a").to_string(), &["--module", &module, "--timeout", "0.2", "-o", "json"]);
        let data: Value = serde_json::from_str(&data.output).unwrap();
        assert_eq!(data[0].get("allowed"), None);
        assert!(data[0]["error"].as_str().unwrap().starts_with(error), "{data}");
    }
}

#[test]
fn a_module_of_another_version_is_an_error() {
    let folder = TempDir::new().unwrap();
    let module = guest(&folder, "(call $guest_response (i32.const 32) (i32.const 17)) (return (i32.const 1))");
    let outcome = decide(pod("a").to_string(), &["--module", &module]);
    assert_eq!((outcome.code, outcome.output.as_str()), (1, ""));
    for part in [
        "this command line are of different versions",
        "\n  the module answers  {\"accepted\":true}\n",
        "\n  here it would be    {\"accepted\":false,",
    ] {
        assert!(outcome.errors.contains(part), "{}", outcome.errors);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command
        .current_dir(folder())
        .args(["run", "-f", "pod.yaml", "--settings", "local.yaml", "--module"])
        .arg(module_path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(1), ""));
}
