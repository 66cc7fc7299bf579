//! Are the hash functions good enough?
//!
//! The report that is repeated here looked at ten functions of the FarmHash family: at their
//! histograms, their correlations ("|r| < 0.01"), and the deviation of joint frequencies from the
//! product of the marginals ("around 1e-4"), and judged all three by eye. Here each has a p-value, all
//! p-values of a family are adjusted together, and a deliberately bad family shows that the tests
//! have power.

mod figures;

use crivo::Digest;
use crivo::hash::Family;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::quality::{DigestTable, Hypothesis, QualityPlan};
use crate::section::{Section, Source};
use crate::seeded::SeededIndices;
use crate::statistics::FALSE_ALARM;
use figures::{
    correlation_figure, families, histogram_figure, independence_figure, verdict_figure,
};

/// Uniformity, correlation and independence of every family.
#[derive(Debug)]
pub(super) struct HashQuality;

const FUNCTIONS: u32 = 10;
const BINS: usize = 100;
const JOINT_BINS: usize = 10;
/// The smallest p-value in the plot.
const MIN_SHOWN: f64 = 1e-5;
const BAD: &str = "sum of bytes (bad)";
const STRETCHED: &str = "xxh3, one digest stretched";
/// The keys of the figures; words are tested as well.
const STRINGS: &str = "random strings";
/// The family whose histograms are shown for all functions.
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
struct HypothesisRow {
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
        let mut sets = vec![(STRINGS, strings)];
        // With too few words the expected counts are too small for the test.
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
        let comparisons: Vec<HypothesisRow> = data.rows("comparisons")?;
        let families = families(&comparisons)?;
        Ok(Section {
            title: "The quality of hash functions",
            introduction:
                "Every formula of this report assumes random hash functions: all values are \
                equally likely, and the values of different functions are independent. Real \
                functions are not random; the question is whether a sample of keys shows it. \
                Three tests, over random strings and over words, which are similar to each other \
                and harder for a hash function; and one deliberately bad family: the sum of the \
                bytes plus the seed."
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

/// The digests of all keys under the functions of a family.
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
        // As in `Bloom`: several values from one digest. A range of 2^63 keeps 63 bits of each.
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
            // Sums of ten to fifty letters, scaled to the whole range.
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
        comparisons: &mut Vec<HypothesisRow>,
    ) -> Result<(), StudyError> {
        let Self { family, keys, table } = self;
        let plan = QualityPlan { bins: BINS, joint_bins: JOINT_BINS, alpha: FALSE_ALARM };
        let row = |hypothesis: Hypothesis, statistic, degrees_of_freedom, deviation, p_value| {
            let (hypothesis, first, second) = match hypothesis {
                Hypothesis::Uncorrelated(first, second) => ("uncorrelated", first, second),
                Hypothesis::Independent(first, second) => ("independent", first, second),
                Hypothesis::Uniform(first) => ("uniform", first, first),
            };
            HypothesisRow {
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
