//! `test`: runs the tests that rules have of their own, as users of `opa test` know it.

mod coverage;
mod report;
mod rules;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use regex::Regex;

use super::rego::{Problems, Program, SourceError, Sources, VersionOptions};
use super::terminal::Paint;
use super::{Ending, complain, seconds};
use coverage::Coverage;
use report::{Report, Tally};
use rules::Test as RuleTest;

const AFTER_HELP: &str = "\
Tests are rules whose names begin with `test_`, in any package. One passes when it is `true`, fails when it is false or
undefined, and is skipped when its name begins with `todo_test_`. Of a folder, everything in and below it is read: rules,
and data as `opa` has it (`limits/data.yaml` is found in `data.limits`); hidden files and Kubernetes objects are not.

Exit codes:
  0  every test passes
  1  something went wrong, or there is no test: the error says what
  2  a test fails, was stopped or was skipped, or too few lines are covered

Examples:
  image-admission test policies/
  image-admission test -v --run 'image_safety' image-safety.rego image-safety_test.rego
  image-admission test --threshold 80 policies/";

/// Run the tests of Rego rules
///
/// Rules, tests and data are evaluated with the engine and the functions that the policy has in a cluster.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Test {
    /// Files and folders with rules and tests (.rego) and data (.json, .yaml)
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Tell of every test, how long it took, and what it printed
    #[arg(short, long)]
    verbose: bool,

    /// Run only the tests whose names match, such as `data.kubernetes.test_admission.test_image_safety`
    #[arg(short, long, value_name = "REGEX", value_parser = Regex::new)]
    run: Option<Regex>,

    /// Tell which lines were evaluated
    #[arg(short, long)]
    coverage: bool,

    /// Fail when less of the lines is evaluated
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,

    /// How to write the results, or with --coverage the lines
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "pretty")]
    format: Format,

    /// How long each test may take
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    timeout: Duration,

    /// Skipped tests are no failure
    #[arg(short = 'z', long)]
    exit_zero_on_skipped: bool,

    #[command(flatten)]
    version: VersionOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Pretty,
    /// For programs
    Json,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| "use a number from 0 to 100".to_owned())
}

impl Test {
    /// Runs the tests, and writes the results to `output`.
    pub(super) fn execute(&self, output: &mut (impl Write + IsTerminal)) -> Result<Ending, TestError> {
        let version = self.version.version();
        let sources = Sources::load(&self.paths, version)?;
        if sources.modules.is_empty() {
            return Err(self.no_rules());
        }
        let mut program = Program::new(sources.modules, sources.data, version, self.timeout)?;
        let modules = program.modules();
        let tests = rules::tests(&modules);
        if tests.is_empty() {
            return Err(TestError::NoTests(paths(&self.paths)));
        }
        let chosen: Vec<&RuleTest> =
            tests.iter().filter(|test| self.run.as_ref().is_none_or(|run| run.is_match(&test.full_name()))).collect();
        if let (true, Some(run)) = (chosen.is_empty(), &self.run) {
            return Err(TestError::NoneChosen { pattern: run.to_string(), tests: tests.len() });
        }
        let mut coverage = (self.coverage || self.threshold.is_some()).then(|| Coverage::of(&modules));
        let mut tally = Tally::default();
        let mut report = Report::new(self.format, self.verbose, self.coverage, Paint::for_output(output));
        for test in chosen {
            let result = test.run(&program, coverage.as_mut());
            tally.count(&result.verdict);
            report.add(output, test, result)?;
        }
        report.finish(output, &tally, coverage.as_ref())?;
        output.flush()?;
        Ok(self.ending(&tally, coverage.as_ref()))
    }

    fn ending(&self, tally: &Tally, coverage: Option<&Coverage>) -> Ending {
        let mut ending = Ending::Done;
        if tally.failed + tally.stopped > 0 || (tally.skipped > 0 && !self.exit_zero_on_skipped) {
            ending = Ending::TestsFailed;
        }
        if let (Some(threshold), Some(coverage)) = (self.threshold, coverage) {
            let covered = coverage.total().percent();
            if covered < threshold {
                complain(&format!(
                    "{covered:.2} % of the lines are covered, less than the {threshold} % of `--threshold`"
                ));
                ending = Ending::TestsFailed;
            }
        }
        ending
    }

    /// Without any rules; a suite of cases looks like data.
    fn no_rules(&self) -> TestError {
        let is_yaml =
            |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        match self.paths.iter().find(is_yaml) {
            Some(path) => TestError::Suite(path.clone()),
            None => TestError::NoRules(paths(&self.paths)),
        }
    }
}

fn paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", Path::display(path))).collect();
    paths.join(", ")
}

/// Why no test was run.
#[derive(Debug, thiserror::Error)]
pub(super) enum TestError {
    /// A file can't be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The rules don't compile.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// There are only other files.
    #[error("there are no rules (.rego) in {0}")]
    NoRules(String),
    /// There are only YAML files.
    #[error("`{}` is no file of rules, and suites of tests in YAML are not run yet; name the .rego files too", _0.display())]
    Suite(PathBuf),
    /// No rule is a test.
    #[error("there are no tests in {0}: a test is a rule whose name begins with `test_`")]
    NoTests(String),
    /// `--run` names none.
    #[error("`--run {pattern}` matches none of the {tests} tests; `-v` without it lists their names")]
    NoneChosen {
        /// The regular expression.
        pattern: String,
        /// How many there are.
        tests: usize,
    },
    /// The results can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}
