//! Builtins of this project's own: those of OPA that the engine lacks, and what only a policy knows.

use super::bounds;
use super::document::set;
use super::first_exceeded_bound::FirstExceededBound;
use super::image_has_prefix::{IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS, image_has_prefix};
use super::image_reference::{IMAGE_REFERENCE, image_reference};
use super::template_string::{TEMPLATE_STRING, template_string};
use crate::Timestamp;
use crate::settings::ImageMatching;
use anyhow::bail;
use regorus::unstable::BUILTINS;
use regorus::{Engine, Extension, Value};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    added("cast_array", 1, |_| Box::new(cast_array)),
    added("time.now_ns", 0, |of| {
        // The time is that of the request, the same in all its rules.
        let nanoseconds = i128::from(of.now.0) * 1_000_000_000;
        Box::new(move |_: Vec<Value>| Ok(Value::from(nanoseconds)))
    }),
    added("net.cidr_contains", 2, |_| Box::new(cidr_contains)),
    added("net.cidr_is_valid", 1, |_| Box::new(cidr_is_valid)),
    added("net.cidr_expand", 1, |of| of.noted(cidr_expand)),
    added(TEMPLATE_STRING, 1, |of| of.noted(|arguments: Vec<Value>| template_string(&arguments))),
    added("result.new", 2, |_| Box::new(new_result)),
    added(IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS, |of| of.noted(image_has_prefix(of.matching))),
    added(IMAGE_REFERENCE, 1, |of| of.noted(|arguments: Vec<Value>| image_reference(&arguments))),
];
/// The most addresses that a range is expanded to, as a power of two.
const MAX_ADDRESS_BITS: u32 = 16;

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

/// An array as it is, a set as an array of its elements.
fn cast_array(mut arguments: Vec<Value>) -> anyhow::Result<Value> {
    match arguments.pop() {
        Some(Value::Set(set)) => Ok(Value::from(set.iter().cloned().collect::<Vec<_>>())),
        Some(array @ Value::Array(_)) => Ok(array),
        _ => Ok(Value::Undefined),
    }
}

/// The result of a check, as Trivy's checks make it: the message, and what caused it, of which only the message counts.
fn new_result(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let [message, _cause] = arguments.as_slice() else { bail!("`result.new` takes a message and a cause") };
    let mut result = Value::new_object();
    set(&mut result, "msg", message.clone());
    Ok(result)
}

/// A range of addresses, `10.0.0.0/8`.
struct Cidr {
    network: IpAddr,
    /// The bits that are the network's.
    prefix: u32,
}

impl Cidr {
    /// Reads a range, and an address alone as the range of that.
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().ok()?;
        let width = width(&network);
        let prefix = prefix.unwrap_or(width);
        (prefix <= width).then_some(Self { network, prefix })
    }

    /// The first address as a number, and the number of addresses less one.
    fn span(&self) -> (u128, u128) {
        let free = width(&self.network) - self.prefix;
        let rest = 1_u128.checked_shl(free).map_or(u128::MAX, |count| count - 1);
        (number(&self.network) & !rest, rest)
    }
}

fn width(address: &IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: &IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(*address)),
        IpAddr::V6(address) => u128::from(*address),
    }
}

/// The range that an argument names, or none, for which a builtin is undefined.
fn range(arguments: &[Value], position: usize) -> Option<Cidr> {
    Cidr::parse(arguments.get(position)?.as_string().ok()?)
}

fn cidr_contains(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let (Some(outer), Some(inner)) = (range(&arguments, 0), range(&arguments, 1)) else { return Ok(Value::Undefined) };
    let ((first, rest), (inner_first, inner_rest)) = (outer.span(), inner.span());
    let contains = outer.network.is_ipv4() == inner.network.is_ipv4()
        && inner_first >= first
        && inner_first.saturating_add(inner_rest) <= first.saturating_add(rest);
    Ok(Value::from(contains))
}

fn cidr_is_valid(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let text = arguments.first().and_then(|argument| argument.as_string().ok());
    Ok(Value::from(text.is_some_and(|text| text.contains('/') && Cidr::parse(text).is_some())))
}

fn cidr_expand(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let Some(cidr) = range(&arguments, 0) else { return Ok(Value::Undefined) };
    let (first, rest) = cidr.span();
    if rest >> MAX_ADDRESS_BITS != 0 {
        let Cidr { network, prefix } = cidr;
        bail!(
            "`net.cidr_expand` of `{network}/{prefix}`: at most 2^{MAX_ADDRESS_BITS} addresses, use `net.cidr_contains`"
        );
    }
    let address = |number: u128| {
        if cidr.network.is_ipv4() {
            Ipv4Addr::from(u32::try_from(number).unwrap_or_default()).to_string()
        } else {
            Ipv6Addr::from(number).to_string()
        }
    };
    let addresses = (0..=rest).map(|step| Value::from(address(first.saturating_add(step))));
    Ok(Value::from(addresses.collect::<BTreeSet<_>>()))
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
