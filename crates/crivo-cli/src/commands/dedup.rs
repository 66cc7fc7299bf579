//! `crivo dedup`: every record once, in the order of the input.
//!
//! Digests are made on all cores; whether a record has come before is asked of one set, in order.
//! There are two of them: [`exact`], which goes to disk when memory ends, and [`approximate`], a
//! filter of a few bits per record that drops a few records wrongly, and says how many.

mod approximate;
mod exact;

use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use super::records::Hashed;
use crate::human::{count, counted, parse_bytes, parse_count, parse_rate};
use crate::input::{Chunk, Chunks, InputArgs, in_parallel};
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::spill::RecordHasher;

/// Prints every record once, dropping those that have come before
///
/// Records are printed as they are, at their first occurrence. The answer is exact: records are
/// remembered by 128 bits of hash in about 20 bytes each, on disk (TMPDIR) beyond --memory. With
/// --rate they are remembered by a filter in a few bits each, and some that are new are dropped.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DedupArgs {
    #[command(flatten)]
    input: InputArgs,

    /// How much memory the digests may take; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = parse_bytes)]
    #[arg(conflicts_with = "rate", allow_negative_numbers = true)]
    memory: u64,

    /// Drop at most this part of new records wrongly, and take a few bits for each
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_negative_numbers = true)]
    rate: Option<f64>,

    /// With --rate: the filter is for this many different records, and never grows
    #[arg(long, value_name = "N", value_parser = parse_count, requires = "rate")]
    #[arg(allow_negative_numbers = true)]
    keys: Option<u64>,

    /// Do not say how many records were dropped
    #[arg(short, long)]
    quiet: bool,

    /// Say how many records were dropped in JSON, on standard error
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo dedup access.log > once.log            every line once
  crivo dedup --field 7 -d ' ' access.log      the first line of each address
  crivo dedup --memory 4GB huge.txt.zst        more memory, less work on disk
  tail -f urls | crivo dedup --rate 0.001      for ever, in little memory
  crivo dedup --rate 1e-6 --keys 100M big.txt  constant memory
";

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Summary {
    /// How many records there were.
    records: u64,
    /// How many of them were not printed.
    dropped: u64,
    /// How many of those are to be expected to have been new.
    expected_wrongly_dropped: f64,
}

impl DedupArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let summary = match self.rate {
            None => exact::dedup(&self.input, self.memory)?,
            Some(rate) => approximate::dedup(&self.input, rate, self.keys)?,
        };
        if self.json {
            // A struct of three numbers can always be written.
            output::say(serde_json::to_string(&summary).unwrap_or_default());
        } else if !self.quiet {
            let Summary { records, dropped, expected_wrongly_dropped: wrongly } = summary;
            let about = match self.rate {
                None => String::new(),
                Some(_) if wrongly < 10.0 => format!("; about {wrongly:.2} of them wrongly"),
                Some(_) => {
                    format!("; about {} of them wrongly", count(wrongly.round() as u64))
                }
            };
            let dropped = counted(dropped, "record");
            output::say(format_args!("crivo: {dropped} dropped of {}{about}", count(records)));
        }
        Ok(Outcome::Done)
    }
}

/// Hashes all records, and calls `sift` with each chunk in order.
fn sift_chunks(
    chunks: Chunks,
    mut sift: impl FnMut(&Chunk, &Hashed) -> Result<(), Error>,
) -> Result<(), Error> {
    let hasher = RecordHasher::new();
    in_parallel(
        chunks,
        move |chunk, hashed: &mut Hashed| hashed.hash(chunk, hasher),
        |chunk, hashed| sift(chunk, hashed).map(ControlFlow::Continue),
    )
}
