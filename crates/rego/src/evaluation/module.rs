//! What a module is about: its package, its rules, and what it refers to. It is read from the syntax; nothing is evaluated.

use regorus::Value;
use regorus::unstable::{Builtin, Expr, ExprRef, Literal, Module, Query, Rule, RuleHead, Span};
use std::collections::{BTreeMap, BTreeSet};

/// What is known about a module by reading it.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `kubernetes.admission` as its parts.
    pub package: Vec<String>,
    /// The names of its rules, functions left out.
    pub rules: BTreeSet<String>,
    /// The line on which each rule or function is defined first.
    pub lines: BTreeMap<String, u32>,
    /// What it refers to below `data`.
    pub data: Vec<Reference>,
    /// What it refers to below `input`.
    pub input: InputKeys,
    /// Every function that it calls.
    pub calls: BTreeMap<String, Call>,
    /// Every function that it defines. Aliases of imported packages aren't resolved.
    pub functions: BTreeSet<String>,
    /// Names that imports give to what they import.
    pub imports: BTreeMap<String, Vec<String>>,
    /// Every name that stands alone in it: rules of its own package, or variables.
    pub names: BTreeSet<String>,
}

/// The keys of `input` that a module refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputKeys {
    keys: BTreeSet<String>,
    /// It takes the document as a whole, or keys that only the evaluation knows.
    whole: bool,
}

impl InputKeys {
    /// Whether it may look at what stands at the key.
    pub fn may_see(&self, key: &str) -> bool {
        self.whole || self.keys.contains(key)
    }

    /// The keys that are written out.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }
}

/// A path into a document, as far as it is written out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The keys in order; none: one that only the evaluation knows.
    pub keys: Vec<Option<String>>,
}

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Where first.
    pub place: Place,
    /// With the fewest arguments.
    pub fewest: usize,
    /// With the most arguments.
    pub most: usize,
}

/// Where something stands in a module, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Reference {
    /// Whether it may reach what stands at `path`: as far as both go, they agree.
    pub fn may_reach(&self, path: &[&str]) -> bool {
        self.keys.iter().zip(path).all(|(key, part)| key.as_deref().is_none_or(|key| key == *part))
    }
}

impl Facts {
    /// What is in a module that was read.
    pub fn of(module: &Module) -> Self {
        let mut facts = Self::default();
        if let Some((root, keys)) = path(&module.package.refr) {
            facts.package = std::iter::once(root).chain(keys.into_iter().flatten()).map(str::to_owned).collect();
        }
        for import in &module.imports {
            let Some((root, keys)) = path(&import.refr) else { continue };
            let keys: Vec<&str> = keys.into_iter().flatten().collect();
            if let Some(alias) = import.r#as.as_ref().map(Span::text).or(keys.last().copied()) {
                let whole = std::iter::once(root).chain(keys.iter().copied()).map(str::to_owned).collect();
                facts.imports.insert(alias.to_owned(), whole);
            }
        }
        for rule in &module.policy {
            facts.rule(rule);
        }
        facts
    }

    /// Whether it refers to the package.
    pub fn needs(&self, package: &[&str]) -> bool {
        self.data.iter().any(|reference| !reference.keys.is_empty() && reference.may_reach(package))
    }

    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::Spec { head, bodies, .. } => {
                match head {
                    RuleHead::Compr { refr, assign, .. } => {
                        self.defined(refr, false);
                        if let Some(assign) = assign {
                            self.expression(&assign.value);
                        }
                    }
                    RuleHead::Set { refr, key, .. } => {
                        self.defined(refr, false);
                        if let Some(key) = key {
                            self.expression(key);
                        }
                    }
                    RuleHead::Func { refr, args, assign, .. } => {
                        self.defined(refr, true);
                        for argument in args {
                            self.expression(argument);
                        }
                        if let Some(assign) = assign {
                            self.expression(&assign.value);
                        }
                    }
                }
                for body in bodies {
                    if let Some(assign) = &body.assign {
                        self.expression(&assign.value);
                    }
                    self.query(&body.query);
                }
            }
            Rule::Default { refr, args, value, .. } => {
                self.defined(refr, !args.is_empty());
                self.expression(value);
            }
        }
    }

    fn defined(&mut self, refr: &ExprRef, is_function: bool) {
        let Some((root, keys)) = path(refr) else { return };
        if !self.lines.contains_key(root) {
            self.lines.insert(root.to_owned(), refr.span().line);
        }
        if is_function {
            self.functions.insert(joined(std::iter::once(root).chain(keys.into_iter().flatten())));
        } else if !self.rules.contains(root) {
            self.rules.insert(root.to_owned());
        }
        // The keys of a partial object are expressions of their own.
        let mut step = refr;
        loop {
            match step.as_ref() {
                Expr::RefBrack { refr, index, .. } => {
                    self.expression(index);
                    step = refr;
                }
                Expr::RefDot { refr, .. } => step = refr,
                _ => break,
            }
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { .. } => {}
                Literal::SomeIn { key, value, collection, .. } => {
                    for expression in [key.as_ref(), Some(value), Some(collection)].into_iter().flatten() {
                        self.expression(expression);
                    }
                }
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.expression(expr),
                Literal::Every { domain, query, .. } => {
                    self.expression(domain);
                    self.query(query);
                }
            }
            for modifier in &statement.with_mods {
                self.expression(&modifier.refr);
                self.expression(&modifier.r#as);
                // A builtin may stand in for another function.
                if matches!(modifier.r#as.as_ref(), Expr::Var { .. } | Expr::RefDot { .. }) {
                    self.stands_in(&modifier.r#as);
                }
            }
        }
    }

    fn expression(&mut self, expression: &ExprRef) {
        match expression.as_ref() {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Var { .. } | Expr::RefDot { .. } | Expr::RefBrack { .. } => self.reference(expression),
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.expression(item);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.expression(key);
                    self.expression(value);
                }
            }
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.expression(term);
                self.query(query);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.expression(key);
                self.expression(value);
                self.query(query);
            }
            Expr::Call { span, fcn, params, .. } => {
                self.call(fcn, span, params.len());
                for parameter in params {
                    self.expression(parameter);
                }
            }
            Expr::UnaryExpr { expr, .. } => self.expression(expr),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expression(lhs);
                self.expression(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                for expression in [key.as_ref(), Some(value), Some(collection)].into_iter().flatten() {
                    self.expression(expression);
                }
            }
        }
    }

    fn stands_in(&mut self, function: &ExprRef) {
        let Some((root, keys)) = path(function).filter(|(root, _)| *root != "data" && *root != "input") else { return };
        let name = joined(std::iter::once(root).chain(keys.into_iter().flatten()));
        if let Some(builtin) = Builtin::named(&name) {
            self.called(name, function.span(), usize::from(builtin.arguments));
        }
    }

    fn called(&mut self, name: String, span: &Span, arguments: usize) {
        let place = Place { line: span.line, column: span.col };
        let call = self.calls.entry(name).or_insert(Call { place, fewest: arguments, most: arguments });
        call.fewest = call.fewest.min(arguments);
        call.most = call.most.max(arguments);
    }

    fn call(&mut self, function: &ExprRef, span: &Span, arguments: usize) {
        let Some((root, keys)) = path(function) else { return };
        let imported = self.imports.get(root);
        let root = std::iter::once(root).filter(|_| imported.is_none());
        let names = imported.into_iter().flatten().map(String::as_str).chain(root).chain(keys.into_iter().flatten());
        let name = joined(names.clone());
        // A function of another package is a reference to that package.
        if name.starts_with("data.") {
            let keys = names.skip(1).map(|key| Some(key.to_owned())).collect();
            self.data.push(Reference { keys });
        }
        self.called(name, span, arguments);
    }

    /// A variable, or a path from one. What stands in brackets on the way is read too.
    fn reference(&mut self, expression: &ExprRef) {
        let mut step = expression;
        loop {
            match step.as_ref() {
                Expr::RefDot { refr, .. } => step = refr,
                Expr::RefBrack { refr, index, .. } => {
                    self.expression(index);
                    step = refr;
                }
                Expr::Var { .. } => break,
                _ => return self.expression(step),
            }
        }
        let Some((root, keys)) = path(expression) else { return };
        let (root, imported) = match self.imports.get(root).map(Vec::as_slice) {
            Some([first, rest @ ..]) => (first.as_str(), rest),
            _ => (root, [].as_slice()),
        };
        let mut keys = imported.iter().map(|key| Some(key.as_str())).chain(keys);
        match root {
            "data" => self.data.push(Reference { keys: keys.map(|key| key.map(str::to_owned)).collect() }),
            "input" => match keys.next().flatten() {
                Some(key) if self.input.keys.contains(key) => {}
                Some(key) => drop(self.input.keys.insert(key.to_owned())),
                None => self.input.whole = true,
            },
            _ if self.names.contains(root) => {}
            _ => drop(self.names.insert(root.to_owned())),
        }
    }
}

/// A reference as its root and its keys; none for what doesn't start at a name.
fn path(expression: &ExprRef) -> Option<(&str, Vec<Option<&str>>)> {
    let mut keys = Vec::new();
    let mut step = expression;
    loop {
        match step.as_ref() {
            Expr::Var { span, .. } => {
                keys.reverse();
                return Some((span.text(), keys));
            }
            Expr::RefDot { refr, field, .. } => {
                keys.push(text(&field.1));
                step = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                keys.push(match index.as_ref() {
                    Expr::String { value, .. } | Expr::RawString { value, .. } => text(value),
                    _ => None,
                });
                step = refr;
            }
            _ => return None,
        }
    }
}

/// The name of a function that an expression spells, `io["jwt"].decode` too.
pub(crate) fn function_name(expression: &ExprRef) -> Option<String> {
    let (root, keys) = path(expression)?;
    let keys: Option<Vec<&str>> = keys.into_iter().collect();
    keys.map(|keys| joined(std::iter::once(root).chain(keys)))
}

fn text(value: &Value) -> Option<&str> {
    value.as_string().ok().map(AsRef::as_ref)
}

/// `startswith`, `data.lib.startswith`: the name that a call is known by.
fn joined<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut name = String::new();
    for part in parts {
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(part);
    }
    name
}
