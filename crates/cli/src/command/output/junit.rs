//! Results as JUnit's XML, which CI systems show: each thing that was looked at is a test.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::time::Duration;

use super::{Check, Finding, Level, Results, harmless};

/// One `testsuite` for each group, in the order in which they are met.
pub(in crate::command) fn junit(results: &Results) -> String {
    let mut groups: Vec<(&str, Vec<&Check>)> = Vec::new();
    for check in &results.checks {
        match groups.iter_mut().find(|(name, _)| *name == check.group) {
            Some((_, group)) => group.push(check),
            None => groups.push((&check.group, vec![check])),
        }
    }
    let all = Counts::of(&results.checks.iter().collect::<Vec<_>>(), results.fail_on);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.push_str(&format!("<testsuites name=\"image-admission\"{all}>\n"));
    for (name, group) in groups {
        let counts = Counts::of(&group, results.fail_on);
        xml.push_str(&format!("  <testsuite name=\"{}\"{counts}>\n", escaped(name)));
        group.iter().for_each(|check| xml.push_str(&case(check, results.fail_on)));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// What a test came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Skipped,
    Failed,
    /// It has no result.
    Broken,
}

impl Outcome {
    fn of(check: &Check, fail_on: Level) -> Self {
        match check.findings.iter().map(|finding| finding.level).max() {
            _ if check.is_skipped => Self::Skipped,
            Some(Level::Unknown) => Self::Broken,
            Some(level) if level >= fail_on => Self::Failed,
            _ => Self::Passed,
        }
    }
}

/// The attributes that sum up a group.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    /// None where nobody measured.
    time: Option<Duration>,
}

impl Counts {
    fn of(checks: &[&Check], fail_on: Level) -> Self {
        let mut counts = Self { tests: checks.len(), ..Self::default() };
        for check in checks {
            if let Some(took) = check.took {
                counts.time = Some(counts.time.unwrap_or_default() + took);
            }
            match Outcome::of(check, fail_on) {
                Outcome::Passed => {}
                Outcome::Failed => counts.failures += 1,
                Outcome::Broken => counts.errors += 1,
                Outcome::Skipped => counts.skipped += 1,
            }
        }
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tests, failures, errors, skipped, time } = self;
        write!(f, " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")?;
        time.map_or(Ok(()), |time| write!(f, " time=\"{:.6}\"", time.as_secs_f64()))
    }
}

fn case(check: &Check, fail_on: Level) -> String {
    let mut xml = format!("    <testcase name=\"{}\" classname=\"{}\"", escaped(&check.name), escaped(&check.group));
    // Writing to a string can't fail.
    if let Some(file) = check.location.path() {
        let _ = write!(xml, " file=\"{}\"", escaped(file));
        let _ = check.location.line.map(|line| write!(xml, " line=\"{line}\""));
    }
    let _ = check.took.map(|took| write!(xml, " time=\"{:.6}\"", took.as_secs_f64()));
    let outcome = Outcome::of(check, fail_on);
    let (reasons, remarks): (Vec<&Finding>, Vec<&Finding>) =
        check.findings.iter().partition(|finding| finding.level >= fail_on);
    let mut within = match outcome {
        Outcome::Passed => String::new(),
        Outcome::Skipped => "      <skipped/>\n".to_owned(),
        Outcome::Failed => why("failure", &reasons),
        Outcome::Broken => why("error", &reasons),
    };
    let prints = check.prints.iter().map(String::as_str);
    let told: Vec<&str> = prints.chain(remarks.iter().map(|finding| finding.message.as_str())).collect();
    if !told.is_empty() {
        let _ = writeln!(within, "      <system-out>{}</system-out>", escaped(&told.join("\n")));
    }
    match within.as_str() {
        "" => xml.push_str("/>\n"),
        within => xml.extend([">\n", within, "    </testcase>\n"]),
    }
    xml
}

/// All reasons in one element, since readers show the first alone.
fn why(element: &str, reasons: &[&Finding]) -> String {
    let messages: Vec<&str> = reasons.iter().map(|finding| finding.message.as_str()).collect();
    let first = messages.first().and_then(|message| message.lines().next()).unwrap_or_default();
    let rule = reasons.first().map_or("", |finding| finding.rule);
    let text = messages.join("\n");
    format!("      <{element} type=\"{rule}\" message=\"{}\">{}</{element}>\n", escaped(first), escaped(&text))
}

/// A text without what means something in XML, or can't be in it at all.
fn escaped(text: &str) -> Cow<'_, str> {
    let shown = harmless(text);
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
    use crate::command::output::tests::hostile;

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(
            escaped("a <b> & \"c\"\u{1b}\u{ffff}\n]]>"),
            "a &lt;b&gt; &amp; &quot;c&quot;\\u{1b}\\u{ffff}\n]]&gt;"
        );
        assert_eq!(escaped("a\n::error::b"), "a\n\\u{3a}:error::b");
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn each_check_is_a_test() {
        let place = "classname=\"a &amp; b\" file=\"a b/[x],y:ä%.yaml\" line=\"7\"";
        let expected = format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="image-admission" tests="6" failures="1" errors="1" skipped="1" time="1.500000">
  <testsuite name="a &amp; b" tests="6" failures="1" errors="1" skipped="1" time="1.500000">
    <testcase name="quiet" {place}/>
    <testcase name="&quot;loud&quot;" {place}>
      <failure type="open-prefix" message="100 %">100 %\u{{d}}
\u{{3a}}:error::[a](b) #\u{{23}}[error]x\u{{1b}}[2K\u{{202e}}]]&gt;</failure>
      <system-out>a &lt;note&gt;</system-out>
    </testcase>
    <testcase name="remark" {place}>
      <system-out>only a note</system-out>
    </testcase>
    <testcase name="stopped" {place}>
      <error type="open-prefix" message="no answer">no answer
at all</error>
    </testcase>
    <testcase name="left out" {place}>
      <skipped/>
    </testcase>
    <testcase name="timed" classname="a &amp; b" time="1.500000">
      <system-out>&lt;printed&gt;</system-out>
    </testcase>
  </testsuite>
</testsuites>
"#
        );
        assert_eq!(junit(&hostile()), expected);
    }

    #[test]
    fn what_weighs_too_little_is_no_failure() {
        let counted = |fail_on| {
            let results = hostile();
            Counts::of(&results.checks.iter().collect::<Vec<_>>(), fail_on).failures
        };
        assert_eq!([Level::Note, Level::Warning, Level::Error].map(counted), [2, 1, 1]);
    }
}
