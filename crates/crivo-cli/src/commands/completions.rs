//! `crivo completions`: the shell completes arguments.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::outcome::{Error, Outcome};
use crate::output;

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
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "crivo", &mut script);
        let mut out = output::data();
        out.write_all(&script).and_then(|()| out.flush()).map_err(Error::output)?;
        Ok(Outcome::Done)
    }
}
