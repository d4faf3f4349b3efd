//! What was answered otherwise than by OPA once, found by generated modules, libraries and OPA's own cases.

use super::alike::alike;
use super::judge;
use image_admission_rego::conformance::{Question, answer};
use image_admission_settings::RegoVersion;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Rules of a package, and what OPA says to `main` in it; nothing: it has no value.
const FOUND: &[(&str, &str)] = &[
    // Fractions have 64 bits, and are read from their texts.
    ("main := 0.1 + 0.2", "0.3"),
    ("main := 0.1 * 3 == 0.3", "true"),
    ("main := sum([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])", "1"),
    ("main := units.parse(\"100m\") + units.parse(\"200m\") <= units.parse(\"300m\")", "true"),
    ("main := product([3, 0.1, 1000000])", "300000"),
    ("main := 1 / 3 == 0.3333333333333333", "false"),
    ("main := 1 / 3 < 0.3333333333333333", "false"),
    ("main := (1 / 3) * 3 == 1", "true"),
    ("main := count({1 / 3, 2 / 6, 1 / 7})", "2"),
    ("main := 0 - (1 / 3) < 0", "true"),
    ("main := 0 * (1 / 3)", "0"),
    ("main := [1, 2, 3][6 / 3]", "3"),
    ("main := 7.5 / 2.5", "3"),
    ("main := sprintf(\"%v %.2f\", [1 / 3, 1 / 3])", "\"0.3333333333333333 0.33\""),
    ("main := [round(2 / 3), floor(7 / 3), ceil(7 / 3), floor(-7 / 3), abs(-1 / 2)]", "[1, 2, 3, -3, 0.5]"),
    ("main := [floor(-0.5), ceil(-0.5), ceil(-2.5)]", "[0, 1, -2]"),
    ("main := 10 % 2.5", ""),
    (
        "main := [product([0.2, -7]), product([3, 2.675, -7]), product([0.5, 4])]",
        "[-1.4000000000000001, -56.175000000000004, 2]",
    ),
    ("main := [units.parse_bytes(b) | some b in [\"-2.5\", \"2.7\", \"0.7Ki\", \"-1.5Ki\"]]", "[-2, 2, 716, -1536]"),
    ("main := -input.known.a", ""),
    ("main := [-count(\"ab\"), 3 - -count(\"ab\"), -count(\"ab\") + 1]", "[-2, 5, -1]"),
    ("main := [to_number(\"+1\") == 1, to_number(\".5\") == 0.5, to_number(\"01\") == 1]", "[true, true, true]"),
    (
        "main contains x if { some t in [\" 1\", \"1 \", \"1e400\", \"Inf\", \"NaN\", \"-\", \"\"]; x := to_number(t) }",
        "[]",
    ),
    ("main := json.marshal([100000000000000000000000, -5])", "\"[100000000000000000000000,-5]\""),
    // Verbs of numbers.
    (
        "main := sprintf(\"%o %O %b %c %U %e %.2E %g %F\", [420, 420, -6, 120, 9731, 12345.678, 2.5, 0.1, 2.5])",
        "\"644 0o644 -110 x U+2603 1.234568e+04 2.50E+00 0.1 2.500000\"",
    ),
    // Objects come before sets.
    (
        "main := sort([{1}, {\"a\": 1}, set(), {}, [], \"\", 0, true, null])",
        "[null, true, 0, \"\", [], {}, {\"a\": 1}, [], [1]]",
    ),
    ("main := [semver.is_valid(\"v1.2.3\"), semver.compare(\"v1.2.3\", \"1.2.3\")]", "[true, 0]"),
    // Texts are counted in characters, and an empty one stands nowhere.
    ("main := count(\"😀é\")", "2"),
    ("main := indexof(\"😀é\", \"é\")", "1"),
    ("main := indexof(\"abc\", \"\")", ""),
    ("main := indexof_n(\"abc\", \"\")", ""),
    // Paths.
    ("main := json.filter({\"\": 0, \"a\": 1}, [\"\", \"a\"])", "{\"a\": 1}"),
    ("main := json.filter({\"a\": 1}, [[]])", "{}"),
    ("main := json.remove({\"\": 0, \"a\": 1}, [\"\"])", "{\"\": 0, \"a\": 1}"),
    ("main := json.remove({\"a\": 1}, [[]])", "{\"a\": 1}"),
    ("main := json.remove({\"a/b\": 1, \"c\": 2}, [\"/a~1b\"])", "{\"c\": 2}"),
    // Times.
    ("main := time.parse_rfc3339_ns(\"2024-01-02T03:04:05Z\")", "1704164645000000000"),
    ("main := time.parse_rfc3339_ns(\"2024-01-02t03:04:05Z\")", ""),
    ("main := time.parse_rfc3339_ns(\"2024-01-02 03:04:05Z\")", ""),
    ("main := time.parse_rfc3339_ns(\"2024-01-02T03:04:05z\")", ""),
    ("main := time.parse_rfc3339_ns(\"2024-01-02T03:04:60Z\")", ""),
    ("main := units.parse(\".\")", ""),
    // Negation.
    ("main if { not startswith(input.missing, \"a\") }", ""),
    ("main if { not input.missing > 1 }", ""),
    ("main if { not input.missing == 1 }", "true"),
    ("main if { not good }\ngood if { startswith(input.missing, \"a\") }", "true"),
    ("main if { not input.known[input.missing] }", ""),
    ("main contains v if { walk({\"k\": \"v\"}, [_, v]); is_string(v); not known[v] }\nknown := {\"a\": 1}", "[\"v\"]"),
    ("main if { every v in [\"q\"] { not known[v] } }\nknown := {\"a\": 1}", "true"),
    // Ways of a body.
    ("main contains m if { some c in [{\"a\": 1}, {}]; m := sprintf(\"%v\", [c.a]) }", "[\"1\"]"),
    ("main := x if { walk({\"a\": [1]}, [[\"a\", 0], x]) }", "1"),
    ("main if { f(1) } else := 2 if { true }\nf(x) if { x == 2 }", "2"),
    ("main if { y = input.missing_no; x := y; x == 1 }", ""),
    ("main if { y = 1; x := y; [2, 3][x] == 3 }", "true"),
    ("main if { y := 1; x := y; [x, 3] = [1, 3] }", "true"),
    // Patterns: an object has no other keys, and a variable has one value.
    ("main contains x if { some o in [{\"a\": 1}, {\"a\": 2, \"b\": 3}]; {\"a\": x} = o }", "[1]"),
    ("main contains x if { some {\"a\": x} in [{\"a\": 1}, json.unmarshal(\"{\\\"a\\\": 2, \\\"b\\\": 3}\")] }", "[1]"),
    ("main contains y if { some y in [[1, 2], [3, 3]]; f(y[0], y[1]) }\nf(x, x) := true", "[[3, 3]]"),
    ("main contains y if { some y in [[1, [2]], [3, [3]]]; f(y[0], y[1]) }\nf(x, [x]) := true", "[[3, [3]]]"),
    ("main if { every x in [[1, 2], [1, 3]] { [1, y] = x; y > 1 } }", "true"),
    ("main contains x if { x = {\"x\": \"x\", \"y\": \"z\"}[x] }", "[\"x\"]"),
    ("main contains x if { x = some_set[x] }\nsome_set := {1, 2}", "[1, 2]"),
    ("main contains x if { input.known[x] = x }", "[]"),
    ("main[k] := v if { some k; v := {\"x\": \"y\"}[k] }", "{\"x\": \"y\"}"),
    // Texts with escapes, and without.
    (
        "main := [\"\\u0041\\n\\\"\\\\\", \"\\ud83d\\ude00\", \"é/'\", \"\"]",
        "[\"A\\n\\\"\\\\\", \"😀\", \"é/'\", \"\"]",
    ),
    // A call in the place of a name, with a long text that isn't ASCII.
    (
        "main := x if { x := input.a with input.a as concat(\"\", [\"éééééééééééééééééééé\"]) }",
        "\"éééééééééééééééééééé\"",
    ),
    // Operators, of which some bind more tightly than others.
    ("main := [1 + 2 * 3, 2 * 3 + 1, 10 - 3 - 2, 100 / 5 / 2, 7 % 4 * 3, 2 * 7 % 4]", "[7, 7, 5, 10, 9, 2]"),
    ("main := {1, 2} | {3} & {4} | {5}", "[1, 2, 5]"),
    ("main := {1, 2, 3} & {2, 3} - {3}", "[2]"),
    ("main := {1} == {1, 2} & {1, 3}", "true"),
    ("main := 1 + 2 < 2 * 2", "true"),
    ("main := [5 -1 + 2, 5 * 2 -1, (1 + 2) * -3 + 1]", "[6, 9, -8]"),
    ("main if { 1 + 1 == 2; not 1 + 1 == 3; x := 2 * 3 + 1; x == 7; 3 - 1 in [2] }", "true"),
    ("main if { (1 + 2) * 3 == 9; [1, 2][0] + 1 == 2; count([1]) * 2 == 2; y = 1 + 2 * 3; y > 6 }", "true"),
    ("main if { 0, 1 + 1 in [2]; {\"a\": 1}.a + 1 == 2; ((1)) == 1; [x | x := 1 + 1] == [2] }", "true"),
];

#[test]
fn what_was_found_is_answered_as_in_opa() {
    let input = json!({"known": {}});
    let mut questions = String::new();
    for (rules, expected) in FOUND {
        let module = format!("package p\n{rules}\n");
        let question = Question {
            modules: &[&module],
            version: RegoVersion::V1,
            data: &json!({}),
            input: Some(&input),
            input_term: None,
            query: "data.p.main = x",
            now: Timestamp(1_700_000_000),
        };
        let said = match answer(&question) {
            Ok(ways) => json!(ways),
            Err(why) => panic!("{rules}: {why:?}"),
        };
        assert!(alike(&said, &ways(expected)), "{rules}: {said}");
        let question = json!({"modules": [module], "v1": true, "query": "data.p.main = x", "input": input});
        writeln!(questions, "{question}").unwrap();
    }
    let Some(judge) = std::env::var_os("OPA_JUDGE") else { return };
    for ((rules, expected), said) in FOUND.iter().zip(judge::ask(&judge, questions)) {
        let said = json!(said.result.unwrap_or_else(|| panic!("{rules}: {:?}", said.error)));
        assert!(alike(&said, &ways(expected)), "OPA, {rules}: {said}");
    }
}

fn ways(expected: &str) -> Value {
    if expected.is_empty() {
        return json!([]);
    }
    let value: Value = serde_json::from_str(expected).unwrap();
    json!([{"x": value}])
}
