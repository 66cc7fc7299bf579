//! `crivo diff`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints the lines of A that are not in B
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo diff
";

impl DiffArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
