//! `crivo build`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Builds a filter from keys
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo build
";

impl BuildArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
