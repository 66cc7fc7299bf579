//! References and smart pointers to filters are filters.

use std::rc::Rc;
use std::sync::Arc;

use super::{DynamicFilter, Filter, Full, NotPresent, RemovableFilter};
use crate::{Digest, KeyHasher};

macro_rules! read_through {
    ($($pointer:ty),*) => {$(
        impl<F: Filter + ?Sized> Filter for $pointer {
            #[inline(always)]
            fn contains_digest(&self, key: Digest) -> bool {
                (**self).contains_digest(key)
            }

            fn contains_batch(&self, keys: &[Digest], hits: &mut [bool]) {
                (**self).contains_batch(keys, hits);
            }

            #[inline]
            fn prefetch_digest(&self, key: Digest) {
                (**self).prefetch_digest(key);
            }

            fn key_count(&self) -> u64 {
                (**self).key_count()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn size_in_bits(&self) -> u64 {
                (**self).size_in_bits()
            }

            fn expected_fpr(&self) -> f64 {
                (**self).expected_fpr()
            }

            #[inline(always)]
            fn hasher(&self) -> KeyHasher {
                (**self).hasher()
            }

            fn bits_per_key(&self) -> f64 {
                (**self).bits_per_key()
            }
        }
    )*};
}

macro_rules! change_through {
    ($($pointer:ty),*) => {$(
        impl<F: DynamicFilter + ?Sized> DynamicFilter for $pointer {
            #[inline(always)]
            fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
                (**self).insert_digest(key)
            }

            fn capacity(&self) -> u64 {
                (**self).capacity()
            }

            fn clear(&mut self) {
                (**self).clear();
            }
        }

        impl<F: RemovableFilter + ?Sized> RemovableFilter for $pointer {
            #[inline(always)]
            fn remove_digest(&mut self, key: Digest) -> Result<(), NotPresent> {
                (**self).remove_digest(key)
            }
        }
    )*};
}

read_through!(&F, &mut F, Box<F>, Rc<F>, Arc<F>);
change_through!(&mut F, Box<F>);
