//! Filters from all their keys: one by one, or on several threads.
//!
//! Keys that mark bits or counters of a table are sorted by [ranges](super::ranges) of it, and the fingerprints of a
//! quotient filter by parts of its table (`quotient::sort`). Small tables of bits, and quotient filters that are
//! hardly filled or have long fingerprints, are built in shares:
//!
//! ```text
//!   keys      [ a  b | c  d | e  f | g  h | i  j | k  l ]   a few for whoever is free
//!                 ↓       ↘    ↙      ↓       ↘    ↙
//!   filters   {a b g h}   {c d e f}   {i j k l}             each by the whole specification
//!                    ╲      ╱             │
//!               {a b c d e f g h}         │                 whoever is ready unites two
//!                            ╲            │
//!                     {a b c d e f g h i j k l}
//! ```
//!
//! A filter that can be united with another is as if all keys had been inserted into it, whatever
//! the order: bits are set, counters are added and stay at their maximum, fingerprints are sorted. So
//! both ways give the same bytes as one thread. Shares take a filter of memory for each thread, ranges
//! one for all of them; where that is too much, or anything else goes wrong, one thread does it all.
//!
//! Where a key lies in a cuckoo filter depends on the keys before it, and two of them have no place
//! for the keys of both. It is built in order. So are the stages of a growing filter, each on all threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::any::Operations;
use super::ranges::{self, Marked};
use super::threads::{self, lock};
use super::{FilterSpec, Full, SpecError};
use crate::{Digest, KeyHasher};

/// How many digests are computed before they are inserted, in a batch that fetches ahead. Many, because processors read
/// ahead in items that lie one after the other, and must begin anew after each batch; few, where there are few.
pub(super) const BATCH: usize = 1 << 12;
pub(super) const SMALL_BATCH: usize = 1 << 8;

/// A thread takes so many items at a time: where processors are not equally fast, or begin at different times, they end
/// together all the same.
const TAKEN: usize = if cfg!(test) { 1 << 4 } else { 1 << 12 };

/// [`FilterSpec::build_by`] for kinds that take keys one by one, and cannot be united.
pub(super) fn in_order<S, T>(
    spec: &S,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest,
    threads: Option<usize>,
    hasher: KeyHasher,
) -> Result<S::Filter, SpecError>
where
    S: FilterSpec<Filter: Operations>,
{
    const { assert!(S::CAPABILITIES.insert && !S::CAPABILITIES.merge) };
    threads::count_for(threads, 0)?;
    filled(spec, items, digest_of, hasher)
}

/// [`FilterSpec::build_by`] for kinds that can be united, in no better way.
pub(super) fn in_shares<S, T>(
    spec: &S,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest + Sync,
    threads: Option<usize>,
    hasher: KeyHasher,
) -> Result<S::Filter, SpecError>
where
    S: FilterSpec<Filter: Operations + Send> + Sync,
    T: Sync,
{
    const { assert!(S::CAPABILITIES.insert && S::CAPABILITIES.merge) };
    let threads = threads::count_for(threads, items.len())?;
    let shared = if threads == 1 { None } else { united(spec, items, &digest_of, threads, hasher) };
    shared.map_or_else(|| filled(spec, items, digest_of, hasher), Ok)
}

/// [`FilterSpec::build_by`] for kinds whose keys mark places of a table.
pub(super) fn in_ranges<S, T>(
    spec: &S,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest + Sync,
    threads: Option<usize>,
    hasher: KeyHasher,
) -> Result<S::Filter, SpecError>
where
    S: FilterSpec<Filter: Operations + Marked + Send> + Sync,
    T: Sync,
{
    const { assert!(S::CAPABILITIES.insert && S::CAPABILITIES.merge) };
    let threads = threads::count_for(threads, items.len())?;
    let bytes = (spec.size_in_bits() / 8).saturating_mul(threads as u64);
    if threads > 1 && bytes <= S::Filter::SHARED_BYTES as u64 {
        return in_shares(spec, items, digest_of, Some(threads), hasher);
    }
    let mut filter = spec.build(hasher)?;
    if threads > 1 {
        let (marking, words) = filter.marking();
        if ranges::mark(marking, words, items, &digest_of, threads).is_some() {
            filter.add_key_count(items.len() as u64);
            return Ok(filter);
        }
    }
    fill(&mut filter, items, digest_of)?;
    Ok(filter)
}

/// The filter, from as many shares as there are threads; nothing if there is no memory for all of
/// them, or no room for all keys.
fn united<S, T>(
    spec: &S,
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
    hasher: KeyHasher,
) -> Option<S::Filter>
where
    S: FilterSpec<Filter: Operations + Send> + Sync,
    T: Sync,
{
    // A filter that waits for another one.
    let waiting = Mutex::new(None);
    let next = AtomicUsize::new(0);
    let take = || items.chunks(TAKEN).nth(next.fetch_add(1, Ordering::Relaxed));
    let build_share = |_: usize| {
        // Others may have taken all.
        let Some(share) = take() else { return Some(()) };
        let mut filter = filled(spec, share, digest_of, hasher).ok()?;
        while let Some(share) = take() {
            fill(&mut filter, share, digest_of).ok()?;
        }
        loop {
            let mut place = lock(&waiting);
            let Some(other) = place.take() else {
                *place = Some(filter);
                return Some(());
            };
            drop(place);
            filter.any_union(&other)?.ok()?;
        }
    };
    let built = threads::each(0..threads, build_share);
    let all = built.iter().all(Option::is_some);
    // Without items there is nothing here.
    waiting.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).filter(|_| all)
}

/// The filter, on this thread.
fn filled<S, T>(
    spec: &S,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest,
    hasher: KeyHasher,
) -> Result<S::Filter, SpecError>
where
    S: FilterSpec<Filter: Operations>,
{
    let mut filter = spec.build(hasher)?;
    fill(&mut filter, items, digest_of)?;
    Ok(filter)
}

/// Inserts all items, on this thread.
fn fill<F: Operations, T>(
    filter: &mut F,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest,
) -> Result<(), Full> {
    if items.len() <= SMALL_BATCH {
        fill_in_batches::<_, _, SMALL_BATCH>(filter, items, digest_of)
    } else {
        fill_in_batches::<_, _, BATCH>(filter, items, digest_of)
    }
}

/// Out of line: a caller needs the stack for one of them only.
#[inline(never)]
fn fill_in_batches<F: Operations, T, const BATCH: usize>(
    filter: &mut F,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest,
) -> Result<(), Full> {
    let mut batch = [Digest::new(0); BATCH];
    for items in items.chunks(BATCH) {
        for (digest, item) in batch.iter_mut().zip(items) {
            *digest = digest_of(item);
        }
        let inserted = filter.any_insert_batch(&batch[..items.len()]);
        inserted.expect("a kind that inserts has batches")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::filter::QuotientSpec;

    /// Shares of any size, also where there are more threads than keys, and keys that come often.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn shares_give_the_bytes_of_one_thread() {
        let hasher = KeyHasher::default();
        let digest_of = |key: &u64| hasher.digest(key);
        let spec = QuotientSpec::for_fpr(3_000, 0.01).unwrap();
        for count in [1u64, 2, 3, 7, 255, 256, 257, 2_000] {
            // Every third key is one of forty, so often that counters of four bits reach their end.
            let keys: Vec<u64> = (0..count).map(|i| if i % 3 == 0 { i % 40 } else { i }).collect();
            let alone = filled(&spec, &keys, digest_of, hasher).unwrap();
            for threads in [1, 2, 3, 8] {
                let filter = united(&spec, &keys, &digest_of, threads, hasher).unwrap();
                assert_eq!(filter.key_count(), count);
                assert!(codec::to_bytes(&filter) == codec::to_bytes(&alone), "{count}, {threads}");
            }
        }
        assert!(united(&spec, &[], &digest_of, 2, hasher).is_none());
    }

    /// More keys than a quotient filter has room for fit into its shares.
    #[test]
    fn shares_without_room_for_their_union_are_no_filter() {
        let hasher = KeyHasher::default();
        let spec = QuotientSpec::for_fpr(100, 0.01).unwrap();
        let keys: Vec<u64> = (0..150).collect();
        assert!(united(&spec, &keys, &|key| hasher.digest(key), 2, hasher).is_none());
    }
}
