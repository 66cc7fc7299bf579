//! A specification of any kind, by the table of kinds.

use super::{Bytes, FilterSpec, SpecError};
use crate::filter::*;
use crate::{BuildError, Digest, Key, KeyHasher, ParameterError};

macro_rules! specs {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        /// The specification of a filter of any kind.
        ///
        /// ```
        /// use crivo::KeyHasher;
        /// use crivo::filter::{Filter, Kind, Spec};
        ///
        /// let hasher = KeyHasher::default();
        /// let digests = ["ana", "rui"].map(|key| hasher.digest(key));
        /// for kind in Kind::ALL {
        ///     let filter = Spec::for_fpr(kind, 2, 0.01)?.build_from(digests.to_vec(), hasher)?;
        ///     assert!(filter.contains("ana") && filter.contains("rui"));
        /// }
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum Spec {
            $(
                #[doc = concat!("Of a [`", stringify!($filter), "`](super::", stringify!($filter), ") filter.")]
                $kind($spec),
            )*
        }

        impl Spec {
            /// [`FilterSpec::for_fpr`] of a kind.
            ///
            /// ```
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let spec = Spec::for_fpr(Kind::Bloom, 1_000_000, 0.01)?;
            /// assert_eq!(format!("{:.2}", spec.bits_per_key()), "9.59");
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            ///
            /// # Errors
            /// If the capacity is 0, the FPR is not between 0 and 1, or the kind cannot reach it.
            pub fn for_fpr(kind: Kind, capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
                match kind {
                    $(Kind::$kind => <$spec>::for_fpr(capacity, fpr).map(Self::$kind),)*
                }
            }

            /// [`FilterSpec::for_memory`] of a kind.
            ///
            /// ```
            /// use crivo::filter::{Bytes, Kind, Spec};
            ///
            /// // Ten bits per key.
            /// let spec = Spec::for_memory(Kind::Bloom, 1_000_000, Bytes(1_250_000))?;
            /// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0082");
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            ///
            /// # Errors
            /// If the capacity is 0, or there is too little memory for it.
            pub fn for_memory(
                kind: Kind,
                capacity: u64,
                memory: Bytes,
            ) -> Result<Self, ParameterError> {
                match kind {
                    $(Kind::$kind => <$spec>::for_memory(capacity, memory).map(Self::$kind),)*
                }
            }

            /// [`FilterSpec::for_max_keys`] of a kind.
            ///
            /// ```
            /// use crivo::filter::{Bytes, Kind, Spec};
            ///
            /// let spec = Spec::for_max_keys(Kind::Bloom, 0.01, Bytes(1_000_000))?;
            /// assert_eq!(spec.capacity() / 1_000, 833);
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            ///
            /// # Errors
            /// If the FPR is not between 0 and 1, the kind cannot reach it, or there is no memory for
            /// one key.
            pub fn for_max_keys(
                kind: Kind,
                fpr: f64,
                memory: Bytes,
            ) -> Result<Self, ParameterError> {
                match kind {
                    $(Kind::$kind => <$spec>::for_max_keys(fpr, memory).map(Self::$kind),)*
                }
            }

            /// The kind.
            ///
            /// ```
            /// use crivo::filter::{BloomSpec, FilterSpec, Kind, Spec};
            ///
            /// assert_eq!(Spec::from(BloomSpec::for_fpr(1_000, 0.01)?).kind(), Kind::Bloom);
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn kind(&self) -> Kind {
                match self { $(Self::$kind(_) => <$spec>::KIND,)* }
            }

            /// How many keys it is made for; of a growing filter, its first stage.
            ///
            /// ```
            /// use crivo::filter::{Kind, Spec};
            ///
            /// assert_eq!(Spec::for_fpr(Kind::Bloom, 1_000, 0.01)?.capacity(), 1_000);
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn capacity(&self) -> u64 {
                match self { $(Self::$kind(spec) => spec.capacity(),)* }
            }

            /// The memory of the table, in bits; of a growing filter, of its first stage.
            ///
            /// ```
            /// use crivo::filter::{BloomSpec, Spec};
            ///
            /// assert_eq!(Spec::from(BloomSpec::with_size(640, 7)?).size_in_bits(), 640);
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn size_in_bits(&self) -> u64 {
                match self { $(Self::$kind(spec) => spec.size_in_bits(),)* }
            }

            /// Bits of memory per key, with as many keys as it is made for.
            ///
            /// ```
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let spec = Spec::for_fpr(Kind::Fuse, 1_000_000, 0.01)?;
            /// assert_eq!(format!("{:.1}", spec.bits_per_key()), "7.9");
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn bits_per_key(&self) -> f64 {
                match self { $(Self::$kind(spec) => spec.bits_per_key(),)* }
            }

            /// The mean FPR that theory gives for `keys` different keys, equal digests included.
            ///
            /// ```
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let spec = Spec::for_fpr(Kind::Bloom, 1_000_000, 0.01)?;
            /// assert_eq!(format!("{:.3}", spec.fpr_at(2_000_000)), "0.157");
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn fpr_at(&self, keys: u64) -> f64 {
                match self { $(Self::$kind(spec) => spec.fpr_at(keys),)* }
            }

            /// The FPR with as many keys as it is made for. Of a growing filter, the one that it keeps
            /// for any number of keys.
            ///
            /// ```
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let spec = Spec::for_fpr(Kind::Cuckoo, 1_000_000, 0.01)?;
            /// assert_eq!(format!("{:.4}", spec.fpr_when_full()), "0.0074");
            /// # Ok::<(), crivo::ParameterError>(())
            /// ```
            pub fn fpr_when_full(&self) -> f64 {
                match self { $(Self::$kind(spec) => spec.fpr_when_full(),)* }
            }

            /// The filter without keys.
            ///
            /// ```
            /// use crivo::KeyHasher;
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let hasher = KeyHasher::default();
            /// assert!(Spec::for_fpr(Kind::Bloom, 1_000, 0.01)?.build(hasher)?.is_empty());
            /// assert!(Spec::for_fpr(Kind::Fuse, 1_000, 0.01)?.build(hasher).is_err());
            /// # Ok::<(), crivo::BuildError>(())
            /// ```
            ///
            /// # Errors
            /// If there is no memory, or for a fuse filter, which is built from all its keys:
            /// [`build_from`](Self::build_from).
            pub fn build(&self, hasher: KeyHasher) -> Result<AnyFilter, BuildError> {
                match self { $(Self::$kind(spec) => spec.build(hasher).map(AnyFilter::from),)* }
            }

            /// The filter of the keys with these digests: [`FilterSpec::build_from`].
            ///
            /// ```
            /// use crivo::KeyHasher;
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let hasher = KeyHasher::default();
            /// let digests = ["ana", "eva"].map(|key| hasher.digest(key));
            /// let spec = Spec::for_fpr(Kind::Fuse, 2, 0.01)?;
            /// let filter = spec.build_from(digests.to_vec(), hasher)?;
            /// assert!(filter.contains("ana") && filter.contains("eva"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no memory, no room for all keys, or no seed for a fuse filter.
            pub fn build_from(
                &self,
                digests: Vec<Digest>,
                hasher: KeyHasher,
            ) -> Result<AnyFilter, SpecError> {
                match self {
                    $(Self::$kind(spec) => spec.build_from(digests, hasher).map(AnyFilter::from),)*
                }
            }

            /// The filter of these keys, on several threads: [`FilterSpec::build_on_threads`].
            ///
            /// ```
            /// use crivo::KeyHasher;
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let keys: Vec<u64> = (0..1_000).collect();
            /// for kind in Kind::ALL {
            ///     let spec = Spec::for_fpr(kind, 1_000, 0.01)?;
            ///     let filter = spec.build_on_threads(&keys, None, KeyHasher::default())?;
            ///     assert!(keys.iter().all(|key| filter.contains(key)));
            /// }
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If there is no memory, no room for all keys, or no seed for a fuse filter; if there
            /// are to be no threads.
            pub fn build_on_threads<K: Key + Sync>(
                &self,
                keys: &[K],
                threads: Option<usize>,
                hasher: KeyHasher,
            ) -> Result<AnyFilter, SpecError> {
                self.build_by(keys, |key| hasher.digest(key), threads, hasher)
            }

            /// The same for anything that has a digest: [`FilterSpec::build_by`].
            ///
            /// ```
            /// use crivo::KeyHasher;
            /// use crivo::filter::{Kind, Spec};
            ///
            /// let hasher = KeyHasher::default();
            /// let digests = ["ana", "eva"].map(|key| hasher.digest(key));
            /// let spec = Spec::for_fpr(Kind::Fuse, 2, 0.01)?;
            /// let filter = spec.build_by(&digests, |&digest| digest, None, hasher)?;
            /// assert!(filter.contains("ana") && filter.contains("eva"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// As [`build_on_threads`](Self::build_on_threads).
            pub fn build_by<T: Sync>(
                &self,
                items: &[T],
                digest_of: impl Fn(&T) -> Digest + Sync,
                threads: Option<usize>,
                hasher: KeyHasher,
            ) -> Result<AnyFilter, SpecError> {
                match self {
                    $(Self::$kind(spec) => {
                        spec.build_by(items, digest_of, threads, hasher).map(AnyFilter::from)
                    })*
                }
            }
        }

        impl Kind {
            /// What filters of this kind can do.
            ///
            /// ```
            /// use crivo::filter::Kind;
            ///
            /// assert!(Kind::Cuckoo.capabilities().remove);
            /// assert!(!Kind::Bloom.capabilities().remove);
            /// ```
            pub const fn capabilities(self) -> Capabilities {
                match self {
                    $(Self::$kind => <$spec>::CAPABILITIES,)*
                }
            }

            /// What to remember of this kind, in a few words.
            ///
            /// ```
            /// for kind in crivo::filter::Kind::ALL {
            ///     println!("{kind:16} {}", kind.summary());
            ///     assert!(kind.summary().len() < 80);
            /// }
            /// ```
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Self::$kind => <$spec>::SUMMARY,)*
                }
            }
        }

        impl AnyFilter {
            /// The specification that it was built by.
            ///
            /// ```
            /// use crivo::filter::{AnyFilter, Bloom, BloomSpec, FilterSpec, Spec};
            ///
            /// let filter = AnyFilter::from(Bloom::new(1_000, 0.01)?);
            /// assert_eq!(filter.spec(), Spec::from(BloomSpec::for_fpr(1_000, 0.01)?));
            /// # Ok::<(), crivo::BuildError>(())
            /// ```
            pub fn spec(&self) -> Spec {
                match self { $(Self::$kind(filter) => Spec::$kind(filter.spec()),)* }
            }
        }

        $(
            const _: () = assert!(
                matches!(<$spec>::KIND, Kind::$kind),
                "a specification is listed under its own kind",
            );

            impl From<$spec> for Spec {
                fn from(spec: $spec) -> Self {
                    Self::$kind(spec)
                }
            }
        )*
    };
}
for_each_kind!(specs);
