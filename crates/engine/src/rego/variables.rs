//! Variables that nothing binds: a misspelt name, or a message that was forgotten. The evaluation would fail once it
//! comes to one, which may be long after the policy was deployed.
//!
//! A variable is bound where a value is assigned to it, where it walks through a collection, or where it is declared.
//! This looks for variables that stand nowhere else than where a value is needed.

use super::module::Place;
use regorus::unstable::{Expr, ExprRef, Literal, Module, Query, Rule, RuleHead, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The first variable of a module that nothing binds, and where it stands. `known` are the rules and functions of its
/// package.
pub(super) fn unbound(module: &Module, known: &BTreeSet<&str>) -> Option<(String, Place)> {
    let imported = |name: &str| {
        module.imports.iter().any(|import| {
            let alias = import.r#as.as_ref().map(Span::text);
            alias == Some(name) || (alias.is_none() && last_key(&import.refr).as_deref() == Some(name))
        })
    };
    module.policy.iter().find_map(|rule| {
        let mut variables = Variables::default();
        variables.rule(rule);
        let Variables { used, bound } = variables;
        used.into_iter().find(|(name, _)| {
            !bound.contains(name.as_str())
                && !known.contains(name.as_str())
                && !matches!(name.as_str(), "input" | "data" | "_")
                && !imported(name)
        })
    })
}

#[derive(Default)]
struct Variables {
    /// Where a value is needed, and where first.
    used: BTreeMap<String, Place>,
    /// Where one is given.
    bound: BTreeSet<String>,
}

impl Variables {
    fn rule(&mut self, rule: &Rule) {
        let Rule::Spec { head, bodies, .. } = rule else { return };
        match head {
            RuleHead::Compr { refr, assign, .. } => {
                self.indexes(refr);
                assign.iter().for_each(|assign| self.value(&assign.value));
            }
            RuleHead::Set { key, .. } => key.iter().for_each(|key| self.value(key)),
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
                    self.bound.extend(vars.iter().map(|variable| variable.text().to_owned()));
                }
                Literal::SomeIn { key, value, collection, .. } => {
                    key.iter().chain([value]).for_each(|pattern| self.pattern(pattern));
                    self.value(collection);
                }
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.value(expr),
                Literal::Every { key, value, domain, query, .. } => {
                    self.bound.extend(key.iter().chain([value]).map(|variable| variable.text().to_owned()));
                    self.value(domain);
                    self.query(query);
                }
            }
            // What stands for a function is no variable.
            for modifier in &statement.with_mods {
                if !matches!(modifier.r#as.as_ref(), Expr::Var { .. } | Expr::RefDot { .. }) {
                    self.value(&modifier.r#as);
                }
            }
        }
    }

    /// An expression whose value is needed.
    fn value(&mut self, expression: &ExprRef) {
        match expression.as_ref() {
            Expr::Var { span, .. } => {
                let place = Place { line: span.line, column: span.col };
                self.used.entry(span.text().to_owned()).or_insert(place);
            }
            Expr::RefDot { refr, .. } => self.value(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.value(refr);
                self.pattern(index);
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
            // An argument more than the function takes is given the value of the call.
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

    /// An expression that gives its variables their values, as far as it is made of them.
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

/// Whether the last of so many arguments may be given the value of the call. Of functions of the modules' own nobody knows.
fn may_take_value(function: &ExprRef, arguments: usize) -> bool {
    super::builtins::arguments(function.span().text()).is_none_or(|takes| arguments > takes)
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
        unbound(&module, &BTreeSet::from(["known"]))
            .map(|(name, place)| format!("{name} {}:{}", place.line, place.column))
    }

    #[test]
    fn variables_without_a_value_are_found() {
        for (rules, name) in [
            ("deny[msg] { true }", "msg 4:6"),
            ("deny[msg] { msg := sprintf(\"%v\", [image]) }", "image 4:35"),
            ("deny[\"x\"] { foo == 1 }", "foo 4:13"),
            ("deny[\"x\"] { not foo }", "foo 4:17"),
            ("deny[\"x\"] { foo.bar == 1 }", "foo 4:13"),
            ("x = y { true }", "y 4:5"),
            ("deny[\"x\"] { startswith(input.a, prefix) }", "prefix 4:33"),
            ("f(a) = b { a == 1 }", "b 4:8"),
            ("x = [z | y := 1]", "z 4:6"),
        ] {
            assert_eq!(found(rules).as_deref(), Some(name), "{rules}");
        }
    }

    #[test]
    fn variables_with_a_value_are_not() {
        for rules in [
            "deny[msg] { msg := \"x\" }",
            "deny[msg] { \"x\" = msg }",
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
            "default allow = false",
        ] {
            assert_eq!(found(rules), None, "{rules}");
        }
    }
}
