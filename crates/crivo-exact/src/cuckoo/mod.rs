//! Cuckoo hashing: a key has d places, and a key that is in the way moves to another of its own.
//!
//! The lecture's example: nine places, and every key has two. All keys but Z have been inserted;
//! its places 7 and 0 are both taken.
//!
//! ```text
//!   place    0   1   2   3   4   5   6   7   8          key   A  B  C  H  P  W  Z
//!   key      A   C   ·   B   H   P   ·   W   ·          h1    0  3  1  4  5  7  7
//!                                                       h2    3  8  2  7  8  4  0
//!
//!   random walk      Z→7, W→4, H→7, Z→0, A→3, B→8       six moves
//!   breadth first    Z→0, A→3, B→8                      the shortest: three
//! ```
//!
//! A lookup looks at d places and nowhere else. Here a place is a *bucket* of b slots, whose
//! tags (eight bits of the digest each) are compared all at once: two choices of eight slots fill
//! to 99.8% in theory, and stay quick to 95%. With d = 2 and b = 1, the textbook's, no table holds
//! beyond 50%: see [`load_threshold`](crivo::theory::cuckoo::load_threshold). [`trace`] shows such an
//! insertion move by move.
//!
//! # What happens when no path is found
//!
//! The key goes to the stash, if there is one with room and the table is not full; else the table is
//! rebuilt with another seed, or larger, or both. If that fails too, although the table is far from
//! full, too many keys share their digests: the key goes to the stash, or, if that is full, the
//! insertion ends in an error. In every case each entry stays where it can be found: searches only look, and a rebuilt table replaces the old one only when
//! it holds every entry.
//!
//! # When not to use it
//!
//! Where memory is no concern, a Swiss table (`std::collections::HashMap`) inserts faster. For
//! keys that an adversary chooses, hash with a secret key.
//!
//! # References
//! - Pagh, Rodler: *Cuckoo Hashing* (2001): the structure, in eight pages.
//! - Dietzfelbinger, Weidling: *Balanced allocation and dictionaries with tightly packed constant
//!   size bins* (2007): why buckets.
//! - Kirsch, Mitzenmacher, Wieder: *More Robust Hashing: Cuckoo Hashing with a Stash* (2009).

mod evict;
mod geometry;
mod map;
mod options;
mod table;
pub mod trace;

pub use map::CuckooMap;
pub use options::{CuckooOptions, Eviction, TableLayout};

#[cfg(test)]
mod tests;
