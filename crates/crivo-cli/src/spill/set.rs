//! A set of 128-bit digests in about 20 bytes each.
//!
//! Linear probing in order: a digest's home is its share of the table, counted from the end, and
//! every run of neighbours is sorted, so that the whole table is one list in descending order with
//! gaps.
//!
//! ```text
//!   homes      0       1       2       3       4       5
//!   slots    [ 0.97 ][      ][ 0.63 ][ 0.58 ][ 0.52 ][ 0.06 ]       digests as parts of 1
//!                               └─ 0.58 and 0.52 moved on: 0.63 came between
//! ```
//!
//! - A search ends at the first smaller digest: at 85% load it looks at four slots, found or not.
//!   That an empty slot is 0, smaller than all, makes it one comparison for each.
//! - Growing keeps the order, so that it runs through memory once, in place: no second table, and
//!   steps of a third instead of doubling. That is what keeps it at about 20 bytes. While it is
//!   small it doubles, which is faster, and may take 40.
//!
//! Reference: O. Amble, D. Knuth, *Ordered hash tables*, Computer Journal 1974.

use std::hint::black_box;
use std::mem;
use std::thread::{self, JoinHandle};

use crivo::hash::reduce;
use crivo_core::memory::{ask_for_huge_pages, prefetch};

/// An empty slot: smaller than all digests.
const EMPTY: u128 = 0;

/// 85% as a fraction.
const LOAD: (usize, usize) = (17, 20);

const LEAST_HOMES: usize = 1 << 10;

/// Up to here, 8 MB, a table may be twice as large as it must be.
const SMALL_HOMES: usize = 1 << 19;

/// So many homes, 32 MB of them, are believed to be needed before they are.
const MOST_EXPECTED_HOMES: usize = 1 << 21;

/// How many slots are added where the last run passes the end.
const TAIL: usize = 64;

/// How many digests before its turn a digest's cache line is asked for.
const AHEAD: usize = 24;

/// A set of digests that takes no more memory than it is allowed.
#[derive(Debug)]
pub(crate) struct DigestSet {
    slots: Vec<u128>,
    homes: usize,
    key_count: usize,
    /// With so many digests it grows.
    most_keys: usize,
    most_slots: usize,
    /// A table for what is expected, being made ready.
    coming: Option<JoinHandle<Vec<u128>>>,
}

/// What became of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It is in the set now, and was not before.
    New,
    /// It was in the set before.
    Known,
    /// It is not in the set, which may not grow any more.
    Full,
}

impl DigestSet {
    /// An empty set that may take this much memory, but always has room for some digests.
    pub(crate) fn with_memory(bytes: u64) -> Self {
        let most_slots = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<u128>();
        let mut set = Self {
            slots: vec![EMPTY; LEAST_HOMES + TAIL],
            homes: 0,
            key_count: 0,
            most_keys: 0,
            most_slots: most_slots.max(LEAST_HOMES + TAIL),
            coming: None,
        };
        set.set_homes(LEAST_HOMES);
        set
    }

    /// Makes room for so many digests, within reason. That takes a while, in which others may be
    /// inserted: the room is taken when it is there and the set grows.
    pub(crate) fn expect(&mut self, count: u64) {
        // More than the load allows: runs stay short, and a small mistake does not make it grow.
        let homes = usize::try_from(count.saturating_add(count / 2)).unwrap_or(usize::MAX);
        // Until it is taken, it stands beside what it is to replace.
        let homes = homes.min(MOST_EXPECTED_HOMES).min(self.most_homes() / 2);
        if homes > self.homes {
            // Without a thread there is no such room, and the set grows step by step.
            self.coming = thread::Builder::new().spawn(move || empty_slots(homes + TAIL)).ok();
        }
    }

    /// How many slots there are: [`find`](Self::find) answers less than this.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Inserts a digest, unless the set is full. Once full, it never changes again.
    #[inline]
    pub(crate) fn insert(&mut self, digest: u128) -> Inserted {
        let digest = occupied(digest);
        let home = self.home(digest);
        let slots = &mut self.slots[..];
        let (mut place, mut found) = search(slots, home, digest);
        if found == digest {
            return Inserted::Known;
        }
        if self.key_count >= self.most_keys {
            return self.insert_into_larger(digest);
        }
        self.key_count += 1;
        slots[place] = digest;
        // What was there and those behind it move on, up to the next gap.
        while found != EMPTY {
            place += 1;
            found = mem::replace(&mut slots[place], found);
        }
        if place + 1 == slots.len() {
            self.lengthen();
        }
        Inserted::New
    }

    /// [`insert`](Self::insert) for many: `became` is called with each index and what became of it.
    #[inline]
    pub(crate) fn insert_all<E>(
        &mut self,
        digests: &[u128],
        mut became: impl FnMut(usize, Inserted) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, digest) in digests.iter().enumerate() {
            if let Some(next) = digests.get(index + AHEAD) {
                prefetch(&raw const self.slots[self.home(*next)]);
            }
            became(index, self.insert(*digest))?;
        }
        Ok(())
    }

    /// Where a digest is. Insertions move digests; when they have ended, the place is its own.
    #[inline]
    pub(crate) fn find(&self, digest: u128) -> Option<usize> {
        let digest = occupied(digest);
        let (place, found) = search(&self.slots, self.home(digest), digest);
        (found == digest).then_some(place)
    }

    #[inline]
    fn home(&self, digest: u128) -> usize {
        reduce(!(digest >> 64) as u64, self.homes as u64) as usize
    }

    /// Inserts a new digest after growing, if that is allowed.
    #[cold]
    #[inline(never)]
    fn insert_into_larger(&mut self, digest: u128) -> Inserted {
        if self.grow() { self.insert(digest) } else { Inserted::Full }
    }

    /// Adds slots behind the last one, which has been taken.
    #[cold]
    #[inline(never)]
    fn lengthen(&mut self) {
        self.slots.resize(self.slots.len() + TAIL, EMPTY);
    }

    fn most_homes(&self) -> usize {
        self.most_slots.saturating_sub(TAIL)
    }

    fn set_homes(&mut self, homes: usize) {
        self.homes = homes;
        self.most_keys = homes / LOAD.1 * LOAD.0;
    }

    /// A third more homes, or while there are few twice as many, or as many as are allowed; if those
    /// are hardly more, the set is full, and nothing changes. Whether it has grown.
    fn grow(&mut self) -> bool {
        if let Some(slots) = self.coming.take_if(|coming| coming.is_finished())
            && let Ok(slots) = slots.join()
            && slots.len() - TAIL > self.homes
        {
            self.move_to(slots);
            return true;
        }
        let is_small = self.homes < SMALL_HOMES;
        let more = if is_small { self.homes } else { self.homes / 3 };
        let homes = (self.homes + more).min(self.most_homes());
        if homes < self.homes + self.homes / 16 {
            // Somebody is told that there is no room: none may come later.
            self.most_slots = self.homes + TAIL;
            self.coming = None;
            return false;
        }
        if is_small {
            self.move_to(empty_slots(homes + TAIL));
        } else {
            self.grow_in_place(homes);
        }
        true
    }

    /// Gives every digest its place in an empty table that is larger.
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

    /// The same in one table: all digests to the front, in order; from there to the end; and from
    /// there, in order, to their new places, which are never behind where they are read.
    fn grow_in_place(&mut self, homes: usize) {
        let mut count = 0;
        for slot in 0..self.slots.len() {
            if self.slots[slot] != EMPTY {
                self.slots[count] = self.slots[slot];
                count += 1;
            }
        }
        self.set_homes(homes);
        let length = self.least_length(&self.slots[..count]);
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

    /// How many slots these sorted digests take at their homes, and an empty one at the end.
    fn least_length(&self, sorted: &[u128]) -> usize {
        let place = |next: usize, digest: &u128| self.home(*digest).max(next) + 1;
        let end = sorted.iter().filter(|slot| **slot != EMPTY).fold(0, place);
        (end + 1).max(self.homes + TAIL)
    }
}

/// A table without digests, on huge pages if it is large.
fn empty_slots(length: usize) -> Vec<u128> {
    const SLOTS_OF_A_SMALL_PAGE: usize = 4096 / size_of::<u128>();
    let mut slots = vec![EMPTY; length];
    ask_for_huge_pages(&mut slots);
    // A page that is read first is one of zeros that all share, and is exchanged when it is written
    // to: twice the work.
    slots.iter_mut().step_by(SLOTS_OF_A_SMALL_PAGE).for_each(|slot| *slot = black_box(EMPTY));
    slots
}

/// Where a digest is, or belongs, and what is there. The last slot is always empty, so that every
/// search ends.
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

/// What no digest is: [`EMPTY`] is taken for the next number.
#[inline]
fn occupied(digest: u128) -> u128 {
    digest.max(EMPTY + 1)
}
