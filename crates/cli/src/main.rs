//! `image-admission`: the policy on the command line.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
