//! The task that keeps the guard of a shared store up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Announcement, AsyncSharedStore, Joined, News};
use crate::asynchronous::build_tables;
use crate::guard::Guard;
use crate::{Existed, GuardedError, Owner, Session};

/// The longest time for which the server is asked to wait for news. The clients of servers give up after
/// some time: half a second in the crate `redis`.
const MAX_WAIT: Duration = Duration::from_millis(250);
const MIN_WAIT: Duration = Duration::from_millis(1);

/// The time before something that failed is tried again. It doubles with every failure in a row: nobody knows
/// how long an owner keeps the store.
const PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// News must have come for so long without a failure until that is told: a server that fails now and then is told of
/// once.
const CALM: Duration = Duration::from_secs(1);

/// How long a question for news may take.
const PATIENCE: Duration = Duration::from_secs(10);

type Scanned<S> = Result<bool, GuardedError<<S as crate::AsyncStore>::Error>>;

/// Told once, when the first scan has ended.
type Ready<S> = oneshot::Sender<Result<(), GuardedError<<S as crate::AsyncStore>::Error>>>;

pub(super) struct Follower<S: AsyncSharedStore> {
    store: Arc<S>,
    guard: Arc<Guard>,
    news: Arc<News>,
    /// The scan that is running, if there is one. Dropped, it ends.
    scan: JoinSet<Scanned<S>>,
    /// The mark of that scan.
    mark: Option<Arc<Mark>>,
}

/// The mark of a scan. What the scan has found is used when the mark is heard: then the follower would
/// notice if the store forgot a delete that the scan has seen.
struct Mark {
    number: Owner,
    is_sent: AtomicBool,
    is_heard: AtomicBool,
    heard: Notify,
}

/// Why a stream is no longer followed.
enum End {
    /// The stream is lost, and everything begins again.
    Lost,
    /// The first scan has failed, and nobody waits for another.
    NeverReady,
}

impl<S: AsyncSharedStore> Follower<S> {
    pub(super) fn new(store: Arc<S>, guard: Arc<Guard>, news: Arc<News>) -> Self {
        Self { store, guard, news, scan: JoinSet::new(), mark: None }
    }

    /// Follows the stream until the task is aborted.
    pub(super) async fn run(mut self, mut joined: Joined<S::Position>, ready: Ready<S>) {
        let mut ready = Some(ready);
        while let End::Lost = self.follow(joined, &mut ready).await {
            self.news.lose();
            tracing::info!("the stream of announcements is lost; every question passes meanwhile");
            // What it has found belongs to a stream that is gone.
            self.scan.shutdown().await;
            let mut pause = PAUSE;
            joined = loop {
                match (self.store.join(false).await, ready.take()) {
                    (Ok(joined), waiting) => {
                        ready = waiting;
                        break joined;
                    }
                    (Err(error), Some(ready)) => {
                        let _ = ready.send(Err(GuardedError::Store(error)));
                        return;
                    }
                    (Err(error), None) => {
                        // Told once, and not as often as it is tried.
                        if pause == PAUSE {
                            tracing::warn!(%error, "the store cannot be shared again yet");
                        } else {
                            tracing::debug!(%error, "the store cannot be shared again yet");
                        }
                        sleep(pause).await;
                        pause = MAX_PAUSE.min(2 * pause);
                    }
                }
            };
            self.news.set_session(joined.session);
        }
    }

    /// Follows the stream from one position on, and scans: at once, and whenever the guard has too much
    /// waste.
    async fn follow(&mut self, joined: Joined<S::Position>, ready: &mut Option<Ready<S>>) -> End {
        let Joined { session, mut position } = joined;
        let wait = (self.news.staleness / 4).clamp(MIN_WAIT, MAX_WAIT);
        let mut has_every_key = false;
        let mut scan_after = Instant::now();
        let mut scan_pause = PAUSE;
        // If it was told of.
        let mut last_failure: Option<Instant> = None;
        loop {
            if self.scan.is_empty()
                && (!has_every_key || self.guard.needs_rebuild())
                && Instant::now() >= scan_after
            {
                match Owner::random() {
                    Ok(number) => self.start_scan(session, number),
                    Err(error) => {
                        tracing::warn!(%error, "no random numbers for the mark of a scan");
                        scan_after = Instant::now() + PAUSE;
                    }
                }
            }
            let mark = self.mark.clone();
            let is_sent = mark.as_ref().is_some_and(|mark| mark.is_sent.load(Ordering::Acquire));
            let asked = Instant::now();
            let is_end = match timeout(PATIENCE, self.hear(&session, &position)).await {
                Ok(Ok(Some(followed))) => {
                    if last_failure.take_if(|failure| failure.elapsed() >= CALM).is_some() {
                        tracing::info!("there is news from the store again");
                    }
                    position = followed.position;
                    Some(followed.is_end)
                }
                Ok(Ok(None)) => return End::Lost,
                unheard => {
                    let why = match unheard {
                        Ok(Err(error)) => error.to_string(),
                        _ => format!("there is no answer after {PATIENCE:?}"),
                    };
                    // Told once, and not as often as it is tried.
                    if last_failure.replace(Instant::now()).is_some() {
                        tracing::debug!(why, "no news from the store");
                    } else {
                        tracing::warn!(
                            why,
                            "no news from the store; once the last are older than the staleness, \
                             every question passes until there are others"
                        );
                    }
                    None
                }
            };
            let is_heard = mark.is_some_and(|mark| mark.is_heard.load(Ordering::Acquire));
            if is_sent && !is_heard && is_end == Some(true) {
                return End::Lost;
            }
            // Everything that was announced while the scan ran is in the guard too: the rebuild has noted
            // it, or it was announced before the scan began.
            match self.scan.try_join_next() {
                None => {}
                Some(Ok(Ok(true))) => {
                    has_every_key = true;
                    scan_pause = PAUSE;
                    tracing::debug!("the guard has every key");
                }
                Some(Ok(Err(error))) => match ready.take() {
                    Some(ready) => {
                        let _ = ready.send(Err(error));
                        return End::NeverReady;
                    }
                    None => {
                        if scan_pause == PAUSE {
                            tracing::warn!(%error, "the guard could not be rebuilt");
                        } else {
                            tracing::debug!(%error, "the guard could not be rebuilt");
                        }
                        scan_after = Instant::now() + scan_pause;
                        scan_pause = MAX_PAUSE.min(2 * scan_pause);
                    }
                },
                // It has panicked, or the guard has.
                Some(Ok(Ok(false)) | Err(_)) => scan_after = Instant::now() + PAUSE,
            }
            if has_every_key && is_end == Some(true) {
                self.news.set_current(asked);
            }
            if has_every_key && let Some(ready) = ready.take() {
                let _ = ready.send(Ok(()));
            }
            match is_end {
                Some(true) => {
                    let waited = timeout(PATIENCE, self.store.wait(&position, wait)).await;
                    if !matches!(waited, Ok(Ok(()))) {
                        sleep(wait.min(PAUSE)).await;
                    }
                }
                Some(false) => {}
                None => sleep(wait.min(PAUSE)).await,
            }
        }
    }

    fn start_scan(&mut self, session: Session, number: Owner) {
        let mark = Arc::new(Mark {
            number,
            is_sent: AtomicBool::new(false),
            is_heard: AtomicBool::new(false),
            heard: Notify::new(),
        });
        self.mark = Some(mark.clone());
        let (store, guard) = (self.store.clone(), self.guard.clone());
        self.scan.spawn(async move {
            let Some(rebuild) = guard.begin_rebuild() else { return Ok(false) };
            let (mut scanned, hasher) = (Vec::new(), guard.hasher());
            let visit = |key: &S::Key| scanned.push(hasher.digest(key));
            store.scan_and_mark(&session, number, visit).await.map_err(GuardedError::Store)?;
            mark.is_sent.store(true, Ordering::Release);
            let (rebuild, tables) = build_tables(&guard, rebuild, scanned).await?;
            mark.heard.notified().await;
            rebuild.install(tables);
            Ok(true)
        });
    }

    /// Puts what was announced into the guard.
    async fn hear(
        &self,
        session: &Session,
        position: &S::Position,
    ) -> Result<Option<super::Followed<S::Position>>, S::Error> {
        let (guard, hasher) = (&*self.guard, self.guard.hasher());
        let insert = |announcement: Announcement<'_, S::Key>| match announcement {
            Announcement::Put(key) => guard.begin_put(hasher.digest(key)).stored(Existed::Unknown),
            Announcement::Delete => guard.count_deleted(),
            Announcement::Mark(number) => {
                if let Some(mark) = self.mark.as_ref().filter(|mark| mark.number == number) {
                    mark.is_heard.store(true, Ordering::Release);
                    mark.heard.notify_one();
                }
            }
        };
        self.store.follow(session, position, insert).await
    }
}
