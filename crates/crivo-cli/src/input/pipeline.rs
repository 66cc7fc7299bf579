//! Work on all cores, results in order, memory bounded.
//!
//! ```text
//!             ┌──▶ worker ──┐
//!   reader ───┤             ├──▶ the caller
//!      │      └──▶ worker ──┘        ▲
//!      └── in the order of reading ──┘
//! ```
//!
//! The reader sends each chunk to a queue for the workers, and at the same time the receiving end of
//! its result to the caller. The caller takes the results in that order, and works on queued chunks
//! while it would wait. Chunks are reused: the caller gives them back, and the reader waits for one
//! when too much memory is in use.
//!
//! First the caller works alone for a while: a short input takes less time than starting threads. With
//! one core, or `--threads 1`, it works alone to the end.

use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::chunks::{CHUNK_BYTES, Chunk, Chunks};
use crate::error::{Error, os_message};
use crate::threads;

/// How many bytes of the input the caller works on before threads are started.
const ALONE: usize = CHUNK_BYTES / 4;

/// How many chunks may be in use before the reader waits, in addition to one per worker.
const SPARE_CHUNKS: usize = 3;

/// Buffers that grew beyond this for a long record are not reused.
const MAX_REUSED: usize = 2 * CHUNK_BYTES;

/// A chunk, and the result of the work on it.
#[derive(Default)]
struct Task<T> {
    chunk: Chunk,
    product: T,
}

/// Calls `work` on every chunk, on as many threads as there may be, and then `consume` in the order of the input.
///
/// `work` must overwrite its `T`, which is reused. If `consume` breaks, no more results are taken;
/// the reader thread is not joined, because it may be waiting for a pipe.
pub(crate) fn run<T: Default + Send + 'static>(
    mut chunks: Chunks,
    work: impl Fn(&Chunk, &mut T) + Send + Sync + 'static,
    mut consume: impl FnMut(&Chunk, &mut T) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    let mut key_check = chunks.key_check();
    // Records are visited by `work` or by `consume`.
    let mut consume = |task: &mut Task<T>| {
        task.chunk.check_keys(&mut key_check)?;
        let flow = consume(&task.chunk, &mut task.product)?;
        task.chunk.check_keys(&mut key_check)?;
        Ok::<_, Error>(flow)
    };
    let mut alone = Task::default();
    let mut done = 0;
    while done < ALONE || threads::count() == 1 {
        if !chunks.fill(&mut alone.chunk)? {
            return key_check.finish();
        }
        work(&alone.chunk, &mut alone.product);
        if consume(&mut alone)?.is_break() {
            return Ok(());
        }
        done += alone.chunk.bytes().len();
    }

    // The caller uses one of the cores.
    let workers = threads::count() - 1;
    let pool = Arc::new(TaskPool::of(alone, (workers + SPARE_CHUNKS) * CHUNK_BYTES));
    let (send_jobs, jobs) = mpsc::channel();
    let (send_results, results) = mpsc::channel();
    let reader_pool = Arc::clone(&pool);
    start(move || read(chunks, &reader_pool, &send_jobs, &send_results))?;
    let jobs = Arc::new(Mutex::new(jobs));
    let work = Arc::new(work);
    for _ in 0..workers {
        let (jobs, work) = (Arc::clone(&jobs), Arc::clone(&work));
        start(move || run_worker(&jobs, &*work))?;
    }

    for result in results {
        let mut task = wait(&result, &jobs, &*work)?;
        if consume(&mut task)?.is_break() {
            return Ok(());
        }
        pool.give_back(task);
    }
    key_check.finish()
}

fn start(thread: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().spawn(thread).map(drop).map_err(|error| {
        let error = os_message(&error);
        Error::new(format_args!("cannot start a thread: {error}; `ulimit -a` shows the limits"))
    })
}

/// A task to be done, and where to send its result.
type Job<T> = (Task<T>, SyncSender<TaskResult<T>>);
type TaskResult<T> = Result<Task<T>, Error>;

/// The reader: reads until the input ends or the caller has stopped.
fn read<T: Default>(
    mut chunks: Chunks,
    pool: &TaskPool<T>,
    jobs: &Sender<Job<T>>,
    results: &Sender<Receiver<TaskResult<T>>>,
) {
    loop {
        let mut task = pool.take();
        let before = task.chunk.size();
        let filled = chunks.fill(&mut task.chunk);
        pool.grew(task.chunk.size() - before);
        // One result is sent, and the channel has room for it.
        let (send_result, result) = mpsc::sync_channel(1);
        let is_received = match filled {
            Ok(true) => results.send(result).is_ok() && jobs.send((task, send_result)).is_ok(),
            Ok(false) => false,
            Err(error) => {
                // The caller gets the chunks before the error, and then the error.
                let _ = send_result.send(Err(error));
                let _ = results.send(result);
                false
            }
        };
        if !is_received {
            return;
        }
    }
}

/// A worker: works until the queue is closed.
fn run_worker<T>(jobs: &Mutex<Receiver<Job<T>>>, work: &impl Fn(&Chunk, &mut T)) {
    loop {
        let job = locked(jobs).recv();
        let Ok(job) = job else { return };
        finish(job, work);
    }
}

fn finish<T>((mut task, result): Job<T>, work: &impl Fn(&Chunk, &mut T)) {
    work(&task.chunk, &mut task.product);
    // If this fails, the caller has stopped.
    let _ = result.send(Ok(task));
}

/// The caller: waits for this result, and works on queued tasks meanwhile.
fn wait<T>(
    result: &Receiver<TaskResult<T>>,
    jobs: &Mutex<Receiver<Job<T>>>,
    work: &impl Fn(&Chunk, &mut T),
) -> TaskResult<T> {
    loop {
        if let Ok(result) = result.try_recv() {
            return result;
        }
        // An idle worker holds the lock: then the queue is empty.
        let Some(job) = jobs.try_lock().ok().and_then(|jobs| jobs.try_recv().ok()) else { break };
        finish(job, work);
    }
    // A worker that panicked has printed its message.
    result.recv().unwrap_or_else(|_| Err(Error::new("a worker thread panicked")))
}

/// Chunks to be reused.
struct TaskPool<T> {
    state: Mutex<PoolState<T>>,
    given_back: Condvar,
}

struct PoolState<T> {
    idle: Vec<Task<T>>,
    /// Bytes of the chunks that are in use.
    in_use: usize,
    /// Above this the reader waits. One long record may exceed it.
    max_in_use: usize,
}

impl<T: Default> TaskPool<T> {
    fn of(first: Task<T>, max_in_use: usize) -> Self {
        let state = PoolState { idle: vec![first], in_use: 0, max_in_use };
        Self { state: Mutex::new(state), given_back: Condvar::new() }
    }

    /// A chunk to be filled; waits while too much memory is in use.
    fn take(&self) -> Task<T> {
        let state = locked(&self.state);
        let mut state = self
            .given_back
            .wait_while(state, |state| state.in_use >= state.max_in_use)
            .unwrap_or_else(PoisonError::into_inner);
        let task = state.idle.pop().unwrap_or_default();
        state.in_use += task.chunk.size();
        task
    }

    /// Records that a chunk in use has grown.
    fn grew(&self, bytes: usize) {
        locked(&self.state).in_use += bytes;
    }

    fn give_back(&self, task: Task<T>) {
        let mut state = locked(&self.state);
        state.in_use -= task.chunk.size();
        if task.chunk.size() <= MAX_REUSED {
            state.idle.push(task);
        }
        drop(state);
        self.given_back.notify_one();
    }
}

/// Ignores poisoning: no code that runs under these locks leaves a state half changed.
fn locked<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
