//! The binary fuse filter: many segments, and places of every key in three that follow each other.

use crivo::{BuildError, KeyHasher, ParameterError};
use crivo_core::memory::collected;

use super::{Fingerprint, methods, mix, number_of, peel, read_table, row};
use crate::bytes::{Header, put_le_u32, put_le_u64};
use crate::key::of_this_system;
use crate::{ChangeError, FormatError};

/// A binary fuse filter with fingerprints of type `F`.
///
/// ```
/// use crivo_formats::xor::BinaryFuse8;
///
/// let filter = BinaryFuse8::build(0..1_000)?;
/// assert!((0..1_000u64).all(|key| filter.contains(&key)));
/// assert_eq!(filter.key_count(), 1_000);
/// assert_eq!(BinaryFuse8::from_bytes(&filter.to_bytes())?, filter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BinaryFuse<F: Fingerprint> {
    seed: u64,
    key_count: u32,
    segments: Segments,
    fingerprints: Vec<F>,
    /// Whether there are [`UNUSED`] bytes behind the fingerprints.
    has_unused: bool,
    hasher: KeyHasher,
}

/// What the library reserves for filters with 16 bits, but does not fill. Files that hold all that it
/// reserved, as pyfusefilter's do, end with as many bytes of 0.
const UNUSED: usize = 4;

/// How the table is divided. All products fit in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Segments {
    /// A power of two.
    length: u32,
    /// How many there are to begin in: all but the last two.
    count: u32,
}

/// The longest segment: its places are 18 bits of the hash.
const MAX_SEGMENT_LENGTH: u32 = 1 << 18;

impl Segments {
    /// The division that the library chooses.
    fn for_keys(count: u64) -> Result<Self, ParameterError> {
        let keys = count as f64;
        let exponent = (keys.max(1.0).ln() / 3.33f64.ln() + 2.25).floor() as u32;
        let length = if count == 0 { 4 } else { 1 << exponent.min(18) };
        let slots = if count <= 1 {
            0.0
        } else {
            let factor = 0.875 + 0.25 * 1_000_000f64.ln() / keys.ln();
            (keys * factor.max(1.125)).round()
        };
        let all = (slots / f64::from(length)).ceil();
        if all * f64::from(length) > f64::from(u32::MAX) {
            return Err(ParameterError::new("keys", count, "few enough for 2^32 fingerprints"));
        }
        Ok(Self { length, count: (all as u32).saturating_sub(2).max(1) })
    }

    /// Where keys begin.
    fn start_length(self) -> u32 {
        self.count * self.length
    }

    fn table_length(self) -> u32 {
        (self.count + 2) * self.length
    }

    #[inline]
    fn places(self, hash: u64) -> [usize; 3] {
        let start = ((u128::from(hash) * u128::from(self.start_length())) >> 64) as u32;
        let mask = self.length - 1;
        let second = (start + self.length) ^ ((hash >> 18) as u32 & mask);
        let third = (start + 2 * self.length) ^ (hash as u32 & mask);
        [start, second, third].map(|place| place as usize)
    }
}

impl<F: Fingerprint> BinaryFuse<F> {
    /// A filter of these keys, of the size that the library gives it.
    ///
    /// ```
    /// use crivo_formats::xor::BinaryFuse8;
    ///
    /// let filter = BinaryFuse8::build(0..100_000)?;
    /// assert!(filter.size_in_bits() < 10 * 100_000);
    /// # Ok::<(), crivo_formats::ChangeError>(())
    /// ```
    ///
    /// # Errors
    /// If there are too many keys, or there is no memory.
    pub fn build(keys: impl IntoIterator<Item = u64>) -> Result<Self, ChangeError> {
        let mut keys = collected(keys)?;
        keys.sort_unstable();
        keys.dedup();
        let segments = Segments::for_keys(keys.len() as u64).map_err(BuildError::from)?;
        let length = segments.table_length() as usize;
        let (seed, fingerprints) = peel::build(&keys, length, |hash| segments.places(hash))?;
        let (key_count, hasher) = (keys.len() as u32, KeyHasher::xxh64(0));
        Ok(Self { seed, key_count, segments, fingerprints, has_unused: F::BITS == 16, hasher })
    }

    /// Reads a filter from what the library serialised.
    ///
    /// ```
    /// use crivo_formats::xor::BinaryFuse16;
    ///
    /// let filter = BinaryFuse16::build(0..1_000)?;
    /// assert_eq!(BinaryFuse16::from_bytes(&filter.to_bytes())?, filter);
    /// assert!(BinaryFuse16::from_bytes(b"no filter").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let seed = header.le_u64()?;
        let [key_count, length, count, start_length, table_length] = [
            header.le_u32()?,
            header.le_u32()?,
            header.le_u32()?,
            header.le_u32()?,
            header.le_u32()?,
        ];
        if !length.is_power_of_two() || length > MAX_SEGMENT_LENGTH {
            let allowed = "a power of two, and at most 262144";
            return Err(ParameterError::new("segment length", length, allowed).into());
        }
        let (wide_length, wide_count) = (u64::from(length), u64::from(count));
        if count == 0
            || wide_count * wide_length != u64::from(start_length)
            || (wide_count + 2) * wide_length != u64::from(table_length)
        {
            return Err(FormatError::Inconsistent("the segments do not add up"));
        }
        let size = u64::from(table_length) * u64::from(F::BITS / 8);
        let has_unused = F::BITS == 16
            && header.remaining() as u64 == size + UNUSED as u64
            && bytes.ends_with(&[0; UNUSED]);
        if has_unused {
            header.drop_last(UNUSED);
        }
        let fingerprints = read_table(header, u64::from(table_length))?;
        let (segments, hasher) = (Segments { length, count }, KeyHasher::xxh64(0));
        Ok(Self { seed, key_count, segments, fingerprints, has_unused, hasher })
    }

    /// The filter as the library serialises it on a little-endian machine.
    ///
    /// ```
    /// use crivo_formats::xor::BinaryFuse8;
    ///
    /// let filter = BinaryFuse8::build(0..1_000)?;
    /// assert_eq!(filter.to_bytes().len() as u64, 28 + filter.size_in_bits() / 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_le_u64(&mut bytes, self.seed);
        let Segments { length, count } = self.segments;
        let lengths = [self.segments.start_length(), self.segments.table_length()];
        for number in [self.key_count, length, count].into_iter().chain(lengths) {
            put_le_u32(&mut bytes, number);
        }
        self.fingerprints.iter().for_each(|fingerprint| fingerprint.put(&mut bytes));
        if self.has_unused {
            bytes.extend([0; UNUSED]);
        }
        bytes
    }

    #[inline]
    fn contains_number(&self, key: u64) -> bool {
        let hash = mix(key, self.seed);
        let [a, b, c] = self.segments.places(hash).map(|place| self.fingerprints[place]);
        F::of(hash) == a ^ b ^ c
    }

    /// How many keys it was built from.
    ///
    /// ```
    /// assert_eq!(crivo_formats::xor::BinaryFuse8::build(0..1_000)?.key_count(), 1_000);
    /// # Ok::<(), crivo_formats::ChangeError>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        u64::from(self.key_count)
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("seed", self.seed.to_string()),
            ("segment length", self.segments.length.to_string()),
            ("segments", self.segments.count.to_string()),
        ]
    }
}

methods!(BinaryFuse, FUSE_NAME, "BinaryFuse8");
row!(FUSE8_FORMAT, BinaryFuse<u8>, "binary-fuse8", "xor_singleheader, pyfusefilter Fuse8");
row!(FUSE16_FORMAT, BinaryFuse<u16>, "binary-fuse16", "xor_singleheader, pyfusefilter Fuse16");

#[cfg(test)]
mod tests {
    use crivo::filter::{Filter, FilterExt};

    use crate::xor::{BinaryFuse8, BinaryFuse16};

    #[test]
    fn texts_are_the_same_keys_in_the_traits_of_the_library() {
        let filter = BinaryFuse16::build([super::super::xxh64("ana".as_bytes(), 0)]).unwrap();
        let any: &dyn Filter = &filter;
        assert!(filter.contains("ana") && any.contains("ana"));
        assert!(!filter.contains("rui") && !any.contains("rui"));
    }

    #[test]
    fn few_keys_are_enough() {
        for count in 0..100u64 {
            let filter = BinaryFuse16::build(0..count).unwrap();
            assert!((0..count).all(|key| filter.contains(&key)), "{count}");
            assert_eq!(BinaryFuse16::from_bytes(&filter.to_bytes()).unwrap(), filter);
        }
    }

    #[test]
    fn the_largest_segments_that_a_header_can_claim_are_errors() {
        let mut bytes = BinaryFuse8::build(0..10).unwrap().to_bytes();
        bytes[12..16].copy_from_slice(&(1u32 << 18).to_le_bytes());
        bytes[16..20].copy_from_slice(&((1u32 << 14) - 1).to_le_bytes());
        bytes[20..24].copy_from_slice(&(((1u32 << 14) - 1) << 18).to_le_bytes());
        assert!(BinaryFuse8::from_bytes(&bytes).is_err());
    }
}
