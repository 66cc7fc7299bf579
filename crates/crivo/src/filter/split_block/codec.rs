//! A split-block filter as a file: the words of its blocks.

use super::{SplitBlock, SplitBlockSpec};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::simd::Level;

impl Persist for SplitBlock {
    type Layout = SplitBlockSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::SplitBlock.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![self.blocks(), self.capacity],
            payload: vec![&self.words],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<SplitBlockSpec, DecodeError> {
        Kind::SplitBlock.file_kind().expect(kind)?;
        let &[blocks, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a split-block filter has two parameters"));
        };
        Ok(SplitBlockSpec::from_parts(blocks, capacity)?)
    }

    fn payload_length(spec: &SplitBlockSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: SplitBlockSpec, content: Content) -> Result<Self, DecodeError> {
        let Content { hasher, key_count, metadata, payload: words, .. } = content;
        if spec.word_count() != words.len() as u64 {
            return Err(DecodeError::Inconsistent("the payload is not as long as its blocks"));
        }
        let SplitBlockSpec { capacity, .. } = spec;
        Ok(Self { hasher, words, key_count, capacity, metadata, level: Level::best() })
    }
}
