//! S3-FIFO: three queues, first in, first out.

use std::collections::{HashMap, VecDeque};

use crivo::ParameterError;

use super::recency::Recency;
use super::{CacheAccess, CachePolicy};

/// The maximum count of requests to an object: two bits.
const MAX_COUNT: u8 = 3;

/// Three queues: *small* for new objects, *main* for those that were requested again, and *ghost*
/// for the names of those that were not.
///
/// ```text
///   miss, not a ghost ──► small ──┬── requested twice or more while there ──► main ─┐
///   miss, a ghost ────────────────│───────────────────────────────────────► main    │
///                                 └── otherwise: out, and its name ──► ghost        │
///                                     main, requested since: to the end of main   ◄─┤
///                                     otherwise: out                              ◄─┘
/// ```
///
/// Small has a tenth of the capacity, main the rest, and ghost remembers as many names as main has
/// objects. A hit increments a count, up to three, and moves nothing.
///
/// J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi, *FIFO queues are all you need for cache
/// eviction*, SOSP 2023.
#[derive(Debug, Clone)]
pub struct S3Fifo {
    small: VecDeque<u64>,
    main: VecDeque<u64>,
    /// The requests for each object since it was written, at most [`MAX_COUNT`].
    counts: HashMap<u64, u8>,
    ghost: Ghost,
    small_room: usize,
    capacity: usize,
}

impl S3Fifo {
    /// A cache for `capacity` objects.
    ///
    /// # Errors
    /// If `capacity` is below 2: there are two queues.
    pub fn new(capacity: usize) -> Result<Self, ParameterError> {
        if capacity < 2 {
            return Err(ParameterError::new("capacity", capacity, "at least 2"));
        }
        let small_room = (capacity / 10).max(1);
        Ok(Self {
            small: VecDeque::new(),
            main: VecDeque::new(),
            counts: HashMap::new(),
            ghost: Ghost::new(capacity - small_room),
            small_room,
            capacity,
        })
    }

    /// Makes room for one object. Returns how many were moved from small to main.
    fn make_room(&mut self) -> u64 {
        let mut promoted = 0;
        while self.counts.len() >= self.capacity {
            if self.small.len() >= self.small_room {
                promoted += self.evict_from_small();
            } else {
                self.evict_from_main();
            }
        }
        promoted
    }

    /// Evicts one object from small. Those before it in the queue that were requested again move to
    /// main; returns their number.
    fn evict_from_small(&mut self) -> u64 {
        let mut promoted = 0;
        while let Some(object) = self.small.pop_front() {
            match self.counts.get_mut(&object) {
                Some(count) if *count > 1 => {
                    *count = 0;
                    self.main.push_back(object);
                    promoted += 1;
                    if self.main.len() > self.capacity - self.small_room {
                        self.evict_from_main();
                    }
                }
                _ => {
                    self.counts.remove(&object);
                    self.ghost.push(object);
                    break;
                }
            }
        }
        promoted
    }

    /// Evicts one object from main: the first that was not requested since its last round.
    fn evict_from_main(&mut self) {
        while let Some(object) = self.main.pop_front() {
            match self.counts.get_mut(&object) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    self.main.push_back(object);
                }
                _ => {
                    self.counts.remove(&object);
                    break;
                }
            }
        }
    }
}

impl CachePolicy for S3Fifo {
    fn request(&mut self, object: u64) -> CacheAccess {
        if let Some(count) = self.counts.get_mut(&object) {
            *count = (*count + 1).min(MAX_COUNT);
            return CacheAccess::HIT;
        }
        let promoted = self.make_room();
        let known = self.ghost.remove(object);
        if known {
            self.main.push_back(object);
        } else {
            self.small.push_back(object);
        }
        self.counts.insert(object, 0);
        CacheAccess { hit: false, written: true, written_to_main: promoted + u64::from(known) }
    }

    fn contains(&self, object: u64) -> bool {
        self.counts.contains_key(&object)
    }

    fn object_count(&self) -> usize {
        self.counts.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The names of evicted objects, up to a maximum number; the oldest is forgotten.
#[derive(Debug, Clone)]
struct Ghost {
    names: Recency,
    room: usize,
}

impl Ghost {
    fn new(room: usize) -> Self {
        Self { names: Recency::new(), room }
    }

    /// Adds a name that is not there.
    fn push(&mut self, object: u64) {
        self.names.push(object);
        if self.names.count() > self.room {
            self.names.pop_oldest();
        }
    }

    fn remove(&mut self, object: u64) -> bool {
        self.names.remove(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_by_hand() {
        // Room for ten: one in small, nine in main.
        let mut cache = S3Fifo::new(10).unwrap();
        for object in 1..=10 {
            assert!(!cache.request(object).hit); // small: 1 … 10, since nothing had to go
        }
        assert!(cache.request(1).hit && cache.request(1).hit && cache.request(2).hit);
        // 1 was requested twice: into main. 2 only once: evicted, and its name is kept.
        let access = cache.request(11);
        assert_eq!((access.hit, access.written_to_main), (false, 1));
        assert!(cache.contains(1) && !cache.contains(2));
        assert_eq!(cache.main, [1]);
        // 2 is a ghost: straight into main; 3 makes room.
        assert_eq!(cache.request(2).written_to_main, 1);
        assert_eq!(cache.main, [1, 2]);
        assert!(!cache.contains(3) && cache.contains(4));
        // A stream of new objects does not touch main.
        for object in 100..200 {
            let access = cache.request(object);
            assert_eq!((access.written, access.written_to_main), (true, 0));
        }
        assert!(cache.contains(1) && cache.contains(2));
        assert_eq!(cache.object_count(), 10);
    }

    #[test]
    fn main_gives_a_second_chance_for_each_request() {
        let mut cache = S3Fifo::new(4).unwrap(); // one in small, three in main
        cache.main = VecDeque::from([1, 2, 3]);
        cache.counts = HashMap::from([(1, 2), (2, 0), (3, 1)]);
        cache.evict_from_main();
        assert_eq!(cache.main, [3, 1]); // 1 went round once, 2 went out
        assert_eq!((cache.counts[&1], cache.counts[&3]), (1, 1));
        cache.evict_from_main();
        assert_eq!(cache.main, [1]); // 3, 1 went round; then 3 had no count left
    }

    #[test]
    fn ghosts_are_forgotten_in_order() {
        let mut ghost = Ghost::new(2);
        (1..=3).for_each(|object| ghost.push(object));
        assert!(!ghost.remove(1) && ghost.remove(2) && ghost.remove(3));
        assert!(!ghost.remove(3));
    }
}
