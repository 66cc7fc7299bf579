//! Many queries at once: the memory of each key is fetched before it is needed.

use crate::Digest;
use crivo_core::memory::{Cache, prefetch};

/// Bytes that are fetched at a time, on most processors.
pub(super) const LINE_BYTES: usize = 64;

/// How many keys ahead memory is fetched: as much as a processor can have under way at a time.
const AHEAD: usize = 64;

/// As many are fetched while as many before them are looked for.
const GROUP: usize = AHEAD / 2;

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
