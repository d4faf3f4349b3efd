//! Builtins of OPA that this policy hasn't: settings that name one are refused, wherever it stands, and never deployed with a rule
//! that would be undefined.

use image_admission_engine::validate_settings;
use serde_json::{Value, json};

/// Each of them: its name, how many arguments it takes, and what its author is told.
const REFUSED: &[(&str, usize, &str)] = &[
    ("http.send", 1, "a policy has no network; `context` brings objects of the cluster"),
    ("net.lookup_ip_addr", 1, "a policy has no network"),
    ("providers.aws.sign_req", 3, "a policy has no network"),
    ("opa.runtime", 0, "there is no OPA process"),
    ("rego.parse_module", 2, "modules are parsed when the policy is deployed"),
    ("rego.metadata.rule", 0, "annotations of rules aren't read"),
    ("rego.metadata.chain", 0, "annotations of rules aren't read"),
    ("rand.intn", 2, "the same request must have the same answer"),
    ("uuid.rfc4122", 1, "the same request must have the same answer"),
    ("crypto.x509.parse_certificates", 1, "rules don't read certificates"),
    ("crypto.x509.parse_and_verify_certificates", 1, "rules don't read certificates"),
    ("crypto.parse_private_keys", 1, "rules don't read keys"),
    ("crypto.md5", 1, "use `crypto.sha256`"),
    ("crypto.sha1", 1, "use `crypto.sha256`"),
    ("crypto.hmac.md5", 2, "rules have no secret keys; use `crypto.sha256`"),
    ("crypto.hmac.sha1", 2, "rules have no secret keys; use `crypto.sha256`"),
    ("crypto.hmac.sha256", 2, "rules have no secret keys; use `crypto.sha256`"),
    ("crypto.hmac.sha512", 2, "rules have no secret keys; use `crypto.sha256`"),
    ("crypto.hmac.equal", 2, "rules have no secret keys; use `crypto.sha256`"),
    ("io.jwt.decode", 1, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.decode_verify", 2, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.verify_hs256", 2, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.verify_rs512", 2, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.verify_eddsa", 2, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.encode_sign", 3, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("io.jwt.encode_sign_raw", 3, "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("graphql.is_valid", 2, "rules don't read GraphQL; check such documents before they are deployed"),
    ("graphql.parse", 2, "rules don't read GraphQL; check such documents before they are deployed"),
    ("graphql.parse_and_verify", 2, "rules don't read GraphQL; check such documents before they are deployed"),
    ("graphql.parse_query", 1, "rules don't read GraphQL; check such documents before they are deployed"),
    ("graphql.parse_schema", 1, "rules don't read GraphQL; check such documents before they are deployed"),
    ("graphql.schema_is_valid", 1, "rules don't read GraphQL; check such documents before they are deployed"),
    ("json.match_schema", 2, "the API server validates objects by their schemas"),
    ("json.verify_schema", 1, "the API server validates objects by their schemas"),
    ("strings.render_template", 2, "use `sprintf` or a template string"),
    ("strings.split_n", 3, "use `split`, and `array.slice` of what it gives"),
    ("array.flatten", 1, "use a comprehension, such as `[x | x := lists[_][_]]`"),
    ("cast_boolean", 1, "use `is_boolean`"),
    ("cast_null", 1, "use `is_null`"),
    ("cast_object", 1, "use `is_object`"),
    ("cast_string", 1, "use `is_string`"),
    ("regex.globs_match", 2, "use `glob.match`"),
    ("uri.parse", 1, "use `regex.match`"),
];

/// The rules of a package in v0 that name a builtin: `NAME` is its name, `CALL` a call of it, `BRACKETS` one whose name ends in
/// brackets, and `ARGUMENTS` are as many variables as it takes.
const FORMS: &[&str] = &[
    "deny[\"x\"] { CALL }",
    "deny[\"x\"] { not CALL }",
    "deny[\"x\"] { BRACKETS }",
    "deny[x] { x := CALL }",
    "deny[CALL] { true }",
    "deny[\"x\"] { y := [{\"a\": {1, CALL}}]; count(y) > 0 }",
    "deny[\"x\"] { {\"a\": CALL}.a == 1 }",
    "deny[\"x\"] { input.a[CALL] }",
    "deny[\"x\"] { 1 + count([CALL]) == 1 }",
    "deny[\"x\"] { helper(1) }\nhelper(y) { y == CALL }",
    "deny[\"x\"] { helper(1) == 1 }\nhelper(y) = CALL { y }\nhelper(y) = 1 { y }",
    "deny[\"x\"] { value }\nvalue = 1 { false } else = CALL { true }",
    "deny[\"x\"] { value.k }\nvalue[\"k\"] = CALL { true }",
    "deny[\"x\"] { count([1 | CALL]) == 0 }",
    "deny[\"x\"] { count({CALL | true}) == 0 }",
    "deny[\"x\"] { count({1: y | y := CALL}) == 0 }",
    "deny[\"x\"] { is_ok with input as CALL }\nis_ok { input }",
    "deny[\"x\"] { is_ok with NAME as mock }\nis_ok { true }\nmock(ARGUMENTS) = 1 { true }",
    "deny[\"x\"] { is_ok with NAME as 1 }\nis_ok { true }",
    "deny[\"x\"] { CALL with NAME as 1 }",
    "deny[\"x\"] { not is_ok(ARGUMENTS) with is_ok as NAME with input as 1 }\nis_ok(ARGUMENTS) { true }\na := 1\nb := 1\nc := 1",
    "deny[\"x\"] { not count([]) with count as NAME }",
];

/// The same in v1.
const FORMS_OF_V1: &[&str] = &[
    "deny contains CALL",
    "deny contains x if some x in CALL",
    "deny contains x if some x, CALL in input.a",
    "deny contains \"x\" if every x in CALL { x }",
    "deny contains \"x\" if every x in [1] { x == CALL }",
    "deny contains \"x\" if CALL in [1]",
    "deny contains $\"{CALL}\"",
    "deny contains \"x\" if not is_ok with NAME as 1\nis_ok if true",
];

fn rules(form: &str, name: &str, arguments: usize) -> String {
    let variables = ["a", "b", "c"].get(..arguments).unwrap().join(", ");
    let given = vec!["\"y\""; arguments].join(", ");
    let brackets = match name.rsplit_once('.') {
        Some((path, last)) => format!("{path}[\"{last}\"]({given})"),
        None => format!("{name}({given})"),
    };
    form.replace("BRACKETS", &brackets)
        .replace("CALL", &format!("{name}({given})"))
        .replace("NAME", name)
        .replace("ARGUMENTS", &variables)
}

fn policy(version: &str, rego: &str) -> Value {
    json!({"regoPolicies": [{"name": "p", "kinds": ["*"], "regoVersion": version, "rego": rego}]})
}

fn problem(settings: &Value) -> String {
    let answer: Value = serde_json::from_slice(&validate_settings(settings.to_string().as_bytes()).response).unwrap();
    assert_eq!(answer["valid"], answer["message"].is_null(), "{answer}");
    answer["message"].as_str().unwrap_or_default().to_owned()
}

fn assert_refused(settings: &Value, before: &str, name: &str, why: &str) {
    let (said, expected) = (problem(settings), format!(": `{name}` is not available: {why}: `"));
    assert!(said.starts_with(before) && said.contains(&expected), "{settings:#}\n{said}");
}

#[test]
fn each_is_refused_by_its_name_in_each_form() {
    for (name, arguments, why) in REFUSED {
        let versions = [("v0", FORMS), ("v1", FORMS_OF_V1)];
        for (version, form) in
            versions.iter().flat_map(|(version, forms)| forms.iter().map(move |form| (version, form)))
        {
            let rego = format!("package p\n{}", rules(form, name, *arguments));
            assert_refused(&policy(version, &rego), "regoPolicies: policy `p`: line ", name, why);
        }
    }
}

#[test]
fn each_is_refused_wherever_rules_stand() {
    for (name, arguments, why) in REFUSED {
        let denying = |head: &str| rules(&format!("{head} {{ CALL }}"), name, *arguments);
        let library = rules("package lib.tokens\nis_ok(x) { x == CALL }", name, *arguments);
        let with_library = |rego: &str| {
            let mut settings = policy("v0", rego);
            settings["regoLibraries"] = json!([{"name": "tokens", "rego": library}]);
            settings
        };
        let template =
            "package k8stokens\nviolation[{\"msg\": msg}] { IS_OK; msg := input.review.object.metadata.name }";
        let call = rules("CALL", name, *arguments);
        let in_policy = "regoPolicies: policy `p`: line ";
        let in_library = "regoPolicies: policy `p`: in `tokens`, line ";
        for (settings, before) in [
            (json!({"preCustomRules": denying("deny_pod[\"x\"]")}), "preCustomRules: line "),
            (json!({"preCustomRules": denying("allow_pod")}), "preCustomRules: line "),
            (json!({"customRules": denying("deny_image[\"x\"]")}), "customRules: line "),
            (policy("v0", &format!("package p\n{}", denying("warn[\"x\"]"))), in_policy),
            (
                policy("v0", &format!("package p\n{}", denying("patch[{\"op\": \"remove\", \"path\": \"/a\"}]"))),
                in_policy,
            ),
            (
                policy(
                    "v0",
                    &format!(
                        "package system\nmain = {{\"response\": {{\"allowed\": is_ok}}}} {{ true }}\n{}",
                        denying("is_ok")
                    ),
                ),
                in_policy,
            ),
            (policy("v0", &template.replace("IS_OK", &call)), in_policy),
            (policy("v0", &template.replace("IS_OK", &format!("not {call}"))), in_policy),
            (with_library(&template.replace("IS_OK", "data.lib.tokens.is_ok(1)")), in_library),
            (with_library("package p\nimport data.lib.tokens\ndeny[\"x\"] { not tokens.is_ok(1) }"), in_library),
        ] {
            assert_refused(&settings, before, name, why);
        }
    }
}

/// A function of one's own, or a value, that has such a name is what is meant.
#[test]
fn what_only_has_such_a_name_is_deployed() {
    for (version, rego) in [
        ("v0", "package p\nimport data.lib.tokens as io\ndeny[\"x\"] { io.jwt.decode(1) }"),
        ("v0", "package p\nimport data.lib.tokens as io\ndeny[\"x\"] { io.jwt.decode(1) with io.jwt.decode as 2 }"),
        ("v0", "package p\ndeny[\"x\"] { cast_string(1) }\ncast_string(x) { x }"),
        ("v0", "package p\ndeny[\"x\"] { cast_string(1) with cast_string as 2 }\ncast_string(x) { x }"),
        ("v1", "package p\ngraphql.parse(x) := x\ndeny contains \"x\" if graphql.parse(1)"),
        ("v0", "package p\nuri = {\"parse\": 1}\ndeny[\"x\"] { is_ok with input as uri.parse }\nis_ok { input == 1 }"),
        ("v0", "package p\ndeny[\"x\"] { uri := input.uri; is_ok with input as uri.parse }\nis_ok { input == 1 }"),
        (
            "v0",
            "package p\ndeny[\"x\"] { is_ok with input.io.jwt.decode as 1 with data.http.send as 2 }\nis_ok { input }",
        ),
        ("v0", "package p\ndeny[msg] { msg := input.io.jwt.decode }"),
        ("v0", "package p\ndeny[\"io.jwt.decode(x)\"] { true } # graphql.parse(x)"),
    ] {
        let mut settings = policy(version, rego);
        settings["regoLibraries"] =
            json!([{"name": "tokens", "rego": "package lib.tokens\njwt.decode(x) = y { y := x }"}]);
        assert_eq!(problem(&settings), "", "{rego}");
    }
}

#[test]
fn the_guide_names_each_of_them() {
    let guide = include_str!("../../../../docs/rego-reference.md");
    for (name, _, _) in REFUSED {
        let families = name.match_indices('.').map(|(at, _)| format!("`{}.*`", name.get(..at).unwrap()));
        let is_named = families.chain([format!("`{name}`")]).any(|named| guide.contains(&named));
        assert!(is_named, "docs/rego-reference.md doesn't name `{name}`");
    }
}

/// What stands for another function is looked for as what is called.
#[test]
fn what_stands_for_a_function_has_to_be_there() {
    for (rego, expected) in [
        (
            "deny[\"x\"] { count([]) with count as semver.is_valids }",
            "there is no function `semver.is_valids`; did you mean `semver.is_valid`?",
        ),
        ("deny[\"x\"] { count([]) with count as nobody }", "there is no function `nobody`"),
        (
            "deny[\"x\"] { count([]) with count as startwith }",
            "there is no function `startwith`; did you mean `startswith`?",
        ),
        ("deny[\"x\"] { count([]) with counted as 1 }", "there is no function `counted`; did you mean `count`?"),
    ] {
        let said = problem(&policy("v0", &format!("package p\n{rego}")));
        assert!(said.contains(expected), "{rego}: {said}");
    }
}
