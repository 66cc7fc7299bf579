//! The common part of `crivo diff` and `crivo common`: which records of A are in B, exactly.
//!
//! ```text
//!   1  B ──▶ filter                 about a byte for each record
//!   2  A ──▶ filter ──▶ candidates  records that may be in B: 128 bits each, beyond --memory on disk
//!   3  B ──▶ candidates             which candidates are in B
//!   4  A ──▶ output                 in the order of A, with its repeated records
//! ```
//!
//! A record that is not in the filter is certainly not in B and needs no more memory: only candidates
//! are stored. Without the check (`--approx`) records are printed in step 2, and A is read once.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::filter::{Blocked, BlockedSpec, Bytes, FilterSpec};
use crivo::{Digest, KeyHasher};

use super::records::{Fingerprint, HashedRecords, Printer};
use crate::error::Error;
use crate::human::{self, parse_bytes, parse_fpr};
use crate::input::{
    Chunk, Chunks, FormatArgs, InputProgress, Pieces, RecordFormat, Replay, in_parallel,
};
use crate::output;
use crate::spill::{RecordHasher, SemiJoin};
use crate::status::Status;

/// The filter's FPR if the answers are checked: each false positive costs a candidate.
const CANDIDATE_FPR: f64 = 0.01;

/// The bits per record of a filter with that FPR.
const CANDIDATE_BITS: u64 = 10;

/// A filter of this many bytes is always allowed.
const MIN_FILTER_BYTES: u64 = 1 << 12;

/// Two inputs, and how to compare them.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The file whose records are printed; `-` is standard input
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    a: PathBuf,

    /// The file to compare with; `-` is standard input
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    b: PathBuf,

    #[command(flatten)]
    format: FormatArgs,

    /// The maximum memory; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = parse_bytes)]
    #[arg(allow_negative_numbers = true)]
    memory: u64,

    /// Do not check the filter's answers: A is read only once, and some of its records are false
    /// positives, wrongly taken to be in B
    #[arg(long)]
    approx: bool,

    /// With --approx: the false-positive rate
    #[arg(long, alias = "rate", value_name = "FPR", default_value_t = CANDIDATE_FPR)]
    #[arg(requires = "approx", value_parser = parse_fpr, allow_negative_numbers = true)]
    fpr: f64,
}

/// Which records of A are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Those that are not in B.
    OnlyInA,
    /// Those that are.
    InBoth,
}

/// The records of a chunk, and the filter's answers.
#[derive(Default)]
struct Queried {
    hashed: HashedRecords,
    /// For the filter: half of the 128 bits.
    halves: Vec<Digest>,
    /// Whether they may be in B.
    hits: Vec<bool>,
}

impl Queried {
    fn hash(&mut self, chunk: &Chunk, hasher: RecordHasher) {
        self.hashed.hash(chunk, hasher);
        self.halves.clear();
        self.halves.extend(self.hashed.digests.iter().map(|digest| Digest::new(*digest as u64)));
    }

    fn query(&mut self, chunk: &Chunk, hasher: RecordHasher, filter: &Blocked) {
        self.hash(chunk, hasher);
        self.hits.clear();
        self.hits.resize(self.halves.len(), false);
        filter.contains_batch(&self.halves, &mut self.hits);
    }
}

impl CompareArgs {
    /// Prints the selected records of A.
    pub(crate) fn run(self, selection: Selection) -> Result<Status, Error> {
        if [&self.a, &self.b].iter().all(|path| path.as_os_str() == "-") {
            return Err(Error::new("only one of A and B can be standard input"));
        }
        let format = self.format.format()?;
        let b = Replay::of(std::slice::from_ref(&self.b))?;
        let comparison = FileComparison { format, hasher: RecordHasher::new(), selection };
        if self.approx {
            let (filter, _) = comparison.filter_of(&b, self.fpr, None)?;
            output::print_message(format_args!(
                "crivo: not checked: {} of the records that are only in {} {}",
                human::percentage(filter.expected_fpr()),
                self.a.display(),
                match selection {
                    Selection::OnlyInA => "are missing",
                    Selection::InBoth => "are printed as well",
                }
            ));
            let paths = [self.a];
            let progress = InputProgress::beside_records(&paths);
            let a = Chunks::open(&paths, comparison.format.clone(), progress)?;
            comparison.print_unchecked(a, filter)?;
        } else {
            let a = Replay::of(std::slice::from_ref(&self.a))?;
            comparison.print_checked(&a, &b, self.memory)?;
        }
        Ok(Status::Success)
    }
}

struct FileComparison {
    format: RecordFormat,
    hasher: RecordHasher,
    selection: Selection,
}

impl FileComparison {
    fn chunks(&self, input: &Replay) -> Result<Chunks, Error> {
        let progress = InputProgress::beside_records(&input.paths());
        input.chunks(self.format.clone(), progress)
    }

    /// A filter of all records with this FPR, or with a higher one in this memory.
    fn filter_of(
        &self,
        b: &Replay,
        fpr: f64,
        memory: Option<u64>,
    ) -> Result<(Blocked, Fingerprint), Error> {
        let capacity = self.count(b)?.max(1);
        let mut filter = match memory.map(|memory| memory.max(MIN_FILTER_BYTES)) {
            Some(memory) if capacity.saturating_mul(CANDIDATE_BITS) / 8 > memory => {
                BlockedSpec::for_memory(capacity, Bytes(memory))?.build(KeyHasher::default())?
            }
            _ => Blocked::new(capacity, fpr)?,
        };
        let hasher = self.hasher;
        let mut fingerprint = Fingerprint::default();
        in_parallel(
            self.chunks(b)?,
            move |chunk, queried: &mut Queried| queried.hash(chunk, hasher),
            |_, queried| {
                fingerprint.add(&queried.hashed.digests);
                for digest in &queried.halves {
                    filter.insert_digest(*digest);
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok((filter, fingerprint))
    }

    /// The number of records.
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

    /// Prints records by the filter's answers.
    fn print_unchecked(&self, a: Chunks, filter: Blocked) -> Result<(), Error> {
        let (hasher, selection) = (self.hasher, self.selection);
        let mut printer = Printer::new();
        let mut kept = Pieces::default();
        in_parallel(
            a,
            move |chunk, queried: &mut Queried| queried.query(chunk, hasher, &filter),
            |chunk, Queried { hashed, hits, .. }| {
                kept.clear();
                for (record, hit) in hashed.records.iter().zip(hits) {
                    if selection.includes(*hit) {
                        kept.push(record.clone());
                    }
                }
                printer.print(chunk, &kept).map(ControlFlow::Continue)
            },
        )
    }

    /// Prints records by exact answers.
    fn print_checked(&self, a: &Replay, b: &Replay, memory: u64) -> Result<(), Error> {
        let (hasher, selection) = (self.hasher, self.selection);
        // Half is for the filter, and later for the sets of spilled records; half for the candidates.
        let (filter, b_at_first) = self.filter_of(b, CANDIDATE_FPR, Some(memory / 2))?;
        let mut join = SemiJoin::with_memory(memory / 2);

        let mut a_at_first = Fingerprint::default();
        let mut number = 0;
        in_parallel(
            self.chunks(a)?,
            move |chunk, queried: &mut Queried| queried.query(chunk, hasher, &filter),
            |_, Queried { hashed, hits, .. }| {
                a_at_first.add(&hashed.digests);
                for (digest, hit) in hashed.digests.iter().zip(hits) {
                    if *hit {
                        join.add_left(number, *digest)?;
                    }
                    number += 1;
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;

        let hash = move |chunk: &Chunk, hashed: &mut HashedRecords| hashed.hash(chunk, hasher);
        let mut b_now = Fingerprint::default();
        in_parallel(self.chunks(b)?, hash, |_, hashed| {
            b_now.add(&hashed.digests);
            for digest in &hashed.digests {
                join.add_right(*digest)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;

        b_now.check(&b_at_first, b)?;

        let mut joined = join.finish()?;
        let mut printer = Printer::new();
        let mut kept = Pieces::default();
        let mut number = 0;
        let mut a_now = Fingerprint::default();
        in_parallel(self.chunks(a)?, hash, |chunk, hashed| {
            a_now.add(&hashed.digests);
            kept.clear();
            for (record, digest) in hashed.records.iter().zip(&hashed.digests) {
                if selection.includes(joined.is_in_both(number, *digest)?) {
                    kept.push(record.clone());
                }
                number += 1;
            }
            printer.print(chunk, &kept).map(ControlFlow::Continue)
        })?;
        a_now.check(&a_at_first, a)?;
        a.check_not_replaced()
    }
}

impl Selection {
    fn includes(self, is_in_b: bool) -> bool {
        is_in_b == (self == Self::InBoth)
    }
}
