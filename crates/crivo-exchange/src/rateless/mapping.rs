//! Which coded symbols an id belongs to.
//!
//! Symbol i takes in each id with probability 1/(1 + i/2), independently of the others: all of
//! them the symbol 0, two thirds the symbol 1, half the symbol 2, and so on. To draw a coin for
//! every symbol would be slow. From symbol s on, none of s … j takes the id in with probability
//!
//! ```text
//!   s/(s+2) · (s+1)/(s+3) · … · j/(j+2)  =  s·(s+1) / ((j+1)·(j+2))
//! ```
//!
//! so that one uniform number u gives the next symbol: the first j with that product below u. This
//! costs as many draws as there are symbols with the id, about 2·ln(m/2) among the first m.
//!
//! The draws are independent, so that drawing may start again anywhere. It does at every power of
//! two, with random numbers that depend on the id and on the power alone: a *block* of symbols
//! [2^(b−1), 2^b) can be made without knowing what was drawn before, and an id needs no memory of
//! how far it has come. An id is in 1.4 symbols of a block, on average, whichever it is.

use std::ops::Range;

use crate::{ExchangeKey, Id};
use crivo::{Digest, KeyHasher};

/// Symbols 0, 1, 2–3, 4–7, …: block b ends before symbol 2^b.
pub(super) type Block = u32;

/// The symbols of a block.
pub(super) fn block_range(block: Block) -> Range<u64> {
    match block {
        0 => 0..1,
        _ => 1 << (block - 1)..1 << block,
    }
}

/// The block that a symbol is in.
fn block_of(index: u64) -> Block {
    u64::BITS - index.leading_zeros()
}

/// The minimum number of blocks with at least `symbols` symbols.
pub(super) fn blocks_for(symbols: u64) -> Block {
    symbols.max(1).next_power_of_two().trailing_zeros()
}

/// The probability that symbol `index` takes in an id.
pub(super) fn density(index: u64) -> f64 {
    2.0 / (index as f64 + 2.0)
}

/// The places and the checksum of ids, under the key of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    places: KeyHasher,
    checks: KeyHasher,
}

impl Mapping {
    pub(super) fn new(key: ExchangeKey, round: u64) -> Self {
        Self {
            places: KeyHasher::xxh3(key.derive(b"places", round)),
            checks: KeyHasher::xxh3(key.derive(b"checks", round)),
        }
    }

    /// The checksum of an id. The sum of checksums is not the checksum of a sum, so that it tells
    /// one id from a sum of many.
    #[inline]
    pub(super) fn check(&self, id: Id) -> u32 {
        self.checks.digest(&id.get()).get() as u32
    }

    /// What the places of an id follow from.
    #[inline]
    pub(super) fn places(&self, id: Id) -> Places {
        Places(self.places.digest(&id.get()))
    }
}

/// What the places of an id follow from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places(Digest);

impl Places {
    /// Calls `visit` with every symbol of a block that takes the id in.
    #[inline]
    pub(super) fn for_each(self, block: Block, mut visit: impl FnMut(usize)) {
        let Range { start, end } = block_range(block);
        if block == 0 {
            return visit(0);
        }
        let mut random = self.0.get() ^ u64::from(block).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut next = start;
        loop {
            random = random.wrapping_add(crivo_core::mix::GOLDEN);
            next = next_symbol(next, uniform(Digest::new(random).remix()));
            if next >= end {
                return;
            }
            visit(next as usize);
            next += 1;
        }
    }

    /// Whether a symbol takes the id in.
    pub(super) fn includes(self, symbol: usize) -> bool {
        let mut is_included = false;
        self.for_each(block_of(symbol as u64), |index| is_included |= index == symbol);
        is_included
    }
}

/// 53 random bits as a number in (0, 1].
#[inline]
fn uniform(random: Digest) -> f64 {
    ((random.get() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The first j ≥ s with s·(s+1)/((j+1)·(j+2)) < u. Division and square root are rounded exactly, as
/// the standard of floating-point numbers demands: every platform has the same answer.
#[inline]
fn next_symbol(s: u64, u: f64) -> u64 {
    let s_real = s as f64;
    let bound = s_real * (s_real + 1.0) / u;
    // A cast saturates, and an index beyond the block only says that there is none within.
    ((bound + 0.25).sqrt() - 0.5).max(s_real) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_next_symbol_is_the_first_beyond_the_bound() {
        for s in 1..200u64 {
            for u in [1.0, 0.9, 0.5, 0.3333, 0.1, 0.01, 1e-6] {
                let product = |j: u64| (s * (s + 1)) as f64 / ((j + 1) * (j + 2)) as f64;
                let naive = (s..).find(|&j| product(j) < u).unwrap();
                assert_eq!(next_symbol(s, u), naive, "s = {s}, u = {u}");
            }
        }
    }

    #[test]
    fn blocks_follow_each_other() {
        let mut end = 0;
        for block in 0..20 {
            let range = block_range(block);
            assert_eq!(range.start, end);
            assert_eq!((blocks_for(range.start + 1), blocks_for(range.end)), (block, block));
            assert_eq!((block_of(range.start), block_of(range.end - 1)), (block, block));
            end = range.end;
        }
    }

    /// 200,000 ids, 128 symbols. A count is binomial; six standard deviations in any of 127 has a
    /// chance of 3e-7. Pairs of neighbours within and across blocks likewise.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn symbols_take_ids_in_as_often_as_they_should_and_independently() {
        let mapping = Mapping::new(ExchangeKey::new([5; 16]), 0);
        let ids = 200_000;
        let mut counts = [0u32; 128];
        let mut pairs = [0u32; 128];
        for id in 0..ids {
            let places = mapping.places(Id::new(id));
            let mut last = 0;
            for block in 0..=7 {
                places.for_each(block, |index| {
                    counts[index] += 1;
                    pairs[index] += u32::from(index > 0 && index == last + 1);
                    last = index;
                });
            }
        }
        assert_eq!(u128::from(counts[0]), ids);
        for index in 1..128u64 {
            for (count, p) in [
                (counts[index as usize], density(index)),
                (pairs[index as usize], density(index) * density(index - 1)),
            ] {
                let (mean, n) = (ids as f64 * p, ids as f64);
                let deviation = (n * p * (1.0 - p)).sqrt();
                assert!(
                    (f64::from(count) - mean).abs() < 6.0 * deviation,
                    "{index}: {count} {mean}"
                );
            }
        }
    }
}
