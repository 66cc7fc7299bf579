//! Which buckets a digest means.

use super::evict::{Choices, MAX_CHOICES};
use super::{CuckooOptions, TableLayout};
use crate::load::{entry_limit, slots_for};
use crivo::Digest;
use crivo::hash::reduce;

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
    /// A bit for each lane of a group of two buckets, eight lanes each, that is a slot.
    pub(super) lanes_of_two: u32,
}

/// Odd factors that make further hashes of one digest, whose high bits pick the buckets. The
/// first choice takes the digest itself.
const FACTORS: [u64; MAX_CHOICES] =
    [1, 0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0xd6e8_feb8_6659_fd93];

impl Geometry {
    /// No slots: every digest means bucket 0, which is beyond the end.
    pub(super) fn without_slots(options: &CuckooOptions) -> Self {
        let CuckooOptions { choices, bucket_size, .. } = *options;
        let (range, stride, buckets) = (0, 0, 0);
        Self { choices, bucket_size, range, stride, buckets, two_of_eight: false, lanes_of_two: 0 }
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
        let lanes = (1 << bucket_size) - 1;
        let lanes_of_two = lanes | lanes << 8;
        let two_of_eight = (choices, bucket_size, stride) == (2, 8, 0) && buckets > 0;
        Some(Self { choices, bucket_size, range, stride, buckets, two_of_eight, lanes_of_two })
    }

    #[inline]
    pub(super) fn slot_count(&self) -> usize {
        self.buckets * self.bucket_size
    }

    /// The bucket of choice `i`.
    #[inline]
    pub(super) fn bucket(&self, digest: Digest, i: usize) -> usize {
        let hash = digest.get().wrapping_mul(FACTORS[i]);
        reduce(hash, self.range as u64) as usize + i * self.stride
    }

    /// The first two choices where [`two_of_eight`](Self::two_of_eight) says that these are all.
    #[inline(always)]
    pub(super) fn both_buckets(&self, digest: Digest) -> (usize, usize) {
        let bucket = |i: usize| reduce(digest.get().wrapping_mul(FACTORS[i]), self.range as u64);
        (bucket(0) as usize, bucket(1) as usize)
    }

    #[inline]
    pub(super) fn choices(&self, digest: Digest) -> Choices {
        Choices::new(self.choices, |i| self.bucket(digest, i))
    }

    /// A bit for each of the eight lanes that belong to a bucket.
    #[inline]
    pub(super) fn lanes(&self) -> u32 {
        self.lanes_of_two & 0xff
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;

    #[test]
    fn the_short_way_to_two_buckets_of_eight_leads_to_the_same() {
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
                        assert_eq!(geometry.both_buckets(digest), buckets);
                    }
                }
            }
        }
        assert!(!Geometry::without_slots(&CuckooOptions::default()).two_of_eight);
    }
}
