//! `crivo dedup`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Prints every record once, and drops those seen before
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DedupArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo dedup
";

impl DedupArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
