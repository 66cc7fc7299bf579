//! A cuckoo filter as a file.
//!
//! Parameters: the number of buckets, the slots of a bucket (4), the bits of a fingerprint, and
//! the capacity. Payload: the words of the table, padding included.

use super::fields::BUCKET_SIZE;
use super::table::CuckooTable;
use super::{Cuckoo, CuckooSpec};
use crate::ParameterError;
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};

impl Persist for Cuckoo {
    type Layout = CuckooSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::Cuckoo.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![
                self.table.bucket_count(),
                BUCKET_SIZE.into(),
                self.fingerprint_bits().into(),
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

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<CuckooSpec, DecodeError> {
        Kind::Cuckoo.file_kind().expect(kind)?;
        let &[buckets, bucket_size, fingerprint_bits, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a cuckoo filter has four parameters"));
        };
        if bucket_size != u64::from(BUCKET_SIZE) {
            return Err(ParameterError::new("bucket size", bucket_size, "4").into());
        }
        // What no u32 holds is out of range as well.
        let fingerprint_bits = u32::try_from(fingerprint_bits).unwrap_or(u32::MAX);
        Ok(CuckooSpec::from_parts(buckets, fingerprint_bits, capacity)?)
    }

    fn payload_length(spec: &CuckooSpec) -> u64 {
        spec.word_count()
    }

    /// The key count is not compared with the slots that are taken: a mapped table would have to
    /// be read to its end. A wrong one misleads `expected_fpr`, and nothing else.
    fn from_content(spec: CuckooSpec, mut content: Content) -> Result<Self, DecodeError> {
        let CuckooSpec { buckets, fingerprint_bits, capacity } = spec;
        let slots = spec.slot_count();
        // Below 2^63 bits.
        content.check_padding(1, content.padding_from(slots * u64::from(fingerprint_bits)))?;
        let Content { hasher, key_count, metadata, payload, .. } = content;
        if key_count > slots {
            return Err(DecodeError::Inconsistent("there are more keys than slots"));
        }
        let table = CuckooTable::from_words(buckets, fingerprint_bits, payload)?
            .ok_or(DecodeError::Inconsistent("the table has another size than the header says"))?;
        Ok(Self { table, key_count, capacity, hasher, metadata })
    }
}
