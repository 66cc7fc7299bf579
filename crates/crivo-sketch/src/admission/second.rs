//! Admission on the second request, remembered in two filters that take turns.

use crivo::filter::Blocked;
use crivo::{BuildError, Digest, Key, KeyHasher};

/// A doorkeeper for any cache: it admits an object on its second request.
///
/// Call it at every *miss*. It admits what it has seen recently; everything else it remembers, and
/// refuses this time. It remembers the last `window` different objects at least, and twice as many
/// at most, in about 2 · 9.9 bits for each at 1%.
///
/// ```
/// use std::collections::HashMap;
/// use crivo_sketch::admission::SecondRequest;
///
/// let mut cache: HashMap<&str, String> = HashMap::new();
/// let mut door = SecondRequest::new(1_000, 0.01)?;
/// for page in ["/a", "/b", "/a", "/c", "/a"] {
///     if cache.contains_key(page) {
///         continue; // a hit
///     }
///     let content = format!("fetched {page}");
///     if door.admit(page) {
///         cache.insert(page, content);
///     }
/// }
/// assert_eq!(cache.len(), 1); // only "/a" came twice
/// # Ok::<(), crivo::BuildError>(())
/// ```
///
/// # When not to use it
/// Where an adversary chooses the keys, hash with a secret key
/// ([`with_hasher`](Self::with_hasher)): otherwise requests can be crafted that raise the filters' FPR.
#[derive(Debug, Clone)]
pub struct SecondRequest {
    younger: Blocked,
    older: Blocked,
    window: u64,
}

impl SecondRequest {
    /// A doorkeeper that remembers the last `window` different objects, and wrongly admits at most
    /// a fraction `fpr` of the others. It hashes with fold64, seed 0.
    ///
    /// ```
    /// use crivo_sketch::admission::SecondRequest;
    ///
    /// let mut doorkeeper = SecondRequest::new(1_000, 0.01)?;
    /// assert!(!doorkeeper.admit("/index.html"));
    /// assert!(doorkeeper.admit("/index.html"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the window is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn new(window: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(window, fpr, KeyHasher::default())
    }

    /// [`new`](Self::new) with another hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::admission::SecondRequest;
    ///
    /// let doorkeeper = SecondRequest::with_hasher(1_000, 0.01, KeyHasher::xxh3(7))?;
    /// assert_eq!(doorkeeper.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the window is 0, the FPR is not between 0 and 1, or there is no memory.
    pub fn with_hasher(window: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, BuildError> {
        // Two filters are queried, and each has false positives.
        let filter = || Blocked::with_hasher(window, fpr / 2.0, hasher);
        Ok(Self { older: filter()?, younger: filter()?, window })
    }

    /// Whether to keep the object: whether it was requested recently. If not, it is remembered.
    ///
    /// ```
    /// let mut doorkeeper = crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?;
    /// let requests = ["/a", "/b", "/a", "/a"];
    /// assert_eq!(requests.map(|page| doorkeeper.admit(page)), [false, false, true, true]);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn admit<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.admit_digest(self.hasher().digest(key))
    }

    /// [`admit`](Self::admit) by the digest of [`hasher`](Self::hasher).
    ///
    /// ```
    /// let mut doorkeeper = crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?;
    /// let page = doorkeeper.hasher().digest("/index.html");
    /// assert!(!doorkeeper.admit_digest(page));
    /// assert!(doorkeeper.admit("/index.html"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn admit_digest(&mut self, key: Digest) -> bool {
        if self.younger.contains_digest(key) {
            return true;
        }
        let known = self.older.contains_digest(key);
        // What is still asked for must not be forgotten with the older filter.
        self.remember(key);
        known
    }

    /// Whether the object is remembered. Nothing changes.
    ///
    /// ```
    /// let mut doorkeeper = crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?;
    /// doorkeeper.admit("/index.html");
    /// assert!(doorkeeper.remembers("/index.html") && !doorkeeper.remembers("/other.html"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn remembers<K: Key + ?Sized>(&self, key: &K) -> bool {
        let key = self.hasher().digest(key);
        self.younger.contains_digest(key) || self.older.contains_digest(key)
    }

    /// Forgets everything.
    ///
    /// ```
    /// let mut doorkeeper = crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?;
    /// doorkeeper.admit("/index.html");
    /// doorkeeper.clear();
    /// assert!(!doorkeeper.remembers("/index.html"));
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn clear(&mut self) {
        self.older.clear();
        self.younger.clear();
    }

    /// The number of different recent objects that are certainly remembered.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?.window(), 1_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The memory of both filters, in bits.
    ///
    /// ```
    /// let doorkeeper = crivo_sketch::admission::SecondRequest::new(1_000, 0.01)?;
    /// assert!(doorkeeper.size_in_bits() < 30 * 1_000); // two filters, some 11 bits per key each
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        self.younger.size_in_bits() + self.older.size_in_bits()
    }

    /// The hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::admission::SecondRequest;
    ///
    /// assert_eq!(SecondRequest::new(1_000, 0.01)?.hasher(), KeyHasher::default());
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    #[inline]
    pub fn hasher(&self) -> KeyHasher {
        self.younger.hasher()
    }

    fn remember(&mut self, key: Digest) {
        if self.younger.key_count() >= self.window {
            std::mem::swap(&mut self.older, &mut self.younger);
            self.younger.clear();
        }
        self.younger.insert_digest(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_remembered_and_twice_as_much_is_forgotten() {
        let window = 1_000;
        let mut door = SecondRequest::new(window, 0.01).unwrap();
        for key in 0..10 * window {
            door.admit(&key);
            let oldest = key.saturating_sub(window - 1);
            assert!(door.remembers(&oldest) && door.remembers(&key));
        }
        // At 1% about 80 of the 8,000 that are long gone are taken for known; more than 160
        // with probability below 1e-12.
        let known = (0..8 * window).filter(|key| door.remembers(key)).count();
        assert!(known < 160, "{known}");
        assert_eq!(door.window(), window);
        door.clear();
        assert!(!door.remembers(&(10 * window - 1)));
    }

    #[test]
    fn what_is_asked_for_now_and_then_is_never_forgotten() {
        let mut door = SecondRequest::new(100, 0.001).unwrap();
        assert!(!door.admit("evergreen"));
        for key in 0..10_000u64 {
            door.admit(&key);
            if key % 90 == 0 {
                assert!(door.admit("evergreen"), "at {key}");
            }
        }
    }

    #[test]
    fn new_objects_are_admitted_at_the_fpr() {
        // Both filters full: the worst moment. Of 20,000 new objects 200 are expected to be
        // admitted; more than 280 with probability below 1e-7.
        let window = 10_000u64;
        let mut door = SecondRequest::new(window, 0.01).unwrap();
        (0..2 * window).for_each(|key| {
            door.admit(&key);
        });
        let wrong = (1 << 40..(1 << 40) + 20_000u64).filter(|key| door.remembers(key)).count();
        assert!(wrong < 280, "{wrong}");
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(SecondRequest::new(0, 0.01).is_err());
        assert!(SecondRequest::new(10, 0.0).is_err());
    }
}
