//! crivo's filters.

use crivo::filter::{
    Blocked, BlockedCounting, Bloom, CounterWidth, CountingBloom, Cuckoo, DynamicFilter, Filter,
    FilterExt, FilterSpec, Fuse, FuseOptions, FuseSpec, KeyCollector, Quotient, QuotientSpec,
    ShardedFuse, ShardedFuseSpec, SplitBlock,
};
use crivo::theory::fuse::Arity;
use crivo::{Digest, KeyHasher};

use super::{BenchKey, Contestant, Subject, each};

type Subjects<K> = Vec<Box<dyn Subject<K>>>;

/// Inserts one by one.
fn fill<K: BenchKey, F: DynamicFilter>(mut filter: F, keys: &[K]) -> F {
    for key in keys {
        filter.insert(key).expect("room");
    }
    filter
}

/// Asks in batches of 1,024, hashing included.
fn batched<F: Filter, K: BenchKey>(filter: &F, keys: &[K]) -> u64 {
    let hasher = filter.hasher();
    let mut digests = [Digest::new(0); 1024];
    let mut hits = [false; 1024];
    let mut found = 0;
    for chunk in keys.chunks(1024) {
        hasher.digest_batch(chunk, &mut digests[..chunk.len()]);
        filter.contains_batch(&digests[..chunk.len()], &mut hits[..chunk.len()]);
        found += hits[..chunk.len()].iter().map(|&hit| u64::from(hit)).sum::<u64>();
    }
    found
}

/// A filter asked one by one, and the same asked in batches.
fn both_ways<K: BenchKey, F: Filter + 'static>(
    name: &str,
    build: impl Fn(&[K]) -> F + Copy + 'static,
) -> Subjects<K> {
    vec![
        Contestant::boxed(
            name,
            build,
            each(|filter: &F, key: &K| filter.contains(key)),
            |filter| filter.size_in_bits() as f64,
        ),
        Contestant::boxed(format!("{name}, batches"), build, batched::<F, K>, |filter: &F| {
            filter.size_in_bits() as f64
        }),
    ]
}

fn dynamic<K: BenchKey, F: DynamicFilter + 'static>(
    name: &str,
    empty: impl Fn(u64) -> F + Copy + 'static,
) -> Subjects<K> {
    both_ways(name, move |keys: &[K]| fill(empty(keys.len() as u64), keys))
}

pub fn bloom<K: BenchKey>(rate: f64) -> Subjects<K> {
    dynamic("crivo Bloom", move |n| Bloom::new(n, rate).expect("memory"))
}

pub fn blocked<K: BenchKey>(rate: f64) -> Subjects<K> {
    dynamic("crivo Blocked", move |n| Blocked::new(n, rate).expect("memory"))
}

/// As many bits as the rival has.
pub fn split_block<K: BenchKey>() -> Subjects<K> {
    dynamic("crivo SplitBlock, 11 bits", move |n| {
        SplitBlock::with_size((11 * n).div_ceil(256), KeyHasher::default()).expect("memory")
    })
}

pub fn counting<K: BenchKey>(rate: f64) -> Subjects<K> {
    dynamic("crivo CountingBloom, 4 bits", move |n| {
        CountingBloom::with_width(n, rate, CounterWidth::Four, KeyHasher::default())
            .expect("memory")
    })
}

pub fn blocked_counting<K: BenchKey>(rate: f64) -> Subjects<K> {
    dynamic("crivo BlockedCounting, 4 bits", move |n| {
        BlockedCounting::new(n, rate).expect("memory")
    })
}

pub fn cuckoo<K: BenchKey>(rate: f64) -> Subjects<K> {
    dynamic("crivo Cuckoo", move |n| Cuckoo::new(n, rate).expect("memory"))
}

/// As full as the rival, whose slots are a power of two; and as full as can be.
pub fn quotient<K: BenchKey>(rate: f64) -> Subjects<K> {
    let spec = move |n| QuotientSpec::for_fpr(n, rate).expect("an FPR");
    let mut subjects = dynamic("crivo Quotient, qfilter's load", move |n| {
        let slots = spec(n).slot_count().next_power_of_two();
        let spec = spec(n).with_load(n as f64 / slots as f64).expect("a load");
        spec.build(KeyHasher::default()).expect("memory")
    });
    subjects.extend(dynamic("crivo Quotient", move |n| Quotient::new(n, rate).expect("memory")));
    subjects
}

pub fn fuse<K: BenchKey>(rate: f64) -> Subjects<K> {
    let with = |arity| {
        move |keys: &[K]| -> Fuse {
            let spec = FuseSpec::for_fpr(keys.len() as u64, rate).expect("an FPR");
            let spec = spec.with_arity(arity).expect("not too many keys");
            spec.options(KeyHasher::default()).build(keys.iter()).expect("a filter")
        }
    };
    let bytes = |threads: Option<usize>| {
        move |keys: &[K]| -> Fuse {
            let spec = FuseSpec::with_width(keys.len() as u64, 8).expect("a width");
            let options = FuseOptions { threads, ..spec.options(KeyHasher::default()) };
            options.build(keys.iter()).expect("a filter")
        }
    };
    let mut subjects = both_ways("crivo Fuse, 3-wise", with(Arity::Three));
    subjects.extend(both_ways("crivo Fuse, 4-wise", with(Arity::Four)));
    subjects.extend(both_ways("crivo Fuse, 8 bits", bytes(None)));
    // Most rivals build on one thread; ours on all, unless it is told not to.
    subjects.extend(both_ways("crivo Fuse, 8 bits, built on one thread", bytes(Some(1))));
    subjects
}

/// In shards: as many as so many keys need, and two at least.
pub fn sharded_fuse<K: BenchKey>(width: u32) -> Subjects<K> {
    both_ways(&format!("crivo ShardedFuse, {width} bits"), move |keys: &[K]| -> ShardedFuse {
        let spec = ShardedFuseSpec::with_width(keys.len() as u64, width).expect("a width");
        let spec = spec.with_shards(spec.shards().max(2)).expect("a power of two");
        let spec = spec.with_arity(Arity::Three).expect("not too many keys");
        let mut collector = KeyCollector::new(KeyHasher::default());
        collector.extend(keys.iter()).expect("memory");
        spec.build_from_keys(collector.finish().expect("memory")).expect("a filter")
    })
}

/// The same without shards, in the place of a rival.
pub fn fuse_without_shards<K: BenchKey>(width: u32) -> Subjects<K> {
    both_ways(&format!("Fuse, {width} bits"), move |keys: &[K]| -> Fuse {
        let spec = FuseSpec::with_width(keys.len() as u64, width).expect("a width");
        let spec = spec.with_arity(Arity::Three).expect("not too many keys");
        spec.options(KeyHasher::default()).build(keys.iter()).expect("a filter")
    })
}
