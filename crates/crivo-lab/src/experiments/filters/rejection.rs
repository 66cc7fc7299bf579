//! The time of rejection: Bloom's own measure of a filter.

use std::rc::Rc;

use crivo::KeyHasher;
use crivo::filter::{Blocked, Bloom, DynamicFilter, Filter};
use crivo::theory::rejection;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, normal_interval};
use crate::study::Context;
use crate::timing::{Clock, Contender, Phase, Sample, Samples, interleave};

const PROBES: u32 = 7;
const TASK: &str = "reject";
const BLOOM: &str = "Bloom";
const BLOCKED: &str = "blocked";

/// Probes spent on absent keys, at one fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Probes {
    /// Tenths of the bits that were to be set.
    tenths: u32,
    keys: u64,
    fill: f64,
    asked: u64,
    sum: u64,
    sum_of_squares: u64,
    theory: f64,
}

impl Probes {
    /// The mean with its normal interval.
    fn mean(&self, confidence: f64) -> Estimate {
        let asked = self.asked as f64;
        let value = self.sum as f64 / asked;
        let variance = self.sum_of_squares as f64 / asked - value * value;
        normal_interval(value, (variance / asked).sqrt(), confidence)
    }
}

/// The contender with this filter, filled to so many tenths.
fn name(filter: &str, tenths: u32) -> String {
    format!("{filter}, {tenths}0%")
}

fn contender<'a>(name: String, filter: impl Filter + 'a, strangers: Rc<[u64]>) -> Contender<'a> {
    Contender::new(name, move |_| {
        Ok(strangers.iter().map(|key| u64::from(filter.contains(key))).sum())
    })
}

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
) -> Result<Vec<Sample>, StudyError> {
    // Small enough to lie in the nearest cache: what is counted is probes, not misses.
    let bits: u64 = context.pick(8_192, 131_072, 131_072);
    let asked: u64 = context.pick(2_000, 100_000, 1_000_000);
    let timed = asked.min(200_000);
    let mut random = context.random("filters rejection");
    let (mut rows, mut contenders) = (Vec::new(), Vec::new());
    for tenths in 1..=9 {
        let fill = f64::from(tenths) / 10.0;
        let keys = (-(1.0 - fill).ln() * bits as f64 / f64::from(PROBES)) as u64;
        let hasher = KeyHasher::xxh3(random.number());
        let mut filter = Bloom::with_size(bits, PROBES, hasher)?;
        let mut blocked = Blocked::with_size(bits / 512, PROBES, hasher)?;
        // The filter's bits, set at the positions it tells.
        let mut set = vec![false; bits as usize];
        for key in 0..keys {
            filter.insert(&key)?;
            blocked.insert(&key)?;
            filter.positions(hasher.digest(&key)).for_each(|place| set[place as usize] = true);
        }
        let (mut sum, mut sum_of_squares) = (0, 0);
        for key in keys..keys + asked {
            let clear =
                filter.positions(hasher.digest(&key)).position(|place| !set[place as usize]);
            let seen = clear.map_or(u64::from(PROBES), |place| place as u64 + 1);
            if clear.is_none() != filter.contains(&key) {
                return Err(StudyError::wrong("a Bloom filter differs from its own positions"));
            }
            sum += seen;
            sum_of_squares += seen * seen;
        }
        let fill = set.iter().filter(|bit| **bit).count() as f64 / bits as f64;
        let theory = rejection::probes_of_absent_key(fill, PROBES)?;
        rows.push(Probes { tenths, keys, fill, asked, sum, sum_of_squares, theory });

        let strangers: Rc<[u64]> =
            (keys..keys + timed).map(|key| key ^ random.number() << 40).collect();
        contenders.push(contender(name(BLOOM, tenths), filter, Rc::clone(&strangers)));
        contenders.push(contender(name(BLOCKED, tenths), blocked, strangers));
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
    let against = rows.iter().filter(|row| !row.mean(confidence).holds(row.theory)).count();
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
            " At a fill of {}, near which a filter works best, a stranger costs {} of {PROBES} probes.",
            percent(row.fill, 3),
            decimal(row.mean(CONFIDENCE).value, 3)
        )
    });
    Ok(Figure {
        id: "filters-rejection",
        title: "The time of rejection".to_string(),
        question:
            "How many bits does a Bloom filter look at before it rejects, and what does that cost?"
                .to_string(),
        method: format!(
            "Filters of {} bits with k = {PROBES}, filled to between a tenth and nine tenths; for {} \
             strangers, the number of positions up to the first clear bit. Theory: (1 − p^[k])/(1 − p). \
             Times beside it: all filters take turns; the median over the rounds of the ratio to Bloom’s \
             time at the lowest fill in the same round. Bars: 95% intervals, normal for probes, by the \
             order of the values for times. A blocked filter looks at one line of memory at any fill.",
            thousands(bits),
            thousands(rows.first().map_or(0, |row| row.asked)),
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "probes of an absent key".to_string(),
                x: Axis::linear("share of bits that are set").with_format(Format::Percent),
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
                title: "time of rejection".to_string(),
                x: Axis::linear("share of bits that are set").with_format(Format::Percent),
                y: Axis::from_zero("time over Bloom’s at lowest fill").with_format(Format::Ratio),
                series: vec![
                    Series::trace(BLOOM, Hue::Bloom, times(BLOOM)),
                    Series::trace(BLOCKED, Hue::Blocked, times(BLOCKED)),
                ],
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(against == 0),
            sentence: format!(
                "{}{half}",
                match against {
                    0 => "The number of probes agrees with theory at every fill.".to_string(),
                    some => format!(
                        "The number of probes contradicts theory at {some} of {} fills.",
                        rows.len()
                    ),
                }
            ),
            test: format!(
                "Test: theory within the normal interval of the mean at each of {} fills, corrected for \
                 their number (Bonferroni); probability of a false alarm at most {}%.",
                rows.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
