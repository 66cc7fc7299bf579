//! The strata estimator: how large a difference is, in one message and before anything else.
//!
//! Ids are dealt to strata: half of them to the first, a quarter to the second, an eighth to the
//! third, and so on. Each stratum is a few coded symbols. However large the difference, in some deep
//! stratum so little of it is left that these are enough to decode it:
//!
//! ```text
//!   stratum     1      2      3      4     …                     d = 1,000
//!   of d       500    250    125     62    31     16     9  …    share 2^−i
//!   32 symbols  ✗      ✗      ✗      ✗     ✗      ✓      ✓       16 + 9 + … = 32 decoded
//!                                                                estimate: 32 · 2^5 = 1,024
//! ```
//!
//! Its error is that of counting what was decoded, about 1/√20 = 20%. It costs 32
//! symbols, about 710 bytes, for each stratum that is not empty, so 15 KB for a million items. A
//! [`Session`](super::Session) does without: the counts of the first 20 symbols of the whole set
//! ([`Decoder::estimate`]) say as much in 500 bytes. Strata are for whom only the size matters, and
//! who wants it exact where it is small.

use super::rateless::codec::{put_symbol, read_symbol, with_count, with_surplus};
use super::rateless::{CodedSymbol, Decoder, DecoderStatus, DifferenceEstimate, Encoder};
use super::wire::{self, Reader};
use super::{ExchangeError, ExchangeKey, Id, IdSet};
use crivo::KeyHasher;

const TAG: u8 = 65;
/// Of 2^40 items half a dozen are in the last stratum or beyond.
const STRATA: usize = 40;
/// The symbols of a stratum: enough for about 18 ids.
const SYMBOLS: usize = 32;
/// The strata's symbols are unrelated to those of a session.
const FIRST_ROUND: u64 = 1 << 32;

/// A summary of one peer's set, from which the other estimates the difference.
///
/// ```
/// use crivo_exchange::{ExchangeKey, IdSet, Strata};
///
/// let key = ExchangeKey::new([7; 16]);
/// let ours = IdSet::of_items(key, (0..10_000u32).map(u32::to_le_bytes));
/// let theirs = IdSet::of_items(key, (500..10_500u32).map(u32::to_le_bytes));
/// let message = Strata::of(&ours).to_bytes();
/// let estimate = Strata::from_bytes(&message, key)?.estimate(&theirs)?;
/// assert!((estimate.size - 1_000.0).abs() < 4.0 * estimate.standard_error);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strata {
    key: ExchangeKey,
    strata: Vec<Stratum>,
}

/// The coded symbols of the ids in a stratum.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stratum {
    item_count: u64,
    symbols: Vec<CodedSymbol>,
}

impl Strata {
    /// The strata of a set. It is copied stratum by stratum: half of it at most.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Strata};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let of = |items: [&str; 2]| Strata::of(&IdSet::of_items(key, items));
    /// assert_eq!(of(["ana", "rui"]), of(["rui", "ana"]));
    /// ```
    pub fn of(set: &IdSet) -> Self {
        let stratum = |number| {
            let ids = part(set, number);
            let item_count = ids.item_count();
            let symbols = match item_count {
                0 => Vec::new(),
                _ => Encoder::new(ids, FIRST_ROUND + number as u64)
                    .symbols(0..SYMBOLS as u64)
                    .to_vec(),
            };
            Stratum { item_count, symbols }
        };
        let mut strata: Vec<Stratum> = (0..STRATA).map(stratum).collect();
        // The strata behind the last item are not sent.
        strata.truncate(strata.iter().rposition(|s| s.item_count > 0).map_or(0, |last| last + 1));
        Self { key: set.key(), strata }
    }

    /// The message to send.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Strata};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), (0..10_000u32).map(u32::to_le_bytes));
    /// let bytes = Strata::of(&set).to_bytes();
    /// assert!((8_000..12_000).contains(&bytes.len())); // 710 per stratum
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = wire::message(TAG);
        bytes.extend(self.key.check_value().to_le_bytes());
        for Stratum { item_count, symbols } in &self.strata {
            wire::put_number(&mut bytes, *item_count);
            for symbol in with_surplus(symbols, 0, *item_count) {
                put_symbol(&mut bytes, &symbol);
            }
        }
        bytes
    }

    /// The strata of a peer with this key.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Strata};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let strata = Strata::of(&IdSet::of_items(key, ["ana", "rui"]));
    /// assert_eq!(Strata::from_bytes(&strata.to_bytes(), key)?, strata);
    /// assert!(Strata::from_bytes(&strata.to_bytes(), ExchangeKey::new([8; 16])).is_err());
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are none, or were made with another key.
    pub fn from_bytes(bytes: &[u8], key: ExchangeKey) -> Result<Self, ExchangeError> {
        let (tag, mut reader) = wire::open(bytes)?;
        if tag != TAG {
            return Err(ExchangeError::UnknownMessage(tag));
        }
        if u64::from_le_bytes(reader.array()?) != key.check_value() {
            return Err(ExchangeError::SeedMismatch);
        }
        let mut strata = Vec::new();
        while reader.remaining() > 0 {
            wire::check_limit("number of strata", strata.len() as u64 + 1, STRATA as u64)?;
            strata.push(read_stratum(&mut reader)?);
        }
        Ok(Self { key, strata })
    }

    /// How much the peer's set differs from ours. Where both are the same, or nearly, it is exact
    /// and its standard error 0.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeKey, IdSet, Strata};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let theirs = Strata::of(&IdSet::of_items(key, ["ana", "rui"]));
    /// let estimate = theirs.estimate(&IdSet::of_items(key, ["ana", "eva"]))?;
    /// assert_eq!(estimate.size, 2.0); // small differences are exact
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the symbols cannot be those of any set.
    pub fn estimate(&self, ours: &IdSet) -> Result<DifferenceEstimate, ExchangeError> {
        let mut decoded = 0.0f64;
        for number in (0..STRATA).rev() {
            let ids = part(ours, number);
            let stratum = self.strata.get(number).filter(|stratum| stratum.item_count > 0);
            let Some(stratum) = stratum else {
                decoded += ids.item_count() as f64;
                continue;
            };
            let mut decoder = Decoder::new(ids, FIRST_ROUND + number as u64);
            if decoder.receive(&stratum.symbols)? == DecoderStatus::Decoded {
                decoded += decoder.difference().map_or(0.0, |difference| difference.size() as f64);
                continue;
            }
            // The deeper strata have a share of 2^−(number + 1).
            let scale = 2.0f64.powi(number as i32 + 1);
            let size = decoded * scale;
            return Ok(DifferenceEstimate {
                size,
                standard_error: decoded.max(1.0).sqrt() * scale,
            });
        }
        Ok(DifferenceEstimate { size: decoded, standard_error: 0.0 })
    }
}

fn read_stratum(reader: &mut Reader<'_>) -> Result<Stratum, ExchangeError> {
    let item_count = wire::number_up_to(reader, "number of items", 1 << 44)?;
    let count = if item_count == 0 { 0 } else { SYMBOLS };
    let symbols: Vec<_> = (0..count).map(|_| read_symbol(reader)).collect::<Result<_, _>>()?;
    Ok(Stratum { item_count, symbols: with_count(&symbols, 0, item_count) })
}

/// The ids of a stratum: those whose hash ends in that number of zeros; in the last, that or more.
fn part(set: &IdSet, number: usize) -> IdSet {
    let hasher = KeyHasher::xxh3(set.key().derive(b"strata", 0));
    let level = |id: &Id| hasher.digest(&id.get()).get().trailing_zeros() as usize;
    let is_in = |id: &&Id| level(id).min(STRATA - 1) == number;
    IdSet::of_ids(set.key(), set.ids().iter().filter(is_in).copied().collect(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: ExchangeKey, range: std::ops::Range<u32>) -> IdSet {
        IdSet::of_items(key, range.map(u32::to_le_bytes))
    }

    /// Between 9 and 40 ids are decoded before a stratum fails, so that one estimate has an error of
    /// up to a third; the mean of ten, up to a tenth. A factor of 1.6 has a chance below 1e-6.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn sizes_are_about_right_and_small_ones_exact() {
        for (shift, is_exact) in
            [(0u32, true), (2, true), (100, false), (3_000, false), (20_000, false)]
        {
            let mut sum = 0.0;
            for seed in 0..10 {
                let key = ExchangeKey::new([seed; 16]);
                let (ours, theirs) = (set(key, 0..20_000), set(key, shift..20_000 + shift));
                let bytes = Strata::of(&theirs).to_bytes();
                assert!(bytes.len() < 20_000);
                let strata = Strata::from_bytes(&bytes, key).unwrap();
                assert_eq!(strata, Strata::of(&theirs));
                let estimate = strata.estimate(&ours).unwrap();
                assert_eq!(estimate.standard_error == 0.0, is_exact);
                sum += estimate.size;
            }
            let (mean, truth) = (sum / 10.0, 2.0 * f64::from(shift));
            assert!(!is_exact || mean == truth, "{mean} for {truth}");
            assert!(mean >= truth / 1.6 && mean <= truth * 1.6, "{mean} for {truth}");
        }
    }

    #[test]
    fn other_keys_and_cut_messages_are_errors() {
        let key = ExchangeKey::new([1; 16]);
        let bytes = Strata::of(&set(key, 0..100)).to_bytes();
        let other = Strata::from_bytes(&bytes, ExchangeKey::new([2; 16]));
        assert_eq!(other, Err(ExchangeError::SeedMismatch));
        assert!(Strata::from_bytes(&bytes[..bytes.len() - 1], key).is_err());
        assert_eq!(Strata::of(&set(key, 0..0)).estimate(&set(key, 0..7)).unwrap().size, 7.0);
    }
}
