//! How fast does the rate fall with the size?
//!
//! The report repeated here let m grow from n to 10n in steps of n/2 and concluded that rate and
//! size are *inversely proportional*. They are not: every further bit per key divides the rate by
//! the same factor, which is an exponential decrease.

use crivo::theory::bloom;

use super::Experiment;
use super::rates::{
    Rate, SEEDED, SINGLE, contradictions, describe_test, measure_blooms, of, outcome, panels,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, regression};
use crate::study::Context;

/// Observed and theoretical rates for m = n…10n.
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
        data.add("rates", &rates)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rates: Vec<Rate> = data.rows("rates")?;
        Ok(Section {
            title: "The size of the bit vector",
            introduction: "The more bits a key has, the rarer are wrong yeses. How much rarer? \
                Theory, with the best k: (1 − e^[−kn/m])^[k], about 0.6185 to the power of m/n."
                .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Bloom1970, Source::ClopperPearson1934],
            figures: vec![rates_figure(data, &rates)?, decrease_figure(&rates)?],
        })
    }
}

fn rates_figure(data: &Dataset, rates: &[Rate]) -> Result<Figure, StudyError> {
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
    let last = seeded.last().map_or(Ok(0.0), |rate| rate.observed().map(|o| o.value))?;
    let keys: u64 = data.parameter("keys")?;
    Ok(Figure {
        id: "best-m-rates",
        title: "Wrong yeses by the number of bits per key, with the best k".to_string(),
        question: "Does the rate of wrong yeses follow theory for every size?".to_string(),
        method: format!(
            "m from n to 10n in steps of n/2, each with the whole k that theory finds best; {} \
             filters for each, freshly seeded, {} random strings inserted and as many others asked \
             for. Bars: exact 95% intervals. Every member was found.",
            rates.first().map_or(0, |rate| rate.filters),
            thousands(keys),
        ),
        panels: panels("m/n, bits per key", (SEEDED, &seeded), (SINGLE, &single), 0.07)?,
        table: Some(table),
        verdict: Verdict {
            outcome: outcome(&against),
            sentence: format!(
                "{agreement}. At ten bits per key it is {}; the report of 2015 observed 0.8185%.",
                percent(last, 4)
            ),
            test: describe_test(rates.len()),
        },
    })
}

fn decrease_figure(rates: &[Rate]) -> Result<Figure, StudyError> {
    // Below two bits per key k is 1, and the curve still bends.
    let points: Vec<(f64, f64)> = rates
        .iter()
        .filter(|rate| rate.x >= 2.0 && rate.wrong > 0)
        .map(|rate| (rate.x, (rate.wrong as f64 / rate.asked as f64).ln()))
        .collect();
    let line = regression(&points, 1.0 - FALSE_ALARM);
    let factor = |slope: f64| slope.exp();
    let expected = factor(-std::f64::consts::LN_2.powi(2));
    // Inverse proportion means that ln rate falls with slope −1 on ln m.
    let logarithmic: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), *y)).collect();
    let power = regression(&logarithmic, 1.0 - FALSE_ALARM);
    let inverse = power.slope.holds(-1.0);
    let (low, high) = (factor(line.slope.low), factor(line.slope.high));
    let sentence = format!(
        "Every further bit per key multiplies the rate by {} ({} to {}); theory’s limit is {}. In \
         inverse proportion the exponent of m would be −1; it is {} ({} to {}), so rate and size \
         are {}inversely proportional.",
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
        |rate: &Rate| -> Result<_, StudyError> { Ok((rate.x, rate.observed()?.scaled(rate.x))) };
    let single = of(rates, SINGLE);
    let products: Vec<_> = single.iter().map(|rate| observed(rate)).collect::<Result<_, _>>()?;
    let first = rates.first().map_or(0.0, |rate| rate.x * rate.theory);
    Ok(Figure {
        id: "best-m-decrease",
        title: "Is the rate inversely proportional to the size?".to_string(),
        question: "“Inversely proportional”, as published, or exponential?".to_string(),
        method: format!(
            "Were the rate inversely proportional to m, the product of both would be constant. Two \
             regressions, from two bits per key on: ln rate on m/n, whose slope is the decrease \
             per bit, and ln rate on ln m, whose slope would be −1. Bars: exact {}% intervals.",
            100.0 * CONFIDENCE
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::linear("m/n, bits per key"),
            y: Axis::logarithmic("rate × bits per key"),
            series: vec![
                Series::dashed("inverse proportion", Hue::Limit, [(1.0, first), (10.0, first)]),
                Series::line(
                    "theory",
                    Hue::Theory,
                    single.iter().map(|rate| (rate.x, rate.x * rate.theory)),
                ),
                Series::dots(SINGLE, Hue::Bloom, products),
            ],
        })],
        table: None,
        verdict: Verdict {
            outcome: if inverse { Outcome::Agrees } else { Outcome::Differs },
            sentence,
            test: format!(
                "Test: whether the {}% interval of the exponent holds −1; probability of a false \
                 alarm {}%.",
                100.0 * (1.0 - FALSE_ALARM),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
