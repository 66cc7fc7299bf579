//! A table from all its keys, part by part.
//!
//! ```text
//!   keys       [ a  b  c  d  e  f | g  h  i  j  k  l ]         a share for each thread
//!                      ↓                   ↓
//!   sorted     │c e│a  │b d│f  │   │h  │g l│k  │i j│           by parts of the table
//!                ╲               ╱
//!   the table  │ c e h→│ a g l │ b d k→│ f i j │               a part for whoever is free
//! ```
//!
//! The fingerprints of a part are sorted within the cache and written one after the other: nothing is moved
//! to make place. What has no place in a part goes on in the next, so that a part must know where the one
//! before it ends. The first free slot behind n keys with the quotients q1 ≤ q2 ≤ … ≤ qn is
//!
//! ```text
//!   max(first free slot before them + n,  q1 + n,  q2 + n − 1,  …,  qn + 1)
//! ```
//!
//! in which only the first term waits for other parts. The rest is known when the part is sorted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};

use super::geometry::{BLOCK, OFFSETS_PER_WORD, QuotientGeometry};
use super::processor::Best;
use super::table::{MAX_OFFSET, QuotientTable};
use crate::Digest;
use crate::filter::ranges::{MAX_BYTES, touch};
use crate::filter::sorted::{MAX_RANGES, Sorted, Sorting, limits};
use crate::filter::threads::{Meeting, WORTH_A_THREAD, lock, read, together, write};
use crivo_core::memory;

/// Fewer keys are inserted one by one.
const MIN_KEYS: usize = if cfg!(test) { 1 } else { WORTH_A_THREAD };

/// So are those of a table that they leave emptier than this: every slot of it would take time.
const SLOTS_PER_KEY: u64 = 8;

/// Beside the marks of a pass each thread needs a number for every slot and every key of a part: on so few threads that
/// this is a quarter as much again at most. There are at least half as many parts as may be.
const MAX_THREADS: usize = MAX_RANGES / 8;
const MIN_KEYS_OF_THREADS: usize = if cfg!(test) { 1 } else { 1 << 13 };

/// A part has whole words of offsets.
const MIN_PART_BITS: u32 = (BLOCK * OFFSETS_PER_WORD).ilog2();

/// A fingerprint without the number of its part.
type Mark = u32;

/// The first free slot is not known yet.
const UNKNOWN: usize = usize::MAX;

/// Fingerprints by parts of the table.
struct ByPart {
    geometry: QuotientGeometry,
    part_bits: u32,
    /// Others than these are left out.
    first: usize,
    parts: usize,
}

impl Sorting for ByPart {
    type Mark = Mark;

    fn most_marks(&self) -> usize {
        1
    }

    #[inline(always)]
    fn marks(&self, key: Digest, mut put: impl FnMut(usize, Mark)) {
        let bits = self.part_bits + self.geometry.remainder_bits();
        let fingerprint = self.geometry.fingerprint(key.get());
        let part = ((fingerprint >> bits) as usize).wrapping_sub(self.first);
        if part < self.parts {
            put(part, (fingerprint & ((1 << bits) - 1)) as Mark);
        }
    }
}

/// The table of all items, on that many threads. `None` if there are too few of them, or too many; if
/// fingerprints are too long for marks; if keys come so often that there is no room or no place for them; or if
/// there is no memory.
pub(super) fn table_of<T: Sync>(
    geometry: QuotientGeometry,
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
) -> Option<QuotientTable> {
    let count = items.len() as u64;
    let is_worth_it = items.len() >= MIN_KEYS && count >= geometry.slots() / SLOTS_PER_KEY;
    if !is_worth_it || count > geometry.capacity() {
        return None;
    }
    let numbers_per_key = 1 + geometry.slots().div_ceil(count) as usize;
    let numbers_per_mark = numbers_per_key.saturating_mul(passes(geometry, items.len()));
    let most = (items.len() / MIN_KEYS_OF_THREADS / numbers_per_mark).isqrt();
    let most = most.min(MAX_THREADS / numbers_per_mark).max(1);
    let (threads, max_parts) = limits(items.len(), threads.min(most));
    let mut part_bits = MIN_PART_BITS;
    while geometry.slots_in_blocks().div_ceil(1 << part_bits) > max_parts {
        part_bits += 1;
    }
    if part_bits + geometry.remainder_bits() > Mark::BITS {
        return None;
    }
    let mut table = QuotientTable::new(geometry).ok()?;
    Parts::new(&mut table, part_bits)?.fill(items, digest_of, threads)?;
    Some(table)
}

/// All parts at a time, unless their marks would take too much memory: then the keys are read again.
fn passes(geometry: QuotientGeometry, items: usize) -> usize {
    let bytes = MAX_BYTES.max(size_of::<u64>() * geometry.words());
    // Parts have a sixteenth more room than is needed in the mean.
    items.div_ceil(bytes / size_of::<Mark>() / 17 * 16)
}

/// An empty table in parts of 2^`part_bits` quotients, and as many slots.
struct Parts<'a> {
    geometry: QuotientGeometry,
    processor: Best,
    part_bits: u32,
    parts: Vec<Mutex<Part<'a>>>,
    /// The first free slot before each part, and behind the last.
    ends: Vec<AtomicUsize>,
    /// Keys come so often that a range of marks had no room for them, or the table no place.
    lacks_room: AtomicBool,
    lacks_place: AtomicBool,
}

struct Part<'a> {
    words: &'a mut [u64],
    offsets: &'a mut [u64],
}

/// What a thread needs for a part: in the cache, and used again. There is room for any part, but for what is
/// displaced.
struct Scratch {
    /// Of each quotient: where its remainders end.
    run_ends: Vec<u32>,
    /// The remainders by quotients.
    remainders: Vec<Mark>,
    /// What has no place in the part.
    displaced: Vec<Displaced>,
}

struct Displaced {
    slot: usize,
    remainder: Mark,
    is_run_end: bool,
}

impl<'a> Parts<'a> {
    fn new(table: &'a mut QuotientTable, part_bits: u32) -> Option<Self> {
        let QuotientTable { geometry, words, processor } = table.to_mut();
        let part_blocks = (1 << part_bits) / BLOCK;
        let (words, offsets) = words.split_at_mut(geometry.offset_word(0));
        let parts = words
            .chunks_mut(geometry.occupieds_word(part_blocks))
            .zip(offsets.chunks_mut(part_blocks / OFFSETS_PER_WORD))
            .map(|(words, offsets)| Mutex::new(Part { words, offsets }));
        let parts = memory::collected(parts).ok()?;
        let ends = (0..=parts.len()).map(|_| AtomicUsize::new(UNKNOWN));
        let ends = memory::collected(ends).ok()?;
        ends[0].store(0, Ordering::Relaxed);
        let [lacks_room, lacks_place] = [const { AtomicBool::new(false) }; 2];
        Some(Self { geometry, processor, part_bits, parts, ends, lacks_room, lacks_place })
    }

    fn fill<T: Sync>(
        self,
        items: &[T],
        digest_of: &(impl Fn(&T) -> Digest + Sync),
        threads: usize,
    ) -> Option<()> {
        let Self { geometry, part_bits, .. } = self;
        let count = self.parts.len();
        let parts_of_pass = count.div_ceil(passes(geometry, items.len()));
        let by_part =
            |first| ByPart { geometry, part_bits, first, parts: parts_of_pass.min(count - first) };
        let mean =
            (items.len() / threads).div_ceil((geometry.slots() as usize >> part_bits).max(1));
        // More than that, only keys that come often have.
        let room = mean + 6 * mean.isqrt();
        let mut shares = items.chunks(items.len().div_ceil(threads).max(1));
        let mut sorted = memory::reserved(threads)?;
        for _ in 0..threads {
            let marks = Sorted::new(parts_of_pass, room, &by_part(0))?;
            sorted.push(RwLock::new((marks, shares.next().unwrap_or_default())));
        }
        let marks_of_part =
            sorted.iter().map(|sorted: &RwLock<(Sorted<_>, _)>| read(sorted).0.room()).sum();
        let mut scratches = memory::reserved(threads)?;
        for _ in 0..threads {
            scratches.push(Scratch {
                run_ends: memory::reserved(1 << part_bits)?,
                remainders: memory::reserved(marks_of_part)?,
                displaced: Vec::new(),
            });
        }
        let scratches = Mutex::new(scratches);
        let [next_touch, next_share, next_part] = [const { AtomicUsize::new(0) }; 3];
        let take = |next: &AtomicUsize| next.fetch_add(1, Ordering::Relaxed);
        together(threads, |meeting| {
            while let Some(parts) =
                self.parts.chunks(count.div_ceil(threads)).nth(take(&next_touch))
            {
                parts.iter().for_each(|part| touch(lock(part).words));
            }
            // Without one the others would wait for this thread, unless it panics.
            let mut scratch = lock(&scratches).pop().expect("there is one for each thread");
            for first in (0..count).step_by(parts_of_pass) {
                let by_part = by_part(first);
                while let Some(sorted) = sorted.get(take(&next_share)) {
                    let (sorted, items) = &mut *write(sorted);
                    if !sorted.fill(items, digest_of, &by_part).is_empty() {
                        self.lacks_room.store(true, Ordering::Relaxed);
                    }
                }
                // Who is last begins the count of what nobody counts at the time.
                if meeting.wait() {
                    next_share.store(0, Ordering::Relaxed);
                }
                // All threads see the same: it is told only before they meet.
                if self.lacks_room.load(Ordering::Relaxed) {
                    return;
                }
                loop {
                    let part = take(&next_part);
                    if part >= by_part.parts {
                        break;
                    }
                    let marks = |see: &mut dyn FnMut(&[Mark])| {
                        sorted.iter().for_each(|sorted| see(read(sorted).0.of_range(part)));
                    };
                    self.make(first + part, marks, &mut scratch, meeting);
                }
                if meeting.wait() {
                    next_part.store(0, Ordering::Relaxed);
                }
            }
        });
        (!self.lacks_room.into_inner() && !self.lacks_place.into_inner()).then_some(())
    }

    /// Makes a part from its marks, which come thread by thread.
    fn make(
        &self,
        part: usize,
        marks: impl Fn(&mut dyn FnMut(&[Mark])),
        scratch: &mut Scratch,
        meeting: &Meeting,
    ) {
        let (first, bits) = (part << self.part_bits, self.geometry.remainder_bits());
        let Scratch { run_ends, remainders, displaced } = scratch;
        // How often each quotient comes; where its remainders begin; and, when they are there, where they end.
        run_ends.clear();
        run_ends.resize(1 << self.part_bits, 0);
        marks(&mut |marks| marks.iter().for_each(|mark| run_ends[(mark >> bits) as usize] += 1));
        let (mut count, mut own_end) = (0, 0);
        for (quotient, run_end) in (first..).zip(run_ends.iter_mut()) {
            let length = std::mem::replace(run_end, count as u32) as usize;
            count += length;
            if length > 0 {
                own_end = own_end.max(quotient) + length;
            }
        }
        remainders.resize(count, 0);
        marks(&mut |marks| {
            for mark in marks {
                let place = &mut run_ends[(mark >> bits) as usize];
                remainders[*place as usize] = mark & self.geometry.remainder_mask() as Mark;
                *place += 1;
            }
        });
        // Whoever has the part before it has taken it before.
        let known = |end: usize| (end != UNKNOWN).then_some(end);
        let end = meeting.until(|| known(self.ends[part].load(Ordering::Acquire)));
        self.ends[part + 1].store(own_end.max(end.saturating_add(count)), Ordering::Release);
        if self.write(part, end, run_ends, remainders, displaced).is_none() {
            self.lacks_place.store(true, Ordering::Relaxed);
        }
        for Displaced { slot, remainder, is_run_end } in displaced.drain(..) {
            let part = slot >> self.part_bits;
            let mut table = lock(&self.parts[part]);
            let mut table = self.table(table.words);
            let slot = slot - (part << self.part_bits);
            table.set_remainder(slot, remainder.into());
            table.set_run_end(slot, is_run_end);
        }
    }

    /// Writes the runs of a part, if all slots before `end` are taken. `None` if there is no place for them.
    fn write(
        &self,
        part: usize,
        mut end: usize,
        run_ends: &[u32],
        remainders: &mut [Mark],
        displaced: &mut Vec<Displaced>,
    ) -> Option<()> {
        let Part { words, offsets } = &mut *lock(&self.parts[part]);
        let first = part << self.part_bits;
        let slots = words.len() / self.geometry.occupieds_word(1) * BLOCK;
        let mut table = self.table(words);
        let mut begin = 0;
        for (block, run_ends) in run_ends.chunks(BLOCK).take(slots / BLOCK).enumerate() {
            let offset = end.saturating_sub(first + block * BLOCK);
            if offset > MAX_OFFSET {
                return None;
            }
            offsets[block / OFFSETS_PER_WORD] |=
                (offset as u64) << self.geometry.offset_shift(block);
            let mut occupieds = 0;
            let mut before = begin as u32;
            for (bit, &run_end) in run_ends.iter().enumerate() {
                occupieds |= u64::from(run_end != before) << bit;
                before = run_end;
            }
            table.words[self.geometry.occupieds_word(block)] = occupieds;
            while occupieds != 0 {
                let bit = occupieds.trailing_zeros() as usize;
                occupieds &= occupieds - 1;
                let run = &mut remainders[begin..run_ends[bit] as usize];
                begin += run.len();
                if run.len() > 1 {
                    run.sort_unstable();
                }
                let start = end.max(first + block * BLOCK + bit);
                end = start + run.len();
                if end > self.geometry.slots_in_blocks() {
                    return None;
                }
                for (slot, &remainder) in (start..).zip(run.iter()) {
                    let is_run_end = slot + 1 == end;
                    if slot - first < slots {
                        table.set_remainder(slot - first, remainder.into());
                        table.set_run_end(slot - first, is_run_end);
                    } else {
                        displaced.try_reserve(1).ok()?;
                        displaced.push(Displaced { slot, remainder, is_run_end });
                    }
                }
            }
        }
        Some(())
    }

    /// A table of these words, which are a part.
    fn table<'w>(&self, words: &'w mut [u64]) -> QuotientTable<&'w mut [u64]> {
        QuotientTable { geometry: self.geometry, words, processor: self.processor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use crate::filter::{FilterSpec, QuotientSpec};

    fn digest_of(key: &u64) -> Digest {
        KeyHasher::default().digest(key)
    }

    /// Both ways; and neither, if there is no place for the keys. Tells whether there was.
    fn is_the_table_of_insertions(spec: QuotientSpec, keys: &[u64]) -> bool {
        let mut alone = spec.build(KeyHasher::default()).unwrap();
        let alone = keys.iter().all(|key| alone.insert(key).is_ok()).then_some(alone.table);
        for threads in [1, 2, 3, 8] {
            let table = table_of(spec.geometry, keys, &digest_of, threads);
            assert!(table == alone, "{spec:?}, {} keys, {threads} threads", keys.len());
        }
        alone.is_some()
    }

    /// Tables of one part and of many, of every load, with remainders of any length; with several passes, as
    /// marks have little memory here.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn sorted_keys_give_the_table_of_insertions() {
        for capacity in [1u64, 2, 60, 200, 250, 3_000, 20_000] {
            for bits in [1, 2, 7, 13, 24] {
                let spec = QuotientSpec::with_remainder_bits(capacity, bits).unwrap();
                for share in [1.0, 0.9, 0.5, 0.2] {
                    let count = (capacity as f64 * share).ceil() as u64;
                    let keys: Vec<u64> = (0..count).collect();
                    assert!(is_the_table_of_insertions(spec, &keys));
                }
            }
        }
    }

    /// Runs that are longer than a block, and that end in another part.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn keys_that_come_often_are_pushed_into_other_parts() {
        let spec = QuotientSpec::with_remainder_bits(3_000, 7).unwrap();
        let mut fitting = 0;
        for often in [2, 30, 60] {
            for key in 0..50 {
                let mut keys: Vec<u64> = (0..2_500).collect();
                keys.extend(std::iter::repeat_n(key, often));
                fitting += u32::from(is_the_table_of_insertions(spec, &keys));
            }
        }
        // Few of the keys, if any, lie so near the end of the table that their copies run over it.
        assert!((140..=150).contains(&fitting), "{fitting}");
    }

    #[test]
    fn what_cannot_be_sorted_is_left_to_others() {
        let table_of = |spec: QuotientSpec, keys: &[u64]| {
            table_of(spec.geometry, keys, &digest_of, 2).is_some()
        };
        let keys: Vec<u64> = (0..4_000).collect();
        let spec = |capacity, bits| QuotientSpec::with_remainder_bits(capacity, bits).unwrap();
        assert!(table_of(spec(4_000, 24), &keys));
        // Too many keys, fingerprints that are too long, and a table that would be nearly empty.
        assert!(!table_of(spec(3_000, 7), &keys));
        assert!(!table_of(spec(4_000, 25), &keys));
        assert!(!table_of(spec(40_000, 7), &keys));
        // One key so often that its part has no room for the marks.
        assert!(!table_of(spec(40_000, 7), &[5; 30_000]));
    }

    /// At the end of the table there may be no place where one by one there is none, either.
    #[test]
    fn the_last_keys_have_no_place_behind_the_table() {
        let spec = QuotientSpec::with_remainder_bits(3_000, 7).unwrap();
        let last = (0..).find(|key| {
            let quotient = spec.geometry.split(spec.geometry.fingerprint(digest_of(key).get())).0;
            quotient as u64 == spec.geometry.slots() - 1
        });
        let keys = vec![last.unwrap(); 500];
        let mut filter = spec.build(KeyHasher::default()).unwrap();
        assert!(keys.iter().try_for_each(|key| filter.insert(key).map(drop)).is_err());
        assert!(
            Parts::new(&mut QuotientTable::new(spec.geometry).unwrap(), 8)
                .unwrap()
                .fill(&keys, &digest_of, 2)
                .is_none()
        );
    }
}
