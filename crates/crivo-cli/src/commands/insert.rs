//! `crivo insert`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Adds keys to a filter file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InsertArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo insert
";

impl InsertArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
