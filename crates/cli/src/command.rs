//! The commands, and what they have in common: their arguments, how they fail, and with which exit code they end.

mod bench;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Decide Kubernetes requests by the images that they would run, as the policy does in a cluster
#[derive(Debug, Parser)]
#[command(name = "image-admission", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Bench(bench::Bench),
}

/// How a command ends that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Every request is allowed.
    Allowed,
    /// At least one request is denied.
    Denied,
    /// The settings are not valid, so that nothing was decided.
    InvalidSettings,
    /// Something went wrong, and what it was has been said.
    Failed,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Allowed => Self::SUCCESS,
            Ending::Failed => Self::FAILURE,
            Ending::Denied => Self::from(2),
            Ending::InvalidSettings => Self::from(3),
        }
    }
}

/// Reads the arguments, does what they ask, and says on the standard error stream what went wrong.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(other) => {
            // Help and version are asked for, and are no error.
            let ending = if other.use_stderr() { Ending::Failed } else { Ending::Allowed };
            // Nothing is left to be told to someone who doesn't listen.
            let _ = other.print();
            return ending.into();
        }
    };
    let ended = match cli.command {
        Command::Run(run) => run.execute(&mut io::stdout()),
        Command::Bench(bench) => bench.execute(&mut io::stdout()).or_else(|error| {
            complain(&error.to_string());
            Ok(Ending::Failed)
        }),
    };
    ended
        .unwrap_or_else(|error| {
            if !error.is_nobody_listening() {
                complain(&error.to_string());
            }
            Ending::Failed
        })
        .into()
}

/// Writes an error to the standard error stream.
fn complain(problem: &str) {
    let _ = writeln!(io::stderr(), "error: {}", run::printable(problem));
}
