//! The secret key for SipHash, from a file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use crivo::KeyHasher;
use crivo::codec::{DecodeError, Header, LoadOptions};
use crivo::hash::SecretKey;

use crate::error::Error;

/// For commands that read a filter that may have been built with a secret key.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct KeyFileArgs {
    /// The secret key that the filter was built with: 16 raw bytes, or 32 hexadecimal digits
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key_file: Option<PathBuf>,
}

impl KeyFileArgs {
    /// How to load filters: with the key, if one is given.
    pub(crate) fn options(&self) -> Result<LoadOptions, Error> {
        Ok(match &self.key_file {
            Some(path) => LoadOptions::new().secret_key(read_key(path)?),
            None => LoadOptions::new(),
        })
    }

    /// The hash function of a filter file, by its header.
    pub(crate) fn hasher(&self, header: &Header) -> Result<KeyHasher, Error> {
        match &self.key_file {
            Some(path) => header
                .hash()
                .hasher_with_key(read_key(path)?)
                .map_err(|error| DecodeError::WrongKey(error).into()),
            None => header.hash().hasher().ok_or_else(|| DecodeError::KeyNeeded.into()),
        }
    }
}

/// Reads a key: 16 raw bytes, or 32 hexadecimal digits with optional white space around them.
pub(crate) fn read_key(path: &Path) -> Result<SecretKey, Error> {
    const MAX_LENGTH: u64 = 4096;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_LENGTH).read_to_end(&mut bytes))
        .map_err(Error::reading(path))?;
    parse_key(&bytes).ok_or_else(|| {
        Error::new(format_args!(
            "{} is not a secret key, which is 16 raw bytes or 32 hexadecimal digits; \
             `head -c 16 /dev/urandom > FILE` makes one",
            path.display()
        ))
    })
}

fn parse_key(bytes: &[u8]) -> Option<SecretKey> {
    if let Ok(raw) = <[u8; 16]>::try_from(bytes) {
        return Some(SecretKey::new(raw));
    }
    let digits: &[u8; 32] = bytes.trim_ascii().try_into().ok()?;
    let mut raw = [0; 16];
    for (byte, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        // Both digits are below 16.
        *byte = (16 * high? + low?) as u8;
    }
    Some(SecretKey::new(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bytes_and_hexadecimal_digits_give_the_same_key() {
        let raw =
            SecretKey::new(*b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff");
        assert_eq!(parse_key(b"000102030405060708090a0b0c0d0eff"), Some(raw));
        assert_eq!(parse_key(b"000102030405060708090A0B0C0D0EFF\r\n"), Some(raw));
        assert_eq!(parse_key(b"sixteen letters!"), Some(SecretKey::new(*b"sixteen letters!")));
        for bad in [&b""[..], b"short", b"000102030405060708090a0b0c0d0e+f", &[7; 17]] {
            assert_eq!(parse_key(bad), None);
        }
    }
}
