//! What can be a key, and which bytes it is.

use super::{Digest, KeyHasher};

/// Something that can be asked for: a string of bytes, or an integer of a fixed width.
///
/// A key *is* its bytes: text in UTF-8, integers in little-endian order, signed ones in two's
/// complement. So `"ana"`, `b"ana"` and `String::from("ana")` are one key, and `5u32` and `5u64`
/// are two, because four bytes are not eight.
///
/// The trait is sealed. `usize` differs between platforms, floats have two zeros, and tuples have
/// no canonical bytes: to use those, encode them into bytes yourself.
///
/// ```
/// use crivo::KeyHasher;
///
/// let hasher = KeyHasher::default();
/// assert_eq!(hasher.digest("ana"), hasher.digest(&String::from("ana")));
/// assert_eq!(hasher.digest(&258u32), hasher.digest(&[2u8, 1, 0, 0]));
/// assert_ne!(hasher.digest(&5u32), hasher.digest(&5u64));
/// ```
pub trait Key: sealed::Sealed {
    /// The digest of this key; [`KeyHasher::digest`] reads better.
    fn digest_with(&self, hasher: &KeyHasher) -> Digest;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! key_is_its_bytes {
    ($([$($parameters:tt)*] $type:ty, |$key:ident| $bytes:expr;)*) => {$(
        impl<$($parameters)*> sealed::Sealed for $type {}
        impl<$($parameters)*> Key for $type {
            #[inline]
            fn digest_with(&self, hasher: &KeyHasher) -> Digest {
                let $key = self;
                hasher.digest_bytes($bytes)
            }
        }
    )*};
}

// Integers arrive at the family with their length known to the compiler, so that after inlining
// only the branch for that length is left.
key_is_its_bytes! {
    [] str, |key| key.as_bytes();
    [] String, |key| key.as_bytes();
    [] [u8], |key| key;
    [] Vec<u8>, |key| key;
    [const N: usize] [u8; N], |key| key;
    [] u8, |key| &key.to_le_bytes();
    [] u16, |key| &key.to_le_bytes();
    [] u32, |key| &key.to_le_bytes();
    [] u64, |key| &key.to_le_bytes();
    [] u128, |key| &key.to_le_bytes();
    [] i8, |key| &key.to_le_bytes();
    [] i16, |key| &key.to_le_bytes();
    [] i32, |key| &key.to_le_bytes();
    [] i64, |key| &key.to_le_bytes();
    [] i128, |key| &key.to_le_bytes();
}

impl<K: Key + ?Sized> sealed::Sealed for &K {}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn digest_with(&self, hasher: &KeyHasher) -> Digest {
        (**self).digest_with(hasher)
    }
}

#[cfg(test)]
mod tests {
    use crate::hash::Family;

    #[test]
    fn a_key_is_its_bytes_in_every_family() {
        for family in Family::ALL {
            let hasher = family.with_seed(3);
            let ana = hasher.digest_bytes(b"ana");
            assert_eq!(hasher.digest("ana"), ana);
            assert_eq!(hasher.digest(&"ana"), ana);
            assert_eq!(hasher.digest(&String::from("ana")), ana);
            assert_eq!(hasher.digest(b"ana"), ana);
            assert_eq!(hasher.digest(&b"ana"[..]), ana);
            assert_eq!(hasher.digest(&b"ana".to_vec()), ana);

            let bytes = 0x0807_0605_0403_0201_u64.to_le_bytes();
            assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
            let integer = hasher.digest_bytes(&bytes);
            assert_eq!(hasher.digest(&0x0807_0605_0403_0201_u64), integer);
            assert_eq!(hasher.digest(&0x0807_0605_0403_0201_i64), integer);
            assert_eq!(hasher.digest(&-1i32), hasher.digest(&u32::MAX));
        }
    }

    #[test]
    fn the_width_is_part_of_the_key() {
        for family in Family::ALL {
            let hasher = family.with_seed(0);
            let fives = [
                hasher.digest(&5u8),
                hasher.digest(&5u16),
                hasher.digest(&5u32),
                hasher.digest(&5u64),
                hasher.digest(&5u128),
            ];
            for (i, a) in fives.iter().enumerate() {
                assert!(fives[i + 1..].iter().all(|b| a != b), "{family:?}");
            }
        }
    }
}
