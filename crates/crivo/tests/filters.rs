//! One suite for every filter: what all of them promise, on every path.
//!
//! No false negative, also after failed insertions, removals, merges and a trip through a file;
//! batches answer like single questions; a failed operation changes nothing; counts are right; the
//! methods that a kind has for itself, its traits, pointers to it and [`AnyFilter`] agree; and the
//! observed false-positive rate is that of theory.

mod structured;

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crivo::codec::{self, CodecError, DecodeError, LoadOptions, Persist};
use crivo::filter::{
    AnyFilter, AtomicBlocked, AtomicBloom, Blocked, BlockedCounting, Bloom, Count, CounterWidth,
    CountingBloom, Cuckoo, DynamicFilter, Filter, FilterExt, FilterSpec, Fuse, Growing,
    GrowingBlocked, Kind, NotPresent, Operation, OperationError, Quotient, RemovableFilter,
    ShardedFuse, ShardedFuseSpec, Spec, SpecError, SplitBlock, WrongKind,
};
use crivo::hash::SecretKey;
use crivo::theory::interval;
use crivo::{Digest, KeyHasher};

const RATES: [f64; 5] = [0.2, 0.05, 0.01, 1e-3, 1e-4];

/// Digests of different keys: `from..to`.
fn digests(hasher: KeyHasher, from: u64, to: u64) -> Vec<Digest> {
    (from..to).map(|key| hasher.digest(&key)).collect()
}

fn assert_all_found<F: Filter>(filter: &F, keys: &[Digest]) {
    let mut hits = vec![false; keys.len()];
    filter.contains_batch(keys, &mut hits);
    for (&key, hit) in keys.iter().zip(hits) {
        assert!(filter.contains_digest(key), "a false negative");
        assert!(hit, "a false negative in a batch");
    }
}

/// How a filter of some kind is made of keys, all at once.
trait Build<F>: Fn(u64, f64, KeyHasher, &[Digest]) -> F {}
impl<F, B: Fn(u64, f64, KeyHasher, &[Digest]) -> F> Build<F> for B {}

/// One by one, into an empty filter.
fn one_by_one<F: DynamicFilter>(
    empty: impl Fn(u64, f64, KeyHasher) -> F,
) -> impl Fn(u64, f64, KeyHasher, &[Digest]) -> F {
    move |capacity, rate, hasher, keys| {
        let mut filter = empty(capacity, rate, hasher);
        for &key in keys {
            filter.insert_digest(key).expect("there is room for as many keys as were asked for");
        }
        filter
    }
}

fn finds_every_key<F: Filter>(build: impl Build<F>) {
    let hasher = KeyHasher::xxh3(1);
    for n in [1, 2, 3, 10, 100, 1_000, 30_000] {
        let keys = digests(hasher, 0, n);
        for rate in [0.2, 0.01, 1e-4] {
            let filter = build(n, rate, hasher, &keys);
            assert_all_found(&filter, &keys);
            assert_eq!((filter.key_count(), filter.hasher()), (n, hasher));
            assert!(filter.size_in_bits() > 0);
            let expected = filter.expected_fpr();
            assert!(expected > 0.0 && expected <= rate, "{n} keys, {rate}: {expected} expected");
        }
    }
}

fn batches_answer_like_single_questions<F: Filter>(build: impl Build<F>) {
    let hasher = KeyHasher::xxh3(2);
    let filter = build(5_000, 0.05, hasher, &digests(hasher, 0, 5_000));
    for length in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000] {
        let keys = digests(hasher, 5_000 - length / 2, 5_000 + length.div_ceil(2));
        let mut hits = vec![false; keys.len()];
        filter.contains_batch(&keys, &mut hits);
        let single: Vec<bool> = keys.iter().map(|&key| filter.contains_digest(key)).collect();
        assert_eq!(hits, single, "{length} keys");
    }
}

fn survives_a_file<F: Filter + Persist + Clone + Into<AnyFilter>>(build: impl Build<F>) {
    for (n, hasher) in
        [(1, KeyHasher::xxh3(3)), (1_000, KeyHasher::farm(4)), (20_000, KeyHasher::murmur3(5))]
    {
        let keys = digests(hasher, 0, n);
        let filter = build(n, 0.01, hasher, &keys);
        let bytes = codec::to_bytes(&filter);
        let read = LoadOptions::new().from_bytes::<F>(&bytes).unwrap();
        assert_all_found(&read, &keys);
        let asked = digests(hasher, n, n + 10_000);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        for &key in &asked {
            assert_eq!(read.contains_digest(key), filter.contains_digest(key));
            assert_eq!(any.contains_digest(key), filter.contains_digest(key));
        }
        assert_eq!(read.key_count(), filter.key_count());
        assert_eq!(read.size_in_bits(), filter.size_in_bits());
        assert_eq!(read.expected_fpr(), filter.expected_fpr());
        assert_eq!(codec::to_bytes(&read), bytes);
        assert_eq!(any.to_bytes(), bytes);
        assert_eq!(filter.into().to_bytes(), bytes);
    }
}

/// From the file itself; the first change copies what it needs, and leaves the file as it is.
#[allow(unsafe_code)]
/// On a machine of the other byte order it says that it cannot.
fn answers_from_a_mapped_file<F: Filter + Persist + Clone>(build: impl Build<F>, name: &str) {
    let hasher = KeyHasher::xxh3(11);
    let keys = digests(hasher, 0, 3_000);
    let filter = build(3_000, 0.01, hasher, &keys);
    let path = std::env::temp_dir().join(format!("crivo-{}-{name}.crivo", std::process::id()));
    codec::save(&filter, &path).unwrap();
    // SAFETY: nobody else knows the file, and it is not changed while it is mapped.
    let mapped = unsafe { LoadOptions::new().map::<F>(&path) };
    if cfg!(target_endian = "big") {
        let error = mapped.err().unwrap();
        assert!(matches!(error.cause, CodecError::Decode(DecodeError::BigEndian)), "{error}");
        std::fs::remove_file(path).unwrap();
        return;
    }
    let mapped = mapped.unwrap();
    mapped.verify().unwrap();
    assert_all_found(&*mapped, &keys);
    for key in digests(hasher, 3_000, 6_000) {
        assert_eq!(mapped.contains_digest(key), filter.contains_digest(key));
    }
    assert_eq!(codec::to_bytes(&mapped.into_filter()), codec::to_bytes(&filter));
    std::fs::remove_file(path).unwrap();
}

fn keeps_its_secret<F: Filter + Persist + Clone>(build: impl Build<F>) {
    let hasher = KeyHasher::sip24(SecretKey::new(*b"not in the file!"));
    let bytes = codec::to_bytes(&build(100, 0.01, hasher, &digests(hasher, 0, 100)));
    assert!(!bytes.windows(16).any(|window| window == b"not in the file!"));
    assert!(LoadOptions::new().from_bytes::<F>(&bytes).is_err());
    assert!(
        LoadOptions::new().secret_key(SecretKey::new([0; 16])).from_bytes::<F>(&bytes).is_err()
    );
    let key = SecretKey::new(*b"not in the file!");
    let read: F = LoadOptions::new().secret_key(key).from_bytes(&bytes).unwrap();
    assert_all_found(&read, &digests(hasher, 0, 100));
}

/// Three times as many keys as it is made for: it takes them, or it refuses them and stays as it is.
fn past_its_capacity<F: DynamicFilter + Persist>(empty: impl Fn(u64, f64, KeyHasher) -> F) {
    for capacity in [1, 10, 500] {
        let hasher = KeyHasher::xxh3(6);
        let mut filter = empty(capacity, 0.01, hasher);
        assert!(filter.capacity() >= capacity);
        let mut inside = Vec::new();
        for &key in &digests(hasher, 0, 3 * capacity + 100) {
            let before = codec::to_bytes(&filter);
            match filter.insert_digest(key) {
                Ok(is_new) => {
                    assert!(!(is_new && inside.contains(&key)), "a member is not new");
                    inside.push(key);
                }
                Err(full) => {
                    assert_eq!(
                        codec::to_bytes(&filter),
                        before,
                        "a failed insertion changed something"
                    );
                    assert_eq!(full.key_count, inside.len() as u64);
                    assert!(!full.to_string().is_empty());
                }
            }
            assert_eq!(filter.key_count(), inside.len() as u64);
        }
        assert!(inside.len() as u64 >= capacity);
        assert_all_found(&filter, &inside);
    }
}

/// 2,000 copies of one key, with others already inside.
fn one_key_many_times<F: DynamicFilter + Persist>(empty: impl Fn(u64, f64, KeyHasher) -> F) {
    let hasher = KeyHasher::xxh3(7);
    let mut filter = empty(3_000, 0.01, hasher);
    let others = digests(hasher, 1, 900);
    for &key in &others {
        filter.insert_digest(key).unwrap();
    }
    let copy = hasher.digest(&0u64);
    let mut copies = 0;
    for _ in 0..2_000 {
        let before = codec::to_bytes(&filter);
        match filter.insert_digest(copy) {
            Ok(is_new) => {
                assert!(!is_new || copies == 0, "a member is not new");
                copies += 1;
            }
            Err(_) => assert_eq!(codec::to_bytes(&filter), before),
        }
    }
    assert!(copies > 0);
    assert_eq!(filter.key_count(), others.len() as u64 + copies);
    assert!(filter.contains_digest(copy));
    assert_all_found(&filter, &others);
}

fn gives_keys_back<F: RemovableFilter + Persist>(empty: impl Fn(u64, f64, KeyHasher) -> F) {
    let hasher = KeyHasher::xxh3(8);
    let mut filter = empty(2_000, 0.01, hasher);
    let fresh = codec::to_bytes(&filter);
    let (leaving, staying) = (digests(hasher, 0, 1_000), digests(hasher, 1_000, 2_000));
    for &key in leaving.iter().chain(&staying) {
        filter.insert_digest(key).unwrap();
    }
    for &key in &leaving {
        filter.remove_digest(key).unwrap();
        assert_all_found(&filter, &staying[..10]);
    }
    assert_all_found(&filter, &staying);
    assert_eq!(filter.key_count(), 1_000);
    for key in digests(hasher, 5_000, 6_000) {
        if !filter.contains_digest(key) {
            let before = codec::to_bytes(&filter);
            assert!(filter.remove_digest(key).is_err());
            assert_eq!(codec::to_bytes(&filter), before);
        }
    }
    for &key in &staying {
        filter.remove_digest(key).unwrap();
    }
    assert_eq!(codec::to_bytes(&filter), fresh, "what was put in was taken out, and nothing else");
}

fn a_union_holds_both<F: DynamicFilter + Persist>(
    empty: impl Fn(u64, f64, KeyHasher) -> F,
    union: impl Fn(&mut F, &F) -> Result<(), String>,
) {
    let hasher = KeyHasher::xxh3(9);
    let (left, right) = (digests(hasher, 0, 400), digests(hasher, 300, 900));
    let build = one_by_one(&empty);
    let mut both = build(1_000, 0.01, hasher, &left);
    let other = build(1_000, 0.01, hasher, &right);
    union(&mut both, &other).unwrap();
    assert_all_found(&both, &left);
    assert_all_found(&both, &right);
    assert!(both.key_count() >= 900);

    let before = codec::to_bytes(&both);
    let seed = KeyHasher::xxh3(10);
    let error = union(&mut both, &build(1_000, 0.01, seed, &digests(seed, 0, 10))).unwrap_err();
    assert!(error.contains("hash"), "{error}");
    let error = union(&mut both, &build(5_000, 0.01, hasher, &[])).unwrap_err();
    assert!(!error.is_empty());
    assert_eq!(codec::to_bytes(&both), before, "a refused union changed something");
}

/// Pointers to a filter, and keys instead of digests, give the filter's own answers.
fn answers_through_pointers<F: Filter + Clone + 'static>(build: impl Build<F>) {
    fn answers(filter: impl Filter, keys: &[Digest]) -> (Vec<bool>, u64, u64, bool, String) {
        let mut hits = vec![false; keys.len()];
        filter.contains_batch(keys, &mut hits);
        let fpr = format!("{} {}", filter.expected_fpr(), filter.bits_per_key());
        (hits, filter.key_count(), filter.size_in_bits(), filter.is_empty(), fpr)
    }
    let hasher = KeyHasher::xxh3(20);
    let mut filter = build(1_000, 0.05, hasher, &digests(hasher, 0, 1_000));
    let asked = digests(hasher, 500, 3_000);
    let expected = answers(filter.clone(), &asked);
    assert_eq!(answers(&filter, &asked), expected);
    assert_eq!(answers(&mut filter, &asked), expected);
    assert_eq!(answers(Box::new(filter.clone()), &asked), expected);
    assert_eq!(answers(Rc::new(filter.clone()), &asked), expected);
    assert_eq!(answers(Arc::new(filter.clone()), &asked), expected);
    let boxed: Box<dyn Filter> = Box::new(filter.clone());
    assert_eq!(answers(&*boxed, &asked), expected);
    let object: &dyn Filter = &filter;
    for (key, &hit) in (500..3_000u64).zip(&expected.0) {
        assert_eq!(object.contains(&key), hit);
        assert_eq!(filter.contains(&key), hit);
        assert_eq!(boxed.contains_digest(hasher.digest(&key)), hit);
    }
}

/// Equality, one line of `Debug`, and the way through [`AnyFilter`] and back.
fn is_itself_and_nothing_else<F>(build: impl Build<F>, name: &str)
where
    F: Filter + Clone + PartialEq + fmt::Debug + Into<AnyFilter>,
    F: TryFrom<AnyFilter, Error = WrongKind>,
{
    let hasher = KeyHasher::xxh3(21);
    let keys = digests(hasher, 0, 100);
    let filter = build(100, 0.01, hasher, &keys);
    assert!(filter == build(100, 0.01, hasher, &keys), "the same keys in the same order");
    assert!(filter != build(100, 0.01, hasher, &keys[1..]), "a key is missing");
    let other_hasher = KeyHasher::xxh3(22);
    assert!(filter != build(100, 0.01, other_hasher, &digests(other_hasher, 0, 100)));

    for said in [format!("{filter:?}"), format!("{filter:#?}")] {
        assert!(said.starts_with(name) && !said.contains('\n'), "{said}");
        let size = format!("size_in_bits: {}", filter.size_in_bits());
        for fact in ["key_count: 100", "capacity: ", &size, "hasher: xxh3 with seed 21"] {
            assert!(said.contains(fact), "{said}");
        }
    }

    let any: AnyFilter = filter.clone().into();
    assert_eq!(any, filter.clone().into());
    assert_eq!(format!("{any:?}"), format!("{filter:?}"));
    assert!(F::try_from(any.clone()).unwrap() == filter);
    let foreign = match any {
        AnyFilter::Bloom(_) => Blocked::new(10, 0.1).unwrap().into(),
        _ => AnyFilter::from(Bloom::new(10, 0.1).unwrap()),
    };
    let error = F::try_from(foreign.clone()).unwrap_err();
    assert!(error.to_string().contains(&foreign.kind().to_string()), "{error}");
    assert_eq!(error.into_filter(), foreign, "the error gives the filter back");
}

/// What `insert` says against an exact set: never `true` for a member, and `false` for a key that is
/// not one just where the filter takes it for a member.
fn insertions_say_what_is_new<F>(empty: impl Fn(u64, f64, KeyHasher) -> F)
where
    F: DynamicFilter + Clone + Into<AnyFilter> + TryFrom<AnyFilter> + PartialEq,
{
    let hasher = KeyHasher::xxh3(23);
    let mut filter = empty(2_000, 0.2, hasher);
    let mut any: AnyFilter = filter.clone().into();
    let mut members = HashSet::new();
    let mut seen_to_be_new = 0;
    // Each key comes twice on average, some soon and some late.
    for step in 0..2_000u64 {
        let key = Digest::new(step).remix().get() % 1_000;
        let seemed_a_member = filter.contains(&key);
        let result = filter.insert(&key);
        assert_eq!(any.insert(&key), result.map_err(Into::into), "as any filter");
        // A filter may have no room for that many copies.
        let Ok(is_new) = result else { continue };
        assert_eq!(is_new, !seemed_a_member);
        assert!(members.insert(key) || !is_new, "a member is not new");
        seen_to_be_new += usize::from(is_new);
    }
    assert!(seen_to_be_new > members.len() / 2, "most keys that are new are seen to be");
    assert!(F::try_from(any).is_ok_and(|any| any == filter));
}

/// What a constructor makes is what its specification says, and that of the kind for the same keys and
/// FPR; but the width of counters is a choice of its own.
fn constructors_build_what_specifications_say<F>(empty: impl Fn(u64, f64, KeyHasher) -> F)
where
    F: DynamicFilter + Into<AnyFilter>,
{
    let hasher = KeyHasher::xxh3(27);
    for (keys, fpr) in [(1, 0.5), (100, 0.1), (5_000, 0.001)] {
        let ours: AnyFilter = empty(keys, fpr, hasher).into();
        assert_eq!(ours.spec().build(hasher).unwrap(), ours);
        let spec = Spec::for_fpr(ours.kind(), keys, fpr).unwrap();
        let has_widths = [Kind::Counting, Kind::BlockedCounting].contains(&ours.kind());
        assert!(ours.spec() == spec || has_widths, "{spec:?}");
    }
}

/// `clear` makes it empty, and as it was when it was new.
fn is_empty_until_filled_and_when_cleared<F>(empty: impl Fn(u64, f64, KeyHasher) -> F)
where
    F: DynamicFilter + Persist + PartialEq + Clone + Into<AnyFilter>,
{
    let hasher = KeyHasher::xxh3(24);
    let fresh = empty(100, 0.01, hasher);
    assert!(fresh.is_empty());
    assert_eq!(fresh.expected_fpr(), 0.0);
    let mut filter = fresh.clone();
    // Past the capacity of a growing filter's first stage.
    let keys = digests(hasher, 0, 5_000);
    let inside = keys.iter().take_while(|&&key| filter.insert_digest(key).is_ok()).count();
    assert!(inside >= 100 && !filter.is_empty());
    assert!(filter != fresh);
    let mut any: AnyFilter = filter.clone().into();
    filter.clear();
    assert!(filter.is_empty());
    assert!(filter == fresh && codec::to_bytes(&filter) == codec::to_bytes(&fresh));
    assert!(keys.iter().all(|&key| !filter.contains_digest(key)));
    any.clear().unwrap();
    assert_eq!(any, fresh.into());
}

/// A batch is its keys one by one; what has no place for all of them is as it was.
fn batches_are_inserted_whole<F>(empty: impl Fn(u64, f64, KeyHasher) -> F)
where
    F: DynamicFilter + Clone + Into<AnyFilter>,
{
    let hasher = KeyHasher::xxh3(25);
    let keys = digests(hasher, 0, 2_000);
    let one_by_one = one_by_one(&empty)(1_000, 0.01, hasher, &keys[..900]);
    let mut batch: AnyFilter = empty(1_000, 0.01, hasher).into();
    batch.insert_batch(&keys[..400]).unwrap();
    batch.insert_batch(&keys[400..900]).unwrap();
    assert_eq!(batch, one_by_one.into());

    let before = batch.clone();
    match batch.insert_batch(&keys[900..]) {
        Ok(()) => assert_eq!(batch.key_count(), 2_000),
        Err(OperationError::Full(full)) => {
            assert!((900..2_000).contains(&full.key_count), "{full}");
            assert_eq!(batch.key_count(), 900);
            assert_all_found(&batch, &keys[..900]);
            // The keys may lie elsewhere in the table, but the answers are the same.
            for key in digests(hasher, 900, 20_000) {
                assert_eq!(batch.contains_digest(key), before.contains_digest(key));
            }
            assert_eq!(batch.remove_batch(&keys[..900]).unwrap(), 900);
            batch.clear().unwrap();
            assert_eq!(batch, empty(1_000, 0.01, hasher).into());
        }
        Err(error) => panic!("{error}"),
    }
}

/// How often a key is there, and that removing it in batches counts what was there.
fn counts_copies<F: RemovableFilter + Into<AnyFilter>>(empty: impl Fn(u64, f64, KeyHasher) -> F) {
    let hasher = KeyHasher::xxh3(26);
    let mut filter: AnyFilter = empty(1_000, 1e-6, hasher).into();
    let keys = digests(hasher, 0, 100);
    for copies in 0..3 {
        // No two of these keys are taken for each other: 5,000 pairs, each by chance at 1e-9.
        assert!(keys.iter().all(|&key| filter.count_digest(key) == Ok(Count::AtMost(copies))));
        filter.insert_batch(&keys).unwrap();
    }
    assert_eq!(filter.remove_batch(&digests(hasher, 50, 150)).unwrap(), 50);
    assert_eq!(filter.count(&49u64).unwrap(), Count::AtMost(3));
    assert_eq!(filter.count(&50u64).unwrap(), Count::AtMost(2));
    assert_eq!(filter.key_count(), 250);
    assert_eq!(filter.remove(&150u64), Err(NotPresent.into()));
}

/// How many cells there are in all the tests of rates below, with room to spare.
const CELLS: f64 = 200.0;

/// The chance that any of them fails although theory is right.
const CHANCE: f64 = 1e-3;

/// Many filters of 2,000 keys, each with a seed of its own: their mean rate against the mean of
/// theory, by the scatter between filters. With 400 filters the mean is normal enough for a
/// two-sided test at CHANCE/CELLS = 5e-6 (4.6 standard errors). Where fewer than 200 wrong answers
/// are expected in all, their number is as good as binomial, and the exact interval is taken.
fn errs_as_theory_says_when_small<F: Filter>(build: impl Build<F>) {
    const FILTERS: u64 = 400;
    for rate in RATES {
        let questions = (40.0 / rate).clamp(2_000.0, 40_000.0) as u64;
        for (capacity, n) in [(2_000, 2_000), (2_000, 1_000)] {
            let (mut observed, mut expected) = (Vec::new(), 0.0);
            for seed in 0..FILTERS {
                let hasher = KeyHasher::xxh3(seed);
                let filter = build(capacity, rate, hasher, &digests(hasher, 0, n));
                let asked = digests(hasher, n, n + questions);
                let wrong = asked.iter().filter(|&&key| filter.contains_digest(key)).count();
                observed.push(wrong as f64 / questions as f64);
                expected += filter.expected_fpr() / FILTERS as f64;
            }
            let mean = observed.iter().sum::<f64>() / FILTERS as f64;
            if expected * (questions * FILTERS) as f64 <= 200.0 {
                let wrong = (mean * (questions * FILTERS) as f64).round() as u64;
                let confidence = 1.0 - CHANCE / CELLS;
                let interval = interval::exact(wrong, questions * FILTERS, confidence).unwrap();
                assert!(interval.contains(expected), "{n} keys at {rate}: {wrong}, {expected}");
                continue;
            }
            let squares: f64 = observed.iter().map(|rate| (rate - mean).powi(2)).sum();
            let error = (squares / (FILTERS - 1) as f64 / FILTERS as f64).sqrt();
            assert!(
                (mean - expected).abs() < 4.6 * error,
                "{n} of {capacity} keys at {rate}: {mean} ± {error} observed, {expected} expected"
            );
        }
    }
}

/// One filter of 100,000 keys: the exact binomial interval. Its rate scatters around the mean by
/// less than half a per cent, a quarter of the interval's width, which the level absorbs.
fn errs_as_theory_says_when_large<F: Filter>(build: impl Build<F>) {
    for (seed, rate) in (100..).zip(RATES) {
        let hasher = KeyHasher::xxh3(seed);
        let n = 100_000;
        let questions = (2_000.0 / rate).clamp(100_000.0, 2_000_000.0) as u64;
        let filter = build(n, rate, hasher, &digests(hasher, 0, n));
        let wrong = (n..n + questions)
            .filter(|key| filter.contains_digest(hasher.digest(key)))
            .count() as u64;
        let interval = interval::exact(wrong, questions, 1.0 - CHANCE / CELLS).unwrap();
        let expected = filter.expected_fpr();
        assert!(
            interval.contains(expected),
            "{rate}: {wrong} of {questions} wrong, {interval:?}, {expected} expected"
        );
        assert!(expected <= rate);
    }
}

/// Ten million keys: no false negative, and the rate of theory by the exact binomial interval.
fn ten_million_keys<F: Filter>(build: impl Build<F>) {
    let hasher = KeyHasher::xxh3(200);
    let n = 10_000_000;
    let keys = digests(hasher, 0, n);
    let filter = build(n, 0.01, hasher, &keys);
    assert_eq!(filter.key_count(), n);
    assert_all_found(&filter, &keys);
    let wrong = (n..2 * n).filter(|key| filter.contains_digest(hasher.digest(key))).count() as u64;
    let interval = interval::exact(wrong, n, 1.0 - CHANCE / CELLS).unwrap();
    let expected = filter.expected_fpr();
    assert!(interval.contains(expected), "{wrong} wrong, {interval:?}, {expected} expected");
}

macro_rules! every_filter {
    ($name:ident, $filter:ty, $build:expr) => {
        #[test]
        fn finds_every_key() {
            super::finds_every_key::<$filter>($build);
        }

        #[test]
        fn batches_answer_like_single_questions() {
            super::batches_answer_like_single_questions::<$filter>($build);
        }

        #[test]
        fn survives_a_file() {
            super::survives_a_file::<$filter>($build);
        }

        #[test]
        fn answers_from_a_mapped_file() {
            super::answers_from_a_mapped_file::<$filter>($build, stringify!($name));
        }

        #[test]
        fn answers_through_pointers() {
            super::answers_through_pointers::<$filter>($build);
        }

        #[test]
        fn is_itself_and_nothing_else() {
            super::is_itself_and_nothing_else::<$filter>($build, stringify!($filter));
        }

        #[test]
        fn keeps_its_secret() {
            super::keeps_its_secret::<$filter>($build);
        }

        #[test]
        fn errs_as_theory_says_when_small() {
            super::errs_as_theory_says_when_small::<$filter>($build);
        }

        #[test]
        fn errs_as_theory_says_when_large() {
            super::errs_as_theory_says_when_large::<$filter>($build);
        }

        #[test]
        #[ignore = "a minute for all: cargo test -p crivo --test filters -- --ignored"]
        fn ten_million_keys() {
            super::ten_million_keys::<$filter>($build);
        }
    };
}

macro_rules! dynamic {
    ($name:ident, $filter:ty, $empty:expr $(, $more:ident $argument:tt)*) => {
        mod $name {
            use super::*;

            every_filter!($name, $filter, one_by_one($empty));

            #[test]
            fn insertions_say_what_is_new() {
                super::insertions_say_what_is_new::<$filter>($empty);
            }

            #[test]
            fn constructors_build_what_specifications_say() {
                super::constructors_build_what_specifications_say::<$filter>($empty);
            }

            #[test]
            fn is_empty_until_filled_and_when_cleared() {
                super::is_empty_until_filled_and_when_cleared::<$filter>($empty);
            }

            #[test]
            fn batches_are_inserted_whole() {
                super::batches_are_inserted_whole::<$filter>($empty);
            }

            #[test]
            fn past_its_capacity() {
                super::past_its_capacity::<$filter>($empty);
            }

            #[test]
            fn one_key_many_times() {
                super::one_key_many_times::<$filter>($empty);
            }

            $(dynamic!(@$more $filter, $empty, $argument);)*
        }
    };
    (@remove $filter:ty, $empty:expr, ()) => {
        #[test]
        fn gives_keys_back() {
            super::gives_keys_back::<$filter>($empty);
        }

        #[test]
        fn counts_copies() {
            super::counts_copies::<$filter>($empty);
        }
    };
    (@union $filter:ty, $empty:expr, ()) => {
        #[test]
        fn a_union_holds_both() {
            super::a_union_holds_both::<$filter>($empty, |ours, theirs| {
                ours.union_with(theirs).map_err(|error| error.to_string())
            });
        }
    };
}

fn counting(width: CounterWidth) -> impl Fn(u64, f64, KeyHasher) -> CountingBloom {
    move |capacity, rate, hasher| CountingBloom::with_width(capacity, rate, width, hasher).unwrap()
}

fn blocked_counting(width: CounterWidth) -> impl Fn(u64, f64, KeyHasher) -> BlockedCounting {
    move |n, rate, hasher| BlockedCounting::with_width(n, rate, width, hasher).unwrap()
}

dynamic!(bloom, Bloom, |n, rate, hasher| Bloom::with_hasher(n, rate, hasher).unwrap(), union());
dynamic!(
    blocked,
    Blocked,
    |n, rate, hasher| Blocked::with_hasher(n, rate, hasher).unwrap(),
    union()
);
dynamic!(
    split_block,
    SplitBlock,
    |n, rate, hasher| SplitBlock::with_hasher(n, rate, hasher).unwrap(),
    union()
);
dynamic!(counting_4, CountingBloom, counting(CounterWidth::Four), remove(), union());
dynamic!(counting_8, CountingBloom, counting(CounterWidth::Eight), remove(), union());
dynamic!(
    blocked_counting_4,
    BlockedCounting,
    blocked_counting(CounterWidth::Four),
    remove(),
    union()
);
dynamic!(
    blocked_counting_8,
    BlockedCounting,
    blocked_counting(CounterWidth::Eight),
    remove(),
    union()
);
dynamic!(
    cuckoo,
    Cuckoo,
    |n, rate, hasher| Cuckoo::with_hasher(n, rate, hasher).unwrap(),
    remove(),
    union()
);
dynamic!(
    quotient,
    Quotient,
    |n, rate, hasher| Quotient::with_hasher(n, rate, hasher).unwrap(),
    remove(),
    union()
);
dynamic!(growing, Growing, |n, rate, hasher| Growing::with_hasher(n, rate, hasher).unwrap());
dynamic!(growing_blocked, GrowingBlocked, |n, rate, hasher| {
    GrowingBlocked::with_hasher(n, rate, hasher).unwrap()
});

mod fuse {
    use super::*;

    fn build(_: u64, rate: f64, hasher: KeyHasher, keys: &[Digest]) -> Fuse {
        Fuse::from_digests(keys.to_vec(), rate, hasher).unwrap()
    }

    every_filter!(fuse, Fuse, build);

    #[test]
    fn every_key_given_twice() {
        let hasher = KeyHasher::default();
        let keys = digests(hasher, 0, 10_000);
        let once = build(0, 0.01, hasher, &keys);
        let twice = build(0, 0.01, hasher, &[keys.clone(), keys.clone()].concat());
        assert_eq!(twice.key_count(), 10_000);
        assert_eq!(codec::to_bytes(&twice), codec::to_bytes(&once));
    }
}

mod sharded_fuse {
    use super::*;

    /// Eight shards, whatever the number of keys.
    fn build(_: u64, rate: f64, hasher: KeyHasher, keys: &[Digest]) -> ShardedFuse {
        let distinct = keys.iter().collect::<HashSet<_>>().len() as u64;
        let spec = ShardedFuseSpec::for_fpr(distinct.max(1), rate).unwrap();
        spec.with_shards(8).unwrap().build_from(keys.to_vec(), hasher).unwrap()
    }

    every_filter!(sharded_fuse, ShardedFuse, build);

    #[test]
    fn every_key_given_twice() {
        let hasher = KeyHasher::default();
        let keys = digests(hasher, 0, 10_000);
        let once = ShardedFuse::from_digests(keys.clone(), 0.01, hasher).unwrap();
        let twice = [keys.clone(), keys].concat();
        let twice = ShardedFuse::from_digests(twice, 0.01, hasher).unwrap();
        assert_eq!(twice.key_count(), 10_000);
        assert_eq!(codec::to_bytes(&twice), codec::to_bytes(&once));
    }
}

/// Any number of threads builds the same filter, to the byte: also of no keys, of fewer keys than
/// threads, and of keys that come twice.
#[test]
fn threads_change_nothing() {
    let hasher = KeyHasher::xxh3(8);
    for kind in Kind::ALL {
        // So many that eight threads are worth it.
        for count in [0u64, 1, 5, 70_000, 500_000] {
            let keys: Vec<u64> = (0..count).map(|i| i - u64::from(i % 7 == 3)).collect();
            let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
            // A cuckoo filter that is full has no place for copies.
            let spec = Spec::for_fpr(kind, count + count / 10 + 1, 0.01).unwrap();
            let expected = spec.build_from(digests.clone(), hasher).unwrap();
            assert_all_found(&expected, &digests);
            for threads in [Some(1), Some(2), Some(3), Some(8), None] {
                let filter = spec.build_on_threads(&keys, threads, hasher).unwrap();
                assert!(filter.to_bytes() == expected.to_bytes(), "{kind}, {count}, {threads:?}");
                let filter = spec.build_by(&digests, |&digest| digest, threads, hasher).unwrap();
                assert!(filter.to_bytes() == expected.to_bytes(), "{kind}, {count}, {threads:?}");
            }
            let none = spec.build_on_threads(&keys, Some(0), hasher).unwrap_err();
            assert_eq!(none.to_string(), "threads is 0, but it must be at least 1");
        }
    }
}

/// Nor do they change what is wrong.
#[test]
fn threads_find_no_room_where_there_is_none() {
    let hasher = KeyHasher::xxh3(9);
    let keys: Vec<u64> = (0..200_000).collect();
    for kind in [Kind::Cuckoo, Kind::Quotient] {
        let spec = Spec::for_fpr(kind, 150_000, 0.01).unwrap();
        let [one, two] =
            [1, 2].map(|threads| spec.build_on_threads(&keys, Some(threads), hasher).unwrap_err());
        assert!(matches!(one, SpecError::Full(_)), "{one}");
        assert_eq!(one, two);
    }
}

/// What a kind cannot do is an error that names it, and changes nothing.
#[test]
fn what_a_kind_cannot_do_is_an_error() {
    let hasher = KeyHasher::default();
    let fuse: AnyFilter = Fuse::build(0..100u64, 0.01).unwrap().into();
    let growing: AnyFilter = Growing::new(100, 0.01).unwrap().into();
    let bloom: AnyFilter = Bloom::new(100, 0.01).unwrap().into();
    let key = [hasher.digest("ana")];
    let mut refused = 0;
    for filter in [fuse, growing, bloom] {
        let mut copy = filter.clone();
        let results = [
            (Operation::Insert, copy.insert("ana").err()),
            (Operation::Insert, copy.insert_batch(&key).err()),
            (Operation::Remove, copy.remove("ana").err()),
            (Operation::Remove, copy.remove_batch(&key).err()),
            (Operation::Count, copy.count("ana").err()),
            (Operation::Clear, copy.clear().err()),
            (Operation::Union, copy.union_with(&filter).err()),
            (Operation::Intersect, copy.intersect_with(&filter).err()),
        ];
        for (operation, error) in results {
            if let Some(error) = error {
                refused += 1;
                assert_eq!(error, OperationError::Unsupported { kind: filter.kind(), operation });
            }
        }
        assert_eq!(copy.key_count(), filter.key_count());
    }
    // All eight by the fuse filter, five by the growing one, three by the Bloom filter.
    assert_eq!(refused, 8 + 5 + 3);
}

/// Shared between threads, it is the plain filter with the same bits.
macro_rules! atomic {
    ($test:ident, $plain:ident, $atomic:ident) => {
        #[test]
        fn $test() {
            let (mut plain, shared) =
                ($plain::new(500, 0.05).unwrap(), $atomic::new(500, 0.05).unwrap());
            assert!(shared.is_empty());
            for key in (0..500u64).chain(0..100) {
                assert_eq!(shared.insert(&key), plain.insert(&key));
            }
            assert_eq!(shared.to_filter(), plain);
            assert_eq!(
                (shared.fill_fpr(), shared.count_set_bits(), shared.probes()),
                (plain.fill_fpr(), plain.count_set_bits(), plain.probes())
            );
            assert_eq!(shared.estimated_key_count(), plain.estimated_key_count());
            assert_eq!(format!("{shared:?}"), format!("Atomic{plain:?}"));

            let mut copy = shared.clone();
            assert_eq!(copy, shared);
            copy.insert("another");
            assert_ne!(copy, shared);
            shared.union_with(&copy).unwrap();
            assert!(shared.contains("another"));
            assert_eq!(shared.key_count(), 600 + 601);
            let other = $atomic::new(600, 0.05).unwrap();
            let before = shared.clone();
            assert!(shared.union_with(&other).is_err());
            assert_eq!(shared, before);
            assert_eq!(shared.to_bytes(), shared.to_filter().to_bytes());
            assert_eq!($atomic::from_bytes(&shared.to_bytes()).unwrap(), shared);
            copy.clear();
            assert_eq!(copy, $atomic::new(500, 0.05).unwrap());
        }
    };
}

atomic!(
    an_atomic_bloom_filter_is_copied_merged_and_compared_like_the_plain_one,
    Bloom,
    AtomicBloom
);
atomic!(
    an_atomic_blocked_filter_is_copied_merged_and_compared_like_the_plain_one,
    Blocked,
    AtomicBlocked
);

/// Keys that an adversary collected against the public seed 0 are false positives there, every one.
/// Under a secret key they are keys like any other.
#[test]
fn keys_collected_against_a_public_seed_gain_nothing_under_a_secret_key() {
    let mut public = Bloom::new(10_000, 0.01).unwrap();
    let secret = KeyHasher::sip24(SecretKey::new(*b"from a good dice"));
    let mut keyed = Bloom::with_hasher(10_000, 0.01, secret).unwrap();
    for key in 0..10_000u64 {
        public.insert(&key);
        keyed.insert(&key);
    }
    let collected: Vec<u64> = (10_000..).filter(|key| public.contains(key)).take(10_000).collect();
    assert!(collected.iter().all(|key| public.contains(key)));
    let wrong = collected.iter().filter(|key| keyed.contains(*key)).count() as u64;
    // One filter's rate, by chance outside this interval once in a million.
    let interval = interval::exact(wrong, 10_000, 1.0 - 1e-6).unwrap();
    assert!(interval.contains(0.01), "{wrong} of 10,000");
}
