//! Joins on a cluster: Bloom filters that drop rows before they are sent.
//!
//! The measurements are those of a benchmark of another workspace (`engines`), which writes them to
//! files; nothing of the engine is linked here.

mod figures;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};
use crate::settings::Options;

/// Runtime filters of joins on a cluster of Ballista.
#[derive(Debug)]
pub(super) struct Join;

/// One run of the join with a share of rows that match, as the benchmark writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Swept {
    share: f64,
    /// 0 is no filter.
    fpr: f64,
    run: u32,
    seconds: f64,
    /// Of these, for the plan and for the keys of the filter.
    plan_seconds: f64,
    shuffled_bytes: u64,
    /// Of these, for the keys of the filter.
    key_bytes: u64,
    probe_rows: u64,
    build_rows: u64,
    filter_bytes: u64,
}

/// One run of a query, as the benchmark writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct QueryRun {
    query: String,
    /// Whether small sides of joins are sent to every partition.
    broadcast: bool,
    filters: bool,
    run: u32,
    seconds: f64,
    plan_seconds: f64,
    shuffled_bytes: u64,
    key_bytes: u64,
    filter_count: u64,
    keys: u64,
    filter_bytes: u64,
}

/// The tables, and the files of the benchmark.
const SWEEP: &str = "sweep";
const QUERIES: &str = "joins";

/// The rows of a file of the benchmark.
fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<Vec<T>, StudyError> {
    let path = directory.join(format!("{name}.csv"));
    let fault =
        |error: csv::Error| StudyError::Data { path: path.clone(), reason: error.to_string() };
    let mut reader = csv::Reader::from_path(&path).map_err(fault)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(fault)
}

impl Experiment for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let Some(directory) = &context.options.joins else { return Ok(()) };
        data.add_times(SWEEP, &read::<Swept>(directory, SWEEP)?)?;
        data.add_times(QUERIES, &read::<QueryRun>(directory, QUERIES)?)
    }

    fn is_measured(&self, _: &Dataset, options: &Options) -> bool {
        // Reading the files again takes no time, and they may be new.
        options.joins.is_none()
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let mut introduction = "Executors of a distributed join send each other the rows of both sides. A \
            Bloom filter of the keys of one side drops rows of the other before they are sent. It costs a \
            query of its own for the keys. What does it save, and when does it pay?"
            .to_string();
        let mut figures = Vec::new();
        if data.table_names().any(|name| name == SWEEP) {
            introduction.push_str(
                " Measured by the benchmark of the workspace engines: Ballista, one scheduler and two \
                 executors with two tasks each, as processes on the loopback interface of one machine. Bytes \
                 are those of the files that executors write for each other, also for the keys of filters.",
            );
            figures.push(figures::bytes(data)?);
            figures.push(figures::time(data)?);
            if !data.rows::<QueryRun>(QUERIES)?.is_empty() {
                figures.push(figures::queries(data)?);
            }
        } else {
            introduction.push_str(
                " Nothing was measured, because no files of the benchmark were named. In the directory \
                 engines: cargo bench --bench joins -- --output DIR. Then crivo study join --joins DIR.",
            );
        }
        Ok(Section {
            title: "Joins on a cluster",
            introduction,
            sources: &[Source::MackertLohman1986, Source::Bloom1970],
            figures,
        })
    }
}
