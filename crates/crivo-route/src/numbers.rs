//! Sorted sets of numbers, by Rice's code.
//!
//! A set of numbers is sent, and kept until it is used, as the gaps between them. n numbers spread at random over u values
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

use std::fmt;

use super::wire::{MessageError, Reader, put_number};

/// Numbers in ascending order, each once, in little memory: as they are sent.
///
/// A list takes what its bytes take in a message, whatever it describes: a bit or more for each number,
/// where a vector takes 64.
///
/// ```
/// use crivo_route::SortedNumbers;
///
/// let numbers = SortedNumbers::from_sorted([3, 4, 9]);
/// assert_eq!((numbers.len(), numbers.last()), (3, Some(9)));
/// assert!(numbers.iter().eq([3, 4, 9]));
/// ```
#[derive(Clone, Default)]
pub struct SortedNumbers {
    count: usize,
    /// Rice's parameter, r.
    parameter: u32,
    last: u64,
    bits: Vec<u8>,
}

impl SortedNumbers {
    /// The list of these numbers, in the shortest form.
    ///
    /// ```
    /// use crivo_route::SortedNumbers;
    ///
    /// let squares = SortedNumbers::from_sorted((0..10).map(|number| number * number));
    /// assert_eq!(squares.last(), Some(81));
    /// ```
    ///
    /// # Panics
    /// If they do not ascend strictly.
    pub fn from_sorted<I>(numbers: I) -> Self
    where
        I: IntoIterator<Item = u64>,
        I::IntoIter: Clone,
    {
        let numbers = numbers.into_iter();
        let (count, last) = numbers.clone().fold((0, 0), |(count, _), number| (count + 1, number));
        if count == 0 {
            return Self::default();
        }
        // 2^r next to ln 2 times the mean gap is right or one beside it.
        let mean = last as f64 / count as f64;
        let guess = (mean * std::f64::consts::LN_2).max(1.0).log2() as u32;
        let parameters = [guess.saturating_sub(1), guess.min(63), (guess + 1).min(63)];
        let mut costs = parameters.map(|r| u128::from(r + 1) * count as u128);
        for gap in gaps(numbers.clone()) {
            for (cost, r) in costs.iter_mut().zip(parameters) {
                *cost += u128::from(gap >> r);
            }
        }
        let (bits, r) = costs.into_iter().zip(parameters).min().unwrap_or((0, 0));
        Self::encode(r, bits.div_ceil(8) as usize, numbers)
    }

    /// The list of these numbers with Rice's parameter `r`, in one pass. It takes (r + 1) bits for each
    /// number, and one for each 2^r up to the last.
    pub(super) fn with_parameter(r: u32, numbers: impl Iterator<Item = u64>) -> Self {
        Self::encode(r, 0, numbers)
    }

    fn encode(r: u32, capacity: usize, numbers: impl Iterator<Item = u64>) -> Self {
        let mut list = Self { parameter: r, bits: Vec::with_capacity(capacity), ..Self::default() };
        let mut writer = BitWriter { bytes: &mut list.bits, used: 8 };
        let (count, last) = (&mut list.count, &mut list.last);
        let noted = numbers.inspect(|&number| {
            *count += 1;
            *last = number;
        });
        for gap in gaps(noted) {
            for _ in 0..gap >> r {
                writer.put(true);
            }
            writer.put(false);
            for place in 0..r {
                writer.put(gap >> place & 1 == 1);
            }
        }
        list
    }

    /// How many numbers there are.
    ///
    /// ```
    /// assert_eq!(crivo_route::SortedNumbers::from_sorted([3, 4, 9]).len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    ///
    /// ```
    /// assert!(crivo_route::SortedNumbers::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The greatest number.
    ///
    /// ```
    /// use crivo_route::SortedNumbers;
    ///
    /// assert_eq!(SortedNumbers::from_sorted([3, 4, 9]).last(), Some(9));
    /// assert_eq!(SortedNumbers::default().last(), None);
    /// ```
    pub fn last(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.last)
    }

    /// The numbers, in ascending order.
    ///
    /// ```
    /// use crivo_route::SortedNumbers;
    ///
    /// assert!(SortedNumbers::from_sorted([3, 4, 9]).iter().eq([3, 4, 9]));
    /// ```
    pub fn iter(&self) -> SortedNumbersIter<'_> {
        SortedNumbersIter {
            bits: BitReader { bytes: &self.bits, position: 0 },
            parameter: self.parameter,
            previous: None,
            remaining: self.count,
        }
    }

    /// The bytes of the list, without its count.
    pub(super) fn size_in_bytes(&self) -> usize {
        self.bits.len()
    }

    /// Appends count, r, and the bits.
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        put_number(bytes, self.count as u64);
        if !self.is_empty() {
            bytes.push(self.parameter as u8);
            bytes.extend_from_slice(&self.bits);
        }
    }

    /// What [`put`](Self::put) wrote.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let count = reader.count(1)?;
        if count == 0 {
            return Ok(Self::default());
        }
        let parameter = u32::from(reader.byte()?);
        if parameter > 63 {
            return Err(MessageError::Inconsistent("Rice's parameter is above 63"));
        }
        let mut bits = BitReader { bytes: reader.clone().rest(), position: 0 };
        let mut last = None;
        for _ in 0..count {
            last = Some(bits.number(parameter, last)?);
        }
        let length = bits.finish()?;
        let bits = reader.take(length)?.to_vec();
        Ok(Self { count, parameter, last: last.unwrap_or(0), bits })
    }
}

/// Equal if the numbers are: Rice's parameter is the writer's choice.
impl PartialEq for SortedNumbers {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl Eq for SortedNumbers {}

impl fmt::Debug for SortedNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a SortedNumbers {
    type Item = u64;
    type IntoIter = SortedNumbersIter<'a>;

    fn into_iter(self) -> SortedNumbersIter<'a> {
        self.iter()
    }
}

/// The numbers of a [`SortedNumbers`].
#[derive(Debug, Clone)]
pub struct SortedNumbersIter<'a> {
    bits: BitReader<'a>,
    parameter: u32,
    previous: Option<u64>,
    remaining: usize,
}

impl Iterator for SortedNumbersIter<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.remaining = self.remaining.checked_sub(1)?;
        // It cannot fail: the bits were read once, or written here.
        self.previous = self.bits.number(self.parameter, self.previous).ok();
        self.previous
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for SortedNumbersIter<'_> {}

/// The first number, and what lies between each number and the next.
fn gaps(numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    numbers.scan(None, |previous: &mut Option<u64>, number| {
        let gap = match previous.replace(number) {
            None => number,
            Some(previous) => {
                assert!(previous < number, "the numbers of a list ascend strictly");
                number - previous - 1
            }
        };
        Some(gap)
    })
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

#[derive(Debug, Clone)]
struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl BitReader<'_> {
    /// The number after `previous`, or the first.
    fn number(&mut self, r: u32, previous: Option<u64>) -> Result<u64, MessageError> {
        const TOO_LARGE: MessageError =
            MessageError::Inconsistent("a number of a set has more than 64 bits");
        let mut unary = 0u64;
        while self.bit()? {
            unary += 1;
        }
        let mut gap = unary.checked_mul(1 << r).ok_or(TOO_LARGE)?;
        for place in 0..r {
            gap |= u64::from(self.bit()?) << place;
        }
        match previous {
            None => Ok(gap),
            Some(previous) => {
                gap.checked_add(1).and_then(|step| step.checked_add(previous)).ok_or(TOO_LARGE)
            }
        }
    }

    fn bit(&mut self) -> Result<bool, MessageError> {
        let byte = self.bytes.get(self.position / 8).ok_or(MessageError::Truncated)?;
        let bit = byte >> (self.position % 8) & 1 == 1;
        self.position += 1;
        Ok(bit)
    }

    /// How many bytes were begun. The unread bits of the last must be 0: a message has one form.
    fn finish(mut self) -> Result<usize, MessageError> {
        while !self.position.is_multiple_of(8) {
            if self.bit()? {
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

    use super::super::wire::put_bytes;
    use super::*;
    use crivo_core::Random;
    use crivo_core::wire::WireError;

    fn sorted(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        SortedNumbers::from_sorted(numbers.iter().copied()).put(&mut bytes);
        bytes
    }

    fn read_sorted(reader: &mut Reader<'_>) -> Result<Vec<u64>, MessageError> {
        Ok(SortedNumbers::read(reader)?.iter().collect())
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
            bytes.extend(sorted(&sparse));
            put_number(&mut bytes, number);
            bytes.extend(sorted(&dense));
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
    #[cfg_attr(miri, ignore = "takes long there")]
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
