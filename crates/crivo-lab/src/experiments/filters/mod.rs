//! All filters: size, false-positive rate, speed.

mod claims;
mod rejection;
mod space;
mod speed;
mod subjects;

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};
use crate::timing::Sample;

/// Space, speed and rejection time of every filter, and two claims about cuckoo filters.
#[derive(Debug)]
pub(super) struct Filters;

impl Experiment for Filters {
    fn name(&self) -> &'static str {
        "filters"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let steps = 20;
        space::measure(context, data)?;
        context.step(4, steps);
        claims::measure(context, data)?;
        context.step(6, steps);
        let mut samples = rejection::measure(context, data)?;
        context.step(8, steps);
        samples.extend(speed::measure(context, data, |done, total| {
            context.step(8 + done * 12 / total, steps);
        })?);
        data.add_times("samples", &samples)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let samples: Vec<Sample> = data.rows("samples")?;
        Ok(Section {
            title: "Filters compared",
            introduction:
                "Some filters accept keys one by one, some can also remove them, some need \
                all keys at once. How many bits do they take for a given false-positive rate, how \
                close is that to the information limit, and how fast are they, from tables that \
                fit in the cache to those that do not? Two often quoted claims are tested: that a \
                cuckoo filter is smaller than a Bloom filter below 3%, and faster even at a load \
                of 95%."
                    .to_string(),
            sources: &[
                Source::Bloom1970,
                Source::Carter1978,
                Source::Fan2014,
                Source::Putze2009,
                Source::Bender2012,
                Source::GrafLemire2022,
                Source::Silva2022,
            ],
            figures: vec![
                space::figure(data)?,
                claims::smaller(data)?,
                speed::figure(data, &samples)?,
                claims::faster(data, &samples)?,
                rejection::figure(data, &samples)?,
            ],
        })
    }
}
