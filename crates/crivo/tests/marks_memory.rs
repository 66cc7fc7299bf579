//! Filters are built on several threads within the memory that `build_on_threads` tells.

use crivo::KeyHasher;
use crivo::filter::{BlockedCountingSpec, CountingSpec, FilterSpec};
use crivo_core::counting::{CountingAllocator, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What must be there before a thread is started, lists of ranges, and where a table begins at a huge page.
const SMALL: u64 = (64 + 4) << 20;

/// Bytes at the most, the filter included, and those of the filter.
fn peak(spec: impl FilterSpec, keys: &[u64]) -> (u64, u64) {
    let (filter, peak) =
        peak_of(|| spec.build_on_threads(keys, Some(2), KeyHasher::default()).unwrap());
    drop(filter);
    (peak as u64, spec.size_in_bits() / 8)
}

/// One test: all threads of the binary count.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn marks_take_no_more_than_twice_the_filter() {
    let keys: Vec<u64> = (0..10_000_000).collect();
    // 28 bytes of marks for a key, of which the filter has 5.
    let (most, filter) = peak(CountingSpec::for_fpr(10_000_000, 0.01).unwrap(), &keys);
    assert!(most <= 3 * filter + SMALL, "{most} bytes, {filter} of them the filter");
    // 8 to 10 bytes for a key, though the filter would allow for more.
    let (most, filter) = peak(BlockedCountingSpec::for_fpr(30_000_000, 0.01).unwrap(), &keys);
    assert!(most <= filter + 100_000_000 + SMALL, "{most} bytes, {filter} of them the filter");
}
