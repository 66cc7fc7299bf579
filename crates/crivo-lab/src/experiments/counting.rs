//! Counting Bloom filters: counter values, overflow, and overestimated counts.

use crivo::KeyHasher;
use crivo::filter::{Count, CounterWidth, CountingBloom};
use crivo::theory::{bloom, counting};
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::quality::ChiSquare;
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, proportion, proportion_of_samples};

/// Counter values and overflow, compared with theory.
#[derive(Debug)]
pub(super) struct Counting;

/// The number of counters with a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Value {
    value: u64,
    counters: u64,
    /// The fraction of counters with this value in theory.
    theory: f64,
}

/// Small filters of a given load, and how many overflowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Overflow {
    keys: u64,
    /// Increments per counter, kn/m.
    load: f64,
    filters: u64,
    /// Filters in which some counter took 16 increments or more.
    overflowed: u64,
    theory: f64,
    bound: f64,
}

/// How often a count is too high.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Excess {
    bits_per_key: f64,
    queries: u64,
    filters: u32,
    /// Keys inserted once whose count is above 1.
    too_high: u64,
    /// The sum of the squares of that number for each filter.
    too_high_squares: u64,
    theory: f64,
}

/// Counters of a small filter.
const SMALL: u64 = 1024;
const SMALL_PROBES: u32 = 4;
const FOUR_BITS: u32 = 4;

impl Experiment for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let mut random = context.random("counting seeds");
        let repetitions = context.repetitions();
        let keys: u64 = context.pick(2_000, 100_000, 100_000);
        let size = bloom::size(keys, 0.01)?;
        data.set_parameter("keys", keys);
        data.set_parameter("counters", size.bits);
        data.set_parameter("probes", size.probes);
        let loads: Vec<u64> =
            (5..=18).map(|half| half * SMALL / 2 / u64::from(SMALL_PROBES)).collect();
        let steps = u64::from(repetitions) + loads.len() as u64 * 2 + 7;

        let mut histogram = vec![0u64; 64];
        for repetition in 0..repetitions {
            let hasher = KeyHasher::xxh3(random.number());
            let mut filter =
                CountingBloom::with_size(size.bits, size.probes, CounterWidth::Eight, hasher)?;
            for key in 0..keys {
                filter.insert(&key);
            }
            for value in filter.counters() {
                histogram[usize::from(value).min(63)] += 1;
            }
            context.step(u64::from(repetition) + 1, steps);
        }
        let reach = |value: u64| -> Result<f64, StudyError> {
            Ok(if value == 0 { 1.0 } else { counting::reach(size.bits, keys, size.probes, value)? })
        };
        let highest = histogram.iter().rposition(|&count| count > 0).unwrap_or(0) as u64 + 1;
        let mut values = Vec::new();
        for value in 0..=highest {
            let theory = reach(value)? - reach(value + 1)?;
            values.push(Value { value, counters: histogram[value as usize], theory });
        }
        data.add("values", &values)?;

        let filters = context.pick(50, 400, 3_000);
        let mut overflows = Vec::new();
        for (step, keys) in loads.into_iter().enumerate() {
            let mut overflowed = 0;
            for _ in 0..filters {
                let hasher = KeyHasher::xxh3(random.number());
                let mut filter =
                    CountingBloom::with_size(SMALL, SMALL_PROBES, CounterWidth::Eight, hasher)?;
                for key in 0..keys {
                    filter.insert(&key);
                }
                let highest = match filter.max_count() {
                    Count::AtMost(value) | Count::AtLeast(value) => value,
                };
                overflowed += u64::from(highest >= 16);
            }
            let one = counting::reach(SMALL, keys, SMALL_PROBES, 16)?;
            overflows.push(Overflow {
                keys,
                load: (keys * u64::from(SMALL_PROBES)) as f64 / SMALL as f64,
                filters,
                overflowed,
                // Counters of one filter are nearly independent.
                theory: -(SMALL as f64 * (-one).ln_1p()).exp_m1(),
                bound: counting::overflow_bound(SMALL, keys, SMALL_PROBES, FOUR_BITS)?,
            });
            context.step(u64::from(repetitions) + 2 * step as u64 + 2, steps);
        }
        data.add("overflow", &overflows)?;

        let keys: u64 = context.pick(1_000, 20_000, 100_000);
        let mut excess = Vec::new();
        for bits_per_key in [4u64, 6, 8, 10, 12, 14, 16] {
            let counters = bits_per_key * keys;
            let probes = bloom::best_probes(counters, keys)?;
            let (mut too_high, mut too_high_squares) = (0, 0);
            for _ in 0..repetitions {
                let hasher = KeyHasher::xxh3(random.number());
                let mut filter =
                    CountingBloom::with_size(counters, probes, CounterWidth::Eight, hasher)?;
                for key in 0..keys {
                    filter.insert(&key);
                }
                let mut of_filter = 0u64;
                for key in 0..keys {
                    match filter.count(&key) {
                        Count::AtMost(0) => {
                            return Err(StudyError::wrong(format_args!(
                                "false negative: a counting filter rejects {key}"
                            )));
                        }
                        count => of_filter += u64::from(count > Count::AtMost(1)),
                    }
                }
                too_high += of_filter;
                too_high_squares += of_filter * of_filter;
            }
            excess.push(Excess {
                bits_per_key: bits_per_key as f64,
                queries: keys * u64::from(repetitions),
                filters: repetitions,
                too_high,
                too_high_squares,
                theory: bloom::fpr_exact(counters, keys - 1, probes)?,
            });
            context.step(steps, steps);
        }
        data.add("excess", &excess)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        Ok(Section {
            title: "Counting Bloom filters",
            introduction: "With counters instead of bits, keys can be removed and counted. How \
                large must the counters be, and how accurate are the counts?"
                .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Fan2000],
            figures: vec![
                value_figure(data, &data.rows("values")?)?,
                overflow_figure(&data.rows("overflow")?)?,
                excess_figure(&data.rows("excess")?)?,
            ],
        })
    }
}

fn value_figure(data: &Dataset, values: &[Value]) -> Result<Figure, StudyError> {
    let total: u64 = values.iter().map(|each| each.counters).sum();
    let mut observed = Vec::new();
    let mut table = Table::new(&["value", "theory", "observed", "counters"]);
    for each in values {
        let estimate = proportion(each.counters, total, CONFIDENCE)?;
        if each.counters > 0 {
            observed.push((each.value as f64, estimate));
        }
        table.row([
            each.value.to_string(),
            percent(each.theory, 3),
            percent(estimate.value, 3),
            thousands(each.counters),
        ]);
    }
    // Classes of five expected counters and more; the last takes the whole tail.
    let (mut statistic, mut classes) = (0.0, 0usize);
    let (mut seen, mut expected) = (0u64, 0.0);
    for (i, each) in values.iter().enumerate() {
        seen += each.counters;
        expected += each.theory * total as f64;
        let rest: f64 = values[i + 1..].iter().map(|each| each.theory * total as f64).sum();
        if expected >= 5.0 && (rest >= 5.0 || i + 1 == values.len()) {
            statistic += (seen as f64 - expected).powi(2) / expected;
            classes += 1;
            (seen, expected) = (0, 0.0);
        }
    }
    if expected > 0.0 {
        statistic += (seen as f64 - expected).powi(2) / expected;
        classes += 1;
    }
    // Two constraints: the number of all counters, and the sum of their values.
    let test = ChiSquare::new(statistic, classes.saturating_sub(2));
    let agrees = test.p_uneven > FALSE_ALARM;
    let highest = values.iter().rev().find(|each| each.counters > 0).map_or(0, |each| each.value);
    let (keys, probes): (u64, u32) = (data.parameter("keys")?, data.parameter("probes")?);
    let counters: u64 = data.parameter("counters")?;
    Ok(Figure {
        id: "counting-values",
        title: "Distribution of counter values".to_string(),
        question: "Do counters follow the binomial distribution?".to_string(),
        method: format!(
            "{} filters sized for 1%: {} keys, k = {probes}, {} counters of eight bits each. Theory: \
             kn increments, each of a uniformly chosen counter. Bars: exact 95% intervals.",
            total / counters.max(1),
            thousands(keys),
            thousands(counters),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("value of a counter"),
            y: Axis::logarithmic("fraction of counters"),
            series: vec![
                Series::line(
                    "theory: binomial",
                    Hue::Theory,
                    values.iter().map(|each| (each.value as f64, each.theory)),
                ),
                Series::dots("observed", Hue::Counting, observed),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(agrees),
            sentence: format!(
                "The values {} the binomial distribution (p = {}); the maximum of {} counters is \
                 {highest}; a counter of four bits holds up to 15.",
                if agrees { "follow" } else { "do not follow" },
                decimal(test.p_uneven, 2),
                thousands(total),
            ),
            test: format!(
                "Test: chi-square with {} degrees of freedom, for {classes} classes minus two: the number \
                 of counters and the sum of their values are fixed. Probability of a false alarm \
                 {}%.",
                classes.saturating_sub(2),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn overflow_figure(overflows: &[Overflow]) -> Result<Figure, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / overflows.len().max(1) as f64;
    let mut against = 0;
    let mut observed = Vec::new();
    let mut table = Table::new(&["load kn/m", "theory", "observed", "95% interval"]);
    for each in overflows {
        let estimate = proportion(each.overflowed, each.filters, CONFIDENCE)?;
        against += usize::from(
            !proportion(each.overflowed, each.filters, confidence)?.contains(each.theory),
        );
        observed.push((each.load, estimate));
        table.row([
            decimal(each.load, 2),
            percent(each.theory, 3),
            percent(estimate.value, 3),
            format!("{}–{}", percent(estimate.low, 2), percent(estimate.high, 2)),
        ]);
    }
    let usual = counting::overflow(1_000_000, 144_270, 5, FOUR_BITS)?;
    Ok(Figure {
        id: "counting-overflow",
        title: "Overflow of four-bit counters".to_string(),
        question: "How far can a filter be overfilled before a four-bit counter overflows?"
            .to_string(),
        method: format!(
            "{} filters of {SMALL} counters and k = {SMALL_PROBES} for each load, filled far beyond \
             the optimum (kn/m = 0.69); a filter counts if some counter received 16 increments or more. \
             Theory: the exact probability for one counter, for {SMALL} independent counters. Dashes: the bound \
             of Fan et al. Bars: exact 95% intervals.",
            thousands(overflows.first().map_or(0, |each| each.filters)),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("load, increments per counter"),
            y: Axis::from_zero("filters with an overflow").with_format(TickFormat::Percent),
            series: vec![
                Series::dashed(
                    "bound of Fan et al.",
                    Hue::Limit,
                    overflows.iter().map(|each| (each.load, each.bound)),
                ),
                Series::line(
                    "theory",
                    Hue::Theory,
                    overflows.iter().map(|each| (each.load, each.theory)),
                ),
                Series::dots("observed", Hue::Counting, observed),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: format!(
                "{} At the design load of a filter, a million counters overflow with a probability \
                 below {}.",
                match against {
                    0 => "Observation agrees with theory at every load.".to_string(),
                    some => format!(
                        "Observation contradicts theory at {some} of {} loads.",
                        overflows.len()
                    ),
                },
                decimal(usual, 1),
            ),
            test: format!(
                "Test: theory within the exact interval at each of {} loads, corrected for their \
                 number (Bonferroni); probability of a false alarm at most {}%.",
                overflows.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn excess_figure(excess: &[Excess]) -> Result<Figure, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / excess.len().max(1) as f64;
    let mut against = 0;
    let mut observed = Vec::new();
    let mut table = Table::new(&["counters per key", "theory", "observed", "95% interval"]);
    for each in excess {
        let estimate = proportion(each.too_high, each.queries, CONFIDENCE)?;
        let counts = (each.too_high, each.too_high_squares);
        let tested = proportion_of_samples(each.filters, each.queries, counts, confidence)?;
        against += usize::from(!tested.contains(each.theory));
        observed.push((each.bits_per_key, estimate));
        table.row([
            decimal(each.bits_per_key, 2),
            percent(each.theory, 3),
            percent(estimate.value, 3),
            format!("{}–{}", percent(estimate.low, 3), percent(estimate.high, 3)),
        ]);
    }
    Ok(Figure {
        id: "counting-excess",
        title: "Overestimated counts".to_string(),
        question: "How accurate is the count of a counting filter?".to_string(),
        method: "Every key is inserted once and then counted. A count of 2 or more means that \
            other keys incremented all of its counters. The same event makes an absent key a false \
            positive, so it has the same probability. Bars: exact 95% intervals."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("counters per key"),
            y: Axis::logarithmic("keys counted too high").with_format(TickFormat::Percent),
            series: vec![
                Series::line("theory: the false-positive rate", Hue::Theory, excess.iter().map(|each| (each.bits_per_key, each.theory))),
                Series::dots("observed", Hue::Counting, observed),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: match against {
                0 => "The count is an upper bound: never too low in this run, and too high as often as the \
                      false-positive rate of a filter of that size."
                    .to_string(),
                some => format!("The rate of counts that are too high contradicts theory for {some} of {} sizes.", excess.len()),
            },
            test: format!(
                "Test: theory within the interval at each of {} sizes, the wider of the exact interval and \
                 Student’s interval over the filters, corrected for their number (Bonferroni); probability of a \
                 false alarm at most {}%.",
                excess.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
