//! `crivo completions`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo completions
";

impl CompletionsArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
