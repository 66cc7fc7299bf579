//! The tables of a node: how they are written, and the filters of their SSTables.

use std::fs;
use std::path::PathBuf;

use crivo::theory::bloom;
use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};

use super::failed;
use super::keys::Keys;
use super::node::Node;
use super::server::Server;
use crate::StudyError;
use crate::experiments::cassandra::{
    CHANCE, CHANCES, Count, PARTS, SSTABLES, WITH_FILTER, WITHOUT_FILTER, chance_name,
};

/// Filters that replace the server's: the dimensions that Cassandra chooses for an FPR, for a multiple of
/// the keys. Some have the memory of the server's own at [`CHANCE`], with another k.
const REPLACEMENTS: [(u64, f64); 6] =
    [(1, 0.15), (1, 0.05), (2, 0.1), (1, 0.0082), (1, 0.001), (2, 0.01)];

/// After this many rows memory is flushed. A server with full memory would do it in the middle of a part.
const MAX_UNFLUSHED: usize = 64_000;

/// The table that is asked until the server's code is compiled.
pub(super) const WARM_UP: &str = "warm_up";

/// A table of the node.
pub(super) struct Subject {
    pub(super) table: String,
    /// The name of its filter in the data.
    pub(super) filter: String,
    pub(super) chance: f64,
    pub(super) parts: u64,
    replacement: Option<(u64, f64)>,
}

impl Subject {
    /// Whether it has the server's own filters, for this chance, on [`PARTS`] SSTables.
    fn is_baseline(&self, chance: f64) -> bool {
        self.chance == chance && self.parts == PARTS && self.replacement.is_none()
    }
}

pub(super) fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for (at, chance) in CHANCES.into_iter().enumerate() {
        for parts in SSTABLES {
            let table = format!("chance_{at}_{parts}");
            let filter = chance_name(chance);
            subjects.push(Subject { table, filter, chance, parts, replacement: None });
        }
    }
    for (at, replacement) in REPLACEMENTS.into_iter().enumerate() {
        subjects.push(Subject {
            table: format!("replaced_{at}"),
            filter: String::new(),
            chance: CHANCE,
            parts: PARTS,
            replacement: Some(replacement),
        });
    }
    subjects
}

/// Those that CQL alone can make: each setting of the server's filters, on [`PARTS`] SSTables.
pub(super) fn client_subjects() -> Vec<Subject> {
    let mut subjects = subjects();
    subjects.retain(|subject| subject.parts == PARTS && subject.replacement.is_none());
    subjects
}

/// The tables in front of which guards are measured, with the names of their tasks.
pub(super) fn guarded(subjects: &[Subject]) -> Result<[(&'static str, String); 2], StudyError> {
    let table = |chance| {
        let found = subjects.iter().find(|subject| subject.is_baseline(chance));
        found.map(|subject| subject.table.clone()).ok_or_else(|| failed("a table is missing"))
    };
    Ok([(WITH_FILTER, table(CHANCE)?), (WITHOUT_FILTER, table(1.0)?)])
}

pub(super) fn create(server: &Server, subjects: &[Subject]) -> Result<(), StudyError> {
    server.create_keyspace()?;
    let settings = |chance: f64| {
        format!(
            "bloom_filter_fp_chance = {chance} AND speculative_retry = 'NEVER' \
             AND additional_write_policy = 'NEVER' AND read_repair = 'NONE' \
             AND compaction = {{'class': 'SizeTieredCompactionStrategy', 'enabled': 'false'}} \
             AND caching = {{'keys': 'NONE', 'rows_per_partition': 'NONE'}}"
        )
    };
    let tables = subjects.iter().map(|subject| (&*subject.table, subject.chance));
    for (table, chance) in tables.chain([(WARM_UP, CHANCE)]) {
        let (keyspace, settings) = (&server.keyspace, settings(chance));
        server.execute(format!(
            "CREATE TABLE {keyspace}.{table} (key blob PRIMARY KEY, value blob) WITH {settings}"
        ))?;
    }
    // The table of owners.
    server.create_table(WARM_UP)
}

/// Writes the keys of each table in as many parts as it has SSTables, each row in one; `flush` has what is
/// in memory written to them. Leaves out absent keys that some filter would not be asked for.
pub(super) fn load(
    server: &Server,
    flush: impl Fn() -> Result<(), StudyError>,
    subjects: &[Subject],
    keys: &mut Keys,
) -> Result<(), StudyError> {
    let mut tables = Vec::new();
    for subject in subjects {
        tables.push((server.writer(&subject.table)?, subject.parts));
    }
    tables.push((server.writer(WARM_UP)?, 1));
    let max_parts = subjects.iter().map(|subject| subject.parts).max().unwrap_or(1);
    let mut unflushed = 0;
    for part in 0..max_parts {
        for (writer, parts) in tables.iter().filter(|(_, parts)| part < *parts) {
            server.write(writer, keys.part(part, *parts))?;
            unflushed += keys.present.len() / *parts as usize;
            if unflushed >= MAX_UNFLUSHED {
                flush()?;
                unflushed = 0;
            }
        }
        flush()?;
        unflushed = 0;
    }
    for (writer, _) in tables {
        server.runtime.block_on(writer.close()).map_err(failed)?;
    }
    let question = format!("SELECT value FROM {}.{WARM_UP} WHERE key = ?", server.keyspace);
    let statement = server.runtime.block_on(server.client.prepare(question)).map_err(failed)?;
    keys.keep_within_tokens(max_parts, |key| {
        let token = statement.calculate_token(&(key,)).map_err(failed)?;
        Ok(token.ok_or_else(|| failed("the driver knows no token"))?.value())
    })
}

/// The format of SSTables, from the name of a file: `nb-1-big-Data.db`.
pub(super) fn format_of(files: &[PathBuf]) -> String {
    let name = files.first().and_then(|file| file.file_name()).unwrap_or_default();
    let name = name.to_string_lossy();
    let parts: Vec<&str> = name.split('-').collect();
    match *parts {
        [version, _, format, _] => format!("{format} ({version})"),
        _ => name.into_owned(),
    }
}

/// Replaces the server's filters by ours where that is asked for. Returns the filters of every table.
pub(super) fn replace_filters(
    node: &Node,
    keyspace: &str,
    subjects: &mut [Subject],
    keys: &Keys,
) -> Result<Vec<Vec<CassandraBloom>>, StudyError> {
    let mut all = Vec::new();
    for subject in subjects {
        let mut filters = Vec::new();
        for path in node.files(keyspace, &subject.table, "-Filter.db")? {
            let bytes =
                fs::read(&path).map_err(|error| StudyError::Read { path: path.clone(), error })?;
            let theirs =
                CassandraBloom::from_bytes(&bytes, CassandraVersion::V4).map_err(failed)?;
            let Some((factor, fpr)) = subject.replacement else {
                filters.push(theirs);
                continue;
            };
            // The keys of this SSTable are those that its filter holds.
            let holds = |part: &u64| keys.part(*part, PARTS).all(|key| theirs.contains(key));
            let part = (0..PARTS).find(holds);
            let part =
                part.ok_or_else(|| StudyError::wrong("a filter holds no part of the keys"))?;
            let count = keys.part(part, PARTS).count() as u64;
            let mut ours = CassandraBloom::new(factor * count, fpr, CassandraVersion::V4)?;
            for key in keys.part(part, PARTS) {
                ours.insert(key);
            }
            let bits = ours.size_in_bits() as f64 / count as f64;
            subject.filter = format!("{bits:.0} bits, k = {}", ours.probes());
            fs::write(&path, ours.to_bytes())
                .map_err(|error| StudyError::Write { path: path.clone(), error })?;
            filters.push(ours);
        }
        let expected = if subject.chance == 1.0 { 0 } else { subject.parts };
        if filters.len() as u64 != expected {
            return Err(StudyError::wrong(format_args!(
                "{} has {} filters, not {expected}",
                subject.table,
                filters.len()
            )));
        }
        all.push(filters);
    }
    Ok(all)
}

/// What theory and the files of the filters say about these questions; the server's own counts are 0.
pub(super) fn predict(
    subject: &Subject,
    filters: &[CassandraBloom],
    asked: &[&[u8]],
    keys: u64,
) -> Result<Count, StudyError> {
    let questions = asked.len() as u64;
    let held = |filter: &CassandraBloom| asked.iter().filter(|key| filter.contains(**key)).count();
    let predicted = match filters {
        [] => questions * subject.parts,
        filters => filters.iter().map(held).sum::<usize>() as u64,
    };
    let (mut theory, mut variance) = (0.0, 0.0);
    for filter in filters {
        let (m, n, k) = (filter.size_in_bits(), keys / subject.parts, filter.probes());
        let fpr = bloom::fpr(m, n, k)?;
        theory += (fpr + double_hashing_excess(m, n, k)) / filters.len() as f64;
        // The share p of ones is normal with variance (q − (1 + c)q²)/m, where q = e^−c is that of zeros
        // and c = kn/m; and ε = p^k.
        let (m, k) = (m as f64, f64::from(k));
        let load = k * n as f64 / m;
        let zeros = (-load).exp();
        let share_variance = (zeros - (1.0 + load) * zeros * zeros) / m;
        let slope = k * fpr / (1.0 - zeros);
        variance += slope * slope * share_variance / (filters.len() as f64).powi(2);
    }
    Ok(Count {
        filter: subject.filter.clone(),
        replaced: subject.replacement.is_some(),
        sstables: subject.parts,
        keys,
        bits: filters.iter().map(CassandraBloom::size_in_bits).sum(),
        probes: filters.first().map_or(0, CassandraBloom::probes),
        distribution: String::new(),
        questions,
        false_positives: 0,
        predicted,
        theory: if filters.is_empty() { 1.0 } else { theory },
        deviation: variance.sqrt(),
        memory: 0,
    })
}

/// About how much the FPR of double hashing is above that of independent probes, which matters for small
/// filters with a low FPR.
///
/// The k probes of a key are an arithmetic progression modulo m. With probability 2/m², because it may run in
/// either direction, an absent key has that of a given key, and passes. As likely, it is shifted by s steps to
/// one side: then s probes must meet ones by chance, not k. With p as the share of ones, for n keys:
///
/// ```text
///   (2n/m²) · (1 − p^k + 2 Σ (p^s − p^k)),  s = 1 … k − 2
/// ```
fn double_hashing_excess(m: u64, n: u64, k: u32) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let ones = 1.0 - (-f64::from(k) * n / m).exp();
    let gain = |shift: u32| ones.powi(shift as i32) - ones.powi(k as i32);
    let shifted: f64 = (1..k.saturating_sub(1)).map(gain).sum();
    2.0 * n / (m * m) * (gain(0) + 2.0 * shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_sstables_is_in_their_names() {
        assert_eq!(format_of(&[PathBuf::from("x/oa-3-big-Data.db")]), "big (oa)");
        assert_eq!(format_of(&[]), "");
    }

    /// 100,000 questions to each of 40 filters of 100 keys. Keys and hashes are fixed: no luck is involved.
    #[test]
    fn small_filters_err_more_often_than_independent_probes_would() {
        let (keys, questions) = (100, 100_000u64);
        let (mut held, mut asked) = (0, 0);
        let (mut independent, mut excess) = (0.0, 0.0);
        for seed in 0..40u64 {
            let mut filter = CassandraBloom::new(keys, 0.0001, CassandraVersion::V4).unwrap();
            for key in 0..keys {
                filter.insert(&[seed, key].map(u64::to_le_bytes).concat());
            }
            for key in 0..questions {
                held += u64::from(filter.contains(&[seed, !key].map(u64::to_le_bytes).concat()));
            }
            asked += questions;
            let (m, k) = (filter.size_in_bits(), filter.probes());
            independent = bloom::fpr(m, keys, k).unwrap();
            excess = double_hashing_excess(m, keys, k);
        }
        let found = held as f64 / asked as f64 - independent;
        assert!((0.5 * excess..2.0 * excess).contains(&found), "{found:e}, in theory {excess:e}");
    }
}
