//! Building: fingerprints such that the three of every key have its fingerprint as their xor.
//!
//! As long as a place belongs to one key only, that key can be left to the end: whatever the others
//! become, its place makes its xor right. It is taken out, which leaves other places with one key. If
//! all keys are taken out so, they are given their fingerprints in the reverse order. If not, another
//! seed gives every key other places.

use crivo::BuildError;
use crivo_core::Random;
use crivo_core::memory::{reserved, zeroed};

use super::Fingerprint;
use crate::ChangeError;

/// Failures are rare, even for few keys.
const MAX_ATTEMPTS: usize = 100;

/// A key that was taken out, and its place that was its alone.
struct Taken {
    hash: u64,
    place: usize,
}

/// A seed and fingerprints for distinct keys: `places` gives the three places of a mixed key below
/// `length`.
pub(super) fn build<F: Fingerprint>(
    keys: &[u64],
    length: usize,
    places: impl Fn(u64) -> [usize; 3],
) -> Result<(u64, Vec<F>), ChangeError> {
    let mut random = Random::new(0);
    for _ in 0..MAX_ATTEMPTS {
        let seed = random.number();
        let hashes = keys.iter().map(|&key| super::mix(key, seed));
        if let Some(order) = peel(hashes, keys.len(), length, &places)? {
            let mut fingerprints = zeroed::<F>(length)?;
            for Taken { hash, place } in order.into_iter().rev() {
                let [a, b, c] = places(hash);
                // The place itself is still 0, so that it does no harm among the three.
                let others = fingerprints[a] ^ fingerprints[b] ^ fingerprints[c];
                fingerprints[place] = F::of(hash) ^ others;
            }
            return Ok((seed, fingerprints));
        }
    }
    Err(ChangeError::NoSeed)
}

/// The keys in the order in which they can be taken out, if all can.
fn peel(
    hashes: impl Iterator<Item = u64>,
    count: usize,
    length: usize,
    places: impl Fn(u64) -> [usize; 3],
) -> Result<Option<Vec<Taken>>, BuildError> {
    // Of each place: how many keys have it, and the xor of their hashes.
    let mut table = zeroed::<(u32, u64)>(length)?;
    for hash in hashes {
        for place in places(hash) {
            table[place].0 += 1;
            table[place].1 ^= hash;
        }
    }
    // The count of a place falls to 1 at most once.
    let out_of_memory = || BuildError::OutOfMemory { bytes: length * size_of::<Taken>() };
    let mut alone: Vec<usize> = reserved(length).ok_or_else(out_of_memory)?;
    alone.extend((0..length).filter(|&place| table[place].0 == 1));
    let mut order = reserved(count).ok_or_else(out_of_memory)?;
    while let Some(place) = alone.pop() {
        let (1, hash) = table[place] else { continue };
        order.push(Taken { hash, place });
        for other in places(hash) {
            table[other].0 -= 1;
            table[other].1 ^= hash;
            if table[other].0 == 1 {
                alone.push(other);
            }
        }
    }
    Ok((order.len() == count).then_some(order))
}
