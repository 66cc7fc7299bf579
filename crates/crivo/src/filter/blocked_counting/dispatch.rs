//! The code for the instructions that the processor has, where counters have four bits.
//!
//! At most eight probes are the rule. There AVX-512 is [assembly](super::avx512), which is inlined into
//! loops over keys; all else stays out of their way on processors that may have it.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

use super::{LINE_WORDS, block};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512, block::PER_PATTERN};
use crate::Digest;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::filter::blocked::first_pattern;
use crate::filter::packed_counters::Step;
use crate::simd::Level;

type Line = [u64; LINE_WORDS];

/// [`block::contains`].
#[inline(always)]
pub(super) fn contains(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F.
        return unsafe { avx512::are_set(line, first_pattern(key), probes) };
    }
    contains_in_general(level, line, key, probes)
}

/// [`contains`] without a call: where the answer is not used the compiler deletes it, as it could not
/// delete a call of code that it cannot see.
#[inline(always)]
pub(super) fn contains_inlined(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F.
        return unsafe { avx512::are_set(line, first_pattern(key), probes) };
    }
    // Elsewhere it does not matter.
    let _ = level;
    block::contains(line, key, probes)
}

/// [`block::step`].
#[inline(always)]
pub(super) fn step(level: Level, line: &mut Line, key: Digest, probes: u32, step: Step) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F.
        return unsafe { avx512::step(line, first_pattern(key), probes, step) };
    }
    step_in_general(level, line, key, probes, step);
}

/// [`contains`] in all cases but the first.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn contains_in_general(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx2 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX2.
        return unsafe { avx2::are_set(line, first_pattern(key), probes) };
    }
    let _ = level;
    block::contains(line, key, probes)
}

/// [`step`], likewise.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn step_in_general(level: Level, line: &mut Line, key: Digest, probes: u32, step: Step) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level != Level::Scalar {
        // SAFETY: the other levels exist only where the processor has AVX2.
        return unsafe { avx2::step(line, key, probes, step) };
    }
    let _ = level;
    block::step(line, key, probes, step);
}
