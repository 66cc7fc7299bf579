//! A quotient filter as a file: the words of its table.

use super::geometry::{BLOCK, QuotientGeometry};
use super::table::QuotientTable;
use super::{Quotient, QuotientSpec};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};

impl Persist for Quotient {
    type Layout = QuotientSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::Quotient.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![self.slot_count(), u64::from(self.remainder_bits())],
            payload: vec![&self.table.words],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<QuotientSpec, DecodeError> {
        Kind::Quotient.file_kind().expect(kind)?;
        let &[slots, remainder_bits] = parameters else {
            return Err(DecodeError::Inconsistent("a quotient filter has two parameters"));
        };
        // What no u32 holds is refused like any other number above 62.
        let remainder_bits = u32::try_from(remainder_bits).unwrap_or(u32::MAX);
        Ok(QuotientSpec::from_parts(slots, remainder_bits)?)
    }

    fn payload_length(spec: &QuotientSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: QuotientSpec, mut content: Content) -> Result<Self, DecodeError> {
        let QuotientSpec { geometry } = spec;
        if content.payload.len() != geometry.words() {
            return Err(DecodeError::Inconsistent("the table has not as many words as its slots"));
        }
        content.check_padding(2, padding(&geometry))?;
        let Content { hasher, key_count, metadata, payload, .. } = content;
        if key_count > geometry.capacity() {
            return Err(DecodeError::Inconsistent("there are more keys than the table can hold"));
        }
        Ok(Self { table: QuotientTable::of_words(geometry, payload), key_count, hasher, metadata })
    }
}

/// The bits of quotients that there are not, and the offsets of blocks that there are not.
fn padding(geometry: &QuotientGeometry) -> impl Iterator<Item = (usize, u64)> + use<> {
    let geometry = *geometry;
    let slots = geometry.slots();
    // There is at least one slot behind the last quotient.
    let last = (slots / BLOCK as u64) as usize;
    let quotients = (last..geometry.blocks()).map(move |block| {
        let mask = if block == last { u64::MAX << (slots % BLOCK as u64) } else { u64::MAX };
        (geometry.occupieds_word(block), mask)
    });
    let end = geometry.blocks();
    let shift = geometry.offset_shift(end);
    let offsets = (shift > 0).then(|| (geometry.offset_word(end), u64::MAX << shift));
    quotients.chain(offsets)
}
