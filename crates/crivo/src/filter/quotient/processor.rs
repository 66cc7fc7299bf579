//! Counting and selecting bits of a word, as well as the processor can.
//!
//! ```text
//!   select(word, k):  repeat k times { word &= word − 1 }     clear the k lowest ones
//!                     trailing zeros of word                  64 if there are fewer
//! ```
//!
//! With BMI2 that is two instructions: scatter the single bit 2^k to the ones of `word`, and count
//! zeros. Code for it must be compiled apart, and is not inlined into code that is not; therefore
//! whole operations are compiled twice, and [`Best::run`] picks one. AMD's processors before Zen 3 scatter by
//! microcode, bit by bit, which is slower than what any processor can do.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::LazyLock;

/// What the operations of the table need of a processor.
pub(super) trait Processor: Copy {
    /// The number of ones.
    fn count(self, word: u64) -> usize;

    /// Where the one is that has `rank` ones below it, or 64 if there is none.
    fn select(self, word: u64, rank: usize) -> usize;

    /// Whether `scatter` and `gather` are instructions.
    const SCATTERS: bool;

    /// The lowest bits of `bits` at the ones of `mask`, the lowest at the lowest.
    fn scatter(self, bits: u64, mask: u64) -> u64;

    /// The bits of `word` at the ones of `mask`, side by side.
    fn gather(self, word: u64, mask: u64) -> u64;

    /// Does something apart, so that what is rare takes no registers from what is not.
    fn call<O: TableOperation>(self, operation: O) -> O::Answer;
}

/// Any processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portable(());

impl Processor for Portable {
    #[inline(always)]
    fn count(self, word: u64) -> usize {
        word.count_ones() as usize
    }

    /// Counts of ones in bytes, then in all bytes up to each; the byte where they exceed the rank;
    /// and in that byte one by one.
    #[inline(always)]
    fn select(self, word: u64, rank: usize) -> usize {
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
        let not_beyond = ((rank as u64 * ONES) | HIGHS).wrapping_sub(through) & HIGHS;
        let shift = not_beyond.count_ones() * 8;
        if shift == 64 {
            return 64;
        }
        let before = (through << 8) >> shift & 0xff;
        let mut byte = word >> shift & 0xff;
        for _ in before..rank as u64 {
            byte &= byte.wrapping_sub(1);
        }
        (shift + byte.trailing_zeros()) as usize
    }

    const SCATTERS: bool = false;

    fn scatter(self, bits: u64, mask: u64) -> u64 {
        let (mut mask, mut scattered) = (mask, 0);
        for bit in 0..mask.count_ones() {
            scattered |= (bits >> bit & 1) << mask.trailing_zeros();
            mask &= mask - 1;
        }
        scattered
    }

    fn gather(self, word: u64, mask: u64) -> u64 {
        let (mut mask, mut gathered) = (mask, 0);
        for bit in 0..mask.count_ones() {
            gathered |= (word >> mask.trailing_zeros() & 1) << bit;
            mask &= mask - 1;
        }
        gathered
    }

    #[inline(never)]
    fn call<O: TableOperation>(self, operation: O) -> O::Answer {
        operation.run(self)
    }
}

/// A processor with BMI1, BMI2 and POPCNT: a value of this type proves that it has them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bmi2(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Processor for Bmi2 {
    #[inline(always)]
    fn count(self, word: u64) -> usize {
        word.count_ones() as usize
    }

    #[inline(always)]
    fn select(self, word: u64, rank: usize) -> usize {
        let one = if rank > 63 { 0 } else { 1 << rank };
        self.scatter(one, word).trailing_zeros() as usize
    }

    const SCATTERS: bool = true;

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: a `Bmi2` exists only where the processor has the instruction.
        unsafe { std::arch::x86_64::_pdep_u64(bits, mask) }
    }

    #[inline(always)]
    fn gather(self, word: u64, mask: u64) -> u64 {
        // SAFETY: as above.
        unsafe { std::arch::x86_64::_pext_u64(word, mask) }
    }

    #[inline(always)]
    fn call<O: TableOperation>(self, operation: O) -> O::Answer {
        #[inline(never)]
        #[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
        fn call<O: TableOperation>(operation: O, bmi2: Bmi2) -> O::Answer {
            operation.run(bmi2)
        }
        // SAFETY: a `Bmi2` exists only where the processor has all four.
        unsafe { call(operation, self) }
    }
}

/// Whether this processor scatters and gathers bits by more than microcode. To ask leaves a virtual machine, which
/// takes long, so that it is asked once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn scatters_fast() -> bool {
    static ANSWER: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: every x86-64 has the instruction. Newer compilers know that.
        #[allow(unused_unsafe)]
        let [maker, model] = [0, 1].map(|leaf| unsafe { std::arch::x86_64::__cpuid(leaf) });
        let vendor = [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes);
        is_fast_model(vendor.as_flattened(), family(model.eax))
    });
    *ANSWER
}

/// The family in the signature of a processor, of both its parts, as AMD and Intel add them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn family(signature: u32) -> u32 {
    let base = signature >> 8 & 0xf;
    if base == 0xf { base + (signature >> 20 & 0xff) } else { base }
}

/// All but AMD's before Zen 3, which is family 19h, and Hygon's, which are the first Zen.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_fast_model(vendor: &[u8], family: u32) -> bool {
    !matches!(vendor, b"AuthenticAMD" | b"HygonGenuine") || family >= 0x19
}

/// Something to be done on the processor at hand.
pub(super) trait TableOperation {
    /// What comes of it.
    type Answer;

    /// Does it. To be of use this, and all that it calls, must be inlined: what is not is compiled
    /// for any processor.
    fn run<P: Processor>(self, processor: P) -> Self::Answer;
}

/// The best that has been found on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Best {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Bmi2(Bmi2),
}

impl Best {
    /// Any processor can do it.
    pub(super) const PORTABLE: Self = Self::Portable(Portable(()));

    /// Looks what the processor has, unless [`CRIVO_SIMD`](crate::simd) forbids to use it.
    pub(super) fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if crate::simd::forced() != Some("scalar") {
            use std::arch::is_x86_feature_detected as has;
            if has!("bmi1") && has!("bmi2") && has!("popcnt") && has!("lzcnt") && scatters_fast() {
                return Self::Bmi2(Bmi2(()));
            }
        }
        Self::PORTABLE
    }

    /// Does it with what the processor has.
    #[inline(always)]
    pub(super) fn run<O: TableOperation>(self, operation: O) -> O::Answer {
        match self {
            Self::Portable(portable) => {
                if cfg!(all(target_arch = "x86_64", not(miri))) {
                    portable.call(operation)
                } else {
                    operation.run(portable)
                }
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Bmi2(bmi2) => {
                #[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
                fn run<O: TableOperation>(operation: O, bmi2: Bmi2) -> O::Answer {
                    operation.run(bmi2)
                }
                // SAFETY: there is a `Bmi2`: all four have been found.
                unsafe { run(operation, bmi2) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    /// The pseudocode above.
    fn naive(mut word: u64, rank: usize) -> usize {
        for _ in 0..rank {
            word &= word.wrapping_sub(1);
        }
        word.trailing_zeros() as usize
    }

    struct SelectAndCount(u64, usize);

    struct ScatterAndGather(u64, u64);

    impl TableOperation for ScatterAndGather {
        type Answer = (u64, u64);

        fn run<P: Processor>(self, processor: P) -> (u64, u64) {
            (processor.scatter(self.0, self.1), processor.gather(self.0, self.1))
        }
    }

    impl TableOperation for SelectAndCount {
        type Answer = (usize, usize);

        fn run<P: Processor>(self, processor: P) -> (usize, usize) {
            (processor.select(self.0, self.1), processor.count(self.0))
        }
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn processors_that_scatter_by_microcode_are_known() {
        for (vendor, signature, family_number, is_fast) in [
            ("AuthenticAMD", 0x0066_0f01, 0x15, false), // Excavator
            ("AuthenticAMD", 0x0080_0f11, 0x17, false), // Zen
            ("AuthenticAMD", 0x0083_0f10, 0x17, false), // Zen 2
            ("HygonGenuine", 0x0090_0f02, 0x18, false),
            ("AuthenticAMD", 0x00a0_0f11, 0x19, true), // Zen 3
            ("AuthenticAMD", 0x00b4_0f40, 0x1a, true), // Zen 5
            ("GenuineIntel", 0x0003_06c3, 0x6, true),  // Haswell
            ("GenuineIntel", 0x000c_06f2, 0x6, true),  // Emerald Rapids
        ] {
            assert_eq!(family(signature), family_number, "{signature:x}");
            assert_eq!(is_fast_model(vendor.as_bytes(), family_number), is_fast, "{signature:x}");
        }
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(5), ..Config::default() })]

        #[test]
        fn selection_is_that_of_the_pseudocode(a: u64, b: u64, c: u64, rank in 0usize..70) {
            for word in [a, a & b, a | b, a & b & c, a | b | c, 0, u64::MAX] {
                let expected = (naive(word, rank), word.count_ones() as usize);
                for processor in [Best::PORTABLE, Best::detect()] {
                    prop_assert_eq!(processor.run(SelectAndCount(word, rank)), expected);
                }
            }
        }

        #[test]
        fn bits_are_scattered_and_gathered_one_by_one(
            bits: u64, a: u64, b: u64, rank in 0usize..64,
        ) {
            for mask in [a, a & b, a | b, 0, u64::MAX] {
                let scattered = Best::PORTABLE.run(ScatterAndGather(1 << rank, mask)).0;
                prop_assert_eq!(scattered.trailing_zeros() as usize, naive(mask, rank));
                let (scattered, gathered) = Best::PORTABLE.run(ScatterAndGather(bits, mask));
                prop_assert_eq!(Best::detect().run(ScatterAndGather(bits, mask)), (scattered, gathered));
                // Each undoes the other.
                let (back, _) = Best::PORTABLE.run(ScatterAndGather(gathered, mask));
                prop_assert_eq!(back, bits & mask);
            }
        }
    }
}
