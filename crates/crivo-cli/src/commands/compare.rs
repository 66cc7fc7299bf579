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
//! for the candidates alone. Without the check ([`Check::Skip`]) records go to the output in step
//! 2, and A is read once.

use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueHint};
use crivo::filter::{Blocked, DynamicFilter, Filter};
use crivo::{Digest, KeyHasher};

use crate::human::{parse_bytes, rate};
use crate::input::{Chunk, Chunks, Format, FormatArgs, Progress, Replay, in_parallel};
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::spill::{Join, RecordHasher};

/// The filter's rate where the answers are checked: each wrong yes costs a candidate.
const CANDIDATE_RATE: f64 = 0.01;

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
    memory: u64,

    /// Do not check what the filter of B says: A is read only once, and some of its records are
    /// wrongly taken to be in B
    #[arg(long)]
    approx: bool,

    /// With --approx: the part of the records not in B that is taken to be in it
    #[arg(long, value_name = "RATE", default_value_t = CANDIDATE_RATE, requires = "approx")]
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

/// The records of a chunk, with their digests.
#[derive(Default)]
struct Hashed {
    digests: Vec<u128>,
    records: Vec<Range<usize>>,
    /// Whether they may be in B.
    hits: Vec<bool>,
    /// For the filter: half of a good hash is a good hash.
    halves: Vec<Digest>,
}

impl Hashed {
    fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        let Self { digests, records, .. } = self;
        digests.clear();
        records.clear();
        chunk.each(|record, key| {
            digests.push(hasher.digest(key));
            records.push(record);
        });
    }

    fn halve(&mut self) {
        self.halves.clear();
        self.halves.extend(self.digests.iter().map(|digest| Digest::new(*digest as u64)));
    }

    fn ask(&mut self, filter: &Blocked) {
        self.halve();
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
            let filter = comparison.filter_of(&b, self.rate, u64::MAX)?;
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

    /// A filter of all records, in no more than this memory.
    fn filter_of(&self, b: &Replay, rate: f64, memory: u64) -> Result<Blocked, Error> {
        let hasher = KeyHasher::default();
        let capacity = self.count(b)?.max(1);
        let mut filter = Blocked::with_hasher(capacity, rate, hasher)?;
        if filter.size_in_bits() / 8 > memory {
            filter = Blocked::with_memory(memory, capacity, hasher)?;
        }
        let hasher = self.hasher;
        in_parallel(
            self.chunks(b)?,
            move |chunk, hashed: &mut Hashed| {
                hashed.hash(chunk, hasher);
                hashed.halve();
            },
            |_, hashed| {
                for digest in &hashed.halves {
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
        let mut printer = Printer::default();
        in_parallel(
            a,
            move |chunk, hashed: &mut Hashed| {
                hashed.hash(chunk, hasher);
                hashed.ask(&filter);
            },
            |chunk, hashed| {
                printer.print(chunk, hashed, |index| Ok(wanted.includes(hashed.hits[index])))
            },
        )
    }

    /// Prints what is so indeed.
    fn print_checked(&self, a: &Replay, b: &Replay, memory: u64) -> Result<(), Error> {
        let (hasher, wanted) = (self.hasher, self.wanted);
        // Half for the filter, then for the sets of what is on disk; half for the candidates.
        let filter = Arc::new(self.filter_of(b, CANDIDATE_RATE, memory / 2)?);
        let mut join = Join::with_memory(memory / 2);

        let mut number = 0;
        let shared_filter = Arc::clone(&filter);
        in_parallel(
            self.chunks(a)?,
            move |chunk, hashed: &mut Hashed| {
                hashed.hash(chunk, hasher);
                hashed.ask(&shared_filter);
            },
            |_, hashed| {
                for (digest, hit) in hashed.digests.iter().zip(&hashed.hits) {
                    if *hit {
                        join.add_left(number, *digest)?;
                    }
                    number += 1;
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        drop(filter);

        let hash = move |chunk: &Chunk, hashed: &mut Hashed| hashed.hash(chunk, hasher);
        in_parallel(self.chunks(b)?, hash, |_, hashed| {
            for digest in &hashed.digests {
                join.add_right(*digest)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;

        let mut joined = join.finish()?;
        let mut printer = Printer::default();
        let mut number = 0;
        in_parallel(self.chunks(a)?, hash, |chunk, hashed| {
            printer.print(chunk, hashed, |index| {
                number += 1;
                Ok(wanted.includes(joined.is_in_both(number - 1, hashed.digests[index])?))
            })
        })
    }
}

impl Wanted {
    fn includes(self, is_in_b: bool) -> bool {
        is_in_b == (self == Self::InBoth)
    }
}

/// Prints records of chunks.
#[derive(Default)]
struct Printer {
    kept: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl Printer {
    fn print(
        &mut self,
        chunk: &Chunk,
        hashed: &Hashed,
        mut keeps: impl FnMut(usize) -> Result<bool, Error>,
    ) -> Result<ControlFlow<()>, Error> {
        let Self { kept, bytes } = self;
        kept.clear();
        for (index, record) in hashed.records.iter().enumerate() {
            if keeps(index)? {
                kept.push(record.clone());
            }
        }
        bytes.clear();
        bytes.extend_from_slice(chunk.header());
        chunk.copy_records(kept.drain(..), bytes);
        let mut out = output::data();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::output)?;
        Ok(ControlFlow::Continue(()))
    }
}
