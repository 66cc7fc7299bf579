//! `crivo merge`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Merges filters into one that holds the keys of all
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo merge
";

impl MergeArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
