//! Tables of blocks: where the block of a key is.

#![allow(unsafe_code)] // No bounds check: the product below is one.

use crate::Digest;
use crate::hash::reduce;

/// The first byte of the key's block, in a table of that many bytes: ⌊digest · blocks / 2^64⌋ blocks from
/// its start.
///
/// Not for a filter that takes its block from a part of the digest, as `SplitBlock` does from the upper half.
///
/// Counted in bytes and rounded down it is the same, and takes two instructions less than counting in
/// blocks.
#[inline(always)]
fn offset_of<const WORDS: usize>(key: Digest, bytes: usize) -> usize {
    const { assert!(WORDS.is_power_of_two()) };
    reduce(key.get(), bytes as u64) as usize & !(size_of::<[u64; WORDS]>() - 1)
}

/// The key's block among words that are whole blocks; nothing if there is none.
#[inline(always)]
pub(super) fn block_of<const WORDS: usize>(words: &[u64], key: Digest) -> Option<&[u64; WORDS]> {
    let blocks: &[[u64; WORDS]] = words.as_chunks().0;
    let offset = offset_of::<WORDS>(key, size_of_val(blocks));
    // SAFETY: the offset is below the bytes of all blocks, if there are any, and is that of a whole block.
    (!blocks.is_empty()).then(|| unsafe { &*blocks.as_ptr().byte_add(offset) })
}

/// [`block_of`], to be changed.
#[inline(always)]
pub(super) fn block_of_mut<const WORDS: usize>(
    words: &mut [u64],
    key: Digest,
) -> Option<&mut [u64; WORDS]> {
    let blocks: &mut [[u64; WORDS]] = words.as_chunks_mut().0;
    let offset = offset_of::<WORDS>(key, size_of_val(blocks));
    // SAFETY: as above.
    (!blocks.is_empty()).then(|| unsafe { &mut *blocks.as_mut_ptr().byte_add(offset) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_those_of_the_product<const WORDS: usize>() {
        let words: Vec<u64> = (0..1_000).collect();
        for count in 1..words.len() / WORDS {
            let table = &words[..count * WORDS + count % WORDS];
            for key in [0, 1, 1 << 31, 1 << 63, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
                let block = block_of::<WORDS>(table, Digest::new(key)).unwrap();
                assert_eq!(block[0], WORDS as u64 * reduce(key, count as u64));
                let mut copy = table.to_vec();
                assert_eq!(block_of_mut::<WORDS>(&mut copy, Digest::new(key)).unwrap(), block);
            }
        }
        assert!(block_of::<WORDS>(&words[..WORDS - 1], Digest::new(7)).is_none());
    }

    #[test]
    fn blocks_are_those_of_the_product() {
        are_those_of_the_product::<4>();
        are_those_of_the_product::<8>();
        are_those_of_the_product::<16>();
    }
}
