//! What rules see of the cluster is in no message and in no line of the log that the rules' author didn't write there.

use crate::clock::use_clock_of;
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// What the Secret holds: by key, the value, and what no message may have of it.
const HELD: [(&str, &str, &str); 9] = [
    ("password", "aHVudGVyMg==", "aHVudGVyMg"),
    ("other", "c3dvcmRmaXNo", "c3dvcmRmaXNo"),
    ("digits", "471147114711", "4711471147"),
    ("exponent", "31337e2000000000", "31337e"),
    ("range", "10.42.0.0/8", "10.42"),
    ("image", "reg.example.com/Tr0ub4dor:1", "Tr0ub4dor"),
    ("pattern", "(xyzzy{1000}){1000}", "xyzzy"),
    ("step", "plugh", "plugh"),
    ("json", "{\"frobozz\": 1e400}", "frobozz"),
];

/// Beginnings of rules: the Secret's object, what it holds, and a value of it.
const NAMES: &str = "secret := data.kubernetes.secrets.shop.db\nheld := secret.data\n";

fn secret() -> Value {
    let held: serde_json::Map<String, Value> =
        HELD.into_iter().map(|(key, value, _)| (key.to_owned(), json!(value))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "db", "namespace": "shop"}, "data": held})
}

fn world() -> StubHost {
    StubHost::default().object(secret())
}

/// The answer about a Pod, and the lines of the log.
fn answer(settings: &Value, host: &StubHost) -> (Value, String) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
    });
    answer_about(&pod, settings, host)
}

fn answer_about(object: &Value, settings: &Value, host: &StubHost) -> (Value, String) {
    use_clock_of(Duration::ZERO);
    let kind = object["kind"].as_str().unwrap();
    let request = json!({
        "uid": "u", "operation": "CREATE", "namespace": "shop", "name": "x",
        "kind": {"group": "", "version": "v1", "kind": kind},
        "resource": {"group": "", "version": "v1", "resource": format!("{}s", kind.to_lowercase())},
        "userInfo": {"username": "someone"}, "object": object,
    });
    let payload = json!({"request": request, "settings": settings}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), Timestamp(0));
    let log = answer.log.iter().map(|line| format!("{line:?}\n")).collect();
    (serde_json::from_slice(&answer.response).unwrap(), log)
}

fn settings(package: &str, rego: &str) -> Value {
    json!({
        "preScanPolicies": {"defaultPolicy": "accept"}, "verboseLog": true, "context": [{"apiVersion": "v1", "kind": "Secret"}],
        "regoPolicies": [{"name": "p", "kinds": ["Pod"], "rego": format!("package {package}\n{NAMES}{rego}\n")}],
    })
}

/// The message of a rejection, of which neither the response nor the log has a word of the Secret.
#[track_caller]
fn message(package: &str, rego: &str) -> String {
    let (response, log) = answer(&settings(package, rego), &world());
    let text = response.to_string();
    for (key, _, mark) in HELD {
        assert!(!text.contains(mark), "{rego}\nthe response has {key}: {text}");
        assert!(!log.contains(mark), "{rego}\nthe log has {key}: {log}");
    }
    assert_eq!(response["accepted"], false, "{rego}\n{text}");
    response["message"].as_str().unwrap_or_else(|| panic!("{rego}: {text}")).to_owned()
}

#[test]
fn a_result_of_another_type_is_told_by_its_type() {
    for (values, kind) in [
        (&["secret", "held", "{\"msg\": held}", "{\"details\": held.password}", "{held.password: 1}"][..], "object"),
        (&["[held.password]", "[held]", "[[held.password]]"], "array"),
        (&["{held.password, held.other}", "{held}", "{held[_]}"], "set"),
        (&["to_number(held.digits)"], "number"),
        (&["held.password != \"x\""], "boolean"),
        (&["json.unmarshal(\"null\")"], "null"),
    ] {
        for value in values {
            for (rule, gives) in [
                ("deny", "strings, or objects with a string `msg`"),
                ("violation", "strings, or objects with a string `msg`"),
                ("warn_it", "strings, or objects with a string `msg`"),
                ("patch", "operations of a JSON patch"),
            ] {
                if rule == "patch" && ["object", "array"].contains(&kind) {
                    continue;
                }
                let said = message("p", &format!("{rule}[x] {{ x := {value} }}"));
                let expected = format!("Evaluation error - unexpected value type: {kind}; rule `{rule}` gives {gives}");
                assert_eq!(said, format!("Policy 'p' rejected. {expected}"), "{value}");
            }
        }
    }
    for (rule, kind) in [
        ("deny = held { true }", "object"),
        ("deny = x { x := to_number(held.digits) }", "number"),
        ("violation = {\"a\": held.password} { true }", "object"),
        ("exception[x] { x := held.password }\ndeny_it[\"x\"] { true }", "string"),
        ("exception[x] { x := [held] }\ndeny_it[\"x\"] { true }", "object"),
        ("exception = held.password { true }\ndeny_it[\"x\"] { true }", "string"),
        ("patch = held.password { true }", "string"),
        ("patch = held { true }", "object"),
        ("patch[x] { x := held.password }", "string"),
    ] {
        let said = message("p", rule);
        assert!(
            said.starts_with(&format!("Policy 'p' rejected. Evaluation error - unexpected value type: {kind}; ")),
            "{said}"
        );
    }
}

#[test]
fn values_that_contradict_each_other_are_not_repeated() {
    for rule in [
        "deny = x { x := held[_] }",
        "value = x { x := held[_] }\ndeny[\"x\"] { value }",
        "value[\"k\"] = x { x := held[_] }\ndeny[\"x\"] { value.k }",
        "value[k] = x { k := held.password; x := held[_] }\ndeny[\"x\"] { value[_] }",
        "f(x) = y { y := held[_] }\ndeny[\"x\"] { f(1) }",
        "f(x) = held.password { true }\nf(x) = held.other { true }\ndeny[\"x\"] { f(1) }",
        "deny[\"x\"] { x := {\"k\": v | v := held[_]}; x.k }",
        "deny[\"x\"] { x := {held.password: v | v := held[_]}; count(x) > 0 }",
    ] {
        let said = message("p", rule);
        assert!(said.starts_with("Policy 'p' rejected. Evaluation error: p:"), "{rule}: {said}");
        assert!(said.contains("multiple"), "{rule}: {said}");
    }
    // A package that stands where the objects are.
    let nested = "package kubernetes.secrets.shop.db.data.password\nx := 1";
    let mut with_library =
        settings("p", "deny[x] { x := [held.password, data.kubernetes.secrets.shop.db.data.password.x] }");
    with_library["regoLibraries"] = json!([{"name": "l", "rego": nested}]);
    let (response, log) = answer(&with_library, &world());
    assert_eq!(response["accepted"], false);
    assert!(!(response.to_string() + &log).contains("aHVudGVyMg"), "{response}");
}

#[test]
fn builtins_say_their_bounds_without_what_they_were_given() {
    for (call, why) in [
        ("units.parse(held.exponent)", "`units.parse` of a number with 10 digits in its exponent: at most three"),
        (
            "units.parse_bytes(held.exponent)",
            "`units.parse_bytes` of a number with 10 digits in its exponent: at most three",
        ),
        ("net.cidr_expand(held.range)", "`net.cidr_expand` of 2^24 addresses: at most 2^16, use `net.cidr_contains`"),
        ("bits.lsh(1, to_number(held.digits))", "`bits.lsh` by too many: an integer has at most 1000 bits"),
        ("numbers.range(1, to_number(held.digits))", "`numbers.range` of too many numbers: at most 10000"),
        ("numbers.range_step(1, to_number(held.digits), 1)", "`numbers.range_step` of too many numbers: at most 10000"),
        (
            "sprintf(concat(\"\", [\"%\", held.digits, \"d\"]), [1])",
            "`sprintf` with a width that is too large: at most 1000",
        ),
        ("regex.match(held.pattern, \"x\")", "`regex.match` with a pattern of 19 bytes: it takes more than"),
        ("regex.replace(\"x\", held.pattern, \"y\")", "`regex.replace` with a pattern of 19 bytes: it takes more than"),
        (
            "image_reference(held.image)",
            "`image_reference`: the string is not an image reference: its repository must be in",
        ),
        ("image_reference(held)", "`image_reference`: the image is not a string"),
        (
            "image_has_prefix(held.image, \"a\", \"accept\")",
            "`image_has_prefix`: the string is not an image reference: its",
        ),
        ("json.unmarshal(held.json)", "`json.unmarshal` of a number that is out of range"),
    ] {
        let said = message("p", &format!("deny[\"x\"] {{ {call} }}"));
        assert!(said.contains(why), "{call}: {said}");
    }
    // Without a bound a builtin that has no answer is undefined, as in OPA: nothing is said.
    for call in [
        "to_number(held.password)",
        "object.get(held.password, \"a\", 1)",
        "json.unmarshal(held.password)",
        "yaml.unmarshal(held.json)",
        "time.parse_rfc3339_ns(held.password)",
        "concat(held.password, 1)",
        "count(to_number(held.digits))",
        "held.password + 1",
        "-held",
        "json.patch(secret, [{\"op\": \"add\", \"path\": held.password, \"value\": 1}])",
        "json.patch(held.password, [{\"op\": held.other, \"path\": \"/a\"}])",
        "semver.compare(held.password, held.other)",
        "hex.decode(held.password)",
        "graph.reachable(held.password, held)",
        "crypto.x509.parse_certificates(held.password)",
    ] {
        let (response, log) = answer(&settings("p", &format!("deny[\"told\"] {{ not {call} }}")), &world());
        let text = response.to_string() + &log;
        assert!(HELD.iter().all(|(_, _, mark)| !text.contains(mark)), "{call}: {text}");
    }
}

#[test]
fn patches_that_fail_name_no_value_and_no_step_that_came_from_elsewhere() {
    for (operation, why) in [
        (r#"{"op": "add", "path": held.password, "value": 1}"#, "it is no JSON patch: `add …` is no operation"),
        (r#"{"op": held.password, "path": "/metadata/a"}"#, "it is no JSON patch: `… /metadata/a` is no operation"),
        (
            r#"{"op": "add", "path": "/metadata/a", "values": held}"#,
            "it is no JSON patch: `add /metadata/a` is no operation",
        ),
        (r#"[held]"#, "it is no JSON patch: `(no op)` is no operation"),
        (
            r#"{"op": "test", "path": "/metadata/name", "value": held.password}"#,
            "the operation `test /metadata/name` fails: value did not match",
        ),
        (
            r#"{"op": "replace", "path": concat("/", ["", "metadata", held.step]), "value": held}"#,
            "the operation `replace /metadata/…` fails: path is invalid",
        ),
        (
            r#"{"op": "move", "from": concat("/", ["", held.step]), "path": "/metadata/b"}"#,
            "the operation `move /metadata/b` fails: ",
        ),
        (
            r#"{"op": "add", "path": concat("/", ["", "metadata", "annotations", held.step, "x"]), "value": "y"}"#,
            "the path `/metadata/annotations/…/x` goes below a text; a slash in a key is written `~1`: `/metadata/annotations/…~1x`",
        ),
    ] {
        let said = message("p", &format!("patch[x] {{ x := {operation} }}"));
        assert!(said.contains(&format!("rule `patch`: {why}")), "{operation}: {said}");
    }
}

#[test]
fn what_main_says_is_told_by_its_type() {
    let allowed =
        |patch: &str| format!("main = {{\"response\": {{\"allowed\": true, \"patch\": {patch}}}}} {{ true }}");
    for (main, why) in [
        (
            "main = {\"response\": {\"allowed\": held.password}} { true }".to_owned(),
            "rule `main`: `response.allowed` is of the type string, where true or false decides",
        ),
        ("main = {\"response\": {\"allowed\": held}} { true }".to_owned(), "`response.allowed` is of the type object"),
        (
            allowed("held"),
            "rule `main`: `response.patch` is of the type object; it is `base64.encode(json.marshal(patches))`",
        ),
        (allowed("[held.password]"), "rule `main`: `response.patch` is of the type array"),
        (allowed("held.password"), "rule `main`: it is no JSON patch: "),
        (allowed("held.step"), "rule `main`: its patch is encoded for URLs"),
        (allowed("base64.encode(held.password)"), "rule `main`: it is no JSON patch: "),
        (allowed("base64.encode(json.marshal(held.password))"), "rule `main`: it is no JSON patch: it is no list"),
        (allowed("base64.encode(json.marshal([held.password]))"), "rule `main`: it is no JSON patch: `(no op)`"),
    ] {
        let said = message("system", &main);
        assert!(said.contains(why), "{main}: {said}");
    }
}

/// What a rule writes into its own message is its author's to word.
#[test]
fn what_the_author_writes_stays() {
    let (response, _) = answer(&settings("p", "deny[msg] { msg := sprintf(\"it is %v\", [held.password]) }"), &world());
    assert_eq!(response["message"], "Policy 'p' rejected. Reasons: it is aHVudGVyMg==");
}

/// Answers of the host about the cluster that can't be read.
#[test]
fn answers_that_can_not_be_read_are_not_repeated() {
    let rego = "deny[\"x\"] { held.password }";
    for list in [
        r#"{"items": ["aHVudGVyMg=="]}"#,
        r#"{"items": "aHVudGVyMg=="}"#,
        r#""aHVudGVyMg==""#,
        r#"{"items": [{"metadata": {"name": {"a": "aHVudGVyMg=="}}}]}"#,
        r#"{"items": [{"metadata": "aHVudGVyMg=="}]}"#,
        r#"{"items": [{"metadata": {"name": "db"}, "data": {"password": "aHVudGVyMg=="}"#,
        r#"{"items": [{"metadata": {"name": "db"}, "data": {"password": "aHVudGVyMg==" "x"}}]}"#,
        r#"{"items": [{"metadata": {"name": "db"}, "data": {"password": "aHVudGVyMg==", "number": 31337e99999}}]}"#,
        "aHVudGVyMg==",
    ] {
        let host = world().says("list_resources_all", list);
        let (response, log) = answer(&settings("p", rego), &host);
        assert_eq!(response["accepted"], false, "{list}");
        let text = response.to_string() + &log;
        assert!(text.contains("v1 Secret of `context` can't be read"), "{list}: {text}");
        assert!(!text.contains("aHVudGVyMg") && !text.contains("31337"), "{list}: {text}");
    }
}

/// Expressions see no Secret of the cluster. One that is being written they do.
#[test]
fn expressions_about_a_secret_do_not_repeat_it() {
    let settings = |text: &str| {
        json!({"verboseLog": true, "imageVerification": [{
            "name": "secrets",
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]},
            "verifications": [{"expression": text}],
            "auditAnnotations": [{"key": "own", "valueExpression": text}],
        }]})
    };
    for text in [
        "int(object.data.password) > 0",
        "duration(object.data.password) > duration('1s')",
        "timestamp(object.data.password) < now",
        "double(object.data.password) > 0.0",
        "bool(object.data.password)",
        "quantity(object.data.password).isGreaterThan(quantity('1'))",
        "semver(object.data.password).major() > 0",
        "ip(object.data.range).family() == 4",
        "cidr(object.data.password).prefixLength() == 4",
        "url(object.data.password).getHost() == 'a'",
        "object.data.pattern.matches(object.data.pattern)",
        "object.data.password.charAt(99) == 'a'",
        "object.data[object.data.password] == 'a'",
        "image(object.data.image).registry() == 'a'",
        "verifyImageSignatures(object.data.image, []) > 0",
        "object.data.password",
        "object.data.password + 1 == 'a'",
        "object.data.password < 1",
        "{object.data.password: 1}.a == 1",
        "[object.data.password].sum() == 1",
        "'%d'.format([object.data.password]) == 'a'",
        "object.data.password.size() > object.data",
    ] {
        let (response, log) = answer_about(&secret(), &settings(text), &world());
        let (response, log) = (response.to_string(), log.replace("\\\"", "\""));
        // The log has the settings, which have no value of it.
        for (key, _, mark) in HELD {
            assert!(!response.contains(mark), "{text}\nthe response has {key}: {response}");
            assert!(!log.contains(mark), "{text}\nthe log has {key}: {log}");
        }
        assert!(response.contains("\"accepted\":false"), "{text}: {response}");
    }
}
