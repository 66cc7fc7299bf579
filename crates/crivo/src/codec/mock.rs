//! For the tests of the codec: a filter of twenty lines, and a directory that goes away.

use std::fs;
use std::path::PathBuf;

use super::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::filter::{DynamicFilter, Filter, Full, Kind};
use crate::hash::reduce;
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::Words;

/// One bit per key, in a table of any number of bits, which is its only parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Mock {
    hasher: KeyHasher,
    key_count: u64,
    bits: u64,
    words: Words,
    metadata: Metadata,
}

impl Mock {
    pub(crate) fn new(capacity: u64, fpr: f64) -> Result<Self, BuildError> {
        Self::with_hasher(capacity, fpr, KeyHasher::default())
    }

    pub(crate) fn with_hasher(
        capacity: u64,
        fpr: f64,
        hasher: KeyHasher,
    ) -> Result<Self, BuildError> {
        let bits = (capacity as f64 / fpr).ceil() as u64;
        let words = Words::zeroed(bits.div_ceil(64) as usize)?;
        Ok(Self { hasher, key_count: 0, bits, words, metadata: Metadata::new() })
    }

    /// Whether the payload is that of a file.
    pub(crate) fn is_lent(&self) -> bool {
        self.words.is_lent()
    }
}

impl Filter for Mock {
    fn contains_digest(&self, key: Digest) -> bool {
        let bit = reduce(key.get(), self.bits);
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn key_count(&self) -> u64 {
        self.key_count
    }

    fn size_in_bits(&self) -> u64 {
        64 * self.words.len() as u64
    }

    fn expected_fpr(&self) -> f64 {
        self.key_count as f64 / self.bits as f64
    }

    fn hasher(&self) -> KeyHasher {
        self.hasher
    }
}

impl DynamicFilter for Mock {
    fn insert_digest(&mut self, key: Digest) -> Result<bool, Full> {
        let bit = reduce(key.get(), self.bits);
        let is_new = !self.contains_digest(key);
        self.words.to_mut()[(bit / 64) as usize] |= 1 << (bit % 64);
        self.key_count += 1;
        Ok(is_new)
    }

    fn clear(&mut self) {
        self.words.to_mut().fill(0);
        self.key_count = 0;
    }

    fn capacity(&self) -> u64 {
        self.bits
    }
}

impl Mock {
    pub(crate) const KIND: FileKind = Kind::Bloom.file_kind();
}

impl Persist for Mock {
    type Layout = u64;

    fn parts(&self) -> Parts<'_> {
        // Two pieces, because that is what some filters have.
        let (front, back) = self.words.split_at(self.words.len() / 3);
        Parts {
            kind: Self::KIND,
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![self.bits],
            payload: vec![front, back],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<u64, DecodeError> {
        Self::KIND.expect(kind)?;
        match *parameters {
            [0] => Err(ParameterError::new("bits", 0, "at least 1").into()),
            [bits] => Ok(bits),
            _ => Err(DecodeError::Inconsistent("a mock has one parameter")),
        }
    }

    fn payload_length(bits: &u64) -> u64 {
        bits.div_ceil(64)
    }

    fn from_content(bits: u64, content: Content) -> Result<Self, DecodeError> {
        let Content { hasher, key_count, metadata, payload: words, .. } = content;
        Ok(Self { hasher, key_count, bits, words, metadata })
    }
}

/// A directory of its own for each test, removed at the end.
pub(crate) struct TestDirectory {
    pub(crate) path: PathBuf,
}

impl TestDirectory {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crivo-test-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is in it, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
