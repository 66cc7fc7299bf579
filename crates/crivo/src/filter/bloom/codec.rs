//! A Bloom filter as a file: the words of its table.

use super::{BitTable, Bloom, BloomSpec};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};

impl Persist for Bloom {
    type Layout = BloomSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::Bloom.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![
                self.table.words().len() as u64,
                u64::from(self.probes),
                self.capacity,
            ],
            payload: vec![self.table.words()],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<BloomSpec, DecodeError> {
        Kind::Bloom.file_kind().expect(kind)?;
        let &[word_count, probes, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a Bloom filter has three parameters"));
        };
        // What no u32 holds is out of range as well.
        let probes = u32::try_from(probes).unwrap_or(u32::MAX);
        Ok(BloomSpec::from_parts(word_count, probes, capacity)?)
    }

    fn payload_length(spec: &BloomSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: BloomSpec, content: Content) -> Result<Self, DecodeError> {
        let BloomSpec { word_count, probes, capacity } = spec;
        let Content { hasher, key_count, metadata, payload, .. } = content;
        let table = BitTable::from_words(payload)
            .filter(|table| table.words().len() as u64 == word_count)
            .ok_or(DecodeError::Inconsistent("the number of words is not that of the table"))?;
        Ok(Self { table, probes, key_count, capacity, hasher, metadata })
    }
}
