//! `crivo query`: which records may be in a filter?

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::Digest;
use crivo::filter::{AnyFilter, Filter};
use serde::Serialize;

use super::records::Printer;
use crate::input::{Chunk, InputArgs, Pieces, in_parallel};
use crate::mapped;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::secret::KeyFileArgs;

/// Prints the records that may be in a filter, or those that are certainly not
///
/// Records are printed as they are, in the order of the input. The exit status is 0 if there was
/// one to print, 1 if there was none.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueryArgs {
    /// The filter
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    filter: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    /// Print the records that are certainly not in the filter
    #[arg(short = 'v', long)]
    absent: bool,

    /// Print only how many records there are
    #[arg(short, long)]
    count: bool,

    /// Print nothing, and stop at the first record that would be: the exit status tells. What
    /// comes behind it is not looked at, be it there or not
    #[arg(short, long, conflicts_with = "count")]
    quiet: bool,

    /// With --count: print an object in JSON
    #[arg(long, requires = "count")]
    json: bool,

    /// Answer from the file at once, without reading it first to verify its checksum. Nobody may
    /// overwrite the file meanwhile; replacing it, as crivo does, is no harm
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    key_file: KeyFileArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo query seen.crivo urls.txt              lines that may be in the filter
  crivo query -v seen.crivo urls.txt.gz        lines that are certainly not
  crivo query -c seen.crivo < urls.txt         how many may be
  crivo query --csv --column email leaked.crivo users.csv
  crivo query -q seen.crivo - <<< \"$url\" && echo \"seen before, probably\"
";

/// With `--count --json`.
#[derive(Serialize)]
struct Counts {
    records: u64,
    may_be_present: u64,
    certainly_absent: u64,
}

/// What is found out about a chunk.
#[derive(Default)]
struct Answers {
    digests: Vec<Digest>,
    records: Vec<Range<usize>>,
    hits: Vec<bool>,
    /// How many records are to be printed.
    count: u64,
    kept: Pieces,
}

impl Answers {
    fn find(&mut self, chunk: &Chunk, filter: &AnyFilter, wanted: bool, prints: bool) {
        let hasher = filter.hasher();
        let Self { digests, records, hits, count, kept } = self;
        digests.clear();
        records.clear();
        kept.clear();
        if prints {
            chunk.each(|record, key| {
                records.push(record);
                digests.push(hasher.digest(key));
            });
        } else {
            chunk.each(|_, key| digests.push(hasher.digest(key)));
        }
        hits.clear();
        hits.resize(digests.len(), false);
        filter.contains_batch(digests, hits);
        *count = hits.iter().map(|hit| u64::from(*hit == wanted)).sum();
        for (record, hit) in records.iter().zip(&*hits) {
            if *hit == wanted {
                kept.push(record.clone());
            }
        }
    }
}

impl QueryArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let filter = self.open()?;
        let prints = !self.count && !self.quiet;
        let wanted = !self.absent;
        let chunks = match (prints, self.quiet) {
            (true, _) => self.input.chunks_to_print()?,
            // Whatever comes behind the first hit is not looked at.
            (false, true) => self.input.chunks_in_turn()?,
            (false, false) => self.input.chunks()?,
        };
        let mut printer = Printer::new();
        let (mut records, mut count) = (0, 0);
        in_parallel(
            chunks,
            move |chunk, answers: &mut Answers| answers.find(chunk, &filter, wanted, prints),
            |chunk, answers| {
                records += answers.digests.len() as u64;
                count += answers.count;
                if prints {
                    printer.print(chunk, &answers.kept)?;
                }
                Ok(match self.quiet && count > 0 {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            },
        )?;
        if self.json {
            drop(printer);
            let (may_be_present, certainly_absent) = match wanted {
                true => (count, records - count),
                false => (records - count, count),
            };
            output::print_json(&Counts { records, may_be_present, certainly_absent })?;
        } else if self.count {
            printer.write(format!("{count}\n").as_bytes())?;
            printer.flush()?;
        }
        Ok(if count > 0 { Outcome::Done } else { Outcome::Nothing })
    }

    fn open(&self) -> Result<AnyFilter, Error> {
        let open = self.key_file.open()?;
        Ok(match self.no_verify {
            true => mapped::map(&open, &self.filter)?,
            false => open.load(&self.filter)?,
        })
    }
}
