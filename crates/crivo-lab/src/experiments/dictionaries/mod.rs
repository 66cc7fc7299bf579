//! Dictionaries compared: chaining, linear probing, cuckoo hashing, and hashbrown as the baseline.

mod chains;
mod speed;
mod subjects;
mod thresholds;

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};
use crate::timing::Sample;

/// Times by load, eviction chains, and load thresholds.
#[derive(Debug)]
pub(super) struct Dictionaries;

impl Experiment for Dictionaries {
    fn name(&self) -> &'static str {
        "dictionaries"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let steps = 20;
        thresholds::measure(context, data)?;
        context.step(6, steps);
        chains::measure(context, data)?;
        context.step(10, steps);
        let samples = speed::measure(context, data, |done, total| {
            context.step(10 + 10 * done / total, steps);
        })?;
        data.add_times("samples", &samples)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let samples: Vec<Sample> = data.rows("samples")?;
        Ok(Section {
            title: "Dictionaries compared",
            introduction:
                "Exact answers require storing the keys. Three ways to resolve collisions, \
                an exercise of every course on hashing: chaining, linear probing, and cuckoo \
                hashing, where a key has a few possible slots and can be moved between them. How \
                full can each table be, and how fast is it?"
                    .to_string(),
            sources: &[
                Source::Bonet2016,
                Source::PaghRodler2004,
                Source::FountoulakisPanagiotou2012,
                Source::Knuth1998,
            ],
            figures: vec![
                speed::figure(data, &samples)?,
                thresholds::figure(data)?,
                chains::figure(data)?,
            ],
        })
    }
}
