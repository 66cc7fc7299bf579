//! The code for the instructions that the processor has.
//!
//! What can be inlined into a loop over keys is: AVX-512, which is [assembly](super::avx512), NEON,
//! which is always there, and scalar code where there is nothing else.

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
            // SAFETY: this level exists only where the processor has AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: this level exists only where the processor has AVX-512VL.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512 => unsafe { avx512::$function($($argument),*) },
            // SAFETY: every processor has NEON that programs with this level are compiled for.
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Level::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

/// [`block::contains`].
#[inline(always)]
pub(super) fn contains(level: Level, block: &Block, key: Digest) -> bool {
    at_level!(level, contains(block, key), scalar: block::contains(block, key))
}

/// [`contains`] without a call: where the answer is not used the compiler deletes it, as it could not
/// delete a call of code that it cannot see.
#[inline(always)]
pub(super) fn contains_inlined(level: Level, block: &Block, key: Digest) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 {
        // SAFETY: this level exists only where the processor has AVX-512VL.
        return unsafe { avx512::contains(block, key) };
    }
    // Elsewhere it does not matter.
    let _ = level;
    block::contains(block, key)
}

/// [`block::insert`].
#[inline(always)]
pub(super) fn insert(level: Level, block: &mut Block, key: Digest) {
    at_level!(level, insert(block, key), scalar: block::insert(block, key));
}

/// [`block::contains`] for each key and its block; there are as many hits as keys.
pub(super) fn contains_batch(level: Level, blocks: &[Block], keys: &[Digest], hits: &mut [bool]) {
    at_level!(
        level,
        contains_batch(blocks, keys, hits),
        scalar: batch::contains(blocks, keys, hits, block_of, block::contains)
    );
}
