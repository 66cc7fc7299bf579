//! The time of rejection: Bloom's own measure of a filter.

use crivo::KeyHasher;
use crivo::filter::{Blocked, Bloom, DynamicFilter, Filter};
use crivo::theory::rejection;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM};
use crate::study::Context;
use crate::timing::{Clock, Contender, Phase, Sample, Samples, interleave};

const PROBES: u32 = 7;
const TASK: &str = "reject";
const BLOOM: &str = "Bloom";
const BLOCKED: &str = "blocked";

/// Probes spent on absent keys, at one fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Probes {
    keys: u64,
    fill: f64,
    asked: u64,
    sum: u64,
    sum_of_squares: u64,
    theory: f64,
}

impl Probes {
    /// The mean, with the normal interval of so many standard errors.
    fn mean(&self, errors: f64) -> Estimate {
        let asked = self.asked as f64;
        let value = self.sum as f64 / asked;
        let variance = self.sum_of_squares as f64 / asked - value * value;
        let half = errors * (variance / asked).sqrt();
        Estimate { value, low: value - half, high: value + half }
    }
}

pub(super) fn measure(
    context: &Context<'_>,
    data: &mut Dataset,
) -> Result<Vec<Sample>, StudyError> {
    // Small enough to lie in the nearest cache: what is counted is probes, not misses.
    let bits: u64 = context.pick(8_192, 131_072, 131_072);
    let asked: u64 = context.pick(2_000, 100_000, 1_000_000);
    let mut random = context.random("filters rejection");
    let (mut rows, mut samples) = (Vec::new(), Vec::new());
    for tenth in 1..=9 {
        let fill = f64::from(tenth) / 10.0;
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
        rows.push(Probes { keys, fill, asked, sum, sum_of_squares, theory });

        let strangers: Vec<u64> =
            (keys..keys + asked.min(200_000)).map(|key| key ^ random.number() << 40).collect();
        let mut contenders = [
            Contender::new(BLOOM, |_| {
                Ok(strangers.iter().map(|key| u64::from(filter.contains(key))).sum())
            }),
            Contender::new(BLOCKED, |_| {
                Ok(strangers.iter().map(|key| u64::from(blocked.contains(key))).sum())
            }),
        ];
        let phase = Phase { task: TASK, operations: strangers.len(), expected: None };
        samples.extend(interleave(
            Clock::Processor,
            fill,
            context.repetitions(),
            &[phase],
            &mut contenders,
        )?);
    }
    data.set_parameter("rejection_bits", bits);
    data.add("rejection", &rows)?;
    Ok(samples)
}

pub(super) fn figure(data: &Dataset, samples: &[Sample]) -> Result<Figure, StudyError> {
    let rows: Vec<Probes> = data.rows("rejection")?;
    let bits: u64 = data.parameter("rejection_bits")?;
    let samples = Samples(samples);
    // Bonferroni over nine fills at 1%: 3.26 standard errors.
    let errors = 3.26;
    let against = rows.iter().filter(|row| !row.mean(errors).holds(row.theory)).count();
    let curve: Result<Vec<_>, StudyError> = (2..=95)
        .map(|percent| f64::from(percent) / 100.0)
        .map(|fill| Ok((fill, rejection::probes_of_absent_key(fill, PROBES)?)))
        .collect();
    let first = samples.xs(TASK).first().copied().unwrap_or(0.0);
    let base = samples.median(TASK, first, BLOOM).map_or(1.0, |time| time.value);
    let times = |name: &str| {
        samples
            .xs(TASK)
            .into_iter()
            .filter_map(|x| Some((x, samples.median(TASK, x, name)?.scaled(1.0 / base))))
            .collect::<Vec<_>>()
    };
    let mut table = Table::new(&["fill", "theory", "observed probes", "Bloom, ns", "blocked, ns"]);
    for row in &rows {
        let time = |name: &str| {
            samples
                .median(TASK, row.fill, name)
                .map_or("–".to_string(), |time| decimal(time.value, 3))
        };
        table.row([
            percent(row.fill, 3),
            decimal(row.theory, 4),
            decimal(row.mean(1.96).value, 4),
            time(BLOOM),
            time(BLOCKED),
        ]);
    }
    let half = rows.iter().min_by(|a, b| (a.fill - 0.5).abs().total_cmp(&(b.fill - 0.5).abs()));
    let half = half.map_or(String::new(), |row| {
        format!(
            " At a fill of {}, near which a filter works best, a stranger costs {} of {PROBES} probes.",
            percent(row.fill, 3),
            decimal(row.mean(1.96).value, 3)
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
             Times beside it: medians over Bloom’s at the lowest fill, with {}% intervals; a blocked \
             filter looks at one line of memory at any fill.",
            thousands(bits),
            thousands(rows.first().map_or(0, |row| row.asked)),
            100.0 * CONFIDENCE,
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
                        rows.iter().map(|row| (row.fill, row.mean(1.96))),
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
                "Test: theory within {errors} standard errors of the mean at each of {} fills; \
                 probability of a false alarm at most {}% in all.",
                rows.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
