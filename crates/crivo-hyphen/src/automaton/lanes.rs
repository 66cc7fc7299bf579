//! Sixteen levels side by side, which move and are compared at once.

// Unsafe: intrinsics of instructions that every processor of the architecture has.
#![allow(unsafe_code)]

/// The number of levels.
pub(super) const LANES: usize = 16;

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Lanes;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::Lanes;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, _mm_max_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8, _mm_slli_epi16,
        _mm_slli_si128, _mm_srli_si128,
    };

    use super::LANES;

    /// Sixteen levels in a vector register.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct Lanes(__m128i);

    impl Lanes {
        #[inline(always)]
        pub fn zero() -> Self {
            // SAFETY: SSE2 is part of x86-64.
            Self(unsafe { _mm_set1_epi8(0) })
        }

        pub fn new(levels: [u8; LANES]) -> Self {
            // SAFETY: two types of 16 bytes, each of which may have any value.
            Self(unsafe { std::mem::transmute::<[u8; LANES], __m128i>(levels) })
        }

        /// Moves every level by one place, lane 0 into the last lane of `older`.
        #[inline(always)]
        pub fn advance(self, older: Self) -> (Self, Self) {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let falls = _mm_slli_si128::<15>(self.0);
                let older = _mm_or_si128(_mm_srli_si128::<1>(older.0), falls);
                (Self(_mm_srli_si128::<1>(self.0)), Self(older))
            }
        }

        /// The higher of two levels in each lane.
        #[inline(always)]
        pub fn max(self, other: Self) -> Self {
            // SAFETY: SSE2 is part of x86-64.
            Self(unsafe { _mm_max_epu8(self.0, other.0) })
        }

        /// Bit i: whether the level of lane i is odd.
        #[inline(always)]
        pub fn odd(self) -> u16 {
            // The lowest bit of every lane becomes its highest one.
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_movemask_epi8(_mm_slli_epi16::<7>(self.0)) as u16 }
        }
    }
}

/// The same without vectors. Tests compare the two.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::LANES;

    /// Sixteen levels.
    #[derive(Debug, Clone, Copy)]
    #[repr(align(16))]
    pub(in super::super) struct Lanes([u8; LANES]);

    impl Lanes {
        #[inline(always)]
        pub fn zero() -> Self {
            Self([0; LANES])
        }

        pub fn new(levels: [u8; LANES]) -> Self {
            Self(levels)
        }

        /// Moves every level by one place, lane 0 into the last lane of `older`.
        #[inline(always)]
        pub fn advance(self, older: Self) -> (Self, Self) {
            let moved = |levels: &[u8; LANES], last: u8| {
                std::array::from_fn(|lane| levels.get(lane + 1).copied().unwrap_or(last))
            };
            (Self(moved(&self.0, 0)), Self(moved(&older.0, self.0[0])))
        }

        /// The higher of two levels in each lane.
        #[inline(always)]
        pub fn max(self, other: Self) -> Self {
            Self(std::array::from_fn(|lane| self.0[lane].max(other.0[lane])))
        }

        /// Bit i: whether the level of lane i is odd.
        #[inline(always)]
        pub fn odd(self) -> u16 {
            let bits = self.0.iter().enumerate().map(|(lane, level)| u16::from(level & 1) << lane);
            bits.fold(0, |odd, bit| odd | bit)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_do_what_the_portable_code_does(steps in prop::collection::vec(any::<[u8; LANES]>(), 0..40)) {
            let mut ours = (Lanes::zero(), Lanes::zero());
            let mut plain = (portable::Lanes::zero(), portable::Lanes::zero());
            for levels in steps {
                let (latest, older) = ours.0.advance(ours.1);
                ours = (latest.max(Lanes::new(levels)), older);
                let (latest, older) = plain.0.advance(plain.1);
                plain = (latest.max(portable::Lanes::new(levels)), older);
                prop_assert_eq!((ours.0.odd(), ours.1.odd()), (plain.0.odd(), plain.1.odd()));
            }
        }
    }
}
