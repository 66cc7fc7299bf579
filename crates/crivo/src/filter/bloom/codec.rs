//! A Bloom filter as a file: the words of its table.

use super::{BitTable, Bloom};
use crate::ParameterError;
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::theory::check::{check_positive, check_probes};

/// The parameters of a file: words, probes, capacity.
pub struct Layout {
    word_count: u64,
    probes: u32,
    capacity: u64,
}

impl Persist for Bloom {
    type Layout = Layout;

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

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<Layout, DecodeError> {
        Kind::Bloom.file_kind().expect(kind)?;
        let &[word_count, probes, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a Bloom filter has three parameters"));
        };
        // The number of bits must fit into 64 bits, too.
        if !(1..1 << 58).contains(&word_count) {
            return Err(ParameterError::new("words", word_count, "from 1 to 2^58 - 1").into());
        }
        let probes =
            u32::try_from(probes).map_err(|_| ParameterError::new("k", probes, "from 1 to 255"))?;
        check_probes(probes)?;
        check_positive("capacity", capacity)?;
        Ok(Layout { word_count, probes, capacity })
    }

    fn payload_length(layout: &Layout) -> u64 {
        layout.word_count
    }

    fn from_content(layout: Layout, content: Content) -> Result<Self, DecodeError> {
        let Layout { word_count, probes, capacity } = layout;
        let Content { hasher, key_count, metadata, payload, .. } = content;
        let table = BitTable::from_words(payload)
            .filter(|table| table.words().len() as u64 == word_count)
            .ok_or(DecodeError::Inconsistent("the number of words is not that of the table"))?;
        Ok(Self { table, probes, key_count, capacity, hasher, metadata })
    }
}
