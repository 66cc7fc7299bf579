//! How many keys are in a Bloom filter, in the union of two, in both? From counts of set bits.
//!
//! X of m bits are set. In the mean m·(1 − e^(−kn/m)) are; solved for n:
//!
//! ```text
//!   n̂ = −(m/k)·ln(1 − X/m)                                         Swamidass and Baldi
//!   standard error ≈ √(m·h(kn/m))/k      with h(x) = e^x − 1 − x
//! ```
//!
//! ```
//! use crivo::theory::estimate;
//!
//! // Half of 10,000 bits are set, by 7 per key: about 990 keys.
//! let keys = estimate::cardinality(10_000, 7, 5_000)?;
//! assert_eq!(format!("{:.0} ± {:.0}", keys.keys, keys.standard_error), "990 ± 8");
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # Where the standard errors come from
//!
//! Let Z be the number of clear bits after the keys of a set S are inserted. For two sets S and T
//! in filters of the same shape, counting pairs of positions gives, for large m,
//!
//! ```text
//!   covariance of ln Z_S and ln Z_T  =  h(k·|S ∩ T|/m)/m
//! ```
//!
//! and every estimate here is a sum of such logarithms. For one set and k = 1 this is the
//! standard error that Whang et al. derive for linear counting. The estimates are also biased
//! upwards, by about h(kn/m)/(2k) keys: 0.03 of a key in a filter that is half full with k = 5.
//!
//! # When not to use them
//! When the filter is nearly full: at X = m nothing can be said, which is an error here. And for
//! a small intersection of large sets, whose standard error does not shrink with it.
//!
//! # References
//! - S. J. Swamidass, P. Baldi, *Mathematical correction for fingerprint similarity measures*,
//!   2007: the estimates of cardinality, union and intersection.
//! - O. Papapetrou, W. Siberski, W. Nejdl, *Cardinality estimation and dynamic length adaptation
//!   for Bloom filters*, 2010: the same for intersections, from the count of the AND-ed bits.
//! - K. Whang, B. Vander-Zanden, H. Taylor, *A linear-time probabilistic counting algorithm*, 1990:
//!   bias and standard error for k = 1.

use crate::ParameterError;
use crivo_core::check::{check_positive, check_probes};

/// An estimated number of keys and its standard error.
///
/// About 95% of such estimates lie within two standard errors of the truth.
///
/// ```
/// use crivo::theory::estimate;
///
/// let empty = estimate::cardinality(10_000, 7, 0)?;
/// assert_eq!((empty.keys, empty.standard_error), (0.0, 0.0));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The estimated number of keys.
    pub keys: f64,
    /// The standard deviation of that estimate, itself estimated.
    pub standard_error: f64,
}

/// The number of distinct keys in a filter of m bits, `set_bits` of which are set, k per key.
///
/// For a union, give the number of bits set in either of two filters (the OR of their bits).
///
/// ```
/// use crivo::theory::estimate;
///
/// // One probe per key: 1,000 of 2,000 bits are set by about 1,386 keys.
/// let keys = estimate::cardinality(2_000, 1, 1_000)?;
/// assert_eq!(format!("{:.0} ± {:.0}", keys.keys, keys.standard_error), "1386 ± 25");
/// assert!(estimate::cardinality(2_000, 1, 2_000).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, k is not from 1 to 255, or all bits are set.
pub fn cardinality(m: u64, k: u32, set_bits: u64) -> Result<Estimate, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    let scale = Scale::new(m, k);
    let fill = scale.ln_clear("set bits", m, set_bits)?;
    Ok(scale.estimate(fill, excess(fill)))
}

/// The number of keys in both of two filters of m bits, k per key, from the bits set in the
/// first, in the second, and in either (the OR of their bits).
///
/// By inclusion and exclusion, |A ∩ B| = |A| + |B| − |A ∪ B|. Papapetrou's estimate, which starts
/// from the bits set in *both* filters (X_A + X_B − X_or of them), is the same function of the
/// same counts, up to a factor 1 − 1/(2m). Chance may make it negative; it is then given as it
/// is, so that averages stay honest.
///
/// ```
/// use crivo::theory::estimate;
///
/// // Two filters with 5,000 of 10,000 bits set; either has 6,500: 481 keys in common.
/// let both = estimate::intersection(10_000, 7, 5_000, 5_000, 6_500)?;
/// assert_eq!(format!("{:.0} ± {:.0}", both.keys, both.standard_error), "481 ± 8");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If m is 0, k is not from 1 to 255, a count reaches m, or the bits set in either are fewer than
/// those in one of the filters, or more than those in the two together.
pub fn intersection(
    m: u64,
    k: u32,
    set_in_first: u64,
    set_in_second: u64,
    set_in_either: u64,
) -> Result<Estimate, ParameterError> {
    check_positive("m", m)?;
    check_probes(k)?;
    let scale = Scale::new(m, k);
    let first = scale.ln_clear("set bits of the first", m, set_in_first)?;
    let second = scale.ln_clear("set bits of the second", m, set_in_second)?;
    let either = scale.ln_clear("set bits of either", m, set_in_either)?;
    let most = set_in_first.saturating_add(set_in_second);
    if set_in_either < set_in_first.max(set_in_second) || set_in_either > most {
        return Err(ParameterError::new(
            "set bits of either",
            set_in_either,
            "at least those of each filter and at most their sum",
        ));
    }
    let both = first + second - either;
    // The covariances above, with the signs of |A| + |B| − |A ∪ B|; A ∩ (A ∪ B) is A.
    let variance = excess(either) + 2.0 * excess(both.max(0.0)) - excess(first) - excess(second);
    Ok(scale.estimate(both, variance.max(0.0)))
}

/// h(x) = e^x − 1 − x, without cancellation for small x.
fn excess(x: f64) -> f64 {
    if x > 0.1 {
        return x.exp_m1() - x;
    }
    // x²/2!·(1 + x/3·(1 + x/4·(…)))
    let nested = (3..16).rev().fold(1.0, |sum, j| 1.0 + sum * x / f64::from(j));
    0.5 * x * x * nested
}

/// From logarithms of shares to numbers of keys.
struct Scale {
    bits: f64,
    probes: f64,
}

impl Scale {
    fn new(m: u64, k: u32) -> Self {
        Self { bits: m as f64, probes: f64::from(k) }
    }

    /// −ln of the share of clear bits.
    fn ln_clear(&self, name: &'static str, m: u64, set: u64) -> Result<f64, ParameterError> {
        if set >= m {
            return Err(ParameterError::new(
                name,
                set,
                "below the number of bits, for a full filter says nothing",
            ));
        }
        // Of a nearly full filter the clear bits are counted, which rounding cannot lose.
        Ok(if set > m / 2 {
            -((m - set) as f64 / self.bits).ln()
        } else {
            -(-(set as f64 / self.bits)).ln_1p()
        })
    }

    fn estimate(&self, logarithm: f64, variance: f64) -> Estimate {
        Estimate {
            keys: logarithm * self.bits / self.probes,
            standard_error: (self.bits * variance).sqrt() / self.probes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo_core::Random;
    use proptest::prelude::*;

    const BITS: usize = 4096;
    const PROBES: u32 = 5;

    /// One filter's bits, set at random by that many keys.
    fn filter(keys: u64, random: &mut Random) -> Vec<bool> {
        let mut bits = vec![false; BITS];
        for _ in 0..keys * u64::from(PROBES) {
            bits[random.number() as usize % BITS] = true;
        }
        bits
    }

    fn or(a: &[bool], b: &[bool]) -> Vec<bool> {
        a.iter().zip(b).map(|(a, b)| a | b).collect()
    }

    fn count(bits: &[bool]) -> u64 {
        bits.iter().filter(|&&bit| bit).count() as u64
    }

    /// Checks that the estimates scatter around the truth as their standard errors say.
    fn check_scatter(truth: f64, estimates: &[Estimate]) {
        let runs = estimates.len() as f64;
        let mean = estimates.iter().map(|e| e.keys).sum::<f64>() / runs;
        let square = |e: &Estimate| (e.keys - mean).powi(2);
        let scatter = (estimates.iter().map(square).sum::<f64>() / (runs - 1.0)).sqrt();
        let predicted = estimates.iter().map(|e| e.standard_error).sum::<f64>() / runs;
        // The mean: five of its standard errors and a key of bias, a chance of failing of 6e-7.
        let allowed = 5.0 * predicted / runs.sqrt() + 1.0;
        assert!((mean - truth).abs() < allowed, "{mean} for {truth} ± {allowed}");
        // The standard deviation of a standard deviation is 1/√(2·runs) of it: five again, and 1%
        // for the terms of order 1/m that the derivation drops.
        let ratio = scatter / predicted;
        assert!((ratio - 1.0).abs() < 5.0 / (2.0 * runs).sqrt() + 0.01, "{ratio}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn cardinalities_scatter_as_predicted() {
        let mut random = Random::new(1);
        for keys in [50, 500, 1_500] {
            let estimates: Vec<_> = (0..4_000)
                .map(|_| {
                    let set = count(&filter(keys, &mut random));
                    cardinality(BITS as u64, PROBES, set).unwrap()
                })
                .collect();
            check_scatter(keys as f64, &estimates);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn intersections_scatter_as_predicted() {
        let mut random = Random::new(2);
        for (only_first, only_second, both) in [(300, 200, 250), (400, 400, 50), (20, 30, 500)] {
            let estimates: Vec<_> = (0..4_000)
                .map(|_| {
                    let common = filter(both, &mut random);
                    let first = or(&common, &filter(only_first, &mut random));
                    let second = or(&common, &filter(only_second, &mut random));
                    let either = or(&first, &second);
                    let sets = [&first, &second, &either].map(|bits| count(bits));
                    intersection(BITS as u64, PROBES, sets[0], sets[1], sets[2]).unwrap()
                })
                .collect();
            check_scatter(both as f64, &estimates);
        }
    }

    #[test]
    fn unions_are_cardinalities_of_the_or() {
        let mut random = Random::new(3);
        let (a, b) = (filter(200, &mut random), filter(300, &mut random));
        let union = cardinality(BITS as u64, PROBES, count(&or(&a, &b))).unwrap();
        // One draw: five standard errors have a chance of failing of 6e-7.
        assert!((union.keys - 500.0).abs() < 5.0 * union.standard_error, "{union:?}");
    }

    #[test]
    fn empty_and_identical_filters() {
        let empty = cardinality(100, 3, 0).unwrap();
        assert_eq!((empty.keys, empty.standard_error), (0.0, 0.0));
        let one = cardinality(1_000, 3, 300).unwrap();
        let same = intersection(1_000, 3, 300, 300, 300).unwrap();
        assert!((one.keys - same.keys).abs() < 1e-9);
        assert!((one.standard_error - same.standard_error).abs() < 1e-9);
        // Linear counting, k = 1: √(m·(e^t − t − 1)) with t = ln 2.
        let half = cardinality(10_000, 1, 5_000).unwrap();
        let expected = (10_000.0 * (1.0 - std::f64::consts::LN_2)).sqrt();
        assert!((half.standard_error - expected).abs() < 1e-9);
    }

    #[test]
    fn papapetrou_estimates_the_same() {
        let (m, k, a, b, either) = (10_000.0, 7.0, 5_000.0, 4_000.0, 6_500.0);
        let and: f64 = a + b - either;
        let inside = m - (and * m - a * b) / (m - a - b + and);
        let theirs = (inside.ln() - m.ln()) / (k * (-1.0f64 / m).ln_1p());
        let ours = intersection(10_000, 7, 5_000, 4_000, 6_500).unwrap().keys;
        assert!((theirs / ours - 1.0).abs() < 1.0 / m, "{theirs} {ours}");
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(cardinality(0, 1, 0).map_err(parameter), Err("m"));
        assert_eq!(cardinality(8, 0, 0).map_err(parameter), Err("k"));
        assert_eq!(cardinality(8, 1, 8).map_err(parameter), Err("set bits"));
        let either = Err("set bits of either");
        assert_eq!(intersection(9, 1, 3, 3, 2).map_err(parameter), either);
        assert_eq!(intersection(9, 1, 3, 3, 7).map_err(parameter), either);
        let first = Err("set bits of the first");
        assert_eq!(intersection(9, 1, 9, 3, 7).map_err(parameter), first);
    }

    proptest! {
        #[test]
        fn more_set_bits_mean_more_keys(m in 2u64..1 << 40, share in 0.0..0.99f64, k in 1u32..20) {
            let set = ((m - 2) as f64 * share) as u64;
            let here = cardinality(m, k, set).unwrap();
            let more = cardinality(m, k, set + 1).unwrap();
            prop_assert!(more.keys >= here.keys);
            prop_assert!(here.standard_error.is_finite());
        }
    }
}
