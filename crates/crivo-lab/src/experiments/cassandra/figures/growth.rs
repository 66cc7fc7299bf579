//! How times grow with the number of SSTables.

use super::{
    by_sstables, client_times, describe_client_times, label, microseconds, ratios, with_interval,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::experiments::cassandra::{ABSENT, CHANCE, Quantiles, SSTABLES, chance_name};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, PointEstimate, median_interval};
use crate::timing::{Sample, Samples, corrected, describe_comparisons, suffices};

/// The time of a filter with the most SSTables over that with the fewest, within rounds.
fn growth_ratios(samples: &Samples<'_>, filter: &str) -> Vec<f64> {
    let [fewest, most] = ends().map(|parts| samples.times(ABSENT, parts as f64, filter));
    ratios(&most, &fewest)
}

fn ends() -> [u64; 2] {
    [SSTABLES[0], SSTABLES[SSTABLES.len() - 1]]
}

/// Microseconds that each further SSTable costs.
fn cost(samples: &Samples<'_>, filter: &str) -> PointEstimate {
    let [fewest, most] = ends();
    let [few, many] = ends().map(|parts| samples.times(ABSENT, parts as f64, filter));
    let slopes: Vec<f64> =
        many.iter().zip(&few).map(|(many, few)| (many - few) / (most - fewest) as f64).collect();
    median_interval(&slopes, CONFIDENCE).scaled(1e-3)
}

pub(in super::super) fn growth(data: &Dataset) -> Result<Figure, StudyError> {
    let (client, server): (Vec<Sample>, Vec<Sample>) = (data.rows("client")?, data.rows("server")?);
    let (client, server) = (Samples(&client), Samples(&server));
    let quantiles: Vec<Quantiles> = data.rows("quantiles")?;
    let mut table = Table::new(&[
        "questions",
        "filter",
        "SSTables",
        "median at the client",
        "90%",
        "99%",
        "mean in the server",
    ]);
    for times in client_times(&quantiles) {
        let [median, most, nearly_all] = times.quantiles.map(|time| microseconds(Some(time)));
        table.row([
            times.task.to_string(),
            label(times.filter),
            times.sstables.to_string(),
            median,
            most,
            nearly_all,
            microseconds(server.median(times.task, times.sstables as f64, times.filter)),
        ]);
    }
    let [fewest, most] = ends();
    let (none, some) = (chance_name(1.0), chance_name(CHANCE));
    let [without, with] = [&none, &some].map(|filter| growth_ratios(&server, filter));
    if without.is_empty() || with.is_empty() {
        return Err(data.fault("there are no times of absent keys".to_string()));
    }
    let blocks = without.len();
    let tested = median_interval(&ratios(&without, &with), corrected(1));
    let finding = match tested {
        _ if !suffices(1, blocks) => Finding::Undecided,
        tested if tested.low > 1.0 => Finding::Agrees,
        tested if tested.high < 1.0 => Finding::Differs,
        _ => Finding::Undecided,
    };
    let at_client = [&none, &some]
        .map(|filter| with_interval(median_interval(&growth_ratios(&client, filter), CONFIDENCE)));
    let in_server =
        [&without, &with].map(|grown| with_interval(median_interval(grown, CONFIDENCE)));
    let costs = [&none, &some].map(|filter| with_interval(cost(&server, filter)));
    Ok(Figure {
        id: "cassandra-growth",
        title: "Time against the number of SSTables".to_string(),
        question:
            "Do filters keep the time for an absent row from growing with the number of SSTables?"
                .to_string(),
        method: format!(
            "The tables of the figure before, one question at a time, {} rounds in which all tables take \
             turns. The server’s time is the mean of its own counters (ReadTotalLatency) over {blocks} blocks \
             of rounds; the client’s includes the loopback interface and the driver. Everything is in the page \
             cache. Bars, and numbers in brackets: 95% intervals of the median over blocks and rounds. A present row is not looked for \
             in every SSTable. {}",
            client.rounds(ABSENT),
            describe_client_times(&quantiles),
        ),
        panels: vec![
            by_sstables(&server, ABSENT, "absent, in the server", "median of means, µs"),
            by_sstables(&client, ABSENT, "absent, at the client", "median over rounds, µs"),
        ],
        table: Some(table),
        verdict: Verdict {
            finding,
            sentence: format!(
                "In the server, each further SSTable costs a question for an absent row {} µs without filters, \
                 and {} µs at fp_chance {some}: with {most} SSTables instead of {fewest} it takes {} times as \
                 long without filters, and {} times with them. At the client it takes {} and {} times as long.",
                costs[0], costs[1], in_server[0], in_server[1], at_client[0], at_client[1],
            ),
            test: describe_comparisons(1, blocks),
        },
    })
}
