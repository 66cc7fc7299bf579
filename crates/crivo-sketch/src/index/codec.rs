//! An index as a file: its signatures in the order of their numbers.
//!
//! ```text
//!   parameters   form │ values of a signature │ bits of a value │ bands │ rows │ entries
//!   payload      number, signature │ number, signature │ …      (whole words, ascending numbers)
//! ```
//!
//! The tables of the bands are not written. They follow from the signatures, and what a file does
//! not say it cannot say wrongly.

use super::SimilarityIndex;
use crate::{Banding, Form, SignatureBits, Sketcher};
use crivo::codec::{DecodeError, Kind, Stored};
use crivo::{KeyHasher, ParameterError};
use crivo_core::Words;

/// An empty index with these parameters, and how many entries it should have.
fn parse(parameters: &[u64], hasher: KeyHasher) -> Result<(SimilarityIndex, u64), DecodeError> {
    let &[form, length, bits, bands, rows, entries] = parameters else {
        return Err(DecodeError::Inconsistent("a similarity index has six parameters"));
    };
    let form = u8::try_from(form)
        .ok()
        .and_then(Form::from_id)
        .ok_or(DecodeError::Inconsistent("the form of the signatures is unknown"))?;
    // What has no place in 32 bits is out of every range, as their largest number is.
    let [length, bits, bands, rows] =
        [length, bits, bands, rows].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let sketcher = Sketcher::with_hasher(form, length, hasher)?;
    let banding = Banding::new(bands, rows)?;
    let bits = SignatureBits::new(bits)?;
    Ok((SimilarityIndex::with_bits(sketcher, bits, banding)?, entries))
}

impl Stored for SimilarityIndex {
    fn stored_kind(&self) -> Kind {
        Kind::Similarity
    }

    fn stored_hasher(&self) -> KeyHasher {
        self.sketcher.hasher()
    }

    fn stored_key_count(&self) -> u64 {
        self.entry_count() as u64
    }

    fn stored_parameters(&self) -> Vec<u64> {
        let numbers =
            [self.sketcher.length(), self.bits.get(), self.banding.bands(), self.banding.rows()];
        let mut parameters = vec![u64::from(self.sketcher.form().id())];
        parameters.extend(numbers.map(u64::from));
        parameters.push(self.entry_count() as u64);
        parameters
    }

    fn stored_payload(&self) -> Vec<&[u64]> {
        self.slots.values().map(|&slot| self.row(slot)).collect()
    }

    fn stored_length(kind: Kind, parameters: &[u64]) -> Result<u64, DecodeError> {
        if kind != Kind::Similarity {
            return Err(DecodeError::WrongKind { expected: Kind::Similarity, found: kind });
        }
        // The length does not depend on the hash function, which is not known yet.
        let (index, entries) = parse(parameters, KeyHasher::default())?;
        entries.checked_mul(index.stride() as u64).ok_or_else(|| {
            ParameterError::new("entries", entries, "less than 2^64 words in all").into()
        })
    }

    fn from_stored(
        _: Kind,
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        let (mut index, entries) = parse(parameters, hasher)?;
        if key_count != entries {
            return Err(DecodeError::Inconsistent("the entries are not as many as the keys"));
        }
        let length = index.sketcher.length();
        let mut last = None;
        for row in payload.chunks_exact(index.stride()) {
            let (id, words) = (row[0], &row[1..]);
            if last.replace(id).is_some_and(|last| last >= id) {
                return Err(DecodeError::Inconsistent("the entries are not in ascending order"));
            }
            if !index.bits.has_clean_end(words, length) {
                return Err(DecodeError::Inconsistent("there is something behind a signature"));
            }
            index
                .insert_words(id, words)
                .map_err(|_| DecodeError::Inconsistent("there are more entries than can be"))?;
        }
        Ok(index)
    }
}

#[cfg(feature = "serde")]
impl serde_core::Serialize for SimilarityIndex {
    fn serialize<S: serde_core::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        crivo::codec::serde::serialize(self, to)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde_core::Deserialize<'de> for SimilarityIndex {
    fn deserialize<D: serde_core::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crivo::codec::serde::deserialize(from)
    }
}
