//! The `expression` of a policy group, by which the verdicts of its members decide.

use std::collections::BTreeSet;

use cel::{Context, Program, Value as CelValue};
use image_admission_settings::{Lint as Remark, LintRule, LintSeverity};
use serde_json::Value;

use crate::command::lint::manifest::text;

/// What is to be remarked of the expression, as far as a member is concerned.
pub(in crate::command::lint) fn remarks(member: &str, group: &Value) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let expression = text(group, "/spec/expression").and_then(|expression| Program::compile(expression).ok());
    let known = group.pointer("/spec/policies").and_then(Value::as_object);
    let unknown =
        expression.iter().flat_map(members).filter(|name| known.is_some_and(|known| !known.contains_key(name)));
    for name in unknown {
        let message = format!("it asks `{name}`, and no member has that name: Kubewarden refuses the group");
        remarks.push(Remark::new(LintRule::GroupMember, "spec.expression", message));
    }
    remarks.extend(expression.and_then(|expression| {
        let (severity, message) = outcome(member, &expression)?;
        Some(Remark::new(LintRule::GroupMember, "spec.expression", message).weighing(severity))
    }));
    remarks
}

/// What the group makes of a member's rejection, where that isn't a rejection. None, too, of an expression that comes to no verdict:
/// Kubewarden refuses it.
fn outcome(member: &str, expression: &Program) -> Option<(LintSeverity, String)> {
    let members = members(expression);
    if !members.contains(member) {
        let message = format!("it doesn't ask `{member}`, whose verdict counts for nothing; write `{member}() && …`");
        return Some((LintSeverity::Error, message));
    }
    let others: Vec<&str> = members.iter().map(String::as_str).filter(|other| *other != member).collect();
    let mut admitted = None;
    let Some(choices) = subsets(&others) else {
        let message = format!(
            "it asks more members than can be tried, so that nobody looked whether it admits what `{member}` rejects; write `{member}() && (…)`"
        );
        return Some((LintSeverity::Note, message));
    };
    for accepting in choices {
        let verdict = |accepts: bool| {
            holds(expression, &members, &|name| match name == member {
                true => accepts,
                false => accepting.contains(&name),
            })
        };
        let admits = verdict(false)?;
        if admits && !verdict(true)? {
            let message = format!(
                "the group admits because `{member}` rejects: what can't be looked up is rejected, so it is admitted; write `{member}()` without a `!` before it"
            );
            return Some((LintSeverity::Error, message));
        }
        if admits && admitted.is_none() {
            admitted = Some(accepting);
        }
    }
    let accepting: Vec<String> = admitted?.into_iter().map(|name| format!("`{name}`")).collect();
    let when = if accepting.is_empty() { String::new() } else { format!(" where {} accepts", accepting.join(" and ")) };
    let message = format!(
        "the group admits what `{member}` rejects{when}; write `{member}() && (…)` where its rejection must hold"
    );
    Some((LintSeverity::Note, message))
}

/// The members that an expression asks: each is a function in it. Operators are functions too, with names that nobody can write.
fn members(expression: &Program) -> BTreeSet<String> {
    let references = expression.references();
    let names = references.functions().into_iter().filter(|name| name.starts_with(|first: char| first.is_alphabetic()));
    names.map(str::to_owned).collect()
}

/// What the group says where its members say this; none where that is no verdict.
fn holds(expression: &Program, members: &BTreeSet<String>, verdict: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut context = Context::empty();
    for name in members {
        let accepts = verdict(name);
        context.add_function(name, move || accepts).ok()?;
    }
    match expression.execute(&context) {
        Ok(CelValue::Bool(admits)) => Some(admits),
        _ => None,
    }
}

/// Every choice of some of the names, the smallest ones first; none where there are too many names to try.
fn subsets<'n>(names: &[&'n str]) -> Option<Vec<Vec<&'n str>>> {
    const MAX_NAMES: usize = 10;
    if names.len() > MAX_NAMES {
        return None;
    }
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for name in names {
        let with: Vec<Vec<&str>> = all.iter().map(|some| [some.as_slice(), &[*name]].concat()).collect();
        all.extend(with);
    }
    all.sort_by_key(Vec::len);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the member `ours`: the severity and how the message begins.
    #[track_caller]
    fn check(expression: &str, expected: Option<(LintSeverity, &str)>) {
        let found = outcome("ours", &Program::compile(expression).unwrap());
        let found = found.map(|(severity, message)| (severity, message.split([';', ':']).next().unwrap().to_owned()));
        assert_eq!(found, expected.map(|(severity, text)| (severity, text.to_owned())), "{expression}");
    }

    #[test]
    fn what_a_group_makes_of_a_rejection() {
        check("ours()", None);
        check("ours() && other()", None);
        check("other() && (third() || fourth()) && ours()", None);
        check("ours() == true", None);
        let note = |text| Some((LintSeverity::Note, text));
        check("ours() || other()", note("the group admits what `ours` rejects where `other` accepts"));
        check("ours() && a() || b() && c()", note("the group admits what `ours` rejects where `b` and `c` accepts"));
        check("ours() || !other()", note("the group admits what `ours` rejects"));
        let error = |text| Some((LintSeverity::Error, text));
        check("!ours()", error("the group admits because `ours` rejects"));
        check("!(ours() || other())", error("the group admits because `ours` rejects"));
        check("ours() == other()", error("the group admits because `ours` rejects"));
        check("ours() == false", error("the group admits because `ours` rejects"));
        check("other()", error("it doesn't ask `ours`, whose verdict counts for nothing"));
        let many: Vec<String> = (0..12).map(|number| format!("a{number}()")).collect();
        let untried =
            "it asks more members than can be tried, so that nobody looked whether it admits what `ours` rejects";
        check(&format!("!ours() && ({})", many.join(" || ")), note(untried));
        // What Kubewarden refuses.
        for refused in ["ours", "ours() && 1", "ours(1)", "ours.b()"] {
            let expression = Program::compile(refused).unwrap();
            assert!(
                outcome("ours", &expression).is_none_or(|(severity, _)| severity == LintSeverity::Error),
                "{refused}"
            );
        }
        // However deep it is, it ends.
        assert!(Program::compile(&format!("{}ours(){}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
        let negated = Program::compile(&format!("{}ours()", "!".repeat(10_001))).ok();
        assert!(negated.is_none_or(|expression| outcome("ours", &expression).is_some()));
    }
}
