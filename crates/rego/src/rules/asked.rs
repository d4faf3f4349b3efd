//! What is asked of a rule, by its name.

/// The prefixes of rules that reject.
pub const DENIES: [&str; 2] = ["deny", "violation"];
/// The prefix of rules that warn.
pub const WARNS: &str = "warn";

/// What a rule that is asked must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Strings, or objects with a string `msg`: several of them, or one string; `false` says nothing.
    Messages,
    /// A set of strings.
    Reasons,
    /// True or false.
    Verdict,
    /// Operations of a JSON patch.
    Operations,
    /// Lists of rule names.
    RuleNames,
    /// An AdmissionReview.
    Review,
}

/// What is asked of a rule of a policy; none: nobody asks it.
pub fn asked(rule: &str, package: &[String]) -> Option<Asked> {
    match rule {
        "patch" => Some(Asked::Operations),
        "exception" => Some(Asked::RuleNames),
        "main" if package == ["system"] => Some(Asked::Review),
        _ => DENIES.into_iter().chain([WARNS]).any(|prefix| suffix(rule, prefix).is_some()).then_some(Asked::Messages),
    }
}

/// What follows `prefix_` in a rule's name, and nothing for the prefix alone.
pub fn suffix<'r>(rule: &'r str, prefix: &str) -> Option<&'r str> {
    let rest = rule.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('_') }
}
