//! The modules of a phase with custom rules: those, and what they need of the generated ones.

use super::asked::Asked;
use super::generated::{ALWAYS, GeneratedRules, PACKAGE, PRE_SCAN, SCAN};
use crate::evaluation::module::Facts;
use crate::evaluation::{EvaluationError, Evaluator, ModuleText};
use image_admission_settings::RegoVersion;

/// One of the two phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// `preCustomRules`
    PreScan,
    /// `customRules`
    Scan,
}

impl Phase {
    pub(super) fn generated(self) -> GeneratedRules {
        match self {
            Self::PreScan => PRE_SCAN,
            Self::Scan => SCAN,
        }
    }

    /// What is asked of a rule of this phase; none: nobody asks it.
    pub fn asked(self, rule: &str) -> Option<Asked> {
        match (self, rule) {
            (Self::PreScan, "allow_pod") => Some(Asked::Verdict),
            (Self::PreScan, "deny_pod") | (Self::Scan, "deny_image") => Some(Asked::Reasons),
            _ => None,
        }
    }

    /// Generated rules that name a part of a document. The namespace is one of them: it is the same for the whole request.
    fn names(self) -> &'static [(&'static str, &'static str)] {
        const NAMESPACE: (&str, &str) = ("namespace", "data.request.namespace");
        match self {
            Self::PreScan => &[NAMESPACE, ("policies", "data.preScanPolicies")],
            Self::Scan => &[NAMESPACE, ("policies", "data.policies"), ("image", "input.ScanReport.ImageAndTag")],
        }
    }
}

/// The rules that are asked. Custom rules only add to them.
const ANSWERS: [&str; 3] = ["allow_pod", "deny_pod", "deny_image"];

/// What messages call the generated rules.
pub const GENERATED: &str = "generated rules";

/// The rules with a package. The line may be left out; where it is added, the numbers of the lines stay.
pub fn with_package(rules: &str) -> String {
    match super::library::package(rules) {
        Some(_) => rules.to_owned(),
        None => ["package ", PACKAGE, " ", rules].concat(),
    }
}

/// Custom rules with names for parts of documents: imports of them, or rules below the custom rules, which keep their lines.
fn with_names(rego: &str, names: &[(&str, &str)], may_import: bool) -> String {
    let mut text = rego.to_owned();
    let place = after_package(rego).filter(|_| may_import);
    let mut lines = String::new();
    for (name, value) in names {
        match place {
            Some(_) => [" import ", value, " as ", name].into_iter().for_each(|part| lines.push_str(part)),
            None => ["\n", name, " := ", value].into_iter().for_each(|part| text.push_str(part)),
        }
    }
    text.insert_str(place.unwrap_or_default(), &lines);
    text
}

/// Whether an import of the rules gives something this name.
fn imports(rego: &str, name: &str) -> bool {
    rego.contains("import ")
        && rego.lines().any(|line| {
            let line = line.split('#').next().unwrap_or_default().trim();
            // The package may stand before it, on the same line.
            let Some((before, path)) = line.split_once("import ") else { return false };
            (before.is_empty() || before.starts_with("package "))
                && path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\t', '.']))
        })
}

/// Where imports may stand: after the package's name, on its line. None where a rule may be named by its whole path: an import
/// isn't found by that.
fn after_package(rego: &str) -> Option<usize> {
    let is_said =
        |line: &&str| !matches!(line.trim_start_matches('\u{feff}').trim_start().bytes().next(), None | Some(b'#'));
    let before: usize = rego.split_inclusive('\n').take_while(|line| !is_said(line)).map(str::len).sum();
    let place = before + rego.get(before..)?.find(PACKAGE)? + PACKAGE.len();
    let rest = rego.get(place..)?;
    (rest.starts_with(char::is_whitespace) && !rest.contains(PACKAGE)).then_some(place)
}

/// Whether Rego has a whole word like this, whatever it stands for.
pub fn mentions(rego: &str, word: &str) -> bool {
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_part = |at: usize| rego.as_bytes().get(at).is_some_and(of_word);
    rego.match_indices(word).any(|(at, _)| !at.checked_sub(1).is_some_and(is_part) && !is_part(at + word.len()))
}

/// The modules of a phase with custom rules.
#[derive(Debug)]
pub struct Modules {
    /// What the modules are about, the custom rules first.
    pub facts: Vec<Facts>,
    /// Whether the custom rules change a generated one, so that all of them are in the same module.
    pub whole: bool,
    /// The text of that module.
    pub rego: String,
    /// The generated rules that it mentions, in a module of their own; empty: none.
    pub beside: String,
}

/// Loads custom rules, and of the generated ones what they need.
///
/// Rules that are only checked keep their columns. In rules that are evaluated, parts of documents are named by imports instead of
/// rules.
pub fn load_modules(
    evaluator: &mut Evaluator<'_>,
    text: &ModuleText<'_>,
    phase: Phase,
    generate: bool,
    is_evaluated: bool,
) -> Result<Modules, EvaluationError> {
    let generated = phase.generated();
    let own_lines = text.rego.lines().count();
    let named = |except: &[&str]| -> Vec<(&'static str, &'static str)> {
        let names = phase.names().iter().copied();
        let is_wanted = |name: &str| {
            (generate || ALWAYS.contains(&name))
                && !except.contains(&name)
                && mentions(text.rego, name)
                && !imports(text.rego, name)
        };
        names.filter(|(name, _)| is_wanted(name)).collect()
    };
    let mut names = named(&[]);
    let mut rego = with_names(text.rego, &names, is_evaluated);
    let mut facts = evaluator.load(&ModuleText { rego: &rego, ..*text })?;
    let is_own = |line: &u32| usize::try_from(*line).is_ok_and(|line| line <= own_lines);
    let changes = |name: &&str| !ANSWERS.contains(name) && generated.defines(name);
    let own = facts.lines.iter().filter(|(_, line)| is_own(line)).map(|(name, _)| name.as_str());
    let is_changed: Vec<&str> = own.filter(changes).collect();
    if generate && !is_changed.is_empty() {
        // The clauses of one function must stand in one module.
        let is_v1 = text.version == RegoVersion::V1 || imports(text.rego, "rego.v1");
        let rules = if is_v1 { generated.rules_in_v1() } else { generated.rules().to_owned() };
        let rego = format!("{}\n{rules}", text.rego);
        evaluator.start_again();
        facts = evaluator.load(&ModuleText { rego: &rego, ..*text })?;
        return Ok(Modules { facts: vec![facts], whole: true, rego, beside: String::new() });
    }
    if is_changed.iter().any(|name| ALWAYS.contains(name)) {
        // Without generated rules these may be the custom rules' own.
        names = named(&is_changed);
        rego = with_names(text.rego, &names, is_evaluated);
        evaluator.start_again();
        facts = evaluator.load(&ModuleText { rego: &rego, ..*text })?;
    }
    let mut beside = String::new();
    if generate {
        let mut used: Vec<&str> = facts.names.iter().chain(facts.calls.keys()).map(String::as_str).collect();
        // Also by the whole path. A reference to the package as a whole may mean any.
        used.extend(
            facts.calls.keys().filter_map(|name| name.strip_prefix("data.")?.strip_prefix(PACKAGE)?.strip_prefix('.')),
        );
        for reference in facts.data.iter().filter(|reference| reference.may_reach(&[PACKAGE])) {
            match reference.keys.get(1) {
                Some(Some(name)) => used.push(name),
                _ => generated.names().for_each(|name| used.push(name)),
            }
        }
        let is_named = |name: &str| ALWAYS.contains(&name) || names.iter().any(|(other, _)| *other == name);
        beside = generated.mentioned(used.into_iter().filter(|name| !is_named(name))).unwrap_or_default();
    }
    let mut facts = vec![facts];
    if !beside.is_empty() {
        facts.push(evaluator.load(&ModuleText { name: GENERATED, rego: &beside, version: RegoVersion::V0 })?);
    }
    Ok(Modules { facts, whole: false, rego, beside })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Budget;

    #[test]
    fn imports_stand_behind_the_package() {
        for (rego, place) in [
            ("package imageadmission deny_pod { true }", Some(22)),
            ("\n# package imageadmission\npackage imageadmission # ours\n\ndeny_pod { true }", Some(48)),
            ("\u{feff}package imageadmission\n", Some(25)),
            ("package imageadmission", None),
            ("package imageadmission\n\nx { data.imageadmission.image }", None),
            ("package [\"imageadmission\"]\n", None),
            ("# nothing", None),
            ("", None),
        ] {
            assert_eq!(after_package(rego), place, "{rego}");
        }
    }

    #[test]
    fn imports_of_the_texts_own_are_known() {
        let rego = "package p import rego.v1\n import input.x.image # a\nimport data.b as policies\nimportant := 1";
        for (name, is_imported) in [
            ("rego.v1", true),
            ("image", true),
            ("policies", true),
            ("b", false),
            ("mage", false),
            ("namespace", false),
        ] {
            assert_eq!(imports(rego, name), is_imported, "{name}");
        }
    }

    #[test]
    fn words_are_whole() {
        for (rego, mentioned) in [
            ("image", true),
            ("x := image", true),
            ("[image]", true),
            ("deny_image[msg] { images; image_1; imageé }", true),
            ("deny_image[msg] { images; image_1 }", false),
            ("", false),
        ] {
            assert_eq!(mentions(rego, "image"), mentioned, "{rego}");
        }
    }

    /// What the rules see is the same, whether a name is imported or is a rule.
    #[test]
    fn names_are_imported_where_rules_are_evaluated() {
        let budget = Budget::unlimited();
        let load = |rego: &str, is_evaluated| {
            let text = ModuleText { name: "customRules", rego: &with_package(rego), version: RegoVersion::V0 };
            let mut evaluator = Evaluator::new(&budget);
            load_modules(&mut evaluator, &text, Phase::Scan, true, is_evaluated).map(|modules| modules.rego).unwrap()
        };
        let rego = "deny_image[msg] { msg := sprintf(\"%v %v\", [image, policies]) }";
        assert_eq!(
            load(rego, true),
            format!(
                "package imageadmission import data.policies as policies import input.ScanReport.ImageAndTag as image {rego}"
            )
        );
        assert_eq!(
            load(rego, false),
            format!("package imageadmission {rego}\npolicies := data.policies\nimage := input.ScanReport.ImageAndTag")
        );
        let rego = "deny_image[\"x\"] { namespace == \"a\"; data.imageadmission.image == \"b\" }";
        assert_eq!(
            load(rego, true),
            format!(
                "package imageadmission {rego}\nnamespace := data.request.namespace\nimage := input.ScanReport.ImageAndTag"
            )
        );
    }
}
