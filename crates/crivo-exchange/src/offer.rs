//! Difference and intersection by filter: one message, no answer to wait for.
//!
//! A peer *offers* a filter of its set. The other queries it for each of its own ids:
//!
//! ```text
//!   A = {ana, rui, eva}   ──── filter of A ────→   B = {ana, rui, ivo, joy}
//!                                                  accepts ana, rui and joy (!), rejects ivo
//!
//!   difference     B sends ivo, which A certainly lacks. It misses joy: a false positive.
//!   intersection   B sends ana, rui and joy. A knows its own set, and drops joy.
//! ```
//!
//! The intersection is exact in the end. The difference misses each element with the filter's FPR
//! ε, so that of d elements ε·d are missed on average: for at most one, ε = 1/d, and the filter takes
//! n·1.44·log2(d) bits as a Bloom filter, n·1.1·log2(d) as a fuse filter. A second round, with a
//! filter of all that A has by then and other hash functions, leaves ε²·d; an exact end is that of a
//! [`Session`](super::Session), which finds the few that were missed by coded symbols.
//!
//! Filters of large sets are cut into parts by id, so that a message is never long.

use super::wire;
use super::{ExchangeError, ExchangeKey, Id, IdSet};
use crivo::filter::{FilterSpec, Fuse, FuseOptions, FuseSpec};
use crivo::hash::reduce;
use crivo::theory::fuse::Arity;
use crivo::{BuildError, Digest, KeyHasher, ParameterError};

pub(super) const TAG: u8 = 5;

/// The maximum number of keys of one part: with the widest fingerprints, its message is half of what is allowed.
const PART: u64 = 1 << 17;
/// More parts than this are more than 2^37 items.
const MAX_PARTS: u64 = 1 << 20;
/// The maximum width of fingerprints. The FPR is 2^−width.
pub(super) const MAX_WIDTH: u32 = 32;
/// The bytes that a filter's file has before its table, about.
const HEADER: usize = 128;

/// A filter of a set, message by message.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
///
/// let key = ExchangeKey::new([7; 16]);
/// let ours = IdSet::of_items(key, (0..1_000u32).map(u32::to_le_bytes));
/// let theirs = IdSet::of_items(key, (500..1_500u32).map(u32::to_le_bytes));
///
/// let mut sieve = Sieve::new(key, 0);
/// let mut offer = Offer::new(&ours, 8, 0)?; // an FPR of 1/256
/// while let Some(message) = offer.next_message(&ours)? {
///     sieve.receive(&message, &theirs)?;
/// }
/// assert!(sieve.is_complete());
/// // 500 elements are missing; 500/256 of them are missed, on average.
/// assert!(sieve.missing().len() > 480 && sieve.missing().len() <= 500);
/// assert!((sieve.expected_missed() - 1.95).abs() < 0.1);
/// // All common elements are among these, and as few others.
/// assert_eq!(sieve.common(&theirs).count(), 1_000 - sieve.missing().len());
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Offer {
    width: u32,
    hasher: KeyHasher,
    parts: u64,
    next: u64,
}

impl Offer {
    /// A filter of `set` with an FPR of 2^−`width`. Rounds of one exchange have unrelated hash
    /// functions.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui"]);
    /// assert!(Offer::new(&set, 32, 0).is_ok());
    /// assert!(Offer::new(&set, 33, 0).is_err());
    /// ```
    ///
    /// # Errors
    /// If the width is not from 1 to 32.
    pub fn new(set: &IdSet, width: u32, round: u64) -> Result<Self, ParameterError> {
        if !(1..=MAX_WIDTH).contains(&width) {
            return Err(ParameterError::new("width", width, "from 1 to 32"));
        }
        let parts = parts_for(set.item_count());
        Ok(Self { width, hasher: hasher(set.key(), round), parts, next: 0 })
    }

    /// The next message, until there is none. `set` must be the one that the offer was made for.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), (0..10_000u32).map(u32::to_le_bytes));
    /// let mut offer = Offer::new(&set, 8, 0)?;
    /// let message = offer.next_message(&set)?.expect("there is one");
    /// assert!((10_000..15_000).contains(&message.len())); // little more than a byte per item
    /// assert_eq!(offer.next_message(&set)?, None);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory for the filter.
    ///
    /// # Panics
    /// Never: memory takes every byte of the filter.
    pub fn next_message(&mut self, set: &IdSet) -> Result<Option<Vec<u8>>, ExchangeError> {
        if self.next == self.parts {
            return Ok(None);
        }
        let mut message = wire::message(TAG);
        wire::put_number(&mut message, self.parts);
        wire::put_number(&mut message, self.next);
        let ids = part(set, self.next, self.parts);
        if !ids.is_empty() {
            let filter = self.filter(ids)?;
            let bytes = HEADER + (filter.size_in_bits() / 8) as usize;
            message.try_reserve(bytes).map_err(|_| BuildError::OutOfMemory { bytes })?;
            filter.write_to(&mut message).expect("memory takes every byte");
        }
        self.next += 1;
        Ok(Some(message))
    }

    fn filter(&self, ids: &[Id]) -> Result<Fuse, ExchangeError> {
        let mut digests = Vec::new();
        let bytes = ids.len() * size_of::<Digest>();
        digests.try_reserve_exact(ids.len()).map_err(|_| BuildError::OutOfMemory { bytes })?;
        digests.extend(ids.iter().map(|id| self.hasher.digest(&id.get())));
        let options = spec(ids.len() as u64, self.width)?.options(self.hasher);
        Ok(FuseOptions { threads: Some(1), ..options }.build_digests(digests)?)
    }
}

/// The filter of a part: the smallest that there is, for it is sent.
fn spec(key_count: u64, width: u32) -> Result<FuseSpec, ParameterError> {
    FuseSpec::with_width(key_count, width)?.with_arity(Arity::Four)
}

/// The bytes of all messages of an offer, about.
pub(super) fn offer_bytes(item_count: f64, width: u32) -> f64 {
    if item_count < 1.0 {
        return 4.0;
    }
    let parts = parts_for(item_count as u64);
    let n = (item_count / parts as f64).ceil() as u64;
    // It fails for no parameters that are given here.
    let bits = spec(n, width).map_or(f64::INFINITY, |spec| spec.size_in_bits() as f64);
    parts as f64 * (HEADER as f64 + 4.0 + bits / 8.0)
}

/// The false-positive rate of a filter of this width.
pub(super) fn fpr(width: u32) -> f64 {
    0.5f64.powi(width as i32)
}

fn parts_for(item_count: u64) -> u64 {
    // Part sizes scatter by their square root, a few hundred: an eighth is room enough.
    item_count.div_ceil(PART - PART / 8).max(1)
}

/// The ids of one of `parts` parts of equal width.
fn part(set: &IdSet, index: u64, parts: u64) -> &[Id] {
    let ids = set.ids();
    let part_of = |id: &Id| reduce(id.upper_half(), parts);
    let start = ids.partition_point(|id| part_of(id) < index);
    let end = ids.partition_point(|id| part_of(id) <= index);
    &ids[start..end]
}

fn hasher(key: ExchangeKey, round: u64) -> KeyHasher {
    KeyHasher::xxh3(key.derive(b"filter", round))
}

/// Finds by an [`Offer`] which ids of the own set the peer certainly lacks.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
///
/// let key = ExchangeKey::new([7; 16]);
/// let (theirs, ours) = (IdSet::of_items(key, ["ana"]), IdSet::of_items(key, ["ana", "rui"]));
/// let mut sieve = Sieve::new(key, 0);
/// let mut offer = Offer::new(&theirs, 32, 0)?;
/// while let Some(message) = offer.next_message(&theirs)? {
///     sieve.receive(&message, &ours)?;
/// }
/// assert_eq!(sieve.missing(), [key.id(b"rui")]);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sieve {
    hasher: KeyHasher,
    /// The number of parts, known from the first message on.
    parts: Option<u64>,
    received: u64,
    missing: Vec<Id>,
    expected_missed: f64,
}

impl Sieve {
    /// A sieve for the offer of this round, of a peer with this key.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, Sieve};
    ///
    /// assert!(!Sieve::new(ExchangeKey::new([7; 16]), 0).is_complete());
    /// ```
    pub fn new(key: ExchangeKey, round: u64) -> Self {
        let hasher = hasher(key, round);
        Self { hasher, parts: None, received: 0, missing: Vec::new(), expected_missed: 0.0 }
    }

    /// Queries the next message of the offer for the ids of `set`, which is the same for all messages.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = IdSet::of_items(key, ["ana"]);
    /// let message = Offer::new(&set, 8, 0)?.next_message(&set)?.expect("there is one");
    /// let mut of_another_round = Sieve::new(key, 1);
    /// assert!(of_another_round.receive(&message, &set).is_err());
    /// assert!(Sieve::new(key, 0).receive(&message, &set).is_ok());
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If it is not the next message, not a fuse filter, which answers in the same time whatever it
    /// contains, or a filter made under another key.
    pub fn receive(&mut self, message: &[u8], set: &IdSet) -> Result<(), ExchangeError> {
        let (tag, mut reader) = wire::open(message)?;
        if tag != TAG {
            return Err(ExchangeError::UnknownMessage(tag));
        }
        let parts = wire::number_up_to(&mut reader, "number of parts", MAX_PARTS)?;
        let index = reader.number()?;
        if index != self.received
            || index >= parts
            || self.parts.is_some_and(|known| known != parts)
        {
            return Err(ExchangeError::Inconsistent("a part of a filter is out of order"));
        }
        let ids = part(set, index, parts);
        let bytes = reader.rest();
        if bytes.is_empty() {
            self.missing.extend(ids);
        } else {
            let filter = Fuse::from_bytes(bytes)?;
            if filter.hasher() != self.hasher {
                return Err(ExchangeError::SeedMismatch);
            }
            let before = self.missing.len();
            self.sift(&filter, ids);
            let fpr = filter.expected_fpr().min(0.999);
            self.expected_missed += (self.missing.len() - before) as f64 * fpr / (1.0 - fpr);
        }
        self.parts = Some(parts);
        self.received += 1;
        Ok(())
    }

    fn sift(&mut self, filter: &Fuse, ids: &[Id]) {
        const BATCH: usize = 1024;
        let mut digests = Vec::with_capacity(BATCH);
        let mut hits = [false; BATCH];
        for ids in ids.chunks(BATCH) {
            digests.clear();
            digests.extend(ids.iter().map(|id| self.hasher.digest(&id.get())));
            filter.contains_batch(&digests, &mut hits[..ids.len()]);
            self.missing.extend(ids.iter().zip(hits).filter(|(_, hit)| !hit).map(|(id, _)| id));
        }
    }

    /// Whether every part of the filter has been received.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = IdSet::of_items(key, ["ana"]);
    /// let message = Offer::new(&set, 8, 0)?.next_message(&set)?.expect("there is one");
    /// let mut sieve = Sieve::new(key, 0);
    /// assert!(!sieve.is_complete());
    /// sieve.receive(&message, &set)?;
    /// assert!(sieve.is_complete());
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        self.parts == Some(self.received)
    }

    /// The ids that the peer certainly lacks, in order: the difference, but for those missed.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let theirs = IdSet::of_items(key, ["ana"]);
    /// let ours = IdSet::of_items(key, ["ana", "rui", "eva"]);
    /// let message = Offer::new(&theirs, 32, 0)?.next_message(&theirs)?.expect("there is one");
    /// let mut sieve = Sieve::new(key, 0);
    /// sieve.receive(&message, &ours)?;
    /// assert_eq!(sieve.missing().len(), 2); // with fingerprints of 32 bits, hardly one is missed
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn missing(&self) -> &[Id] {
        &self.missing
    }

    /// The expected number of ids that the peer lacks and that were missed: ε/(1−ε) for each that was
    /// found missing. They are among the [`common`](Self::common) ids.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let theirs = IdSet::of_items(key, ["ana"]);
    /// let ours = IdSet::of_items(key, (0..1_000u32).map(u32::to_le_bytes));
    /// let message = Offer::new(&theirs, 1, 0)?.next_message(&theirs)?.expect("there is one");
    /// let mut sieve = Sieve::new(key, 0);
    /// sieve.receive(&message, &ours)?;
    /// // Fingerprints of one bit miss as many as they find.
    /// assert_eq!(sieve.expected_missed(), sieve.missing().len() as f64);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn expected_missed(&self) -> f64 {
        self.expected_missed
    }

    /// The ids of `set` that the peer probably has, in order: the intersection, and a few others,
    /// which the peer recognises because it does not have them.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Offer, Sieve};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let theirs = IdSet::of_items(key, ["ana"]);
    /// let ours = IdSet::of_items(key, ["ana", "rui"]);
    /// let message = Offer::new(&theirs, 32, 0)?.next_message(&theirs)?.expect("there is one");
    /// let mut sieve = Sieve::new(key, 0);
    /// sieve.receive(&message, &ours)?;
    /// assert!(sieve.common(&ours).eq([key.id(b"ana")]));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn common<'a>(&'a self, set: &'a IdSet) -> impl Iterator<Item = Id> + 'a {
        let mut missing = self.missing.iter().peekable();
        set.ids().iter().copied().filter(move |id| missing.next_if_eq(&id).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: ExchangeKey, range: std::ops::Range<u32>) -> IdSet {
        IdSet::of_items(key, range.map(u32::to_le_bytes))
    }

    fn sift(ours: &IdSet, theirs: &IdSet, width: u32, round: u64) -> Sieve {
        let mut sieve = Sieve::new(theirs.key(), round);
        let mut offer = Offer::new(ours, width, round).unwrap();
        while let Some(message) = offer.next_message(ours).unwrap() {
            assert!(message.len() <= wire::MAX_MESSAGE);
            sieve.receive(&message, theirs).unwrap();
        }
        assert!(sieve.is_complete());
        sieve
    }

    /// 100,000 missing at an FPR of 2^−6: 1562.5 missed, standard deviation 39; the test fails by
    /// chance with 1e-9. In a second round, with the same FPR, 24 of those: at most 70 with 1 − 1e-13.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_difference_misses_what_theory_says_and_a_second_round_finds_it() {
        let key = ExchangeKey::new([1; 16]);
        let (ours, theirs) = (set(key, 0..200_000), set(key, 100_000..300_000));
        let first = sift(&ours, &theirs, 6, 0);
        let missed = 100_000 - first.missing().len();
        assert!(missed.abs_diff(1562) < 240, "{missed}");
        assert!((first.expected_missed() - 1562.5).abs() < 10.0);
        assert!(first.missing().iter().all(|&id| theirs.contains(id) && !ours.contains(id)));

        let mut more = ours.ids().to_vec();
        more.extend(first.missing());
        let more = IdSet::of_ids(key, more, 0);
        let second = sift(&more, &theirs, 6, 1);
        assert!(missed - second.missing().len() <= 70);
    }

    #[test]
    fn an_intersection_is_exact_once_the_peer_has_dropped_what_it_does_not_have() {
        let key = ExchangeKey::new([2; 16]);
        for (ours, theirs) in [(0..3_000, 1_000..9_000), (0..0, 0..10), (0..10, 0..0), (5..6, 5..6)]
        {
            let (ours, theirs) = (set(key, ours.clone()), set(key, theirs.clone()));
            let sieve = sift(&ours, &theirs, 4, 0);
            let kept: Vec<Id> = sieve.common(&theirs).filter(|&id| ours.contains(id)).collect();
            let exact: Vec<Id> =
                ours.ids().iter().copied().filter(|&id| theirs.contains(id)).collect();
            assert_eq!(kept, exact);
            let count = sieve.common(&theirs).count() + sieve.missing().len();
            assert_eq!(count, theirs.ids().len());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_size_is_what_was_said_and_large_sets_come_in_parts() {
        let key = ExchangeKey::new([3; 16]);
        for (n, width) in [(1, 3), (20, 5), (300, 2), (5_000, 9), (300_000, 4), (300_000, 32)] {
            let ours = set(key, 0..n);
            let mut offer = Offer::new(&ours, width, 0).unwrap();
            let (mut bytes, mut messages) = (0, 0);
            while let Some(message) = offer.next_message(&ours).unwrap() {
                assert!(message.len() <= wire::MAX_MESSAGE);
                bytes += message.len();
                messages += 1;
            }
            assert_eq!(messages, if n > 1 << 17 { 3 } else { 1 });
            let expected = offer_bytes(f64::from(n), width);
            let off = (bytes as f64 - expected).abs();
            assert!(off < 70.0 + 0.02 * expected, "{n}, {width}: {bytes} and not {expected}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn another_key_is_noticed_and_so_is_a_part_out_of_order() {
        let key = ExchangeKey::new([4; 16]);
        let ours = set(key, 0..200_000);
        let mut offer = Offer::new(&ours, 4, 0).unwrap();
        let first = offer.next_message(&ours).unwrap().unwrap();
        let second = offer.next_message(&ours).unwrap().unwrap();
        let other = ExchangeKey::new([5; 16]);
        let mismatch = Sieve::new(other, 0).receive(&first, &set(other, 0..9));
        assert_eq!(mismatch, Err(ExchangeError::SeedMismatch));
        let mut sieve = Sieve::new(key, 0);
        assert!(sieve.receive(&second, &ours).is_err());
        sieve.receive(&first, &ours).unwrap();
        assert!(sieve.receive(&first, &ours).is_err());
        assert!(!sieve.is_complete());
        for cut in [0, 1, 2, 3, 4, 50, first.len() - 1] {
            assert!(Sieve::new(key, 0).receive(&first[..cut], &ours).is_err() || cut == 4);
        }
    }
}
