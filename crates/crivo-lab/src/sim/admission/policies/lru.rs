//! Least recently used.

use super::recency::Recency;
use super::{Outcome, Policy};
use crivo::ParameterError;

/// Keeps what was asked for last: the oldest makes room for the newest.
///
/// It writes every miss.
#[derive(Debug, Clone)]
pub struct Lru {
    objects: Recency,
    capacity: usize,
}

impl Lru {
    /// A cache for so many objects.
    ///
    /// # Errors
    /// If there is no room for one.
    pub fn new(capacity: usize) -> Result<Self, ParameterError> {
        if capacity == 0 {
            return Err(ParameterError::new("capacity", capacity, "at least 1"));
        }
        Ok(Self { objects: Recency::new(), capacity })
    }
}

impl Policy for Lru {
    fn request(&mut self, object: u64) -> Outcome {
        if self.objects.touch(object) {
            return Outcome::HIT;
        }
        if self.objects.count() >= self.capacity {
            self.objects.pop_oldest();
        }
        self.objects.push(object);
        Outcome::WRITTEN
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
