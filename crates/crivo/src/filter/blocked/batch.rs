//! Many queries at once: lines are fetched before they are needed.

use super::line::Line;
use crate::Digest;
use crate::hash::reduce;
use crivo_core::memory::prefetch;

/// How many keys ahead a line is fetched: what a processor can have under way at a time, and some.
const AHEAD: usize = 24;

/// Where the key's line is: below the number of lines, if there is any.
#[inline(always)]
pub(super) fn line_of(key: Digest, lines: &[Line]) -> usize {
    reduce(key.get(), lines.len() as u64) as usize
}

/// Answers `contains` for every key and its line; there are as many hits as keys.
#[inline(always)]
pub(super) fn contains(
    lines: &[Line],
    keys: &[Digest],
    hits: &mut [bool],
    contains: impl Fn(&Line, Digest) -> bool,
) {
    let fetch = |&key: &Digest| prefetch(lines.as_ptr().wrapping_add(line_of(key, lines)));
    keys.iter().take(AHEAD).for_each(fetch);
    for (i, (&key, hit)) in keys.iter().zip(hits).enumerate() {
        keys.get(i + AHEAD).into_iter().for_each(fetch);
        *hit = contains(&lines[line_of(key, lines)], key);
    }
}
