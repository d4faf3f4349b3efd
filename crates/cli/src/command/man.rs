//! `man`: the command's pages for `man`.

use std::io::{self, Write};

use clap::{Args, CommandFactory};

use super::{Cli, Ending};

const AFTER_HELP: &str = "\
Exit codes:
  0  the page was written
  1  it can't be written

Examples:
  image-admission man > ~/.local/share/man/man1/image-admission.1
  image-admission man lint > ~/.local/share/man/man1/image-admission-lint.1";

/// Write the manual page of this command, or of one of its commands
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Man {
    /// Which command, instead of all
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl Man {
    /// Writes the page to `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, io::Error> {
        let mut command = Cli::command();
        command.build();
        if let Some(name) = &self.command {
            let unknown = || io::Error::other(format!("there is no command `{name}`"));
            command = command.find_subcommand(name).cloned().ok_or_else(unknown)?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        output.write_all(&page)?;
        output.flush()?;
        Ok(Ending::Done)
    }
}
