//! The cuckoo filter: fingerprints of f bits, in one of two buckets of b slots each.
//!
//! A query for an absent key compares its fingerprint with those in its two buckets, of which a
//! share α of the 2b slots is occupied. Each comparison hits by chance once in D, the number of
//! different fingerprints:
//!
//! ```text
//!   FPR = 1 − (1 − 1/D)^(2bα) ≈ 2bα/D ≤ 2b/D
//!   bits per key = (log2(1/FPR) + log2(2b))/α                b = 4, α = 0.95, 1%: 10.15
//! ```
//!
//! ```
//! use crivo::theory::cuckoo;
//!
//! // Twelve bits, of which the value 0 marks an empty slot: 4,095 different fingerprints.
//! let fpr = cuckoo::fpr(4_095, 4, 0.95)?;
//! assert_eq!(format!("{fpr:.5}"), "0.00185");
//! assert_eq!(cuckoo::fingerprint_bits(0.01, 4, 0.95)?, 10);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! Mind the reserved value: a filter that marks empty slots by a fingerprint of 0 has
//! D = 2^f − 1 fingerprints, and at f = 4 it errs 7% more often than D = 2^4 would.
//!
//! *Semi-sorting* saves a bit per key: the order of a bucket's four fingerprints carries no
//! meaning, and 4 sorted half-bytes have only 3,876 values, which fit into 12 bits instead of 16.
//!
//! # How full can a cuckoo table get?
//!
//! Up to a sharp threshold, that [`load_threshold`] computes: 50% for two choices of single slots,
//! but 98% for two buckets of four.
//!
//! # When not to use it
//! Above an FPR of 0.4% (with semi-sorting, of 2.4%) a [Bloom filter](super::bloom) is smaller. A
//! set that never changes is better off in a [fuse filter](super::fuse).
//!
//! # References
//! - B. Fan et al., *Cuckoo filter: practically better than Bloom*, CoNEXT 2014: the structure.
//! - N. Fountoulakis, M. Khosla, K. Panagiotou, *The multiple-orientability thresholds for random
//!   hypergraphs*, SODA 2011: the thresholds, for every d and b.
//! - J. Cain, P. Sanders, N. Wormald, *The random graph threshold for k-orientability*, SODA 2007,
//!   and D. Fernholz, V. Ramachandran in the same proceedings: the case of two choices.

use statrs::function::gamma::gamma_lr;

use crate::ParameterError;
use crivo_core::check::{check_fpr, check_load, check_range};

/// The FPR for a number of different fingerprints (2^f, or 2^f − 1 where one value is reserved
/// for empty slots), a bucket size b and a load: 1 − (1 − 1/D)^(2b·load).
///
/// ```
/// use crivo::theory::cuckoo;
///
/// // Bytes, of which 0 is reserved, in buckets of four.
/// assert_eq!(format!("{:.3}", cuckoo::fpr(255, 4, 0.95)?), "0.029");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are fewer than two fingerprints, the bucket size is not from 1 to 64, or the load is
/// not above 0 and at most 1.
pub fn fpr(distinct_fingerprints: u64, bucket_size: u32, load: f64) -> Result<f64, ParameterError> {
    check_fingerprints(distinct_fingerprints)?;
    check_bucket(bucket_size)?;
    check_load(load)?;
    let compared = 2.0 * f64::from(bucket_size) * load;
    Ok(-(compared * (-1.0 / distinct_fingerprints as f64).ln_1p()).exp_m1())
}

/// The mean FPR of a filter, exactly: 1 − (1 − 2/(D·buckets))^keys.
///
/// Under partial-key hashing a stored key answers for an absent one if it has the same fingerprint
/// (one chance in D), and started from one of the same two buckets (two in all buckets), wherever
/// it lies now; and the keys are independent. In large tables that is 1 − e^(−2bα/D), by a factor
/// of up to 1 − 1/(2D) below [`fpr`], which takes the slots of a bucket for independent.
///
/// ```
/// use crivo::theory::cuckoo;
///
/// let (exact, slots) = (cuckoo::mean_fpr(15, 1_000, 3_800)?, cuckoo::fpr(15, 4, 0.95)?);
/// assert_eq!(format!("{exact:.3} {slots:.3}"), "0.398 0.408");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are fewer than two fingerprints or two buckets.
pub fn mean_fpr(
    distinct_fingerprints: u64,
    buckets: u64,
    keys: u64,
) -> Result<f64, ParameterError> {
    check_fingerprints(distinct_fingerprints)?;
    if buckets < 2 {
        return Err(ParameterError::new("number of buckets", buckets, "at least 2"));
    }
    // Keys with the same digest coincide however large the table is.
    let coincidence = 2.0 / (distinct_fingerprints as f64 * buckets as f64);
    let coincidence = coincidence.max(0.5f64.powi(64));
    Ok(-(keys as f64 * (-coincidence).ln_1p()).exp_m1())
}

/// An upper bound on the FPR at any load: 2b/D, and no more than 1.
///
/// ```
/// use crivo::theory::cuckoo;
///
/// assert_eq!(cuckoo::fpr_bound(256, 4)?, 1.0 / 32.0);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If there are fewer than two fingerprints, or the bucket size is not from 1 to 64.
pub fn fpr_bound(distinct_fingerprints: u64, bucket_size: u32) -> Result<f64, ParameterError> {
    check_fingerprints(distinct_fingerprints)?;
    check_bucket(bucket_size)?;
    Ok((2.0 * f64::from(bucket_size) / distinct_fingerprints as f64).min(1.0))
}

/// The fewest bits of a fingerprint that keep the [`fpr`] at this load, one value being reserved.
///
/// ```
/// use crivo::theory::cuckoo;
///
/// assert_eq!(cuckoo::fingerprint_bits(0.03, 4, 0.95)?, 8);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, the bucket size or the load is out of range, or it would
/// take more than 63 bits.
pub fn fingerprint_bits(target: f64, bucket_size: u32, load: f64) -> Result<u32, ParameterError> {
    check_fpr(target)?;
    for bits in 2..64 {
        if fpr((1 << bits) - 1, bucket_size, load)? <= target {
            return Ok(bits);
        }
    }
    Err(ParameterError::of_real(
        "fpr",
        target,
        "at least 2b/2^63, as fingerprints have 63 bits at most",
    ))
}

/// The bits per key that an FPR takes, were fingerprints of any real width:
/// (log2(1/FPR) + log2(2b))/load.
///
/// For b = 4 and a load of 95% it is the well-known (log2(1/FPR) + 3)/0.95. It stands on the
/// bound 2b/D, thus a little above the truth.
///
/// ```
/// use crivo::theory::cuckoo;
///
/// assert_eq!(format!("{:.2}", cuckoo::bits_per_key(0.001, 4, 0.95)?), "13.65");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, or the bucket size or the load is out of range.
pub fn bits_per_key(fpr: f64, bucket_size: u32, load: f64) -> Result<f64, ParameterError> {
    check_fpr(fpr)?;
    check_bucket(bucket_size)?;
    check_load(load)?;
    Ok(((2.0 * f64::from(bucket_size)).log2() - fpr.log2()) / load)
}

/// The share of its slots that a large cuckoo table can fill, with d choices of buckets of b slots.
///
/// Below it a placement of all keys exists almost surely; above it, almost never. With
/// Q(x, y) = P(a Poisson variable of mean x is at least y):
///
/// ```text
///   find x with   d·b = x·Q(x, b)/Q(x, b + 1)
///   threshold  =  x / (d·b·Q(x, b)^(d−1))
/// ```
///
/// That a placement exists does not say that an insertion finds it quickly: stay some per cent
/// below.
///
/// ```
/// use crivo::theory::cuckoo;
///
/// assert_eq!(cuckoo::load_threshold(2, 1)?, 0.5);
/// assert_eq!(format!("{:.3}", cuckoo::load_threshold(2, 4)?), "0.980");
/// assert_eq!(format!("{:.3}", cuckoo::load_threshold(3, 1)?), "0.918");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If d is not from 2 to 16, or b not from 1 to 64.
pub fn load_threshold(choices: u32, bucket_size: u32) -> Result<f64, ParameterError> {
    check_range("number of choices", choices, 2..=16, "from 2 to 16")?;
    check_bucket(bucket_size)?;
    if (choices, bucket_size) == (2, 1) {
        // The solution is x = 0, where the formula becomes a limit.
        return Ok(0.5);
    }
    let at_least = |x: f64, y: u32| gamma_lr(f64::from(y), x);
    let slots = f64::from(choices * bucket_size);
    let excess = |x: f64| x * at_least(x, bucket_size) / at_least(x, bucket_size + 1) - slots;
    // The left side rises from b + 1 < d·b at x = 0, and exceeds x itself.
    let (mut low, mut high) = (1e-3, slots);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if excess(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let full = at_least(high, bucket_size).powi(choices as i32 - 1);
    // Rounding may lift a threshold that is nearly 1 above it.
    Ok((high / (slots * full)).min(1.0))
}

fn check_fingerprints(distinct: u64) -> Result<(), ParameterError> {
    if distinct < 2 {
        return Err(ParameterError::new("number of fingerprints", distinct, "at least 2"));
    }
    Ok(())
}

fn check_bucket(size: u32) -> Result<(), ParameterError> {
    check_range("bucket size", size, 1..=64, "from 1 to 64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn published_thresholds_are_reproduced() {
        // In per cent: Cain, Sanders and Wormald for d = 2; Fountoulakis et al. for the others.
        for (d, b, expected) in [
            (2, 1, "50.0"),
            (2, 2, "89.7"),
            (2, 3, "95.9"),
            (2, 4, "98.0"),
            (2, 8, "99.8"),
            (3, 1, "91.8"),
            (3, 2, "98.8"),
            (4, 1, "97.7"),
        ] {
            let percent = 100.0 * load_threshold(d, b).unwrap();
            assert_eq!(format!("{percent:.1}"), expected, "d = {d}, b = {b}");
        }
        // To more digits; for b = 1 as in Dietzfelbinger et al., "Tight thresholds for cuckoo
        // hashing via XORSAT" (ICALP 2010).
        let more = |d, b| format!("{:.4}", load_threshold(d, b).unwrap());
        assert_eq!(more(2, 2), "0.8970");
        assert_eq!(more(3, 1), "0.9179");
        assert_eq!(more(4, 1), "0.9768");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn thresholds_rise_with_choices_and_with_bucket_size() {
        for d in 2..=16 {
            for b in 1..=64 {
                let here = load_threshold(d, b).unwrap();
                assert!(here > 0.0 && here <= 1.0, "{d} {b} {here}");
                if b > 1 {
                    assert!(here >= load_threshold(d, b - 1).unwrap() - 1e-12, "{d} {b}");
                }
                if d > 2 {
                    assert!(here >= load_threshold(d - 1, b).unwrap() - 1e-12, "{d} {b}");
                }
            }
        }
    }

    #[test]
    fn one_percent_in_buckets_of_four() {
        assert_eq!(format!("{:.2}", bits_per_key(0.01, 4, 0.95).unwrap()), "10.15");
        let formula = ((1.0f64 / 0.01).log2() + 3.0) / 0.95;
        assert!((bits_per_key(0.01, 4, 0.95).unwrap() - formula).abs() < 1e-12);
    }

    #[test]
    fn a_hundred_keys_at_one_percent() {
        // 27 buckets of 4 hold 100 keys at a load of 92.6%: ten bits each.
        let load = 100.0 / 108.0;
        let bits = fingerprint_bits(0.01, 4, load).unwrap();
        assert_eq!(bits, 10);
        assert!(fpr((1 << bits) - 1, 4, load).unwrap() <= 0.01);
        assert!(fpr((1 << (bits - 1)) - 1, 4, load).unwrap() > 0.01);
    }

    #[test]
    fn the_reserved_value_counts() {
        let ratio = fpr(15, 4, 0.95).unwrap() / fpr(16, 4, 0.95).unwrap();
        assert!(ratio > 1.04 && ratio < 1.07, "{ratio}");
    }

    #[test]
    fn the_mean_rate_counts_coincidences_of_keys() {
        assert_eq!(mean_fpr(15, 10, 0), Ok(0.0));
        // Two buckets: every key may lie in every slot, and the slots are independent.
        let (keys, slots) = (mean_fpr(15, 2, 6).unwrap(), fpr(15, 4, 0.75).unwrap());
        assert!((keys - slots).abs() < 1e-12);
        // One key: the same fingerprint, and one of the same two buckets of ten.
        assert!((mean_fpr(15, 10, 1).unwrap() - 2.0 / 150.0).abs() < 1e-12);
        let limit = -(-8.0 * 0.95 / 15.0f64).exp_m1();
        assert!((mean_fpr(15, 1 << 40, 4 * 95 * (1 << 40) / 100).unwrap() - limit).abs() < 1e-9);
    }

    #[test]
    fn tiny_rates_keep_their_digits() {
        let fpr = fpr(1 << 62, 4, 1.0).unwrap();
        assert!((fpr / (8.0 / 2f64.powi(62)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(fpr(1, 4, 0.9).map_err(parameter), Err("number of fingerprints"));
        assert_eq!(fpr(16, 0, 0.9).map_err(parameter), Err("bucket size"));
        assert_eq!(fpr(16, 4, 0.0).map_err(parameter), Err("load"));
        assert_eq!(fpr_bound(0, 4).map_err(parameter), Err("number of fingerprints"));
        assert_eq!(mean_fpr(1, 10, 10).map_err(parameter), Err("number of fingerprints"));
        assert_eq!(mean_fpr(15, 1, 10).map_err(parameter), Err("number of buckets"));
        assert_eq!(fingerprint_bits(1.0, 4, 0.9).map_err(parameter), Err("fpr"));
        assert_eq!(fingerprint_bits(1e-30, 4, 0.9).map_err(parameter), Err("fpr"));
        assert_eq!(bits_per_key(0.1, 65, 0.9).map_err(parameter), Err("bucket size"));
        assert_eq!(load_threshold(1, 4).map_err(parameter), Err("number of choices"));
        assert_eq!(load_threshold(2, 0).map_err(parameter), Err("bucket size"));
    }

    proptest! {
        #[test]
        fn the_bound_bounds(distinct in 2u64.., b in 1u32..=64, load in 0.001..=1.0) {
            let fpr = fpr(distinct, b, load).unwrap();
            prop_assert!(fpr > 0.0 && fpr <= fpr_bound(distinct, b).unwrap() * (1.0 + 1e-12));
        }
    }
}
