//! Caches that keep some of what passes by: which, is their policy.
//!
//! They hold names of objects, all of one size, and no content: they are for simulation. Objects
//! are numbers. A policy is told of every request and answers whether it was a hit, and what it
//! wrote.
//!
//! ```
//! use crivo_lab::sim::admission::policies::{Lru, Outcome, Policy};
//!
//! let mut cache = Lru::new(2)?;
//! for object in [1, 2, 1, 3] {
//!     cache.request(object); // 3 takes the place of 2, which nobody wanted for longest
//! }
//! assert!(cache.request(1).hit);
//! assert!(!cache.request(2).hit);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! | policy | what it keeps |
//! |---|---|
//! | [`Lru`] | what was asked for last |
//! | [`Admitted`] | another policy, which sees misses only from the second request on |
//! | [`WTinyLfu`] | what is asked for most often lately, with a small window for newcomers |
//! | [`S3Fifo`] | what was asked for again while it waited in a small queue |

mod admitted;
mod lru;
mod recency;
mod s3fifo;
mod tinylfu;

pub use admitted::{Admitted, Doorkeeper};
pub use lru::Lru;
pub use s3fifo::S3Fifo;
pub use tinylfu::WTinyLfu;

/// What a request did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The object was in the cache.
    pub hit: bool,
    /// The object was written to the cache. (Moving it from one queue of the cache to another
    /// writes nothing.)
    pub written: bool,
    /// How many objects, this or others, came into the main part of the cache, where that is
    /// separate from a window or a small queue for newcomers. A cache with its newcomers in memory
    /// and the rest on flash writes just these to flash.
    pub written_to_main: u64,
}

impl Outcome {
    /// The object was there.
    pub const HIT: Self = Self { hit: true, written: false, written_to_main: 0 };
    /// The object was not there, and is not now.
    pub const REFUSED: Self = Self { hit: false, written: false, written_to_main: 0 };
    /// The object was not there, and is now, in a cache of one part.
    pub const WRITTEN: Self = Self { hit: false, written: true, written_to_main: 1 };
}

/// A cache of objects that all have the same size.
pub trait Policy {
    /// A request for an object: it is served from the cache, or fetched and perhaps kept.
    fn request(&mut self, object: u64) -> Outcome;

    /// Whether the object is in the cache. Nothing changes.
    fn contains(&self, object: u64) -> bool;

    /// How many objects there are.
    fn object_count(&self) -> usize;

    /// How many objects there can be.
    fn capacity(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crivo_sketch::admission::{AgeingSketch, SecondRequest};

    fn all(capacity: usize) -> Vec<(&'static str, Box<dyn Policy>)> {
        let door = SecondRequest::new(100, 0.01).unwrap();
        vec![
            ("LRU", Box::new(Lru::new(capacity).unwrap())),
            ("admitted", Box::new(Admitted::new(door, Lru::new(capacity).unwrap()))),
            (
                "counted",
                Box::new(Admitted::new(
                    AgeingSketch::new(100).unwrap(),
                    Lru::new(capacity).unwrap(),
                )),
            ),
            ("W-TinyLFU", Box::new(WTinyLfu::new(capacity).unwrap())),
            ("S3-FIFO", Box::new(S3Fifo::new(capacity).unwrap())),
        ]
    }

    proptest! {
        #[test]
        fn every_policy_keeps_its_books(
            capacity in 2usize..30,
            requests in proptest::collection::vec(0u64..60, 0..600),
        ) {
            for (name, mut cache) in all(capacity) {
                let mut seen = HashSet::new();
                let mut written = 0;
                for &object in &requests {
                    let expected = cache.contains(object);
                    let outcome = cache.request(object);
                    prop_assert_eq!(outcome.hit, expected, "{}", name);
                    prop_assert!(!(outcome.hit && outcome.written), "{}", name);
                    prop_assert!(seen.contains(&object) || !outcome.hit, "{}", name);
                    seen.insert(object);
                    written += usize::from(outcome.written);
                    prop_assert!(cache.object_count() <= cache.capacity(), "{}", name);
                    prop_assert!(cache.object_count() <= written, "{}", name);
                }
                let inside = (0..60).filter(|&object| cache.contains(object)).count();
                prop_assert_eq!(inside, cache.object_count(), "{}", name);
                prop_assert_eq!(cache.capacity(), capacity, "{}", name);
            }
        }
    }

    #[test]
    fn what_fits_stays() {
        for (name, mut cache) in all(20) {
            for round in 0..30 {
                for object in 0..15 {
                    let hit = cache.request(object).hit;
                    assert!(hit || round < 3, "{name}: {object} in round {round}");
                }
            }
        }
    }

    #[test]
    fn a_cache_without_room_is_refused() {
        assert!(Lru::new(0).is_err());
        assert!(WTinyLfu::new(1).is_err());
        assert!(S3Fifo::new(1).is_err());
    }
}
