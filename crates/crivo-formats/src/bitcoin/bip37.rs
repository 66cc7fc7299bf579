//! BIP 37: the message `filterload`.
//!
//! ```text
//!   length of the bits in bytes, as Bitcoin writes lengths; the bits; k u32, tweak u32, flags u8
//! ```
//!
//! Bit i is bit i % 8 of byte i / 8. The hash is MurmurHash3 x86-32, with another seed for each bit.

use crivo::filter::{Incompatible, Operation};
use crivo::{BuildError, ParameterError};

use super::{compact_size, put_compact_size};
use crate::bits::{Bits, Table, textbook_bits, unless_equal};
use crate::bytes::{Header, put_le_u32};
use crate::key::bytes_of;
use crate::methods::{BloomFormat, bloom_methods};
use crate::{Create, Format, FormatError, KeyType, Recognition, TypedKey};

/// The most that nodes accept.
const MAX_BYTES: u64 = 36_000;
const MAX_PROBES: u32 = 50;

/// What a node does to the filter when a transaction matches.
///
/// ```
/// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
///
/// let filter = Bip37Bloom::new(10, 0.001, 7, Bip37Flags::All)?;
/// assert_eq!(filter.flags(), Bip37Flags::All);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bip37Flags {
    /// Nothing.
    None,
    /// It inserts the outpoint of every output that matched, so that what spends it matches too.
    All,
    /// The same, but only for outputs that pay to a public key or to several.
    PayToPublicKeyOnly,
}

impl Bip37Flags {
    const ALL: [Self; 3] = [Self::None, Self::All, Self::PayToPublicKeyOnly];
}

/// A Bloom filter of BIP 37.
///
/// ```
/// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
///
/// let mut filter = Bip37Bloom::new(10, 0.0001, 2_147_483_649, Bip37Flags::All)?;
/// let public_key_hash = [7u8; 20];
/// filter.insert(&public_key_hash[..]);
/// assert!(filter.contains(&public_key_hash[..]));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bip37Bloom {
    table: Table,
    tweak: u32,
    flags: Bip37Flags,
}

impl Bip37Bloom {
    /// The filter for `capacity` elements and this false-positive rate, with a random `tweak`, that
    /// nodes and wallets make: of at most 36,000 bytes and 50 bits per element, however many elements
    /// there are.
    ///
    /// ```
    /// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
    ///
    /// // Nodes accept at most 36,000 bytes.
    /// let filter = Bip37Bloom::new(25_000, 0.001, 7, Bip37Flags::All)?;
    /// assert_eq!(filter.size_in_bits(), 8 * 36_000);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or the filter would have no bytes or set
    /// no bits.
    pub fn new(capacity: u64, fpr: f64, tweak: u32, flags: Bip37Flags) -> Result<Self, BuildError> {
        let bytes = textbook_bits(capacity, fpr)?.min(8.0 * MAX_BYTES as f64) as u64 / 8;
        let probes = (8 * bytes) as f64 / capacity as f64 * std::f64::consts::LN_2;
        let probes = (probes as u32).min(MAX_PROBES);
        Ok(Self { table: Table::zeroed(8 * bytes, probes)?, tweak, flags })
    }

    /// Reads the content of a message `filterload`.
    ///
    /// ```
    /// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
    ///
    /// let filter = Bip37Bloom::new(10, 0.001, 7, Bip37Flags::All)?;
    /// assert_eq!(Bip37Bloom::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a message, whole and with nothing behind it, or nodes would refuse
    /// the filter.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut header = Header::new(bytes);
        let length = compact_size(&mut header)?;
        let (table, rest) = header.table_and_rest(length, 1)?;
        if length > MAX_BYTES {
            return Err(ParameterError::new("bytes", length, "at most 36000").into());
        }
        let mut rest = Header::new(rest);
        let (probes, tweak, flags) = (rest.le_u32()?, rest.le_u32()?, rest.u8()?);
        rest.table(0, 1)?;
        if probes > MAX_PROBES {
            return Err(ParameterError::new("k", probes, "from 1 to 50").into());
        }
        let flags = Bip37Flags::ALL.get(usize::from(flags)).copied();
        let flags = flags.ok_or(FormatError::Inconsistent("its flags are unknown"))?;
        let words = table
            .chunks(8)
            .map(|bytes| bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte)));
        let table = Table::new(Bits::from_words(words, 8 * length)?, probes)?;
        Ok(Self { table, tweak, flags })
    }

    /// The random number that makes the bits of two wallets differ.
    ///
    /// ```
    /// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
    ///
    /// assert_eq!(Bip37Bloom::new(10, 0.001, 7, Bip37Flags::All)?.tweak(), 7);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn tweak(&self) -> u32 {
        self.tweak
    }

    /// What a node does to the filter when a transaction matches.
    ///
    /// ```
    /// use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};
    ///
    /// assert_eq!(Bip37Bloom::new(10, 0.001, 7, Bip37Flags::None)?.flags(), Bip37Flags::None);
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn flags(&self) -> Bip37Flags {
        self.flags
    }
}

impl BloomFormat for Bip37Bloom {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<>> {
        // Each bit needs a hash of the whole key, so that the positions have a copy of it.
        let key = bytes_of(key, FORMAT.name).ok()?.to_vec();
        let (bits, tweak) = (self.table.size_in_bits(), self.tweak);
        Some((0..self.table.probes()).map(move |i| {
            let seed = i.wrapping_mul(0xfba4_c795).wrapping_add(tweak);
            u64::from(mur3::murmurhash3_x86_32(&key, seed)) % bits
        }))
    }

    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        unless_equal("tweak", self.tweak, other.tweak)?;
        unless_equal("flags", self.flags as u8, other.flags as u8)
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        vec![("tweak", self.tweak.to_string()), ("flags", (self.flags as u8).to_string())]
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let length = self.table.size_in_bits() / 8;
        put_compact_size(&mut bytes, length);
        let table = self.table.words().iter().flat_map(|word| word.to_le_bytes());
        bytes.extend(table.take(length as usize));
        put_le_u32(&mut bytes, self.table.probes());
        put_le_u32(&mut bytes, self.tweak);
        bytes.push(self.flags as u8);
        bytes
    }
}

bloom_methods! {
    Bip37Bloom,
    keys: [str, String, [u8], Vec<u8>],
    example: "# use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags};\n\
              let mut filter = Bip37Bloom::new(100, 0.01, 0, Bip37Flags::None)?;",
}

pub(crate) const FORMAT: Format = Format {
    name: "bip37",
    description: "Bitcoin, BIP 37: filterload",
    recognition: Recognition::Structure,
    key_types: &[KeyType::Text, KeyType::Bytes],
    operations: &[Operation::Insert, Operation::Union],
    read: |bytes, _| Ok(Box::new(Bip37Bloom::from_bytes(bytes)?)),
    create: Create::Empty(|n, fpr| Ok(Box::new(Bip37Bloom::new(n, fpr, 0, Bip37Flags::None)?))),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().as_chunks::<2>().0.iter();
        digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The example of Bitcoin Core's tests, which wallets repeat in theirs.
    #[test]
    fn the_published_example_is_written_as_published() {
        let mut filter = Bip37Bloom::new(3, 0.01, 0, Bip37Flags::All).unwrap();
        for key in [
            "99108ad8ed9bb6274d3980bab5a85c048f0950c8",
            "b5a2c786d9ef4658287ced5914b37a1b4aa32eee",
            "b9300670b4c5366e95b2699e8b18bc75e5f729c5",
        ] {
            filter.insert(&hex(key));
            assert!(filter.contains(&hex(key)));
        }
        assert!(!filter.contains(&hex("19108ad8ed9bb6274d3980bab5a85c048f0950c8")));
        assert_eq!(filter.to_bytes(), hex("03614e9b050000000000000001"));
    }

    #[test]
    fn a_filter_that_nodes_refuse_is_an_error() {
        let mut bytes = Bip37Bloom::new(3, 0.01, 0, Bip37Flags::All).unwrap().to_bytes();
        bytes[4] = 51;
        assert!(Bip37Bloom::from_bytes(&bytes).is_err());
        bytes[4] = 50;
        assert!(Bip37Bloom::from_bytes(&bytes).is_ok());
        bytes[12] = 3;
        assert!(Bip37Bloom::from_bytes(&bytes).is_err());
        let largest = Bip37Bloom::new(1 << 40, 0.01, 0, Bip37Flags::All);
        assert!(largest.is_err(), "no bit is left for an element");
        let large = Bip37Bloom::new(100_000, 0.01, 0, Bip37Flags::All).unwrap();
        assert_eq!((large.size_in_bits(), large.probes()), (288_000, 1));
    }
}
