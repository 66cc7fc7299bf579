//! Joins: sending a filter of the keys instead of all rows.

use crivo_core::Random;
use crivo_exchange::Action;
use crivo_exchange::join::{Answerer, Asker, JoinReport, JoinSituation};
use serde::{Deserialize, Serialize};

use super::failed;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, PointEstimate, mean, mean_interval};

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
    /// The bytes of the best filter, or of none, if the selectivity were known.
    theory: f64,
}

const SELECTIVITIES: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0];
/// Few keys and many rows, where filters are best; and many keys and few rows, where a filter may
/// cost more than it saves.
const SHAPES: [JoinShape; 2] = [
    JoinShape { title: "ten rows for each key", keys: 1, rows: 10 },
    JoinShape { title: "ten keys for each row", keys: 10, rows: 1 },
];

/// The keys of one side and the rows of the other, relative to the smaller number.
#[derive(Debug, Clone, Copy)]
struct JoinShape {
    title: &'static str,
    keys: u64,
    rows: u64,
}
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
                _ => return Err(StudyError::wrong("both sides of a join wait for each other")),
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

/// The keys of rows, of which about a given fraction matches.
fn row_keys(keys: u64, rows: u64, selectivity: f64, random: &mut Random) -> Vec<u64> {
    let threshold = (selectivity * (1u64 << 32) as f64) as u64;
    let one = |number: u64| {
        if random.below(1 << 32) < threshold { random.below(keys) } else { keys + number }
    };
    (0..rows).map(one).collect()
}

pub(super) fn run(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let mut random = context.random("exchange joins");
    let unit: u64 = context.pick(200, 2_000, 20_000);
    let repetitions = context.pick(2, 4, 10);
    let mut joins = Vec::new();
    for (step, selectivity) in (1..).zip(SELECTIVITIES) {
        for (shape, _) in SHAPES.iter().flat_map(|shape| (0..repetitions).map(move |n| (shape, n)))
        {
            let keys = shape.keys * unit;
            let rows = row_keys(keys, shape.rows * unit, selectivity, &mut random);
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

/// The joins of one shape and selectivity.
struct JoinGroup<'a> {
    shape: JoinShape,
    selectivity: f64,
    joins: Vec<&'a Joined>,
}

impl JoinGroup<'_> {
    /// The mean of a column, relative to the bytes of all rows.
    fn of_everything(&self, column: fn(&Joined) -> f64) -> PointEstimate {
        let sample: Vec<f64> =
            self.joins.iter().map(|join| column(join) / join.everything_bytes as f64).collect();
        mean_interval(&sample, CONFIDENCE)
    }

    fn mean(&self, column: fn(&Joined) -> f64) -> f64 {
        mean(&self.joins.iter().map(|join| column(join)).collect::<Vec<f64>>())
    }

    fn bytes(&self) -> PointEstimate {
        self.of_everything(|join| join.bytes as f64)
    }

    fn semi_join(&self) -> f64 {
        self.of_everything(|join| join.semi_join_bytes as f64).value
    }

    fn theory(&self) -> f64 {
        self.of_everything(|join| join.theory).value
    }

    /// Bytes beyond the better of semi-join and sending everything, relative to these.
    fn lost(&self) -> f64 {
        self.bytes().value / self.semi_join().min(1.0) - 1.0
    }

    fn is_off(&self) -> bool {
        self.joins.iter().all(|join| join.filter_bytes == 0)
    }
}

fn groups(joins: &[Joined]) -> Vec<JoinGroup<'_>> {
    let mut groups = Vec::new();
    for shape in SHAPES {
        for selectivity in SELECTIVITIES {
            let is_own = |join: &&Joined| {
                join.selectivity == selectivity && join.keys * shape.rows == join.rows * shape.keys
            };
            groups.push(JoinGroup {
                shape,
                selectivity,
                joins: joins.iter().filter(is_own).collect(),
            });
        }
    }
    groups
}

fn panel(groups: &[JoinGroup<'_>], shape: JoinShape) -> Panel {
    let own = || groups.iter().filter(|group| group.shape.title == shape.title);
    Panel::Chart(Chart {
        title: shape.title.to_string(),
        x: Axis::logarithmic("selectivity").with_format(TickFormat::Percent),
        y: Axis::logarithmic("bytes relative to all rows").with_format(TickFormat::Percent),
        series: vec![
            Series::dashed(
                "everything",
                Hue::Limit,
                SELECTIVITIES.map(|selectivity| (selectivity, 1.0)),
            ),
            Series::dashed(
                "exact semi-join",
                Hue::Plain,
                own().map(|group| (group.selectivity, group.semi_join())),
            ),
            Series::line(
                "theory",
                Hue::Theory,
                own().map(|group| (group.selectivity, group.theory())),
            ),
            Series::dots(
                "Bloom join",
                Hue::Bloom,
                own().map(|group| (group.selectivity, group.bytes())),
            ),
        ],
    })
}

pub(super) fn figure(joins: &[Joined]) -> Figure {
    let groups = groups(joins);
    let mut table = Table::new(&[
        "keys and rows",
        "selectivity",
        "theory",
        "Bloom join",
        "95% interval",
        "semi-join",
        "filter, bytes",
        "rows sent without a match",
    ]);
    for group in &groups {
        let seen = group.bytes();
        table.row([
            group.shape.title.to_string(),
            percent(group.selectivity, 1),
            percent(group.theory(), 3),
            percent(seen.value, 3),
            format!("{}–{}", percent(seen.low, 3), percent(seen.high, 3)),
            percent(group.semi_join(), 3),
            match group.is_off() {
                true => "none".to_string(),
                false => thousands(group.mean(|join| join.filter_bytes as f64).round() as u64),
            },
            decimal(group.mean(|join| (join.rows_sent - join.rows_matched) as f64), 2),
        ]);
    }
    let cheapest = groups.iter().filter(|group| group.lost() <= 0.0).count();
    let lost = groups.iter().map(JoinGroup::lost).fold(0.0, f64::max);
    let beyond_theory = |group: &JoinGroup<'_>| group.bytes().value / group.theory() - 1.0;
    let off: Vec<String> = groups
        .iter()
        .filter(|group| group.is_off())
        .map(|group| format!("{} with {}", percent(group.selectivity, 1), group.shape.title))
        .collect();
    let sizes: Vec<String> = SHAPES
        .iter()
        .filter_map(|shape| groups.iter().find(|group| group.shape.title == shape.title))
        .filter_map(|group| group.joins.first())
        .map(|join| format!("{} keys and {} rows", thousands(join.keys), thousands(join.rows)))
        .collect();
    Figure {
        id: "exchange-join",
        title: "Bytes of a join".to_string(),
        question: "What does a filter of the keys save, for a given selectivity?".to_string(),
        method: format!(
            "{} joins for each selectivity, of {}: keys of {KEY_BYTES} bytes on one side, rows of {ROW_BYTES} \
             on the other. The second side first sends a sample of its keys, from which the first decides \
             whether to send a filter. Theory: filter and rows at the best FPR, if the selectivity were \
             known without a sample. The exact semi-join sends all keys. All numbers are relative to the \
             bytes of all rows. Every result is exact. Bars: 95% intervals.",
            groups.first().map_or(0, |group| group.joins.len()),
            sizes.join(", and of "),
        ),
        panels: SHAPES.map(|shape| panel(&groups, shape)).into(),
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "The Bloom join takes the fewest bytes in {cheapest} of {} cases{}, and at most {} more \
                 than in theory, which needs no sample. {}",
                groups.len(),
                if lost > 0.0 {
                    format!(", elsewhere at most {} more than the best", percent(lost, 2))
                } else {
                    String::new()
                },
                percent(groups.iter().map(beyond_theory).fold(0.0, f64::max), 2),
                if off.is_empty() {
                    "The filter paid everywhere.".to_string()
                } else {
                    format!("The join used no filter at {}.", off.join(", "))
                },
            ),
            test: String::new(),
        },
    }
}
