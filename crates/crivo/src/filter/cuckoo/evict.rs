//! Who has to move, so that a new fingerprint finds a place.
//!
//! The search is breadth first and only looks: the buckets one move away, then two, then three.
//! Every bucket seen is full and leads to four others, one for each of its fingerprints, so that
//! the list of what was seen is a tree of its own:
//!
//! ```text
//!   seen      0  1 | 2  3  4  5 | 6  7  8  9 | …      the two buckets of the new fingerprint,
//!   parent           0  0  0  0   1  1  1  1          then four for each bucket before
//!   slot             0  1  2  3   0  1  2  3
//! ```
//!
//! A bucket may be seen twice. No path leads through the second sight of it: whatever it leads to
//! was found from the first, one or more moves nearer. So nobody moves twice.

use super::fields::BUCKET_SIZE;
use super::table::{Bucket, CuckooTable, LoadBucket, Place};
use crivo_core::memory::Cache;

/// The maximum number of buckets that a search looks at before the table counts as full.
const MAX_SEEN: usize = 1 << 11;

/// As many as most searches look at.
const FEW_SEEN: usize = 1 << 7;

const ROOTS: usize = 2;
const CHILDREN: usize = BUCKET_SIZE as usize;

/// Puts a fingerprint, both of whose buckets are full, into one of them, and moves others for it.
/// If there is no way, or no memory to look for it, nothing has moved, and the answer is `false`.
#[cold]
#[inline(never)]
pub(super) fn make_room<L: LoadBucket>(table: &mut CuckooTable, place: &Place) -> bool {
    let mut seen: Vec<Bucket> = Vec::new();
    if seen.try_reserve_exact(FEW_SEEN).is_err() {
        return false;
    }
    seen.extend(place.buckets);
    let Some((last, marked)) = find_empty::<L>(table, &mut seen) else {
        return false;
    };
    // From the empty slot backwards: everyone steps into the place that has just become free.
    let fields = *table.fields();
    let (mut number, mut free) = (last, fields.first(marked));
    while number >= ROOTS {
        let parent = (number - ROOTS) / CHILDREN;
        let slot = ((number - ROOTS) % CHILDREN) as u32 * fields.width();
        let moving = fields.get(table.bucket::<L>(seen[parent]), slot);
        table.flip(seen[number], free, moving);
        table.flip(seen[parent], slot, moving);
        (number, free) = (parent, slot);
    }
    table.flip(seen[number], free, place.fingerprint);
    true
}

/// The first bucket with empty slots, by its number in the list, and the marks of those slots.
fn find_empty<L: LoadBucket>(table: &CuckooTable, seen: &mut Vec<Bucket>) -> Option<(usize, L)> {
    let fields = table.fields();
    let mut number = 0;
    // The list is a tree only without gaps: after the first bucket whose children are left out, no others follow.
    let mut grows = true;
    while let Some(&bucket) = seen.get(number) {
        let content: L = table.bucket(bucket);
        let empty = fields.empty(content);
        if empty != L::NONE {
            return Some((number, empty));
        }
        grows &= seen.len() + CHILDREN <= MAX_SEEN && seen.try_reserve(CHILDREN).is_ok();
        if grows {
            let children: [Bucket; CHILDREN] = std::array::from_fn(|slot| {
                let fingerprint = fields.get(content, slot as u32 * fields.width());
                let next = table.other(bucket, fingerprint);
                table.prefetch(next, Cache::First);
                next
            });
            seen.extend(children);
        }
        number += 1;
    }
    None
}
