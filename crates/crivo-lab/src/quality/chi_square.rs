//! Pearson's chi-square test, in both directions.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The distance of counts from their expectation, and its p-values.
///
/// ```
/// use crivo_lab::quality::ChiSquare;
///
/// // The 5% point for 10 degrees of freedom, as every table prints it.
/// let test = ChiSquare::new(18.307, 10);
/// assert!((test.p_uneven - 0.05).abs() < 1e-5);
/// assert!((test.p_value() - 0.10).abs() < 2e-5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ChiSquare {
    /// The sum of (observed − expected)² / expected.
    pub statistic: f64,
    /// How many of the counts were free to vary.
    pub degrees_of_freedom: usize,
    /// The probability of counts at least as *far* from expectation. Small: too uneven.
    pub p_uneven: f64,
    /// The probability of counts at least as *close* to expectation. Small: too even.
    pub p_even: f64,
}

impl ChiSquare {
    /// The test of a statistic that was computed elsewhere.
    ///
    /// Without degrees of freedom nothing could vary, and both probabilities are 1.
    pub fn new(statistic: f64, degrees_of_freedom: usize) -> Self {
        // There is no distribution for 0 degrees of freedom; for all others there is.
        let (p_uneven, p_even) = match ChiSquared::new(degrees_of_freedom as f64) {
            Ok(distribution) => (distribution.sf(statistic), distribution.cdf(statistic)),
            Err(_) => (1.0, 1.0),
        };
        Self { statistic, degrees_of_freedom, p_uneven, p_even }
    }

    /// The test of counts, each with what was expected of it.
    pub(super) fn of_counts(
        observed_and_expected: impl Iterator<Item = (u64, f64)>,
        degrees_of_freedom: usize,
    ) -> Self {
        let statistic = observed_and_expected
            .map(|(observed, expected)| (observed as f64 - expected).powi(2) / expected)
            .sum();
        Self::new(statistic, degrees_of_freedom)
    }

    /// The probability of counts at least as improbable in *either* direction: twice the smaller one.
    pub fn p_value(&self) -> f64 {
        (2.0 * self.p_uneven.min(self.p_even)).min(1.0)
    }
}
