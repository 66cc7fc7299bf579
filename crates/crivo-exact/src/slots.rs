//! Entries in one array, their tags in another: the storage of the open-addressed maps.
//!
//! ```text
//!   tags      [ 00 | 5c | 00 | e1 | … | mirror of the first 16 ]     one byte a slot
//!   entries   [  · | (k,v) | · | (k,v) | … ]                        no room for "is it there?"
//! ```
//!
//! A tag is 0 where the slot is empty; elsewhere it is eight bits of the digest, never 0, so that
//! a lookup reads an entry only where it almost certainly finds its key. The tag is also what
//! says whether an entry is initialised: this is the one invariant of the unsafe code below, and the
//! reason why nothing outside this file writes a tag.
//!
//! > `tags[i] != 0` exactly if `entries[i]` is initialised and owned by this table, for every
//! > `i < slot_count`.

#![allow(unsafe_code)]

use std::fmt;
use std::iter::{FusedIterator, Zip};
use std::mem::MaybeUninit;
use std::slice;

use super::tags::{COPIES_OF_EMPTY, EMPTY, MIRROR, Tags, TwoBuckets, copies_of_tag};
use super::unwind::repeat_to_end;
use crivo::Digest;
use crivo_core::memory::reserved;

/// Slots for entries `(K, V)`, each with a tag.
pub(super) struct TaggedSlots<K, V> {
    /// One tag a slot, then the first `MIRROR` tags again (zeros, in a table with fewer slots).
    tags: Box<[u8]>,
    entries: Box<[MaybeUninit<(K, V)>]>,
    /// The number of tags that are not `EMPTY`.
    taken: usize,
}

impl<K, V> TaggedSlots<K, V> {
    /// No slots at all.
    pub(super) fn none() -> Self {
        Self { tags: Box::new([EMPTY; MIRROR]), entries: Box::new([]), taken: 0 }
    }

    /// `slots` empty slots.
    ///
    /// # Errors
    /// The number of bytes that could not be allocated.
    pub(super) fn try_new(slots: usize) -> Result<Self, usize> {
        let bytes = Self::bytes_for(slots).ok_or(usize::MAX)?;
        let mut tags = reserved(slots + MIRROR).ok_or(bytes)?;
        tags.resize(slots + MIRROR, EMPTY);
        let mut entries = reserved(slots).ok_or(bytes)?;
        entries.resize_with(slots, MaybeUninit::uninit);
        Ok(Self { tags: tags.into_boxed_slice(), entries: entries.into_boxed_slice(), taken: 0 })
    }

    /// The bytes of `slots` slots; `None` if no allocation can be that large.
    pub(super) fn bytes_for(slots: usize) -> Option<usize> {
        let tags = slots.checked_add(MIRROR)?;
        let bytes = slots.checked_mul(size_of::<(K, V)>())?.checked_add(tags)?;
        (bytes <= isize::MAX as usize).then_some(bytes)
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        self.tags.len() + size_of_val(&*self.entries)
    }

    #[inline]
    pub(super) fn slot_count(&self) -> usize {
        self.entries.len()
    }

    /// The number of slots that are not empty.
    #[inline]
    pub(super) fn taken_count(&self) -> usize {
        self.taken
    }

    #[inline]
    pub(super) fn is_empty(&self, slot: usize) -> bool {
        self.tags[slot] == EMPTY
    }

    #[inline]
    pub(super) fn tags(&self) -> Tags<'_> {
        Tags::new(&self.tags)
    }

    /// The entry whose key `is_wanted`, and its slot, in two buckets, given by their numbers, of at most
    /// eight slots each. Only slots with the tag of `digest` are looked at.
    #[inline]
    pub(super) fn find_in_two(
        &self,
        first: usize,
        second: usize,
        bucket_size: usize,
        digest: Digest,
        is_wanted: impl Fn(&K) -> bool,
    ) -> Option<(usize, &(K, V))> {
        let buckets = self.tags().two_buckets(first, second, bucket_size);
        let mut candidates = buckets.matches(copies_of_tag(digest));
        while candidates != 0 {
            let slot = buckets.first_slot(candidates);
            // SAFETY: the tag of this slot has just been read, and is that of a digest.
            let entry = unsafe { self.tagged_entry(slot) };
            if let Some(entry) = entry.filter(|entry| is_wanted(&entry.0)) {
                return Some((slot, entry));
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// The same in the two buckets of eight that `digest` means; or else the tags of these buckets.
    ///
    /// How many lookups a processor has under way at once, each waiting for memory, depends on how
    /// few instructions each takes: here nothing is checked that the computation of the buckets
    /// guarantees, and the first candidate, most often the only one, is looked at outside of the loop.
    #[inline(always)]
    pub(super) fn find_in_two_of_eight(
        &self,
        digest: Digest,
        is_wanted: impl Fn(&K) -> bool,
    ) -> Result<(usize, &(K, V)), TwoBuckets> {
        let buckets = self.tags().two_of_eight(digest);
        let mut candidates = buckets.matches(copies_of_tag(digest));
        if candidates == 0 {
            return Err(buckets);
        }
        let slot = buckets.first_slot(candidates);
        // SAFETY: all lanes of `two_of_eight` are slots of the table, for each of which there is an
        // entry; the tag of this one has just been read, and is that of a digest, never `EMPTY`.
        let entry = unsafe { self.entries.get_unchecked(slot).assume_init_ref() };
        if is_wanted(&entry.0) {
            return Ok((slot, entry));
        }
        candidates &= candidates - 1;
        while candidates != 0 {
            let slot = buckets.first_slot(candidates);
            // SAFETY: as above.
            let entry = unsafe { self.entries.get_unchecked(slot).assume_init_ref() };
            if is_wanted(&entry.0) {
                return Ok((slot, entry));
            }
            candidates &= candidates - 1;
        }
        Err(buckets)
    }

    /// The entry whose key `is_wanted`, and its slot, in the run of taken slots that begins at
    /// `start` and goes on round the end; or else the empty slot that ends the run.
    ///
    /// There must be an empty slot, and no fewer than sixteen slots or none.
    #[inline(always)]
    pub(super) fn find_in_run(
        &self,
        mut start: usize,
        digest: Digest,
        is_wanted: impl Fn(&K) -> bool,
    ) -> Result<(usize, &(K, V)), usize> {
        let (count, copies) = (self.slot_count(), copies_of_tag(digest));
        let round_the_end = |slot| if slot < count { slot } else { slot - count };
        loop {
            let group = self.tags().sixteen(start);
            let mut candidates = group.matches(copies);
            while candidates != 0 {
                let slot = round_the_end(start + candidates.trailing_zeros() as usize);
                // SAFETY: the tag of this slot, or its mirror, has just been read, and is that of
                // a digest.
                let entry = unsafe { self.tagged_entry(slot) };
                if let Some(entry) = entry.filter(|entry| is_wanted(&entry.0)) {
                    return Ok((slot, entry));
                }
                candidates &= candidates - 1;
            }
            let empty = group.matches(&COPIES_OF_EMPTY);
            if empty != 0 {
                return Err(round_the_end(start + empty.trailing_zeros() as usize));
            }
            start = round_the_end(start + 16);
        }
    }

    /// The entry in `slot`, if there is such a slot.
    ///
    /// # Safety
    /// If the slot exists, its tag is not `EMPTY`.
    #[inline(always)]
    unsafe fn tagged_entry(&self, slot: usize) -> Option<&(K, V)> {
        // SAFETY: the tag is set, as the caller promises, so that the entry is initialised.
        self.entries.get(slot).map(|entry| unsafe { entry.assume_init_ref() })
    }

    /// The entry in `slot`, if there is one.
    #[inline]
    pub(super) fn entry(&self, slot: usize) -> Option<&(K, V)> {
        let entry = self.entries.get(slot)?;
        // SAFETY: the slot exists and its tag is set, so that the entry is initialised.
        (!self.is_empty(slot)).then(|| unsafe { entry.assume_init_ref() })
    }

    /// The entry in `slot`, if there is one. The key must not be changed: its slot follows from it.
    #[inline]
    pub(super) fn entry_mut(&mut self, slot: usize) -> Option<&mut (K, V)> {
        let empty = *self.tags.get(slot)? == EMPTY;
        let entry = self.entries.get_mut(slot)?;
        // SAFETY: the slot exists and its tag is set, so that the entry is initialised.
        (!empty).then(|| unsafe { entry.assume_init_mut() })
    }

    #[inline]
    fn set_tag(&mut self, slot: usize, tag: u8) {
        let slots = self.slot_count();
        self.tags[slot] = tag;
        if slot < MIRROR && slots >= MIRROR {
            self.tags[slots + slot] = tag;
        }
    }

    /// Puts an entry into an empty slot.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, tag: u8, entry: (K, V)) {
        self.put_raw(slot, tag, MaybeUninit::new(entry));
    }

    /// Puts an entry, which must be initialised, into an empty slot.
    #[inline]
    fn put_raw(&mut self, slot: usize, tag: u8, entry: MaybeUninit<(K, V)>) {
        assert!(tag != EMPTY && self.is_empty(slot), "an entry goes into an empty slot");
        self.entries[slot] = entry;
        self.set_tag(slot, tag);
        self.taken += 1;
    }

    /// Takes the entry out of `slot`, with its tag.
    #[inline]
    pub(super) fn take(&mut self, slot: usize) -> Option<(u8, (K, V))> {
        let entry = self.entries.get(slot)?.as_ptr();
        let tag = self.tags[slot];
        if tag == EMPTY {
            return None;
        }
        self.set_tag(slot, EMPTY);
        self.taken -= 1;
        // SAFETY: the tag was set, so that the entry was initialised; now that the tag is gone,
        // nothing else will read or drop it.
        Some((tag, unsafe { entry.cast::<(K, V)>().read() }))
    }

    /// Exchanges two entries, with their tags.
    #[inline]
    pub(super) fn swap(&mut self, one: usize, other: usize) {
        let (one_tag, other_tag) = (self.tags[one], self.tags[other]);
        assert!(one_tag != EMPTY && other_tag != EMPTY, "only entries are exchanged");
        self.entries.swap(one, other);
        self.set_tag(one, other_tag);
        self.set_tag(other, one_tag);
    }

    /// Puts an entry into `path[0]`, what was there into `path[1]`, and so on to the last slot of
    /// the path, which must be empty. A slot may come twice.
    pub(super) fn put_along(&mut self, path: &[usize], tag: u8, entry: (K, V)) {
        self.pass_along(path, tag, MaybeUninit::new(entry));
    }

    /// Entries travel as `MaybeUninit`, so that a panic could leak one but never drop one twice.
    fn pass_along(&mut self, path: &[usize], mut tag: u8, mut entry: MaybeUninit<(K, V)>) {
        let slots = self.slot_count();
        let (&last, others) = path.split_last().expect("a path has an end");
        assert!(
            tag != EMPTY
                && self.is_empty(last)
                && others.iter().all(|&slot| slot < slots && slot != last && !self.is_empty(slot)),
            "a path leads over entries to an empty slot"
        );
        for &slot in others {
            let displaced = self.tags[slot];
            self.set_tag(slot, tag);
            tag = displaced;
            std::mem::swap(&mut self.entries[slot], &mut entry);
        }
        // Not swapped: the last slot is empty.
        self.set_tag(last, tag);
        self.entries[last] = entry;
        self.taken += 1;
    }

    /// Every entry in the order of the slots, then those of `rest`.
    pub(super) fn entries<'a>(&'a self, rest: &'a [(K, V)]) -> Entries<'a, K, V> {
        Entries {
            slots: self.tags.iter().zip(&self.entries),
            rest: rest.iter(),
            remaining: self.taken + rest.len(),
        }
    }

    /// The same, with values that can be changed.
    pub(super) fn entries_mut<'a>(&'a mut self, rest: &'a mut [(K, V)]) -> EntriesMut<'a, K, V> {
        EntriesMut {
            remaining: self.taken + rest.len(),
            slots: self.tags.iter().zip(&mut self.entries),
            rest: rest.iter_mut(),
        }
    }

    /// The same, by value.
    pub(super) fn into_entries(self, rest: Vec<(K, V)>) -> IntoEntries<K, V> {
        IntoEntries { slots: self, next: 0, rest: rest.into_iter() }
    }

    /// Drops every entry and keeps the slots. If the drop of an entry panics, the others are dropped
    /// all the same: between an entry and its home there must never be a gap.
    pub(super) fn clear(&mut self) {
        if std::mem::needs_drop::<(K, V)>() {
            let mut slots = 0..self.slot_count();
            repeat_to_end(|| slots.next().map(|slot| drop(self.take(slot))).is_some());
        } else {
            self.forget_all();
        }
    }

    /// Empties every slot without dropping what was in it.
    fn forget_all(&mut self) {
        self.tags.fill(EMPTY);
        self.taken = 0;
    }
}

impl<K, V> Drop for TaggedSlots<K, V> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<(K, V)>() {
            self.clear();
        }
    }
}

impl<K: Clone, V: Clone> Clone for TaggedSlots<K, V> {
    fn clone(&self) -> Self {
        let mut copy = Self {
            tags: vec![EMPTY; self.tags.len()].into_boxed_slice(),
            entries: std::iter::repeat_with(MaybeUninit::uninit).take(self.slot_count()).collect(),
            taken: 0,
        };
        for slot in 0..self.slot_count() {
            if let Some(entry) = self.entry(slot) {
                copy.put(slot, self.tags[slot], entry.clone());
            }
        }
        copy
    }
}

/// The entries of a [`LinearMap`](super::LinearMap) or a [`CuckooMap`](super::CuckooMap), in no
/// particular order.
pub struct Entries<'a, K, V> {
    /// Tags and entries of one table. The tags are the longer slice: `zip` ends with the entries.
    slots: Zip<slice::Iter<'a, u8>, slice::Iter<'a, MaybeUninit<(K, V)>>>,
    rest: slice::Iter<'a, (K, V)>,
    remaining: usize,
}

impl<'a, K, V> Iterator for Entries<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.slots.find(|(tag, _)| **tag != EMPTY) {
            // SAFETY: the tag of this entry is set, so that the entry is initialised.
            Some((_, entry)) => unsafe { entry.assume_init_ref() },
            None => self.rest.next()?,
        };
        self.remaining -= 1;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<K, V> ExactSizeIterator for Entries<'_, K, V> {}

impl<K, V> FusedIterator for Entries<'_, K, V> {}

impl<K, V> Clone for Entries<'_, K, V> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), rest: self.rest.clone(), remaining: self.remaining }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Entries<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// The entries of a [`LinearMap`](super::LinearMap) or a [`CuckooMap`](super::CuckooMap) with
/// mutable values, in no particular order.
pub struct EntriesMut<'a, K, V> {
    /// As in [`Entries`].
    slots: Zip<slice::Iter<'a, u8>, slice::IterMut<'a, MaybeUninit<(K, V)>>>,
    rest: slice::IterMut<'a, (K, V)>,
    remaining: usize,
}

impl<'a, K, V> Iterator for EntriesMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.slots.find(|(tag, _)| **tag != EMPTY) {
            // SAFETY: the tag of this entry is set, so that the entry is initialised; and the
            // iterator over the slice hands out each entry once.
            Some((_, entry)) => unsafe { entry.assume_init_mut() },
            None => self.rest.next()?,
        };
        self.remaining -= 1;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<K, V> ExactSizeIterator for EntriesMut<'_, K, V> {}

impl<K, V> FusedIterator for EntriesMut<'_, K, V> {}

impl<K, V> fmt::Debug for EntriesMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntriesMut").field("remaining", &self.remaining).finish_non_exhaustive()
    }
}

/// The owned entries of a [`LinearMap`](super::LinearMap) or a [`CuckooMap`](super::CuckooMap), in
/// no particular order. Dropping it drops the entries that are left.
pub struct IntoEntries<K, V> {
    slots: TaggedSlots<K, V>,
    /// Every slot before this one is empty.
    next: usize,
    rest: std::vec::IntoIter<(K, V)>,
}

impl<K, V> Iterator for IntoEntries<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.slots.slot_count() {
            let slot = self.next;
            self.next += 1;
            if let Some((_, entry)) = self.slots.take(slot) {
                return Some(entry);
            }
        }
        self.rest.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = self.slots.taken_count() + self.rest.len();
        (remaining, Some(remaining))
    }
}

impl<K, V> ExactSizeIterator for IntoEntries<K, V> {}

impl<K, V> FusedIterator for IntoEntries<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for IntoEntries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.slots.entries(self.rest.as_slice())).finish()
    }
}

/// A second table filled with the entries of a first, of which only one will remain.
///
/// While it lasts, the entries in `to` are copies, bit for bit, of those in `from`, and belong to
/// `from`. [`commit`](Self::commit) hands them over; a transfer that is dropped instead leaves
/// `from` as it was. Until then nothing reads a copy: a key may change inside while it is hashed,
/// and free what the original still points to.
pub(super) struct Transfer<'a, K, V> {
    from: &'a mut TaggedSlots<K, V>,
    to: TaggedSlots<K, V>,
}

impl<'a, K, V> Transfer<'a, K, V> {
    /// Begins a transfer to `to`, which must be empty: it has just been made.
    pub(super) fn begin(from: &'a mut TaggedSlots<K, V>, to: TaggedSlots<K, V>) -> Self {
        Self { from, to }
    }

    /// The tags of the table that is being filled.
    pub(super) fn to(&self) -> Tags<'_> {
        self.to.tags()
    }

    /// Copies the entry of `from`'s slot into an empty slot of `to`.
    #[inline]
    pub(super) fn put(&mut self, from: usize, to: usize, tag: u8) {
        let entry = self.copy(from);
        self.to.put_raw(to, tag, entry);
    }

    /// The same, along `path` as in [`TaggedSlots::put_along`].
    pub(super) fn put_along(&mut self, from: usize, path: &[usize], tag: u8) {
        let entry = self.copy(from);
        self.to.pass_along(path, tag, entry);
    }

    #[inline]
    fn copy(&self, from: usize) -> MaybeUninit<(K, V)> {
        assert!(!self.from.is_empty(from), "only entries are transferred");
        // SAFETY: copying the bytes of a `MaybeUninit` is always allowed. Of the two tables that
        // now hold the entry only one will own it: `commit` and `drop` see to that.
        unsafe { std::ptr::read(&raw const self.from.entries[from]) }
    }

    /// The table that the entries come from.
    pub(super) fn from(&self) -> &TaggedSlots<K, V> {
        self.from
    }

    /// The second table takes the place of the first, and owns the entries.
    pub(super) fn commit(mut self) {
        std::mem::swap(self.from, &mut self.to);
        // `drop` now makes the old table forget what it no longer owns.
    }
}

impl<K, V> Drop for Transfer<'_, K, V> {
    fn drop(&mut self) {
        self.to.forget_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    type Counted = (Rc<()>, usize);

    /// Every third of `slots` slots taken, and two entries outside the table.
    fn example(
        slots: usize,
        alive: &Rc<()>,
    ) -> (TaggedSlots<usize, Counted>, Vec<(usize, Counted)>) {
        let mut table = TaggedSlots::try_new(slots).unwrap();
        let entry = |key| (key, (Rc::clone(alive), key + 1));
        for slot in (0..slots).step_by(3) {
            table.put(slot, 1 + slot as u8 % 255, entry(slot));
        }
        (table, vec![entry(slots), entry(slots + 1)])
    }

    /// Tables smaller than a group of tags, as large, and larger.
    const SIZES: [usize; 5] = [0, 1, 7, 16, 50];

    #[test]
    fn the_three_iterators_visit_the_same_entries_and_count_them() {
        for slots in SIZES {
            let alive = Rc::new(());
            let (mut table, mut rest) = example(slots, &alive);
            let keys: BTreeSet<usize> = (0..slots).step_by(3).chain([slots, slots + 1]).collect();
            assert_eq!(Rc::strong_count(&alive), 1 + keys.len());

            let entries = table.entries(&rest);
            assert_eq!((entries.len(), entries.clone().count()), (keys.len(), keys.len()));
            assert_eq!(entries.map(|(&key, _)| key).collect::<BTreeSet<_>>(), keys);

            let mut entries = table.entries_mut(&mut rest);
            for remaining in (0..keys.len()).rev() {
                entries.next().unwrap().1.1 += 10;
                assert_eq!(entries.len(), remaining);
            }
            assert!(entries.next().is_none() && entries.next().is_none());

            let mut entries = table.into_entries(rest);
            let mut seen = BTreeSet::new();
            for remaining in (0..keys.len()).rev() {
                let (key, (_, value)) = entries.next().unwrap();
                assert_eq!(value, key + 11);
                assert_eq!(entries.len(), remaining);
                // An entry that was handed out and dropped is gone, and no other is.
                assert_eq!(Rc::strong_count(&alive), 1 + remaining);
                seen.insert(key);
            }
            assert!(entries.next().is_none() && entries.next().is_none());
            assert_eq!(seen, keys);
        }
    }

    #[test]
    fn mutable_references_live_side_by_side() {
        let alive = Rc::new(());
        let (mut table, mut rest) = example(50, &alive);
        let mut values: Vec<&mut Counted> =
            table.entries_mut(&mut rest).map(|(_, value)| value).collect();
        let (first, others) = values.split_first_mut().unwrap();
        for other in others {
            std::mem::swap(*first, *other);
        }
        let sum: usize = table.entries(&rest).map(|(_, value)| value.1).sum();
        assert_eq!(sum, table.entries(&rest).map(|(key, _)| key + 1).sum());
    }

    #[test]
    fn an_unfinished_owned_iteration_drops_the_rest_once() {
        for slots in SIZES {
            for consumed in 0..20 {
                let alive = Rc::new(());
                let (table, rest) = example(slots, &alive);
                let kept: Vec<_> = table.into_entries(rest).take(consumed).collect();
                assert_eq!(Rc::strong_count(&alive), 1 + kept.len());
                drop(kept);
                assert_eq!(Rc::strong_count(&alive), 1);
            }
        }
    }
}
