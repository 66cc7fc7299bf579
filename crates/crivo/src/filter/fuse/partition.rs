//! Keys in the order of their cells: what keeps the construction within the cache.

use super::equation::FuseGeometry;
use crate::BuildError;
use crivo_core::memory::zeroed;

/// No more buckets than this, so that each one's next place stays in the cache.
const MAX_BUCKETS: u64 = 2048;

/// How the keys are grouped: a bucket holds those whose first cells lie in some neighbouring
/// segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets {
    /// How many cells a bucket covers; all but the last cover as many.
    pub(super) cells: u64,
    pub(super) count: usize,
}

impl Buckets {
    /// One bucket a segment, if there are not too many of them.
    pub(super) fn of(geometry: &FuseGeometry) -> Self {
        let segments = geometry.first_cells / geometry.segment_length;
        let together = segments.div_ceil(MAX_BUCKETS);
        Self {
            cells: together * geometry.segment_length,
            count: segments.div_ceil(together) as usize,
        }
    }
}

/// Mixed digests, bucket by bucket.
pub(super) struct Partition {
    mixed: Vec<u64>,
    /// Where each bucket begins, and at last where the last one ends.
    starts: Vec<usize>,
}

impl Partition {
    /// Mixes and groups `digests`.
    pub(super) fn of(
        geometry: &FuseGeometry,
        buckets: Buckets,
        digests: &[u64],
    ) -> Result<Self, BuildError> {
        let (shift, together) =
            (geometry.segment_length.trailing_zeros(), buckets.cells / geometry.segment_length);
        let bucket_of = |mixed: u64| match (geometry.first_cell(mixed) >> shift, together) {
            // Almost always, and it saves a division.
            (segment, 1) => segment as usize,
            (segment, together) => (segment / together) as usize,
        };
        let mut starts = zeroed(buckets.count + 1)?;
        for &digest in digests {
            starts[bucket_of(geometry.mix(digest)) + 1] += 1;
        }
        for bucket in 0..buckets.count {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next: Vec<usize> = zeroed(starts.len())?;
        next.copy_from_slice(&starts);
        let mut mixed = zeroed(digests.len())?;
        for &digest in digests {
            let key = geometry.mix(digest);
            let place = &mut next[bucket_of(key)];
            mixed[*place] = key;
            *place += 1;
        }
        Ok(Self { mixed, starts })
    }

    /// The mixed digests of one bucket.
    pub(super) fn bucket(&self, bucket: usize) -> &[u64] {
        &self.mixed[self.starts[bucket]..self.starts[bucket + 1]]
    }

    /// How many keys lie in the buckets before `bucket`.
    pub(super) fn keys_before(&self, bucket: usize) -> usize {
        self.starts[bucket]
    }

    /// All mixed digests.
    pub(super) fn mixed(&self) -> &[u64] {
        &self.mixed
    }
}
