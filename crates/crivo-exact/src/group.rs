//! Sixteen tags compared at once.
//!
//! ```text
//!   naive:   mask = 0
//!            for lane in 0..16 { if tags[lane] == tag { mask |= 1 << lane } }
//! ```
//!
//! On x86-64 SSE2 is always there and does it in two instructions. Elsewhere eight bytes in a word
//! are compared at a time; the tests hold both to the naive version.

#![allow(unsafe_code)]

/// Sixteen tags: neighbours in a table, or two buckets of eight.
#[derive(Clone, Copy)]
pub(super) struct Group {
    low: u64,
    high: u64,
}

impl Group {
    /// Lanes 0 to 7 from `low`, 8 to 15 from `high`, the first in the lowest byte.
    #[inline]
    pub(super) const fn new(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    /// A bit for every lane that equals the tag in `copies`.
    #[inline]
    pub(super) fn matches(self, copies: &Copies) -> u32 {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{
                _mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set_epi64x,
            };
            // SAFETY: SSE2 is part of every x86-64 processor; the copies are sixteen bytes, and
            // aligned as the load needs them.
            unsafe {
                let lanes = _mm_set_epi64x(self.high as i64, self.low as i64);
                let copies = _mm_load_si128((&raw const *copies).cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(lanes, copies)) as u32
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        self.matches_portable(copies)
    }

    #[cfg(any(test, miri, not(target_arch = "x86_64")))]
    #[inline]
    fn matches_portable(self, copies: &Copies) -> u32 {
        let copies = copies.0 as u64;
        equal_bytes(self.low, copies) | equal_bytes(self.high, copies) << 8
    }
}

/// A tag sixteen times over, as a group is compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(16))]
pub(super) struct Copies(u128);

impl Copies {
    pub(super) const fn new(tag: u8) -> Self {
        Self(u128::from_le_bytes([tag; 16]))
    }
}

/// A bit for every byte of one word that equals that of the other.
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
#[inline]
fn equal_bytes(one: u64, other: u64) -> u32 {
    const LOW_SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let difference = one ^ other;
    // The high bit of a byte of `zeros` is set exactly where that byte of `difference` is 0: no
    // carry leaves its byte, so that neighbours cannot disturb each other.
    let zeros = !(((difference & LOW_SEVEN) + LOW_SEVEN) | difference | LOW_SEVEN);
    // Gathers the eight high bits: bit 8i + 7 arrives at bit 56 + i, and nothing else does.
    ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(tags: [u8; 16], tag: u8) -> u32 {
        (0..16).filter(|&lane| tags[lane] == tag).map(|lane| 1 << lane).sum()
    }

    proptest! {
        #[test]
        fn every_way_of_comparing_agrees(tags: [u8; 16], tag: u8, few in 0u8..4) {
            let close = tags.map(|tag| tag % 4);
            for (tags, tag) in [(tags, tag), (close, few), (close.map(|tag| tag | 0x80), few | 0x80)] {
                let whole = u128::from_le_bytes(tags);
                let group = Group::new(whole as u64, (whole >> 64) as u64);
                let copies = Copies::new(tag);
                prop_assert_eq!(group.matches(&copies), naive(tags, tag));
                prop_assert_eq!(group.matches_portable(&copies), naive(tags, tag));
            }
        }
    }
}
