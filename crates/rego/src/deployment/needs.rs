//! Which rules a rule needs, as its text tells.

use super::scope::{Path, Scope, declared, pattern};
use regorus::unstable::{Expr, Literal, Query, Ref, Rule, RuleBody, RuleHead};
use std::collections::BTreeSet;

/// The rules that a rule refers to, among those that `scope` knows.
pub(super) fn needs(rule: &Rule, scope: Scope<'_>) -> Needed {
    let mut needs = Needs { scope, found: Needed::default(), is_negated: false };
    needs.rule(rule);
    needs.found
}

/// The rules that a rule refers to.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// Outside of a `not`.
    pub(super) plain: BTreeSet<Path>,
    /// Below one.
    pub(super) negated: BTreeSet<Path>,
}

impl Needed {
    /// All of them, in the order of their names.
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.plain.union(&self.negated).collect::<Vec<_>>().into_iter()
    }

    /// Adds what another clause of the same rule refers to.
    pub(super) fn extend(&mut self, other: Self) {
        self.plain.extend(other.plain);
        self.negated.extend(other.negated);
    }
}

/// What a rule refers to.
struct Needs<'m> {
    scope: Scope<'m>,
    found: Needed,
    is_negated: bool,
}

impl Needs<'_> {
    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::Default { value, .. } => self.expr(value, &BTreeSet::new()),
            Rule::Spec { head, bodies, .. } => {
                let mut local = BTreeSet::new();
                let (refr, key, assign) = match head {
                    RuleHead::Compr { refr, assign, .. } => (refr, None, assign),
                    RuleHead::Set { refr, key, .. } => (refr, key.as_ref(), &None),
                    RuleHead::Func { refr, args, assign, .. } => {
                        args.iter().for_each(|arg| pattern(arg, &mut local));
                        (refr, None, assign)
                    }
                };
                let (arguments, mut first) = (local.clone(), true);
                for RuleBody { assign, query, .. } in bodies {
                    let mut local = arguments.clone();
                    declared(query, &mut local);
                    self.query(query, &local);
                    if let Some(assign) = assign {
                        self.expr(&assign.value, &local);
                    }
                    if first {
                        // The head sees what the first body declares.
                        self.head(refr, key, assign_value(head), &local);
                        first = false;
                    }
                }
                if let (true, value) = (first, assign.as_ref().map(|assign| &assign.value)) {
                    self.head(refr, key, value, &arguments);
                }
            }
        }
    }

    fn head(&mut self, refr: &Ref<Expr>, key: Option<&Ref<Expr>>, value: Option<&Ref<Expr>>, local: &BTreeSet<String>) {
        // Its own name is no reference, but what stands in brackets is.
        let mut refr = refr;
        while let Expr::RefDot { refr: inner, .. } | Expr::RefBrack { refr: inner, .. } = refr.as_ref() {
            if let Expr::RefBrack { index, .. } = refr.as_ref() {
                self.expr(index, local);
            }
            refr = inner;
        }
        key.into_iter().chain(value).for_each(|expr| self.expr(expr, local));
    }

    fn query(&mut self, query: &Query, local: &BTreeSet<String>) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { .. } => {}
                Literal::SomeIn { key, value, collection, .. } => {
                    key.iter().chain([value, collection]).for_each(|expr| self.expr(expr, local));
                }
                Literal::Expr { expr, .. } => self.expr(expr, local),
                Literal::NotExpr { expr, .. } => {
                    let outside = std::mem::replace(&mut self.is_negated, true);
                    self.expr(expr, local);
                    self.is_negated = outside;
                }
                Literal::Every { key, value, domain, query, .. } => {
                    self.expr(domain, local);
                    let mut local = local.clone();
                    local.extend(key.iter().chain([value]).map(|name| name.text().to_owned()));
                    self.inner(query, &local, &[]);
                }
            }
            // What is replaced isn't needed; what replaces it is.
            statement.with_mods.iter().for_each(|with| self.expr(&with.r#as, local));
        }
    }

    fn inner(&mut self, query: &Query, outer: &BTreeSet<String>, terms: &[&Ref<Expr>]) {
        let mut local = outer.clone();
        declared(query, &mut local);
        self.query(query, &local);
        terms.iter().for_each(|term| self.expr(term, &local));
    }

    fn expr(&mut self, expr: &Expr, local: &BTreeSet<String>) {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => self.reference(expr, local),
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.expr(item, local)),
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.expr(key, local);
                    self.expr(value, local);
                }
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.inner(query, local, &[term])
            }
            Expr::ObjectCompr { key, value, query, .. } => self.inner(query, local, &[key, value]),
            Expr::Call { fcn, params, .. } => {
                self.reference(fcn, local);
                params.iter().for_each(|param| self.expr(param, local));
            }
            Expr::UnaryExpr { expr, .. } => self.expr(expr, local),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expr(lhs, local);
                self.expr(rhs, local);
            }
            Expr::Membership { key, value, collection, .. } => {
                key.iter().chain([value, collection]).for_each(|expr| self.expr(expr, local));
            }
        }
    }

    fn reference(&mut self, expr: &Expr, local: &BTreeSet<String>) {
        // What stands in brackets, and what is called or built before them.
        let mut part = expr;
        loop {
            match part {
                Expr::RefDot { refr, .. } => part = refr,
                Expr::RefBrack { refr, index, .. } => {
                    self.expr(index, local);
                    part = refr;
                }
                Expr::Var { .. } => break,
                other => {
                    self.expr(other, local);
                    break;
                }
            }
        }
        let found = if self.is_negated { &mut self.found.negated } else { &mut self.found.plain };
        found.append(&mut self.scope.rules(expr, |name| local.contains(name)));
    }
}

fn assign_value(head: &RuleHead) -> Option<&Ref<Expr>> {
    match head {
        RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => assign.as_ref().map(|assign| &assign.value),
        RuleHead::Set { .. } => None,
    }
}
