//! Hash compaction: keys compressed to l bits.
//!
//! Two keys with the same l bits are one key to the table. The thesis says that this does not happen
//! for l ≥ log2 n, and that the error is 2^−l. In fact n keys collide much earlier (the birthday
//! bound), and an absent key is taken for one of n keys with probability n/2^l.

use crivo::KeyHasher;
use crivo::theory::compaction;
use crivo_exact::{CompactedMap, Inserted};
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::fpr::{ObservedFpr, contradictions, describe_test, finding};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, proportion};

/// Collisions and false positives of compressed keys.
#[derive(Debug)]
pub(super) struct Compaction;

/// Keys with the same bits as another key, in one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Collisions {
    hash_bits: u32,
    keys: u64,
    repetition: u32,
    collided: u64,
}

/// Tables with at least one collision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Birthday {
    hash_bits: u32,
    keys: u64,
    tables: u64,
    with_collision: u64,
    theory: f64,
    approximate: f64,
}

/// The l of the birthday figure.
const BIRTHDAY_BITS: u32 = 32;

impl Experiment for Compaction {
    fn name(&self) -> &'static str {
        "compaction"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let words = context.words();
        let limit = context.pick(3_000, 50_000, usize::MAX);
        let words = words.sample(limit);
        let keys = words.len() as u64;
        let repetitions = context.repetitions();
        data.set_parameter("keys", keys);
        data.set_parameter("words", context.words().name());
        let mut random = context.random("compaction seeds");
        let bits: Vec<u32> = (10..=40).step_by(2).collect();
        let steps = bits.len() as u64 + 10;
        let absent: Vec<String> = (0..keys).map(|i| format!("{i} is no word")).collect();
        let mut collisions = Vec::new();
        let mut rates = Vec::new();
        for (done, &hash_bits) in bits.iter().enumerate() {
            let mut row = ObservedFpr {
                filter: "hash compaction".to_string(),
                x: f64::from(hash_bits),
                bits: u64::from(hash_bits),
                keys,
                probes: 1,
                filters: repetitions,
                queries: keys * u64::from(repetitions),
                false_positives: 0,
                false_positive_squares: 0,
                theory: compaction::fpr(keys, hash_bits)?,
            };
            for repetition in 0..repetitions {
                let hasher = KeyHasher::xxh3(random.number());
                let mut map = CompactedMap::<&str, ()>::with_hasher(hash_bits, hasher)?;
                let collided = insert_all(&mut map, &words)?;
                if let Some(missed) = words.iter().find(|word| !map.contains_key(**word)) {
                    return Err(StudyError::wrong(format_args!(
                        "false negative: hash compaction misses {missed:?}"
                    )));
                }
                collisions.push(Collisions { hash_bits, keys, repetition, collided });
                let accepted = absent.iter().filter(|key| map.contains_key(key.as_str()));
                row.add(accepted.count() as u64);
            }
            rates.push(row);
            context.step(done as u64 + 1, steps);
        }
        data.add("collisions", &collisions)?;
        data.add("fpr", &rates)?;

        let tables = context.pick(10, 60, 300);
        let mut birthdays = Vec::new();
        for (step, power) in (0..9).enumerate() {
            // 8,192 keys and up, in steps of √2.
            let keys = (8192.0 * 2f64.powf(f64::from(power) / 2.0)).round() as u64;
            let mut with_collision = 0;
            for _ in 0..tables {
                let hasher = KeyHasher::xxh3(random.number());
                let mut map = CompactedMap::<u64, ()>::with_capacity_and_hasher(
                    BIRTHDAY_BITS,
                    keys as usize,
                    hasher,
                )?;
                let mut collided = false;
                for key in 0..keys {
                    if matches!(map.insert(&key, ())?, Inserted::ProbablyReplaced(())) {
                        collided = true;
                        break;
                    }
                }
                with_collision += u64::from(collided);
            }
            birthdays.push(Birthday {
                hash_bits: BIRTHDAY_BITS,
                keys,
                tables,
                with_collision,
                theory: compaction::collision(keys, BIRTHDAY_BITS)?,
                approximate: compaction::collision_approximate(keys, BIRTHDAY_BITS)?,
            });
            context.step(bits.len() as u64 + 1 + step as u64, steps);
        }
        data.add("birthdays", &birthdays)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        Ok(Section {
            title: "Hash compaction and birthdays",
            introduction:
                "Instead of a key, store l bits of its hash: a dictionary of a few bytes \
                per entry, for keys of any length. The price is that two keys may have the same \
                bits. How soon and how often does that happen?"
                    .to_string(),
            sources: &[Source::WolperLeroy1993, Source::Silva2022],
            figures: vec![
                birthday_figure(&data.rows("birthdays")?)?,
                collision_figure(data, &data.rows("collisions")?)?,
                fpr_figure(data, &data.rows("fpr")?)?,
            ],
        })
    }
}

/// Inserts every word; returns the number of words that collided with another.
fn insert_all(map: &mut CompactedMap<&str, ()>, words: &[&str]) -> Result<u64, StudyError> {
    let mut collided = 0;
    for word in words {
        collided += u64::from(matches!(map.insert(*word, ())?, Inserted::ProbablyReplaced(())));
    }
    Ok(collided)
}

/// The expected number of colliding keys: n minus the number of distinct values.
fn expected_collisions(keys: u64, hash_bits: u32) -> f64 {
    let (keys, values) = (keys as f64, 2f64.powi(hash_bits as i32));
    keys + values * (keys * (-1.0 / values).ln_1p()).exp_m1()
}

fn birthday_figure(birthdays: &[Birthday]) -> Result<Figure, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / birthdays.len().max(1) as f64;
    let mut observed = Vec::new();
    let mut against = 0;
    let mut table = Table::new(&["keys", "theory", "observed", "95% interval"]);
    for each in birthdays {
        let estimate = proportion(each.with_collision, each.tables, CONFIDENCE)?;
        against += usize::from(
            !proportion(each.with_collision, each.tables, confidence)?.contains(each.theory),
        );
        observed.push((each.keys as f64, estimate));
        table.row([
            thousands(each.keys),
            percent(each.theory, 3),
            percent(estimate.value, 3),
            format!("{}–{}", percent(estimate.low, 3), percent(estimate.high, 3)),
        ]);
    }
    let ends =
        [birthdays.first(), birthdays.last()].map(|end| end.map_or(1.0, |end| end.keys as f64));
    let [first, last] = ends;
    let curve = (0..=60).map(|i| first * (last / first).powf(f64::from(i) / 60.0));
    let mut theory = Vec::new();
    for keys in curve {
        theory.push((keys, compaction::collision(keys as u64, BIRTHDAY_BITS)?));
    }
    let half = theory.iter().find(|(_, probability)| *probability >= 0.5).map_or(String::new(), |(keys, _)| {
        format!(
            " In theory the probability of a collision reaches one half at about {} keys, although {BIRTHDAY_BITS} \
             bits have 2^[{BIRTHDAY_BITS}] values: l must be about 2·log₂ n, not log₂ n.",
            thousands((keys / 1000.0).round() as u64 * 1000),
        )
    });
    let seen = birthdays.iter().find(|each| each.with_collision > 0).map_or(0, |each| each.keys);
    let tables = birthdays.first().map_or(0, |each| each.tables);
    Ok(Figure {
        id: "compaction-birthdays",
        title: "Probability that any two of n keys have the same 32 bits".to_string(),
        question: "When does the first collision occur? The thesis says: never if l ≥ log₂ n."
            .to_string(),
        method: format!(
            "{tables} tables for each n, each with its own seed, with keys compressed to {BIRTHDAY_BITS} \
             bits; a table counts if any two keys collide. Theory: 1 − Π(1 − i/2³²). Bars: \
             exact 95% intervals."
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("n, keys"),
            y: Axis::from_zero("tables with a collision").with_format(TickFormat::Percent),
            series: vec![
                Series::line("theory: birthday bound", Hue::Theory, theory),
                Series::dots("observed", Hue::Counting, observed),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: format!(
                "{} A collision was seen with as few as {} keys.{half}",
                if against == 0 {
                    "Observation agrees with the birthday bound at every n.".to_string()
                } else {
                    format!(
                        "Observation contradicts the birthday bound at {against} of {} n.",
                        birthdays.len()
                    )
                },
                thousands(seen),
            ),
            test: format!(
                "Test: theory within the exact interval at each of {} n, corrected for their number \
                 (Bonferroni); probability of a false alarm at most {}%.",
                birthdays.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn collision_figure(data: &Dataset, collisions: &[Collisions]) -> Result<Figure, StudyError> {
    let keys: u64 = data.parameter("keys")?;
    let words: String = data.parameter("words")?;
    let mut bits: Vec<u32> = collisions.iter().map(|each| each.hash_bits).collect();
    bits.dedup();
    let mut observed = Vec::new();
    let mut against = 0;
    let mut table = Table::new(&["l", "theory", "observed, mean", "95% interval"]);
    for &hash_bits in &bits {
        let counts: Vec<f64> = collisions
            .iter()
            .filter(|each| each.hash_bits == hash_bits)
            .map(|each| each.collided as f64)
            .collect();
        let theory = expected_collisions(keys, hash_bits);
        // Rare events are Poisson: the interval for their sum is exact.
        let total: f64 = counts.iter().sum();
        let trials = keys * counts.len() as u64;
        let exact = proportion(total as u64, trials, 1.0 - FALSE_ALARM / bits.len() as f64)?;
        against += usize::from(!exact.contains(theory / keys as f64));
        let estimate = proportion(total as u64, trials, CONFIDENCE)?.scaled(keys as f64);
        observed.push((f64::from(hash_bits), estimate));
        table.row([
            hash_bits.to_string(),
            decimal(theory, 4),
            decimal(estimate.value, 4),
            format!("{}–{}", decimal(estimate.low, 4), decimal(estimate.high, 4)),
        ]);
    }
    // log2 n bits, which the thesis considers sufficient.
    let enough = bits.iter().copied().find(|&bits| f64::from(bits) >= (keys as f64).log2());
    let enough = enough.map_or(String::new(), |bits| {
        let collide = decimal(expected_collisions(keys, bits), 3);
        format!(
            "; with l = {bits}, which is not below log₂ n = {:.1}, {collide} words collide",
            (keys as f64).log2()
        )
    });
    let floor = 0.5 / collisions.len() as f64;
    let seen = observed.iter().filter(|(_, estimate)| estimate.value > floor).copied();
    Ok(Figure {
        id: "compaction-collisions",
        title: "Colliding keys".to_string(),
        question: "How many keys collide, for each width of the hash?".to_string(),
        method: format!(
            "{} words ({words}) inserted into a table of l-bit hashes; each word whose bits \
             are already present is counted. Theory: n − 2^[l]·(1 − (1 − 2^[−l])^[n]). Dots: means; bars: \
             exact 95% intervals. Widths without a collision are not plotted.",
            thousands(keys),
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("l, bits of hash"),
            y: Axis::logarithmic("colliding keys"),
            series: vec![
                Series::line(
                    "theory",
                    Hue::Theory,
                    (20..=80)
                        .map(|half| f64::from(half) / 2.0)
                        .map(|l| {
                            let values = 2f64.powf(l);
                            let n = keys as f64;
                            (l, n + values * (n * (-1.0 / values).ln_1p()).exp_m1())
                        })
                        .filter(|(_, expected)| *expected > floor),
                ),
                Series::dots("observed", Hue::Counting, seen),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: match against {
                0 => format!(
                    "The number of colliding keys agrees with theory at all {} widths{enough}.",
                    bits.len(),
                ),
                some => format!(
                    "The number of colliding keys contradicts theory at {some} of {} widths.",
                    bits.len()
                ),
            },
            test: format!(
                "Test: theory within the exact interval of the fraction of colliding keys at each of {} \
                 widths, corrected for their number (Bonferroni); probability of a false alarm at \
                 most {}%. For narrow hashes the number of collisions varies less than for independent \
                 events, so the intervals are conservative.",
                bits.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn fpr_figure(data: &Dataset, rates: &[ObservedFpr]) -> Result<Figure, StudyError> {
    let keys: u64 = data.parameter("keys")?;
    let against = contradictions(rates)?;
    let mut observed = Vec::new();
    let mut table = Table::new(&["l", "n/2^[l]", "theory", "observed"]);
    for row in rates {
        let estimate = row.observed()?;
        if row.false_positives > 0 {
            observed.push((row.x, estimate));
        }
        table.row([
            row.bits.to_string(),
            decimal(keys as f64 / 2f64.powf(row.x), 3),
            percent(row.theory, 3),
            percent(estimate.value, 3),
        ]);
    }
    let floor = 0.3 / rates.first().map_or(1.0, |row| row.queries as f64);
    let curve = |value: fn(f64, f64) -> f64| {
        (20..=80)
            .map(move |half| f64::from(half) / 2.0)
            .map(move |l| (l, value(keys as f64, 2f64.powf(-l))))
            .filter(move |(_, fpr)| *fpr > floor)
    };
    Ok(Figure {
        id: "compaction-fpr",
        title: "False positives of hash compaction".to_string(),
        question: "Is the error rate 2^[−l], as the thesis says, or n/2^[l]?".to_string(),
        method: format!(
            "Tables of {} words, queried with as many strings that are not words. Theory: \
             1 − (1 − 2^[−l])^[n]. Bars: exact 95% intervals; widths without a false positive are not \
             plotted.",
            thousands(keys)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("l, bits of hash"),
            y: Axis::logarithmic("false-positive rate").with_format(TickFormat::Percent),
            series: vec![
                Series::line(
                    "theory for n stored keys",
                    Hue::Theory,
                    curve(|n, p| -(n * (-p).ln_1p()).exp_m1()),
                ),
                Series::dashed("one stored key", Hue::Limit, curve(|_, p| p)),
                Series::dots("observed", Hue::Counting, observed),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            finding: finding(&against),
            sentence: if against.is_empty() {
                format!(
                    "All {} observed rates agree with theory: n/2^[l], and at most 1. 2^[−l] is the error \
                     rate of a single stored key.",
                    rates.len()
                )
            } else {
                format!("{} of {} observed rates contradict theory.", against.len(), rates.len())
            },
            test: describe_test(rates.len()),
        },
    })
}
