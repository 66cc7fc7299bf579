//! A filter of whatever kind a file has.

mod change;
mod codec;
mod operations;
#[cfg(test)]
mod small;

use std::fmt;

use super::methods::read_methods;
pub(super) use operations::{Operations, operations};

use super::*;
use crate::{Digest, KeyHasher};

/// Makes [`AnyFilter`] of the table of kinds.
macro_rules! filters {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        /// A filter of any kind, as it comes out of a file.
        ///
        /// It answers like every [`Filter`], and is saved and loaded like every filter.
        /// It is changed like the filters themselves; where its kind cannot do what it is asked for,
        /// it returns [`OperationError::Unsupported`](super::OperationError::Unsupported).
        ///
        /// ```
        /// use crivo::filter::{AnyFilter, Cuckoo, Kind};
        ///
        /// let mut saved = Cuckoo::new(1_000, 0.01)?;
        /// saved.insert("ana")?;
        /// let filter = AnyFilter::from_bytes(&saved.to_bytes())?;
        /// assert_eq!(filter.kind(), Kind::Cuckoo);
        /// assert!(filter.contains("ana"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, PartialEq)]
        #[non_exhaustive]
        pub enum AnyFilter {
            $(
                #[doc = concat!("A [`", stringify!($filter), "`].")]
                $kind($filter),
            )*
        }

        impl Filter for AnyFilter {
            #[inline]
            fn contains_digest(&self, key: Digest) -> bool {
                match self { $(Self::$kind(filter) => filter.contains_digest(key),)* }
            }

            fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
                match self { $(Self::$kind(filter) => filter.contains_batch(keys, hits),)* }
            }

            #[inline]
            fn prefetch_digest(&self, key: Digest) {
                match self { $(Self::$kind(filter) => filter.prefetch_digest(key),)* }
            }

            fn key_count(&self) -> u64 {
                match self { $(Self::$kind(filter) => filter.key_count(),)* }
            }

            fn size_in_bits(&self) -> u64 {
                match self { $(Self::$kind(filter) => filter.size_in_bits(),)* }
            }

            fn expected_fpr(&self) -> f64 {
                match self { $(Self::$kind(filter) => filter.expected_fpr(),)* }
            }

            #[inline]
            fn hasher(&self) -> KeyHasher {
                match self { $(Self::$kind(filter) => filter.hasher(),)* }
            }
        }

        impl fmt::Debug for AnyFilter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$kind(filter) => filter.fmt(f),)* }
            }
        }

        $(
            impl From<$filter> for AnyFilter {
                fn from(filter: $filter) -> Self {
                    Self::$kind(filter)
                }
            }

            impl TryFrom<AnyFilter> for $filter {
                type Error = WrongKind;

                /// The filter, if it is of this kind. Otherwise the error gives it back.
                fn try_from(filter: AnyFilter) -> Result<Self, WrongKind> {
                    match filter {
                        AnyFilter::$kind(filter) => Ok(filter),
                        other => Err(WrongKind::new(Kind::$kind, other)),
                    }
                }
            }
        )*
    };
}
for_each_kind!(filters);

read_methods!(
    AnyFilter,
    hasher: |filter| filter.hasher(),
    example: "let bloom = crivo::filter::Bloom::new(1_000, 0.01)?;\n\
              let mut filter = crivo::filter::AnyFilter::from(bloom);\n\
              filter.insert(\"ana\")?;",
);

impl AnyFilter {
    /// The kind.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Kind};
    ///
    /// assert_eq!(AnyFilter::from(Bloom::new(1_000, 0.01)?).kind(), Kind::Bloom);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn kind(&self) -> Kind {
        macro_rules! kind_of {
            ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            };
        }
        for_each_kind!(kind_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::mock::TestDirectory;
    use crate::codec::{self, Header, LoadOptions};
    use crate::persist::{DecodeError, Persist};

    /// What `AnyFilter` loads from the file of a filter of type `F` must be that filter.
    fn is_loaded_as_itself<F>(kind: Kind)
    where
        F: Filter + Persist + Clone + Into<AnyFilter> + TryFrom<AnyFilter, Error = WrongKind>,
    {
        let hasher = KeyHasher::default();
        let digests = (0..300u64).map(|key| hasher.digest(&key)).collect();
        let built = Spec::for_fpr(kind, 300, 0.01).unwrap().build_from(digests, hasher).unwrap();
        let filter = F::try_from(built).unwrap();
        let directory = TestDirectory::new(kind.name());
        let path = directory.file("seen.crivo");
        codec::save(&filter, &path).unwrap();

        let any = AnyFilter::load(&path).unwrap();
        assert_eq!(any.kind(), kind);
        assert_eq!(any.header(), Header::load(&path).unwrap());
        assert_eq!(any.hasher(), filter.hasher());
        assert_eq!(any.key_count(), filter.key_count());
        assert_eq!(any.size_in_bits(), filter.size_in_bits());
        assert_eq!(any.expected_fpr(), filter.expected_fpr());
        let digests: Vec<_> = (0..2000u64).map(|key| any.hasher().digest(&key)).collect();
        let mut hits = vec![false; digests.len()];
        any.contains_batch(&digests, &mut hits);
        for (digest, hit) in digests.iter().zip(hits) {
            assert_eq!(any.contains_digest(*digest), hit);
            assert_eq!(filter.contains_digest(*digest), hit);
        }
        assert!((0..filter.key_count()).all(|key| any.contains(&key)));

        assert_eq!(any.to_bytes(), codec::to_bytes(&filter));
        assert_eq!(filter.clone().into().to_bytes(), any.to_bytes());
        let loaded: F = LoadOptions::new().load(&path).unwrap();
        assert_eq!(codec::to_bytes(&loaded), any.to_bytes());
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            let (expected, found) = (kind.file_kind(), other.file_kind());
            let error = F::parse(found, &filter.parts().parameters).err();
            assert_eq!(error, Some(DecodeError::WrongKind { expected, found }));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn every_kind_is_loaded_as_itself() {
        macro_rules! each {
            ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
                $(is_loaded_as_itself::<$filter>(Kind::$kind);)*
            };
        }
        for_each_kind!(each);
    }
}
