//! The buckets in memory, and the two that a fingerprint may lie in.
//!
//! ```text
//!   words    | bucket 0        | bucket 1        | …        | bucket m−1      | padding |
//!            0               4f                8f          4f(m−1)           4f·m
//! ```
//!
//! Bucket i is the 4f bits from 4f·i on, counted from the lowest bit of the first word. Two words of
//! padding let every bucket be read in one unaligned load, be it of 8 bytes or of 16.

#![allow(unsafe_code)]

use super::fields::{BUCKET_SIZE, Fields, Lane};
use crate::hash::reduce;
use crate::{BuildError, Digest, ParameterError};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// The number of a bucket, below the bucket count of the table that made it. Only this file makes
/// them, and no bucket is shown to a table of another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket(u64);

/// A fingerprint and the two buckets where it may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1 to 2^f − 1.
    pub(super) fingerprint: u32,
    /// Never the same one twice.
    pub(super) buckets: [Bucket; 2],
}

/// An even number of buckets of four fingerprints.
///
/// Invariant: `words` has `word_count(buckets, width)` words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CuckooTable {
    words: Words,
    buckets: u64,
    fields: Fields,
}

/// Words behind the last bucket: a lane of 16 bytes that begins with it ends in them.
const PADDING: u64 = 2;

/// An odd number without pattern (2^64 over the golden ratio), whose product with a digest brings
/// its low bits to the top.
const LOW_BITS_UP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The coefficients of [`CuckooTable::sum`]: digits of π.
const QUADRATIC: u64 = 0x2438_6a88_85a3_08d3;
const LINEAR: u64 = 0x1319_8a2e_0370_7345;

impl CuckooTable {
    /// `buckets` empty buckets of fingerprints of `width` bits.
    ///
    /// # Errors
    /// As [`word_count`](Self::word_count), or if there is no memory.
    pub(super) fn new(buckets: u64, width: u32) -> Result<Self, BuildError> {
        // A length beyond the address space is more than any allocator has.
        let words = usize::try_from(Self::word_count(buckets, width)?).unwrap_or(usize::MAX);
        Ok(Self { words: Words::zeroed(words)?, buckets, fields: Fields::new(width) })
    }

    /// The table with these words; `None` if their number is wrong.
    ///
    /// # Errors
    /// As [`word_count`](Self::word_count).
    pub(super) fn from_words(
        buckets: u64,
        width: u32,
        words: Words,
    ) -> Result<Option<Self>, ParameterError> {
        let fits = Self::word_count(buckets, width)? == words.len() as u64;
        Ok(fits.then(|| Self { words, buckets, fields: Fields::new(width) }))
    }

    /// A copy, whose words are its own.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn copied(&self) -> Result<Self, BuildError> {
        Ok(Self { words: Words::copied(&self.words)?, ..*self })
    }

    /// How many words a table has, padding included.
    ///
    /// # Errors
    /// If the number of buckets is 0, odd or too large, or the width not from 4 to 32.
    pub(super) fn word_count(buckets: u64, width: u32) -> Result<u64, ParameterError> {
        if !(4..=32).contains(&width) {
            return Err(ParameterError::new("fingerprint bits", width, "from 4 to 32"));
        }
        // An odd number of buckets cannot be paired off: see `sum`.
        if buckets == 0 || !buckets.is_multiple_of(2) {
            return Err(ParameterError::new("bucket count", buckets, "even and at least 2"));
        }
        // Below 2^63 bits, so that the position of no bit overflows.
        buckets
            .checked_mul(u64::from(BUCKET_SIZE * width))
            .filter(|&bits| bits < 1 << 63)
            .map(|bits| bits.div_ceil(64) + PADDING)
            .ok_or_else(|| too_many(buckets))
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    #[inline(always)]
    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(super) fn bucket_count(&self) -> u64 {
        self.buckets
    }

    /// Empties every slot.
    pub(super) fn clear(&mut self) {
        self.words.to_mut().fill(0);
    }

    /// How many different fingerprints there are: 0 stands for an empty slot.
    #[inline(always)]
    pub(super) fn distinct(&self) -> u64 {
        distinct(self.fields.width())
    }

    /// Every bucket.
    fn buckets(&self) -> impl Iterator<Item = Bucket> + use<> {
        (0..self.buckets).map(Bucket)
    }

    /// Every fingerprint in the table, and where it may lie.
    pub(super) fn entries(&self) -> impl Iterator<Item = Place> + '_ {
        self.buckets().flat_map(move |bucket| {
            let content = if self.fields.are_narrow() {
                self.bucket::<u64>(bucket).into()
            } else {
                self.bucket::<u128>(bucket)
            };
            (0..BUCKET_SIZE)
                .map(move |slot| self.fields.get(content, slot * self.fields.width()))
                .filter(|&fingerprint| fingerprint != 0)
                .map(move |fingerprint| self.place_in(bucket, fingerprint))
        })
    }

    /// Where the key with this digest lies. The high bits of the digest choose the bucket, the low
    /// ones the fingerprint, uniformly among all that are not 0.
    #[inline(always)]
    pub(super) fn place(&self, key: Digest) -> Place {
        let low_bits = key.get().wrapping_mul(LOW_BITS_UP);
        let fingerprint = reduce(low_bits, self.distinct()) as u32 + 1;
        self.place_in(Bucket(reduce(key.get(), self.buckets)), fingerprint)
    }

    /// Where a fingerprint that may lie in `bucket` lies.
    #[inline(always)]
    pub(super) fn place_in(&self, bucket: Bucket, fingerprint: u32) -> Place {
        Place { fingerprint, buckets: [bucket, self.other(bucket, fingerprint)] }
    }

    /// The other bucket of a fingerprint, given one: `sum − bucket` modulo the number of buckets,
    /// which leads back when it is done twice.
    #[inline(always)]
    pub(super) fn other(&self, Bucket(bucket): Bucket, fingerprint: u32) -> Bucket {
        let sum = self.sum(fingerprint);
        let other = sum.wrapping_sub(bucket);
        // Both are below the number of buckets, and so is what is chosen here.
        Bucket(if bucket > sum { other.wrapping_add(self.buckets) } else { other })
    }

    /// What the numbers of the two buckets of a fingerprint add up to: a random *odd* number, so
    /// that they always differ (2·bucket is even, and so is the number of buckets).
    ///
    /// The random number is a polynomial of degree 2. A linear one is a tenth of a query cheaper,
    /// but the steps that a search for room makes then add up to the same few buckets: fingerprints
    /// of 6 bits were seen to fill 92% of a table instead of 97%.
    #[inline(always)]
    fn sum(&self, fingerprint: u32) -> u64 {
        let x = u64::from(fingerprint);
        let random = x.wrapping_mul(x.wrapping_mul(QUADRATIC).wrapping_add(LINEAR));
        2 * reduce(random, self.buckets / 2) + 1
    }

    #[inline(always)]
    fn first_bit(&self, Bucket(bucket): Bucket) -> u64 {
        bucket * u64::from(BUCKET_SIZE * self.fields.width())
    }

    /// The content of a bucket, in the low 4f bits; above them is noise.
    #[inline(always)]
    pub(super) fn bucket<L: LoadBucket>(&self, bucket: Bucket) -> L {
        // SAFETY: the bucket is one of this table, so that its first byte lies before the padding,
        // which is as long as the longest lane.
        unsafe { L::load(&self.words, self.first_bit(bucket)) }
    }

    /// The contents of two buckets, both fetched before either is looked at.
    #[inline(always)]
    pub(super) fn both<L: LoadBucket>(&self, place: &Place) -> [L; 2] {
        place.buckets.map(|bucket| self.bucket(bucket))
    }

    /// Asks the processor to fetch a bucket.
    #[inline(always)]
    pub(super) fn prefetch(&self, bucket: Bucket, cache: Cache) {
        self.words.prefetch((self.first_bit(bucket) / 64) as usize, cache);
    }

    /// Changes a field of a bucket: an empty one into `fingerprint`, and `fingerprint` into an
    /// empty one. The lowest bit of the field is `shift`.
    #[inline]
    pub(super) fn flip(&mut self, bucket: Bucket, shift: u32, fingerprint: u32) {
        let bit = self.first_bit(bucket) + u64::from(shift);
        let pattern = u128::from(fingerprint) << (bit % 64);
        let word = (bit / 64) as usize;
        let words = self.words.to_mut();
        words[word] ^= pattern as u64;
        words[word + 1] ^= (pattern >> 64) as u64;
    }
}

fn too_many(buckets: u64) -> ParameterError {
    ParameterError::new("bucket count", buckets, "such that the table has less than 2^63 bits")
}

/// A lane that is read from anywhere in memory.
pub(super) trait LoadBucket: Lane {
    /// The bits from `bit` (a multiple of 4) on, as many as a bucket can have.
    ///
    /// # Safety
    /// `bit / 8 + size_of::<Self>()` bytes are there.
    unsafe fn load(words: &Words, bit: u64) -> Self;
}

/// The same from whole words, for machines whose bytes lie the other way round.
#[cfg(any(test, target_endian = "big"))]
fn load_words(words: &[u64], bit: u64) -> u128 {
    let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
    let at = |word: usize| u128::from(words.get(word).copied().unwrap_or(0));
    let pair = at(word) | at(word + 1) << 64;
    // Shifted in two steps: by 128 at once is not allowed.
    pair >> shift | at(word + 2) << 1 << (127 - shift)
}

macro_rules! load {
    ($word:ty) => {
        impl LoadBucket for $word {
            #[inline(always)]
            unsafe fn load(words: &Words, bit: u64) -> Self {
                #[cfg(target_endian = "big")]
                return load_words(words, bit) as Self;
                #[cfg(target_endian = "little")]
                {
                    let start = words.as_ptr().cast::<u8>();
                    debug_assert!(bit as usize / 8 + size_of::<Self>() <= size_of_val(&**words));
                    // SAFETY: as the caller promises.
                    let bytes = unsafe { start.add((bit / 8) as usize).cast::<Self>() };
                    // SAFETY: the same; it may lie askew.
                    unsafe { bytes.read_unaligned() >> (bit % 8) }
                }
            }
        }
    };
}

load!(u64);
load!(u128);

/// How many different fingerprints of this width there are: 0 stands for an empty slot.
#[inline(always)]
pub(super) fn distinct(width: u32) -> u64 {
    (1 << width) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_is_read_alike_by_bytes_and_by_words() {
        for width in 4..=32 {
            for buckets in [2, 4, 6, 34] {
                let mut table = CuckooTable::new(buckets, width).unwrap();
                let mut random = Digest::new(u64::from(width));
                for word in table.words.to_mut() {
                    *word = random.get();
                    random = random.remix();
                }
                let bits = BUCKET_SIZE * width;
                let mask = u128::MAX >> (128 - bits);
                for bucket in table.buckets() {
                    let expected = load_words(&table.words, table.first_bit(bucket)) & mask;
                    assert_eq!(table.bucket::<u128>(bucket) & mask, expected, "{width} bits");
                    if table.fields.are_narrow() {
                        assert_eq!(u128::from(table.bucket::<u64>(bucket)) & mask, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_flip_changes_its_field_and_nothing_else() {
        for width in 4..=32 {
            let mut table = CuckooTable::new(10, width).unwrap();
            let fingerprint = table.distinct() as u32;
            for bucket in table.buckets() {
                for slot in 0..BUCKET_SIZE {
                    table.flip(bucket, slot * width, fingerprint);
                    let set: u32 = table.words.iter().map(|word| word.count_ones()).sum();
                    assert_eq!(set, width);
                    let content = table.bucket::<u128>(bucket);
                    assert_eq!(table.fields.get(content, slot * width), fingerprint);
                    table.flip(bucket, slot * width, fingerprint);
                }
            }
            assert!(table.words.iter().all(|&word| word == 0));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks for more memory than there is")]
    fn impossible_tables_are_refused() {
        let parameter = |result: Result<u64, ParameterError>| result.unwrap_err().parameter;
        for (buckets, width) in [(2, 3), (2, 33), (2, 0), (2, u32::MAX)] {
            assert_eq!(parameter(CuckooTable::word_count(buckets, width)), "fingerprint bits");
        }
        for (buckets, width) in [(0, 8), (1, 8), (7, 8), (1 << 62, 8), (u64::MAX - 1, 32)] {
            assert_eq!(parameter(CuckooTable::word_count(buckets, width)), "bucket count");
        }
        assert_eq!(CuckooTable::word_count(2, 16), Ok(4));
        assert!(matches!(CuckooTable::new(1 << 55, 32), Err(BuildError::OutOfMemory { .. })));
    }

    proptest! {
        #[test]
        fn the_other_bucket_is_another_and_leads_back(
            half in prop_oneof![1u64..50, 1u64..1 << 40],
            fingerprint in 1u32..,
            digest: u64,
        ) {
            // No memory is touched.
            let table = CuckooTable {
                words: Words::zeroed(0).unwrap(),
                buckets: 2 * half,
                fields: Fields::new(32),
            };
            let bucket = Bucket(reduce(digest, table.buckets));
            let other = table.other(bucket, fingerprint);
            prop_assert!(other.0 < table.buckets);
            prop_assert_ne!(other, bucket);
            prop_assert_eq!(table.other(other, fingerprint), bucket);
        }
    }
}
