//! The code for the instructions that the processor has.
//!
//! What can be inlined into a loop over keys is: AVX-512, which is [assembly](super::avx512), NEON,
//! which is always there, and scalar code where there is nothing else.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

use super::line::{self, Line};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::line::{PER_PATTERN, first_pattern};
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
use super::neon;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512};
use crate::Digest;
use crate::filter::batch;
use crate::simd::Level;

/// The code without any special instruction.
mod scalar {
    use super::super::line::line_of;
    pub(super) use super::super::line::{contains, insert};
    use super::{Digest, Line, batch};

    pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
        batch::contains(lines, keys, hits, line_of, |line, key| contains(line, key, probes));
    }
}

/// Calls the function of this name that is for the level.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            Level::Scalar => scalar::$function($($argument),*),
            // SAFETY: this level exists only where the processor has AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: this level exists only where the processor has AVX-512F, AVX-512BW, AVX-512DQ and BMI2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512 => unsafe { avx512::$function($($argument),*) },
            // SAFETY: every processor has NEON that programs with this level are compiled for.
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Level::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

/// [`line::contains`](super::line::contains).
#[inline(always)]
pub(super) fn contains(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F.
        return unsafe { avx512::are_set(line, first_pattern(key), probes) };
    }
    contains_in_general(level, line, key, probes)
}

/// [`contains`] without a call: where the answer is not used the compiler deletes
/// it, as it could not delete a call of code that it cannot see.
#[inline(always)]
pub(super) fn contains_inlined(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F.
        return unsafe { avx512::are_set(line, first_pattern(key), probes) };
    }
    // Elsewhere it does not matter.
    let _ = level;
    line::contains(line, key, probes)
}

/// [`line::insert`](super::line::insert).
#[inline(always)]
pub(super) fn insert(level: Level, line: &mut Line, key: Digest, probes: u32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if level == Level::Avx512 && probes <= PER_PATTERN {
        // SAFETY: this level exists only where the processor has AVX-512F, AVX-512BW, AVX-512DQ and BMI2.
        return unsafe { avx512::set(line, first_pattern(key), probes) };
    }
    insert_in_general(level, line, key, probes);
}

/// [`contains`] in all cases. Where another one is the rule, it stays out of the
/// way of callers' loops.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), cold, inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn contains_in_general(level: Level, line: &Line, key: Digest, probes: u32) -> bool {
    at_level!(level, contains(line, key, probes))
}

/// [`insert`], likewise.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), cold, inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn insert_in_general(level: Level, line: &mut Line, key: Digest, probes: u32) {
    at_level!(level, insert(line, key, probes));
}

/// [`line::contains`](super::line::contains) for each key and its line; there are as many hits
/// as keys.
pub(super) fn contains_batch(
    level: Level,
    lines: &[Line],
    probes: u32,
    keys: &[Digest],
    hits: &mut [bool],
) {
    at_level!(level, contains_batch(lines, probes, keys, hits));
}
