//! Between which bounds does a rate lie, when x of n trials hit? Binomial confidence intervals.
//!
//! A filter answered "present" for 103 of 10,000 absent keys. Is it a 1% filter?
//!
//! ```
//! use crivo::theory::interval;
//!
//! let observed = interval::exact(103, 10_000, 0.95)?;
//! assert_eq!(format!("{:.4} to {:.4}", observed.low, observed.high), "0.0084 to 0.0125");
//! assert!(observed.contains(0.01));
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! | function | promise |
//! |---|---|
//! | [`exact`] (Clopper–Pearson) | covers the truth *at least* as often as the confidence says |
//! | [`wilson`] | covers it about as often, on average over rates; narrower, and a closed formula |
//!
//! The interval of the first statistics course, x/n ± z·√(p(1−p)/n), is none of the two: for x = 0
//! it is a point.
//!
//! # When not to use them
//! They take the trials to be independent. Queries of *one* filter are, given that filter; but
//! its own rate scatters around the theory's mean. A test of the theory must average over many
//! filters, or allow for that scatter.
//!
//! # References
//! - L. Brown, T. Cai, A. DasGupta, *Interval estimation for a binomial proportion*, 2001: which
//!   interval to use, and how badly the first one behaves.
//! - C. Clopper, E. Pearson, 1934, and E. B. Wilson, 1927: the two intervals.

use super::special::{binomial_probability, binomial_tails, normal_two_sided};
use crate::ParameterError;
use crivo_core::check::{check_open_unit, check_positive};

/// An interval that is believed to hold an unknown probability.
///
/// ```
/// use crivo::theory::interval;
///
/// // Ten of ten: the probability may be 1.
/// let all = interval::exact(10, 10, 0.95)?;
/// assert_eq!(format!("{:.3} to {:.0}", all.low, all.high), "0.692 to 1");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// Its lower end, 0 when there was no success.
    pub low: f64,
    /// Its upper end, 1 when every trial was a success.
    pub high: f64,
}

impl Interval {
    /// Whether the interval holds `p`, ends included.
    ///
    /// ```
    /// use crivo::theory::interval;
    ///
    /// let heads = interval::wilson(60, 100, 0.95)?;
    /// assert!(heads.contains(0.6));
    /// assert!(!heads.contains(0.5));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn contains(&self, p: f64) -> bool {
        self.low <= p && p <= self.high
    }

    /// From `low` to `high`, which both formulas put on either side of the observed `share`. Where the
    /// interval is narrower than rounding, only this does.
    fn around(share: f64, low: f64, high: f64) -> Self {
        Self { low: low.min(share), high: high.max(share).min(1.0) }
    }
}

/// Wilson's score interval: the p for which x lies within z standard deviations of n·p.
///
/// ```text
///   centre = (x + z²/2)/(n + z²)       half width = z/(n + z²) · √(x(n − x)/n + z²/4)
/// ```
///
/// ```
/// use crivo::theory::interval;
///
/// let heads = interval::wilson(50, 100, 0.95)?;
/// assert_eq!(format!("{:.3} to {:.3}", heads.low, heads.high), "0.404 to 0.596");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no trials or more than 2^53, more successes than trials, or the confidence is not
/// strictly between 0 and 1.
pub fn wilson(successes: u64, trials: u64, confidence: f64) -> Result<Interval, ParameterError> {
    check(successes, trials, confidence)?;
    let z = normal_two_sided(1.0 - confidence);
    let (x, n) = (successes as f64, trials as f64);
    let square = z * z;
    let spread = z * (x * (n - x) / n + square / 4.0).sqrt();
    // low·high = x²/(n(n + z²)): the end that would come from a difference comes from a quotient.
    let end_above = |x: f64| (x + square / 2.0 + spread) / (n + square);
    let high = end_above(x);
    let low = if successes == 0 { 0.0 } else { x / n * (x / (n + square)) / high };
    Ok(Interval::around(x / n, low, if successes == trials { 1.0 } else { high }))
}

/// The exact interval of Clopper and Pearson.
///
/// Its ends are the p at which x or more successes, and x or fewer, have the probability
/// (1 − confidence)/2. They are found to about 11 digits (of the distance to 0; next to 1 an f64
/// has no finer steps than 1e-16) for any number of trials up to 10^10, within
/// milliseconds.
///
/// ```
/// use crivo::theory::interval;
///
/// // No false positive in a thousand million queries: the rate is below 3.7e-9.
/// let none = interval::exact(0, 1_000_000_000, 0.95)?;
/// assert_eq!(none.low, 0.0);
/// assert_eq!(format!("{:.2e}", none.high), "3.69e-9");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are no trials or more than 2^53, more successes than trials, or the confidence is not
/// strictly between 0 and 1.
pub fn exact(successes: u64, trials: u64, confidence: f64) -> Result<Interval, ParameterError> {
    let start = wilson(successes, trials, confidence)?;
    let outside = 0.5 * (1.0 - confidence);
    let (x, n) = (successes as f64, trials as f64);
    let low = match successes {
        0 => 0.0,
        all if all == trials => (outside.ln() / n).exp(),
        _ => solve(start.low, outside, Side::Rising, |p| {
            let tail = binomial_tails(n, x, p).at_least;
            (tail, x * binomial_probability(n, x, p))
        }),
    };
    let high = match successes {
        all if all == trials => 1.0,
        0 => -(outside.ln() / n).exp_m1(),
        _ => solve(start.high, outside, Side::Falling, |p| {
            let tail = binomial_tails(n, x + 1.0, p).below;
            let odds = p / (1.0 - p);
            (tail, -(n - x) * odds * binomial_probability(n, x, p))
        }),
    };
    Ok(Interval::around(x / n, low, high))
}

/// Whether a tail grows or shrinks with p.
#[derive(PartialEq, Eq)]
enum Side {
    Rising,
    Falling,
}

/// The p at which `tail` has the probability `target`.
///
/// `tail` also gives its derivative by ln p. Newton's method on the logarithms of both is nearly
/// straight; where it would leave what is known to hold the answer, halving takes over.
fn solve(start: f64, target: f64, side: Side, tail: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut p = start;
    for _ in 0..200 {
        let (probability, slope) = tail(p);
        // Far out both may be 0; the step is then no number, and halving takes over.
        let step = (target / probability).ln() * probability / slope;
        if step.abs() < 1e-13 {
            return p * step.exp();
        }
        if (probability > target) == (side == Side::Rising) {
            high = p;
        } else {
            low = p;
        }
        let newton = p * step.exp();
        p = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
    }
    p
}

fn check(successes: u64, trials: u64, confidence: f64) -> Result<(), ParameterError> {
    check_positive("trials", trials)?;
    if trials > 1 << 53 {
        return Err(ParameterError::new("trials", trials, "at most 2^53"));
    }
    if successes > trials {
        return Err(ParameterError::new("successes", successes, "at most the number of trials"));
    }
    check_open_unit("confidence", confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn exact_intervals_agree_with_scipy() {
        // scipy.stats.beta of SciPy 1.17.1: ppf(α/2, x, n − x + 1) and isf(α/2, x + 1, n − x).
        for (x, n, confidence, low, high) in [
            (5, 100, 0.95, 0.016_431_879_182_052_158, 0.112_834_911_105_462_75),
            (50, 100, 0.99, 0.368_861_437_358_924_1, 0.631_138_562_641_075_9),
            (1, 2, 0.9, 0.025_320_565_519_103_604, 0.974_679_434_480_896_4),
            (100_000, 10_000_000, 0.999, 0.009_896_785_955_659_751, 0.010_103_954_623_191_103),
            (3, 10_000_000_000, 0.95, 6.186_721_229_383_312e-11, 8.767_273_067_214_143e-10),
            (
                100_000_000,
                10_000_000_000,
                0.95,
                0.009_998_049_952_281_584,
                0.010_001_950_331_370_444,
            ),
            (5_000_000_000, 10_000_000_000, 0.95, 0.499_990_200_130_078_5, 0.500_009_799_869_921_6),
        ] {
            let got = exact(x, n, confidence).unwrap();
            assert!((got.low / low - 1.0).abs() < 1e-11, "{x}/{n}: {got:?}");
            assert!((got.high / high - 1.0).abs() < 1e-11, "{x}/{n}: {got:?}");
        }
    }

    #[test]
    fn none_and_all() {
        let none = exact(0, 100, 0.95).unwrap();
        assert_eq!(none.low, 0.0);
        assert!((none.high - 0.036_216_692_645_176_41).abs() < 1e-15);
        let all = exact(100, 100, 0.95).unwrap();
        assert!((all.low - 0.963_783_307_354_823_5).abs() < 1e-15);
        assert_eq!(all.high, 1.0);
        let none = wilson(0, 100, 0.95).unwrap();
        assert_eq!(none.low, 0.0);
        // z²/(n + z²)
        assert!((none.high - 3.841_458_820_694_124 / 103.841_458_820_694_12).abs() < 1e-12);
        assert_eq!(wilson(100, 100, 0.95).unwrap().high, 1.0);
    }

    #[test]
    fn wilson_agrees_with_a_published_example() {
        // Newcombe, Statistics in Medicine 17 (1998), table I: 81/263, 15/148, 0/20, 1/29 at 95%.
        for (x, n, expected) in [
            (81, 263, "0.2553 0.3662"),
            (15, 148, "0.0624 0.1605"),
            (0, 20, "0.0000 0.1611"),
            (1, 29, "0.0061 0.1718"),
        ] {
            let got = wilson(x, n, 0.95).unwrap();
            assert_eq!(format!("{:.4} {:.4}", got.low, got.high), expected);
        }
        // And the exact interval of the same table.
        let got = exact(81, 263, 0.95).unwrap();
        assert_eq!(format!("{:.4} {:.4}", got.low, got.high), "0.2527 0.3676");
    }

    #[test]
    fn normal_quantiles_have_all_their_digits() {
        // Arithmetic of 30 digits.
        for (confidence, expected) in [
            (0.5, 0.674_489_750_196_081_7),
            (0.95, 1.959_963_984_540_053_9),
            (0.999, 3.290_526_731_491_894_5),
        ] {
            let z = normal_two_sided(1.0 - confidence);
            assert!((z / expected - 1.0).abs() < 1e-13, "{confidence}: {z}");
        }
        // z for 1 − confidence = 1e-9.
        assert!((normal_two_sided(1e-9) - 6.109_410_204_869_266).abs() < 1e-12);
    }

    #[test]
    fn the_ends_have_the_promised_tails() {
        for (x, n) in [(1, 1_000_000_000), (990, 1_000), (12_345, 10_000_000)] {
            for confidence in [0.5, 0.99, 1.0 - 1e-9] {
                let got = exact(x, n, confidence).unwrap();
                let outside = 0.5 * (1.0 - confidence);
                let (x, n) = (x as f64, n as f64);
                let low = binomial_tails(n, x, got.low).at_least;
                let high = binomial_tails(n, x + 1.0, got.high).below;
                assert!((low / outside - 1.0).abs() < 1e-9, "{x} {n}: {low}");
                assert!((high / outside - 1.0).abs() < 1e-9, "{x} {n}: {high}");
            }
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(exact(0, 0, 0.9).map_err(parameter), Err("trials"));
        assert_eq!(exact(0, u64::MAX, 0.9).map_err(parameter), Err("trials"));
        assert_eq!(wilson(2, 1, 0.9).map_err(parameter), Err("successes"));
        for bad in [0.0, 1.0, f64::NAN] {
            assert_eq!(exact(1, 2, bad).map_err(parameter), Err("confidence"));
        }
    }

    proptest! {
        #[test]
        fn intervals_hold_the_observed_share(
            n in 1u64..1_000_000, share in 0.0..=1.0f64, confidence in 0.01..0.999_999f64,
        ) {
            let x = (share * n as f64) as u64;
            let p = x as f64 / n as f64;
            for interval in [exact(x, n, confidence).unwrap(), wilson(x, n, confidence).unwrap()] {
                prop_assert!(interval.contains(p), "{interval:?}");
                prop_assert!(interval.low >= 0.0 && interval.high <= 1.0);
            }
        }

        #[test]
        fn success_and_failure_are_mirror_images(n in 1u64..10_000, share in 0.0..=1.0f64) {
            let x = (share * n as f64) as u64;
            let here = exact(x, n, 0.95).unwrap();
            let there = exact(n - x, n, 0.95).unwrap();
            prop_assert!((here.low - (1.0 - there.high)).abs() < 1e-12);
            prop_assert!((here.high - (1.0 - there.low)).abs() < 1e-12);
        }
    }
}
