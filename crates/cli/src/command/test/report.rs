//! The results as they are written: in `opa test`'s form for people, as JSON, or as CI systems read them.

mod checks;

use std::io::{self, Write};

use serde::Serialize;

use super::Format;
use super::coverage::Coverage;
use super::identity::{Identity, Scope};
use super::outcome::{Outcome, Stop, Verdict};
use crate::command::output::{annotations, junit, sarif, yaml};
use crate::command::rego::{Failure, Problem, shown};
use crate::command::terminal::{Paint, errors, in_one_line, printable, without_commands};

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
    /// What is written at the end, as one document.
    results: Vec<Finished>,
    /// What is wrong with suites whose cases all pass.
    complaints: Vec<Complaint>,
}

/// A test that was run.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) identity: Identity,
    pub(super) outcome: Outcome,
}

/// What is wrong with a whole suite.
#[derive(Debug)]
pub(super) struct Complaint {
    /// The suite's file.
    pub(super) suite: String,
    /// What it is, in one line and more.
    pub(super) problem: String,
}

impl Report {
    pub(super) fn new(format: Format, verbose: bool, coverage: bool, paint: Paint) -> Self {
        Self { format, verbose, coverage, paint, told: false, results: Vec::new(), complaints: Vec::new() }
    }

    /// One test's result.
    pub(super) fn add(&mut self, output: &mut impl Write, identity: Identity, outcome: Outcome) -> io::Result<()> {
        let is_well = matches!(outcome.verdict, Verdict::Passed);
        let finished = Finished { identity, outcome };
        match self.format {
            Format::Text | Format::Github if self.verbose || !is_well => {
                let text = text(&finished, self.verbose, self.paint);
                self.told = true;
                output.write_all(text.as_bytes())?;
                if self.format == Format::Github {
                    output.write_all(annotations(&checks::check(&finished)).as_bytes())?;
                }
                Ok(())
            }
            Format::Text | Format::Github => Ok(()),
            // The lines are what is asked for then, and the standard output has room for one JSON only.
            Format::Json | Format::Yaml if self.coverage => {
                if !is_well && !matches!(finished.outcome.verdict, Verdict::Skipped) {
                    let text = text(&finished, self.verbose, Paint::for_output(&io::stderr()));
                    // Nobody listening is no reason to run no further tests.
                    let _ = errors().write_all(text.as_bytes());
                }
                Ok(())
            }
            Format::Json | Format::Yaml | Format::Sarif | Format::Junit => {
                self.results.push(finished);
                Ok(())
            }
        }
    }

    /// What is wrong with a suite although its cases pass. The standard error stream has it too.
    pub(super) fn complain(&mut self, output: &mut impl Write, complaint: Complaint) -> io::Result<()> {
        if self.format == Format::Github {
            output.write_all(annotations(&checks::complaint(&complaint)).as_bytes())?;
        }
        self.complaints.push(complaint);
        Ok(())
    }

    /// What is told at the end.
    pub(super) fn finish(
        &mut self,
        output: &mut impl Write,
        tally: &Tally,
        coverage: Option<&Coverage>,
    ) -> io::Result<()> {
        match (self.format, coverage.filter(|_| !cfg!(target_family = "wasm") && self.coverage)) {
            (Format::Json, Some(coverage)) => to_json(output, &coverage.to_json()),
            (Format::Yaml, Some(coverage)) => output.write_all(yaml(&coverage.to_json())?.as_bytes()),
            (Format::Json, None) => to_json(output, &self.entries()),
            (Format::Yaml, None) => output.write_all(yaml(&self.entries())?.as_bytes()),
            (Format::Sarif, _) => output.write_all(sarif(&checks::all(&self.results, &self.complaints)).as_bytes()),
            (Format::Junit, _) => output.write_all(junit(&checks::all(&self.results, &self.complaints)).as_bytes()),
            (Format::Text | Format::Github, coverage) => {
                self.summary(output, tally)?;
                coverage.map_or(Ok(()), |coverage| table(output, coverage))
            }
        }
    }

    /// Every result as data.
    fn entries(&mut self) -> Vec<Entry> {
        self.results.drain(..).map(Entry::from).collect()
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

/// A result for people.
fn text(Finished { identity, outcome }: &Finished, verbose: bool, paint: Paint) -> String {
    let (word, why) = match &outcome.verdict {
        Verdict::Passed => (paint.green("PASS"), Vec::new()),
        Verdict::Failed(why) => (paint.red("FAIL"), why.lines(paint)),
        Verdict::Stopped(stop) => {
            (paint.red("ERROR"), printable(&stop.to_string()).lines().map(str::to_owned).collect())
        }
        Verdict::Skipped => (paint.yellow("SKIPPED"), Vec::new()),
    };
    let took = match outcome.verdict {
        Verdict::Skipped => String::new(),
        _ if verbose => format!(" ({})", shown(outcome.took)),
        _ => String::new(),
    };
    let mut text = format!("{}: {word}{took}\n", in_one_line(&identity.full_name()));
    let mut line = |line: &str| text.extend(["  ", line, "\n"]);
    let mut why = why.iter();
    if let Some(first) = why.next() {
        line(&format!("{}:{}: {first}", printable(&identity.file), identity.line));
        why.for_each(|next| line(next));
    }
    outcome.prints.iter().flat_map(|print| print.lines()).for_each(|print| line(&printable(print)));
    without_commands(&text).into_owned()
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
        writeln!(output, "{}", without_commands(line.trim_end()))?;
    }
    let total = coverage.total();
    let lines = format!("{}/{}", total.covered, total.lines);
    writeln!(output, "{:width$} {lines:>9} {:>6.1} %", "total", total.percent())
}

/// What a runner of GitHub's workflows would take for a command can only be within a text, and is escaped.
fn to_json(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string_pretty(value)?.replace("##[", "#\\u0023["))
}

/// A result as data, with the fields that `opa test --format json` has; a case has `suite` in the place of `package`.
#[derive(Serialize)]
struct Entry {
    location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suite: Option<String>,
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

impl From<Finished> for Entry {
    fn from(Finished { identity, outcome: Outcome { verdict, took, prints } }: Finished) -> Self {
        let Identity { scope, name, file, line } = identity;
        let (package, suite) = match scope {
            Scope::Package(package) => (Some(package), None),
            Scope::Suite(suite) => (None, Some(suite)),
        };
        Self {
            location: Location { file, row: line, col: None },
            package,
            suite,
            name,
            fail: matches!(verdict, Verdict::Failed(_)),
            skip: matches!(verdict, Verdict::Skipped),
            error: match &verdict {
                Verdict::Stopped(Stop::Evaluation(failure)) => Some(failure.into()),
                Verdict::Stopped(Stop::Case(why)) => Some(ErrorEntry { message: why.clone(), location: None }),
                _ => None,
            },
            reason: match verdict {
                Verdict::Failed(why) => Some(why.to_string()),
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
