//! Figures of the comparisons: p-values, histograms, correlations, independence.

use crate::quality::{
    correlation_threshold, expected_mean_deviation, holm, probability_of_correlation_above,
};

use super::{
    BAD, BINS, Bin, FUNCTIONS, HypothesisRow, JOINT_BINS, MIN_SHOWN, SHOWN, STRETCHED, STRINGS,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, HeatMap, Hue, Look, Panel, Point, Series, decimal, percent, thousands,
};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, mean, normal_interval, proportion};

/// The results of one family over one set of keys.
pub(super) struct Judged {
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

/// The constructions that should pass, with their colours.
const GOOD: [(&str, Hue); 8] = [
    ("xxh3", Hue::Bloom),
    ("sip24", Hue::Blocked),
    (SHOWN, Hue::Cuckoo),
    ("farm-fingerprint", Hue::Quotient),
    ("murmur3", Hue::Counting),
    ("xxh64", Hue::Fuse),
    ("fold64", Hue::Linear),
    (STRETCHED, Hue::Growing),
];

fn is_good(family: &str) -> bool {
    GOOD.iter().any(|(name, _)| *name == family)
}

/// The comparisons of one hypothesis over random strings, of the families that pass `wanted`.
fn of_strings<'a>(
    comparisons: &'a [HypothesisRow],
    hypothesis: &str,
    wanted: impl Fn(&str) -> bool,
) -> Vec<&'a HypothesisRow> {
    let is_meant = |each: &&HypothesisRow| {
        each.hypothesis == hypothesis && each.keys == STRINGS && wanted(&each.family)
    };
    comparisons.iter().filter(is_meant).collect()
}

/// The p-values of these, adjusted together by Holm's method.
fn adjusted(comparisons: &[&HypothesisRow]) -> Result<Vec<f64>, StudyError> {
    Ok(holm(&comparisons.iter().map(|each| each.p_value).collect::<Vec<_>>())?)
}

const HYPOTHESES: [&str; 3] = ["uniform", "uncorrelated", "independent"];

/// Tests every family and set of keys, with p-values adjusted over all of them.
pub(super) fn families(comparisons: &[HypothesisRow]) -> Result<Vec<Judged>, StudyError> {
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

pub(super) fn verdict_figure(
    data: &Dataset,
    families: &[Judged],
    comparisons: &[HypothesisRow],
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
    let fails_all =
        |each: &&Judged| each.counts.iter().all(|(made, failed)| *made == 0 || *failed > 0);
    let has_power = !bad.is_empty() && bad.iter().all(fails_all);
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
        if has_power {
            "The deliberately bad family fails all three tests, so the tests have power."
        } else {
            "The deliberately bad family passes a test it should fail: the sample is too small."
        },
    );
    // Sorted p-values of a perfect family are on the diagonal.
    let line = |family: &str| {
        let mut p: Vec<f64> = comparisons
            .iter()
            .filter(|each| each.family == family)
            .map(|each| each.p_value.max(MIN_SHOWN))
            .collect();
        p.sort_by(f64::total_cmp);
        let count = p.len() as f64;
        p.into_iter().enumerate().map(|(i, p)| ((i as f64 + 0.5) / count, p)).collect::<Vec<_>>()
    };
    let mut series =
        vec![Series::line("perfect functions", Hue::Theory, [(0.002, 0.002), (1.0, 1.0)])];
    series.extend(GOOD.into_iter().chain([(BAD, Hue::Bad)]).map(|(family, hue)| {
        let points =
            line(family).into_iter().map(|(x, y)| Point { x, y, interval: None }).collect();
        Series::new(family, hue, Look::Dots, points)
    }));
    let keys: u64 = data.parameter("keys")?;
    Ok(Figure {
        id: "hash-quality-p-values",
        title: "Sorted p-values of all comparisons".to_string(),
        question: "Can a sample of keys distinguish the hash families from random functions?"
            .to_string(),
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
            x: Axis::logarithmic("relative rank of the p-value"),
            y: Axis::logarithmic("p-value"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(failed.is_empty() && has_power),
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

pub(super) fn histogram_figure(
    data: &Dataset,
    bins: &[Bin],
    comparisons: &[HypothesisRow],
) -> Result<Figure, StudyError> {
    let keys: u64 = data.parameter("keys")?;
    let expected = keys as f64 / BINS as f64;
    let uniform = of_strings(comparisons, "uniform", |_| true);
    let p_value = |family: &str, function: usize| {
        uniform
            .iter()
            .find(|each| each.family == family && each.first == function)
            .map(|each| p_text(each.p_value))
    };
    // The range of 95% of the bins of a perfect function.
    let stray = proportion((expected as u64).max(1), keys, CONFIDENCE)?.scaled(BINS as f64);
    let panel = |(family, hue): (&str, Hue), function: usize| {
        let of_function =
            |bin: &&Bin| bin.family == family && bin.function == function && bin.keys == STRINGS;
        let bars = bins
            .iter()
            .filter(of_function)
            .map(|bin| (bin.bin as f64, bin.count as f64 / expected));
        let p_value = p_value(family, function)?;
        let across = |y: f64| [(0.0, y), (BINS as f64 - 1.0, y)];
        Some(Panel::Chart(Chart {
            title: format!("{family}, {}: p {p_value}", function + 1),
            x: Axis::linear(""),
            y: Axis::from_zero(""),
            series: vec![
                Series::bars(family, hue, bars),
                Series::line("expected", Hue::Theory, across(1.0)),
                Series::dashed("95% of bins", Hue::Theory, across(stray.low)),
                Series::dashed("95% of bins", Hue::Theory, across(stray.high)),
            ],
        }))
    };
    // All functions of one family, the first of each of the others, and a bad one.
    let functions = (0..FUNCTIONS as usize).map(|function| ((SHOWN, Hue::Cuckoo), function));
    let others = GOOD.into_iter().filter(|(family, _)| *family != SHOWN).map(|each| (each, 0));
    let shown = functions.chain(others).chain([((BAD, Hue::Bad), 0)]);
    let panels = shown.filter_map(|(each, function)| panel(each, function)).collect();
    let mut table = Table::new(&["function"]);
    table.head.extend(GOOD.map(|(family, _)| format!("{family}, p")));
    for function in 0..FUNCTIONS as usize {
        let cell = |(family, _): (&str, Hue)| {
            p_value(family, function).map_or("–".to_string(), |p| p.replace("= ", ""))
        };
        table.row([(function + 1).to_string()].into_iter().chain(GOOD.map(cell)));
    }
    let good = of_strings(comparisons, "uniform", is_good);
    let failed = adjusted(&good)?.iter().filter(|p| **p <= FALSE_ALARM).count();
    Ok(Figure {
        id: "hash-quality-histograms",
        title: "Histograms of hash functions".to_string(),
        question: "Are the values of every function uniform?".to_string(),
        method: format!(
            "{} random strings in {BINS} equal bins; chi-square with {} degrees of freedom, \
             two-sided, because values that are too even are also a fault. Bars: keys in a bin over the \
             expected number, for all ten FarmHash functions, the first function of every other family, and \
             a deliberately bad one. Dashes: 95% of the bins of a perfect function have {} to {} of the \
             expected number.",
            thousands(keys),
            BINS - 1,
            percent(stray.low, 3),
            percent(stray.high, 3),
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(failed == 0),
            sentence: match failed {
                0 => {
                    format!("None of {} histograms differs significantly from uniform.", good.len())
                }
                some => format!("{some} of {} histograms are not uniform.", good.len()),
            },
            test: format!(
                "Test: chi-square, adjusted for {} comparisons by Holm’s method; probability of a false \
                 alarm at most {}%.",
                good.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

/// A p-value with its sign of relation.
fn p_text(p_value: f64) -> String {
    if p_value < 1e-12 { "< 10⁻¹²".to_string() } else { format!("= {}", decimal(p_value, 2)) }
}

pub(super) fn correlation_figure(
    data: &Dataset,
    comparisons: &[HypothesisRow],
) -> Result<Figure, StudyError> {
    let keys: usize = data.parameter("keys")?;
    let all = of_strings(comparisons, "uncorrelated", |_| true);
    let good = of_strings(comparisons, "uncorrelated", is_good);
    let threshold = correlation_threshold(FALSE_ALARM, keys, good.len().max(1))?;
    let mut table = Table::new(&["family", "largest |r|", "threshold", "verdict"]);
    let mut panels = Vec::new();
    let mut largest = (0.0, "");
    for (family, _) in GOOD.into_iter().chain([(BAD, Hue::Bad)]) {
        let pairs: Vec<_> = all.iter().filter(|each| each.family == family).collect();
        // A family of one function has no pairs.
        if pairs.is_empty() {
            continue;
        }
        let count = FUNCTIONS as usize;
        let mut values = vec![vec![None; count]; count];
        for each in &pairs {
            values[each.first][each.second] = Some(each.statistic);
            values[each.second][each.first] = Some(each.statistic);
        }
        panels.push(Panel::Heat(HeatMap {
            title: family.to_string(),
            names: (1..=FUNCTIONS).map(|i| i.to_string()).collect(),
            values,
            full: if family == BAD { 1.0 } else { threshold },
            label: "coefficient of correlation".to_string(),
        }));
        let highest = pairs.iter().map(|each| each.statistic.abs()).fold(0.0, f64::max);
        if family != BAD && highest > largest.0 {
            largest = (highest, family);
        }
        table.row([
            family.to_string(),
            decimal(highest, 3),
            decimal(threshold, 3),
            if highest < threshold { "passes" } else { "fails" }.to_string(),
        ]);
    }
    let passes = largest.0 < threshold;
    let pairs_of_ten = (FUNCTIONS * (FUNCTIONS - 1) / 2) as usize;
    let usual = probability_of_correlation_above(0.01, keys, pairs_of_ten)?;
    Ok(Figure {
        id: "hash-quality-correlation",
        title: "Correlation of all pairs of functions".to_string(),
        question: "Are any two functions of a family correlated?".to_string(),
        method: format!(
            "Pearson’s coefficient of the digests as numbers, over {} random strings, for all {pairs_of_ten} \
             pairs of ten functions of each family; the diagonal is blank. Theory: 0. Full colour is the \
             threshold; in the last map, of the sum of bytes, it is 1.",
            thousands(keys as u64)
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(passes),
            sentence: format!(
                "The largest |r| is {}, of {}, {} the threshold {} that {} pairs of perfect functions \
                 exceed with a probability of at most {}%. The usual limit of 0.01 would fail ten perfect functions in {} of \
                 runs.",
                decimal(largest.0, 3),
                largest.1,
                if passes { "below" } else { "above" },
                decimal(threshold, 3),
                good.len(),
                100.0 * FALSE_ALARM,
                percent(usual, 2),
            ),
            test: format!(
                "Test: Fisher’s z of the largest of {} coefficients, corrected for their number \
                 (Bonferroni); probability of a false alarm at most {}%.",
                good.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

pub(super) fn independence_figure(
    data: &Dataset,
    comparisons: &[HypothesisRow],
) -> Result<Figure, StudyError> {
    let keys: usize = data.parameter("keys")?;
    let expected = expected_mean_deviation(keys, JOINT_BINS)?;
    let all = of_strings(comparisons, "independent", |_| true);
    let good = of_strings(comparisons, "independent", is_good);
    let p_values = adjusted(&good)?;
    // The relative standard deviation of the mean of |normal| over all cells.
    let cells = ((JOINT_BINS - 1) * (JOINT_BINS - 1)) as f64;
    let deviation = (std::f64::consts::FRAC_PI_2 - 1.0).sqrt() / cells.sqrt();
    let band = normal_interval(expected, expected * deviation, CONFIDENCE);
    let pairs_of_ten = f64::from(FUNCTIONS * (FUNCTIONS - 1) / 2);
    let across = |y: f64| [(1.0, y), (pairs_of_ten, y)];
    let mut series = vec![
        Series::line("independent functions", Hue::Theory, across(band.value)),
        Series::dashed("95% of independent pairs", Hue::Theory, across(band.low)),
        Series::dashed("95% of independent pairs", Hue::Theory, across(band.high)),
    ];
    let mut table =
        Table::new(&["family", "mean deviation", "in theory", "fail", "smallest p, adjusted"]);
    for (family, hue) in GOOD.into_iter().chain([(BAD, Hue::Bad)]) {
        let pairs: Vec<_> = all.iter().copied().filter(|each| each.family == family).collect();
        if pairs.is_empty() {
            continue;
        }
        let points = pairs
            .iter()
            .enumerate()
            .map(|(i, each)| Point { x: i as f64 + 1.0, y: each.deviation, interval: None })
            .collect();
        series.push(Series::new(family, hue, Look::Dots, points));
        let deviations: Vec<f64> = pairs.iter().map(|each| each.deviation).collect();
        // The bad family is tested separately, so that it does not affect the others.
        let own: Vec<f64> = match family {
            BAD => adjusted(&pairs)?,
            _ => {
                let judged = good.iter().zip(&p_values).filter(|(each, _)| each.family == family);
                judged.map(|(_, p)| *p).collect()
            }
        };
        table.row([
            family.to_string(),
            decimal(mean(&deviations), 3),
            decimal(expected, 3),
            format!("{} of {}", own.iter().filter(|p| **p <= FALSE_ALARM).count(), own.len()),
            p_text(own.iter().copied().fold(1.0, f64::min)).replace("= ", ""),
        ]);
    }
    let failed = p_values.iter().filter(|p| **p <= FALSE_ALARM).count();
    let smallest = p_values.iter().copied().fold(1.0, f64::min);
    let deviations: Vec<f64> = good.iter().map(|each| each.deviation).collect();
    Ok(Figure {
        id: "hash-quality-independence",
        title: "Deviation of joint frequencies from the product of the marginals".to_string(),
        question: "Are the values of two functions independent?".to_string(),
        method: format!(
            "For each pair of functions, {} random strings in {JOINT_BINS} × {JOINT_BINS} cells: the mean \
             absolute difference between a cell’s frequency and the product of its margins’. \
             The expected deviation of independent functions is √(2/(πn))·p(1 − p), for p = 1/{JOINT_BINS}; \
             95% of pairs are between the dashes.",
            thousands(keys as u64)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("pair of functions"),
            y: Axis::logarithmic("mean deviation"),
            series,
        })],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(failed == 0),
            sentence: format!(
                "The mean deviation of the families is {}; that of independent functions is {}; {}",
                decimal(mean(&deviations), 3),
                decimal(expected, 3),
                if failed == 0 {
                    format!(
                        "none of {} pairs fails its chi-square test (smallest adjusted p: {}).",
                        good.len(),
                        decimal(smallest, 2)
                    )
                } else {
                    format!("{failed} of {} pairs fail their chi-square test.", good.len())
                },
            ),
            test: format!(
                "Test: chi-square with {} degrees of freedom for each pair, adjusted for {} \
                 comparisons by Holm’s method; probability of a false alarm at most {}%.",
                (JOINT_BINS - 1).pow(2),
                good.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
