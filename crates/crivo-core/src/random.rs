//! Random numbers for simulations and tests: the same for the same seed, on every platform.

use crate::mix::{GOLDEN, mix, reduce};

/// SplitMix64: a counter, and a bijection on it.
///
/// ```
/// // The published first outputs for this seed.
/// let mut random = crivo_core::Random::new(1_234_567);
/// assert_eq!(random.number(), 6_457_827_717_110_365_317);
/// assert_eq!(random.number(), 3_203_168_211_198_807_973);
/// ```
#[derive(Debug, Clone)]
pub struct Random {
    counter: u64,
}

impl Random {
    /// The stream of this seed.
    ///
    /// ```
    /// use crivo_core::Random;
    ///
    /// assert_eq!(Random::new(7).number(), Random::new(7).number());
    /// assert_ne!(Random::new(7).number(), Random::new(8).number());
    /// ```
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// The next 64 bits.
    ///
    /// ```
    /// let mut random = crivo_core::Random::new(7);
    /// assert_ne!(random.number(), random.number());
    /// ```
    #[inline]
    pub fn number(&mut self) -> u64 {
        let bits = mix(self.counter);
        self.counter = self.counter.wrapping_add(GOLDEN);
        bits
    }

    /// A number below `n`; 0 if `n` is 0.
    ///
    /// ```
    /// let mut random = crivo_core::Random::new(7);
    /// assert!((0..100).all(|_| random.below(6) < 6));
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        reduce(self.number(), n)
    }

    /// An index of a slice of this length, which must not be empty.
    ///
    /// ```
    /// let mut random = crivo_core::Random::new(7);
    /// let names = ["ana", "rui", "eva"];
    /// assert!(names.contains(&names[random.index(names.len())]));
    /// ```
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A real number in 0..1, with 53 random bits.
    ///
    /// ```
    /// let mut random = crivo_core::Random::new(7);
    /// let mean = (0..10_000).map(|_| random.unit()).sum::<f64>() / 10_000.0;
    /// assert!((mean - 0.5).abs() < 0.02);
    /// ```
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Brings the items into a random order.
    ///
    /// ```
    /// let mut cards: Vec<u32> = (0..52).collect();
    /// crivo_core::Random::new(7).shuffle(&mut cards);
    /// assert!(!cards.is_sorted());
    /// cards.sort();
    /// assert!(cards.into_iter().eq(0..52));
    /// ```
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(1);
        for _ in 0..1_000 {
            assert!(random.below(7) < 7);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
