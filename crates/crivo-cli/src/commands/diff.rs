//! `crivo diff`: what is in one file and not in the other.

use clap::Args;

use super::compare::{CompareArgs, Wanted};
use crate::outcome::{Error, Outcome};

/// Prints the records of A that are not in B
///
/// Records are printed as they are, in the order of A, as often as they are in it. The answer is
/// exact; neither file need be sorted or fit into memory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    compare: CompareArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo diff all.txt done.txt                  what is still to be done
  crivo diff --csv --column email users.csv unsubscribed.csv
  find . -type f | crivo diff - backed-up.txt  files that have no backup
";

impl DiffArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        self.compare.run(Wanted::OnlyInA)
    }
}
