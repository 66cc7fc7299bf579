//! How large a table must be, so that its keys find room.
//!
//! A table of s slots is counted on for s·load keys, where load is the least of three limits. The
//! first two were measured with this very code, on 1,000 to 20,000 fresh tables of each of 22 sizes
//! up to 6,400 slots, and widths of 4, 5, 6, 8 and 12 bits: at most one in a thousand was refused a
//! key earlier. (Of larger tables, up to 2^26 slots, only a few were filled.) The third is computed.
//!
//! 1. **95%**: large tables fill up to 97%, but the search for the last empty slots gets long.
//! 2. **0.98 − c/√s**: 98% is the [threshold](theory::load_threshold); small tables stay below it by
//!    an amount that scatters as 1/√s. c = 1.2, and 2.2 for fingerprints of less than 6 bits, whose
//!    few steps from bucket to bucket coincide now and then. Above 1,600 slots the first limit is
//!    lower. Two buckets (s = 8) are an exception: every key may lie in both, and all slots fill.
//! 3. **Nine keys of one kind**: D·m/2 pairs of a fingerprint and its two buckets take eight keys
//!    each; the keys of a pair are a Poisson variable of mean λ = 8·load/D. That one pair among all
//!    gets nine has a probability of at most D·m/2 · λ^9/9!, which is to be 1/100. The limit counts
//!    for 4 bits from about a million keys on, for 5 bits above 200 million, for 6 above 10^10.

use super::expected_fpr;
use super::fields::BUCKET_SIZE;
use super::table::Table;
use crate::ParameterError;
use crate::theory::check::{check_keys, check_rate};
use crate::theory::cuckoo as theory;
use crate::theory::search::least;

/// The number of buckets, an even one, of a table for `capacity` keys.
pub(super) fn buckets_for(capacity: u64, width: u32) -> Result<u64, ParameterError> {
    check_keys(capacity)?;
    if !(4..=32).contains(&width) {
        return Err(ParameterError::new("fingerprint bits", width, "from 4 to 32"));
    }
    if capacity <= u64::from(2 * BUCKET_SIZE) {
        return Ok(2);
    }
    let is_enough = |half: u64| {
        let slots = (2 * half * u64::from(BUCKET_SIZE)) as f64;
        slots * load_limit(slots, width) >= capacity as f64
    };
    // Larger tables take more keys, so that the least that is enough can be searched for.
    let hint = capacity / u64::from(2 * BUCKET_SIZE);
    least(hint, 1 << 58, is_enough)
        .map(|half| 2 * half)
        .ok_or_else(|| ParameterError::new("capacity", capacity, "below 2^58 or so"))
}

/// The share of its slots that a table can be counted on to fill.
fn load_limit(slots: f64, width: u32) -> f64 {
    let distinct = 2f64.powi(width as i32) - 1.0;
    let scatter = if width < 6 { 2.2 } else { 1.2 };
    let small = 0.98 - scatter / slots.sqrt();
    let pairs = distinct * slots / 8.0;
    let nine_factorial = 362_880.0;
    let nine_of_a_kind = (0.01 * nine_factorial / pairs).powf(1.0 / 9.0) * distinct / 8.0;
    small.min(nine_of_a_kind).min(0.95)
}

/// The width of fingerprints that keeps the rate in the smallest table.
pub(in crate::filter) fn fingerprint_bits(capacity: u64, rate: f64) -> Result<u32, ParameterError> {
    check_rate(rate)?;
    let mut best = None;
    for width in 4..=32 {
        let buckets = buckets_for(capacity, width)?;
        let load = capacity as f64 / (buckets * u64::from(BUCKET_SIZE)) as f64;
        if theory::fingerprint_bits(rate, BUCKET_SIZE, load)? <= width {
            let size = u128::from(buckets) * u128::from(width);
            if best.is_some_and(|(smallest, _)| smallest <= size) {
                break;
            }
            best = Some((size, width));
        }
    }
    let best = best.map(|(_, width)| width);
    best.ok_or_else(|| ParameterError::new("rate", rate, "within reach of 32 bits: above 1.9e-9"))
}

/// The bits of the table that is made for `capacity` keys with fingerprints of `width` bits, and
/// its rate of wrong yeses when it holds them.
pub(in crate::filter) fn dimensions(
    capacity: u64,
    width: u32,
) -> Result<(u64, f64), ParameterError> {
    let buckets = buckets_for(capacity, width)?;
    let bits = Table::word_count(buckets, width)?.saturating_mul(u64::BITS.into());
    Ok((bits, expected_fpr(width, buckets, capacity)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_the_smallest_that_is_enough() {
        for width in [4, 5, 6, 12] {
            for capacity in (1..3_000).chain([1_000_000, 100_000_000, 1 << 40]) {
                let buckets = buckets_for(capacity, width).unwrap();
                assert!(buckets.is_multiple_of(2));
                let holds = |buckets: u64| {
                    let slots = (buckets * 4) as f64;
                    if buckets == 2 { 8.0 } else { slots * load_limit(slots, width) }
                };
                assert!(holds(buckets) >= capacity as f64, "{capacity} {width}");
                if buckets > 2 {
                    assert!(holds(buckets - 2) < capacity as f64, "{capacity} {width}");
                }
            }
        }
    }

    #[test]
    fn large_tables_are_filled_to_95_percent() {
        for (capacity, width) in [(2_000, 6), (1_000_000, 6), (100_000_000, 6), (1 << 40, 8)] {
            let slots = buckets_for(capacity, width).unwrap() * 4;
            assert!(slots < (capacity as f64 / 0.95) as u64 + 16, "{capacity} {width}");
        }
    }

    #[test]
    fn the_width_is_the_one_of_theory_or_saves_memory() {
        assert_eq!(fingerprint_bits(1_000_000, 0.01), Ok(10));
        assert_eq!(fingerprint_bits(1_000_000, 0.001), Ok(13));
        assert_eq!(fingerprint_bits(1_000, 0.45), Ok(4));
        // Four bits would be enough, in a table that is 60% full: five take less.
        assert_eq!(fingerprint_bits(100_000_000, 0.45), Ok(5));
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(buckets_for(0, 8).map_err(parameter), Err("n"));
        assert_eq!(buckets_for(10, 3).map_err(parameter), Err("fingerprint bits"));
        assert_eq!(buckets_for(10, 33).map_err(parameter), Err("fingerprint bits"));
        assert_eq!(buckets_for(u64::MAX, 8).map_err(parameter), Err("capacity"));
        for rate in [0.0, 1.0, f64::NAN, -1.0, 1e-9, 1e-30] {
            assert_eq!(fingerprint_bits(1_000, rate).map_err(parameter), Err("rate"), "{rate}");
        }
        assert_eq!(fingerprint_bits(1_000_000, 1.9e-9), Ok(32));
    }
}
