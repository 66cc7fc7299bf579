//! Counting and selecting bits of a word, as well as the processor can.
//!
//! ```text
//!   select(word, k):  repeat k times { word &= word − 1 }     clear the k lowest ones
//!                     trailing zeros of word                  64 if there are not so many
//! ```
//!
//! With BMI2 that is two instructions: scatter the single bit 2^k to the ones of `word`, and count
//! zeros. Code for it must be compiled apart, and is not inlined into code that is not; therefore
//! whole operations are compiled twice, and [`dispatch`] picks one.

#![allow(unsafe_code)]

/// What the operations of the table need of a processor.
pub(super) trait Processor: Copy {
    /// The number of ones.
    fn count(self, word: u64) -> u32;

    /// Where the one is that has `rank` ones below it, or 64. The rank is below 2^32.
    fn select(self, word: u64, rank: u32) -> u32;
}

/// Any processor.
#[derive(Clone, Copy)]
pub(super) struct Portable(());

impl Processor for Portable {
    #[inline(always)]
    fn count(self, word: u64) -> u32 {
        word.count_ones()
    }

    /// Counts of ones in bytes, then in all bytes up to each; the byte where they exceed the rank;
    /// and in that byte one by one.
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = ONES << 7;
        if rank > 63 {
            return 64;
        }
        let pairs = word - ((word >> 1) & (ONES * 0x55));
        let fours = (pairs & (ONES * 0x33)) + ((pairs >> 2) & (ONES * 0x33));
        let through = ((fours + (fours >> 4)) & (ONES * 0x0f)).wrapping_mul(ONES);
        // Both sides are at most 64: each byte says for itself whether its count is at most the
        // rank, and those that do come first.
        let not_beyond = ((u64::from(rank) * ONES) | HIGHS).wrapping_sub(through) & HIGHS;
        let shift = not_beyond.count_ones() * 8;
        if shift == 64 {
            return 64;
        }
        let before = (through << 8) >> shift & 0xff;
        let mut byte = word >> shift & 0xff;
        for _ in before..u64::from(rank) {
            byte &= byte.wrapping_sub(1);
        }
        shift + byte.trailing_zeros()
    }
}

/// A processor with BMI1, BMI2 and POPCNT: whoever has one of these has found them there.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
pub(super) struct Bmi2(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Processor for Bmi2 {
    #[inline(always)]
    fn count(self, word: u64) -> u32 {
        word.count_ones()
    }

    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        let one = if rank > 63 { 0 } else { 1 << rank };
        // SAFETY: a `Bmi2` exists only where the processor has the instruction.
        unsafe { std::arch::x86_64::_pdep_u64(one, word) }.trailing_zeros()
    }
}

/// Something to be done on the processor at hand.
pub(super) trait Operation {
    /// What comes of it.
    type Answer;

    /// Does it. To be of use this, and all that it calls, must be inlined: what is not is compiled
    /// for any processor.
    fn run(self, processor: impl Processor) -> Self::Answer;
}

/// Does it with what the processor has.
#[inline(always)]
pub(super) fn dispatch<O: Operation>(operation: O) -> O::Answer {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::is_x86_feature_detected as has;

        #[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
        fn run<O: Operation>(operation: O) -> O::Answer {
            operation.run(Bmi2(()))
        }

        if has!("bmi2") && has!("bmi1") && has!("popcnt") && has!("lzcnt") {
            // SAFETY: the processor has just been found to have them.
            return unsafe { run(operation) };
        }
    }
    operation.run(Portable(()))
}

/// Does it as on a processor that has nothing: for tests that both do the same.
#[cfg(test)]
pub(super) fn portably<O: Operation>(operation: O) -> O::Answer {
    operation.run(Portable(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pseudocode above.
    fn naive(mut word: u64, rank: u32) -> u32 {
        for _ in 0..rank {
            word &= word.wrapping_sub(1);
        }
        word.trailing_zeros()
    }

    struct SelectAndCount(u64, u32);

    impl Operation for SelectAndCount {
        type Answer = (u32, u32);

        fn run(self, processor: impl Processor) -> (u32, u32) {
            (processor.select(self.0, self.1), processor.count(self.0))
        }
    }

    proptest! {
        #[test]
        fn selection_is_that_of_the_pseudocode(a: u64, b: u64, c: u64, rank in 0u32..70) {
            for word in [a, a & b, a | b, a & b & c, a | b | c, 0, u64::MAX] {
                let expected = (naive(word, rank), word.count_ones());
                prop_assert_eq!(dispatch(SelectAndCount(word, rank)), expected);
                prop_assert_eq!(portably(SelectAndCount(word, rank)), expected);
            }
        }
    }
}
