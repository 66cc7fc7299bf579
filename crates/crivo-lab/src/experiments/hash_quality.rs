//! Are the hash functions good enough?
//!
//! The report repeated here looked at ten members of the FarmHash family: at their histograms, at
//! their correlations ("|r| < 0.01"), and at the deviation of joint frequencies from the product
//! of the marginals ("around 1e-4"), and found all three small by eye. Here each has a p-value,
//! all p-values of a family are judged together, and one family that is bad on purpose shows that
//! the tests bite.

use crivo::Digest;
use crivo::hash::quality::{
    DigestTable, Hypothesis, Plan, chance_of_correlation_above, correlation_threshold,
    expected_mean_deviation, holm,
};
use crivo::hash::{Family, SeededIndices};
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, HeatMap, Hue, Look, Panel, Point, Series, decimal, percent, thousands,
};
use crate::report::{Figure, Outcome, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, share};
use crate::study::Context;

/// Uniformity, correlation and independence of every family.
#[derive(Debug)]
pub(super) struct HashQuality;

const FUNCTIONS: u32 = 10;
const BINS: usize = 100;
const JOINT_BINS: usize = 10;
/// The smallest p-value that has a place in the plot.
const LEAST_SHOWN: f64 = 1e-5;
const BAD: &str = "sum of bytes (bad)";
const STRETCHED: &str = "xxh3, one digest stretched";
/// The family whose histograms and correlations are shown whole.
const SHOWN: &str = "farm";

/// One bin of one function's histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bin {
    family: String,
    keys: String,
    function: usize,
    bin: usize,
    count: u64,
}

/// One comparison with its p-value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Comparison {
    family: String,
    keys: String,
    /// uniform, uncorrelated or independent
    hypothesis: String,
    first: usize,
    second: usize,
    /// Chi-square, or the coefficient of correlation.
    statistic: f64,
    degrees_of_freedom: usize,
    /// The mean deviation of joint frequencies, for independence.
    deviation: f64,
    p_value: f64,
}

/// All functions of one family over one set of keys.
struct Trial {
    family: String,
    keys: &'static str,
    table: DigestTable,
}

impl Experiment for HashQuality {
    fn name(&self) -> &'static str {
        "hash-quality"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let count: usize = context.pick(2_000, 100_000, 100_000);
        data.set_parameter("keys", count);
        data.set_parameter("words", context.words().name());
        let mut strings = context.strings("hash-quality");
        let strings: Vec<String> = (0..count as u64).map(|i| strings.get(i).to_string()).collect();
        let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
        let words = context.words().sample(count);
        let mut sets = vec![("random strings", strings)];
        // Too short a list of words leaves cells too empty for the test.
        if words.len() >= 5 * JOINT_BINS * JOINT_BINS {
            sets.push(("words", words));
        }
        let first_seed = context.random("hash-quality seeds").number() >> 33;
        let families = Family::ALL.len() + 2;
        let steps = (sets.len() * families) as u64;
        let (mut bins, mut comparisons, mut done) = (Vec::new(), Vec::new(), 0);
        for (keys, sample) in &sets {
            for family in 0..families {
                let (family, table) = digests(family, first_seed, sample)?;
                let trial = Trial { family, keys, table };
                trial.compare(&mut bins, &mut comparisons)?;
                done += 1;
                context.step(done, steps);
            }
        }
        data.add("histograms", &bins)?;
        data.add("comparisons", &comparisons)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let bins: Vec<Bin> = data.rows("histograms")?;
        let comparisons: Vec<Comparison> = data.rows("comparisons")?;
        let families = families(&comparisons)?;
        Ok(Section {
            title: "The quality of hash functions",
            introduction: "Every formula of this report takes hash functions for random ones: \
                every value equally likely, and no function’s value telling anything about \
                another’s. Real functions are neither random nor many; the question is whether a \
                sample of keys can tell. Three checks, over random strings and over words, which \
                resemble each other and try a hash harder; and one family that is bad on purpose: \
                the sum of the bytes, with the seed added."
                .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Holm1979],
            figures: vec![
                verdict_figure(data, &families, &comparisons)?,
                histogram_figure(data, &bins, &comparisons)?,
                correlation_figure(data, &comparisons)?,
                independence_figure(data, &comparisons)?,
            ],
        })
    }
}

/// The digests of all keys under the functions of the family of this number.
fn digests(
    family: usize,
    first_seed: u64,
    keys: &[&str],
) -> Result<(String, DigestTable), StudyError> {
    let keys = keys.iter().copied();
    if let Some(&family) = Family::ALL.get(family) {
        let name = family.name().to_string();
        if !family.is_seeded() {
            return Ok((name, DigestTable::of_hashers(&[family.with_seed(0)], keys)?));
        }
        let functions = SeededIndices::new(family, first_seed, FUNCTIONS)?;
        return Ok((name, DigestTable::of_hashers(functions.hashers(), keys)?));
    }
    if family == Family::ALL.len() {
        // What `Bloom` does: further values from one digest. 2^63 places keep 63 bits of each.
        let hasher = Family::Xxh3.with_seed(first_seed);
        let functions: Vec<_> = (0..FUNCTIONS as usize)
            .map(|i| {
                move |key: &&str| {
                    let mut indices = crivo::hash::Indices::new(hasher.digest(*key), 1 << 63);
                    Digest::new(indices.nth(i).unwrap_or(0) << 1)
                }
            })
            .collect();
        return Ok((STRETCHED.to_string(), DigestTable::new(&functions, keys)?));
    }
    let functions: Vec<_> = (0..u64::from(FUNCTIONS))
        .map(|seed| {
            // Sums of some ten to fifty letters, spread over the whole range.
            move |key: &&str| {
                let sum: u64 = key.bytes().map(u64::from).sum();
                Digest::new((sum + seed).wrapping_mul(u64::MAX / 6000))
            }
        })
        .collect();
    Ok((BAD.to_string(), DigestTable::new(&functions, keys)?))
}

impl Trial {
    fn compare(
        &self,
        bins: &mut Vec<Bin>,
        comparisons: &mut Vec<Comparison>,
    ) -> Result<(), StudyError> {
        let Self { family, keys, table } = self;
        let plan = Plan { bins: BINS, joint_bins: JOINT_BINS, alpha: FALSE_ALARM };
        let row = |hypothesis: Hypothesis, statistic, degrees_of_freedom, deviation, p_value| {
            let (hypothesis, first, second) = match hypothesis {
                Hypothesis::Uncorrelated(first, second) => ("uncorrelated", first, second),
                Hypothesis::Independent(first, second) => ("independent", first, second),
                Hypothesis::Uniform(first) => ("uniform", first, first),
                _ => ("other", 0, 0),
            };
            Comparison {
                family: family.clone(),
                keys: (*keys).to_string(),
                hypothesis: hypothesis.to_string(),
                first,
                second,
                statistic,
                degrees_of_freedom,
                deviation,
                p_value,
            }
        };
        let assessment = table.assess(plan)?;
        for each in &assessment.uniformity {
            let (hypothesis, p_value) = each.outcome();
            let test = each.test;
            comparisons.push(row(
                hypothesis,
                test.statistic,
                test.degrees_of_freedom,
                0.0,
                p_value,
            ));
            for (bin, &count) in each.histogram.iter().enumerate() {
                let (family, keys) = (family.clone(), (*keys).to_string());
                bins.push(Bin { family, keys, function: each.function, bin, count });
            }
        }
        for (hypothesis, p_value) in assessment.correlation.outcomes() {
            if let Hypothesis::Uncorrelated(first, second) = hypothesis {
                let coefficient = assessment.correlation.matrix[first][second];
                comparisons.push(row(hypothesis, coefficient, 0, 0.0, p_value));
            }
        }
        for each in &assessment.independence {
            let (hypothesis, p_value) = each.outcome();
            let test = each.test;
            let deviation = each.mean_deviation();
            comparisons.push(row(
                hypothesis,
                test.statistic,
                test.degrees_of_freedom,
                deviation,
                p_value,
            ));
        }
        Ok(())
    }
}

/// What became of one family over one set of keys.
struct Judged {
    family: String,
    keys: String,
    /// Comparisons and failures: uniform, uncorrelated, independent.
    counts: [(usize, usize); 3],
    smallest: f64,
}

impl Judged {
    fn failures(&self) -> usize {
        self.counts.iter().map(|(_, failed)| failed).sum()
    }
}

const HYPOTHESES: [&str; 3] = ["uniform", "uncorrelated", "independent"];

/// Judges every family and set of keys; all of them together keep the level.
fn families(comparisons: &[Comparison]) -> Result<Vec<Judged>, StudyError> {
    let p_values: Vec<f64> = comparisons.iter().map(|each| each.p_value).collect();
    let adjusted = holm(&p_values)?;
    let mut judged: Vec<Judged> = Vec::new();
    for (each, p_value) in comparisons.iter().zip(adjusted) {
        let same = |one: &&mut Judged| one.family == each.family && one.keys == each.keys;
        if judged.iter_mut().find(same).is_none() {
            let (family, keys) = (each.family.clone(), each.keys.clone());
            judged.push(Judged { family, keys, counts: [(0, 0); 3], smallest: 1.0 });
        }
        let Some(one) = judged.iter_mut().find(same) else { continue };
        if let Some(i) = HYPOTHESES.iter().position(|name| *name == each.hypothesis) {
            one.counts[i].0 += 1;
            one.counts[i].1 += usize::from(p_value <= FALSE_ALARM);
        }
        one.smallest = one.smallest.min(p_value);
    }
    Ok(judged)
}

fn verdict_figure(
    data: &Dataset,
    families: &[Judged],
    comparisons: &[Comparison],
) -> Result<Figure, StudyError> {
    let mut table = Table::new(&[
        "family",
        "keys",
        "uniform",
        "uncorrelated",
        "independent",
        "smallest p, adjusted",
    ]);
    for each in families {
        let cell = |(made, failed): (usize, usize)| match (made, failed) {
            (0, _) => "–".to_string(),
            (made, 0) => format!("{made} pass"),
            (made, failed) => format!("{failed} of {made} fail"),
        };
        let [uniform, uncorrelated, independent] = each.counts.map(cell);
        table.row([
            each.family.clone(),
            each.keys.clone(),
            uniform,
            uncorrelated,
            independent,
            if each.smallest < 1e-300 {
                "< 10⁻³⁰⁰".to_string()
            } else {
                decimal(each.smallest, 2)
            },
        ]);
    }
    let (bad, good): (Vec<&Judged>, Vec<&Judged>) =
        families.iter().partition(|each| each.family == BAD);
    let failed: Vec<String> = good
        .iter()
        .filter(|each| each.failures() > 0)
        .map(|each| format!("{} over {}", each.family, each.keys))
        .collect();
    let bites =
        bad.iter().all(|each| each.counts.iter().all(|(made, failed)| *made == 0 || *failed > 0));
    let names = {
        let mut names: Vec<&str> = good.iter().map(|each| each.family.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let sentence = format!(
        "{} {}",
        if failed.is_empty() {
            format!("All {names} constructions pass every comparison.")
        } else {
            format!("These fail: {}.", failed.join("; "))
        },
        if bites {
            "The family that is bad on purpose fails all three checks, so the tests bite."
        } else {
            "The family that is bad on purpose passes a check it should fail: the sample is too small."
        },
    );
    // Sorted p-values of a perfect family lie on the diagonal.
    let line = |family: &str| {
        let mut p: Vec<f64> = comparisons
            .iter()
            .filter(|each| each.family == family)
            .map(|each| each.p_value.max(LEAST_SHOWN))
            .collect();
        p.sort_by(f64::total_cmp);
        let count = p.len() as f64;
        p.into_iter().enumerate().map(|(i, p)| ((i as f64 + 0.5) / count, p)).collect::<Vec<_>>()
    };
    let hues = [
        ("xxh3", Hue::Bloom),
        ("sip24", Hue::Blocked),
        (SHOWN, Hue::Cuckoo),
        ("farm-fingerprint", Hue::Quotient),
        ("murmur3", Hue::Counting),
        (STRETCHED, Hue::Growing),
        (BAD, Hue::Bad),
    ];
    let mut series =
        vec![Series::line("perfect functions", Hue::Theory, [(0.002, 0.002), (1.0, 1.0)])];
    series.extend(hues.map(|(family, hue)| {
        let points =
            line(family).into_iter().map(|(x, y)| Point { x, y, interval: None }).collect();
        Series::new(family, hue, Look::Dots, points)
    }));
    let keys: u64 = data.parameter("keys")?;
    Ok(Figure {
        id: "hash-quality-p-values",
        title: "The p-values of all comparisons, in order".to_string(),
        question: "Can a sample of keys tell the hash families from random functions?".to_string(),
        method: format!(
            "Ten functions of each family (FarmHash’s fingerprint has one) over {} random strings \
             and as many words: 10 tests of uniformity over {BINS} bins, 45 of correlation, and 45 of \
             independence over {JOINT_BINS} × {JOINT_BINS} cells, each two-sided. The p-values of \
             perfect functions are uniform and lie on the diagonal; values below 10⁻⁵ are drawn \
             there.",
            thousands(keys)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("rank of the p-value, as a share"),
            y: Axis::logarithmic("p-value"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(failed.is_empty() && bites),
            sentence,
            test: format!(
                "Test: chi-square and Fisher’s z; the p-values of all {} comparisons are adjusted \
                 together by Holm’s method, so that perfect families fail anywhere with a probability \
                 of at most {}%.",
                comparisons.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn histogram_figure(
    data: &Dataset,
    bins: &[Bin],
    comparisons: &[Comparison],
) -> Result<Figure, StudyError> {
    let keys: u64 = data.parameter("keys")?;
    let expected = keys as f64 / BINS as f64;
    let of = |family: &str, function: usize| -> Vec<&Bin> {
        bins.iter()
            .filter(|bin| {
                bin.family == family && bin.function == function && bin.keys == "random strings"
            })
            .collect()
    };
    let p_value = |family: &str, function: usize| {
        comparisons
            .iter()
            .find(|each| {
                each.family == family
                    && each.hypothesis == "uniform"
                    && each.first == function
                    && each.keys == "random strings"
            })
            .map_or(1.0, |each| each.p_value)
    };
    let functions = (0..FUNCTIONS as usize).map(|function| (SHOWN, function));
    let panels = functions.chain([(BAD, 0)]).map(|(family, function)| {
        let (name, hue) =
            if family == BAD { ("bad on purpose", Hue::Bad) } else { ("FarmHash", Hue::Cuckoo) };
        let bars = of(family, function)
            .into_iter()
            .map(|bin| (bin.bin as f64, bin.count as f64 / expected));
        let p_value = p_value(family, function);
        let p_value = if p_value < 1e-12 {
            "< 10⁻¹²".to_string()
        } else {
            format!("= {}", decimal(p_value, 2))
        };
        Panel::Chart(Chart {
            title: format!("{name}, {}: p {p_value}", function + 1),
            x: Axis::linear(""),
            y: Axis::from_zero(""),
            series: vec![
                Series::bars(format!("keys in a bin over expected: {name}"), hue, bars),
                Series::line("expected", Hue::Theory, [(0.0, 1.0), (BINS as f64 - 1.0, 1.0)]),
            ],
        })
    });
    let mut table = Table::new(&["function", "chi-square", "p-value", "adjusted (Holm)"]);
    let uniform: Vec<&Comparison> = comparisons
        .iter()
        .filter(|each| {
            each.family == SHOWN && each.hypothesis == "uniform" && each.keys == "random strings"
        })
        .collect();
    let adjusted = holm(&uniform.iter().map(|each| each.p_value).collect::<Vec<_>>())?;
    for (each, adjusted) in uniform.iter().zip(&adjusted) {
        table.row([
            (each.first + 1).to_string(),
            decimal(each.statistic, 4),
            decimal(each.p_value, 2),
            decimal(*adjusted, 2),
        ]);
    }
    let failed = adjusted.iter().filter(|p| **p <= FALSE_ALARM).count();
    // How far a single bin of a perfect function strays.
    let bin = share((expected as u64).max(1), keys, CONFIDENCE)?;
    let (low, high) = (bin.low * BINS as f64, bin.high * BINS as f64);
    Ok(Figure {
        id: "hash-quality-histograms",
        title: "Histograms of ten FarmHash functions, and of a bad one".to_string(),
        question: "Does every one of ten FarmHash functions fill its range evenly?".to_string(),
        method: format!(
            "{} random strings in {BINS} equal bins; chi-square with {} degrees of freedom, \
             two-sided, since too even is a fault, too. One bin of a perfect function holds {} to {} \
             of what is expected, in 95% of cases.",
            thousands(keys),
            BINS - 1,
            percent(low, 3),
            percent(high, 3),
        ),
        panels: panels.collect(),
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(failed == 0),
            sentence: match failed {
                0 => "None of the ten histograms is further from uniform, or nearer to it, than chance explains.".to_string(),
                some => format!("{some} of ten histograms are not uniform."),
            },
            test: format!(
                "Test: chi-square, adjusted for ten comparisons by Holm’s method; probability of a \
                 false alarm at most {}%.",
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn correlation_figure(data: &Dataset, comparisons: &[Comparison]) -> Result<Figure, StudyError> {
    let keys: usize = data.parameter("keys")?;
    let of = |family: &str| -> Vec<&Comparison> {
        comparisons
            .iter()
            .filter(|each| {
                each.family == family
                    && each.hypothesis == "uncorrelated"
                    && each.keys == "random strings"
            })
            .collect()
    };
    let pairs = of(SHOWN);
    let threshold = correlation_threshold(FALSE_ALARM, keys, pairs.len())?;
    let heat = |family: &str, title: &str, full: f64| {
        let count = FUNCTIONS as usize;
        let mut values = vec![vec![None; count]; count];
        for each in of(family) {
            values[each.first][each.second] = Some(each.statistic);
            values[each.second][each.first] = Some(each.statistic);
        }
        Panel::Heat(HeatMap {
            title: title.to_string(),
            names: (1..=FUNCTIONS).map(|i| i.to_string()).collect(),
            values,
            full,
            label: "coefficient of correlation".to_string(),
        })
    };
    let largest =
        |family: &str| of(family).iter().map(|each| each.statistic.abs()).fold(0.0, f64::max);
    let mut table = Table::new(&["family", "largest |r|", "threshold", "verdict"]);
    for family in ["xxh3", "sip24", SHOWN, "murmur3", STRETCHED, BAD] {
        let each = largest(family);
        table.row([
            family.to_string(),
            decimal(each, 3),
            decimal(threshold, 3),
            if each < threshold { "passes" } else { "fails" }.to_string(),
        ]);
    }
    let passes = largest(SHOWN) < threshold;
    let habit = chance_of_correlation_above(0.01, keys, pairs.len())?;
    Ok(Figure {
        id: "hash-quality-correlation",
        title: "Correlation of every two functions".to_string(),
        question: "Do any two of ten FarmHash functions rise and fall together?".to_string(),
        method: format!(
            "Pearson’s coefficient of the digests as numbers, over {} random strings, for all 45 \
             pairs; the diagonal is left blank. Full colour on the left is the threshold, on the \
             right 1.",
            thousands(keys as u64)
        ),
        panels: vec![
            heat(SHOWN, "FarmHash", threshold),
            heat(BAD, "Bad on purpose: sums of bytes", 1.0),
        ],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(passes),
            sentence: format!(
                "The largest |r| is {}, {} the {} that 45 pairs of perfect functions stay below but \
                 for a chance of {}%. The usual limit of 0.01 would fail perfect functions in {} of \
                 runs.",
                decimal(largest(SHOWN), 3),
                if passes { "below" } else { "above" },
                decimal(threshold, 3),
                100.0 * FALSE_ALARM,
                percent(habit, 2),
            ),
            test: format!(
                "Test: Fisher’s z of the largest of 45 coefficients, corrected for their number \
                 (Bonferroni); probability of a false alarm at most {}%.",
                100.0 * FALSE_ALARM
            ),
        },
    })
}

fn independence_figure(data: &Dataset, comparisons: &[Comparison]) -> Result<Figure, StudyError> {
    let keys: usize = data.parameter("keys")?;
    let expected = expected_mean_deviation(keys, JOINT_BINS)?;
    let of = |family: &str| -> Vec<&Comparison> {
        comparisons
            .iter()
            .filter(|each| {
                each.family == family
                    && each.hypothesis == "independent"
                    && each.keys == "random strings"
            })
            .collect()
    };
    let pairs = of(SHOWN);
    let points = |family: &str| -> Vec<Point> {
        of(family)
            .iter()
            .enumerate()
            .map(|(i, each)| Point { x: i as f64 + 1.0, y: each.deviation, interval: None })
            .collect()
    };
    // The mean over all cells of |normal| has this relative scatter.
    let cells = ((JOINT_BINS - 1) * (JOINT_BINS - 1)) as f64;
    let scatter = 1.96 * (std::f64::consts::FRAC_PI_2 - 1.0).sqrt() / cells.sqrt();
    let band = Estimate {
        value: expected,
        low: expected * (1.0 - scatter),
        high: expected * (1.0 + scatter),
    };
    let adjusted = holm(&pairs.iter().map(|each| each.p_value).collect::<Vec<_>>())?;
    let failed = adjusted.iter().filter(|p| **p <= FALSE_ALARM).count();
    let smallest = adjusted.iter().copied().fold(1.0, f64::min);
    let mean =
        crate::statistics::mean(&pairs.iter().map(|each| each.deviation).collect::<Vec<_>>());
    let count = pairs.len().max(1) as f64;
    Ok(Figure {
        id: "hash-quality-independence",
        title: "Deviation of joint frequencies from the product of the marginals".to_string(),
        question: "Does the value of one function tell anything about another’s?".to_string(),
        method: format!(
            "For each pair, {} random strings in {JOINT_BINS} × {JOINT_BINS} cells: the mean \
             absolute difference between a cell’s frequency and the product of its margins’. \
             Independent functions deviate by √(2/πn)·p(1 − p) in the mean, for p = 1/{JOINT_BINS}; \
             dashes: between these, 95% of pairs.",
            thousands(keys as u64)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("pair of functions"),
            y: Axis::logarithmic("mean deviation"),
            series: vec![
                Series::line(
                    "independent functions",
                    Hue::Theory,
                    [(1.0, band.value), (count, band.value)],
                ),
                Series::dashed(
                    "95% of independent pairs",
                    Hue::Limit,
                    [(1.0, band.low), (count, band.low)],
                ),
                Series::dashed(
                    "95% of independent pairs",
                    Hue::Limit,
                    [(1.0, band.high), (count, band.high)],
                ),
                Series::new("FarmHash", Hue::Cuckoo, Look::Dots, points(SHOWN)),
                Series::new("XXH3", Hue::Bloom, Look::Dots, points("xxh3")),
                Series::new("bad on purpose", Hue::Bad, Look::Dots, points(BAD)),
            ],
        })],
        table: None,
        verdict: Verdict {
            outcome: Outcome::of(failed == 0),
            sentence: format!(
                "FarmHash deviates by {} in the mean, where independent functions deviate by {}; {}",
                decimal(mean, 3),
                decimal(expected, 3),
                if failed == 0 {
                    format!(
                        "no pair fails its chi-square test (smallest adjusted p: {}).",
                        decimal(smallest, 2)
                    )
                } else {
                    format!("{failed} of {} pairs fail their chi-square test.", pairs.len())
                },
            ),
            test: format!(
                "Test: chi-square with {} degrees of freedom for each pair, adjusted for {} \
                 comparisons by Holm’s method; probability of a false alarm at most {}%.",
                (JOINT_BINS - 1).pow(2),
                pairs.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
