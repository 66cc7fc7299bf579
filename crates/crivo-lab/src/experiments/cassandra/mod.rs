//! Cassandra: its own filters, ours in their place, and guards in the client.

mod figures;
#[cfg(feature = "cassandra")]
mod measure;
#[cfg(feature = "cassandra")]
mod node;

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

/// What was measured: a value of [`ACCESS`].
const NOTHING: &str = "nothing";
const CLIENT: &str = "client";
const NODE: &str = "node";

/// The parameter that tells which of these it was.
const ACCESS: &str = "access";

/// The filter of the server alone, in the order of the legend. A chance of 1 is no filter.
const CHANCES: [f64; 6] = [1.0, 0.5, 0.1, 0.01, 0.001, 0.0001];

/// Into how many SSTables the rows are split.
const SSTABLES: [u64; 3] = [1, 4, 16];

/// The chance and the number of SSTables of the tables whose filters are replaced, and of guards.
const CHANCE: f64 = 0.01;
const PARTS: u64 = 4;

/// Tasks in the data.
const ABSENT: &str = "absent";
const ABSENT_ZIPF: &str = "absent, Zipf";
const PRESENT: &str = "present";
const PRESENT_ZIPF: &str = "present, Zipf";
const WITH_FILTER: &str = "the server has filters";
const WITHOUT_FILTER: &str = "the server has none";

/// The baseline of guards.
const NO_GUARD: &str = "no guard";

/// The FPRs of guards whose memory and share of stopped questions are shown; that of the timed ones.
const GUARD_FPRS: [f64; 3] = [0.1, 0.01, 0.001];
const TIMED_FPR: f64 = 0.001;

/// What the server counted for a table of S SSTables, with questions for absent keys alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Count {
    /// The chance, or the dimensions of the filter that was put in place of the server's.
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
    /// SSTables that were opened in vain, as the server counts them.
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

/// The server's own mean time for absent keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ServerTime {
    filter: String,
    sstables: u64,
    microseconds: f64,
}

/// Quantiles of the client's times, over all rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Quantiles {
    task: String,
    filter: String,
    sstables: u64,
    questions: u64,
    median_microseconds: f64,
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
            question for an absent row need not read any of them. How often is one read in vain, what does \
            that cost, and what does a filter in the client add?"
            .to_string();
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
                introduction.push_str(&format!(
                    " Measured with Cassandra {version} on the loopback interface of one machine, SSTables of \
                     format {format}, caches of keys and rows off, compaction off, data in the page cache. \
                     Reads from a cold disk were not measured: the files of a running node are mapped, and \
                     the system does not evict them."
                ));
                figures.push(figures::opened(data)?);
                figures.push(figures::growth(data)?);
                figures.push(figures::replaced(data)?);
                figures.push(figures::guards(data)?);
            }
            _ => {
                let version: String = data.parameter("version")?;
                introduction.push_str(&format!(
                    " Measured with Cassandra {version}, of which only the address was known: guards in the \
                     client, but not the server’s own filters. For these, name a node of scripts/services \
                     by --cassandra DIR."
                ));
                figures.push(figures::guards(data)?);
            }
        }
        Ok(Section {
            title: "Cassandra",
            introduction,
            sources: &[Source::Silva2022, Source::Bonet2016, Source::Bloom1970],
            figures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{Figure, Finding};
    use crate::timing::Sample;

    /// Data as a node would give them, with `excess` more false positives than the files say, a time of
    /// `slow` where there are no filters, and guards that stop this share of absent keys.
    fn data(excess: u64, slow: f64, stopped: u64) -> Dataset {
        let mut data = Dataset::new("cassandra", Options::default().settings());
        for (name, value) in [(ACCESS, NODE), ("version", "5.0"), ("format", "big (oa)")] {
            data.set_parameter(name, value);
        }
        data.set_parameter("keys", 16_000);
        let (mut counts, mut server, mut latency) = (Vec::new(), Vec::new(), Vec::new());
        let own = CHANCES.into_iter().flat_map(|chance| {
            SSTABLES.map(|sstables| (chance_name(chance), chance, sstables, false))
        });
        let replaced = [("10 bits, k = 7".to_string(), CHANCE, PARTS, true)];
        for (filter, theory, sstables, replaced) in own.chain(replaced) {
            let predicted = (10_000.0 * theory * sstables as f64) as u64;
            counts.push(Count {
                filter: filter.clone(),
                replaced,
                sstables,
                keys: 16_000,
                bits: if theory == 1.0 { 0 } else { 160_000 },
                probes: 5,
                distribution: "uniform".to_string(),
                questions: 10_000,
                false_positives: predicted + excess,
                predicted,
                theory,
                deviation: 0.0,
                memory: 20_000,
            });
            let time = if theory == 1.0 { slow * sstables as f64 } else { 20.0 };
            server.push(ServerTime { filter: filter.clone(), sstables, microseconds: time });
            latency.extend((0..30).map(|round| Sample {
                task: ABSENT.to_string(),
                x: sstables as f64,
                contender: filter.clone(),
                round,
                nanoseconds: 1e3 * (400.0 + time) + f64::from(round),
            }));
        }
        let guards = [GuardCount {
            kind: "fuse".to_string(),
            fpr: TIMED_FPR,
            expected_fpr: TIMED_FPR,
            keys: 16_000,
            bits: 180_000,
            questions: 10_000,
            stopped,
        }];
        let mut guarded = Vec::new();
        for (task, x, name, nanoseconds) in [0.0, 1.0].into_iter().flat_map(|x| {
            let fast = if x == 1.0 { 1e3 } else { 4.2e5 };
            [WITH_FILTER, WITHOUT_FILTER]
                .into_iter()
                .flat_map(move |task| [(task, x, NO_GUARD, 4e5), (task, x, "fuse", fast)])
        }) {
            guarded.extend((0..30).map(|round| Sample {
                task: task.to_string(),
                x,
                contender: name.to_string(),
                round,
                nanoseconds: nanoseconds + f64::from(round),
            }));
        }
        data.add("counts", &counts).unwrap();
        data.add("guards", &guards).unwrap();
        data.add_times("server", &server).unwrap();
        data.add_times("latency", &latency).unwrap();
        data.add_times("quantiles", &[] as &[Quantiles]).unwrap();
        data.add_times("guarded", &guarded).unwrap();
        data
    }

    fn present(data: &Dataset) -> Vec<Figure> {
        Cassandra.present(data).unwrap().figures
    }

    fn finding(data: &Dataset, id: &str) -> Finding {
        present(data).iter().find(|figure| figure.id == id).unwrap().verdict.finding
    }

    #[test]
    fn verdicts_follow_from_the_data() {
        let (right, wrong) = (data(0, 20.0, 9_990), data(500, 0.0, 9_000));
        for id in ["cassandra-opened", "cassandra-replaced", "cassandra-guards"] {
            assert_eq!(finding(&right, id), Finding::Agrees, "{id}");
            assert_eq!(finding(&wrong, id), Finding::Differs, "{id}");
        }
        assert_eq!(finding(&right, "cassandra-growth"), Finding::Agrees);
        assert_eq!(finding(&wrong, "cassandra-growth"), Finding::Undecided);
        let figures = present(&right);
        let sentence = &figures[3].verdict.sentence;
        assert!(sentence.contains("faster if 100% or more"), "{sentence}");
        assert!(sentence.contains("present keys fuse slower"), "{sentence}");
    }

    #[test]
    fn without_a_server_nothing_is_shown() {
        let mut data = Dataset::new("cassandra", Options::default().settings());
        data.set_parameter(ACCESS, NOTHING);
        let section = Cassandra.present(&data).unwrap();
        assert!(section.figures.is_empty());
        assert!(section.introduction.contains("scripts/services cassandra start"));
        let directory = CassandraServer::Directory("x".into());
        let named = Options { cassandra: Some(directory), ..Options::default() };
        assert!(Cassandra.is_measured(&data, &Options::default()));
        assert!(!Cassandra.is_measured(&data, &named));
    }

    /// Measures a very small study on a real server, if one is named: `CRIVO_TEST_CASSANDRA_DIRECTORY` is
    /// a directory of `scripts/services`, `CRIVO_TEST_CASSANDRA` an address.
    #[cfg(feature = "cassandra")]
    #[test]
    fn a_server_counts_what_theory_says() {
        let variable = |name: &str| {
            let value = std::env::var(name).ok();
            if value.is_none() {
                eprintln!("skipped: {name} names no server");
            }
            value
        };
        let directory = variable("CRIVO_TEST_CASSANDRA_DIRECTORY");
        let address = variable("CRIVO_TEST_CASSANDRA");
        let servers = [
            directory.map(|directory| (CassandraServer::Directory(directory.into()), 4)),
            address.map(|address| (CassandraServer::Address(address), 1)),
        ];
        for (server, figures) in servers.into_iter().flatten() {
            let out = tempfile::tempdir().unwrap();
            let options = Options {
                scale: crate::Scale::Tiny,
                seed: 7,
                repetitions: Some(2),
                cassandra: Some(server),
                ..Options::default()
            };
            let study = crate::Study::new(&["cassandra"], options).unwrap();
            study.run(out.path(), &()).unwrap();
            let data = Dataset::load(&out.path().join("data"), "cassandra").unwrap().unwrap();
            let presented = present(&data);
            assert_eq!(presented.len(), figures);
            for figure in presented {
                let verdict = figure.verdict;
                assert_ne!(verdict.finding, Finding::Differs, "{}", verdict.sentence);
                println!("{}: {}", figure.id, verdict.sentence);
            }
        }
    }
}
