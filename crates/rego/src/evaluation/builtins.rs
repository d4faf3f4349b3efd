//! Builtins of this project's own: those of OPA that the engine lacks, and what only a policy knows.

use super::addresses::{cidr_contains, cidr_contains_matches, cidr_expand, cidr_intersects, cidr_is_valid, cidr_merge};
use super::bounds;
use super::deprecated;
use super::digests;
use super::document::set;
use super::first_exceeded_bound::FirstExceededBound;
use super::image_has_prefix::{ComparedImages, IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS};
use super::image_reference::{IMAGE_REFERENCE, image_reference};
use super::template_string::{TEMPLATE_STRING, template_string};
use anyhow::bail;
use image_admission_settings::ImageMatching;
use image_admission_untrusted::time::Timestamp;
use regorus::unstable::{BUILTINS, Builtin};
use regorus::{Engine, Value};
use std::collections::BTreeSet;

/// A builtin that is added to the engine's.
struct Added {
    name: &'static str,
    /// How many arguments it takes.
    arguments: u8,
    answer: fn(&mut Surroundings, Vec<Value>) -> anyhow::Result<Value>,
}

/// What a builtin may need beside its arguments.
#[derive(Clone)]
struct Surroundings {
    now: Timestamp,
    images: ComparedImages,
}

/// All of them. Deployment reads their names and numbers of arguments here too.
const ADDED: &[Added] = &[
    added("re_match", 2, |_, arguments| bounds::bounded("regex.match", &arguments)),
    added("cast_array", 1, |_, arguments| Ok(deprecated::cast_array(arguments))),
    added("time.now_ns", 0, |of, _| {
        // The time is that of the request, the same in all its rules.
        Ok(Value::from(i128::from(of.now.0) * 1_000_000_000))
    }),
    added("net.cidr_contains", 2, |_, arguments| cidr_contains(arguments)),
    added("net.cidr_overlap", 2, |_, arguments| cidr_contains(arguments)),
    added("net.cidr_intersects", 2, |_, arguments| cidr_intersects(arguments)),
    added("net.cidr_is_valid", 1, |_, arguments| cidr_is_valid(arguments)),
    added("net.cidr_expand", 1, |_, arguments| cidr_expand(arguments)),
    added("net.cidr_contains_matches", 2, |_, arguments| cidr_contains_matches(arguments)),
    added("net.cidr_merge", 1, |_, arguments| cidr_merge(arguments)),
    added("crypto.sha256", 1, |_, arguments| Ok(digests::sha256(&arguments))),
    added("any", 1, |_, arguments| Ok(deprecated::any(&arguments))),
    added("all", 1, |_, arguments| Ok(deprecated::all(&arguments))),
    added("set_diff", 2, |_, arguments| Ok(deprecated::set_diff(&arguments))),
    added("cast_set", 1, |_, arguments| Ok(deprecated::cast_set(arguments))),
    added(TEMPLATE_STRING, 1, |_, arguments| template_string(&arguments)),
    added("result.new", 2, |_, arguments| new_result(&arguments)),
    added(IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS, |of, arguments| of.images.have_prefix(&arguments)),
    added(IMAGE_REFERENCE, 1, |_, arguments| image_reference(&arguments)),
];

const fn added(
    name: &'static str,
    arguments: u8,
    answer: fn(&mut Surroundings, Vec<Value>) -> anyhow::Result<Value>,
) -> Added {
    Added { name, arguments, answer }
}

/// Adds those that the modules call. Their errors are noted: see [`FirstExceededBound`].
///
/// # Errors
/// One is there already, which is a bug here.
pub(super) fn install(
    engine: &mut Engine,
    called: &BTreeSet<&str>,
    now: Timestamp,
    matching: ImageMatching,
    exceeded: &FirstExceededBound,
) -> anyhow::Result<()> {
    let surroundings = Surroundings { now, images: ComparedImages::new(matching) };
    for &Added { name, arguments, answer } in ADDED.iter().filter(|added| called.contains(added.name)) {
        let (exceeded, mut surroundings) = (exceeded.clone(), surroundings.clone());
        // One kind of extension for all: each kind has functions of its own in the module's table.
        let call = move |given: Vec<Value>| -> anyhow::Result<Value> {
            // The engine drops an error inside of a function if another definition of that function has an answer.
            answer(&mut surroundings, given).inspect_err(|error| exceeded.note(&error.to_string()))
        };
        engine.add_extension(name.to_owned(), arguments, Box::new(call))?;
    }
    Ok(())
}

/// Whether there is a builtin of this name. `print` stands in the language itself, and takes any number of arguments.
pub fn exists(name: &str) -> bool {
    name == "print" || Builtin::named(name).is_some() || ADDED.iter().any(|added| added.name == name)
}

/// How many arguments a builtin takes; one more may take its value.
pub fn arguments(name: &str) -> Option<usize> {
    let added = ADDED.iter().find(|added| added.name == name).map(|added| added.arguments);
    added.or_else(|| Builtin::named(name).map(|builtin| builtin.arguments)).map(usize::from)
}

/// The names of the builtins that regorus lacks.
pub(crate) fn added_names() -> impl Iterator<Item = &'static str> {
    ADDED.iter().map(|added| added.name)
}

/// The names of all builtins.
pub fn names() -> impl Iterator<Item = &'static str> {
    added_names().chain(BUILTINS.iter().map(|builtin| builtin.name))
}

/// The result of a check, as Trivy's checks make it: the message and its cause, of which only the message counts.
fn new_result(arguments: &[Value]) -> anyhow::Result<Value> {
    let [message, _cause] = arguments else { bail!("`result.new` takes a message and a cause") };
    let mut result = Value::new_object();
    set(&mut result, "msg", message.clone());
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Evaluator, ModuleText};
    use super::*;
    use image_admission_settings::RegoVersion;
    use regorus::Engine;

    fn value(expression: &str) -> Result<Value, String> {
        let mut engine = Engine::new();
        let called = names().filter(|name| expression.contains(name)).collect();
        install(
            &mut engine,
            &called,
            Timestamp(1_700_000_000),
            ImageMatching::Canonical,
            &FirstExceededBound::default(),
        )
        .unwrap();
        engine.add_policy("p.rego".to_owned(), format!("package p\nx := {expression}\n")).unwrap();
        engine.eval_rule("data.p.x".to_owned()).map_err(|error| super::super::evaluator::one_line(&error))
    }

    #[test]
    fn what_the_engine_lacks_answers_as_in_opa() {
        for (expression, json) in [
            ("re_match(\"^a+$\", \"aa\")", "true"),
            ("re_match(\"^a+$\", \"b\")", "false"),
            ("cast_array({2, 1})", "[1, 2]"),
            ("cast_array([2, 1])", "[2, 1]"),
            ("time.now_ns()", "1700000000000000000"),
            ("net.cidr_contains(\"10.0.0.0/8\", \"10.1.2.3\")", "true"),
            ("net.cidr_contains(\"10.0.0.0/8\", \"10.0.0.0/7\")", "false"),
            ("net.cidr_contains(\"10.0.0.0/8\", \"::1\")", "false"),
            ("net.cidr_contains(\"fd00::/8\", \"fd00:1::/64\")", "true"),
            ("net.cidr_is_valid(\"10.0.0.0/33\")", "false"),
            ("net.cidr_is_valid(\"::/0\")", "true"),
            ("count(net.cidr_expand(\"10.0.0.1/30\"))", "4"),
            ("result.new(\"m\", {\"a\": 1}).msg", "\"m\""),
            ("image_has_prefix(\"nginx\", \"docker.io/\", \"accept\")", "true"),
            ("image_reference(\"nginx\").tag", "\"latest\""),
        ] {
            assert_eq!(value(expression), Ok(Value::from_json_str(json).unwrap()), "{expression}");
        }
    }

    #[test]
    fn the_guide_names_each_of_them() {
        let guide = include_str!("../../../../docs/rego-reference.md");
        for Added { name, .. } in ADDED.iter().filter(|added| !added.name.starts_with("internal.")) {
            let is_named = guide.contains(&format!("`{name}`")) || guide.contains(&format!("`{name}("));
            assert!(is_named, "docs/rego-reference.md doesn't name `{name}`");
        }
    }

    #[test]
    fn without_an_answer_they_are_undefined() {
        for expression in
            ["re_match(1, \"a\")", "cast_array(1)", "net.cidr_contains(\"a\", \"b\")", "net.cidr_expand(1)"]
        {
            assert_eq!(value(expression), Ok(Value::Undefined), "{expression}");
        }
        let error = value("net.cidr_expand(\"10.0.0.0/8\")").unwrap_err();
        assert!(
            error.ends_with("`net.cidr_expand` of 2^24 addresses: at most 2^16, use `net.cidr_contains`"),
            "{error}"
        );
    }

    /// Missing functions are refused when the policy is deployed. Rules that weren't checked fail, and give no answer.
    #[test]
    fn what_is_not_there_fails() {
        for rules in [
            "x if io.jwt.decode(\"a\")",
            "x if not io.jwt.decode(\"a\")",
            "x if not io.jwt.decode(input.missing)",
            "x := [1 | io.jwt.decode(\"a\")]",
            "x if true with io.jwt.decode as 1",
            "x if not count([]) with count as io.jwt.decode",
            "x if f(1)\nf(y) if io.jwt.decode(y)\nf(y) := true",
            "x if { every y in [1] { graphql.parse(y, y) } }",
            "default x := 1\nx := 2 if io.jwt.decode(\"a\")",
            "x := 2 if io.jwt.decode(\"a\") else := 1",
        ] {
            let budget = Budget::unlimited();
            let mut evaluator = Evaluator::new(&budget);
            let rego = format!("package p\n{rules}\n");
            let facts = evaluator.load(&ModuleText { name: "p", rego: &rego, version: RegoVersion::V1 }).unwrap();
            let extended = evaluator.extend(&[facts], Timestamp(0), ImageMatching::Canonical);
            let answer = extended.and_then(|()| evaluator.rule("data.p.x"));
            assert!(answer.is_err(), "{rules}: {answer:?}");
        }
    }

    /// No error of a builtin repeats its arguments: they may come from a Secret.
    #[test]
    fn no_error_has_a_word_of_what_was_given() {
        const MARKS: [&str; 6] = ["hunter2", "31337", "4242424242", "10.42", "xyzzy", "Tr0ub4dor"];
        let given = [
            r#""hunter2""#,
            r#""31337e2000000000""#,
            r#""31337e-2000000000""#,
            "4242424242",
            r#""10.42.0.0/8""#,
            r#""(xyzzy{1000}){1000}""#,
            r#""reg.io/Tr0ub4dor""#,
            r#""{\"hunter2\": 1e400}""#,
            r#"["hunter2"]"#,
            r#"{"hunter2": "hunter2"}"#,
            "-31337.5",
            "null",
        ];
        let values: Vec<Value> = given.iter().map(|json| Value::from_json_str(json).unwrap()).collect();
        let mut errors = 0;
        for name in names().filter(|name| !name.starts_with("internal.") && *name != "rand.intn" && *name != "print") {
            let count = arguments(name).unwrap();
            let mut engine = Engine::new();
            engine.set_strict_builtin_errors(false);
            let (called, exceeded) = (BTreeSet::from([name]), FirstExceededBound::default());
            install(&mut engine, &called, Timestamp(1_700_000_000), ImageMatching::Canonical, &exceeded).unwrap();
            super::super::bounds::install(&mut engine, &called, &exceeded).unwrap();
            let list: Vec<String> = (0..count).map(|position| format!("input[{position}]")).collect();
            let rule = format!("package p\nx := {name}({})\n", list.join(", "));
            if engine.add_policy("p.rego".to_owned(), rule).is_err() {
                continue;
            }
            // Each in every place, beside itself and beside the first.
            for (place, number) in (0..=count).flat_map(|place| (0..values.len()).map(move |number| (place, number))) {
                let chosen = (0..count).map(|own| if place == count || own == place { number } else { 0 });
                let input: Vec<Value> = chosen.map(|number| values[number].clone()).collect();
                engine.set_input(Value::from(input.clone()));
                let failed = engine.eval_rule("data.p.x".to_owned()).err();
                let told = failed.map(|error| super::super::evaluator::one_line(&error));
                for error in told.into_iter().chain(exceeded.take()) {
                    let repeated = MARKS.iter().find(|mark| error.contains(**mark));
                    assert_eq!(repeated, None, "{name} of {input:?}: {error}");
                    errors += 1;
                }
            }
        }
        assert!(errors > 50, "{errors}");
    }
}
