//! The figures, from the data alone.

mod client;
mod cold;
mod counts;
mod growth;
mod guards;
mod replaced;

pub(super) use client::client;
pub(super) use cold::cold;
pub(super) use counts::opened;
pub(super) use growth::growth;
pub(super) use guards::guards;
pub(super) use replaced::replaced;

use super::{CHANCES, Quantiles, SSTABLES, chance_name};
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal};
use crate::statistics::{CONFIDENCE, PointEstimate, median_interval};
use crate::timing::Samples;

/// The server's filters, in the order of [`CHANCES`].
const HUES: [Hue; 6] = [Hue::Plain, Hue::Bad, Hue::Counting, Hue::Bloom, Hue::Blocked, Hue::Fuse];

/// The name of a filter for the reader.
fn label(filter: &str) -> String {
    match filter.parse::<f64>() {
        Ok(_) => format!("fp_chance {filter}"),
        Err(_) => filter.to_string(),
    }
}

/// The median times of a task against the number of SSTables, a series for each of the server's filters.
fn by_sstables(samples: &Samples<'_>, task: &str, title: &str, unit: &str) -> Panel {
    let series = CHANCES.into_iter().zip(HUES).map(|(chance, hue)| {
        let filter = chance_name(chance);
        let medians = SSTABLES.into_iter().filter_map(|parts| {
            let median = samples.median(task, parts as f64, &filter)?;
            Some((parts as f64, median.scaled(1e-3)))
        });
        Series::trace(label(&filter), hue, medians)
    });
    Panel::Chart(Chart {
        title: title.to_string(),
        x: Axis::logarithmic("SSTables"),
        y: Axis::from_zero(unit),
        series: series.collect(),
    })
}

/// The ratios of two contenders' times within rounds.
fn ratios(times: &[f64], baseline: &[f64]) -> Vec<f64> {
    times.iter().zip(baseline).map(|(time, baseline)| time / baseline).collect()
}

/// A time with its interval: `1.42 µs (1.40–1.45)`.
fn microseconds(nanoseconds: Option<PointEstimate>) -> String {
    nanoseconds.map_or("–".to_string(), |time| in_unit(time.scaled(1e-3), " µs"))
}

/// A value with its interval: `1.42 (1.40–1.45)`.
fn with_interval(estimate: PointEstimate) -> String {
    in_unit(estimate, "")
}

/// A single value has no interval.
fn in_unit(estimate: PointEstimate, unit: &str) -> String {
    let [value, low, high] =
        [estimate.value, estimate.low, estimate.high].map(|value| decimal(value, 3));
    match estimate.low < estimate.high {
        true => format!("{value}{unit} ({low}–{high})"),
        false => format!("{value}{unit}"),
    }
}

/// The quantiles of the client's times for one task and table.
struct ClientTimes<'a> {
    task: &'a str,
    filter: &'a str,
    sstables: u64,
    /// The smallest number of questions in a round.
    questions: u64,
    rounds: usize,
    /// 50%, 90% and 99%, in nanoseconds: medians over the rounds, with their intervals. In older data, which
    /// have them over all rounds together, without.
    quantiles: [PointEstimate; 3],
}

impl<'a> ClientTimes<'a> {
    /// From one row for each round, and at least one.
    fn new(rounds: &[&'a Quantiles]) -> Self {
        let over_rounds = |quantile: fn(&Quantiles) -> f64| {
            let values: Vec<f64> = rounds.iter().map(|row| 1e3 * quantile(row)).collect();
            median_interval(&values, CONFIDENCE)
        };
        Self {
            task: &rounds[0].task,
            filter: &rounds[0].filter,
            sstables: rounds[0].sstables,
            questions: rounds.iter().map(|row| row.questions).min().unwrap_or(0),
            rounds: rounds.len(),
            quantiles: [
                over_rounds(|row| row.median_microseconds),
                over_rounds(|row| row.p90_microseconds),
                over_rounds(|row| row.p99_microseconds),
            ],
        }
    }
}

/// The quantiles of a data file, in the order of their first rows.
fn client_times(rows: &[Quantiles]) -> Vec<ClientTimes<'_>> {
    let mut groups: Vec<Vec<&Quantiles>> = Vec::new();
    for row in rows {
        let key = |row: &Quantiles| (row.task.clone(), row.filter.clone(), row.sstables);
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| ClientTimes::new(group)).collect()
}

/// What the quantiles of a data file are.
fn describe_client_times(rows: &[Quantiles]) -> String {
    let times = client_times(rows);
    let questions = times.iter().map(|times| times.questions).min().unwrap_or(0);
    if rows.iter().any(|row| row.round.is_none()) {
        return format!(
            "The client’s quantiles are those of {questions} questions in all rounds together."
        );
    }
    let rounds = times.iter().map(|times| times.rounds).min().unwrap_or(0);
    format!(
        "The client’s quantiles are those of the {questions} questions of a round (of fewer than a hundred, 99% \
         is the maximum): medians over {rounds} rounds, with 95% intervals."
    )
}
