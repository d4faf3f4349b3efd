//! The rules that the settings of a phase stand for, written in Rego: what `autoGenerate` adds to custom rules.
//!
//! The phases decide natively. These rules decide the same, word for word, and exist for the custom rules that use or extend them.
//! Rego is parsed anew at every request, so that a module that mentions a few of the rules gets only those: see
//! [`GeneratedRules::mentioned`]. A module may add to the three queried rules. If it defines another one, it changes what the phase
//! decides, and needs all [`GeneratedRules::rules`].

/// The rules of pre-scan.
pub const PRE_SCAN: GeneratedRules =
    GeneratedRules { file: PRE_SCAN_FILE, paragraphs: &PRE_SCAN_PARAGRAPHS, of_phase: &PRE_SCAN_RULES };
/// The rules of the scan phase.
pub const SCAN: GeneratedRules =
    GeneratedRules { file: SCAN_FILE, paragraphs: &SCAN_PARAGRAPHS, of_phase: &SCAN_RULES };

const PRE_SCAN_FILE: &str = include_str!("generated/pre_scan.rego");
const SCAN_FILE: &str = include_str!("generated/scan.rego");
static PRE_SCAN_PARAGRAPHS: [&str; count_paragraphs(PRE_SCAN_FILE)] = paragraphs(PRE_SCAN_FILE);
static SCAN_PARAGRAPHS: [&str; count_paragraphs(SCAN_FILE)] = paragraphs(SCAN_FILE);

/// The package of every rule of the two phases.
pub const PACKAGE: &str = "imageadmission";
/// The rules that exist without `autoGenerate` too.
pub const ALWAYS: [&str; 2] = ["policies", "namespace"];

const PACKAGE_LINE: &str = "package imageadmission\n";

/// The generated rules of one phase, in the syntax of Rego v0.
#[derive(Debug, Clone, Copy)]
pub struct GeneratedRules {
    /// Comments, the package, and one rule a paragraph.
    file: &'static str,
    /// What stands between empty lines, in the file's order.
    paragraphs: &'static [&'static str],
    /// The rules beside [`COMMON_RULES`], with what they need.
    of_phase: &'static [Rule],
}

/// How many paragraphs a file has: what an empty line ends, and the last.
const fn count_paragraphs(file: &str) -> usize {
    let (mut count, mut rest) = (1, file.as_bytes());
    while let [first, others @ ..] = rest {
        if let (b'\n', [b'\n', ..]) = (*first, others) {
            count += 1;
        }
        rest = others;
    }
    count
}

/// The paragraphs of a file.
const fn paragraphs<const COUNT: usize>(file: &'static str) -> [&'static str; COUNT] {
    let mut found = [""; COUNT];
    let (mut rest, mut left) = (file, found.as_mut_slice());
    while let [next, others @ ..] = left {
        let mut length = 0;
        let mut bytes = rest.as_bytes();
        while let [first, after @ ..] = bytes {
            length += 1;
            if let (b'\n', [b'\n', ..]) = (*first, after) {
                break;
            }
            bytes = after;
        }
        (*next, rest) = rest.split_at(length);
        left = others;
    }
    found
}

/// What the clauses of a rule use of the other rules.
#[derive(Debug, Clone, Copy)]
struct Rule {
    name: &'static str,
    needs: &'static [&'static str],
}

const fn rule(name: &'static str, needs: &'static [&'static str]) -> Rule {
    Rule { name, needs }
}

/// Rules of both phases, with the same text.
const COMMON_RULES: [Rule; 8] = [
    rule("namespace", &[]),
    rule("namespace_str", &["namespace"]),
    rule("policy_str", &[]),
    rule("scope_str", &["namespace_str", "policy_str"]),
    rule("first_matching_custom_policy", &[]),
    rule("custom_image_policy", &["first_matching_custom_policy", "namespace", "policies"]),
    rule("default_image_policy", &["namespace", "policies"]),
    rule("final_image_policy", &["custom_image_policy", "default_image_policy"]),
];

const PRE_SCAN_RULES: [Rule; 9] = [
    rule("policies", &[]),
    rule("final_image_policies", &["final_image_policy"]),
    rule("valid_policy_value", &[]),
    rule("config_error", &["final_image_policies", "namespace", "policies", "valid_policy_value"]),
    rule("image_action_reject", &["final_image_policies"]),
    rule("any_image_action_scan", &["final_image_policies"]),
    rule("no_denied_pod", &["deny_pod"]),
    rule("allow_pod", &["any_image_action_scan", "no_denied_pod"]),
    rule("deny_pod", &["config_error", "image_action_reject", "scope_str"]),
];

const SCAN_RULES: [Rule; 14] = [
    rule("policies", &[]),
    rule("image", &[]),
    rule("imagePolicy", &["final_image_policy", "image"]),
    rule("report_pending_action", &["namespace", "policies"]),
    rule("scan_failed_action", &["namespace", "policies"]),
    rule("valid_policy_value", &[]),
    rule("config_error", &["image", "imagePolicy", "namespace", "policies", "valid_policy_value"]),
    rule("scan_result_rejected", &[]),
    rule("scan_result_failed", &[]),
    rule("scan_result_not_available", &[]),
    rule("image_action_scan_result", &["imagePolicy"]),
    rule("image_action_reject", &["imagePolicy"]),
    rule(
        "deny_image_reason",
        &[
            "image_action_reject",
            "image_action_scan_result",
            "report_pending_action",
            "scan_failed_action",
            "scan_result_failed",
            "scan_result_not_available",
            "scan_result_rejected",
        ],
    ),
    rule("deny_image", &["config_error", "deny_image_reason", "image", "scope_str"]),
];

impl GeneratedRules {
    /// The file as people read it, with what its comments explain.
    #[must_use]
    pub fn file(self) -> &'static str {
        self.file
    }

    /// The whole module.
    #[must_use]
    pub fn module(self) -> String {
        self.module_of(|_| true)
    }

    /// The rules of the whole module without its package, to stand below the text of custom rules.
    ///
    /// The evaluator looks for all clauses of a function in one module. So custom rules that add a clause to one of these must
    /// become one module with them. These stand below, so that the custom rules keep their line numbers.
    #[must_use]
    pub fn rules(self) -> &'static str {
        self.file.split_once(PACKAGE_LINE).map_or("", |(_, rules)| rules)
    }

    /// [`Self::rules`] in the syntax of Rego v1, to stand below custom rules that are written in it.
    #[must_use]
    pub(crate) fn rules_in_v1(self) -> String {
        let mut rules = String::new();
        for line in self.rules().lines() {
            // A rule's head and an `else` end with the brace of their body; nothing else does.
            match line.strip_suffix(" {") {
                None => rules.push_str(line),
                Some(head) => {
                    let name = name_of(head);
                    let element = head.strip_prefix(name).and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'));
                    match element {
                        Some(element) => rules.push_str(&format!("{name} contains {element} if {{")),
                        None => rules.push_str(&format!("{head} if {{")),
                    }
                }
            }
            rules.push('\n');
        }
        rules
    }

    /// Whether there is a rule of this name, which custom rules redefine by defining it.
    #[must_use]
    pub fn defines(self, name: &str) -> bool {
        self.table().any(|rule| rule.name == name)
    }

    /// The smallest module with the rules of these names, and those that they need; none where it would have no rule.
    ///
    /// The names are those that a module uses, for rules or anything else. A module that refers to the package as a whole
    /// (`data.imageadmission[name]`) may use any rule.
    #[must_use]
    pub fn mentioned<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
        let mut wanted: Vec<&'static str> = Vec::new();
        let mut found: Vec<&Rule> = names.into_iter().flat_map(|name| self.table().find(|r| r.name == name)).collect();
        while let Some(rule) = found.pop() {
            if !wanted.contains(&rule.name) {
                wanted.push(rule.name);
                found.extend(self.table().filter(|other| rule.needs.contains(&other.name)));
            }
        }
        (!wanted.is_empty()).then(|| self.module_of(|name| wanted.contains(&name)))
    }

    fn module_of(self, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut module = PACKAGE_LINE.to_owned();
        let is_wanted = |name: &str| is_wanted(name) && self.defines(name);
        for rule in self.paragraphs.iter().filter(|rule| is_wanted(name_of(rule))) {
            module.push('\n');
            module.push_str(rule.trim_matches('\n'));
            module.push('\n');
        }
        module
    }

    /// The names of all rules.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.table().map(|rule| rule.name)
    }

    fn table(self) -> impl Iterator<Item = &'static Rule> {
        COMMON_RULES.iter().chain(self.of_phase)
    }
}

/// The name that a rule's text begins with.
fn name_of(rule: &str) -> &str {
    let text = rule.trim_start_matches('\n');
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;
    use regorus::unstable::{Expr, Literal, Module, Query, Ref, Rule as Clause, RuleHead};
    use std::collections::BTreeSet;

    const PHASES: [GeneratedRules; 2] = [PRE_SCAN, SCAN];

    fn parse(module: &str) -> Ref<Module> {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        engine.add_policy("generated.rego".to_owned(), module.to_owned()).unwrap();
        engine.get_modules().first().unwrap().clone()
    }

    /// The names that a clause uses, without its function's parameters.
    fn used(clause: &Clause) -> BTreeSet<String> {
        let Clause::Spec { head, bodies, .. } = clause else { panic!("{clause:?} is no rule of its own") };
        let (mut names, mut parameters) = (BTreeSet::new(), BTreeSet::new());
        let assigned = match head {
            RuleHead::Compr { refr, assign, .. } => {
                assert!(matches!(refr.as_ref(), Expr::Var { .. }), "{refr:?}");
                assign
            }
            RuleHead::Set { key, .. } => {
                key.iter().for_each(|key| of_expression(key, &mut names));
                &None
            }
            RuleHead::Func { args, assign, .. } => {
                args.iter().for_each(|argument| of_expression(argument, &mut parameters));
                assign
            }
        };
        assigned.iter().for_each(|assign| of_expression(&assign.value, &mut names));
        for body in bodies {
            body.assign.iter().for_each(|assign| of_expression(&assign.value, &mut names));
            of_query(&body.query, &mut names);
        }
        names.difference(&parameters).cloned().collect()
    }

    fn of_query(query: &Query, names: &mut BTreeSet<String>) {
        for statement in &query.stmts {
            assert!(statement.with_mods.is_empty());
            match &statement.literal {
                Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => of_expression(expr, names),
                other => panic!("{other:?} is not looked at here"),
            }
        }
    }

    fn of_expression(expression: &Expr, names: &mut BTreeSet<String>) {
        let mut each = |expressions: &[&Ref<Expr>]| expressions.iter().for_each(|e| of_expression(e, names));
        match expression {
            Expr::Var { span, .. } => _ = names.insert(span.text().to_owned()),
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. } => {}
            Expr::Array { items, .. } | Expr::Set { items, .. } => each(&Vec::from_iter(items)),
            Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| each(&[key, value])),
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                each(&[term]);
                of_query(query, names);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                each(&[key, value]);
                of_query(query, names);
            }
            Expr::Call { fcn, params, .. } => {
                each(&[fcn]);
                each(&Vec::from_iter(params));
            }
            Expr::UnaryExpr { expr, .. } => each(&[expr]),
            Expr::RefDot { refr, .. } => each(&[refr]),
            Expr::RefBrack { refr, index, .. } => each(&[refr, index]),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => each(&[lhs, rhs]),
            Expr::Membership { value, collection, .. } => each(&[value, collection]),
        }
    }

    #[test]
    fn the_table_says_what_the_rules_say() {
        for phase in PHASES {
            let clauses: Vec<&str> = phase.rules().split("\n\n").collect();
            let mut written: Vec<(String, BTreeSet<String>)> = Vec::new();
            let parsed = parse(&phase.module());
            assert_eq!(parsed.policy.len(), clauses.len(), "every paragraph is one rule");
            for (text, clause) in clauses.iter().zip(&parsed.policy) {
                let text = text.trim_matches('\n');
                assert!(clause.span().text().starts_with(text), "{text}\n\n{:?}", clause.span());
                let name = name_of(text).to_owned();
                let needs = used(clause).into_iter().filter(|used| phase.defines(used)).collect();
                // The clauses of one rule follow each other.
                match written.iter_mut().find(|(other, _)| *other == name) {
                    None => written.push((name, needs)),
                    Some((_, others)) => others.extend(needs),
                }
            }
            written.sort();
            let owned =
                |rule: &Rule| (rule.name.to_owned(), rule.needs.iter().map(|name| (*name).to_owned()).collect());
            let mut table: Vec<(String, BTreeSet<String>)> = phase.table().map(owned).collect();
            table.sort();
            assert_eq!(table, written);
        }
    }

    #[test]
    fn the_whole_module_is_the_file_and_all_of_its_rules() {
        for phase in PHASES {
            let (_, whole) = phase.file().split_once("\npackage imageadmission\n").unwrap();
            assert_eq!(phase.module(), format!("package imageadmission\n{whole}"));
            assert_eq!(phase.mentioned(phase.table().map(|rule| rule.name)), Some(phase.module()));
            assert_eq!(format!("package imageadmission\n{}", phase.rules()), phase.module());
        }
    }

    #[test]
    fn what_a_module_mentions_is_complete_and_no_more() {
        for phase in PHASES {
            for rule in phase.table() {
                let module = phase.mentioned([rule.name, "no_such_rule", "input"]).unwrap();
                let clauses = &parse(&module).policy;
                let defined: BTreeSet<&str> = module.split("\n\n").map(name_of).collect();
                let needed: BTreeSet<String> =
                    clauses.iter().flat_map(|clause| used(clause)).filter(|name| phase.defines(name)).collect();
                for name in &needed {
                    assert!(defined.contains(name.as_str()), "{} needs {name}", rule.name);
                }
                for name in defined.iter().filter(|name| **name != "package" && **name != rule.name) {
                    assert!(needed.contains(*name), "{} gets {name}", rule.name);
                }
            }
        }
        assert_eq!(PRE_SCAN.mentioned(["deny", "input", ""]), None);
        let settings = PRE_SCAN.mentioned(ALWAYS).unwrap();
        assert!(
            settings.starts_with("package imageadmission\n\npolicies := data.preScanPolicies\n\nnamespace = ns {\n")
        );
        assert_eq!(parse(&settings).policy.len(), 2);
        assert_eq!(
            SCAN.mentioned(["scan_result_failed"]).unwrap(),
            "package imageadmission\n\nscan_result_failed {\n\tinput.ScanReport.Status == \"scan_failed\"\n}\n"
        );
    }

    #[test]
    fn rules_have_a_second_syntax() {
        for phase in PHASES {
            let mut engine = Engine::new();
            let module = format!("{PACKAGE_LINE}{}", phase.rules_in_v1());
            engine.add_policy("generated.rego".to_owned(), module).unwrap();
            let v1 = engine.get_modules().first().unwrap().clone();
            let v0 = parse(&phase.module());
            assert_eq!(v1.policy.len(), v0.policy.len());
            for (v1, v0) in v1.policy.iter().zip(&v0.policy) {
                assert_eq!(used(v1), used(v0));
                let [v1, v0] = [v1, v0].map(|clause| match clause.as_ref() {
                    Clause::Spec { head, bodies, .. } => (std::mem::discriminant(head), bodies.len()),
                    Clause::Default { .. } => panic!("{clause:?}"),
                });
                assert_eq!(v1, v0);
            }
        }
        assert!(PRE_SCAN.rules_in_v1().contains("\nno_denied_pod if {\n\tcount(deny_pod) == 0\n}\n"));
        assert!(SCAN.rules_in_v1().contains("\ndeny_image contains msg if {\n\tmsg := config_error[_]\n}\n"));
    }

    #[test]
    fn rules_of_both_phases_are_the_same() {
        for common in &COMMON_RULES {
            let [pre_scan, scan] = PHASES.map(|phase| {
                let clauses = phase.rules().split("\n\n").map(|text| text.trim_matches('\n'));
                clauses.filter(|text| name_of(text) == common.name).collect::<Vec<_>>()
            });
            assert_eq!(pre_scan, scan);
        }
    }

    #[test]
    fn names_are_told_apart() {
        assert!(PRE_SCAN.defines("allow_pod") && !SCAN.defines("allow_pod") && !SCAN.defines(""));
        assert!(SCAN.defines("imagePolicy") && !SCAN.defines("image_"));
    }

    /// Custom rules of the documented phases know these names.
    #[test]
    fn every_documented_name_is_there() {
        let both = "namespace policies config_error valid_policy_value first_matching_custom_policy custom_image_policy \
            default_image_policy final_image_policy namespace_str policy_str scope_str";
        let pre_scan =
            "final_image_policies image_action_reject any_image_action_scan no_denied_pod allow_pod deny_pod";
        let scan = "image imagePolicy report_pending_action scan_failed_action scan_result_rejected scan_result_failed \
            scan_result_not_available image_action_scan_result image_action_reject deny_image_reason deny_image";
        for (phase, own) in [(PRE_SCAN, pre_scan), (SCAN, scan)] {
            let documented: BTreeSet<&str> = both.split_whitespace().chain(own.split_whitespace()).collect();
            assert_eq!(phase.table().map(|rule| rule.name).collect::<BTreeSet<_>>(), documented);
        }
    }
}
