//! Finds the ends of records.

// For the call of a function that needs SSE2.
#![allow(unsafe_code)]

use memchr::memchr;

/// How many bytes are examined together: one bit each.
const BLOCK: usize = u64::BITS as usize;

/// Calls `visit` with the position of every terminator, and with the end of the bytes if the last
/// record lacks one.
///
/// For short records, starting a search costs more than the search. So a block of bytes is turned
/// into bits, and a record ends at each bit that is set. If a whole block has none, records are
/// long, and a search is faster.
#[inline]
pub(super) fn each_end(terminator: u8, bytes: &[u8], mut visit: impl FnMut(usize)) {
    let lacks_end = bytes.last().is_some_and(|last| *last != terminator);
    let mut start = 0;
    loop {
        let rest = &bytes[start..];
        let whole = rest.first_chunk();
        let mut places = match whole {
            Some(block) => places(terminator, block),
            None => places(terminator, &last_block(terminator, rest, lacks_end)),
        };
        let is_long = places == 0;
        // There is one loop for all blocks, so that `visit` is inlined once.
        while places != 0 {
            visit(start + places.trailing_zeros() as usize);
            places &= places - 1;
        }
        if whole.is_none() {
            return;
        }
        start += BLOCK;
        if is_long {
            start = memchr(terminator, &bytes[start..]).map_or(bytes.len(), |next| start + next);
        }
    }
}

/// The last bytes, padded to a block.
#[cold]
fn last_block(terminator: u8, rest: &[u8], lacks_end: bool) -> [u8; BLOCK] {
    let mut block = [!terminator; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    if lacks_end {
        block[rest.len()] = terminator;
    }
    block
}

/// The positions of a byte in a block: one bit each, the first position in the lowest bit.
#[inline]
fn places(byte: u8, block: &[u8; BLOCK]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of every x86-64 processor.
    unsafe {
        places_by_sse2(byte, block)
    }
    #[cfg(not(target_arch = "x86_64"))]
    places_by_words(byte, block)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn places_by_sse2(byte: u8, block: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};

    let wanted = _mm_set1_epi8(byte.cast_signed());
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().rev().fold(0, |places, quarter| {
        let bytes = u128::from_le_bytes(*quarter);
        let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
        let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));
        places << 16 | u64::from(equal as u16)
    })
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn places_by_words(byte: u8, block: &[u8; BLOCK]) -> u64 {
    const LOW_BITS: u64 = u64::MAX / 0xFF * 0x7F;
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let wanted = u64::MAX / 0xFF * u64::from(byte);
    let (words, _) = block.as_chunks();
    words.iter().rev().fold(0, |places, word| {
        // Matching bytes are 0 now. The addition sets the high bit of all others, unless they have
        // it already; there is no carry into the next byte.
        let different = u64::from_le_bytes(*word) ^ wanted;
        let high_bits = !(((different & LOW_BITS) + LOW_BITS) | different | LOW_BITS);
        // Gather the eight high bits.
        places << 8 | high_bits.wrapping_mul(GATHER) >> 56
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_end_is_visited_in_order(
            mut bytes in prop::collection::vec(
                prop::sample::select(vec![0, 1, 9, 10, 11, 127, 128, 138, 255]), 0..400),
            gap in 0_usize..300,
            terminator in prop::sample::select(vec![0_u8, 10, 128, 138, 255]),
        ) {
            // Some records are long.
            let middle = bytes.len() / 2;
            bytes.splice(middle..middle, std::iter::repeat_n(7, gap));
            let mut ends = Vec::new();
            each_end(terminator, &bytes, |end| ends.push(end));
            let is_end = |place: &usize| bytes.get(*place).is_none_or(|byte| *byte == terminator);
            let mut expected: Vec<_> = (0..=bytes.len()).filter(is_end).collect();
            if bytes.last().is_none_or(|last| *last == terminator) {
                expected.pop();
            }
            prop_assert_eq!(ends, expected);
        }

        #[test]
        fn sse2_and_portable_code_agree(bytes: [[u8; 32]; 2], byte: u8, copies: u64) {
            let mut block: [u8; BLOCK] = bytes.concat().try_into().unwrap();
            (0..BLOCK).filter(|place| copies >> place & 1 == 1).for_each(|place| block[place] = byte);
            let is_place = |place: &usize| block[*place] == byte;
            let expected = (0..BLOCK).filter(is_place).fold(0, |bits, place| bits | 1 << place);
            prop_assert_eq!(places(byte, &block), expected);
            prop_assert_eq!(places_by_words(byte, &block), expected);
        }
    }
}
