//! Xor and binary fuse filters of the C library `xor_singleheader`, as it serialises them and
//! `pyfusefilter` writes them.
//!
//! ```text
//!   xor           seed u64, block length u64; 3 · block length fingerprints of 8 or 16 bits
//!   binary fuse   seed u64; keys, segment length, segments, segments · segment length,
//!                 fingerprints: u32 each; the fingerprints; with those of 16 bits, pyfusefilter adds
//!                 four bytes of 0
//! ```
//!
//! The library writes numbers in the order of its machine; what big-endian machines wrote is not read
//! here. The width of the fingerprints is not in the file, but follows from its length.
//!
//! A key is 64 bits. Programs that use the library hash other keys first, each in its own way: that of
//! `pyfusefilter`, which a text has here, is XXH64 of its UTF-8. The filters are built once, from all
//! keys. Their bits need no other hash, so that they implement the library's
//! [`Filter`](crivo::filter::Filter), whose digests are the keys.

mod classic;
mod fuse;
mod peel;

pub use classic::Xor;
pub use fuse::BinaryFuse;

pub(crate) use classic::{XOR8_FORMAT, XOR16_FORMAT};
pub(crate) use fuse::{FUSE8_FORMAT, FUSE16_FORMAT};

use std::fmt;

use crivo::BuildError;
use crivo_core::memory::reserved;
use xxhash_rust::xxh64::xxh64;

use crate::bytes::{Header, put_le_u16};
use crate::{ChangeError, FormatError, KeyTypeError, TypedKey};

/// A xor filter with fingerprints of 8 bits: an FPR of 1/256 in 9.84 bits per key.
///
/// ```
/// assert_eq!(crivo_formats::xor::Xor8::build(0..1_000)?.expected_fpr(), 1.0 / 256.0);
/// # Ok::<(), crivo_formats::ChangeError>(())
/// ```
pub type Xor8 = Xor<u8>;
/// A xor filter with fingerprints of 16 bits: an FPR of 1/65,536 in 19.7 bits per key.
///
/// ```
/// assert_eq!(crivo_formats::xor::Xor16::build(0..1_000)?.expected_fpr(), 1.0 / 65_536.0);
/// # Ok::<(), crivo_formats::ChangeError>(())
/// ```
pub type Xor16 = Xor<u16>;
/// A binary fuse filter with fingerprints of 8 bits: an FPR of 1/256 in about 9 bits per key.
///
/// ```
/// assert_eq!(crivo_formats::xor::BinaryFuse8::build(0..1_000)?.expected_fpr(), 1.0 / 256.0);
/// # Ok::<(), crivo_formats::ChangeError>(())
/// ```
pub type BinaryFuse8 = BinaryFuse<u8>;
/// A binary fuse filter with fingerprints of 16 bits: an FPR of 1/65,536 in about 18 bits per key.
///
/// ```
/// assert_eq!(crivo_formats::xor::BinaryFuse16::build(0..1_000)?.expected_fpr(), 1.0 / 65_536.0);
/// # Ok::<(), crivo_formats::ChangeError>(())
/// ```
pub type BinaryFuse16 = BinaryFuse<u16>;

/// A width of fingerprints: `u8` or `u16`.
pub trait Fingerprint: sealed::Sealed {}

impl Fingerprint for u8 {}
impl Fingerprint for u16 {}

mod sealed {
    use crivo::BuildError;
    use crivo_core::memory::collected;

    use super::put_le_u16;

    pub trait Sealed:
        Copy
        + Default
        + Eq
        + std::fmt::Debug
        + std::ops::BitXor<Output = Self>
        + Send
        + Sync
        + 'static
    {
        const BITS: u32;
        const XOR_NAME: &'static str;
        const FUSE_NAME: &'static str;

        /// The fingerprint of a mixed key.
        fn of(hash: u64) -> Self;

        fn put(self, bytes: &mut Vec<u8>);

        /// The fingerprints of a table, whose bytes are a whole number of them.
        fn read_all(bytes: &[u8]) -> Result<Vec<Self>, BuildError>;
    }

    impl Sealed for u8 {
        const BITS: u32 = u8::BITS;
        const XOR_NAME: &'static str = "xor8";
        const FUSE_NAME: &'static str = "binary-fuse8";

        #[inline]
        fn of(hash: u64) -> Self {
            (hash ^ (hash >> 32)) as Self
        }

        fn put(self, bytes: &mut Vec<u8>) {
            bytes.push(self);
        }

        fn read_all(bytes: &[u8]) -> Result<Vec<Self>, BuildError> {
            collected(bytes.iter().copied())
        }
    }

    impl Sealed for u16 {
        const BITS: u32 = u16::BITS;
        const XOR_NAME: &'static str = "xor16";
        const FUSE_NAME: &'static str = "binary-fuse16";

        #[inline]
        fn of(hash: u64) -> Self {
            (hash ^ (hash >> 32)) as Self
        }

        fn put(self, bytes: &mut Vec<u8>) {
            put_le_u16(bytes, self);
        }

        fn read_all(bytes: &[u8]) -> Result<Vec<Self>, BuildError> {
            collected(bytes.as_chunks().0.iter().map(|two| Self::from_le_bytes(*two)))
        }
    }
}

/// The key with its seed, mixed: the end of MurmurHash3 x64.
#[inline]
fn mix(key: u64, seed: u64) -> u64 {
    let mut hash = key.wrapping_add(seed);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The 64 bits that a key is.
fn number_of(key: &TypedKey<'_>, format: &'static str) -> Result<u64, KeyTypeError> {
    match key {
        TypedKey::UInt64(key) => Ok(*key),
        TypedKey::Text(key) => Ok(xxh64(key.as_bytes(), 0)),
        _ => Err(KeyTypeError::new(format, key.key_type())),
    }
}

/// The fingerprints behind a header.
fn read_table<F: Fingerprint>(header: Header<'_>, count: u64) -> Result<Vec<F>, FormatError> {
    Ok(F::read_all(header.table(count, u64::from(F::BITS / 8))?)?)
}

/// The numbers of keys that are all of this system.
fn numbers_of(keys: &[TypedKey<'_>], format: &'static str) -> Result<Vec<u64>, ChangeError> {
    let mut numbers = reserved(keys.len())
        .ok_or(BuildError::OutOfMemory { bytes: keys.len().saturating_mul(size_of::<u64>()) })?;
    for key in keys {
        numbers.push(number_of(key, format)?);
    }
    Ok(numbers)
}

fn describe(f: &mut fmt::Formatter<'_>, name: &str, fingerprints: usize) -> fmt::Result {
    write!(f, "{name} {{ fingerprints: {fingerprints} }}")
}

/// What both kinds of filters have for themselves and as `ForeignFilter` and `Filter`.
macro_rules! methods {
    ($filter:ident, $name:ident, $example:literal) => {
        impl<F: Fingerprint> $crate::KeyOf<$filter<F>> for u64 {}
        impl<F: Fingerprint> $crate::KeyOf<$filter<F>> for str {}
        impl<F: Fingerprint> $crate::KeyOf<$filter<F>> for String {}

        impl<F: Fingerprint> $filter<F> {
            /// Whether `key` may be a member. `false` is certain.
            ///
            /// ```
            #[doc = concat!("use crivo_formats::xor::", $example, ";")]
            ///
            #[doc = concat!("let filter = ", $example, "::build([3, 5, 8])?;")]
            /// assert!(filter.contains(&5u64));
            /// # Ok::<(), crivo_formats::ChangeError>(())
            /// ```
            #[inline]
            pub fn contains<K: $crate::KeyOf<Self> + ?Sized>(&self, key: &K) -> bool {
                self.contains_number(of_this_system(number_of(&key.as_key(), F::$name)))
            }

            /// The memory of the fingerprints, in bits.
            pub fn size_in_bits(&self) -> u64 {
                self.fingerprints.len() as u64 * u64::from(F::BITS)
            }

            /// The false-positive rate: that of the fingerprints.
            pub fn expected_fpr(&self) -> f64 {
                0.5f64.powi(F::BITS as i32)
            }

            /// The hash function by which [`Filter`](crivo::filter::Filter) makes digests of keys.
            /// The file does not tell it; XXH64 with seed 0, which pyfusefilter has, is assumed.
            pub fn with_hasher(self, hasher: crivo::KeyHasher) -> Self {
                Self { hasher, ..self }
            }
        }

        impl<F: Fingerprint> std::fmt::Debug for $filter<F> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                super::describe(f, F::$name, self.fingerprints.len())
            }
        }

        impl<F: Fingerprint> crivo::filter::Filter for $filter<F> {
            fn contains_digest(&self, key: crivo::Digest) -> bool {
                self.contains_number(key.get())
            }

            fn key_count(&self) -> u64 {
                self.key_count()
            }

            fn size_in_bits(&self) -> u64 {
                self.size_in_bits()
            }

            fn expected_fpr(&self) -> f64 {
                self.expected_fpr()
            }

            fn hasher(&self) -> crivo::KeyHasher {
                self.hasher
            }
        }

        impl<F: Fingerprint> $crate::ForeignFilter for $filter<F> {
            fn format(&self) -> &'static str {
                F::$name
            }

            fn contains_key(
                &self,
                key: &$crate::TypedKey<'_>,
            ) -> Result<bool, $crate::KeyTypeError> {
                Ok(self.contains_number(number_of(key, F::$name)?))
            }

            fn insert_key(
                &mut self,
                key: &$crate::TypedKey<'_>,
            ) -> Result<bool, $crate::ChangeError> {
                number_of(key, F::$name)?;
                let operation = crivo::filter::Operation::Insert;
                Err($crate::ChangeError::Unsupported { format: F::$name, operation })
            }

            fn size_in_bits(&self) -> u64 {
                self.size_in_bits()
            }

            fn key_count(&self) -> Option<u64> {
                Some(self.key_count())
            }

            fn fill(&self) -> Option<f64> {
                None
            }

            fn expected_fpr(&self) -> f64 {
                self.expected_fpr()
            }

            fn parameters(&self) -> Vec<(&'static str, String)> {
                self.parameters()
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }
        }
    };
}

/// A row of the table of formats.
macro_rules! row {
    ($constant:ident, $filter:ty, $name:expr, $description:literal) => {
        pub(crate) const $constant: $crate::Format = $crate::Format {
            name: $name,
            description: $description,
            recognition: $crate::Recognition::Structure,
            key_types: &[$crate::KeyType::UInt64, $crate::KeyType::Text],
            operations: &[],
            read: |bytes, _| Ok(Box::new(<$filter>::from_bytes(bytes)?)),
            create: $crate::Create::FromKeys(|keys, _| {
                Ok(Box::new(<$filter>::build(super::numbers_of(keys, $name)?)?))
            }),
        };
    };
}

use {methods, row};
