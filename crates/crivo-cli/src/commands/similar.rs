//! `crivo similar`: finds files or lines that are nearly the same.
//!
//! ```text
//!   file or line ──▶ set of shingles ──▶ signature ──▶ index ──▶ pairs that share a band
//!                                                                     │
//!   similarity of the sets, exactly ◀─────────────────────────────────┘
//! ```

mod collection;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_sketch::{BandingPlan, Goal, GoalError, Shingles, SignatureBits, Sketcher};
use serde::Serialize;

use self::collection::{Collection, Location, SearchResult};
use crate::error::Error;
use crate::human;
use crate::input::FormatArgs;
use crate::output;
use crate::status::Status;

/// Finds files, or lines, that are nearly the same
///
/// The similarity of two texts is the Jaccard similarity of their sets of shingles: of the runs of K
/// words, or characters, that occur in either, the share that occurs in both. Prints the similarity
/// and the two names, separated by tabs, the most similar pair first. A copy of an earlier text is
/// paired only with that text.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimilarArgs {
    /// Files to compare, also compressed by gzip or zstd; `-` is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Compare the lines of all files instead of the files
    #[arg(long)]
    lines: bool,

    /// The minimum similarity to print, from 0 (nothing in common) to 1 (the same)
    #[arg(short, long, value_name = "S", default_value_t = 0.8)]
    threshold: f64,

    /// The share of the pairs at the threshold to find; of more similar pairs it finds more
    #[arg(long, value_name = "R", default_value_t = 0.99)]
    recall: f64,

    /// Shingles are runs of K words [default for files: 3]
    #[arg(long, value_name = "K", conflicts_with = "chars")]
    words: Option<usize>,

    /// Shingles are runs of K characters [default with --lines: 5]
    #[arg(long, value_name = "K")]
    chars: Option<usize>,

    /// Print estimates from signatures instead of the exact similarity: less memory
    #[arg(long)]
    approx: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo similar essays/*.txt                  files that share most runs of three words
  crivo similar --threshold 0.5 a.txt b.txt   those that share half of them
  crivo similar --lines --chars 4 names.txt   lines that are nearly the same
";

/// The maximum numbers of signature values for the bands. The second is used where the threshold is
/// too low for the first.
const MAX_VALUES: [u32; 2] = [128, 4_096];

/// The values of a signature for estimates: a standard error of at most 0.031.
const VALUES_FOR_ESTIMATES: u32 = 256;

/// Of each value eight bits are kept: one false agreement in 256 costs less than the memory.
const BITS: u32 = 8;

impl SimilarArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        if self.files.len() < 2 && !self.lines {
            return Err(Error::new("there is only one file; name more, or use --lines"));
        }
        let shingles = self.shingles()?;
        let plan = self.plan()?;
        let min_values = if self.approx { VALUES_FOR_ESTIMATES } else { 1 };
        let sketcher = Sketcher::classic(plan.banding.value_count().max(min_values))?;
        let bits = SignatureBits::new(BITS)?;
        let (is_exact, shows_text) = (!self.approx, self.json);
        let mut collection =
            Collection::new(shingles, sketcher, bits, plan.banding, is_exact, shows_text)?;
        let format = FormatArgs::default().format()?;
        match self.lines {
            true => collection.read_lines(&self.files, &format)?,
            false => collection.read_files(&self.files, &format)?,
        }
        let found = collection.pairs_from(self.threshold);
        match self.json {
            true => self.print_json(&collection, &found, &plan)?,
            false => print(&collection, &found)?,
        }
        self.summarise(&collection, &found, &plan);
        Ok(Status::Success)
    }

    fn shingles(&self) -> Result<Shingles, Error> {
        Ok(match (self.words, self.chars) {
            (Some(length), _) => Shingles::words(length)?,
            (None, Some(length)) => Shingles::characters(length)?,
            (None, None) if self.lines => Shingles::characters(5)?,
            (None, None) => Shingles::words(3)?,
        })
    }

    fn plan(&self) -> Result<BandingPlan, Error> {
        let goal =
            Goal { bits: SignatureBits::new(BITS)?, ..Goal::new(self.threshold, self.recall) };
        let [few, many] = MAX_VALUES.map(|max_values| Goal { max_values, ..goal }.plan());
        few.or(many).map_err(|error| match error {
            GoalError::OutOfReach { .. } => Error::new(format_args!(
                "no signature finds {} of the pairs with a similarity of {}; raise --threshold or \
                 lower --recall",
                human::percentage(self.recall),
                self.threshold
            )),
            _ => Error::new(error),
        })
    }

    fn print_json(
        &self,
        collection: &Collection,
        found: &SearchResult,
        plan: &BandingPlan,
    ) -> Result<(), Error> {
        let pairs = found.pairs.iter().map(|pair| PairReport {
            similarity: pair.similarity,
            standard_error: pair.standard_error,
            a: collection.location(pair.one),
            b: collection.location(pair.other),
        });
        output::print_json(&SimilarReport {
            threshold: self.threshold,
            texts: collection.text_count(),
            empty: collection.empty_count(),
            candidates: found.candidates,
            expected_recall: plan.recall,
            pairs: pairs.collect(),
        })
    }

    fn summarise(&self, collection: &Collection, found: &SearchResult, plan: &BandingPlan) {
        let noun = if self.lines { "line" } else { "file" };
        let texts = human::counted(collection.text_count(), noun);
        let pairs = human::counted(found.pairs.len() as u64, "similar pair");
        let candidates = human::counted(found.candidates, "candidate");
        let recall = human::percentage(plan.recall);
        output::print_message(format_args!(
            "{texts}: {pairs} among {candidates}; {recall} of those at the threshold are found"
        ));
        if collection.empty_count() > 0 {
            let empty = human::counted(collection.empty_count(), &format!("empty {noun}"));
            output::print_message(format_args!("{empty} left out"));
        }
    }
}

/// Prints the pairs, a line each.
fn print(collection: &Collection, found: &SearchResult) -> Result<(), Error> {
    let mut out = output::data();
    for pair in &found.pairs {
        let (one, other) = (collection.location(pair.one), collection.location(pair.other));
        writeln!(out, "{:.4}\t{one}\t{other}", pair.similarity).map_err(Error::output)?;
    }
    out.flush().map_err(Error::output)
}

#[derive(Serialize)]
struct SimilarReport<'a> {
    threshold: f64,
    texts: u64,
    empty: u64,
    candidates: u64,
    expected_recall: f64,
    pairs: Vec<PairReport<'a>>,
}

#[derive(Serialize)]
struct PairReport<'a> {
    similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_error: Option<f64>,
    a: Location<'a>,
    b: Location<'a>,
}
