//! The digests of all keys, on several threads.

// Else zeros that nobody reads would be written first, by one thread.
#![allow(unsafe_code)]

use super::threads;
use crate::{BuildError, Digest};
use crivo_core::memory;

/// The digests of all items, in their order, on that many threads.
///
/// # Errors
/// If there is no memory for them.
pub(super) fn digests<T: Sync>(
    items: &[T],
    digest_of: impl Fn(&T) -> Digest + Sync,
    threads: usize,
) -> Result<Vec<Digest>, BuildError> {
    let bytes = size_of::<Digest>().saturating_mul(items.len());
    let mut digests = memory::reserved(items.len()).ok_or(BuildError::OutOfMemory { bytes })?;
    let share = items.len().div_ceil(threads).max(1);
    let places = &mut digests.spare_capacity_mut()[..items.len()];
    threads::each(places.chunks_mut(share).zip(items.chunks(share)), |(places, items)| {
        for (place, item) in places.iter_mut().zip(items) {
            place.write(digest_of(item));
        }
    });
    // SAFETY: there is room for as many digests as items. Both were cut in the same way, so that each
    // item had its place; all places were written, or `each` has panicked.
    unsafe { digests.set_len(items.len()) };
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn digests_come_in_the_order_of_their_keys() {
        let hasher = KeyHasher::default();
        let keys: Vec<u64> = (0..1_000).collect();
        let one_by_one: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
        for threads in [1, 2, 3, 8] {
            assert_eq!(digests(&keys, |key| hasher.digest(key), threads), Ok(one_by_one.clone()));
        }
        assert_eq!(digests(&[0u64; 0], |key| hasher.digest(key), 2), Ok(Vec::new()));
    }
}
