//! The quality of hash functions: uniformity, correlation and independence, with p-values.
//!
//! Every formula of crivo assumes that hash functions behave like random ones. This module tests
//! whether a sample of keys can tell any functions, the [families](crivo::hash::Family) of crivo or
//! others, from random ones:
//!
//! | check | a perfect family | it detects |
//! |---|---|---|
//! | [uniformity](DigestTable::uniformity) | fills `bins` equally, up to chance | bits that are missing or biased |
//! | [correlation](DigestTable::correlation) | \|r\| of about 1/√n for every two functions | values that rise and fall together |
//! | [independence](DigestTable::independence) | fills bins × bins cells like the product of the marginals | any other dependence between two functions |
//!
//! # Example
//!
//! Twenty keys in four bins, five expected in each, and the counts are 8, 4, 4, 4:
//!
//! ```text
//!   chi-square = (8−5)²/5 + (4−5)²/5 + (4−5)²/5 + (4−5)²/5 = 2.4,  degrees of freedom = 4 − 1 = 3
//!   p = 0.49: every second perfect hash function is less even than this
//! ```
//!
//! A whole family, ten functions and a few thousand keys:
//!
//! ```
//! use crivo_lab::quality::{DigestTable, QualityPlan};
//! use crivo::hash::Family;
//! use crivo_lab::seeded::SeededIndices;
//!
//! let functions = SeededIndices::new(Family::Farm, 0, 10)?;
//! let table = DigestTable::of_hashers(functions.hashers(), 0..5_000u64)?;
//! let assessment = table.assess(QualityPlan::default())?;
//! assert!(assessment.verdict.passes(), "{}", assessment.verdict);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # Many comparisons, one level
//!
//! Ten functions make 10 + 45 + 45 comparisons; at a level of 1% each, most perfect families would
//! fail some. A [`QualityVerdict`] therefore adjusts the p-values by [Holm's method](holm): with *any*
//! dependence among the comparisons, a perfect family fails *any* of them with a probability of at
//! most `alpha`. The limit on |r| [follows from the sample](correlation_threshold) in the same way.
//! A limit from habit does not: ten perfect functions over 100,000 keys break |r| < 0.01
//! [in 7% of all runs](probability_of_correlation_above).
//!
//! # Too even is also a fault
//!
//! A counter fills its bins more evenly than random values do. The chi-square tests are two-sided:
//! [`ChiSquare::p_value`] is small both for counts further from expectation and for counts closer to
//! it than chance explains. [`ChiSquare::p_uneven`] is about the first only.
//!
//! # Limits
//!
//! - Only the high bits determine the bins, as in [`reduce`](crivo::hash::reduce). To test others, pass
//!   functions that rotate the digest.
//! - Pairs are compared, not triples; and only over the keys given. Keys with structure (counters,
//!   addresses, words) are a harder test than random strings.
//! - **Keys must be distinct.** A repeated key repeats its bin, and every function appears uneven.
//! - p-values far below 1e-6 are orders of magnitude, not numbers: there the chi-square
//!   distribution is itself only an approximation.
//! - Adversaries are another matter; see [`crivo::hash`](crivo::hash#adversaries).
//!
//! # References
//!
//! - S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
//!   Statistics 6, 1979: why the adjustment needs no independence.
//! - W. G. Cochran, *Some methods for strengthening the common χ² tests*, Biometrics 10, 1954: the
//!   rule of five expected per cell.
//! - D. E. Knuth, *The Art of Computer Programming*, volume 2, section 3.3: these tests for random
//!   numbers, and why a fit can be too good.

mod chi_square;
mod correlation;
mod independence;
mod table;
#[cfg(test)]
mod tests;
mod uniformity;
mod verdict;

pub use chi_square::ChiSquare;
pub use correlation::{Correlation, correlation_threshold, probability_of_correlation_above};
pub use independence::{Independence, expected_mean_deviation};
pub use table::DigestTable;
pub use uniformity::Uniformity;
pub use verdict::{Hypothesis, HypothesisTest, QualityVerdict, holm};

use crivo::ParameterError;

/// The parameters of [`DigestTable::assess`].
///
/// The default suits 500 keys and more. More bins detect finer faults, but need more keys.
///
/// ```
/// use crivo_lab::quality::QualityPlan;
///
/// let plan = QualityPlan { bins: 1000, ..QualityPlan::default() };
/// assert_eq!((plan.joint_bins, plan.alpha), (10, 0.01));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QualityPlan {
    /// The bins of the uniformity check; five keys must be expected in each.
    pub bins: usize,
    /// The bins of each function in the independence check; five keys must be expected in each of
    /// the `joint_bins` × `joint_bins` cells.
    pub joint_bins: usize,
    /// The probability that a perfect family fails any comparison at all, at most.
    pub alpha: f64,
}

impl Default for QualityPlan {
    fn default() -> Self {
        Self { bins: 100, joint_bins: 10, alpha: 0.01 }
    }
}

/// All three checks of one table, and their common verdict.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Assessment {
    /// For each function.
    pub uniformity: Vec<Uniformity>,
    /// For every two functions.
    pub correlation: Correlation,
    /// For every two functions: those of [`Correlation::outcomes`], in the same order.
    pub independence: Vec<Independence>,
    /// Over all tests together.
    pub verdict: QualityVerdict,
}

impl DigestTable {
    /// Makes all three checks and judges them together. A single function is checked for
    /// uniformity only, there being no pairs.
    ///
    /// # Errors
    /// If the plan has fewer than two bins, more bins than the keys can fill, or an alpha that is
    /// no probability.
    pub fn assess(&self, plan: QualityPlan) -> Result<Assessment, ParameterError> {
        let uniformity = self.uniformity(plan.bins)?;
        let correlation = self.correlation()?;
        let independence = self.independence(plan.joint_bins)?;
        let outcomes = uniformity.iter().map(Uniformity::outcome);
        let outcomes = outcomes
            .chain(correlation.outcomes())
            .chain(independence.iter().map(Independence::outcome));
        let verdict = QualityVerdict::new(outcomes, plan.alpha)?;
        Ok(Assessment { uniformity, correlation, independence, verdict })
    }
}

/// The minimum number of keys that a chi-square test may expect in a bin or cell.
const MIN_EXPECTED: f64 = 5.0;

/// Every two of `count` functions, in the order in which the checks report them.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |first| (first + 1..count).map(move |second| (first, second)))
}

fn check_bins(bins: usize) -> Result<(), ParameterError> {
    match bins {
        0 | 1 => Err(ParameterError::new("bins", bins, "at least 2")),
        _ => Ok(()),
    }
}

fn check_alpha(alpha: f64) -> Result<(), ParameterError> {
    if alpha > 0.0 && alpha < 1.0 {
        Ok(())
    } else {
        Err(ParameterError::new("alpha", alpha, "strictly between 0 and 1"))
    }
}
