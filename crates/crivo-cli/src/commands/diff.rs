//! `crivo diff`: the records of one file that are not in another.

use clap::Args;

use super::compare::{CompareArgs, Selection};
use crate::error::Error;
use crate::status::Status;

/// Prints the records of A that are not in B
///
/// Records are printed unchanged, in the order of A, with their repetitions. The answer is exact;
/// no file need be sorted or fit into memory. How many there are is printed to standard error.
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
  crivo diff all.txt done-1.txt done-2.txt     what is in neither
  crivo diff --csv --column customer --column-b id orders.csv customers.csv

Exit status: 0 success; with --quiet 1 if there is nothing to print; 2 error.
";

impl DiffArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        self.compare.run(Selection::OnlyInA)
    }
}
