//! Setting and asking the bits of a key in words that threads share.
//!
//! Over any kind of word, so that the very same code runs in programs and under a model checker,
//! which tries every order in which threads can come.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Digest;
use crate::filter::bloom::{self, Probes};

/// A word that threads share.
pub(super) trait SharedWord {
    /// Sets these bits, and leaves the others as they are. Returns the bits as they were before.
    fn set_bits(&self, bits: u64) -> u64;

    /// The bits of now, or of a moment ago.
    fn bits(&self) -> u64;
}

macro_rules! shared_word {
    ($atomic:ty) => {
        impl SharedWord for $atomic {
            #[inline(always)]
            fn set_bits(&self, bits: u64) -> u64 {
                self.fetch_or(bits, Ordering::Relaxed)
            }

            #[inline(always)]
            fn bits(&self) -> u64 {
                self.load(Ordering::Relaxed)
            }
        }
    };
}

shared_word!(AtomicU64);

/// Sets the bits of a key, and tells whether one of them was clear.
///
/// Where nobody uses the answer, the bits are set by instructions that do not fetch the old ones.
#[inline(always)]
pub(super) fn set(words: &[impl SharedWord], probes: u32, key: Digest) -> bool {
    let mut key = Probes::new(key);
    let mut is_new = false;
    for _ in 0..probes {
        let (word, position) = key.next(words.len());
        let bit = bloom::bit(position);
        is_new |= words[word].set_bits(bit) & bit == 0;
    }
    is_new
}

/// Whether all bits of a key are set.
#[inline(always)]
pub(super) fn contains(words: &[impl SharedWord], probes: u32, key: Digest) -> bool {
    let mut key = Probes::new(key);
    let mut all = true;
    for _ in 0..probes {
        let (word, position) = key.next(words.len());
        all &= words[word].bits() & bloom::bit(position) != 0;
    }
    all
}

/// Sets the bits of other words, one word after another.
pub(super) fn unite<W: SharedWord>(words: &[W], others: &[W]) {
    for (word, other) in words.iter().zip(others) {
        word.set_bits(other.bits());
    }
}

/// Copies the words, one after another.
pub(super) fn copy(words: &[impl SharedWord], copy: &mut [u64]) {
    for (copy, word) in copy.iter_mut().zip(words) {
        *copy = word.bits();
    }
}

/// What [`AtomicBloom`](super::AtomicBloom) promises, in every order of events that Rust's memory
/// model allows for these few operations.
#[cfg(all(test, target_pointer_width = "64"))]
mod every_order {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, AtomicU64};
    use loom::thread;

    use super::*;

    shared_word!(AtomicU64);

    const PROBES: u32 = 2;

    /// Two keys that share a bit, and differ in the other word of a table of two.
    const KEYS: [Digest; 2] =
        [Digest::new(0xc8db_ac08_996c_7d45), Digest::new(0xe6b0_9f36_3c5a_b7c5)];

    fn table() -> Arc<[AtomicU64; 2]> {
        Arc::new([AtomicU64::new(0), AtomicU64::new(0)])
    }

    fn bits(words: &[AtomicU64; 2]) -> [u64; 2] {
        [words[0].bits(), words[1].bits()]
    }

    #[test]
    fn the_keys_of_these_tests_meet() {
        let [one, other] = KEYS.map(|key| {
            let mut probes = Probes::new(key);
            [(); PROBES as usize].map(|()| {
                let (word, position) = probes.next(2);
                (word, bloom::bit(position))
            })
        });
        assert!(one.iter().any(|place| other.contains(place)), "{one:?} and {other:?}");
        assert!(one[1].0 != one[0].0 && one[1] != other[1], "and differ elsewhere");
    }

    #[test]
    fn two_threads_set_the_bits_that_one_would() {
        loom::model(|| {
            let shared = table();
            let threads = KEYS.map(|key| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    set(&*shared, PROBES, key);
                    assert!(contains(&*shared, PROBES, key), "a thread finds what it inserted");
                })
            });
            for thread in threads {
                thread.join().unwrap();
            }
            let alone = table();
            for key in KEYS {
                set(&*alone, PROBES, key);
            }
            assert_eq!(bits(&shared), bits(&alone));
        });
    }

    #[test]
    fn one_of_two_threads_is_told_that_their_key_is_new() {
        loom::model(|| {
            let shared = table();
            let [key, _] = KEYS;
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || set(&*shared, PROBES, key))
            };
            let told_here = set(&*shared, PROBES, key);
            assert!(!set(&*shared, PROBES, key), "it is new only once");
            let told_there = other.join().unwrap();
            assert!(told_here || told_there);
            assert!(!set(&*shared, PROBES, key));
        });
    }

    #[test]
    fn a_union_and_a_copy_have_what_came_before_and_nothing_that_nobody_set() {
        loom::model(|| {
            let (ours, theirs) = (table(), table());
            set(&*theirs, PROBES, KEYS[0]);
            let writer = {
                let theirs = Arc::clone(&theirs);
                thread::spawn(move || set(&*theirs, PROBES, KEYS[1]))
            };
            unite(&*ours, &*theirs);
            let mut copied = [0; 2];
            copy(&*theirs, &mut copied);
            writer.join().unwrap();
            assert!(contains(&*ours, PROBES, KEYS[0]));
            let (united, all) = (bits(&ours), bits(&theirs));
            for ((united, copied), all) in united.into_iter().zip(copied).zip(all) {
                assert_eq!(united & !copied, 0, "what a thread has seen once it sees again");
                assert_eq!(copied & !all, 0);
            }
        });
    }

    #[test]
    fn two_filters_that_unite_with_each_other_both_have_all() {
        loom::model(|| {
            let tables = [table(), table()];
            for (table, key) in tables.iter().zip(KEYS) {
                set(&**table, PROBES, key);
            }
            let [ours, theirs] = tables.clone();
            let other = thread::spawn(move || unite(&*theirs, &*ours));
            unite(&*tables[0], &*tables[1]);
            other.join().unwrap();
            for table in &tables {
                assert!(KEYS.into_iter().all(|key| contains(&**table, PROBES, key)));
            }
        });
    }

    #[test]
    fn what_was_announced_is_found() {
        loom::model(|| {
            let (shared, announced) = (table(), Arc::new(AtomicBool::new(false)));
            let writer = {
                let (shared, announced) = (Arc::clone(&shared), Arc::clone(&announced));
                thread::spawn(move || {
                    set(&*shared, PROBES, KEYS[0]);
                    announced.store(true, Ordering::Release);
                })
            };
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || set(&*shared, PROBES, KEYS[1]))
            };
            if announced.load(Ordering::Acquire) {
                assert!(contains(&*shared, PROBES, KEYS[0]));
            }
            writer.join().unwrap();
            other.join().unwrap();
            assert!(KEYS.into_iter().all(|key| contains(&*shared, PROBES, key)));
        });
    }

    #[test]
    fn what_was_found_once_is_found_for_ever() {
        loom::model(|| {
            let shared = table();
            let writers = KEYS.map(|key| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || set(&*shared, PROBES, key))
            });
            if contains(&*shared, PROBES, KEYS[0]) {
                assert!(contains(&*shared, PROBES, KEYS[0]));
            }
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }
}
