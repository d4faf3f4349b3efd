//! Builtins of this project's own: those of OPA that the engine lacks, and what only a policy knows.

use super::addresses::{cidr_contains, cidr_contains_matches, cidr_expand, cidr_intersects, cidr_is_valid, cidr_merge};
use super::bounds;
use super::deprecated::{self, Kind};
use super::digests;
use super::document::set;
use super::first_exceeded_bound::FirstExceededBound;
use super::graphql;
use super::image_has_prefix::{IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS, image_has_prefix};
use super::image_reference::{IMAGE_REFERENCE, image_reference};
use super::rsa::Hash;
use super::signatures::Algorithm;
use super::template_string::{TEMPLATE_STRING, template_string};
use super::texts;
use super::tokens;
use crate::Timestamp;
use crate::settings::ImageMatching;
use anyhow::bail;
use regorus::unstable::BUILTINS;
use regorus::{Engine, Extension, Value};
use std::collections::BTreeSet;

/// A builtin that is added to the engine's.
struct Added {
    name: &'static str,
    /// How many arguments it takes.
    arguments: u8,
    body: fn(&Surroundings<'_>) -> Box<dyn Extension>,
}

/// What a builtin may need beside its arguments.
struct Surroundings<'a> {
    now: Timestamp,
    matching: ImageMatching,
    exceeded: &'a FirstExceededBound,
}

/// All of them. Deployment looks here too: which names there are, and how many arguments each takes.
const ADDED: &[Added] = &[
    added("re_match", 2, |of| of.noted(|arguments: Vec<Value>| bounds::bounded("regex.match", &arguments))),
    added("cast_array", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast_array(arguments)))),
    added("time.now_ns", 0, |of| {
        // The time is that of the request, the same in all its rules.
        let nanoseconds = i128::from(of.now.0) * 1_000_000_000;
        Box::new(move |_: Vec<Value>| Ok(Value::from(nanoseconds)))
    }),
    added("net.cidr_contains", 2, |_| Box::new(cidr_contains)),
    added("net.cidr_overlap", 2, |_| Box::new(cidr_contains)),
    added("net.cidr_intersects", 2, |_| Box::new(cidr_intersects)),
    added("net.cidr_is_valid", 1, |_| Box::new(cidr_is_valid)),
    added("net.cidr_expand", 1, |of| of.noted(cidr_expand)),
    added("net.cidr_contains_matches", 2, |of| of.noted(cidr_contains_matches)),
    added("net.cidr_merge", 1, |of| of.noted(cidr_merge)),
    added("crypto.md5", 1, |_| Box::new(|arguments: Vec<Value>| Ok(digests::md5(&arguments)))),
    added("crypto.sha1", 1, |_| Box::new(|arguments: Vec<Value>| Ok(digests::sha1(&arguments)))),
    added("crypto.sha256", 1, |_| Box::new(|arguments: Vec<Value>| Ok(digests::sha256(&arguments)))),
    added("crypto.hmac.md5", 2, |_| Box::new(|arguments: Vec<Value>| Ok(digests::hmac_md5(&arguments)))),
    added("crypto.hmac.sha1", 2, |_| Box::new(|arguments: Vec<Value>| Ok(digests::hmac_sha1(&arguments)))),
    added("crypto.hmac.sha256", 2, |_| Box::new(|arguments: Vec<Value>| Ok(digests::hmac_sha256(&arguments)))),
    added("crypto.hmac.sha512", 2, |_| Box::new(|arguments: Vec<Value>| Ok(digests::hmac_sha512(&arguments)))),
    added("crypto.hmac.equal", 2, |_| Box::new(|arguments: Vec<Value>| Ok(digests::equal(&arguments)))),
    added("io.jwt.decode", 1, |of| of.noted(|arguments: Vec<Value>| tokens::decode(&arguments))),
    added("io.jwt.decode_verify", 2, |of| {
        let now = of.now;
        of.noted(move |arguments: Vec<Value>| tokens::decode_verify(now, &arguments))
    }),
    added("io.jwt.encode_sign", 3, |of| of.noted(|arguments: Vec<Value>| tokens::encode_sign(&arguments))),
    added("io.jwt.encode_sign_raw", 3, |of| of.noted(|arguments: Vec<Value>| tokens::encode_sign_raw(&arguments))),
    added("io.jwt.verify_hs256", 2, |of| of.code(Hash::Sha256)),
    added("io.jwt.verify_hs384", 2, |of| of.code(Hash::Sha384)),
    added("io.jwt.verify_hs512", 2, |of| of.code(Hash::Sha512)),
    added("io.jwt.verify_rs256", 2, |of| of.signature(Algorithm::Rsa(Hash::Sha256))),
    added("io.jwt.verify_rs384", 2, |of| of.signature(Algorithm::Rsa(Hash::Sha384))),
    added("io.jwt.verify_rs512", 2, |of| of.signature(Algorithm::Rsa(Hash::Sha512))),
    added("io.jwt.verify_ps256", 2, |of| of.signature(Algorithm::RsaPss(Hash::Sha256))),
    added("io.jwt.verify_ps384", 2, |of| of.signature(Algorithm::RsaPss(Hash::Sha384))),
    added("io.jwt.verify_ps512", 2, |of| of.signature(Algorithm::RsaPss(Hash::Sha512))),
    added("io.jwt.verify_es256", 2, |of| of.signature(Algorithm::Elliptic(Hash::Sha256))),
    added("io.jwt.verify_es384", 2, |of| of.signature(Algorithm::Elliptic(Hash::Sha384))),
    added("io.jwt.verify_es512", 2, |of| of.signature(Algorithm::Elliptic(Hash::Sha512))),
    added("io.jwt.verify_eddsa", 2, |of| of.signature(Algorithm::Ed25519)),
    added("strings.split_n", 3, |of| of.noted(|arguments: Vec<Value>| texts::split_n(&arguments))),
    added("array.flatten", 1, |of| of.noted(|arguments: Vec<Value>| texts::flatten(&arguments))),
    added("graphql.is_valid", 2, |of| of.noted(|arguments: Vec<Value>| graphql::is_valid(&arguments))),
    added("graphql.parse", 2, |of| of.noted(|arguments: Vec<Value>| graphql::parse(&arguments))),
    added("graphql.parse_and_verify", 2, |of| of.noted(|arguments: Vec<Value>| graphql::parse_and_verify(&arguments))),
    added("graphql.parse_query", 1, |of| of.noted(|arguments: Vec<Value>| graphql::parse_query_text(&arguments))),
    added("graphql.parse_schema", 1, |of| of.noted(|arguments: Vec<Value>| graphql::parse_schema_text(&arguments))),
    added("graphql.schema_is_valid", 1, |of| of.noted(|arguments: Vec<Value>| graphql::schema_is_valid(&arguments))),
    added("any", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::any(&arguments)))),
    added("all", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::all(&arguments)))),
    added("set_diff", 2, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::set_diff(&arguments)))),
    added("cast_set", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast_set(arguments)))),
    added("cast_string", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast(arguments, Kind::Text)))),
    added("cast_boolean", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast(arguments, Kind::Boolean)))),
    added("cast_null", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast(arguments, Kind::Null)))),
    added("cast_object", 1, |_| Box::new(|arguments: Vec<Value>| Ok(deprecated::cast(arguments, Kind::Object)))),
    added(TEMPLATE_STRING, 1, |of| of.noted(|arguments: Vec<Value>| template_string(&arguments))),
    added("result.new", 2, |_| Box::new(new_result)),
    added(IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS, |of| of.noted(image_has_prefix(of.matching))),
    added(IMAGE_REFERENCE, 1, |of| of.noted(|arguments: Vec<Value>| image_reference(&arguments))),
];

const fn added(name: &'static str, arguments: u8, body: fn(&Surroundings<'_>) -> Box<dyn Extension>) -> Added {
    Added { name, arguments, body }
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
    let surroundings = Surroundings { now, matching, exceeded };
    for Added { name, arguments, body } in ADDED.iter().filter(|added| called.contains(added.name)) {
        engine.add_extension((*name).to_owned(), *arguments, body(&surroundings))?;
    }
    Ok(())
}

impl Surroundings<'_> {
    /// The engine drops an error inside of a function if another definition of that function has an answer.
    fn noted(
        &self,
        mut builtin: impl FnMut(Vec<Value>) -> anyhow::Result<Value> + Clone + Send + Sync + 'static,
    ) -> Box<dyn Extension> {
        let exceeded = self.exceeded.clone();
        Box::new(move |arguments: Vec<Value>| builtin(arguments).inspect_err(|error| exceeded.note(&error.to_string())))
    }

    fn code(&self, hash: Hash) -> Box<dyn Extension> {
        self.noted(move |arguments: Vec<Value>| tokens::verify_code(hash, &arguments))
    }

    fn signature(&self, algorithm: Algorithm) -> Box<dyn Extension> {
        self.noted(move |arguments: Vec<Value>| tokens::verify(algorithm, &arguments))
    }
}

/// Whether there is a builtin of this name.
pub(crate) fn exists(name: &str) -> bool {
    arguments(name).is_some()
}

/// How many arguments a builtin takes; one more may take its value.
pub(crate) fn arguments(name: &str) -> Option<usize> {
    let added = ADDED.iter().find(|added| added.name == name).map(|added| added.arguments);
    added.or_else(|| BUILTINS.get(name).map(|(_, arguments)| *arguments)).map(usize::from)
}

/// The names of all builtins.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ADDED.iter().map(|added| added.name).chain(BUILTINS.keys().copied())
}

/// The result of a check, as Trivy's checks make it: the message, and what caused it, of which only the message counts.
fn new_result(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let [message, _cause] = arguments.as_slice() else { bail!("`result.new` takes a message and a cause") };
    let mut result = Value::new_object();
    set(&mut result, "msg", message.clone());
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let guide = include_str!("../../../../../docs/rego.md");
        for Added { name, .. } in ADDED.iter().filter(|added| !added.name.starts_with("internal.")) {
            let is_named = guide.contains(&format!("`{name}`")) || guide.contains(&format!("`{name}("));
            assert!(is_named, "docs/rego.md doesn't name `{name}`");
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
            error.ends_with("`net.cidr_expand` of `10.0.0.0/8`: at most 2^16 addresses, use `net.cidr_contains`"),
            "{error}"
        );
    }
}
