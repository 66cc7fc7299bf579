//! The one place that asks what the processor can do.
//!
//! The processor is asked when a filter is made, and the answer is kept. Where the program is compiled for a
//! processor that has the instructions, there is no question at all, and the code is inlined into
//! the caller's loop.

#![allow(unsafe_code)] // Calls of functions that need instructions, after asking for them.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::batch;
use super::line::{self, Line};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::x86;
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
}

impl Level {
    /// The best that this processor has, once it has been [asked](Self::ask); before, the scalar
    /// code, which gives the same answers. Queries are thus spared the question.
    #[inline(always)]
    pub(super) fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if cfg!(all(target_feature = "avx512f", target_feature = "bmi2")) {
            return Self::Avx512;
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        match LEVEL.load(Relaxed) {
            3 => return Self::Avx512,
            2 => return Self::Avx2,
            _ => {}
        }
        Self::Scalar
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
        if is_x86_feature_detected!("avx2") {
            let is_best = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("bmi2");
            let all = &[Self::Scalar, Self::Avx2, Self::Avx512];
            return if is_best { all } else { &all[..2] };
        }
        &[Self::Scalar]
    }
}

/// Calls the function for this level.
macro_rules! at_level {
    ($level:expr, $avx512:ident, $avx2:ident, $scalar:expr, ($($argument:expr),*)) => {
        match $level {
            // SAFETY: whoever has this level has asked the processor for AVX-512F and BMI2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512 => unsafe { x86::$avx512($($argument),*) },
            // SAFETY: whoever has this level has asked the processor for AVX2.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2 => unsafe { x86::$avx2($($argument),*) },
            Level::Scalar => $scalar,
        }
    };
}

/// [`line::contains`] without any special instruction: out of the way of callers' loops where
/// processors mostly have some.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn contains_without(line: &Line, key: Digest, probes: u32) -> bool {
    line::contains(line, key, probes)
}

/// [`line::insert`], likewise.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), inline(always))]
fn insert_without(line: &mut Line, key: Digest, probes: u32) {
    line::insert(line, key, probes);
}

impl Level {
    /// [`line::contains`].
    #[inline(always)]
    pub(super) fn contains(self, line: &Line, key: Digest, probes: u32) -> bool {
        at_level!(
            self,
            contains_avx512,
            contains_avx2,
            contains_without(line, key, probes),
            (line, key, probes)
        )
    }

    /// [`line::insert`].
    #[inline(always)]
    pub(super) fn insert(self, line: &mut Line, key: Digest, probes: u32) {
        at_level!(
            self,
            insert_avx512,
            insert_avx2,
            insert_without(line, key, probes),
            (line, key, probes)
        );
    }

    /// [`line::contains`] for each key and its line; there are as many hits as keys.
    pub(super) fn contains_batch(
        self,
        lines: &[Line],
        probes: u32,
        keys: &[Digest],
        hits: &mut [bool],
    ) {
        let contains = |line: &Line, key| line::contains(line, key, probes);
        let scalar = batch::contains;
        at_level!(
            self,
            batch_avx512,
            batch_avx2,
            scalar(lines, keys, hits, contains),
            (lines, probes, keys, hits)
        );
    }
}
