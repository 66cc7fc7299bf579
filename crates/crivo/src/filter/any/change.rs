//! What a filter of any kind can do beyond answering: as far as its kind can.

use super::AnyFilter;
use crate::filter::{
    DynamicFilter, Filter, Incompatible, RebuildError, RemovableFilter, blocked, bloom,
};
use crate::theory::bloom as bloom_theory;

impl AnyFilter {
    /// The filter as one that takes keys, unless it is a fuse filter.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Filter, Fuse};
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(100, 0.01)?);
    /// let ana = bloom.hasher().digest("ana");
    /// bloom.as_dynamic_mut().unwrap().insert_digest(ana)?;
    /// assert!(bloom.contains("ana"));
    ///
    /// let mut fuse = AnyFilter::from(Fuse::build(["ana"], 0.01)?);
    /// assert!(fuse.as_dynamic_mut().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_dynamic_mut(&mut self) -> Option<&mut dyn DynamicFilter> {
        Some(match self {
            Self::Bloom(filter) => filter,
            Self::Blocked(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Cuckoo(filter) => filter,
            Self::Quotient(filter) => filter,
            Self::Fuse(_) => return None,
            Self::Growing(filter) => filter,
            Self::GrowingBlocked(filter) => filter,
        })
    }

    /// The filter as one that gives keys back, if it can.
    pub fn as_removable_mut(&mut self) -> Option<&mut dyn RemovableFilter> {
        Some(match self {
            Self::Counting(filter) => filter,
            Self::Cuckoo(filter) => filter,
            Self::Quotient(filter) => filter,
            Self::Bloom(_)
            | Self::Blocked(_)
            | Self::Fuse(_)
            | Self::Growing(_)
            | Self::GrowingBlocked(_) => return None,
        })
    }

    /// How many keys it is made for: `None` for any number, as a growing filter is. A fuse filter
    /// is made for those that it has.
    pub fn capacity(&self) -> Option<u64> {
        match self {
            Self::Bloom(filter) => Some(filter.capacity()),
            Self::Blocked(filter) => Some(filter.capacity()),
            Self::Counting(filter) => Some(filter.capacity()),
            Self::Cuckoo(filter) => Some(filter.capacity()),
            Self::Quotient(filter) => Some(filter.capacity()),
            Self::Fuse(filter) => Some(filter.key_count()),
            Self::Growing(_) | Self::GrowingBlocked(_) => None,
        }
    }

    /// The rate of wrong yeses that theory gives when it holds as many distinct keys as it is made
    /// for; for a growing filter, the rate that it keeps.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Filter};
    ///
    /// let empty = AnyFilter::from(Bloom::new(1_000_000, 0.01)?);
    /// assert_eq!(empty.expected_fpr(), 0.0);
    /// assert!((empty.expected_fpr_when_full() - 0.01).abs() < 1e-6);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected_fpr_when_full(&self) -> f64 {
        match (self, self.capacity()) {
            (Self::Growing(filter), _) => filter.rate(),
            (Self::GrowingBlocked(filter), _) => filter.rate(),
            (_, Some(capacity)) => self.expected_fpr_with(capacity),
            (_, None) => self.expected_fpr(),
        }
    }

    /// The rate of wrong yeses that theory gives for so many distinct keys in its table.
    ///
    /// [`expected_fpr`](Filter::expected_fpr) takes the [`key_count`](Filter::key_count) for that,
    /// which is too many where keys were inserted twice. A fuse filter never has other keys than
    /// its own, and a growing one grows with them: theirs is the present rate.
    pub fn expected_fpr_with(&self, key_count: u64) -> f64 {
        match self {
            Self::Bloom(filter) => {
                bloom::expected_fpr(filter.size_in_bits(), key_count, filter.probes())
            }
            Self::Blocked(filter) => {
                blocked::expected_fpr(filter.blocks(), key_count, filter.probes())
            }
            Self::Counting(filter) => {
                // The dimensions of a filter are valid.
                bloom_theory::rate(filter.counter_count(), key_count, filter.probes())
                    .unwrap_or(1.0)
            }
            Self::Cuckoo(filter) => filter.expected_fpr_with(key_count),
            Self::Quotient(filter) => filter.expected_fpr_with(key_count),
            Self::Fuse(_) | Self::Growing(_) | Self::GrowingBlocked(_) => self.expected_fpr(),
        }
    }

    /// The rate of wrong yeses that the table itself gives, where it can be counted: in Bloom
    /// filters of every form.
    ///
    /// It is right whatever came into the filter, also where the number of different keys is not
    /// known, or was not what theory supposes.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Cuckoo};
    ///
    /// let mut crowded = Bloom::new(100, 0.01)?;
    /// crowded.extend(0..1_000u64);
    /// assert!(AnyFilter::from(crowded).fill_fpr().unwrap() > 0.9);
    /// assert_eq!(AnyFilter::from(Cuckoo::new(100, 0.01)?).fill_fpr(), None);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn fill_fpr(&self) -> Option<f64> {
        match self {
            Self::Bloom(filter) => Some(filter.fill_fpr()),
            Self::Blocked(filter) => Some(filter.fill_fpr()),
            Self::Counting(filter) => Some(filter.fill_fpr()),
            Self::Growing(filter) => Some(filter.fill_fpr()),
            Self::GrowingBlocked(filter) => Some(filter.fill_fpr()),
            Self::Cuckoo(_) | Self::Quotient(_) | Self::Fuse(_) => None,
        }
    }

    /// Takes in every key of `other`, as the filters' own `union_with` do.
    ///
    /// # Errors
    /// If the filters differ in their kind or in a parameter, their kind cannot be merged, or there
    /// is no room for the keys of both. The filter is as it was.
    pub fn union_with(&mut self, other: &Self) -> Result<(), RebuildError> {
        match (self, other) {
            (Self::Bloom(ours), Self::Bloom(theirs)) => Ok(ours.union_with(theirs)?),
            (Self::Blocked(ours), Self::Blocked(theirs)) => Ok(ours.union_with(theirs)?),
            (Self::Counting(ours), Self::Counting(theirs)) => Ok(ours.union_with(theirs)?),
            (Self::Cuckoo(ours), Self::Cuckoo(theirs)) => Ok(ours.union_with(theirs)?),
            (Self::Quotient(ours), Self::Quotient(theirs)) => Ok(ours.union_with(theirs)?),
            (ours, theirs) if ours.kind() == theirs.kind() => {
                Err(RebuildError::Impossible(ours.kind()))
            }
            (ours, theirs) => Err(Incompatible::new("kind", ours.kind(), theirs.kind()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::choose::Abilities;
    use crate::filter::{Kind, Plan};
    use crate::{Digest, KeyHasher};

    fn made(kind: Kind, keys: &[u64], hasher: KeyHasher) -> AnyFilter {
        let digests = keys.iter().map(|key| hasher.digest(key)).collect::<Vec<Digest>>();
        Plan::for_rate(kind, 1000, 0.01).unwrap().build(hasher, digests).unwrap()
    }

    #[test]
    fn the_table_of_abilities_is_what_the_filters_can_do() {
        for kind in Kind::ALL {
            let mut filter = made(kind, &[1], KeyHasher::default());
            let can = Abilities::of(kind);
            assert_eq!(filter.as_dynamic_mut().is_some(), can.dynamic, "{kind}");
            assert_eq!(filter.as_removable_mut().is_some(), can.remove, "{kind}");
            let merged = filter.union_with(&made(kind, &[2], KeyHasher::default()));
            // A cuckoo filter merges while there is room.
            assert_eq!(merged.is_ok(), can.merge || kind == Kind::Cuckoo, "{kind}");
        }
    }

    #[test]
    fn a_union_has_the_keys_of_both() {
        for kind in [Kind::Bloom, Kind::Blocked, Kind::Counting, Kind::Cuckoo, Kind::Quotient] {
            let hasher = KeyHasher::xxh3(3);
            let mut filter = made(kind, &[1, 2], hasher);
            filter.union_with(&made(kind, &[2, 3], hasher)).unwrap();
            assert!([1u64, 2, 3].iter().all(|key| filter.contains(key)), "{kind}");
            let other_seed = filter.union_with(&made(kind, &[4], KeyHasher::xxh3(4)));
            let Err(RebuildError::Incompatible(error)) = other_seed else { panic!("{kind}") };
            assert_eq!(error.parameter, "hash function");
        }
    }

    #[test]
    fn kinds_do_not_mix() {
        let hasher = KeyHasher::default();
        let mut bloom = made(Kind::Bloom, &[1], hasher);
        let error = bloom.union_with(&made(Kind::Blocked, &[1], hasher)).unwrap_err();
        let said = "the filters cannot be merged: kind is bloom in one and blocked in the other";
        assert_eq!(error.to_string(), said);
        let mut fuse = made(Kind::Fuse, &[1], hasher);
        let error = fuse.union_with(&made(Kind::Fuse, &[1], hasher)).unwrap_err();
        assert_eq!(error, RebuildError::Impossible(Kind::Fuse));
    }

    #[test]
    fn rates_follow_the_number_of_keys() {
        for kind in Kind::ALL {
            let filter = made(kind, &[1, 2, 3], KeyHasher::default());
            assert_eq!(filter.expected_fpr_with(3), filter.expected_fpr(), "{kind}");
            let full = filter.expected_fpr_when_full();
            assert!(full > 0.001 && full <= 0.01 * (1.0 + 1e-9), "{kind}: {full}");
        }
    }
}
