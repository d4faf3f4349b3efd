//! Values that grow with the square: `y := x * x` or `y := [x, x]`, twenty times over, in a few lines.
//!
//! The engine checks the clock between statements, and its operators can't be guarded. So values that would keep an operator, or a
//! comparison, busy for seconds are found in the rules' text at deployment. Rego has no recursion, so that the text bounds the size
//! of a value.

use super::recursion::Graph;
use super::scope::{Path, Scope, declared, package, pattern, rule_path};
use regorus::unstable::{ArithOp, AssignOp, Builtin, Expr, Literal, Module, Query, Ref, Rule, RuleHead, Span};
use std::collections::{BTreeMap, BTreeSet};

/// How often a number may be multiplied with others that the rules compute. Each time doubles its length, and 2^8
/// times 1000 bits are multiplied in 10 ms and divided in 50 ms.
const MAX_PRODUCTS: u32 = 8;
/// How many copies of values a value that is written out may hold: a million are compared in 50 ms.
const MAX_COPIES: u64 = 1 << 20;
/// The most passes over the statements of a body until nothing changes: they may stand in any order.
const MAX_PASSES: usize = 8;

/// A rule whose value grows too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grown {
    /// What grows.
    pub(super) why: &'static str,
    /// The name of the module.
    pub(super) file: String,
    /// Counted from one.
    pub(super) line: u32,
    /// Counted from one.
    pub(super) col: u32,
}

/// How much larger a value is than what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    /// Each doubles the length of a number.
    products: u32,
    /// How many of the values that a rule refers to it holds.
    copies: u64,
}

impl Size {
    /// A value of constants alone.
    const CONSTANT: Self = Self { products: 0, copies: 0 };
    /// A value that a rule refers to.
    const ONE: Self = Self { products: 0, copies: 1 };

    fn max(self, other: Self) -> Self {
        Self { products: self.products.max(other.products), copies: self.copies.max(other.copies) }
    }

    /// A value that holds both.
    fn with(self, other: Self) -> Self {
        Self { products: self.products.max(other.products), copies: self.copies.saturating_add(other.copies) }
    }
}

/// The value of a rule, or of a function.
#[derive(Debug, Clone, Copy)]
struct Made {
    /// For arguments of [`Size::ONE`].
    size: Size,
    /// How many copies one more copy in an argument adds.
    slope: u64,
}

impl Made {
    fn of(self, arg: Size) -> Size {
        Size {
            products: self.size.products.saturating_add(arg.products),
            copies: self.size.copies.saturating_add(self.slope.saturating_mul(arg.copies.saturating_sub(1))),
        }
    }
}

/// The first place where a value grows too much. Only for rules without a circle, and with chains of bounded length.
pub(super) fn grown(modules: &[Ref<Module>], graph: &Graph) -> Option<Grown> {
    let known = graph.known();
    let mut written: BTreeMap<Path, Vec<(usize, &Rule)>> = BTreeMap::new();
    for (number, module) in modules.iter().enumerate() {
        let package = package(module);
        for rule in &module.policy {
            written.entry(rule_path(&package, rule)).or_default().push((number, rule));
        }
    }
    let scopes: Vec<Scope<'_>> = modules.iter().map(|module| Scope::new(module, &known)).collect();
    let mut rules: BTreeMap<&Path, Made> = BTreeMap::new();
    for path in graph.in_order() {
        let (mut size, mut large) = (Size::ONE, Size::ONE);
        for (number, rule) in written.get(path).into_iter().flatten() {
            let Some(scope) = scopes.get(*number) else { continue };
            let mut values = Values { scope, rules: &rules, args: Size::ONE, sizes: BTreeMap::new(), found: None };
            size = size.max(values.rule(rule));
            if values.found.is_some() {
                return values.found;
            }
            // For arguments in between, the size lies below the line through both.
            let args = Size { copies: MAX_COPIES, ..Size::ONE };
            let mut values = Values { scope, rules: &rules, args, sizes: BTreeMap::new(), found: None };
            large = large.max(values.rule(rule));
        }
        let slope = large.copies.saturating_sub(size.copies).div_ceil(MAX_COPIES - 1);
        rules.insert(path, Made { size, slope });
    }
    None
}

/// The values of one rule.
struct Values<'g> {
    scope: &'g Scope<'g>,
    rules: &'g BTreeMap<&'g Path, Made>,
    /// Of the arguments, if it is a function.
    args: Size,
    /// Of its variables.
    sizes: BTreeMap<String, Size>,
    found: Option<Grown>,
}

impl Values<'_> {
    fn rule(&mut self, rule: &Rule) -> Size {
        let Rule::Spec { head, bodies, .. } = rule else { return Size::ONE };
        let (value, args) = match head {
            RuleHead::Compr { assign, .. } => (assign.as_ref().map(|assign| &assign.value), None),
            RuleHead::Set { key, .. } => (key.as_ref(), None),
            RuleHead::Func { assign, args, .. } => (assign.as_ref().map(|assign| &assign.value), Some(args)),
        };
        let mut names = BTreeSet::new();
        args.into_iter().flatten().for_each(|arg| pattern(arg, &mut names));
        self.sizes.extend(names.into_iter().map(|name| (name, self.args)));
        let mut size = Size::ONE;
        for body in bodies {
            self.query(&body.query);
            if let Some(assign) = &body.assign {
                size = size.max(self.expr(&assign.value));
            }
        }
        value.map_or(size, |value| size.max(self.expr(value)))
    }

    fn declare(&mut self, names: impl FnOnce(&mut BTreeSet<String>)) {
        let mut declared = BTreeSet::new();
        names(&mut declared);
        for name in declared {
            self.sizes.entry(name).or_insert(Size::ONE);
        }
    }

    fn query(&mut self, query: &Query) {
        self.declare(|names| declared(query, names));
        for _ in 0..MAX_PASSES {
            let before = self.sizes.clone();
            query.stmts.iter().for_each(|statement| self.statement(&statement.literal));
            if before == self.sizes {
                break;
            }
        }
    }

    fn statement(&mut self, literal: &Literal) {
        match literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                let size = self.expr(collection);
                key.iter().chain([value]).for_each(|names| self.bind(names, size));
            }
            Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => {
                self.expr(expr);
            }
            Literal::Every { key, value, domain, query, .. } => {
                let size = self.expr(domain);
                self.declare(|names| names.extend(key.iter().chain([value]).map(|name| name.text().to_owned())));
                key.iter().chain([value]).for_each(|name| self.bind_name(name.text(), size));
                self.query(query);
            }
        }
    }

    fn bind(&mut self, names: &Expr, size: Size) {
        let mut bound = BTreeSet::new();
        pattern(names, &mut bound);
        bound.iter().for_each(|name| self.bind_name(name, size));
    }

    fn bind_name(&mut self, name: &str, size: Size) {
        // `x = y` compares with a rule, and binds anything else.
        if !self.sizes.contains_key(name) && self.scope.is_rule(name) {
            return;
        }
        let own = self.sizes.entry(name.to_owned()).or_insert(Size::ONE);
        *own = own.max(size);
    }

    fn expr(&mut self, expr: &Expr) -> Size {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => Size::CONSTANT,
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => self.reference(expr),
            Expr::Array { span, items, .. } | Expr::Set { span, items, .. } => {
                let size = items.iter().fold(Size::CONSTANT, |size, item| size.with(self.expr(item)));
                self.check(span, size)
            }
            Expr::Object { span, fields, .. } => {
                let size = fields.iter().fold(Size::CONSTANT, |size, (_, _, value)| size.with(self.expr(value)));
                self.check(span, size)
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.query(query);
                self.expr(term)
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.query(query);
                self.expr(key).max(self.expr(value))
            }
            Expr::Call { fcn, params, .. } => self.call(fcn, params),
            Expr::UnaryExpr { expr, .. } => self.expr(expr),
            Expr::BinExpr { lhs, rhs, .. } => self.expr(lhs).max(self.expr(rhs)),
            Expr::BoolExpr { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
                Size::ONE
            }
            Expr::ArithExpr { span, op, lhs, rhs, .. } => {
                let mut size = self.expr(lhs).max(self.expr(rhs)).max(Size::ONE);
                let is_number = |expr: &Expr| matches!(expr, Expr::Number { .. });
                if *op == ArithOp::Mul && !is_number(lhs) && !is_number(rhs) {
                    size.products += 1;
                }
                self.check(span, size)
            }
            Expr::AssignExpr { op, lhs, rhs, .. } => {
                let size = self.expr(rhs);
                self.bind(lhs, size);
                if *op == AssignOp::Eq {
                    // `=` goes both ways, but takes a value apart only where nothing else says what a part is.
                    let size = self.expr(lhs);
                    let mut names = BTreeSet::new();
                    pattern(rhs, &mut names);
                    names.retain(|name| !self.sizes.contains_key(name));
                    names.iter().for_each(|name| self.bind_name(name, size));
                }
                Size::ONE
            }
            Expr::Membership { collection, .. } => {
                self.expr(collection);
                Size::ONE
            }
        }
    }

    fn reference(&mut self, expr: &Expr) -> Size {
        let mut base = expr;
        while let Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } = base {
            if let Expr::RefBrack { index, .. } = base
                && !matches!(index.as_ref(), Expr::Var { .. })
            {
                self.expr(index);
            }
            base = refr;
        }
        match base {
            Expr::Var { .. } => {
                let own = self.sizes.get(base.span().text()).copied();
                own.unwrap_or_else(|| self.of_rules(expr, Size::ONE))
            }
            other => self.expr(other),
        }
    }

    fn of_rules(&self, expr: &Expr, args: Size) -> Size {
        let rules = self.scope.rules(expr, |name| self.sizes.contains_key(name));
        rules.iter().filter_map(|rule| self.rules.get(rule)).map(|made| made.of(args)).fold(Size::ONE, Size::max)
    }

    fn call(&mut self, function: &Expr, params: &[Ref<Expr>]) -> Size {
        let size = params.iter().fold(Size::ONE, |size, param| size.max(self.expr(param)));
        let name = function.span().text();
        if Builtin::named(name).is_none() {
            return self.of_rules(function, size);
        }
        if name == "walk"
            && let [walked, out] = params
        {
            let size = self.expr(walked);
            self.bind(out, size);
        }
        // Others make strings, of bounded length, and small numbers.
        let keeps = ["array.", "object.", "json.", "graph.", "yaml."].iter().any(|start| name.starts_with(start));
        match keeps || matches!(name, "union" | "intersection" | "sort" | "max" | "min" | "walk") {
            true => size,
            false => Size { copies: 1, ..size },
        }
    }

    fn check(&mut self, span: &Span, size: Size) -> Size {
        let why = if size.products > MAX_PRODUCTS {
            "a product of products of products, and so on: no number is that large"
        } else if size.copies > MAX_COPIES {
            "a value that holds a million copies of another: put it in once"
        } else {
            return size;
        };
        self.found.get_or_insert(Grown { why, file: span.source.get_path().clone(), line: span.line, col: span.col });
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;

    fn first(rules: &str) -> Option<(u32, u32)> {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        engine.set_policy_length_config(regorus::PolicyLengthConfig {
            max_col: std::num::NonZeroU32::MAX,
            ..Default::default()
        });
        engine.add_policy("p.rego".to_owned(), format!("package p\n{rules}")).unwrap();
        let modules = engine.get_modules();
        grown(modules, &Graph::new(modules)).map(|grown| (grown.line, grown.col))
    }

    fn chain(most: usize, form: &str) -> String {
        let statements = (1..=most).map(|n| format!("x{n} := {}\n", form.replace('@', &format!("x{}", n - 1))));
        format!("a {{\nx0 := input.x\n{}x{most} == 1\n}}", statements.collect::<String>())
    }

    #[test]
    fn chains_that_grow() {
        for (rules, place) in [
            (chain(8, "@ * @"), None),
            (chain(9, "@ * @"), Some((12, 10))),
            (chain(100, "@ * 2"), None),
            (chain(100, "@ + @"), None),
            (chain(20, "[@, @]"), None),
            (chain(21, "[@, @]"), Some((24, 8))),
            (chain(10, "{\"a\": @, \"b\": @, \"c\": @, \"d\": @}"), None),
            (chain(11, "{\"a\": @, \"b\": @, \"c\": @, \"d\": @}"), Some((14, 8))),
            (chain(100, "[@, 1, \"a\"]"), None),
            (format!("a = [{}]", "{\"b\": {\"c\": [1, input.d, x]}}, ".repeat(1000)), None),
            (chain(100, "sprintf(\"%v %v\", [@, @])"), None),
            ("f(x) = x * x\na { f(f(f(f(f(f(f(f(input.x)))))))) == 1 }".to_owned(), None),
            (
                "f(x) = y { y := x * x }\na { z := f(f(f(f(f(f(f(f(input.x)))))))); z * z == 1 }".to_owned(),
                Some((3, 45)),
            ),
            (
                "f(x) = {\"a\": 1, \"b\": input.b, \"c\": x, \"d\": input.d}\n".to_owned()
                    + "a = "
                    + &"f(".repeat(25)
                    + "input"
                    + &")".repeat(25),
                None,
            ),
            (
                "f(x) = [x, x]\ng(x) = f(f(f(f(f(f(x))))))\na = g(g(g(input)))\nb = [a, a, a, a, a]".to_owned(),
                Some((5, 5)),
            ),
            (
                "x0 = input.x\n".to_owned()
                    + &(1..10).map(|n| format!("x{n} = x{0} * x{0}\n", n - 1)).collect::<String>(),
                Some((11, 9)),
            ),
            ("a { count([x | x := input.a[_] * input.b[_] * input.c[_]]) > 1 }".to_owned(), None),
            (
                "f(x) = y { y = {\"a\": x, \"b\": x, \"c\": [x, x, x]} }\na = f(f(f(input)))\nb = [z | a = {\"a\": z}]"
                    .to_owned(),
                None,
            ),
            ("a { x = y * y; y = z * z; z = input.x }".to_owned(), None),
        ] {
            assert_eq!(first(&rules), place, "{rules}");
        }
    }
}
