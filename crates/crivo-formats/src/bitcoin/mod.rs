//! Filters of Bitcoin: the Bloom filter that a wallet sends to a node (BIP 37), and the filter of a
//! block that a wallet fetches (BIP 158).
//!
//! Keys are bytes: scripts, transaction identifiers, outpoints, public keys. Numbers are little-endian,
//! and hashes are in the order of their bytes, which is the reverse of what is printed.

mod bip158;
mod bip37;

pub use bip37::{Bip37Bloom, Bip37Flags};
pub use bip158::Bip158Filter;

pub(crate) use bip37::FORMAT as BIP37_FORMAT;
pub(crate) use bip158::FORMAT as BIP158_FORMAT;

use crate::FormatError;
use crate::bytes::Header;

/// A length as Bitcoin writes it: one byte up to 252, or a byte that says how many follow. The
/// shortest form is the only one.
fn compact_size(header: &mut Header<'_>) -> Result<u64, FormatError> {
    let (number, least) = match header.u8()? {
        0xfd => (u64::from(header.le_u16()?), 0xfd),
        0xfe => (u64::from(header.le_u32()?), 1 << 16),
        0xff => (header.le_u64()?, 1 << 32),
        number => (u64::from(number), 0),
    };
    if number < least {
        return Err(FormatError::Inconsistent("a length is not in its shortest form"));
    }
    Ok(number)
}

fn put_compact_size(bytes: &mut Vec<u8>, number: u64) {
    let number_bytes = number.to_le_bytes();
    match number {
        0..0xfd => bytes.push(number as u8),
        0xfd..0x1_0000 => {
            bytes.push(0xfd);
            bytes.extend(&number_bytes[..2]);
        }
        0x1_0000..0x1_0000_0000 => {
            bytes.push(0xfe);
            bytes.extend(&number_bytes[..4]);
        }
        _ => {
            bytes.push(0xff);
            bytes.extend(number_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written_and_only_so() {
        for number in [0, 252, 253, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            let mut bytes = Vec::new();
            put_compact_size(&mut bytes, number);
            assert_eq!(compact_size(&mut Header::new(&bytes)), Ok(number));
        }
        assert!(compact_size(&mut Header::new(&[0xfd, 252, 0])).is_err());
        assert!(compact_size(&mut Header::new(&[0xfe, 255, 255, 0, 0])).is_err());
    }
}
