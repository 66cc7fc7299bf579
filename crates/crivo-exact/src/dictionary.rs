//! The trait that all dictionaries share.

use super::InsertError;
use crivo::{Key, KeyHasher};

/// A map from keys to values: what all the dictionaries here have in common.
///
/// The methods of the types themselves also take borrowed forms of a key (`get("ana")` where the
/// keys are `String`s); the trait keeps to `&K`. Every map also implements `IntoIterator`, by value
/// and by reference.
///
/// ```
/// use crivo_exact::{CuckooMap, Dictionary, InsertError, LinearMap};
///
/// fn squares<D: Dictionary<u64, u64>>(mut map: D) -> Result<D, InsertError> {
///     for key in 0..100 {
///         map.insert(key, key * key)?;
///     }
///     Ok(map)
/// }
///
/// assert_eq!(squares(LinearMap::new())?.get(&9), Some(&81));
/// assert_eq!(squares(CuckooMap::new())?.get(&9), Some(&81));
/// # Ok::<(), crivo_exact::InsertError>(())
/// ```
pub trait Dictionary<K: Key, V> {
    /// What the dictionary stores of a key: the key itself, or a compressed form of it.
    type StoredKey<'a>
    where
        Self: 'a,
        V: 'a;

    /// Whether the dictionary never confuses two keys.
    const EXACT: bool;

    /// Stores `value` under `key` and returns the previous value, if there was one.
    ///
    /// # Errors
    /// If there is no room for the entry. The dictionary is then unchanged.
    fn insert(&mut self, key: K, value: V) -> Result<Option<V>, InsertError>;

    /// The value of `key`.
    fn get(&self, key: &K) -> Option<&V>;

    /// The value of `key`, mutable.
    fn get_mut(&mut self, key: &K) -> Option<&mut V>;

    /// Whether there is an entry for `key`.
    fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Removes the entry of `key` and returns its value.
    fn remove(&mut self, key: &K) -> Option<V>;

    /// Removes every entry and keeps the memory.
    fn clear(&mut self);

    /// Every entry, in no particular order.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Self::StoredKey<'a>, &'a V)>
    where
        V: 'a;

    /// Every entry with its value mutable, in no particular order.
    fn iter_mut<'a>(&'a mut self) -> impl Iterator<Item = (Self::StoredKey<'a>, &'a mut V)>
    where
        V: 'a;

    /// The number of entries.
    fn len(&self) -> usize;

    /// Whether there are no entries.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots for entries (for chaining: of heads of chains).
    fn slot_count(&self) -> usize;

    /// Entries per slot.
    fn load(&self) -> f64 {
        match self.slot_count() {
            0 => 0.0,
            slots => self.len() as f64 / slots as f64,
        }
    }

    /// Heap memory in use, including empty slots, excluding what keys and values point to.
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

        fn len(&self) -> usize {
            Self::len(self)
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

/// What an exact map has beyond its own methods, all of it made of these: [`Dictionary`],
/// `try_extend`, `Default`, `Debug` and `IntoIterator`. The iterators are those of `iter`,
/// `iter_mut` and `into_entries`.
macro_rules! complete_exact_map {
    ($map:ident, $entries:ident, $entries_mut:ident, $into_entries:ident) => {
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

            fn get_mut(&mut self, key: &K) -> Option<&mut V> {
                Self::get_mut(self, key)
            }

            fn contains_key(&self, key: &K) -> bool {
                Self::contains_key(self, key)
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

            fn iter_mut<'a>(&'a mut self) -> impl Iterator<Item = (&'a K, &'a mut V)>
            where
                V: 'a,
            {
                Self::iter_mut(self)
            }

            $crate::dictionary::delegate_to_the_map!();
        }

        impl<K: ::crivo::Key + Eq, V> $map<K, V> {
            /// Stores every pair, in order; a later value under the same key replaces an earlier
            /// one.
            ///
            /// ```
            #[doc = concat!("use crivo_exact::", stringify!($map), ";")]
            ///
            #[doc = concat!("let mut ages = ", stringify!($map), "::new();")]
            /// ages.try_extend([("ana", 41), ("rui", 7), ("ana", 42)])?;
            /// assert_eq!((ages.len(), ages.get("ana")), (2, Some(&42)));
            /// # Ok::<(), crivo_exact::InsertError>(())
            /// ```
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

        impl<'a, K, V> IntoIterator for &'a mut $map<K, V> {
            type Item = (&'a K, &'a mut V);
            type IntoIter = $entries_mut<'a, K, V>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter_mut()
            }
        }

        impl<K, V> IntoIterator for $map<K, V> {
            type Item = (K, V);
            type IntoIter = $into_entries<K, V>;

            fn into_iter(self) -> Self::IntoIter {
                self.into_entries()
            }
        }
    };
}

pub(super) use {complete_exact_map, delegate_to_the_map};
