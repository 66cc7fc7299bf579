//! The measurement, on a running server.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crivo::filter::Kind;
use crivo::theory::bloom;
use crivo_core::Random;
use crivo_formats::cassandra::{CassandraBloom, CassandraVersion};
use crivo_store::cassandra::{CassandraStore, CassandraTable};
use crivo_store::{AsyncGuarded, AsyncStore, GuardOptions, Owner};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use tokio::runtime::Runtime;

use super::node::Node;
use super::{
    ABSENT, ABSENT_ZIPF, ACCESS, CHANCE, CHANCES, CLIENT, Count, GUARD_FPRS, GuardCount, NO_GUARD,
    NODE, PARTS, PRESENT, PRESENT_ZIPF, Quantiles, SSTABLES, ServerTime, TIMED_FPR, WITH_FILTER,
    WITHOUT_FILTER, chance_name,
};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::settings::CassandraServer;
use crate::sim::admission::trace::{draw, zipf};
use crate::timing::{Clock, Contender, Phase, Sample, interleave};

/// A busy machine answers late.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many keys are written or asked for in one call.
const BATCH: usize = 4096;

/// The largest of [`SSTABLES`]: how many parts the keys have.
const MOST_PARTS: u64 = 16;

/// How many different keys are asked for by Zipf's law.
const POPULAR: u64 = 4_096;

/// Filters that are put in the place of the server's: the dimensions that Cassandra has for an FPR, for a
/// multiple of the keys.
const REPLACEMENTS: [(u64, f64); 6] =
    [(1, 0.15), (1, 0.05), (2, 0.1), (1, 0.0082), (1, 0.001), (2, 0.01)];

/// After this many rows memory is flushed. The server would do it in the middle of a part if it were full.
const MAX_UNFLUSHED: usize = 32_000;

/// The table that is asked until the server's code is compiled.
const WARM_UP: &str = "warm_up";

pub(super) fn run(
    context: &Context<'_>,
    server: &CassandraServer,
    data: &mut Dataset,
) -> Result<(), StudyError> {
    match server {
        CassandraServer::Directory(directory) => run_node(context, directory, data),
        CassandraServer::Address(address) => run_client(context, address, data),
    }
}

fn failed(error: impl std::fmt::Display) -> StudyError {
    StudyError::Cassandra(error.to_string())
}

/// A connection to the server, and a keyspace of this experiment.
struct Server {
    runtime: Runtime,
    client: Arc<Session>,
    keyspace: String,
}

impl Server {
    fn connect(address: &str, keyspace: &str) -> Result<Self, StudyError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let profile = ExecutionProfile::builder().request_timeout(Some(PATIENCE)).build();
        let builder = SessionBuilder::new()
            .known_node(address)
            .connection_timeout(PATIENCE)
            .schema_agreement_timeout(PATIENCE)
            .default_execution_profile_handle(profile.into_handle());
        let client = Arc::new(runtime.block_on(builder.build()).map_err(failed)?);
        Ok(Self { runtime, client, keyspace: keyspace.to_string() })
    }

    fn execute(&self, statement: String) -> Result<(), StudyError> {
        self.runtime.block_on(self.client.query_unpaged(statement, ())).map(drop).map_err(failed)
    }

    fn create_keyspace(&self) -> Result<(), StudyError> {
        self.drop_keyspace()?;
        self.execute(format!(
            "CREATE KEYSPACE {} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
            self.keyspace
        ))
    }

    fn drop_keyspace(&self) -> Result<(), StudyError> {
        self.execute(format!("DROP KEYSPACE IF EXISTS {}", self.keyspace))
    }

    /// The version of the server.
    fn version(&self) -> Result<String, StudyError> {
        let question = "SELECT release_version FROM system.local";
        let result =
            self.runtime.block_on(self.client.query_unpaged(question, ())).map_err(failed)?;
        let rows = result.into_rows_result().map_err(failed)?;
        let (version,) = rows.first_row::<(String,)>().map_err(failed)?;
        Ok(version)
    }

    fn table(&self, name: &str) -> CassandraTable {
        CassandraTable::new(&self.keyspace, name)
    }

    fn create_table(&self, name: &str) -> Result<(), StudyError> {
        self.runtime.block_on(self.table(name).create(&self.client)).map_err(failed)
    }

    fn store(&self, name: &str) -> Result<CassandraStore, StudyError> {
        let store = CassandraStore::new(self.client.clone(), self.table(name));
        self.runtime.block_on(store).map_err(failed)
    }

    fn guarded(&self, name: &str) -> Result<AsyncGuarded<CassandraStore>, StudyError> {
        let options = GuardOptions::new(Kind::Growing, 0.01).map_err(failed)?;
        self.runtime.block_on(AsyncGuarded::open(self.store(name)?, options)).map_err(failed)
    }

    fn write(
        &self,
        guarded: &AsyncGuarded<CassandraStore>,
        keys: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), StudyError> {
        let keys: Vec<Vec<u8>> = keys.collect();
        let value = [7; 64];
        for part in keys.chunks(BATCH) {
            let entries: Vec<(&[u8], &[u8])> =
                part.iter().map(|key| (key.as_slice(), value.as_slice())).collect();
            self.runtime.block_on(guarded.put_batch(&entries)).map_err(failed)?;
        }
        Ok(())
    }

    /// Asks for many keys, several at a time, and returns how many were there.
    fn count<'k>(
        &self,
        store: &CassandraStore,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<u64, StudyError> {
        let keys: Vec<&[u8]> = keys.collect();
        let mut found = 0;
        for part in keys.chunks(BATCH) {
            let answers = self.runtime.block_on(store.get_batch(part)).map_err(failed)?;
            found += answers.iter().flatten().count() as u64;
        }
        Ok(found)
    }
}

/// Keys that are in the tables, and keys that are not.
struct Keys {
    present: Vec<Vec<u8>>,
    absent: Vec<Vec<u8>>,
}

impl Keys {
    fn new(random: &mut Random, present: usize, absent: usize) -> Self {
        let mut known = HashSet::new();
        let mut draw = |count: usize| {
            let mut keys = Vec::with_capacity(count);
            while keys.len() < count {
                let key = format!("{:016x}", random.number()).into_bytes();
                if known.insert(key.clone()) {
                    keys.push(key);
                }
            }
            keys
        };
        Self { present: draw(present), absent: draw(absent) }
    }

    /// The keys of a part, of so many.
    fn part(&self, part: u64, parts: u64) -> impl Iterator<Item = &Vec<u8>> {
        self.present.iter().skip(part as usize).step_by(parts as usize)
    }

    /// Leaves out absent keys before the first or behind the last token of any SSTable: there the server
    /// asks no filter.
    fn keep_within_tokens(
        &mut self,
        token: impl Fn(&[u8]) -> Result<i64, StudyError>,
    ) -> Result<(), StudyError> {
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for part in 0..MOST_PARTS {
            let tokens: Vec<i64> =
                self.part(part, MOST_PARTS).map(|key| token(key)).collect::<Result<_, _>>()?;
            low = low.max(tokens.iter().copied().min().unwrap_or(low));
            high = high.min(tokens.iter().copied().max().unwrap_or(high));
        }
        let mut kept = Vec::with_capacity(self.absent.len());
        for key in std::mem::take(&mut self.absent) {
            if (low + 1..high).contains(&token(&key)?) {
                kept.push(key);
            }
        }
        self.absent = kept;
        Ok(())
    }
}

/// A table of the node.
struct Subject {
    table: String,
    filter: String,
    chance: f64,
    parts: u64,
    replacement: Option<(u64, f64)>,
}

fn subjects() -> Vec<Subject> {
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

fn run_node(context: &Context<'_>, directory: &Path, data: &mut Dataset) -> Result<(), StudyError> {
    const STEPS: u64 = 8;
    let node = Node::open(directory)?;
    let keyspace = "crivo_study";
    let server = Server::connect(&node.address, keyspace)?;
    let count = context.pick(1_600, 8_000, 32_000);
    let mut keys = Keys::new(
        &mut context.random("cassandra keys"),
        count,
        context.pick(2_000, 10_000, 50_000),
    );
    let mut subjects = subjects();
    data.set_parameter(ACCESS, NODE);
    data.set_parameter("version", server.version()?);
    data.set_parameter("keys", count);
    create_tables(&server, &subjects)?;
    context.step(1, STEPS);
    load(&server, &node, &subjects, &keys)?;
    let files = node.files(keyspace, &subjects[0].table, "-Data.db")?;
    data.set_parameter("format", format_of(&files));
    restrict(&server, &mut keys)?;
    context.step(2, STEPS);

    // The counters of the server begin with it, and it reads its filters when it starts.
    drop(server);
    node.stop()?;
    let filters = replace(&node, keyspace, &mut subjects, &keys)?;
    node.start()?;
    let server = Server::connect(&node.address, keyspace)?;
    let stores: Vec<CassandraStore> =
        subjects.iter().map(|subject| server.store(&subject.table)).collect::<Result<_, _>>()?;
    let warm_up = server.store(WARM_UP)?;
    let everything = keys.absent.iter().chain(&keys.present).map(Vec::as_slice);
    server.count(&warm_up, everything.clone().chain(everything))?;
    context.step(3, STEPS);

    let mut quantiles = Vec::new();
    let popular = popular_absent(context, &keys);
    let mut samples =
        time(context, &server, &subjects, &stores, &mut quantiles, &[(ABSENT, &keys.absent)])?;
    let server_times = server_times(&subjects, &node.statistics(keyspace)?)?;
    context.step(4, STEPS);

    let uniform: Vec<&[u8]> = keys.absent.iter().map(Vec::as_slice).collect();
    let zipfian: Vec<&[u8]> = popular.iter().map(Vec::as_slice).collect();
    let mut counts = Vec::new();
    for (distribution, asked) in [("uniform", &uniform), ("Zipf", &zipfian)] {
        let before = node.statistics(keyspace)?;
        for (subject, store) in subjects.iter().zip(&stores) {
            let found = server.count(store, asked.iter().copied())?;
            if found > 0 {
                let table = &subject.filter;
                return Err(StudyError::wrong(format_args!("{found} absent keys are in {table}")));
            }
        }
        let after = node.statistics(keyspace)?;
        for (subject, filters) in subjects.iter().zip(&filters) {
            let table = &subject.table;
            let mut row = count_row(subject, filters, asked, count as u64)?;
            row.distribution = distribution.to_string();
            row.false_positives = after[table].false_positives - before[table].false_positives;
            row.memory = after[table].memory;
            if after[table].sstables != subject.parts {
                return Err(StudyError::wrong(format_args!(
                    "{table} has {} SSTables, not {}",
                    after[table].sstables, subject.parts
                )));
            }
            counts.push(row);
        }
    }
    context.step(5, STEPS);

    let present = popular_present(context, &keys);
    samples.extend(time(
        context,
        &server,
        &subjects,
        &stores,
        &mut quantiles,
        &[(ABSENT_ZIPF, &popular), (PRESENT, &keys.present), (PRESENT_ZIPF, &present)],
    )?);
    context.step(6, STEPS);

    let place = |chance: f64| {
        let is_it = |subject: &&Subject| {
            subject.chance == chance && subject.parts == PARTS && subject.replacement.is_none()
        };
        subjects.iter().find(is_it).map_or("", |subject| &*subject.table).to_string()
    };
    let tables = [(WITH_FILTER, place(CHANCE)), (WITHOUT_FILTER, place(1.0))];
    data.add("counts", &counts)?;
    data.add_times("server", &server_times)?;
    data.add_times("latency", &samples)?;
    data.add_times("quantiles", &quantiles)?;
    guards(context, &server, &tables, &keys, data)?;
    context.step(7, STEPS);
    server.drop_keyspace()
}

/// Guards alone, on a server of which only the address is known.
fn run_client(context: &Context<'_>, address: &str, data: &mut Dataset) -> Result<(), StudyError> {
    let owner = Owner::random().map_err(failed)?;
    let server = Server::connect(address, &format!("crivo_study_{owner}"))?;
    let count = context.pick(1_600, 8_000, 32_000);
    let keys = Keys::new(
        &mut context.random("cassandra keys"),
        count,
        context.pick(2_000, 10_000, 50_000),
    );
    data.set_parameter(ACCESS, CLIENT);
    data.set_parameter("version", server.version()?);
    data.set_parameter("keys", count);
    server.create_keyspace()?;
    server.create_table("guarded")?;
    let guarded = server.guarded("guarded")?;
    server.write(&guarded, keys.present.iter().cloned())?;
    server.runtime.block_on(guarded.close()).map_err(failed)?;
    context.step(1, 2);
    let measured = guards(context, &server, &[(WITH_FILTER, "guarded".to_string())], &keys, data);
    server.drop_keyspace()?;
    measured
}

fn create_tables(server: &Server, subjects: &[Subject]) -> Result<(), StudyError> {
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

/// Writes the keys of each table in as many parts as it has SSTables, each row in one.
fn load(server: &Server, node: &Node, subjects: &[Subject], keys: &Keys) -> Result<(), StudyError> {
    let mut tables = Vec::new();
    for subject in subjects {
        tables.push((server.guarded(&subject.table)?, subject.parts));
    }
    tables.push((server.guarded(WARM_UP)?, 1));
    let mut unflushed = 0;
    for part in 0..MOST_PARTS {
        for (guarded, parts) in tables.iter().filter(|(_, parts)| part < *parts) {
            server.write(guarded, keys.part(part, *parts).cloned())?;
            unflushed += keys.present.len() / *parts as usize;
            if unflushed >= MAX_UNFLUSHED {
                node.flush(&server.keyspace)?;
                unflushed = 0;
            }
        }
        node.flush(&server.keyspace)?;
        unflushed = 0;
    }
    for (guarded, _) in tables {
        server.runtime.block_on(guarded.close()).map_err(failed)?;
    }
    Ok(())
}

/// Leaves out keys that no filter is asked for.
fn restrict(server: &Server, keys: &mut Keys) -> Result<(), StudyError> {
    let question = format!("SELECT value FROM {}.{WARM_UP} WHERE key = ?", server.keyspace);
    let statement = server.runtime.block_on(server.client.prepare(question)).map_err(failed)?;
    keys.keep_within_tokens(|key| {
        let token = statement.calculate_token(&(key,)).map_err(failed)?;
        Ok(token.ok_or_else(|| failed("the driver knows no token"))?.value())
    })
}

/// The format of SSTables, from the name of a file: `nb-1-big-Data.db`.
fn format_of(files: &[std::path::PathBuf]) -> String {
    let name = files.first().and_then(|file| file.file_name()).unwrap_or_default();
    let name = name.to_string_lossy();
    let parts: Vec<&str> = name.split('-').collect();
    match *parts {
        [version, _, format, _] => format!("{format} ({version})"),
        _ => name.into_owned(),
    }
}

/// Puts our filters in the place of the server's where they are to be replaced. Returns the filters of
/// every table.
fn replace(
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

/// A row without what the server says.
fn count_row(
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
        theory += fpr / filters.len() as f64;
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

fn server_times(
    subjects: &[Subject],
    statistics: &BTreeMap<String, super::node::Statistics>,
) -> Result<Vec<ServerTime>, StudyError> {
    let row = |subject: &Subject| {
        let statistics = statistics.get(&subject.table);
        let statistics = statistics.ok_or_else(|| failed("nodetool does not know a table"))?;
        Ok(ServerTime {
            filter: subject.filter.clone(),
            sstables: subject.parts,
            microseconds: statistics.microseconds,
        })
    };
    subjects.iter().map(row).collect()
}

/// Keys by Zipf's law, as many as there are.
fn popular_of(random: &mut Random, keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let probabilities = zipf(POPULAR.min(keys.len() as u64), 1.0);
    let drawn = draw(&probabilities, keys.len() as u64, random);
    drawn.into_iter().map(|rank| keys[rank as usize].clone()).collect()
}

fn popular_absent(context: &Context<'_>, keys: &Keys) -> Vec<Vec<u8>> {
    popular_of(&mut context.random("cassandra popular absent"), &keys.absent)
}

fn popular_present(context: &Context<'_>, keys: &Keys) -> Vec<Vec<u8>> {
    popular_of(&mut context.random("cassandra popular present"), &keys.present)
}

/// The questions of one turn of a contender, another window of the keys in every turn.
fn window<T>(keys: &[T], turn: usize, length: usize) -> &[T] {
    let windows = (keys.len() / length).max(1);
    let start = (turn % windows) * length;
    &keys[start..(start + length).min(keys.len())]
}

/// Times of the client, one question at a time, all tables in turn.
fn time(
    context: &Context<'_>,
    server: &Server,
    subjects: &[Subject],
    stores: &[CassandraStore],
    quantiles: &mut Vec<Quantiles>,
    tasks: &[(&str, &Vec<Vec<u8>>)],
) -> Result<Vec<Sample>, StudyError> {
    let length = context.pick(10, 40, 100);
    let phases: Vec<Phase<'_>> = tasks
        .iter()
        .map(|(task, _)| {
            let is_present = [PRESENT, PRESENT_ZIPF].contains(task);
            let expected = Some(if is_present { length as u64 } else { 0 });
            Phase { task, operations: length, expected }
        })
        .collect();
    // Times of each table and task, in microseconds.
    let times = RefCell::new(vec![Vec::new(); subjects.len() * tasks.len()]);
    let mut contenders: Vec<Contender<'_>> = stores
        .iter()
        .enumerate()
        .map(|(place, store)| {
            let times = &times;
            let mut turns = vec![0; tasks.len()];
            Contender::new(place.to_string(), move |number| {
                let keys = window(tasks[number].1, turns[number], length);
                let mut found = 0;
                server.runtime.block_on(async {
                    for key in keys {
                        let start = Instant::now();
                        found += u64::from(store.get(key).await.map_err(failed)?.is_some());
                        let time = start.elapsed().as_secs_f64() * 1e6;
                        // The first turn is to warm up.
                        if turns[number] > 0 {
                            times.borrow_mut()[place * tasks.len() + number].push(time);
                        }
                    }
                    Ok::<(), StudyError>(())
                })?;
                turns[number] += 1;
                Ok(found)
            })
        })
        .collect();
    let rounds = context.repetitions();
    let mut samples = interleave(Clock::Wall, 0.0, rounds, &phases, &mut contenders)?;
    drop(contenders);
    for sample in &mut samples {
        let subject = sample.contender.parse().ok().and_then(|place: usize| subjects.get(place));
        let subject = subject.ok_or_else(|| StudyError::wrong("a time of no table"))?;
        sample.x = subject.parts as f64;
        sample.contender.clone_from(&subject.filter);
    }
    for (at, mut times) in times.into_inner().into_iter().enumerate() {
        let (subject, task) = (&subjects[at / tasks.len()], tasks[at % tasks.len()].0);
        times.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        quantiles.push(Quantiles {
            task: task.to_string(),
            filter: subject.filter.clone(),
            sstables: subject.parts,
            questions: times.len() as u64,
            median_microseconds: quantile(0.5),
            p99_microseconds: quantile(0.99),
        });
    }
    Ok(samples)
}

/// Guards in the client: every kind, for its memory and the questions that it stops; and their times, by
/// the share of questions for absent keys.
fn guards(
    context: &Context<'_>,
    server: &Server,
    tables: &[(&str, String)],
    keys: &Keys,
    data: &mut Dataset,
) -> Result<(), StudyError> {
    let snapshot = |table: &str, kind: Kind, fpr: f64| {
        let options = GuardOptions::new(kind, fpr).map_err(failed)?;
        let store = server.store(table)?;
        let opened = server.runtime.block_on(AsyncGuarded::snapshot(store, &options));
        opened.map_err(failed)
    };
    let absent: Vec<&[u8]> = keys.absent.iter().map(Vec::as_slice).collect();
    let mut counts = Vec::new();
    for kind in Kind::ALL {
        for fpr in GUARD_FPRS {
            let guarded = snapshot(&tables[0].1, kind, fpr)?;
            for part in absent.chunks(BATCH) {
                server.runtime.block_on(guarded.get_batch(part)).map_err(failed)?;
            }
            let counters = guarded.counters();
            let filter = guarded.filter();
            if counters.found > 0 {
                return Err(StudyError::wrong(format_args!("{kind}: absent keys are there")));
            }
            counts.push(GuardCount {
                kind: kind.name().to_string(),
                fpr,
                expected_fpr: filter.expected_fpr(),
                keys: keys.present.len() as u64,
                bits: filter.size_in_bits(),
                questions: counters.questions,
                stopped: counters.stopped,
            });
        }
    }
    data.add("guards", &counts)?;

    let length = context.pick(10, 40, 100);
    let mut samples = Vec::new();
    for (task, table) in tables {
        let plain = server.store(table)?;
        let guards: Vec<_> = Kind::ALL
            .into_iter()
            .map(|kind| Ok((kind, snapshot(table, kind, TIMED_FPR)?)))
            .collect::<Result<_, StudyError>>()?;
        for share in [0, 50, 90, 100] {
            let asked = mixture(context, keys, length, share);
            let expected = Some((length * (100 - share) / 100) as u64);
            let phases = [Phase { task, operations: length, expected }];
            let ask = |store: &CassandraStore, turn: usize| {
                server.runtime.block_on(async {
                    let mut found = 0;
                    for key in window(&asked, turn, length) {
                        found += u64::from(store.get(key).await.map_err(failed)?.is_some());
                    }
                    Ok::<u64, StudyError>(found)
                })
            };
            let mut turn = 0;
            let (ask, plain, asked, server) = (&ask, &plain, &asked, &server);
            let mut contenders = vec![Contender::new(NO_GUARD, move |_| {
                turn += 1;
                ask(plain, turn)
            })];
            for (kind, guarded) in &guards {
                let mut turn = 0;
                contenders.push(Contender::new(kind.name(), move |_| {
                    turn += 1;
                    server.runtime.block_on(async {
                        let mut found = 0;
                        for key in window(asked, turn, length) {
                            let answer = guarded.get(key).await.map_err(failed)?;
                            found += u64::from(answer.is_some());
                        }
                        Ok::<u64, StudyError>(found)
                    })
                }));
            }
            let rounds = context.repetitions();
            samples.extend(interleave(
                Clock::Wall,
                share as f64 / 100.0,
                rounds,
                &phases,
                &mut contenders,
            )?);
        }
    }
    data.add_times("guarded", &samples)
}

/// Windows of keys, of each of which this percentage is absent.
fn mixture(context: &Context<'_>, keys: &Keys, length: usize, share: usize) -> Vec<Vec<u8>> {
    let mut random = context.random("cassandra mixture");
    let absent_count = length * share / 100;
    let windows = 20;
    let mut mixed = Vec::new();
    for turn in 0..windows {
        let mut window: Vec<Vec<u8>> = (0..length)
            .map(|at| {
                let from = if at < absent_count { &keys.absent } else { &keys.present };
                from[(turn * length + at) % from.len()].clone()
            })
            .collect();
        random.shuffle(&mut window);
        mixed.extend(window);
    }
    mixed
}
