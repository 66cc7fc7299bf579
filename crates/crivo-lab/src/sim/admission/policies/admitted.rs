//! A doorkeeper in front of any policy.

use crivo_sketch::admission::{AgeingSketch, SecondRequest};

use super::{CacheAccess, CachePolicy};

/// Decides whether an object was requested before.
#[derive(Debug, Clone)]
pub enum Doorkeeper {
    /// Two filters in rotation.
    Filters(SecondRequest),
    /// Ageing counts: from two on, an object was requested before.
    Counts(AgeingSketch),
}

impl Doorkeeper {
    fn admit(&mut self, object: u64) -> bool {
        match self {
            Self::Filters(door) => door.admit(&object),
            Self::Counts(sketch) => sketch.observe(&object) >= 2,
        }
    }
}

impl From<SecondRequest> for Doorkeeper {
    fn from(door: SecondRequest) -> Self {
        Self::Filters(door)
    }
}

impl From<AgeingSketch> for Doorkeeper {
    fn from(sketch: AgeingSketch) -> Self {
        Self::Counts(sketch)
    }
}

/// A policy that sees a miss only from the object's second request on.
#[derive(Debug, Clone)]
pub struct Admitted<P> {
    door: Doorkeeper,
    cache: P,
}

impl<P: CachePolicy> Admitted<P> {
    /// `cache` behind this doorkeeper.
    pub fn new(door: impl Into<Doorkeeper>, cache: P) -> Self {
        Self { door: door.into(), cache }
    }
}

impl<P: CachePolicy> CachePolicy for Admitted<P> {
    fn request(&mut self, object: u64) -> CacheAccess {
        if self.cache.contains(object) || self.door.admit(object) {
            self.cache.request(object)
        } else {
            CacheAccess::REFUSED
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
        let filters: Doorkeeper = SecondRequest::new(1_000, 1e-6).unwrap().into();
        let counts = AgeingSketch::new(1_000).unwrap().into();
        for door in [filters, counts] {
            check_by_hand(Admitted::new(door, Lru::new(2).unwrap()));
        }
    }

    fn check_by_hand(mut cache: impl CachePolicy) {
        let (miss, write, hit) = (CacheAccess::REFUSED, CacheAccess::WRITTEN, CacheAccess::HIT);
        for (object, expected) in [
            (1, miss),
            (1, write),
            (1, hit), // admitted at the second request
            (2, miss),
            (3, miss),
            (4, miss), // requested once: not admitted
            (1, hit),  // 1 is still there
            (2, write),
            (3, write), // evicts 1
            (1, write), // still remembered
        ] {
            assert_eq!(cache.request(object), expected, "{object}");
        }
    }
}
