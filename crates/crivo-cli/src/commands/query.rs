//! `crivo query`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints the records that may be in a filter, or those that are certainly not
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueryArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo query
";

impl QueryArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
