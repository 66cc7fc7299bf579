//! A filter of whatever kind a file has.

mod change;

use std::fmt;
use std::path::Path;

use super::methods::read_methods;
use super::{
    Blocked, Bloom, CountingBloom, Cuckoo, Filter, Fuse, Growing, GrowingBlocked, Quotient,
    WrongKind,
};
use crate::bits::Words;
use crate::codec::{DecodeError, FileError, Kind, Persist, Save, Stored};
use crate::{Digest, KeyHasher};

/// Makes [`AnyFilter`] of a list: each filter under the name of its [`Kind`]. A line here is all
/// that a new filter needs for `AnyFilter` and for serde.
macro_rules! filters {
    ($($kind:ident($filter:ident),)*) => {
        /// A filter of any kind, as it comes out of a file.
        ///
        /// It answers like every [`Filter`], and is saved and loaded like every filter by [`Save`].
        /// It is changed like the filters themselves; where its kind cannot do what it is asked for,
        /// it returns [`OperationError::Unsupported`](super::OperationError::Unsupported).
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

        impl Stored for AnyFilter {
            fn stored_kind(&self) -> Kind {
                match self { $(Self::$kind(_) => Kind::$kind,)* }
            }

            fn stored_hasher(&self) -> KeyHasher {
                self.hasher()
            }

            fn stored_key_count(&self) -> u64 {
                self.key_count()
            }

            fn stored_parameters(&self) -> Vec<u64> {
                match self { $(Self::$kind(filter) => filter.parameters(),)* }
            }

            fn stored_payload(&self) -> Vec<&[u64]> {
                match self { $(Self::$kind(filter) => filter.payload(),)* }
            }

            fn stored_length(kind: Kind, parameters: &[u64]) -> Result<u64, DecodeError> {
                $(
                    if kind == <$filter>::KIND {
                        return <$filter>::payload_length(parameters);
                    }
                )*
                Err(DecodeError::NotAFilter(kind))
            }

            fn from_stored(
                kind: Kind,
                hasher: KeyHasher,
                key_count: u64,
                parameters: &[u64],
                payload: Words,
            ) -> Result<Self, DecodeError> {
                $(
                    if kind == <$filter>::KIND {
                        return <$filter>::from_parts(hasher, key_count, parameters, payload)
                            .map(Self::$kind);
                    }
                )*
                Err(DecodeError::NotAFilter(kind))
            }
        }

        $(
            const _: () = assert!(
                matches!(<$filter as Persist>::KIND, Kind::$kind),
                "a filter is listed under its own kind",
            );

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

        #[cfg(feature = "serde")]
        crate::codec::serde::implement!(AnyFilter $(, $filter)*);
    };
}

filters! {
    Bloom(Bloom),
    Blocked(Blocked),
    Counting(CountingBloom),
    Cuckoo(Cuckoo),
    Quotient(Quotient),
    Fuse(Fuse),
    Growing(Growing),
    GrowingBlocked(GrowingBlocked),
}

read_methods!(
    AnyFilter,
    hasher: |filter| filter.hasher(),
    example: "let bloom = crivo::filter::Bloom::new(1_000, 0.01)?;\n\
              let mut filter = crivo::filter::AnyFilter::from(bloom);\n\
              filter.insert(\"ana\")?;",
);

impl AnyFilter {
    /// The kind.
    pub fn kind(&self) -> Kind {
        self.stored_kind()
    }

    /// Reads the filter in a file, of whatever kind: [`Save::load`].
    ///
    /// # Errors
    /// If the file cannot be read, or is not a filter, whole and undamaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Header;
    use crate::codec::mock::Folder;
    use crate::filter::{DynamicFilter, FilterExt};

    /// What `AnyFilter` makes of a filter's file must be that filter.
    fn is_opened_as_itself<F: Filter + Save + Clone + Into<AnyFilter>>(filter: F) {
        let kind = filter.stored_kind();
        let folder = Folder::new(kind.name());
        let path = folder.file("seen.crivo");
        filter.save(&path).unwrap();

        let any = AnyFilter::open(&path).unwrap();
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

        assert_eq!(any.to_bytes(), filter.to_bytes());
        assert_eq!(filter.clone().into().to_bytes(), any.to_bytes());
        assert_eq!(F::load(&path).unwrap().to_bytes(), any.to_bytes());
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            let wrong = DecodeError::WrongKind { expected: kind, found: other };
            assert_eq!(F::stored_length(other, &filter.stored_parameters()), Err(wrong));
        }
    }

    fn filled<F: DynamicFilter>(mut filter: F) -> F {
        for key in 0..300u64 {
            filter.insert(&key).unwrap();
        }
        filter
    }

    #[test]
    fn every_kind_is_opened_as_itself() {
        is_opened_as_itself(filled(Bloom::new(300, 0.01).unwrap()));
        is_opened_as_itself(filled(Blocked::new(300, 0.01).unwrap()));
        is_opened_as_itself(filled(CountingBloom::new(300, 0.01).unwrap()));
        is_opened_as_itself(filled(Cuckoo::new(300, 0.01).unwrap()));
        is_opened_as_itself(filled(Quotient::new(300, 0.01).unwrap()));
        is_opened_as_itself(Fuse::build(0..300u64, 0.01).unwrap());
        is_opened_as_itself(filled(Growing::new(100, 0.01).unwrap()));
        is_opened_as_itself(filled(Growing::blocked(100, 0.01).unwrap()));
    }
}
