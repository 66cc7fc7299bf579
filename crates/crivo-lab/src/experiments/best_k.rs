//! Which k is best?
//!
//! The report repeated here filled one filter of 8n bits for each k from 1 to 15 with 97,661
//! strings, asked for about as many others, and found k = 6 best. Theory agrees; but k = 5 differs
//! by 0.0001, and a sample of that size cannot tell the two apart.

use crivo::KeyHasher;
use crivo::filter::{Bloom, SeededBloom};
use crivo::hash::Family;
use crivo::theory::bloom;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::rates::{
    Keys, Rate, contradictions, count_wrong, count_wrong_seeded, describe_test, outcome, panels,
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

const SEEDED: &str = "k FarmHash functions";
const SINGLE: &str = "one XXH3 digest";

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

        let mut wrong = [[0u64; MOST_PROBES as usize]; 2];
        let mut random = context.random("best-k seeds");
        for repetition in 0..repetitions {
            let strings = context.strings(&format!("best-k {repetition}"));
            let sample = Keys::new(strings, keys, keys);
            let hasher = KeyHasher::xxh3(random.number());
            let (members, strangers) = sample.digests(hasher);
            for k in 1..=MOST_PROBES {
                let column = k as usize - 1;
                let mut seeded = SeededBloom::with_size(bits, k, Family::Farm, random.number())?;
                wrong[0][column] += count_wrong_seeded(&mut seeded, &sample)?;
                let mut single = Bloom::with_size(bits, k, hasher)?;
                wrong[1][column] += count_wrong(&mut single, &members, &strangers)?;
            }
            context.step(u64::from(repetition) + 1, steps);
        }
        let asked = keys * u64::from(repetitions);
        let mut rates = Vec::new();
        for (filter, wrong) in [SEEDED, SINGLE].iter().zip(wrong) {
            for (k, wrong) in (1..).zip(wrong) {
                rates.push(Rate {
                    filter: filter.to_string(),
                    x: f64::from(k),
                    bits,
                    keys,
                    probes: k,
                    filters: repetitions,
                    asked,
                    wrong,
                    theory: bloom::rate_exact(bits, keys, k)?,
                });
            }
        }
        data.add("rates", &rates)?;

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

fn of<'a>(rates: &'a [Rate], filter: &str) -> Vec<&'a Rate> {
    rates.iter().filter(|rate| rate.filter == filter).collect()
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
            more questions. Shown is the difference of the two rates; the interval is the normal \
            one for two independent shares. The number of questions needed is that of a two-sided \
            test at 5% which finds the difference in four of five runs."
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
            test: "Test: the 95% interval of the difference after all questions; it misses a true \
                   value with a probability of 5%."
                .to_string(),
        },
    })
}
