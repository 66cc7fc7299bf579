//! The measurement, on a running server.

mod guards;
mod keys;
mod node;
mod server;
mod tables;
mod times;

use std::path::Path;

use crivo_formats::cassandra::CassandraBloom;
use crivo_store::Owner;
use crivo_store::cassandra::CassandraStore;

use self::keys::{Keys, popular};
use self::node::Node;
use self::server::Server;
use self::tables::{Subject, WARM_UP};
use self::times::Times;
use super::{ABSENT, ACCESS, CLIENT, Count, DRIVER, NODE, UNIFORM};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::settings::CassandraServer;

/// The keyspace on a node that belongs to the experiment.
const KEYSPACE: &str = "crivo_study";

/// Keys drawn by Zipf's law.
const ZIPF: &str = "Zipf";

/// Tasks beside [`ABSENT`].
const ABSENT_ZIPF: &str = "absent, Zipf";
const PRESENT: &str = "present";
const PRESENT_ZIPF: &str = "present, Zipf";

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

fn run_node(context: &Context<'_>, directory: &Path, data: &mut Dataset) -> Result<(), StudyError> {
    const STEPS: u64 = 9;
    let node = Node::open(directory)?;
    let server = Server::connect(&node.address, KEYSPACE)?;
    let mut keys = Keys::new(context);
    let mut subjects = tables::subjects();
    describe(data, &server, NODE, &keys)?;
    let mut settings = server.settings()?;
    settings.insert("java.heap".to_string(), node.heap()?);
    data.set_parameter("settings", settings.into_iter().collect::<serde_json::Value>());
    tables::create(&server, &subjects)?;
    tables::load(&server, || node.flush(KEYSPACE), &subjects, &mut keys)?;
    let files = node.files(KEYSPACE, &subjects[0].table, "-Data.db")?;
    data.set_parameter("format", tables::format_of(&files));
    context.step(1, STEPS);

    // The server reads its filters when it starts.
    drop(server);
    node.stop()?;
    let filters = tables::replace_filters(&node, KEYSPACE, &mut subjects, &keys)?;
    node.start()?;
    let server = Server::connect(&node.address, KEYSPACE)?;
    let stores: Vec<CassandraStore> =
        subjects.iter().map(|subject| server.store(&subject.table)).collect::<Result<_, _>>()?;
    server.warm_up(WARM_UP, &keys)?;
    context.step(2, STEPS);

    let popular = popular_keys(context, &keys);
    let mut counts = Vec::new();
    for (distribution, asked) in [(UNIFORM, &keys.absent), (ZIPF, &popular[0])] {
        let asked: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        let tables = (&*subjects, &*stores, &*filters);
        let mut rows = count(&server, &node, tables, &asked, keys.present.len() as u64)?;
        rows.iter_mut().for_each(|row| row.distribution = distribution.to_string());
        counts.append(&mut rows);
    }
    data.add("counts", &counts)?;
    context.step(3, STEPS);

    let mut times = Times::default();
    for (done, (task, asked)) in (4..).zip(tasks(&keys, &popular)) {
        times.add(context, &server, Some(&node), (&subjects, &stores), (task, asked))?;
        context.step(done, STEPS);
    }
    data.add_times("client", &times.client)?;
    data.add_times("server", &times.server)?;
    data.add_times("quantiles", &times.quantiles)?;

    guards::measure(context, &server, &tables::guarded(&subjects)?, &keys, data)?;
    context.step(8, STEPS);

    drop((stores, server));
    let cold = times::cold(context, &node, &subjects, &keys)?;
    data.add_times("cold", &cold)?;
    context.step(9, STEPS);
    Server::connect(&node.address, KEYSPACE)?.drop_keyspace()
}

/// What CQL can do, on a server of which only the address is known.
fn run_client(context: &Context<'_>, address: &str, data: &mut Dataset) -> Result<(), StudyError> {
    let owner = Owner::random().map_err(failed)?;
    let server = Server::connect(address, &format!("{KEYSPACE}_{owner}"))?;
    let mut keys = Keys::new(context);
    describe(data, &server, CLIENT, &keys)?;
    // Other versions and other servers have no such tables.
    if let Ok(settings) = server.settings() {
        data.set_parameter("settings", settings.into_iter().collect::<serde_json::Value>());
    }
    server.create_keyspace()?;
    let measured = measure_client(context, &server, &mut keys, data);
    // Also after a failure: the keyspace is nobody else's.
    server.drop_keyspace().and(measured)
}

fn measure_client(
    context: &Context<'_>,
    server: &Server,
    keys: &mut Keys,
    data: &mut Dataset,
) -> Result<(), StudyError> {
    const STEPS: u64 = 6;
    let mut subjects = tables::client_subjects();
    let guarded = tables::guarded(&subjects)?;
    tables::create(server, &subjects)?;
    let names = || subjects.iter().map(|subject| &*subject.table).chain([WARM_UP]);
    tables::load(server, || server.flush(names()), &subjects, keys)?;
    // What the server has made of the parts.
    for subject in &mut subjects {
        subject.parts = server.sstables(&subject.table, &keys.absent[0])?;
    }
    let stores: Vec<CassandraStore> =
        subjects.iter().map(|subject| server.store(&subject.table)).collect::<Result<_, _>>()?;
    server.warm_up(WARM_UP, keys)?;
    context.step(1, STEPS);

    let mut times = Times::default();
    let popular = popular_keys(context, keys);
    for (done, (task, asked)) in (2..).zip(tasks(keys, &popular)) {
        times.add(context, server, None, (&subjects, &stores), (task, asked))?;
        context.step(done, STEPS);
    }
    data.add_times("client", &times.client)?;
    data.add_times("quantiles", &times.quantiles)?;
    guards::measure(context, server, &guarded, keys, data)?;
    context.step(6, STEPS);
    Ok(())
}

/// Keys drawn by Zipf's law: absent ones, and present ones.
fn popular_keys(context: &Context<'_>, keys: &Keys) -> [Vec<Vec<u8>>; 2] {
    [
        popular(context.random("cassandra popular absent"), &keys.absent),
        popular(context.random("cassandra popular present"), &keys.present),
    ]
}

/// What is asked for, with its name in the data.
fn tasks<'k>(
    keys: &'k Keys,
    [absent, present]: &'k [Vec<Vec<u8>>; 2],
) -> [(&'static str, &'k [Vec<u8>]); 4] {
    [
        (ABSENT, &keys.absent),
        (ABSENT_ZIPF, absent),
        (PRESENT, &keys.present),
        (PRESENT_ZIPF, present),
    ]
}

fn describe(
    data: &mut Dataset,
    server: &Server,
    access: &str,
    keys: &Keys,
) -> Result<(), StudyError> {
    data.set_parameter(ACCESS, access);
    data.set_parameter("version", server.version()?);
    if let Some(driver) = option_env!("CRIVO_DRIVER") {
        data.set_parameter(DRIVER, driver);
    }
    data.set_parameter("keys", keys.present.len());
    Ok(())
}

/// Asks every table for the same absent keys, and reads the server's counters before and after.
fn count(
    server: &Server,
    node: &Node,
    (subjects, stores, filters): (&[Subject], &[CassandraStore], &[Vec<CassandraBloom>]),
    asked: &[&[u8]],
    keys: u64,
) -> Result<Vec<Count>, StudyError> {
    let before = node.statistics(KEYSPACE)?;
    for (subject, store) in subjects.iter().zip(stores) {
        let found = server.count(store, asked)?;
        if found > 0 {
            let table = &subject.filter;
            return Err(StudyError::wrong(format_args!("{found} absent keys are in {table}")));
        }
    }
    let after = node.statistics(KEYSPACE)?;
    let row = |(subject, filters): (&Subject, &Vec<CassandraBloom>)| {
        let table = &subject.table;
        let (Some(before), Some(after)) = (before.get(table), after.get(table)) else {
            return Err(failed(format_args!("nodetool does not know {table}")));
        };
        if after.sstables != subject.parts {
            return Err(StudyError::wrong(format_args!(
                "{table} has {} SSTables, not {}",
                after.sstables, subject.parts
            )));
        }
        Ok(Count {
            false_positives: after.false_positives - before.false_positives,
            memory: after.memory,
            ..tables::predict(subject, filters, asked, keys)?
        })
    };
    subjects.iter().zip(filters).map(row).collect()
}
