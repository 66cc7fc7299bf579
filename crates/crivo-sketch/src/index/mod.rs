//! Finding similar sets among many, without comparing with each.

mod codec;
mod tables;

use std::collections::HashMap;
use std::fmt;

use self::tables::{BandTables, NONE};
use super::banding::MIN_BAND_BITS;
use super::{Banding, Signature, SignatureBits, SimilarityEstimate, SketchMismatch, Sketcher};
use crivo::codec::Metadata;
use crivo::{Digest, ParameterError};
use thiserror::Error;

/// Signatures under numbers of the caller's choice, found again by similarity.
///
/// A query looks up each band of a signature in a table, and returns the *candidates*: all entries
/// that share a band. [`Goal`](super::Goal) plans bands so that similar sets become candidates, and
/// few others do. The S-curve gives the probabilities: similar sets can be missed, and candidates
/// need not be similar; compare the sets themselves where it matters.
///
/// ```
/// use crivo_sketch::{Goal, SimilarityIndex, Sketcher};
///
/// let plan = Goal::new(0.7, 0.99).plan()?;
/// let sketcher = Sketcher::classic(plan.banding.value_count())?;
/// let mut index = SimilarityIndex::new(sketcher, plan.banding)?;
/// for (id, range) in [(1, 0..1_000u32), (2, 50..1_050), (3, 5_000..6_000)] {
///     let signature = sketcher.sketch_keys(range).expect("a set with elements");
///     index.insert(id, &signature)?;
/// }
/// let query = sketcher.sketch_keys(20..1_020u32).expect("a set with elements");
/// assert_eq!(index.query(&query)?, [1, 2]);
/// index.remove(1);
/// assert_eq!(index.query(&query)?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is [saved](Self::save) and loaded like a filter. The file holds the signatures in the order of
/// their numbers, and not the tables, which are built again: the bytes depend on what is in the
/// index, not on how it came there.
///
/// An insertion and a query take one lookup for each band. A removal also walks through the other
/// entries that share a band: in an index of very many equal sets that is long.
#[derive(Clone)]
pub struct SimilarityIndex {
    sketcher: Sketcher,
    bits: SignatureBits,
    banding: Banding,
    /// Where each entry is, by its number.
    slots: HashMap<u64, u32>,
    /// For each slot the entry's number and then the words of its signature.
    rows: Vec<u64>,
    /// Which slots share a band.
    tables: BandTables,
    /// Slots of removed entries.
    free: Vec<u32>,
    metadata: Metadata,
}

impl SimilarityIndex {
    /// An empty index for signatures of this sketcher, with all their bits.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// assert_eq!(index.entry_count(), 0);
    /// assert!(SimilarityIndex::new(Sketcher::classic(99)?, Banding::new(20, 5)?).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the bands need more values than the signatures have.
    pub fn new(sketcher: Sketcher, banding: Banding) -> Result<Self, ParameterError> {
        Self::with_bits(sketcher, SignatureBits::ALL, banding)
    }

    /// An empty index for signatures that are [shortened](Signature::shortened) to some bits.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SignatureBits, SimilarityIndex, Sketcher};
    ///
    /// // Eight bits of a value instead of 64.
    /// let (sketcher, banding) = (Sketcher::classic(100)?, Banding::new(20, 5)?);
    /// let index = SimilarityIndex::with_bits(sketcher, SignatureBits::new(8)?, banding)?;
    /// assert_eq!(index.bits().get(), 8);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the bands need more values than the signatures have, or a band has fewer than 8 bits:
    /// such bands are shared by sets that have nothing in common.
    pub fn with_bits(
        sketcher: Sketcher,
        bits: SignatureBits,
        banding: Banding,
    ) -> Result<Self, ParameterError> {
        if banding.value_count() > sketcher.length() {
            let values = banding.value_count();
            let allowed = "at most the signature length";
            return Err(ParameterError::new("bands × rows", values, allowed));
        }
        let band_bits = banding.rows() * bits.get();
        if band_bits < MIN_BAND_BITS {
            return Err(ParameterError::new("bits of a band", band_bits, "at least 8"));
        }
        Ok(Self {
            sketcher,
            bits,
            banding,
            slots: HashMap::new(),
            rows: Vec::new(),
            tables: BandTables::new(banding.bands()),
            free: Vec::new(),
            metadata: Metadata::new(),
        })
    }

    /// The sketcher of its signatures.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// assert_eq!(SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?.sketcher(), sketcher);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn sketcher(&self) -> Sketcher {
        self.sketcher
    }

    /// The number of bits of each value.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SignatureBits, SimilarityIndex, Sketcher};
    ///
    /// let index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
    /// assert_eq!(index.bits(), SignatureBits::ALL);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn bits(&self) -> SignatureBits {
        self.bits
    }

    /// Its bands.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let banding = Banding::new(20, 5)?;
    /// assert_eq!(SimilarityIndex::new(Sketcher::classic(100)?, banding)?.banding(), banding);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn banding(&self) -> Banding {
        self.banding
    }

    /// The number of entries.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// index.insert(7, &sketcher.sketch_keys(0..1_000u32).expect("there are keys"))?;
    /// assert_eq!(index.entry_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entry_count(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is an entry with this number.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// index.insert(7, &sketcher.sketch_keys(0..1_000u32).expect("there are keys"))?;
    /// assert!(index.contains(7) && !index.contains(8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, id: u64) -> bool {
        self.slots.contains_key(&id)
    }

    /// The numbers of all entries, in ascending order.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let signature = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// for id in [9, 7, 8] {
    ///     index.insert(id, &signature)?;
    /// }
    /// assert!(index.ids().eq([7, 8, 9]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        let mut ids: Vec<u64> = self.slots.keys().copied().collect();
        ids.sort_unstable();
        ids.into_iter()
    }

    /// The signature with this number.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let signature = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// index.insert(7, &signature)?;
    /// assert_eq!((index.get(7), index.get(8)), (Some(signature), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, id: u64) -> Option<Signature> {
        let slot = *self.slots.get(&id)?;
        Some(Signature::from_words(self.sketcher, self.bits, self.words(slot).into()))
    }

    /// Adds a signature under a number.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let signature = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// index.insert(7, &signature)?;
    /// assert!(index.insert(7, &signature).is_err()); // the number is taken
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is an entry with that number, or the signature was made by another sketcher.
    /// The index is then unchanged.
    pub fn insert(&mut self, id: u64, signature: &Signature) -> Result<(), IndexError> {
        signature.check_comparable(self.sketcher, self.bits)?;
        self.insert_words(id, signature.words())
    }

    fn insert_words(&mut self, id: u64, words: &[u64]) -> Result<(), IndexError> {
        if self.contains(id) {
            return Err(IndexError::Taken(id));
        }
        if self.tables.is_full(self.entry_count()) {
            let Self { banding, bits, rows, .. } = self;
            let stride = 1 + bits.words_for(self.sketcher.length());
            let words = |slot: u32| &rows[slot as usize * stride + 1..][..stride - 1];
            let digest_of = |slot, band| band_digest(*banding, *bits, words(slot), band);
            self.tables.grow(self.slots.values().copied(), digest_of);
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add_slot()?,
        };
        let start = slot as usize * self.stride();
        self.rows[start] = id;
        self.rows[start + 1..][..words.len()].copy_from_slice(words);
        self.slots.insert(id, slot);
        for band in 0..self.banding.bands() {
            self.tables.link(slot, band, self.band_digest(words, band));
        }
        Ok(())
    }

    /// Makes room for `entries` entries of an index that has none yet.
    ///
    /// # Errors
    /// The number of bytes for which there is no memory.
    fn try_reserve(&mut self, entries: usize) -> Result<(), usize> {
        let words = entries.saturating_mul(self.stride());
        let bytes = words.saturating_mul(8).saturating_add(self.tables.bytes_for(entries));
        self.rows.try_reserve_exact(words).map_err(|_| bytes)?;
        self.slots.try_reserve(entries).map_err(|_| bytes)?;
        self.tables.try_reserve(entries).map_err(|_| bytes)
    }

    /// A new slot behind the others.
    fn add_slot(&mut self) -> Result<u32, IndexError> {
        let count = self.rows.len() / self.stride();
        let slot = u32::try_from(count).ok().filter(|&slot| slot != NONE);
        let slot = slot.ok_or(IndexError::Full)?;
        self.rows.resize((count + 1) * self.stride(), 0);
        self.tables.add_entry();
        Ok(slot)
    }

    /// Removes the entry with this number, and returns its signature, if there was one.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let signature = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// index.insert(7, &signature)?;
    /// assert_eq!(index.remove(7), Some(signature));
    /// assert_eq!(index.remove(7), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, id: u64) -> Option<Signature> {
        let slot = self.slots.remove(&id)?;
        let words: Box<[u64]> = self.words(slot).into();
        for band in 0..self.banding.bands() {
            self.tables.unlink(slot, band, self.band_digest(&words, band));
        }
        self.free.push(slot);
        Some(Signature::from_words(self.sketcher, self.bits, words))
    }

    /// The numbers of all entries that share a band with the signature, in ascending order.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let of = |range| sketcher.sketch_keys::<u32>(range).expect("there are keys");
    /// index.insert(7, &of(0..1_000))?;
    /// index.insert(8, &of(1_000..2_000))?;
    /// assert_eq!(index.query(&of(50..1_000))?, [7]); // 95% of it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the signature was made by another sketcher.
    pub fn query(&self, signature: &Signature) -> Result<Vec<u64>, SketchMismatch> {
        signature.check_comparable(self.sketcher, self.bits)?;
        let candidates = self.candidates(signature.words());
        let mut ids: Vec<u64> = candidates.into_iter().map(|slot| self.id(slot)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The candidates with their estimated similarity, the most similar first.
    ///
    /// ```
    /// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    ///
    /// let sketcher = Sketcher::classic(100)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
    /// let of = |range| sketcher.sketch_keys::<u32>(range).expect("there are keys");
    /// index.insert(7, &of(0..900))?;
    /// index.insert(8, &of(0..1_000))?;
    /// let found = index.query_ranked(&of(0..1_000))?;
    /// assert_eq!((found[0].id, found[0].estimate.jaccard), (8, 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the signature was made by another sketcher.
    pub fn query_ranked(&self, signature: &Signature) -> Result<Vec<Similar>, SketchMismatch> {
        signature.check_comparable(self.sketcher, self.bits)?;
        let similar =
            |slot| Similar { id: self.id(slot), estimate: signature.compare(self.words(slot)) };
        let mut found: Vec<Similar> =
            self.candidates(signature.words()).into_iter().map(similar).collect();
        found.sort_by(|a, b| {
            b.estimate.jaccard.total_cmp(&a.estimate.jaccard).then(a.id.cmp(&b.id))
        });
        Ok(found)
    }

    /// All pairs of entries that share a band, each once: the lesser number first, in ascending
    /// order.
    ///
    /// ```
    /// # use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
    /// let sketcher = Sketcher::classic(64)?;
    /// let mut index = SimilarityIndex::new(sketcher, Banding::new(16, 4)?)?;
    /// for (id, text) in [(7, "sieve"), (8, "sifter"), (9, "sieve")] {
    ///     index.insert(id, &sketcher.sketch_keys([text]).expect("a set with elements"))?;
    /// }
    /// assert_eq!(index.pairs().collect::<Vec<_>>(), [(7, 9)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ids().flat_map(|id| {
            let candidates = self.candidates(self.words(self.slots[&id])).into_iter();
            let mut later: Vec<u64> =
                candidates.map(|slot| self.id(slot)).filter(|&other| other > id).collect();
            later.sort_unstable();
            later.into_iter().map(move |other| (id, other))
        })
    }

    /// The slots that share a band with these words, each once.
    fn candidates(&self, words: &[u64]) -> Vec<u32> {
        let mut found = Vec::new();
        for band in 0..self.banding.bands() {
            let entries = self.tables.entries(band, self.band_digest(words, band));
            found.extend(entries.filter(|&slot| self.shares_band(words, slot, band)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn band_digest(&self, words: &[u64], band: u32) -> u64 {
        band_digest(self.banding, self.bits, words, band)
    }

    /// Whether the values of a band are those of an entry. Digests can be made to collide.
    fn shares_band(&self, words: &[u64], slot: u32, band: u32) -> bool {
        let others = self.words(slot);
        places(self.banding, band)
            .all(|index| self.bits.value(words, index) == self.bits.value(others, index))
    }

    /// The words of a slot: a number, and a signature.
    fn stride(&self) -> usize {
        1 + self.bits.words_for(self.sketcher.length())
    }

    fn row(&self, slot: u32) -> &[u64] {
        &self.rows[slot as usize * self.stride()..][..self.stride()]
    }

    fn id(&self, slot: u32) -> u64 {
        self.row(slot)[0]
    }

    fn words(&self, slot: u32) -> &[u64] {
        &self.row(slot)[1..]
    }
}

/// The places of a band's values.
fn places(banding: Banding, band: u32) -> std::ops::Range<usize> {
    let rows = banding.rows() as usize;
    band as usize * rows..(band as usize + 1) * rows
}

/// 64 bits for the values of a band.
fn band_digest(banding: Banding, bits: SignatureBits, words: &[u64], band: u32) -> u64 {
    places(banding, band)
        .map(|index| bits.value(words, index))
        .fold(Digest::new(0), |digest, value| Digest::new(digest.get() ^ value).remix())
        .get()
}

/// Equal if the same signatures are under the same numbers, in the same bands.
impl PartialEq for SimilarityIndex {
    fn eq(&self, other: &Self) -> bool {
        let make = |index: &Self| (index.sketcher, index.bits, index.banding);
        make(self) == make(other)
            && self.metadata == other.metadata
            && self.slots.len() == other.slots.len()
            && self.slots.iter().all(|(id, &ours)| {
                other.slots.get(id).is_some_and(|&theirs| self.row(ours) == other.row(theirs))
            })
    }
}

impl fmt::Debug for SimilarityIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimilarityIndex")
            .field("sketcher", &self.sketcher)
            .field("bits", &self.bits)
            .field("banding", &self.banding)
            .field("entry_count", &self.entry_count())
            .finish_non_exhaustive()
    }
}

/// An entry that shares a band with a query.
///
/// ```
/// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
///
/// let sketcher = Sketcher::classic(100)?;
/// let mut index = SimilarityIndex::new(sketcher, Banding::new(20, 5)?)?;
/// let signature = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
/// index.insert(7, &signature)?;
/// let similar = index.query_ranked(&signature)?[0];
/// assert_eq!(similar.id, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Similar {
    /// The entry's number.
    pub id: u64,
    /// The estimated similarity.
    pub estimate: SimilarityEstimate,
}

/// Why an index refused a signature. The index is unchanged.
///
/// ```
/// use crivo_sketch::{Banding, SimilarityIndex, Sketcher};
///
/// // Signatures of another length.
/// let mut index = SimilarityIndex::new(Sketcher::classic(100)?, Banding::new(20, 5)?)?;
/// let other = Sketcher::classic(200)?.sketch_keys(0..1_000u32).expect("there are keys");
/// assert!(index.insert(7, &other).is_err());
/// assert_eq!(index.entry_count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is an entry with this number already.
    #[error("there is an entry {0} already; remove it first")]
    Taken(u64),
    /// The signature was made with another sketcher than those of the index.
    #[error(transparent)]
    Mismatch(#[from] SketchMismatch),
    /// There are 2^32 − 1 entries.
    #[error("the index is full: it holds 4294967295 entries")]
    Full,
}

#[cfg(test)]
mod tests;
