//! What the comparisons say: verdicts, histograms, correlations, independence.

use crivo::hash::quality::{
    chance_of_correlation_above, correlation_threshold, expected_mean_deviation, holm,
};

use super::{BAD, BINS, Bin, Comparison, FUNCTIONS, JOINT_BINS, LEAST_SHOWN, SHOWN, STRETCHED};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, HeatMap, Hue, Look, Panel, Point, Series, decimal, percent, thousands,
};
use crate::report::{Figure, Outcome, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, share};

/// What became of one family over one set of keys.
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

const HYPOTHESES: [&str; 3] = ["uniform", "uncorrelated", "independent"];

/// Judges every family and set of keys; all of them together keep the level.
pub(super) fn families(comparisons: &[Comparison]) -> Result<Vec<Judged>, StudyError> {
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

pub(super) fn histogram_figure(
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

pub(super) fn correlation_figure(
    data: &Dataset,
    comparisons: &[Comparison],
) -> Result<Figure, StudyError> {
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

pub(super) fn independence_figure(
    data: &Dataset,
    comparisons: &[Comparison],
) -> Result<Figure, StudyError> {
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
