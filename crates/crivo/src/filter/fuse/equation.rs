//! The equation that a key puts to the cells: which of them xor to what.
//!
//! ```text
//!   mixed  = digest · seed, which is odd, so that it can be undone
//!   cell 0 = reduce(mixed, segment count · segment length)               in segment s
//!   cell i = cell 0 + i · segment length, low bits xored with others     in segment s + i
//!   fingerprint = bits 32 and higher of mixed · constant
//! ```
//!
//! Cell 0 grows with the mixed digest, so that to sort by the one is to sort by the other.

use crate::ParameterError;
use crate::hash::reduce;
use crate::theory::fuse::Arity;

/// Segments are at most 2^18 cells long, so that two offsets in them take 36 bits of 64, and leave
/// 28 bits or more for the segment.
pub(in crate::filter) const OFFSET_BITS: u32 = 18;

/// The widest fingerprint: read with one load of 64 bits wherever it begins.
pub(in crate::filter) const MAX_BITS: u32 = 32;

/// 2^64 over the golden ratio: an odd number whose multiples are well spread.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits
/// that are right, of which the first three are.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// The dimensions of the cells and the seed: all that the equation of a digest depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter) struct FuseGeometry {
    pub(in crate::filter) arity: Arity,
    /// The bits of a fingerprint, 1 to 32.
    pub(in crate::filter) width: u32,
    /// The cells of a segment: a power of two, at most 2^18.
    pub(in crate::filter) segment_length: u64,
    /// How many cells may be a first cell: whole segments of them, none if there are no keys.
    pub(in crate::filter) first_cells: u64,
    /// What distinguishes one attempt to solve the equations from another: an odd number.
    pub(in crate::filter) seed: u64,
}

impl FuseGeometry {
    /// An error unless every cell of every key lies within the array, and the array within 2^64
    /// bits. What is said of cells below holds for geometries that pass.
    pub(in crate::filter) fn check(&self) -> Result<(), ParameterError> {
        let Self { width, segment_length, first_cells, .. } = *self;
        if !(1..=MAX_BITS).contains(&width) {
            return Err(ParameterError::new("width", width, "from 1 to 32"));
        }
        if !segment_length.is_power_of_two() || segment_length > 1 << OFFSET_BITS {
            let allowed = "a power of two, at most 2^18";
            return Err(ParameterError::new("segment length", segment_length, allowed));
        }
        // 2^58 cells of 2^5 bits and a few segments more stay below 2^64 bits.
        if !first_cells.is_multiple_of(segment_length) || first_cells > 1 << 58 {
            let allowed = "whole segments, at most 2^58";
            return Err(ParameterError::new("first cells", first_cells, allowed));
        }
        if self.seed.is_multiple_of(2) {
            return Err(ParameterError::new("seed", self.seed, "odd"));
        }
        Ok(())
    }

    /// 64 bits that decide cells and fingerprint; digests that differ give bits that differ.
    ///
    /// The digest is random already: all that this must do is to give other cells for another
    /// seed. The high bits, which choose the first cell, depend on all of the digest, and the other
    /// cells are counted from there.
    #[inline(always)]
    pub(in crate::filter) fn mix(&self, digest: u64) -> u64 {
        digest.wrapping_mul(self.seed)
    }

    /// Turns mixed bits back into digests.
    pub(in crate::filter) fn unmix(&self) -> impl Fn(u64) -> u64 {
        let inverse = inverse(self.seed);
        move |mixed| mixed.wrapping_mul(inverse)
    }

    /// The first cell of a key: below `first_cells`, if that is not 0.
    #[inline(always)]
    pub(in crate::filter) fn first_cell(&self, mixed: u64) -> u64 {
        reduce(mixed, self.first_cells)
    }

    /// The cells of a key, each in a segment of its own; `ARITY` is 3 or 4.
    #[inline(always)]
    pub(in crate::filter) fn cells<const ARITY: usize>(&self, mixed: u64) -> [u64; ARITY] {
        let first = self.first_cell(mixed);
        // The fourth offset would overlap the bits that choose the segment, so that it comes from
        // elsewhere.
        let offsets = [0, mixed >> OFFSET_BITS, mixed, mixed.wrapping_mul(SPREAD) >> 14];
        std::array::from_fn(|i| {
            (first + i as u64 * self.segment_length) ^ (offsets[i] & (self.segment_length - 1))
        })
    }

    /// What the cells of a key xor to, in the low `width` bits; above them, anything.
    #[inline(always)]
    pub(in crate::filter) fn wide_fingerprint(&self, mixed: u64) -> u64 {
        mixed.wrapping_mul(SPREAD) >> 32
    }

    /// The low `width` bits.
    #[inline(always)]
    pub(in crate::filter) fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// How many cells a key has.
    pub(in crate::filter) fn cells_per_key(&self) -> u64 {
        match self.arity {
            Arity::Three => 3,
            Arity::Four => 4,
        }
    }

    /// The cells beyond those that may be first; this many are common to two neighbouring segments.
    pub(in crate::filter) fn overlap(&self) -> u64 {
        (self.cells_per_key() - 1) * self.segment_length
    }

    /// All cells, if there are any keys.
    pub(in crate::filter) fn array_length(&self) -> u64 {
        match self.first_cells {
            0 => 0,
            cells => cells + self.overlap(),
        }
    }

    /// The words that the packed cells take: eight bytes can be read where the last cell begins.
    pub(in crate::filter) fn word_count(&self) -> u64 {
        match self.array_length() {
            0 => 0,
            cells => ((cells - 1) * u64::from(self.width) / 8 + 8).div_ceil(8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mixing_can_be_undone(digest: u64, half_seed: u64) {
            let seed = half_seed | 1;
            let geometry = FuseGeometry {
                arity: Arity::Three, width: 7, segment_length: 8, first_cells: 40, seed,
            };
            prop_assert_eq!(geometry.unmix()(geometry.mix(digest)), digest);
        }

        #[test]
        fn cells_lie_in_consecutive_segments(
            mixed: u64, log_length in 0u32..=18, segment_count in 1u64..1 << 40,
        ) {
            let geometry = FuseGeometry {
                arity: Arity::Four,
                width: 32,
                segment_length: 1 << log_length,
                first_cells: segment_count << log_length,
                seed: 1,
            };
            let segments = geometry.cells::<4>(mixed).map(|cell| cell >> log_length);
            prop_assert!(segments[0] < segment_count);
            prop_assert_eq!(segments, [0, 1, 2, 3].map(|i| segments[0] + i));
            prop_assert_eq!(&geometry.cells::<4>(mixed)[..3], &geometry.cells::<3>(mixed)[..]);
        }
    }
}
