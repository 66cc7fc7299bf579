//! A growing filter as a file: the tables of its stages, one after another.
//!
//! ```text
//!   parameters   first capacity │ rate (bits of the f64) │ stage 0: shape, keys │ stage 1: … │
//!   payload      words of stage 0, zeros up to a cache line │ words of stage 1, zeros │ …
//! ```
//!
//! A stage's shape is 256 times its number of words, plus its probes. Both are written, although
//! they follow from capacity and rate: a reader need not know how the writer rounds.

use std::sync::Arc;

use super::{Growing, MOST_STAGES, Stage as ChainStage, stage_capacity};
use crate::bits::Words;
use crate::codec::{DecodeError, Kind, Persist};
use crate::theory::check::{check_keys, check_rate};
use crate::{BuildError, KeyHasher};

/// Every table begins at a cache line of the payload.
const WORDS_PER_LINE: u64 = 8;

const PADDING: [u64; WORDS_PER_LINE as usize] = [0; WORDS_PER_LINE as usize];

const PROBES_BITS: u32 = 8;

/// How many words of zeros follow a table of `word_count` words.
fn padding_after(word_count: u64) -> usize {
    (word_count.wrapping_neg() % WORDS_PER_LINE) as usize
}

struct Parameters {
    first_capacity: u64,
    rate: f64,
    stages: Vec<Stage>,
}

struct Stage {
    word_count: u64,
    probes: u64,
    capacity: u64,
    key_count: u64,
}

impl Parameters {
    fn parse(parameters: &[u64]) -> Result<Self, DecodeError> {
        let Some((&[first_capacity, rate], stages)) = parameters.split_first_chunk() else {
            return Err(DecodeError::Inconsistent("a growing filter has a capacity and a rate"));
        };
        let rate = f64::from_bits(rate);
        check_keys(first_capacity)?;
        check_rate(rate)?;
        let (stages, rest) = stages.as_chunks::<2>();
        if !rest.is_empty() || !(1..=MOST_STAGES).contains(&stages.len()) {
            return Err(DecodeError::Inconsistent("a growing filter has from 1 to 31 stages"));
        }
        let stage = |(index, &[shape, key_count]): (usize, &[u64; 2])| Stage {
            word_count: shape >> PROBES_BITS,
            probes: shape % (1 << PROBES_BITS),
            capacity: stage_capacity(first_capacity, index),
            key_count,
        };
        let stages: Vec<Stage> = stages.iter().enumerate().map(stage).collect();
        // No stage has less than a bit for a key. The next one is made for twice as many keys, so
        // that a file can ask for memory only in proportion to what it brings.
        if stages.iter().any(|stage| stage.word_count.saturating_mul(64) < stage.capacity) {
            return Err(DecodeError::Inconsistent("a stage is too small for its capacity"));
        }
        Ok(Self { first_capacity, rate, stages })
    }
}

impl<F: ChainStage> Persist for Growing<F> {
    const KIND: Kind = F::CHAIN;

    fn parameters(&self) -> Vec<u64> {
        let stage = |stage: &F| {
            [stage.word_count() << PROBES_BITS | u64::from(stage.probes()), stage.key_count()]
        };
        let mut parameters = vec![self.first_capacity, self.rate.to_bits()];
        parameters.extend(self.stages.iter().flat_map(stage));
        parameters
    }

    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError> {
        // At most 31 numbers below 2^56, and their padding.
        Ok(Parameters::parse(parameters)?
            .stages
            .iter()
            .map(|stage| stage.word_count.next_multiple_of(WORDS_PER_LINE))
            .sum())
    }

    fn payload(&self) -> Vec<&[u64]> {
        let mut payload = Vec::with_capacity(2 * self.stages.len());
        for stage in &self.stages {
            payload.extend(stage.payload());
            payload.push(&PADDING[..padding_after(stage.word_count())]);
        }
        payload
    }

    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        if payload.len() as u64 != Self::payload_length(parameters)? {
            return Err(DecodeError::Inconsistent("the number of words is not that of the stages"));
        }
        let Parameters { first_capacity, rate, stages } = Parameters::parse(parameters)?;
        let mut filter = Self { stages: Vec::with_capacity(stages.len()), first_capacity, rate };
        // The stages of a mapped file stay in it; those of one that was read get their own memory.
        let payload = Arc::new(payload);
        let mut start = 0;
        for Stage { word_count, probes, capacity, key_count } in stages {
            let table = start..start + word_count as usize;
            start = table.end + padding_after(word_count);
            if payload[table.end..start].iter().any(|&word| word != 0) {
                return Err(DecodeError::Inconsistent("there is something between the stages"));
            }
            let words = Words::part_of(&payload, table).map_err(out_of_memory)?;
            // A table that is no whole number of units has words left over, which is refused.
            let parameters = [word_count / F::WORDS_PER_UNIT, probes, capacity];
            filter.stages.push(F::from_parts(hasher, key_count, &parameters, words)?);
        }
        if filter.key_count() != key_count {
            return Err(DecodeError::Inconsistent(
                "the stages' keys are not as many as the filter's",
            ));
        }
        Ok(filter)
    }
}

fn out_of_memory(error: BuildError) -> DecodeError {
    match error {
        BuildError::OutOfMemory { bytes } => DecodeError::OutOfMemory { bytes },
        BuildError::Parameter(error) => DecodeError::Parameter(error),
    }
}
