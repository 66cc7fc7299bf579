//! Estimates of similarity, with their error.

use super::SignatureBits;
use crivo::ParameterError;
use crivo::theory::interval::{self, Interval};

/// A Jaccard similarity, estimated from two signatures.
///
/// ```text
///   agreement p = agreeing places / compared places
///   similarity  = (p − 2^-b) / (1 − 2^-b)                    b bits of a value; 64: just p
///   error       = √(p(1 − p)/compared) / (1 − 2^-b)          one standard deviation
/// ```
///
/// One-permutation signatures sample without replacement: with m of k bins filled, of about u
/// elements in the union, the error is less by the factor √(1 − (m − 1)/(u − 1)). Where they are cut to
/// fewer bits, borrowed values cannot be told from found ones; then the error above is too small
/// for sets that do not fill most of the bins.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SimilarityEstimate {
    /// The similarity, from 0 to 1.
    pub jaccard: f64,
    /// Its standard error, estimated from the places that agree: 0 when all or none do. Then
    /// [`interval`](Self::interval) is more informative.
    pub standard_error: f64,
    /// The number of places that agree.
    pub agreeing: u32,
    /// The number of places compared.
    pub compared: u32,
    chance: f64,
}

impl SimilarityEstimate {
    /// From places of `bits` bits each.
    pub(super) fn of_places(agreeing: u32, compared: u32, bits: SignatureBits) -> Self {
        let chance = bits.chance_agreement();
        let p = f64::from(agreeing) / f64::from(compared);
        let standard_error = (p * (1.0 - p) / f64::from(compared)).sqrt() / (1.0 - chance);
        let jaccard = unclamped(p, chance).max(0.0);
        Self { jaccard, standard_error, agreeing, compared, chance }
    }

    /// From those bins of `length` in which either set has an element.
    pub(super) fn of_bins(agreeing: u32, filled: u32, length: u32) -> Self {
        let mut estimate = Self::of_places(agreeing, filled, SignatureBits::ALL);
        estimate.standard_error *= without_replacement(filled, length);
        estimate
    }

    /// The similarity, not clamped to 0 to 1: an unbiased estimate.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(64)?;
    /// let keys = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// assert_eq!(keys.estimate(&keys)?.unbiased(), 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unbiased(&self) -> f64 {
        unclamped(f64::from(self.agreeing) / f64::from(self.compared), self.chance)
    }

    /// A confidence interval of the similarity: the exact binomial interval.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(128)?;
    /// let set = sketcher.sketch_keys(0..100u8).expect("a set with elements");
    /// let interval = set.estimate(&set)?.interval(0.95)?;
    /// assert_eq!(interval.high, 1.0);
    /// assert!(interval.low > 0.97); // 128 agreeing values do not prove that sets are equal
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the confidence is not strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<Interval, ParameterError> {
        let mut of_agreement =
            interval::exact(u64::from(self.agreeing), u64::from(self.compared), confidence)?;
        for end in [&mut of_agreement.low, &mut of_agreement.high] {
            *end = unclamped(*end, self.chance).clamp(0.0, 1.0);
        }
        Ok(of_agreement)
    }
}

fn unclamped(agreement: f64, chance: f64) -> f64 {
    (agreement - chance) / (1.0 - chance)
}

/// By how much the error of a sample shrinks because no element can be drawn twice: √(1 −
/// (m − 1)/(u − 1)), for the number u of elements that fills m of k bins on average.
fn without_replacement(filled: u32, length: u32) -> f64 {
    if filled == length {
        // Any large number of elements may be behind this.
        return 1.0;
    }
    let [m, k] = [filled, length].map(f64::from);
    let elements = ((-m / k).ln_1p() / (-1.0 / k).ln_1p()).max(m);
    if elements <= 1.0 { 0.0 } else { (1.0 - (m - 1.0) / (elements - 1.0)).max(0.0).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_of_the_documentation() {
        let whole = SimilarityEstimate::of_places(25, 100, SignatureBits::ALL);
        assert_eq!(whole.jaccard, 0.25);
        assert!((whole.standard_error - (0.25f64 * 0.75 / 100.0).sqrt()).abs() < 1e-15);
        let one_bit = SignatureBits::new(1).unwrap();
        let short = SimilarityEstimate::of_places(75, 100, one_bit);
        assert_eq!(short.jaccard, 0.5);
        assert!((short.standard_error - 2.0 * (0.75f64 * 0.25 / 100.0).sqrt()).abs() < 1e-15);
        // Less agreement than chance: similarity 0, but the mean needs the truth.
        let less = SimilarityEstimate::of_places(40, 100, one_bit);
        assert_eq!(less.jaccard, 0.0);
        assert!((less.unbiased() + 0.2).abs() < 1e-12);
        let interval = less.interval(0.99).unwrap();
        assert!(interval.low == 0.0 && interval.high > 0.0 && interval.high < 0.2);
    }

    #[test]
    fn few_elements_in_many_bins_leave_no_error() {
        assert_eq!(without_replacement(1, 1_000), 0.0);
        assert!(without_replacement(30, 1_000_000) < 0.01);
        assert_eq!(without_replacement(64, 64), 1.0);
        // Half of the bins filled: u = k·ln 2, and the factor √(1 − 0.5/ln 2).
        let half = without_replacement(500_000, 1_000_000);
        assert!((half - (1.0 - 0.5 / std::f64::consts::LN_2).sqrt()).abs() < 1e-5);
    }
}
