//! Cassandra: its own filters, ours in their place, and guards in the client.

mod figures;
#[cfg(feature = "cassandra")]
mod measure;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};
use crate::settings::{CassandraServer, Options};

/// Filters in front of the disks of a real Cassandra, and in front of the server.
#[derive(Debug)]
pub(super) struct Cassandra;

/// The parameter that says what was measured, and its values.
const ACCESS: &str = "access";
const NOTHING: &str = "nothing";
const CLIENT: &str = "client";
const NODE: &str = "node";

/// The parameter that names the driver and its version. Older data have none.
const DRIVER: &str = "driver";

/// The values of `bloom_filter_fp_chance`, in the order of the legend: 1 is no filter.
const CHANCES: [f64; 6] = [1.0, 0.5, 0.1, 0.01, 0.001, 0.0001];

/// Into how many SSTables the rows are split, in ascending order.
const SSTABLES: [u64; 3] = [1, 4, 16];

/// The chance and the number of SSTables of the tables whose filters are replaced, and of guards.
const CHANCE: f64 = 0.01;
const PARTS: u64 = 4;

/// How absent keys are drawn, where that is not by Zipf's law.
const UNIFORM: &str = "uniform";

/// Tasks in the data.
const ABSENT: &str = "absent";
const WITH_FILTER: &str = "the server has filters";
const WITHOUT_FILTER: &str = "the server has none";

/// The baseline of guards.
const NO_GUARD: &str = "no guard";

/// The FPR of the guards that are timed for every share of absent keys.
const TIMED_FPR: f64 = 0.001;

/// Percentages of questions for absent keys, in ascending order.
const ABSENT_PERCENTAGES: [usize; 5] = [0, 10, 50, 90, 100];

/// What the server counted for a table of S SSTables, with questions for absent keys alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Count {
    /// The chance, or the dimensions of the filter that replaced the server's.
    filter: String,
    /// Whether it was replaced.
    replaced: bool,
    sstables: u64,
    keys: u64,
    /// Of all filters of the table; 0 without.
    bits: u64,
    probes: u32,
    distribution: String,
    questions: u64,
    /// As the server counts them: each is an SSTable that was opened for an absent key.
    false_positives: u64,
    /// The same, from reading the files of the filters.
    predicted: u64,
    /// The FPR of a filter with these bits and probes, as the mean of the table's.
    theory: f64,
    /// The standard deviation of this mean over tables of the same size.
    deviation: f64,
    /// Bytes of filters in the server's memory.
    memory: u64,
}

/// Quantiles of the client's times.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Quantiles {
    /// Older data have those of all rounds together.
    #[serde(default)]
    round: Option<u32>,
    task: String,
    filter: String,
    sstables: u64,
    questions: u64,
    median_microseconds: f64,
    p90_microseconds: f64,
    p99_microseconds: f64,
}

/// A guard in the client, asked for absent keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct GuardCount {
    kind: String,
    fpr: f64,
    expected_fpr: f64,
    keys: u64,
    bits: u64,
    questions: u64,
    stopped: u64,
}

/// The name of a server's filter in the data.
fn chance_name(chance: f64) -> String {
    if chance == 1.0 { "no filter".to_string() } else { chance.to_string() }
}

/// The name of a guard in the data.
fn guard_name(kind: &str, fpr: f64) -> String {
    format!("{kind}, {fpr}")
}

/// A sentence for the introduction.
fn describe_settings(settings: &BTreeMap<String, String>) -> String {
    let settings: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!(" Its settings: {}.", settings.join(", "))
}

impl Experiment for Cassandra {
    fn name(&self) -> &'static str {
        "cassandra"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        match &context.options.cassandra {
            #[cfg(feature = "cassandra")]
            Some(server) => measure::run(context, server, data),
            _ => {
                data.set_parameter(ACCESS, NOTHING);
                Ok(())
            }
        }
    }

    fn is_measured(&self, data: &Dataset, options: &Options) -> bool {
        let access = data.parameter::<String>(ACCESS).unwrap_or_default();
        match &options.cassandra {
            None => true,
            Some(CassandraServer::Address(_)) => access != NOTHING,
            Some(CassandraServer::Directory(_)) => access == NODE,
        }
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let access: String = data.parameter(ACCESS)?;
        let mut introduction = "Cassandra keeps a Bloom filter beside each of its SSTables, so that a \
            question for an absent row need not read any of them. How often is one read for nothing, what \
            does that cost, and what does a filter in the client add?"
            .to_string();
        let driver =
            data.parameter::<String>(DRIVER).map(|driver| format!(" and the driver {driver}"));
        let driver = driver.unwrap_or_default();
        let mut figures = Vec::new();
        match &*access {
            NOTHING => introduction.push_str(
                " Nothing was measured, because no server was named. The project’s script starts one, with \
                 Java 17 and Maven: scripts/services cassandra start DIR. Then \
                 cargo run --release -p crivo-cli --features cassandra -- study cassandra --cassandra DIR.",
            ),
            NODE => {
                let version: String = data.parameter("version")?;
                let format: String = data.parameter("format")?;
                let settings = describe_settings(&data.parameter("settings")?);
                introduction.push_str(&format!(
                    " Measured with Cassandra {version}{driver} on the loopback interface of one machine, SSTables of \
                     format {format}, caches of keys and rows off, compaction off.{settings}",
                ));
                figures.push(figures::opened(data)?);
                figures.push(figures::growth(data)?);
                figures.push(figures::cold(data)?);
                figures.push(figures::replaced(data)?);
                figures.push(figures::guards(data)?);
            }
            CLIENT => {
                let version: String = data.parameter("version")?;
                // Other servers may not tell.
                let settings = data.parameter("settings").map(|settings| describe_settings(&settings));
                let settings = settings.unwrap_or_default();
                introduction.push_str(&format!(
                    " Measured with Cassandra {version}{driver}, of which only the address was known: guards in \
                     the client, and the client’s times. Left out, because it takes more than CQL: how many \
                     SSTables the server opens, by its counters and by the files of its filters; other filters \
                     in their place; tables of other numbers of SSTables; the server’s own times; and starts \
                     with nothing in memory. For these, name a node of scripts/services by \
                     --cassandra DIR.{settings}"
                ));
                // Older data have guards alone.
                if data.table_names().any(|table| table == "quantiles") {
                    figures.push(figures::client(data)?);
                }
                figures.push(figures::guards(data)?);
            }
            other => return Err(data.fault(format!("{ACCESS} is {other:?}"))),
        }
        Ok(Section {
            title: "Cassandra",
            introduction,
            sources: &[Source::Silva2022, Source::Bonet2016, Source::Bloom1970],
            figures,
        })
    }
}
