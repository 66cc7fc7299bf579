//! Keys that are in the tables, and keys that are not.

use std::collections::HashSet;

use crivo_core::Random;

use crate::StudyError;
use crate::context::Context;
use crate::sim::admission::trace::{draw, zipf};

/// How many different keys are asked for by Zipf's law.
const POPULAR: u64 = 4_096;

/// Windows of a mixture.
const WINDOWS: usize = 20;

pub(super) struct Keys {
    pub(super) present: Vec<Vec<u8>>,
    pub(super) absent: Vec<Vec<u8>>,
}

impl Keys {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let mut random = context.random("cassandra keys");
        let mut known = HashSet::new();
        let mut draw = |count: usize| {
            let mut keys = Vec::with_capacity(count);
            while keys.len() < count {
                let key = format!("{:016x}", random.number()).into_bytes();
                if known.insert(key.clone()) {
                    keys.push(key);
                }
            }
            keys
        };
        let present = draw(context.pick(1_600, 8_000, 32_000));
        Self { present, absent: draw(context.pick(2_000, 10_000, 50_000)) }
    }

    /// The keys of one of `parts` parts.
    pub(super) fn part(&self, part: u64, parts: u64) -> impl Iterator<Item = &Vec<u8>> {
        self.present.iter().skip(part as usize).step_by(parts as usize)
    }

    /// Leaves out absent keys before the first or after the last token of any of `parts` SSTables: there
    /// the server asks no filter.
    pub(super) fn keep_within_tokens(
        &mut self,
        parts: u64,
        token: impl Fn(&[u8]) -> Result<i64, StudyError>,
    ) -> Result<(), StudyError> {
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for part in 0..parts {
            let tokens: Vec<i64> =
                self.part(part, parts).map(|key| token(key)).collect::<Result<_, _>>()?;
            low = low.max(tokens.iter().copied().min().unwrap_or(low));
            high = high.min(tokens.iter().copied().max().unwrap_or(high));
        }
        let mut kept = Vec::with_capacity(self.absent.len());
        for key in std::mem::take(&mut self.absent) {
            if (low + 1..high).contains(&token(&key)?) {
                kept.push(key);
            }
        }
        self.absent = kept;
        Ok(())
    }

    /// Windows of keys, of each of which this percentage is absent.
    pub(super) fn mixture(
        &self,
        context: &Context<'_>,
        length: usize,
        percentage: usize,
    ) -> Vec<Vec<u8>> {
        let mut random = context.random("cassandra mixture");
        let absent_count = length * percentage / 100;
        let mut mixed = Vec::new();
        for turn in 0..WINDOWS {
            let mut window: Vec<Vec<u8>> = (0..length)
                .map(|at| {
                    let from = if at < absent_count { &self.absent } else { &self.present };
                    from[(turn * length + at) % from.len()].clone()
                })
                .collect();
            random.shuffle(&mut window);
            mixed.extend(window);
        }
        mixed
    }
}

/// Keys drawn by Zipf's law with exponent 1, as many as there are.
pub(super) fn popular(mut random: Random, keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let probabilities = zipf(POPULAR.min(keys.len() as u64), 1.0);
    let drawn = draw(&probabilities, keys.len() as u64, &mut random);
    drawn.into_iter().map(|rank| keys[rank as usize].clone()).collect()
}

/// The keys of one turn: another window in every turn, until all were asked for.
pub(super) fn window(keys: &[Vec<u8>], turn: usize, length: usize) -> &[Vec<u8>] {
    let windows = (keys.len() / length).max(1);
    let start = (turn % windows) * length;
    &keys[start..(start + length).min(keys.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_outside_the_tokens_of_an_sstable_are_left_out() {
        let number = |value: u8| vec![value];
        let mut keys = Keys {
            // Two parts: 10, 30 and 20, 40.
            present: [10, 20, 30, 40].map(number).to_vec(),
            absent: [5, 15, 20, 25, 30, 35].map(number).to_vec(),
        };
        keys.keep_within_tokens(2, |key| Ok(i64::from(key[0]))).unwrap();
        assert_eq!(keys.absent, [[25]]);
    }

    #[test]
    fn windows_cover_the_keys_in_turn() {
        let keys: Vec<Vec<u8>> = (0..10).map(|key| vec![key]).collect();
        assert_eq!(window(&keys, 1, 4), [[4], [5], [6], [7]]);
        assert_eq!(window(&keys, 2, 4), window(&keys, 0, 4));
        assert_eq!(window(&keys, 3, 20).len(), 10);
    }
}
