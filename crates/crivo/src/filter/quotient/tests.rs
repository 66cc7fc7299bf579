//! Laws of the table against a sorted list, and of the filter against what it promises.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use super::geometry::BLOCK;
use super::processor::{Best, TableOperation};
use super::*;
use crate::filter::Kind;
use crate::hash::Family;
use crate::persist::Persist;
use crate::persist::testing::{from_noise, from_parts, payload_length};
use crate::theory::{interval, quotient};
use crivo_core::Words;

fn run<O: TableOperation>(operation: O) -> O::Answer {
    Best::detect().run(operation)
}

fn portably<O: TableOperation>(operation: O) -> O::Answer {
    Best::PORTABLE.run(operation)
}

/// The words that sorted fingerprints must be, put down slot by slot.
fn laid_out(geometry: QuotientGeometry, sorted: &[u64]) -> Vec<u64> {
    let mut words = vec![0u64; geometry.words()];
    let bits = geometry.remainder_bits() as usize;
    let mut end = 0;
    let mut ends = vec![0; geometry.blocks()];
    for (index, &fingerprint) in sorted.iter().enumerate() {
        let (quotient, remainder) = geometry.split(fingerprint);
        let slot = end.max(quotient);
        end = slot + 1;
        words[geometry.occupieds_word(quotient / BLOCK)] |= 1 << (quotient % BLOCK);
        if sorted.get(index + 1).is_none_or(|&next| geometry.split(next).0 != quotient) {
            words[geometry.runends_word(slot / BLOCK)] |= 1 << (slot % BLOCK);
        }
        for bit in (0..bits).filter(|bit| remainder >> bit & 1 == 1) {
            let at = slot % BLOCK * bits + bit;
            words[geometry.remainders_word(slot / BLOCK) + at / 64] |= 1 << (at % 64);
        }
        for (block, its_end) in ends.iter_mut().enumerate() {
            if quotient < block * BLOCK {
                *its_end = end;
            }
        }
    }
    for (block, end) in ends.into_iter().enumerate() {
        let offset = usize::saturating_sub(end, block * BLOCK) as u64;
        words[geometry.offset_word(block)] |= offset << geometry.offset_shift(block);
    }
    words
}

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Insert(u64),
    Remove(prop::sample::Index),
    RemoveAny(u64),
}

/// Steps whose fingerprints come from all of the range, or crowd at one of a few places.
fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let anywhere = any::<u64>();
    let crowded = (0u64..4, 0u64..1 << 59).prop_map(|(place, within)| (place << 62) + within);
    let digest = prop_oneof![anywhere, crowded];
    let step = prop_oneof![
        6 => digest.clone().prop_map(Step::Insert),
        2 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => digest.prop_map(Step::RemoveAny),
    ];
    prop::collection::vec(step, 0..most)
}

fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config(400))]

    /// The one law that all others follow from: whatever happened, the words are those of the
    /// sorted fingerprints. There is no history, on any processor, up to the last slot.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_table_is_a_sorted_list_of_fingerprints(
        slots in prop_oneof![1u64..10, 1u64..300],
        bits in prop_oneof![1u32..12, 1u32..=50],
        steps in steps(700),
    ) {
        let geometry = QuotientGeometry::new(slots, bits).unwrap();
        let mut table = QuotientTable::new(geometry).unwrap();
        let mut portable = table.clone();
        let mut near = table.clone();
        let mut model: Vec<u64> = Vec::new();
        for step in steps {
            match step {
                Step::Insert(digest) => {
                    let fingerprint = geometry.fingerprint(digest);
                    let mut longer = model.clone();
                    longer.insert(model.partition_point(|&it| it <= fingerprint), fingerprint);
                    let end = longer.iter().fold(0, |end, &it| geometry.split(it).0.max(end) + 1);
                    let fits = end <= geometry.slots_in_blocks();
                    let expected =
                        if fits { Ok(!model.contains(&fingerprint)) } else { Err(NoPlace) };
                    prop_assert_eq!(run(Insert(&mut table, fingerprint)), expected);
                    prop_assert_eq!(portably(Insert(&mut portable, fingerprint)), expected);
                    prop_assert_eq!(run(InsertNear(&mut near, fingerprint)), expected);
                    if fits {
                        model = longer;
                    }
                }
                Step::Remove(_) if model.is_empty() => {}
                Step::Remove(index) => {
                    let fingerprint = model.remove(index.index(model.len()));
                    prop_assert_eq!(run(Remove(&mut table, fingerprint)), Ok(()));
                    prop_assert_eq!(portably(Remove(&mut portable, fingerprint)), Ok(()));
                    prop_assert_eq!(run(Remove(&mut near, fingerprint)), Ok(()));
                }
                Step::RemoveAny(digest) => {
                    let fingerprint = geometry.fingerprint(digest);
                    let place = model.iter().position(|&it| it == fingerprint);
                    let removed = run(Remove(&mut table, fingerprint));
                    prop_assert_eq!(removed.is_ok(), place.is_some());
                    prop_assert_eq!(portably(Remove(&mut portable, fingerprint)), removed);
                    prop_assert_eq!(run(Remove(&mut near, fingerprint)), removed);
                    place.map(|place| model.remove(place));
                }
            }
            prop_assert_eq!(&*table.words, &*laid_out(geometry, &model));
            prop_assert_eq!(&table, &portable);
            prop_assert_eq!(&table, &near);
        }
        let fingerprints: Vec<u64> = table.fingerprints().collect();
        prop_assert_eq!(&fingerprints, &model);
        let Ok(filled) = QuotientTable::filled(geometry, model.iter().copied()) else {
            return Err(TestCaseError::fail("what was a table can be filled"));
        };
        prop_assert_eq!(filled, table);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn every_question_is_answered_as_by_the_list(
        slots in prop_oneof![1u64..10, 1u64..300],
        bits in 1u32..12,
        members in prop::collection::vec(any::<u64>(), 0..400),
        others in prop::collection::vec(any::<u64>(), 0..400),
    ) {
        let geometry = QuotientGeometry::new(slots, bits).unwrap();
        let mut table = QuotientTable::new(geometry).unwrap();
        let mut model = Vec::new();
        for digest in &members {
            let fingerprint = geometry.fingerprint(*digest);
            if run(Insert(&mut table, fingerprint)).is_ok() {
                model.push(fingerprint);
            }
        }
        for digest in members.iter().chain(&others) {
            let fingerprint = geometry.fingerprint(*digest);
            let copies = model.iter().filter(|&&it| it == fingerprint).count() as u64;
            prop_assert_eq!(run(Contains(&table, fingerprint)), copies > 0);
            prop_assert_eq!(portably(Contains(&table, fingerprint)), copies > 0);
            if table.may_contain(fingerprint) {
                prop_assert_eq!(run(ContainsNear(&table, fingerprint)), copies > 0);
                prop_assert_eq!(portably(ContainsNear(&table, fingerprint)), copies > 0);
            } else {
                prop_assert_eq!(copies, 0);
            }
            prop_assert_eq!(run(CountCopies(&table, fingerprint)), copies);
            prop_assert_eq!(portably(CountCopies(&table, fingerprint)), copies);
        }
        let keys: Vec<Digest> = members.iter().chain(&others).map(|&it| Digest::new(it)).collect();
        let mut hits = vec![false; keys.len()];
        run(ContainsBatch { table: &table, keys: &keys, hits: &mut hits });
        for (key, hit) in keys.iter().zip(hits) {
            prop_assert_eq!(hit, model.contains(&geometry.fingerprint(key.get())));
        }
    }

    /// Words that no history leads to: every operation ends, and none panics.
    #[test]
    fn nonsense_is_answered_with_nonsense(
        slots in 1u64..600,
        bits in 1u32..10,
        key_count in 0u64..600,
        seed: u64,
        density in 0..4,
        digests in prop::collection::vec(any::<u64>(), 1..60),
    ) {
        let parameters = [slots, u64::from(bits)];
        let length = payload_length::<Quotient>(Kind::Quotient, &parameters).unwrap();
        let mut random = Digest::new(seed);
        let mut next = || { random = random.remix(); random.get() };
        let words: Vec<u64> = (0..length)
            .map(|_| match (next() % 7, density) {
                (0, _) | (_, 2) => next(),
                (_, 0) => 0,
                (_, 1) => next() & next() & next(),
                _ => !0,
            })
            .collect();
        let payload = Words::copied(&words).unwrap();
        let parts = from_noise::<Quotient>(Kind::Quotient, key_count, &parameters, payload);
        prop_assert_eq!(parts.is_err(), key_count > slots - slots.div_ceil(20));
        let Ok(mut filter) = parts else { return Ok(()) };
        let keys: Vec<Digest> = digests.iter().map(|&it| Digest::new(it)).collect();
        let mut hits = vec![false; keys.len()];
        filter.contains_batch(&keys, &mut hits);
        for (key, hit) in keys.iter().zip(hits) {
            prop_assert_eq!(filter.contains_digest(*key), hit);
            filter.count_digest(*key);
        }
        let _ = filter.clone().expand();
        let _ = filter.clone().union_with(&filter);
        for (index, key) in keys.iter().enumerate() {
            let before = filter.clone();
            let unchanged = match index % 2 {
                0 => filter.insert_digest(*key).is_err(),
                _ => filter.remove_digest(*key).is_err(),
            };
            if unchanged {
                prop_assert_eq!(&filter, &before);
            }
        }
        let _ = filter.clone().expand();
        prop_assert!((0.0..1.0).contains(&filter.expected_fpr()));
    }

    #[test]
    fn unions_and_expansions_are_tables_of_the_same_fingerprints(
        capacity in 1u64..400,
        bits in 2u32..12,
        ours in prop::collection::vec(0u16..500, 0..200),
        theirs in prop::collection::vec(0u16..500, 0..200),
        expand_theirs: bool,
    ) {
        let hasher = KeyHasher::xxh3(3);
        let empty = Quotient::with_remainder_bits(capacity, bits, hasher).unwrap();
        let fill = |keys: &[u16]| {
            let mut filter = empty.clone();
            let taken: Vec<u16> =
                keys.iter().copied().filter(|key| filter.insert(key).is_ok()).collect();
            (filter, taken)
        };
        let (mut left, our_keys) = fill(&ours);
        let (mut right, their_keys) = fill(&theirs);
        let before = left.clone();
        if expand_theirs {
            right.expand().unwrap();
            prop_assert_eq!(right.key_count(), their_keys.len() as u64);
        }
        prop_assert!(their_keys.iter().all(|key| right.contains(key)));
        match left.union_with(&right) {
            Ok(()) => {
                let (straight, _) = fill(&[&our_keys[..], &their_keys].concat());
                prop_assert_eq!(&left, &straight);
                if left.expand().is_ok() {
                    prop_assert!(our_keys.iter().chain(&their_keys).all(|key| left.contains(key)));
                    let sorted: Vec<u64> = straight.table.fingerprints().collect();
                    let expected = laid_out(left.table.geometry, &sorted);
                    prop_assert_eq!(&*left.table.words, &*expected);
                }
            }
            Err(RebuildError::Full(full)) => {
                prop_assert_eq!(full.key_count, (our_keys.len() + their_keys.len()) as u64);
                prop_assert_eq!(&left, &before);
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
}

#[test]
fn the_worked_example_of_the_documentation() {
    let geometry = QuotientGeometry::new(8, 4).unwrap();
    let mut table = QuotientTable::new(geometry).unwrap();
    for fingerprint in [0x3d, 0x1c, 0x6f, 0x2e, 0x1a, 0x2b] {
        run(Insert(&mut table, fingerprint)).unwrap();
    }
    assert_eq!(table.words[geometry.occupieds_word(0)], 0b0100_1110);
    assert_eq!(table.words[geometry.runends_word(0)], 0b0111_0100);
    assert_eq!(table.words[geometry.remainders_word(0)], 0x0fde_bca0);
    assert!(run(Contains(&table, 0x2e)));
    assert!(!run(Contains(&table, 0x4e)));
    let members: Vec<u64> = (0..0x80).filter(|&it| run(Contains(&table, it))).collect();
    assert_eq!(members, [0x1a, 0x1c, 0x2b, 0x2e, 0x3d, 0x6f]);
}

/// Filled to the last key it is made for, over many sizes and widths, and emptied again.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_filter_takes_as_many_keys_as_it_is_made_for() {
    for (index, capacity) in
        [1u64, 2, 19, 20, 63, 64, 65, 500, 1000, 4096, 30_000].iter().enumerate()
    {
        for rate in [0.3, 0.01, 1e-6] {
            let hasher = KeyHasher::xxh3(index as u64);
            let mut filter = Quotient::with_hasher(*capacity, rate, hasher).unwrap();
            let empty = filter.clone();
            assert_eq!(filter.capacity(), *capacity);
            for key in 0..*capacity {
                filter.insert(&key).unwrap();
            }
            assert!((0..*capacity).all(|key| filter.contains(&key)));
            assert!(filter.expected_fpr() <= rate);
            let full = filter.clone();
            let error = filter.insert(&0u64).unwrap_err();
            assert_eq!((error.key_count, error.capacity), (*capacity, *capacity));
            assert_eq!(filter, full);

            for key in (0..*capacity).rev() {
                filter.remove(&key).unwrap();
            }
            assert_eq!(filter, empty);
            assert_eq!(filter.remove(&0u64), Err(NotPresent));
        }
    }
}

#[test]
fn sizes_are_those_of_the_documentation() {
    let full = QuotientSpec::for_fpr(1_000_000, 0.01).unwrap();
    for (load, row) in [
        (0.95, "7 9.74 0.74"),
        (0.75, "7 12.34 0.58"),
        (0.5, "7 18.50 0.39"),
        (0.25, "7 37.00 0.20"),
    ] {
        let spec = full.with_load(load).unwrap();
        let (bits, fpr) = (spec.size_in_bits() as f64 / 1e6, 100.0 * spec.fpr_at(1_000_000));
        assert_eq!(format!("{} {bits:.2} {fpr:.2}", spec.remainder_bits()), row);
    }
}

/// As many slots as the load asks for and no more, for the same remainders; and what is asked for as
/// the capacity is kept, with its FPR.
#[test]
fn a_load_decides_how_many_slots_there_are() {
    for keys in [1, 2, 19, 20, 1_000, 65_536, 1_000_000] {
        for bits in [1, 7, 13] {
            let full = QuotientSpec::with_remainder_bits(keys, bits).unwrap();
            assert_eq!(full.with_load(0.95), Ok(full));
            for load in [0.01, 0.3, 0.477, 0.5, 0.75, 0.9] {
                let spec = full.with_load(load).unwrap();
                let slots = spec.slot_count() as f64;
                assert!(keys as f64 <= load * slots * (1.0 + 1e-12), "{spec:?} at {load}");
                assert!(keys as f64 > load * (slots - 1.0) || spec == full, "{spec:?} at {load}");
                assert_eq!(spec.remainder_bits(), bits);
                assert!(spec.capacity() >= keys);
                assert!(spec.fpr_at(keys) <= full.fpr_at(keys));
                assert!(spec.fpr_when_full() <= 0.95 * 0.5f64.powi(bits as i32));
            }
        }
    }
    let spec = QuotientSpec::for_fpr(1_000, 0.01).unwrap();
    for load in [0.0, -0.5, 0.951, 1.0, 2.0, f64::NAN, f64::INFINITY] {
        assert_eq!(spec.with_load(load).unwrap_err().parameter, "load", "{load}");
    }
    assert_eq!(spec.with_load(1e-300).unwrap_err().parameter, "slots");
}

/// A filter of each load, from nearly empty to full, is what was specified, stored and read.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_filter_of_a_load_is_read_as_it_was_written() {
    for (seed, load) in [0.1, 0.477, 0.75, 0.9, 0.95].into_iter().enumerate() {
        let spec = QuotientSpec::for_fpr(3_000, 0.01).unwrap().with_load(load).unwrap();
        let mut filter = spec.build(KeyHasher::xxh3(seed as u64)).unwrap();
        filter.try_extend(0..3_000u32).unwrap();
        assert!((filter.load_factor() - load).abs() < 1e-3);
        assert!((0..3_000u32).all(|key| filter.contains(&key)));
        assert_eq!((filter.spec(), filter.capacity()), (spec, spec.capacity()));
        assert_eq!(filter.expected_fpr(), spec.fpr_at(3_000));
        let (payload, parameters) = (filter.parts().payload.concat(), filter.parts().parameters);
        let words = Words::copied(&payload).unwrap();
        let hasher = filter.hasher();
        let read = from_parts::<Quotient>(Kind::Quotient, hasher, 3_000, &parameters, words);
        assert_eq!(read.as_ref().map(Quotient::spec), Ok(spec));
        assert_eq!(read, Ok(filter));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn one_key_many_times() {
    let mut filter = Quotient::new(300_000, 0.01).unwrap();
    for other in 0..1000u32 {
        filter.insert(&other).unwrap();
    }
    let before = filter.clone();
    for _ in 0..2000 {
        filter.insert("ana").unwrap();
    }
    assert!((2000..2010).contains(&filter.count("ana").get()));
    assert!((0..1000u32).all(|other| filter.contains(&other)));
    for _ in 0..2000 {
        filter.remove("ana").unwrap();
    }
    assert_eq!(filter, before);
}

/// No run may reach farther than an offset can tell: the filter is full for that key, not for
/// others.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn copies_end_where_offsets_do() {
    let geometry = QuotientGeometry::new(200_000, 3).unwrap();
    let many = 65_535 + 64;
    let Ok(table) = QuotientTable::filled(geometry, std::iter::repeat_n(0, many)) else {
        panic!("they fit")
    };
    let mut filter = Quotient {
        table,
        key_count: many as u64,
        hasher: KeyHasher::default(),
        metadata: Metadata::new(),
    };
    assert!(QuotientTable::filled(geometry, std::iter::repeat_n(0, many + 1)).is_err());
    let before = filter.clone();
    let copy = Digest::new(0);
    let error = filter.insert_digest(copy).unwrap_err();
    assert!(error.key_count < error.capacity);
    assert_eq!(filter, before);
    assert_eq!(filter.count_digest(copy), Count::AtMost(many as u64));
    filter.insert_digest(Digest::new(u64::MAX)).unwrap();
    filter.remove_digest(copy).unwrap();
    filter.insert_digest(copy).unwrap();
    filter.remove_digest(Digest::new(u64::MAX)).unwrap();
    assert_eq!(filter, before);
    assert!(matches!(filter.union_with(&before), Err(RebuildError::Full(_))));
    assert_eq!(filter, before);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_table_can_be_expanded_until_the_remainders_are_gone() {
    let mut filter = Quotient::with_remainder_bits(50, 8, KeyHasher::default()).unwrap();
    let mut keys = 0u32;
    loop {
        while filter.insert(&keys).is_ok() {
            keys += 1;
        }
        assert_eq!(u64::from(keys), filter.capacity());
        assert!((0..keys).all(|key| filter.contains(&key)));
        let before = filter.clone();
        match filter.expand() {
            Ok(()) => assert!((0..keys).all(|key| filter.contains(&key))),
            Err(error) => {
                assert_eq!(filter, before);
                assert_eq!(
                    error.to_string(),
                    "remainder bits is 1, but it must be at least 2, so that one can be given away"
                );
                break;
            }
        }
    }
    // 50 keys take 53 slots, and seven bits were given away.
    assert_eq!((filter.slot_count(), filter.remainder_bits()), (53 << 7, 1));
}

#[test]
fn filters_with_other_fingerprints_are_not_united() {
    let mut filter = Quotient::new(100, 0.01).unwrap();
    let parameter = |result: Result<(), RebuildError>| match result {
        Err(RebuildError::Incompatible(error)) => error.parameter,
        other => panic!("{other:?}"),
    };
    let other = Quotient::with_hasher(100, 0.01, KeyHasher::xxh3(1)).unwrap();
    assert_eq!(parameter(filter.union_with(&other)), "hash function");
    let other = Quotient::new(101, 0.01).unwrap();
    assert_eq!(parameter(filter.union_with(&other)), "slots · 2^r");
    let other = Quotient::new(100, 0.001).unwrap();
    assert_eq!(parameter(filter.union_with(&other)), "slots · 2^r");
}

#[test]
fn too_many_keys_are_not_united() {
    let mut filter = Quotient::new(10, 0.01).unwrap();
    filter.try_extend(0..6u32).unwrap();
    let before = filter.clone();
    let error = filter.union_with(&before).unwrap_err();
    assert_eq!(error.to_string(), "there are 12 keys, and the filter is made for 10");
    assert_eq!(filter, before);
}

#[test]
fn what_is_written_is_read() {
    let mut filter = Quotient::with_hasher(1000, 0.001, Family::Farm.with_seed(4)).unwrap();
    filter.try_extend(0..900u32).unwrap();
    let payload = filter.parts().payload.concat();
    let parameters = filter.parts().parameters;
    assert_eq!(payload_length::<Quotient>(Kind::Quotient, &parameters), Ok(payload.len() as u64));
    assert_eq!(filter.size_in_bits(), payload.len() as u64 * 64);
    let read = |key_count, parameters: &[u64]| {
        let words = Words::copied(&payload).unwrap();
        from_parts::<Quotient>(Kind::Quotient, filter.hasher(), key_count, parameters, words)
    };
    assert_eq!(read(900, &parameters), Ok(filter.clone()));
    let slots = filter.slot_count();
    for bad in [&[][..], &[slots], &[slots, 10, 0], &[slots, 0], &[slots, 63], &[slots, 1 << 32]] {
        assert!(read(900, bad).is_err(), "{bad:?}");
        assert!(payload_length::<Quotient>(Kind::Quotient, bad).is_err(), "{bad:?}");
    }
    for bad in [[0, 10], [u64::MAX, 1], [1 << 60, 4], [u64::MAX, u64::MAX]] {
        assert!(payload_length::<Quotient>(Kind::Quotient, &bad).is_err(), "{bad:?}");
    }
    assert!(read(900, &[slots + 1000, 10]).is_err());
    assert!(read(slots, &parameters).is_err());
}

/// One key with one bit in two slots: of four fingerprints one is taken, and theory says so.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_fpr_of_a_single_key_is_exact() {
    let mut filter = Quotient::with_remainder_bits(1, 1, KeyHasher::default()).unwrap();
    filter.insert("ana").unwrap();
    assert!((filter.expected_fpr() - 0.25).abs() < 1e-15);
    let absent = (0..100_000u64).filter(|key| filter.contains(key)).count();
    // Exceeded by chance less than once in a million times.
    assert!(absent.abs_diff(25_000) < 700, "{absent}");
}

#[test]
#[cfg_attr(miri, ignore = "asks for more memory than there is")]
fn impossible_wishes_are_named() {
    let parameter = |capacity, rate| match Quotient::new(capacity, rate) {
        Err(BuildError::Parameter(error)) => error.parameter,
        other => panic!("{other:?}"),
    };
    assert_eq!(parameter(0, 0.01), "n");
    assert_eq!(parameter(u64::MAX, 0.01), "fpr");
    for rate in [0.0, 1.0, -1.0, f64::NAN, 1e-17, 1e-300] {
        assert_eq!(parameter(1000, rate), "fpr");
    }
    if cfg!(target_pointer_width = "32") {
        // What the addresses cannot reach is refused before any memory is asked for.
        assert_eq!(parameter(1 << 50, 0.1), "slots");
    } else {
        assert!(matches!(Quotient::new(1 << 50, 0.1), Err(BuildError::OutOfMemory { .. })));
    }
    // As far as 64 bits of digest go.
    assert!(Quotient::new(1000, 1e-15).is_ok());
}

/// Between filters: for each rate and load, the mean over 200 filters of 500 keys, each with
/// 5,000 absent keys asked, lies within 4.5 standard errors of theory; the errors are those seen
/// between filters. Of 9 cells, one fails by chance with probability below 9 · 7e-6 (Gaussian;
/// measured errors have heavier tails, so take it for 1e-4).
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn small_filters_err_as_often_as_theory_says() {
    const FILTERS: u64 = 200;
    const QUERIES: u64 = 5000;
    for (cell, (bits, percent)) in
        [1, 3, 7].into_iter().flat_map(|bits| [20, 60, 100].map(|load| (bits, load))).enumerate()
    {
        let mut expected = 0.0;
        let rates: Vec<f64> = (0..FILTERS)
            .map(|index| {
                let hasher = KeyHasher::xxh3(1000 * cell as u64 + index);
                let mut filter = Quotient::with_remainder_bits(500, bits, hasher).unwrap();
                filter.try_extend(0..500 * percent / 100).unwrap();
                expected = filter.expected_fpr();
                let wrong = (0..QUERIES).filter(|key| filter.contains(&(1_000_000 + key))).count();
                wrong as f64 / QUERIES as f64
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / FILTERS as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let error = (squares / (FILTERS * (FILTERS - 1)) as f64).sqrt();
        assert!(
            (mean - expected).abs() < 4.5 * error,
            "{bits} bits, {percent}% of the keys: {mean} ± {error}, theory {expected}"
        );
    }
}

/// One filter of 200,000 keys for each rate and load: the exact interval of 400,000 questions, at a
/// level at which one of 7 cells misses theory by chance with probability below 7e-5. The filter's
/// own rate scatters by 1/√(200,000) of it around theory, far less than the interval is wide.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn large_filters_err_as_often_as_theory_says() {
    let full = [0.2, 0.01, 1e-3, 1e-4].map(|target| (target, 0.95));
    let loads = [0.25, 0.5, 0.75].map(|load| (0.01, load));
    for (seed, (target, load)) in (1..).zip(full.into_iter().chain(loads)) {
        let spec = QuotientSpec::for_fpr(200_000, target).unwrap().with_load(load).unwrap();
        let mut filter = spec.build(KeyHasher::xxh3(seed)).unwrap();
        filter.try_extend(0..200_000u64).unwrap();
        assert!((0..200_000u64).all(|key| filter.contains(&key)));
        let wrong = (1 << 32..(1 << 32) + 400_000u64).filter(|key| filter.contains(key)).count();
        let interval = interval::exact(wrong as u64, 400_000, 1.0 - 1e-5).unwrap();
        let expected = filter.expected_fpr();
        assert!(interval.contains(expected), "{target}: {interval:?}, theory {expected}");
        let by_load = quotient::fpr(spec.remainder_bits(), load).unwrap();
        assert!((expected / by_load - 1.0).abs() < 1e-4, "{expected} and {by_load}");
        assert!(expected <= target);
    }
}

/// The first and the last hundred thousand of 120 million quotients: 2^32 bits lie between.
#[test]
#[ignore = "600 MB of memory: cargo test -p crivo --lib quotient -- --ignored"]
fn more_than_32_bits_of_bits() {
    const STEP: u64 = (1 << 39) + 1;
    let mut filter = Quotient::with_remainder_bits(120_000_000, 36, KeyHasher::default()).unwrap();
    assert!(filter.size_in_bits() > 1 << 32);
    let far = |i: u64| Digest::new(u64::MAX - i * STEP);
    let near = |i: u64| Digest::new(i * STEP);
    for i in 0..100_000 {
        filter.insert_digest(far(i)).unwrap();
        filter.insert_digest(near(i)).unwrap();
    }
    assert!(
        (0..100_000).all(|i| filter.contains_digest(far(i)) && filter.contains_digest(near(i)))
    );
    for i in 0..100_000 {
        filter.remove_digest(far(i)).unwrap();
    }
    assert!((0..100_000).all(|i| filter.contains_digest(near(i))));
    assert_eq!(filter.key_count(), 100_000);
}
