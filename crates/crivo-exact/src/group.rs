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

    /// A bit for every lane that equals `tag`.
    #[inline]
    pub(super) fn matches(self, tag: u8) -> u32 {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{
                _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
            };
            // SAFETY: SSE2 is part of every x86-64 processor, and these touch no memory.
            unsafe {
                let lanes = _mm_set_epi64x(self.high as i64, self.low as i64);
                _mm_movemask_epi8(_mm_cmpeq_epi8(lanes, _mm_set1_epi8(tag as i8))) as u32
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        self.matches_portable(tag)
    }

    #[cfg(any(test, miri, not(target_arch = "x86_64")))]
    #[inline]
    fn matches_portable(self, tag: u8) -> u32 {
        equal_bytes(self.low, tag) | equal_bytes(self.high, tag) << 8
    }
}

/// A bit for every byte of `word` that equals `tag`.
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
#[inline]
fn equal_bytes(word: u64, tag: u8) -> u32 {
    const LOW_SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let difference = word ^ (u64::from(tag) * 0x0101_0101_0101_0101);
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
                prop_assert_eq!(group.matches(tag), naive(tags, tag));
                prop_assert_eq!(group.matches_portable(tag), naive(tags, tag));
            }
        }
    }
}
