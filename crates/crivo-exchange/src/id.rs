//! Items of any length as ids of 128 bits, and sets of them.

use std::fmt;

use siphasher::sip128::SipHasher24;

/// Identifies an item in an exchange: 128 bits of SipHash-2-4 under the exchange's key.
///
/// Two of n items share an id with probability n²/2^129: 3e-25 for ten million items a side, where
/// ids of 64 bits would collide once in 100,000 exchanges.
///
/// ```
/// use crivo_exchange::ExchangeKey;
///
/// // Under another key, an item has another id.
/// let (ours, theirs) = (ExchangeKey::new([1; 16]), ExchangeKey::new([2; 16]));
/// assert_ne!(ours.id(b"ana"), theirs.id(b"ana"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(super) u128);

impl Id {
    /// Wraps 128 bits that came from [`ExchangeKey::id`] earlier.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, Id};
    ///
    /// let stored: u128 = ExchangeKey::new([7; 16]).id(b"ana").get();
    /// assert_eq!(Id::new(stored), ExchangeKey::new([7; 16]).id(b"ana"));
    /// ```
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// The 128 bits.
    ///
    /// ```
    /// assert_eq!(crivo_exchange::Id::new(7).get(), 7);
    /// ```
    pub const fn get(self) -> u128 {
        self.0
    }

    /// The upper 64 bits: enough to identify an id of one set in a request.
    pub(super) const fn upper_half(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({:#034x})", self.0)
    }
}

/// The key of one exchange: 128 random bits that both peers know.
///
/// Ids, the places of ids among the coded symbols, and checksums all depend on it. An
/// adversary that does not know it when the sets are made cannot choose items that collide; so take a
/// fresh random key for every exchange, once the sets are fixed. It is not a password: it hides nothing
/// from an eavesdropper.
///
/// ```
/// use crivo_exchange::ExchangeKey;
///
/// // Each peer sends 16 random bytes; both mix them in the same order.
/// let key = ExchangeKey::agreed([1; 16], [2; 16]);
/// assert_eq!(key.id(b"ana"), key.id(b"ana"));
/// assert_ne!(key.id(b"ana"), ExchangeKey::new([3; 16]).id(b"ana"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExchangeKey([u8; 16]);

impl ExchangeKey {
    /// The key with these 16 bytes.
    ///
    /// ```
    /// use crivo_exchange::ExchangeKey;
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// assert_eq!(format!("{key:?}"), "ExchangeKey(…)"); // never printed
    /// ```
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The key derived from both peers' contributions: neither chooses it alone.
    ///
    /// ```
    /// use crivo_exchange::ExchangeKey;
    ///
    /// // The order counts: first those of the side that begins.
    /// assert_ne!(ExchangeKey::agreed([1; 16], [2; 16]), ExchangeKey::agreed([2; 16], [1; 16]));
    /// ```
    pub fn agreed(initiator: [u8; 16], responder: [u8; 16]) -> Self {
        let mixed = SipHasher24::new_with_key(&initiator).hash(&responder);
        Self(mixed.as_u128().to_le_bytes())
    }

    /// The id of an item.
    ///
    /// ```
    /// use crivo_exchange::ExchangeKey;
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// assert_eq!(key.id(b"ana"), key.id(b"ana"));
    /// assert_ne!(key.id(b"ana"), key.id(b"rui"));
    /// ```
    #[inline]
    pub fn id(&self, item: &[u8]) -> Id {
        Id(SipHasher24::new_with_key(&self.0).hash(item).as_u128())
    }

    /// 64 bits for a purpose within the exchange, unrelated to those for any other. They
    /// reveal no item's id: ids are made under the key itself, these under another one.
    pub(super) fn derive(&self, purpose: &[u8], number: u64) -> u64 {
        let other = SipHasher24::new_with_key(&self.0).hash(b"crivo exchange").as_u128();
        let input = [purpose, &number.to_le_bytes()].concat();
        SipHasher24::new_with_key(&other.to_le_bytes()).hash(&input).as_u128() as u64
    }

    /// A value that peers compare, to check that they have the same key.
    pub(super) fn check_value(&self) -> u64 {
        self.derive(b"check", 0)
    }
}

impl fmt::Debug for ExchangeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExchangeKey(…)")
    }
}

/// The ids of a set of items: 16 bytes each, in order, every one once.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// let key = ExchangeKey::new([7; 16]);
/// let set = IdSet::of_items(key, ["ana", "rui", "ana"]);
/// assert_eq!(set.item_count(), 2);
/// assert!(set.contains(key.id(b"rui")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdSet {
    key: ExchangeKey,
    /// In order, distinct.
    ids: Vec<Id>,
    item_bytes: u64,
}

impl IdSet {
    /// The set of these items. Items may be given more than once.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui", "ana"]);
    /// assert_eq!(set.item_count(), 2);
    /// ```
    pub fn of_items<T: AsRef<[u8]>>(key: ExchangeKey, items: impl IntoIterator<Item = T>) -> Self {
        let mut bytes = 0;
        let ids = items.into_iter().map(|item| {
            bytes += item.as_ref().len() as u64;
            key.id(item.as_ref())
        });
        let ids = ids.collect();
        Self::of_ids(key, ids, bytes)
    }

    /// The set with these ids, which must come from `key`. `item_bytes` is the length of all their
    /// items together; it only serves to weigh protocols against each other.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = IdSet::of_ids(key, vec![key.id(b"ana"), key.id(b"rui")], 6);
    /// assert_eq!(set, IdSet::of_items(key, ["rui", "ana"]));
    /// ```
    pub fn of_ids(key: ExchangeKey, mut ids: Vec<Id>, item_bytes: u64) -> Self {
        let given = ids.len() as u64;
        ids.sort_unstable();
        ids.dedup();
        let mean = item_bytes as f64 / given.max(1) as f64;
        Self { key, item_bytes: (mean * ids.len() as f64).round() as u64, ids }
    }

    /// The number of different items.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// assert_eq!(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "ana"]).item_count(), 1);
    /// ```
    pub fn item_count(&self) -> u64 {
        self.ids.len() as u64
    }

    /// The length of all items together, in bytes. An estimate if items were given more than once.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// assert_eq!(IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "maria"]).item_bytes(), 8);
    /// ```
    pub fn item_bytes(&self) -> u64 {
        self.item_bytes
    }

    /// The key that the ids were made with.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// assert_eq!(IdSet::of_items(key, ["ana"]).key(), key);
    /// ```
    pub fn key(&self) -> ExchangeKey {
        self.key
    }

    /// The ids, in order.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui", "eva"]);
    /// assert!(set.ids().is_sorted());
    /// ```
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// Whether the id is in the set.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = IdSet::of_items(key, ["ana"]);
    /// assert!(set.contains(key.id(b"ana")) && !set.contains(key.id(b"rui")));
    /// ```
    pub fn contains(&self, id: Id) -> bool {
        self.position(id).is_some()
    }

    /// Where the id stands among the ids.
    pub(super) fn position(&self, id: Id) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The ids whose upper half is this: one, if any.
    pub(super) fn with_upper_half(&self, half: u64) -> &[Id] {
        let start = self.ids.partition_point(|id| id.upper_half() < half);
        let length = self.ids[start..].iter().take_while(|id| id.upper_half() == half).count();
        &self.ids[start..start + length]
    }

    /// Removes these ids, which are in order and all present.
    pub(super) fn remove_all(&mut self, leaving: &[Id]) {
        let mut leaving = leaving.iter().peekable();
        self.ids.retain(|id| leaving.next_if_eq(&id).is_none());
    }

    /// Adds back what [`remove_all`](Self::remove_all) removed.
    pub(super) fn rejoin(&mut self, left: &[Id]) {
        if !left.is_empty() {
            self.ids.extend_from_slice(left);
            // Two runs that are in order: this merges them.
            self.ids.sort();
        }
    }

    /// The fingerprint of the set.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        for &id in &self.ids {
            fingerprint.insert(id);
        }
        fingerprint
    }
}

/// The fingerprint of a set: the number of ids and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) count: u64,
    pub(super) sum: u128,
}

impl Fingerprint {
    pub(super) fn insert(&mut self, id: Id) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(id.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_siphash_2_4_with_128_bits() {
        // The reference vector of SipHash-2-4-128 for the input 00 01 … 0e and the key 00 01 … 0f.
        let key = ExchangeKey::new(std::array::from_fn(|i| i as u8));
        let input: Vec<u8> = (0..15).collect();
        let expected = [
            0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf,
            0xc3, 0xd9,
        ];
        assert_eq!(key.id(&input).get().to_le_bytes(), expected);
    }

    #[test]
    fn a_set_is_split_and_joined() {
        let key = ExchangeKey::new([1; 16]);
        let whole = IdSet::of_items(key, (0..100u8).map(|i| [i]));
        let mut set = whole.clone();
        let left: Vec<Id> = set.ids().iter().copied().filter(|id| id.get() % 3 == 0).collect();
        set.remove_all(&left);
        assert_eq!(left.len() + set.ids().len(), 100);
        assert!(left.iter().all(|&id| !set.contains(id) && whole.contains(id)));
        set.rejoin(&left);
        assert_eq!(set, whole);
        assert_eq!(set.fingerprint(), whole.fingerprint());
        for id in whole.ids() {
            assert_eq!(whole.with_upper_half(id.upper_half()), [*id]);
            assert!(whole.with_upper_half(id.upper_half() + 1).is_empty());
        }
    }
}
