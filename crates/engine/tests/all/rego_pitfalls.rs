//! What the Rego engine would get wrong without a word: refused when the policy is deployed, or made right.

use crate::clock::use_clock_of;
use image_admission_engine::{validate, validate_settings};
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

fn policy(rego: &str) -> Value {
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "p", "kinds": ["*"], "rego": rego}]})
}

fn custom(rego: &str) -> Value {
    json!({"scanPolicies": {"scanFailed": "accept"}, "customRules": rego})
}

fn problem(settings: &Value) -> Option<String> {
    let answer: Value = serde_json::from_slice(&validate_settings(settings.to_string().as_bytes()).response).unwrap();
    answer["message"].as_str().map(str::to_owned)
}

fn rejection(settings: &Value) -> Option<String> {
    use_clock_of(Duration::ZERO);
    assert_eq!(problem(settings), None, "{settings}");
    let spec = json!({"containers": [{"name": "c", "image": "nginx:1"}]});
    let request = json!({
        "uid": "u", "operation": "CREATE", "namespace": "n", "name": "x", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "userInfo": {"username": "someone"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "n"}, "spec": spec},
    });
    let payload = json!({"request": request, "settings": settings}).to_string();
    let host = StubHost::default().fails("", "there is no answer");
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), Timestamp(0));
    let answer: Value = serde_json::from_slice(&answer.response).unwrap();
    answer["message"].as_str().map(str::to_owned)
}

#[test]
fn a_keyword_of_v1_is_named_wherever_rules_are_read_as_v0() {
    let rules = |rule: &str| format!("{rule}[msg] if {{ msg := \"x\" }}");
    let mut with_library = policy("package p\ndeny[\"x\"] { true }");
    with_library["regoLibraries"] = json!([{"name": "l", "rego": format!("package lib\n{}", rules("bad"))}]);
    for (path, settings) in [
        ("regoPolicies: policy `p`", policy(&format!("package p\n{}", rules("deny")))),
        ("regoLibraries: library `l`", with_library),
        ("customRules", custom(&rules("deny_image"))),
        ("preCustomRules", json!({"preCustomRules": rules("deny_pod")})),
    ] {
        let why = "`if` is a rule of its own in v0; where it is meant as the keyword, set `regoVersion: v1` or `import rego.v1`";
        assert_eq!(problem(&settings), Some(format!("{path}: {why}")));
    }
}

#[test]
fn what_would_be_undefined_is_refused() {
    for (settings, expected) in [
        (
            policy("package p\ndeny[\"x\"] { not input.spec.imagePullSecrets[_].name == \"a\" }"),
            "under `not` nothing gives `_` a value",
        ),
        (policy("package p\ndeny[\"x\"] { not input.metadata.labels[k] == \"v\" }"), "nothing gives `k` a value"),
        (
            policy("package p\nname := 1\ndeny[\"x\"] { some name; input.metadata[name] }"),
            "`name` is the name of a rule",
        ),
        (custom("deny_image[\"x\"] { some image; input.Images[image] }"), "`image` is the name of a rule"),
        (
            policy("package p\nimport data.p\nbad { true }\ndeny[\"x\"] { p.bad }"),
            "`import data.p` is the module's own",
        ),
        (policy("package p\nimport data as d\ndeny[\"x\"] { d.lib.bad }"), "`import data` leads to no rule"),
        (policy("package\n p\ndeny[\"x\"] { true }"), "write `package p` on one line"),
        (
            policy(
                "package system\nmain = {\"response\": {\"allowed\": count(bad) == 0}} { true }\nbad[x] { input.scanReports[x] }",
            ),
            "`main` is asked before any image is looked up",
        ),
        (
            policy(
                "package system\nmain = {\"response\": {\"allowed\": count(bad) == 0}} { true }\nbad[x] { input.imageConfigs[x] }",
            ),
            "it sees no `imageConfigs`",
        ),
        (policy("package p\ndeny[\"x\"] { input.ImageConfigs[_].runsAsRoot }"), "policies see it by image"),
        (custom("deny_image[\"x\"] { input.imageConfigs[_][_].runsAsRoot }"), "`input.ImageConfigs`"),
        (custom("deny_image[\"x\"] { input[\"imageConfigs\"][_][_].runsAsRoot }"), "`input.ImageConfigs`"),
        (
            custom("deny_image[\"x\"] { object.get(input, \"imageConfigs\", [])[_][_].runsAsRoot }"),
            "`input.ImageConfigs`",
        ),
        (
            policy("package p\ndeny[\"x\"] { object.get(input, \"ImageConfigs\", [])[_].runsAsRoot }"),
            "policies see it by image",
        ),
        (
            json!({"preCustomRules": "deny_pod[\"x\"] { input.ImageConfigs[_].runsAsRoot }"}),
            "write these rules into `customRules`",
        ),
    ] {
        let problem = problem(&settings).unwrap_or_default();
        assert!(problem.contains(expected), "{settings}: {problem}");
    }
}

#[test]
fn what_has_a_value_denies() {
    for (settings, expected) in [
        (custom("deny_image[\"own\"] { data.imageadmission.scan_result_failed }"), "own"),
        (custom("deny_image[\"own\"] { data.imageadmission.imagePolicy.action == \"scan-result\" }"), "own"),
        (custom("import data.imageadmission.scan_result_failed as f\ndeny_image[\"own\"] { f }"), "own"),
        (
            custom("deny_image[\"own\"] { data.imageadmission.final_image_policy(image).action == \"scan-result\" }"),
            "own",
        ),
        (
            custom(
                "import input.ScanReport.ImageAndTag as image\ndeny_image[\"own\"] { startswith(image, \"nginx\") }",
            ),
            "own",
        ),
        (custom("out[input.PodObject.metadata.name].bad { true }\ndeny_image[\"own\"] { out[\"x\"].bad }"), "own"),
        (custom("packages := {\"a\"}\ndeny_image[\"own\"] { packages.a }"), "own"),
        (
            json!({
                "scanPolicies": {"scanFailed": "accept", "autoGenerate": false},
                "customRules": "namespace = \"foo\"\ndeny_image[\"own\"] { policies.scanFailed == \"accept\"; namespace == \"foo\" }",
            }),
            "own",
        ),
        (
            custom(
                "import rego.v1\nscan_result_rejected if { input.ScanReport.Status == \"failed\" }\nscan_result_failed := false",
            ),
            "Evaluation error",
        ),
        (
            policy(
                "package p\nlevel(i) = \"high\" { image_has_prefix(i, \"bad.io/\", \"reject\") }\nlevel(i) = \"low\" { true }\ndeny[\"x\"] { level(\"a b\") == \"high\" }",
            ),
            "Evaluation error",
        ),
        (
            policy(
                "package p\nlevel(i) = \"high\" { image_reference(i).tag == \"latest\" }\nlevel(i) = \"low\" { true }\ndeny[\"x\"] { level(\"a b\") == \"high\" }",
            ),
            "Evaluation error",
        ),
        (
            json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [
                {"name": "common", "kinds": ["Service"], "rego": "package common\nallowed { true }\ndeny[\"n\"] { false }"},
                {"name": "q", "kinds": ["Pod"], "rego": "package q\ndeny[\"own\"] { data.common.allowed }"},
            ]}),
            "own",
        ),
    ] {
        let rejection = rejection(&settings).unwrap_or_default();
        assert!(rejection.contains(expected), "{settings}: {rejection}");
    }
}

#[test]
fn a_problem_on_the_first_line_is_told_where_it_is_written() {
    for (rules, expected) in [
        ("deny_image[msg] {\n  msg :=\n}\n", "customRules: line 1, column 17: expecting }: `deny_image[msg] {`"),
        ("  deny_image[msg] {\n  msg :=\n}\n", "customRules: line 1, column 19: expecting }: `deny_image[msg] {`"),
        (
            "deny_image[msg] { foo == 1 }",
            "customRules: line 1, column 19: nothing gives `foo` a value: `deny_image[msg] { foo == 1 }`",
        ),
        (
            "package imageadmission\ndeny_image[msg] { foo == 1 }",
            "customRules: line 2, column 19: nothing gives `foo` a value: `deny_image[msg] { foo == 1 }`",
        ),
    ] {
        assert_eq!(problem(&json!({"customRules": rules})).as_deref(), Some(expected), "{rules}");
    }
}
