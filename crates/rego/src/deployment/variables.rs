//! Variables that nothing binds: a misspelt name, or a message that was forgotten. The evaluation would only fail when it comes to
//! one, maybe long after the policy was deployed.
//!
//! A variable is bound where a value is assigned to it, where it walks through a collection, or where it is declared.
//! This finds variables that stand only where a value is needed.

use super::refused::refusal;
use crate::evaluation::builtins;
use crate::evaluation::module::{Place, function_name};
use regorus::unstable::{AssignOp, Expr, ExprRef, Literal, Module, Query, Rule, RuleHead, Span};
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Nothing binds it. Under `not` nothing is bound: OPA calls such a variable unsafe, and `_` too. The engine would try all its
    /// values around the `not`, and skip the `not` where there is none.
    Unbound(String),
    /// `with` replaces it, or replaces a function by it, and there is no such function.
    NoFunction(String),
    /// A set below a key that only the evaluation knows, `p[q].r contains s`: references to its elements would see none.
    SetBelow(String),
    /// `some` declares it, but a rule of the package or a document has its name. The engine takes that instead.
    Shadows(String),
}

/// The first wrong variable of a module, and its place. `known` are the rules and functions of its package.
pub(super) fn wrong(module: &Module, known: &BTreeSet<&str>) -> Option<(Wrong, Place)> {
    let imported = |name: &str| {
        module.imports.iter().any(|import| {
            let alias = import.r#as.as_ref().map(Span::text);
            alias == Some(name) || (alias.is_none() && last_key(&import.refr).as_deref() == Some(name))
        })
    };
    module.policy.iter().find_map(|rule| {
        let mut variables = Variables::default();
        variables.rule(rule);
        let Variables { used, bound, under_not, declared, set_below, replaced } = variables;
        let is_taken = |name: &str| known.contains(name) || matches!(name, "input" | "data");
        let shadows = declared.iter().find(|(name, _)| is_taken(name));
        let is_unbound = |name: &str| {
            !bound.contains(name) && !known.contains(name) && !matches!(name, "input" | "data" | "_") && !imported(name)
        };
        let unbound = used.into_iter().find(|(name, _)| is_unbound(name));
        let no_function = replaced.into_iter().find(|(name, _)| {
            let root = name.split_once('.').map_or(name.as_str(), |(root, _)| root);
            let is_builtin = || builtins::exists(name) && refusal(name).is_none();
            is_unbound(root) && !known.contains(name.as_str()) && !is_builtin()
        });
        shadows
            .map(|(name, place)| (Wrong::Shadows(name.clone()), *place))
            .or(no_function.map(|(name, place)| (Wrong::NoFunction(name), place)))
            .or(unbound.map(|(name, place)| (Wrong::Unbound(name), place)))
            .or(under_not.map(|place| (Wrong::Unbound("_".to_owned()), place)))
            .or(set_below.map(|(name, place)| (Wrong::SetBelow(name), place)))
    })
}

/// The variable that stands in the name of a rule, `q` in `p[q].r`.
fn key_of(head: &ExprRef) -> Option<(String, Place)> {
    match head.as_ref() {
        Expr::RefBrack { refr, index, .. } => match index.as_ref() {
            Expr::Var { span, .. } => Some((span.text().to_owned(), place(span))),
            _ => key_of(refr),
        },
        Expr::RefDot { refr, .. } => key_of(refr),
        _ => None,
    }
}

#[derive(Default)]
struct Variables {
    /// Names whose value is needed, and where first.
    used: BTreeMap<String, Place>,
    /// Names that are given one.
    bound: BTreeSet<String>,
    /// The first `_` under `not`.
    under_not: Option<Place>,
    /// What `some` declares.
    declared: BTreeMap<String, Place>,
    /// The first variable in the name of a set, `q` in `p[q].r`.
    set_below: Option<(String, Place)>,
    /// The functions that `with` replaces, or puts in the place of something.
    replaced: BTreeMap<String, Place>,
}

impl Variables {
    fn rule(&mut self, rule: &Rule) {
        let Rule::Spec { head, bodies, .. } = rule else { return };
        match head {
            RuleHead::Compr { refr, assign, .. } => {
                self.indexes(refr);
                assign.iter().for_each(|assign| self.value(&assign.value));
            }
            RuleHead::Set { refr, key, .. } => {
                self.set_below = key_of(refr);
                key.iter().for_each(|key| self.value(key));
            }
            RuleHead::Func { args, assign, .. } => {
                args.iter().for_each(|argument| self.pattern(argument));
                assign.iter().for_each(|assign| self.value(&assign.value));
            }
        }
        for body in bodies {
            body.assign.iter().for_each(|assign| self.value(&assign.value));
            self.query(&body.query);
        }
    }

    /// The keys of a rule's head are values that its body gives.
    fn indexes(&mut self, head: &ExprRef) {
        match head.as_ref() {
            Expr::RefBrack { refr, index, .. } => {
                self.value(index);
                self.indexes(refr);
            }
            Expr::RefDot { refr, .. } => self.indexes(refr),
            _ => {}
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { vars, .. } => {
                    self.declared.extend(vars.iter().map(|variable| (variable.text().to_owned(), place(variable))));
                }
                Literal::SomeIn { key, value, collection, .. } => {
                    for name in key.iter().chain([value]) {
                        if let Expr::Var { span, .. } = name.as_ref() {
                            self.declared.insert(span.text().to_owned(), place(span));
                        }
                    }
                    key.iter().chain([value]).for_each(|pattern| self.pattern(pattern));
                    self.value(collection);
                }
                Literal::Expr { expr, .. } => self.value(expr),
                Literal::NotExpr { expr, .. } => self.negated(expr),
                Literal::Every { key, value, domain, query, .. } => {
                    self.bound.extend(key.iter().chain([value]).map(|variable| variable.text().to_owned()));
                    self.value(domain);
                    self.query(query);
                }
            }
            for modifier in &statement.with_mods {
                self.replaced(&modifier.refr, &modifier.r#as);
            }
        }
    }

    /// A document is replaced by a value, a function by a value or another function. A function's name is no variable.
    fn replaced(&mut self, target: &ExprRef, by: &ExprRef) {
        let named = |expression: &ExprRef| Some((function_name(expression)?, place(expression.span())));
        let (function, other) = (named(target).filter(|(name, _)| !is_in_document(name)), named(by));
        let is_function = |name: &str| function.is_some() || builtins::exists(name) || refusal(name).is_some();
        match other.filter(|(name, _)| is_function(name)) {
            Some((name, place)) => _ = self.replaced.entry(name).or_insert(place),
            None => self.value(by),
        }
        if let Some((name, place)) = function {
            self.replaced.entry(name).or_insert(place);
        }
    }

    /// An expression under `not`, which gives nothing a value.
    fn negated(&mut self, expression: &ExprRef) {
        match expression.as_ref() {
            Expr::Var { span, .. } if span.text() == "_" => {
                self.under_not.get_or_insert(place(span));
            }
            Expr::RefDot { refr, .. } => self.negated(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.negated(refr);
                self.negated(index);
            }
            Expr::AssignExpr { lhs, rhs, .. }
            | Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. } => {
                self.negated(lhs);
                self.negated(rhs);
            }
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.negated(item)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
                self.negated(key);
                self.negated(value);
            }),
            Expr::Call { params, .. } => params.iter().for_each(|parameter| self.negated(parameter)),
            Expr::UnaryExpr { expr, .. } => self.negated(expr),
            Expr::Membership { key, value, collection, .. } => {
                key.iter().chain([value, collection]).for_each(|expression| self.negated(expression));
            }
            // What has a body of its own binds there; the rest is constant.
            _ => self.value(expression),
        }
    }

    /// An expression whose value is needed.
    fn value(&mut self, expression: &ExprRef) {
        match expression.as_ref() {
            Expr::Var { span, .. } => {
                self.used.entry(span.text().to_owned()).or_insert(place(span));
            }
            Expr::RefDot { refr, .. } => self.value(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.value(refr);
                self.pattern(index);
            }
            // `=` gives values in both directions, `:=` in one.
            Expr::AssignExpr { lhs, rhs, op: AssignOp::ColEq, .. } => {
                self.pattern(lhs);
                self.value(rhs);
            }
            Expr::AssignExpr { lhs, rhs, .. } => {
                self.pattern(lhs);
                self.pattern(rhs);
            }
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.value(item)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
                self.value(key);
                self.value(value);
            }),
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.value(term);
                self.query(query);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.value(key);
                self.value(value);
                self.query(query);
            }
            // One argument too many is given the value of the call.
            Expr::Call { fcn, params, .. } => match params.split_last() {
                Some((last, first)) if may_take_value(fcn, params.len()) => {
                    first.iter().for_each(|parameter| self.value(parameter));
                    self.pattern(last);
                }
                _ => params.iter().for_each(|parameter| self.value(parameter)),
            },
            Expr::UnaryExpr { expr, .. } => self.value(expr),
            Expr::BinExpr { lhs, rhs, .. } | Expr::BoolExpr { lhs, rhs, .. } | Expr::ArithExpr { lhs, rhs, .. } => {
                self.value(lhs);
                self.value(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                key.iter().chain([value, collection]).for_each(|expression| self.value(expression));
            }
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
        }
    }

    /// An expression that gives values to the variables that it is made of.
    fn pattern(&mut self, expression: &ExprRef) {
        match expression.as_ref() {
            Expr::Var { span, .. } => {
                self.bound.insert(span.text().to_owned());
            }
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.pattern(item)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
                self.value(key);
                self.pattern(value);
            }),
            _ => self.value(expression),
        }
    }
}

fn is_in_document(name: &str) -> bool {
    ["input", "data"].contains(&name.split_once('.').map_or(name, |(root, _)| root))
}

fn place(span: &Span) -> Place {
    Place { line: span.line, column: span.col }
}

/// Whether the last argument may be given the value of the call. In calls of the modules' own functions it may.
fn may_take_value(function: &ExprRef, arguments: usize) -> bool {
    builtins::arguments(function.span().text()).is_none_or(|takes| arguments > takes)
}

fn last_key(path: &ExprRef) -> Option<String> {
    match path.as_ref() {
        Expr::Var { span, .. } => Some(span.text().to_owned()),
        Expr::RefDot { field, .. } => field.1.as_string().ok().map(|text| text.to_string()),
        Expr::RefBrack { index, .. } => match index.as_ref() {
            Expr::String { value, .. } | Expr::RawString { value, .. } => {
                value.as_string().ok().map(|text| text.to_string())
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;

    fn found(rules: &str) -> Option<String> {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        let rego = format!("package p\nimport data.lib.kubernetes\nimport data.other as o\n{rules}");
        engine.add_policy("p.rego".to_owned(), rego).unwrap();
        let module = engine.get_modules().first().unwrap().clone();
        wrong(&module, &BTreeSet::from(["known"])).map(|(wrong, place)| {
            let name = match wrong {
                Wrong::Unbound(name) => name,
                Wrong::Shadows(name) => format!("shadow of {name}"),
                Wrong::SetBelow(name) => format!("set below {name}"),
                Wrong::NoFunction(name) => format!("no function {name}"),
            };
            format!("{name} {}:{}", place.line, place.column)
        })
    }

    #[test]
    fn variables_without_a_value_are_found() {
        for (rules, name) in [
            ("deny[msg] { true }", "msg 4:6"),
            ("deny[msg] { msg := sprintf(\"%v\", [image]) }", "image 4:35"),
            ("deny[msg] { msg := mesage }", "mesage 4:20"),
            ("deny[msg] { [msg, _] := [mesage, 1] }", "mesage 4:26"),
            ("deny[\"x\"] { foo == 1 }", "foo 4:13"),
            ("deny[\"x\"] { not foo }", "foo 4:17"),
            ("deny[\"x\"] { foo.bar == 1 }", "foo 4:13"),
            ("x = y { true }", "y 4:5"),
            ("deny[\"x\"] { startswith(input.a, prefix) }", "prefix 4:33"),
            ("f(a) = b { a == 1 }", "b 4:8"),
            ("x = [z | y := 1]", "z 4:6"),
            ("deny[\"x\"] { not input.a[_].b == \"c\" }", "_ 4:25"),
            ("deny[\"x\"] { not startswith(input.a[k], \"c\") }", "k 4:36"),
            ("deny[\"x\"] { some i; not input.a[i] }", "i 4:33"),
            ("deny[\"x\"] { not f(_) }\nf(x) { x }", "_ 4:19"),
            ("deny[\"x\"] { some known; input.a[known] }", "shadow of known 4:18"),
            ("deny[\"x\"] { some data; input.a[data] }", "shadow of data 4:18"),
            ("import future.keywords.in\ndeny[\"x\"] { some input in [1]; input == 1 }", "shadow of input 5:18"),
            ("import future.keywords.in\ndeny[\"x\"] { some known in input.a }", "shadow of known 5:18"),
            ("import future.keywords.contains\np[q].r contains s { input.a[q] = s }", "set below q 5:3"),
            ("deny[\"x\"] { known with input as foo.bar }", "foo 4:33"),
            ("deny[\"x\"] { known with count as foo.bar }", "no function foo.bar 4:36"),
            ("deny[\"x\"] { known with foo as 1 }", "no function foo 4:24"),
            ("deny[\"x\"] { known with input as http.send }", "no function http.send 4:37"),
            ("deny[\"x\"] { known with io.jwt[\"decode\"] as 1 }", "no function io.jwt.decode 4:30"),
        ] {
            assert_eq!(found(rules).as_deref(), Some(name), "{rules}");
        }
    }

    #[test]
    fn variables_with_a_value_are_not() {
        for rules in [
            "deny[msg] { msg := \"x\" }",
            "deny[msg] { \"x\" = msg }",
            "deny[msg] { msg := text; input.a = text }",
            "deny[msg] { input.a[i]; msg := i }",
            "deny[msg] { input.a[_] = [msg, _] }",
            "deny[msg] { {\"a\": msg} = input.a }",
            "deny[msg] { some msg; input.a[msg] }",
            "deny[msg] { split(\"a.b\", \".\", msg) }",
            "deny[msg] { walk(input, [msg, _]) }",
            "deny[msg] { known; msg := known }",
            "deny[msg] { kubernetes.x; o.y; msg := o.z }",
            "f([a, b], {\"c\": c}) = d { d := a + b + c }",
            "x[y] = z { z := input[y] }",
            "x = [y | y := input[_]]",
            "t { known with input as {\"a\": 1} with data.x as 2 }",
            "t { known with input as known with input.a as kubernetes.x with known as 1 with o.f as known }",
            "t { known with count as kubernetes.f with startswith as net.cidr_contains with time.now_ns as 1 }",
            "t { known with data.lib.f as count with kubernetes.f as known with data.lib.g as net.cidr_contains }",
            "t { http := input.http; known with input as http.send }",
            "f(http) { known with count as http.send }",
            "default allow = false",
            "deny[\"x\"] { not known; i := 1; not input.a[i] }",
            "deny[\"x\"] { input.a[k]; not input.b[k].c }",
            "deny[\"x\"] { not [1 | input.a[_] == 1] == [] }",
            "deny[\"x\"] { not count({y | y := input.a[_].b}) == 1 }",
            "import future.keywords.contains\np.r[\"t\"] contains s { s := input.a[_] }",
            "p[q] = {s | s := input.a[q][_]} { input.a[q] }",
        ] {
            assert_eq!(found(rules), None, "{rules}");
        }
    }
}
