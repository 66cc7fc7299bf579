//! Which buckets a digest means.

use super::evict::{Choices, MAX_CHOICES};
use super::{CuckooOptions, TableLayout};
use crate::load::{entry_limit, slots_for};
use crate::tags::two_digits;
use crivo::Digest;

/// The shape of a table: how many buckets of how many slots, and where a digest points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) choices: usize,
    pub(super) bucket_size: usize,
    /// Buckets that one choice picks from: all of them, or those of its own table.
    range: usize,
    /// How far the range of the next choice lies behind: 0 in a shared table.
    stride: usize,
    buckets: usize,
    /// Whether a digest has two buckets of eight, in one table: the default, and the fastest.
    pub(super) two_of_eight: bool,
}

/// Odd factors that make further hashes of one digest, each of which picks two buckets. The first two
/// choices take the digest itself.
const FACTORS: [u64; MAX_CHOICES / 2] = [1, 0x9e37_79b9_7f4a_7c15];

impl Geometry {
    /// No slots: every digest means bucket 0, which is beyond the end.
    pub(super) fn without_slots(options: &CuckooOptions) -> Self {
        let CuckooOptions { choices, bucket_size, .. } = *options;
        let (range, stride, buckets) = (0, 0, 0);
        Self { choices, bucket_size, range, stride, buckets, two_of_eight: false }
    }

    /// Room for `entries` at `max_load`; `None` for no entries, or if the number overflows.
    pub(super) fn for_entries(
        options: &CuckooOptions,
        entries: usize,
        max_load: f64,
    ) -> Option<Self> {
        Self::with_slots(options, slots_for(entries, max_load)?)
    }

    /// Half as large again, and large enough for `entries` at `max_load`.
    pub(super) fn grown(
        &self,
        options: &CuckooOptions,
        entries: usize,
        max_load: f64,
    ) -> Option<Self> {
        let slots = self.slot_count();
        let larger = slots.checked_add(slots / 2)?;
        Self::with_slots(options, larger.max(slots_for(entries, max_load)?))
    }

    /// How many entries the table may hold.
    pub(super) fn entry_limit(&self, max_load: f64) -> usize {
        entry_limit(self.slot_count(), max_load)
    }

    /// At least `slots` slots, in whole buckets, in tables of equal size.
    ///
    /// `None` if the number of slots overflows.
    fn with_slots(options: &CuckooOptions, slots: usize) -> Option<Self> {
        let CuckooOptions { choices, bucket_size, .. } = *options;
        let buckets = slots.div_ceil(bucket_size);
        let (range, stride) = match options.layout {
            TableLayout::OneTable => (buckets, 0),
            TableLayout::SeparateTables => (buckets.div_ceil(choices), buckets.div_ceil(choices)),
        };
        let buckets = if stride == 0 { range } else { range.checked_mul(choices)? };
        buckets.checked_mul(bucket_size)?;
        let two_of_eight = (choices, bucket_size, stride) == (2, 8, 0) && buckets > 0;
        Some(Self { choices, bucket_size, range, stride, buckets, two_of_eight })
    }

    #[inline]
    pub(super) fn slot_count(&self) -> usize {
        self.buckets * self.bucket_size
    }

    /// The bucket of choice `i`.
    #[inline]
    pub(super) fn bucket(&self, digest: Digest, i: usize) -> usize {
        let hash = digest.get().wrapping_mul(FACTORS[i / 2]);
        let (even, odd) = two_digits(hash, self.range);
        i * self.stride + [even, odd][i % 2]
    }

    #[inline]
    pub(super) fn choices(&self, digest: Digest) -> Choices {
        Choices::new(self.choices, |i| self.bucket(digest, i))
    }

    /// A bit for each of the eight lanes that belong to a bucket.
    #[inline]
    pub(super) fn lanes(&self) -> u32 {
        (1 << self.bucket_size) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;

    #[test]
    fn only_the_default_geometry_takes_the_short_way() {
        for choices in [2, 3] {
            for bucket_size in [7, 8] {
                for layout in [TableLayout::OneTable, TableLayout::SeparateTables] {
                    let options =
                        CuckooOptions { choices, bucket_size, layout, ..Default::default() };
                    let geometry = Geometry::for_entries(&options, 1_000, 0.9).unwrap();
                    let is_default = (choices, bucket_size, layout == TableLayout::OneTable);
                    assert_eq!(geometry.two_of_eight, is_default == (2, 8, true));
                    for key in (0..100u64).filter(|_| geometry.two_of_eight) {
                        let digest = KeyHasher::default().digest(&key);
                        let buckets = (geometry.bucket(digest, 0), geometry.bucket(digest, 1));
                        assert_eq!(two_digits(digest.get(), geometry.slot_count() / 8), buckets);
                    }
                }
            }
        }
        assert!(!Geometry::without_slots(&CuckooOptions::default()).two_of_eight);
    }
}
