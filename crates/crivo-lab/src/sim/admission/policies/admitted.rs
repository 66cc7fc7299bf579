//! A doorkeeper before any policy.

use super::{Outcome, Policy};
use crivo_sketch::admission::{AgeingSketch, SecondRequest};

/// Who says whether an object was asked for before.
#[derive(Debug, Clone)]
pub enum Doorkeeper {
    /// A pair of filters that take turns.
    Filters(SecondRequest),
    /// Counts that fade: from two on, an object was asked for before.
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

/// Another policy that sees a miss only from the object's second request on.
#[derive(Debug, Clone)]
pub struct Admitted<P> {
    door: Doorkeeper,
    cache: P,
}

impl<P: Policy> Admitted<P> {
    /// `cache`, with this doorkeeper before it.
    pub fn new(door: impl Into<Doorkeeper>, cache: P) -> Self {
        Self { door: door.into(), cache }
    }
}

impl<P: Policy> Policy for Admitted<P> {
    fn request(&mut self, object: u64) -> Outcome {
        if self.cache.contains(object) || self.door.admit(object) {
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
        let filters: Doorkeeper = SecondRequest::new(1_000, 1e-6).unwrap().into();
        let counts = AgeingSketch::new(1_000).unwrap().into();
        for door in [filters, counts] {
            check_by_hand(Admitted::new(door, Lru::new(2).unwrap()));
        }
    }

    fn check_by_hand(mut cache: impl Policy) {
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
