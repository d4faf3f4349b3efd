//! A part of an expression as people write it: the parser doesn't keep its position in the string.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use image_admission_cel::expression::{IN_ORDER, STEP};
use image_admission_cel::operators::sign;
use image_admission_untrusted::literal;
use image_admission_untrusted::message::cut;

/// The longest part that is shown.
const MOST: usize = 120;

/// The part, cut where it is long.
pub(super) fn written(tree: &IdedExpr) -> String {
    cut(&text(tree), MOST)
}

/// The name of a macro that became a loop.
pub(super) fn loop_name(of: &ComprehensionExpr) -> &'static str {
    // `filter` appends the element itself.
    let appends_it = |step: &IdedExpr| {
        let Expr::Call(call) = &step.expr else { return false };
        let Some(Expr::List(list)) = call.args.get(1).map(|items| &items.expr) else { return false };
        list.elements.first().is_some_and(|own| matches!(&own.expr, Expr::Ident(name) if *name == of.iter_var))
    };
    match &of.loop_step.expr {
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, _) => "all",
            (operators::LOGICAL_OR, _) => "exists",
            (operators::CONDITIONAL, _) if matches!(of.accu_init.expr, Expr::Literal(_)) => "exists_one",
            (operators::CONDITIONAL, [_, then, _]) if appends_it(then) => "filter",
            _ => "map",
        },
        _ => "map",
    }
}

/// The elements that a loop counts, without the call that counts them.
pub(super) fn stepped(tree: &IdedExpr) -> &IdedExpr {
    match &tree.expr {
        Expr::Call(call) if [STEP, IN_ORDER].contains(&call.func_name.as_str()) => {
            call.args.first().map_or(tree, stepped)
        }
        _ => tree,
    }
}

fn text(tree: &IdedExpr) -> String {
    match &tree.expr {
        Expr::Unspecified | Expr::Struct(_) => "…".to_owned(),
        Expr::Literal(value) => literal_text(value),
        Expr::Ident(name) => name.clone(),
        Expr::Select(select) if select.test => format!("has({}.{})", operand(&select.operand), select.field),
        Expr::Select(select) => format!("{}.{}", operand(&select.operand), select.field),
        Expr::Call(call) => call_text(call),
        Expr::List(list) => format!("[{}]", joined(&list.elements)),
        Expr::Map(map) => {
            let entry = |entry: &EntryExpr| match entry {
                EntryExpr::StructField(field) => format!("{}: {}", field.field, text(&field.value)),
                EntryExpr::MapEntry(entry) => format!("{}: {}", text(&entry.key), text(&entry.value)),
            };
            format!("{{{}}}", map.entries.iter().map(|own| entry(&own.expr)).collect::<Vec<_>>().join(", "))
        }
        Expr::Comprehension(of) => {
            format!("{}.{}({}, …)", operand(stepped(&of.iter_range)), loop_name(of), of.iter_var)
        }
    }
}

fn call_text(call: &CallExpr) -> String {
    let name = call.func_name.as_str();
    match (sign(name), call.args.as_slice()) {
        (_, [one]) if [STEP, IN_ORDER].contains(&name) => text(one),
        (Some(sign), [one]) => format!("{sign}{}", operand(one)),
        (Some("[]"), [of, index]) => format!("{}[{}]", operand(of), text(index)),
        (Some("[?]"), [of, index]) => format!("{}[?{}]", operand(of), text(index)),
        (Some(sign), [left, right]) => format!("{} {sign} {}", operand(left), operand(right)),
        (Some(_), [condition, then, otherwise]) => {
            format!("{} ? {} : {}", operand(condition), operand(then), operand(otherwise))
        }
        (_, arguments) => {
            let target = call.target.as_deref().map(|target| operand(target) + ".").unwrap_or_default();
            format!("{target}{name}({})", joined(arguments))
        }
    }
}

fn joined(parts: &[IdedExpr]) -> String {
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A part of another one, in parentheses if it is made by an operator.
fn operand(tree: &IdedExpr) -> String {
    let tree = stepped(tree);
    let is_sum = matches!(&tree.expr, Expr::Call(call) if call.args.len() > 1 && sign(&call.func_name).is_some_and(|sign| !sign.starts_with('[')));
    if is_sum { format!("({})", text(tree)) } else { text(tree) }
}

fn literal_text(value: &LiteralValue) -> String {
    match value {
        LiteralValue::Boolean(value) => value.inner().to_string(),
        LiteralValue::Int(value) => value.inner().to_string(),
        LiteralValue::UInt(value) => format!("{}u", value.inner()),
        LiteralValue::Double(value) => format!("{:?}", value.inner()),
        LiteralValue::Null => "null".to_owned(),
        LiteralValue::Bytes(_) => "b'…'".to_owned(),
        LiteralValue::String(value) => {
            let mut written = String::from("'");
            for sign in value.inner().chars() {
                match sign {
                    '\'' => written.push_str("\\'"),
                    '"' => written.push(sign),
                    _ => literal::escape(sign, false, &mut written),
                }
            }
            written + "'"
        }
    }
}
