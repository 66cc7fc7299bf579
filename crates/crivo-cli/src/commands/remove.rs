//! `crivo remove`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Removes keys from a filter file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RemoveArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo remove
";

impl RemoveArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
