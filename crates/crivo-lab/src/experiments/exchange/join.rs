//! Joins: a filter of the keys in place of the rows.

use crivo::exchange::Action;
use crivo::exchange::join::{Answerer, Asker, JoinReport, JoinSituation};
use serde::{Deserialize, Serialize};

use super::failed;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, mean, mean_interval};
use crate::study::Context;
use crate::{Random, StudyError};

/// One join.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Joined {
    keys: u64,
    rows: u64,
    selectivity: f64,
    rows_matched: u64,
    rows_sent: u64,
    filter_bytes: u64,
    bytes: u64,
    semi_join_bytes: u64,
    everything_bytes: u64,
    /// What the best filter would take, or none, if the selectivity were known.
    theory: f64,
}

const SELECTIVITIES: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0];
/// Rows of the side that answers, for each key of the side that asks.
const ROWS_PER_KEY: u64 = 10;
const ROW_BYTES: usize = 64;
const KEY_BYTES: usize = 16;

fn key(number: u64) -> [u8; KEY_BYTES] {
    u128::from(number).to_le_bytes()
}

fn row(number: u64) -> [u8; ROW_BYTES] {
    let mut row = [b'.'; ROW_BYTES];
    row[..KEY_BYTES].copy_from_slice(&key(number));
    row
}

/// Joins keys 0 to `keys` with rows that have these keys.
fn join(keys: u64, rows: &[u64], seed: u64) -> Result<JoinReport, StudyError> {
    let mut asker = Asker::new(seed);
    (0..keys).for_each(|number| asker.insert(&key(number)));
    let mut answerer = Answerer::new(seed);
    rows.iter().for_each(|&number| answerer.survey(&key(number), ROW_BYTES));
    loop {
        match answerer.action() {
            Action::Send(message) => {
                // A key is below 2^64, and among the asker's if it is below their number.
                let has_partner = |row: &[u8]| {
                    row.first_chunk()
                        .is_some_and(|&bytes| u128::from_le_bytes(bytes) < u128::from(keys))
                };
                asker.receive(&message, has_partner).map_err(failed)?;
            }
            Action::Receive => match asker.action() {
                Action::Send(message) => answerer.receive(&message).map_err(failed)?,
                _ => return Err(StudyError::wrong("both sides of a join wait")),
            },
            Action::Provide => {
                rows.iter().for_each(|&number| answerer.provide(&key(number), &row(number)));
                answerer.provided();
            }
            Action::Finished => break,
        }
    }
    let report = asker.report();
    let matching = rows.iter().filter(|&&number| number < keys).count() as u64;
    if report.rows_matched != matching {
        return Err(StudyError::wrong(format_args!(
            "a join found {} rows, of {matching}",
            report.rows_matched
        )));
    }
    Ok(report)
}

/// The keys of rows, of which about a share has a partner.
fn row_keys(keys: u64, selectivity: f64, random: &mut Random) -> Vec<u64> {
    let threshold = (selectivity * (1u64 << 32) as f64) as u64;
    let one = |number: u64| {
        if random.below(1 << 32) < threshold { random.below(keys) } else { keys + number }
    };
    (0..keys * ROWS_PER_KEY).map(one).collect()
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let mut random = context.random("exchange joins");
    let keys: u64 = context.pick(200, 2_000, 20_000);
    let repetitions = context.pick(2, 4, 10);
    let mut joins = Vec::new();
    for (step, selectivity) in (1..).zip(SELECTIVITIES) {
        for _ in 0..repetitions {
            let rows = row_keys(keys, selectivity, &mut random);
            let report = join(keys, &rows, random.number())?;
            let situation = JoinSituation {
                keys,
                rows: report.rows,
                row_bytes: report.everything_bytes,
                matching: report.rows_matched as f64 / report.rows as f64,
            };
            joins.push(Joined {
                keys,
                rows: report.rows,
                selectivity,
                rows_matched: report.rows_matched,
                rows_sent: report.rows_sent,
                filter_bytes: report.filter_bytes,
                bytes: report.bytes,
                semi_join_bytes: report.semi_join_bytes,
                everything_bytes: report.everything_bytes,
                theory: situation.plan().bytes,
            });
        }
        let steps = SELECTIVITIES.len() as u64;
        context.step(2 * steps + step, 3 * steps);
    }
    data.add("joins", &joins)
}

pub(super) fn figure(joins: &[Joined]) -> Figure {
    let groups: Vec<(f64, Vec<&Joined>)> = SELECTIVITIES
        .iter()
        .map(|&share| (share, joins.iter().filter(|join| join.selectivity == share).collect()))
        .collect();
    let of_everything = |group: &[&Joined], column: fn(&Joined) -> f64| -> Estimate {
        let sample: Vec<f64> =
            group.iter().map(|join| column(join) / join.everything_bytes as f64).collect();
        mean_interval(&sample, CONFIDENCE)
    };
    let mut table = Table::new(&[
        "selectivity",
        "theory",
        "Bloom join",
        "95% interval",
        "semi-join",
        "filter, bytes",
        "rows in vain",
    ]);
    let (mut cheapest, mut lost) = (0, 0.0f64);
    let mut off: Vec<f64> = Vec::new();
    for (share, group) in &groups {
        let seen = of_everything(group, |join| join.bytes as f64);
        let semi = of_everything(group, |join| join.semi_join_bytes as f64).value;
        let theory = of_everything(group, |join| join.theory).value;
        cheapest += usize::from(seen.value <= semi.min(1.0));
        lost = lost.max(seen.value / semi.min(1.0) - 1.0);
        off.push(seen.value / theory - 1.0);
        let in_vain: Vec<f64> =
            group.iter().map(|join| (join.rows_sent - join.rows_matched) as f64).collect();
        let filter: Vec<f64> = group.iter().map(|join| join.filter_bytes as f64).collect();
        table.row([
            percent(*share, 1),
            percent(theory, 3),
            percent(seen.value, 3),
            format!("{}–{}", percent(seen.low, 3), percent(seen.high, 3)),
            percent(semi, 3),
            thousands(mean(&filter).round() as u64),
            decimal(mean(&in_vain), 2),
        ]);
    }
    let column = |column: fn(&Joined) -> f64| {
        groups.iter().map(move |(share, group)| (*share, of_everything(group, column)))
    };
    let exactly = |(share, mean): (f64, Estimate)| (share, mean.value);
    let without: Vec<String> = groups
        .iter()
        .filter(|(_, group)| group.iter().all(|join| join.filter_bytes == 0))
        .map(|(share, _)| percent(*share, 1))
        .collect();
    let first = joins.first();
    Figure {
        id: "exchange-join",
        title: "Bytes of a join".to_string(),
        question:
            "What does a filter of the keys save, for rows of which a given share finds a partner?"
                .to_string(),
        method: format!(
            "{} joins for each selectivity. One side has {} keys of {KEY_BYTES} bytes, the other {} rows of \
             {ROW_BYTES}. It begins with a sample of its keys, by which the first decides on a filter or \
             none. Theory: filter and rows at the best rate, if the selectivity were known and telling it \
             cost nothing. The exact semi-join sends all keys. All over the bytes of all rows. Every \
             result is exact. Bars: 95% intervals.",
            groups.first().map_or(0, |(_, group)| group.len()),
            thousands(first.map_or(0, |join| join.keys)),
            thousands(first.map_or(0, |join| join.rows)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("selectivity").with_format(Format::Percent),
            y: Axis::logarithmic("bytes, of all rows").with_format(Format::Percent),
            series: vec![
                Series::dashed("everything", Hue::Limit, SELECTIVITIES.map(|share| (share, 1.0))),
                Series::dashed(
                    "exact semi-join",
                    Hue::Plain,
                    column(|join| join.semi_join_bytes as f64).map(exactly),
                ),
                Series::line("theory", Hue::Theory, column(|join| join.theory).map(exactly)),
                Series::dots("Bloom join", Hue::Bloom, column(|join| join.bytes as f64)),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::Measured,
            sentence: format!(
                "The Bloom join takes the fewest bytes at {cheapest} of {} selectivities{}, and at most {} more \
                 than theory, which needs no sample.{}",
                groups.len(),
                if lost > 0.0 {
                    format!(", elsewhere at most {} more than the best", percent(lost, 2))
                } else {
                    String::new()
                },
                percent(off.iter().copied().fold(0.0, f64::max), 2),
                if without.is_empty() {
                    String::new()
                } else {
                    format!(" The filter switched itself off at {}.", without.join(", "))
                },
            ),
            test: String::new(),
        },
    }
}
