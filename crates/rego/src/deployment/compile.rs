//! What is refused when the policy is deployed: modules that aren't Rego, that recurse, that call missing functions, or that decide
//! nothing.

use super::forms::{Misshapen, misshapen};
use super::growth::{Grown, grown};
use super::nesting::nested;
use super::recursion::{Chain, Cycle, Graph};
use super::refused::{missing, refusal};
use super::silence::silences;
use super::variables::{Wrong, wrong};
use crate::evaluation::deprecated::DEPRECATED;
use crate::evaluation::module::{Facts, Place};
use crate::evaluation::{Budget, EvaluationError, Evaluator, ModuleText, builtins};
use crate::rules::generated::PACKAGE;
use crate::rules::{Asked, ImageQuestion, Modules, Phase, Pool, asked, load_modules, package, unmet, with_package};
use image_admission_settings::{ImageMatching, Lint, LintRule, RegoPolicy, RegoVersion, Settings};
use image_admission_untrusted::time::Timestamp;
use std::collections::BTreeSet;

/// The custom rules of both phases, each with the setting that they stand in, and whether rules are generated beside them.
pub(super) fn phases(settings: &Settings) -> [(Phase, &'static str, &str, bool); 2] {
    let rego = &settings.rego;
    [
        (Phase::PreScan, "preCustomRules", &rego.pre_custom_rules, settings.pre_scan.auto_generate),
        (Phase::Scan, "customRules", &rego.custom_rules, settings.scan.auto_generate),
    ]
}

/// Everything that is wrong with the Rego of the settings, one line each, with the path of the setting.
pub fn check(settings: &Settings) -> Vec<String> {
    let rego = &settings.rego;
    let mut problems = Vec::new();
    for (phase, name, custom, generate) in phases(settings) {
        if !custom.is_empty() {
            let problem = custom_rules(phase, name, custom, generate, settings);
            problems.extend(problem.map(|why| format!("{name}: {}", as_written(why, custom))));
        }
    }
    for library in &rego.libraries {
        let text = ModuleText { name: &library.name, rego: &library.rego, version: library.version };
        let loaded = bounded_text(&text)
            .and_then(|()| Evaluator::new(&Budget::unlimited()).load(&text).map_err(|why| explain(&why, &text)))
            .and_then(|facts| check_package(&facts, &text).and_then(|()| check_keywords(&facts, text.version)));
        problems.extend(loaded.err().map(|why| format!("regoLibraries: library `{}`: {why}", library.name)));
    }
    let policies: Vec<&RegoPolicy> = rego.policies.iter().collect();
    let pool = Pool::new(&rego.libraries, &policies);
    for policy in &rego.policies {
        let problem = check_policy(policy, &pool, settings).err();
        problems.extend(problem.map(|why| format!("regoPolicies: policy `{}`: {why}", policy.name)));
    }
    problems
}

/// Every place in the Rego of valid settings where a missing field keeps a rule from rejecting, each once.
pub fn silent_denials(settings: &Settings) -> Vec<Lint> {
    let rego = &settings.rego;
    let budget = Budget::unlimited();
    let mut lints = Vec::new();
    for (phase, name, custom, generate) in phases(settings) {
        let written = with_package(custom);
        let text = ModuleText { name, rego: &written, version: rego.version };
        let mut evaluator = Evaluator::new(&budget);
        if !custom.contains("not") || load_modules(&mut evaluator, &text, phase, generate, false).is_err() {
            continue;
        }
        let found = silences(evaluator.modules(), |rule| matches!(rule, "deny_pod" | "deny_image"), None);
        // Generated rules may stand after those of the settings.
        let own = found.into_iter().filter(|silence| silence.file == name);
        let own = own.filter_map(|silence| Some((line(custom, silence.place.line)?, silence)));
        lints.extend(own.map(|(line, silence)| {
            let said = as_written(placed(silence.place, &silence.to_string(), Some(line)), custom);
            Lint::new(LintRule::SilentDenial, name, said)
        }));
    }
    let texts =
        rego.policies.iter().map(|policy| &policy.rego).chain(rego.libraries.iter().map(|library| &library.rego));
    if !texts.into_iter().any(|text| text.contains("not")) {
        return lints;
    }
    let policies: Vec<&RegoPolicy> = rego.policies.iter().collect();
    let pool = Pool::new(&rego.libraries, &policies);
    let is_denial = |rule: &str| rule.starts_with("deny") || rule.starts_with("violation") || rule == "main";
    let mut found = BTreeSet::new();
    for policy in &rego.policies {
        let own = ModuleText { name: &policy.name, rego: &policy.rego, version: policy.version };
        let mut evaluator = Evaluator::new(&budget);
        let Ok(facts) = evaluator.load(&own) else { continue };
        let Some((_, texts)) = with_libraries(&mut evaluator, facts, own, &pool) else { continue };
        for silence in silences(evaluator.modules(), is_denial, policy.parameters.as_ref()) {
            let Some(text) = texts.iter().find(|text| text.name == silence.file) else { continue };
            let is_of = |rego: &String| std::ptr::eq(rego.as_str(), text.rego);
            let path = match rego.libraries.iter().position(|library| is_of(&library.rego)) {
                Some(position) => ("regoLibraries", "library", position),
                None => {
                    ("regoPolicies", "policy", rego.policies.iter().position(|other| is_of(&other.rego)).unwrap_or(0))
                }
            };
            found.insert((path, silence, text.name, text.rego));
        }
    }
    lints.extend(found.into_iter().map(|((list, what, position), silence, name, text)| {
        let said = placed(silence.place, &silence.to_string(), line(text, silence.place.line));
        Lint::new(LintRule::SilentDenial, format!("{list}[{position}].rego"), format!("{what} `{name}`: {said}"))
    }));
    lints
}

fn custom_rules(phase: Phase, name: &str, custom: &str, generate: bool, settings: &Settings) -> Option<String> {
    if let Some(package) = package(custom).filter(|package| *package != [PACKAGE]) {
        return Some(format!("its package is `{}`; custom rules stand in the package `{PACKAGE}`", package.join(".")));
    }
    // A missing key of the input is undefined, which denies nothing. Only the word is looked for: it may be in `input["…"]` or in a
    // call of `object.get`.
    for question in ImageQuestion::ALL {
        let (of_policies, own) = (question.in_policies(), question.in_custom_rules());
        if phase == Phase::PreScan && [of_policies, own].iter().any(|name| custom.contains(name)) {
            return Some(format!(
                "before the scan nothing is known of any image, `{own}` neither; write these rules into `customRules`"
            ));
        }
        if custom.contains(own) && question == ImageQuestion::Packages && settings.reports.sboms.is_empty() {
            return Some(nothing_tells(own));
        }
        if custom.contains(of_policies) {
            return Some(format!(
                "`input.{of_policies}` is what `regoPolicies` see; custom rules see that of their one image, `input.{own}`"
            ));
        }
    }
    let rego = with_package(custom);
    let text = ModuleText { name, rego: &rego, version: settings.rego.version };
    if let Err(why) = bounded_text(&text) {
        return Some(why);
    }
    let budget = Budget::unlimited();
    let mut evaluator = Evaluator::new(&budget);
    let Modules { facts, whole, rego, beside } = match load_modules(&mut evaluator, &text, phase, generate, false) {
        Ok(modules) => modules,
        Err(why) => return Some(explain(&why, &text)),
    };
    if let Some(Err(why)) = facts.first().map(|facts| check_keywords(facts, text.version)) {
        return Some(why);
    }
    let answers: &[&str] = if phase == Phase::PreScan { &["allow_pod", "deny_pod"] } else { &["deny_image"] };
    if !whole && !answers.iter().any(|answer| facts.iter().take(1).any(|facts| facts.rules.contains(*answer))) {
        return Some(format!("it decides nothing: it defines none of {}", quoted(answers.iter().copied())));
    }
    let text = ModuleText { rego: &rego, ..text };
    let beside = ModuleText { name: "generated rules", rego: &beside, version: RegoVersion::V0 };
    let texts = [text, beside];
    check_forms(&mut evaluator, &facts, &texts, |rule| phase.asked(rule))
        .and_then(|()| check_modules(&mut evaluator, &facts, &texts, settings.image_matching))
        .err()
}

/// The error that no rule can know what an image is made of.
fn nothing_tells(key: &str) -> String {
    format!("nothing tells `input.{key}` what an image is made of: name where SBOMs come from in `reports.sboms`")
}

fn check_policy<'s>(policy: &'s RegoPolicy, pool: &Pool<'s>, settings: &Settings) -> Result<(), String> {
    let own = ModuleText { name: &policy.name, rego: &policy.rego, version: policy.version };
    let budget = Budget::unlimited();
    let mut evaluator = Evaluator::new(&budget);
    bounded_text(&own)?;
    let facts = evaluator.load(&own).map_err(|why| explain(&why, &own))?;
    check_package(&facts, &own)?;
    check_keywords(&facts, own.version)?;
    // Exceptions alone decide nothing.
    let is_asked = |rule: &String| asked(rule, &facts.package).is_some_and(|asked| asked != Asked::RuleNames);
    let is_main = facts.package == ["system"] && facts.rules.contains("main");
    if let Some(question) = ImageQuestion::ALL.into_iter().find(|asked| policy.rego.contains(asked.in_custom_rules())) {
        return Err(format!(
            "`input.{}` is what `customRules` see of their one image; policies see it by image, `input.{}`",
            question.in_custom_rules(),
            question.in_policies()
        ));
    }
    if !facts.rules.iter().any(is_asked) {
        return Err("it decides nothing: it defines none of `deny`, `violation`, `warn` (or `deny_…`), `patch`, or in the package `system` `main`".to_owned());
    }
    let Some((modules, texts)) = with_libraries(&mut evaluator, facts, own, pool) else { return Ok(()) };
    // Only the word is looked for, in libraries too: it may be in `input["…"]` or in a call of `object.get`.
    let has = |name: &str| texts.iter().any(|text| text.rego.contains(name));
    let mut late = std::iter::once("scanReports").chain(ImageQuestion::ALL.map(ImageQuestion::in_policies));
    if let Some(late) = late.find(|name| is_main && has(name)) {
        return Err(format!("`main` is asked before any image is looked up, so that it sees no `{late}`; use `deny`"));
    }
    let packages = ImageQuestion::Packages.in_policies();
    if has(packages) && settings.reports.sboms.is_empty() {
        return Err(nothing_tells(packages));
    }
    let package = modules.first().map(|facts| facts.package.clone()).unwrap_or_default();
    check_forms(&mut evaluator, &modules, &texts, |rule| asked(rule, &package))?;
    check_modules(&mut evaluator, &modules, &texts, settings.image_matching)
}

/// Loads the modules that a policy refers to. None where one of them can't be loaded: that is reported at its own place.
pub(super) fn with_libraries<'s>(
    evaluator: &mut Evaluator<'_>,
    facts: Facts,
    own: ModuleText<'s>,
    pool: &Pool<'s>,
) -> Option<(Vec<Facts>, Vec<ModuleText<'s>>)> {
    let (mut modules, mut texts) = (vec![facts], vec![own]);
    while let Some(text) = unmet(pool, &modules, &texts) {
        modules.push(evaluator.load(&text).ok()?);
        texts.push(text);
    }
    Some((modules, texts))
}

/// Loads and checks modules that stand alone.
///
/// # Errors
/// The error of a deployment, for the first module with a problem.
pub(crate) fn load(
    evaluator: &mut Evaluator<'_>,
    texts: &[ModuleText<'_>],
    matching: ImageMatching,
) -> Result<(), String> {
    let mut modules = Vec::new();
    for text in texts {
        bounded_text(text)?;
        let facts = evaluator.load(text).map_err(|why| explain(&why, text))?;
        check_package(&facts, text)?;
        modules.push(facts);
    }
    check_modules(evaluator, &modules, texts, matching)
}

/// Refuses a module in v0 that defines a rule named like a keyword of v1.
fn check_keywords(facts: &Facts, version: RegoVersion) -> Result<(), String> {
    let keyword = ["if", "contains"].into_iter().find(|keyword| facts.rules.contains(*keyword));
    match keyword.filter(|_| version == RegoVersion::V0) {
        None => Ok(()),
        Some(keyword) => Err(format!(
            "`{keyword}` is a rule of its own in v0; where it is meant as the keyword, set `regoVersion: v1` or `import rego.v1`"
        )),
    }
}

/// Checks that need all modules together.
fn check_modules(
    evaluator: &mut Evaluator<'_>,
    modules: &[Facts],
    texts: &[ModuleText<'_>],
    matching: ImageMatching,
) -> Result<(), String> {
    for (number, (facts, text)) in modules.iter().zip(texts).enumerate() {
        // The message names any module but the policy's own.
        let of = if number == 0 { String::new() } else { format!("in `{}`, ", text.name) };
        check_imports(facts).map_err(|why| format!("{of}{why}"))?;
        check_calls(facts, modules, text).map_err(|why| format!("{of}{why}"))?;
        check_variables(number, evaluator, modules, text).map_err(|why| format!("{of}{why}"))?;
    }
    let graph = Graph::new(evaluator.modules());
    let at = |file: &str, place: Place, why: &str| Err(placed_in(texts, file, place, why));
    if let Some(Cycle { rules, file, line, col }) = graph.cycle() {
        let rule = rules.first().map_or("", String::as_str);
        let why = format!("rule `{rule}` is recursive: {}", rules.join(" -> "));
        return at(&file, Place { line, column: col }, &why);
    }
    if let Some(Chain { rule, length }) = graph.chain() {
        return Err(format!("rule `{rule}` needs {length} others, one after the other; shorten that chain"));
    }
    if let Some(Grown { why, file, line, col }) = grown(evaluator.modules(), &graph) {
        return at(&file, Place { line, column: col }, why);
    }
    evaluator.extend(modules, Timestamp(0), matching).and_then(|()| evaluator.prepare()).map_err(|why| {
        let why = why.to_string();
        texts.first().and_then(|text| shown(&why, text)).unwrap_or(why)
    })
}

/// Refuses rules that can't give what is asked of them.
fn check_forms(
    evaluator: &mut Evaluator<'_>,
    modules: &[Facts],
    texts: &[ModuleText<'_>],
    asked: impl Fn(&str) -> Option<Asked>,
) -> Result<(), String> {
    match misshapen(evaluator.modules(), modules, asked) {
        None => Ok(()),
        Some(Misshapen { file, place, why }) => Err(placed_in(texts, &file, place, &why)),
    }
}

/// Refuses variables that nothing binds, and the like.
fn check_variables(
    number: usize,
    evaluator: &mut Evaluator<'_>,
    modules: &[Facts],
    text: &ModuleText<'_>,
) -> Result<(), String> {
    let Some(package) = modules.get(number).map(|facts| &facts.package) else { return Ok(()) };
    let of_package = modules.iter().filter(|module| module.package == *package);
    let known: BTreeSet<&str> =
        of_package.flat_map(|module| module.rules.iter().chain(&module.functions)).map(String::as_str).collect();
    let Some(module) = evaluator.modules().get(number) else { return Ok(()) };
    let Some((wrong, place)) = wrong(module, &known) else { return Ok(()) };
    let why = match wrong {
        Wrong::Unbound(name) if name == "_" => {
            "under `not` nothing gives `_` a value; ask a rule or a comprehension whether there is one".to_owned()
        }
        Wrong::Unbound(name) if line(text.rego, place.line).is_some_and(is_like_v1) => {
            format!("nothing gives `{name}` a value; if this is Rego v1, write `import rego.v1` below `package`")
        }
        Wrong::Unbound(name) => format!("nothing gives `{name}` a value"),
        Wrong::NoFunction(name) => refusal(&name).unwrap_or_else(|| missing(&name, &known)),
        Wrong::SetBelow(name) => format!(
            "elements of a set below `{name}`, which only the evaluation knows, can't be looked at by other rules; give that key the \
             whole set, `… := {{x | …}}`"
        ),
        Wrong::Shadows(name) if ["data", "input"].contains(&name.as_str()) => {
            format!("`{name}` is a document, which no variable can stand for; give the variable another name")
        }
        Wrong::Shadows(name) => {
            format!("`{name}` is the name of a rule or function of this package; give the variable another one")
        }
    };
    Err(placed(place, &why, line(text.rego, place.line)))
}

/// Whether a line could be of Rego v1, which v0 reads otherwise: `deny contains msg if {`.
fn is_like_v1(line: &str) -> bool {
    line.contains(" contains ") && line.contains(" if ")
}

/// Refuses what the parser must not even see.
fn bounded_text(text: &ModuleText<'_>) -> Result<(), String> {
    let Some(found) = nested(text.rego) else { return Ok(()) };
    Err(placed(Place { line: found.line, column: found.col }, &found.why, line(text.rego, found.line)))
}

/// Refuses a package that requests can't find: they don't parse the text.
fn check_package(facts: &Facts, text: &ModuleText<'_>) -> Result<(), String> {
    match package(text.rego) {
        Some(package) if facts.package == package => Ok(()),
        _ => Err(format!("write `package {}` on one line, before anything but comments", facts.package.join("."))),
    }
}

/// Refuses imports that the engine can't resolve.
fn check_imports(facts: &Facts) -> Result<(), String> {
    let own = std::iter::once("data").chain(facts.package.iter().map(String::as_str));
    match facts.imports.values().find(|path| path.len() == 1 && path.iter().eq(["data"]) || path.iter().eq(own.clone()))
    {
        None => Ok(()),
        Some(path) if path.len() == 1 => {
            Err("`import data` leads to no rule; import the package that the rule stands in".to_owned())
        }
        Some(path) => {
            let path = path.join(".");
            Err(format!("`import {path}` is the module's own package; leave it out, and name its rules alone"))
        }
    }
}

/// Refuses calls of functions that are neither the module's own, nor of modules that it refers to, nor builtins.
fn check_calls(facts: &Facts, modules: &[Facts], text: &ModuleText<'_>) -> Result<(), String> {
    let of_package = modules.iter().filter(|module| module.package == facts.package);
    let own: BTreeSet<&str> = of_package.flat_map(|module| &module.functions).map(String::as_str).collect();
    let is_v1 = text.version == RegoVersion::V1
        || facts.imports.values().any(|path| path.iter().eq(["rego", "v1"]) || path.iter().eq(["rego", "v2"]));
    for (name, call) in &facts.calls {
        let at = |why: String| placed(call.place, &why, line(text.rego, call.place.line));
        if let Some(why) = refusal(name).filter(|_| !own.contains(name.as_str())) {
            return Err(at(why));
        }
        if is_v1 && !own.contains(name.as_str()) && DEPRECATED.contains(&name.as_str()) {
            return Err(at(format!("`{name}` is deprecated, and v1 has it no more")));
        }
        let is_main = facts.package == ["system"] && facts.rules.contains("main");
        if is_main && name.starts_with("base64url.encode") {
            return Err(at(format!("`{name}` makes a patch that the API server can't read; use `base64.encode`")));
        }
        if !own.contains(name.as_str())
            && let Some(wanted) = builtins::arguments(name)
            && (call.fewest < wanted || call.most > wanted + 1)
        {
            let number = image_admission_untrusted::message::count(wanted as u64, "argument");
            return Err(at(format!("`{name}` takes {number}")));
        }
        if own.contains(name.as_str()) || builtins::exists(name) {
            continue;
        }
        if let Some(path) = name.strip_prefix("data.") {
            let defines = |module: &Facts| {
                path.strip_prefix(&module.package.join("."))
                    .and_then(|rest| rest.strip_prefix('.'))
                    .is_some_and(|rest| module.functions.contains(rest))
            };
            if modules.iter().any(defines) {
                continue;
            }
            return Err(at(format!("`{name}` is defined nowhere; add the module that defines it to `regoLibraries`")));
        }
        // A function of the package may be called by its full path, or through a rule of the package.
        return Err(at(missing(name, &own)));
    }
    Ok(())
}

/// Why a module doesn't load, with the line of the error and a frequent cause.
fn explain(error: &EvaluationError, text: &ModuleText<'_>) -> String {
    let why = error.to_string();
    let Some(mut shown) = shown(&why, text) else { return why };
    let other = if text.version == RegoVersion::V0 { RegoVersion::V1 } else { RegoVersion::V0 };
    let other_text = ModuleText { version: other, ..*text };
    if Evaluator::new(&Budget::unlimited()).load(&other_text).is_ok() {
        let name = if other == RegoVersion::V0 { "v0" } else { "v1" };
        shown.push_str(&format!("; it is written for {name}: set `regoVersion: {name}`"));
    }
    shown
}

/// An error with its line of the module. None: it is about another module, or about none.
fn shown(why: &str, text: &ModuleText<'_>) -> Option<String> {
    let mut parts = why.strip_prefix(text.name)?.strip_prefix(':')?.splitn(3, ':');
    let (row, column) = (parts.next()?.parse().ok()?, parts.next()?.trim().parse().ok()?);
    let what = parts.next()?.trim().trim_end_matches('.');
    Some(placed(Place { line: row, column }, what, line(text.rego, row)))
}

/// `line 3, column 5: why: `the line``
fn placed(place: Place, why: &str, line: Option<&str>) -> String {
    let line =
        line.map_or(String::new(), |line| format!(": `{}`", image_admission_untrusted::message::cut(line.trim(), 120)));
    format!("line {}, column {}: {why}{line}", place.line, place.column)
}

/// The same for a place in one of several modules, with the module's name unless it is the first.
fn placed_in(texts: &[ModuleText<'_>], file: &str, place: Place, why: &str) -> String {
    let of = if texts.first().is_some_and(|text| text.name == file) { String::new() } else { format!("in `{file}`, ") };
    let text = texts.iter().find(|text| text.name == file).map_or("", |text| text.rego);
    format!("{of}{}", placed(place, why, line(text, place.line)))
}

/// A problem on the first line of custom rules, without the package that was put before it.
fn as_written(why: String, custom: &str) -> String {
    let own = custom.lines().next().unwrap_or_default().trim_end();
    let shifted = || {
        let (column, rest) = why.strip_prefix("line 1, column ")?.split_once(':')?;
        let (rest, shown) = rest.strip_suffix('`')?.rsplit_once(": `")?;
        let put_in = shown.strip_suffix(own).filter(|put_in| !put_in.is_empty())?;
        let column = column.parse::<usize>().ok()?.checked_sub(put_in.chars().count())?;
        Some(format!("line 1, column {column}:{rest}: `{}`", own.trim_start()))
    };
    shifted().unwrap_or(why)
}

fn line(text: &str, number: u32) -> Option<&str> {
    text.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)
}

pub(super) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
