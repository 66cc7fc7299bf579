//! Comparisons with naive code, with so little memory that almost everything goes to files.

use std::collections::{BTreeSet, HashSet};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::set::{InsertResult, RecordSet};
use super::*;
use crate::error::Error;

/// The minimum memory of a set: room for 870 digests.
const NO_MEMORY: u64 = 0;
const PLENTY: u64 = 1 << 30;

/// A pseudorandom digest.
fn digest(number: u64) -> u128 {
    RecordHasher { seed: 7 }.digest(&number.to_le_bytes())
}

#[test]
fn a_set_agrees_with_a_btree_set() {
    let mut set = RecordSet::with_memory(PLENTY);
    let mut naive = BTreeSet::new();
    // Neighbours, for long runs; the largest digests; and 0, which is replaced by 1.
    let edge = [0, u128::MAX, u128::MAX - 1, 2, 3, u128::MAX >> 1];
    let crowd = (0..2_000).map(|number| digest(9) + number);
    let spread = (0..100_000).map(|number| digest(number % 60_000));
    for digest in edge.into_iter().chain(crowd).chain(spread) {
        let expected = if naive.insert(digest) { InsertResult::New } else { InsertResult::Known };
        assert_eq!(set.insert(digest), expected);
    }
    let places: HashSet<_> = naive.iter().map(|digest| set.find(*digest).unwrap()).collect();
    assert_eq!(places.len(), naive.len());
    assert!(places.iter().all(|place| *place < set.slot_count()));
    assert!((60_000..70_000).all(|number| set.find(digest(number)).is_none()));
    assert_eq!((set.insert(0), set.insert(1)), (InsertResult::Known, InsertResult::Known));
}

#[test]
fn a_set_takes_about_20_bytes_for_a_digest() {
    let mut set = RecordSet::with_memory(PLENTY);
    for number in 0..1_000_000 {
        set.insert(digest(number));
        if number >= 10_000 {
            // While it is small, up to 40.
            let max = if number < 500_000 { 40.0 } else { 26.0 };
            let bytes = 16.0 * set.slot_count() as f64 / (number + 1) as f64;
            assert!((18.0..max).contains(&bytes), "{bytes} with {number} digests");
        }
    }
}

#[test]
fn a_wrong_expectation_changes_no_answer() {
    // It must not matter whether the table is ready when the set grows.
    for (expected, pause) in [0, 10, 5_000, 1 << 40, u64::MAX].into_iter().zip([0, 20].repeat(3)) {
        let mut set = RecordSet::with_memory(1 << 22);
        assert!((0..1_000).all(|number| set.insert(digest(number)) == InsertResult::New));
        set.expect(expected);
        thread::sleep(Duration::from_millis(pause));
        assert!(16 * set.slot_count() <= 1 << 22);
        assert!((0..1_000).all(|number| set.insert(digest(number)) == InsertResult::Known));
        assert!((1_000..100_000).all(|number| set.insert(digest(number)) == InsertResult::New));
        assert!((0..100_000).all(|number| set.find(digest(number)).is_some()));
    }
}

#[test]
fn a_full_set_keeps_its_digests_and_accepts_no_more() {
    const MEMORY: u64 = 1_000_000;
    let mut set = RecordSet::with_memory(MEMORY);
    let count = (0..).take_while(|number| set.insert(digest(*number)) == InsertResult::New).count();
    assert!((45_000..55_000).contains(&count), "{count}");
    assert!(16 * set.slot_count() as u64 <= MEMORY);
    let count = count as u64;
    assert!((0..count).all(|number| set.insert(digest(number)) == InsertResult::Known));
    assert!((count..2 * count).all(|number| set.insert(digest(number)) == InsertResult::Full));
}

#[test]
fn a_full_set_stays_full() {
    // Enough for 2,048 homes and few more: the set may be created with more, but not grow to more.
    let mut set = RecordSet::with_memory(16 * 2_150);
    assert!((0..1_700).all(|number| set.insert(digest(number)) == InsertResult::New));
    set.expect(u64::MAX);
    let first = (1_700..).find(|number| set.insert(digest(*number)) == InsertResult::Full).unwrap();
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(20));
        assert_eq!(set.insert(digest(first)), InsertResult::Full);
        set.expect(u64::MAX);
    }
}

/// The indices of first occurrences, by a deduplicator with this much memory.
fn first_occurrences(digests: &[u128], memory: u64) -> Result<Vec<usize>, Error> {
    let mut deduplicator = Deduplicator::with_memory(memory);
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for (start, digests) in (0..).step_by(100).zip(digests.chunks(100)) {
        deduplicator.insert_all(digests, |index, occurrence| {
            match occurrence {
                Occurrence::First => first.push(start + index),
                Occurrence::Repeated => {}
                Occurrence::Undecided => later.push(start + index),
            }
            Ok(())
        })?;
    }
    let mut marks = deduplicator.finish()?;
    for (number, index) in (0..).zip(later) {
        if marks.is_marked(number)? {
            first.push(index);
        }
    }
    Ok(first)
}

/// The numbers of records on the left that are also on the right.
fn in_both(left: &[u128], right: &[u128], memory: u64) -> Result<Vec<u64>, Error> {
    let mut join = SemiJoin::with_memory(memory);
    (0..).zip(left).try_for_each(|(number, digest)| join.add_left(number, *digest))?;
    right.iter().try_for_each(|digest| join.add_right(*digest))?;
    let mut joined = join.finish()?;
    let mut both = Vec::new();
    for (number, digest) in (0..).zip(left) {
        if joined.is_in_both(number, *digest)? {
            both.push(number);
        }
    }
    Ok(both)
}

#[test]
fn partitions_that_are_too_large_are_partitioned_again() {
    // 64 files with more than twice what a minimal set takes: each is partitioned again.
    let digests: Vec<_> = (0..200_000).map(|number| digest(number % 130_000)).collect();
    let first: Vec<_> = (0..130_000).collect();
    assert_eq!(first_occurrences(&digests, NO_MEMORY).unwrap(), first);
    let right: Vec<_> = (0..300_000).map(|number| digest(2 * number)).collect();
    let both: Vec<_> = (0..200_000).filter(|number| number % 130_000 % 2 == 0).collect();
    assert_eq!(in_both(&digests, &right, NO_MEMORY).unwrap(), both);
}

#[test]
fn repetitions_of_one_record_are_partitioned_once() {
    let few = (0..1_000).map(digest);
    let digests: Vec<_> = few.chain(std::iter::repeat_n(digest(5_000), 100_000)).collect();
    let first = first_occurrences(&digests, NO_MEMORY).unwrap();
    assert_eq!(first, (0..=1_000).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, rng_seed: prop::test_runner::RngSeed::Fixed(3), ..Default::default() })]

    #[test]
    fn little_memory_gives_the_same_answers(
        left in prop::collection::vec(0u64..4_000, 0..8_000),
        right in prop::collection::vec(2_000u64..6_000, 0..8_000),
    ) {
        let left: Vec<_> = left.into_iter().map(digest).collect();
        let right: Vec<_> = right.into_iter().map(digest).collect();

        let mut seen = HashSet::new();
        let naive: Vec<_> = (0..left.len()).filter(|index| seen.insert(left[*index])).collect();
        prop_assert_eq!(&first_occurrences(&left, NO_MEMORY).unwrap(), &naive);
        prop_assert_eq!(&first_occurrences(&left, PLENTY).unwrap(), &naive);

        let set: HashSet<_> = right.iter().collect();
        let naive: Vec<_> =
            (0..).zip(&left).filter(|(_, digest)| set.contains(digest)).map(|(n, _)| n).collect();
        prop_assert_eq!(&in_both(&left, &right, NO_MEMORY).unwrap(), &naive);
        prop_assert_eq!(&in_both(&left, &right, PLENTY).unwrap(), &naive);
    }
}
