//! What became of one test, be it a rule or a case of a suite.

use std::fmt;
use std::time::Duration;

use crate::command::diff::Line;
use crate::command::rego::Failure;
use crate::command::terminal::{Paint, printable};

/// What became of a test.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) took: Duration,
    /// What it printed or logged, a text for each call.
    pub(super) prints: Vec<String>,
}

/// Whether a test holds.
#[derive(Debug)]
pub(super) enum Verdict {
    Passed,
    Failed(Why),
    Stopped(Stop),
    Skipped,
}

/// Why a test fails, in parts that are set below each other.
#[derive(Debug)]
pub(super) struct Why(pub(super) Vec<Part>);

/// A part of [`Why`].
#[derive(Debug)]
pub(super) enum Part {
    /// A sentence, or several lines.
    Text(String),
    /// What was expected and isn't so (`-`), and what is so instead (`+`).
    Difference(Vec<Line>),
}

impl Why {
    /// One sentence.
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// The lines, ready for a terminal.
    pub(super) fn lines(&self, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => lines.extend(printable(text).lines().map(str::to_owned)),
                Part::Difference(difference) => lines.extend(difference.iter().map(|line| line.shown(paint))),
            }
        }
        lines
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(Paint::none()).join("\n"))
    }
}

/// Why a test has no result.
#[derive(Debug)]
pub(super) enum Stop {
    /// Evaluating the rule went wrong.
    Evaluation(Failure),
    /// The policy has no answer to the case, or the case none to the policy.
    Case(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluation(failure) => failure.fmt(f),
            Self::Case(why) => f.write_str(why),
        }
    }
}
