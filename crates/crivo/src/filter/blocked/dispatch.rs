//! The one place that asks what the processor can do.
//!
//! The processor is asked when a filter is made, and the filter keeps the answer: in a loop over
//! keys the compiler looks at it once. What can be inlined there is: AVX-512, which is
//! [assembly](super::avx512), NEON, which is always there, and scalar code where there is nothing
//! else. For tests and benchmarks the environment variable [`CRIVO_SIMD`](crate::simd) forces another
//! answer.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

use super::line::{self, Line};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::line::{PER_PATTERN, first_pattern};
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
use super::neon;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512};
use crate::{Digest, simd};

/// A set of instructions that this processor has. No other is ever made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// What every processor has.
    Scalar,
    /// AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    /// AVX-512F and BMI2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
    /// NEON, without which there is no 64-bit ARM processor under a standard library.
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    Neon,
}

impl Level {
    /// All that a processor of this kind may have, the best last.
    const KNOWN: &'static [Self] = &[
        Self::Scalar,
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Self::Avx2,
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Self::Avx512,
        #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
        Self::Neon,
    ];

    /// The best that this processor has, unless another one is forced.
    ///
    /// # Panics
    /// If one is forced that this processor does not have.
    pub(super) fn best() -> Self {
        let all = Self::all();
        match simd::forced() {
            None => all[all.len() - 1],
            Some(forced) => *all.iter().find(|level| level.name() == forced).unwrap_or_else(|| {
                let names: Vec<&str> = all.iter().map(|level| level.name()).collect();
                panic!("{} is {forced:?}, but here it must be one of {names:?}", simd::VARIABLE)
            }),
        }
    }

    /// What [`CRIVO_SIMD`](simd) calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2 => "avx2",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512 => "avx512",
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Self::Neon => "neon",
        }
    }

    /// All that this processor has, the best last.
    pub(super) fn all() -> &'static [Self] {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let has_avx2 = is_x86_feature_detected!("avx2");
            let has_avx512 =
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("bmi2");
            if !(has_avx2 && has_avx512) {
                return &Self::KNOWN[..if has_avx2 { 2 } else { 1 }];
            }
        }
        Self::KNOWN
    }
}

/// The code without any special instruction.
mod scalar {
    use super::super::batch;
    pub(super) use super::super::line::{contains, insert};
    use super::{Digest, Line};

    pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
        batch::contains(lines, keys, hits, |line, key| contains(line, key, probes));
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
            // SAFETY: this level exists only where the processor has AVX-512F and BMI2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512 => unsafe { avx512::$function($($argument),*) },
            // SAFETY: every processor has NEON that programs with this level are compiled for.
            #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
            Level::Neon => unsafe { neon::$function($($argument),*) },
        }
    };
}

impl Level {
    /// [`line::contains`](super::line::contains).
    #[inline(always)]
    pub(super) fn contains(self, line: &Line, key: Digest, probes: u32) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self == Self::Avx512 && probes <= PER_PATTERN {
            // SAFETY: this level exists only where the processor has AVX-512F.
            return unsafe { avx512::are_set(line, first_pattern(key), probes) };
        }
        self.contains_in_general(line, key, probes)
    }

    /// [`contains`](Self::contains) without a call: where the answer is not used the compiler deletes
    /// it, as it could not delete a call of code that it cannot see.
    #[inline(always)]
    pub(super) fn contains_inlined(self, line: &Line, key: Digest, probes: u32) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self == Self::Avx512 && probes <= PER_PATTERN {
            // SAFETY: this level exists only where the processor has AVX-512F.
            return unsafe { avx512::are_set(line, first_pattern(key), probes) };
        }
        line::contains(line, key, probes)
    }

    /// [`line::insert`](super::line::insert).
    #[inline(always)]
    pub(super) fn insert(self, line: &mut Line, key: Digest, probes: u32) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self == Self::Avx512 && probes <= PER_PATTERN {
            // SAFETY: this level exists only where the processor has AVX-512F and BMI2.
            return unsafe { avx512::set(line, first_pattern(key), probes) };
        }
        self.insert_in_general(line, key, probes);
    }

    /// [`contains`](Self::contains) in all cases. Where another one is the rule, it stays out of the
    /// way of callers' loops.
    #[cfg_attr(all(target_arch = "x86_64", not(miri)), cold, inline(never))]
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
    fn contains_in_general(self, line: &Line, key: Digest, probes: u32) -> bool {
        at_level!(self, contains(line, key, probes))
    }

    /// [`insert`](Self::insert), likewise.
    #[cfg_attr(all(target_arch = "x86_64", not(miri)), cold, inline(never))]
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
    fn insert_in_general(self, line: &mut Line, key: Digest, probes: u32) {
        at_level!(self, insert(line, key, probes));
    }

    /// [`line::contains`](super::line::contains) for each key and its line; there are as many hits
    /// as keys.
    pub(super) fn contains_batch(
        self,
        lines: &[Line],
        probes: u32,
        keys: &[Digest],
        hits: &mut [bool],
    ) {
        at_level!(self, contains_batch(lines, probes, keys, hits));
    }
}
