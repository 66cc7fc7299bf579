//! A set of 128-bit digests in about 20 bytes each.
//!
//! Ordered linear probing: a digest's home is proportional to its value, counted from the end of the
//! table, and every run is sorted, so that the whole table is one descending list with gaps.
//!
//! ```text
//!   homes      0       1       2       3       4       5
//!   slots    [ 0.97 ][      ][ 0.63 ][ 0.58 ][ 0.52 ][ 0.06 ]       digests as fractions of 1
//!                               └─ 0.58 and 0.52 are displaced by 0.63
//! ```
//!
//! - A search ends at the first smaller digest: at 85% load it visits four slots, found or not. An
//!   empty slot is 0, smaller than all digests, so that each slot takes one comparison.
//! - Growing keeps the order and therefore works in place, in one pass: there is no second table, and
//!   the table grows by a third instead of doubling. This is why a digest takes about 20 bytes. A
//!   small table doubles, which is faster, and may take 40.
//!
//! Reference: O. Amble, D. Knuth, *Ordered hash tables*, Computer Journal 1974.

use std::hint::black_box;
use std::mem;
use std::thread::{self, JoinHandle};

use crivo::hash::reduce;
use crivo_core::memory::{Cache, ask_for_huge_pages, prefetch};

/// An empty slot: smaller than all digests.
const EMPTY: u128 = 0;

/// 85% as a fraction.
const LOAD: (usize, usize) = (17, 20);

const MIN_HOMES: usize = 1 << 10;

/// Up to this size, 8 MB, a table doubles.
const SMALL_HOMES: usize = 1 << 19;

/// The maximum that is prepared for expected digests: 32 MB.
const MAX_EXPECTED_HOMES: usize = 1 << 21;

/// The number of slots that are added when the last run reaches the end.
const TAIL: usize = 64;

/// How many digests ahead a cache line is prefetched.
const AHEAD: usize = 24;

/// A set of digests in bounded memory.
#[derive(Debug)]
pub(crate) struct RecordSet {
    slots: Vec<u128>,
    homes: usize,
    key_count: usize,
    /// With this number of digests it grows.
    max_keys: usize,
    max_slots: usize,
    /// A larger table for expected digests, which a thread prepares.
    prepared: Option<JoinHandle<Vec<u128>>>,
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InsertResult {
    /// The digest was inserted.
    New,
    /// The digest was present.
    Known,
    /// The digest is not in the set, which cannot grow any more.
    Full,
}

impl RecordSet {
    /// An empty set that may use this much memory; it always has room for some digests.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        let max_slots = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<u128>();
        let mut set = Self {
            slots: vec![EMPTY; MIN_HOMES + TAIL],
            homes: 0,
            key_count: 0,
            max_keys: 0,
            max_slots: max_slots.max(MIN_HOMES + TAIL),
            prepared: None,
        };
        set.set_homes(MIN_HOMES);
        set
    }

    /// Prepares for this many digests, within limits. A thread allocates a larger table, to which the
    /// set moves when it next grows, if the table is ready then.
    pub(crate) fn expect(&mut self, count: u64) {
        // More than the load requires: runs stay short, and an estimate that is slightly too low does
        // not make the set grow.
        let homes = usize::try_from(count.saturating_add(count / 2)).unwrap_or(usize::MAX);
        // Until the move, both tables exist.
        let homes = homes.min(MAX_EXPECTED_HOMES).min(self.max_homes() / 2);
        if homes > self.homes {
            // Without a thread the set grows step by step.
            self.prepared = thread::Builder::new().spawn(move || empty_slots(homes + TAIL)).ok();
        }
    }

    /// The number of slots; [`find`](Self::find) returns less than this.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Inserts a digest, unless the set is full. Once full, it never changes again.
    #[inline]
    pub(crate) fn insert(&mut self, digest: u128) -> InsertResult {
        let digest = occupied(digest);
        let home = self.home(digest);
        let slots = &mut self.slots[..];
        let (mut place, mut found) = search(slots, home, digest);
        if found == digest {
            return InsertResult::Known;
        }
        if self.key_count >= self.max_keys {
            return self.insert_into_larger(digest);
        }
        self.key_count += 1;
        slots[place] = digest;
        // Shift the following digests, up to the next gap.
        while found != EMPTY {
            place += 1;
            found = mem::replace(&mut slots[place], found);
        }
        if place + 1 == slots.len() {
            self.lengthen();
        }
        InsertResult::New
    }

    /// [`insert`](Self::insert) for many: `visit` is called with each index and result.
    #[inline]
    pub(crate) fn insert_all<E>(
        &mut self,
        digests: &[u128],
        mut visit: impl FnMut(usize, InsertResult) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, digest) in digests.iter().enumerate() {
            if let Some(next) = digests.get(index + AHEAD) {
                prefetch(&raw const self.slots[self.home(*next)], Cache::First);
            }
            visit(index, self.insert(*digest))?;
        }
        Ok(())
    }

    /// The slot of a digest, which is valid until the next insertion.
    #[inline]
    pub(crate) fn find(&self, digest: u128) -> Option<usize> {
        let digest = occupied(digest);
        let (place, found) = search(&self.slots, self.home(digest), digest);
        (found == digest).then_some(place)
    }

    /// Whether each of these digests is in the set.
    pub(crate) fn contains_all(&self, digests: &[u128], present: &mut Vec<bool>) {
        present.clear();
        present.extend(digests.iter().enumerate().map(|(index, digest)| {
            if let Some(next) = digests.get(index + AHEAD) {
                prefetch(&raw const self.slots[self.home(*next)], Cache::First);
            }
            self.find(*digest).is_some()
        }));
    }

    /// The number of digests.
    pub(crate) fn key_count(&self) -> usize {
        self.key_count
    }

    /// The maximum number of digests that its memory has room for.
    pub(crate) fn max_key_count(&self) -> usize {
        self.max_homes() / LOAD.1 * LOAD.0
    }

    #[inline]
    fn home(&self, digest: u128) -> usize {
        reduce(!(digest >> 64) as u64, self.homes as u64) as usize
    }

    /// Inserts a new digest after growing, if possible.
    #[cold]
    #[inline(never)]
    fn insert_into_larger(&mut self, digest: u128) -> InsertResult {
        if self.grow() { self.insert(digest) } else { InsertResult::Full }
    }

    /// Adds slots behind the last one, which is occupied.
    #[cold]
    #[inline(never)]
    fn lengthen(&mut self) {
        self.slots.resize(self.slots.len() + TAIL, EMPTY);
    }

    fn max_homes(&self) -> usize {
        self.max_slots.saturating_sub(TAIL)
    }

    fn set_homes(&mut self, homes: usize) {
        self.homes = homes;
        self.max_keys = homes / LOAD.1 * LOAD.0;
    }

    /// Grows by a third, or doubles while small, or grows to the maximum. If that is hardly more, the
    /// set is full and nothing changes. Returns whether it has grown.
    fn grow(&mut self) -> bool {
        if let Some(slots) = self.prepared.take_if(|prepared| prepared.is_finished())
            && let Ok(slots) = slots.join()
            && slots.len() - TAIL > self.homes
        {
            self.move_to(slots);
            return true;
        }
        let is_small = self.homes < SMALL_HOMES;
        let more = if is_small { self.homes } else { self.homes / 3 };
        let homes = (self.homes + more).min(self.max_homes());
        if homes < self.homes + self.homes / 16 {
            // The caller is told that the set is full: it must never grow later.
            self.max_slots = self.homes + TAIL;
            self.prepared = None;
            return false;
        }
        if is_small {
            self.move_to(empty_slots(homes + TAIL));
        } else {
            self.grow_in_place(homes);
        }
        true
    }

    /// Moves all digests to a larger, empty table.
    fn move_to(&mut self, slots: Vec<u128>) {
        self.set_homes(slots.len() - TAIL);
        let mut next = 0;
        for digest in mem::replace(&mut self.slots, slots).into_iter().filter(|d| *d != EMPTY) {
            let place = self.home(digest).max(next);
            if place + 1 >= self.slots.len() {
                self.slots.resize(place + 1 + TAIL, EMPTY);
            }
            self.slots[place] = digest;
            next = place + 1;
        }
    }

    /// The same in place: all digests move to the front, in order; then to the end; and from there, in
    /// order, to their new slots, which are never behind the slots that are still to be read.
    fn grow_in_place(&mut self, homes: usize) {
        let mut count = 0;
        for slot in 0..self.slots.len() {
            if self.slots[slot] != EMPTY {
                self.slots[count] = self.slots[slot];
                count += 1;
            }
        }
        self.set_homes(homes);
        let length = self.required_length(&self.slots[..count]);
        self.slots.truncate(count);
        self.slots.reserve_exact(length - count);
        self.slots.resize(length, EMPTY);
        self.slots.copy_within(..count, length - count);
        let mut next = 0;
        for source in length - count..length {
            let digest = self.slots[source];
            let place = self.home(digest).max(next);
            self.slots[next..place].fill(EMPTY);
            self.slots[place] = digest;
            next = place + 1;
        }
        self.slots[next..].fill(EMPTY);
    }

    /// The number of slots for these sorted digests, with an empty one at the end.
    fn required_length(&self, sorted: &[u128]) -> usize {
        let place = |next: usize, digest: &u128| self.home(*digest).max(next) + 1;
        let end = sorted.iter().filter(|slot| **slot != EMPTY).fold(0, place);
        (end + 1).max(self.homes + TAIL)
    }
}

/// An empty table, on huge pages if it is large.
fn empty_slots(length: usize) -> Vec<u128> {
    const SLOTS_PER_PAGE: usize = 4096 / size_of::<u128>();
    let mut slots = vec![EMPTY; length];
    ask_for_huge_pages(&mut slots);
    // A page that is read first is mapped to the shared zero page, and mapped again when it is
    // written. Writing to it now avoids the first step.
    slots.iter_mut().step_by(SLOTS_PER_PAGE).for_each(|slot| *slot = black_box(EMPTY));
    slots
}

/// The slot where a digest is or belongs, and the slot's value. The last slot is always empty, so
/// that every search ends.
#[inline]
fn search(slots: &[u128], home: usize, digest: u128) -> (usize, u128) {
    let mut place = home;
    let mut found = slots[place];
    while found > digest {
        place += 1;
        found = slots[place];
    }
    (place, found)
}

/// A digest that equals [`EMPTY`] is replaced by the next number.
#[inline]
fn occupied(digest: u128) -> u128 {
    digest.max(EMPTY + 1)
}
