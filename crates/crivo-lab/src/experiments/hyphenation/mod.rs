//! Hyphenation with exceptions behind a filter: Bloom's own example, and a thesis's experiment.
//!
//! The thesis repeated here built Bloom and cuckoo filters for ε = 1…20% over a list of exceptions
//! to hyphenation, and timed the building and the hyphenation of a list of words. Its published
//! code had faults that decide the outcome: the filter was filled with words in another form than
//! they were asked for, and missed most exceptions; the dictionary behind it was a map in memory,
//! which answers faster than the filter; there was no run without a filter; and the building time
//! was mostly that of the pattern trie. Here the filter's own time is measured, in front of a map
//! and of a database on disk, beside no filter at all and beside exceptions folded into the
//! automaton; every answer is checked.

mod cold;
mod figures;
mod measure;
mod pay;
mod published;

use crivo::codec::Kind;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::Hue;
use crate::report::{Section, Source};
use crate::study::Context;
use crate::timing::Sample;

/// Filters before exceptions to hyphenation.
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

/// The rates at which exceptions in memory are timed, too.
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

/// What the reader calls a filter: Bloom was a person.
fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "Bloom",
        other => other.name(),
    }
}

/// Sets the dots of the filters apart, where all have the same ε.
fn nudged(rate: f64, kind: Kind) -> f64 {
    let place = KINDS.iter().position(|(known, _)| *known == kind).unwrap_or(0);
    rate + (place as f64 - 1.5) * 0.0014
}

/// The contender with this filter.
fn name(kind: Kind, percent: u32) -> String {
    format!("{kind} {percent}%")
}

/// The contender with this filter before the store, where both are asked.
fn stored_name(kind: Kind, percent: u32) -> String {
    format!("{}, redb", name(kind, percent))
}

/// One guard over the whole list: what it let through, and what it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Guarded {
    filter: String,
    percent: u32,
    store: String,
    exceptions: u64,
    bits: u64,
    /// Words of the list that were asked for.
    lookups: u64,
    rejections: u64,
    found: u64,
    false_positives: u64,
    /// Exceptions asked for in small, capital and mixed letters.
    checked: u64,
    /// How many of these were not found.
    missed: u64,
}

impl Guarded {
    fn of<'a>(rows: &'a [Self], kind: Kind, percent: u32, store: &str) -> Option<&'a Self> {
        let name = kind.to_string();
        rows.iter().find(|row| row.filter == name && row.percent == percent && row.store == store)
    }

    /// Wrong yeses among words that are not listed.
    fn rate(&self) -> f64 {
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
            introduction: "Bloom’s example of 1970: rules divide most words, and a dictionary on \
                disk holds the few that the rules get wrong. A filter in memory says which words \
                need not be looked up. A thesis of 2022 measured this with Bloom and cuckoo \
                filters, over ε = 1…20%; its figures 5.1 to 5.6 are repeated here, with what they \
                lacked: no filter at all, exceptions folded into the automaton of the rules, \
                blocked and fuse filters, exceptions in memory and on disk, the observed rate of \
                wrong yeses, the space, and a check that no exception is missed."
                .to_string(),
            sources: &[Source::Silva2022, Source::Bloom1970, Source::Liang1983, Source::Fan2014],
            figures: vec![
                figures::construction(data, &samples)?,
                figures::whole_list(data, &guarded, &samples)?,
                pay::figure(data, &guarded, &samples)?,
                figures::rates(data, &guarded)?,
                figures::space(data, &guarded)?,
                cold::figure(data)?,
                published::figure(data, &guarded, &samples)?,
            ],
        })
    }
}
