//! Rejection time: Bloom's own measure of a filter.

use std::rc::Rc;

use crivo::KeyHasher;
use crivo::filter::{Blocked, Bloom, Filter, FilterExt};
use crivo::theory::rejection;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, normal_interval};
use crate::timing::{Clock, Contender, Phase, Sample, Samples, interleave};

const PROBES: u32 = 7;
const TASK: &str = "reject";
const BLOOM: &str = "Bloom";
const BLOCKED: &str = "blocked";

/// Probes for absent keys, at one fill ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Probes {
    /// The intended fill ratio, in tenths.
    tenths: u32,
    keys: u64,
    fill: f64,
    queries: u64,
    sum: u64,
    sum_of_squares: u64,
    theory: f64,
}

impl Probes {
    /// The mean with its normal interval.
    fn mean(&self, confidence: f64) -> PointEstimate {
        let queries = self.queries as f64;
        let value = self.sum as f64 / queries;
        let variance = self.sum_of_squares as f64 / queries - value * value;
        normal_interval(value, (variance / queries).sqrt(), confidence)
    }
}

/// The name of the contender with this filter and fill ratio.
fn name(filter: &str, tenths: u32) -> String {
    format!("{filter}, {tenths}0%")
}

fn contender<'a>(name: String, filter: impl Filter + 'a, absent: Rc<[u64]>) -> Contender<'a> {
    Contender::new(name, move |_| {
        Ok(absent.iter().map(|key| u64::from(filter.contains(key))).sum())
    })
}

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
) -> Result<Vec<Sample>, StudyError> {
    // Small enough for the first-level cache: probes are measured, not cache misses.
    let bits: u64 = context.pick(8_192, 131_072, 131_072);
    let queries: u64 = context.pick(2_000, 100_000, 1_000_000);
    let timed = queries.min(200_000);
    let mut random = context.random("filters rejection");
    let (mut rows, mut contenders) = (Vec::new(), Vec::new());
    for tenths in 1..=9 {
        let fill = f64::from(tenths) / 10.0;
        let keys = (-(1.0 - fill).ln() * bits as f64 / f64::from(PROBES)) as u64;
        let hasher = KeyHasher::xxh3(random.number());
        let mut filter = Bloom::with_size(bits, PROBES, hasher)?;
        let mut blocked = Blocked::with_size(bits / 512, PROBES, hasher)?;
        // A copy of the filter's bits, from the positions that it reports.
        let mut set = vec![false; bits as usize];
        for key in 0..keys {
            filter.insert(&key);
            blocked.insert(&key);
            filter.positions(hasher.digest(&key)).for_each(|place| set[place as usize] = true);
        }
        let (mut sum, mut sum_of_squares) = (0, 0);
        for key in keys..keys + queries {
            let clear =
                filter.positions(hasher.digest(&key)).position(|place| !set[place as usize]);
            let seen = clear.map_or(u64::from(PROBES), |place| place as u64 + 1);
            if clear.is_none() != filter.contains(&key) {
                return Err(StudyError::wrong(
                    "a Bloom filter contradicts the positions that it reports",
                ));
            }
            sum += seen;
            sum_of_squares += seen * seen;
        }
        let fill = set.iter().filter(|bit| **bit).count() as f64 / bits as f64;
        let theory = rejection::probes_of_absent_key(fill, PROBES)?;
        rows.push(Probes { tenths, keys, fill, queries, sum, sum_of_squares, theory });

        let absent: Rc<[u64]> =
            (keys..keys + timed).map(|key| key ^ random.number() << 40).collect();
        contenders.push(contender(name(BLOOM, tenths), filter, Rc::clone(&absent)));
        contenders.push(contender(name(BLOCKED, tenths), blocked, absent));
    }
    data.set_parameter("rejection_bits", bits);
    data.add("rejection", &rows)?;
    let phase = Phase { task: TASK, operations: timed as usize, expected: None };
    interleave(Clock::Processor, 0.0, context.repetitions(), &[phase], &mut contenders)
}

pub(super) fn figure(data: &Dataset, samples: &[Sample]) -> Result<Figure, StudyError> {
    let rows: Vec<Probes> = data.rows("rejection")?;
    let bits: u64 = data.parameter("rejection_bits")?;
    let samples = Samples(samples);
    let confidence = 1.0 - FALSE_ALARM / rows.len().max(1) as f64;
    let against = rows.iter().filter(|row| !row.mean(confidence).contains(row.theory)).count();
    let curve: Result<Vec<_>, StudyError> = (2..=95)
        .map(|percent| f64::from(percent) / 100.0)
        .map(|fill| Ok((fill, rejection::probes_of_absent_key(fill, PROBES)?)))
        .collect();
    let baseline = name(BLOOM, rows.first().map_or(0, |row| row.tenths));
    let times = |filter: &str| {
        let ratio = |row: &Probes| {
            let name = name(filter, row.tenths);
            Some((row.fill, samples.ratio(TASK, 0.0, &name, &baseline, CONFIDENCE)?))
        };
        rows.iter().filter_map(ratio).collect::<Vec<_>>()
    };
    let mut table = Table::new(&["fill", "theory", "observed probes", "Bloom, ns", "blocked, ns"]);
    for row in &rows {
        let time = |filter: &str| {
            samples
                .median(TASK, 0.0, &name(filter, row.tenths))
                .map_or("–".to_string(), |time| decimal(time.value, 3))
        };
        table.row([
            percent(row.fill, 3),
            decimal(row.theory, 4),
            decimal(row.mean(CONFIDENCE).value, 4),
            time(BLOOM),
            time(BLOCKED),
        ]);
    }
    let half = rows.iter().min_by(|a, b| (a.fill - 0.5).abs().total_cmp(&(b.fill - 0.5).abs()));
    let half = half.map_or(String::new(), |row| {
        format!(
            " At a fill ratio of {}, close to the optimum, an absent key takes {} of {PROBES} probes.",
            percent(row.fill, 3),
            decimal(row.mean(CONFIDENCE).value, 3)
        )
    });
    Ok(Figure {
        id: "filters-rejection",
        title: "Rejection time".to_string(),
        question:
            "How many bits does a Bloom filter test before it rejects a key, and what does that cost?"
                .to_string(),
        method: format!(
            "Filters of {} bits with k = {PROBES} and fill ratios from 10% to 90%; for {} absent \
             keys, the number of positions up to the first clear bit. Theory: (1 − p^[k])/(1 − p). \
             Right: the median over the rounds of the ratio to Bloom’s time at the lowest fill ratio in \
             the same round. Bars: 95% intervals, normal for probes, from \
             order statistics for times. A blocked filter reads one cache line at any fill ratio.",
            thousands(bits),
            thousands(rows.first().map_or(0, |row| row.queries)),
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "probes of an absent key".to_string(),
                x: Axis::linear("fill ratio").with_format(TickFormat::Percent),
                y: Axis::from_zero("probes"),
                series: vec![
                    Series::line("theory", Hue::Theory, curve?),
                    Series::dots(
                        "observed",
                        Hue::Bloom,
                        rows.iter().map(|row| (row.fill, row.mean(CONFIDENCE))),
                    ),
                ],
            }),
            Panel::Chart(Chart {
                title: "rejection time".to_string(),
                x: Axis::linear("fill ratio").with_format(TickFormat::Percent),
                y: Axis::from_zero("time over Bloom’s at lowest fill ratio").with_format(TickFormat::Ratio),
                series: vec![
                    Series::trace(BLOOM, Hue::Bloom, times(BLOOM)),
                    Series::trace(BLOCKED, Hue::Blocked, times(BLOCKED)),
                ],
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: format!(
                "{}{half}",
                match against {
                    0 => "The number of probes agrees with theory at every fill ratio.".to_string(),
                    some => format!(
                        "The number of probes contradicts theory at {some} of {} fill ratios.",
                        rows.len()
                    ),
                }
            ),
            test: format!(
                "Test: theory within the normal interval of the mean at each of {} fill ratios, corrected for \
                 their number (Bonferroni); probability of a false alarm at most {}%.",
                rows.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
