//! `crivo similar`: which files, or lines, are nearly the same?
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
use crivo_sketch::{BandingPlan, Goal, Shingles, SignatureBits, Sketcher};
use serde::Serialize;

use self::collection::{Collection, Place};
use crate::human;
use crate::input::FormatArgs;
use crate::outcome::{Error, Outcome};
use crate::output;

/// Finds files, or lines, that are nearly the same
///
/// Two texts are as similar as the sets of their shingles: of the runs of K words, or characters,
/// that occur in either, the share that occurs in both. Prints the similarity and the two names,
/// separated by tabs, the most similar pair first. A copy of an earlier text is paired with that
/// text alone.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimilarArgs {
    /// Files to compare, also compressed by gzip or zstd; `-` is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Compare the lines of all files instead of the files
    #[arg(long)]
    lines: bool,

    /// Print pairs that are at least so similar, from 0 (nothing in common) to 1 (the same)
    #[arg(short, long, value_name = "S", default_value_t = 0.8)]
    threshold: f64,

    /// Find at least this share of the pairs at the threshold; of more similar ones it finds more
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

/// The most values of a signature that bands may use. Where the threshold is so low that these are
/// too few, as many as there can be.
const VALUES: [u32; 2] = [128, 4_096];

/// The values of a signature for estimates: a standard error of at most 0.031.
const VALUES_FOR_ESTIMATES: u32 = 256;

/// Of each value eight bits are kept: one false agreement in 256 costs less than the memory.
const BITS: u32 = 8;

impl SimilarArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        if self.files.len() < 2 && !self.lines {
            return Err(Error::new(
                "one file has no other to be similar to; name more, or use --lines",
            ));
        }
        let shingles = self.shingles()?;
        let plan = self.plan()?;
        let least = if self.approx { VALUES_FOR_ESTIMATES } else { 1 };
        let sketcher = Sketcher::classic(plan.banding.value_count().max(least))?;
        let bits = SignatureBits::new(BITS)?;
        let (is_exact, shows_words) = (!self.approx, self.json);
        let mut collection =
            Collection::new(shingles, sketcher, bits, plan.banding, is_exact, shows_words)?;
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
        Ok(Outcome::Done)
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
        let [few, many] = VALUES.map(|most_values| Goal { most_values, ..goal }.plan());
        few.or(many).map_err(|error| match error.parameter {
            "most values" => Error::new(format_args!(
                "no signature finds {} of the pairs with a similarity of {}; raise --threshold or \
                 lower --recall",
                human::rate(self.recall),
                self.threshold
            )),
            _ => Error::from(error),
        })
    }

    fn print_json(
        &self,
        collection: &Collection,
        found: &Found,
        plan: &BandingPlan,
    ) -> Result<(), Error> {
        let pairs = found.pairs.iter().map(|pair| PairReport {
            similarity: pair.similarity,
            standard_error: pair.standard_error,
            a: collection.place(pair.one),
            b: collection.place(pair.other),
        });
        output::print_json(&Report {
            threshold: self.threshold,
            texts: collection.text_count(),
            empty: collection.empty_count(),
            candidates: found.candidates,
            expected_recall: plan.recall,
            pairs: pairs.collect(),
        })
    }

    fn summarise(&self, collection: &Collection, found: &Found, plan: &BandingPlan) {
        let noun = if self.lines { "line" } else { "file" };
        let texts = human::counted(collection.text_count(), noun);
        let pairs = human::counted(found.pairs.len() as u64, "similar pair");
        let candidates = human::counted(found.candidates, "candidate");
        let recall = human::rate(plan.recall);
        output::say(format_args!(
            "{texts}: {pairs} among {candidates}; {recall} of those at the threshold are found"
        ));
        if collection.empty_count() > 0 {
            let empty = human::counted(collection.empty_count(), &format!("empty {noun}"));
            output::say(format_args!("{empty} left out"));
        }
    }
}

/// Prints the pairs, a line each.
fn print(collection: &Collection, found: &Found) -> Result<(), Error> {
    let mut out = output::data();
    for pair in &found.pairs {
        let (one, other) = (collection.place(pair.one), collection.place(pair.other));
        writeln!(out, "{:.4}\t{one}\t{other}", pair.similarity).map_err(Error::output)?;
    }
    out.flush().map_err(Error::output)
}

/// What a search found.
struct Found {
    /// The most similar first; of equals, in the order of the input.
    pairs: Vec<Pair>,
    /// How many pairs were compared.
    candidates: u64,
}

/// Two texts, by their places in the order of the input.
struct Pair {
    similarity: f64,
    /// Of an estimate.
    standard_error: Option<f64>,
    one: usize,
    other: usize,
}

#[derive(Serialize)]
struct Report<'a> {
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
    a: Place<'a>,
    b: Place<'a>,
}
