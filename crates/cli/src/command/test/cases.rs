//! Tests of several cases, `test_x[name] if { … }`: a rule that is true for the name of each case that holds. A case that
//! doesn't hold is not in the rule's value. So the names are asked for apart, by the rule's body up to where they are known.

use regorus::Value;
use regorus::unstable::{Expr, Module, Rule, RuleBody, RuleHead};

use super::rules::{dotted, keys};
use crate::command::rego::{Failure, Program, failure};

/// The rule that the names are asked by.
const NAMES: &str = "names_of_image_admission";

/// The keys behind the name of a rule that has cases, as they are written.
pub(super) fn keys_of_cases(rule: &Rule) -> Option<Vec<String>> {
    let Rule::Spec { head: RuleHead::Compr { refr, .. }, .. } = rule else { return None };
    let own = keys(refr).len();
    let written = written(refr);
    (written.len() > own).then(|| written.into_iter().skip(own).collect())
}

/// What a reference is made of, as it is written in Rego.
fn written(refr: &Expr) -> Vec<String> {
    let (refr, key) = match refr {
        Expr::RefDot { refr, field, .. } => (refr, format!("{:?}", field.0.text())),
        Expr::RefBrack { refr, index, .. } => (refr, index.span().text().to_owned()),
        root => return vec![root.span().text().to_owned()],
    };
    let mut all = written(refr);
    all.push(key);
    all
}

/// The cases that don't hold: those that `value` has and that aren't true, and those that it doesn't have.
pub(super) fn failing(
    program: &Program,
    module: &Module,
    rule: &Rule,
    keys_of_cases: &[String],
    value: &Value,
) -> Result<Vec<String>, Failure> {
    let mut failing = Vec::new();
    untrue(value, &mut Vec::new(), &mut failing);
    let Rule::Spec { bodies, .. } = rule else { return Ok(failing) };
    for body in bodies {
        for names in names(program, module, body, keys_of_cases)? {
            let is_there = names.iter().try_fold(value, |value, name| value.as_object().ok()?.get(name)).is_some();
            let name = joined(&names);
            if !is_there && !failing.contains(&name) {
                failing.push(name);
            }
        }
    }
    Ok(failing)
}

/// The names of what isn't true in the rule's value.
fn untrue(value: &Value, above: &mut Vec<Value>, found: &mut Vec<String>) {
    match value {
        Value::Undefined | Value::Bool(true) => {}
        Value::Object(cases) => {
            for (name, value) in cases.iter() {
                above.push(name.clone());
                untrue(value, above, found);
                above.pop();
            }
        }
        _ => found.push(joined(above)),
    }
}

fn joined(names: &[Value]) -> String {
    let name = |name: &Value| name.as_string().map_or_else(|_| name.to_string(), ToString::to_string);
    names.iter().map(name).collect::<Vec<_>>().join("/")
}

/// The names of all cases of one body.
fn names(program: &Program, module: &Module, body: &RuleBody, keys: &[String]) -> Result<Vec<Vec<Value>>, Failure> {
    let statements: Vec<&str> = body.query.stmts.iter().map(|statement| statement.span.text()).collect();
    let mut problem = None;
    // A word of the keys may stand in a text, or before anything binds it. Then more of the body is needed.
    for end in known_after(&statements, keys)..=statements.len() {
        let Some(statements) = statements.get(..end) else { break };
        let mut engine = program.engine();
        let asked = engine.add_policy(NAMES.to_owned(), text(module, statements, keys)).and_then(|_| {
            let package = dotted("data", &self::keys(&module.package.refr));
            engine.eval_rule(format!("{package}.{NAMES}"))
        });
        match asked {
            Ok(value) => {
                let names = |names: &Value| names.as_array().map(|names| names.to_vec()).unwrap_or_default();
                return Ok(value.as_set().map(|cases| cases.iter().map(names).collect()).unwrap_or_default());
            }
            Err(error) => problem = Some(failure!(error)),
        }
    }
    problem.map_or_else(|| Ok(Vec::new()), Err)
}

/// A module that has the names in a set.
fn text(module: &Module, statements: &[&str], keys: &[String]) -> String {
    let mut text = format!("package {}\n", dotted("", &self::keys(&module.package.refr)));
    for import in &module.imports {
        text.push_str(&format!("import {}", dotted("", &self::keys(&import.refr))));
        if let Some(name) = &import.r#as {
            text.push_str(&format!(" as {}", name.text()));
        }
        text.push('\n');
    }
    let names = keys.join(", ");
    match module.rego_v1 {
        true => text.push_str(&format!("{NAMES} contains [{names}] if {{\n")),
        false => text.push_str(&format!("{NAMES}[[{names}]] {{\n")),
    }
    for statement in statements {
        text.push_str(statement);
        text.push('\n');
    }
    // A body has at least one statement, and keys that are no variables are known before all.
    text.push_str("true\n}\n");
    text
}

/// How many statements have to be read until each word of the keys was in one of them.
fn known_after(statements: &[&str], keys: &[String]) -> usize {
    let first = |word: &str| statements.iter().position(|statement| words(statement).any(|other| other == word));
    keys.iter().flat_map(|key| words(key)).filter_map(first).map(|index| index + 1).max().unwrap_or_default()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').filter(|word| !word.is_empty())
}
