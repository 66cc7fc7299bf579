//! Reproducible random numbers, and random keys.
//!
//! Every use of randomness has a name, and its numbers depend on the seed and the name alone: an
//! experiment gives the same data whether it runs alone or with others.

use crivo::{Digest, KeyHasher};
use crivo_core::Random;

/// The stream of this name: its numbers follow from the seed and the name alone.
///
/// ```
/// use crivo_lab::random_stream;
///
/// let (mut one, mut same, mut other) =
///     (random_stream(1, "best-k"), random_stream(1, "best-k"), random_stream(1, "best-m"));
/// let number = one.number();
/// assert_eq!(number, same.number());
/// assert_ne!(number, other.number());
/// ```
pub fn random_stream(seed: u64, name: &str) -> Random {
    Random::new(KeyHasher::xxh3(seed).digest(name).get())
}

/// Random strings, all distinct: lower-case letters, 14 to 50 of them.
///
/// The first 14 letters encode a bijection of the string's number, so all strings are distinct; the
/// length and the other letters are random. (Merely random strings repeat: 2,339 of the 100,000 strings
/// of the report that this study follows did.)
///
/// ```
/// use crivo_lab::RandomStrings;
///
/// let mut strings = RandomStrings::new(1, "example");
/// let (first, second) = (strings.get(0).to_string(), strings.get(1).to_string());
/// assert_ne!(first, second);
/// assert_eq!(strings.get(0), first);
/// assert!((14..=50).contains(&first.len()));
/// ```
#[derive(Debug, Clone)]
pub struct RandomStrings {
    first: u64,
    text: String,
}

impl RandomStrings {
    /// The strings of this name.
    pub fn new(seed: u64, name: &str) -> Self {
        Self { first: KeyHasher::xxh3(seed).digest(name).get(), text: String::new() }
    }

    /// The string of this number.
    pub fn get(&mut self, number: u64) -> &str {
        // Adding and remixing are bijections, and 26^14 exceeds 2^64.
        let identity = Digest::new(self.first.wrapping_add(number)).remix();
        let mut padding = identity.remix();
        let length = 14 + crivo::hash::reduce(padding.get(), 37) as usize;
        self.text.clear();
        let mut rest = identity.get();
        while self.text.len() < length {
            if self.text.len().is_multiple_of(14) && !self.text.is_empty() {
                padding = padding.remix();
                rest = padding.get();
            }
            self.text.push(char::from(b'a' + (rest % 26) as u8));
            rest /= 26;
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn random_strings_are_distinct() {
        let mut strings = RandomStrings::new(3, "test");
        let seen: HashSet<String> = (0..20_000).map(|i| strings.get(i).to_string()).collect();
        assert_eq!(seen.len(), 20_000);
        let mean = seen.iter().map(String::len).sum::<usize>() as f64 / 20_000.0;
        // Uniform from 14 to 50: mean 32, standard error 0.075; six of them have a probability of 2e-9.
        assert!((mean - 32.0).abs() < 0.45, "{mean}");
    }
}
