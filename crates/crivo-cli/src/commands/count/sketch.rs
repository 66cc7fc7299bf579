//! A sketch of the distinct keys: HyperLogLog, by the crate `datasketches`.
//!
//! A sketch has k = 2^n registers of a byte. Its estimate has a standard error of 0.83/√k; a merged one,
//! which does not know the order in which keys came, of 1.04/√k. Files are in the format of Apache
//! DataSketches (HLL_8). A key is hashed as its bytes, so that other programs count a text as the same key
//! as its bytes in UTF-8.
//!
//! Reference: K. Lang, *Back to the future: an even more nearly optimal cardinality estimation algorithm*,
//! 2017: the estimators.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(super) use datasketches::hll::Coupon;

use datasketches::common::NumStdDev;
use datasketches::hash_value::raw_bytes;
use datasketches::hll::{HllSketch, HllType, HllUnion};

use crate::error::Error;

/// The limits of the power of two that is the number of registers.
const MIN_LG_K: u8 = 4;
const MAX_LG_K: u8 = 21;

/// The standard error of an estimate, multiplied by √k.
const ERROR_IN_ORDER: f64 = 0.833;
const ERROR_MERGED: f64 = 1.04;

/// The maximum length of a file.
const MAX_BYTES: u64 = HEADER_BYTES as u64 + (1 << MAX_LG_K);

/// A key, hashed.
pub(super) fn coupon(key: &[u8]) -> Coupon {
    Coupon::from_hash(raw_bytes::from_slice(key))
}

/// Counts distinct keys, approximately.
pub(super) struct DistinctSketch {
    sketch: HllSketch,
    is_merged: bool,
}

impl DistinctSketch {
    /// An empty sketch whose estimate, also after merging, has at most this standard error.
    pub(super) fn with_error(error: f64) -> Self {
        let lg_k = (MIN_LG_K..MAX_LG_K)
            .find(|lg_k| ERROR_MERGED / registers(*lg_k).sqrt() <= error)
            .unwrap_or(MAX_LG_K);
        Self { sketch: HllSketch::new(lg_k, HllType::Hll8), is_merged: false }
    }

    pub(super) fn add_all(&mut self, keys: &[Coupon]) {
        keys.iter().for_each(|key| self.sketch.update_with_coupon(*key));
    }

    pub(super) fn estimate(&self) -> u64 {
        self.sketch.estimate().round() as u64
    }

    /// Of a 95% confidence interval.
    pub(super) fn lower_bound(&self) -> u64 {
        self.sketch.lower_bound(NumStdDev::Two).floor() as u64
    }

    pub(super) fn upper_bound(&self) -> u64 {
        self.sketch.upper_bound(NumStdDev::Two).ceil() as u64
    }

    /// As a share of the estimate.
    pub(super) fn standard_error(&self) -> f64 {
        let factor = if self.is_merged { ERROR_MERGED } else { ERROR_IN_ORDER };
        factor / registers(self.sketch.lg_config_k()).sqrt()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.sketch.serialize()
    }
}

fn registers(lg_k: u8) -> f64 {
    f64::from(1u32 << lg_k)
}

/// The sketch of all that is in the sketches of these files.
pub(super) fn load(paths: &[PathBuf]) -> Result<DistinctSketch, Error> {
    let sketches = paths.iter().map(|path| load_one(path)).collect::<Result<Vec<_>, _>>()?;
    // The merged sketch has as many registers as the smallest: more would be empty promises.
    let lg_k = sketches.iter().map(HllSketch::lg_config_k).min().unwrap_or(MAX_LG_K);
    let mut union = HllUnion::new(lg_k);
    sketches.iter().for_each(|sketch| union.update(sketch));
    Ok(DistinctSketch { sketch: union.to_sketch(HllType::Hll8), is_merged: true })
}

fn load_one(path: &Path) -> Result<HllSketch, Error> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::reading(path))?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(Error::reading(path))?;
    let sketch = is_valid(&bytes).then(|| HllSketch::deserialize(&bytes));
    match sketch {
        Some(Ok(sketch)) => Ok(sketch),
        _ => Err(Error::new(format_args!(
            "{} is not a sketch of distinct records, or it is damaged; `crivo count --approx -o {0}` \
             makes one",
            path.display()
        ))),
    }
}

/// The bytes before the coupons of a list, of a set, and before the registers.
const LIST_BYTES: usize = 8;
const SET_BYTES: usize = 12;
const HEADER_BYTES: usize = 40;

/// Whether these bytes are a sketch as we write it. The decoder trusts lengths and values, so that they
/// are checked first.
fn is_valid(bytes: &[u8]) -> bool {
    const VERSION: u8 = 1;
    const FAMILY: u8 = 7;
    const LIST: (u8, u8) = (2, 0b1000);
    const SET: (u8, u8) = (3, 0b1001);
    const REGISTERS: (u8, u8) = (10, 0b1010);
    const IS_EMPTY: u8 = 4;
    const IS_COMPACT: u8 = 8;
    const IS_MERGED: u8 = 16;
    const LIST_LG: u8 = 3;
    const MIN_SET_LG: u8 = 5;
    const MAX_REGISTER: u8 = 63;

    let Some((head, rest)) = bytes.split_first_chunk::<LIST_BYTES>() else { return false };
    let [words, VERSION, FAMILY, lg_k, lg_size, flags, count, mode] = *head else { return false };
    if !(MIN_LG_K..=MAX_LG_K).contains(&lg_k) {
        return false;
    }
    let are_coupons = |bytes: &[u8], count: usize| {
        let (coupons, rest) = bytes.as_chunks::<4>();
        let is_coupon = |coupon: &[u8; 4]| u32::from_le_bytes(*coupon) >> 26 != 0;
        rest.is_empty() && coupons.len() == count && coupons.iter().all(is_coupon)
    };
    match (words, mode) {
        LIST => {
            let is_empty = flags & IS_EMPTY != 0;
            flags & !IS_EMPTY == IS_COMPACT
                && is_empty == (count == 0)
                && lg_size == LIST_LG
                && count < 1 << LIST_LG
                && are_coupons(rest, count.into())
        }
        SET => {
            let Some((count, coupons)) = rest.split_first_chunk::<{ SET_BYTES - LIST_BYTES }>()
            else {
                return false;
            };
            let count = u32::from_le_bytes(*count);
            // A set grows when it is three quarters full.
            flags == IS_COMPACT
                && (MIN_SET_LG..=(lg_k - 3).max(MIN_SET_LG)).contains(&lg_size)
                && u64::from(count) * 4 <= 3 << lg_size
                && are_coupons(coupons, count as usize)
        }
        REGISTERS => {
            let registers = bytes.get(HEADER_BYTES..).unwrap_or(&[]);
            let zeros = registers.iter().filter(|register| **register == 0).count();
            let number = |at: usize| {
                let word = rest.get(at..).and_then(|bytes| bytes.first_chunk());
                f64::from_le_bytes(word.copied().unwrap_or_default())
            };
            let counted = rest.get(24..).and_then(|bytes| bytes.first_chunk()).copied();
            flags & !IS_MERGED == 0
                && registers.len() == 1 << lg_k
                && registers.iter().all(|register| *register <= MAX_REGISTER)
                && counted.map(u32::from_le_bytes) == Some(zeros as u32)
                && [0, 8, 16].iter().all(|at| number(*at).is_finite() && number(*at) >= 0.0)
        }
        _ => false,
    }
}

/// Parses a standard error: `0.01` or `1%`.
pub(super) fn parse_error(text: &str) -> Result<f64, String> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse(),
    };
    number
        .ok()
        .filter(|error| (0.0008..=0.25).contains(error))
        .ok_or_else(|| format!("{text:?} is not a standard error from 0.08% to 25%: 0.01 or 1%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch_of(keys: std::ops::Range<u32>, error: f64) -> DistinctSketch {
        let mut sketch = DistinctSketch::with_error(error);
        sketch.add_all(&keys.map(|key| coupon(&key.to_le_bytes())).collect::<Vec<_>>());
        sketch
    }

    #[test]
    fn what_is_written_is_valid_and_nothing_damaged_panics() {
        for count in [0, 1, 7, 8, 24, 25, 100, 10_000] {
            for error in [0.25, 0.05] {
                let mut bytes = sketch_of(0..count, error).to_bytes();
                assert!(is_valid(&bytes), "{count} keys, {error}");
                let read = |bytes: &[u8]| {
                    is_valid(bytes).then(|| HllSketch::deserialize(bytes).map(|s| s.estimate()))
                };
                assert!(read(&bytes).is_some_and(|estimate| estimate.is_ok()));
                for length in 0..bytes.len().min(100) {
                    assert!(read(&bytes[..length]).is_none(), "{length} bytes");
                }
                for position in 0..bytes.len().min(60) {
                    let byte = bytes[position];
                    for wrong in 0..=255 {
                        bytes[position] = wrong;
                        if let Some(Ok(estimate)) = read(&bytes) {
                            assert!(!estimate.is_nan());
                        }
                    }
                    bytes[position] = byte;
                }
            }
        }
    }

    #[test]
    fn the_error_decides_the_number_of_registers() {
        for (error, lg_k) in [(0.25, 5), (0.01, 14), (0.0008, 21)] {
            assert_eq!(DistinctSketch::with_error(error).sketch.lg_config_k(), lg_k);
        }
    }
}
