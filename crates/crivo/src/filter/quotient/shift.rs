//! Moving bits within words.

/// Moves the bits from `from` on up by `by` places, those that would come to `to` or beyond being
/// lost. Bits below `from` and from `to` on stay; the lowest `by` bits of the range are noise.
///
/// The range is at least `by` bits long, and `by` from 1 to 63.
#[inline(always)]
pub(super) fn up(words: &mut [u64], from: usize, to: usize, by: u32) {
    let words = &mut words[from / 64..=(to - 1) / 64];
    let last = words.len() - 1;
    let (below, above) = outside(words, from, to);
    for word in (1..=last).rev() {
        words[word] = words[word] << by | words[word - 1] >> (64 - by);
    }
    words[0] <<= by;
    restore(words, from, to, below, above);
}

/// Moves the bits before `to` down by `by` places, those that would come below `from` being lost.
/// Bits below `from` and from `to` on stay; the highest `by` bits of the range are noise.
///
/// The range is at least `by` bits long, and `by` from 1 to 63.
#[inline(always)]
pub(super) fn down(words: &mut [u64], from: usize, to: usize, by: u32) {
    let words = &mut words[from / 64..=(to - 1) / 64];
    let last = words.len() - 1;
    let (below, above) = outside(words, from, to);
    for word in 0..last {
        words[word] = words[word] >> by | words[word + 1] << (64 - by);
    }
    words[last] >>= by;
    restore(words, from, to, below, above);
}

/// What the first word holds below the range, and the last above it.
#[inline(always)]
fn outside(words: &[u64], from: usize, to: usize) -> (u64, u64) {
    let last = words.len() - 1;
    (words[0] & !from_bit(from), words[last] & !to_bit(to))
}

#[inline(always)]
fn restore(words: &mut [u64], from: usize, to: usize, below: u64, above: u64) {
    let last = words.len() - 1;
    words[0] = words[0] & from_bit(from) | below;
    words[last] = words[last] & to_bit(to) | above;
}

/// The bits of a word from that of `from` on.
#[inline(always)]
fn from_bit(from: usize) -> u64 {
    u64::MAX << (from % 64)
}

/// The bits of a word before that of `to`; all if it is the first of the next word.
#[inline(always)]
fn to_bit(to: usize) -> u64 {
    u64::MAX >> (63 - (to - 1) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    fn bit(words: &[u64], at: usize) -> bool {
        words[at / 64] >> (at % 64) & 1 == 1
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(5), ..Config::default() })]

        #[test]
        fn bits_move_one_by_one(
            words: [u64; 5],
            by in 1u32..64,
            ends in (0usize..=320, 0usize..=320),
        ) {
            let (from, to) = (ends.0.min(ends.1), ends.0.max(ends.1));
            let step = by as usize;
            prop_assume!(to - from >= step);
            let (mut raised, mut lowered) = (words, words);
            up(&mut raised, from, to, by);
            down(&mut lowered, from, to, by);
            for at in 0..320 {
                if at < from || at >= to {
                    prop_assert_eq!(bit(&raised, at), bit(&words, at));
                    prop_assert_eq!(bit(&lowered, at), bit(&words, at));
                    continue;
                }
                if at >= from + step {
                    prop_assert_eq!(bit(&raised, at), bit(&words, at - step));
                }
                if at + step < to {
                    prop_assert_eq!(bit(&lowered, at), bit(&words, at + step));
                }
            }
        }
    }
}
