//! `crivo common`: the records that two files have in common.

use clap::Args;

use super::compare::{CompareArgs, Selection};
use crate::error::Error;
use crate::status::Status;

/// Prints the records of A that are also in B
///
/// Records are printed unchanged, in the order of A, with their repetitions. The answer is exact;
/// no file need be sorted or fit into memory. How many there are is printed to standard error.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    compare: CompareArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo common passwords.txt leaked.txt.zst    passwords that must be changed
  crivo common --csv --column sku orders.csv stock.csv
  crivo common --approx today.log yesterday.log
  crivo common --count a.txt b.txt             how many they have in common
  crivo common --quiet mine.txt theirs.txt && echo \"they overlap\"

Exit status: 0 success; with --quiet 1 if there is nothing to print; 2 error.
";

impl CommonArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        self.compare.run(Selection::InBoth)
    }
}
