//! What an [`AtomicFilter`](super::AtomicFilter) promises, in every order of events that Rust's memory
//! model allows for these few operations.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::thread;

use super::probe::{SharedWord, contains, copy, set, shared_word, unite};
use super::shareable::Places;
use crate::Digest;
use crate::filter::{Blocked, Bloom};

shared_word!(AtomicU64);

const PROBES: u32 = 2;

/// The smallest table of a kind, and two keys that share a bit there and differ in another word.
trait Case: Places + 'static {
    const WORD_COUNT: usize;
    const KEYS: [Digest; 2];
}

impl Case for Bloom {
    const WORD_COUNT: usize = 2;
    const KEYS: [Digest; 2] =
        [Digest::new(0xc8db_ac08_996c_7d45), Digest::new(0xe6b0_9f36_3c5a_b7c5)];
}

impl Case for Blocked {
    const WORD_COUNT: usize = 8;
    const KEYS: [Digest; 2] =
        [Digest::new(0x6774_af14_e2f4_50de), Digest::new(0xcc69_af14_e2f4_50de)];
}

type Table = Arc<Vec<AtomicU64>>;

fn table<F: Case>() -> Table {
    Arc::new((0..F::WORD_COUNT).map(|_| AtomicU64::new(0)).collect())
}

fn insert<F: Case>(table: &Table, key: Digest) -> bool {
    set::<F>(table, PROBES, key)
}

fn finds<F: Case>(table: &Table, key: Digest) -> bool {
    contains::<F>(table, PROBES, key)
}

fn bits(table: &Table) -> Vec<u64> {
    table.iter().map(SharedWord::bits).collect()
}

fn the_keys_of_these_tests_meet<F: Case>() {
    let [one, other] = F::KEYS.map(|key| {
        let mut places = Vec::new();
        F::each_place(key, PROBES, F::WORD_COUNT, |word, bit| places.push((word, bit)));
        places
    });
    assert!(one.iter().any(|place| other.contains(place)), "{one:?} and {other:?}");
    assert!(one[1].0 != one[0].0 && one[1] != other[1], "and differ elsewhere");
}

fn two_threads_set_the_bits_that_one_would<F: Case>() {
    loom::model(|| {
        let shared = table::<F>();
        let threads = F::KEYS.map(|key| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                insert::<F>(&shared, key);
                assert!(finds::<F>(&shared, key), "a thread finds what it inserted");
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let alone = table::<F>();
        for key in F::KEYS {
            insert::<F>(&alone, key);
        }
        assert_eq!(bits(&shared), bits(&alone));
    });
}

fn one_of_two_threads_is_told_that_their_key_is_new<F: Case>() {
    loom::model(|| {
        let shared = table::<F>();
        let [key, _] = F::KEYS;
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || insert::<F>(&shared, key))
        };
        let told_here = insert::<F>(&shared, key);
        assert!(!insert::<F>(&shared, key), "it is new only once");
        let told_there = other.join().unwrap();
        assert!(told_here || told_there);
        assert!(!insert::<F>(&shared, key));
    });
}

fn a_union_and_a_copy_have_what_came_before_and_nothing_that_nobody_set<F: Case>() {
    loom::model(|| {
        let (ours, theirs) = (table::<F>(), table::<F>());
        insert::<F>(&theirs, F::KEYS[0]);
        let writer = {
            let theirs = Arc::clone(&theirs);
            thread::spawn(move || insert::<F>(&theirs, F::KEYS[1]))
        };
        unite(&ours, &theirs);
        let mut copied = vec![0; F::WORD_COUNT];
        copy(&theirs, &mut copied);
        writer.join().unwrap();
        assert!(finds::<F>(&ours, F::KEYS[0]));
        let (united, all) = (bits(&ours), bits(&theirs));
        for ((united, copied), all) in united.into_iter().zip(copied).zip(all) {
            assert_eq!(united & !copied, 0, "what a thread has seen once it sees again");
            assert_eq!(copied & !all, 0);
        }
    });
}

fn two_filters_that_unite_with_each_other_both_have_all<F: Case>() {
    loom::model(|| {
        let tables = [table::<F>(), table::<F>()];
        for (table, key) in tables.iter().zip(F::KEYS) {
            insert::<F>(table, key);
        }
        let [ours, theirs] = tables.clone();
        let other = thread::spawn(move || unite(&theirs, &ours));
        unite(&tables[0], &tables[1]);
        other.join().unwrap();
        for table in &tables {
            assert!(F::KEYS.into_iter().all(|key| finds::<F>(table, key)));
        }
    });
}

fn what_was_announced_is_found<F: Case>() {
    loom::model(|| {
        let (shared, announced) = (table::<F>(), Arc::new(AtomicBool::new(false)));
        let writer = {
            let (shared, announced) = (Arc::clone(&shared), Arc::clone(&announced));
            thread::spawn(move || {
                insert::<F>(&shared, F::KEYS[0]);
                announced.store(true, Ordering::Release);
            })
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || insert::<F>(&shared, F::KEYS[1]))
        };
        if announced.load(Ordering::Acquire) {
            assert!(finds::<F>(&shared, F::KEYS[0]));
        }
        writer.join().unwrap();
        other.join().unwrap();
        assert!(F::KEYS.into_iter().all(|key| finds::<F>(&shared, key)));
    });
}

fn what_was_found_once_is_found_for_ever<F: Case>() {
    loom::model(|| {
        let shared = table::<F>();
        let writers = F::KEYS.map(|key| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || insert::<F>(&shared, key))
        });
        if finds::<F>(&shared, F::KEYS[0]) {
            assert!(finds::<F>(&shared, F::KEYS[0]));
        }
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

macro_rules! promises {
    ($name:ident: $filter:ident, $($promise:ident,)*) => {
        mod $name {
            $(
                #[test]
                fn $promise() {
                    super::$promise::<super::$filter>();
                }
            )*
        }
    };
}

promises! {
    bloom: Bloom,
    the_keys_of_these_tests_meet,
    two_threads_set_the_bits_that_one_would,
    one_of_two_threads_is_told_that_their_key_is_new,
    a_union_and_a_copy_have_what_came_before_and_nothing_that_nobody_set,
    two_filters_that_unite_with_each_other_both_have_all,
    what_was_announced_is_found,
    what_was_found_once_is_found_for_ever,
}

// Unions and copies go word by word, whatever the kind. In eight words that change at the same time
// there would be too many orders of events.
promises! {
    blocked: Blocked,
    the_keys_of_these_tests_meet,
    two_threads_set_the_bits_that_one_would,
    one_of_two_threads_is_told_that_their_key_is_new,
    what_was_announced_is_found,
    what_was_found_once_is_found_for_ever,
}
