//! What a filter of any kind can do beyond answering: as far as its kind can.

use super::{AnyFilter, Operations};
use crate::filter::{
    Count, DynamicFilter, Incompatible, Occupancy, Operation, OperationError, RebuildError,
    RemovableFilter,
};
use crate::theory::estimate::Estimate;
use crate::{Digest, Key};

/// Changing it.
impl AnyFilter {
    /// Makes `key` a member: `true` if it was certainly new, `false` if it may have been a member
    /// before.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Fuse};
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(100, 0.01)?);
    /// assert!(bloom.insert("ana")?);
    /// assert!(bloom.contains("ana"));
    ///
    /// let mut fuse = AnyFilter::from(Fuse::build(["ana"], 0.01)?);
    /// let error = fuse.insert("rui").unwrap_err();
    /// assert_eq!(error.to_string(), "a fuse filter cannot take more keys");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place for it, or a filter of this kind takes no keys. The filter is as it was.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, OperationError> {
        let digest = self.digest_of(key);
        self.insert_digest(digest)
    }

    /// [`insert`](Self::insert) for a digest that this filter's [`hasher`](Self::hasher) made:
    /// `true` if the key was certainly new.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Cuckoo};
    ///
    /// let mut filter = AnyFilter::from(Cuckoo::new(1_000, 0.01)?);
    /// assert!(filter.insert_digest(filter.hasher().digest("ana"))?);
    /// assert!(filter.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place for it, or a filter of this kind takes no keys. The filter is as it was.
    #[inline]
    pub fn insert_digest(&mut self, key: Digest) -> Result<bool, OperationError> {
        match self.any_insert(key) {
            Some(inserted) => Ok(inserted?),
            None => Err(self.cannot(Operation::Insert)),
        }
    }

    /// Makes all of these keys members, or none.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Cuckoo};
    ///
    /// let mut filter = AnyFilter::from(Cuckoo::new(1_000, 0.01)?);
    /// let ana = filter.hasher().digest("ana");
    /// filter.insert_batch(&[ana; 8])?;
    /// assert!(filter.insert_batch(&[ana]).is_err()); // a key has eight slots
    /// assert_eq!(filter.key_count(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no place for all of them, or a filter of this kind takes no keys. Those that found
    /// a place are removed again.
    pub fn insert_batch(&mut self, keys: &[Digest]) -> Result<(), OperationError> {
        match self.any_insert_batch(keys) {
            Some(inserted) => Ok(inserted?),
            None => Err(self.cannot(Operation::Insert)),
        }
    }

    /// Removes one insertion of `key`. See [`RemovableFilter`] for what must not be removed.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Cuckoo};
    ///
    /// let mut cuckoo = AnyFilter::from(Cuckoo::new(1_000, 0.01)?);
    /// cuckoo.insert("ana")?;
    /// cuckoo.remove("ana")?;
    /// assert!(!cuckoo.contains("ana"));
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(1_000, 0.01)?);
    /// let error = bloom.remove("ana").unwrap_err();
    /// assert_eq!(error.to_string(), "a bloom filter cannot remove keys");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key is certainly not a member, or a filter of this kind gives no keys back. The filter
    /// is as it was.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), OperationError> {
        let digest = self.digest_of(key);
        self.remove_digest(digest)
    }

    /// [`remove`](Self::remove) for a digest that this filter's [`hasher`](Self::hasher) made.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Cuckoo};
    ///
    /// let mut filter = AnyFilter::from(Cuckoo::new(1_000, 0.01)?);
    /// filter.insert("ana")?;
    /// filter.remove_digest(filter.hasher().digest("ana"))?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the key is certainly not a member, or a filter of this kind gives no keys back. The filter
    /// is as it was.
    pub fn remove_digest(&mut self, key: Digest) -> Result<(), OperationError> {
        Ok(self.removable()?.remove_digest(key)?)
    }

    /// Removes one insertion of each of these keys that is a member, and returns how many were. The
    /// others are certainly not members.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Cuckoo};
    ///
    /// let mut filter = AnyFilter::from(Cuckoo::new(1_000, 0.01)?);
    /// filter.insert("ana")?;
    /// let digests = ["ana", "rui"].map(|key| filter.hasher().digest(key));
    /// assert_eq!(filter.remove_batch(&digests)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a filter of this kind gives no keys back.
    pub fn remove_batch(&mut self, keys: &[Digest]) -> Result<u64, OperationError> {
        let filter = self.removable()?;
        let removed = keys.iter().filter(|&&key| filter.remove_digest(key).is_ok());
        Ok(removed.count() as u64)
    }

    fn removable(&mut self) -> Result<&mut dyn RemovableFilter, OperationError> {
        let error = OperationError::Unsupported { kind: self.kind(), operation: Operation::Remove };
        self.any_removable().ok_or(error)
    }

    /// Removes every key. The memory is kept.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Fuse};
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(1_000, 0.01)?);
    /// bloom.insert("ana")?;
    /// bloom.clear()?;
    /// assert!(bloom.is_empty());
    ///
    /// let mut fuse = AnyFilter::from(Fuse::build(["ana"], 0.01)?);
    /// assert_eq!(fuse.clear().unwrap_err().to_string(), "a fuse filter cannot be cleared");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is a fuse filter, which never changes.
    pub fn clear(&mut self) -> Result<(), OperationError> {
        self.any_clear().ok_or_else(|| self.cannot(Operation::Clear))
    }

    /// Takes in every key of `other`, as the filters' own `union_with` do.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Cuckoo};
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(100, 0.01)?);
    /// let cuckoo = AnyFilter::from(Cuckoo::new(100, 0.01)?);
    /// assert_eq!(
    ///     bloom.union_with(&cuckoo).unwrap_err().to_string(),
    ///     "the filters cannot be merged: kind is bloom in one and cuckoo in the other"
    /// );
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the filters differ in their kind or in a parameter, their kind cannot be merged, or there
    /// is no room for the keys of both. The filter is as it was.
    pub fn union_with(&mut self, other: &Self) -> Result<(), OperationError> {
        match self.any_union(other) {
            Some(merged) => Ok(merged?),
            None => Err(self.cannot_with(other, Operation::Union)),
        }
    }

    /// Keeps what is in both, as the filters' own `intersect_with` do.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom};
    ///
    /// let mut ours = AnyFilter::from(Bloom::new(1_000, 0.01)?);
    /// let mut theirs = ours.clone();
    /// for key in ["ana", "eva"] {
    ///     ours.insert(key)?;
    /// }
    /// theirs.insert("eva")?;
    /// ours.intersect_with(&theirs)?;
    /// assert!(ours.contains("eva") && !ours.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the filters differ in their kind or in a parameter, or their kind cannot be intersected.
    /// The filter is as it was.
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), OperationError> {
        match self.any_intersection(other) {
            Some(merged) => Ok(merged?),
            None => Err(self.cannot_with(other, Operation::Intersect)),
        }
    }

    #[cold]
    fn cannot(&self, operation: Operation) -> OperationError {
        OperationError::Unsupported { kind: self.kind(), operation }
    }

    /// Why nothing can be done with a filter that may be of another kind.
    fn cannot_with(&self, other: &Self, operation: Operation) -> OperationError {
        if self.kind() == other.kind() {
            return self.cannot(operation);
        }
        RebuildError::from(Incompatible::new("kind", self.kind(), other.kind())).into()
    }
}

/// Questions beyond membership.
impl AnyFilter {
    /// How often `key` was inserted and not removed: never less than the truth.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Count, CountingBloom};
    ///
    /// let mut filter = AnyFilter::from(CountingBloom::new(1_000, 0.01)?);
    /// filter.insert("ana")?;
    /// filter.insert("ana")?;
    /// assert_eq!(filter.count("ana")?, Count::AtMost(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a filter of this kind does not count.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> Result<Count, OperationError> {
        self.count_digest(self.digest_of(key))
    }

    /// [`count`](Self::count) for a digest.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Count, Quotient};
    ///
    /// let mut quotient = AnyFilter::from(Quotient::new(1_000, 0.01)?);
    /// quotient.insert("ana")?;
    /// let ana = quotient.hasher().digest("ana");
    /// assert_eq!(quotient.count_digest(ana)?, Count::AtMost(1));
    ///
    /// let bloom = AnyFilter::from(Bloom::new(1_000, 0.01)?);
    /// assert!(bloom.count_digest(ana).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a filter of this kind does not count.
    pub fn count_digest(&self, key: Digest) -> Result<Count, OperationError> {
        self.any_count(key).ok_or_else(|| self.cannot(Operation::Count))
    }

    /// The number of different keys, estimated from the table, where that is possible: in Bloom
    /// filters of one stage. `None` also if the table is so full that it says nothing.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Cuckoo};
    ///
    /// let mut bloom = AnyFilter::from(Bloom::new(1_000, 0.01)?);
    /// for _ in 0..3 {
    ///     bloom.insert("ana")?;
    /// }
    /// assert_eq!(bloom.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
    /// assert_eq!(AnyFilter::from(Cuckoo::new(1_000, 0.01)?).estimated_key_count(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimated_key_count(&self) -> Option<Estimate> {
        self.any_estimate()
    }

    /// How many keys it is made for: `None` for any number, as a growing filter is. A fuse filter
    /// is made for those that it has.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Fuse, Growing};
    ///
    /// assert_eq!(AnyFilter::from(Bloom::new(1_000, 0.01)?).capacity(), Some(1_000));
    /// assert_eq!(AnyFilter::from(Fuse::build(["ana"], 0.01)?).capacity(), Some(1));
    /// assert_eq!(AnyFilter::from(Growing::new(1_024, 0.01)?).capacity(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity(&self) -> Option<u64> {
        (!self.kind().capabilities().unlimited).then(|| self.spec().capacity())
    }

    /// The FPR that theory gives when it holds as many distinct keys as it is made for; for a growing
    /// filter, the FPR that it keeps.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom};
    ///
    /// let empty = AnyFilter::from(Bloom::new(1_000_000, 0.01)?);
    /// assert_eq!(empty.expected_fpr(), 0.0);
    /// assert!((empty.expected_fpr_when_full() - 0.01).abs() < 1e-6);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected_fpr_when_full(&self) -> f64 {
        self.spec().fpr_when_full()
    }

    /// The FPR that theory gives for that many distinct keys.
    ///
    /// [`expected_fpr`](Self::expected_fpr) takes the [`key_count`](Self::key_count) for that, which
    /// is too many where keys were inserted twice.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom};
    ///
    /// let filter = AnyFilter::from(Bloom::new(1_000_000, 0.01)?);
    /// assert_eq!(format!("{:.3}", filter.expected_fpr_with(1_000_000)), "0.010");
    /// assert_eq!(format!("{:.3}", filter.expected_fpr_with(2_000_000)), "0.157");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn expected_fpr_with(&self, key_count: u64) -> f64 {
        self.spec().fpr_at(key_count)
    }

    /// The false-positive rate that the table itself gives, where it can be counted: in Bloom
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
        self.any_fill_fpr()
    }

    /// How much of the table is used, where it is one table whose cells can be free.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Cuckoo, Fuse};
    ///
    /// let mut cuckoo = Cuckoo::new(100, 0.01)?;
    /// cuckoo.insert("ana")?;
    /// assert_eq!(AnyFilter::from(cuckoo).occupancy().unwrap().used, 1);
    /// assert_eq!(AnyFilter::from(Fuse::build(["ana"], 0.01)?).occupancy(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn occupancy(&self) -> Option<Occupancy> {
        self.any_occupancy()
    }

    /// The stages of a filter that grows, the oldest first. A filter of another kind has none.
    ///
    /// ```
    /// use crivo::filter::{AnyFilter, Bloom, Growing};
    ///
    /// let mut growing = Growing::new(2_000, 0.01)?;
    /// growing.extend(0..10_000u64);
    /// let growing = AnyFilter::from(growing);
    /// assert!(growing.stages().len() > 1);
    /// assert_eq!(growing.stages()[0].capacity(), 2_000);
    /// assert!(AnyFilter::from(Bloom::new(100, 0.01)?).stages().is_empty());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn stages(&self) -> Vec<&dyn DynamicFilter> {
        self.any_stages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use crate::filter::{Kind, Spec};

    fn made(kind: Kind, keys: &[u64], hasher: KeyHasher) -> AnyFilter {
        let digests = keys.iter().map(|key| hasher.digest(key)).collect::<Vec<Digest>>();
        Spec::for_fpr(kind, 1000, 0.01).unwrap().build_from(digests, hasher).unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn capabilities_are_what_the_filters_can_do() {
        for kind in Kind::ALL {
            let mut filter = made(kind, &[1], KeyHasher::default());
            let can = kind.capabilities();
            assert_eq!(filter.insert(&3u64).is_ok(), can.insert, "{kind}");
            assert_eq!(filter.remove(&3u64).is_ok(), can.remove, "{kind}");
            assert_eq!(filter.count(&1u64).is_ok(), can.remove, "{kind}");
            let merged = filter.union_with(&made(kind, &[2], KeyHasher::default()));
            // A cuckoo filter merges while there is room.
            assert_eq!(merged.is_ok(), can.merge || kind == Kind::Cuckoo, "{kind}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_union_has_the_keys_of_both() {
        let mergeable = |kind: &Kind| kind.capabilities().merge || *kind == Kind::Cuckoo;
        for kind in Kind::ALL.into_iter().filter(mergeable) {
            let hasher = KeyHasher::xxh3(3);
            let mut filter = made(kind, &[1, 2], hasher);
            filter.union_with(&made(kind, &[2, 3], hasher)).unwrap();
            assert!([1u64, 2, 3].iter().all(|key| filter.contains(key)), "{kind}");
            let other_seed = filter.union_with(&made(kind, &[4], KeyHasher::xxh3(4)));
            let Err(OperationError::Rebuild(RebuildError::Incompatible(error))) = other_seed else {
                panic!("{kind}")
            };
            assert_eq!(error.parameter, "hash function");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn kinds_do_not_mix() {
        let hasher = KeyHasher::default();
        let mut bloom = made(Kind::Bloom, &[1], hasher);
        let error = bloom.union_with(&made(Kind::Blocked, &[1], hasher)).unwrap_err();
        let said = "the filters cannot be merged: kind is bloom in one and blocked in the other";
        assert_eq!(error.to_string(), said);
        let mut fuse = made(Kind::Fuse, &[1], hasher);
        let error = fuse.union_with(&made(Kind::Fuse, &[1], hasher)).unwrap_err();
        let operation = Operation::Union;
        assert_eq!(error, OperationError::Unsupported { kind: Kind::Fuse, operation });
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn rates_follow_the_number_of_keys() {
        for kind in Kind::ALL {
            let filter = made(kind, &[1, 2, 3], KeyHasher::default());
            assert_eq!(filter.expected_fpr_with(3), filter.expected_fpr(), "{kind}");
            assert_eq!(filter.spec().kind(), kind);
            let full = filter.expected_fpr_when_full();
            assert!(full > 0.001 && full <= 0.01 * (1.0 + 1e-9), "{kind}: {full}");
        }
    }
}
