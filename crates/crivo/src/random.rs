//! Random numbers for simulations: the same for the same seed, on every platform.

use crate::Digest;
use crate::hash::reduce;

/// SplitMix64: a counter, and the bijection of [`Digest::remix`] on it.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    counter: u64,
}

impl Random {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let bits = Digest::new(self.counter).remix().get();
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        reduce(self.next(), n)
    }

    /// An index of a slice of this length, which must not be empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A real number in 0..1, with 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_splitmix64() {
        // The published first outputs for the seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(1);
        for _ in 0..1_000 {
            assert!(random.below(7) < 7);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }
}
