//! Uniformity: each function fills its range evenly.

use crivo::hash::reduce;
use crivo::{Digest, ParameterError};

use super::{ChiSquare, DigestTable, Hypothesis, MIN_EXPECTED, check_bins};

/// The histogram of one function's indices, tested against equal bins.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Uniformity {
    /// The number of the function, which is its column in the table.
    pub function: usize,
    /// How many keys fell into each bin.
    pub histogram: Vec<u64>,
    /// The histogram against key count / bins in every bin.
    pub test: ChiSquare,
}

impl Uniformity {
    /// What was tested, and its p-value.
    pub fn outcome(&self) -> (Hypothesis, f64) {
        (Hypothesis::Uniform(self.function), self.test.p_value())
    }
}

impl DigestTable {
    /// [Reduces](reduce) the digests of each function to `bins` indices and tests that all of
    /// them are equally frequent.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_lab::quality::DigestTable;
    ///
    /// let table = DigestTable::of_hashers(&[KeyHasher::default()], 0..1_000u32)?;
    /// let uniformity = &table.uniformity(10)?[0];
    /// assert_eq!(uniformity.histogram.iter().sum::<u64>(), 1_000);
    /// assert_eq!(uniformity.test.degrees_of_freedom, 9);
    /// assert!(uniformity.test.p_value() > 0.001);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If `bins` is below 2, or so large that fewer than five keys are expected in a bin.
    pub fn uniformity(&self, bins: usize) -> Result<Vec<Uniformity>, ParameterError> {
        check_bins(bins)?;
        let expected = self.key_count() as f64 / bins as f64;
        if expected < MIN_EXPECTED {
            return Err(ParameterError::new(
                "bins",
                bins,
                "at most a fifth of the number of keys, so that five are expected in each",
            ));
        }
        let check = |(function, column): (usize, &[Digest])| {
            let mut histogram = vec![0; bins];
            for digest in column {
                histogram[reduce(digest.get(), bins as u64) as usize] += 1;
            }
            let counts = histogram.iter().map(|&observed| (observed, expected));
            let test = ChiSquare::of_counts(counts, bins - 1);
            Uniformity { function, histogram, test }
        };
        Ok(self.columns().enumerate().map(check).collect())
    }
}
