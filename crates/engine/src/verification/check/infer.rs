//! The type of an expression, and what in it can't work, as far as that is known before an evaluation.
//!
//! CEL's own type checker refuses more, such as an equality of two types, or branches of different types. These have a value here,
//! so they are no errors.

use super::signatures::{self, Signature};
use super::types::Type;
use super::written::{loop_name, stepped, written};
use crate::verification::questions;
use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use image_admission_cel::expression::{IN_ORDER, Program, STEP};
use image_admission_cel::functions;
use image_admission_cel::operators::sign;
use std::collections::BTreeMap;

/// What is known of the variables of a policy's expressions.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// The types of `variables`, by name.
    pub(super) variables: BTreeMap<String, Type>,
    /// Whether functions come from the engine's own tables, which take other arguments than the ones here.
    pub(super) has_other_functions: bool,
}

/// The wanted type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Anything,
    Verdict,
    Text,
    TextOrNull,
    TextOrTexts,
}

/// The type of an expression, and everything in it that can't work.
pub(super) fn infer(program: &Program, types: &Types, wanted: Wanted) -> (Type, Vec<String>) {
    let mut inference = Inference { types, bound: Vec::new(), problems: Vec::new() };
    let given = match wanted {
        Wanted::Verdict => {
            inference.verdict(&program.tree, |given| format!("it must give true or false, but gives {given}"));
            Type::BOOL
        }
        _ => inference.of(&program.tree),
    };
    let (fitting, must): (&[Type], _) = match wanted {
        Wanted::Anything | Wanted::Verdict => (&[], ""),
        Wanted::Text => (&[Type::STRING], "it must give a string"),
        Wanted::TextOrNull => (&[Type::STRING, Type::NULL], "it must give a string or null"),
        Wanted::TextOrTexts => {
            (&[Type::STRING, Type::List(Box::new(Type::STRING))], "it must give a string or a list of strings")
        }
    };
    if !fitting.is_empty() && !fitting.iter().any(|wanted| wanted.may_be(&given)) {
        inference.problems.push(format!("{must}, but gives {given}"));
    }
    (given, inference.problems)
}

struct Inference<'t> {
    types: &'t Types,
    /// The variables of loops, the innermost last.
    bound: Vec<(String, Type)>,
    problems: Vec<String>,
}

impl Inference<'_> {
    fn of(&mut self, tree: &IdedExpr) -> Type {
        match &tree.expr {
            Expr::Unspecified | Expr::Struct(_) => Type::Dynamic,
            Expr::Literal(value) => match value {
                LiteralValue::Boolean(_) => Type::BOOL,
                LiteralValue::Bytes(_) => Type::BYTES,
                LiteralValue::Double(_) => Type::DOUBLE,
                LiteralValue::Int(_) => Type::INT,
                LiteralValue::Null => Type::NULL,
                LiteralValue::String(_) => Type::STRING,
                LiteralValue::UInt(_) => Type::UINT,
            },
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                if let Expr::Ident(namespace) = &select.operand.expr
                    && let Some(known) = self.field_of(namespace, &select.field)
                {
                    return if select.test { Type::BOOL } else { known };
                }
                let field = match self.of(&select.operand) {
                    Type::Dynamic | Type::Nothing => Type::Dynamic,
                    Type::Map(_, value) => *value,
                    other => {
                        let operand = written(&select.operand);
                        self.problems.push(format!("`{operand}` is {other}, and has no field `{}`", select.field));
                        Type::Dynamic
                    }
                };
                if select.test { Type::BOOL } else { field }
            }
            Expr::Call(call) => self.call(tree, call),
            Expr::List(list) => {
                let mut element = Type::Nothing;
                for (position, part) in list.elements.iter().enumerate() {
                    let given = self.of(part);
                    element = element.or(if list.optional_indices.contains(&position) { Type::Dynamic } else { given });
                }
                Type::list(element)
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Type::Nothing, Type::Nothing);
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        keys = keys.or(self.of(&entry.key));
                        let value = self.of(&entry.value);
                        values = values.or(if entry.optional { Type::Dynamic } else { value });
                    }
                }
                Type::map(keys, values)
            }
            Expr::Comprehension(of) => self.repeated(of),
        }
    }

    fn variable(&self, name: &str) -> Type {
        if let Some((_, known)) = self.bound.iter().rev().find(|(own, _)| own == name) {
            return known.clone();
        }
        match name {
            "now" => Type::TIMESTAMP,
            "ref" => Type::STRING,
            "images" => Type::map(Type::STRING, Type::list(Type::STRING)),
            "attestors" | "attestations" => Type::map(Type::STRING, Type::STRING),
            "variables" => Type::map(Type::STRING, Type::Dynamic),
            "exemptions" => Type::list(Type::map(Type::STRING, Type::Dynamic)),
            _ if functions::TYPE_NAMES.contains(&name) => Type::TYPE,
            _ => Type::Dynamic,
        }
    }

    /// The type of a field below a name whose fields are known.
    fn field_of(&self, namespace: &str, field: &str) -> Option<Type> {
        if self.bound.iter().any(|(own, _)| own == namespace) {
            return None;
        }
        match namespace {
            "images" => Some(Type::list(Type::STRING)),
            "attestors" | "attestations" => Some(Type::STRING),
            "variables" => Some(self.types.variables.get(field).cloned().unwrap_or(Type::Dynamic)),
            _ => None,
        }
    }

    fn call(&mut self, tree: &IdedExpr, call: &CallExpr) -> Type {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (STEP, [one]) => self.of(one),
            (operators::NOT_STRICTLY_FALSE, [one]) => {
                self.of(one);
                Type::BOOL
            }
            (IN_ORDER, [range]) => match self.of(range) {
                Type::Map(key, _) => Type::list(*key),
                known @ (Type::List(_) | Type::Dynamic | Type::Nothing) => known,
                other => {
                    let range = written(range);
                    self.problems.push(format!("`{range}` is {other}, and loops go over lists and maps"));
                    Type::Dynamic
                }
            },
            (name @ (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT), operands) => {
                let sign = sign(name).unwrap_or(name);
                for operand in operands {
                    self.verdict(operand, |given| {
                        format!("`{}`: `{sign}` takes true or false, and not {given}", written(tree))
                    });
                }
                Type::BOOL
            }
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                self.verdict(condition, |given| {
                    format!("`{}`: before `?` stands true or false, and not {given}", written(tree))
                });
                let then = self.of(then);
                then.or(self.of(otherwise))
            }
            (operators::EQUALS | operators::NOT_EQUALS, sides) => {
                sides.iter().for_each(|side| drop(self.of(side)));
                Type::BOOL
            }
            (operators::INDEX, [of, index]) => self.element(tree, of, index),
            (operators::OPT_INDEX | operators::OPT_SELECT, parts) => {
                parts.iter().for_each(|part| drop(self.of(part)));
                Type::Dynamic
            }
            (name, operands) if call.target.is_none() && sign(name).is_some() => self.operator(tree, name, operands),
            _ => self.function(tree, call),
        }
    }

    /// `list[0]`, `map['key']`
    fn element(&mut self, tree: &IdedExpr, of: &IdedExpr, index: &IdedExpr) -> Type {
        let (known, by) = (self.of(of), self.of(index));
        match known {
            Type::Dynamic | Type::Nothing => Type::Dynamic,
            Type::Map(key, value) => {
                if !can_be_key(&key, &by) {
                    let why = format!("values of a map are taken by their key, and not by {by}");
                    self.problems.push(format!("`{}`: {why}", written(tree)));
                }
                *value
            }
            Type::List(element) => {
                if [Type::INT, Type::UINT, Type::DOUBLE].iter().any(|number| number.may_be(&by)) {
                    return *element;
                }
                self.problems.push(format!(
                    "`{}`: elements of a list are taken by their number, and not by {by}",
                    written(tree)
                ));
                Type::Dynamic
            }
            other => {
                self.problems.push(format!("`{}`: `{}` is {other}, and has no elements", written(tree), written(of)));
                Type::Dynamic
            }
        }
    }

    fn operator(&mut self, tree: &IdedExpr, name: &str, operands: &[IdedExpr]) -> Type {
        let given: Vec<Type> = operands.iter().map(|operand| self.of(operand)).collect();
        let Some(sign) = sign(name) else { return Type::Dynamic };
        let name = if sign == "+" { operators::ADD } else { name };
        let is_no_key = sign == "in" && matches!(given.as_slice(), [by, Type::Map(key, _)] if !can_be_key(key, by));
        let result = result(&signatures::operator(name), &given).filter(|_| !is_no_key);
        if let Some(result) = result {
            return match (result, given.as_slice()) {
                // What is known of both lists is true for the sum.
                (Type::List(_), [left @ Type::List(_), right @ Type::List(_)]) => left.clone().or(right.clone()),
                (result, _) => result,
            };
        }
        let why = match (sign, given.as_slice()) {
            ("+", [left, right]) => format!("can't add {left} and {right}"),
            ("-", [one]) => format!("can't negate {one}"),
            ("-", [left, right]) => format!("can't subtract {right} from {left}"),
            ("*", [left, right]) => format!("can't multiply {left} and {right}"),
            ("/" | "%", [left, right]) => format!("can't divide {left} by {right}"),
            ("in", [by, Type::Map(..)]) => format!("looks for keys in a map, and not for {by}"),
            ("in", [_, other @ Type::Simple("string")]) => {
                format!("looks into lists and maps, and not into {other}: write `….contains(…)`")
            }
            ("in", [_, other]) => format!("looks into lists and maps, and not into {other}"),
            (_, [left, right]) => {
                let is_special = |own: &Type| [Type::named("quantity"), Type::named("semver")].contains(own);
                let hint = if is_special(left) && left == right { ": write `….compareTo(…)`" } else { "" };
                format!("can't compare {left} with {right}{hint}")
            }
            _ => "has other operands".to_owned(),
        };
        self.problems.push(format!("`{}`: `{sign}` {why}", written(tree)));
        Type::Dynamic
    }

    fn function(&mut self, tree: &IdedExpr, call: &CallExpr) -> Type {
        let of_namespace = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(namespace)) => Some([namespace, ".", &call.func_name].concat()),
            _ => None,
        };
        let of_namespace = of_namespace.filter(|name| functions::is_known(name));
        let target = call.target.as_deref().filter(|_| of_namespace.is_none());
        let name = of_namespace.as_deref().unwrap_or(&call.func_name);
        let given: Vec<Type> = target.into_iter().chain(&call.args).map(|part| self.of(part)).collect();
        let signatures = signatures::function(name);
        if let Some(result) = result(&signatures, &given) {
            if let Some(why) = functions::misuse(name, target.is_some()).filter(|_| !self.types.has_other_functions) {
                self.problems.push(format!("`{}`: `{name}` {why}", written(tree)));
            }
            return result;
        }
        if signatures.is_empty() || self.types.has_other_functions {
            return Type::Dynamic;
        }
        let counts: Vec<usize> = signatures.iter().map(Signature::count).collect();
        let arguments = given.get(usize::from(target.is_some())..).unwrap_or_default();
        let why = if counts.contains(&given.len()) {
            let with = arguments.iter().map(Type::to_string).collect::<Vec<_>>().join(" and ");
            match (target.and(given.first()), arguments) {
                (Some(on), []) => format!("can't be called on {on}"),
                (Some(on), _) => format!("can't be called on {on} with {with}"),
                (None, _) => format!("can't be called with {with}"),
            }
        } else {
            let fewest = counts.iter().min().copied().unwrap_or_default();
            let most = counts.iter().max().copied().unwrap_or_default();
            let of_target = usize::from(target.is_some());
            let number = image_admission_untrusted::message::count(most.saturating_sub(of_target) as u64, "argument");
            if fewest == most {
                format!("takes {number}")
            } else {
                format!("takes {} to {number}", fewest.saturating_sub(of_target))
            }
        };
        self.problems.push(format!("`{}`: `{name}` {why}", written(tree)));
        Type::Dynamic
    }

    /// The loop that a macro became.
    fn repeated(&mut self, of: &ComprehensionExpr) -> Type {
        let element = match self.of(&of.iter_range) {
            Type::List(element) if *element != Type::Nothing => *element,
            _ => Type::Dynamic,
        };
        let begun = self.of(&of.accu_init);
        let outer = self.bound.len();
        self.bound.push((of.iter_var.clone(), element));
        self.bound.extend(of.iter_var2.iter().map(|name| (name.clone(), Type::Dynamic)));
        self.bound.push((of.accu_var.clone(), begun.clone()));
        let name = loop_name(of);
        let is_asked = |given: &Type| format!("`{name}` asks for true or false of each element, and not for {given}");
        let step = match &of.loop_step.expr {
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, asked]) => {
                    self.verdict(asked, |given| format!("`{}`: {}", written(asked), is_asked(given)));
                    Type::BOOL
                }
                (operators::CONDITIONAL, [asked, then, otherwise]) => {
                    self.verdict(asked, |given| format!("`{}`: {}", written(asked), is_asked(given)));
                    let then = self.of(then);
                    then.or(self.of(otherwise))
                }
                _ => self.of(&of.loop_step),
            },
            _ => self.of(&of.loop_step),
        };
        self.bound.push((of.accu_var.clone(), begun.or(step)));
        let result = self.of(&of.result);
        self.bound.truncate(outer);
        result
    }

    /// Checks an expression that must be true or false; `why` words the error.
    fn verdict(&mut self, tree: &IdedExpr, why: impl Fn(&Type) -> String) {
        let given = self.of(tree);
        if let Some(name) = counted(tree) {
            self.problems.push(format!(
                "`{name}` says how many attestors verified it, which is neither true nor false: append `> 0`"
            ));
        } else if !Type::BOOL.may_be(&given) {
            self.problems.push(why(&given));
        }
    }
}

/// The function whose count is the value of an expression, directly or in one of its branches.
fn counted(tree: &IdedExpr) -> Option<&str> {
    let Expr::Call(call) = &stepped(tree).expr else { return None };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::CONDITIONAL, [_, then, otherwise]) => counted(then).or_else(|| counted(otherwise)),
        (name, _) => Some(name).filter(|name| questions::counts(name)),
    }
}

/// Whether a value of a type may be a key of a map. If the keys' type is unknown, it may.
fn can_be_key(keys: &Type, given: &Type) -> bool {
    const KEYS: [Type; 5] = [Type::BOOL, Type::DOUBLE, Type::INT, Type::STRING, Type::UINT];
    matches!(keys, Type::Dynamic | Type::Nothing) || KEYS.iter().any(|key| key.may_be(given))
}

/// The type of the result, if one of the ways to call the function fits; none if none does.
fn result(signatures: &[Signature], given: &[Type]) -> Option<Type> {
    signatures.iter().filter_map(|signature| signature.result(given)).reduce(Type::or)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::questions::Answers;
    use cel::Value;
    use image_admission_cel::expression::{Scope, Time, map_of, time_value};
    use image_admission_untrusted::time::Timestamp;

    fn problems(text: &str, wanted: Wanted) -> Vec<String> {
        let types = Types { variables: BTreeMap::from([("count".to_owned(), Type::INT)]), ..Types::default() };
        infer(&Program::read(text).unwrap(), &types, wanted).1
    }

    #[track_caller]
    fn check(rows: &[(&str, &str)]) {
        for (text, problem) in rows {
            assert_eq!(problems(text, Wanted::Anything), [*problem], "{text}");
        }
    }

    #[test]
    fn operators_that_cannot_take_their_operands() {
        check(&[
            ("1 + 'a' == 3", "`1 + 'a'`: `+` can't add an int and a string"),
            ("object.x == 1 || 1 + 'a' == 3", "`1 + 'a'`: `+` can't add an int and a string"),
            ("1 + 1.0", "`1 + 1.0`: `+` can't add an int and a double"),
            ("1 + 1u", "`1 + 1u`: `+` can't add an int and a uint"),
            ("object.x + null", "`object.x + null`: `+` can't add a value and null"),
            ("[1] + 'a'", "`[1] + 'a'`: `+` can't add a list of ints and a string"),
            ("{'a': 1} + {'b': 2}", "`{'a': 1} + {'b': 2}`: `+` can't add a map and a map"),
            ("true + true", "`true + true`: `+` can't add a bool and a bool"),
            ("'a' - 'b'", "`'a' - 'b'`: `-` can't subtract a string from a string"),
            ("duration('1h') - now", "`duration('1h') - now`: `-` can't subtract a timestamp from a duration"),
            ("now + now", "`now + now`: `+` can't add a timestamp and a timestamp"),
            ("'a' * 3", "`'a' * 3`: `*` can't multiply a string and an int"),
            ("1 / 'a'", "`1 / 'a'`: `/` can't divide an int by a string"),
            ("1.0 % 2.0", "`1.0 % 2.0`: `%` can't divide a double by a double"),
            ("-'a'", "`-'a'`: `-` can't negate a string"),
            ("-(1u)", "`-1u`: `-` can't negate a uint"),
            ("!1", "`!1`: `!` takes true or false, and not an int"),
            ("1 && true", "`1 && true`: `&&` takes true or false, and not an int"),
            ("object.x || 'a'", "`object.x || 'a'`: `||` takes true or false, and not a string"),
            ("'a' ? 1 : 2", "`'a' ? 1 : 2`: before `?` stands true or false, and not a string"),
            ("1 < 'a'", "`1 < 'a'`: `<` can't compare an int with a string"),
            ("(1 + 2) * 3 <= 'a'", "`((1 + 2) * 3) <= 'a'`: `<=` can't compare an int with a string"),
            ("now > '2025-01-01'", "`now > '2025-01-01'`: `>` can't compare a timestamp with a string"),
            ("[1] >= [2]", "`[1] >= [2]`: `>=` can't compare a list of ints with a list of ints"),
            ("object.x > null", "`object.x > null`: `>` can't compare a value with null"),
            (
                "quantity('1') < quantity('2')",
                "`quantity('1') < quantity('2')`: `<` can't compare a quantity with a quantity: write `….compareTo(…)`",
            ),
            (
                "'a' in 'abc'",
                "`'a' in 'abc'`: `in` looks into lists and maps, and not into a string: write `….contains(…)`",
            ),
            ("1 in 2", "`1 in 2`: `in` looks into lists and maps, and not into an int"),
            ("images.all['a']", "`images.all['a']`: elements of a list are taken by their number, and not by a string"),
            ("images[now]", "`images[now]`: values of a map are taken by their key, and not by a timestamp"),
            ("['a'] in images", "`['a'] in images`: `in` looks for keys in a map, and not for a list of strings"),
            ("'abc'[0]", "`'abc'[0]`: `'abc'` is a string, and has no elements"),
            ("images.all.image", "`images.all` is a list of strings, and has no field `image`"),
            ("has(attestors.team.key)", "`attestors.team` is a string, and has no field `key`"),
            ("variables.count + 'a'", "`variables.count + 'a'`: `+` can't add an int and a string"),
        ]);
    }

    #[test]
    fn functions_that_cannot_take_their_arguments() {
        check(&[
            (
                "verifyImageSignatures(images.all[0], [attestors.team]) > '0'",
                "`verifyImageSignatures(images.all[0], [attestors.team]) > '0'`: `>` can't compare an int with a string",
            ),
            (
                "verifyImageSignatures(images.all, [attestors.team]) > 0",
                "`verifyImageSignatures(images.all, [attestors.team])`: `verifyImageSignatures` can't be called with a list of strings and a list of strings",
            ),
            ("isImage('a') + 1", "`isImage('a') + 1`: `+` can't add a bool and an int"),
            ("imageConfigs('a') > 0", "`imageConfigs('a') > 0`: `>` can't compare a list of maps with an int"),
            ("'a'.startsWith(1)", "`'a'.startsWith(1)`: `startsWith` can't be called on a string with an int"),
            ("1.startsWith('a')", "`1.startsWith('a')`: `startsWith` can't be called on an int with a string"),
            ("size(1)", "`size(1)`: `size` can't be called with an int"),
            ("int([1])", "`int([1])`: `int` can't be called with a list of ints"),
            ("'a'.substring()", "`'a'.substring()`: `substring` takes 1 to 2 arguments"),
            ("size('a', 'b')", "`size('a', 'b')`: `size` takes 1 argument"),
            ("startsWith('a', 'b')", "`startsWith('a', 'b')`: `startsWith` must be called on a value"),
            ("'1'.int()", "`'1'.int()`: `int` can't be called on a value"),
            ("images.all.join(1)", "`images.all.join(1)`: `join` can't be called on a list of strings with an int"),
            ("[1, 2].join()", "`[1, 2].join()`: `join` can't be called on a list of ints"),
            ("['a'].sum()", "`['a'].sum()`: `sum` can't be called on a list of strings"),
            ("[1].max() + 'a'", "`[1].max() + 'a'`: `+` can't add an int and a string"),
            (
                "url('https://a.b').getPort() + 1",
                "`url('https://a.b').getPort() + 1`: `+` can't add a string and an int",
            ),
            (
                "sets.contains([1], 2)",
                "`sets.contains([1], 2)`: `sets.contains` can't be called with a list of ints and an int",
            ),
            ("timestamp('a') + 1", "`timestamp('a') + 1`: `+` can't add a timestamp and an int"),
        ]);
    }

    #[test]
    fn loops_know_their_elements() {
        check(&[
            ("images.all.all(i, i + 1 == '')", "`i + 1`: `+` can't add a string and an int"),
            (
                "images.all.all(i, size(i))",
                "`size(i)`: `all` asks for true or false of each element, and not for an int",
            ),
            (
                "images.all.exists(i, 'a')",
                "`'a'`: `exists` asks for true or false of each element, and not for a string",
            ),
            (
                "images.all.exists_one(i, 1)",
                "`1`: `exists_one` asks for true or false of each element, and not for an int",
            ),
            ("images.all.filter(i, 1)", "`1`: `filter` asks for true or false of each element, and not for an int"),
            ("images.all.map(i, 1, size(i))", "`1`: `map` asks for true or false of each element, and not for an int"),
            (
                "images.all.map(i, size(i)).all(s, s.startsWith('a'))",
                "`s.startsWith('a')`: `startsWith` can't be called on an int with a string",
            ),
            (
                "images.all.map(i, size(i)) == [] && images.all.map(i, size(i)) > 1",
                "`images.all.map(i, …) > 1`: `>` can't compare a list of ints with an int",
            ),
            (
                "images.all.filter(i, i != '')[0] + 1",
                "`images.all.filter(i, …)[0] + 1`: `+` can't add a string and an int",
            ),
            ("images.all(k, k + 1 > 0)", "`k + 1`: `+` can't add a string and an int"),
            ("'abc'.all(c, c == 'a')", "`'abc'` is a string, and loops go over lists and maps"),
            (
                "images.all.exists_one(i, i == 'a') + 1",
                "`images.all.exists_one(i, …) + 1`: `+` can't add a bool and an int",
            ),
            ("{'a': 1}.all(k, k > 1)", "`k > 1`: `>` can't compare a string with an int"),
            (
                "images.all.all(i, verifyImageSignatures(i, [attestors.team]))",
                "`verifyImageSignatures` says how many attestors verified it, which is neither true nor false: append `> 0`",
            ),
        ]);
    }

    #[test]
    fn what_may_work_is_left_alone() {
        for text in [
            "object.x + 1 == 3 && object.y + 'a' == 'b'",
            "1 == 1.0 && 1 != 'a' && null == 'a' && [1] == ['a']",
            "1 < 1.5 && 2u > 1 && 1u <= 2.0",
            "1 in ['a', 2.0] || 'a' in {'a': 1} || object.x in object.y",
            "object.a ? 1 : 'a'",
            "(object.a ? 1 : 'a') + 1 == 2",
            "[1, 'a'].all(x, x + 1 > 0)",
            "[].all(x, x.y + 1 > 0) && [].map(x, x)[0] + 'a' == ''",
            "([] + ['a']).join() + ([''] + []).join() == ''",
            "images.containers + images['all'] + object.spec.x.map(x, x.image) != []",
            "has(object.metadata.labels) && has(variables.count)",
            "dyn(1) + 'a' == ''",
            "now - timestamp(object.metadata.creationTimestamp) > duration('1h')",
            "timestamp(1) + duration('1s') > now && duration('1s') + now > now",
            "type(1) == int && type(object.x) != string",
            "attestors.team + 'a' != '' && attestors['team'].size() > 0",
            "images.all(images, images.contains('a'))",
            "[1, 2].max() + [1].sum() > 1 && ['a'].min() + 'b' == 'ab' && [object.x].sum() + 1 > 2",
            "parseImageReference('a').registry.startsWith('b') && image('a').tag() == ''",
            "payload(images.all[0], attestations.slsa).builder.id.startsWith('a')",
            "verifyImageSignatures(image('a'), attestors.team) > 0.5",
            "{'a': [1]}.a[0] + 1 == 2 && {'a': 1, 'b': 'c'}['b'] + 'd' == ''",
            "{}.a.b.c == 1",
            "ref.startsWith('a') && exemptions.exists(e, e.reason == 'x')",
            "string(ip('::1')) + string(cidr('10.0.0.0/8').ip()) == ''",
            "quantity('1').add(2).isGreaterThan(quantity('1')) && semver('1.0.0').major() + 1 == 2",
            "sets.contains(images.all, ['a']) && ip.isCanonical('::1')",
            "'%d of %s'.format([1, 'a']) + '' == ''",
            "[3].map(list, list + 1) == [4] && [1].exists(int, int > 0)",
        ] {
            assert_eq!(problems(text, Wanted::Anything), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_an_expression_must_give() {
        for (text, wanted, expected) in [
            ("size(images.all)", Wanted::Verdict, "it must give true or false, but gives an int"),
            ("object.x ? true : 'a'", Wanted::Verdict, ""),
            ("object.x ? 'b' : 'a'", Wanted::Verdict, "it must give true or false, but gives a string"),
            ("true", Wanted::Verdict, ""),
            ("object.x", Wanted::Verdict, ""),
            (
                "object.x ? verifyImageSignatures('a', [attestors.b]) : false",
                Wanted::Verdict,
                "`verifyImageSignatures` says how many attestors verified it, which is neither true nor false: append `> 0`",
            ),
            ("1", Wanted::Text, "it must give a string, but gives an int"),
            ("null", Wanted::Text, "it must give a string, but gives null"),
            ("object.x ? 'a' : null", Wanted::Text, ""),
            ("'a' + object.x", Wanted::Text, ""),
            ("null", Wanted::TextOrNull, ""),
            ("images.all", Wanted::TextOrNull, "it must give a string or null, but gives a list of strings"),
            ("'a'", Wanted::TextOrTexts, ""),
            ("[object.x, 'a']", Wanted::TextOrTexts, ""),
            ("[]", Wanted::TextOrTexts, ""),
            ("[1]", Wanted::TextOrTexts, "it must give a string or a list of strings, but gives a list of ints"),
            ("null", Wanted::TextOrTexts, "it must give a string or a list of strings, but gives null"),
        ] {
            let found = problems(text, wanted);
            assert_eq!(found.join("\n"), expected, "{text}");
        }
    }

    #[test]
    fn the_engines_own_functions_may_take_other_arguments() {
        let types = Types { has_other_functions: true, ..Types::default() };
        let found = |text: &str| infer(&Program::read(text).unwrap(), &types, Wanted::Anything).1;
        assert_eq!(found("now.getFullYear() > 2000 && size(1) > 1 && optional.of(1).orValue(2) + 1 > 0"), [""; 0]);
        assert_eq!(found("now.getFullYear() + 'a'"), ["`now.getFullYear() + 'a'`: `+` can't add an int and a string"]);
    }

    /// The results of Kubernetes' type checker for generated expressions.
    const CASES: &str = include_str!("../../../../../e2e-tests/cel-types/cases.json");

    /// The result of an expression, if all of it is known without a cluster.
    fn evaluated(text: &str) -> Option<Result<Value, String>> {
        let program = Program::read(text).unwrap();
        let asks = |name: &str| questions::asking().any(|asking| asking == name);
        if program.references.names.contains("object") || program.references.functions.iter().any(|name| asks(name)) {
            return None;
        }
        let mut scope = Scope::new([&program.references].into_iter(), &Time::default());
        let functions = program.references.functions.iter().map(String::as_str);
        Answers::heard_by(None).add_functions(&mut scope, functions);
        let images = || Value::from(vec![Value::from("a"), Value::from("b")]);
        scope.set("now", time_value(Timestamp(1_790_000_000)));
        scope.set("ref", Value::from("a"));
        scope.set("images.all", images());
        scope.set("images", map_of([("all", images())].into_iter()));
        scope.set("attestors.a", Value::from("a"));
        Some(program.evaluate(&scope).map_err(|why| why.to_string()))
    }

    #[test]
    fn what_is_refused_is_refused_by_kubernetes_and_never_works() {
        let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
        let (mut refused, mut accepted) = (0, 0);
        for case in &cases {
            let text = case["expression"].as_str().unwrap();
            let there = case.get("refused").and_then(|why| why.as_str());
            let here = problems(text, Wanted::Anything);
            // With one of these, a part that can't work may not be evaluated.
            let ways = ["&&", "||", "?", ".all(", ".exists", ".map(", ".filter("];
            let value = evaluated(text).filter(|_| !ways.iter().any(|way| text.contains(way)));
            if here.is_empty() {
                accepted += 1;
                // The type of the keys of `{}` is unknown.
                if let Some(Err(error)) = &value
                    && there.is_some()
                    && !text.contains("{}")
                {
                    assert!(!error.contains("` takes no "), "{text}: accepted, and then: {error}");
                }
            } else {
                refused += 1;
                // Kubernetes takes null for a timestamp, a duration and its own types, and an int for a duration. Here these have
                // no value.
                let is_known = text.contains("null") || text.contains("duration(");
                assert!(there.is_some() || is_known, "{text}: refused here alone: {here:?}");
                assert!(!matches!(value, Some(Ok(_))), "{text}: refused, and gives {value:?}: {here:?}");
            }
        }
        assert!(refused >= 300 && accepted >= 300, "{refused} {accepted}");
    }

    /// The results of Kyverno for expressions of its own tests, and of cel-go for expressions with `format`.
    const OF_KYVERNO: &str = include_str!("../../../../../e2e-tests/kyverno/cases.json");
    const OF_FORMAT: &str = include_str!("../../../../../e2e-tests/cel-format/cases.json");

    #[test]
    fn what_has_a_value_elsewhere_is_not_refused() {
        let mut looked_at = 0;
        for (cases, answer) in [(OF_KYVERNO, "kyverno"), (OF_FORMAT, "text")] {
            let cases: Vec<serde_json::Value> = serde_json::from_str(cases).unwrap();
            for case in &cases {
                let has_value = case.get(answer).and_then(|value| value.as_str()).is_some_and(|value| value != "error");
                let is_other = case
                    .get("here")
                    .and_then(|here| here.as_str())
                    .is_some_and(|here| ["refused", "error"].contains(&here));
                if has_value && !is_other {
                    let text = case["expression"].as_str().unwrap();
                    assert_eq!(problems(text, Wanted::Anything), [""; 0], "{text}");
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at >= 250, "{looked_at}");
    }
}
