//! One attempt to solve the equations of all keys: on two threads, if there are many.
//!
//! Segments that overlap like scales have a property worth two processors. The cells at both ends
//! have few users, keys can be taken away there first, and that frees their neighbours: two waves
//! run from the ends towards the middle. So the segments are cut in two; each side is peeled on its
//! own, except for the cells that keys of both sides use; these come last.
//!
//! ```text
//!   first cells in   | left: keys are added and taken away →   | ← right: the same              |
//!   cells            | left                          | shared by both | right                   |
//! ```
//!
//! Each side also adds its keys just before the wave needs them, so that it works on a few
//! segments at a time, which stay in the cache. Where the cut is follows from the geometry alone,
//! and the xors do not depend on the order of the keys: the same keys give the same cells, whatever
//! their order and the number of threads.

use super::equation::FuseGeometry;
use super::partition::{Buckets, Partition};
use super::peel::{Joined, JoinedValues, Order, Queue, Stretch, Value, Values, assign, pack, peel};
use crate::BuildError;
use crate::filter::threads::{both, each};
use crate::theory::fuse::Arity;
use crivo_core::memory::zeroed;

/// Below this many cells the left side takes all: there is nothing to gain.
const WORTH_CUTTING: u64 = 1 << 16;

/// Tries to solve the equations of `digests`, and writes the packed cells to `words`, of which there
/// are as many as the geometry says; `false` if this seed is unlucky, or if there are equal digests
/// among them. Then nothing is written.
///
/// The digests come back in another order, or not at all if it was solved: their memory is used.
pub(in crate::filter) fn solve(
    geometry: &FuseGeometry,
    digests: &mut [u64],
    threads: usize,
    words: &mut [u64],
) -> Result<bool, BuildError> {
    match geometry.arity {
        Arity::Three => solve_with::<3>(geometry, digests, threads, words),
        Arity::Four => solve_with::<4>(geometry, digests, threads, words),
    }
}

fn solve_with<const ARITY: usize>(
    geometry: &FuseGeometry,
    digests: &mut [u64],
    threads: usize,
    words: &mut [u64],
) -> Result<bool, BuildError> {
    let buckets = Buckets::of(geometry);
    let parts = partition(geometry, buckets, digests, threads)?;
    // From here on the keys are in `parts`, and the memory of the digests takes the order.
    let plan = Plan::new(geometry, buckets, &parts);
    let is_solved = solve_parts::<ARITY>(&plan, digests, threads > 1 && plan.is_cut(), words)?;
    if !is_solved {
        let unmix = geometry.unmix();
        let keys = parts.iter().flat_map(Partition::mixed);
        for (digest, &mixed) in digests.iter_mut().zip(keys) {
            *digest = unmix(mixed);
        }
    }
    Ok(is_solved)
}

/// As many parts as threads, each with its own buckets.
fn partition(
    geometry: &FuseGeometry,
    buckets: Buckets,
    digests: &[u64],
    threads: usize,
) -> Result<Vec<Partition>, BuildError> {
    let share = digests.len().div_ceil(threads).max(1);
    each(digests.chunks(share), |share| Partition::of(geometry, buckets, share))
        .into_iter()
        .collect()
}

/// The keys, and where they are cut in two.
struct Plan<'a> {
    geometry: &'a FuseGeometry,
    buckets: Buckets,
    parts: &'a [Partition],
    /// The first bucket of the right side.
    cut: usize,
    /// The first cell that keys of the right side use.
    cut_cell: u64,
    /// From the cut on, this many cells are used by keys of both sides.
    shared: u64,
}

impl<'a> Plan<'a> {
    fn new(geometry: &'a FuseGeometry, buckets: Buckets, parts: &'a [Partition]) -> Self {
        let shared = geometry.overlap();
        let is_cut = geometry.array_length() >= WORTH_CUTTING
            && buckets.count >= 16
            && geometry.segment_length.is_multiple_of(64);
        let cut = if is_cut { buckets.count / 2 } else { buckets.count };
        let cut_cell = (cut as u64 * buckets.cells).min(geometry.first_cells);
        Self { geometry, buckets, parts, cut, cut_cell, shared }
    }

    fn is_cut(&self) -> bool {
        self.cut < self.buckets.count
    }

    fn keys_on_the_left(&self) -> usize {
        self.parts.iter().map(|part| part.keys_before(self.cut)).sum()
    }

    /// Adds the keys of a bucket. `false` if there are too many copies of one key.
    #[must_use]
    fn add<const ARITY: usize>(&self, bucket: usize, stretch: &mut Stretch) -> bool {
        self.parts.iter().all(|part| stretch.add::<ARITY>(self.geometry, part.bucket(bucket)))
    }

    /// Peels the left side: adds bucket after bucket, and takes away what it can.
    fn peel_left<'o, const ARITY: usize>(
        &self,
        mut order: Order<'o>,
    ) -> Result<Option<(Stretch, Order<'o>)>, BuildError> {
        let mut left = Stretch::empty(0..self.cut_cell + self.shared)?;
        let mut queue = Queue::default();
        for bucket in 0..self.cut {
            if !self.add::<ARITY>(bucket, &mut left) {
                return Ok(None);
            }
            // Up to the end of this bucket, no cell gets another user.
            let start = bucket as u64 * self.buckets.cells;
            let end = (start + self.buckets.cells).min(self.cut_cell);
            left.find_single(start..end, &mut queue)?;
            peel::<ARITY>(self.geometry, &mut left, &mut queue, 0..end, &mut order)?;
        }
        Ok(Some((left, order)))
    }

    /// Peels the right side: the same, from its end.
    fn peel_right<'o, const ARITY: usize>(
        &self,
        mut order: Order<'o>,
    ) -> Result<Option<(Stretch, Order<'o>)>, BuildError> {
        let array_length = self.geometry.array_length();
        let mut right = Stretch::empty(self.cut_cell..array_length)?;
        let mut queue = Queue::default();
        let mut end = array_length;
        for bucket in (self.cut..self.buckets.count).rev() {
            if !self.add::<ARITY>(bucket, &mut right) {
                return Ok(None);
            }
            // Keys of the buckets before this one do not reach as far as this.
            let start = bucket as u64 * self.buckets.cells + self.shared;
            right.find_single(start..end, &mut queue)?;
            peel::<ARITY>(self.geometry, &mut right, &mut queue, start..array_length, &mut order)?;
            end = start;
        }
        Ok(Some((right, order)))
    }
}

/// Peels both sides and then what is left of them; after that, gives the cells their values.
fn solve_parts<const ARITY: usize>(
    plan: &Plan<'_>,
    room: &mut [u64],
    parallel: bool,
    words: &mut [u64],
) -> Result<bool, BuildError> {
    let key_count = room.len();
    let (left_room, right_room) = room.split_at_mut(plan.keys_on_the_left());
    let (left, right) = both(
        parallel,
        || plan.peel_left::<ARITY>(Order::new(left_room)?),
        || plan.peel_right::<ARITY>(Order::new(right_room)?),
    );
    let (Some((mut left, left_order)), Some((mut right, right_order))) = (left?, right?) else {
        return Ok(false);
    };

    // From now on what is shared belongs to the right.
    let cut = plan.cut_cell as usize;
    if !right.take_over(&left.sums[cut..], &left.users[cut..]) {
        return Ok(false);
    }
    let remaining = key_count - left_order.len() - right_order.len();
    let mut room = zeroed(remaining)?;
    let mut last_order = Order::new(&mut room)?;
    let mut queue = Queue::default();
    right.find_single(plan.cut_cell..plan.cut_cell + plan.shared, &mut queue)?;
    let mut whole = Joined { left: &mut left, right: &mut right };
    let all_cells = 0..plan.geometry.array_length();
    peel::<ARITY>(plan.geometry, &mut whole, &mut queue, all_cells, &mut last_order)?;
    if last_order.len() < remaining {
        return Ok(false);
    }

    // The values take the place of what was summed, which is much to give back.
    both(parallel, || drop(left), || drop(right));
    let orders = [&left_order, &right_order, &last_order];
    match plan.geometry.width {
        ..=8 => assign_all::<ARITY, u8>(plan, orders, parallel, words)?,
        9..=16 => assign_all::<ARITY, u16>(plan, orders, parallel, words)?,
        _ => assign_all::<ARITY, u32>(plan, orders, parallel, words)?,
    }
    Ok(true)
}

/// Gives the cells their values, for keys that were taken away on the left, on the right and at last.
fn assign_all<const ARITY: usize, V: Value>(
    plan: &Plan<'_>,
    [left_order, right_order, last_order]: [&Order<'_>; 3],
    parallel: bool,
    words: &mut [u64],
) -> Result<(), BuildError> {
    let geometry = plan.geometry;
    let cut = plan.cut_cell as usize;
    let (left, right) = both(
        parallel,
        || Values::<V>::zeroed(0..plan.cut_cell + plan.shared),
        || Values::<V>::zeroed(plan.cut_cell..geometry.array_length()),
    );
    let (mut left, mut right) = (left?, right?);
    // Backwards: what was taken away last comes first; then both sides, which read what they share.
    let mut whole = JoinedValues { left: &mut left, right: &mut right };
    assign::<ARITY, V>(geometry, &mut whole, last_order);
    left.values[cut..].copy_from_slice(&right.values[..plan.shared as usize]);
    both(
        parallel,
        || assign::<ARITY, V>(geometry, &mut left, left_order),
        || assign::<ARITY, V>(geometry, &mut right, right_order),
    );
    if plan.is_cut() {
        // Long segments, of which there are several on each side, begin with a word.
        let (left_words, right_words) = words.split_at_mut(cut / 64 * geometry.width as usize);
        both(
            parallel,
            || pack(geometry.width, &left.values[..cut], left_words),
            || pack(geometry.width, &right.values, right_words),
        );
    } else {
        // All that is on the right is shared.
        pack(geometry.width, &left.values, words);
    }
    Ok(())
}
