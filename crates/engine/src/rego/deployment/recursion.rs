//! Rules that depend on themselves, and rule text that is nested too deeply: both are errors of the settings.
//!
//! The engine notices a rule that needs itself only when it evaluates it, and a function that calls itself never: the
//! call would end the module without a word.

use regorus::Value;
use regorus::unstable::{
    AssignOp, BUILTINS, Expr, Lexer, Literal, Module, Query, Ref, Rule, RuleAssign, RuleBody, RuleHead, Source, Span,
    TokenKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What a chain of rules, of which each needs the next, may take of the engine's stack. In the module, with the stack
/// that the policy server gives it, 1600 are too much.
const MAX_STACK: usize = 1024;
/// What a rule takes of it,
const STACK_OF_RULE: usize = 16;
/// a bracket of any kind in it: a call, a list, a comprehension,
const STACK_OF_BRACKET: usize = 4;
/// and an operator.
const STACK_OF_OPERATOR: usize = 1;
/// Operators, dots and brackets of one expression: the engine recurses for each of them.
const MAX_OPERATORS: usize = 128;
/// Tokens that the parser reads again. It reads the first element of an array, a set or an object twice, first as that
/// of a comprehension; twenty brackets in a row are a million readings.
const MAX_REREAD: u64 = 500_000;
/// Characters of a number. `1e2000000000` would be computed while the text is read.
const MAX_NUMBER_LENGTH: usize = 64;
/// The largest exponent of a number.
const LARGEST_EXPONENT: u32 = 400;

/// Rules that need each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    /// `data.p.f`, …, and the first one again.
    pub(super) rules: Vec<String>,
    /// The text with the first of them.
    pub(super) file: String,
    /// Counted from one.
    pub(super) line: u32,
    /// Counted from one.
    pub(super) col: u32,
}

/// A chain of rules that is too long for the engine's stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    /// `data.p.f`
    pub(super) rule: String,
    /// How many it needs in a row.
    pub(super) length: usize,
}

/// A place in a rule text that the parser must not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nested {
    /// What is the matter with it.
    pub(super) why: String,
    /// Counted from one.
    pub(super) line: u32,
    /// Counted from one.
    pub(super) col: u32,
}

/// `["data", "p", "f"]`
pub(super) type Path = Vec<String>;

/// The rules of all modules, and what each of them needs.
#[derive(Debug)]
pub(super) struct Graph {
    rules: BTreeMap<Path, Node>,
}

#[derive(Debug)]
struct Node {
    place: Span,
    needs: BTreeSet<Path>,
    /// What it takes of the engine's stack.
    stack: usize,
}

impl Graph {
    /// What the rules of these modules need.
    pub(super) fn new(modules: &[Ref<Module>]) -> Self {
        let mut rules: BTreeMap<Path, Node> = BTreeMap::new();
        for module in modules {
            let package = package(module);
            for rule in &module.policy {
                let path = rule_path(&package, rule);
                let node = rules.entry(path).or_insert_with(|| Node {
                    place: head(rule).span().clone(),
                    needs: BTreeSet::new(),
                    stack: STACK_OF_RULE,
                });
                node.stack = node.stack.max(STACK_OF_RULE + stack_of_rule(rule));
            }
        }
        let known: BTreeSet<Path> = rules.keys().cloned().collect();
        for module in modules {
            let package = package(module);
            for rule in &module.policy {
                let mut needs = Needs { scope: Scope::new(module, &known), found: BTreeSet::new() };
                needs.rule(rule);
                if let Some(node) = rules.get_mut(&rule_path(&package, rule)) {
                    node.needs.append(&mut needs.found);
                }
            }
        }
        Self { rules }
    }

    /// The first circle, in the order of the rules' names.
    pub(super) fn cycle(&self) -> Option<Cycle> {
        let mut done = BTreeSet::new();
        self.rules.keys().find_map(|rule| self.circle_from(rule, &mut done))
    }

    /// Goes down without recursion: a chain may be as long as the text.
    fn circle_from<'g>(&'g self, start: &'g Path, done: &mut BTreeSet<&'g Path>) -> Option<Cycle> {
        let mut trail: Vec<(&Path, Vec<&Path>)> = vec![(start, self.next(start))];
        let mut on: BTreeSet<&Path> = BTreeSet::from([start]);
        while let Some((rule, open)) = trail.last_mut() {
            let Some(next) = open.pop() else {
                on.remove(*rule);
                done.insert(rule);
                trail.pop();
                continue;
            };
            if on.contains(next) {
                let mut circle =
                    trail.iter().map(|(rule, _)| *rule).skip_while(|rule| *rule != next).collect::<Vec<_>>();
                circle.push(next);
                return self.described(&circle);
            }
            if !done.contains(next) {
                on.insert(next);
                trail.push((next, self.next(next)));
            }
        }
        None
    }

    fn next(&self, rule: &Path) -> Vec<&Path> {
        self.rules.get(rule).map(|node| node.needs.iter().rev().collect()).unwrap_or_default()
    }

    fn described(&self, circle: &[&Path]) -> Option<Cycle> {
        let place = &self.rules.get(*circle.first()?)?.place;
        Some(Cycle {
            rules: circle.iter().map(|rule| rule.join(".")).collect(),
            file: place.source.get_path().clone(),
            line: place.line,
            col: place.col,
        })
    }

    /// A rule that needs so many others in a row that the stack doesn't do. Only for rules without a circle.
    pub(super) fn chain(&self) -> Option<Chain> {
        // What the rules take together with the most expensive of those that they need, and how many these are.
        let mut taken: BTreeMap<&Path, (usize, usize)> = BTreeMap::new();
        for rule in self.in_order() {
            let below = self.next(rule).iter().filter_map(|next| taken.get(*next)).max().copied().unwrap_or_default();
            let own = self.rules.get(rule).map_or(0, |node| node.stack);
            let (stack, length) = (own + below.0, 1 + below.1);
            if stack > MAX_STACK {
                return Some(Chain { rule: rule.join("."), length });
            }
            taken.insert(rule, (stack, length));
        }
        None
    }

    /// The rules, each after those that it needs. Only for rules without a circle.
    pub(super) fn in_order(&self) -> Vec<&Path> {
        let (mut order, mut done) = (Vec::new(), BTreeSet::new());
        for start in self.rules.keys() {
            let mut trail: Vec<(&Path, Vec<&Path>)> = vec![(start, self.next(start))];
            while let Some((rule, open)) = trail.last_mut() {
                match open.pop() {
                    Some(next) if done.contains(next) => {}
                    Some(next) => trail.push((next, self.next(next))),
                    None => {
                        if done.insert(*rule) {
                            order.push(*rule);
                        }
                        trail.pop();
                    }
                }
            }
        }
        order
    }

    /// The names of all rules.
    pub(super) fn known(&self) -> BTreeSet<Path> {
        self.rules.keys().cloned().collect()
    }
}

fn stack_of_rule(rule: &Rule) -> usize {
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

/// Looks at a text before it is parsed: the parser bounds brackets, but not how long an expression goes on.
///
/// A text that isn't Rego is for the parser to complain about.
pub(super) fn nested(text: &str) -> Option<Nested> {
    let source = Source::from_contents(String::new(), text.to_owned()).ok()?;
    let mut lexer = Lexer::new(&source);
    let mut open = vec![Bracket { sign: Sign::Brace, operators: 0, first: false, begun: true }];
    let (mut line, mut continues) = (0, false);
    let mut reread: u64 = 0;
    loop {
        let token = lexer.next_token().ok()?;
        let span = token.1;
        let sign = Sign::of(&token.0, span.text());
        let found = |why: String| Some(Nested { why, line: span.line, col: span.col });
        // Statements start on lines of their own, unless an operator stands on either side of the break.
        let starts = span.line != line && !continues && sign != Sign::Operator;
        if let Some(innermost) = open.last_mut()
            && (starts && innermost.sign == Sign::Brace || sign == Sign::Separator)
        {
            innermost.operators = 0;
            // Whatever follows a break without a comma is a body's next statement, which is read once.
            innermost.first &= !innermost.begun;
        }
        if let Some(innermost) = open.last_mut() {
            innermost.begun = true;
        }
        (line, continues) = (span.line, sign == Sign::Operator);

        let doubled = u32::try_from(open.iter().filter(|bracket| bracket.first).count()).unwrap_or(u32::MAX);
        reread = reread.saturating_add(2_u64.saturating_pow(doubled) - 1);
        if reread > MAX_REREAD {
            return found(format!("{doubled} brackets in brackets: give the inner ones a name of their own"));
        }
        match sign {
            Sign::End => return None,
            Sign::Number if is_too_long(span.text()) => {
                return found(format!(
                    "a number of more than {MAX_NUMBER_LENGTH} characters, or beyond 1e{LARGEST_EXPONENT}"
                ));
            }
            Sign::Close if open.len() > 1 => {
                open.pop();
            }
            Sign::Operator | Sign::Square => {
                let operators = open.last_mut().map_or(0, |innermost| {
                    innermost.operators += 1;
                    innermost.operators
                });
                if operators > MAX_OPERATORS {
                    return found(format!("an expression of more than {MAX_OPERATORS} operators: split it"));
                }
            }
            _ => {}
        }
        if matches!(sign, Sign::Brace | Sign::Square | Sign::Round) {
            open.push(Bracket { sign, operators: 0, first: sign != Sign::Round, begun: false });
        }
    }
}

/// A bracket that is open.
struct Bracket {
    sign: Sign,
    /// Of the expression that goes on in it.
    operators: usize,
    /// Whether this is still its first element.
    first: bool,
    /// Whether there is anything in it.
    begun: bool,
}

/// What a token is to [`nested`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Brace,
    Square,
    Round,
    Close,
    Separator,
    Operator,
    Number,
    Word,
    End,
}

impl Sign {
    fn of(kind: &TokenKind, text: &str) -> Self {
        match (kind, text) {
            (TokenKind::Eof, _) => Self::End,
            (TokenKind::Number, _) => Self::Number,
            (TokenKind::Symbol, "{") => Self::Brace,
            (TokenKind::Symbol, "[") => Self::Square,
            (TokenKind::Symbol, "(") => Self::Round,
            (TokenKind::Symbol, "}" | "]" | ")") => Self::Close,
            (TokenKind::Symbol, "," | ";") => Self::Separator,
            (TokenKind::Symbol, _) => Self::Operator,
            _ => Self::Word,
        }
    }
}

fn is_too_long(number: &str) -> bool {
    let power = number.split_once(['e', 'E']).map(|(_, power)| power.trim_start_matches(['+', '-']));
    number.len() > MAX_NUMBER_LENGTH
        || power.is_some_and(|power| !power.parse().is_ok_and(|power: u32| power <= LARGEST_EXPONENT))
}

/// What names mean in a module.
#[derive(Debug)]
pub(super) struct Scope<'m> {
    package: Path,
    imports: BTreeMap<String, Path>,
    known: &'m BTreeSet<Path>,
}

impl<'m> Scope<'m> {
    /// The names of a module, beside rules that are known.
    pub(super) fn new(module: &Module, known: &'m BTreeSet<Path>) -> Self {
        Self { package: package(module), imports: imports(module), known }
    }

    /// Whether a rule of the module's own package has this name.
    pub(super) fn is_rule(&self, name: &str) -> bool {
        let path: Path = self.package.iter().cloned().chain([name.to_owned()]).collect();
        self.known.contains(&path)
    }

    /// The rules that a reference means: those that it leads to or through, or those below it.
    pub(super) fn rules(&self, expr: &Expr, is_local: impl Fn(&str) -> bool) -> BTreeSet<Path> {
        let (root, fields, whole) = spelled(expr);
        let Some(root) = root.filter(|root| !is_local(root) && root != "input" && root != "_") else {
            return BTreeSet::new();
        };
        let mut path = match (root.as_str(), self.imports.get(&root)) {
            ("data", _) => vec![root],
            (_, Some(imported)) => imported.clone(),
            _ => self.package.iter().cloned().chain([root.clone()]).collect(),
        };
        path.extend(fields);
        let name = path.get(self.package.len()..).unwrap_or_default().join(".");
        if whole && !self.known.contains(&path) && BUILTINS.contains_key(name.as_str()) {
            return BTreeSet::new();
        }
        let through =
            (1..=path.len()).filter_map(|length| path.get(..length)).filter_map(|start| self.known.get(start));
        let mut found: BTreeSet<Path> = through.cloned().collect();
        let below = (Bound::Excluded(path.clone()), Bound::Unbounded);
        found.extend(self.known.range::<Path, _>(below).take_while(|rule| rule.starts_with(&path)).cloned());
        found
    }
}

/// What a rule refers to.
struct Needs<'m> {
    scope: Scope<'m>,
    found: BTreeSet<Path>,
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
        // Its own name is no reference, what stands in brackets is.
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
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.expr(expr, local),
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
        self.found.append(&mut self.scope.rules(expr, |name| local.contains(name)));
    }
}

/// The variable that a reference starts with, the fields that are written out, and whether those are all.
fn spelled(expr: &Expr) -> (Option<String>, Path, bool) {
    let mut fields = Vec::new();
    let mut part = expr;
    loop {
        match part {
            Expr::RefDot { refr, field, .. } => {
                fields.push(name_of(&field.1));
                part = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                fields.push(match index.as_ref() {
                    Expr::String { value, .. } | Expr::RawString { value, .. } => name_of(value),
                    _ => None,
                });
                part = refr;
            }
            Expr::Var { value, .. } => {
                let path: Path = fields.iter().rev().map_while(Clone::clone).collect();
                let whole = path.len() == fields.len();
                return (name_of(value), path, whole);
            }
            _ => return (None, Vec::new(), false),
        }
    }
}

fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.to_string()),
        _ => None,
    }
}

fn head(rule: &Rule) -> &Ref<Expr> {
    match rule {
        Rule::Default { refr, .. } => refr,
        Rule::Spec {
            head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. },
            ..
        } => refr,
    }
}

fn assign_value(head: &RuleHead) -> Option<&Ref<Expr>> {
    match head {
        RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => assign.as_ref().map(|assign| &assign.value),
        RuleHead::Set { .. } => None,
    }
}

pub(super) fn rule_path(package: &Path, rule: &Rule) -> Path {
    let (root, fields, _) = spelled(head(rule));
    package.iter().cloned().chain(root).chain(fields).collect()
}

pub(super) fn package(module: &Module) -> Path {
    let (root, fields, _) = spelled(&module.package.refr);
    let written = root.into_iter().chain(fields);
    // The engine's parser has `data` in front in one place and not in another.
    std::iter::once("data".to_owned()).chain(written.skip_while(|name| name == "data")).collect()
}

/// Names for what is imported. What is imported of `input` is no rule's.
fn imports(module: &Module) -> BTreeMap<String, Path> {
    let mut names = BTreeMap::new();
    for import in &module.imports {
        let (root, fields, _) = spelled(&import.refr);
        let path: Path = root.into_iter().chain(fields).collect();
        let name = import.r#as.as_ref().map(|name| name.text().to_owned()).or_else(|| path.last().cloned());
        if let Some(name) = name {
            names.insert(name, path);
        }
    }
    names
}

/// The variables that a query declares itself: they hide rules of the same name.
pub(super) fn declared(query: &Query, local: &mut BTreeSet<String>) {
    for statement in &query.stmts {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => local.extend(vars.iter().map(|name| name.text().to_owned())),
            Literal::SomeIn { key, value, .. } => key.iter().chain([value]).for_each(|names| pattern(names, local)),
            Literal::Expr { expr, .. } => {
                if let Expr::AssignExpr { op: AssignOp::ColEq, lhs, .. } = expr.as_ref() {
                    pattern(lhs, local);
                }
            }
            Literal::NotExpr { .. } | Literal::Every { .. } => {}
        }
    }
}

/// The variables of `[a, {"b": c}]`.
pub(super) fn pattern(expr: &Expr, local: &mut BTreeSet<String>) {
    match expr {
        Expr::Var { value, .. } => local.extend(name_of(value)),
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| pattern(item, local)),
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, _, value)| pattern(value, local)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;

    fn circle(texts: &[&str]) -> Option<String> {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        for (index, text) in texts.iter().enumerate() {
            engine.add_policy(format!("{index}.rego"), (*text).to_owned()).unwrap();
        }
        Graph::new(engine.get_modules())
            .cycle()
            .map(|cycle| format!("{} {}:{}:{}", cycle.rules.join(" -> "), cycle.file, cycle.line, cycle.col))
    }

    #[test]
    fn circles() {
        for (texts, found) in [
            (vec!["package p\nf(x) = f(x)"], "data.p.f -> data.p.f 0.rego:2:1"),
            (vec!["package p\nf(x) = y { y := data.p.f(x) }"], "data.p.f -> data.p.f 0.rego:2:1"),
            (vec!["package p\na { b }\nb { not a }"], "data.p.a -> data.p.b -> data.p.a 0.rego:2:1"),
            (vec!["package p\na[x] { x := [y | y := a[_]] }"], "data.p.a -> data.p.a 0.rego:2:1"),
            (vec!["package p\na = 1 { false } else = a { true }"], "data.p.a -> data.p.a 0.rego:2:1"),
            (vec!["package p\na { data.p[x] }"], "data.p.a -> data.p.a 0.rego:2:1"),
            (vec!["package p\na { x := input.b[c] }\nc = 1 { a }"], "data.p.a -> data.p.c -> data.p.a 0.rego:2:1"),
            (
                vec!["package p\nimport data.q\na { q.b }", "package q\nb { data.p.a }"],
                "data.p.a -> data.q.b -> data.p.a 0.rego:3:1",
            ),
            (
                vec!["package p\nimport data.q.b as z\na { z(1) }", "package q\nb(x) { data.p.a }"],
                "data.p.a -> data.q.b -> data.p.a 0.rego:3:1",
            ),
            (
                vec![
                    "package p\nimport future.keywords\na if { every x in [1] { b(x) } }\nb(x) if { some y in [a]; y }",
                ],
                "data.p.a -> data.p.b -> data.p.a 0.rego:3:1",
            ),
            (
                vec!["package p\na { input.x with input as b }\nb = {\"x\": a}"],
                "data.p.a -> data.p.b -> data.p.a 0.rego:2:1",
            ),
            (vec!["package p\ndefault a = false\na { a }"], "data.p.a -> data.p.a 0.rego:2:9"),
        ] {
            assert_eq!(circle(&texts).as_deref(), Some(found), "{texts:?}");
        }
    }

    #[test]
    fn no_circles() {
        for texts in [
            vec!["package p\ndeny[msg] { deny_more[msg] }\ndeny_more[msg] { msg := \"x\" }"],
            vec!["package p\nf(f) = f { true }"],
            vec!["package p\na { a := 1; a == 1 }"],
            vec!["package p\na { some a; input.xs[a] }"],
            vec!["package p\na { x := {a | a := input.xs[_]}; x }"],
            vec!["package p\nimport future.keywords\na if { some a, b in input.xs; a == b }"],
            vec!["package p\nimport future.keywords\na if { every k, a in input.xs { a == k } }"],
            vec!["package p\na { input.a; input[\"a\"] }"],
            vec!["package p\na { data.q.a }", "package q\na { true }"],
            vec!["package p\nimport input.a as b\na { b.a }"],
            vec!["package p\na { b with data.p.a as true }\nb { true }"],
            vec!["package p\na.b { a.c }\na.c { true }"],
            vec!["package p\njson { json.unmarshal(\"1\") == 1 }"],
            vec![
                "package p\nimport data.lib.kubernetes\nviolation[msg] { kubernetes.pods[pod]; msg := kubernetes.format(pod) }",
                "package lib.kubernetes\npods[pod] { pod := input }\nformat(pod) = msg { msg := pod.name }",
            ],
            vec!["package p\na = x { x := b(a0) }\na0 = 1\nb(x) = x"],
            vec!["package p\nis_pod { input.kind == \"Pod\" }\npods[p] { is_pod; p := input }"],
        ] {
            assert_eq!(circle(&texts), None, "{texts:?}");
        }
    }

    #[test]
    fn chains_have_an_end() {
        let rules = |most: usize| {
            let rules = (1..most).map(|rule| format!("r{rule} {{ r{} }}\n", rule - 1)).collect::<String>();
            format!("package p\nr0 = 1\n{rules}")
        };
        let chain = |text: String| {
            let mut engine = Engine::new();
            engine.set_rego_v0(true);
            engine.add_policy("p.rego".to_owned(), text).unwrap();
            Graph::new(engine.get_modules()).chain()
        };
        let longest = MAX_STACK / STACK_OF_RULE;
        assert_eq!(chain(rules(longest)), None);
        assert_eq!(chain(rules(longest + 1)).map(|chain| chain.length), Some(longest + 1));
        let nested = |most: usize| rules(most).replace("{ r", "{ [[[[r").replace(" }", "]]]] }");
        assert_eq!(chain(nested(longest / 2)), None);
        assert_eq!(chain(nested(longest / 2 + 1)).map(|chain| chain.length), Some(longest / 2 + 1));
    }

    #[test]
    fn texts_that_the_parser_must_not_see() {
        for (text, place) in [
            (format!("package p\nx := 1{}", " +\n1".repeat(MAX_OPERATORS)), Some((MAX_OPERATORS as u32 + 1, 3))),
            (format!("package p\nx := 1{}", " +\n1".repeat(MAX_OPERATORS - 1)), None),
            (format!("package p\nx := [{}1]", "1 + 1,\n".repeat(1000)), None),
            (format!("package p\n{}", "x := 1\n".repeat(1000)), None),
            (format!("package p\nx {{\n{}}}", "a.b.c == 1\n".repeat(1000)), None),
            (format!("package p\nx := input{}", ".a".repeat(200)), Some((2, 265))),
            ("package p\nx := 1e308".to_owned(), None),
            (format!("package p\nx := {}1{}", "[".repeat(24), "]".repeat(24)), Some((2, 24))),
            (format!("package p\nx := {}1{}", "[".repeat(12), "]".repeat(12)), None),
            (format!("package p\nx := {}1{}", "{\"a\": ".repeat(12), "}".repeat(12)), None),
            (format!("package p\n{}", "x[y] {\n\ty := [z | z := {\"a\": [input.b[_]]}[_]]\n}\n".repeat(1000)), None),
            ("package p\nx := (".to_owned(), None),
            ("package p\nx := \"".to_owned(), None),
        ] {
            assert_eq!(
                nested(&text).map(|nested| (nested.line, nested.col)),
                place,
                "{}",
                text.get(..40).unwrap_or(&text)
            );
        }
    }
}
