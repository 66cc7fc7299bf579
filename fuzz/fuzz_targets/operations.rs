//! Random operations beside a model that knows the truth: no false negatives, a right key count,
//! failures that change nothing, and filters that are the same when they were written and read.

#![no_main]

use crivo_fuzz::SPECS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for spec in SPECS.iter() {
        crivo_fuzz::operate(spec, input);
    }
});
