//! Guards in the client: every kind, for its memory, the questions that it stops, and its times.

use crivo::filter::Kind;
use crivo_store::cassandra::CassandraStore;
use crivo_store::{AsyncGuarded, AsyncStore, GuardOptions, Snapshot};

use super::failed;
use super::keys::{Keys, window};
use super::server::{BATCH, Server};
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::experiments::cassandra::{
    ABSENT_PERCENTAGES, GuardCount, NO_GUARD, TIMED_FPR, guard_name,
};
use crate::timing::{Clock, Contender, Phase, interleave};

/// The FPRs of guards.
const FPRS: [f64; 3] = [0.1, 0.01, TIMED_FPR];

/// A guard in front of a table that does not change.
struct Guard {
    name: String,
    kind: Kind,
    fpr: f64,
    store: AsyncGuarded<CassandraStore, Snapshot>,
}

impl Guard {
    fn new(server: &Server, table: &str, kind: Kind, fpr: f64) -> Result<Self, StudyError> {
        let options = GuardOptions::new(kind, fpr).map_err(failed)?;
        let opened = AsyncGuarded::snapshot(server.store(table)?, &options);
        let store = server.runtime.block_on(opened).map_err(failed)?;
        Ok(Self { name: guard_name(kind.name(), fpr), kind, fpr, store })
    }

    /// Asks for absent keys, several at a time.
    fn count(&self, server: &Server, keys: &Keys) -> Result<GuardCount, StudyError> {
        let absent: Vec<&[u8]> = keys.absent.iter().map(Vec::as_slice).collect();
        for part in absent.chunks(BATCH) {
            server.runtime.block_on(self.store.get_batch(part)).map_err(failed)?;
        }
        let (counters, filter) = (self.store.counters(), self.store.filter());
        if counters.found > 0 {
            return Err(StudyError::wrong(format_args!("{}: absent keys are there", self.name)));
        }
        Ok(GuardCount {
            kind: self.kind.name().to_string(),
            fpr: self.fpr,
            expected_fpr: filter.expected_fpr(),
            keys: keys.present.len() as u64,
            bits: filter.size_in_bits(),
            questions: counters.questions,
            stopped: counters.stopped,
        })
    }
}

/// Measures guards in front of these tables, each with the name of its task. The guards in front of the
/// first one are counted, and timed at every FPR.
pub(super) fn measure(
    context: &Context<'_>,
    server: &Server,
    tables: &[(&str, String)],
    keys: &Keys,
    data: &mut Dataset,
) -> Result<(), StudyError> {
    let mut counts = Vec::new();
    let mut samples = Vec::new();
    for (at, (task, table)) in tables.iter().enumerate() {
        let mut guards = Vec::new();
        for kind in Kind::ALL {
            for fpr in FPRS {
                if at == 0 || fpr == TIMED_FPR {
                    guards.push(Guard::new(server, table, kind, fpr)?);
                }
            }
        }
        if at == 0 {
            for guard in &guards {
                counts.push(guard.count(server, keys)?);
            }
        }
        let plain = server.store(table)?;
        let length = context.pick(10, 40, 100);
        for percentage in ABSENT_PERCENTAGES {
            let asked = keys.mixture(context, length, percentage);
            let expected = Some((length - length * percentage / 100) as u64);
            let phases = [Phase { task, operations: length, expected }];
            let (asked, plain) = (&asked, &plain);
            let mut turn = 0;
            let mut contenders = vec![Contender::new(NO_GUARD, move |_| {
                turn += 1;
                let keys = window(asked, turn, length);
                server.runtime.block_on(async {
                    let mut found = 0;
                    for key in keys {
                        found += u64::from(plain.get(key).await.map_err(failed)?.is_some());
                    }
                    Ok(found)
                })
            })];
            // The FPR matters for absent keys alone.
            let is_timed = |guard: &&Guard| guard.fpr == TIMED_FPR || percentage == 100;
            for guard in guards.iter().filter(is_timed) {
                let mut turn = 0;
                contenders.push(Contender::new(&*guard.name, move |_| {
                    turn += 1;
                    let keys = window(asked, turn, length);
                    server.runtime.block_on(async {
                        let mut found = 0;
                        for key in keys {
                            let answer = guard.store.get(key).await.map_err(failed)?;
                            found += u64::from(answer.is_some());
                        }
                        Ok(found)
                    })
                }));
            }
            let (share, rounds) = (percentage as f64 / 100.0, context.repetitions());
            samples.extend(interleave(Clock::Wall, share, rounds, &phases, &mut contenders)?);
        }
    }
    data.add("guards", &counts)?;
    data.add_times("guarded", &samples)
}
