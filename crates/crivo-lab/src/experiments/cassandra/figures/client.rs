//! The client's times, where CQL alone could be used.

use super::{
    ClientTimes, client_times, describe_client_times, label, microseconds, ratios, with_interval,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{ABSENT, CHANCE, CHANCES, Quantiles, chance_name};
use crate::plot::{Axis, Chart, Hue, Panel, Series};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, median_interval};
use crate::timing::{Comparison, Sample, Samples, corrected, describe_comparisons};

pub(in super::super) fn client(data: &Dataset) -> Result<Figure, StudyError> {
    let (rows, samples): (Vec<Quantiles>, Vec<Sample>) =
        (data.rows("quantiles")?, data.rows("client")?);
    let (all, samples) = (client_times(&rows), Samples(&samples));
    let mut table = Table::new(&["questions", "filter", "SSTables", "median", "90%", "99%"]);
    let mut tasks: Vec<&str> = Vec::new();
    for times in &all {
        if !tasks.contains(&times.task) {
            tasks.push(times.task);
        }
        let [median, most, nearly_all] = times.quantiles.map(|time| microseconds(Some(time)));
        let sstables = match times.sstables {
            0 => "unknown".to_string(),
            sstables => sstables.to_string(),
        };
        let (task, filter) = (times.task.to_string(), label(times.filter));
        table.row([task, filter, sstables, median, most, nearly_all]);
    }
    let (none, some) = (chance_name(1.0), chance_name(CHANCE));
    // Within rounds, also of tables with different numbers of SSTables.
    let by_round = |filter: &str| {
        let is_it = |times: &&ClientTimes<'_>| times.task == ABSENT && times.filter == filter;
        let sstables = all.iter().find(is_it).map_or(0, |times| times.sstables);
        samples.times(ABSENT, sstables as f64, filter)
    };
    let gains = ratios(&by_round(&none), &by_round(&some));
    if gains.is_empty() {
        return Err(data.fault("there are no times of absent keys".to_string()));
    }
    let gain = with_interval(median_interval(&gains, CONFIDENCE));
    let mut sstables: Vec<u64> = all.iter().map(|times| times.sstables).collect();
    sstables.sort_unstable();
    sstables.dedup();
    let sstables = match *sstables {
        [] | [0, ..] => {
            "It is not known whether the server had written the rows to SSTables, where alone \
            filters are asked."
                .to_string()
        }
        [one] => format!("Traces of single questions show that each table has {one} SSTables."),
        [fewest, .., most] => format!(
            "Traces of single questions show that tables have from {fewest} to {most} SSTables, and their times \
             differ by that, too."
        ),
    };
    Ok(Figure {
        id: "cassandra-client",
        title: "Time at the client".to_string(),
        question: "What does the client notice of the server’s filters?".to_string(),
        method: format!(
            "Tables of the same rows, which differ in bloom_filter_fp_chance, one question at a time, {} rounds in \
             which all tables take turns. Uniform questions are for different keys, the others by Zipf’s law \
             with exponent 1. Rows were written in parts, and after each the server was asked to flush \
             (memtable_flush_period_in_ms). {sstables} {} Bars: these intervals.",
            samples.rounds(ABSENT),
            describe_client_times(&rows),
        ),
        panels: tasks.iter().map(|task| panel(&all, task)).collect(),
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: match Comparison::of(median_interval(&gains, corrected(1))) {
                Comparison::Slower => format!(
                    "At the client, a question for an absent row takes {gain} times as long without filters as \
                     at fp_chance {some}."
                ),
                _ => format!(
                    "At the client, this sample shows no slower questions for absent rows without filters than at \
                     fp_chance {some} ({gain} times)."
                ),
            },
            test: describe_comparisons(1, gains.len()),
        },
    })
}

/// The quantiles of a task against the setting.
fn panel(all: &[ClientTimes<'_>], task: &str) -> Panel {
    let quantiles = ["median", "90%", "99%"].into_iter().zip([Hue::Bloom, Hue::Cuckoo, Hue::Fuse]);
    let series = quantiles.enumerate().map(|(at, (name, hue))| {
        let points = CHANCES.into_iter().filter_map(|chance| {
            let filter = chance_name(chance);
            let times = all.iter().find(|times| times.task == task && times.filter == filter)?;
            Some((chance, times.quantiles[at].scaled(1e-3)))
        });
        Series::trace(name, hue, points)
    });
    Panel::Chart(Chart {
        title: task.to_string(),
        x: Axis::logarithmic("bloom_filter_fp_chance (1: no filter)"),
        // Some rounds have a question that takes ten times as long.
        y: Axis::logarithmic("median over rounds, µs"),
        series: series.collect(),
    })
}
