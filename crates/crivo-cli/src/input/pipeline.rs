//! Work on all cores, results in order, memory bounded.
//!
//! ```text
//!             ┌──▶ worker ──┐
//!   reader ───┤             ├──▶ the caller
//!      │      └──▶ worker ──┘        ▲
//!      └── in the order of reading ──┘
//! ```
//!
//! The reader sends a chunk to whoever is free, and at the same time the other end of the answer's
//! channel to the caller, who waits for the answers in that order, and works while it would wait.
//! Chunks go around: the caller gives them back, and the reader waits for one when enough memory is
//! under way.
//!
//! Before all that the caller works alone for a while: a short input is done sooner than threads are
//! started.

use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::chunks::{CHUNK_BYTES, Chunk, Chunks};
use crate::outcome::{Error, plain};

/// How much of the input the caller works on alone.
const ALONE: usize = CHUNK_BYTES / 4;

/// How many chunks may be under way before the reader waits, beside one for each worker.
const SPARE_CHUNKS: usize = 3;

/// Buffers that grew beyond this for a long record are not kept.
const KEPT: usize = 2 * CHUNK_BYTES;

/// A chunk, and what work has made of it.
#[derive(Default)]
struct Task<T> {
    chunk: Chunk,
    product: T,
}

/// Calls `work` on every chunk, on all cores, and then `consume` in the order of the input.
///
/// What `work` makes goes into a `T` that has been used before: it must be overwritten. If `consume`
/// breaks, nothing more is read; a reader that waits for a pipe is left to itself.
pub(crate) fn run<T: Default + Send + 'static>(
    mut chunks: Chunks,
    work: impl Fn(&Chunk, &mut T) + Send + Sync + 'static,
    mut consume: impl FnMut(&Chunk, &mut T) -> Result<ControlFlow<()>, Error>,
) -> Result<(), Error> {
    let mut alone = Task::default();
    let mut done = 0;
    while done < ALONE {
        if !chunks.fill(&mut alone.chunk)? {
            return Ok(());
        }
        work(&alone.chunk, &mut alone.product);
        if consume(&alone.chunk, &mut alone.product)?.is_break() {
            return Ok(());
        }
        done += alone.chunk.bytes().len();
    }

    // One of the cores is the caller's.
    let workers = thread::available_parallelism().map_or(1, |cores| cores.get() - 1).max(1);
    let pool = Arc::new(Pool::of(alone, (workers + SPARE_CHUNKS) * CHUNK_BYTES));
    let (send_jobs, jobs) = mpsc::channel();
    let (send_answers, answers) = mpsc::channel();
    let reader_pool = Arc::clone(&pool);
    start(move || read(chunks, &reader_pool, &send_jobs, &send_answers))?;
    let jobs = Arc::new(Mutex::new(jobs));
    let work = Arc::new(work);
    for _ in 0..workers {
        let (jobs, work) = (Arc::clone(&jobs), Arc::clone(&work));
        start(move || labour(&jobs, &*work))?;
    }

    for answer in answers {
        let mut task = wait(&answer, &jobs, &*work)?;
        if consume(&task.chunk, &mut task.product)?.is_break() {
            break;
        }
        pool.give_back(task);
    }
    Ok(())
}

fn start(thread: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().spawn(thread).map(drop).map_err(|error| {
        let error = plain(&error);
        Error::new(format_args!("cannot start a thread: {error}; `ulimit -a` shows the limits"))
    })
}

/// A task to be done, and where it is expected.
type Job<T> = (Task<T>, SyncSender<Answer<T>>);
type Answer<T> = Result<Task<T>, Error>;

/// The reader: until the input ends, or nobody listens.
fn read<T: Default>(
    mut chunks: Chunks,
    pool: &Pool<T>,
    jobs: &Sender<Job<T>>,
    answers: &Sender<Receiver<Answer<T>>>,
) {
    loop {
        let mut task = pool.take();
        let before = task.chunk.size();
        let filled = chunks.fill(&mut task.chunk);
        pool.grew(task.chunk.size() - before);
        // There is one answer, for which there is room.
        let (send_answer, answer) = mpsc::sync_channel(1);
        let is_heard = match filled {
            Ok(true) => answers.send(answer).is_ok() && jobs.send((task, send_answer)).is_ok(),
            Ok(false) => false,
            Err(error) => {
                // The caller sees what was read before the error, and then the error.
                let _ = send_answer.send(Err(error));
                let _ = answers.send(answer);
                false
            }
        };
        if !is_heard {
            return;
        }
    }
}

/// A worker: until there is no more work.
fn labour<T>(jobs: &Mutex<Receiver<Job<T>>>, work: &impl Fn(&Chunk, &mut T)) {
    loop {
        let job = locked(jobs).recv();
        let Ok(job) = job else { return };
        finish(job, work);
    }
}

fn finish<T>((mut task, answer): Job<T>, work: &impl Fn(&Chunk, &mut T)) {
    work(&task.chunk, &mut task.product);
    // If nobody waits for it, the caller has stopped.
    let _ = answer.send(Ok(task));
}

/// The caller: until this answer is there. While it is not, and tasks wait for a worker, it is one.
fn wait<T>(
    answer: &Receiver<Answer<T>>,
    jobs: &Mutex<Receiver<Job<T>>>,
    work: &impl Fn(&Chunk, &mut T),
) -> Answer<T> {
    loop {
        if let Ok(answer) = answer.try_recv() {
            return answer;
        }
        // A worker that waits for work holds the lock: then there is none.
        let Some(job) = jobs.try_lock().ok().and_then(|jobs| jobs.try_recv().ok()) else { break };
        finish(job, work);
    }
    // A worker that panicked has said so itself.
    answer.recv().unwrap_or_else(|_| Err(Error::new("a thread stopped too early")))
}

/// Chunks that go around.
struct Pool<T> {
    state: Mutex<State<T>>,
    given_back: Condvar,
}

struct State<T> {
    idle: Vec<Task<T>>,
    under_way: usize,
    /// How much memory may be under way, not counting one long record.
    most: usize,
}

impl<T: Default> Pool<T> {
    fn of(first: Task<T>, most: usize) -> Self {
        let state = State { idle: vec![first], under_way: 0, most };
        Self { state: Mutex::new(state), given_back: Condvar::new() }
    }

    /// A chunk to be filled; waits while too much memory is under way.
    fn take(&self) -> Task<T> {
        let state = locked(&self.state);
        let mut state = self
            .given_back
            .wait_while(state, |state| state.under_way >= state.most)
            .unwrap_or_else(PoisonError::into_inner);
        let task = state.idle.pop().unwrap_or_default();
        state.under_way += task.chunk.size();
        task
    }

    /// A chunk that was taken has become larger.
    fn grew(&self, bytes: usize) {
        locked(&self.state).under_way += bytes;
    }

    fn give_back(&self, task: Task<T>) {
        let mut state = locked(&self.state);
        state.under_way -= task.chunk.size();
        if task.chunk.size() <= KEPT {
            state.idle.push(task);
        }
        drop(state);
        self.given_back.notify_one();
    }
}

/// Nothing is left half done by a panic under these locks.
fn locked<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
