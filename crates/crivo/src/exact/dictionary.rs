//! The one small trait that experiments run over.

use super::InsertError;
use crate::{Key, KeyHasher};

/// A map from keys to values, as far as all the dictionaries here agree.
///
/// The methods of the types themselves also take borrowed forms of a key (`get("ana")` where the
/// keys are `String`s); the trait keeps to `&K`.
pub trait Dictionary<K: Key, V> {
    /// What the dictionary knows of a key it holds: the key itself, or a compressed form of it.
    type StoredKey<'a>
    where
        Self: 'a,
        V: 'a;

    /// Whether the dictionary never takes one key for another.
    const EXACT: bool;

    /// Stores `value` under `key` and gives back the value that stood there before.
    ///
    /// # Errors
    /// If there is no room to be had. Nothing has changed then.
    fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError>;

    /// The value under `key`.
    fn get(&self, key: &K) -> Option<&V>;

    /// Whether there is a value under `key`.
    fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Takes the entry of `key` out and gives back its value.
    fn remove(&mut self, key: &K) -> Option<V>;

    /// Takes every entry out; the memory is kept.
    fn clear(&mut self);

    /// Every entry, in no particular order.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Self::StoredKey<'a>, &'a V)>
    where
        V: 'a;

    /// How many entries there are.
    fn entry_count(&self) -> usize;

    /// How many places for entries (for chaining: heads of chains) there are.
    fn slot_count(&self) -> usize;

    /// Entries per slot.
    fn load(&self) -> f64 {
        match self.slot_count() {
            0 => 0.0,
            slots => self.entry_count() as f64 / slots as f64,
        }
    }

    /// The memory taken on the heap, with what stands empty, without what keys and values point to.
    fn size_in_bytes(&self) -> usize;

    /// The hasher in use.
    fn hasher(&self) -> KeyHasher;
}

/// Makes an exact map a [`Dictionary`]: each method is the map's own of the same name.
macro_rules! implement_dictionary {
    ($map:ident) => {
        impl<K: $crate::Key + Eq, V> $crate::exact::Dictionary<K, V> for $map<K, V> {
            type StoredKey<'a>
                = &'a K
            where
                Self: 'a,
                V: 'a;

            const EXACT: bool = true;

            fn insert(
                &mut self,
                key: K,
                value: V,
            ) -> Result<Option<V>, $crate::exact::InsertError> {
                Self::insert(self, key, value)
            }

            fn get(&self, key: &K) -> Option<&V> {
                Self::get(self, key)
            }

            fn contains(&self, key: &K) -> bool {
                Self::contains(self, key)
            }

            fn remove(&mut self, key: &K) -> Option<V> {
                Self::remove(self, key)
            }

            fn clear(&mut self) {
                Self::clear(self);
            }

            fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
            where
                V: 'a,
            {
                Self::iter(self)
            }

            fn entry_count(&self) -> usize {
                Self::entry_count(self)
            }

            fn slot_count(&self) -> usize {
                Self::slot_count(self)
            }

            fn load(&self) -> f64 {
                Self::load(self)
            }

            fn size_in_bytes(&self) -> usize {
                Self::size_in_bytes(self)
            }

            fn hasher(&self) -> $crate::KeyHasher {
                Self::hasher(self)
            }
        }
    };
}

pub(super) use implement_dictionary;
