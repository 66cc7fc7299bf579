//! What [`AnyFilter`] asks of a kind beyond answering.

use super::AnyFilter;
use crate::Digest;
use crate::filter::{
    Count, DynamicFilter, Full, Occupancy, RebuildError, RemovableFilter, for_each_kind,
};
use crate::theory::estimate::Estimate;

/// The operations of a kind, each as far as the kind can: every default says that it cannot. A kind
/// lists those that it has in one line, with [`operations!`].
pub(in crate::filter) trait Operations: Sized {
    fn any_insert(&mut self, _: Digest) -> Option<Result<bool, Full>> {
        None
    }

    fn any_insert_batch(&mut self, _: &[Digest]) -> Option<Result<(), Full>> {
        None
    }

    fn any_clear(&mut self) -> Option<()> {
        None
    }

    fn any_removable(&mut self) -> Option<&mut dyn RemovableFilter> {
        None
    }

    fn any_count(&self, _: Digest) -> Option<Count> {
        None
    }

    fn any_union(&mut self, _: &Self) -> Option<Result<(), RebuildError>> {
        None
    }

    fn any_intersection(&mut self, _: &Self) -> Option<Result<(), RebuildError>> {
        None
    }

    fn any_estimate(&self) -> Option<Estimate> {
        None
    }

    fn any_fill_fpr(&self) -> Option<f64> {
        None
    }

    fn any_occupancy(&self) -> Option<Occupancy> {
        None
    }

    fn any_stages(&self) -> Vec<&dyn DynamicFilter> {
        Vec::new()
    }
}

/// Implements [`Operations`] for a kind by methods that it has, named by what they are for:
///
/// | | methods |
/// |---|---|
/// | `insert` | those of a [`DynamicFilter`](crate::filter::DynamicFilter), and `insert_batch`, which cannot fail |
/// | `try_insert` | the same, where `insert_batch` can |
/// | `remove` | those of a [`RemovableFilter`], and `count_digest` |
/// | `union`, `intersect` | `union_with`, `intersect_with` |
/// | `estimate`, `fill`, `occupancy` | `estimated_key_count`, `fill_fpr`, `occupancy` |
/// | `stages` | `stages` |
macro_rules! operations {
    ($filter:ty: $($operation:ident),*) => {
        impl $crate::filter::any::Operations for $filter {
            $($crate::filter::any::operations! { @ $operation })*
        }
    };
    (@ insert) => {
        $crate::filter::any::operations! { @ dynamic }

        fn any_insert_batch(&mut self, keys: &[$crate::Digest]) -> Option<Result<(), $crate::filter::Full>> {
            self.insert_batch(keys);
            Some(Ok(()))
        }
    };
    (@ try_insert) => {
        $crate::filter::any::operations! { @ dynamic }

        fn any_insert_batch(&mut self, keys: &[$crate::Digest]) -> Option<Result<(), $crate::filter::Full>> {
            Some(self.insert_batch(keys))
        }
    };
    (@ dynamic) => {
        #[inline(always)]
        fn any_insert(
            &mut self,
            key: $crate::Digest,
        ) -> Option<Result<bool, $crate::filter::Full>> {
            Some($crate::filter::DynamicFilter::insert_digest(self, key))
        }

        fn any_clear(&mut self) -> Option<()> {
            $crate::filter::DynamicFilter::clear(self);
            Some(())
        }
    };
    (@ remove) => {
        fn any_removable(&mut self) -> Option<&mut dyn $crate::filter::RemovableFilter> {
            Some(self)
        }

        fn any_count(&self, key: $crate::Digest) -> Option<$crate::filter::Count> {
            Some(self.count_digest(key))
        }
    };
    (@ union) => {
        fn any_union(
            &mut self,
            other: &Self,
        ) -> Option<Result<(), $crate::filter::RebuildError>> {
            Some(self.union_with(other))
        }
    };
    (@ intersect) => {
        fn any_intersection(
            &mut self,
            other: &Self,
        ) -> Option<Result<(), $crate::filter::RebuildError>> {
            Some(self.intersect_with(other))
        }
    };
    (@ estimate) => {
        fn any_estimate(&self) -> Option<$crate::theory::estimate::Estimate> {
            self.estimated_key_count()
        }
    };
    (@ fill) => {
        fn any_fill_fpr(&self) -> Option<f64> {
            Some(self.fill_fpr())
        }
    };
    (@ occupancy) => {
        fn any_occupancy(&self) -> Option<$crate::filter::Occupancy> {
            Some(self.occupancy())
        }
    };
    (@ stages) => {
        fn any_stages(&self) -> Vec<&dyn $crate::filter::DynamicFilter> {
            let stages = self.stages().iter();
            stages.map(|stage| stage as &dyn $crate::filter::DynamicFilter).collect()
        }
    };
}
pub(in crate::filter) use operations;

macro_rules! delegate {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        impl Operations for AnyFilter {
            #[inline]
            fn any_insert(&mut self, key: Digest) -> Option<Result<bool, Full>> {
                match self { $(Self::$kind(filter) => filter.any_insert(key),)* }
            }

            fn any_insert_batch(&mut self, keys: &[Digest]) -> Option<Result<(), Full>> {
                match self { $(Self::$kind(filter) => filter.any_insert_batch(keys),)* }
            }

            fn any_clear(&mut self) -> Option<()> {
                match self { $(Self::$kind(filter) => filter.any_clear(),)* }
            }

            fn any_removable(&mut self) -> Option<&mut dyn RemovableFilter> {
                match self { $(Self::$kind(filter) => filter.any_removable(),)* }
            }

            fn any_count(&self, key: Digest) -> Option<Count> {
                match self { $(Self::$kind(filter) => filter.any_count(key),)* }
            }

            /// Not for filters of two kinds.
            fn any_union(&mut self, other: &Self) -> Option<Result<(), RebuildError>> {
                match (self, other) {
                    $((Self::$kind(ours), Self::$kind(theirs)) => ours.any_union(theirs),)*
                    _ => None,
                }
            }

            /// Not for filters of two kinds.
            fn any_intersection(&mut self, other: &Self) -> Option<Result<(), RebuildError>> {
                match (self, other) {
                    $((Self::$kind(ours), Self::$kind(theirs)) => ours.any_intersection(theirs),)*
                    _ => None,
                }
            }

            fn any_estimate(&self) -> Option<Estimate> {
                match self { $(Self::$kind(filter) => filter.any_estimate(),)* }
            }

            fn any_fill_fpr(&self) -> Option<f64> {
                match self { $(Self::$kind(filter) => filter.any_fill_fpr(),)* }
            }

            fn any_occupancy(&self) -> Option<Occupancy> {
                match self { $(Self::$kind(filter) => filter.any_occupancy(),)* }
            }

            fn any_stages(&self) -> Vec<&dyn DynamicFilter> {
                match self { $(Self::$kind(filter) => filter.any_stages(),)* }
            }
        }
    };
}
for_each_kind!(delegate);
