//! The figures, from the data alone.

use super::{QUERIES, QueryRun, SWEEP, Swept};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, PointEstimate, median_interval, regression};
use crate::timing::describe_comparisons;

/// No filter, and filters from the smallest FPR.
const HUES: [Hue; 5] = [Hue::Plain, Hue::Fuse, Hue::Bloom, Hue::Counting, Hue::Cuckoo];

/// By how much measured bytes may differ from theory, of which the batches and blocks of files are no
/// part.
const TOLERANCE: f64 = 0.1;

/// The runs of the sweep.
struct Sweep(Vec<Swept>);

impl Sweep {
    fn load(data: &Dataset) -> Result<Self, StudyError> {
        let rows: Vec<Swept> = data.rows(SWEEP)?;
        let has = |fpr: f64| rows.iter().any(|row| row.fpr == fpr);
        match rows.is_empty() || !has(0.0) {
            true => Err(data.fault(format!("{SWEEP} has no runs without filters"))),
            false => Ok(Self(rows)),
        }
    }

    fn ascending(&self, value: impl Fn(&Swept) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.0.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    fn shares(&self) -> Vec<f64> {
        self.ascending(|row| row.share)
    }

    /// 0 is no filter, and the first.
    fn fprs(&self) -> Vec<f64> {
        self.ascending(|row| row.fpr)
    }

    fn rounds(&self) -> usize {
        self.ascending(|row| f64::from(row.run)).len()
    }

    /// A value of each run, by run.
    fn values(&self, share: f64, fpr: f64, value: impl Fn(&Swept) -> f64) -> Vec<f64> {
        let mut rows: Vec<&Swept> =
            self.0.iter().filter(|row| row.share == share && row.fpr == fpr).collect();
        rows.sort_by_key(|row| row.run);
        rows.into_iter().map(value).collect()
    }

    fn bytes(&self, share: f64, fpr: f64) -> PointEstimate {
        let bytes = self.values(share, fpr, |row| row.shuffled_bytes as f64);
        median_interval(&bytes, CONFIDENCE)
    }

    fn seconds(&self, share: f64, fpr: f64) -> PointEstimate {
        median_interval(&self.values(share, fpr, |row| row.seconds), CONFIDENCE)
    }

    /// The times with a filter over those without, within runs.
    fn ratios(&self, share: f64, fpr: f64) -> Vec<f64> {
        let [with, without] = [fpr, 0.0].map(|fpr| self.values(share, fpr, |row| row.seconds));
        with.iter().zip(&without).map(|(with, without)| with / without).collect()
    }

    fn theory(&self) -> Theory {
        let points: Vec<(f64, f64)> =
            self.shares().into_iter().map(|share| (share, self.bytes(share, 0.0).value)).collect();
        let line = regression(&points, CONFIDENCE);
        Theory { probe: line.intercept, build: line.slope.value }
    }

    /// The bytes that a filter of the whole build side has.
    fn filter_of_all(&self, fpr: f64) -> f64 {
        let rows = self.0.iter().filter(|row| row.fpr == fpr);
        let most = rows.max_by(|a, b| a.share.total_cmp(&b.share));
        most.map_or(0.0, |row| row.filter_bytes as f64 / row.share)
    }
}

/// The bytes of both sides, from the runs without filters.
struct Theory {
    probe: f64,
    build: f64,
}

impl Theory {
    /// `filter_of_all` is the bytes of a filter of the whole build side.
    fn bytes(&self, share: f64, fpr: f64, filter_of_all: f64) -> f64 {
        let pass = share + (1.0 - share) * fpr;
        self.probe * pass + (self.build + filter_of_all) * share
    }

    /// The share from which a filter costs more bytes than it saves.
    fn break_even(&self, fpr: f64, filter_of_all: f64) -> f64 {
        let saved = self.probe * (1.0 - fpr);
        saved / (saved + filter_of_all)
    }
}

/// The first x where the line through the points passes 1 from below.
fn crossing(points: &[(f64, f64)]) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        (y0 < 1.0 && y1 >= 1.0).then(|| x0 + (1.0 - y0) / (y1 - y0) * (x1 - x0))
    })
}

fn label(fpr: f64) -> String {
    if fpr == 0.0 { "no filter".to_string() } else { format!("FPR {}", percent(fpr, 2)) }
}

/// A name and a colour for each FPR.
fn contenders(fprs: &[f64]) -> impl Iterator<Item = (f64, String, Hue)> {
    fprs.iter().zip(HUES.into_iter().cycle()).map(|(&fpr, hue)| (fpr, label(fpr), hue))
}

fn share_axis() -> Axis {
    Axis::linear("rows that match").with_format(TickFormat::Percent)
}

fn megabytes(bytes: f64) -> String {
    format!("{} MB", decimal(1e-6 * bytes, 3))
}

pub(super) fn bytes(data: &Dataset) -> Result<Figure, StudyError> {
    let sweep = Sweep::load(data)?;
    let theory = sweep.theory();
    let (shares, fprs) = (sweep.shares(), sweep.fprs());
    let mut series = Vec::new();
    let mut table = Table::new(&[
        "rows that match",
        "filter",
        "bytes",
        "of these, for keys",
        "theory",
        "filter's bytes",
    ]);
    let mut worst = (0.0, String::new());
    for (fpr, name, hue) in contenders(&fprs) {
        let expected = |share: f64| match fpr {
            0.0 => theory.probe + theory.build * share,
            fpr => theory.bytes(share, fpr, sweep.filter_of_all(fpr)),
        };
        let curve = (0..=50).map(|step| f64::from(step) / 50.0);
        let curve = curve.map(|share| (share, 1e-6 * expected(share))).collect::<Vec<_>>();
        series.push(Series::line(format!("{name}, theory"), hue, curve));
        let dots = shares.iter().map(|&share| (share, sweep.bytes(share, fpr).scaled(1e-6)));
        series.push(Series::dots(name.clone(), hue, dots.collect::<Vec<_>>()));
        for &share in &shares {
            let measured = sweep.bytes(share, fpr).value;
            let middle = |value: fn(&Swept) -> u64| {
                let values = sweep.values(share, fpr, |row| value(row) as f64);
                median_interval(&values, CONFIDENCE).value
            };
            table.row([
                percent(share, 3),
                name.clone(),
                megabytes(measured),
                megabytes(middle(|row| row.key_bytes)),
                megabytes(expected(share)),
                thousands(middle(|row| row.filter_bytes) as u64),
            ]);
            let difference = (measured / expected(share) - 1.0).abs();
            if fpr > 0.0 && difference > worst.0 {
                worst = (difference, format!("{} of rows and {name}", percent(share, 3)));
            }
        }
    }
    let filters: Vec<f64> = fprs.iter().copied().filter(|&fpr| fpr > 0.0).collect();
    let least = shares[0];
    let saved: Vec<String> = filters
        .iter()
        .map(|&fpr| {
            let factor = sweep.bytes(least, 0.0).value / sweep.bytes(least, fpr).value;
            format!("{} times fewer at {}", decimal(factor, 3), label(fpr))
        })
        .collect();
    let break_even: Vec<String> = filters
        .iter()
        .map(|&fpr| percent(theory.break_even(fpr, sweep.filter_of_all(fpr)), 3))
        .collect();
    let first = &sweep.0[0];
    Ok(Figure {
        id: "join-bytes",
        title: "Bytes that executors send each other".to_string(),
        question: "How many bytes does a filter save, for which share of rows that match?"
            .to_string(),
        method: format!(
            "A table of {} rows, joined with a dimension, a share of which a condition keeps; as large a share \
             of the rows matches. No side is sent to every partition, and rows are not compressed. The filter is made \
             whatever the predicted gain is. Theory: P·(s + (1 − s)·ε) + D·s + F·s, for the share s and the FPR ε. P and D are the \
             bytes of the rows of both sides, the line through the runs without filters. The dimension is read \
             in one piece, so that of its keys the filter alone is sent; F is the bytes of a filter of the whole \
             dimension. (Of a larger one, the executors would also send each other 8 bytes for each key.)",
            thousands(first.probe_rows),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: share_axis(),
            y: Axis::from_zero("megabytes"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(worst.0 <= TOLERANCE),
            sentence: format!(
                "If {} of the rows match, the executors send {}. The bytes differ from theory by at most {} ({}). \
                 By theory a filter costs more bytes than it saves from shares of {} on.",
                percent(least, 3),
                saved.join(", "),
                percent(worst.0, 2),
                worst.1,
                break_even.join(", "),
            ),
            test: format!(
                "Bytes are counted and hardly vary. “Agrees” means that no median over {} runs differs from \
                 theory by more than {}.",
                sweep.rounds(),
                percent(TOLERANCE, 2)
            ),
        },
    })
}

pub(super) fn time(data: &Dataset) -> Result<Figure, StudyError> {
    let sweep = Sweep::load(data)?;
    let (shares, fprs) = (sweep.shares(), sweep.fprs());
    let filters: Vec<f64> = fprs.iter().copied().filter(|&fpr| fpr > 0.0).collect();
    let mut table = Table::new(&[
        "rows that match",
        "filter",
        "seconds",
        "of these, before the join",
        "time without = 1",
    ]);
    let (mut ratios, mut times, mut sentences) = (Vec::new(), Vec::new(), Vec::new());
    for (fpr, name, hue) in contenders(&fprs) {
        let medians = shares.iter().map(|&share| (share, sweep.seconds(share, fpr)));
        times.push(Series::trace(name.clone(), hue, medians));
        let of_share = |share: f64| median_interval(&sweep.ratios(share, fpr), CONFIDENCE);
        for &share in &shares {
            let before = sweep.values(share, fpr, |row| row.plan_seconds);
            table.row([
                percent(share, 3),
                name.clone(),
                decimal(sweep.seconds(share, fpr).value, 3),
                decimal(median_interval(&before, CONFIDENCE).value, 2),
                decimal(of_share(share).value, 3),
            ]);
        }
        if fpr == 0.0 {
            continue;
        }
        let points: Vec<(f64, f64)> =
            shares.iter().map(|&share| (share, of_share(share).value)).collect();
        ratios.push(Series::trace(
            name.clone(),
            hue,
            shares.iter().map(|&share| (share, of_share(share))),
        ));
        let (least, most) = (points[0], points[points.len() - 1]);
        let end = match crossing(&points) {
            Some(share) => format!("it breaks even where {} match", percent(share, 2)),
            None if most.1 < 1.0 => "it is faster even if all match".to_string(),
            None => "it is never faster".to_string(),
        };
        sentences.push(format!(
            "At {name} the join takes {} of the time if {} of the rows match, and {end}.",
            percent(least.1, 3),
            percent(least.0, 3)
        ));
    }
    Ok(Figure {
        id: "join-time",
        title: "Time of a join".to_string(),
        question: "For which share of rows that match is a join with a filter faster?".to_string(),
        method: format!(
            "The runs of the figure before: {} of each kind, which take turns. Time is that of the whole query, \
             with its plan and the keys of its filter. Bars: intervals of the median over runs.",
            sweep.rounds()
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "with a filter, relative to without".to_string(),
                x: share_axis(),
                y: Axis::from_zero("time without = 1"),
                series: ratios,
            }),
            Panel::Chart(Chart {
                title: "time of the query".to_string(),
                x: share_axis(),
                y: Axis::from_zero("seconds"),
                series: times,
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: sentences.join(" "),
            test: describe_comparisons(filters.len() * shares.len(), sweep.rounds()),
        },
    })
}

/// The medians of one query, without filters and with.
struct Medians {
    query: String,
    broadcast: bool,
    seconds: [f64; 2],
    bytes: [f64; 2],
    filters: u64,
}

impl Medians {
    fn of(rows: &[QueryRun], query: &str, broadcast: bool) -> Option<Self> {
        let runs = |filters: bool| {
            let wanted = move |row: &&QueryRun| {
                row.query == query && row.broadcast == broadcast && row.filters == filters
            };
            rows.iter().filter(wanted)
        };
        let median = |filters: bool, value: fn(&QueryRun) -> f64| {
            let values: Vec<f64> = runs(filters).map(value).collect();
            (!values.is_empty()).then(|| median_interval(&values, CONFIDENCE).value)
        };
        let seconds = |filters| median(filters, |row| row.seconds);
        let bytes = |filters| median(filters, |row| row.shuffled_bytes as f64);
        Some(Self {
            query: query.to_string(),
            broadcast,
            seconds: [seconds(false)?, seconds(true)?],
            bytes: [bytes(false)?, bytes(true)?],
            filters: runs(true).map(|row| row.filter_count).max()?,
        })
    }

    fn is_slower(&self) -> bool {
        let [without, with] = self.seconds;
        with > without + (0.15 * without).max(0.2)
    }

    fn is_tpch(&self) -> bool {
        self.query.parse::<u32>().is_ok()
    }

    fn name(&self) -> String {
        if self.is_tpch() { format!("Q{}", self.query) } else { self.query.clone() }
    }
}

/// The ratio of the sums with and without.
fn total(list: &[&Medians], value: fn(&Medians) -> [f64; 2]) -> f64 {
    let [without, with] = [0, 1].map(|at| list.iter().map(|it| value(it)[at]).sum::<f64>());
    with / without
}

pub(super) fn queries(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<QueryRun> = data.rows(QUERIES)?;
    let mut names: Vec<&str> = Vec::new();
    for row in &rows {
        if !names.contains(&row.query.as_str()) {
            names.push(&row.query);
        }
    }
    let all: Vec<Medians> = [false, true]
        .into_iter()
        .flat_map(|broadcast| {
            names.iter().filter_map(|name| Medians::of(&rows, name, broadcast)).collect::<Vec<_>>()
        })
        .collect();
    let mut table = Table::new(&[
        "query",
        "broadcast",
        "filters",
        "seconds without",
        "with",
        "bytes without",
        "with",
    ]);
    for it in &all {
        table.row([
            it.name(),
            if it.broadcast { "on" } else { "off" }.to_string(),
            it.filters.to_string(),
            decimal(it.seconds[0], 3),
            decimal(it.seconds[1], 3),
            thousands(it.bytes[0] as u64),
            thousands(it.bytes[1] as u64),
        ]);
    }
    let mut panels = Vec::new();
    let mut sentences = Vec::new();
    for broadcast in [false, true] {
        let state = if broadcast { "on" } else { "off" };
        let of_state: Vec<&Medians> = all.iter().filter(|it| it.broadcast == broadcast).collect();
        let dots = |value: fn(&Medians) -> [f64; 2]| -> Vec<(f64, PointEstimate)> {
            let ratio = |it: &Medians| value(it)[1] / value(it)[0];
            let exact = |value| PointEstimate { value, low: value, high: value };
            (0..).zip(&of_state).map(|(at, it)| (f64::from(at), exact(ratio(it)))).collect()
        };
        panels.push(Panel::Chart(Chart {
            title: format!("broadcast {state}"),
            x: Axis::categories("", of_state.iter().map(|it| it.name()).collect()),
            y: Axis::from_zero("without filters = 1"),
            series: vec![
                Series::dots("bytes", Hue::Cuckoo, dots(|it| it.bytes)),
                Series::dots("time", Hue::Bloom, dots(|it| it.seconds)),
            ],
        }));
        let tpch: Vec<&Medians> = of_state.iter().copied().filter(|it| it.is_tpch()).collect();
        if !tpch.is_empty() {
            sentences.push(format!(
                "With broadcast {state}, filters leave {} of the bytes and {} of the time of the {} queries of TPC-H.",
                percent(total(&tpch, |it| it.bytes), 3),
                percent(total(&tpch, |it| it.seconds), 3),
                tpch.len()
            ));
        }
        for it in of_state.iter().filter(|it| !it.is_tpch()) {
            sentences.push(format!(
                "The join “{}” then takes {} of the time and {} of the bytes.",
                it.name(),
                percent(it.seconds[1] / it.seconds[0], 3),
                percent(it.bytes[1] / it.bytes[0], 3)
            ));
        }
    }
    let slower: Vec<String> =
        all.iter().filter(|it| it.broadcast && it.is_slower()).map(Medians::name).collect();
    sentences.push(match slower.is_empty() {
        true => {
            "With broadcast on, as users run it, no query is slower by more than 15% and 0.2 s."
                .to_string()
        }
        false => format!(
            "With broadcast on, these are slower by more than 15% and 0.2 s: {}.",
            slower.join(", ")
        ),
    });
    let rounds = rows.iter().map(|row| row.run + 1).max().unwrap_or(0);
    Ok(Figure {
        id: "join-queries",
        title: "Queries with the planner’s own choice".to_string(),
        question: "What do filters save where the planner predicts a gain, and does it harm any query?".to_string(),
        method: format!(
            "All queries of TPC-H; a join of two large tables of which 1% matches (“join”); and one whose smaller \
             side is too wide to be sent to every partition (“wide”). Medians of {rounds} runs, with and without \
             filters in turn; the results must be equal. With broadcast off every join exchanges the rows of both \
             sides. With broadcast on, as by default, the engine sends small sides to every partition, and the \
             planner makes filters only for other joins."
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(slower.is_empty()),
            sentence: sentences.join(" "),
            test: "Claim: with broadcast on, no query is slower by more than the larger of 15% and 0.2 s, as medians. \
                   Not a statistical test."
                .to_string(),
        },
    })
}
