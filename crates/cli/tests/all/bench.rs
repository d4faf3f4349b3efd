//! `image-admission bench` with objects, as its users see it: what settings cost. Files `bench/*.txt` are transcripts of what has no figures.

use crate::support::{module_path, root, transcripts};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use transcripts::{Outcome, image_admission};

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bench"));
    let module = module_path().display().to_string();
    transcripts::check(&folder, |arguments, input| {
        let mut arguments = arguments.to_vec();
        if arguments.contains(&"-f") {
            arguments.extend(["--module", &module]);
        }
        image_admission(&folder, &arguments, input)
    });
}

/// The demo's objects, with its images and its cluster.
const ADMITTED: &str = "admitted.yaml";
const PENDING: &str = "pending.yaml";
const BY_ITS_NAME: &str = "bad-registry.yaml";

/// Measures an object of the demo with some settings.
fn bench(settings: &Value, object: &str, options: &[&str]) -> Outcome {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, settings.to_string()).unwrap();
    let (file, module) = (file.display().to_string(), module_path().display().to_string());
    let arguments = ["bench", "--requests", "2", "--module", &module, "--settings", &file, "-f", object];
    let world = ["--images", "images.yaml", "--cluster", "cluster"];
    image_admission(&root().join("examples/demo"), &[&arguments, &world[..], options].concat(), b"")
}

/// What each of some objects costs.
#[track_caller]
fn costs(settings: &Value, object: &str, options: &[&str]) -> Vec<Value> {
    let outcome = bench(settings, object, &[&["-o", "json"], options].concat());
    assert_eq!((outcome.errors.as_str(), outcome.code), ("", 0), "{}", outcome.output);
    serde_json::from_str(&outcome.output).unwrap()
}

#[track_caller]
fn cost(settings: &Value, object: &str) -> Value {
    let mut costs = costs(settings, object, &[]);
    assert_eq!(costs.len(), 1);
    costs.remove(0)
}

fn demo() -> Value {
    json!({"registries": ["localhost:5000"]})
}

/// The image has two platforms, each with a report under its computed name; a report tells the digest, so that only the manifest is
/// asked of the registry.
#[test]
fn calls_are_counted_by_kind_cold_and_warm() {
    let cost = cost(&demo(), ADMITTED);
    assert_eq!(cost["allowed"], true);
    assert_eq!(
        cost["calls"],
        json!([
            {"kind": "manifest", "made": 1, "cold": 1, "warm": 0},
            {"kind": "object", "made": 2, "cold": 2, "warm": 0},
        ])
    );
    assert_eq!(cost["allCalls"], json!({"made": 3, "cold": 3, "warm": 0}));
    assert_eq!((&cost["registryRequests"], &cost["maxHostCalls"]), (&json!(2), &json!(400)));
    assert!(cost["fuel"].as_u64().unwrap() > 100_000 && cost["memory"].as_u64().unwrap() > 65_536, "{cost}");
    assert_eq!(cost["timed"], 2);
    assert!(cost["microseconds"].as_u64().unwrap() > 0, "{cost}");
}

/// What isn't found is asked for again, and what is found isn't.
#[test]
fn a_missing_report_is_looked_for_each_time() {
    let cost = cost(&demo(), PENDING);
    assert_eq!(cost["allowed"], false);
    let number = |what: &str| cost["allCalls"][what].as_u64().unwrap();
    assert!(0 < number("warm") && number("warm") < number("cold") && number("cold") <= number("made"), "{cost}");
    let registry =
        cost["calls"].as_array().unwrap().iter().filter(|calls| calls["kind"] != "object" && calls["kind"] != "list");
    assert!(registry.clone().count() > 0 && registry.clone().all(|calls| calls["warm"] == 0), "{cost}");
}

#[test]
fn what_is_decided_by_its_name_or_not_judged_asks_nothing() {
    let mut settings = demo();
    settings["preScanPolicies"] = json!({"customPolicies": [{"prefix": "bad-registry.com/", "action": "reject"}]});
    let folder = TempDir::new().unwrap();
    let config_map = folder.path().join("config-map.yaml");
    fs::write(&config_map, "{apiVersion: v1, kind: ConfigMap, metadata: {name: words, namespace: shop}}").unwrap();
    for (object, allowed, reason) in [
        (BY_ITS_NAME, false, "Image 'bad-registry.com/miner:latest' REJECTED."),
        (config_map.to_str().unwrap(), true, "the kind has no pod spec"),
    ] {
        let cost = cost(&settings, object);
        assert_eq!(cost["allowed"], allowed);
        assert!(cost["reason"].as_str().unwrap().contains(reason), "{cost}");
        assert_eq!((&cost["calls"], &cost["registryRequests"]), (&json!([]), &json!(0)));
        assert!(cost["fuel"].as_u64().unwrap() > 0);
    }
}

fn policy(name: &str, rounds: usize) -> Value {
    let rego = format!(
        "package {name}\ndeny[msg] {{\n  count([n | n := numbers.range(1, {rounds})[_]; n % 7 == 8]) > 0\n  msg := \"never\"\n}}\n"
    );
    json!({"name": name, "kinds": ["Pod"], "rego": rego})
}

/// Fuel hardly differs from run to run, so that the difference of two runs is the rule's own.
#[test]
fn the_slowest_rule_is_the_one_that_does_most() {
    let mut settings = demo();
    settings["regoPolicies"] = json!([policy("short", 10), policy("long", 500), policy("middle", 100)]);
    settings["customRules"] = json!("deny_image[msg] {\n  input.namespace == \"nowhere\"\n  msg := \"never\"\n}\n");
    let cost = cost(&settings, ADMITTED);
    let rules: Vec<(&str, Option<&str>)> = cost["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["path"].as_str().unwrap(), rule["name"].as_str()))
        .collect();
    assert_eq!(rules[..2], [("regoPolicies[1]", Some("long")), ("regoPolicies[2]", Some("middle"))], "{cost}");
    assert_eq!(rules.len(), 4);
    let fuel = |position: usize| cost["rules"][position]["fuel"].as_i64().unwrap();
    assert!(fuel(0) > 2 * fuel(1) && fuel(1) > fuel(2) && fuel(3) > 0, "{cost}");
    assert_eq!(cost["unmeasured"], json!([]));
    // The clock alone makes a difference, of some units.
    let again = self::cost(&settings, ADMITTED);
    for (position, rule) in again["rules"].as_array().unwrap().iter().enumerate() {
        assert!(rule["fuel"].as_i64().unwrap().abs_diff(fuel(position)) < 1_000, "{again}\n{cost}");
    }
    // People are told of it by name and share, and of the others where they ask.
    let share = fuel(0) * 100 / cost["fuel"].as_i64().unwrap();
    let line = format!(" k, {share} % of the fuel");
    let short = bench(&settings, ADMITTED, &[]).output;
    assert!(
        short.contains("the slowest rule is regoPolicies[1] (long): ")
            && short.contains(&line)
            && !short.contains("(middle)"),
        "{short}"
    );
    let long = bench(&settings, ADMITTED, &["-v"]).output;
    assert!(["(long)", "(middle)", "(short)", "customRules"].iter().all(|name| long.contains(name)), "{long}");
}

#[test]
fn a_rule_without_which_settings_are_not_valid_is_named() {
    let mut settings = demo();
    settings["preScanPolicies"] = json!({"defaultPolicy": "accept"});
    let expression = |expression: &str| json!({"expression": expression});
    settings["imageVerification"] = json!([
        {"name": "one", "verifyPreScanAccepted": true, "verifications": [expression("images.all.size() > 0")]},
        {"name": "two", "verifyPreScanAccepted": true, "verifications": [expression("images.all.size() > 0"), expression("images.all.size() > 1 || true")]},
    ]);
    let cost = cost(&settings, ADMITTED);
    assert_eq!(cost["allowed"], true, "{cost}");
    let mut measured: Vec<&str> =
        cost["rules"].as_array().unwrap().iter().map(|rule| rule["path"].as_str().unwrap()).collect();
    measured.sort_unstable();
    assert_eq!(
        measured,
        [
            "imageVerification[0]",
            "imageVerification[1]",
            "imageVerification[1].verifications[0]",
            "imageVerification[1].verifications[1]"
        ]
    );
    let unmeasured = cost["unmeasured"].as_array().unwrap();
    assert_eq!((unmeasured.len(), &unmeasured[0]["path"]), (1, &json!("imageVerification[0].verifications[0]")));
    let why = unmeasured[0]["why"].as_str().unwrap();
    assert!(why.starts_with("the settings aren't valid without it: imageVerification[0].verifications"), "{why}");
    let text = bench(&settings, ADMITTED, &[]).output;
    assert!(text.contains("not measured, `-v` says why: imageVerification[0].verifications[0]"), "{text}");
    assert!(bench(&settings, ADMITTED, &["-v"]).output.contains(why));
}

/// Rules are tried with the answers that are there.
#[test]
fn nothing_is_asked_twice() {
    let folder = TempDir::new().unwrap();
    let session = folder.path().join("session.yaml").display().to_string();
    let mut settings = demo();
    settings["regoPolicies"] = json!([policy("short", 10), policy("long", 100)]);
    let costs = costs(&settings, ADMITTED, &["--record", &session]);
    let asked = fs::read_to_string(session).unwrap().matches("type: Exchange").count();
    assert_eq!(json!(asked), costs[0]["allCalls"]["made"]);
}

/// A rule that keeps the others from asking leaves them without answers when it is left out.
#[test]
fn what_only_happens_without_a_rule_may_have_no_answer() {
    let folder = TempDir::new().unwrap();
    let session = folder.path().join("session.yaml").display().to_string();
    let mut settings = demo();
    settings["preCustomRules"] = json!("deny_pod[\"no\"] { true }");
    let module = module_path().display().to_string();
    let file = folder.path().join("settings.json");
    fs::write(&file, settings.to_string()).unwrap();
    fs::write(&session, "[]").unwrap();
    let arguments = [
        "bench",
        "--requests",
        "1",
        "--module",
        &module,
        "--settings",
        file.to_str().unwrap(),
        "--replay",
        &session,
        "-o",
        "json",
        "-f",
        ADMITTED,
    ];
    let outcome = image_admission(&root().join("examples/demo"), &arguments, b"");
    assert_eq!(outcome.code, 0, "{}", outcome.errors);
    let costs: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!((&costs[0]["allowed"], &costs[0]["rules"]), (&json!(false), &json!([])));
    let why = costs[0]["unmeasured"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("without it, nobody is there to answer "), "{why}");
}

#[test]
fn several_objects_have_a_line_each() {
    let folder = TempDir::new().unwrap();
    let all: String = [ADMITTED, PENDING, BY_ITS_NAME]
        .iter()
        .map(|name| format!("---\n{}", fs::read_to_string(root().join("examples/demo").join(name)).unwrap()))
        .collect();
    let file = folder.path().join("all.yaml");
    fs::write(&file, all).unwrap();
    let outcome = bench(&demo(), file.to_str().unwrap(), &[]);
    let lines: Vec<Vec<&str>> = outcome.output.lines().map(|line| line.split_whitespace().take(8).collect()).collect();
    assert_eq!((outcome.code, lines.len()), (0, 4), "{}", outcome.output);
    assert_eq!(lines[0][..5], ["OBJECT", "VERDICT", "CALLS", "COLD", "WARM"]);
    assert_eq!(lines[1], ["Pod", "web", "in", "namespace", "shop", "allowed", "3", "3"]);
    assert_eq!(lines[2][1], "fresh");
    assert_eq!(costs(&demo(), file.to_str().unwrap(), &[]).len(), 3);
}
