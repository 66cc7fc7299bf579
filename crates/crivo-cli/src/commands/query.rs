//! `crivo query`: the records that may be in a filter.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::Digest;
use crivo::filter::{AnyFilter, Count};
#[cfg(feature = "formats")]
use crivo_formats::{ForeignFilter, KeyType, TypedKey};
use serde::Serialize;

use super::records::Printer;
use crate::describe::cannot_count;
use crate::error::Error;
use crate::filter_file::{FilterFile, check_standard_input};
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
    /// The filter; `-` is standard input
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

    /// Print how often each key was inserted and not removed, before its record: at most so often, and
    /// with a `+` at least. For filters whose keys can be removed
    #[arg(long, conflicts_with_all = ["absent", "count", "quiet"])]
    copies: bool,

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
  crivo query --copies words.crivo words.txt   how often each was inserted
  crivo query --csv --column email leaked.crivo users.csv
  crivo query --as-given users.crivo emails.txt   the filter is of a column, the input is lines
  crivo query --parquet-column id --row-groups a.parquet ids.txt
  crivo query -q seen.crivo - <<< \"$url\" && echo \"seen before, probably\"

Exit status: 0 if there are records to print, 1 if there are none, 2 error.
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
    /// With --copies, how often each key is in the filter.
    copies: Vec<Count>,
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

    fn count_copies(&mut self, filter: &AnyFilter) {
        self.copies.clear();
        let copies = |digest: &Digest| filter.count_digest(*digest).unwrap_or(Count::AtMost(0));
        self.copies.extend(self.digests.iter().map(copies));
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

/// Prints the records that may be in the filter behind their numbers of copies, as one more field.
fn print_copies(printer: &mut Printer, chunk: &Chunk, answers: &QueryAnswers) -> Result<(), Error> {
    let delimiter = chunk.delimiter();
    let (mark, names) = chunk.mark_and_header();
    printer.write(mark)?;
    if !names.is_empty() {
        printer.write(b"copies")?;
        printer.write(&[delimiter])?;
        printer.write(names)?;
    }
    let answered = answers.records.iter().zip(&answers.hits).zip(&answers.copies);
    for ((record, _), count) in answered.filter(|((_, hit), _)| **hit) {
        let number = match count {
            Count::AtMost(number) => number.to_string(),
            Count::AtLeast(number) => format!("{number}+"),
        };
        printer.write(number.as_bytes())?;
        printer.write(&[delimiter])?;
        printer.write(&chunk.bytes()[record.clone()])?;
    }
    printer.flush()
}

impl QueryArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        check_standard_input(&self.filter, &self.input)?;
        let asked = self.open()?;
        let input = match &asked {
            Asked::Own(filter) => {
                self.input.with_recorded(filter.metadata(), &self.recorded, &self.filter)?
            }
            #[cfg(feature = "formats")]
            _ if self.copies => return Err(Error::new("--copies is for crivo's own filters")),
            #[cfg(feature = "formats")]
            Asked::Foreign { .. } | Asked::Parquet { .. } => self.input.clone(),
        };
        let prints = !self.count && !self.quiet;
        let prints_present = !self.absent;
        let counts_copies = self.copies;
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
                if let (Asked::Own(filter), true) = (&asked, counts_copies) {
                    answers.count_copies(filter);
                }
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
                if self.copies {
                    print_copies(&mut printer, chunk, answers)?;
                } else if prints {
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
        }
        let file = FilterFile::open(&self.filter)?;
        #[cfg(feature = "formats")]
        {
            if let Some(filter) = self.foreign.open(&file)? {
                let key_type = self.key_type.require(filter.format())?;
                return Ok(Asked::Foreign { filter, key_type });
            }
            self.key_type.refuse()?;
        }
        let options = self.key_file.options()?;
        let filter = match self.no_verify {
            true => mapped::map(&options, &self.filter)?,
            false => file.load(&options)?,
        };
        if self.copies && !filter.kind().capabilities().remove {
            return Err(Error::new(format_args!(
                "{}: {}",
                self.filter.display(),
                cannot_count(filter.kind())
            )));
        }
        Ok(Asked::Own(filter))
    }
}
