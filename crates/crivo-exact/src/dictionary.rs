//! The one small trait that experiments run over.

use super::InsertError;
use crivo::{Key, KeyHasher};

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

/// Those methods of a [`Dictionary`] that are the map's own of the same name, whatever the map.
macro_rules! delegate_to_the_map {
    () => {
        fn clear(&mut self) {
            Self::clear(self);
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

        fn hasher(&self) -> ::crivo::KeyHasher {
            Self::hasher(self)
        }
    };
}

/// What an exact map that iterates as `$entries` has beyond its own methods, all of it made of
/// these: [`Dictionary`], `try_extend`, `Default`, `Debug` and `IntoIterator`.
macro_rules! complete_exact_map {
    ($map:ident, $entries:ident) => {
        impl<K: ::crivo::Key + Eq, V> $crate::Dictionary<K, V> for $map<K, V> {
            type StoredKey<'a>
                = &'a K
            where
                Self: 'a,
                V: 'a;

            const EXACT: bool = true;

            fn insert(&mut self, key: K, value: V) -> Result<Option<V>, $crate::InsertError> {
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

            fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
            where
                V: 'a,
            {
                Self::iter(self)
            }

            $crate::dictionary::delegate_to_the_map!();
        }

        impl<K: ::crivo::Key + Eq, V> $map<K, V> {
            /// Stores every pair, in order; a later value under the same key replaces an earlier
            /// one.
            ///
            /// # Errors
            /// As for [`insert`](Self::insert), at the first pair that could not be stored. Those
            /// before it have been.
            pub fn try_extend(
                &mut self,
                entries: impl IntoIterator<Item = (K, V)>,
            ) -> Result<(), $crate::InsertError> {
                entries.into_iter().try_for_each(|(key, value)| self.insert(key, value).map(drop))
            }
        }

        impl<K, V> Default for $map<K, V> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<K: std::fmt::Debug, V: std::fmt::Debug> std::fmt::Debug for $map<K, V> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_map().entries(self).finish()
            }
        }

        impl<'a, K, V> IntoIterator for &'a $map<K, V> {
            type Item = (&'a K, &'a V);
            type IntoIter = $entries<'a, K, V>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }
    };
}

pub(super) use {complete_exact_map, delegate_to_the_map};
