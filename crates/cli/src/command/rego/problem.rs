//! What the Rego engine finds wrong, in this project's form: where, what, and the line of the source.
//!
//! The engine tells it as text only, with an arrow to the place:
//!
//! ```text
//! --> policy.rego:4:3
//!   |
//! 4 |   deny[msg] {{
//!   |   ^
//! error: expecting expression
//! ```

use std::fmt;

/// How wide the engine takes a tabulator to be.
const TAB: usize = 4;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) struct Problem {
    place: Option<Place>,
    message: String,
    /// Further places that it is about, each with what is there.
    notes: Vec<String>,
}

/// A place in a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) struct Place {
    /// The module's name.
    pub(in crate::command) file: String,
    /// From 1.
    pub(in crate::command) line: usize,
    /// In characters, from 1.
    pub(in crate::command) column: usize,
    source: String,
}

/// Several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", _0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub(in crate::command) struct Problems(pub(in crate::command) Vec<Problem>);

impl Problem {
    /// Reads an error's text; what isn't in the engine's form is the message as it is.
    pub(super) fn read(text: &str) -> Self {
        let mut blocks = text.split("\n--> ").map(str::trim_end);
        let before = blocks.next().unwrap_or_default().trim();
        let first = blocks.next().and_then(block);
        let (Some((place, message)), true) = (first, before.is_empty()) else { return Self::without_place(text) };
        let mut problem =
            Self { place: Some(place), message: lower_case(message.trim_end_matches(':')), notes: vec![] };
        for (place, message) in blocks.filter_map(block) {
            let Place { file, line, column, .. } = place;
            problem.notes.push(format!("{message} {file}:{line}:{column}").trim_start().to_owned());
        }
        problem
    }

    /// A problem that no place is known of.
    pub(super) fn without_place(message: &str) -> Self {
        Self { place: None, message: lower_case(message.trim()), notes: Vec::new() }
    }

    /// Where it is.
    pub(in crate::command) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Whether the line could be of Rego v1: `deny contains msg if {`.
    pub(super) fn is_like_v1(&self) -> bool {
        let source = self.place.as_ref().map_or("", |place| place.source.trim());
        source.ends_with(" if {") || source.contains(" contains ") || source.contains(" if ")
    }

    /// Says what to do about it.
    pub(super) fn add_hint(&mut self, hint: &str) {
        self.message.push_str("; ");
        self.message.push_str(hint);
    }

    /// What it is.
    pub(in crate::command) fn message(&self) -> &str {
        &self.message
    }
}

impl std::error::Error for Problem {}

/// `policy.rego:4:3: expecting expression`, with the line and a caret under the place.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Place { file, line, column, source }) = &self.place else { return f.write_str(&self.message) };
        write!(f, "{file}:{line}:{column}: {}", self.message)?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        let number = line.to_string();
        let shown = source.replace('\t', " ");
        write!(f, "\n  {number} | {}", shown.trim_end())?;
        write!(f, "\n  {:width$} | {:>column$}", "", '^', width = number.len())
    }
}

/// The place and the message of what follows an arrow.
fn block(text: &str) -> Option<(Place, &str)> {
    let mut lines = text.splitn(5, '\n');
    let mut place = lines.next()?.rsplitn(3, ':');
    let column: usize = place.next()?.parse().ok()?;
    let line = place.next()?.parse().ok()?;
    let file = place.next()?.to_owned();
    let source = lines.nth(1)?.split_once("| ").map(|(_, source)| source.to_owned()).unwrap_or_default();
    let (kind, message) = lines.nth(1)?.split_once(':')?;
    let message = if kind == "error" { message } else { kind };
    Some((Place { file, line, column: in_characters(&source, column), source }, message.trim()))
}

/// The engine's column, which counts several for a tabulator, in characters.
fn in_characters(source: &str, column: usize) -> usize {
    let mut reached = 1;
    for (index, character) in source.chars().enumerate() {
        if reached >= column {
            return index + 1;
        }
        reached += if character == '\t' { TAB } else { 1 };
    }
    // Behind the line's end.
    source.chars().count() + 1 + column.saturating_sub(reached)
}

/// With a small letter at the beginning, unless it is an abbreviation's or a name's.
fn lower_case(message: &str) -> String {
    let mut characters = message.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(message.chars().skip(1)).collect()
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(Problem::read(text).to_string(), expected);
    }

    #[test]
    fn the_place_comes_first() {
        check(
            "\n--> a:b.rego:12:3\n   |\n12 | \tdeny[x] {{\n   |   ^\nerror: Expecting expression",
            "a:b.rego:12:2: expecting expression\n  12 |  deny[x] {{\n     |  ^",
        );
        check(
            "\n--> p.rego:1:9\n  |\n1 | package\n  |         ^\nerror: x",
            "p.rego:1:9: x\n  1 | package\n    |         ^",
        );
    }

    #[test]
    fn what_it_depends_on_follows() {
        check(
            "\n--> p.rego:2:1\n  |\n2 | a = b\n  | ^\nerror: recursion detected:\n--> p.rego:3:1\n  |\n3 | b = a\n  | ^\ndepends on: ",
            "p.rego:2:1: recursion detected\n  depends on p.rego:3:1\n  2 | a = b\n    | ^",
        );
    }

    #[test]
    fn any_other_text_stays() {
        for text in ["data must be object", "--> nothing", "\n--> a.rego:x:1", ""] {
            check(text, text.trim());
        }
        check("JSON is no number", "JSON is no number");
        check("Not a rule", "not a rule");
    }
}
