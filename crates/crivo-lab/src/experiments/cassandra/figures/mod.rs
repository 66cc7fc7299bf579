//! The figures, from the data alone.

mod cold;
mod counts;
mod growth;
mod guards;
mod replaced;

pub(super) use cold::cold;
pub(super) use counts::opened;
pub(super) use growth::growth;
pub(super) use guards::guards;
pub(super) use replaced::replaced;

use super::{CHANCES, SSTABLES, chance_name};
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal};
use crate::statistics::PointEstimate;
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

fn microseconds(nanoseconds: Option<PointEstimate>) -> String {
    nanoseconds.map_or("–".to_string(), |time| format!("{} µs", decimal(1e-3 * time.value, 3)))
}

/// A value with its interval: `1.42 (1.40–1.45)`.
fn with_interval(estimate: PointEstimate) -> String {
    let [value, low, high] =
        [estimate.value, estimate.low, estimate.high].map(|value| decimal(value, 3));
    format!("{value} ({low}–{high})")
}
