//! A doorkeeper before any policy.

use super::{Outcome, Policy};
use crate::admit::SecondRequest;

/// Another policy that sees a miss only from the object's second request on.
#[derive(Debug, Clone)]
pub struct Admitted<P> {
    door: SecondRequest,
    cache: P,
}

impl<P: Policy> Admitted<P> {
    /// `cache`, with this doorkeeper before it.
    pub fn new(door: SecondRequest, cache: P) -> Self {
        Self { door, cache }
    }
}

impl<P: Policy> Policy for Admitted<P> {
    fn request(&mut self, object: u64) -> Outcome {
        if self.cache.contains(object) || self.door.admit(&object) {
            self.cache.request(object)
        } else {
            Outcome::REFUSED
        }
    }

    fn contains(&self, object: u64) -> bool {
        self.cache.contains(object)
    }

    fn object_count(&self) -> usize {
        self.cache.object_count()
    }

    fn capacity(&self) -> usize {
        self.cache.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lru;
    use super::*;

    #[test]
    fn a_trace_by_hand() {
        let door = SecondRequest::new(1_000, 1e-6).unwrap();
        let mut cache = Admitted::new(door, Lru::new(2).unwrap());
        let (miss, write, hit) = (Outcome::REFUSED, Outcome::WRITTEN, Outcome::HIT);
        for (object, expected) in [
            (1, miss),
            (1, write),
            (1, hit), // kept from the second request on
            (2, miss),
            (3, miss),
            (4, miss), // asked for once: not kept
            (1, hit),  // … and 1 is still there
            (2, write),
            (3, write), // 1 makes room
            (1, write), // remembered: at once
        ] {
            assert_eq!(cache.request(object), expected, "{object}");
        }
    }
}
