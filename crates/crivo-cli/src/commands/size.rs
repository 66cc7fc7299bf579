//! `crivo size`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Compares how much memory every kind of filter takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SizeArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo size
";

impl SizeArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
