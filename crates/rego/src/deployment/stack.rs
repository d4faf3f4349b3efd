//! What a rule takes of the engine's stack, as its text tells.

use super::scope::head;
use regorus::unstable::{Expr, Literal, Query, Ref, Rule, RuleAssign, RuleBody, RuleHead};

/// What a rule takes of the stack by itself,
pub(super) const STACK_OF_RULE: usize = 16;
/// a bracket of any kind in it: a call, a list, a comprehension,
const STACK_OF_BRACKET: usize = 4;
/// and an operator.
const STACK_OF_OPERATOR: usize = 1;

/// What the deepest part of a rule takes of the stack, beside [`STACK_OF_RULE`].
pub(super) fn stack_of_rule(rule: &Rule) -> usize {
    let (assign, bodies): (Option<&RuleAssign>, &[RuleBody]) = match rule {
        Rule::Default { value, .. } => return stack_of(value),
        Rule::Spec { head: RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. }, bodies, .. } => {
            (assign.as_ref(), bodies)
        }
        Rule::Spec { head: RuleHead::Set { key, .. }, bodies, .. } => {
            return key.iter().map(|key| stack_of(key)).chain(bodies.iter().map(stack_of_body)).max().unwrap_or(0);
        }
    };
    let of_head = assign.map_or(0, |assign| stack_of(&assign.value)).max(stack_of(head(rule)));
    bodies.iter().map(stack_of_body).fold(of_head, usize::max)
}

fn stack_of_body(body: &RuleBody) -> usize {
    stack_of_query(&body.query).max(body.assign.as_ref().map_or(0, |assign| stack_of(&assign.value)))
}

fn stack_of_query(query: &Query) -> usize {
    let of_statement = |literal: &Literal| match literal {
        Literal::SomeVars { .. } => 0,
        Literal::SomeIn { collection, .. } => stack_of(collection),
        Literal::Expr { expr, .. } => stack_of(expr),
        Literal::NotExpr { expr, .. } => STACK_OF_OPERATOR + stack_of(expr),
        Literal::Every { domain, query, .. } => stack_of(domain).max(STACK_OF_BRACKET + stack_of_query(query)),
    };
    let of_mocks = query.stmts.iter().flat_map(|statement| &statement.with_mods).map(|with| stack_of(&with.r#as));
    query.stmts.iter().map(|statement| of_statement(&statement.literal)).chain(of_mocks).max().unwrap_or(0)
}

fn stack_of(expr: &Expr) -> usize {
    let most = |exprs: &[&Ref<Expr>]| exprs.iter().map(|expr| stack_of(expr)).max().unwrap_or(0);
    match expr {
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            STACK_OF_BRACKET + items.iter().map(|item| stack_of(item)).max().unwrap_or(0)
        }
        Expr::Object { fields, .. } => {
            STACK_OF_BRACKET + fields.iter().map(|(_, key, value)| most(&[key, value])).max().unwrap_or(0)
        }
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            STACK_OF_BRACKET + stack_of(term).max(stack_of_query(query))
        }
        Expr::ObjectCompr { key, value, query, .. } => {
            STACK_OF_BRACKET + most(&[key, value]).max(stack_of_query(query))
        }
        Expr::Call { params, .. } => STACK_OF_BRACKET + params.iter().map(|param| stack_of(param)).max().unwrap_or(0),
        Expr::UnaryExpr { expr, .. } => STACK_OF_OPERATOR + stack_of(expr),
        Expr::RefDot { refr, .. } => stack_of(refr),
        Expr::RefBrack { refr, index, .. } => stack_of(refr).max(STACK_OF_BRACKET + stack_of(index)),
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => STACK_OF_OPERATOR + most(&[lhs, rhs]),
        Expr::Membership { value, collection, .. } => STACK_OF_OPERATOR + most(&[value, collection]),
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. } => 0,
    }
}
