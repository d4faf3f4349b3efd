//! The rules that are tests, and what becomes of each.

use std::collections::BTreeMap;
use std::time::Duration;

use web_time::Instant;

use regorus::Value;
use regorus::unstable::{Expr, Module, NodeRef, Rule, RuleBody, RuleHead, Span};

use super::cases::{failing, keys_of_cases};
use super::coverage::Coverage;
use super::identity::{Identity, Scope};
use super::outcome::{Outcome, Stop, Verdict, Why};
use crate::command::rego::{Program, failure};
use crate::command::terminal::in_one_line;

/// What a test's name begins with.
const TEST: &str = "test_";
/// And one that isn't to be run yet.
const SKIPPED: &str = "todo_test_";

/// One rule that is a test.
#[derive(Debug)]
pub(super) struct Test {
    /// Its name has a number if it isn't the first of that name.
    pub(super) identity: Identity,
    /// The keys from `data` to the rule.
    path: Vec<String>,
    skipped: bool,
    module: NodeRef<Module>,
    rule: NodeRef<Rule>,
}

/// The tests of the modules, in their order. Each rule is a test of its own: of two rules of one name, that would be
/// true when one of them is, a failing one would be hidden by the other.
pub(super) fn tests(modules: &[NodeRef<Module>]) -> Vec<Test> {
    let mut found = Vec::new();
    let mut names: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for module in modules {
        let package = keys(&module.package.refr);
        for rule in &module.policy {
            // A function or a default value is no test.
            let Rule::Spec { head: RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. }, .. } = rule.as_ref()
            else {
                continue;
            };
            let own = keys(refr);
            let Some(name) = own.last() else { continue };
            let skipped = name.starts_with(SKIPPED);
            if !skipped && !name.starts_with(TEST) {
                continue;
            }
            let path: Vec<String> = package.iter().chain(&own).cloned().collect();
            let earlier = names.entry(path.clone()).or_default();
            let number = if *earlier == 0 { String::new() } else { format!("#{earlier:02}") };
            *earlier += 1;
            let span = refr.span();
            found.push(Test {
                identity: Identity {
                    scope: Scope::Package(dotted("data", &package)),
                    name: format!("{}{number}", dotted("", &own)),
                    file: span.source.file().clone(),
                    line: usize::try_from(span.line).unwrap_or_default(),
                },
                path,
                skipped,
                module: module.clone(),
                rule: rule.clone(),
            });
        }
    }
    found
}

impl Test {
    /// Evaluates the rule, and counts the lines that it reaches.
    pub(super) fn run(&self, program: &Program, coverage: Option<&mut Coverage>) -> Outcome {
        if self.skipped {
            return Outcome { verdict: Verdict::Skipped, took: Duration::ZERO, prints: Vec::new() };
        }
        let mut engine = program.engine();
        engine.set_enable_coverage(coverage.is_some());
        let start = Instant::now();
        let value = engine.eval_rule_in_module(&self.module, &self.rule, false);
        let took = start.elapsed();
        if let (Some(coverage), Ok(report)) = (coverage, engine.get_coverage_report()) {
            coverage.add(&report);
        }
        let verdict = match value {
            Ok(data) => match (self.value(&data), keys_of_cases(&self.rule)) {
                (value, Some(keys)) => match failing(program, &self.module, &self.rule, &keys, &value) {
                    Ok(cases) => verdict(&cases),
                    Err(failure) => Verdict::Stopped(Stop::Evaluation(failure)),
                },
                (Value::Bool(true), None) => Verdict::Passed,
                (other, None) => Verdict::Failed(Why::of(in_one_line(&self.why(&other, program)))),
            },
            Err(error) => Verdict::Stopped(Stop::Evaluation(failure!(error))),
        };
        Outcome { verdict, took, prints: engine.take_prints().unwrap_or_default() }
    }

    /// The rule's value in all of `data`.
    fn value(&self, data: &Value) -> Value {
        self.path.iter().fold(data.clone(), |value, key| match value.as_object() {
            Ok(fields) => fields.get(&Value::from(key.as_str())).cloned().unwrap_or(Value::Undefined),
            Err(_) => Value::Undefined,
        })
    }

    /// What a test is that isn't true, and how far it got.
    fn why(&self, value: &Value, program: &Program) -> String {
        match value {
            Value::Undefined => match self.last_reached(program) {
                Some(span) => format!("undefined, after line {}: `{}`", span.line, in_short(span.text())),
                None => "undefined".to_owned(),
            },
            other => format!("`{}`, which is not true", in_short(&other.to_string())),
        }
    }

    /// The last statement that was evaluated: the one that was not true. Told only of a test with one body.
    fn last_reached(&self, program: &Program) -> Option<Span> {
        let Rule::Spec { bodies, .. } = self.rule.as_ref() else { return None };
        let [RuleBody { query, .. }] = bodies.as_slice() else { return None };
        let mut engine = program.engine();
        engine.set_enable_coverage(true);
        engine.eval_rule_in_module(&self.module, &self.rule, false).ok()?;
        let report = engine.get_coverage_report().ok()?;
        let covered = &report.files.iter().find(|file| file.path == self.identity.file)?.covered;
        let mut reached = query.stmts.iter().filter(|statement| covered.contains(&statement.span.line));
        reached.next_back().map(|statement| statement.span.clone())
    }
}

/// What becomes of a test with these cases that don't hold.
fn verdict(failing: &[String]) -> Verdict {
    let names: Vec<String> = failing.iter().map(|name| format!("`{name}`")).collect();
    let cases = match names.as_slice() {
        [] => return Verdict::Passed,
        [name] => format!("the case {name} is not true"),
        names => format!("the cases {} are not true", names.join(", ")),
    };
    Verdict::Failed(Why::of(in_one_line(&cases)))
}

/// A text's first line, and not too much of it.
fn in_short(text: &str) -> String {
    const MAX_CHARACTERS: usize = 100;
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(MAX_CHARACTERS).collect();
    if shown.len() < text.trim_end().len() { format!("{shown}…") } else { shown }
}

/// The keys that a reference is made of, up to the first that isn't known before it is evaluated.
pub(super) fn keys(refr: &Expr) -> Vec<String> {
    match refr {
        Expr::Var { span, .. } => vec![span.text().to_owned()],
        Expr::RefDot { refr, field, .. } => followed_by(refr, field.0.text()),
        Expr::RefBrack { refr, index, .. } => match index.as_ref() {
            Expr::String { value, .. } | Expr::RawString { value, .. } => match value.as_string() {
                Ok(key) => followed_by(refr, key),
                Err(_) => keys(refr),
            },
            _ => keys(refr),
        },
        _ => Vec::new(),
    }
}

fn followed_by(refr: &Expr, key: &str) -> Vec<String> {
    let mut keys = keys(refr);
    keys.push(key.to_owned());
    keys
}

/// `data.kubernetes["1.0"].admission`
pub(super) fn dotted(root: &str, keys: &[String]) -> String {
    let mut text = root.to_owned();
    for key in keys {
        let is_name = key.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        match (is_name, text.is_empty()) {
            (true, true) => text.push_str(key),
            (true, false) => text.extend([".", key]),
            (false, _) => text.push_str(&format!("[{key:?}]")),
        }
    }
    text
}
