//! What `crivo diff` and `crivo common` share: which lines of A are in B, exactly.
//!
//! ```text
//!   1  B ──▶ filter                 a byte or so for each record
//!   2  A ──▶ filter ──▶ candidates  what may be in B: 128 bits each; on disk beyond the memory
//!   3  B ──▶ candidates             which of them are in B indeed
//!   4  A ──▶ output                 in the order of A, with its repeated records
//! ```
//!
//! A record that the filter does not know is certainly not in B, and costs nothing more: memory is
//! for the candidates alone. Without the check (`--approx`) records go to the output in step
//! 2, and A is read once.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::filter::{Blocked, DynamicFilter, Filter};
use crivo::{Digest, KeyHasher};

use super::records::{Hashed, Printer};
use crate::human::{parse_bytes, parse_rate, rate};
use crate::input::{Chunk, Chunks, Format, FormatArgs, Pieces, Progress, Replay, in_parallel};
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::spill::{Join, RecordHasher};

/// The filter's rate where the answers are checked: each wrong yes costs a candidate.
const CANDIDATE_RATE: f64 = 0.01;

/// The bits of a filter of that rate for each record.
const CANDIDATE_BITS: u64 = 10;

/// A filter of so many bytes is always allowed.
const LEAST_FILTER: u64 = 1 << 12;

/// Two inputs, and how to compare them.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The file whose records are printed; `-` is standard input
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,

    /// The file that they are looked for in; `-` is standard input
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,

    #[command(flatten)]
    format: FormatArgs,

    /// How much memory may be taken; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = parse_bytes)]
    #[arg(allow_negative_numbers = true)]
    memory: u64,

    /// Do not check what the filter of B says: A is read only once, and some of its records are
    /// wrongly taken to be in B
    #[arg(long)]
    approx: bool,

    /// With --approx: the part of the records not in B that is taken to be in it
    #[arg(long, value_name = "RATE", default_value_t = CANDIDATE_RATE, requires = "approx")]
    #[arg(value_parser = parse_rate, allow_negative_numbers = true)]
    rate: f64,
}

/// Which records of A are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those that are not in B.
    OnlyInA,
    /// Those that are.
    InBoth,
}

/// The records of a chunk, and what the filter says of them.
#[derive(Default)]
struct Asked {
    hashed: Hashed,
    /// For the filter: half of a good hash is a good hash.
    halves: Vec<Digest>,
    /// Whether they may be in B.
    hits: Vec<bool>,
}

impl Asked {
    fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        self.hashed.hash(chunk, hasher);
        self.halves.clear();
        self.halves.extend(self.hashed.digests.iter().map(|digest| Digest::new(*digest as u64)));
    }

    fn ask(&mut self, chunk: &Chunk, hasher: RecordHasher, filter: &Blocked) {
        self.hash(chunk, hasher);
        self.hits.clear();
        self.hits.resize(self.halves.len(), false);
        filter.contains_batch(&self.halves, &mut self.hits);
    }
}

impl CompareArgs {
    /// Prints the records of A that are wanted.
    pub(crate) fn run(self, wanted: Wanted) -> Result<Outcome, Error> {
        if [&self.a, &self.b].iter().all(|path| path.as_os_str() == "-") {
            return Err(Error::new("only one of A and B can be standard input"));
        }
        let format = self.format.format()?;
        let b = Replay::of(&self.b)?;
        let comparison = Comparison { format, hasher: RecordHasher::new(), wanted };
        if self.approx {
            let filter = comparison.filter_of(&b, self.rate, None)?;
            output::say(format_args!(
                "crivo: not checked: {} of the records that are only in {} {}",
                rate(filter.expected_fpr()),
                self.a.display(),
                match wanted {
                    Wanted::OnlyInA => "are missing",
                    Wanted::InBoth => "are printed, too",
                }
            ));
            let paths = [self.a];
            let progress = Progress::beside_records(&paths);
            let a = Chunks::open(&paths, comparison.format.clone(), progress)?;
            comparison.print_unchecked(a, filter)?;
        } else {
            let a = Replay::of(&self.a)?;
            comparison.print_checked(&a, &b, self.memory)?;
        }
        Ok(Outcome::Done)
    }
}

struct Comparison {
    format: Format,
    hasher: RecordHasher,
    wanted: Wanted,
}

impl Comparison {
    fn chunks(&self, input: &Replay) -> Result<Chunks, Error> {
        let progress = Progress::beside_records(&[input.path().to_owned()]);
        input.chunks(self.format.clone(), progress)
    }

    /// A filter of this rate of all records, or of a higher rate in this memory.
    fn filter_of(&self, b: &Replay, rate: f64, memory: Option<u64>) -> Result<Blocked, Error> {
        let capacity = self.count(b)?.max(1);
        let mut filter = match memory.map(|memory| memory.max(LEAST_FILTER)) {
            Some(memory) if capacity.saturating_mul(CANDIDATE_BITS) / 8 > memory => {
                Blocked::with_memory(memory, capacity, KeyHasher::default())?
            }
            _ => Blocked::new(capacity, rate)?,
        };
        let hasher = self.hasher;
        in_parallel(
            self.chunks(b)?,
            move |chunk, asked: &mut Asked| asked.hash(chunk, hasher),
            |_, asked| {
                for digest in &asked.halves {
                    filter.insert_digest(*digest)?;
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(filter)
    }

    /// How many records there are.
    fn count(&self, input: &Replay) -> Result<u64, Error> {
        let mut count = 0;
        in_parallel(
            self.chunks(input)?,
            |chunk, count: &mut u64| {
                *count = 0;
                chunk.each(|_, _| *count += 1);
            },
            |_, more| {
                count += *more;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(count)
    }

    /// Prints what the filter says.
    fn print_unchecked(&self, a: Chunks, filter: Blocked) -> Result<(), Error> {
        let (hasher, wanted) = (self.hasher, self.wanted);
        let mut printer = Printer::new();
        let mut kept = Pieces::default();
        in_parallel(
            a,
            move |chunk, asked: &mut Asked| asked.ask(chunk, hasher, &filter),
            |chunk, Asked { hashed, hits, .. }| {
                kept.clear();
                for (record, hit) in hashed.records.iter().zip(hits) {
                    if wanted.includes(*hit) {
                        kept.push(record.clone());
                    }
                }
                printer.print(chunk, &kept).map(ControlFlow::Continue)
            },
        )
    }

    /// Prints what is so indeed.
    fn print_checked(&self, a: &Replay, b: &Replay, memory: u64) -> Result<(), Error> {
        let (hasher, wanted) = (self.hasher, self.wanted);
        // Half for the filter, then for the sets of what is on disk; half for the candidates.
        let filter = self.filter_of(b, CANDIDATE_RATE, Some(memory / 2))?;
        let mut join = Join::with_memory(memory / 2);

        let mut number = 0;
        in_parallel(
            self.chunks(a)?,
            move |chunk, asked: &mut Asked| asked.ask(chunk, hasher, &filter),
            |_, Asked { hashed, hits, .. }| {
                for (digest, hit) in hashed.digests.iter().zip(hits) {
                    if *hit {
                        join.add_left(number, *digest)?;
                    }
                    number += 1;
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;

        let hash = move |chunk: &Chunk, hashed: &mut Hashed| hashed.hash(chunk, hasher);
        in_parallel(self.chunks(b)?, hash, |_, hashed| {
            for digest in &hashed.digests {
                join.add_right(*digest)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;

        let mut joined = join.finish()?;
        let mut printer = Printer::new();
        let mut kept = Pieces::default();
        let mut number = 0;
        in_parallel(self.chunks(a)?, hash, |chunk, hashed| {
            kept.clear();
            for (record, digest) in hashed.records.iter().zip(&hashed.digests) {
                if wanted.includes(joined.is_in_both(number, *digest)?) {
                    kept.push(record.clone());
                }
                number += 1;
            }
            printer.print(chunk, &kept).map(ControlFlow::Continue)
        })
    }
}

impl Wanted {
    fn includes(self, is_in_b: bool) -> bool {
        is_in_b == (self == Self::InBoth)
    }
}
