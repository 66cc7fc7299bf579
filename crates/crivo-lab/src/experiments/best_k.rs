//! Which k is best?
//!
//! The report repeated here filled one filter of 8n bits for each k from 1 to 15 with 97,661
//! strings, asked for about as many others, and found k = 6 best. Theory agrees; but k = 5 differs
//! by 0.0001, and a sample of that size cannot tell the two apart.

use crivo::KeyHasher;
use crivo::filter::Bloom;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::rates::{
    Rate, SEEDED, SINGLE, contradictions, count_wrong, describe_test, measure_blooms, of, outcome,
    panels,
};
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, points, thousands};
use crate::report::{Figure, Outcome, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, trials_to_separate};
use crate::study::Context;

/// Bits per key, as in the report.
const BITS_PER_KEY: u64 = 8;
const MOST_PROBES: u32 = 15;

/// Observed and theoretical rates for k = 1…15.
#[derive(Debug)]
pub(super) struct BestK;

/// How far k = 5 and 6 are apart after so many questions to each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Separation {
    asked: u64,
    wrong_five: u64,
    wrong_six: u64,
}

impl Separation {
    /// The rate at k = 5 less that at k = 6, with its normal interval of 95%.
    fn difference(&self) -> Estimate {
        let asked = self.asked as f64;
        let (five, six) = (self.wrong_five as f64 / asked, self.wrong_six as f64 / asked);
        let half = 1.96 * ((five * (1.0 - five) + six * (1.0 - six)) / asked).sqrt();
        let value = five - six;
        Estimate { value, low: value - half, high: value + half }
    }
}

impl Experiment for BestK {
    fn name(&self) -> &'static str {
        "best-k"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let keys = context.pick(2_000, 100_000, 100_000);
        let bits = BITS_PER_KEY * keys;
        let repetitions = context.repetitions();
        let pairs: u32 = context.pick(4, 40, 340);
        data.set_parameter("keys", keys);
        data.set_parameter("bits", bits);
        data.set_parameter("separation_filters", pairs);
        let steps = u64::from(repetitions) + u64::from(pairs) / 8;

        let dimensions: Vec<_> = (1..=MOST_PROBES).map(|k| (f64::from(k), bits, k)).collect();
        let rates = measure_blooms(context, "best-k", keys, &dimensions, |done| {
            context.step(done, steps);
        })?;
        data.add("rates", &rates)?;

        let mut random = context.random("best-k separation");
        let mut separation = Separation { asked: 0, wrong_five: 0, wrong_six: 0 };
        let mut separations = Vec::new();
        for pair in 0..pairs {
            let hasher = KeyHasher::xxh3(random.number());
            let digests = |from: u64| -> Vec<_> {
                (from..from + keys).map(|key| hasher.digest(&key)).collect()
            };
            let (members, strangers) = (digests(0), digests(keys));
            let ask = |k| -> Result<u64, StudyError> {
                count_wrong(&mut Bloom::with_size(bits, k, hasher)?, &members, &strangers)
            };
            separation.wrong_five += ask(5)?;
            separation.wrong_six += ask(6)?;
            separation.asked += keys;
            let done = pair + 1;
            if done == pairs || done.is_power_of_two() || done % 40 == 0 {
                separations.push(separation.clone());
            }
            context.step(u64::from(repetitions) + u64::from(done) / 8, steps);
        }
        data.add("separation", &separations)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rates: Vec<Rate> = data.rows("rates")?;
        let separations: Vec<Separation> = data.rows("separation")?;
        Ok(Section {
            title: "The best number of hash functions",
            introduction: "A Bloom filter of 8 bits per key may set any number k of bits for a \
                key. With few, a stranger’s bits are easily all set; with many, the filter fills \
                up. In between lies the best k: (m/n)·ln 2 = 5.55, thus 5 or 6."
                .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Bloom1970, Source::ClopperPearson1934],
            figures: vec![rates_figure(data, &rates)?, separation_figure(&rates, &separations)?],
        })
    }
}

fn rates_figure(data: &Dataset, rates: &[Rate]) -> Result<Figure, StudyError> {
    let (seeded, single) = (of(rates, SEEDED), of(rates, SINGLE));
    let mut table = Table::new(&["k", "theory", "FarmHash", "95% interval", "XXH3"]);
    for (a, b) in seeded.iter().zip(&single) {
        let (first, second) = (a.observed()?, b.observed()?);
        table.row([
            a.probes.to_string(),
            percent(a.theory, 4),
            percent(first.value, 4),
            format!("{}–{}", percent(first.low, 4), percent(first.high, 4)),
            percent(second.value, 4),
        ]);
    }
    let against = contradictions(rates)?;
    let lowest =
        |rates: &[&Rate]| rates.iter().min_by_key(|rate| rate.wrong).map_or(0, |rate| rate.probes);
    let agreement = if against.is_empty() {
        format!("All {} observed rates agree with theory.", rates.len())
    } else {
        format!("{} of {} observed rates contradict theory.", against.len(), rates.len())
    };
    let sentence = format!(
        "{agreement} The lowest lie at k = {} (FarmHash) and k = {} (XXH3); theory’s lowest is k = {}.",
        lowest(&seeded),
        lowest(&single),
        single.iter().min_by(|a, b| a.theory.total_cmp(&b.theory)).map_or(0, |rate| rate.probes),
    );
    let keys: u64 = data.parameter("keys")?;
    let filters = rates.first().map_or(0, |rate| rate.filters);
    Ok(Figure {
        id: "best-k-rates",
        title: "Wrong yeses by the number of hash functions, at 8 bits per key".to_string(),
        question: "Does the rate of wrong yeses follow theory for every k, and which k is best?"
            .to_string(),
        method: format!(
            "{filters} filters for each k, each of {} bits, freshly seeded, with {} random strings \
             (all distinct) inserted and as many others asked for. Two ways to k positions: k \
             members of the FarmHash family, as published, and one XXH3 digest that is stretched. \
             Every member was found. Bars: exact 95% intervals.",
            thousands(BITS_PER_KEY * keys),
            thousands(keys),
        ),
        panels: panels("k, bits set by a key", (SEEDED, &seeded), (SINGLE, &single), 0.12)?,
        table: Some(table),
        verdict: Verdict { outcome: outcome(&against), sentence, test: describe_test(rates.len()) },
    })
}

fn separation_figure(rates: &[Rate], separations: &[Separation]) -> Result<Figure, StudyError> {
    let theory =
        |k: u32| rates.iter().find(|rate| rate.probes == k).map_or(0.0, |rate| rate.theory);
    let (five, six) = (theory(5), theory(6));
    let needed = 2.0 * trials_to_separate(five, six, 1.0 - CONFIDENCE, 0.8);
    let dots: Vec<_> =
        separations.iter().map(|each| (2.0 * each.asked as f64, each.difference())).collect();
    let (asked, last) =
        dots.last().copied().unwrap_or((0.0, Estimate { value: 0.0, low: 0.0, high: 0.0 }));
    let far = asked.max(needed) * 1.2;
    let near = dots.first().map_or(1.0, |point| point.0);
    let apart = last.low > 0.0 || last.high < 0.0;
    let finding = if apart {
        let better = if last.value > 0.0 { 6 } else { 5 };
        format!("and the interval excludes 0: k = {better} is better")
    } else {
        "and the interval still holds 0: the sample cannot tell which is better".to_string()
    };
    let sentence = format!(
        "In theory k = 5 errs more often than k = 6 by {}; to show it takes about {} million \
         questions. After {} million the difference was {} ({} to {}), {finding}.",
        points(five - six),
        decimal(needed / 1e6, 2),
        decimal(asked / 1e6, 2),
        points(last.value),
        decimal(100.0 * last.low, 2),
        decimal(100.0 * last.high, 2),
    );
    let agrees = last.holds(five - six);
    let outcome = match (apart, agrees) {
        (_, false) => Outcome::Differs,
        (true, true) => Outcome::Agrees,
        (false, true) => Outcome::Undecided,
    };
    Ok(Figure {
        id: "best-k-separation",
        title: "How many questions tell k = 5 from k = 6?".to_string(),
        question: "Can a sample show that k = 6 is better than k = 5?".to_string(),
        method: "Pairs of filters over the same keys, one with k = 5 and one with k = 6, and ever \
            more questions. Shown is the difference of the two rates; the 95% interval is the normal \
            one for two independent shares, and on the safe side, since the pairs share their \
            keys. The number of questions needed is that of a two-sided test at 5% which finds the \
            difference in four of five runs."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("questions to both filters"),
            y: Axis::linear("rate at k = 5 less rate at k = 6").with_format(Format::Percent),
            series: vec![
                Series::dashed("no difference", Hue::Limit, [(near, 0.0), (far, 0.0)]),
                Series::line("theory", Hue::Theory, [(near, five - six), (far, five - six)]),
                Series::dots("observed", Hue::Bloom, dots),
                Series::dashed(
                    "questions needed",
                    Hue::Bad,
                    [
                        (needed, separations.first().map_or(0.0, |s| s.difference().low)),
                        (needed, separations.first().map_or(0.0, |s| s.difference().high)),
                    ],
                ),
            ],
        })],
        table: None,
        verdict: Verdict {
            outcome,
            sentence,
            test: "Test: the 95% interval of the difference after all questions; that it misses the \
                   truth has a probability of at most 5%."
                .to_string(),
        },
    })
}
