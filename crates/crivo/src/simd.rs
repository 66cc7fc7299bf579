//! Which vector instructions filters use.
//!
//! The processor is asked when a filter is made, and the filter keeps the answer: in a loop over keys
//! the compiler looks at it once.
//!
//! For tests and benchmarks, `CRIVO_SIMD=scalar`, `avx2`, `avx512` or `neon` in the environment makes every filter of the process
//! use these instructions, and `scalar` none beyond what the program was compiled for. The variable is
//! read once. The answers are the same for every value.

use std::sync::OnceLock;

use crate::ParameterError;

/// The name of the variable.
pub(crate) const VARIABLE: &str = "CRIVO_SIMD";

/// The value of the variable; `None` if it is not set, or empty.
pub(crate) fn forced() -> Option<&'static str> {
    static FORCED: OnceLock<Option<String>> = OnceLock::new();
    FORCED
        .get_or_init(|| {
            let value = std::env::var_os(VARIABLE)?.to_string_lossy().into_owned();
            (!value.is_empty()).then_some(value)
        })
        .as_deref()
}

/// Whether the variable can be obeyed, for programs that would rather not panic.
///
/// # Errors
/// If it names no instructions that this processor has.
pub fn check() -> Result<(), ParameterError> {
    Level::choose().map(drop)
}

/// A set of instructions that this processor has. No other is ever made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor has.
    Scalar,
    /// AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    /// AVX-512F, AVX-512VL, AVX-512BW, AVX-512DQ and BMI2.
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
    pub(crate) fn best() -> Self {
        Self::choose().unwrap_or_else(|error| panic!("{error}"))
    }

    fn choose() -> Result<Self, ParameterError> {
        let all = Self::all();
        let Some(forced) = forced() else { return Ok(all[all.len() - 1]) };
        all.iter().find(|level| level.name() == forced).copied().ok_or_else(|| {
            let value = format_args!("{forced:?}");
            ParameterError::new(
                VARIABLE,
                value,
                "instructions that this processor has: scalar, avx2, avx512 or neon",
            )
        })
    }

    /// What `CRIVO_SIMD` calls it.
    pub(crate) fn name(self) -> &'static str {
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
    pub(crate) fn all() -> &'static [Self] {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let has_avx2 = is_x86_feature_detected!("avx2");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("bmi2");
            if !(has_avx2 && has_avx512) {
                return &Self::KNOWN[..if has_avx2 { 2 } else { 1 }];
            }
        }
        Self::KNOWN
    }
}
