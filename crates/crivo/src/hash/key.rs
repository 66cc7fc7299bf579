//! What can be a key, and which bytes it is.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;

use super::CompositeKey;

/// Something that can be asked for: text, bytes, an integer of a fixed width, several of these
/// together, or a type of your own.
///
/// A key *is* its bytes. Two keys with the same bytes are one key, whatever their types:
///
/// | key | its bytes |
/// |---|---|
/// | `str`, `String`, `char` | UTF-8; a `char` is the string of this one character |
/// | `[u8]`, `[u8; N]`, `Vec<u8>` | themselves |
/// | `u8` … `u128`, `i8` … `i128` | little-endian, signed ones in two's complement |
/// | `bool` | one byte: 0 or 1 |
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | the 4 or 16 octets, in network order |
/// | `uuid::Uuid` (feature `uuid`) | the 16 bytes, in the order of its text |
/// | a tuple of 2 to 8 keys | those of a [`CompositeKey`]: each part with its length before it |
/// | `&K`, `Box<K>`, `Arc<K>`, `Rc<K>`, `Cow<K>` | those of the `K` |
///
/// So `"ana"`, `b"ana"` and `String::from("ana")` are one key. The width of an integer is part of
/// it: `5u32` and `5u64` are two keys, because four bytes are not eight.
///
/// ```
/// use crivo::KeyHasher;
///
/// let hasher = KeyHasher::default();
/// assert_eq!(hasher.digest("ana"), hasher.digest(&String::from("ana")));
/// assert_eq!(hasher.digest(&258u32), hasher.digest(&[2u8, 1, 0, 0]));
/// assert_ne!(hasher.digest(&5u32), hasher.digest(&5u64));
/// assert_ne!(hasher.digest(&("ab", "c")), hasher.digest(&("a", "bc")));
/// ```
///
/// # Your own types
///
/// Give the bytes that make the key what it is. They must be the same on every platform and in
/// every version of your program, and different for different keys. For several fields, a tuple of
/// them does it:
///
/// ```
/// use crivo::{Key, KeyHasher};
///
/// struct Account {
///     country: [u8; 2],
///     number: u64,
///     balance: i64,
/// }
///
/// impl Key for Account {
///     fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
///         (self.country, self.number).with_bytes(use_bytes)
///     }
/// }
///
/// let account = |balance| Account { country: *b"PT", number: 7, balance };
/// let hasher = KeyHasher::default();
/// assert_eq!(hasher.digest(&account(10)), hasher.digest(&account(20)));
/// assert_eq!(hasher.digest(&account(10)), hasher.digest(&(b"PT", 7u64)));
/// ```
///
/// `usize` is no key, because its width differs between platforms; floats are none, because they
/// have two zeros and many NaNs: [`float_key`](super::float_key) makes one of each.
pub trait Key {
    /// Calls `use_bytes` with the bytes of this key, and returns what it returns.
    ///
    /// Implementations of your own should be `#[inline]`: where the length is then known to the
    /// compiler, hashing costs only what that length takes.
    ///
    /// ```
    /// use crivo::Key;
    ///
    /// assert_eq!(258u32.with_bytes(<[u8]>::to_vec), [2, 1, 0, 0]);
    /// assert_eq!("ana".with_bytes(<[u8]>::len), 3);
    /// ```
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

macro_rules! key_is_its_bytes {
    ($([$($parameters:tt)*] $type:ty, |$key:ident| $bytes:expr;)*) => {$(
        impl<$($parameters)*> Key for $type {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                let $key = self;
                use_bytes($bytes)
            }
        }
    )*};
}

// Integers arrive at the family with their length known to the compiler, so that after inlining
// only the branch for that length is left.
key_is_its_bytes! {
    [] str, |key| key.as_bytes();
    [] String, |key| key.as_bytes();
    [] char, |key| key.encode_utf8(&mut [0; 4]).as_bytes();
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
    [] bool, |key| &[u8::from(*key)];
    [] Ipv4Addr, |key| &key.octets();
    [] Ipv6Addr, |key| &key.octets();
    [] CompositeKey, |key| key.as_bytes();
}

#[cfg(feature = "uuid")]
key_is_its_bytes! {
    [] uuid::Uuid, |key| key.as_bytes();
}

impl Key for IpAddr {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::V4(address) => address.with_bytes(use_bytes),
            Self::V6(address) => address.with_bytes(use_bytes),
        }
    }
}

macro_rules! key_is_what_it_points_to {
    ($([$($parameters:tt)*] $type:ty;)*) => {$(
        impl<$($parameters)*> Key for $type {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(use_bytes)
            }
        }
    )*};
}

key_is_what_it_points_to! {
    [K: Key + ?Sized] &K;
    [K: Key + ?Sized] Box<K>;
    [K: Key + ?Sized] Arc<K>;
    [K: Key + ?Sized] Rc<K>;
    [K: Key + ToOwned + ?Sized] Cow<'_, K>;
}

macro_rules! tuples_are_composite_keys {
    ($(($($part:ident $index:tt),*))*) => {$(
        impl<$($part: Key),*> Key for ($($part,)*) {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                let mut parts = CompositeKey::new();
                $(parts.push(&self.$index);)*
                use_bytes(parts.as_bytes())
            }
        }
    )*};
}

tuples_are_composite_keys! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use crate::hash::Family;

    fn bytes(key: &(impl Key + ?Sized)) -> Vec<u8> {
        key.with_bytes(<[u8]>::to_vec)
    }

    #[test]
    fn a_key_is_its_bytes_in_every_family() {
        for family in Family::ALL {
            let hasher = family.with_seed(3);
            let ana = hasher.digest(&b"ana"[..]);
            assert_eq!(hasher.digest("ana"), ana);
            assert_eq!(hasher.digest(&"ana"), ana);
            assert_eq!(hasher.digest(&String::from("ana")), ana);
            assert_eq!(hasher.digest(b"ana"), ana);
            assert_eq!(hasher.digest(&b"ana".to_vec()), ana);

            let mut digests = [Digest::new(0); 4];
            hasher.digest_batch(&["", "ana", "a key of seventeen", ""], &mut digests);
            assert_eq!(digests[1], ana);
            assert_eq!(digests[2], hasher.digest("a key of seventeen"));

            let bytes = 0x0807_0605_0403_0201_u64.to_le_bytes();
            assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
            let integer = hasher.digest(&bytes[..]);
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

    #[test]
    fn pointers_are_what_they_point_to() {
        assert_eq!(bytes(&Box::<str>::from("ana")), b"ana");
        assert_eq!(bytes(&Arc::<str>::from("ana")), b"ana");
        assert_eq!(bytes(&Rc::<str>::from("ana")), b"ana");
        assert_eq!(bytes(&Box::<[u8]>::from(&b"ana"[..])), b"ana");
        assert_eq!(bytes(&Cow::Borrowed("ana")), b"ana");
        assert_eq!(bytes(&Cow::<[u8]>::Owned(b"ana".to_vec())), b"ana");
        assert_eq!(bytes(&Arc::new(258u32)), [2, 1, 0, 0]);
    }

    #[test]
    fn characters_and_addresses_have_the_bytes_that_are_documented() {
        assert_eq!(bytes(&'ã'), "ã".as_bytes());
        let v4 = Ipv4Addr::new(192, 0, 2, 1);
        let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        assert_eq!(bytes(&v4), [192, 0, 2, 1]);
        assert_eq!(bytes(&IpAddr::from(v4)), [192, 0, 2, 1]);
        assert_eq!(bytes(&v6), [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes(&IpAddr::from(v6)), bytes(&v6));
    }

    #[cfg(feature = "uuid")]
    #[test]
    fn a_uuid_is_its_bytes_in_the_order_of_its_text() {
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        let uuid: uuid::Uuid = text.parse().unwrap();
        let expected: Vec<u8> = (0..16).map(|i| 0x11 * i).collect();
        assert_eq!(bytes(&uuid), expected);
    }

    #[test]
    fn tuples_are_composite_keys() {
        assert_eq!(bytes(&("ana", 258u32)), b"\x03ana\x04\x02\x01\0\0");
        assert_eq!(bytes(&("", "", 7u8)), [0, 0, 1, 7]);
        assert_eq!(bytes(&(("a", "b"), "c")), b"\x04\x01a\x01b\x01c");
        let eight = (1u8, 2u8, 3u8, 4u8, 5u8, 6u8, 7u8, 8u8);
        assert_eq!(bytes(&eight), [1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 8]);
    }
}
