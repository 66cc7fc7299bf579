//! The table of a Bloom filter: bits, and how many of them a key has.

use std::fmt;

use crivo::filter::Incompatible;
use crivo::theory::estimate::{self, Estimate};
use crivo::{BuildError, ParameterError};
use crivo_core::Words;
use crivo_core::check::{check_fpr, check_keys};

use crate::FormatError;
use crate::bytes::{Header, be_words, put_be_u32, put_be_words};

/// More probes than any system chooses. A header that claims more is damaged, and would make every
/// question slow.
const MAX_PROBES: u32 = 65_535;

/// Bit i is bit i % 64 of word i / 64. There is at least one bit; those behind the last are clear.
#[derive(Clone)]
pub(crate) struct Bits {
    words: Words,
    length: u64,
}

impl Bits {
    pub(crate) fn zeroed(length: u64) -> Result<Self, BuildError> {
        if length == 0 {
            return Err(ParameterError::new("bits", length, "at least 1").into());
        }
        let word_count = usize::try_from(length.div_ceil(64))
            .map_err(|_| BuildError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Self { words: Words::zeroed(word_count)?, length })
    }

    /// The first `length` bits of these words, behind which there is no other.
    pub(crate) fn from_words(
        words: impl ExactSizeIterator<Item = u64>,
        length: u64,
    ) -> Result<Self, FormatError> {
        debug_assert_eq!(words.len() as u64, length.div_ceil(64));
        let mut bits = Self::zeroed(length)?;
        for (ours, theirs) in bits.words.to_mut().iter_mut().zip(words) {
            *ours = theirs;
        }
        let padding = 64 * bits.words.len() as u64 - length;
        if padding > 0 && bits.words[bits.words.len() - 1] >> (64 - padding) != 0 {
            return Err(FormatError::Inconsistent("there are bits behind the last one"));
        }
        Ok(bits)
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline]
    fn get(&self, position: u64) -> bool {
        debug_assert!(position < self.length);
        self.words[(position / 64) as usize] >> (position % 64) & 1 == 1
    }

    /// Sets a bit: `true` if it was clear.
    #[inline]
    fn set(&mut self, position: u64) -> bool {
        debug_assert!(position < self.length);
        let word = &mut self.words.to_mut()[(position / 64) as usize];
        let was_clear = *word >> (position % 64) & 1 == 0;
        *word |= 1 << (position % 64);
        was_clear
    }

    pub(crate) fn count_set(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.words[..] == other.words[..]
    }
}

impl Eq for Bits {}

/// Bits, of which every key has `probes`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Table {
    bits: Bits,
    probes: u32,
}

impl Table {
    pub(crate) fn new(bits: Bits, probes: impl Into<u64>) -> Result<Self, ParameterError> {
        let probes = probes.into();
        if !(1..=u64::from(MAX_PROBES)).contains(&probes) {
            return Err(ParameterError::new("k", probes, "from 1 to 65535"));
        }
        Ok(Self { bits, probes: probes as u32 })
    }

    pub(crate) fn zeroed(length: u64, probes: u32) -> Result<Self, BuildError> {
        Ok(Self::new(Bits::zeroed(length)?, probes)?)
    }

    /// A table as systems in Java have it: of whole words, whose number is an `int`.
    pub(crate) fn zeroed_java(bits: u64, probes: u32) -> Result<Self, BuildError> {
        if bits.div_ceil(64) > i32::MAX as u64 {
            return Err(ParameterError::new("bits", bits, "at most 2^37 - 64").into());
        }
        Self::zeroed(bits.next_multiple_of(64), probes)
    }

    /// Reads such a table, which ends its file: the number of words in 32 bits, and the words, all
    /// big-endian.
    pub(crate) fn read_java(mut header: Header<'_>, probes: u32) -> Result<Self, FormatError> {
        let word_count = u64::from(header.be_u32()?);
        let words = be_words(header.table(word_count, 8)?);
        Ok(Self::new(Bits::from_words(words, 64 * word_count)?, probes)?)
    }

    /// Appends what [`read_java`](Self::read_java) reads.
    pub(crate) fn put_java(&self, bytes: &mut Vec<u8>) {
        put_be_u32(bytes, self.words().len() as u32);
        put_be_words(bytes, self.words());
    }

    pub(crate) fn probes(&self) -> u32 {
        self.probes
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.bits.words()
    }

    pub(crate) fn size_in_bits(&self) -> u64 {
        self.bits.length()
    }

    pub(crate) fn count_set_bits(&self) -> u64 {
        self.bits.count_set()
    }

    #[inline]
    pub(crate) fn contains(&self, mut positions: impl Iterator<Item = u64>) -> bool {
        positions.all(|position| self.bits.get(position))
    }

    /// Sets the bits: `true` if one of them was clear.
    #[inline]
    pub(crate) fn insert(&mut self, positions: impl Iterator<Item = u64>) -> bool {
        positions.fold(false, |is_new, position| self.bits.set(position) | is_new)
    }

    pub(crate) fn union_with(&mut self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("size in bits", self.size_in_bits(), other.size_in_bits())?;
        unless_equal("k", self.probes, other.probes)?;
        for (ours, theirs) in self.bits.words.to_mut().iter_mut().zip(other.words()) {
            *ours |= theirs;
        }
        Ok(())
    }

    pub(crate) fn fill(&self) -> f64 {
        self.count_set_bits() as f64 / self.size_in_bits() as f64
    }

    pub(crate) fn fill_fpr(&self) -> f64 {
        self.fill().powf(f64::from(self.probes))
    }

    pub(crate) fn estimated_key_count(&self) -> Option<Estimate> {
        estimate::cardinality(self.size_in_bits(), self.probes, self.count_set_bits()).ok()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table {{ bits: {}, k: {} }}", self.size_in_bits(), self.probes)
    }
}

/// An error unless the two values are equal.
pub(crate) fn unless_equal<T: PartialEq + fmt::Display>(
    parameter: &'static str,
    ours: T,
    theirs: T,
) -> Result<(), Incompatible> {
    if ours == theirs { Ok(()) } else { Err(Incompatible::new(parameter, ours, theirs)) }
}

/// The number of bits that the textbook gives for `capacity` keys: −n·ln(p)/ln²2.
pub(crate) fn textbook_bits(capacity: u64, fpr: f64) -> Result<f64, ParameterError> {
    check_keys(capacity)?;
    check_fpr(fpr)?;
    Ok(-(capacity as f64) * fpr.ln() / (std::f64::consts::LN_2 * std::f64::consts::LN_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_behind_the_last_one_are_an_error() {
        assert!(Bits::from_words([u64::MAX].into_iter(), 64).is_ok());
        assert!(Bits::from_words([1 << 62].into_iter(), 63).is_ok());
        assert!(Bits::from_words([1 << 63].into_iter(), 63).is_err());
        assert!(Bits::from_words([].into_iter(), 0).is_err());
    }

    #[test]
    fn an_insertion_tells_whether_a_bit_was_clear() {
        let mut table = Table::zeroed(70, 2).unwrap();
        assert!(table.insert([3, 69].into_iter()));
        assert!(table.insert([3, 64].into_iter()));
        assert!(!table.insert([69, 64].into_iter()));
        assert_eq!(table.count_set_bits(), 3);
        assert!(Table::zeroed(70, 0).is_err());
    }
}
