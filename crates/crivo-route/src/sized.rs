//! A filter that stays as large as its set needs, and from which keys can be removed.

use std::collections::BTreeSet;

use crivo::filter::{CountingBloom, CountingSpec, FilterSpec};
use crivo::{BuildError, Digest, KeyHasher, ParameterError};

/// A counting filter of a set of digests, rebuilt from them when it has become too small or far
/// too large.
///
/// A removed key must be gone at once: a device that has moved on is often the one that is searched
/// for. Each filter mixes the digests with a salt of its own, so that the false positives of
/// different filters are independent: what the filter of a subtree wrongly accepts, the filters of its
/// parts reject as they reject any other key.
#[derive(Debug, Clone)]
pub(super) struct SizedFilter {
    sizing: Sizing,
    salt: u64,
    /// The number of keys that the counters are sized for.
    capacity: u64,
    state: State,
}

/// The FPR that filters are sized for, and the dimensions of the smallest one, which is rebuilt often
/// where few keys come and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sizing {
    fpr: f64,
    smallest: CountingSpec,
}

impl Sizing {
    /// # Errors
    /// If the FPR is not between 0 and 1.
    pub(super) fn new(fpr: f64) -> Result<Self, ParameterError> {
        Ok(Self { fpr, smallest: CountingSpec::for_fpr(MIN_CAPACITY, fpr)? })
    }

    pub(super) fn fpr(&self) -> f64 {
        self.fpr
    }

    fn spec(&self, capacity: u64) -> Result<CountingSpec, ParameterError> {
        match capacity {
            MIN_CAPACITY => Ok(self.smallest),
            _ => CountingSpec::for_fpr(capacity, self.fpr),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Of the empty set: nothing is accepted.
    Empty,
    Counting(CountingBloom),
    /// There was no memory for counters. Everything is accepted, which is slow and never wrong.
    Unknown,
}

impl SizedFilter {
    /// The filter of these digests.
    pub(super) fn new(sizing: Sizing, salt: u64, digests: &BTreeSet<u64>) -> Self {
        let mut filter = Self { sizing, salt, capacity: 0, state: State::Empty };
        filter.rebuild(digests);
        filter
    }

    /// Inserts or removes `digest`, to follow the set, which has changed already. Returns whether the
    /// filter had to be rebuilt.
    pub(super) fn update(&mut self, digest: Digest, digests: &BTreeSet<u64>) -> bool {
        let mixed = self.mix(digest);
        let count = digests.len() as u64;
        if let State::Counting(counters) = &mut self.state
            && (min_for(self.capacity)..=self.capacity).contains(&count)
        {
            if digests.contains(&digest.get()) {
                counters.insert_digest(mixed);
            } else {
                let removed = counters.remove_digest(mixed);
                debug_assert!(removed.is_ok(), "what is removed was inserted");
            }
            return false;
        }
        self.rebuild(digests);
        true
    }

    /// Whether the digest may be in the set. `false` is certain.
    pub(super) fn contains(&self, digest: Digest) -> bool {
        let mixed = self.mix(digest);
        match &self.state {
            State::Empty => false,
            State::Counting(counters) => counters.contains_digest(mixed),
            State::Unknown => true,
        }
    }

    pub(super) fn size_in_bits(&self) -> u64 {
        match &self.state {
            State::Counting(counters) => counters.size_in_bits(),
            State::Empty | State::Unknown => 0,
        }
    }

    /// The false-positive rate of a filter of this size with this number of keys.
    pub(super) fn expected_fpr(&self) -> f64 {
        match &self.state {
            State::Empty => 0.0,
            State::Counting(counters) => counters.expected_fpr(),
            State::Unknown => 1.0,
        }
    }

    fn mix(&self, digest: Digest) -> Digest {
        Digest::new(digest.get() ^ Digest::new(self.salt).remix().get()).remix()
    }

    fn rebuild(&mut self, digests: &BTreeSet<u64>) {
        // The old counters go before the new ones come.
        self.state = State::Empty;
        if digests.is_empty() {
            return;
        }
        self.capacity = capacity_for(digests.len() as u64);
        self.state = match self.allocate() {
            Ok(mut counters) => {
                for &digest in digests {
                    // Never full.
                    let _ = counters.insert_digest(self.mix(Digest::new(digest)));
                }
                State::Counting(counters)
            }
            Err(_) => State::Unknown,
        };
    }

    fn allocate(&self) -> Result<CountingBloom, BuildError> {
        self.sizing.spec(self.capacity)?.build(KeyHasher::default())
    }
}

/// The number of keys that the smallest filter is sized for.
const MIN_CAPACITY: u64 = 4;

/// The number of keys that the filter of `count` keys is sized for: a quarter more, so that the cost of
/// a rebuild is spread over the changes that led to it.
fn capacity_for(count: u64) -> u64 {
    (count + count / 4).max(MIN_CAPACITY)
}

/// The minimum number of keys for which a filter of this capacity is kept.
fn min_for(capacity: u64) -> u64 {
    if capacity <= MIN_CAPACITY { 1 } else { capacity / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo_core::Random;

    fn sizing() -> Sizing {
        Sizing::new(0.01).unwrap()
    }

    #[test]
    fn it_knows_its_set_through_any_changes_and_stays_small() {
        let mut random = Random::new(5);
        let mut set = BTreeSet::new();
        let mut filter = SizedFilter::new(sizing(), 7, &set);
        let (mut rebuilt, mut steps) = (0, 0);
        for target in [0u64, 1, 3, 500, 20, 2_000, 0] {
            while set.len() as u64 != target {
                let grow = (set.len() as u64) < target;
                let key = if grow { random.number() } else { *set.first().unwrap() };
                if grow {
                    set.insert(key)
                } else {
                    set.remove(&key)
                };
                rebuilt += u32::from(filter.update(Digest::new(key), &set));
                steps += 1;
            }
            assert!(set.iter().all(|&key| filter.contains(Digest::new(key))));
            assert!(filter.size_in_bits() <= 80 * (set.len() as u64).max(4));
        }
        assert!(filter.state == State::Empty && !filter.contains(Digest::new(1)));
        assert!(rebuilt < steps / 20, "{rebuilt} of {steps}");
    }

    #[test]
    fn a_key_that_was_taken_out_leaves_no_trace() {
        let mut set: BTreeSet<u64> = (0..10).map(|key| Digest::new(key).remix().get()).collect();
        let before = SizedFilter::new(sizing(), 1, &set);
        let mut filter = before.clone();
        for key in [100, 101] {
            set.insert(key);
            assert!(!filter.update(Digest::new(key), &set));
            set.remove(&key);
            assert!(!filter.update(Digest::new(key), &set));
        }
        assert_eq!(filter.state, before.state);
    }

    #[test]
    fn the_mistakes_of_two_filters_are_independent() {
        // What one filter of the same keys wrongly accepts, another with another salt accepts at
        // the usual FPR. Of 50,000 absent keys the first accepts about 1%, some 500, of which the
        // second accepts 5 or so; more than 20 with probability below 1e-6.
        let set: BTreeSet<u64> = (0..1_000).map(|key| Digest::new(key).remix().get()).collect();
        let (one, other) =
            (SizedFilter::new(sizing(), 1, &set), SizedFilter::new(sizing(), 2, &set));
        let absent = (1_000..51_000).map(|key| Digest::new(key).remix());
        let accepted: Vec<Digest> = absent.filter(|&key| one.contains(key)).collect();
        assert!(accepted.len() > 100, "{}", accepted.len());
        assert!(accepted.iter().filter(|&&key| other.contains(key)).count() <= 20);
    }
}
