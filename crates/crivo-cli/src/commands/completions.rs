//! `crivo completions`: completion scripts for shells.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::Error;
use crate::output;
use crate::status::Status;

/// Prints the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  crivo completions bash > ~/.local/share/bash-completion/completions/crivo
  crivo completions zsh > ~/.zfunc/_crivo
  crivo completions fish > ~/.config/fish/completions/crivo.fish
";

impl CompletionsArgs {
    pub(crate) fn run(self, mut cli: Command) -> Result<Status, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli, "crivo", &mut script);
        let mut out = output::data();
        out.write_all(&script).and_then(|()| out.flush()).map_err(Error::output)?;
        Ok(Status::Success)
    }
}
