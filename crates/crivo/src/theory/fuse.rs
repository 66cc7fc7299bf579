//! The binary fuse filter: a static array in which 3 (or 4) cells xor to a key's fingerprint.
//!
//! The cells of an absent key xor to a random value, which equals its fingerprint of w bits with
//! probability 2^−w, whatever the number of keys. The array has a little more cells than there
//! are keys, so that the equations can be solved:
//!
//! ```text
//!   FPR = 2^−w
//!   cells per key → 1.125 (3 cells a key), 1.075 (4 cells a key), for a million keys and more
//! ```
//!
//! ```
//! use crivo::theory::fuse::{self, Arity};
//!
//! assert_eq!(fuse::width(0.01)?, 7);
//! let layout = fuse::layout(1_000_000, Arity::Three)?;
//! assert_eq!((layout.segment_length, layout.array_length), (8_192, 1_130_496));
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # When not to use it
//! When keys are still to come: it is built from all of them at once. And a small set pays more: a
//! hundred keys take nearly two cells each.
//!
//! # References
//! - T. M. Graf, D. Lemire, *Binary fuse filters: fast and smaller than xor filters*, JEA 2022: the
//!   structure, and the segment lengths and size factors below, which were found by experiment.
//! - M. Dietzfelbinger, S. Walzer, *Dense peelable random uniform hypergraphs*, ESA 2019: why
//!   neighbouring segments let the array be so full.

use crate::ParameterError;
use crivo_core::check::{check_fpr, check_keys, check_range};

/// How many cells xor to a fingerprint.
///
/// ```
/// use crivo::theory::fuse::{self, Arity};
///
/// // A million keys: 1.13 cells per key, or 1.08.
/// assert_eq!(fuse::layout(1_000_000, Arity::Three)?.array_length, 1_130_496);
/// assert_eq!(fuse::layout(1_000_000, Arity::Four)?.array_length, 1_077_248);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arity {
    /// Three cells per key: faster, 1.125 cells per key.
    Three,
    /// Four cells per key: smaller, 1.075 cells per key.
    Four,
}

/// The FPR of fingerprints of w bits: 2^−w.
///
/// ```
/// use crivo::theory::fuse;
///
/// assert_eq!(fuse::fpr(8)?, 1.0 / 256.0);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If w is not from 1 to 64.
pub fn fpr(width: u32) -> Result<f64, ParameterError> {
    check_range("width", width, 1..=64, "from 1 to 64")?;
    Ok(0.5f64.powi(width as i32))
}

/// The fewest bits of a fingerprint that keep an FPR: ⌈log2(1/FPR)⌉.
///
/// ```
/// use crivo::theory::fuse;
///
/// assert_eq!(fuse::width(1.0 / 256.0)?, 8);
/// assert_eq!(fuse::width(0.001)?, 10);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the FPR is not between 0 and 1, or it would take more than 64 bits.
pub fn width(fpr: f64) -> Result<u32, ParameterError> {
    check_fpr(fpr)?;
    let width = -fpr.log2().floor();
    if width > 64.0 {
        return Err(ParameterError::of_real("fpr", fpr, "at least 2^-64"));
    }
    Ok(width as u32)
}

/// The dimensions of the array, in cells.
///
/// ```
/// use crivo::theory::fuse::{self, Arity};
///
/// let array = fuse::layout(1_000, Arity::Three)?;
/// assert_eq!(array.array_length, (array.segment_count + 2) * array.segment_length);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FuseArray {
    /// The cells of a segment, a power of two. A key's cells lie in consecutive segments.
    pub segment_length: u64,
    /// The segments in which a key's first cell may lie.
    pub segment_count: u64,
    /// All cells: (segment count + arity − 1) · segment length.
    pub array_length: u64,
}

/// No segment is longer than 2^18 cells, so that it stays within the cache.
const MAX_SEGMENT_EXPONENT: f64 = 18.0;

/// The array for n keys, as Graf and Lemire dimension it.
///
/// ```text
///             segment length                     cells per key, before rounding to segments
///   3 cells   2^⌊ln n/ln 3.33 + 2.25⌋            max(1.125, 0.875 + 0.25·ln 10^6/ln n)
///   4 cells   2^⌊ln n/ln 2.91 − 0.5⌋             max(1.075, 0.77 + 0.305·ln(6·10^5)/ln n)
/// ```
///
/// Segments are at most 2^18 cells long. A single key gets the shortest array of one segment
/// count. The construction may still fail for an unlucky seed; it is then repeated with another.
///
/// ```
/// use crivo::theory::fuse::{self, Arity};
///
/// // A small set pays more: 1.9 cells per key.
/// assert_eq!(fuse::layout(100, Arity::Three)?.array_length, 192);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is 0 or above 2^56.
pub fn layout(n: u64, arity: Arity) -> Result<FuseArray, ParameterError> {
    check_keys(n)?;
    if n > 1 << 56 {
        return Err(ParameterError::new("n", n, "at most 2^56"));
    }
    let keys = n as f64;
    let (arity, exponent) = match arity {
        Arity::Three => (3, keys.ln() / 3.33f64.ln() + 2.25),
        Arity::Four => (4, keys.ln() / 2.91f64.ln() - 0.5),
    };
    // The lower end is for two keys or fewer with four cells each.
    let segment_length = 1u64 << (exponent.clamp(0.0, MAX_SEGMENT_EXPONENT) as u32);
    let wanted = if n == 1 { 0 } else { (keys * size_factor(n, arity)).round() as u64 };
    let segment_count = wanted.div_ceil(segment_length).saturating_sub(arity - 1).max(1);
    Ok(FuseArray {
        segment_length,
        segment_count,
        array_length: (segment_count + arity - 1) * segment_length,
    })
}

/// Cells per key before rounding, for n ≥ 2.
fn size_factor(n: u64, arity: u64) -> f64 {
    let ln_keys = (n as f64).ln();
    if arity == 3 {
        (0.875 + 0.25 * 1e6f64.ln() / ln_keys).max(1.125)
    } else {
        (0.77 + 0.305 * 6e5f64.ln() / ln_keys).max(1.075)
    }
}

/// The bits per key that n keys take at an FPR: width · array length / n.
///
/// ```
/// use crivo::theory::fuse::{self, Arity};
///
/// let bits = fuse::bits_per_key(1_000_000, 1.0 / 256.0, Arity::Three)?;
/// assert_eq!(format!("{bits:.2}"), "9.04");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If n is out of range, the FPR is not between 0 and 1, or it would take more than 64 bits.
pub fn bits_per_key(n: u64, fpr: f64, arity: Arity) -> Result<f64, ParameterError> {
    let cells = layout(n, arity)?.array_length as f64;
    Ok(f64::from(width(fpr)?) * cells / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn large_arrays_have_the_published_size() {
        let cells = |n, arity| layout(n, arity).unwrap().array_length as f64 / n as f64;
        for n in [1_000_000, 10_000_000, 1_000_000_000, 1_000_000_000_000] {
            assert_eq!(format!("{:.2}", cells(n, Arity::Three)), "1.13", "{n}");
            assert_eq!(format!("{:.2}", cells(n, Arity::Four)), "1.08", "{n}");
        }
    }

    #[test]
    fn segment_lengths_follow_the_formula() {
        // ⌊ln 10^4/ln 3.33 + 2.25⌋ = ⌊9.906⌋, ⌊ln 10^4/ln 2.91 − 0.5⌋ = ⌊8.123⌋.
        let length = |n, arity| layout(n, arity).unwrap().segment_length;
        assert_eq!(length(10_000, Arity::Three), 1 << 9);
        assert_eq!(length(10_000, Arity::Four), 1 << 8);
        assert_eq!(length(1 << 50, Arity::Three), 1 << 18);
    }

    #[test]
    fn a_few_keys_get_a_valid_array() {
        assert_eq!(
            layout(1, Arity::Three),
            Ok(FuseArray { segment_length: 4, segment_count: 1, array_length: 12 })
        );
        for arity in [Arity::Three, Arity::Four] {
            for n in 1..2_000 {
                let layout = layout(n, arity).unwrap();
                assert!(layout.segment_count >= 1);
                assert!(layout.array_length > n, "{n} {arity:?} {layout:?}");
            }
        }
    }

    #[test]
    fn the_width_is_the_smallest() {
        for (fpr, expected) in [(0.5, 1), (0.51, 1), (0.01, 7), (1.0 / 256.0, 8), (0.0039, 9)] {
            assert_eq!(width(fpr), Ok(expected), "{fpr}");
        }
        assert_eq!(fpr(8), Ok(1.0 / 256.0));
        assert_eq!(width(fpr(64).unwrap()), Ok(64));
    }

    #[test]
    fn bad_parameters_are_named() {
        let parameter = |error: ParameterError| error.parameter;
        assert_eq!(fpr(0).map_err(parameter), Err("width"));
        assert_eq!(fpr(65).map_err(parameter), Err("width"));
        assert_eq!(width(f64::NAN).map_err(parameter), Err("fpr"));
        assert_eq!(width(1e-20).map_err(parameter), Err("fpr"));
        assert_eq!(layout(0, Arity::Three).map_err(parameter), Err("n"));
        assert_eq!(layout(u64::MAX, Arity::Four).map_err(parameter), Err("n"));
    }

    proptest! {
        #[test]
        fn the_array_is_never_shorter_than_asked_for(n in 2u64..1 << 50) {
            for (arity, cells) in [(Arity::Three, 3), (Arity::Four, 4)] {
                let layout = layout(n, arity).unwrap();
                let wanted = n as f64 * size_factor(n, cells);
                prop_assert!(layout.array_length as f64 >= wanted - 1.0);
                prop_assert!(layout.segment_length.is_power_of_two());
            }
        }
    }
}
