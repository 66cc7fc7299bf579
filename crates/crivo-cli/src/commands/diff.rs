//! `crivo diff`: the records of one file that are not in another.

use clap::Args;

use super::compare::{CompareArgs, Selection};
use crate::error::Error;
use crate::status::Status;

/// Prints the records of A that are not in B
///
/// Records are printed unchanged, in the order of A, with their repetitions. The answer is exact;
/// neither file need be sorted or fit into memory.
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
    pub(crate) fn run(self) -> Result<Status, Error> {
        self.compare.run(Selection::OnlyInA)
    }
}
