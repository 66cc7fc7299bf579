//! A node that `scripts/services` has set up, and may be flushed, stopped and started.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::StudyError;

/// What `scripts/services` tells about a cluster.
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

/// What `nodetool tablestats` tells about a table.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Statistics {
    pub(super) sstables: u64,
    pub(super) false_positives: u64,
    /// Bytes of filters in memory.
    pub(super) memory: u64,
    /// The mean time of recent questions, in microseconds.
    pub(super) microseconds: f64,
}

impl Node {
    /// The node of a directory, which is started if it does not run.
    pub(super) fn open(directory: &Path) -> Result<Self, StudyError> {
        let file = directory.join("cassandra.json");
        let text =
            fs::read(&file).map_err(|error| StudyError::Read { path: file.clone(), error })?;
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

    /// The files of a table with this ending.
    pub(super) fn files(
        &self,
        keyspace: &str,
        table: &str,
        ending: &str,
    ) -> Result<Vec<PathBuf>, StudyError> {
        let keyspace = self.directory.join("node1/data").join(keyspace);
        let mut found = Vec::new();
        for directory in list(&keyspace)? {
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The name of the table, and its id.
            if name.rsplit_once('-').is_some_and(|(name, _)| name == table) {
                let files = list(&directory)?.into_iter();
                found.extend(files.filter(|file| file.to_string_lossy().ends_with(ending)));
            }
        }
        found.sort();
        Ok(found)
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
        let number = value.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        // NaN, for a table that nobody asked.
        let number = number.filter(|number| number.is_finite()).unwrap_or(0.0);
        match name {
            "SSTable count" => table.sstables = number as u64,
            "Bloom filter false positives" => table.false_positives = number as u64,
            "Bloom filter off heap memory used" => table.memory = number as u64,
            "Local read latency" => table.microseconds = 1000.0 * number,
            _ => {}
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_by_table() {
        let text = "Keyspace: crivo\n\tRead Count: 7\n\t\tTable: t1\n\t\tSSTable count: 4\n\
            \t\tLocal read latency: 0.022 ms\n\t\tBloom filter false positives: 751\n\
            \t\tBloom filter off heap memory used: 50064\n\n\t\tTable: t2\n\
            \t\tLocal read latency: NaN ms\n\t\tBloom filter false positives: 3\n";
        let tables = parse_statistics(text);
        assert_eq!(tables["t1"].false_positives, 751);
        assert_eq!((tables["t1"].sstables, tables["t1"].memory), (4, 50_064));
        assert!((tables["t1"].microseconds - 22.0).abs() < 1e-9);
        assert_eq!(tables["t2"], Statistics { false_positives: 3, ..Statistics::default() });
    }
}
