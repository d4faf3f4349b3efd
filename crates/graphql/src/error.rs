//! Why a document has no answer.

use std::fmt;

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// It isn't GraphQL.
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The character of that line, from 1.
        column: usize,
        /// What is there.
        why: String,
    },
    /// It is GraphQL, and breaks a rule.
    Invalid(String),
    /// It is more than what is looked into: whether it is valid isn't known.
    TooMuch(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line, column, why } => write!(f, "line {line}, column {column}: {why}"),
            Self::Invalid(why) => f.write_str(why),
            Self::TooMuch(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// A rule that is broken, and by what.
pub(crate) fn invalid<T>(name: &str, why: &str) -> Result<T, Error> {
    Err(Error::Invalid(format!("`{name}`: {why}")))
}
