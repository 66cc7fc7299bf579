//! The code for the instructions that the processor has.
//!
//! What can be inlined into a loop over keys is: AVX-512 and AVX2, which are assembly, NEON, which is
//! always there, and scalar code where there is nothing else.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

use super::block::{self, Block, block_of};
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
use super::neon;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512};
use crate::Digest;
use crate::filter::batch;
use crate::simd::Level;

/// Calls the function of this name that is for the level.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*), scalar: $scalar:expr) => {
        match $level {
            Level::Scalar => $scalar,
            // SAFETY: these levels exist only where the processor has AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2 | Level::Avx512 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: every processor has NEON that programs with this level are compiled for.
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Level::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

/// [`block::contains`]. Where the answer is not used the compiler deletes it.
#[inline(always)]
pub(super) fn contains(level: Level, block: &Block, key: Digest) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 {
        // SAFETY: this level exists only where the processor has AVX-512VL.
        return unsafe { avx512::contains(block, key) };
    }
    at_level!(level, contains(block, key), scalar: scalar::contains(block, key))
}

/// [`block::insert`].
#[inline(always)]
pub(super) fn insert(level: Level, block: &mut Block, key: Digest) {
    at_level!(level, insert(block, key), scalar: scalar::insert(block, key));
}

/// Scalar code out of the way of callers' loops where the processor is likely to have better.
mod scalar {
    use super::*;

    #[cfg_attr(target_arch = "x86_64", cold, inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    pub(super) fn contains(block: &Block, key: Digest) -> bool {
        block::contains(block, key)
    }

    #[cfg_attr(target_arch = "x86_64", cold, inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    pub(super) fn insert(block: &mut Block, key: Digest) {
        block::insert(block, key);
    }
}

/// [`block::contains`] for each key and its block; there are as many hits as keys.
pub(super) fn contains_batch(level: Level, blocks: &[Block], keys: &[Digest], hits: &mut [bool]) {
    at_level!(
        level,
        contains_batch(blocks, keys, hits),
        scalar: batch::contains(blocks, keys, hits, block_of, block::contains)
    );
}

/// [`block::insert`] for each key, into the block that `place_of` gives.
pub(super) fn insert_all(
    level: Level,
    blocks: &mut [Block],
    keys: &[Digest],
    place_of: impl Fn(Digest) -> usize,
) {
    at_level!(
        level,
        insert_all(blocks, keys, place_of),
        scalar: keys.iter().for_each(|&key| block::insert(&mut blocks[place_of(key)], key))
    );
}
