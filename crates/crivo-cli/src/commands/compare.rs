//! The common part of `crivo diff` and `crivo common`: which records of A are in B, exactly.
//!
//! If the records of B fit into `--memory`, 128 bits each, both inputs are read once:
//!
//! ```text
//!   1  B ──▶ set
//!   2  A ──▶ set ──▶ output         in the order of A, with its repeated records
//! ```
//!
//! Otherwise a filter leaves few of them to be stored:
//!
//! ```text
//!   1  B ──▶ filter                 about a byte for each record
//!   2  A ──▶ filter ──▶ candidates  records that may be in B: 128 bits each, beyond --memory on disk
//!   3  B ──▶ candidates             which candidates are in B
//!   4  A ──▶ output
//! ```
//!
//! A record that is not in the filter is certainly not in B and needs no more memory: only candidates
//! are stored. Without the check (`--approx`) records are printed in step 2, and A is read once.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo::filter::{Blocked, BlockedSpec, Bytes, FilterSpec};
use crivo::{Digest, KeyHasher};

use super::records::{Fingerprint, HashedRecords, Printer};
use crate::error::Error;
use crate::human::{self, parse_bytes, parse_fpr};
use crate::input::{
    Chunk, Chunks, FormatArgs, InputProgress, JsonPointer, KEYS, Pieces, ReadOnce, RecordFormat,
    Replay, in_parallel, parse_delimiter, parse_field,
};
use crate::output;
use crate::spill::{DEFAULT_MEMORY, InsertResult, RecordHasher, RecordSet, SemiJoin};
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

    /// The files to compare with; `-` is standard input. A record is in B if it is in any of them
    #[arg(value_name = "B", required = true, value_hint = ValueHint::FilePath)]
    b: Vec<PathBuf>,

    #[command(flatten)]
    format: FormatArgs,

    /// As --field, for B, if it differs from A
    #[arg(long, help_heading = KEYS, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_delimiter = ',', value_parser = parse_field)]
    field_b: Vec<usize>,

    /// As --column, for B, if it differs from A
    #[arg(long, help_heading = KEYS, value_name = "NAME", requires = "csv", conflicts_with = "field_b")]
    column_b: Vec<String>,

    /// As --json-key, for B, if it differs from A
    #[arg(long, help_heading = KEYS, value_name = "PATH", value_parser = JsonPointer::parse)]
    #[arg(requires = "json_key", conflicts_with = "field_b")]
    json_key_b: Vec<JsonPointer>,

    /// As --delimiter, for B, if it differs from A
    #[arg(long, help_heading = KEYS, value_name = "C", value_parser = parse_delimiter)]
    delimiter_b: Option<u8>,

    /// Print only the number of records
    #[arg(short, long)]
    count: bool,

    /// Print nothing; the exit status is 0 if there are records to print, and 1 if there are none
    #[arg(short, long, conflicts_with = "count")]
    quiet: bool,

    /// The maximum memory; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = parse_bytes)]
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

    /// Without a filter, all may be in B.
    fn query(&mut self, chunk: &Chunk, hasher: RecordHasher, filter: Option<&Blocked>) {
        self.hash(chunk, hasher);
        self.hits.clear();
        self.hits.resize(self.halves.len(), true);
        if let Some(filter) = filter {
            filter.contains_batch(&self.halves, &mut self.hits);
        }
    }
}

impl CompareArgs {
    /// Prints the selected records of A.
    pub(crate) fn run(self, selection: Selection) -> Result<Status, Error> {
        let paths = std::iter::once(&self.a).chain(&self.b);
        if paths.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Error::new("only one of A and B can be standard input"));
        }
        let b = Replay::of(&self.b)?;
        let comparison = FileComparison {
            a_format: self.format.format()?,
            b_format: self.b_format()?,
            hasher: RecordHasher::new(),
            selection,
        };
        let prints = !self.count && !self.quiet;
        let mut results = CompareResults {
            printer: prints.then(Printer::new),
            stops_at_first: self.quiet,
            ..Default::default()
        };
        let a = [self.a];
        if self.approx {
            let filter = comparison.filter_of(&b, self.fpr, None)?;
            let (filter, _) = filter.expect("only a limit of memory prevents a filter");
            if !self.quiet {
                output::print_message(format_args!(
                    "crivo: not checked: {} of the records that are only in {} {}",
                    human::percentage(filter.expected_fpr()),
                    input_name(&a),
                    match selection {
                        Selection::OnlyInA => "are missing",
                        Selection::InBoth => "are printed as well",
                    }
                ));
            }
            let progress = InputProgress::beside_records(&a);
            let a = Chunks::open(&a, comparison.a_format.clone(), progress)?;
            comparison.take_unchecked(a, filter, &mut results)?;
        } else {
            // What is appended to A while B is read is not compared with B.
            let once = ReadOnce::of(&a)?;
            match comparison.set_of(&b, self.memory)? {
                Some(set) => {
                    let progress = InputProgress::beside_records(&a);
                    let a = once.chunks(comparison.a_format.clone(), progress);
                    comparison.take_by_set(a, set, &mut results)?;
                }
                None => {
                    comparison.take_checked(&Replay::of(&a)?, &b, self.memory, &mut results)?;
                }
            }
        }
        let CompareResults { printer, records, selected, .. } = results;
        drop(printer);
        if self.count {
            output::print(&format!("{selected}\n"))?;
        }
        if self.quiet {
            return Ok(if selected > 0 { Status::Success } else { Status::NothingFound });
        }
        output::print_message(format_args!(
            "crivo: {} of {} of {} {} {} {}",
            human::count(selected),
            human::counted(records, "record"),
            input_name(&a),
            if selected == 1 { "is" } else { "are" },
            match selection {
                Selection::OnlyInA => "not in",
                Selection::InBoth => "also in",
            },
            input_name(&self.b),
        ));
        Ok(Status::Success)
    }

    /// The format of B: that of A, but for the options that end in `-b`.
    fn b_format(&self) -> Result<RecordFormat, Error> {
        let mut format = self.format.clone();
        if !self.field_b.is_empty() || !self.column_b.is_empty() {
            format.field.clone_from(&self.field_b);
            format.column.clone_from(&self.column_b);
        }
        if !self.json_key_b.is_empty() {
            format.json_key.clone_from(&self.json_key_b);
        }
        let parts = |format: &FormatArgs| {
            (format.field.len() + format.column.len() + format.json_key.len()).max(1)
        };
        if parts(&format) != parts(&self.format) {
            return Err(Error::new(format_args!(
                "the keys of A and B have {} and {}; name as many fields or columns for both",
                human::counted(parts(&self.format) as u64, "part"),
                human::counted(parts(&format) as u64, "part"),
            )));
        }
        format.delimiter = self.delimiter_b.or(format.delimiter);
        format.format()
    }
}

/// The name of the inputs in messages.
fn input_name(paths: &[PathBuf]) -> String {
    match paths {
        [path] if path.as_os_str() == "-" => "standard input".to_owned(),
        [path] => path.display().to_string(),
        paths => format!("any of {} files", paths.len()),
    }
}

/// The records that were selected.
#[derive(Default)]
struct CompareResults {
    /// `None` if they are only counted.
    printer: Option<Printer>,
    stops_at_first: bool,
    /// The number of all records of A.
    records: u64,
    selected: u64,
    kept: Pieces,
}

impl CompareResults {
    /// Takes the records of a chunk that are selected, by their index.
    fn take(
        &mut self,
        chunk: &Chunk,
        records: &[Range<usize>],
        mut is_selected: impl FnMut(usize) -> Result<bool, Error>,
    ) -> Result<ControlFlow<()>, Error> {
        self.kept.clear();
        for (index, record) in records.iter().enumerate() {
            if is_selected(index)? {
                self.selected += 1;
                self.kept.push(record.clone());
            }
        }
        self.records += records.len() as u64;
        if let Some(printer) = &mut self.printer {
            printer.print(chunk, &self.kept)?;
        }
        Ok(match self.stops_at_first && self.selected > 0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }
}

struct FileComparison {
    a_format: RecordFormat,
    b_format: RecordFormat,
    hasher: RecordHasher,
    selection: Selection,
}

impl FileComparison {
    fn a_chunks(&self, a: &Replay) -> Result<Chunks, Error> {
        a.chunks(self.a_format.clone(), InputProgress::beside_records(&a.paths()))
    }

    fn b_chunks(&self, b: &Replay) -> Result<Chunks, Error> {
        b.chunks(self.b_format.clone(), InputProgress::beside_records(&b.paths()))
    }

    /// A filter of all records with this FPR, or with a higher one in this memory; `None` if it would
    /// pass nearly everything.
    fn filter_of(
        &self,
        b: &Replay,
        fpr: f64,
        memory: Option<u64>,
    ) -> Result<Option<(Blocked, Fingerprint)>, Error> {
        let capacity = self.count(b)?.max(1);
        let mut filter = match memory.map(|memory| memory.max(MIN_FILTER_BYTES)) {
            Some(memory) if capacity.saturating_mul(CANDIDATE_BITS) / 8 > memory => {
                let Ok(spec) = BlockedSpec::for_memory(capacity, Bytes(memory)) else {
                    return Ok(None);
                };
                spec.build(KeyHasher::default())?
            }
            _ => Blocked::new(capacity, fpr)?,
        };
        let hasher = self.hasher;
        let mut fingerprint = Fingerprint::default();
        in_parallel(
            self.b_chunks(b)?,
            move |chunk, queried: &mut Queried| queried.hash(chunk, hasher),
            |_, queried| {
                fingerprint.add(&queried.hashed.digests);
                for digest in &queried.halves {
                    filter.insert_digest(*digest);
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(Some((filter, fingerprint)))
    }

    /// The number of records of B.
    fn count(&self, b: &Replay) -> Result<u64, Error> {
        let mut count = 0;
        in_parallel(
            self.b_chunks(b)?,
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

    /// Takes records by the filter's answers.
    fn take_unchecked(
        &self,
        a: Chunks,
        filter: Blocked,
        results: &mut CompareResults,
    ) -> Result<(), Error> {
        let (hasher, selection) = (self.hasher, self.selection);
        in_parallel(
            a,
            move |chunk, queried: &mut Queried| queried.query(chunk, hasher, Some(&filter)),
            |chunk, Queried { hashed, hits, .. }| {
                results.take(chunk, &hashed.records, |index| Ok(selection.includes(hits[index])))
            },
        )
    }

    /// The set of all records of B, if it has room in this memory.
    fn set_of(&self, b: &Replay, memory: u64) -> Result<Option<RecordSet>, Error> {
        let hasher = self.hasher;
        let mut set = RecordSet::with_memory(memory);
        let mut has_room = true;
        let chunks = self.b_chunks(b)?;
        let (length, mut read) = (chunks.length(), 0);
        in_parallel(
            chunks,
            move |chunk, hashed: &mut HashedRecords| hashed.hash(chunk, hasher),
            |chunk, hashed| {
                set.insert_all(&hashed.digests, |_, inserted| {
                    has_room &= inserted != InsertResult::Full;
                    Ok::<_, Error>(())
                })?;
                let is_first = read == 0;
                read += chunk.bytes().len() as u64;
                let expected = (set.key_count() as u64).saturating_mul(length / read.max(1));
                if is_first {
                    set.expect(expected);
                }
                // Half of the records may be repeated later on; with more it is not worth trying.
                has_room &= expected / 2 <= set.max_key_count() as u64;
                Ok(if has_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            },
        )?;
        Ok(has_room.then_some(set))
    }

    /// Takes records by the set of all records of B.
    fn take_by_set(
        &self,
        a: Chunks,
        set: RecordSet,
        results: &mut CompareResults,
    ) -> Result<(), Error> {
        let (hasher, selection) = (self.hasher, self.selection);
        in_parallel(
            a,
            move |chunk, queried: &mut Queried| {
                queried.hashed.hash(chunk, hasher);
                set.contains_all(&queried.hashed.digests, &mut queried.hits);
            },
            |chunk, Queried { hashed, hits, .. }| {
                results.take(chunk, &hashed.records, |index| Ok(selection.includes(hits[index])))
            },
        )
    }

    /// Takes records by exact answers, where the records of B have no room.
    fn take_checked(
        &self,
        a: &Replay,
        b: &Replay,
        memory: u64,
        results: &mut CompareResults,
    ) -> Result<(), Error> {
        let (hasher, selection) = (self.hasher, self.selection);
        // Half is for the filter, and later for the sets of spilled records; half for the candidates.
        let filter = self.filter_of(b, CANDIDATE_FPR, Some(memory / 2))?;
        let (filter, b_at_first) = filter.unzip();
        let mut join = SemiJoin::with_memory(memory / 2);

        let mut a_at_first = Fingerprint::default();
        let mut number = 0;
        in_parallel(
            self.a_chunks(a)?,
            move |chunk, queried: &mut Queried| queried.query(chunk, hasher, filter.as_ref()),
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
        in_parallel(self.b_chunks(b)?, hash, |_, hashed| {
            b_now.add(&hashed.digests);
            for digest in &hashed.digests {
                join.add_right(*digest)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;

        if let Some(b_at_first) = b_at_first {
            b_now.check(&b_at_first, b)?;
        }

        let mut joined = join.finish()?;
        let mut number = 0;
        let mut a_now = Fingerprint::default();
        in_parallel(self.a_chunks(a)?, hash, |chunk, hashed| {
            a_now.add(&hashed.digests);
            results.take(chunk, &hashed.records, |index| {
                number += 1;
                let is_in_both = joined.is_in_both(number - 1, hashed.digests[index])?;
                Ok(selection.includes(is_in_both))
            })
        })?;
        if !results.stops_at_first {
            a_now.check(&a_at_first, a)?;
        }
        a.check_not_replaced()
    }
}

impl Selection {
    fn includes(self, is_in_b: bool) -> bool {
        is_in_b == (self == Self::InBoth)
    }
}
