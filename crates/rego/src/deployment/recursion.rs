//! Rules that depend on themselves, and chains of rules that are too long for the engine's stack.
//!
//! The engine notices a rule that needs itself only when it evaluates it. It never notices a function that calls itself: the call
//! would end the module without an error.

use super::needs::{Needed, needs};
use super::scope::{Path, Scope, head, package, rule_path};
use super::stack::{STACK_OF_RULE, stack_of_rule};
use regorus::unstable::{Module, Ref, Span};
use std::collections::{BTreeMap, BTreeSet};

/// How much of the engine's stack a chain of rules may take, each of which needs the next. In the module, with the policy server's
/// stack, 1600 is too much.
const MAX_STACK: usize = 1024;

/// The rules of all modules, and what each of them needs.
#[derive(Debug)]
pub(super) struct Graph {
    rules: BTreeMap<Path, Node>,
}

#[derive(Debug)]
struct Node {
    place: Span,
    needs: Needed,
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
                    needs: Needed::default(),
                    stack: STACK_OF_RULE,
                });
                node.stack = node.stack.max(STACK_OF_RULE + stack_of_rule(rule));
            }
        }
        let known: BTreeSet<Path> = rules.keys().cloned().collect();
        for module in modules {
            let package = package(module);
            for rule in &module.policy {
                if let Some(node) = rules.get_mut(&rule_path(&package, rule)) {
                    node.needs.extend(needs(rule, Scope::new(module, &known)));
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
        self.rules.get(rule).map(|node| node.needs.all().rev().collect()).unwrap_or_default()
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

    /// A rule whose chain of needed rules is too long for the stack. Only for rules without a circle.
    pub(super) fn chain(&self) -> Option<Chain> {
        // The stack of each rule with the deepest chain that it needs, and the length of that chain.
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

    /// What a rule needs.
    pub(super) fn needed(&self, rule: &Path) -> Option<&Needed> {
        self.rules.get(rule).map(|node| &node.needs)
    }

    /// The names of all rules.
    pub(super) fn known(&self) -> BTreeSet<Path> {
        self.rules.keys().cloned().collect()
    }
}

/// Rules that need each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    /// `data.p.f`, …, and the first one again.
    pub(super) rules: Vec<String>,
    /// The module with the first of them.
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
}
