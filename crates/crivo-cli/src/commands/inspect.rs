//! `crivo inspect`.

use clap::Args;

use crate::outcome::{Error, Outcome};

/// Shows what a filter file holds, and how full it is
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {}

const EXAMPLES: &str = "\
Examples:
  crivo inspect
";

impl InspectArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        Err(Error::new("not yet"))
    }
}
