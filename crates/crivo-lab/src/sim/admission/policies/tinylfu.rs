//! W-TinyLFU: a small window for new objects, and a main part that admits by frequency.

use crivo::{BuildError, ParameterError};
use crivo_sketch::admission::AgeingSketch;

use super::recency::Recency;
use super::{CacheAccess, CachePolicy};

/// A window of 1% for new objects, and a main part that admits an object only if it was requested
/// more often of late than the one that it would evict.
///
/// ```text
///   miss ──► window (LRU, 1%) ──► more frequent? ──► probation ──hit──► protected
///                                     │                  ▲                  │
///                                     └── no: out        └──── overflow ────┘
/// ```
///
/// The main part is LRU in two segments: *probation*, and *protected* with four fifths of it, for
/// those that were hit there. Counts come from an [`AgeingSketch`], which sees every request.
///
/// G. Einziger, R. Friedman, B. Manes, *TinyLFU: a highly efficient cache admission policy*, ToS
/// 2017.
#[derive(Debug, Clone)]
pub struct WTinyLfu {
    window: Recency,
    probation: Recency,
    protected: Recency,
    counts: AgeingSketch,
    window_room: usize,
    protected_room: usize,
    capacity: usize,
}

impl WTinyLfu {
    /// A cache for `capacity` objects.
    ///
    /// # Errors
    /// If `capacity` is below 2, one for the window and one for the main part, or memory is exhausted.
    pub fn new(capacity: usize) -> Result<Self, BuildError> {
        if capacity < 2 {
            return Err(ParameterError::new("capacity", capacity, "at least 2").into());
        }
        let window_room = (capacity / 100).max(1);
        Ok(Self {
            window: Recency::new(),
            probation: Recency::new(),
            protected: Recency::new(),
            counts: AgeingSketch::new(capacity as u64)?,
            window_room,
            protected_room: (capacity - window_room) * 4 / 5,
            capacity,
        })
    }

    /// Moves the oldest object out of an overfull window. Returns whether it entered the main part.
    fn leave_window(&mut self) -> bool {
        let Some(candidate) = self.window.pop_oldest() else { return false };
        let main_count = self.probation.count() + self.protected.count();
        if main_count >= self.capacity - self.window_room {
            let segment = match self.probation.count() {
                0 => &mut self.protected,
                _ => &mut self.probation,
            };
            let victim = segment.oldest();
            let is_more_frequent = victim.is_none_or(|victim| {
                self.counts.estimate(&candidate) > self.counts.estimate(&victim)
            });
            if !is_more_frequent {
                return false;
            }
            segment.pop_oldest();
        }
        self.probation.push(candidate);
        true
    }
}

impl CachePolicy for WTinyLfu {
    fn request(&mut self, object: u64) -> CacheAccess {
        self.counts.observe(&object);
        if self.window.touch(object) || self.protected.touch(object) {
            return CacheAccess::HIT;
        }
        if self.probation.remove(object) {
            self.protected.push(object);
            if self.protected.count() > self.protected_room
                && let Some(demoted) = self.protected.pop_oldest()
            {
                self.probation.push(demoted);
            }
            return CacheAccess::HIT;
        }
        self.window.push(object);
        let entered = self.window.count() > self.window_room && self.leave_window();
        CacheAccess { hit: false, written: true, written_to_main: u64::from(entered) }
    }

    fn contains(&self, object: u64) -> bool {
        [&self.window, &self.probation, &self.protected].iter().any(|part| part.contains(object))
    }

    fn object_count(&self) -> usize {
        self.window.count() + self.probation.count() + self.protected.count()
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
        // Room for six: one in the window, five in the main part, four of them protected.
        let mut cache = WTinyLfu::new(6).unwrap();
        for object in 1..=6 {
            cache.request(object); // window: 6, probation: 1 … 5
        }
        assert_eq!((cache.window.count(), cache.probation.count()), (1, 5));
        for object in [1, 2, 3, 4, 5] {
            assert!(cache.request(object).hit); // protected, and the first is pushed back: 1
        }
        assert_eq!((cache.probation.oldest(), cache.protected.count()), (Some(1), 4));
        // 6 was requested once, 1 twice: 6 is evicted when 7 comes.
        let access = cache.request(7);
        assert_eq!((access.written, access.written_to_main), (true, 0));
        assert!(!cache.contains(6) && cache.contains(1) && cache.contains(7));
        // 7 is requested twice more, and evicts 1.
        assert!(cache.request(7).hit && cache.request(7).hit);
        assert_eq!(cache.request(8).written_to_main, 1);
        assert!(!cache.contains(1) && cache.contains(7));
    }

    #[test]
    fn one_hit_wonders_do_not_get_in() {
        let mut cache = WTinyLfu::new(100).unwrap();
        for _ in 0..3 {
            for object in 0..100 {
                cache.request(object);
            }
        }
        // Few enough that counts are not halved meanwhile: each duel is 1 against 3, unless the
        // sketch counts too high.
        for object in 1_000..1_400 {
            cache.request(object);
        }
        let kept = (0..100).filter(|&object| cache.contains(object)).count();
        assert!(kept >= 90, "{kept}");
    }
}
