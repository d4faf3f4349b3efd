//! The results as they are written: in `opa test`'s form for people, or as JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::Format;
use super::coverage::Coverage;
use super::rules::{Outcome, Test, Verdict};
use crate::command::rego::{Failure, Problem, shown};
use crate::command::terminal::{Paint, in_one_line, printable};

/// How many tests ended in which way.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// Those that have no result, as evaluating them went wrong.
    pub(super) stopped: usize,
}

impl Tally {
    pub(super) fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped => self.skipped += 1,
            Verdict::Stopped(_) => self.stopped += 1,
        }
    }
}

/// Writes one result after the other.
pub(super) struct Report {
    format: Format,
    verbose: bool,
    /// Whether the coverage is to be told.
    coverage: bool,
    paint: Paint,
    /// Whether something was written that the summary is set off from.
    told: bool,
    /// What is written at the end, as one JSON.
    entries: Vec<Entry>,
}

impl Report {
    pub(super) fn new(format: Format, verbose: bool, coverage: bool, paint: Paint) -> Self {
        Self { format, verbose, coverage, paint, told: false, entries: Vec::new() }
    }

    /// One test's result.
    pub(super) fn add(&mut self, output: &mut impl Write, test: &Test, outcome: Outcome) -> io::Result<()> {
        let is_well = matches!(outcome.verdict, Verdict::Passed);
        match self.format {
            Format::Pretty if self.verbose || !is_well => {
                let text = self.text(test, &outcome);
                self.told = true;
                output.write_all(text.as_bytes())
            }
            Format::Pretty => Ok(()),
            // The lines are what is asked for then, and the standard output has room for one JSON only.
            Format::Json if self.coverage => {
                if !is_well && !matches!(outcome.verdict, Verdict::Skipped) {
                    let text = self.text(test, &outcome);
                    // Nobody listening is no reason to run no further tests.
                    let _ = io::stderr().write_all(text.as_bytes());
                }
                Ok(())
            }
            Format::Json => {
                self.entries.push(Entry::new(test, outcome));
                Ok(())
            }
        }
    }

    /// What is told at the end.
    pub(super) fn finish(
        &mut self,
        output: &mut impl Write,
        tally: &Tally,
        coverage: Option<&Coverage>,
    ) -> io::Result<()> {
        match (self.format, coverage.filter(|_| self.coverage)) {
            (Format::Json, Some(coverage)) => to_json(output, &coverage.to_json()),
            (Format::Json, None) => to_json(output, &self.entries),
            (Format::Pretty, coverage) => {
                self.summary(output, tally)?;
                coverage.map_or(Ok(()), |coverage| table(output, coverage))
            }
        }
    }

    fn text(&self, test: &Test, outcome: &Outcome) -> String {
        let (word, why) = match &outcome.verdict {
            Verdict::Passed => (self.paint.green("PASS"), None),
            Verdict::Failed(why) => (self.paint.red("FAIL"), Some(in_one_line(why).into_owned())),
            Verdict::Stopped(failure) => (self.paint.red("ERROR"), Some(failure.to_string())),
            Verdict::Skipped => (self.paint.yellow("SKIPPED"), None),
        };
        let took = match outcome.verdict {
            Verdict::Skipped => String::new(),
            _ if self.verbose => format!(" ({})", shown(outcome.took)),
            _ => String::new(),
        };
        let mut text = format!("{}: {word}{took}\n", in_one_line(&test.full_name()));
        let mut line = |line: &str| text.extend(["  ", printable(line).as_ref(), "\n"]);
        if let Some(why) = why {
            line(&format!("{}:{}: {}", test.file, test.line, why.lines().next().unwrap_or_default()));
            why.lines().skip(1).for_each(&mut line);
        }
        outcome.prints.iter().flat_map(|print| print.lines()).for_each(line);
        text
    }

    fn summary(&self, output: &mut impl Write, tally: &Tally) -> io::Result<()> {
        if self.told {
            writeln!(output, "{}", "-".repeat(80))?;
        }
        let Tally { passed, failed, skipped, stopped } = *tally;
        let all = passed + failed + skipped + stopped;
        for (word, number) in [
            (self.paint.green("PASS"), passed),
            (self.paint.red("FAIL"), failed),
            (self.paint.yellow("SKIPPED"), skipped),
            (self.paint.red("ERROR"), stopped),
        ] {
            if number > 0 {
                writeln!(output, "{word}: {number}/{all}")?;
            }
        }
        Ok(())
    }
}

/// Every module's lines, and those that are missing.
fn table(output: &mut impl Write, coverage: &Coverage) -> io::Result<()> {
    let width = coverage.files().map(|(name, _)| name.chars().count()).max().unwrap_or_default().max(5);
    writeln!(output, "\n{:width$} {:>9} {:>8}  not covered", "", "lines", "covered")?;
    for (name, file) in coverage.files() {
        let missing: Vec<String> = file.not_covered().iter().map(ToString::to_string).collect();
        let share = file.share();
        let line = format!(
            "{name:width$} {:>9} {:>6.1} %  {}",
            format!("{}/{}", share.covered, share.lines),
            share.percent(),
            missing.join(", ")
        );
        writeln!(output, "{}", line.trim_end())?;
    }
    let total = coverage.total();
    let lines = format!("{}/{}", total.covered, total.lines);
    writeln!(output, "{:width$} {lines:>9} {:>6.1} %", "total", total.percent())
}

fn to_json(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string_pretty(value)?)
}

/// A result as data, with the fields that `opa test --format json` has.
#[derive(Serialize)]
struct Entry {
    location: Location,
    package: String,
    name: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fail: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    skip: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorEntry>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// In nanoseconds.
    duration: u64,
    /// What was printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output: Vec<String>,
}

#[derive(Serialize)]
struct Location {
    file: String,
    row: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    col: Option<usize>,
}

#[derive(Serialize)]
struct ErrorEntry {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
}

impl Entry {
    fn new(test: &Test, Outcome { verdict, took, prints }: Outcome) -> Self {
        Self {
            location: Location {
                file: test.file.clone(),
                row: usize::try_from(test.line).unwrap_or_default(),
                col: None,
            },
            package: test.package.clone(),
            name: test.name.clone(),
            fail: matches!(verdict, Verdict::Failed(_)),
            skip: matches!(verdict, Verdict::Skipped),
            error: match &verdict {
                Verdict::Stopped(failure) => Some(failure.into()),
                _ => None,
            },
            reason: match verdict {
                Verdict::Failed(why) => Some(why),
                _ => None,
            },
            duration: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            output: prints,
        }
    }
}

impl From<&Failure> for ErrorEntry {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Time(_) => Self { message: failure.to_string(), location: None },
            Failure::Problem(problem) => Self::from(problem),
        }
    }
}

impl From<&Problem> for ErrorEntry {
    fn from(problem: &Problem) -> Self {
        let location = problem.place().map(|place| Location {
            file: place.file.clone(),
            row: place.line,
            col: Some(place.column),
        });
        Self { message: problem.message().to_owned(), location }
    }
}
