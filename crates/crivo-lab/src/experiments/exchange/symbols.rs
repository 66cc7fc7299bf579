//! The number of coded symbols for a difference.

use crivo_core::Random;
use crivo_exchange::rateless::{Decoder, DecoderStatus, Encoder, expected_symbols};
use crivo_exchange::{Id, IdSet};
use serde::{Deserialize, Serialize};

use super::{failed, fresh_key};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, normal_interval};

/// Many exchanges with differences of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Symbols {
    difference: u64,
    exchanges: u64,
    /// The mean of symbols per id.
    mean: f64,
    /// The standard deviation of that.
    deviation: f64,
    /// The mean with ideal random coding, for small differences.
    ideal: Option<f64>,
    /// The standard deviation of that.
    ideal_deviation: Option<f64>,
    /// The number that the planner assumes.
    planned: f64,
}

/// Published: symbols per difference, for large differences and at most.
const PUBLISHED: (f64, f64) = (1.35, 1.72);
/// Ideal random coding takes too long for larger differences.
const MAX_IDEAL: u64 = 256;

impl Symbols {
    fn interval(&self, confidence: f64) -> PointEstimate {
        normal_interval(self.mean, self.deviation / (self.exchanges as f64).sqrt(), confidence)
    }

    /// The excess over ideal random coding.
    fn beyond_ideal(&self, confidence: f64) -> Option<PointEstimate> {
        let deviation = self.deviation.hypot(self.ideal_deviation?);
        let error = deviation / (self.exchanges as f64).sqrt();
        Some(normal_interval(self.mean - self.ideal?, error, confidence))
    }
}

/// The number of symbols to find all ids if each symbol included each id independently at random, and
/// symbols with a single remaining id were always recognised.
fn ideal_symbols(difference: u64, random: &mut Random) -> u64 {
    const COIN: u64 = 1 << 32;
    let mut is_found = vec![false; difference as usize];
    let mut found = 0;
    let mut symbols: Vec<Vec<usize>> = Vec::new();
    while found < difference {
        let threshold = 2 * COIN / (symbols.len() as u64 + 2);
        let unknown = (0..is_found.len()).filter(|&id| !is_found[id]);
        symbols.push(unknown.filter(|_| random.below(COIN) < threshold).collect());
        while let Some(id) = symbols.iter().find(|ids| ids.len() == 1).map(|ids| ids[0]) {
            is_found[id] = true;
            found += 1;
            symbols.iter_mut().for_each(|ids| ids.retain(|&other| other != id));
        }
    }
    symbols.len() as u64
}

/// Mean and standard deviation.
fn moments(sample: &[f64]) -> (f64, f64) {
    let mean = crate::statistics::mean(sample);
    let squares: f64 = sample.iter().map(|each| (each - mean).powi(2)).sum();
    (mean, (squares / (sample.len() - 1) as f64).sqrt())
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let mut random = context.random("exchange symbols");
    let largest: u64 = context.pick(256, 4_096, 65_536);
    let budget: u64 = context.pick(1_000, 30_000, 1_000_000);
    let mut rows = Vec::new();
    let sizes = [1, 2, 4, 6, 8, 16, 32, 64, 256, 1_024, 4_096, 16_384, 65_536];
    for difference in sizes.into_iter().filter(|&size| size <= largest) {
        let exchanges = (budget / difference).clamp(6, budget / 20);
        let (mut sample, mut ideal) = (Vec::new(), Vec::new());
        for _ in 0..exchanges {
            if difference <= MAX_IDEAL {
                ideal.push(ideal_symbols(difference, &mut random) as f64 / difference as f64);
            }
            let key = fresh_key(&mut random);
            // Common elements cancel out, so sets of the difference alone are enough.
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
                == DecoderStatus::More
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
        let (mean, deviation) = moments(&sample);
        let ideal = (!ideal.is_empty()).then(|| moments(&ideal));
        rows.push(Symbols {
            difference,
            exchanges,
            mean,
            deviation,
            ideal: ideal.map(|(mean, _)| mean),
            ideal_deviation: ideal.map(|(_, deviation)| deviation),
            planned: expected_symbols(difference as f64) / difference as f64,
        });
        context.step(rows.len() as u64, 3 * sizes.len() as u64);
    }
    data.add("symbols", &rows)
}

pub(super) fn figure(rows: &[Symbols]) -> Figure {
    // A difference of one is decoded from the first symbol: there is nothing to test.
    let tested: Vec<&Symbols> =
        rows.iter().filter(|row| row.difference > 1 && row.ideal.is_some()).collect();
    let confidence = 1.0 - FALSE_ALARM / tested.len().max(1) as f64;
    let is_off =
        |row: &&&Symbols| row.beyond_ideal(confidence).is_some_and(|beyond| !beyond.contains(0.0));
    let off: Vec<String> =
        tested.iter().filter(is_off).map(|row| thousands(row.difference)).collect();
    let mut table = Table::new(&[
        "difference",
        "ideal random coding",
        "planner",
        "symbols per id",
        "95% interval",
        "exchanges",
    ]);
    for row in rows {
        let seen = row.interval(CONFIDENCE);
        table.row([
            thousands(row.difference),
            row.ideal.map_or("—".to_string(), |ideal| decimal(ideal, 4)),
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
    let above: Vec<String> = rows
        .iter()
        .filter(|row| row.interval(confidence).low > PUBLISHED.1)
        .map(|row| {
            let (size, deviation) = (thousands(row.difference), decimal(row.deviation, 2));
            format!("{size} ids (standard deviation of single exchanges: {deviation})")
        })
        .collect();
    Figure {
        id: "exchange-symbols",
        title: "Coded symbols per differing id".to_string(),
        question: "How many symbols must be sent for each id that one side lacks?".to_string(),
        method: "Random differences of each size, half on each side; symbols are sent one by one \
            (from 1024 ids on, a thousandth of the difference at a time) until all ids are decoded. \
            Line: ideal random coding, independent for each id and symbol, up to 256 ids. \
            Dashes: the published values, 1.35 for large differences and 1.72 at most. Bars: 95% \
            intervals."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("difference, ids"),
            y: Axis::linear("symbols per id"),
            series: vec![
                Series::dashed("published", Hue::Limit, ends.map(|x| (x, PUBLISHED.0))),
                Series::dashed("published", Hue::Limit, ends.map(|x| (x, PUBLISHED.1))),
                Series::line(
                    "ideal random coding",
                    Hue::Theory,
                    rows.iter().filter_map(|row| Some((size(row), row.ideal?))),
                ),
                Series::dots(
                    "observed",
                    Hue::Fuse,
                    rows.iter().map(|row| (size(row), row.interval(CONFIDENCE))),
                ),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(off.is_empty()),
            sentence: format!(
                "{} ids take {} symbols each{}. {} {}",
                thousands(largest.0),
                decimal(largest.1, 4),
                dearest.map_or(String::new(), |row| format!(
                    ", and the most expensive size, {} ids, {}",
                    thousands(row.difference),
                    decimal(row.mean, 4)
                )),
                if off.is_empty() {
                    "Ideal random coding takes as many, at every size.".to_string()
                } else {
                    format!("Ideal random coding takes another number at {} ids.", off.join(", "))
                },
                if above.is_empty() {
                    "No mean is significantly above 1.72, the published maximum.".to_string()
                } else {
                    format!(
                        "Means are above 1.72, the published maximum, for {}.",
                        above.join(", ")
                    )
                },
            ),
            test: format!(
                "Test: the difference of both means, at any of {} sizes, corrected for their number \
                 (Bonferroni); probability of a false alarm at most {}%, for large samples.",
                tested.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
