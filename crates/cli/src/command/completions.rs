//! `completions`: what a shell needs to complete the command's words.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Ending};

const AFTER_HELP: &str = "\
Exit codes:
  0  the script was written
  1  there is no such shell, or the script can't be written

Examples:
  image-admission completions bash > ~/.local/share/bash-completion/completions/image-admission
  image-admission completions zsh > ~/.zfunc/_image-admission
  image-admission completions fish > ~/.config/fish/completions/image-admission.fish";

/// Write the completions for a shell
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Writes the script to `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, io::Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "image-admission", &mut script);
        output.write_all(&script)?;
        output.flush()?;
        Ok(Ending::Done)
    }
}
