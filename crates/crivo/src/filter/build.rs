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
//! Tables of bits are united when all shares are ready, each part of them by one thread.
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
use super::{Filter, FilterSpec, Full, SpecError};
use crate::{Digest, KeyHasher};

/// How many digests are computed before they are inserted, in a batch that fetches ahead. Many, because processors read
/// ahead in items that lie one after the other, and must begin anew after each batch; few, where there are few.
pub(super) const BATCH: usize = 1 << 12;
pub(super) const SMALL_BATCH: usize = 1 << 8;

/// A thread takes so many items at a time: where processors are not equally fast, or begin at different times, they end
/// together all the same.
const TAKEN: usize = if cfg!(test) { 1 << 4 } else { 1 << 12 };

/// Fewer words are not worth a thread that unites them.
const MIN_UNITED: usize = if cfg!(test) { 1 << 4 } else { 1 << 17 };

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
        if let Some(filter) = united_bits(spec, items, &digest_of, threads, hasher) {
            return Ok(filter);
        }
        return filled(spec, items, digest_of, hasher);
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
    let build_share = |_: usize| {
        // Others may have taken all.
        let Some(mut filter) = share(spec, items, digest_of, &next, hasher)? else {
            return Some(());
        };
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

/// [`united`] for tables of bits: they are united by all threads, a part by each.
fn united_bits<S, T>(
    spec: &S,
    items: &[T],
    digest_of: &(impl Fn(&T) -> Digest + Sync),
    threads: usize,
    hasher: KeyHasher,
) -> Option<S::Filter>
where
    S: FilterSpec<Filter: Operations + Marked + Send> + Sync,
    T: Sync,
{
    let next = AtomicUsize::new(0);
    let shares = threads::each(0..threads, |_| share(spec, items, digest_of, &next, hasher));
    let shares: Option<Vec<_>> = shares.into_iter().collect();
    let mut shares = shares?.into_iter().flatten();
    let mut filter = shares.next()?;
    let mut others: Vec<_> = shares.collect();
    let keys = others.iter().map(Filter::key_count).sum();
    let others: Vec<&[u64]> = others.iter_mut().map(|other| &*other.marking().1).collect();
    let words = filter.marking().1;
    let part_words = words.len().div_ceil(threads).max(MIN_UNITED);
    threads::each(words.chunks_mut(part_words).enumerate(), |(part, words)| {
        for other in &others {
            let other = &other[part * part_words..];
            words.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
        }
    });
    filter.add_key_count(keys);
    Some(filter)
}

/// What one of several threads makes of the items that it takes; nothing if others have taken all.
///
/// # Errors
/// `None` if there is no memory, or no room.
fn share<S, T>(
    spec: &S,
    items: &[T],
    digest_of: impl Fn(&T) -> Digest,
    next: &AtomicUsize,
    hasher: KeyHasher,
) -> Option<Option<S::Filter>>
where
    S: FilterSpec<Filter: Operations>,
{
    let take = || items.chunks(TAKEN).nth(next.fetch_add(1, Ordering::Relaxed));
    let Some(taken) = take() else { return Some(None) };
    let mut filter = filled(spec, taken, &digest_of, hasher).ok()?;
    while let Some(taken) = take() {
        fill(&mut filter, taken, &digest_of).ok()?;
    }
    Some(Some(filter))
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
    use crate::filter::{BlockedSpec, BloomSpec, QuotientSpec, SplitBlockSpec};
    use crate::persist::Persist;

    /// Shares of any size, also where there are more threads than keys, and keys that come often.
    fn shares_give_the_bytes_of_insertions<S>(
        spec: S,
        build: impl Fn(&S, &[u64], usize) -> Option<S::Filter>,
    ) where
        S: FilterSpec<Filter: Operations + Persist>,
    {
        let hasher = KeyHasher::default();
        for count in [1u64, 2, 3, 7, 255, 256, 257, 2_000] {
            // Every third key is one of forty.
            let keys: Vec<u64> = (0..count).map(|i| if i % 3 == 0 { i % 40 } else { i }).collect();
            let alone = filled(&spec, &keys, |key| hasher.digest(key), hasher).unwrap();
            for threads in [1, 2, 3, 8] {
                let filter = build(&spec, &keys, threads).unwrap();
                assert_eq!(filter.key_count(), count);
                assert!(codec::to_bytes(&filter) == codec::to_bytes(&alone), "{count}, {threads}");
            }
        }
        assert!(build(&spec, &[], 2).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn shares_give_the_bytes_of_one_thread() {
        let hasher = KeyHasher::default();
        let spec = QuotientSpec::for_fpr(3_000, 0.01).unwrap();
        shares_give_the_bytes_of_insertions(spec, |spec, keys, threads| {
            united(spec, keys, &|key| hasher.digest(key), threads, hasher)
        });
        fn try_bits<S>(spec: S)
        where
            S: FilterSpec<Filter: Operations + Marked + Persist + Send> + Sync,
        {
            shares_give_the_bytes_of_insertions(spec, |spec, keys, threads| {
                let hasher = KeyHasher::default();
                united_bits(spec, keys, &|key| hasher.digest(key), threads, hasher)
            });
        }
        // Also with tables of less than a part.
        for keys in [30, 3_000] {
            try_bits(BloomSpec::for_fpr(keys, 0.01).unwrap());
            try_bits(BlockedSpec::for_fpr(keys, 0.01).unwrap());
            try_bits(SplitBlockSpec::for_fpr(keys, 0.01).unwrap());
        }
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
