//! The rivals, each sized for the rate and with the fastest hash it accepts; those that take hashes, or a
//! `Hasher`, also with ours. The hashes of two are fixed: bloomfilter's is SipHash-1-3, fastbloom-rs's is XXH3, twice
//! for each key. The static filters take numbers, which are the keys' hashes here, and mix them once more.

use std::hash::Hasher;

use super::{BenchKey, Contestant, Subject, each};

/// foldhash for a rival that makes its hashers by `Default`.
struct DefaultFold(foldhash::fast::FoldHasher<'static>);

impl Default for DefaultFold {
    #[inline(always)]
    fn default() -> Self {
        use std::hash::BuildHasher;
        Self(foldhash::fast::FixedState::with_seed(7).build_hasher())
    }
}

impl Hasher for DefaultFold {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Our hash for a rival that takes a `Hasher`. A number, a text, and the fingerprint that cuckoo filters hash once
/// more, come in one write each, of which this is the fold64.
#[derive(Debug, Clone, Default)]
struct Fold64(u64);

impl Hasher for Fold64 {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = crivo::KeyHasher::default().digest(bytes).get();
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0 = crivo::KeyHasher::default().digest(&number).get();
    }

    /// The mark behind a text: fold64 knows where it ends.
    #[inline(always)]
    fn write_u8(&mut self, _: u8) {}

    /// The length in front of a fingerprint of bytes, as before.
    #[inline(always)]
    fn write_usize(&mut self, _: usize) {}

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Subjects<K> = Vec<Box<dyn Subject<K>>>;

pub fn bloom<K: BenchKey>(rate: f64) -> Subjects<K> {
    use foldhash::fast::FixedState;
    vec![
        Contestant::boxed(
            "fastbloom",
            move |keys: &[K]| {
                let mut filter = fastbloom::BloomFilter::with_false_pos(rate)
                    .hasher(FixedState::with_seed(7))
                    .expected_items(keys.len());
                for key in keys {
                    filter.insert(key);
                }
                filter
            },
            each(|filter: &fastbloom::BloomFilter<FixedState>, key: &K| filter.contains(key)),
            |filter| filter.num_bits() as f64,
        ),
        Contestant::boxed(
            "fastbloom, fold64",
            move |keys: &[K]| {
                let mut filter = fastbloom::BloomFilter::with_false_pos(rate)
                    .hasher(FixedState::with_seed(7))
                    .expected_items(keys.len());
                for key in keys {
                    filter.insert_hash(key.fold64());
                }
                filter
            },
            each(|filter: &fastbloom::BloomFilter<FixedState>, key: &K| {
                filter.contains_hash(key.fold64())
            }),
            |filter| filter.num_bits() as f64,
        ),
        Contestant::boxed(
            "bloomfilter",
            move |keys: &[K]| {
                let mut filter =
                    bloomfilter::Bloom::new_for_fp_rate(keys.len(), rate).expect("a filter");
                for key in keys {
                    filter.set(key);
                }
                filter
            },
            each(|filter: &bloomfilter::Bloom<K>, key: &K| filter.check(key)),
            |filter| filter.len() as f64,
        ),
    ]
}

/// A split-block filter, whose hash is the caller's.
fn sbbf<K: BenchKey>(
    name: &'static str,
    hash: impl Fn(&K) -> u64 + Copy + 'static,
) -> Box<dyn Subject<K>> {
    Contestant::boxed(
        name,
        move |keys: &[K]| {
            let mut filter = sbbf_rs_safe::Filter::new(11, keys.len());
            for key in keys {
                filter.insert_hash(hash(key));
            }
            filter
        },
        each(move |filter: &sbbf_rs_safe::Filter, key: &K| filter.contains_hash(hash(key))),
        |filter| 8.0 * filter.as_bytes().len() as f64,
    )
}

pub fn blocked<K: BenchKey>(_rate: f64) -> Subjects<K> {
    vec![sbbf("sbbf-rs-safe, 11 bits", K::fold), sbbf("sbbf-rs-safe, 11 bits, fold64", K::fold64)]
}

/// With crivo's hash: what differs is the filter alone.
pub fn split_block<K: BenchKey>() -> Subjects<K> {
    vec![sbbf("sbbf-rs-safe, 11 bits, fold64", K::fold64)]
}

pub fn counting<K: BenchKey>(rate: f64) -> Subjects<K> {
    use fastbloom_rs::{CountingBloomFilter, FilterBuilder, Membership};
    vec![Contestant::boxed(
        "fastbloom-rs counting",
        move |keys: &[K]| {
            let mut filter =
                FilterBuilder::new(keys.len() as u64, rate).build_counting_bloom_filter();
            for key in keys {
                key.with_bytes(|bytes| filter.add(bytes));
            }
            filter
        },
        each(|filter: &CountingBloomFilter, key: &K| {
            key.with_bytes(|bytes| filter.contains(bytes))
        }),
        |filter| 64.0 * filter.get_u64_array().len() as f64,
    )]
}

pub fn cuckoo<K: BenchKey>(rate: f64) -> Subjects<K> {
    use std::hash::BuildHasher;
    let foldhash = foldhash::fast::FixedState::with_seed(7).build_hasher();
    vec![
        autoscale(
            "autoscale_cuckoo_filter",
            rate,
            autoscale_cuckoo_filter::DefaultHasher::default(),
        ),
        autoscale("autoscale_cuckoo_filter, fold64", rate, Fold64::default()),
        scalable("scalable_cuckoo_filter", rate, foldhash),
        scalable("scalable_cuckoo_filter, fold64", rate, Fold64::default()),
        cuckoofilter::<K, DefaultFold>("cuckoofilter, 8 bits only"),
        cuckoofilter::<K, Fold64>("cuckoofilter, 8 bits only, fold64"),
    ]
}

fn autoscale<K: BenchKey, H: Hasher + Clone + 'static>(
    name: &str,
    rate: f64,
    hasher: H,
) -> Box<dyn Subject<K>> {
    use autoscale_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
    Contestant::boxed(
        name,
        move |keys: &[K]| {
            let mut filter = CuckooFilterBuilder::new()
                .initial_capacity(keys.len())
                .false_positive_probability(rate)
                .hasher(hasher.clone())
                .finish::<K>();
            for key in keys {
                filter.add(key);
            }
            filter
        },
        each(|filter: &CuckooFilter<K, H>, key: &K| filter.contains(key)),
        |filter| filter.bits() as f64,
    )
}

fn scalable<K: BenchKey, H: Hasher + Clone + 'static>(
    name: &str,
    rate: f64,
    hasher: H,
) -> Box<dyn Subject<K>> {
    use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};
    Contestant::boxed(
        name,
        move |keys: &[K]| {
            let mut filter = ScalableCuckooFilterBuilder::new()
                .initial_capacity(keys.len())
                .false_positive_probability(rate)
                .hasher(hasher.clone())
                .finish::<K>();
            for key in keys {
                filter.insert(key);
            }
            filter
        },
        each(|filter: &ScalableCuckooFilter<K, H>, key: &K| filter.contains(key)),
        |filter| filter.bits() as f64,
    )
}

fn cuckoofilter<K: BenchKey, H: Hasher + Default + 'static>(name: &str) -> Box<dyn Subject<K>> {
    Contestant::boxed(
        name,
        move |keys: &[K]| {
            let mut filter =
                cuckoofilter::CuckooFilter::<H>::with_capacity((keys.len() as f64 / 0.95) as usize);
            for key in keys {
                let _ = filter.add(key);
            }
            filter
        },
        each(|filter: &cuckoofilter::CuckooFilter<H>, key: &K| filter.contains(key)),
        |filter| 8.0 * filter.memory_usage() as f64,
    )
}

/// With the fastest hash, and with crivo's: there what differs is the filter alone.
pub fn quotient<K: BenchKey>(rate: f64) -> Subjects<K> {
    fn subject<K: BenchKey>(
        name: &str,
        rate: f64,
        hash: impl Fn(&K) -> u64 + Copy + 'static,
    ) -> Box<dyn Subject<K>> {
        Contestant::boxed(
            name,
            move |keys: &[K]| {
                let mut filter = qfilter::Filter::new(keys.len() as u64, rate).expect("a filter");
                for key in keys {
                    filter.insert_fingerprint(false, hash(key)).expect("room");
                }
                filter
            },
            each(move |filter: &qfilter::Filter, key: &K| filter.contains_fingerprint(hash(key))),
            |filter| 8.0 * filter.memory_usage() as f64,
        )
    }
    let hasher = crivo::KeyHasher::default();
    vec![
        subject("qfilter", rate, K::fold),
        subject("qfilter, fold64", rate, move |key| hasher.digest(key).get()),
    ]
}

pub fn fuse<K: BenchKey>(_rate: f64) -> Subjects<K> {
    let names = ["xorf BinaryFuse8", "jdb_xorf Bf8", "sux VFilter, 7 bits"];
    let mut subjects = fused(names.map(String::from), K::fold);
    subjects.extend(fused(names.map(|name| format!("{name}, fold64")), K::fold64));
    subjects
}

/// Static filters of numbers, which are the keys' hashes.
fn fused<K: BenchKey>(
    [xorf, jdb_xorf, sux]: [String; 3],
    hash: impl Fn(&K) -> u64 + Copy + 'static,
) -> Subjects<K> {
    use dsi_progress_logger::no_logging;
    use jdb_xorf::Filter as _;
    use sux::bits::BitFieldVec;
    use sux::dict::VFilter;
    use xorf::Filter as _;
    type Vigna = VFilter<u64, BitFieldVec<Box<[usize]>>>;
    let hashes = move |keys: &[K]| keys.iter().map(hash).collect::<Vec<u64>>();
    vec![
        Contestant::boxed(
            xorf,
            move |keys: &[K]| xorf::BinaryFuse8::try_from(hashes(keys)).expect("a filter"),
            each(move |filter: &xorf::BinaryFuse8, key: &K| filter.contains(&hash(key))),
            |filter| 8.0 * filter.len() as f64,
        ),
        Contestant::boxed(
            jdb_xorf,
            move |keys: &[K]| jdb_xorf::Bf8::from(hashes(keys)),
            each(move |filter: &jdb_xorf::Bf8, key: &K| filter.has(&hash(key))),
            |filter| filter.bits() as f64,
        ),
        Contestant::boxed(
            sux,
            move |keys: &[K]| {
                Vigna::try_par_new(&hashes(keys), 7, no_logging![]).expect("a filter")
            },
            each(move |filter: &Vigna, key: &K| filter.contains(hash(key))),
            |filter| 7.0 * 1.125 * filter.len() as f64,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, texts, and the fingerprints that cuckoo filters hash once more.
    #[test]
    fn a_hasher_gives_the_fold64_of_a_key() {
        fn hash(key: impl std::hash::Hash) -> u64 {
            let mut hasher = Fold64::default();
            key.hash(&mut hasher);
            hasher.finish()
        }
        for number in 0..100 {
            assert_eq!(hash(u64::make(number)), u64::make(number).fold64());
            assert_eq!(hash(String::make(number)), String::make(number).fold64());
            assert_eq!(
                hash([number as u8]),
                crivo::KeyHasher::default().digest(&[number as u8]).get()
            );
        }
    }
}
