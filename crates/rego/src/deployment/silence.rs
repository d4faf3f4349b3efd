//! Denials that a missing field silences. As in OPA ([opa#1877](https://github.com/open-policy-agent/opa/issues/1877)), the
//! arguments of a negated call are evaluated before the `not`. Where one is missing, the rule says nothing.
//!
//! Only rules that lead to a denial are checked: below another `not`, a rule that says nothing denies.

use super::recursion::Graph;
use super::scope::{Path, Scope, declared, package, pattern, rule_path, spelled};
use crate::evaluation::module::Place;
use regorus::unstable::{AssignOp, BoolOp, Expr, ExprRef, Literal, Module, Query, Ref, Rule, RuleHead};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Fields that the API server requires or sets, wherever they are known. A rule can rely on them.
const REQUIRED: [&str; 7] = ["apiVersion", "image", "kind", "metadata", "name", "namespace", "operation"];

/// A reference below a `not`. Where it has no value, nothing is denied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Silence {
    /// The module that it stands in.
    pub(super) file: String,
    pub(super) place: Place,
    /// `params.ranges`, as it is written.
    pub(super) reference: String,
}

/// What happens there, and what to write instead.
impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = &self.reference;
        write!(
            f,
            "it rejects nothing where `{reference}` is missing: that is evaluated before the `not`; negate a rule that \
             evaluates it, or use `object.get`"
        )
    }
}

/// Every place of these modules where a missing field silences a denial. `is_denial` tells by its name whether a rule of the first
/// module denies; `parameters` are what rules see as `input.parameters`.
pub(super) fn silences(
    modules: &[Ref<Module>],
    is_denial: impl Fn(&str) -> bool,
    parameters: Option<&Value>,
) -> BTreeSet<Silence> {
    let graph = Graph::new(modules);
    let known = graph.known();
    let values = with_a_value(modules);
    let first = modules.first().map(|module| package(module)).unwrap_or_default();
    let denials = known.iter().filter(|rule| {
        rule.strip_prefix(first.as_slice()).and_then(<[String]>::first).is_some_and(|name| is_denial(name))
    });
    let denying = reached(&graph, denials);
    let mut found = BTreeSet::new();
    for module in modules {
        let package = package(module);
        let scope = Scope::new(module, &known);
        for rule in &module.policy {
            let Rule::Spec { head, bodies, .. } = rule.as_ref() else { continue };
            if !denying.contains(&rule_path(&package, rule)) {
                continue;
            }
            let (arguments, key, value): (&[_], _, _) = match head {
                RuleHead::Set { key, .. } => (&[], key.as_ref(), None),
                RuleHead::Compr { assign, .. } => (&[], None, assign.as_ref()),
                RuleHead::Func { args, assign, .. } => (args, None, assign.as_ref()),
            };
            let mut local = BTreeSet::new();
            arguments.iter().for_each(|argument| pattern(argument, &mut local));
            let aliases = BTreeMap::new();
            let mut looked = Looked { scope: &scope, values: &values, parameters, local, aliases, found: &mut found };
            bodies.iter().for_each(|body| looked.query(&body.query));
            let assigned = value.into_iter().chain(bodies.iter().filter_map(|body| body.assign.as_ref()));
            assigned.map(|assign| &assign.value).chain(key).for_each(|value| looked.nested(value));
        }
    }
    found
}

/// The rules that lead to a denial: needed by one outside of `not`, or below an even number of `not`.
fn reached<'g>(graph: &'g Graph, denials: impl Iterator<Item = &'g Path>) -> BTreeSet<&'g Path> {
    let mut seen: BTreeSet<(&Path, bool)> = BTreeSet::new();
    let mut open: Vec<(&Path, bool)> = denials.map(|rule| (rule, true)).collect();
    while let Some((rule, denies)) = open.pop() {
        if seen.insert((rule, denies))
            && let Some(needed) = graph.needed(rule)
        {
            open.extend(needed.plain.iter().map(|next| (next, denies)));
            open.extend(needed.negated.iter().map(|next| (next, !denies)));
        }
    }
    seen.into_iter().filter_map(|(rule, denies)| denies.then_some(rule)).collect()
}

/// The rules that have a value whatever the input has: sets, objects, and those with a default or without a body.
fn with_a_value(modules: &[Ref<Module>]) -> BTreeSet<Path> {
    let mut paths = BTreeSet::new();
    for module in modules {
        let package = package(module);
        let rules = module.policy.iter().filter(|rule| has_always_a_value(rule));
        paths.extend(rules.map(|rule| rule_path(&package, rule)));
    }
    paths
}

fn has_always_a_value(rule: &Rule) -> bool {
    match rule {
        Rule::Default { .. } | Rule::Spec { head: RuleHead::Set { .. }, .. } => true,
        Rule::Spec { head: RuleHead::Compr { refr, assign, .. }, bodies, .. } => {
            let mut values = assign.iter().chain(bodies.iter().filter_map(|body| body.assign.as_ref()));
            matches!(refr.as_ref(), Expr::RefBrack { .. })
                || bodies.iter().all(|body| body.query.stmts.is_empty())
                    && values.all(|assign| is_written_out(&assign.value))
        }
        Rule::Spec { .. } => false,
    }
}

/// Whether an expression has a value whatever the input has.
fn is_written_out(expr: &Expr) -> bool {
    match expr {
        Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } | Expr::Call { .. } => false,
        _ => parts(expr).into_iter().all(|part| is_written_out(part)),
    }
}

/// A rule that is checked.
struct Looked<'m> {
    scope: &'m Scope<'m>,
    /// Rules that have a value always.
    values: &'m BTreeSet<Path>,
    parameters: Option<&'m Value>,
    /// The variables of bodies, and arguments: they hide rules of the same name.
    local: BTreeSet<String>,
    /// Variables that stand for a part of the input.
    aliases: BTreeMap<String, Path>,
    found: &'m mut BTreeSet<Silence>,
}

impl Looked<'_> {
    fn query(&mut self, query: &Query) {
        declared(query, &mut self.local);
        for statement in &query.stmts {
            match &statement.literal {
                // With `with`, the rule says which fields there are.
                Literal::NotExpr { expr, .. } if statement.with_mods.is_empty() => self.negated(expr),
                Literal::NotExpr { .. } | Literal::SomeVars { .. } => {}
                Literal::Expr { expr, .. } => {
                    self.alias(expr);
                    self.nested(expr);
                }
                Literal::SomeIn { collection, .. } => self.nested(collection),
                Literal::Every { key, value, domain, query, .. } => {
                    self.local.extend(key.iter().chain([value]).map(|name| name.text().to_owned()));
                    self.nested(domain);
                    self.query(query);
                }
            }
        }
    }

    /// `params := input.parameters`
    fn alias(&mut self, expr: &Expr) {
        if let Expr::AssignExpr { op: AssignOp::ColEq, lhs, rhs, .. } = expr
            && let (Some(name), _, _) = spelled(lhs)
            && let Some(path) = self.path(rhs)
        {
            self.aliases.insert(name, path);
        }
    }

    /// The path of a reference below `input`, if all of it is written out.
    fn path(&self, reference: &Expr) -> Option<Path> {
        let (root, fields, is_whole) = spelled(reference);
        let root = root.filter(|_| is_whole)?;
        let start = if root == "input" { vec![root] } else { self.aliases.get(&root)?.clone() };
        Some(start.into_iter().chain(fields).collect())
    }

    /// Bodies within an expression that isn't negated.
    fn nested(&mut self, expr: &Expr) {
        match expr {
            Expr::ArrayCompr { query, .. } | Expr::SetCompr { query, .. } | Expr::ObjectCompr { query, .. } => {
                self.query(query);
            }
            _ => parts(expr).into_iter().for_each(|part| self.nested(part)),
        }
    }

    /// What is evaluated before the `not`: operands of calls and operators, sides of an equality that are no references, and what
    /// stands in brackets.
    fn negated(&mut self, expr: &ExprRef) {
        match expr.as_ref() {
            Expr::BoolExpr { op: BoolOp::Eq, lhs, rhs, .. } | Expr::AssignExpr { lhs, rhs, .. } => {
                [lhs, rhs].into_iter().for_each(|side| match side.as_ref() {
                    Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => self.brackets(side),
                    _ => self.operand(side),
                });
            }
            Expr::Call { params, .. } => params.iter().for_each(|operand| self.operand(operand)),
            Expr::BoolExpr { .. }
            | Expr::ArithExpr { .. }
            | Expr::BinExpr { .. }
            | Expr::Membership { .. }
            | Expr::UnaryExpr { .. } => parts(expr).into_iter().for_each(|operand| self.operand(operand)),
            _ => self.brackets(expr),
        }
    }

    fn brackets(&mut self, reference: &Expr) {
        match reference {
            Expr::RefDot { refr, .. } => self.brackets(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.brackets(refr);
                self.operand(index);
            }
            _ => {}
        }
    }

    fn operand(&mut self, operand: &ExprRef) {
        match operand.as_ref() {
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                if self.may_be_missing(operand) {
                    let span = start(operand).span();
                    self.found.insert(Silence {
                        file: span.source.get_path().clone(),
                        place: Place { line: span.line, column: span.col },
                        reference: operand.span().text().to_owned(),
                    });
                }
                self.brackets(operand);
            }
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. } => {}
            _ => parts(operand).into_iter().for_each(|part| self.operand(part)),
        }
    }

    fn may_be_missing(&self, reference: &Expr) -> bool {
        let (root, fields, _) = spelled(reference);
        let Some(root) = root else { return false };
        let rules = self.scope.rules(reference, |name| self.local.contains(name));
        if !rules.is_empty() {
            return !rules.iter().any(|rule| self.values.contains(rule));
        }
        // A variable has a value, or the body would end before this.
        if !matches!(reference, Expr::RefDot { .. } | Expr::RefBrack { .. }) || root == "data" && fields.is_empty() {
            return false;
        }
        if let Expr::RefDot { field: (_, regorus::Value::String(field)), .. } = reference
            && REQUIRED.contains(&&**field)
        {
            return false;
        }
        match self.path(reference).as_deref() {
            Some([input, parameters, rest @ ..]) if input == "input" && parameters == "parameters" => {
                let found = self.parameters.and_then(|given| rest.iter().try_fold(given, |value, key| value.get(key)));
                found.is_none()
            }
            _ => true,
        }
    }
}

/// Where a reference begins: its span is at its last dot.
fn start(reference: &Expr) -> &Expr {
    match reference {
        Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } => start(refr),
        other => other,
    }
}

/// The expressions that an expression is made of.
fn parts(expr: &Expr) -> Vec<&ExprRef> {
    match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().collect(),
        Expr::Object { fields, .. } => fields.iter().flat_map(|(_, key, value)| [key, value]).collect(),
        Expr::Call { params, .. } => params.iter().collect(),
        Expr::UnaryExpr { expr, .. } => vec![expr],
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => vec![lhs, rhs],
        Expr::Membership { key, value, collection, .. } => key.iter().chain([value, collection]).collect(),
        Expr::RefBrack { refr, index, .. } => vec![refr, index],
        Expr::RefDot { refr, .. } => vec![refr],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;
    use serde_json::json;

    #[track_caller]
    fn check(texts: &[&str], expected: &[&str]) {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        for (index, text) in texts.iter().enumerate() {
            engine.add_policy(format!("{index}.rego"), (*text).to_owned()).unwrap();
        }
        let parameters = json!({"prefix": "a", "limits": {"cpu": 1}});
        let found = silences(engine.get_modules(), |rule| rule == "deny", Some(&parameters));
        let found: Vec<String> = found
            .iter()
            .map(|silence| {
                let Silence { file, place, reference } = silence;
                let at = texts[usize::from(file == "1.rego")].lines().nth(place.line as usize - 1).unwrap();
                assert!(at.get(place.column as usize - 1..).unwrap().starts_with(reference), "{place:?}");
                format!("{file} {}: {reference}", place.line)
            })
            .collect();
        assert_eq!(found, expected, "{texts:?}");
    }

    #[test]
    fn what_is_evaluated_before_a_negation() {
        for (body, expected) in [
            ("not startswith(input.spec.host, \"a\")", vec!["0.rego 2: input.spec.host"]),
            ("not input.spec.replicas > 1", vec!["0.rego 2: input.spec.replicas"]),
            ("not 1 < input.spec.replicas + 1", vec!["0.rego 2: input.spec.replicas"]),
            ("not input.spec.names & {1} == {1}", vec!["0.rego 2: input.spec.names"]),
            ("not f({\"a\": [input.spec.b]})", vec!["0.rego 2: input.spec.b"]),
            ("not input.known[input.spec.b]", vec!["0.rego 2: input.spec.b"]),
            ("not f(input[\"spec\"][\"host\"])", vec!["0.rego 2: input[\"spec\"][\"host\"]"]),
            ("not startswith(lower(input.spec.host), \"a\")", vec!["0.rego 2: input.spec.host"]),
            ("c := input.cs[_]; not startswith(c.user, \"a\")", vec!["0.rego 2: c.user"]),
            ("count([1 | not f(input.spec.host)]) > 0", vec!["0.rego 2: input.spec.host"]),
            // A reference alone, and one that equals something, stay below the negation.
            ("not input.spec.host", vec![]),
            ("not input.spec.host == \"a\"", vec![]),
            ("not input.spec.host = \"a\"", vec![]),
            ("not f(\"a\")", vec![]),
            ("startswith(input.spec.host, \"a\")", vec![]),
            ("not f(object.get(input, \"spec\", {}))", vec![]),
            ("not f(count([c | c := input.spec.host]))", vec![]),
            ("not f(input.spec.host) with input as {\"spec\": {\"host\": 1}}", vec![]),
            // The API server requires it.
            ("c := input.cs[_]; not startswith(c.image, \"a\")", vec![]),
            ("not f(input.request.operation)", vec![]),
            // The settings give it.
            ("not f(input.parameters.prefix)", vec![]),
            ("not f(input.parameters[\"limits\"].cpu)", vec![]),
            ("p := input.parameters; l := p.limits; not f(l.cpu)", vec![]),
            ("p := input.parameters; l := p.limits; not f(l.memory)", vec!["0.rego 2: l.memory"]),
            ("not f(input.parameters.suffix)", vec!["0.rego 2: input.parameters.suffix"]),
        ] {
            check(&[&format!("package p\ndeny[\"no\"] {{ {body} }}\nf(x) {{ x }}")], &expected);
        }
    }

    #[test]
    fn rules_that_may_have_no_value() {
        let rules = "host = input.spec.host\nsafe = input.spec.safe { true }\ndefault safe = 1\nnames[n] { n := input.n[_] }\none = 1";
        for (operand, expected) in [
            ("host", vec!["0.rego 2: host"]),
            ("safe", vec![]),
            ("names", vec![]),
            ("one", vec![]),
            ("data.p.safe", vec![]),
        ] {
            check(&[&format!("package p\ndeny[\"no\"] {{ not startswith({operand}, \"a\") }}\n{rules}")], &expected);
        }
        let host = "host = x { x := input.spec.host }";
        check(&[&format!("package p\ndeny[\"no\"] {{ not startswith(host, \"a\") }}\n{host}")], &["0.rego 2: host"]);
        // A variable hides the rule.
        check(&[&format!("package p\ndeny[\"no\"] {{ host := \"b\"; not startswith(host, \"a\") }}\n{host}")], &[]);
        check(
            &[&format!("package p\ndeny[\"no\"] {{ f(1) }}\nf(host) {{ not startswith(host, \"a\") }}\n{host}")],
            &[],
        );
    }

    #[test]
    fn rules_whose_answer_denies() {
        let silent = "not startswith(input.spec.host, \"a\")";
        // Of other modules, through functions, and below two negations.
        check(
            &[
                "package p\nimport data.q\ndeny[\"no\"] { q.bad(1) }",
                &format!("package q\nbad(x) {{ {silent} }}\nunused {{ {silent} }}"),
            ],
            &["1.rego 2: input.spec.host"],
        );
        check(
            &[&format!("package p\ndeny[\"no\"] {{ not good }}\ngood {{ not bad }}\nbad {{ {silent} }}")],
            &["0.rego 4: input.spec.host"],
        );
        // Where nothing is good, it is denied.
        check(&[&format!("package p\ndeny[\"no\"] {{ not good }}\ngood {{ {silent} }}")], &[]);
        check(&[&format!("package p\nwarn[\"no\"] {{ {silent} }}")], &[]);
        check(&[&format!("package p\nimport future.keywords.not\ndeny[\"no\"] {{ {silent} }}")], &[]);
    }
}
