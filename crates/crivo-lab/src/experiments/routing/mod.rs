//! Routing with filters: the cost of false positives, and of updates.

mod area;
mod picture;
mod tree;

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};
use crate::statistics::{PointEstimate, mean_interval};

/// Requests through a tree, and packets to moving devices.
#[derive(Debug)]
pub(super) struct Routing;

impl Experiment for Routing {
    fn name(&self) -> &'static str {
        "routing"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let repetitions = u64::from(context.repetitions());
        let (trees, areas) = (tree::FPRS.len() as u64, area::plan_count(context));
        let steps = (trees + areas) * repetitions;
        tree::run(context, data, (0, steps))?;
        area::run(context, data, (trees * repetitions, steps))?;
        picture::run(context, data)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let trees = data.rows("trees")?;
        let areas = data.rows("areas")?;
        Ok(Section {
            title: "Routing",
            introduction:
                "Where is a resource? A node that keeps a filter of the resources behind each \
                neighbour can forward requests without exact knowledge. Filters have no false \
                negatives, so nothing is lost; a false positive costs a detour."
                    .to_string(),
            sources: &[Source::Silva2022, Source::RheaKubiatowicz2002, Source::Hsiao2001],
            figures: vec![
                tree::stretch_figure(data, &trees)?,
                tree::cost_figure(&trees),
                area::stretch_figure(&areas),
                area::move_figure(&areas),
                picture::figure(data, &data.rows("picture")?)?,
            ],
        })
    }
}

/// The mean of a column over independent networks, with its interval.
fn mean_of<T>(rows: &[&T], column: impl Fn(&T) -> f64, confidence: f64) -> PointEstimate {
    let sample: Vec<f64> = rows.iter().map(|row| column(row)).collect();
    mean_interval(&sample, confidence)
}
