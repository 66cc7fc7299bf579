//! The sizes of proofs that transactions are in a block: parts of its Merkle tree.

use super::chain::compact_size;
use super::{HASH_BYTES, HEADER_BYTES};

/// The bytes of a message `merkleblock`: the header, the number of transactions, hashes from which the
/// root follows, and a bit for every node of the tree that was visited.
pub(super) fn proof_bytes(matches: &[bool]) -> u64 {
    let (mut hashes, mut bits) = (0u32, 0u32);
    let mut visit = |start: usize, height: u32| {
        let end = (start + (1 << height)).min(matches.len());
        bits += 1;
        let is_followed = matches[start..end].contains(&true);
        if height == 0 || !is_followed {
            hashes += 1;
        }
        is_followed
    };
    walk(matches.len(), &mut visit);
    message_bytes(f64::from(hashes), f64::from(bits)) as u64
}

/// The same for transactions that match with these probabilities, independently.
pub(super) fn expected_proof_bytes(probabilities: &[f64]) -> f64 {
    let count = probabilities.len();
    // P(no transaction in a subtree matches), by leaves and height.
    let none = |start: usize, height: u32| -> f64 {
        let end = (start + (1 << height)).min(count);
        probabilities[start..end].iter().map(|probability| 1.0 - probability).product()
    };
    let (mut hashes, mut bits) = (0.0, 0.0);
    let top = height_of(count);
    for height in 0..=top {
        for start in (0..count).step_by(1 << height) {
            // A node is visited if its parent has a match, or it is the root.
            let parent_start = start >> (height + 1) << (height + 1);
            let visited = if height == top { 1.0 } else { 1.0 - none(parent_start, height + 1) };
            bits += visited;
            hashes += match height {
                0 => visited,
                // Visited, and without a match itself.
                _ => {
                    none(start, height)
                        - if height == top { 0.0 } else { none(parent_start, height + 1) }
                }
            };
        }
    }
    message_bytes(hashes, bits)
}

fn message_bytes(hashes: f64, bits: f64) -> f64 {
    let flags = (bits / 8.0).ceil();
    HEADER_BYTES as f64
        + 4.0
        + compact_size(hashes as u64) as f64
        + HASH_BYTES as f64 * hashes
        + compact_size(flags as u64) as f64
        + flags
}

/// The height of a Merkle tree with this many leaves.
fn height_of(leaves: usize) -> u32 {
    leaves.next_power_of_two().trailing_zeros()
}

/// Visits a Merkle tree from its root on; below a node only if the visit says so.
fn walk(leaves: usize, visit: &mut impl FnMut(usize, u32) -> bool) {
    let mut stack = vec![(0, height_of(leaves))];
    while let Some((start, height)) = stack.pop() {
        if visit(start, height) && height > 0 {
            let right = start + (1 << (height - 1));
            if right < leaves {
                stack.push((right, height - 1));
            }
            stack.push((start, height - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_have_the_sizes_of_the_protocol() {
        // A block of seven: without a match the root alone, with one the path to it.
        assert_eq!(proof_bytes(&[false; 7]), 80 + 4 + 1 + 32 + 1 + 1);
        let mut matches = [false; 7];
        matches[2] = true;
        // Visited: the root, two below it, two below the left, and leaves 2 and 3: seven. Hashes: of the
        // right half, of leaves 0 and 1, and leaves 2 and 3.
        assert_eq!(proof_bytes(&matches), 80 + 4 + 1 + 4 * 32 + 1 + 1);
        assert_eq!(proof_bytes(&[true]), 80 + 4 + 1 + 32 + 1 + 1);
        for matches in [[true; 7], matches, [false; 7]] {
            let probabilities = matches.map(|is_sent| f64::from(u8::from(is_sent)));
            assert_eq!(expected_proof_bytes(&probabilities), proof_bytes(&matches) as f64);
        }
    }
}
