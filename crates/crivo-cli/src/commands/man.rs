//! `crivo man`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints the manual pages
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo man
";

impl ManArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
