//! A blocked filter as a file: the words of its lines.

use super::{Blocked, BlockedSpec};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::simd::Level;

impl Persist for Blocked {
    type Layout = BlockedSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::Blocked.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![self.blocks(), self.probes.into(), self.capacity],
            payload: vec![&self.words],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<BlockedSpec, DecodeError> {
        Kind::Blocked.file_kind().expect(kind)?;
        let &[blocks, probes, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a blocked filter has three parameters"));
        };
        // What no u32 holds is out of range as well.
        let probes = u32::try_from(probes).unwrap_or(u32::MAX);
        Ok(BlockedSpec::from_parts(blocks, probes, capacity)?)
    }

    fn payload_length(spec: &BlockedSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: BlockedSpec, content: Content) -> Result<Self, DecodeError> {
        let BlockedSpec { probes, capacity, .. } = spec;
        let Content { hasher, key_count, metadata, payload: words, .. } = content;
        if spec.word_count() != words.len() as u64 {
            return Err(DecodeError::Inconsistent("its words are not as many as its blocks need"));
        }
        Ok(Self { hasher, words, probes, key_count, capacity, metadata, level: Level::best() })
    }
}
