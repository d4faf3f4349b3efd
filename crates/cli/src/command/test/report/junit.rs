//! The results as JUnit's XML, which CI systems show.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use super::{Complaint, Finished};
use crate::command::terminal::{printable, without_commands};
use crate::command::test::outcome::Verdict;

/// One `testsuite` for each package and each suite, in the order in which they are met.
pub(super) fn document(results: &[Finished], complaints: &[Complaint]) -> String {
    let mut groups: Vec<(&str, Vec<&Finished>)> = Vec::new();
    for result in results {
        let scope = result.identity.scope.name();
        match groups.iter_mut().find(|(name, _)| *name == scope) {
            Some((_, group)) => group.push(result),
            None => groups.push((scope, vec![result])),
        }
    }
    let all: Vec<&Finished> = results.iter().collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let whole: Vec<&Complaint> = complaints.iter().collect();
    xml.push_str(&format!("<testsuites name=\"image-admission\"{}>\n", Counts::of(&all, &whole)));
    for (name, group) in groups {
        let own: Vec<&Complaint> = complaints.iter().filter(|complaint| complaint.suite == name).collect();
        xml.push_str(&format!("  <testsuite name=\"{}\"{}>\n", escaped(name), Counts::of(&group, &own)));
        group.iter().for_each(|result| xml.push_str(&case(name, result)));
        for Complaint { suite, problem } in own {
            let name = escaped(suite);
            xml.push_str(&format!(
                "    <testcase name=\"every answer is used\" classname=\"{name}\" file=\"{name}\">\n"
            ));
            xml.push_str(&why("error", problem));
            xml.push_str("    </testcase>\n");
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// The attributes that sum up a group. What is wrong with a whole suite counts as one more test of it.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    time: Duration,
}

impl Counts {
    fn of(results: &[&Finished], complaints: &[&Complaint]) -> Self {
        let whole = complaints.len();
        let mut counts = Self { tests: results.len() + whole, errors: whole, ..Self::default() };
        for result in results {
            counts.time += result.outcome.took;
            match result.outcome.verdict {
                Verdict::Passed => {}
                Verdict::Failed(_) => counts.failures += 1,
                Verdict::Stopped(_) => counts.errors += 1,
                Verdict::Skipped => counts.skipped += 1,
            }
        }
        counts
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tests, failures, errors, skipped, time } = self;
        write!(f, " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")?;
        write!(f, " time=\"{:.6}\"", time.as_secs_f64())
    }
}

fn case(scope: &str, Finished { identity, outcome }: &Finished) -> String {
    let mut xml = format!(
        "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.6}\"",
        escaped(&identity.name),
        escaped(scope),
        escaped(&identity.file),
        identity.line,
        outcome.took.as_secs_f64()
    );
    let mut within = match &outcome.verdict {
        Verdict::Passed => String::new(),
        Verdict::Failed(reason) => why("failure", &reason.to_string()),
        Verdict::Stopped(stop) => why("error", &stop.to_string()),
        Verdict::Skipped => "      <skipped/>\n".to_owned(),
    };
    if !outcome.prints.is_empty() {
        // Writing to a string can't fail.
        let _ = writeln!(within, "      <system-out>{}</system-out>", escaped(&outcome.prints.join("\n")));
    }
    match within.as_str() {
        "" => xml.push_str("/>\n"),
        within => xml.extend([">\n", within, "    </testcase>\n"]),
    }
    xml
}

fn why(element: &str, text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    format!("      <{element} message=\"{}\">{}</{element}>\n", escaped(first), escaped(text))
}

/// A text without what means something in XML, or can't be in it at all.
fn escaped(text: &str) -> Cow<'_, str> {
    let shown = printable(text);
    let shown = match without_commands(&shown) {
        Cow::Owned(safe) => safe.into(),
        Cow::Borrowed(_) => shown,
    };
    if !shown.contains(['&', '<', '>', '"', '\u{fffe}', '\u{ffff}']) {
        return shown;
    }
    let mut escaped = String::with_capacity(shown.len());
    for character in shown.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write these two.
            '\u{fffe}' | '\u{ffff}' => escaped.extend(character.escape_unicode()),
            other => escaped.push(other),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(
            escaped("a <b> & \"c\"\u{1b}\u{ffff}\n]]>"),
            "a &lt;b&gt; &amp; &quot;c&quot;\\u{1b}\\u{ffff}\n]]&gt;"
        );
        assert_eq!(escaped("a\n::error::b"), "a\n\\u{3a}:error::b");
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
    }
}
