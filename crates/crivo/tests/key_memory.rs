//! A fuse filter is built within the memory that is given, also where keys have many copies.
#![cfg(feature = "spill")]

use crivo::KeyHasher;
use crivo::filter::{Bytes, KeyCollector, ShardedFuseSpec};
use crivo_core::counting::{CountingAllocator, peak_of};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The least that a collector takes, in bytes.
const MEMORY: usize = 16 << 20;

/// Numbers of keys, buffers, and what a thread takes.
const SMALL: usize = 1 << 20;

/// One test: all threads of the binary count.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn copies_take_no_more_than_the_memory() {
    let collector = || {
        let collector = KeyCollector::within(Bytes(MEMORY as u64), KeyHasher::default());
        collector.with_threads(1).unwrap()
    };

    // Sorted input: each run of copies fills a part of its own.
    let (keys, peak) = peak_of(|| {
        let mut collector = collector();
        for run in 0..20u64 {
            collector.extend(std::iter::repeat_n(run, 1_500_000)).unwrap();
        }
        collector.finish().unwrap()
    });
    assert_eq!(keys.count(), 20);
    assert!(peak <= MEMORY + SMALL, "{peak} bytes for runs");

    // On disk, each key five times.
    const KEYS: u64 = 2_000_000;
    let (keys, peak) = peak_of(|| {
        let mut collector = collector();
        for _ in 0..5 {
            collector.extend(0..KEYS).unwrap();
        }
        collector.finish().unwrap()
    });
    assert_eq!((keys.total(), keys.count()), (5 * KEYS, KEYS));
    assert!(peak <= MEMORY + SMALL, "{peak} bytes for copies");

    // 29 bytes per key of a shard in work, as many as fit: one of 500,000 keys.
    let spec = ShardedFuseSpec::with_width(KEYS, 8).unwrap().with_shards(4).unwrap();
    let (filter, peak) = peak_of(|| spec.build_from_keys(keys).unwrap());
    let beside = peak - (filter.size_in_bits() / 8) as usize;
    assert!(beside <= 29 * 505_000 + SMALL, "{beside} bytes beside the filter");
    assert!((0..KEYS).all(|key| filter.contains(&key)));
}
