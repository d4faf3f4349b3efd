//! What differs between two values, as people read it: lines of YAML.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::terminal::{Paint, in_one_line};

/// The lines around a change that show where it is.
const CONTEXT: usize = 3;

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// In both objects.
    Same(String),
    /// Only in the object as it was.
    Removed(String),
    /// Only in the object as it is now.
    Added(String),
    /// Lines that are the same, and not shown.
    Gap,
}

impl Line {
    /// The line with its sign before it, `-` or `+`.
    pub(super) fn shown(&self, paint: Paint) -> String {
        match self {
            Self::Same(text) => format!("    {}", in_one_line(text)),
            Self::Removed(text) => paint.red(&format!("  - {}", in_one_line(text))).into_owned(),
            Self::Added(text) => paint.green(&format!("  + {}", in_one_line(text))).into_owned(),
            Self::Gap => paint.dim("    ...").into_owned(),
        }
    }
}

/// The lines of YAML that differ, with those around them.
pub(super) fn diff(before: &Value, after: &Value) -> Vec<Line> {
    diff_of_texts(&yaml(before), &yaml(after))
}

/// The lines of two texts that differ, with those around them.
pub(super) fn diff_of_texts(before: &str, after: &str) -> Vec<Line> {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push(Line::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches('\n').to_owned();
            lines.push(match change.tag() {
                ChangeTag::Equal => Line::Same(text),
                ChangeTag::Delete => Line::Removed(text),
                ChangeTag::Insert => Line::Added(text),
            });
        }
    }
    lines
}

/// Every JSON value can be written as YAML; should one ever not be, JSON is YAML too.
pub(super) fn yaml(value: &Value) -> String {
    yaml_serde::to_string(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_have_three_lines_around_them() {
        let before = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10});
        let mut after = before.clone();
        after["a"] = json!({"new": 1});
        after["j"] = json!(11);
        let expected = [
            Line::Removed("a: 1".to_owned()),
            Line::Added("a:".to_owned()),
            Line::Added("  new: 1".to_owned()),
            Line::Same("b: 2".to_owned()),
            Line::Same("c: 3".to_owned()),
            Line::Same("d: 4".to_owned()),
            Line::Gap,
            Line::Same("g: 7".to_owned()),
            Line::Same("h: 8".to_owned()),
            Line::Same("i: 9".to_owned()),
            Line::Removed("j: 10".to_owned()),
            Line::Added("j: 11".to_owned()),
        ];
        assert_eq!(diff(&before, &after), expected);
        assert_eq!(diff(&before, &before), []);
    }
}
