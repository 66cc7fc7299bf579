//! The xor filter: three blocks, and a place of every key in each.

use crivo::{KeyHasher, ParameterError};
use crivo_core::memory::collected;

use super::{Fingerprint, methods, mix, number_of, peel, read_table, row};
use crate::bytes::{Header, put_le_u64};
use crate::key::of_this_system;
use crate::{ChangeError, FormatError};

/// A xor filter with fingerprints of type `F`.
///
/// ```
/// use crivo_formats::xor::Xor8;
///
/// let filter = Xor8::build(0..1_000)?;
/// assert!((0..1_000u64).all(|key| filter.contains(&key)));
/// assert_eq!(Xor8::from_bytes(&filter.to_bytes())?, filter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Xor<F: Fingerprint> {
    seed: u64,
    /// At least 1, and three times of it fit in 32 bits.
    block_length: u32,
    fingerprints: Vec<F>,
    hasher: KeyHasher,
}

/// The most of a block: places are counted in 32 bits.
const MAX_BLOCK_LENGTH: u32 = u32::MAX / 3;

impl<F: Fingerprint> Xor<F> {
    /// A filter of these keys, of the size that the library gives it.
    ///
    /// ```
    /// use crivo_formats::xor::Xor8;
    ///
    /// let filter = Xor8::build(0..10_000)?;
    /// assert_eq!(format!("{:.2}", filter.size_in_bits() as f64 / 1e4), "9.86"); // bits per key
    /// # Ok::<(), crivo_formats::ChangeError>(())
    /// ```
    ///
    /// # Errors
    /// If there are too many keys, or there is no memory.
    pub fn build(keys: impl IntoIterator<Item = u64>) -> Result<Self, ChangeError> {
        let mut keys = collected(keys)?;
        keys.sort_unstable();
        keys.dedup();
        let block_length = (32.0 + 1.23 * keys.len() as f64) as u64 / 3;
        let block_length = check_block_length(block_length).map_err(crivo::BuildError::from)?;
        let length = 3 * block_length as usize;
        let (seed, fingerprints) = peel::build(&keys, length, |hash| places(hash, block_length))?;
        Ok(Self { seed, block_length, fingerprints, hasher: KeyHasher::xxh64(0) })
    }

    /// Reads a filter from what the library serialised.
    ///
    /// ```
    /// use crivo_formats::xor::{Xor8, Xor16};
    ///
    /// let bytes = Xor8::build(0..1_000)?.to_bytes();
    /// assert!(Xor8::from_bytes(&bytes)?.contains(&7u64));
    /// assert!(Xor16::from_bytes(&bytes).is_err()); // of another width
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a filter, whole and with nothing behind it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let seed = header.le_u64()?;
        let block_length = header.le_u64()?;
        let fingerprints = read_table(header, block_length.saturating_mul(3))?;
        let block_length = check_block_length(block_length)?;
        Ok(Self { seed, block_length, fingerprints, hasher: KeyHasher::xxh64(0) })
    }

    /// The filter as the library serialises it on a little-endian machine.
    ///
    /// ```
    /// use crivo_formats::xor::Xor8;
    ///
    /// let filter = Xor8::build(0..1_000)?;
    /// assert_eq!(filter.to_bytes().len() as u64, 16 + filter.size_in_bits() / 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_le_u64(&mut bytes, self.seed);
        put_le_u64(&mut bytes, u64::from(self.block_length));
        self.fingerprints.iter().for_each(|fingerprint| fingerprint.put(&mut bytes));
        bytes
    }

    #[inline]
    fn contains_number(&self, key: u64) -> bool {
        let hash = mix(key, self.seed);
        let [a, b, c] = places(hash, self.block_length).map(|place| self.fingerprints[place]);
        F::of(hash) == a ^ b ^ c
    }

    /// How many keys the table was made for. The file does not have the number itself; this one may
    /// be wrong by two.
    ///
    /// ```
    /// let filter = crivo_formats::xor::Xor8::build(0..1_000)?;
    /// assert!(filter.key_count().abs_diff(1_000) <= 2);
    /// # Ok::<(), crivo_formats::ChangeError>(())
    /// ```
    pub fn key_count(&self) -> u64 {
        ((self.fingerprints.len() as f64 - 32.0).max(0.0) / 1.23).round() as u64
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("seed", self.seed.to_string()), ("block length", self.block_length.to_string())]
    }
}

fn check_block_length(block_length: u64) -> Result<u32, ParameterError> {
    let small = u32::try_from(block_length).ok();
    small
        .filter(|length| (1..=MAX_BLOCK_LENGTH).contains(length))
        .ok_or_else(|| ParameterError::new("block length", block_length, "from 1 to 1431655765"))
}

/// A place in each block, each from other 32 bits of the hash.
#[inline]
fn places(hash: u64, block_length: u32) -> [usize; 3] {
    let place = |block: u64, bits: u32| {
        let within = (u64::from(bits) * u64::from(block_length)) >> 32;
        (block * u64::from(block_length) + within) as usize
    };
    [
        place(0, hash as u32),
        place(1, hash.rotate_left(21) as u32),
        place(2, hash.rotate_left(42) as u32),
    ]
}

methods!(Xor, XOR_NAME, "Xor8");
row!(XOR8_FORMAT, Xor<u8>, "xor8", "xor_singleheader, pyfusefilter Xor8");
row!(XOR16_FORMAT, Xor<u16>, "xor16", "xor_singleheader, pyfusefilter Xor16");
