//! Many keys at once: the memory of each is fetched before it is needed.

use super::Filter;
use crate::Digest;
use crivo_core::memory::{Cache, prefetch};

/// Bytes that are fetched at a time, on most processors.
pub(super) const LINE_BYTES: usize = 64;

/// How many keys ahead memory is fetched: as much as a processor can have under way at a time.
const AHEAD: usize = 64;

/// As many are fetched while as many before them are looked for.
const GROUP: usize = AHEAD / 2;

/// Up to this size a filter is near enough that a processor changes it without help.
const BITS_NEAR: u64 = if cfg!(test) { 1 << 12 } else { 1 << 26 };

/// So many keys ahead memory is fetched where an insertion takes long.
pub(super) const TRIED_AHEAD: usize = 8;

/// Fetches a block.
#[inline(always)]
pub(super) fn fetch<Block>(blocks: &[Block], block: usize, cache: Cache) {
    let block = blocks.as_ptr().wrapping_add(block).cast::<u8>();
    for offset in (0..size_of::<Block>()).step_by(LINE_BYTES) {
        prefetch(block.wrapping_add(offset), cache);
    }
}

/// Answers `contains` for every key and the block that `block_of` gives, of the number of blocks; there
/// are as many hits as keys.
#[inline(always)]
pub(super) fn contains<Block>(
    blocks: &[Block],
    keys: &[Digest],
    hits: &mut [bool],
    block_of: impl Fn(Digest, usize) -> usize,
    contains: impl Fn(&Block, Digest) -> bool,
) {
    let fetch = |&key: &Digest| fetch(blocks, block_of(key, blocks.len()), Cache::Second);
    keys.iter().take(AHEAD).for_each(fetch);
    for (i, (&key, hit)) in keys.iter().zip(hits).enumerate() {
        keys.get(i + AHEAD).into_iter().for_each(fetch);
        *hit = contains(&blocks[block_of(key, blocks.len())], key);
    }
}

/// Answers for every key by itself. There are as many hits as keys.
#[inline(always)]
pub(super) fn look(keys: &[Digest], hits: &mut [bool], look: impl Fn(Digest) -> bool) {
    for (&key, hit) in keys.iter().zip(hits) {
        *hit = look(key);
    }
}

/// Answers for every key: `fetch` tells where it is to be looked for, and asks for the memory, some keys
/// before `look` answers. There are as many hits as keys.
#[inline(always)]
pub(super) fn fetch_and_look<Place: Copy>(
    keys: &[Digest],
    hits: &mut [bool],
    fetch: impl Fn(Digest) -> Place,
    look: impl Fn(Place) -> bool,
) {
    let Some(&first) = keys.first() else {
        return;
    };
    // In groups, because a wrong guess at an answer would hold up the fetching of single keys.
    let mut places = [[fetch(first); GROUP]; 2];
    let fetch_group = |places: &mut [Place; GROUP], keys: &[Digest]| {
        for (place, &key) in places.iter_mut().zip(keys) {
            *place = fetch(key);
        }
    };
    let mut groups = keys.chunks(GROUP);
    fetch_group(&mut places[0], groups.next().unwrap_or_default());
    for (g, hits) in hits.chunks_mut(GROUP).enumerate() {
        fetch_group(&mut places[(g + 1) % 2], groups.next().unwrap_or_default());
        for (hit, &place) in hits.iter_mut().zip(&places[g % 2]) {
            *hit = look(place);
        }
    }
}

/// Inserts all keys by `put`, some at a time, while `fetch` asks for the memory of those after them.
#[inline(always)]
pub(super) fn fetch_and_put<F: Filter>(
    filter: &mut F,
    keys: &[Digest],
    fetch: impl Fn(&F, Digest, Cache),
    put: impl Fn(&mut F, &[Digest]),
) {
    if filter.size_in_bits() <= BITS_NEAR {
        return put(filter, keys);
    }
    in_groups(filter, keys, |filter, key| fetch(filter, key, Cache::Second), put);
}

/// Gives all keys to `put`, some at a time, while `fetch` asks for the memory of those after them.
#[inline(always)]
pub(super) fn in_groups<Table: ?Sized, K: Copy>(
    table: &mut Table,
    keys: &[K],
    fetch: impl Fn(&Table, K),
    put: impl Fn(&mut Table, &[K]),
) {
    let fetch_group = |table: &Table, keys: &[K]| keys.iter().for_each(|&key| fetch(table, key));
    let mut groups = keys.chunks(GROUP).peekable();
    fetch_group(table, groups.peek().copied().unwrap_or_default());
    while let Some(now) = groups.next() {
        fetch_group(table, groups.peek().copied().unwrap_or_default());
        put(table, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use crate::codec;
    use crate::filter::{Kind, Spec};

    /// Filters on both sides of what is near, and numbers of keys on both sides of a group.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn batches_insert_what_single_insertions_do() {
        let hasher = KeyHasher::default();
        for kind in Kind::ALL.into_iter().filter(|kind| kind.capabilities().insert) {
            for capacity in [100, 3_000] {
                let spec = Spec::for_fpr(kind, capacity, 0.01).unwrap();
                for count in [0, 1, 7, 8, 9, 31, 32, 33, 64, 65, 100, 3_000] {
                    // Every third key is one of forty.
                    let keys =
                        (0..count.min(capacity)).map(|i| if i % 3 == 0 { i % 40 } else { i });
                    let digests: Vec<Digest> = keys.map(|key| hasher.digest(&key)).collect();
                    let (mut one_by_one, mut batch) =
                        (spec.build(hasher).unwrap(), spec.build(hasher).unwrap());
                    let inserted =
                        digests.iter().try_for_each(|&key| one_by_one.insert_digest(key).map(drop));
                    let inserted_together = batch.insert_batch(&digests);
                    assert_eq!(inserted.is_ok(), inserted_together.is_ok(), "{kind}, {count}");
                    if inserted.is_err() {
                        // All, or none.
                        one_by_one = spec.build(hasher).unwrap();
                    }
                    let bytes = [&one_by_one, &batch].map(codec::to_bytes);
                    assert!(bytes[0] == bytes[1], "{kind}, {capacity}, {count}");
                }
            }
        }
    }
}
