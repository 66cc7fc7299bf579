//! `crivo query`: the records that may be in a filter.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::Digest;
use crivo::filter::AnyFilter;
#[cfg(feature = "formats")]
use crivo_formats::{ForeignFilter, KeyType, TypedKey};
use serde::Serialize;

use super::records::Printer;
use crate::error::Error;
#[cfg(feature = "formats")]
use crate::foreign::{ForeignArgs, KeyTypeArgs};
use crate::input::{Chunk, InputArgs, Pieces, RecordedArgs, in_parallel};
use crate::mapped;
use crate::output;
#[cfg(feature = "formats")]
use crate::parquet::{AskedColumn, ParquetArgs};
use crate::secret::KeyFileArgs;
use crate::status::Status;

/// Prints the records that may be in a filter, or those that are certainly not
///
/// Records are printed unchanged, in the order of the input. Keys are taken from them as the file of
/// the filter records it. The exit status is 0 if there are any, 1 if there are none.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueryArgs {
    /// The filter
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    filter: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    recorded: RecordedArgs,

    /// Print the records that are certainly not in the filter
    #[arg(short = 'v', long)]
    absent: bool,

    /// Print only the number of records
    #[arg(short, long)]
    count: bool,

    /// Print nothing and stop at the first record that would be printed; see the exit status. Later
    /// inputs are not opened and need not exist
    #[arg(short, long, conflicts_with = "count")]
    quiet: bool,

    /// With --count: print an object in JSON
    #[arg(long, requires = "count")]
    json: bool,

    /// Map the file into memory, without reading it first to verify its checksum. It must not be
    /// overwritten meanwhile; replacing it, as crivo does, is safe
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    key_file: KeyFileArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    foreign: ForeignArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    key_type: KeyTypeArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    parquet: ParquetArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo query seen.crivo urls.txt              lines that may be in the filter
  crivo query -v seen.crivo urls.txt.gz        lines that are certainly not
  crivo query -c seen.crivo < urls.txt         how many may be
  crivo query --csv --column email leaked.crivo users.csv
  crivo query --as-given users.crivo emails.txt   the filter is of a column, the input is lines
  crivo query --parquet-column id --row-groups a.parquet ids.txt
  crivo query -q seen.crivo - <<< \"$url\" && echo \"seen before, probably\"
";

/// With `--count --json`.
#[derive(Serialize)]
struct QueryCounts {
    records: u64,
    may_be_present: u64,
    certainly_absent: u64,
}

/// The answers for a chunk.
#[derive(Default)]
struct QueryAnswers {
    digests: Vec<Digest>,
    records: Vec<Range<usize>>,
    hits: Vec<bool>,
    /// The number of records to be printed.
    count: u64,
    kept: Pieces,
    /// With --row-groups: the records to be printed, each behind its row groups.
    #[cfg(feature = "formats")]
    labelled: Vec<u8>,
    /// Why a record is no key of the filter.
    error: Option<Error>,
}

/// What is asked.
enum Asked {
    Own(AnyFilter),
    #[cfg(feature = "formats")]
    Foreign {
        filter: Box<dyn ForeignFilter>,
        key_type: KeyType,
    },
    #[cfg(feature = "formats")]
    Parquet {
        column: AskedColumn,
        row_groups: bool,
    },
}

impl QueryAnswers {
    fn find(&mut self, chunk: &Chunk, asked: &Asked, prints_present: bool, prints: bool) {
        match asked {
            Asked::Own(filter) => self.ask(chunk, filter, prints),
            #[cfg(feature = "formats")]
            Asked::Foreign { filter, key_type } => {
                self.ask_typed(chunk, *key_type, prints, |_, key| {
                    filter.contains_key(key).map_err(Error::new)
                });
            }
            #[cfg(feature = "formats")]
            Asked::Parquet { column, row_groups } => {
                let mut labelled = std::mem::take(&mut self.labelled);
                labelled.clear();
                self.ask_typed(chunk, column.key_type, prints, |record, key| {
                    if !row_groups {
                        return column.may_contain(key);
                    }
                    let groups = column.row_groups(key)?;
                    if !groups.is_empty() {
                        labelled.extend(groups.as_bytes());
                        labelled.push(b'\t');
                        labelled.extend(&chunk.bytes()[record]);
                    }
                    Ok(!groups.is_empty())
                });
                self.labelled = labelled;
            }
        }
        let Self { records, hits, count, kept, .. } = self;
        kept.clear();
        *count = hits.iter().map(|hit| u64::from(*hit == prints_present)).sum();
        for (record, hit) in records.iter().zip(&*hits) {
            if *hit == prints_present {
                kept.push(record.clone());
            }
        }
    }

    fn ask(&mut self, chunk: &Chunk, filter: &AnyFilter, prints: bool) {
        let hasher = filter.hasher();
        let Self { digests, records, hits, .. } = self;
        digests.clear();
        records.clear();
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
    }

    /// Asks about the keys of a type that `contains` knows.
    #[cfg(feature = "formats")]
    fn ask_typed(
        &mut self,
        chunk: &Chunk,
        key_type: KeyType,
        prints: bool,
        mut contains: impl FnMut(Range<usize>, &TypedKey<'_>) -> Result<bool, Error>,
    ) {
        let Self { records, hits, error, .. } = self;
        records.clear();
        hits.clear();
        chunk.each(|record, key| {
            let hit = key_type.parse_key(key).map_err(Error::new);
            let hit = hit.and_then(|key| contains(record.clone(), &key));
            match hit {
                Ok(hit) => {
                    hits.push(hit);
                    if prints {
                        records.push(record);
                    }
                }
                Err(why) if error.is_none() => *error = Some(why),
                Err(_) => {}
            }
        });
    }
}

impl QueryArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let asked = self.open()?;
        let input = match &asked {
            Asked::Own(filter) => {
                self.input.with_recorded(filter.metadata(), &self.recorded, &self.filter)?
            }
            #[cfg(feature = "formats")]
            Asked::Foreign { .. } | Asked::Parquet { .. } => self.input.clone(),
        };
        let prints = !self.count && !self.quiet;
        let prints_present = !self.absent;
        let chunks = match (prints, self.quiet) {
            (true, _) => input.chunks_to_print()?,
            // Inputs after the first hit need not exist.
            (false, true) => input.chunks_in_turn()?,
            (false, false) => input.chunks()?,
        };
        let mut printer = Printer::new();
        let (mut records, mut count) = (0, 0);
        in_parallel(
            chunks,
            move |chunk, answers: &mut QueryAnswers| {
                answers.find(chunk, &asked, prints_present, prints);
            },
            |chunk, answers| {
                if let Some(error) = answers.error.take() {
                    return Err(error);
                }
                records += answers.hits.len() as u64;
                count += answers.count;
                #[cfg(feature = "formats")]
                if self.parquet.row_groups {
                    printer.write(&answers.labelled)?;
                    printer.flush()?;
                    return Ok(ControlFlow::Continue(()));
                }
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
            let (may_be_present, certainly_absent) = match prints_present {
                true => (count, records - count),
                false => (records - count, count),
            };
            output::print_json(&QueryCounts { records, may_be_present, certainly_absent })?;
        } else if self.count {
            printer.write(format!("{count}\n").as_bytes())?;
            printer.flush()?;
        }
        Ok(if count > 0 { Status::Success } else { Status::NothingFound })
    }

    fn open(&self) -> Result<Asked, Error> {
        #[cfg(feature = "formats")]
        {
            if let Some(column) = self.parquet.open(&self.filter, self.key_type.key_type)? {
                return Ok(Asked::Parquet { column, row_groups: self.parquet.row_groups });
            }
            if let Some(filter) = self.foreign.open(&self.filter)? {
                let key_type = self.key_type.require(filter.format())?;
                return Ok(Asked::Foreign { filter, key_type });
            }
            self.key_type.refuse()?;
        }
        let options = self.key_file.options()?;
        Ok(Asked::Own(match self.no_verify {
            true => mapped::map(&options, &self.filter)?,
            false => options.load(&self.filter)?,
        }))
    }
}
