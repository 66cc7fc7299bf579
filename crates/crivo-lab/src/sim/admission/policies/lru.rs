//! Least recently used.

use crivo::ParameterError;

use super::recency::Recency;
use super::{CacheAccess, CachePolicy};

/// Evicts the least recently used object. Every miss is written.
#[derive(Debug, Clone)]
pub struct Lru {
    objects: Recency,
    capacity: usize,
}

impl Lru {
    /// A cache for `capacity` objects.
    ///
    /// # Errors
    /// If `capacity` is 0.
    pub fn new(capacity: usize) -> Result<Self, ParameterError> {
        if capacity == 0 {
            return Err(ParameterError::new("capacity", capacity, "at least 1"));
        }
        Ok(Self { objects: Recency::new(), capacity })
    }
}

impl CachePolicy for Lru {
    fn request(&mut self, object: u64) -> CacheAccess {
        if self.objects.touch(object) {
            return CacheAccess::HIT;
        }
        if self.objects.count() >= self.capacity {
            self.objects.pop_oldest();
        }
        self.objects.push(object);
        CacheAccess::WRITTEN
    }

    fn contains(&self, object: u64) -> bool {
        self.objects.contains(object)
    }

    fn object_count(&self) -> usize {
        self.objects.count()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_by_hand() {
        let mut cache = Lru::new(3).unwrap();
        //                1  2  3  1  4 (−2)  2 (−3)  1  3 (−4)
        let trace = [1, 2, 3, 1, 4, 2, 1, 3];
        let hits: Vec<bool> = trace.iter().map(|&object| cache.request(object).hit).collect();
        assert_eq!(hits, [false, false, false, true, false, false, true, false]);
        assert!(cache.contains(2) && cache.contains(1) && cache.contains(3));
    }
}
