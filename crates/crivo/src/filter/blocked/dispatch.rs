//! The one place that asks what the processor can do.
//!
//! The processor is asked when a filter is made, and the answer is kept. Where the program is
//! compiled for a processor that has the instructions, there is no question at all, and the code is
//! inlined into the caller's loop.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::line::Line;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
use super::neon;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512};
use crate::Digest;

/// How many levels the processor has; 0 until it has been asked.
#[cfg(all(target_arch = "x86_64", not(miri)))]
static LEVEL: AtomicU8 = AtomicU8::new(0);

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

    /// The best that this processor has, once it has been [asked](Self::ask); before, the scalar
    /// code, which gives the same answers. Queries are thus spared the question.
    #[inline(always)]
    pub(super) fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if !cfg!(all(target_feature = "avx512f", target_feature = "bmi2")) {
            return match LEVEL.load(Relaxed) {
                3 => Self::Avx512,
                2 => Self::Avx2,
                _ => Self::Scalar,
            };
        }
        Self::KNOWN[Self::KNOWN.len() - 1]
    }

    /// Asks the processor what it has, for [`best`](Self::best): to be called by whatever makes a
    /// filter.
    pub(super) fn ask() {
        // Two threads that come here at once find the same.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        LEVEL.store(Self::all().len() as u8, Relaxed);
    }

    /// All that this processor has, the best last.
    #[cfg(any(test, all(target_arch = "x86_64", not(miri))))]
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

/// The code without any special instruction. On processors that mostly have some, it stays out of
/// the way of callers' loops.
mod scalar {
    use super::super::{batch, line};
    use super::{Digest, Line};

    #[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
    pub(super) fn contains(line: &Line, key: Digest, probes: u32) -> bool {
        line::contains(line, key, probes)
    }

    #[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
    pub(super) fn insert(line: &mut Line, key: Digest, probes: u32) {
        line::insert(line, key, probes);
    }

    pub(super) fn contains_batch(lines: &[Line], probes: u32, keys: &[Digest], hits: &mut [bool]) {
        batch::contains(lines, keys, hits, |line, key| line::contains(line, key, probes));
    }
}

/// Calls the function of this name that is for the level.
macro_rules! at_level {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            Level::Scalar => scalar::$function($($argument),*),
            // SAFETY: whoever has this level has asked the processor for AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: whoever has this level has asked the processor for AVX-512F and BMI2.
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
        at_level!(self, contains(line, key, probes))
    }

    /// [`line::insert`](super::line::insert).
    #[inline(always)]
    pub(super) fn insert(self, line: &mut Line, key: Digest, probes: u32) {
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
