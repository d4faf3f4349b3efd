//! The commands, and what they have in common: their arguments, how they fail, and with which exit code they end.

#[cfg(feature = "live")]
mod attach;
#[cfg(not(target_family = "wasm"))]
mod audit;
#[cfg(not(target_family = "wasm"))]
mod bench;
#[cfg(feature = "live")]
mod companion;
#[cfg(not(target_family = "wasm"))]
mod completions;
mod decision;
mod diff;
#[cfg(not(target_family = "wasm"))]
mod digests;
#[cfg(not(target_family = "wasm"))]
mod doctor;
mod eval;
#[cfg(feature = "live")]
mod evidence;
#[cfg(not(target_family = "wasm"))]
mod exempt;
mod explain;
mod files;
#[cfg(not(target_family = "wasm"))]
mod init;
mod kept;
mod lint;
#[cfg(not(target_family = "wasm"))]
mod man;
mod output;
mod parallel;
mod policy;
mod progress;
mod rego;
mod report_files;
mod run;
#[cfg(feature = "live")]
mod scan;
mod terminal;
mod test;
mod unanswered;

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use terminal::{StandardOutput, errors};
use unanswered::nobody_answers;

const AFTER_HELP: &str = "\
What the policy decides, its module decides here too: `policy.wasm` in the working directory, or what `--module` or the
variable IMAGE_ADMISSION_MODULE names. It is among the files of each release.

Exit codes:
  0  what was asked for is done, and nothing is wrong with what was looked at
  1  something went wrong: the error says what
  2  a request is denied, a test fails, or lint, doctor or digests has something to remark
  3  the settings are not valid

Examples:
  image-admission run pod.yaml --settings settings.yaml --live
  image-admission lint settings.yaml
  image-admission test policies/
  image-admission help run";

/// Decide Kubernetes requests by the images that they would run, as the policy does in a cluster
#[derive(Debug, Parser)]
#[command(name = "image-admission", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    // In a browser there is no folder to write to, and nobody applies anything.
    #[cfg(not(target_family = "wasm"))]
    Init(Box<init::Init>),
    Run(Box<run::Run>),
    Explain(Box<explain::Explain>),
    // Nobody runs anything in a browser, whose answers there would be to look through.
    #[cfg(not(target_family = "wasm"))]
    Audit(Box<audit::Audit>),
    #[cfg(not(target_family = "wasm"))]
    Doctor(Box<doctor::Doctor>),
    Eval(Box<eval::Eval>),
    Test(test::Test),
    Lint(lint::Lint),
    // Nor are there files to write anew, a module to measure, or a shell that completes.
    #[cfg(not(target_family = "wasm"))]
    Exempt(Box<exempt::Exempt>),
    #[cfg(not(target_family = "wasm"))]
    Digests(digests::Digests),
    // Only a real registry has something to read, and takes something.
    #[cfg(feature = "live")]
    Attach(attach::Attach),
    #[cfg(feature = "live")]
    Evidence(evidence::Evidence),
    // These ask a real cluster for scans.
    #[cfg(feature = "live")]
    Companion(companion::Companion),
    #[cfg(feature = "live")]
    Scan(scan::Scan),
    #[cfg(not(target_family = "wasm"))]
    Bench(Box<bench::Bench>),
    #[cfg(not(target_family = "wasm"))]
    Completions(completions::Completions),
    #[cfg(not(target_family = "wasm"))]
    Man(man::Man),
    /// Say which version this is
    #[command(
        after_help = "Exit codes:\n  0  it was written\n  1  it can't be\n\nExamples:\n  image-admission version"
    )]
    Version,
}

/// How a command ends that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It is done, and nothing more can be said.
    Done,
    /// Every request is allowed.
    Allowed,
    /// At least one request is denied.
    Denied,
    /// Not every test passes.
    TestsFailed,
    /// There is something to remark.
    Remarked,
    /// The settings are not valid, so that nothing was decided.
    InvalidSettings,
    /// Something went wrong, and what it was has been said.
    Failed,
}

impl Ending {
    fn code(self) -> u8 {
        match self {
            Self::Done | Self::Allowed => 0,
            Self::Failed => 1,
            Self::Denied | Self::TestsFailed | Self::Remarked => 2,
            Self::InvalidSettings => 3,
        }
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        Self::from(ending.code())
    }
}

/// Reads the arguments, does what they ask, and says on the standard error stream what went wrong.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(other) => {
            // Help and version are asked for, and are no error.
            let ending = if other.use_stderr() { Ending::Failed } else { Ending::Done };
            // Nothing is left to be told to someone who doesn't listen.
            let _ = other.print();
            return ending.into();
        }
    };
    perform(cli, &mut io::stdout()).into()
}

/// Does what `arguments` ask, as [`main`] does: the first of them is the command's own name.
#[cfg(target_family = "wasm")]
pub fn execute(arguments: impl IntoIterator<Item = String>) -> Outcome {
    let mut output = Vec::new();
    let ending = match Cli::try_parse_from(arguments) {
        Ok(cli) => perform(cli, &mut output),
        Err(other) if other.use_stderr() => {
            let _ = write!(errors(), "{other}");
            Ending::Failed
        }
        Err(help) => {
            output = help.to_string().into_bytes();
            Ending::Done
        }
    };
    Outcome { code: ending.code(), output, errors: terminal::take_errors() }
}

/// What a command said, and how it ended.
#[cfg(target_family = "wasm")]
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code.
    pub code: u8,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error stream.
    pub errors: Vec<u8>,
}

fn perform(cli: Cli, output: &mut impl StandardOutput) -> Ending {
    let ended = match cli.command {
        #[cfg(not(target_family = "wasm"))]
        Command::Init(init) => init.execute(output).map_err(Box::from),
        Command::Run(run) => run.execute(output).map_err(Box::from),
        Command::Explain(explain) => explain.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Audit(audit) => audit.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Doctor(doctor) => doctor.execute(output).map_err(Box::from),
        Command::Eval(eval) => eval.execute(output).map_err(Box::from),
        Command::Test(test) => test.execute(output).map_err(Box::from),
        Command::Lint(lint) => lint.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Exempt(exempt) => exempt.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Digests(digests) => digests.execute(output).map_err(Box::from),
        #[cfg(feature = "live")]
        Command::Attach(attach) => attach.execute(output).map_err(Box::from),
        #[cfg(feature = "live")]
        Command::Evidence(evidence) => evidence.execute(output).map_err(Box::from),
        #[cfg(feature = "live")]
        Command::Companion(companion) => companion.execute().map_err(Box::from),
        #[cfg(feature = "live")]
        Command::Scan(scan) => scan.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Bench(bench) => bench.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Completions(completions) => completions.execute(output).map_err(Box::from),
        #[cfg(not(target_family = "wasm"))]
        Command::Man(man) => man.execute(output).map_err(Box::from),
        Command::Version => {
            let said = writeln!(output, "image-admission {}", env!("CARGO_PKG_VERSION"));
            said.map(|()| Ending::Done).map_err(Box::from)
        }
    };
    ended.unwrap_or_else(|error: Box<dyn Error>| {
        if !is_nobody_listening(&*error) {
            complain(&error.to_string());
        }
        Ending::Failed
    })
}

/// Whether the reader of the output has gone, as `head` does.
fn is_nobody_listening(error: &(dyn Error + 'static)) -> bool {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == ErrorKind::BrokenPipe))
}

/// The longest time that makes sense to wait.
const MAX_SECONDS: f64 = 3600.0;

/// Reads how long something may take.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=MAX_SECONDS).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("use a number of seconds up to {MAX_SECONDS}"))
}

/// That settings are not valid, and why: one problem a line.
fn invalid_settings(path: Option<&Path>, problems: &str) -> String {
    let name = path.unwrap_or(Path::new("{}")).display();
    let problems: Vec<String> = problems.lines().map(|problem| format!("  {problem}")).collect();
    format!("the settings `{name}` are not valid\n{}", problems.join("\n"))
}

/// Writes to the standard error stream what may explain an unexpected decision.
fn warn(remark: &str) {
    let _ = writeln!(errors(), "warning: {}", terminal::without_commands(&terminal::printable(remark)));
}

/// Writes an error to the standard error stream.
fn complain(problem: &str) {
    let _ = writeln!(errors(), "error: {}", terminal::without_commands(&terminal::printable(problem)));
}
