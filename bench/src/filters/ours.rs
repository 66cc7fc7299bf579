//! crivo's filters: keys one by one, and in batches, by which those are also filled that need not all keys at once.

use crivo::filter::{
    Blocked, BlockedCounting, Bloom, CounterWidth, CountingBloom, Cuckoo, DynamicFilter, Filter,
    FilterExt, FilterSpec, Fuse, FuseOptions, FuseSpec, KeyCollector, Quotient, QuotientSpec,
    ShardedFuse, ShardedFuseSpec, SplitBlock,
};
use crivo::theory::fuse::Arity;
use crivo::{Digest, KeyHasher};

use super::{BenchKey, Contestant, Subject, each};

type Subjects<K> = Vec<Box<dyn Subject<K>>>;

/// A filter that takes keys in batches.
trait BatchFilter: DynamicFilter + 'static {
    fn insert_all(&mut self, digests: &[Digest]);
}

/// What the kinds have as methods of their own.
macro_rules! batch_filters {
    (never full: $($filter:ident),*; may be full: $($bounded:ident),*) => {
        $(impl BatchFilter for $filter {
            fn insert_all(&mut self, digests: &[Digest]) {
                self.insert_batch(digests);
            }
        })*
        $(impl BatchFilter for $bounded {
            fn insert_all(&mut self, digests: &[Digest]) {
                self.insert_batch(digests).expect("room");
            }
        })*
    };
}

batch_filters!(
    never full: Bloom, Blocked, SplitBlock, CountingBloom, BlockedCounting;
    may be full: Cuckoo, Quotient
);

/// Inserts one by one.
fn fill<K: BenchKey, F: DynamicFilter>(mut filter: F, keys: &[K]) -> F {
    for key in keys {
        filter.insert(key).expect("room");
    }
    filter
}

/// The digests of keys, in batches of 1,024.
fn each_batch<K: BenchKey>(hasher: KeyHasher, keys: &[K], mut work: impl FnMut(&[Digest])) {
    let mut digests = [Digest::new(0); 1024];
    for chunk in keys.chunks(1024) {
        let digests = &mut digests[..chunk.len()];
        hasher.digest_batch(chunk, digests);
        work(digests);
    }
}

/// Inserts in batches, hashing included.
fn fill_batched<K: BenchKey, F: BatchFilter>(mut filter: F, keys: &[K]) -> F {
    each_batch(filter.hasher(), keys, |digests| filter.insert_all(digests));
    filter
}

/// Asks in batches, hashing included.
fn batched<F: Filter, K: BenchKey>(filter: &F, keys: &[K]) -> u64 {
    let mut hits = [false; 1024];
    let mut found = 0;
    each_batch(filter.hasher(), keys, |digests| {
        let hits = &mut hits[..digests.len()];
        filter.contains_batch(digests, hits);
        found += hits.iter().map(|&hit| u64::from(hit)).sum::<u64>();
    });
    found
}

/// A filter asked one by one, and another asked in batches.
fn two_ways<K: BenchKey, F: Filter + 'static>(
    name: &str,
    build: impl Fn(&[K]) -> F + 'static,
    build_for_batches: impl Fn(&[K]) -> F + 'static,
) -> Subjects<K> {
    let bits = |filter: &F| filter.size_in_bits() as f64;
    vec![
        Contestant::boxed(name, build, each(|filter: &F, key: &K| filter.contains(key)), bits),
        Contestant::boxed(format!("{name}, batches"), build_for_batches, batched::<F, K>, bits),
    ]
}

/// A filter built from all its keys, asked one by one and in batches.
fn built<K: BenchKey, F: Filter + 'static>(
    name: &str,
    build: impl Fn(&[K]) -> F + Copy + 'static,
) -> Subjects<K> {
    two_ways(name, build, build)
}

/// A filter filled and asked one by one, and the same in batches.
fn dynamic<K: BenchKey, F: BatchFilter>(
    name: &str,
    empty: impl Fn(u64) -> F + Copy + 'static,
) -> Subjects<K> {
    two_ways(
        name,
        move |keys: &[K]| fill(empty(keys.len() as u64), keys),
        move |keys: &[K]| fill_batched(empty(keys.len() as u64), keys),
    )
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
    let mut subjects = built("crivo Fuse, 3-wise", with(Arity::Three));
    subjects.extend(built("crivo Fuse, 4-wise", with(Arity::Four)));
    subjects.extend(built("crivo Fuse, 8 bits", bytes(None)));
    // Most rivals build on one thread; ours on all, unless it is told not to.
    subjects.extend(built("crivo Fuse, 8 bits, built on one thread", bytes(Some(1))));
    subjects
}

/// In shards: as many as so many keys need, and two at least.
pub fn sharded_fuse<K: BenchKey>(width: u32) -> Subjects<K> {
    built(&format!("crivo ShardedFuse, {width} bits"), move |keys: &[K]| -> ShardedFuse {
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
    built(&format!("Fuse, {width} bits"), move |keys: &[K]| -> Fuse {
        let spec = FuseSpec::with_width(keys.len() as u64, width).expect("a width");
        let spec = spec.with_arity(Arity::Three).expect("not too many keys");
        spec.options(KeyHasher::default()).build(keys.iter()).expect("a filter")
    })
}
