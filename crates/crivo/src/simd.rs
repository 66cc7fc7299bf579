//! Which instructions filters use, forced from outside: for tests and benchmarks.
//!
//! `CRIVO_SIMD=scalar`, `avx2`, `avx512` or `neon` in the environment makes every filter of the process
//! use these instructions, and `scalar` none beyond what the program was compiled for. The variable is
//! read once. The answers are the same for every value.

use std::sync::OnceLock;

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
