//! What differs between two values, as people read it: lines of YAML.

use std::fmt::Write as _;

use serde_json::Value;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{Change, ChangeTag, DiffOp, group_diff_ops};

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
    let mut lines = Vec::new();
    for (_, changes) in hunks(before, after) {
        if !lines.is_empty() {
            lines.push(Line::Gap);
        }
        for change in changes {
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

/// The difference of two texts of a file as `patch` reads it.
pub(super) fn patch(name: &str, before: &str, after: &str) -> String {
    let mut patch = format!("--- {name}\n+++ {name}\n");
    for (header, changes) in hunks(before, after) {
        // Writing to a text can't fail.
        let _ = writeln!(patch, "{header}");
        for change in changes {
            let missing = if change.value().ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(patch, "{}{}{missing}", change.tag(), change.value());
        }
    }
    patch
}

/// The places where two texts differ: where each is, and its lines. Myers' way is named, since a choice among all of the
/// library's ways would link them all: a fiftieth of what a browser loads as the playground.
fn hunks<'text>(before: &'text str, after: &'text str) -> Vec<(UnifiedHunkHeader, Vec<Change<&'text str>>)> {
    let [before, after] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut found = Compact::new(Replace::new(Capture::new()), &before, &after);
    let Ok(()) = myers::diff(&mut found, &before, 0..before.len(), &after, 0..after.len());
    let hunk = |ops: Vec<DiffOp>| {
        (UnifiedHunkHeader::new(&ops), ops.iter().flat_map(|op| op.iter_changes(&before, &after)).collect())
    };
    group_diff_ops(found.into_inner().into_inner().into_ops(), CONTEXT).into_iter().map(hunk).collect()
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

    #[test]
    fn a_patch_has_a_header_for_each_place_and_says_where_the_last_line_has_no_end() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let after = "A\nb\nc\nd\ne\nf\ng\nh\ni\n";
        let expected = "--- x.yaml\n+++ x.yaml\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n d\n@@ -6,4 +6,4 @@\n f\n g\n h\n-i\n\\ No newline at end of file\n+i\n";
        assert_eq!(patch("x.yaml", before, after), expected);
    }
}
