//! Which k is best?
//!
//! The report that is repeated here filled one filter of 8n bits for each k from 1 to 15 with 97,661
//! strings, queried about as many others, and found k = 6 best. Theory agrees, but k = 5 differs by
//! 0.0001 only, and a sample of that size cannot distinguish the two.

use crivo::KeyHasher;
use crivo::filter::Bloom;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::fpr::{
    ObservedFpr, SEEDED, SINGLE, contradictions, count_false_positives, describe_test, finding,
    measure_blooms, of, panels,
};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, points, thousands,
};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, PointEstimate, trials_to_separate};

/// Bits per key, as in the report.
const BITS_PER_KEY: u64 = 8;
const MAX_PROBES: u32 = 15;

/// Observed and theoretical false-positive rates for k = 1…15.
#[derive(Debug)]
pub(super) struct BestK;

/// The false positives of k = 5 and k = 6 after the same number of queries to each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Separation {
    queries: u64,
    false_positives_five: u64,
    false_positives_six: u64,
}

impl Separation {
    /// The FPR at k = 5 minus that at k = 6, with its normal 95% interval.
    fn difference(&self) -> PointEstimate {
        let queries = self.queries as f64;
        let (five, six) =
            (self.false_positives_five as f64 / queries, self.false_positives_six as f64 / queries);
        let half = 1.96 * ((five * (1.0 - five) + six * (1.0 - six)) / queries).sqrt();
        let value = five - six;
        PointEstimate { value, low: value - half, high: value + half }
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

        let dimensions: Vec<_> = (1..=MAX_PROBES).map(|k| (f64::from(k), bits, k)).collect();
        let rates = measure_blooms(context, "best-k", keys, &dimensions, |done| {
            context.step(done, steps);
        })?;
        data.add("fpr", &rates)?;

        let mut random = context.random("best-k separation");
        let mut separation =
            Separation { queries: 0, false_positives_five: 0, false_positives_six: 0 };
        let mut separations = Vec::new();
        for pair in 0..pairs {
            let hasher = KeyHasher::xxh3(random.number());
            let digests = |from: u64| -> Vec<_> {
                (from..from + keys).map(|key| hasher.digest(&key)).collect()
            };
            let (members, absent) = (digests(0), digests(keys));
            let count = |k| -> Result<u64, StudyError> {
                count_false_positives(&mut Bloom::with_size(bits, k, hasher)?, &members, &absent)
            };
            separation.false_positives_five += count(5)?;
            separation.false_positives_six += count(6)?;
            separation.queries += keys;
            let done = pair + 1;
            if done == pairs || done.is_power_of_two() || done % 40 == 0 {
                separations.push(separation.clone());
            }
            context.step(u64::from(repetitions) + u64::from(done) / 8, steps);
        }
        data.add("separation", &separations)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let rates: Vec<ObservedFpr> = data.rows("fpr")?;
        let separations: Vec<Separation> = data.rows("separation")?;
        Ok(Section {
            title: "The best number of hash functions",
            introduction: "A Bloom filter with 8 bits per key may set any number k of bits for a \
                key. If k is small, all bits of an absent key are easily set by others; if k is \
                large, the filter fills up. The optimum is k = (m/n)·ln 2 = 5.55, thus 5 or 6."
                .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Bloom1970, Source::ClopperPearson1934],
            figures: vec![fpr_figure(data, &rates)?, separation_figure(&rates, &separations)?],
        })
    }
}

fn fpr_figure(data: &Dataset, rates: &[ObservedFpr]) -> Result<Figure, StudyError> {
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
    let lowest = |rates: &[&ObservedFpr]| {
        rates.iter().min_by_key(|row| row.false_positives).map_or(0, |row| row.probes)
    };
    let agreement = if against.is_empty() {
        format!("All {} observed rates agree with theory.", rates.len())
    } else {
        format!("{} of {} observed rates contradict theory.", against.len(), rates.len())
    };
    let sentence = format!(
        "{agreement} The minimum is at k = {} (FarmHash) and k = {} (XXH3); in theory it is at k = {}.",
        lowest(&seeded),
        lowest(&single),
        single.iter().min_by(|a, b| a.theory.total_cmp(&b.theory)).map_or(0, |row| row.probes),
    );
    let keys: u64 = data.parameter("keys")?;
    let filters = rates.first().map_or(0, |row| row.filters);
    Ok(Figure {
        id: "best-k-fpr",
        title: "False-positive rate by number of hash functions, at 8 bits per key".to_string(),
        question: "Does the false-positive rate follow theory for every k, and which k is best?"
            .to_string(),
        method: format!(
            "{filters} filters for each k, each of {} bits and with a new seed; {} distinct random strings \
             are inserted and as many others are queried. The k positions come from k functions of \
             the FarmHash family, as published, or from one XXH3 digest that is expanded. Every \
             inserted key was found. Bars: exact 95% intervals.",
            thousands(BITS_PER_KEY * keys),
            thousands(keys),
        ),
        panels: panels("k, bits set per key", (SEEDED, &seeded), (SINGLE, &single), 0.12)?,
        table: Some(table),
        verdict: Verdict { finding: finding(&against), sentence, test: describe_test(rates.len()) },
    })
}

fn separation_figure(
    rates: &[ObservedFpr],
    separations: &[Separation],
) -> Result<Figure, StudyError> {
    let theory = |k: u32| rates.iter().find(|row| row.probes == k).map_or(0.0, |row| row.theory);
    let (five, six) = (theory(5), theory(6));
    let needed = 2.0 * trials_to_separate(five, six, 1.0 - CONFIDENCE, 0.8);
    let dots: Vec<_> =
        separations.iter().map(|each| (2.0 * each.queries as f64, each.difference())).collect();
    let (queries, last) =
        dots.last().copied().unwrap_or((0.0, PointEstimate { value: 0.0, low: 0.0, high: 0.0 }));
    let far = queries.max(needed) * 1.2;
    let near = dots.first().map_or(1.0, |point| point.0);
    let apart = last.low > 0.0 || last.high < 0.0;
    let conclusion = if apart {
        let better = if last.value > 0.0 { 6 } else { 5 };
        format!("and the interval excludes 0: k = {better} is better")
    } else {
        "and the interval still includes 0: the sample does not show which one is better"
            .to_string()
    };
    let sentence = format!(
        "In theory the FPR at k = 5 is higher than at k = 6 by {}; to show this takes about {} million \
         queries. After {} million queries the difference was {} ({} to {}), {conclusion}.",
        points(five - six),
        decimal(needed / 1e6, 2),
        decimal(queries / 1e6, 2),
        points(last.value),
        decimal(100.0 * last.low, 2),
        decimal(100.0 * last.high, 2),
    );
    let agrees = last.contains(five - six);
    let finding = match (apart, agrees) {
        (_, false) => Finding::Differs,
        (true, true) => Finding::Agrees,
        (false, true) => Finding::Undecided,
    };
    Ok(Figure {
        id: "best-k-separation",
        title: "How many queries distinguish k = 5 from k = 6?".to_string(),
        question: "Can a sample show that k = 6 is better than k = 5?".to_string(),
        method: "Pairs of filters over the same keys, one with k = 5 and one with k = 6, and a \
            growing number of queries. The plot shows the difference of the two rates. The 95% \
            interval is the normal one for two independent proportions; it is conservative, because \
            the pairs share their keys. The number of queries needed is that of a two-sided test at \
            5% with a power of 80%."
            .to_string(),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::logarithmic("queries to both filters"),
            y: Axis::linear("FPR at k = 5 minus FPR at k = 6").with_format(TickFormat::Percent),
            series: vec![
                Series::dashed("no difference", Hue::Limit, [(near, 0.0), (far, 0.0)]),
                Series::line("theory", Hue::Theory, [(near, five - six), (far, five - six)]),
                Series::dots("observed", Hue::Bloom, dots),
                Series::dashed(
                    "queries needed",
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
            finding,
            sentence,
            test: "Test: the 95% interval of the difference after all queries; it misses the true \
                   value with a probability of at most 5%."
                .to_string(),
        },
    })
}
