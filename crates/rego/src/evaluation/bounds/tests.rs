//! The guards as rules meet them: with regorus' builtins behind them.

use super::*;
use regorus::Engine;
use regorus::unstable::{BUILTINS, Builtin};

/// The value of an expression with bounded builtins, or the error.
fn guarded(expression: &str) -> (Result<Value, String>, Option<String>) {
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(false);
    let called = GUARDS.iter().map(|guard| guard.name).filter(|name| expression.contains(name)).collect();
    let exceeded = FirstExceededBound::default();
    install(&mut engine, &called, &exceeded).unwrap();
    (value(&mut engine, expression), exceeded.take())
}

fn original(expression: &str) -> Value {
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(false);
    value(&mut engine, expression).unwrap()
}

fn value(engine: &mut Engine, expression: &str) -> Result<Value, String> {
    engine.add_policy("p.rego".to_owned(), format!("package p\nx := {expression}\n")).unwrap();
    engine.eval_rule("data.p.x".to_owned()).map_err(|error| error.to_string())
}

#[test]
fn up_to_the_limit_answers_are_those_of_the_original() {
    for expression in [
        "numbers.range(1, 10000)",
        "numbers.range(5, -5)",
        "numbers.range(1, 1.5)",
        "numbers.range_step(0, 99990, 10)",
        "numbers.range_step(10, 1, 3)",
        "bits.lsh(1, 900)",
        "bits.lsh(-3, 2)",
        "bits.or(5, 2)",
        "product([2, 3, 4.5])",
        "product([2, \"a\"])",
        "product(numbers.range(1, 100))",
        "sum({1, 2, 3})",
        "sum([\"a\"])",
        "sort([3, \"a\", [1], null])",
        "max([1, 7, 3])",
        "min({\"b\", \"a\"})",
        "upper(7)",
        "upper(\"straße\")",
        "lower([1])",
        "concat(\", \", [\"a\", \"b\"])",
        "concat(\", \", [\"a\", 1])",
        "replace(\"aXbX\", \"X\", \"--\")",
        "replace(\"ab\", \"\", \"-\")",
        "strings.replace_n({\"a\": \"b\", \"b\": \"c\"}, \"aabb\")",
        "strings.replace_n({\"a\": 1}, \"aabb\")",
        "strings.count(\"aaaa\", \"aa\")",
        "split(\"a,b,c\", \",\")",
        "split(\"äb\", \"\")",
        "indexof(\"äbc\", \"c\")",
        "indexof(\"abc\", \"\")",
        "indexof(\"\", \"\")",
        "indexof(\"abc\", \"x\")",
        "indexof_n(\"aaa\", \"aa\")",
        "trim(\"  a \", \" \")",
        "sprintf(\"%5d|%05d|%.2f|%s|%v|%%\", [1, 2, 3.14159, \"a\", {\"k\": [true]}])",
        "sprintf(\"%1000d\", [1])",
        "format_int(-255, 16)",
        "regex.match(\"^a+$\", \"aaa\")",
        "regex.match(\"(\", \"aaa\")",
        "regex.is_valid(\"a{2}\")",
        "regex.is_valid(\"(\")",
        "regex.is_valid(1)",
        "regex.find_n(\"a.\", \"abacad\", 2)",
        "regex.find_n(\"a.\", \"abacad\", -1)",
        "regex.find_n(\"x*\", \"axb\", -1)",
        "regex.find_n(\"a.\", \"abacad\", 0)",
        "regex.find_all_string_submatch_n(\"(a)(b)?\", \"abac\", -1)",
        "regex.replace(\"abc\", \"(b)\", \"<$1>\")",
        "regex.replace(\"äbc\", \"\", \"-\")",
        "regex.replace(\"abc\", \"(\", \"-\")",
        "regex.split(\",\\\\s*\", \"a, b,c\")",
        "regex.split(\"x\", \"\")",
        "regex.template_match(\"urn:{[a-z]+}:x\", \"urn:abc:x\", \"{\", \"}\")",
        "regex.template_match(\"urn:{[a-z]+}:x\", \"urn:ABC:x\", \"{\", \"}\")",
        "glob.match(\"*.example.com\", [\".\"], \"a.example.com\")",
        "glob.match(\"{a,b}*\", null, \"b/c\")",
        "json.marshal({\"a\": [1, {2}]})",
        "json.marshal_with_options({\"a\": [1]}, {\"pretty\": true, \"indent\": \"  \"})",
        "json.unmarshal(\"{\\\"a\\\": [1, 2.5, -3, true, null, \\\"x\\\", 18446744073709551615]}\")",
        "json.unmarshal(\"[1\")",
        "json.unmarshal(\"1 2\")",
        "json.is_valid(\"[1]\")",
        "json.is_valid(\"[1\")",
        "json.patch({\"a\": {\"b\": 1}}, [{\"op\": \"copy\", \"from\": \"/a\", \"path\": \"/c\"}])",
        "json.filter({\"a\": {\"b\": 1, \"c\": 2}}, [\"a/b\"])",
        "json.remove({\"a\": {\"b\": 1, \"c\": 2}}, [\"a/b\"])",
        "yaml.unmarshal(\"a: &x [1, b, 0x10, 1e3]\\nc: *x\\n2: ~\")",
        "yaml.unmarshal(\"a: [\")",
        "yaml.is_valid(\"a: [\")",
        "yaml.unmarshal(\"- - - [[{a: [1]}]]\")",
        "yaml.marshal({\"a\": [1, null]})",
        "object.subset({\"a\": {\"b\": 1, \"c\": 2}}, {\"a\": {\"b\": 1}})",
        "object.subset([1, 2, 3], [2, 3])",
        "object.subset([1, 2, 3], {2, 3})",
        "object.union({\"a\": {\"b\": 1}}, {\"a\": {\"c\": 2}})",
        "object.union_n([{\"a\": 1}, {\"b\": 2}])",
        "object.get({\"a\": {\"b\": 1}}, [\"a\", \"b\"], 0)",
        "object.keys({\"a\": 1})",
        "union({{1}, {2}})",
        "union({1})",
        "union(set())",
        "object.union_n([{\"a\": {\"b\": 1, \"c\": [1]}}, {\"a\": {\"b\": 2, \"d\": {}}}, {\"a\": {\"d\": {\"e\": 1}}}])",
        "object.union_n([{\"a\": 1}, 2])",
        "object.union_n([])",
        "intersection({{1, 2}, {2}})",
        "graph.reachable({\"a\": [\"b\"], \"b\": []}, [\"a\"])",
        "graph.reachable_paths({\"a\": [\"b\", \"c\"], \"b\": [\"a\"], \"c\": []}, [\"a\"])",
        "[p | walk({\"a\": [1, {\"b\": 2}]}, [p, _])]",
        "units.parse(\"1.5Gi\")",
        "units.parse(\"1e3\")",
        "units.parse(\"100m\")",
        "units.parse(\"2E\")",
        "units.parse_bytes(\"10KiB\")",
        "to_number(\"1.5e3\")",
        "to_number(\"abc\")",
        "to_number([1])",
        "time.parse_duration_ns(\"1h30.5m\")",
        "time.parse_duration_ns(\"0\")",
        "time.parse_duration_ns(\"1x\")",
        "time.parse_ns(\"2006-01-02\", \"2026-11-21\")",
        "time.format([0, \"Europe/Berlin\", \"RFC1123\"])",
        "time.date(0)",
        "time.clock([0, \"nowhere\"])",
        "semver.compare(\"1.2.3\", \"1.10.0\")",
        "semver.is_valid(1)",
        "array.concat([1], [2])",
        "array.slice([1, 2, 3], -1, 99)",
        "substring(\"äbc\", 1, -1)",
        "substring(\"äbc\", -1, 1)",
        "base64.decode(\"aGVsbG8=\")",
        "urlquery.decode_object(\"a=b&a=c\")",
        "urlquery.encode_object({\"a\": [\"b\", \"ü\"]})",
        "strings.any_prefix_match([\"ab\"], {\"a\"})",
    ] {
        let (found, exceeded) = guarded(expression);
        assert_eq!(found, Ok(original(expression)), "{expression}");
        assert_eq!(exceeded, None, "{expression}");
    }
}

#[test]
fn patterns_in_texts_that_are_tried_first() {
    let whole = "concat(\"ä\", [sprintf(\"%d \", [i]) | i := numbers.range(1, 2000)[_]])";
    for expression in [
        format!("regex.match(\"1999.*2000\", {whole})"),
        format!("regex.match(\"^2000\", {whole})"),
        format!("regex.match(\"(\", {whole})"),
        format!("regex.find_n(\"[0-9]*7\", {whole}, -1)"),
        format!("regex.find_n(\"[0-9]*7\", {whole}, 3)"),
        format!("regex.find_all_string_submatch_n(\"([0-9])(x)?7\", {whole}, -1)"),
        format!("regex.replace({whole}, \"([0-9])9\", \"$1\")"),
        format!("regex.replace({whole}, \"x*\", \"-\")"),
        format!("regex.split(\" ä\", {whole})"),
        format!("regex.template_match(\"{{.*}}0 \", {whole}, \"{{\", \"}}\")"),
    ] {
        assert_eq!(guarded(&expression), (Ok(original(&expression)), None), "{expression}");
    }
}

#[test]
fn what_the_original_has_no_answer_to() {
    for (expression, answer) in [
        ("strings.count(\"abc\", \"\")", "4"),
        ("object.subset([1, 2], [])", "true"),
        ("object.subset({\"a\": [1]}, {\"a\": []})", "true"),
        ("object.subset({\"a\": 1}, {\"a\": []})", "false"),
        ("regex.template_match(\"abc{x}\", \"a\", \"{\", \"}\")", "false"),
        (
            "json.unmarshal(\"{\\\"$serde_json::private::Number\\\": \\\"1\\\"}\")",
            "{\"$serde_json::private::Number\":\"1\"}",
        ),
        ("yaml.unmarshal(\"$serde_json::private::Number: '1'\")", "{\"$serde_json::private::Number\":\"1\"}"),
    ] {
        assert_eq!(guarded(expression).0.map(|value| value.to_string()), Ok(answer.to_owned()), "{expression}");
    }
    for expression in [
        "numbers.range_step(1, 10, 0)",
        "numbers.range_step(1, 10, -1)",
        "time.parse_duration_ns(\"5\")",
        "time.parse_duration_ns(\"5ä\")",
        "to_number(\"{\\\"$serde_json::private::Number\\\": \\\"1e2000000000\\\"}\")",
    ] {
        assert_eq!(guarded(expression).0, Ok(Value::Undefined), "{expression}");
    }
}

#[test]
fn above_a_limit_the_error_says_what_and_how_many() {
    let list = "numbers.range(1, 10000)";
    for (expression, error) in [
        ("numbers.range(1, 10001)", "`numbers.range` of too many numbers: at most 10000"),
        (
            "numbers.range(-9223372036854775808, 9223372036854775807)",
            "`numbers.range` of too many numbers: at most 10000",
        ),
        ("numbers.range(1, 12345678901234567890123)", "`numbers.range` of numbers beyond 64 bits: use smaller ones"),
        ("numbers.range_step(0, 100000, 10)", "`numbers.range_step` of too many numbers: at most 10000"),
        ("bits.lsh(1, 1000)", "`bits.lsh` by too many: an integer has at most 1000 bits"),
        ("sprintf(\"%1001d\", [1])", "`sprintf` with a width that is too large: at most 1000"),
        ("units.parse(\"1e2000000000\")", "`units.parse` of a number with 10 digits in its exponent: at most three"),
        (
            "regex.match(\"(a{1000}){1000}\", \"a\")",
            "`regex.match` with a pattern of 15 bytes: it takes more than 102400 bytes, use smaller repetitions",
        ),
        (
            "time.format([0, \"UTC\", \"2006年\"])",
            "`time.format` with letters beyond ASCII: use none in layouts and times",
        ),
        (
            "json.patch({\"a\": 1}, [{\"op\": \"copy\", \"from\": \"\", \"path\": sprintf(\"/%d\", [i])} | i := numbers.range(1, 40)[_]])",
            "`json.patch` of a value of more than 2097152 bytes or 200 levels: use a part of it",
        ),
        (
            "graph.reachable_paths({i: numbers.range(1, 30) | i := numbers.range(1, 30)[_]}, [1])",
            "`graph.reachable_paths` of more than 20000 visits, or 100 vertices in a row: use `graph.reachable`",
        ),
    ] {
        let (found, exceeded) = guarded(expression);
        assert!(found.as_ref().is_err_and(|found| found.contains(error)), "{expression}: {found:?}");
        assert_eq!(exceeded.as_deref(), Some(error), "{expression}");
    }
    for expression in [
        format!("count([s | s := split(concat(\",\", [sprintf(\"%01000d\", [i]) | i := {list}[_]]), \"\")])"),
        format!("json.marshal([x | x := {list}; _ := {list}[_]])"),
        format!("sort([x | x := {list}; _ := {list}[_]])"),
        format!("sprintf(\"%v\", [[x | x := {list}; _ := {list}[_]]])"),
        format!("replace(concat(\"\", [\"aaaaaaaaaa\" | i := {list}[_]]), \"a\", \"{}\")", "b".repeat(100)),
    ] {
        let (found, exceeded) = guarded(&expression);
        assert!(found.is_err() && exceeded.is_some(), "{expression}: {exceeded:?}");
    }
}

#[test]
fn an_error_that_a_function_swallows_is_known() {
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(false);
    let rules = "package p\nf(x) := 1 if count(numbers.range(1, 99999)) == x\nf(2) := 1\ny := f(2)\n";
    let called = GUARDS.iter().map(|guard| guard.name).filter(|name| rules.contains(name)).collect();
    let exceeded = FirstExceededBound::default();
    install(&mut engine, &called, &exceeded).unwrap();
    engine.add_policy("p.rego".to_owned(), rules.to_owned()).unwrap();
    assert_eq!(engine.eval_rule("data.p.y".to_owned()).ok(), Some(Value::from(1_u64)));
    assert_eq!(exceeded.take().as_deref(), Some("`numbers.range` of too many numbers: at most 10000"));
    assert_eq!(exceeded.take(), None);
}

/// Without a message a rule denies nothing.
#[test]
fn a_verb_that_sprintf_does_not_know_loses_no_denial() {
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(false);
    let rules = "package p\nimport rego.v1\ndeny contains sprintf(\"%s has the mode %#o\", [\"/etc\", 420])\n";
    install(&mut engine, &["sprintf"].into(), &FirstExceededBound::default()).unwrap();
    engine.add_policy("p.rego".to_owned(), rules.to_owned()).unwrap();
    let denied = engine.eval_rule("data.p.deny".to_owned()).unwrap();
    assert_eq!(denied, Value::from(BTreeSet::from([Value::from("/etc has the mode %!o(int64=420)")])));
}

#[test]
fn builtins_are_found_by_their_names() {
    assert!(BUILTINS.len() > 100);
    for builtin in BUILTINS {
        assert_eq!(Builtin::named(builtin.name).map(|found| found.name), Some(builtin.name));
    }
    assert!(Builtin::named("").is_none() && Builtin::named("nope").is_none());
}

#[test]
fn every_guard_is_for_a_builtin_and_takes_what_it_takes() {
    for guard in GUARDS {
        let builtin = Builtin::named(guard.name).unwrap_or_else(|| panic!("{}", guard.name));
        assert_eq!(usize::from(builtin.arguments), guard.takes.len(), "{}", guard.name);
    }
}

/// Seen with Open Policy Agent 1.22.2.
#[test]
fn globs_are_those_of_opa() {
    for (glob, delimiters, text, answer) in [
        ("*.github.com", "[]", "api.github.com", "true"),
        ("*.github.com", "[]", "api.v1.github.com", "false"),
        ("*.github.com", "null", "api.v1.github.com", "true"),
        ("*hub.com", "[\".\"]", "api.cdn.github.com", "false"),
        ("*:github:com", "[\":\"]", "api:github:com", "true"),
        ("api.**.com", "[\".\"]", "api.cdn.github.com", "true"),
        ("?at", "[\"f\"]", "fat", "false"),
        ("?at", "[\"f\"]", "cat", "true"),
        ("a?b", "null", "aéb", "true"),
        ("[abc]at", "[\"a\"]", "aat", "true"),
        ("[!a-c]at", "[]", "dat", "true"),
        ("[!a-c]at", "[]", "cat", "false"),
        ("[\\\\-a]", "[]", "]", "true"),
        ("{cat,b*,[fr]at}", "[]", "rat", "true"),
        ("{cat,b*,[fr]at}", "[]", "bark", "true"),
        ("{a,{b,c}d}e", "[]", "cde", "true"),
        ("{a,}b", "[]", "b", "true"),
        ("a,b}", "[]", "a,b}", "true"),
        ("\\\\*", "[]", "*", "true"),
        ("a*b", "[\"é\"]", "aéb", "false"),
        ("", "[]", "", "true"),
    ] {
        let expression = format!("glob.match(\"{glob}\", {delimiters}, \"{text}\")");
        assert_eq!(guarded(&expression).0, Ok(Value::from_json_str(answer).unwrap()), "{expression}");
    }
    for broken in ["[", "[a", "[]", "[b-a]", "[a-bc]", "{a", "a\\\\"] {
        assert_eq!(guarded(&format!("glob.match(\"{broken}\", [], \"a\")")).0, Ok(Value::Undefined), "{broken}");
    }
    for delimiters in ["[\"ab\"]", "[\"\"]", "[1]", "1"] {
        assert_eq!(guarded(&format!("glob.match(\"a\", {delimiters}, \"a\")")).0, Ok(Value::Undefined), "{delimiters}");
    }
    assert_eq!(
        guarded("glob.quote_meta(\"*.git?hub[a]{b}\\\\\")").0,
        Ok(Value::from("\\*.git\\?hub\\[a\\]\\{b\\}\\\\"))
    );
    // Each character of the string is compared at most once with each of the pattern's.
    let (glob, text) = ("*a".repeat(60), "a".repeat(800));
    assert_eq!(guarded(&format!("glob.match(\"{glob}b\", [], \"{text}\")")).0, Ok(Value::from(false)));
}

/// Seen with Open Policy Agent 1.22.2, on strings that are searched by the engine and on long ones that are searched here.
#[test]
fn patterns_are_those_of_go() {
    for (expression, answer) in [
        ("regex.match(`^\\d$`, \"\u{663}\")", "false"),
        ("regex.match(`^\\w$`, \"é\")", "false"),
        ("regex.match(`^\\s$`, \"\u{a0}\")", "false"),
        ("regex.match(`^[\\w-]+$`, \"a-b\")", "true"),
        ("regex.match(`^[^\\d]$`, \"\u{663}\")", "true"),
        ("regex.match(`^\\D$`, \"\u{663}\")", "true"),
        ("regex.match(`a\\b`, \"aé\")", "true"),
        ("regex.replace(\"aé1\", `\\w`, \"x\")", "\"xéx\""),
        ("regex.split(`\\W`, \"aéb\")", "[\"a\",\"b\"]"),
        ("regex.is_valid(`a{1001}`)", "false"),
        ("regex.is_valid(`a{1000}`)", "true"),
        ("regex.is_valid(`a**`)", "false"),
        ("regex.is_valid(`a*?`)", "true"),
        ("regex.is_valid(`\\Qa.\\E`)", "true"),
        ("regex.match(`^\\Qa.\\E$`, \"ab\")", "false"),
        ("regex.is_valid(`(?x) a b`)", "false"),
        ("regex.match(`(?i)^A$`, \"a\")", "true"),
        ("regex.match(`^(?P<n>a)$`, \"a\")", "true"),
        ("regex.match(`{`, \"{\")", "true"),
        ("regex.match(`^{\"a\": 1}$`, \"{\\\"a\\\": 1}\")", "true"),
        ("regex.match(`^a{,2}$`, \"a{,2}\")", "true"),
        ("regex.match(`^a{2,}$`, \"aaa\")", "true"),
        ("regex.match(`^[[]$`, \"[\")", "true"),
        ("regex.match(`^[]a]$`, \"]\")", "true"),
        ("regex.match(`^[[:alpha:]-]+$`, \"a-\")", "true"),
        ("regex.match(`^[a&&b]+$`, \"a&b\")", "true"),
        ("regex.match(`^\\x{41}\\101$`, \"AA\")", "true"),
        ("regex.match(`^\\p{Greek}$`, \"α\")", "true"),
        ("regex.match(`^a.c$`, \"aéc\")", "true"),
    ] {
        assert_eq!(guarded(expression).0.map(|value| value.to_string()), Ok(answer.to_owned()), "{expression}");
    }
    for expression in ["regex.match(`^[a--b]$`, \"-\")", "regex.match(`\\1`, \"a\")", "regex.match(`(?x) a b`, \"ab\")"]
    {
        assert_eq!(guarded(expression).0, Ok(Value::Undefined), "{expression}");
    }
    // The same where a string is too long for the engine's own search.
    let long = "concat(\"\", [sprintf(\"%05d\", [i]) | i := numbers.range(1, 2000)[_]])";
    assert_eq!(guarded(&format!("regex.match(`\u{663}|\\d{{5}}é`, {long})")).0, Ok(Value::from(false)));
    assert_eq!(guarded(&format!("regex.match(`^\\d+$`, {long})")).0, Ok(Value::from(true)));
}
