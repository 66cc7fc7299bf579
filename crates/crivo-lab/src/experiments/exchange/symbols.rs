//! How many coded symbols a difference takes.

use crivo::exchange::rateless::{Decoder, Encoder, Progress, expected_symbols};
use crivo::exchange::{Id, IdSet};
use serde::{Deserialize, Serialize};

use super::{failed, fresh_key};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, normal_interval};
use crate::study::Context;

/// Many exchanges with differences of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Symbols {
    difference: u64,
    exchanges: u64,
    /// The mean of symbols per id.
    mean: f64,
    /// The standard deviation of that.
    deviation: f64,
    /// What the planner counts on.
    planned: f64,
}

/// What was published: symbols per difference, for large ones and at most.
const PUBLISHED: (f64, f64) = (1.35, 1.72);

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let mut random = context.random("exchange symbols");
    let largest: u64 = context.pick(256, 4_096, 65_536);
    let budget: u64 = context.pick(1_000, 30_000, 1_000_000);
    let mut rows = Vec::new();
    let sizes = [1, 2, 4, 6, 8, 16, 32, 64, 256, 1_024, 4_096, 16_384, 65_536];
    for difference in sizes.into_iter().filter(|&size| size <= largest) {
        let exchanges = (budget / difference).clamp(6, budget / 20);
        let mut sample = Vec::new();
        for _ in 0..exchanges {
            let key = fresh_key(&mut random);
            // What both have cancels out: sets of nothing but the difference do as well.
            let mut set = |count: u64| {
                let id =
                    |_| Id::new(u128::from(random.number()) << 64 | u128::from(random.number()));
                IdSet::of_ids(key, (0..count).map(id).collect(), 0)
            };
            let (here, there) = (set(difference / 2), set(difference - difference / 2));
            let (mut encoder, mut decoder) = (Encoder::new(there, 0), Decoder::new(here, 0));
            let step = (difference / 1_000).max(1);
            let mut sent = 0;
            while decoder.receive(encoder.symbols(sent..sent + step)).map_err(failed)?
                == Progress::More
            {
                sent += step;
            }
            let found = decoder.difference().map_or(0, |found| found.size());
            if found != difference {
                return Err(StudyError::wrong(format_args!(
                    "{found} ids were decoded, of {difference}"
                )));
            }
            sample.push(decoder.received() as f64 / difference as f64);
        }
        let mean = crate::statistics::mean(&sample);
        let squares: f64 = sample.iter().map(|each| (each - mean).powi(2)).sum();
        rows.push(Symbols {
            difference,
            exchanges,
            mean,
            deviation: (squares / (exchanges - 1) as f64).sqrt(),
            planned: expected_symbols(difference as f64) / difference as f64,
        });
        context.step(rows.len() as u64, 3 * sizes.len() as u64);
    }
    data.add("symbols", &rows)
}

pub(super) fn figure(rows: &[Symbols]) -> Figure {
    let interval = |row: &Symbols, confidence: f64| {
        normal_interval(row.mean, row.deviation / (row.exchanges as f64).sqrt(), confidence)
    };
    // A difference of one is decoded at once: nothing to test.
    let tested: Vec<&Symbols> = rows.iter().filter(|row| row.difference > 1).collect();
    let confidence = 1.0 - FALSE_ALARM / tested.len().max(1) as f64;
    let outside: Vec<&&Symbols> = tested
        .iter()
        .filter(|row| {
            let seen = interval(row, confidence);
            seen.high < PUBLISHED.0 || seen.low > PUBLISHED.1
        })
        .collect();
    let mut table =
        Table::new(&["difference", "the planner’s", "symbols each", "95% interval", "exchanges"]);
    for row in rows {
        let seen = interval(row, CONFIDENCE);
        table.row([
            thousands(row.difference),
            decimal(row.planned, 4),
            decimal(row.mean, 4),
            format!("{}–{}", decimal(seen.low, 4), decimal(seen.high, 4)),
            thousands(row.exchanges),
        ]);
    }
    let size = |row: &Symbols| row.difference as f64;
    let ends = [1.0, rows.last().map_or(10.0, size)];
    let largest = rows.last().map_or((0, 0.0), |row| (row.difference, row.mean));
    let dearest = rows.iter().max_by(|one, other| one.mean.total_cmp(&other.mean));
    Figure {
        id: "exchange-symbols",
        title: "Coded symbols per difference".to_string(),
        question: "How many symbols must be sent for each id that one side lacks?".to_string(),
        method: "Random differences of each size, half on either side; symbols are sent one by one \
            (from 1024 ids on, a thousandth of the difference at a time) until all ids are decoded. \
            Dashes: the published values, 1.35 for large differences and 1.72 at most. Line: what \
            the planner counts on, measured once before. Bars: 95% intervals."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference, ids"),
            y: Axis::linear("symbols per id"),
            series: vec![
                Series::dashed("published", Hue::Limit, ends.map(|x| (x, PUBLISHED.0))),
                Series::dashed("published", Hue::Limit, ends.map(|x| (x, PUBLISHED.1))),
                Series::line(
                    "the planner’s",
                    Hue::Theory,
                    rows.iter().map(|row| (size(row), row.planned)),
                ),
                Series::dots(
                    "observed",
                    Hue::Fuse,
                    rows.iter().map(|row| (size(row), interval(row, CONFIDENCE))),
                ),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(outside.is_empty()),
            sentence: format!(
                "{} ids take {} symbols each{}. {}",
                thousands(largest.0),
                decimal(largest.1, 4),
                dearest.map_or(String::new(), |row| format!(
                    ", and the dearest, {} ids, {}",
                    thousands(row.difference),
                    decimal(row.mean, 4)
                )),
                if outside.is_empty() {
                    "All sizes agree with the published 1.35 to 1.72.".to_string()
                } else {
                    let sizes: Vec<String> =
                        outside.iter().map(|row| thousands(row.difference)).collect();
                    format!(
                        "The published 1.35 to 1.72 do not hold for differences of {}.",
                        sizes.join(", ")
                    )
                },
            ),
            test: format!(
                "Test: the mean’s interval wholly beyond the published range, at any of {} sizes, \
                 corrected for their number (Bonferroni); probability of a false alarm at most {}%, \
                 for large samples.",
                tested.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
