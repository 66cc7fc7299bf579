//! How many entries an insertion moves.

use crivo::KeyHasher;
use crivo::exact::Eviction;
use crivo::exact::cuckoo::trace::{TraceError, TraceTable};
use crivo::hash::Indices;
use crivo::theory::cuckoo::load_threshold;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, mean_interval};
use crate::study::Context;

/// The insertions of one table within one percent of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Chains {
    choices: u32,
    search: String,
    repetition: u32,
    /// In percent, at the end of this stretch.
    load_percent: u32,
    insertions: u64,
    moves: u64,
    longest: u64,
}

const WALK: &str = "random walk";
const BREADTH: &str = "breadth first";

pub(super) fn measure(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let places: usize = context.pick(1_000, 20_000, 100_000);
    let mut random = context.random("dictionaries chains");
    let mut rows = Vec::new();
    let searches = [(WALK, Eviction::random_walk()), (BREADTH, Eviction::breadth_first())];
    for choices in 2..=4u32 {
        for (search, eviction) in searches {
            for repetition in 0..context.repetitions().min(10) {
                let hasher = KeyHasher::xxh3(random.number());
                let mut table = TraceTable::new(places, eviction)?;
                let mut key = 0u64;
                'filling: for load_percent in 1..=97u32 {
                    let target = places as u64 * u64::from(load_percent) / 100;
                    let (first, mut moves, mut longest) = (key, 0, 0);
                    while key < target {
                        let homes: Vec<usize> = Indices::new(hasher.digest(&key), places as u64)
                            .take(choices as usize)
                            .map(|place| place as usize)
                            .collect();
                        let chain = match table.insert(key, &homes) {
                            // The first move is the new key itself.
                            Ok(chain) => chain.as_slice().len() as u64 - 1,
                            Err(TraceError::NoPlace) => break 'filling,
                            Err(error) => return Err(StudyError::wrong(error)),
                        };
                        moves += chain;
                        longest = longest.max(chain);
                        key += 1;
                    }
                    rows.push(Chains {
                        choices,
                        search: search.to_string(),
                        repetition,
                        load_percent,
                        insertions: key - first,
                        moves,
                        longest,
                    });
                }
            }
        }
    }
    data.set_parameter("chain_places", places);
    data.add("chains", &rows)
}

pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Chains> = data.rows("chains")?;
    let places: u64 = data.parameter("chain_places")?;
    let hues = [(2, Hue::Counting), (3, Hue::Quotient), (4, Hue::Bloom)];
    // Only loads that every table reached: the unlucky ones that ended early would flatter.
    let tables = rows.iter().map(|row| row.repetition + 1).max().unwrap_or(1) as usize;
    let mean = |choices: u32, search: &str, percent: u32| -> Option<Estimate> {
        let means: Vec<f64> = rows
            .iter()
            .filter(|row| {
                row.choices == choices && row.search == search && row.load_percent == percent
            })
            .filter(|row| row.insertions > 0)
            .map(|row| row.moves as f64 / row.insertions as f64)
            .collect();
        (means.len() == tables).then(|| mean_interval(&means, CONFIDENCE))
    };
    let mut panels = Vec::new();
    let mut table = Table::new(&[
        "d",
        "load",
        "random walk",
        "breadth first",
        "longest walk",
        "longest search",
    ]);
    for search in [WALK, BREADTH] {
        let mut series = Vec::new();
        for (choices, hue) in hues {
            let threshold = load_threshold(choices, 1)?;
            series.push(Series::dashed(
                "threshold in theory",
                hue,
                [(threshold, 0.01), (threshold, 10.0)],
            ));
            let points: Vec<_> = (3..=97)
                .step_by(2)
                .filter_map(|load| Some((f64::from(load) / 100.0, mean(choices, search, load)?)))
                .filter(|(_, estimate)| estimate.value > 0.001)
                .collect();
            series.push(Series::trace(format!("d = {choices}"), hue, points));
        }
        panels.push(Panel::Chart(Chart {
            title: search.to_string(),
            x: Axis::linear("load").with_format(Format::Percent),
            y: Axis::logarithmic("entries moved, mean"),
            series,
        }));
    }
    let longest = |choices: u32, search: &str| {
        rows.iter()
            .filter(|row| row.choices == choices && row.search == search)
            .map(|row| row.longest)
            .max()
            .unwrap_or(0)
    };
    let mut shorter = true;
    for (choices, _) in hues {
        let threshold = load_threshold(choices, 1)?;
        let near = ((threshold * 100.0) as u32 - 5..=97).rev();
        let load = near.into_iter().find(|&load| {
            mean(choices, WALK, load).is_some() && mean(choices, BREADTH, load).is_some()
        });
        let Some(load) = load.or(Some((threshold * 80.0) as u32)) else { continue };
        let text = |search| {
            mean(choices, search, load)
                .map_or("–".to_string(), |estimate| decimal(estimate.value, 3))
        };
        if let (Some(walk), Some(breadth)) =
            (mean(choices, WALK, load), mean(choices, BREADTH, load))
        {
            shorter &= breadth.high < walk.low;
        }
        table.row([
            choices.to_string(),
            percent(f64::from(load) / 100.0, 2),
            text(WALK),
            text(BREADTH),
            longest(choices, WALK).to_string(),
            longest(choices, BREADTH).to_string(),
        ]);
    }
    Ok(Figure {
        id: "dictionaries-chains",
        title: "Entries that an insertion moves, by load".to_string(),
        question: "How long do chains of evictions get, and does the search matter?".to_string(),
        method: format!(
            "Tables of {} places for one key each, d choices, filled one by one; the mean number of \
             entries moved per insertion within each percent of load, over {tables} tables, with \
             Student’s 95% interval. A random walk throws out whom it meets; a breadth-first search \
             looks for the shortest chain. Dashes: thresholds.",
            thousands(places)
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::Measured,
            sentence: format!(
                "Near the threshold, breadth-first chains are {}shorter than random walks for every d; the \
                 longest walk moved {} entries, the longest chain found by search {}.",
                if shorter { "" } else { "not significantly " },
                (2..=4).map(|d| longest(d, WALK)).max().unwrap_or(0),
                (2..=4).map(|d| longest(d, BREADTH)).max().unwrap_or(0),
            ),
            test: "Test: the 95% intervals of both means do not overlap, for each of three d; \
                   probability of a false alarm below 5% for each."
                .to_string(),
        },
    })
}
