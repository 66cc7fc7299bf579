//! Cache policies, for simulation.
//!
//! A cache here holds the names of objects, which are numbers, and no content; all objects have the
//! same size. A policy sees every request, and returns whether it was a hit and what was written.
//!
//! ```
//! use crivo_lab::sim::admission::policies::{CachePolicy, Lru};
//!
//! let mut cache = Lru::new(2)?;
//! for object in [1, 2, 1, 3] {
//!     cache.request(object); // 3 evicts 2, the least recently used
//! }
//! assert!(cache.request(1).hit);
//! assert!(!cache.request(2).hit);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! | policy | it keeps |
//! |---|---|
//! | [`Lru`] | the most recently requested objects |
//! | [`Admitted`] | as another policy, which sees misses only from the second request on |
//! | [`WTinyLfu`] | the objects most frequently requested of late, with a small window for new ones |
//! | [`S3Fifo`] | objects that were requested again while they waited in a small queue |

mod admitted;
mod lru;
mod recency;
mod s3fifo;
mod tinylfu;

pub use admitted::{Admitted, Doorkeeper};
pub use lru::Lru;
pub use s3fifo::S3Fifo;
pub use tinylfu::WTinyLfu;

/// The effect of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheAccess {
    /// The object was in the cache.
    pub hit: bool,
    /// The object was written to the cache. (Moving it from one queue of the cache to another
    /// writes nothing.)
    pub written: bool,
    /// The number of objects, this or others, that entered the main part of the cache, where that is
    /// separate from a window or a small queue for new objects. A cache with its new objects in
    /// memory and the rest on flash writes exactly these to flash.
    pub written_to_main: u64,
}

impl CacheAccess {
    /// The object was in the cache.
    pub const HIT: Self = Self { hit: true, written: false, written_to_main: 0 };
    /// The object was not in the cache, and was not admitted.
    pub const REFUSED: Self = Self { hit: false, written: false, written_to_main: 0 };
    /// The object was written to a cache that has one part only.
    pub const WRITTEN: Self = Self { hit: false, written: true, written_to_main: 1 };
}

/// A cache of objects that all have the same size.
pub trait CachePolicy {
    /// Requests an object: it is served from the cache, or fetched and perhaps kept.
    fn request(&mut self, object: u64) -> CacheAccess;

    /// Whether the object is in the cache. Nothing changes.
    fn contains(&self, object: u64) -> bool;

    /// The number of objects in the cache.
    fn object_count(&self) -> usize;

    /// The maximum number of objects.
    fn capacity(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crivo_sketch::admission::{AgeingSketch, SecondRequest};

    fn all(capacity: usize) -> Vec<(&'static str, Box<dyn CachePolicy>)> {
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
        fn hits_and_writes_agree_with_the_content_of_the_cache(
            capacity in 2usize..30,
            requests in proptest::collection::vec(0u64..60, 0..600),
        ) {
            for (name, mut cache) in all(capacity) {
                let mut seen = HashSet::new();
                let mut written = 0;
                for &object in &requests {
                    let expected = cache.contains(object);
                    let access = cache.request(object);
                    prop_assert_eq!(access.hit, expected, "{}", name);
                    prop_assert!(!(access.hit && access.written), "{}", name);
                    prop_assert!(seen.contains(&object) || !access.hit, "{}", name);
                    seen.insert(object);
                    written += usize::from(access.written);
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
    fn objects_that_fit_are_never_evicted() {
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
    fn too_small_a_capacity_is_rejected() {
        assert!(Lru::new(0).is_err());
        assert!(WTinyLfu::new(1).is_err());
        assert!(S3Fifo::new(1).is_err());
    }
}
