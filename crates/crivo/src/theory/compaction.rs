//! Hash compaction: a table that keeps l bits of each key's hash instead of the key.
//!
//! An absent key is taken for present when its l bits equal those of *any* of the n stored keys:
//!
//! ```text
//!   FPR = 1 − (1 − 2^−l)^n ≈ n/2^l                           a million keys, 32 bits: 0.023%
//!   P(some two of the n keys collide) = 1 − Π_{i<n} (1 − i/2^l) ≈ 1 − e^(−n(n−1)/2^(l+1))
//! ```
//!
//! ```
//! use crivo::theory::compaction;
//!
//! assert_eq!(format!("{:.6}", compaction::fpr(1_000_000, 32)?), "0.000233");
//! assert_eq!(compaction::hash_bits(1_000_000, 0.01)?, 27);
//! // Among a million keys two share their 32 bits for sure; 64 bits keep them apart.
//! assert!(compaction::collision(1_000_000, 32)? > 0.999_999);
//! assert!(compaction::collision(1_000_000, 64)? < 3e-8);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # References
//! - P. Wolper, D. Leroy, *Reliable hashing without collision detection*, CAV 1993: the method, for
//!   model checkers that must store every state they have seen.
//! - U. Stern, D. Dill, *Improved probabilistic verification by hash compaction*, CHARME 1995: a
//!   tighter analysis.

use super::special::stirling_error;
use crate::ParameterError;
use crivo_core::check::{check_fpr, check_keys, check_range};

/// The chance that an absent key is found among n stored ones: 1 − (1 − 2^−l)^n.
///
/// ```
/// use crivo::theory::compaction;
///
/// assert_eq!(format!("{:.1e}", compaction::fpr(1_000_000, 40)?), "9.1e-7");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If l is not from 1 to 64.
pub fn fpr(n: u64, hash_bits: u32) -> Result<f64, ParameterError> {
    check_hash(hash_bits)?;
    let share = 0.5f64.powi(hash_bits as i32);
    Ok(-(n as f64 * (-share).ln_1p()).exp_m1())
}

/// The fewest bits of hash that keep the [`fpr`] for n keys.
///
/// ```
/// use crivo::theory::compaction;
///
/// assert_eq!(compaction::hash_bits(1_000_000, 0.001)?, 30);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0, the FPR is not between 0 and 1, or it would take more than 64 bits.
pub fn hash_bits(n: u64, target: f64) -> Result<u32, ParameterError> {
    check_keys(n)?;
    check_fpr(target)?;
    for bits in 1..=64 {
        if fpr(n, bits)? <= target {
            return Ok(bits);
        }
    }
    Err(ParameterError::of_real("fpr", target, "at least n/2^64, as hashes have 64 bits at most"))
}

/// The chance that some two of n keys share their l bits: 1 − Π_{i<n} (1 − i/2^l).
///
/// The product is taken by Stirling's formula with its corrections, to about 12 digits at any
/// size. It is the birthday problem, with 2^l days.
///
/// ```
/// use crivo::theory::compaction;
///
/// // 23 people, and a year of 256 days.
/// assert_eq!(format!("{:.3}", compaction::collision(23, 8)?), "0.639");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If l is not from 1 to 64.
pub fn collision(n: u64, hash_bits: u32) -> Result<f64, ParameterError> {
    check_hash(hash_bits)?;
    Ok(birthday(n, 2f64.powi(hash_bits as i32)))
}

/// 1 − e^(−n(n−1)/2^(l+1)): the usual approximation of [`collision`], a little too low.
///
/// ```
/// use crivo::theory::compaction;
///
/// assert_eq!(format!("{:.3}", compaction::collision_approximate(23, 8)?), "0.628");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If l is not from 1 to 64.
pub fn collision_approximate(n: u64, hash_bits: u32) -> Result<f64, ParameterError> {
    check_hash(hash_bits)?;
    let n = n as f64;
    let pairs = n * (n - 1.0).max(0.0) / 2.0;
    Ok(-(-pairs * 0.5f64.powi(hash_bits as i32)).exp_m1())
}

/// The chance that some two of n people have the same birthday, in a year of this many days.
fn birthday(n: u64, days: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let people = n as f64;
    let free = days - people;
    if free < 0.0 {
        return 1.0;
    }
    let share = people / days;
    if free == 0.0 {
        // Every day taken once: days!/days^days.
        let ln_none = 0.5 * (std::f64::consts::TAU * days).ln() - days + stirling_error(days);
        return -ln_none.exp_m1();
    }
    // ln(days!/((days − n)!·days^n)) by Stirling's formula, whose terms in n cancel to this.
    let ln_none = -days * entropy_gap(share) - 0.5 * (-share).ln_1p() + stirling_error(days)
        - stirling_error(free);
    -ln_none.exp_m1()
}

/// (1 − x)·ln(1 − x) + x for x in (0, 1), accurate for small x: Σ_{j≥2} x^j/(j(j−1)).
fn entropy_gap(x: f64) -> f64 {
    if x > 0.1 {
        return (1.0 - x) * (-x).ln_1p() + x;
    }
    let mut power = x;
    let mut sum = 0.0;
    for j in 2..32 {
        power *= x;
        sum += power / f64::from(j * (j - 1));
    }
    sum
}

fn check_hash(bits: u32) -> Result<(), ParameterError> {
    check_range("hash bits", bits, 1..=64, "from 1 to 64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(got: f64, expected: f64) -> bool {
        (got / expected - 1.0).abs() < 1e-10
    }

    #[test]
    fn rates_agree_with_long_arithmetic() {
        // Arithmetic of 80 digits.
        for (n, l, expected) in [
            (1_000_000, 32, 0.000_232_803_540_730_162_87),
            (1, 64, 5.421_010_862_427_522e-20),
            (1_000_000_000, 64, 5.421_010_862_280_585e-11),
            (1 << 20, 20, 0.632_120_734_247_214_7),
        ] {
            assert!(close(fpr(n, l).unwrap(), expected), "{n} {l}");
        }
        assert_eq!(fpr(0, 32), Ok(0.0));
    }

    #[test]
    fn collisions_agree_with_long_arithmetic() {
        // Arithmetic of 80 digits.
        for (n, l, expected) in [
            (2, 64, 5.421_010_862_427_522e-20),
            (77_163, 32, 0.499_999_890_517_348_36),
            (1_000_000_000, 64, 0.026_741_008_874_431_36),
            (5_000_000_000, 64, 0.492_179_051_811_252_8),
        ] {
            assert!(close(collision(n, l).unwrap(), expected), "{n} {l}");
        }
        assert_eq!(collision(1, 8), Ok(0.0));
        assert_eq!(collision(257, 8), Ok(1.0));
    }

    #[test]
    fn twenty_three_people() {
        assert!(close(birthday(23, 365.0), 0.507_297_234_323_985_4));
    }

    #[test]
    fn the_product_itself_for_small_hashes() {
        for l in 1..=8u32 {
            let days = f64::from(1 << l);
            for n in 2..=(1u64 << l) {
                let none: f64 = (0..n).map(|i| 1.0 - i as f64 / days).product();
                let got = collision(n, l).unwrap();
                assert!((got - (1.0 - none)).abs() < 1e-13, "{n} {l}: {got}");
            }
        }
    }

    #[test]
    fn the_hash_is_the_shortest() {
        for (n, target) in [(1, 0.3), (1_000, 0.01), (1 << 40, 1e-6)] {
            let bits = hash_bits(n, target).unwrap();
            assert!(fpr(n, bits).unwrap() <= target);
            assert!(bits == 1 || fpr(n, bits - 1).unwrap() > target);
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(fpr(1, 0).map_err(parameter), Err("hash bits"));
        assert_eq!(collision(1, 65).map_err(parameter), Err("hash bits"));
        assert_eq!(hash_bits(0, 0.1).map_err(parameter), Err("n"));
        assert_eq!(hash_bits(1, 1.0).map_err(parameter), Err("fpr"));
        assert_eq!(hash_bits(1 << 40, 1e-12).map_err(parameter), Err("fpr"));
    }

    proptest! {
        #[test]
        fn the_approximation_is_below_the_truth(n in 0u64..1 << 20, l in 1u32..=64) {
            let exact = collision(n, l).unwrap();
            let approximate = collision_approximate(n, l).unwrap();
            prop_assert!(approximate <= exact * (1.0 + 1e-9));
        }
    }
}
