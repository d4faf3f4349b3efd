//! What is asked of a rule, by its name.

/// What a rule that is asked must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
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
