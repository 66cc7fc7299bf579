//! The cuckoo filter as numbers and words.
//!
//! Parameters: the number of buckets, the slots of a bucket (4), the bits of a fingerprint, and
//! the capacity. Payload: the words of the table, padding included.

use super::Cuckoo;
use super::fields::BUCKET_SIZE;
use super::table::Table;
use crate::bits::Words;
use crate::codec::{DecodeError, Kind, Persist};
use crate::{KeyHasher, ParameterError};

/// The parameters, once they are found to make sense.
struct Parameters {
    buckets: u64,
    fingerprint_bits: u32,
    capacity: u64,
    word_count: u64,
}

impl Parameters {
    fn read(parameters: &[u64]) -> Result<Self, DecodeError> {
        let &[buckets, bucket_size, fingerprint_bits, capacity] = parameters else {
            return Err(DecodeError::Inconsistent("a cuckoo filter has four parameters"));
        };
        if bucket_size != u64::from(BUCKET_SIZE) {
            return Err(ParameterError::new("bucket size", bucket_size, "4").into());
        }
        // What no u32 holds is out of range as well.
        let fingerprint_bits = u32::try_from(fingerprint_bits).unwrap_or(u32::MAX);
        let word_count = Table::word_count(buckets, fingerprint_bits)?;
        let slots = buckets * u64::from(BUCKET_SIZE);
        if !(1..=slots).contains(&capacity) {
            let allowed = "at least 1, and at most the number of slots";
            return Err(ParameterError::new("capacity", capacity, allowed).into());
        }
        Ok(Self { buckets, fingerprint_bits, capacity, word_count })
    }
}

impl Persist for Cuckoo {
    const KIND: Kind = Kind::Cuckoo;

    fn parameters(&self) -> Vec<u64> {
        vec![
            self.table.bucket_count(),
            BUCKET_SIZE.into(),
            self.fingerprint_bits().into(),
            self.capacity,
        ]
    }

    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError> {
        Parameters::read(parameters).map(|parameters| parameters.word_count)
    }

    fn payload(&self) -> Vec<&[u64]> {
        vec![self.table.words()]
    }

    /// The key count is not compared with the slots that are taken: a mapped table would have to
    /// be read to its end. A wrong one misleads `expected_fpr`, and nothing else.
    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        let Parameters { buckets, fingerprint_bits, capacity, .. } = Parameters::read(parameters)?;
        if key_count > buckets * u64::from(BUCKET_SIZE) {
            return Err(DecodeError::Inconsistent("there are more keys than slots"));
        }
        let table = Table::from_words(buckets, fingerprint_bits, payload)?
            .ok_or(DecodeError::Inconsistent("the table has another size than the header says"))?;
        Ok(Self { table, key_count, capacity, hasher })
    }
}
