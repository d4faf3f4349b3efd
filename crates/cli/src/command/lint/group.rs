//! Members of policy groups: they can't change objects, and the group's `expression` decides what comes of their verdicts.

use image_admission_engine::settings::{Lint as Remark, LintRule, LintSeverity, Settings};
use serde_json::Value;

use super::expression::Expression;
use super::manifest::text;

/// What is to be remarked of a member with these settings.
pub(super) fn remarks(member: &str, group: &Value, settings: &Settings) -> Vec<Remark> {
    const REJECTED: &str = "a member of a policy group that changes an object rejects it";
    let mut remarks = Vec::new();
    if group.pointer("/spec/mutating").is_some() {
        let message = "the API server refuses or drops it, since a policy group has no such field: its members change nothing; leave it out";
        remarks.push(Remark::new(LintRule::GroupMember, "spec.mutating", message));
    }
    if settings.may_pin() {
        let message = format!("images are to be pinned, and {REJECTED}; write `pin: {{enabled: false}}`");
        remarks.push(Remark::new(LintRule::GroupMember, "pin", message));
    }
    for path in settings.patching_policies() {
        let message = format!("it has a patch, and {REJECTED}; leave the patch out");
        remarks.push(Remark::new(LintRule::GroupMember, path, message));
    }
    remarks.extend(text(group, "/spec/expression").and_then(Expression::parse).and_then(|expression| {
        let (severity, message) = outcome(member, &expression)?;
        Some(Remark::new(LintRule::GroupMember, "spec.expression", message).weighing(severity))
    }));
    remarks
}

/// What the group makes of a member's rejection, where that isn't a rejection.
fn outcome(member: &str, expression: &Expression) -> Option<(LintSeverity, String)> {
    if !expression.members().contains(member) {
        let message = format!("it doesn't ask `{member}`, whose verdict counts for nothing; write `{member}() && …`");
        return Some((LintSeverity::Error, message));
    }
    let others: Vec<&str> = expression.members().into_iter().filter(|other| *other != member).collect();
    let mut admitted = None;
    for accepting in subsets(&others)? {
        let verdict =
            |accepts: bool| expression.holds(&|name| if name == member { accepts } else { accepting.contains(&name) });
        if verdict(false) && !verdict(true) {
            let message = format!(
                "the group admits because `{member}` rejects: what can't be looked up is rejected, so it is admitted; write `{member}()` without a `!` before it"
            );
            return Some((LintSeverity::Error, message));
        }
        if verdict(false) && admitted.is_none() {
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
        let found = outcome("ours", &Expression::parse(expression).unwrap());
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
    }
}
