//! A blocked counting filter as a file.
//!
//! Four parameters: the number of blocks, the number of probes per key, the capacity, and the bits of
//! a counter. The payload is the words of the blocks.

use super::{BlockedCounting, BlockedCountingSpec, CounterWidth};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::simd::Level;

impl Persist for BlockedCounting {
    type Layout = BlockedCountingSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::BlockedCounting.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![
                self.blocks(),
                self.probes.into(),
                self.capacity,
                self.width.bits().into(),
            ],
            payload: vec![&self.words],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<BlockedCountingSpec, DecodeError> {
        Kind::BlockedCounting.file_kind().expect(kind)?;
        let &[blocks, probes, capacity, bits] = parameters else {
            let wrong = "a blocked counting filter has four parameters";
            return Err(DecodeError::Inconsistent(wrong));
        };
        // What no u32 holds is out of range as well.
        let probes = u32::try_from(probes).unwrap_or(u32::MAX);
        let width = CounterWidth::from_bits(bits)?;
        Ok(BlockedCountingSpec::from_parts(blocks, probes, width, capacity)?)
    }

    fn payload_length(spec: &BlockedCountingSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: BlockedCountingSpec, content: Content) -> Result<Self, DecodeError> {
        let BlockedCountingSpec { probes, width, capacity, .. } = spec;
        let Content { hasher, key_count, metadata, payload: words, .. } = content;
        if spec.word_count() != words.len() as u64 {
            return Err(DecodeError::Inconsistent("its words are not as many as its blocks need"));
        }
        let level = Level::best();
        Ok(Self { hasher, words, probes, width, key_count, capacity, metadata, level })
    }
}
