//! A Bloom filter as a file: the words of its table.

use super::{BitTable, Bloom};
use crate::bits::Words;
use crate::codec::{DecodeError, Kind, Persist};
use crate::theory::check::{check_positive, check_probes};
use crate::{KeyHasher, ParameterError};

/// What stands in a file beside kind, hasher and key count: words, probes, capacity.
struct Parameters {
    word_count: u64,
    probes: u32,
    capacity: u64,
}

impl Parameters {
    fn parse(parameters: &[u64]) -> Result<Self, DecodeError> {
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
        Ok(Self { word_count, probes, capacity })
    }
}

impl Persist for Bloom {
    const KIND: Kind = Kind::Bloom;

    fn parameters(&self) -> Vec<u64> {
        vec![self.table.words().len() as u64, u64::from(self.probes), self.capacity]
    }

    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError> {
        Ok(Parameters::parse(parameters)?.word_count)
    }

    fn payload(&self) -> Vec<&[u64]> {
        vec![self.table.words()]
    }

    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        let Parameters { word_count, probes, capacity } = Parameters::parse(parameters)?;
        let table = BitTable::from_words(payload)
            .filter(|table| table.words().len() as u64 == word_count)
            .ok_or(DecodeError::Inconsistent("the number of words is not that of the table"))?;
        Ok(Self { table, probes, key_count, capacity, hasher })
    }
}
