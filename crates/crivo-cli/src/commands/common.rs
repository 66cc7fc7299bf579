//! `crivo common`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints the lines of A that are also in B
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CommonArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo common
";

impl CommonArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
