//! Messages as bytes; sorted sets of numbers by Rice's code.
//!
//! A set of numbers is sent as the gaps between them. n numbers spread at random over u values
//! have gaps of about u/n, distributed geometrically, for which Rice's code is within 3% of the
//! entropy: the low r bits of a gap as they are, the rest in unary, with 2^r near 0.69·u/n.
//!
//! ```text
//!   3, 4, 9      first number and gaps − 1:  3  0  4        r = 1:  1·0·1  0·0  11·0·0
//!                                                                    ‾ ‾ ‾ unary, its end, low bits
//! ```
//!
//! With r = 0 a set costs one bit for each value up to its greatest number: a plain bitmap is the
//! limit that it never exceeds, if the sparser of a set and its complement is sent.

use crivo_core::wire::WireError;
pub(super) use crivo_core::wire::{Reader, put_bytes, put_number};
use thiserror::Error;

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// They end too early.
    #[error("the message is cut short")]
    Truncated,
    /// There is more than there should be.
    #[error("there are bytes after the end of the message")]
    TrailingBytes,
    /// They were written in a version of the protocol that this library does not know.
    #[error("protocol version {0} is unknown; a newer crivo may read it")]
    UnknownVersion(u8),
    /// They name a kind of message that this library does not know.
    #[error("message kind {0} is unknown")]
    UnknownKind(u8),
    /// The parts contradict each other.
    #[error("the message is damaged: {0}")]
    Inconsistent(&'static str),
}

impl From<WireError> for MessageError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Truncated => Self::Truncated,
            WireError::TrailingBytes => Self::TrailingBytes,
            WireError::Number => Self::Inconsistent("a number is not in its shortest form"),
            WireError::Flag => Self::Inconsistent("a flag is neither 0 nor 1"),
        }
    }
}

/// The count of the numbers, r, and the bits of Rice's code. The numbers ascend strictly.
pub(super) fn put_sorted(bytes: &mut Vec<u8>, numbers: &[u64]) {
    debug_assert!(numbers.is_sorted_by(|a, b| a < b));
    put_number(bytes, numbers.len() as u64);
    let Some(&greatest) = numbers.last() else { return };
    let gaps = || {
        let previous = std::iter::once(None).chain(numbers.iter().copied().map(Some));
        numbers.iter().zip(previous).map(|(&number, previous)| match previous {
            None => number,
            Some(previous) => number - previous - 1,
        })
    };
    // 2^r next to ln 2 times the mean gap is right or one beside it.
    let mean = greatest as f64 / numbers.len() as f64;
    let guess = (mean * std::f64::consts::LN_2).max(1.0).log2() as u32;
    let cost = |r: u32| {
        let unary: u128 = gaps().map(|gap| u128::from(gap >> r)).sum();
        unary + numbers.len() as u128 * u128::from(r + 1)
    };
    let r = (guess.saturating_sub(1)..=(guess + 1).min(63)).min_by_key(|&r| cost(r)).unwrap_or(0);
    bytes.push(r as u8);
    let mut bits = BitWriter { bytes, used: 8 };
    for gap in gaps() {
        for _ in 0..gap >> r {
            bits.put(true);
        }
        bits.put(false);
        for place in 0..r {
            bits.put(gap >> place & 1 == 1);
        }
    }
}

/// Bits from the low end of each byte.
struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    /// How many bits of the last byte are taken; 8: a new one begins.
    used: u32,
}

impl BitWriter<'_> {
    fn put(&mut self, bit: bool) {
        if self.used == 8 {
            self.bytes.push(0);
            self.used = 0;
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << self.used;
        }
        self.used += 1;
    }
}

/// What [`put_sorted`] wrote: numbers that ascend strictly.
pub(super) fn read_sorted(reader: &mut Reader<'_>) -> Result<Vec<u64>, MessageError> {
    const TOO_LARGE: MessageError =
        MessageError::Inconsistent("a number of a set has more than 64 bits");
    let count = reader.count(1)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let r = u32::from(reader.byte()?);
    if r > 63 {
        return Err(MessageError::Inconsistent("Rice's parameter is above 63"));
    }
    let mut bits = BitReader { bytes: reader.clone().rest(), position: 0 };
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        let mut unary = 0u64;
        while bits.next()? {
            unary += 1;
        }
        let mut gap = unary.checked_mul(1 << r).ok_or(TOO_LARGE)?;
        for place in 0..r {
            gap |= u64::from(bits.next()?) << place;
        }
        let number = match numbers.last() {
            None => gap,
            Some(&previous) => {
                gap.checked_add(1).and_then(|step| step.checked_add(previous)).ok_or(TOO_LARGE)?
            }
        };
        numbers.push(number);
    }
    let taken = bits.finish()?;
    reader.take(taken)?;
    Ok(numbers)
}

struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl BitReader<'_> {
    fn next(&mut self) -> Result<bool, MessageError> {
        let byte = self.bytes.get(self.position / 8).ok_or(MessageError::Truncated)?;
        let bit = byte >> (self.position % 8) & 1 == 1;
        self.position += 1;
        Ok(bit)
    }

    /// How many bytes were begun. The unread bits of the last must be 0: a message has one form.
    fn finish(mut self) -> Result<usize, MessageError> {
        while !self.position.is_multiple_of(8) {
            if self.next()? {
                return Err(MessageError::Inconsistent("the padding behind a set is not 0"));
            }
        }
        Ok(self.position / 8)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crivo_core::Random;

    fn sorted(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_sorted(&mut bytes, numbers);
        bytes
    }

    #[test]
    fn the_example_of_the_documentation() {
        // Count 3, r = 1, then from the low end: 1 0 1, 0 0, 1 1 0 0.
        assert_eq!(sorted(&[3, 4, 9]), [3, 1, 0b0110_0101, 0]);
        assert_eq!(read_sorted(&mut Reader::new(&[3, 1, 0b0110_0101, 0])), Ok(vec![3, 4, 9]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            sparse in proptest::collection::btree_set(any::<u64>(), 0..50),
            dense in proptest::collection::btree_set(0u64..300, 0..300),
            number: u64,
            content: Vec<u8>,
        ) {
            let mut bytes = Vec::new();
            let (sparse, dense) = (Vec::from_iter(sparse), Vec::from_iter(dense));
            put_sorted(&mut bytes, &sparse);
            put_number(&mut bytes, number);
            put_sorted(&mut bytes, &dense);
            put_bytes(&mut bytes, &content);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(read_sorted(&mut reader)?, sparse);
            prop_assert_eq!(reader.number()?, number);
            prop_assert_eq!(read_sorted(&mut reader)?, dense);
            prop_assert_eq!(reader.bytes()?, content);
            reader.end()?;
        }

        #[test]
        fn hostile_bytes_are_numbers_or_an_error(bytes: Vec<u8>) {
            if let Ok(numbers) = read_sorted(&mut Reader::new(&bytes)) {
                prop_assert!(numbers.is_sorted_by(|a, b| a < b));
                prop_assert!(numbers.len() <= 8 * bytes.len());
            }
        }
    }

    #[test]
    fn claims_that_the_bytes_cannot_keep_are_refused_before_memory_is_asked_for() {
        let mut huge = Vec::new();
        put_number(&mut huge, u64::MAX);
        assert_eq!(read_sorted(&mut Reader::new(&huge)), Err(MessageError::Truncated));
        assert_eq!(Reader::new(&huge).bytes(), Err(WireError::Truncated));
        // Numbers with one form too many, or too large.
        assert!(Reader::new(&[0x80, 0]).number().is_err());
        assert!(Reader::new(&[0xff; 10]).number().is_err());
        // Two gaps of 2^63: the sum has no place.
        let mut bytes = vec![2, 63, 0b1];
        bytes.extend([0; 7]);
        bytes.extend([0b10, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(read_sorted(&mut Reader::new(&bytes)).is_err());
    }

    #[test]
    fn the_code_comes_within_4_percent_of_the_entropy() {
        // Chance of failing: the sizes are those of one fixed seed.
        let mut random = Random::new(3);
        for (universe, count) in [(100_000, 100), (100_000, 5_000), (100_000, 40_000)] {
            let mut set = BTreeSet::new();
            while set.len() < count {
                set.insert(random.below(universe));
            }
            let numbers = Vec::from_iter(set);
            let share = count as f64 / universe as f64;
            let entropy =
                universe as f64 * -(share * share.log2() + (1.0 - share) * (1.0 - share).log2());
            let bits = 8.0 * sorted(&numbers).len() as f64;
            assert!(bits < 1.04 * entropy + 32.0, "{bits} for {entropy}");
        }
    }
}
