//! Several writers of one store in memory, which loses answers, entries of its stream, and data.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use crivo::filter::Kind;
use crivo_core::Random;
use tracing::Level;

use super::*;
use crate::heard;
use crate::{AsyncStore, Owner};

const KEYS: u64 = 60;

#[derive(Clone, Copy)]
enum Entry {
    Put(u64),
    Delete,
    Mark(Owner),
}

#[derive(Clone, Default)]
struct Data {
    values: BTreeMap<u64, u64>,
    /// Positions, numbers, and what is announced.
    stream: VecDeque<(u64, u64, Entry)>,
    last_position: u64,
    session: Option<Session>,
}

#[derive(Default)]
struct Server {
    data: Data,
    /// What the server has after a crash.
    saved: Data,
    /// Since when each key has been there.
    since: BTreeMap<u64, Instant>,
    next_number: u64,
    faults: Option<Random>,
    /// Of so many questions for news one fails; 0: none.
    silent_one_in: u64,
    asked_for_news: u64,
    /// When one of them failed for that.
    silences: Vec<Instant>,
    /// Puts that were given up and will still arrive.
    late: Vec<(Session, u64)>,
    /// How often data were lost.
    losses: u64,
    /// One owner has the store.
    is_owned: bool,
    /// How often somebody has asked to join.
    joins: u64,
    /// A key that is deleted just before the next scan. The server forgets that just after it.
    forgets_delete_of: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no answer in time")]
    TimedOut,
    #[error("the session has ended")]
    LostSession,
    #[error("the store has an owner")]
    Owned,
}

impl Server {
    fn announce(&mut self, what: Entry) -> (u64, u64) {
        self.data.last_position += 1;
        self.next_number += 1;
        let at = (self.data.last_position, self.next_number);
        self.data.stream.push_back((at.0, at.1, what));
        at
    }

    fn change(&mut self, session: Session, key: u64, value: Option<u64>) -> Result<Existed, Fault> {
        if self.data.session != Some(session) {
            return Err(Fault::LostSession);
        }
        let existed = self.data.values.contains_key(&key);
        match value {
            Some(value) => {
                if !existed {
                    self.announce(Entry::Put(key));
                    self.since.insert(key, Instant::now());
                }
                self.data.values.insert(key, value);
            }
            None if existed => {
                self.announce(Entry::Delete);
                self.data.values.remove(&key);
            }
            None => {}
        }
        Ok(if existed { Existed::Yes } else { Existed::No })
    }

    /// Data that were lost are back, or have gone.
    fn replace(&mut self, data: Data) {
        let now = Instant::now();
        for key in data.values.keys().filter(|key| !self.data.values.contains_key(key)) {
            self.since.insert(*key, now);
        }
        self.data = data;
        self.losses += 1;
    }

    fn fails(&mut self) -> u64 {
        self.faults.as_mut().map_or(9, |random| random.below(10))
    }
}

#[derive(Clone, Default)]
struct Peer(Arc<Mutex<Server>>);

impl Peer {
    async fn write(
        &self,
        session: Session,
        key: u64,
        value: Option<u64>,
    ) -> Result<Existed, Fault> {
        tokio::task::yield_now().await;
        let answer = {
            let mut server = self.0.lock().unwrap();
            match server.fails() {
                0 => return Err(Fault::TimedOut),
                1 if value.is_some() => {
                    server.late.push((session, key));
                    return Err(Fault::TimedOut);
                }
                2 => {
                    server.change(session, key, value)?;
                    return Err(Fault::TimedOut);
                }
                _ => server.change(session, key, value),
            }
        };
        tokio::task::yield_now().await;
        answer
    }
}

impl AsyncStore for Peer {
    type Key = u64;
    type Value = u64;
    type Error = Fault;

    async fn get(&self, key: &u64) -> Result<Option<u64>, Fault> {
        Ok(self.0.lock().unwrap().data.values.get(key).copied())
    }

    async fn scan(&self, mut visit: impl FnMut(&u64) + Send) -> Result<(), Fault> {
        let mut next = 0;
        loop {
            let part: Vec<u64> = {
                let mut server = self.0.lock().unwrap();
                if server.fails() == 0 {
                    return Err(Fault::TimedOut);
                }
                server.data.values.range(next..).take(8).map(|(&key, _)| key).collect()
            };
            let Some(last) = part.last() else { return Ok(()) };
            next = last + 1;
            part.iter().for_each(&mut visit);
            tokio::task::yield_now().await;
        }
    }
}

impl AsyncSharedStore for Peer {
    type NewValue = u64;
    type Position = (u64, u64);

    async fn join(&self, _: bool) -> Result<Joined<(u64, u64)>, Fault> {
        let mut server = self.0.lock().unwrap();
        server.joins += 1;
        if server.is_owned {
            return Err(Fault::Owned);
        }
        let session = server
            .data
            .session
            .unwrap_or_else(|| Session { generation: 1, owner: Owner::random().unwrap() });
        server.data.session = Some(session);
        Ok(Joined { session, position: server.announce(Entry::Mark(session.owner)) })
    }

    async fn wait(&self, _: &(u64, u64), at_most: Duration) -> Result<(), Fault> {
        tokio::time::sleep(at_most).await;
        Ok(())
    }

    async fn follow(
        &self,
        session: &Session,
        after: &(u64, u64),
        mut visit: impl FnMut(Announcement<'_, u64>) + Send,
    ) -> Result<Option<Followed<(u64, u64)>>, Fault> {
        tokio::task::yield_now().await;
        let mut server = self.0.lock().unwrap();
        server.asked_for_news += 1;
        if server.asked_for_news.checked_rem(server.silent_one_in) == Some(0) {
            server.silences.push(Instant::now());
            return Err(Fault::TimedOut);
        }
        if server.fails() == 0 {
            return Err(Fault::TimedOut);
        }
        let stream = &server.data.stream;
        let known = stream.iter().position(|(at, number, _)| (*at, *number) == *after);
        let (Some(known), true) = (known, server.data.session == Some(*session)) else {
            return Ok(None);
        };
        let news: Vec<_> = stream.iter().skip(known + 1).take(5).collect();
        let is_end = known + 1 + news.len() == stream.len();
        for (_, _, what) in &news {
            visit(match what {
                Entry::Put(key) => Announcement::Put(key),
                Entry::Delete => Announcement::Delete,
                Entry::Mark(mark) => Announcement::Mark(*mark),
            });
        }
        let position = news.last().map_or(*after, |(at, number, _)| (*at, *number));
        Ok(Some(Followed { position, is_end }))
    }

    async fn scan_and_mark(
        &self,
        session: &Session,
        mark: Owner,
        mut visit: impl FnMut(&u64) + Send,
    ) -> Result<(), Fault> {
        let losses = self.0.lock().unwrap().losses;
        if self.0.lock().unwrap().forgets_delete_of.is_some() {
            // The follower has asked for news, and waits.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let mut server = self.0.lock().unwrap();
            let saved = server.data.clone();
            let key = server.forgets_delete_of.take().unwrap();
            server.change(*session, key, None)?;
            server.data.values.keys().for_each(visit);
            server.announce(Entry::Mark(mark));
            server.replace(saved);
            return Ok(());
        }
        self.scan(&mut visit).await?;
        let mut server = self.0.lock().unwrap();
        if server.losses != losses {
            return Err(Fault::TimedOut);
        }
        if server.data.session != Some(*session) {
            return Err(Fault::LostSession);
        }
        server.announce(Entry::Mark(mark));
        Ok(())
    }

    async fn put_all(
        &self,
        session: &Session,
        entries: &[(&u64, &u64)],
    ) -> Result<Vec<Existed>, Fault> {
        let mut existed = Vec::new();
        for (key, value) in entries {
            existed.push(self.write(*session, **key, Some(**value)).await?);
        }
        Ok(existed)
    }

    async fn delete_all(&self, session: &Session, keys: &[&u64]) -> Result<Vec<Existed>, Fault> {
        let mut existed = Vec::new();
        for key in keys {
            existed.push(self.write(*session, **key, None).await?);
        }
        Ok(existed)
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

async fn share(peer: &Peer, kind: Kind, staleness: Duration) -> AsyncGuarded<Peer, Shared> {
    let options = SharedOptions::new(GuardOptions::new(kind, 0.01).unwrap()).staleness(staleness);
    // A scan may fail, as it is asked to.
    loop {
        if let Ok(shared) = AsyncGuarded::share(peer.clone(), options.clone()).await {
            return shared;
        }
    }
}

/// Waits until something is so, at most a minute.
async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn wait_until_current(shared: &AsyncGuarded<Peer, Shared>) {
    wait_until("the guard has caught up", || shared.is_current()).await;
}

/// A question. *Absent* must have been right at most the staleness ago.
async fn ask(shared: &AsyncGuarded<Peer, Shared>, key: u64, staleness: Duration) {
    let asked = Instant::now();
    let found = shared.contains(&key).await.unwrap();
    let server = shared.store().0.lock().unwrap();
    let is_there = server.data.values.contains_key(&key);
    let is_hidden = !found && is_there && server.since[&key] + staleness < asked;
    assert!(!is_hidden, "{key} is hidden");
}

#[test]
fn no_key_is_hidden_for_longer_than_the_staleness() {
    const STALENESS: Duration = Duration::from_millis(15);
    for (seed, kind) in [Kind::Cuckoo, Kind::Blocked, Kind::Fuse].into_iter().enumerate() {
        block_on(async {
            let mut random = Random::new(seed as u64);
            let peer = Peer::default();
            let mut shared = Vec::new();
            for _ in 0..3 {
                shared.push(share(&peer, kind, STALENESS).await);
            }
            peer.0.lock().unwrap().faults = Some(Random::new(7));
            let mut stopped = 0;
            for _ in 0..2_500 {
                let key = random.below(KEYS);
                let one = &shared[random.below(3) as usize];
                // Errors are the faults that were asked for.
                match random.below(10) {
                    0..3 => {
                        if one.put(&key, &1).await.is_ok() {
                            assert!(one.contains(&key).await.unwrap(), "an own write is hidden");
                        }
                    }
                    3 => drop(one.delete(&key).await),
                    4 => tokio::time::sleep(Duration::from_millis(1)).await,
                    _ => ask(one, key, STALENESS).await,
                }
                let mut server = peer.0.lock().unwrap();
                match random.below(400) {
                    0 => server.data.stream.clear(),
                    1 => server.replace(Data::default()),
                    2..4 => {
                        let saved = server.saved.clone();
                        server.replace(saved);
                    }
                    4..10 => server.saved = server.data.clone(),
                    10..60 => {
                        if let Some((session, key)) = server.late.pop() {
                            let _ = server.change(session, key, Some(2));
                        }
                    }
                    _ => {}
                }
            }
            peer.0.lock().unwrap().faults = None;
            for one in &shared {
                wait_until_current(one).await;
                for key in 0..KEYS {
                    ask(one, key, STALENESS).await;
                }
                stopped += one.counters().stopped;
            }
            assert!(stopped > 100, "{kind}: the guards stopped only {stopped} questions");
        });
    }
}

#[test]
fn a_guard_that_is_current_stops_what_is_absent() {
    block_on(async {
        let peer = Peer::default();
        let staleness = Duration::from_secs(600);
        let [reader, writer] = [
            share(&peer, Kind::Blocked, staleness).await,
            share(&peer, Kind::Fuse, staleness).await,
        ];
        for key in 0..2_000 {
            writer.put(&key, &key).await.unwrap();
        }
        // The reader hears of them within a moment, and rebuilds its guard if it is full.
        wait_until("the guard is rebuilt", || {
            let status = reader.guard_status();
            status.rebuild_count >= 2 && status.key_count >= 2_000
        })
        .await;
        for key in 0..2_000 {
            assert!(reader.contains(&key).await.unwrap());
        }
        for key in 1_000_000..1_020_000 {
            assert!(!reader.contains(&key).await.unwrap());
        }
        // An FPR of at most 1.5%: more than 2% of 20,000 pass with a probability below 10^-7.
        let counters = reader.counters();
        assert!(counters.stopped >= 19_600, "{counters:?}");
    });
}

#[test]
fn a_guard_without_news_lets_everything_pass() {
    block_on(async {
        let peer = Peer::default();
        let shared = share(&peer, Kind::Cuckoo, Duration::from_millis(5)).await;
        wait_until_current(&shared).await;
        // The follower cannot run while this thread sleeps.
        std::thread::sleep(Duration::from_millis(6));
        assert!(!shared.is_current() && shared.staleness().is_some());
        assert!(!shared.guard_status().is_trusted);
        assert!(!shared.contains(&1).await.unwrap());
        assert_eq!(shared.counters().false_positives, 1);
        assert_eq!(shared.get_batch(&[&1, &2]).await.unwrap(), [None, None]);
        assert_eq!(shared.contains_batch(&[&1, &2]).await.unwrap(), [false, false]);
        assert_eq!(shared.counters().false_positives, 5);
        // The server has lost everything: the next session begins by itself.
        let session = shared.session();
        peer.0.lock().unwrap().replace(Data::default());
        assert!(matches!(shared.put(&1, &1).await, Err(Fault::LostSession)));
        wait_until("another session has begun", || shared.session() != session).await;
        shared.put(&1, &1).await.unwrap();
        assert!(shared.contains(&1).await.unwrap());
    });
}

/// Between failures the guard goes on answering, as long as its knowledge is not too old.
#[test]
fn a_server_that_fails_now_and_then_is_told_of_once() {
    /// What is told of ends when there was news for so long without a failure.
    const CALM: Duration = Duration::from_secs(1);
    let (silences, events) = heard::events(|| {
        block_on(async {
            let peer = Peer::default();
            let shared = share(&peer, Kind::Cuckoo, Duration::from_secs(600)).await;
            wait_until_current(&shared).await;
            let asked = || peer.0.lock().unwrap().asked_for_news;
            peer.0.lock().unwrap().silent_one_in = 2;
            let before = asked();
            wait_until("some have failed", || asked() >= before + 10).await;
            assert!(shared.is_current());
            peer.0.lock().unwrap().silent_one_in = 0;
            let start = Instant::now();
            wait_until("all is calm", || start.elapsed() >= CALM).await;
            // This one is answered so long after the last failure.
            let before = asked();
            wait_until("there is news", || asked() > before).await;
            std::mem::take(&mut peer.0.lock().unwrap().silences)
        })
    });
    let told: Vec<_> = events.into_iter().filter(|(level, _)| *level <= Level::INFO).collect();
    for pair in told.chunks(2) {
        let [(Level::WARN, silence), (Level::INFO, news)] = pair else { panic!("{told:?}") };
        assert!(silence.starts_with("no news") && news.starts_with("there is news"), "{told:?}");
    }
    // On a machine that stands still between two failures, all may be calm there, too.
    let is_calm = |pair: &&[Instant]| pair[1] - pair[0] >= CALM;
    let at_most = 1 + silences.windows(2).filter(is_calm).count();
    assert!(silences.len() >= 5, "{silences:?}");
    assert!((1..=at_most).contains(&(told.len() / 2)), "{told:?}");
}

#[test]
fn somebody_who_cannot_join_asks_less_and_less_often() {
    block_on(async {
        let peer = Peer::default();
        let shared = share(&peer, Kind::Cuckoo, Duration::from_millis(5)).await;
        {
            let mut server = peer.0.lock().unwrap();
            server.is_owned = true;
            server.joins = 0;
            server.replace(Data::default());
        }
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        // After 0, 50, 150, 350 and 750 ms. At every 50 ms it would be 24 times, and on a machine under load
        // that is still more than this.
        let joins = std::mem::take(&mut peer.0.lock().unwrap().joins);
        assert!((1..=6).contains(&joins), "{joins}");
        assert!(!shared.is_current());
        peer.0.lock().unwrap().is_owned = false;
        wait_until_current(&shared).await;
        shared.put(&1, &1).await.unwrap();
    });
}

#[test]
fn a_delete_that_is_forgotten_after_a_scan_hides_nothing() {
    block_on(async {
        let peer = Peer::default();
        let shared = share(&peer, Kind::Blocked, Duration::from_secs(600)).await;
        for key in 0..100 {
            shared.put(&key, &key).await.unwrap();
        }
        // Enough deletes for a rebuild.
        peer.0.lock().unwrap().forgets_delete_of = Some(99);
        let keys: Vec<u64> = (0..98).collect();
        shared.delete_batch(&keys.iter().collect::<Vec<_>>()).await.unwrap();
        wait_until("the store is scanned", || peer.0.lock().unwrap().losses == 1).await;
        for _ in 0..1_000 {
            assert!(shared.contains(&99).await.unwrap());
            tokio::task::yield_now().await;
        }
        wait_until_current(&shared).await;
        assert!(shared.contains(&99).await.unwrap());
    });
}
