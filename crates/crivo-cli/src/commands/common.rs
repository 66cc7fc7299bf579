//! `crivo common`: the records that two files have in common.

use clap::Args;

use super::compare::{CompareArgs, Selection};
use crate::error::Error;
use crate::status::Status;

/// Prints the records of A that are also in B
///
/// Records are printed unchanged, in the order of A, with their repetitions. The answer is exact;
/// neither file need be sorted or fit into memory.
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
";

impl CommonArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        self.compare.run(Selection::InBoth)
    }
}
