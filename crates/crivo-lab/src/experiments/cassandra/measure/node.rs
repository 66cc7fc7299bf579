//! A node that `scripts/services` has set up, and may be flushed, stopped and started.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::StudyError;

/// What `scripts/services` says about a cluster.
#[derive(Deserialize)]
struct State {
    script: PathBuf,
    port: u16,
    nodes: Vec<NodeState>,
}

#[derive(Deserialize)]
struct NodeState {
    host: String,
}

/// A node in a directory.
pub(super) struct Node {
    directory: PathBuf,
    script: PathBuf,
    pub(super) address: String,
}

/// What `nodetool tablestats` reports of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Statistics {
    pub(super) sstables: u64,
    pub(super) false_positives: u64,
    /// Bytes of filters in memory.
    pub(super) memory: u64,
}

/// What the server has counted of its reads of a table since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ReadTimes {
    reads: u64,
    microseconds: u64,
}

impl ReadTimes {
    /// The mean time of a read since then, in microseconds.
    pub(super) fn mean_since(&self, before: &Self) -> f64 {
        let reads = self.reads.saturating_sub(before.reads);
        self.microseconds.saturating_sub(before.microseconds) as f64 / reads.max(1) as f64
    }
}

impl Node {
    /// The node of a directory, which is started if it does not run.
    pub(super) fn open(directory: &Path) -> Result<Self, StudyError> {
        let file = directory.join("cassandra.json");
        let text = fs::read(&file).map_err(|error| match error.kind() {
            ErrorKind::NotFound => StudyError::Cassandra(format!(
                "{} has no cassandra.json: `scripts/services cassandra start {}` sets a node up there",
                directory.display(),
                directory.display(),
            )),
            _ => StudyError::Read { path: file.clone(), error },
        })?;
        let state: State = serde_json::from_slice(&text)
            .map_err(|error| StudyError::Data { path: file, reason: error.to_string() })?;
        let [node] = &*state.nodes else {
            return Err(StudyError::Cassandra("the experiment needs one node".to_string()));
        };
        let node = Self {
            directory: directory.to_path_buf(),
            script: state.script,
            address: format!("{}:{}", node.host, state.port),
        };
        node.start()?;
        Ok(node)
    }

    pub(super) fn start(&self) -> Result<(), StudyError> {
        self.call("start", &[]).map(drop)
    }

    pub(super) fn stop(&self) -> Result<(), StudyError> {
        self.call("stop", &[]).map(drop)
    }

    /// Writes what is in memory to SSTables.
    pub(super) fn flush(&self, keyspace: &str) -> Result<(), StudyError> {
        self.call("nodetool", &["flush", keyspace]).map(drop)
    }

    /// The statistics of every table of a keyspace.
    pub(super) fn statistics(
        &self,
        keyspace: &str,
    ) -> Result<BTreeMap<String, Statistics>, StudyError> {
        Ok(parse_statistics(&self.call("nodetool", &["tablestats", keyspace])?))
    }

    /// The times of reads of every table of a keyspace. `tablestats` has only a mean that forgets.
    pub(super) fn read_times(
        &self,
        keyspace: &str,
    ) -> Result<BTreeMap<String, ReadTimes>, StudyError> {
        let beans = format!(
            "org.apache.cassandra.metrics:type=Table,keyspace={keyspace},scope=*,name=Read*Latency"
        );
        let arguments = ["sjk", "mx", "-b", &beans, "-f", "Count", "-mg", "-all"];
        Ok(parse_read_times(&self.call("nodetool", &arguments)?))
    }

    /// The options of Java for the size of its heap.
    pub(super) fn heap(&self) -> Result<String, StudyError> {
        let arguments =
            ["sjk", "mx", "-b", "java.lang:type=Runtime", "-f", "InputArguments", "-mg"];
        Ok(parse_heap(&self.call("nodetool", &arguments)?))
    }

    /// The files of a table with this ending, in order.
    pub(super) fn files(
        &self,
        keyspace: &str,
        table: &str,
        ending: &str,
    ) -> Result<Vec<PathBuf>, StudyError> {
        let is_wanted = |file: &PathBuf| {
            let directory = file.parent().and_then(Path::file_name).unwrap_or_default();
            // The name of the table, and its id.
            let name = directory.to_string_lossy();
            let name = name.rsplit_once('-').map_or("", |(name, _)| name);
            name == table && file.to_string_lossy().ends_with(ending)
        };
        let mut files = self.all_files(keyspace)?;
        files.retain(is_wanted);
        files.sort();
        Ok(files)
    }

    /// The files of all tables of a keyspace.
    pub(super) fn all_files(&self, keyspace: &str) -> Result<Vec<PathBuf>, StudyError> {
        let keyspace = self.directory.join("node1/data").join(keyspace);
        let mut files = Vec::new();
        for table in list(&keyspace)? {
            files.extend(list(&table)?.into_iter().filter(|file| file.is_file()));
        }
        Ok(files)
    }

    fn call(&self, action: &str, arguments: &[&str]) -> Result<String, StudyError> {
        let failed = |reason: String| StudyError::Cassandra(format!("{action}: {reason}"));
        let output = Command::new(&self.script)
            .args(["cassandra", action])
            .arg(&self.directory)
            .args(arguments)
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, StudyError> {
    let failed = |error| StudyError::Read { path: directory.to_path_buf(), error };
    let entries = fs::read_dir(directory).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

fn parse_statistics(text: &str) -> BTreeMap<String, Statistics> {
    let mut tables: BTreeMap<String, Statistics> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        let Some((name, value)) = line.trim().split_once(": ") else { continue };
        if name == "Table" {
            current = Some(tables.entry(value.to_string()).or_default());
            continue;
        }
        let Some(table) = &mut current else { continue };
        let number = value.split(' ').next().and_then(|number| number.parse::<u64>().ok());
        let number = number.unwrap_or(0);
        match name {
            "SSTable count" => table.sstables = number,
            "Bloom filter false positives" => table.false_positives = number,
            "Bloom filter off heap memory used" => table.memory = number,
            _ => {}
        }
    }
    tables
}

/// Lines that are the names of a table's metric, each followed by a line with its value.
fn parse_read_times(text: &str) -> BTreeMap<String, ReadTimes> {
    let mut tables: BTreeMap<String, ReadTimes> = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((_, fields)) = line.split_once("scope=") else { continue };
        let Some((table, name)) = fields.split_once(",name=") else { continue };
        let Some(value) = lines.next().and_then(|value| value.trim().parse().ok()) else {
            continue;
        };
        let times = tables.entry(table.to_string()).or_default();
        match name {
            "ReadLatency" => times.reads = value,
            "ReadTotalLatency" => times.microseconds = value,
            _ => {}
        }
    }
    tables
}

/// From all options of Java: `[-ea, -Xms512m, -Xmx1g]`.
fn parse_heap(text: &str) -> String {
    let options = text.split(['[', ']', ',', '\n']).map(str::trim);
    let options = options.filter(|option| option.starts_with("-Xms") || option.starts_with("-Xmx"));
    options.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_by_table() {
        let text = "Keyspace: crivo\n\tRead Count: 7\n\t\tTable: t1\n\t\tSSTable count: 4\n\
            \t\tLocal read latency: NaN ms\n\t\tBloom filter false positives: 751\n\
            \t\tBloom filter off heap memory used: 50064\n\n\t\tTable: t2\n\
            \t\tBloom filter false positives: 3\n";
        let tables = parse_statistics(text);
        assert_eq!(tables["t1"], Statistics { sstables: 4, false_positives: 751, memory: 50_064 });
        assert_eq!(tables["t2"], Statistics { false_positives: 3, ..Statistics::default() });
    }

    #[test]
    fn the_heap_is_among_the_options_of_java() {
        let text = "java.lang:type=Runtime\n[-ea, -Xss256k, -Xms512m, -Xmx1g, -XX:+UseG1GC]\n";
        assert_eq!(parse_heap(text), "-Xms512m -Xmx1g");
    }

    #[test]
    fn a_directory_without_a_node_is_told_how_to_get_one() {
        let directory = tempfile::tempdir().unwrap();
        let Err(error) = Node::open(directory.path()) else { panic!("there is no node") };
        let advice = format!("scripts/services cassandra start {}", directory.path().display());
        assert!(error.to_string().contains(&advice), "{error}");
    }

    #[test]
    fn read_times_are_differences_of_counters() {
        let text = |reads: u64, total: u64| {
            let bean = "org.apache.cassandra.metrics:type=Table,keyspace=k,scope=t1,name=Read";
            parse_read_times(&format!("{bean}TotalLatency\n{total}\n{bean}Latency\n{reads}\n"))
        };
        let (before, after) = (text(10, 500), text(30, 1_100));
        assert_eq!(after["t1"].mean_since(&before["t1"]), 30.0);
        assert_eq!(before["t1"].mean_since(&before["t1"]), 0.0);
    }
}
