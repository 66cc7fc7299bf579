//! Random operations beside an array that knows the truth: no false negatives, a right key count,
//! failures that change nothing, and filters that are the same when they were written and read.

#![no_main]

use crivo::filter::{Blocked, Bloom, CountingBloom, Cuckoo, Growing, Quotient, SplitBlock};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    crivo_fuzz::insert(Bloom::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert(Blocked::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert(SplitBlock::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert(Growing::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert_and_remove(CountingBloom::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert_and_remove(Cuckoo::new(30, 0.01).unwrap(), input);
    crivo_fuzz::insert_and_remove(Quotient::new(30, 0.01).unwrap(), input);
});
