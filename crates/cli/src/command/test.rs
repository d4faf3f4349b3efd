//! `test`: runs the tests that rules have of their own, as users of `opa test` know it, and suites of cases that the
//! policy itself decides.

mod cases;
mod coverage;
mod identity;
mod outcome;
mod paths;
mod report;
mod rules;
mod suite;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::mem;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use image_admission_module_host::answers::files::Files;
use image_admission_module_host::answers::{Gate, Grants};
use image_admission_module_host::runtime::{DEFAULT_DEADLINE, PolicyModule};
use regex::Regex;

use super::files::{FilesError, recursive};
use super::parallel::in_parallel;
use super::policy::{ModuleError, ModuleOption, Policy, PolicyError};
use super::progress::Progress;
use super::rego::{Problems, Program, SourceError, Sources, VersionOptions};
use super::terminal::StandardOutput;
use super::terminal::{Paint, in_one_line, without_commands};
use super::{Ending, complain, invalid_settings, seconds, warn};
use coverage::Coverage;
use paths::Found;
use report::{Complaint, Report, Tally};
use rules::Test as RuleTest;
use suite::{Case, InvalidSuites, Ran, Suite};
use watch::{Stamp, Watched};

const AFTER_HELP: &str = "\
Tests are rules whose names begin with `test_`, in any package. One passes when it is `true`, fails when it is false or
undefined, and is skipped when its name begins with `todo_test_`. One of several cases, `test_x[name] if { … }`, passes
when it is `true` for each name. Of a folder, everything in and below it is read: rules,
and data as `opa` has it (`limits/data.yaml` is found in `data.limits`); hidden files and Kubernetes objects are not.

A YAML file whose name ends with `_test.yaml` is a suite: cases, each with an object, and what the policy is expected to
say of it. The policy's module decides them, as in a cluster. A suite's files are no data for rules. docs/testing.md has
all keys.

Exit codes:
  0  every test passes
  1  something went wrong, or there is no test: the error says what
  2  a test fails, was stopped or was skipped, or too few lines are covered

Examples:
  image-admission test policies/
  image-admission test -o junit examples/demo/demo_test.yaml
  image-admission test -v --run 'image_safety' image-safety.rego image-safety_test.rego
  image-admission test --threshold 80 policies/";

/// Run the tests of Rego rules, and suites of cases for the whole policy
///
/// Rules, tests and data are evaluated with the engine and the functions that the policy has in a cluster, and cases are
/// decided by its module.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive())]
pub(super) struct Test {
    /// Files and folders with rules and tests (.rego), data (.json, .yaml) and suites (*_test.yaml)
    #[arg(value_name = "PATH", required_unless_present = "file")]
    paths: Vec<PathBuf>,

    /// The same. May be repeated
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// Tell of every test, how long it took, and what it printed or logged
    #[arg(short, long)]
    verbose: bool,

    /// Run only the tests whose names match, such as `data.kubernetes.test_admission.test_image_safety`; of a case its own
    /// name
    #[arg(short, long, value_name = "REGEX", value_parser = Regex::new)]
    run: Option<Regex>,

    /// Run them again whenever a file changes that they are made of, until it is interrupted
    // In a browser no file changes while a command runs.
    #[cfg_attr(target_family = "wasm", arg(skip))]
    #[cfg_attr(not(target_family = "wasm"), arg(short, long))]
    watch: bool,

    /// Tell which lines were evaluated
    // The page doesn't show it.
    #[cfg_attr(target_family = "wasm", arg(skip))]
    #[cfg_attr(not(target_family = "wasm"), arg(short, long))]
    coverage: bool,

    /// Fail when a smaller share of the lines is evaluated
    #[cfg_attr(target_family = "wasm", arg(skip))]
    #[cfg_attr(not(target_family = "wasm"), arg(long, value_name = "PERCENT", value_parser = percent))]
    threshold: Option<f64>,

    /// How to write the results, or with --coverage the lines
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Format,

    /// How long each test may take [default: 5 for a rule, 2 for a case, as in the policy server]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Skipped tests are no failure
    #[arg(short = 'z', long)]
    exit_zero_on_skipped: bool,

    #[command(flatten)]
    version: VersionOptions,

    #[command(flatten, next_help_heading = "Options for suites")]
    module: ModuleOption,

    /// How many cases are decided at once [default: as many as there are processors]
    #[arg(short, long, value_name = "NUMBER")]
    jobs: Option<NonZeroUsize>,
}

/// The policy's module, from a version of its file.
struct Compiled {
    stamp: Stamp,
    module: Arc<PolicyModule>,
}

/// How long a rule may take that is a test.
const RULE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[value(alias = "pretty")]
    Text,
    /// For programs
    Json,
    /// The same as YAML
    Yaml,
    /// For code scanning: SARIF 2.1.0
    Sarif,
    /// For people, with annotations for GitHub's workflows
    Github,
    /// For CI systems: JUnit's XML
    Junit,
}

#[cfg(not(target_family = "wasm"))]
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| "use a number from 0 to 100".to_owned())
}

impl Test {
    /// Runs the tests, and writes the results to `output`. With `--watch`, again after each change, until it is interrupted.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, TestError> {
        let mut module = None;
        if cfg!(target_family = "wasm") || !self.watch {
            return self.once(output, &mut module, &mut |_| {});
        }
        if self.output != Format::Text {
            return Err(TestError::WatchedByProgram);
        }
        let mut named = BTreeSet::new();
        loop {
            let mut watched = Watched::default();
            watched.add(self.given().into_iter().chain([self.module.path().to_owned()]));
            // Where suites can't be read, they may still name what they named before.
            watched.add(mem::take(&mut named));
            match self.once(output, &mut module, &mut |files| named = files) {
                Err(error @ TestError::Output(_)) => return Err(error),
                Err(error) => complain(&error.to_string()),
                Ok(_) => {}
            }
            watched.add(named.clone());
            writeln!(output, "\nwaiting for a change; interrupt to end")?;
            output.flush()?;
            let changed = watched.wait();
            writeln!(output, "{}\n", without_commands(&in_one_line(&format!("{} changed", changed.display()))))?;
        }
    }

    /// Whether the lines are counted that tests reach.
    fn counts_lines(&self) -> bool {
        !cfg!(target_family = "wasm") && (self.coverage || self.threshold.is_some())
    }

    /// All files and folders that were named.
    fn given(&self) -> Vec<PathBuf> {
        self.paths.iter().chain(&self.file).cloned().collect()
    }

    /// Runs the tests once. `naming` is told what suites name, before anything is decided.
    fn once(
        &self,
        output: &mut impl StandardOutput,
        module: &mut Option<Compiled>,
        naming: &mut dyn FnMut(BTreeSet<PathBuf>),
    ) -> Result<Ending, TestError> {
        let found = Found::at(&self.given())?;
        let suites = suites(&found, naming)?;
        let remarks: BTreeSet<String> = suites.iter().flat_map(Suite::remarks).collect();
        remarks.iter().for_each(|remark| warn(remark));
        // A suite's files may be of any kind; where there are no rules, they are nobody's data.
        let has_rules = suites.is_empty() || found.has_others;
        let mut rules = match has_rules.then(|| self.rules(&suites)) {
            // The other files of the folder belong to nothing here.
            Some(Err(TestError::NoRules(_))) if !suites.is_empty() => None,
            rules => rules.transpose()?,
        };
        if rules.is_none() && self.counts_lines() {
            return Err(TestError::NothingToCover(paths(&self.given())));
        }
        let rule_tests = rules.as_mut().map(|program| rules::tests(&program.modules())).unwrap_or_default();
        let all = rule_tests.len() + suites.iter().map(|suite| suite.cases.len()).sum::<usize>();
        if all == 0 {
            return Err(TestError::NoTests(paths(&self.given())));
        }
        let is_chosen = |name: &str| self.run.as_ref().is_none_or(|run| run.is_match(name));
        let chosen: Vec<RuleTest> =
            rule_tests.into_iter().filter(|test| is_chosen(&test.identity.full_name())).collect();
        let cases: Vec<(&Suite, &Case)> = suites
            .iter()
            .flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)))
            .filter(|(_, case)| is_chosen(&case.identity.name))
            .collect();
        if let (true, Some(run)) = (chosen.is_empty() && cases.is_empty(), &self.run) {
            return Err(TestError::NoneChosen { pattern: run.to_string(), tests: all });
        }
        // Before anything is told, so that what can't be run is found first.
        let ran = self.decide(&cases, module)?;

        let mut coverage = None;
        let mut tally = Tally::default();
        let mut report = Report::new(self.output, self.verbose, self.coverage, Paint::for_output(output));
        if let Some(mut program) = rules {
            coverage = self.counts_lines().then(|| Coverage::of(&program.modules()));
            for test in chosen {
                let result = test.run(&program, coverage.as_mut());
                tally.count(&result.verdict);
                report.add(output, test.identity, result)?;
            }
        }
        let mut complaints = Vec::new();
        if cases.len() == suites.iter().map(|suite| suite.cases.len()).sum::<usize>() {
            complaints = unused(&suites, &cases, &ran);
        }
        for ((_, case), ran) in cases.iter().zip(ran) {
            tally.count(&ran.outcome.verdict);
            report.add(output, case.identity.clone(), ran.outcome)?;
        }
        let has_complaints = !complaints.is_empty();
        for complaint in complaints {
            complain(&format!("the suite `{}`: {}", complaint.suite, complaint.problem));
            report.complain(output, complaint)?;
        }
        report.finish(output, &tally, coverage.as_ref())?;
        output.flush()?;
        Ok(match self.ending(&tally, coverage.as_ref()) {
            Ending::Done if has_complaints => Ending::Failed,
            ending => ending,
        })
    }

    /// The rules that are to be tested. What belongs to suites is no data for them.
    fn rules(&self, suites: &[Suite]) -> Result<Program, TestError> {
        let version = self.version.version();
        let others: BTreeSet<PathBuf> = suites.iter().flat_map(|suite| &suite.files).cloned().collect();
        let sources = Sources::load(&self.given(), version, others)?;
        if sources.modules.is_empty() {
            return Err(self.no_rules());
        }
        let timeout = self.timeout.unwrap_or(RULE_TIMEOUT);
        Ok(Program::new(sources.modules, sources.data, version, timeout)?)
    }

    /// Lets the policy decide the cases. It is compiled once, and asked once about settings that are the same.
    fn decide(&self, cases: &[(&Suite, &Case)], compiled: &mut Option<Compiled>) -> Result<Vec<Ran>, TestError> {
        if cases.is_empty() {
            return Ok(Vec::new());
        }
        let progress = Progress::of(cases.len(), "cases");
        let module = self.module(compiled, &progress)?;
        let mut policies: BTreeMap<&str, Result<Policy, String>> = BTreeMap::new();
        for &(suite, case) in cases {
            let json = case.settings.json.get();
            if !policies.contains_key(json) {
                policies.insert(json, self.policy(&module, case)?);
            }
            if let (Some(Err(problems)), false) = (policies.get(json), case.wants_refusal()) {
                return Err(TestError::Settings {
                    case: format!("{}:{}, {}", suite.name, case.identity.line, case.identity.name),
                    problems: invalid_settings(Some(Path::new(&case.settings.name)), problems),
                });
            }
        }
        let ready: Vec<_> = cases
            .iter()
            .filter_map(|(suite, case)| Some((*suite, *case, policies.get(case.settings.json.get())?)))
            .collect();
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = self.jobs.unwrap_or_else(processors);
        let ran = in_parallel(&ready, threads, |(suite, case, policy)| {
            let ran = suite.run(case, policy.as_ref().map_err(String::as_str));
            progress.step();
            ran
        });
        Ok(ran.map_err(TestError::Threads)?.into_iter().collect::<Result<Vec<_>, _>>()?)
    }

    /// The module, compiled again only if its file is another.
    fn module(
        &self,
        compiled: &mut Option<Compiled>,
        progress: &Progress<impl Write>,
    ) -> Result<Arc<PolicyModule>, TestError> {
        let stamp = watch::stamp(self.module.path());
        if let Some(compiled) = compiled.as_ref().filter(|compiled| compiled.stamp == stamp) {
            return Ok(Arc::clone(&compiled.module));
        }
        progress.begin("compiling the policy's module");
        let module = Arc::new(self.module.compile(self.timeout.unwrap_or(DEFAULT_DEADLINE))?);
        *compiled = Some(Compiled { stamp, module: Arc::clone(&module) });
        Ok(module)
    }

    /// The policy with a case's settings, or what is wrong with them.
    fn policy(&self, module: &Arc<PolicyModule>, case: &Case) -> Result<Result<Policy, String>, PolicyError> {
        let host = Arc::new(Gate::new(Grants::everything(), Arc::new(Files::default())));
        // What the policy logs when it is deployed belongs to no case.
        let silent = &mut |_: &_| {};
        match Policy::new(Arc::clone(module), self.module.path().to_owned(), case.settings.json.clone(), host, silent) {
            Ok(policy) => Ok(Ok(policy)),
            Err(PolicyError::InvalidSettings(problems)) => Ok(Err(problems)),
            Err(other) => Err(other),
        }
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

    /// Without any rules. Who names a YAML file may mean a suite.
    fn no_rules(&self) -> TestError {
        let is_yaml =
            |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        match self.given().into_iter().find(|path| is_yaml(path) && !paths::is_suite(path)) {
            Some(path) => TestError::NoSuite(path),
            None => TestError::NoRules(paths(&self.given())),
        }
    }
}

/// Reads all suites, and tells the problems of all that have some; `naming` is told the files of all of them.
fn suites(found: &Found, naming: &mut dyn FnMut(BTreeSet<PathBuf>)) -> Result<Vec<Suite>, InvalidSuites> {
    let mut suites = Vec::new();
    let mut invalid = Vec::new();
    let mut named = BTreeSet::new();
    for path in &found.suites {
        match Suite::read(path) {
            Ok(suite) => {
                named.extend(suite.files.iter().cloned());
                suites.push(suite);
            }
            Err(problems) => {
                named.extend(problems.files.iter().cloned());
                invalid.push(problems);
            }
        }
    }
    naming(named);
    if invalid.is_empty() { Ok(suites) } else { Err(InvalidSuites(invalid)) }
}

/// The answers of each suite that none of its cases asked for; every case must have run.
fn unused(suites: &[Suite], cases: &[(&Suite, &Case)], ran: &[Ran]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for suite in suites {
        let own = cases.iter().zip(ran).filter(|((of, _), _)| of.name == suite.name);
        let unused = suite.unused(own.map(|((_, case), ran)| (*case, ran)));
        if !unused.is_empty() {
            let problem =
                format!("no case asks for these; remove them, or add a case that does:\n  {}", unused.join("\n  "));
            complaints.push(Complaint { suite: suite.name.clone(), problem });
        }
    }
    complaints
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
    /// There is no such file or folder, or it can't be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The rules don't compile.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// There are only other files.
    #[error("there are no rules (.rego) in {0}")]
    NoRules(String),
    /// There are only YAML files, and by their names they are data.
    #[error(
        "`{}` is no suite by its name, which would end with `{}`, and there are no rules (.rego) that it could be data of",
        _0.display(), paths::SUITE_NAMES.first().copied().unwrap_or_default()
    )]
    NoSuite(PathBuf),
    /// Suites are wrong.
    #[error(transparent)]
    Suites(#[from] InvalidSuites),
    /// A case's settings are not valid.
    #[error("{case}: {problems}")]
    Settings {
        /// The case's whole name.
        case: String,
        /// Which settings, and what is wrong with them.
        problems: String,
    },
    /// A document that never ends can't be read.
    #[error("`--watch` is for people: it never comes to the end of a document; leave out `--output`, or `--watch`")]
    WatchedByProgram,
    /// The module can't be used.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The module didn't do its work.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Lines are counted of rules alone.
    #[error("there are no rules (.rego) in {0} whose lines could be covered; leave out `--coverage` and `--threshold`")]
    NothingToCover(String),
    /// No threads.
    #[error("cannot start a thread for the cases: {0}")]
    Threads(io::Error),
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
