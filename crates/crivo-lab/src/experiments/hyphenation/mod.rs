//! Hyphenation with exceptions behind a filter: Bloom's own example, and the experiment of a thesis.
//!
//! The thesis that is repeated here built Bloom and cuckoo filters for ε = 1…20% over a list of
//! hyphenation exceptions, and measured the construction time and the time to hyphenate a list of
//! words. Its published code had errors that determine the result: words were inserted into the
//! filter in another form than they were queried, so most exceptions were missed; the dictionary
//! behind the filter was a map in memory, which is faster than the filter; there was no run without a
//! filter; and the construction time was mostly that of the pattern trie. Here the filter itself is
//! timed, in front of a map and of a database on disk, and compared with no filter and with
//! exceptions folded into the automaton; every result is checked.

mod cold;
mod figures;
mod measure;
mod pay;
mod published;

use crivo::filter::Kind;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::Hue;
use crate::section::{Section, Source};
use crate::timing::Sample;

/// Filters in front of hyphenation exceptions.
#[derive(Debug)]
pub(super) struct Hyphenation;

/// The filters, with their colours.
const KINDS: [(Kind, Hue); 4] = [
    (Kind::Bloom, Hue::Bloom),
    (Kind::Cuckoo, Hue::Cuckoo),
    (Kind::Blocked, Hue::Blocked),
    (Kind::Fuse, Hue::Fuse),
];

/// The rates, in percent.
const PERCENTS: std::ops::RangeInclusive<u32> = 1..=20;

/// The rates at which exceptions in memory are timed as well.
const FEW_PERCENTS: [u32; 5] = [1, 2, 5, 10, 20];

/// Contenders without a filter.
const NO_FILTER: &str = "no filter";
const FOLDED: &str = "folded into the automaton";
const RULES: &str = "rules without exceptions";

/// Lookups without a filter, in a map and in the store.
const MEMORY: &str = "memory";
const STORED: &str = "redb";

/// Tasks.
const CONSTRUCT: &str = "construct";
const LIST_STORED: &str = "whole list, redb";
const LIST_MEMORY: &str = "whole list, memory";
const LOOKUP: &str = "lookup of an absent word";

/// The name of a filter in the report.
fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "Bloom",
        other => other.name(),
    }
}

/// Shifts the dots of the filters, because all have the same ε.
fn nudged(fpr: f64, kind: Kind) -> f64 {
    let place = KINDS.iter().position(|(known, _)| *known == kind).unwrap_or(0);
    fpr + (place as f64 - 1.5) * 0.0014
}

/// The name of the contender with this filter.
fn name(kind: Kind, percent: u32) -> String {
    format!("{kind} {percent}%")
}

/// The name of the contender with this filter in front of the store.
fn stored_name(kind: Kind, percent: u32) -> String {
    format!("{}, redb", name(kind, percent))
}

/// One guard over the whole list: what it let through, and its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Guarded {
    filter: String,
    percent: u32,
    store: String,
    exceptions: u64,
    bits: u64,
    /// Words of the list that were looked up.
    lookups: u64,
    rejections: u64,
    found: u64,
    false_positives: u64,
    /// Lookups of exceptions in lower, upper and mixed case.
    checked: u64,
    /// How many of these were not found.
    missed: u64,
}

impl Guarded {
    fn of<'a>(rows: &'a [Self], kind: Kind, percent: u32, store: &str) -> Option<&'a Self> {
        let name = kind.to_string();
        rows.iter().find(|row| row.filter == name && row.percent == percent && row.store == store)
    }

    /// The false-positive rate among words that are not listed.
    fn fpr(&self) -> f64 {
        self.false_positives as f64 / (self.lookups - self.found).max(1) as f64
    }
}

impl Experiment for Hyphenation {
    fn name(&self) -> &'static str {
        "hyphenation"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        measure::run(context, data)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let guarded: Vec<Guarded> = data.rows("guards")?;
        let samples: Vec<Sample> = data.rows("samples")?;
        Ok(Section {
            title: "Hyphenation behind a filter",
            introduction:
                "Bloom’s example of 1970: rules hyphenate most words, and a dictionary on \
                disk holds the few that the rules get wrong. A filter in memory tells which words \
                need no lookup. A thesis of 2022 measured this with Bloom and cuckoo filters for \
                ε = 1…20%. Its figures 5.1 to 5.6 are repeated here, with what was missing: a run \
                without a filter, exceptions folded into the automaton of the rules, blocked and \
                fuse filters, exceptions in memory and on disk, the observed false-positive rate, \
                the memory, and a check that no exception is missed."
                    .to_string(),
            sources: &[Source::Silva2022, Source::Bloom1970, Source::Liang1983, Source::Fan2014],
            figures: vec![
                figures::construction(data, &samples)?,
                figures::whole_list(data, &guarded, &samples)?,
                pay::figure(data, &guarded, &samples)?,
                figures::observed_fpr(data, &guarded)?,
                figures::space(data, &guarded)?,
                cold::figure(data)?,
                published::figure(data, &guarded, &samples)?,
            ],
        })
    }
}
