//! Pairs of random sets of known similarity, sketched and compared band by band.
//!
//! Every pair consists of two fresh sets of random digests whose union and intersection have chosen
//! sizes, so that its similarity is known exactly and pairs are independent of each other. The
//! measured code is that of the library: a [`Sketcher`] makes the signatures, which are compared
//! band by band, as [`SimilarityIndex`] does.
//!
//! ```
//! use crivo_lab::sim::similarity::{PairPlan, candidate_rates};
//!
//! let plan = PairPlan { pairs: 2_000, ..PairPlan::classic(8, 4)? };
//! for row in candidate_rates(&plan, &[(0.2, 0.3), (0.6, 0.7)])? {
//!     println!("{:.3}: {:.4}, theory {:.4}", row.similarity, row.observed(), row.theory);
//!     assert!((row.observed() - row.theory).abs() < 0.05);
//! }
//! # Ok::<(), crivo::ParameterError>(())
//! ```

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crivo::{Digest, ParameterError};
use crivo_core::Random;
use crivo_core::check::check_positive;
use crivo_sketch::{
    Banding, Form, Signature, SignatureBits, SimilarityIndex, Sketcher, one_permutation_candidates,
};
use serde::{Deserialize, Serialize};

/// The parameters of an experiment: signatures, bands, and pairs of sets.
#[derive(Debug, Clone)]
pub struct PairPlan {
    /// The name of this form of signature, for the rows.
    pub form: &'static str,
    /// Makes the signatures.
    pub sketcher: Sketcher,
    /// The number of bits of each value.
    pub bits: SignatureBits,
    /// The bands.
    pub banding: Banding,
    /// The number of elements in the union of a pair.
    pub union: RangeInclusive<u64>,
    /// The number of pairs for each row of the result.
    pub pairs: u64,
    /// The same seed gives the same pairs.
    pub seed: u64,
}

impl PairPlan {
    /// Classic signatures with whole values, unions of 40 to 60 elements, 150,000 pairs.
    ///
    /// # Errors
    /// If the bands have no value, or more than 4,096.
    pub fn classic(bands: u32, rows: u32) -> Result<Self, ParameterError> {
        let banding = Banding::new(bands, rows)?;
        Ok(Self {
            form: "classic",
            sketcher: Sketcher::classic(banding.value_count())?,
            bits: SignatureBits::ALL,
            banding,
            union: 40..=60,
            pairs: 150_000,
            seed: 1,
        })
    }

    /// One-permutation signatures with whole values, unions of the given size, 150,000 pairs.
    ///
    /// # Errors
    /// If the bands have no value, or more than 4,096.
    pub fn one_permutation(bands: u32, rows: u32, union: u64) -> Result<Self, ParameterError> {
        let classic = Self::classic(bands, rows)?;
        let sketcher = Sketcher::one_permutation(classic.banding.value_count())?;
        Ok(Self { form: "one permutation", sketcher, union: union..=union, ..classic })
    }

    /// The same with values of `bits` bits.
    pub fn shortened(self, bits: SignatureBits) -> Self {
        Self { bits, ..self }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_positive("pairs", self.pairs)?;
        if self.union.is_empty() || *self.union.start() < 2 {
            let given = format_args!("{:?}", self.union);
            return Err(ParameterError::new("union", given, "a range from 2 on"));
        }
        // Checks the bands.
        SimilarityIndex::with_bits(self.sketcher, self.bits, self.banding).map(|_| ())
    }

    /// The probability in theory that a pair becomes a candidate.
    ///
    /// For one-permutation signatures with shortened values that is the curve of independent values.
    ///
    /// # Errors
    /// If `common` is above `union`.
    pub fn candidate_probability(&self, common: u64, union: u64) -> Result<f64, ParameterError> {
        match self.sketcher.form() {
            Form::OnePermutation if self.bits == SignatureBits::ALL => {
                one_permutation_candidates(self.banding, self.sketcher.length(), common, union)
            }
            _ => {
                let similarity = common as f64 / union as f64;
                Ok(self.banding.candidate_probability(self.bits.agreement(similarity)))
            }
        }
    }
}

/// The pairs of a bin of similarities that became candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CandidateRate {
    /// The form of the signatures.
    pub form: String,
    /// The start of the bin.
    pub from: f64,
    /// The end of the bin; only the last bin, which ends at 1, includes it.
    pub to: f64,
    /// The mean of the pairs' exact similarities.
    pub similarity: f64,
    /// The number of pairs.
    pub pairs: u64,
    /// The pairs that became candidates.
    pub candidates: u64,
    /// The fraction of candidates in theory: the mean of the pairs' probabilities.
    pub theory: f64,
}

impl CandidateRate {
    /// The fraction of pairs that became candidates.
    pub fn observed(&self) -> f64 {
        self.candidates as f64 / self.pairs as f64
    }
}

/// Counts candidates among the pairs of each bin of similarities, given by its start and end.
///
/// # Errors
/// If the plan is invalid, or unions of these sizes have no similarity within a bin.
pub fn candidate_rates(
    plan: &PairPlan,
    bins: &[(f64, f64)],
) -> Result<Vec<CandidateRate>, ParameterError> {
    plan.check()?;
    let mut pairs = Pairs::new(plan);
    bins.iter().map(|&(from, to)| candidate_rate(plan, &mut pairs, from, to)).collect()
}

fn candidate_rate(
    plan: &PairPlan,
    pairs: &mut Pairs,
    from: f64,
    to: f64,
) -> Result<CandidateRate, ParameterError> {
    let shapes = PairShape::within(&plan.union, from, to)?;
    let mut candidates = 0;
    let mut drawn: HashMap<PairShape, u64> = HashMap::new();
    for _ in 0..plan.pairs {
        let shape = shapes[pairs.random.below(shapes.len() as u64) as usize];
        *drawn.entry(shape).or_default() += 1;
        let [one, other] = pairs.draw(shape)?;
        candidates += u64::from(plan.banding.share_a_band(&one, &other));
    }
    let (mut similarity, mut theory) = (0.0, 0.0);
    // In a fixed order, so that every run has the same rounding errors.
    for shape in shapes {
        let share = drawn.get(&shape).map_or(0.0, |&count| count as f64 / plan.pairs as f64);
        if share > 0.0 {
            similarity += share * shape.similarity();
            theory += share * plan.candidate_probability(shape.common, shape.union)?;
        }
    }
    let (form, pairs) = (plan.form.to_string(), plan.pairs);
    Ok(CandidateRate { form, from, to, similarity, pairs, candidates, theory })
}

/// The accuracy of similarity estimates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EstimateAccuracy {
    /// The form of the signatures.
    pub form: String,
    /// Whether the values of a signature are independent, so that theory is exact.
    pub independent: bool,
    /// The number of values of a signature.
    pub values: u32,
    /// The exact similarity of every pair.
    pub similarity: f64,
    /// The probability that two values agree, by chance or because the elements do.
    pub agreement: f64,
    /// The number of pairs.
    pub pairs: u64,
    /// The mean estimate, before it is clamped to 0..1.
    pub mean: f64,
    /// The standard deviation of the estimates.
    pub deviation: f64,
    /// The root mean square of the standard errors that the estimates state.
    pub stated_error: f64,
    /// The standard error in theory for independent values: √(p(1 − p)/k)/(1 − 2^-b).
    pub theory: f64,
}

/// Measures similarity estimates for each number of common elements. The unions have the largest size
/// of the plan.
///
/// # Errors
/// If the plan is invalid, or a number is above the size of the union.
///
/// # Panics
/// Never: both signatures of a pair come from one sketcher.
pub fn estimate_accuracy(
    plan: &PairPlan,
    common_counts: &[u64],
) -> Result<Vec<EstimateAccuracy>, ParameterError> {
    plan.check()?;
    let mut pairs = Pairs::new(plan);
    let union = *plan.union.end();
    let accuracy = |&common: &u64| {
        if common > union {
            return Err(ParameterError::new("common", common, "at most the union"));
        }
        let shape = PairShape { common, union };
        let (mut sum, mut squares, mut errors) = (0.0, 0.0, 0.0);
        for _ in 0..plan.pairs {
            let [one, other] = pairs.draw(shape)?;
            let estimate = one.estimate(&other).expect("both signatures come from one sketcher");
            // From the true value, so that squares stay small.
            let deviation = estimate.unbiased() - shape.similarity();
            sum += deviation;
            squares += deviation * deviation;
            errors += estimate.standard_error * estimate.standard_error;
        }
        let n = plan.pairs as f64;
        let p = plan.bits.agreement(shape.similarity());
        let k = f64::from(plan.sketcher.length());
        Ok(EstimateAccuracy {
            form: plan.form.to_string(),
            independent: plan.sketcher.form() != Form::OnePermutation,
            values: plan.sketcher.length(),
            similarity: shape.similarity(),
            agreement: p,
            pairs: plan.pairs,
            mean: shape.similarity() + sum / n,
            deviation: (squares / n - (sum / n) * (sum / n)).max(0.0).sqrt(),
            stated_error: (errors / n).sqrt(),
            theory: (p * (1.0 - p) / k).sqrt() / (1.0 - plan.bits.chance_agreement()),
        })
    };
    common_counts.iter().map(accuracy).collect()
}

/// The sizes of a pair's intersection and union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PairShape {
    common: u64,
    union: u64,
}

impl PairShape {
    fn similarity(self) -> f64 {
        self.common as f64 / self.union as f64
    }

    /// All shapes whose similarity is within a bin.
    fn within(
        unions: &RangeInclusive<u64>,
        from: f64,
        to: f64,
    ) -> Result<Vec<Self>, ParameterError> {
        let shapes: Vec<Self> = unions
            .clone()
            .flat_map(|union| (0..=union).map(move |common| Self { common, union }))
            .filter(|shape| {
                let s = shape.similarity();
                from <= s && (s < to || (to >= 1.0 && s <= to))
            })
            .collect();
        if shapes.is_empty() {
            let bin = format_args!("{from}..{to}");
            let allowed = "a range of similarities that some pair can have";
            return Err(ParameterError::new("bin", bin, allowed));
        }
        Ok(shapes)
    }
}

/// A generator of pairs of signatures.
struct Pairs {
    sketcher: Sketcher,
    bits: SignatureBits,
    random: Random,
}

impl Pairs {
    fn new(plan: &PairPlan) -> Self {
        let PairPlan { sketcher, bits, seed, .. } = *plan;
        Self { sketcher, bits, random: Random::new(seed) }
    }

    /// The signatures of two sets of fresh digests: some are in both, the others are dealt out at
    /// random, and neither set is empty.
    fn draw(
        &mut self,
        PairShape { common, union }: PairShape,
    ) -> Result<[Signature; 2], ParameterError> {
        let digests: Vec<Digest> = (0..union).map(|_| Digest::new(self.random.number())).collect();
        let (shared, dealt) = digests.split_at(common as usize);
        let spare = usize::from(common == 0);
        let choices = dealt.len() + 1 - 2 * spare;
        let cut = spare + self.random.below(choices as u64) as usize;
        let sketch = |own: &[Digest]| {
            // Neither set is empty: something is shared, or both own something.
            let elements = shared.iter().chain(own).copied();
            let signature = self.sketcher.sketch(elements).ok_or_else(no_pair)?;
            signature.shortened(self.bits)
        };
        Ok([sketch(&dealt[..cut])?, sketch(&dealt[cut..])?])
    }
}

fn no_pair() -> ParameterError {
    ParameterError::new("union", 1, "at least 2")
}

#[cfg(test)]
mod tests;
