//! A growing filter as a file: the tables of its stages, one after another.
//!
//! ```text
//!   parameters   first capacity │ FPR (bits of the f64) │ stage 0: shape, keys │ stage 1: … │
//!   payload      words of stage 0, zeros up to a cache line │ words of stage 1, zeros │ …
//! ```
//!
//! A stage's shape is 256 times its number of words, plus its probes. Both are written, although
//! they follow from capacity and FPR: a reader need not know how the writer rounds.
//!
//! What follows is checked all the same. The next stage will be made for the file's FPR and for twice
//! the last capacity; only because the last stage keeps that FPR itself is the next one not much more
//! than twice as large, whatever the file claims.

use std::sync::Arc;

use super::spec::stage_target;
use super::{GrowingChain, MAX_STAGES, Stage, stage_capacity};
use crate::ParameterError;
use crate::filter::FilterSpec;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::theory::digest;
use crivo_core::Words;
use crivo_core::check::{check_fpr, check_keys};

/// Every table begins at a cache line of the payload.
const WORDS_PER_LINE: u64 = 8;

const PADDING: [u64; WORDS_PER_LINE as usize] = [0; WORDS_PER_LINE as usize];

const PROBES_BITS: u32 = 8;

/// The FPR of a stage may be this many times what the file's FPR leaves it: other writers may round,
/// or count, otherwise.
const TOLERANCE: f64 = 2.0;

/// How many words of zeros follow a table of `word_count` words.
fn padding_after(word_count: u64) -> usize {
    (word_count.wrapping_neg() % WORDS_PER_LINE) as usize
}

/// The parameters of a file.
pub struct GrowingLayout<S> {
    first_capacity: u64,
    fpr: f64,
    stages: Vec<ParsedStage<S>>,
}

struct ParsedStage<S> {
    layout: S,
    word_count: u64,
    key_count: u64,
}

impl<F: Stage> Persist for GrowingChain<F> {
    type Layout = GrowingLayout<F::Spec>;

    fn parts(&self) -> Parts<'_> {
        let shape = |stage: &F| stage.word_count() << PROBES_BITS | u64::from(stage.probes());
        let mut parameters = vec![self.first_capacity, self.fpr.to_bits()];
        let mut payload = Vec::with_capacity(2 * self.stages.len());
        for stage in &self.stages {
            parameters.extend([shape(stage), stage.key_count()]);
            payload.extend(stage.parts().payload);
            payload.push(&PADDING[..padding_after(stage.word_count())]);
        }
        Parts {
            kind: F::CHAIN.file_kind(),
            hasher: self.hasher(),
            key_count: self.key_count(),
            parameters,
            payload,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<Self::Layout, DecodeError> {
        F::CHAIN.file_kind().expect(kind)?;
        let Some((&[first_capacity, fpr], stages)) = parameters.split_first_chunk() else {
            return Err(DecodeError::Inconsistent("a growing filter has a capacity and an FPR"));
        };
        let fpr = f64::from_bits(fpr);
        check_keys(first_capacity)?;
        check_fpr(fpr)?;
        if fpr < digest::floor(first_capacity) {
            let allowed = "at least n/2^64 for n keys, because digests have only 64 bits";
            return Err(ParameterError::of_real("fpr", fpr, allowed).into());
        }
        let (stages, rest) = stages.as_chunks::<2>();
        if !rest.is_empty() || !(1..=MAX_STAGES).contains(&stages.len()) {
            return Err(DecodeError::Inconsistent("a growing filter has from 1 to 31 stages"));
        }
        let stage = |(index, &[shape, key_count]): (usize, &[u64; 2])| {
            let (word_count, probes) = (shape >> PROBES_BITS, shape % (1 << PROBES_BITS));
            let capacity = stage_capacity(first_capacity, index);
            let parameters = [word_count / F::WORDS_PER_UNIT, probes, capacity];
            let layout = F::parse(F::Spec::KIND.file_kind(), &parameters)?;
            if F::payload_length(&layout) != word_count {
                return Err(DecodeError::Inconsistent("a stage is no whole number of blocks"));
            }
            let limit = TOLERANCE * stage_target(fpr, index, capacity);
            let keeps_fpr = layout.fpr_when_full() <= limit;
            if !keeps_fpr {
                return Err(DecodeError::Inconsistent("a stage is too small for its FPR"));
            }
            Ok(ParsedStage { layout, word_count, key_count })
        };
        let stages = stages.iter().enumerate().map(stage).collect::<Result<_, _>>()?;
        Ok(GrowingLayout { first_capacity, fpr, stages })
    }

    fn payload_length(layout: &Self::Layout) -> u64 {
        // At most 31 numbers below 2^56, and their padding.
        layout.stages.iter().map(|stage| stage.word_count.next_multiple_of(WORDS_PER_LINE)).sum()
    }

    fn from_content(layout: Self::Layout, content: Content) -> Result<Self, DecodeError> {
        if content.payload.len() as u64 != Self::payload_length(&layout) {
            return Err(DecodeError::Inconsistent("the number of words is not that of the stages"));
        }
        let Content { version, hasher, key_count, metadata, payload } = content;
        let GrowingLayout { first_capacity, fpr, stages } = layout;
        let mut filter =
            Self { stages: Vec::with_capacity(stages.len()), first_capacity, fpr, metadata };
        // The stages of a mapped file stay in it; those of one that was read get their own memory.
        let payload = Arc::new(payload);
        let mut start = 0;
        for ParsedStage { layout, word_count, key_count } in stages {
            let table = start..start + word_count as usize;
            start = table.end + padding_after(word_count);
            if payload[table.end..start].iter().any(|&word| word != 0) {
                return Err(DecodeError::Inconsistent("there is something between the stages"));
            }
            let payload = Words::part_of(&payload, table)?;
            let content =
                Content { version, hasher, key_count, metadata: Metadata::new(), payload };
            filter.stages.push(F::from_content(layout, content)?);
        }
        if filter.key_count() != key_count {
            return Err(DecodeError::Inconsistent(
                "the stages' keys are not as many as the filter's",
            ));
        }
        Ok(filter)
    }
}
