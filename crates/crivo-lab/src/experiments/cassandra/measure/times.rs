//! Times of the tables of a node: at the client and in the server, warm and cold.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crivo_store::AsyncStore;
use crivo_store::cassandra::CassandraStore;

use super::keys::{Keys, window};
use super::node::Node;
use super::server::Server;
use super::tables::{Subject, WARM_UP};
use super::{KEYSPACE, PRESENT, PRESENT_ZIPF, failed};
use crate::StudyError;
use crate::context::Context;
use crate::experiments::cassandra::{ABSENT, Quantiles};
use crate::page_cache::evict;
use crate::timing::{Clock, Contender, Phase, Sample, interleave};

/// After this many rounds the server's own times are read, which takes seconds.
const ROUNDS_PER_BLOCK: u32 = 3;

/// Questions to a table with nothing in memory. More would read parts of its files a second time.
const COLD_QUESTIONS: usize = 5;

/// Times by task, number of SSTables (as x) and filter (as contender).
#[derive(Default)]
pub(super) struct Times {
    /// Of the client, by round.
    pub(super) client: Vec<Sample>,
    /// The server's mean, by block of rounds.
    pub(super) server: Vec<Sample>,
    /// Of the client's single questions, by round.
    pub(super) quantiles: Vec<Quantiles>,
}

impl Times {
    /// Asks all tables in turn for the keys of a task, one question at a time. Only a node tells the server's
    /// own times.
    pub(super) fn add(
        &mut self,
        context: &Context<'_>,
        server: &Server,
        node: Option<&Node>,
        (subjects, stores): (&[Subject], &[CassandraStore]),
        (task, asked): (&str, &[Vec<u8>]),
    ) -> Result<(), StudyError> {
        let length = context.pick(10, 40, 100);
        let is_present = [PRESENT, PRESENT_ZIPF].contains(&task);
        let expected = Some(if is_present { length as u64 } else { 0 });
        let phases = [Phase { task, operations: length, expected }];
        let turns = vec![Cell::new(0); subjects.len()];
        let singles = RefCell::new(vec![Vec::new(); subjects.len()]);
        let all = context.repetitions();
        let read_times = || node.map(|node| node.read_times(KEYSPACE)).transpose();
        let mut before = read_times()?;
        for (block, first) in (0..).zip((0..all).step_by(ROUNDS_PER_BLOCK as usize)) {
            let rounds = ROUNDS_PER_BLOCK.min(all - first);
            let mut contenders: Vec<Contender<'_>> = stores
                .iter()
                .enumerate()
                .map(|(place, store)| {
                    let (turn, singles) = (&turns[place], &singles);
                    let mut is_warm_up = true;
                    Contender::new(place.to_string(), move |_| {
                        let keys = window(asked, turn.replace(turn.get() + 1), length);
                        let (found, times) = ask_singly(server, store, keys)?;
                        if !std::mem::take(&mut is_warm_up) {
                            singles.borrow_mut()[place].push(times);
                        }
                        Ok(found)
                    })
                })
                .collect();
            let mut samples = interleave(Clock::Wall, 0.0, rounds, &phases, &mut contenders)?;
            for sample in &mut samples {
                let place = sample.contender.parse().ok();
                let subject = place.and_then(|place: usize| subjects.get(place));
                let subject = subject.ok_or_else(|| StudyError::wrong("a time of no table"))?;
                sample.x = subject.parts as f64;
                sample.contender.clone_from(&subject.filter);
                sample.round += first;
            }
            self.client.append(&mut samples);
            let after = read_times()?;
            let (Some(known), Some(now)) = (&before, &after) else { continue };
            for subject in subjects {
                let (Some(before), Some(after)) =
                    (known.get(&subject.table), now.get(&subject.table))
                else {
                    return Err(failed(format_args!("no read time of {}", subject.table)));
                };
                self.server.push(Sample {
                    task: task.to_string(),
                    x: subject.parts as f64,
                    contender: subject.filter.clone(),
                    round: block,
                    nanoseconds: 1e3 * after.mean_since(before),
                });
            }
            before = after;
        }
        for (subject, rounds) in subjects.iter().zip(singles.into_inner()) {
            for (round, times) in (0..).zip(rounds) {
                self.quantiles.push(quantiles(task, subject, round, times));
            }
        }
        Ok(())
    }
}

/// Asks for keys one by one. Returns how many were there, and the time of each in microseconds.
fn ask_singly(
    server: &Server,
    store: &CassandraStore,
    keys: &[Vec<u8>],
) -> Result<(u64, Vec<f64>), StudyError> {
    let (mut found, mut times) = (0, Vec::with_capacity(keys.len()));
    server.runtime.block_on(async {
        for key in keys {
            let start = Instant::now();
            found += u64::from(store.get(key).await.map_err(failed)?.is_some());
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        Ok((found, times))
    })
}

fn quantiles(task: &str, subject: &Subject, round: u32, mut times: Vec<f64>) -> Quantiles {
    times.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        times.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    Quantiles {
        round: Some(round),
        task: task.to_string(),
        filter: subject.filter.clone(),
        sstables: subject.parts,
        questions: times.len() as u64,
        median_microseconds: quantile(0.5),
        p90_microseconds: quantile(0.9),
        p99_microseconds: quantile(0.99),
    }
}

/// The first questions for absent keys after a start of the node with its files out of the page cache, at
/// the client. The node warms up on another table, so that its code is compiled.
pub(super) fn cold(
    context: &Context<'_>,
    node: &Node,
    subjects: &[Subject],
    keys: &Keys,
) -> Result<Vec<Sample>, StudyError> {
    let mut samples = Vec::new();
    let mut random = context.random("cassandra cold");
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for round in 0..context.pick(1, 3, 10) {
        node.stop()?;
        let files = node.all_files(KEYSPACE)?;
        files.iter().for_each(|file| evict(file));
        node.start()?;
        let server = Server::connect(&node.address, KEYSPACE)?;
        server.warm_up(WARM_UP, keys)?;
        let stores: Vec<CassandraStore> = subjects
            .iter()
            .map(|subject| server.store(&subject.table))
            .collect::<Result<_, _>>()?;
        // What the start itself has read.
        files.iter().for_each(|file| evict(file));
        random.shuffle(&mut order);
        for &place in &order {
            let asked = window(&keys.absent, round as usize, COLD_QUESTIONS);
            let (found, times) = ask_singly(&server, &stores[place], asked)?;
            if found > 0 {
                return Err(StudyError::wrong("absent keys are there after a restart"));
            }
            samples.push(Sample {
                task: ABSENT.to_string(),
                x: subjects[place].parts as f64,
                contender: subjects[place].filter.clone(),
                round,
                nanoseconds: 1e3 * times.iter().sum::<f64>() / times.len().max(1) as f64,
            });
        }
    }
    Ok(samples)
}
