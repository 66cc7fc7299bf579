//! Does theory hold? Pairs of random sets of known similarity, sketched and put into bands.
//!
//! Every pair consists of two fresh sets of random digests whose union and intersection have chosen
//! sizes, so that its similarity is known exactly and pairs are independent of each other. What is
//! measured is the code that everybody uses: a [`Sketcher`] makes the signatures, and they are
//! compared band by band, to which tests hold [`SimilarityIndex`].
//!
//! ```
//! use crivo_lab::sim::similarity::{Setup, candidate_rates};
//!
//! let setup = Setup { pairs: 2_000, ..Setup::classic(8, 4)? };
//! for row in candidate_rates(&setup, &[(0.2, 0.3), (0.6, 0.7)])? {
//!     println!("{:.3}: {:.4}, by theory {:.4}", row.similarity, row.observed(), row.expected);
//!     assert!((row.observed() - row.expected).abs() < 0.05);
//! }
//! # Ok::<(), crivo::ParameterError>(())
//! ```

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crivo::theory::interval::{self, Interval};
use crivo::{Digest, ParameterError};
use crivo_core::Random;
use crivo_core::check::check_positive;
use crivo_sketch::{
    Banding, Form, Signature, SignatureBits, SimilarityIndex, Sketcher, one_permutation_candidates,
};

/// What is measured, on how many pairs of what size.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Makes the signatures.
    pub sketcher: Sketcher,
    /// How many bits of each value are kept.
    pub bits: SignatureBits,
    /// The bands.
    pub banding: Banding,
    /// How many elements the union of a pair has.
    pub union: RangeInclusive<u64>,
    /// How many pairs there are for each row of the answer.
    pub pairs: u64,
    /// The same seed gives the same pairs.
    pub seed: u64,
}

impl Setup {
    /// Classic signatures with whole values, unions of 40 to 60 elements, 150,000 pairs.
    ///
    /// # Errors
    /// If the bands have no value, or more than 4,096.
    pub fn classic(bands: u32, rows: u32) -> Result<Self, ParameterError> {
        let banding = Banding::new(bands, rows)?;
        Ok(Self {
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
        Ok(Self { sketcher, union: union..=union, ..classic })
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
        // Says whether these bands are possible.
        SimilarityIndex::with_bits(self.sketcher, self.bits, self.banding).map(|_| ())
    }

    /// The probability that a pair becomes a candidate, by the curve of its form.
    ///
    /// For one-permutation signatures with shortened values that is the curve of independent
    /// places.
    ///
    /// # Errors
    /// If more elements are common than there are.
    pub fn expected(&self, common: u64, union: u64) -> Result<f64, ParameterError> {
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

/// How many pairs of some similarity became candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CandidateRate {
    /// The least similarity of the bin.
    pub from: f64,
    /// The end of the bin; only the last bin, which ends at 1, includes it.
    pub to: f64,
    /// The mean of the pairs' exact similarities.
    pub similarity: f64,
    /// How many pairs there were.
    pub pairs: u64,
    /// How many of them became candidates.
    pub candidates: u64,
    /// The share that theory expects: the mean over the pairs of each one's probability.
    pub expected: f64,
    /// Between which bounds the true share lies, at a confidence of 99%.
    pub interval: Interval,
}

impl CandidateRate {
    /// The share of pairs that became candidates.
    pub fn observed(&self) -> f64 {
        self.candidates as f64 / self.pairs as f64
    }
}

/// For each bin of similarities, from and to, how many pairs become candidates.
///
/// # Errors
/// If the setup makes no sense, or a bin holds no similarity that unions of these sizes can have.
pub fn candidate_rates(
    setup: &Setup,
    bins: &[(f64, f64)],
) -> Result<Vec<CandidateRate>, ParameterError> {
    setup.check()?;
    let mut pairs = Pairs::new(setup);
    bins.iter().map(|&(from, to)| candidate_rate(setup, &mut pairs, from, to)).collect()
}

fn candidate_rate(
    setup: &Setup,
    pairs: &mut Pairs,
    from: f64,
    to: f64,
) -> Result<CandidateRate, ParameterError> {
    let shapes = Shape::within(&setup.union, from, to)?;
    let mut candidates = 0;
    let mut drawn: HashMap<Shape, u64> = HashMap::new();
    for _ in 0..setup.pairs {
        let shape = shapes[pairs.random.below(shapes.len() as u64) as usize];
        *drawn.entry(shape).or_default() += 1;
        let [one, other] = pairs.draw(shape)?;
        candidates += u64::from(setup.banding.share_a_band(&one, &other));
    }
    let (mut similarity, mut expected) = (0.0, 0.0);
    // In a fixed order, so that sums are rounded alike in every run.
    for shape in shapes {
        let share = drawn.get(&shape).map_or(0.0, |&count| count as f64 / setup.pairs as f64);
        if share > 0.0 {
            similarity += share * shape.similarity();
            expected += share * setup.expected(shape.common, shape.union)?;
        }
    }
    let interval = interval::exact(candidates, setup.pairs, 0.99)?;
    let pairs = setup.pairs;
    Ok(CandidateRate { from, to, similarity, pairs, candidates, expected, interval })
}

/// How well similarity is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EstimateQuality {
    /// The exact similarity of every pair.
    pub similarity: f64,
    /// How many pairs there were.
    pub pairs: u64,
    /// The mean estimate, before it is pushed into 0 to 1.
    pub mean: f64,
    /// The standard deviation of the estimates, as it was seen.
    pub deviation: f64,
    /// The mean of the standard errors that the estimates tell themselves, as a root of the mean
    /// square.
    pub stated_error: f64,
    /// √(p(1 − p)/k)/(1 − 2^-b): the standard error by theory for independent places.
    pub expected_error: f64,
}

/// For each number of common elements of a union, how well the similarity is estimated. The unions
/// have the largest size of the setup.
///
/// # Errors
/// If the setup makes no sense, or more elements are common than there are.
pub fn estimate_quality(
    setup: &Setup,
    common_counts: &[u64],
) -> Result<Vec<EstimateQuality>, ParameterError> {
    setup.check()?;
    let mut pairs = Pairs::new(setup);
    let union = *setup.union.end();
    let quality = |&common: &u64| {
        if common > union {
            return Err(ParameterError::new("common", common, "at most the union"));
        }
        let shape = Shape { common, union };
        let (mut sum, mut squares, mut errors) = (0.0, 0.0, 0.0);
        for _ in 0..setup.pairs {
            let [one, other] = pairs.draw(shape)?;
            let estimate = one.estimate(&other).expect("both signatures come from one sketcher");
            // From the truth on, so that squares stay small.
            let deviation = estimate.unbiased() - shape.similarity();
            sum += deviation;
            squares += deviation * deviation;
            errors += estimate.standard_error * estimate.standard_error;
        }
        let n = setup.pairs as f64;
        let p = setup.bits.agreement(shape.similarity());
        let k = f64::from(setup.sketcher.length());
        Ok(EstimateQuality {
            similarity: shape.similarity(),
            pairs: setup.pairs,
            mean: shape.similarity() + sum / n,
            deviation: (squares / n - (sum / n) * (sum / n)).max(0.0).sqrt(),
            stated_error: (errors / n).sqrt(),
            expected_error: (p * (1.0 - p) / k).sqrt() / (1.0 - setup.bits.chance_agreement()),
        })
    };
    common_counts.iter().map(quality).collect()
}

/// The sizes of a pair's intersection and union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    common: u64,
    union: u64,
}

impl Shape {
    fn similarity(self) -> f64 {
        self.common as f64 / self.union as f64
    }

    /// All shapes with a similarity in a bin.
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

/// Makes pairs of signatures, one after another.
struct Pairs {
    sketcher: Sketcher,
    bits: SignatureBits,
    random: Random,
}

impl Pairs {
    fn new(setup: &Setup) -> Self {
        let Setup { sketcher, bits, seed, .. } = *setup;
        Self { sketcher, bits, random: Random::new(seed) }
    }

    /// The signatures of two sets of fresh digests: some in both, and the others dealt out at
    /// random, so that neither set is empty.
    fn draw(&mut self, Shape { common, union }: Shape) -> Result<[Signature; 2], ParameterError> {
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
