//! The asynchronous form in one process: tasks, faults, and futures that are dropped.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Waker};

use crivo::filter::Kind;
use crivo_core::Random;

use super::*;
use crate::{Claim, Existed, OpenOptions, Owner, Session};

/// A store in memory that takes its time and loses answers.
#[derive(Default)]
struct Slow {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    values: BTreeMap<u64, u64>,
    faults: Option<Random>,
    /// Writes that were given up and will still arrive; `None` is a delete.
    late: Vec<(u64, Option<u64>)>,
    scans: u64,
}

impl Inner {
    fn apply(&mut self, key: u64, value: Option<u64>) -> Existed {
        let old = match value {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        };
        if old.is_some() { Existed::Yes } else { Existed::No }
    }
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no answer in time")]
    TimedOut,
    #[error("refused")]
    Refused,
    #[error("there is no such key")]
    NoSuchKey,
}

impl Slow {
    async fn write(&self, key: u64, value: Option<u64>) -> Result<Existed, Fault> {
        tokio::task::yield_now().await;
        let existed = {
            let mut inner = self.inner.lock().unwrap();
            match inner.faults.as_mut().map_or(9, |random| random.below(10)) {
                0 => return Err(Fault::TimedOut),
                1 => {
                    inner.late.push((key, value));
                    return Err(Fault::TimedOut);
                }
                2 => {
                    inner.apply(key, value);
                    return Err(Fault::TimedOut);
                }
                3 => return Err(Fault::Refused),
                _ => inner.apply(key, value),
            }
        };
        tokio::task::yield_now().await;
        Ok(existed)
    }

    fn deliver(&self, key: u64) {
        let mut inner = self.inner.lock().unwrap();
        if let Some(at) = inner.late.iter().position(|(late, _)| *late == key) {
            let (key, value) = inner.late.swap_remove(at);
            inner.apply(key, value);
        }
    }

    fn holds(&self, key: u64) -> bool {
        self.inner.lock().unwrap().values.contains_key(&key)
    }
}

impl AsyncStore for Slow {
    type Key = u64;
    type Value = u64;
    type Error = Fault;

    async fn get(&self, key: &u64) -> Result<Option<u64>, Fault> {
        Ok(self.inner.lock().unwrap().values.get(key).copied())
    }

    async fn scan(&self, mut visit: impl FnMut(&u64) + Send) -> Result<(), Fault> {
        self.inner.lock().unwrap().scans += 1;
        let mut next = 0;
        loop {
            let part: Vec<u64> = {
                let inner = self.inner.lock().unwrap();
                inner.values.range(next..).take(8).map(|(&key, _)| key).collect()
            };
            let Some(last) = part.last() else { return Ok(()) };
            next = last + 1;
            part.iter().for_each(&mut visit);
            tokio::task::yield_now().await;
        }
    }
}

impl AsyncOwnedStore for Slow {
    type NewValue = u64;

    const LATE_WRITES: bool = true;

    async fn claim(&self, owner: Owner, _: bool) -> Result<Claim, Fault> {
        Ok(Claim { session: Session { generation: 1, owner }, closed: None })
    }

    async fn release(&self, _: &Claim) -> Result<(), Fault> {
        Ok(())
    }

    async fn put(&self, _: &Claim, key: &u64, value: &u64) -> Result<Existed, Fault> {
        self.write(*key, Some(*value)).await
    }

    async fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&u64, &u64)],
    ) -> Result<Vec<Existed>, Fault> {
        // This key is refused before anything is written.
        if entries.iter().any(|(key, _)| **key == u64::MAX) {
            return Err(Fault::NoSuchKey);
        }
        let mut existed = Vec::new();
        for (key, value) in entries {
            existed.push(self.put(claim, key, value).await?);
        }
        Ok(existed)
    }

    async fn delete(&self, _: &Claim, key: &u64) -> Result<Existed, Fault> {
        self.write(*key, None).await
    }

    fn is_lost_claim(_: &Fault) -> bool {
        false
    }

    fn is_refusal(error: &Fault) -> bool {
        matches!(error, Fault::Refused)
    }

    fn is_batch_refusal(error: &Fault) -> bool {
        matches!(error, Fault::NoSuchKey)
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn open(kind: Kind, store: Slow) -> AsyncGuarded<Slow> {
    AsyncGuarded::open(store, GuardOptions::new(kind, 0.1).unwrap()).await.unwrap()
}

/// No scan settles a doubt: the guard is not saved, and the store is not scanned for that.
#[test]
fn a_guard_with_doubtful_keys_is_closed_without_a_scan() {
    block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("guard");
        let inner = Arc::new(Mutex::new(Inner::default()));
        let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.1).unwrap()).file(&file);
        let store = Slow { inner: inner.clone() };
        let guarded = AsyncGuarded::open(store, options).await.unwrap();
        {
            let mut put = pin!(guarded.put(&1, &1));
            assert!(put.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        guarded.close().await.unwrap();
        assert_eq!(inner.lock().unwrap().scans, 1, "when it was opened");
        assert!(!file.exists());
    });
}

#[test]
fn a_batch_that_is_refused_leaves_nothing() {
    block_on(async {
        let guarded = open(Kind::Cuckoo, Slow::default()).await;
        guarded.put(&1, &1).await.unwrap();
        let refused = guarded.put_batch(&[(&1, &2), (&2, &2), (&u64::MAX, &2)]).await.unwrap_err();
        assert!(matches!(refused, Fault::NoSuchKey), "{refused}");
        let status = guarded.guard_status();
        assert_eq!((status.key_count, status.doubtful_count), (1, 0));
        assert_eq!(guarded.get(&1).await.unwrap(), Some(1));
    });
}

#[test]
fn a_put_that_is_dropped_leaves_its_key_in_the_guard() {
    block_on(async {
        let guarded = open(Kind::Cuckoo, Slow::default()).await;
        {
            let mut put = pin!(guarded.put(&1, &1));
            let mut context = Context::from_waker(Waker::noop());
            assert!(put.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(guarded.guard_status().doubtful_count, 1);
        assert_eq!(guarded.guard_status().in_flight_count, 0);
        // The write arrives after all, also after a rebuild.
        assert!(guarded.rebuild().await.unwrap());
        guarded.store().inner.lock().unwrap().apply(1, Some(1));
        assert!(guarded.contains(&1).await.unwrap());
        assert_eq!(guarded.put(&1, &2).await.unwrap(), Existed::Yes, "its lock is free");
    });
}

#[test]
fn tasks_hide_no_key() {
    const TASKS: u64 = 8;
    for kind in Kind::ALL {
        block_on(async {
            let store = Slow::default();
            store.inner.lock().unwrap().faults = Some(Random::new(3));
            let guarded = Arc::new(open(kind, store).await);
            let write = |task: u64, guarded: Arc<AsyncGuarded<Slow>>| async move {
                let mut random = Random::new(task);
                for _ in 0..300 {
                    let key = random.below(12) * TASKS + task;
                    // Errors are the faults that were asked for; the guard must be right after each.
                    let _ = match random.below(8) {
                        0..4 => guarded.put(&key, &1).await,
                        4..7 => guarded.delete(&key).await,
                        _ => guarded.put_batch(&[(&key, &1), (&key, &2)]).await.map(|all| all[0]),
                    };
                    guarded.store().deliver(key);
                    let holds = guarded.store().holds(key);
                    assert_eq!(guarded.contains(&key).await.unwrap(), holds, "{kind}: {key}");
                    let found = guarded.contains_batch(&[&key, &key]).await.unwrap();
                    assert_eq!(found, [holds; 2], "{kind}: {key}");
                    if random.below(20) == 0 {
                        guarded.rebuild().await.unwrap();
                    }
                }
            };
            let tasks: Vec<_> =
                (0..TASKS).map(|task| tokio::spawn(write(task, guarded.clone()))).collect();
            for task in tasks {
                task.await.unwrap();
            }
            let guarded = Arc::try_unwrap(guarded).unwrap();
            let keys: Vec<u64> = (0..12 * TASKS).collect();
            let values = guarded.get_batch(&keys.iter().collect::<Vec<_>>()).await.unwrap();
            for (key, value) in keys.into_iter().zip(values) {
                assert_eq!(value.is_some(), guarded.store().holds(key), "{kind}");
            }
            guarded.close().await.unwrap();
        });
    }
}

#[test]
fn a_snapshot_is_asked_in_the_same_way() {
    block_on(async {
        let store = Slow::default();
        store.inner.lock().unwrap().values = (0..100).map(|key| (key, key)).collect();
        let options = GuardOptions::new(Kind::Fuse, 0.01).unwrap();
        let guarded = AsyncGuarded::snapshot(store, &options).await.unwrap();
        for key in 0..100 {
            assert_eq!(guarded.get(&key).await.unwrap(), Some(key));
        }
        assert_eq!(guarded.get(&1_000_000).await.unwrap(), None);
        assert_eq!(guarded.counters().found, 100);
        let keys: Vec<u64> = (0..200).collect();
        let found = guarded.contains_batch(&keys.iter().collect::<Vec<_>>()).await.unwrap();
        assert!(found.into_iter().eq(keys.iter().map(|key| *key < 100)));
        let counters = guarded.counters();
        assert_eq!((counters.questions, counters.found), (301, 200));
        let filter = guarded.filter().clone();
        let same = AsyncGuarded::with_filter(Slow::default(), filter);
        assert_eq!(same.hasher(), guarded.hasher());
        let age = guarded.guard_age();
        std::thread::sleep(Duration::from_millis(2));
        assert!(guarded.guard_age() >= age + Duration::from_millis(2));
    });
}

#[test]
fn a_guard_rebuilds_itself() {
    block_on(async {
        let guarded = open(Kind::Fuse, Slow::default()).await;
        for key in 0..1_000 {
            guarded.put(&key, &key).await.unwrap();
        }
        while guarded.guard_status().rebuild_count == 0 {
            guarded.put(&0, &0).await.unwrap();
        }
        for key in 0..1_000 {
            assert!(guarded.contains(&key).await.unwrap());
        }
        let directory = tempfile::tempdir().unwrap();
        let options = OpenOptions::new(GuardOptions::new(Kind::Fuse, 0.1).unwrap());
        let options = options.file(directory.path().join("guard")).rebuild_in_background(false);
        let guarded = AsyncGuarded::open(Slow::default(), options).await.unwrap();
        guarded.put(&1, &1).await.unwrap();
        guarded.close().await.unwrap();
        assert!(directory.path().join("guard").exists());
    });
}
