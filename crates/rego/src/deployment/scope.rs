//! What names mean: the rules that a reference leads to, and the variables that hide them.

use regorus::Value;
use regorus::unstable::{AssignOp, Builtin, Expr, Literal, Module, Query, Ref, Rule, RuleHead};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// `["data", "p", "f"]`
pub(super) type Path = Vec<String>;

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
        if whole && !self.known.contains(&path) && Builtin::named(name.as_str()).is_some() {
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

/// The path of a module's package, `data` included.
pub(super) fn package(module: &Module) -> Path {
    let (root, fields, _) = spelled(&module.package.refr);
    let written = root.into_iter().chain(fields);
    // The engine's parser has `data` in front in one place and not in another.
    std::iter::once("data".to_owned()).chain(written.skip_while(|name| name == "data")).collect()
}

/// The path of a rule, as references spell it.
pub(super) fn rule_path(package: &Path, rule: &Rule) -> Path {
    let (root, fields, _) = spelled(head(rule));
    package.iter().cloned().chain(root).chain(fields).collect()
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

/// What a rule defines.
pub(super) fn head(rule: &Rule) -> &Ref<Expr> {
    match rule {
        Rule::Default { refr, .. } => refr,
        Rule::Spec {
            head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. },
            ..
        } => refr,
    }
}

/// The names of imports. An import of `input` leads to no rule.
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

/// The variable that a reference starts with, the fields that are written out, and whether those are all.
pub(super) fn spelled(expr: &Expr) -> (Option<String>, Path, bool) {
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
