//! Iterators over the entries of a compacted map.

use std::fmt;
use std::iter::FusedIterator;

use super::values::{TakenValues, TakenValuesMut, Values};
use crivo_core::PackedSlots;

/// The compressed keys and values of a [`CompactedMap`](super::CompactedMap), in no particular
/// order.
pub struct CompactedEntries<'a, V> {
    pub(super) compressed: &'a PackedSlots,
    pub(super) values: TakenValues<'a, V>,
}

impl<'a, V> Iterator for CompactedEntries<'a, V> {
    type Item = (u64, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.values.next().map(|(slot, value)| (self.compressed.get(slot), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl<V> ExactSizeIterator for CompactedEntries<'_, V> {}

impl<V> FusedIterator for CompactedEntries<'_, V> {}

impl<V> Clone for CompactedEntries<'_, V> {
    fn clone(&self) -> Self {
        Self { compressed: self.compressed, values: self.values.clone() }
    }
}

impl<V: fmt::Debug> fmt::Debug for CompactedEntries<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// The compressed keys and mutable values of a [`CompactedMap`](super::CompactedMap), in no
/// particular order.
pub struct CompactedEntriesMut<'a, V> {
    pub(super) compressed: &'a PackedSlots,
    pub(super) values: TakenValuesMut<'a, V>,
}

impl<'a, V> Iterator for CompactedEntriesMut<'a, V> {
    type Item = (u64, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.values.next().map(|(slot, value)| (self.compressed.get(slot), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl<V> ExactSizeIterator for CompactedEntriesMut<'_, V> {}

impl<V> FusedIterator for CompactedEntriesMut<'_, V> {}

impl<V> fmt::Debug for CompactedEntriesMut<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remaining = self.len();
        f.debug_struct("CompactedEntriesMut").field("remaining", &remaining).finish_non_exhaustive()
    }
}

/// The compressed keys and owned values of a [`CompactedMap`](super::CompactedMap), in no
/// particular order. Dropping it drops the values that are left.
pub struct IntoCompactedEntries<V> {
    pub(super) compressed: PackedSlots,
    pub(super) values: Values<V>,
    /// Every slot before this one is free.
    pub(super) next: usize,
}

impl<V> Iterator for IntoCompactedEntries<V> {
    type Item = (u64, V);

    fn next(&mut self) -> Option<Self::Item> {
        let (slot, value) = self.values.take_first(self.next)?;
        self.next = slot + 1;
        Some((self.compressed.get(slot), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = self.values.taken_count();
        (remaining, Some(remaining))
    }
}

impl<V> ExactSizeIterator for IntoCompactedEntries<V> {}

impl<V> FusedIterator for IntoCompactedEntries<V> {}

impl<V: fmt::Debug> fmt::Debug for IntoCompactedEntries<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = CompactedEntries { compressed: &self.compressed, values: self.values.iter() };
        rest.fmt(f)
    }
}
