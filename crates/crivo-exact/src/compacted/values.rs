//! Values in one array, a bit for each in another: a slot costs a value and one bit.
//!
//! ```text
//!   taken    [ 0 1 0 1 … ]           one bit a slot, 64 to a word
//!   values   [ · | v | · | v | … ]   no room for "is it there?"
//! ```
//!
//! `Option<u64>` takes sixteen bytes, eight of them for one bit. Here it is one bit, and values
//! that take nothing, such as `()`, cost nothing else. The price is unsafe code, whose one
//! invariant is the reason for which nothing outside this file writes a bit:
//!
//! > bit i of `taken` is set exactly if `values[i]` exists, is initialised and is owned by this
//! > array; `count` bits are set.

// Whether a value is initialised is told by a bit that the compiler knows nothing of.
#![allow(unsafe_code)]

use std::mem::{MaybeUninit, needs_drop};
use std::slice;

use crate::unwind::repeat_to_end;
use crivo_core::memory::reserved;

/// Slots for values, each taken or free.
pub(super) struct Values<V> {
    taken: Box<[u64]>,
    values: Box<[MaybeUninit<V>]>,
    count: usize,
}

impl<V> Values<V> {
    /// `slots` free slots.
    ///
    /// # Errors
    /// The number of bytes that could not be allocated, at most `usize::MAX`.
    pub(super) fn try_new(slots: usize) -> Result<Self, usize> {
        let words = slots.div_ceil(64);
        let bytes = slots.saturating_mul(size_of::<V>()).saturating_add(words * size_of::<u64>());
        // Both are reserved before either is filled.
        let mut values = reserved(slots).ok_or(bytes)?;
        let mut taken = reserved(words).ok_or(bytes)?;
        values.resize_with(slots, MaybeUninit::uninit);
        taken.resize(words, 0);
        Ok(Self { taken: taken.into_boxed_slice(), values: values.into_boxed_slice(), count: 0 })
    }

    #[inline]
    pub(super) const fn slot_count(&self) -> usize {
        self.values.len()
    }

    /// The number of taken slots.
    #[inline]
    pub(super) const fn taken_count(&self) -> usize {
        self.count
    }

    pub(super) const fn size_in_bytes(&self) -> usize {
        size_of_val(&*self.taken) + size_of_val(&*self.values)
    }

    /// Whether there is a value in `slot`; there is none in a slot that does not exist.
    #[inline]
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        self.taken.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// The value in `slot`, if there is one.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&V> {
        // SAFETY: the bit of this slot is set, so that the value is initialised.
        self.is_taken(slot).then(|| unsafe { self.values[slot].assume_init_ref() })
    }

    /// The value in `slot`, if there is one, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut V> {
        // SAFETY: the bit of this slot is set, so that the value is initialised.
        self.is_taken(slot).then(|| unsafe { self.values[slot].assume_init_mut() })
    }

    /// Puts a value into a free slot.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, value: V) {
        assert!(!self.is_taken(slot), "a value goes into a free slot");
        self.values[slot].write(value);
        self.taken[slot / 64] |= 1 << (slot % 64);
        self.count += 1;
    }

    /// Takes the value out of `slot`, if there is one.
    #[inline]
    pub(super) fn take(&mut self, slot: usize) -> Option<V> {
        if !self.is_taken(slot) {
            return None;
        }
        let value = &self.values[slot];
        self.taken[slot / 64] &= !(1 << (slot % 64));
        self.count -= 1;
        // SAFETY: the bit was set, so that the value was initialised; now that the bit is gone,
        // nothing else will read or drop it.
        Some(unsafe { value.assume_init_read() })
    }

    /// Every value with its slot, in the order of the slots.
    pub(super) fn iter(&self) -> TakenValues<'_, V> {
        TakenValues {
            taken: &self.taken,
            values: self.values.iter(),
            next: 0,
            remaining: self.count,
        }
    }

    /// Every value with its slot, to be changed, in the order of the slots.
    pub(super) fn iter_mut(&mut self) -> TakenValuesMut<'_, V> {
        TakenValuesMut {
            taken: &self.taken,
            values: self.values.iter_mut(),
            next: 0,
            remaining: self.count,
        }
    }

    /// Takes out the value of the first taken slot from `slot` on, with that slot.
    pub(super) fn take_first(&mut self, slot: usize) -> Option<(usize, V)> {
        let slot = first_taken(&self.taken, slot)?;
        self.take(slot).map(|value| (slot, value))
    }

    /// Drops every value and keeps the slots. If the drop of a value panics, the others are dropped
    /// all the same.
    pub(super) fn clear(&mut self) {
        if needs_drop::<V>() {
            let mut next = 0;
            repeat_to_end(|| {
                let first = self.take_first(next);
                next = first.as_ref().map_or(next, |(slot, _)| slot + 1);
                first.is_some()
            });
        } else {
            self.taken.fill(0);
            self.count = 0;
        }
    }
}

impl<V> Drop for Values<V> {
    fn drop(&mut self) {
        if needs_drop::<V>() {
            self.clear();
        }
    }
}

impl<V: Clone> Clone for Values<V> {
    fn clone(&self) -> Self {
        // If the clone of a value panics, those before it are dropped with the copy.
        let mut copy = Self {
            taken: vec![0; self.taken.len()].into_boxed_slice(),
            values: std::iter::repeat_with(MaybeUninit::uninit).take(self.slot_count()).collect(),
            count: 0,
        };
        for (slot, value) in self.iter() {
            copy.put(slot, value.clone());
        }
        copy
    }
}

/// The first set bit from `slot` on.
fn first_taken(taken: &[u64], slot: usize) -> Option<usize> {
    let mut word = slot / 64;
    let mut bits = taken.get(word)? & (u64::MAX << (slot % 64));
    while bits == 0 {
        word += 1;
        bits = *taken.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// The values of [`Values`] with their slots.
pub(super) struct TakenValues<'a, V> {
    taken: &'a [u64],
    /// The slots from `next` on.
    values: slice::Iter<'a, MaybeUninit<V>>,
    next: usize,
    remaining: usize,
}

impl<'a, V> Iterator for TakenValues<'a, V> {
    type Item = (usize, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let slot = first_taken(self.taken, self.next)?;
        let value = self.values.nth(slot - self.next)?;
        self.next = slot + 1;
        self.remaining -= 1;
        // SAFETY: the bit of this slot is set, so that the value is initialised.
        Some((slot, unsafe { value.assume_init_ref() }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<V> Clone for TakenValues<'_, V> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), ..*self }
    }
}

/// The values of [`Values`] with their slots, to be changed.
pub(super) struct TakenValuesMut<'a, V> {
    taken: &'a [u64],
    /// The slots from `next` on.
    values: slice::IterMut<'a, MaybeUninit<V>>,
    next: usize,
    remaining: usize,
}

impl<'a, V> Iterator for TakenValuesMut<'a, V> {
    type Item = (usize, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let slot = first_taken(self.taken, self.next)?;
        let value = self.values.nth(slot - self.next)?;
        self.next = slot + 1;
        self.remaining -= 1;
        // SAFETY: the bit of this slot is set, so that the value is initialised; and the iterator
        // over the slice hands out each value once.
        Some((slot, unsafe { value.assume_init_mut() }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_taken_between_put_and_take() {
        for slots in [1, 63, 64, 65, 200] {
            let mut values = Values::try_new(slots).unwrap();
            for slot in (0..slots).step_by(3) {
                values.put(slot, slot.to_string());
            }
            for slot in 0..slots + 200 {
                let expected = (slot < slots && slot % 3 == 0).then(|| slot.to_string());
                assert_eq!(values.is_taken(slot), expected.is_some());
                assert_eq!(values.get(slot), expected.as_ref());
                assert_eq!(values.get_mut(slot).cloned(), expected);
            }
            let taken: Vec<usize> = values.iter().map(|(slot, _)| slot).collect();
            assert_eq!(taken, (0..slots).step_by(3).collect::<Vec<_>>());
            assert_eq!(values.iter().size_hint(), (taken.len(), Some(taken.len())));
            for (slot, value) in values.iter_mut() {
                assert_eq!(*value, slot.to_string());
                value.push('!');
            }
            for (slot, value) in values.iter_mut() {
                assert_eq!(value.pop(), Some('!'), "slot {slot}");
            }
            assert_eq!(values.iter_mut().size_hint(), (taken.len(), Some(taken.len())));
            for slot in 0..slots + 200 {
                let expected = (slot < slots && slot % 3 == 0).then(|| slot.to_string());
                assert_eq!(values.take(slot), expected);
                assert_eq!(values.take(slot), None);
            }
            assert_eq!((values.taken_count(), values.iter().count()), (0, 0));
        }
    }

    #[test]
    fn a_value_that_takes_nothing_costs_one_bit() {
        let values = Values::<()>::try_new(6400).unwrap();
        assert_eq!((values.slot_count(), values.size_in_bytes()), (6400, 800));
        let values = Values::<u64>::try_new(6400).unwrap();
        assert_eq!(values.size_in_bytes(), 800 + 8 * 6400);
    }

    // Other machines cannot even name these sizes.
    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "asks for more memory than there is")]
    fn an_allocation_that_fails_reports_its_bytes() {
        assert_eq!(Values::<u64>::try_new(usize::MAX).err(), Some(usize::MAX));
        assert_eq!(Values::<u64>::try_new(1 << 50).err(), Some((1 << 53) + (1 << 47)));
        assert_eq!(Values::<()>::try_new(1 << 60).err(), Some(1 << 57));
    }

    /// A clone that fails halfway leaks nothing and drops nothing twice.
    #[test]
    fn a_clone_that_panics_leaves_the_original_whole() {
        use std::cell::Cell;
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::rc::Rc;

        struct Fragile(Rc<Cell<u32>>);
        impl Clone for Fragile {
            fn clone(&self) -> Self {
                let left = self.0.get();
                assert!(left > 0, "no more clones");
                self.0.set(left - 1);
                Self(Rc::clone(&self.0))
            }
        }

        let clones_left = Rc::new(Cell::new(5));
        let mut values = Values::try_new(100).unwrap();
        for slot in 0..10 {
            values.put(7 * slot, Fragile(Rc::clone(&clones_left)));
        }
        assert!(catch_unwind(AssertUnwindSafe(|| values.clone())).is_err());
        assert_eq!((clones_left.get(), Rc::strong_count(&clones_left)), (0, 11));
        drop(values);
        assert_eq!(Rc::strong_count(&clones_left), 1);
    }

    #[test]
    #[should_panic(expected = "a value goes into a free slot")]
    fn a_taken_slot_is_not_overwritten() {
        let mut values = Values::try_new(1).unwrap();
        values.put(0, ());
        values.put(0, ());
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn the_padding_of_the_bits_holds_no_value() {
        Values::try_new(5).unwrap().put(5, ());
    }
}
