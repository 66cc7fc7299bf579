//! Four fingerprints side by side in one machine word, compared all at once.
//!
//! ```text
//!   bucket        0011 | 0000 | 1010 | 0111        f = 4
//!   probe         1010 | 1010 | 1010 | 1010        the fingerprint, four times
//!   xor           1001 | 1010 | 0000 | 1101        0 where they agree
//!
//!   low bits     (_001 + 0111) …                   carries into the high bit unless all are 0
//!   or xor        1    | 1    | 0    | 1           the high bits: 0 where the field was 0
//! ```
//!
//! No carry leaves its field, so that the answer is exact for every field, and what lies above the
//! four fields (the next bucket) has no influence.

use std::ops::{BitAnd, BitOr, BitXor, Not};

/// How many slots a bucket has.
pub(super) const BUCKET_SIZE: u32 = 4;

/// A word that holds a bucket: `u64` for fingerprints of up to 16 bits, `u128` for the others.
pub(super) trait Lane:
    Copy
    + PartialOrd
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    const NONE: Self;

    /// The low bits of a pattern.
    fn of(pattern: u128) -> Self;

    fn widened(self) -> u128;

    /// The sum, without what overflows.
    fn plus(self, other: Self) -> Self;

    /// The product, without what overflows.
    fn times(self, factor: Self) -> Self;

    /// The number of zeros below the lowest one.
    fn trailing_zeros(self) -> u32;

    fn count_ones(self) -> u32;
}

macro_rules! lane {
    ($word:ty) => {
        impl Lane for $word {
            const NONE: Self = 0;

            #[inline(always)]
            fn of(pattern: u128) -> Self {
                pattern as Self
            }

            #[inline(always)]
            fn widened(self) -> u128 {
                self.into()
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self.wrapping_mul(factor)
            }

            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                self.trailing_zeros()
            }

            #[inline(always)]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
        }
    };
}

lane!(u64);
lane!(u128);

/// Where the fields of a bucket lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    width: u32,
    /// The lowest bit of every field.
    ones: u128,
    /// The highest bit of every field.
    highs: u128,
}

impl Fields {
    /// Fields of `width` bits, from 4 to 32.
    pub(super) fn new(width: u32) -> Self {
        debug_assert!((4..=32).contains(&width));
        let ones = (0..BUCKET_SIZE).fold(0, |ones, slot| ones | 1 << (slot * width));
        Self { width, ones, highs: ones << (width - 1) }
    }

    #[inline(always)]
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Whether a bucket fits into 64 bits.
    #[inline(always)]
    pub(super) fn are_narrow(&self) -> bool {
        self.width * BUCKET_SIZE <= u64::BITS
    }

    /// The high bit of every field that is not 0; the bits between are noise.
    #[inline(always)]
    fn filled_and_noise<L: Lane>(&self, bucket: L) -> L {
        let lows = L::of(self.highs - self.ones);
        (bucket & lows).plus(lows) | bucket
    }

    /// The high bit of every field that is 0.
    #[inline(always)]
    pub(super) fn empty<L: Lane>(&self, bucket: L) -> L {
        !self.filled_and_noise(bucket) & L::of(self.highs)
    }

    /// The high bit of every field that is `fingerprint`.
    #[inline(always)]
    pub(super) fn equal<L: Lane>(&self, bucket: L, fingerprint: u32) -> L {
        self.empty(bucket ^ self.repeated(fingerprint))
    }

    /// Whether a field of one of two buckets is `fingerprint`.
    #[inline(always)]
    pub(super) fn any_equal<L: Lane>(&self, buckets: [L; 2], fingerprint: u32) -> bool {
        let probe = self.repeated(fingerprint);
        let [first, second] = buckets.map(|bucket| self.filled_and_noise(bucket ^ probe));
        let highs = L::of(self.highs);
        first & second & highs != highs
    }

    #[inline(always)]
    fn repeated<L: Lane>(&self, fingerprint: u32) -> L {
        L::of(u128::from(fingerprint)).times(L::of(self.ones))
    }

    /// The lowest bit of the first field whose high bit is marked; there must be one.
    #[inline(always)]
    pub(super) fn first<L: Lane>(&self, marked: L) -> u32 {
        marked.trailing_zeros() + 1 - self.width
    }

    /// The fingerprint in the field whose lowest bit is `shift`.
    #[inline(always)]
    pub(super) fn get<L: Lane>(&self, bucket: L, shift: u32) -> u32 {
        (bucket.widened() >> shift) as u32 & (u32::MAX >> (32 - self.width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<L: Lane>(width: u32, content: [u32; 4], above: u128, probe: u32) {
        let fields = Fields::new(width);
        let bits = BUCKET_SIZE * width;
        let bucket = (0..4).fold(if bits == 128 { 0 } else { above << bits }, |bucket, slot| {
            bucket | u128::from(content[slot as usize]) << (slot * width)
        });
        let bucket = L::of(bucket);
        let marks = |wanted: u32| {
            (0..4)
                .filter(|&slot| content[slot as usize] == wanted)
                .fold(0u128, |marks, slot| marks | 1 << (slot * width + width - 1))
        };
        assert_eq!(fields.empty(bucket).widened(), marks(0));
        assert_eq!(fields.equal(bucket, probe).widened(), marks(probe));
        let nothing = L::NONE;
        for buckets in [[bucket, nothing], [nothing, bucket], [bucket, bucket]] {
            assert_eq!(fields.any_equal(buckets, probe), content.contains(&probe));
        }
        for slot in 0..4 {
            assert_eq!(fields.get(bucket, slot * width), content[slot as usize]);
        }
        if let Some(slot) = content.iter().position(|&found| found == probe) {
            assert_eq!(fields.first(fields.equal(bucket, probe)), slot as u32 * width);
        }
    }

    #[test]
    fn the_example_of_the_documentation() {
        let fields = Fields::new(4);
        assert_eq!(fields.equal(0b0011_0000_1010_0111_u64, 0b1010), 0b1000_0000);
        assert_eq!(fields.empty(0b0011_0000_1010_0111_u64), 0b1000_0000_0000);
    }

    proptest! {
        #[test]
        fn fields_are_compared_one_by_one(
            width in 4u32..=32,
            // Values that differ in one bit, or sit at the ends, are where carries would show.
            picks in prop::array::uniform5((0u32..6, any::<u32>())),
            above: u128,
        ) {
            let mask = u32::MAX >> (32 - width);
            let value = |(pick, random): (u32, u32)| match pick {
                0 => 0,
                1 => 1,
                2 => mask,
                3 => 1 << (width - 1),
                4 => (1 << (width - 1)) - 1,
                _ => random & mask,
            };
            let content = [0, 1, 2, 3].map(|slot| value(picks[slot]));
            let probe = value(picks[4]).max(1);
            if width <= 16 {
                check::<u64>(width, content, above, probe);
            }
            check::<u128>(width, content, above, probe);
        }
    }
}
