//! Which lines of the modules are evaluated by tests, and which never.

use std::collections::{BTreeMap, BTreeSet};

use regorus::coverage::Report;
use regorus::unstable::{Expr, Literal, Module, NodeRef, Query, Rule, RuleHead};
use serde::Serialize;

/// The lines of every module.
#[derive(Debug)]
pub(super) struct Coverage(BTreeMap<String, File>);

/// The lines of one module that have something to evaluate.
#[derive(Debug, Default)]
pub(super) struct File {
    lines: BTreeSet<u32>,
    covered: BTreeSet<u32>,
}

impl Coverage {
    /// Nothing is covered yet.
    pub(super) fn of(modules: &[NodeRef<Module>]) -> Self {
        let files = modules.iter().map(|module| {
            let mut file = File::default();
            module.policy.iter().for_each(|rule| file.rule(rule));
            (module.package.span.source.file().clone(), file)
        });
        Self(files.collect())
    }

    /// Adds what one evaluation reached. The engine says nothing of modules that it didn't reach.
    pub(super) fn add(&mut self, report: &Report) {
        for reached in &report.files {
            if let Some(file) = self.0.get_mut(&reached.path) {
                file.covered.extend(reached.covered.intersection(&file.lines));
            }
        }
    }

    /// The modules' names and lines.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(name, file)| (name.as_str(), file))
    }

    /// How many lines of all modules are covered.
    pub(super) fn total(&self) -> Share {
        self.0.values().map(File::share).fold(Share::default(), |total, share| Share {
            covered: total.covered + share.covered,
            lines: total.lines + share.lines,
        })
    }

    /// In the form that `opa test --coverage` writes.
    pub(super) fn to_json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Document<'a> {
            files: BTreeMap<&'a str, FileEntry>,
            #[serde(flatten)]
            total: Totals,
        }
        #[derive(Serialize)]
        struct FileEntry {
            #[serde(skip_serializing_if = "Vec::is_empty")]
            covered: Vec<Range>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            not_covered: Vec<Range>,
            #[serde(flatten)]
            total: Totals,
        }
        let files = self.files().map(|(name, file)| {
            let entry = FileEntry {
                covered: ranges(file.covered.iter().copied()),
                not_covered: file.not_covered(),
                total: file.share().into(),
            };
            (name, entry)
        });
        Document { files: files.collect(), total: self.total().into() }
    }
}

impl File {
    pub(super) fn share(&self) -> Share {
        Share { covered: self.covered.len(), lines: self.lines.len() }
    }

    /// The lines that no test reaches.
    pub(super) fn not_covered(&self) -> Vec<Range> {
        ranges(self.lines.difference(&self.covered).copied())
    }

    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::Default { value, .. } => self.expression(value),
            Rule::Spec { head, bodies, .. } => {
                match head {
                    RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                        assign.iter().for_each(|assign| self.expression(&assign.value));
                    }
                    RuleHead::Set { key, .. } => key.iter().for_each(|key| self.expression(key)),
                }
                bodies.iter().for_each(|body| self.query(&body.query));
            }
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            match &statement.literal {
                Literal::SomeVars { .. } => {}
                Literal::SomeIn { value, collection, .. } => {
                    self.expression(value);
                    self.expression(collection);
                }
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => self.expression(expr),
                Literal::Every { domain, query, .. } => {
                    self.expression(domain);
                    self.query(query);
                }
            }
        }
    }

    /// The lines on which the engine evaluates something, by its own count.
    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::ArrayCompr { query, .. } | Expr::SetCompr { query, .. } | Expr::ObjectCompr { query, .. } => {
                return self.query(query);
            }
            _ => self.lines.insert(expression.span().line),
        };
        match expression {
            Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| self.expression(item)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
                self.expression(key);
                self.expression(value);
            }),
            Expr::Call { params, .. } => params.iter().for_each(|parameter| self.expression(parameter)),
            Expr::UnaryExpr { expr, .. } => self.expression(expr),
            Expr::RefDot { refr, .. } => self.expression(refr),
            Expr::RefBrack { refr, index, .. } => {
                self.expression(refr);
                self.expression(index);
            }
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expression(lhs);
                self.expression(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                key.iter().for_each(|key| self.expression(key));
                self.expression(value);
                self.expression(collection);
            }
            _ => {}
        }
    }
}

/// How many lines of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) covered: usize,
    pub(super) lines: usize,
}

impl Share {
    /// Of nothing, everything is covered.
    pub(super) fn percent(self) -> f64 {
        if self.lines == 0 { 100.0 } else { 100.0 * self.covered as f64 / self.lines as f64 }
    }
}

#[derive(Serialize)]
struct Totals {
    covered_lines: usize,
    not_covered_lines: usize,
    /// In percent, with two decimals.
    coverage: f64,
}

impl From<Share> for Totals {
    fn from(share: Share) -> Self {
        Self {
            covered_lines: share.covered,
            not_covered_lines: share.lines - share.covered,
            coverage: (share.percent() * 100.0).round() / 100.0,
        }
    }
}

/// Lines that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Range {
    start: Row,
    end: Row,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Row {
    row: u32,
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.start.row, self.end.row) {
            (start, end) if start == end => write!(f, "{start}"),
            (start, end) => write!(f, "{start}-{end}"),
        }
    }
}

/// Ascending lines, as ranges.
fn ranges(lines: impl Iterator<Item = u32>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for row in lines {
        match ranges.last_mut() {
            Some(range) if range.end.row + 1 == row => range.end.row = row,
            _ => ranges.push(Range { start: Row { row }, end: Row { row } }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_follow_each_other_are_one_range() {
        let shown = |lines: &[u32]| ranges(lines.iter().copied()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(&[1, 2, 3, 5, 7, 8]), ["1-3", "5", "7-8"]);
        assert!(shown(&[]).is_empty());
    }

    #[test]
    fn of_nothing_everything_is_covered() {
        assert_eq!(Share::default().percent(), 100.0);
        assert_eq!(Share { covered: 1, lines: 8 }.percent(), 12.5);
    }
}
