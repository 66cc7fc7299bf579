//! How does the false-positive rate depend on the size?
//!
//! The report that is repeated here increased m from n to 10n in steps of n/2 and concluded that rate
//! and size are *inversely proportional*. They are not: every additional bit per key divides the rate
//! by the same factor, which is an exponential decrease.

use crivo::theory::bloom;

use super::Experiment;
use super::fpr::{
    ObservedFpr, SEEDED, SINGLE, contradictions, describe_test, finding, measure_blooms, of, panels,
};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal, percent, thousands};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, regression};

/// Observed and theoretical false-positive rates for m = n…10n.
#[derive(Debug)]
pub(super) struct BestM;

/// Twice the bits per key: from 2 to 20.
const HALF_STEPS: std::ops::RangeInclusive<u64> = 2..=20;

impl Experiment for BestM {
    fn name(&self) -> &'static str {
        "best-m"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let keys: u64 = context.pick(2_000, 100_000, 100_000);
        data.set_parameter("keys", keys);
        let mut dimensions = Vec::new();
        for half in HALF_STEPS {
            let bits = keys * half / 2;
            dimensions.push((half as f64 / 2.0, bits, bloom::best_probes(bits, keys)?));
        }
        let rates = measure_blooms(context, "best-m", keys, &dimensions, |done| {
            context.step(done, u64::from(context.repetitions()));
        })?;
        data.add("fpr", &rates)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rates: Vec<ObservedFpr> = data.rows("fpr")?;
        Ok(Section {
            title: "The size of the bit vector",
            introduction:
                "More bits per key mean fewer false positives. How many fewer? In theory, \
                with the best k, the rate is (1 − e^[−kn/m])^[k], about 0.6185 to the power of m/n."
                    .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Bloom1970, Source::ClopperPearson1934],
            figures: vec![fpr_figure(data, &rates)?, decrease_figure(&rates)?],
        })
    }
}

fn fpr_figure(data: &Dataset, rates: &[ObservedFpr]) -> Result<Figure, StudyError> {
    let (seeded, single) = (of(rates, SEEDED), of(rates, SINGLE));
    let mut table = Table::new(&["m/n", "k", "theory", "FarmHash", "XXH3"]);
    for (a, b) in seeded.iter().zip(&single) {
        table.row([
            format!("{:.1}", a.x),
            a.probes.to_string(),
            percent(a.theory, 4),
            percent(a.observed()?.value, 4),
            percent(b.observed()?.value, 4),
        ]);
    }
    let against = contradictions(rates)?;
    let agreement = if against.is_empty() {
        format!("All {} observed rates agree with theory", rates.len())
    } else {
        format!("{} of {} observed rates contradict theory", against.len(), rates.len())
    };
    let last = seeded.last().map_or(Ok(0.0), |row| row.observed().map(|o| o.value))?;
    let keys: u64 = data.parameter("keys")?;
    Ok(Figure {
        id: "best-m-fpr",
        title: "False-positive rate by bits per key, with the best k".to_string(),
        question: "Does the false-positive rate follow theory for every size?".to_string(),
        method: format!(
            "m from n to 10n in steps of n/2, each with the integer k that is best in theory; {} \
             filters for each, with new seeds; {} random strings are inserted and as many others are \
             queried. Bars: exact 95% intervals. Every inserted key was found.",
            rates.first().map_or(0, |row| row.filters),
            thousands(keys),
        ),
        panels: panels("m/n, bits per key", (SEEDED, &seeded), (SINGLE, &single), 0.07)?,
        table: Some(table),
        verdict: Verdict {
            finding: finding(&against),
            sentence: format!(
                "{agreement}. At ten bits per key the rate is {}; the report of 2015 observed 0.8185%.",
                percent(last, 4)
            ),
            test: describe_test(rates.len()),
        },
    })
}

fn decrease_figure(rates: &[ObservedFpr]) -> Result<Figure, StudyError> {
    // Below two bits per key k is 1, and the curve is not yet straight.
    let points: Vec<(f64, f64)> = rates
        .iter()
        .filter(|row| row.x >= 2.0 && row.false_positives > 0)
        .map(|row| (row.x, (row.false_positives as f64 / row.queries as f64).ln()))
        .collect();
    let line = regression(&points, 1.0 - FALSE_ALARM);
    let factor = |slope: f64| slope.exp();
    let expected = factor(-std::f64::consts::LN_2.powi(2));
    // Inverse proportionality means that ln FPR falls with slope −1 on ln m.
    let logarithmic: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), *y)).collect();
    let power = regression(&logarithmic, 1.0 - FALSE_ALARM);
    let inverse = power.slope.contains(-1.0);
    let (low, high) = (factor(line.slope.low), factor(line.slope.high));
    let sentence = format!(
        "Every additional bit per key multiplies the rate by {} ({} to {}); the limit in theory is {}. \
         For inverse proportionality the exponent of m would be −1; it is {} ({} to {}), so rate and \
         size are {}inversely proportional.",
        decimal(factor(line.slope.value), 4),
        decimal(low, 4),
        decimal(high, 4),
        decimal(expected, 4),
        decimal(power.slope.value, 3),
        decimal(power.slope.low, 3),
        decimal(power.slope.high, 3),
        if inverse { "" } else { "not " },
    );
    let observed =
        |row: &ObservedFpr| -> Result<_, StudyError> { Ok((row.x, row.observed()?.scaled(row.x))) };
    let single = of(rates, SINGLE);
    let products: Vec<_> = single.iter().map(|row| observed(row)).collect::<Result<_, _>>()?;
    let first = rates.first().map_or(0.0, |row| row.x * row.theory);
    Ok(Figure {
        id: "best-m-decrease",
        title: "Is the rate inversely proportional to the size?".to_string(),
        question: "“Inversely proportional”, as published, or exponential?".to_string(),
        method: format!(
            "If the rate were inversely proportional to m, their product would be constant. Two \
             regressions from two bits per key on: ln FPR on m/n, whose slope is the decrease per \
             bit, and ln FPR on ln m, whose slope would be −1. Bars: exact {}% intervals.",
            100.0 * CONFIDENCE
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("m/n, bits per key"),
            y: Axis::logarithmic("FPR × bits per key"),
            series: vec![
                Series::dashed(
                    "inverse proportionality",
                    Hue::Limit,
                    [(1.0, first), (10.0, first)],
                ),
                Series::line(
                    "theory",
                    Hue::Theory,
                    single.iter().map(|row| (row.x, row.x * row.theory)),
                ),
                Series::dots(SINGLE, Hue::Bloom, products),
            ],
        })],
        table: None,
        verdict: Verdict {
            finding: if inverse { Finding::Agrees } else { Finding::Differs },
            sentence,
            test: format!(
                "Test: whether the {}% interval of the exponent includes −1; probability of a false \
                 alarm {}%.",
                100.0 * (1.0 - FALSE_ALARM),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
