//! The methods that every kind of filter has for itself, written once.
//!
//! A program that uses one kind imports one type and no trait. What the methods say is the same for
//! every kind because it is the same text. The work is done by the traits' methods, or by three that a
//! kind that is never full has in private:
//!
//! - `put(&mut self, Digest) -> bool` inserts, and tells whether the key was certainly new. Where
//!   nobody uses the answer it must cost nothing: it comes from a test without side effects in front
//!   of the insertion, all of it inlined, which the compiler then deletes.
//! - `put_all(&mut self, impl Iterator<Item = Digest>)` inserts many, and tells nothing.
//! - `fetch(&self, Digest, Cache)` asks for the memory that an insertion changes.

use std::fmt;

use super::Filter;

/// One key more; the largest number stays. The branch is never taken, and costs less than the choice
/// between two numbers that a saturating addition is.
#[inline(always)]
pub(super) fn one_more(key_count: u64) -> u64 {
    #[cold]
    #[inline(always)]
    fn largest() -> u64 {
        u64::MAX
    }
    match key_count.wrapping_add(1) {
        0 => largest(),
        more => more,
    }
}

/// One line about a filter, for its `Debug`: never its table.
pub(super) fn describe(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    filter: &dyn Filter,
    capacity: Option<u64>,
) -> fmt::Result {
    write!(f, "{name} {{ key_count: {}, capacity: ", filter.key_count())?;
    match capacity {
        Some(capacity) => write!(f, "{capacity}")?,
        None => write!(f, "unlimited")?,
    }
    let hasher = filter.hasher().identity();
    write!(f, ", size_in_bits: {}, hasher: {hasher} }}", filter.size_in_bits())
}

/// What every filter answers. `example` makes a filter with "ana" in it.
macro_rules! read_methods {
    (
        $filter:ty $(where [$($generics:tt)*])?,
        hasher: |$this:ident| $hasher:expr,
        example: $example:literal $(,)?
    ) => {
        impl$(<$($generics)*>)? $filter {
            /// Whether `key` may be a member. `false` is certain; `true` is a false positive at the
            /// rate of [`expected_fpr`](Self::expected_fpr).
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.contains("ana"));
            /// assert!(!filter.contains("rui"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline(always)]
            pub fn contains<K: $crate::Key + ?Sized>(&self, key: &K) -> bool {
                self.contains_digest(self.digest_of(key))
            }

            /// [`contains`](Self::contains) for a digest that this filter's
            /// [`hasher`](Self::hasher) made.
            ///
            /// ```
            #[doc = $example]
            /// let digest = filter.hasher().digest("ana");
            /// assert!(filter.contains_digest(digest));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline(always)]
            pub fn contains_digest(&self, key: $crate::Digest) -> bool {
                $crate::filter::Filter::contains_digest(self, key)
            }

            /// Answers for many keys at once: `hits[i]` for `keys[i]`. It fetches ahead where that
            /// pays.
            ///
            /// ```
            #[doc = $example]
            /// let digests = ["ana", "rui"].map(|key| filter.hasher().digest(key));
            /// let mut hits = [false; 2];
            /// filter.contains_batch(&digests, &mut hits);
            /// assert_eq!(hits, [true, false]);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Panics
            /// If the slices differ in length.
            pub fn contains_batch(&self, keys: &[$crate::Digest], hits: &mut [bool]) {
                $crate::filter::Filter::contains_batch(self, keys, hits);
            }

            /// How many keys there are: successful insertions less removals. A static filter counts
            /// distinct keys; after a union it is an upper bound.
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.key_count() > 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn key_count(&self) -> u64 {
                $crate::filter::Filter::key_count(self)
            }

            /// Whether there are no keys: every answer is `false`.
            ///
            /// ```
            #[doc = $example]
            /// assert!(!filter.is_empty());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn is_empty(&self) -> bool {
                $crate::filter::Filter::is_empty(self)
            }

            /// The memory of the table, in bits.
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.size_in_bits() > 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn size_in_bits(&self) -> u64 {
                $crate::filter::Filter::size_in_bits(self)
            }

            /// Bits of memory per key, now.
            ///
            /// ```
            #[doc = $example]
            /// let bits_per_key = filter.size_in_bits() as f64 / filter.key_count() as f64;
            /// assert_eq!(filter.bits_per_key(), bits_per_key);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn bits_per_key(&self) -> f64 {
                $crate::filter::Filter::bits_per_key(self)
            }

            /// The mean false-positive rate that theory gives for the present
            /// [`key_count`](Self::key_count).
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.expected_fpr() < 0.01);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn expected_fpr(&self) -> f64 {
                $crate::filter::Filter::expected_fpr(self)
            }

            /// The hash function.
            ///
            /// ```
            #[doc = $example]
            /// assert_eq!(filter.hasher(), crivo::KeyHasher::default());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn hasher(&self) -> $crate::KeyHasher {
                $crate::filter::Filter::hasher(self)
            }

            // Without the copy of the hasher that `hasher` makes.
            #[inline(always)]
            fn digest_of<K: $crate::Key + ?Sized>(&self, key: &K) -> $crate::Digest {
                let $this = self;
                $hasher.digest(key)
            }
        }
    };
}

/// What a filter does that is never full. `example` makes an empty filter.
macro_rules! insert_methods {
    ($filter:ty $(where [$($generics:tt)*])?, example: $example:literal $(,)?) => {
        impl$(<$($generics)*>)? $filter {
            /// Makes `key` a member: `true` if it was certainly new, `false` if it may have been a
            /// member before.
            ///
            /// The answer costs nothing if it is not used. Every insertion counts as a key, also
            /// that of a key which is there already. The filter is never full: past its
            /// [`capacity`](Self::capacity) it accepts keys, and
            /// [`expected_fpr`](Self::expected_fpr) rises.
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.insert("ana"));
            /// assert!(!filter.insert("ana"));
            /// assert_eq!(filter.key_count(), 2);
            /// # Ok::<(), crivo::BuildError>(())
            /// ```
            #[inline(always)]
            pub fn insert<K: $crate::Key + ?Sized>(&mut self, key: &K) -> bool {
                let digest = self.digest_of(key);
                self.put(digest)
            }

            /// [`insert`](Self::insert) for a digest that this filter's [`hasher`](Self::hasher)
            /// made: `true` if the key was certainly new.
            ///
            /// ```
            #[doc = $example]
            /// let digest = filter.hasher().digest("ana");
            /// assert!(filter.insert_digest(digest));
            /// assert!(filter.contains("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline(always)]
            pub fn insert_digest(&mut self, key: $crate::Digest) -> bool {
                self.put(key)
            }

            /// Makes all of these keys members. The memory of a large filter is fetched some keys ahead.
            ///
            /// ```
            #[doc = $example]
            /// let digests = ["ana", "eva"].map(|key| filter.hasher().digest(key));
            /// filter.insert_batch(&digests);
            /// assert!(filter.contains("ana") && filter.contains("eva"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn insert_batch(&mut self, keys: &[$crate::Digest]) {
                let put = |filter: &mut Self, keys: &[$crate::Digest]| {
                    filter.put_all(keys.iter().copied());
                };
                $crate::filter::batch::fetch_and_put(self, keys, Self::fetch, put);
            }

            /// How many keys it is made for. It accepts more, at a higher false-positive rate.
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.capacity() >= 1_000);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn capacity(&self) -> u64 {
                $crate::filter::DynamicFilter::capacity(self)
            }

            /// Removes every key. The memory is kept.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// filter.clear();
            /// assert!(filter.is_empty());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn clear(&mut self) {
                $crate::filter::DynamicFilter::clear(self);
            }
        }

        impl<K: $crate::Key $(, $($generics)*)?> Extend<K> for $filter {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                let hasher = self.hasher();
                self.put_all(keys.into_iter().map(|key| hasher.digest(&key)));
            }
        }

        impl$(<$($generics)*>)? Extend<$crate::Digest> for $filter {
            fn extend<I: IntoIterator<Item = $crate::Digest>>(&mut self, keys: I) {
                self.put_all(keys.into_iter());
            }
        }
    };
}

/// What a filter does that may be full, and gives keys back.
macro_rules! try_insert_methods {
    ($filter:ident) => {
        impl $filter {
            /// Makes `key` a member: `true` if it was certainly new, `false` if it may have been a
            /// member before.
            ///
            /// Every insertion is stored and counts as a key, also that of a key which is there
            /// already: it is gone after as many removals.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// assert!(filter.insert("ana")?);
            /// assert!(!filter.insert("ana")?);
            /// assert_eq!(filter.key_count(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no place for it. The filter is as it was: every key is still in it.
            #[inline(always)]
            pub fn insert<K: $crate::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> Result<bool, $crate::filter::Full> {
                let digest = self.digest_of(key);
                self.insert_digest(digest)
            }

            /// [`insert`](Self::insert) for a digest that this filter's [`hasher`](Self::hasher)
            /// made: `true` if the key was certainly new.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// let digest = filter.hasher().digest("ana");
            /// assert!(filter.insert_digest(digest)?);
            /// assert!(filter.contains("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no place for it. The filter is as it was.
            #[inline(always)]
            pub fn insert_digest(
                &mut self,
                key: $crate::Digest,
            ) -> Result<bool, $crate::filter::Full> {
                $crate::filter::DynamicFilter::insert_digest(self, key)
            }

            /// Makes all of these keys members, or none.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// let digests = ["ana", "eva"].map(|key| filter.hasher().digest(key));
            /// filter.insert_batch(&digests)?;
            /// assert!(filter.contains("ana") && filter.contains("eva"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no place for all of them. Those that found one are removed again. The
            /// error tells how many keys there were when a place was missing.
            pub fn insert_batch(
                &mut self,
                keys: &[$crate::Digest],
            ) -> Result<(), $crate::filter::Full> {
                for (inserted, &key) in keys.iter().enumerate() {
                    if let Some(&later) = keys.get(inserted + $crate::filter::batch::TRIED_AHEAD) {
                        self.prefetch_digest(later);
                    }
                    if let Err(full) = self.insert_digest(key) {
                        self.remove_batch(&keys[..inserted]);
                        return Err(full);
                    }
                }
                Ok(())
            }

            /// Makes keys members, in their order, as long as there is place.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// filter.try_extend(0..1_000u64)?;
            /// assert!(filter.contains(&7u64));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no place for one of them. Those before it are members;
            /// [`key_count`](Self::key_count) tells how many they are.
            pub fn try_extend<K: $crate::Key>(
                &mut self,
                keys: impl IntoIterator<Item = K>,
            ) -> Result<(), $crate::filter::Full> {
                keys.into_iter().try_for_each(|key| self.insert(&key).map(drop))
            }

            /// How many keys it is made for.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// assert!(filter.capacity() >= 1_000);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn capacity(&self) -> u64 {
                $crate::filter::DynamicFilter::capacity(self)
            }

            /// Removes every key. The memory is kept.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// filter.insert("ana")?;
            /// filter.clear();
            /// assert!(filter.is_empty());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn clear(&mut self) {
                $crate::filter::DynamicFilter::clear(self);
            }
        }
    };
}

/// What a filter does that gives keys back. `insert` is how its `insert("ana")` is written.
macro_rules! remove_methods {
    ($filter:ident, insert: $insert:literal) => {
        impl $filter {
            /// Removes one insertion of `key`.
            ///
            /// Only remove what was inserted: a key that never was, but seems to be there, shares
            /// its traces with a key that was. Removing the one makes the other a **false negative**.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = $insert]
            /// filter.remove("ana")?;
            /// assert!(!filter.contains("ana"));
            /// assert!(filter.remove("ana").is_err());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If the key is certainly not a member. Nothing has changed.
            #[inline(always)]
            pub fn remove<K: $crate::Key + ?Sized>(
                &mut self,
                key: &K,
            ) -> Result<(), $crate::filter::NotPresent> {
                let digest = self.digest_of(key);
                self.remove_digest(digest)
            }

            /// [`remove`](Self::remove) for a digest that this filter's [`hasher`](Self::hasher)
            /// made.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = $insert]
            /// let digest = filter.hasher().digest("ana");
            /// filter.remove_digest(digest)?;
            /// assert!(!filter.contains("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If the key is certainly not a member. Nothing has changed.
            #[inline(always)]
            pub fn remove_digest(
                &mut self,
                key: $crate::Digest,
            ) -> Result<(), $crate::filter::NotPresent> {
                $crate::filter::RemovableFilter::remove_digest(self, key)
            }

            /// Removes one insertion of each of these keys that is a member, and returns how many
            /// were. The others are certainly not members.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = $insert]
            /// let digests = ["ana", "rui"].map(|key| filter.hasher().digest(key));
            /// assert_eq!(filter.remove_batch(&digests), 1);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn remove_batch(&mut self, keys: &[$crate::Digest]) -> u64 {
                let removed = keys.iter().filter(|&&key| self.remove_digest(key).is_ok());
                removed.count() as u64
            }

            /// How often `key` was inserted and not removed: never less than the truth.
            ///
            /// ```
            #[doc = concat!("let mut filter = crivo::filter::", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = $insert]
            /// assert_eq!(filter.count("ana"), crivo::filter::Count::AtMost(1));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn count<K: $crate::Key + ?Sized>(&self, key: &K) -> $crate::filter::Count {
                self.count_digest(self.digest_of(key))
            }
        }
    };
}

/// What a filter of bits does with another one. `words` gives the words of a filter, `words_mut` those to
/// be changed, and `same` compares what both must have in common, beside hasher and metadata.
macro_rules! merge_methods {
    (
        $filter:ident,
        words: |$this:ident| $words:expr,
        words_mut: |$changed:ident| $words_mut:expr,
        same: $($name:literal = |$of:ident| $property:expr),+ $(,)?
    ) => {
        impl $filter {
            /// Makes every key of `other` a member: the filter is as if all had been inserted here.
            ///
            /// [`key_count`](Self::key_count) becomes the sum, an upper bound: keys of both count
            /// twice.
            ///
            /// ```
            #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
            ///
            #[doc = concat!("let mut ours = ", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = concat!("let mut theirs = ", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// ours.insert("ana");
            /// theirs.insert("eva");
            /// ours.union_with(&theirs)?;
            /// assert!(ours.contains("ana") && ours.contains("eva"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If hasher, dimensions or [`key-encoding`](crate::codec::Metadata::KEY_ENCODING)
            /// differ, or there is no memory for a copy of a mapped file's words. Nothing has
            /// changed.
            pub fn union_with(&mut self, other: &Self) -> Result<(), $crate::filter::RebuildError> {
                self.combine(other, |ours, theirs| ours | theirs)?;
                self.key_count = self.key_count.saturating_add(other.key_count);
                Ok(())
            }

            /// Keeps what is in both: every key that was inserted here *and* in `other` is still a
            /// member.
            ///
            /// More is found than in a filter of just the common keys, because a bit may have been
            /// set by different keys here and there; never more than either filter found.
            /// [`key_count`](Self::key_count) becomes the smaller of the two, an upper bound.
            ///
            /// ```
            #[doc = concat!("use crivo::filter::", stringify!($filter), ";")]
            ///
            #[doc = concat!("let mut ours = ", stringify!($filter), "::new(1_000, 0.01)?;")]
            #[doc = concat!("let mut theirs = ", stringify!($filter), "::new(1_000, 0.01)?;")]
            /// ours.extend(["ana", "eva"]);
            /// theirs.extend(["eva", "rui"]);
            /// ours.intersect_with(&theirs)?;
            /// assert!(ours.contains("eva") && !ours.contains("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If hasher, dimensions or [`key-encoding`](crate::codec::Metadata::KEY_ENCODING)
            /// differ, or there is no memory for a copy of a mapped file's words. Nothing has
            /// changed.
            pub fn intersect_with(
                &mut self,
                other: &Self,
            ) -> Result<(), $crate::filter::RebuildError> {
                self.combine(other, |ours, theirs| ours & theirs)?;
                self.key_count = self.key_count.min(other.key_count);
                Ok(())
            }

            fn combine(
                &mut self,
                other: &Self,
                rule: fn(u64, u64) -> u64,
            ) -> Result<(), $crate::filter::RebuildError> {
                use $crate::filter::Incompatible;

                Incompatible::unless_same_hasher(self.hasher, other.hasher)?;
                $({
                    let of = |$of: &Self| $property;
                    Incompatible::unless_equal($name, of(self), of(other))?;
                })+
                let metadata = Incompatible::merged_metadata(&self.metadata, &other.metadata)?;
                let $changed = &mut *self;
                let ours: &mut [u64] = $words_mut;
                let $this = other;
                let theirs: &[u64] = $words;
                for (ours, theirs) in ours.iter_mut().zip(theirs) {
                    *ours = rule(*ours, *theirs);
                }
                self.metadata = metadata;
                Ok(())
            }
        }
    };
}

pub(super) use {insert_methods, merge_methods, read_methods, remove_methods, try_insert_methods};
