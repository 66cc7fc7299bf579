//! Guarded stores in one process: threads, faults, and the counters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crivo::filter::Kind;
use crivo::{Digest, KeyHasher};
use crivo_core::Random;
use tracing::Level;

use crate::heard;
use crate::{
    Claim, Existed, GuardOptions, Guarded, OpenOptions, OwnedStore, Owner, Session, Snapshot, Store,
};

/// A store in memory that loses answers. Keys that are equal modulo `CLASSES` have the same digest.
struct Faulty<const CLASSES: u64> {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    values: BTreeMap<u64, u64>,
    random: Random,
    has_faults: bool,
    /// Writes that were given up and will still arrive; `None` is a delete.
    late: Vec<(u64, Option<u64>)>,
    session: Option<Session>,
    scans: u64,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no answer in time")]
    TimedOut,
    #[error("refused")]
    Refused,
    #[error("the store has another owner")]
    LostClaim,
}

impl<const CLASSES: u64> Faulty<CLASSES> {
    fn new(has_faults: bool) -> Self {
        let inner = Inner {
            values: BTreeMap::new(),
            random: Random::new(7),
            has_faults,
            late: Vec::new(),
            session: None,
            scans: 0,
        };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    fn write(&self, key: u64, value: Option<u64>) -> Result<Existed, Fault> {
        let mut inner = self.inner.lock().unwrap();
        if inner.session.is_none() {
            return Err(Fault::LostClaim);
        }
        let fault = if inner.has_faults { inner.random.below(10) } else { 9 };
        match fault {
            0 => return Err(Fault::TimedOut),
            1 => {
                inner.late.push((key, value));
                return Err(Fault::TimedOut);
            }
            4 => return Err(Fault::Refused),
            _ => {}
        }
        let old = inner.apply(key, value);
        match fault {
            2 => Err(Fault::TimedOut),
            3 => Ok(Existed::Unknown),
            _ => Ok(if old.is_some() { Existed::Yes } else { Existed::No }),
        }
    }

    /// Some of the late writes of these keys arrive.
    fn deliver(&self, is_own: impl Fn(u64) -> bool) {
        let mut inner = self.inner.lock().unwrap();
        let inner = &mut *inner;
        let (arriving, late) =
            inner.late.drain(..).partition(|(key, _)| is_own(*key) && inner.random.below(4) == 0);
        inner.late = late;
        let arriving: Vec<_> = arriving;
        for (key, value) in arriving {
            inner.apply(key, value);
        }
    }

    fn holds(&self, key: u64) -> bool {
        self.inner.lock().unwrap().values.contains_key(&key)
    }
}

impl Inner {
    fn apply(&mut self, key: u64, value: Option<u64>) -> Option<u64> {
        match value {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        }
    }
}

impl<const CLASSES: u64> Store for Faulty<CLASSES> {
    type Key<'k> = u64;
    type Value = u64;
    type Error = Fault;

    fn digest(hasher: &KeyHasher, key: &u64) -> Digest {
        hasher.digest(&(key % CLASSES))
    }

    fn get(&self, key: &u64) -> Result<Option<u64>, Fault> {
        Ok(self.inner.lock().unwrap().values.get(key).copied())
    }

    /// A few keys at a time: what comes and goes meanwhile is seen or not.
    fn scan(&self, mut visit: impl FnMut(&u64)) -> Result<(), Fault> {
        self.inner.lock().unwrap().scans += 1;
        let mut next = 0;
        loop {
            let part: Vec<u64> = {
                let inner = self.inner.lock().unwrap();
                inner.values.range(next..).take(16).map(|(&key, _)| key).collect()
            };
            let Some(last) = part.last() else { return Ok(()) };
            next = last + 1;
            part.iter().for_each(&mut visit);
            thread::yield_now();
        }
    }
}

impl<const CLASSES: u64> OwnedStore for Faulty<CLASSES> {
    type NewValue<'v> = u64;

    const LATE_WRITES: bool = true;

    fn claim(&self, owner: Owner, _: bool) -> Result<Claim, Fault> {
        let session = Session { generation: 1, owner };
        self.inner.lock().unwrap().session = Some(session);
        Ok(Claim { session, closed: None })
    }

    fn release(&self, _: &Claim) -> Result<(), Fault> {
        self.inner.lock().unwrap().session = None;
        Ok(())
    }

    fn put(&self, _: &Claim, key: &u64, value: &u64) -> Result<Existed, Fault> {
        self.write(*key, Some(*value))
    }

    fn delete(&self, _: &Claim, key: &u64) -> Result<Existed, Fault> {
        self.write(*key, None)
    }

    fn is_lost_claim(error: &Fault) -> bool {
        matches!(error, Fault::LostClaim)
    }

    fn is_refusal(error: &Fault) -> bool {
        matches!(error, Fault::Refused)
    }
}

/// Three writers with keys of their own, which share digests; readers; and rebuilds all the time.
#[test]
fn threads_hide_no_key() {
    const WRITERS: u64 = 3;
    const KEYS: u64 = 120;
    for kind in Kind::ALL {
        let store = Faulty::<40>::new(true);
        let guarded = Guarded::open(store, GuardOptions::new(kind, 0.1).unwrap()).unwrap();
        let write = |writer: u64| {
            let mut random = Random::new(writer);
            let is_own = |key: u64| key % WRITERS == writer;
            for _ in 0..1_500 {
                let key = random.below(KEYS / WRITERS) * WRITERS + writer;
                // Errors are the faults that were asked for; the guard must be right after each.
                let _ = match random.below(8) {
                    0..4 => guarded.put(key, random.number()),
                    4..7 => guarded.delete(key),
                    _ => guarded.put_batch(&[(key, 1), (key, 2)]).map(|existed| existed[0]),
                };
                guarded.store().deliver(is_own);
                let holds = guarded.store().holds(key);
                assert_eq!(guarded.contains(key).unwrap(), holds, "{kind}: {key}");
                assert_eq!(guarded.contains_batch(&[key; 2]).unwrap(), [holds; 2], "{kind}: {key}");
            }
        };
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> =
                (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    guarded.rebuild().unwrap();
                }
            });
            let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(results.iter().all(Result::is_ok), "{kind}");
        });
        assert!(guarded.guard_status().is_trusted);
        for key in 0..KEYS {
            assert_eq!(guarded.contains(key).unwrap(), guarded.store().holds(key), "{kind}");
        }
        guarded.close().unwrap();
    }
}

/// No scan settles a doubt: the guard is not saved, and the store is not scanned for that.
#[test]
fn a_guard_with_doubtful_keys_is_closed_without_a_scan() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("guard");
    let store = Faulty::<40>::new(true);
    let inner = store.inner.clone();
    let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.1).unwrap()).file(&file);
    let guarded = Guarded::open(store, options.rebuild_in_background(false)).unwrap();
    while !matches!(guarded.put(1, 1), Err(Fault::TimedOut)) {}
    guarded.close().unwrap();
    assert_eq!(inner.lock().unwrap().scans, 1, "when it was opened");
    assert!(!file.exists());
}

/// What those who watch it are told: see the README.
#[test]
fn events_tell_how_a_guard_is_built_and_lost() {
    let store = Faulty::<40>::new(false);
    let inner = store.inner.clone();
    let ((), events) = heard::events(|| {
        let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.1).unwrap());
        let guarded = Guarded::open(store, options.rebuild_in_background(false)).unwrap();
        guarded.put(1, 1).unwrap();
        assert!(guarded.rebuild().unwrap());
        // Another owner has come and gone.
        inner.lock().unwrap().session = None;
        for _ in 0..2 {
            assert!(matches!(guarded.put(2, 2), Err(Fault::LostClaim)));
        }
        assert!(!guarded.guard_status().is_trusted);
        guarded.close().unwrap();
    });
    let expected = [
        (Level::INFO, "the guard is built from a scan"),
        (Level::DEBUG, "the store is open"),
        (Level::DEBUG, "the guard was rebuilt"),
        (Level::WARN, "the guard is no longer trusted: every question reaches the store"),
        (Level::DEBUG, "the store is closed"),
    ];
    assert_eq!(events, expected.map(|(level, message)| (level, message.to_owned())));
}

/// Of N = 20,000 absent keys a guard stops all but a number of mean at most 0.01·N. That it is twice
/// that by chance has a probability below 10^-30 for each kind; the keys are fixed besides.
#[test]
fn a_guard_that_is_up_to_date_stops_the_absent() {
    const FPR: f64 = 0.01;
    const ABSENT: u64 = 20_000;
    for kind in Kind::ALL {
        let store = Faulty::<{ u64::MAX }>::new(false);
        let options = OpenOptions::new(GuardOptions::new(kind, FPR).unwrap());
        let guarded = Guarded::open(store, options.rebuild_in_background(false)).unwrap();
        let entries: Vec<_> = (0..6_000).map(|key| (key, key)).collect();
        guarded.put_batch(&entries).unwrap();
        guarded.delete_batch(&(5_000..6_000).collect::<Vec<_>>()).unwrap();
        if guarded.needs_rebuild() || !kind.capabilities().remove {
            assert!(guarded.rebuild().unwrap());
        }
        let present: Vec<u64> = (0..5_000).collect();
        let values = guarded.get_batch(&present).unwrap();
        assert!(values.into_iter().eq(present.into_iter().map(Some)), "{kind}");
        let before = guarded.counters();
        let absent: Vec<u64> = (5_000..5_000 + ABSENT).collect();
        assert!(guarded.get_batch(&absent).unwrap().iter().all(Option::is_none));
        let after = guarded.counters();
        let stopped = after.stopped - before.stopped;
        assert_eq!(after.questions - before.questions, ABSENT);
        assert_eq!(stopped + (after.false_positives - before.false_positives), ABSENT);
        assert!(stopped as f64 >= (1.0 - 2.0 * FPR) * ABSENT as f64, "{kind}: {stopped}");
        assert_eq!((after.found, after.failures), (5_000, 0));
        // Whether there are values is the same question, and is counted in the same way.
        let all: Vec<u64> = (0..5_000 + ABSENT).collect();
        let found = guarded.contains_batch(&all).unwrap();
        assert!(found.into_iter().eq(all.iter().map(|&key| key < 5_000)), "{kind}");
        let again = guarded.counters();
        assert_eq!(again.found, after.found + 5_000);
        assert_eq!(again.stopped, after.stopped + stopped);
        assert_eq!(again.questions, after.questions + 5_000 + ABSENT);
    }
}

/// The guard rebuilds itself as the store grows, and nothing is hidden meanwhile.
#[test]
fn a_guard_rebuilds_itself() {
    let store = Faulty::<{ u64::MAX }>::new(false);
    let guarded = Guarded::open(store, GuardOptions::new(Kind::Fuse, 0.01).unwrap()).unwrap();
    for key in 0..5_000 {
        guarded.put(key, key).unwrap();
        assert!(guarded.contains(key).unwrap() && guarded.contains(key / 2).unwrap());
    }
    while guarded.guard_status().rebuild_count == 0 {
        // A slow machine has not come to it yet.
        guarded.put(0, 0).unwrap();
    }
    assert!((0..5_000).all(|key| guarded.contains(key).unwrap()));
}

/// A store that does something before it looks for a key, and counts how often.
struct Prepared {
    values: BTreeMap<u64, u64>,
    prepared: AtomicU64,
    asked: AtomicU64,
}

impl Store for Prepared {
    type Key<'k> = u64;
    type Value = u64;
    type Error = Fault;

    fn digest(hasher: &KeyHasher, key: &u64) -> Digest {
        hasher.digest(key)
    }

    fn get(&self, key: &u64) -> Result<Option<u64>, Fault> {
        self.get_if(key, || true).map(Option::flatten)
    }

    fn get_if(
        &self,
        key: &u64,
        admits: impl FnOnce() -> bool,
    ) -> Result<Option<Option<u64>>, Fault> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        if !admits() {
            return Ok(None);
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Some(self.values.get(key).copied()))
    }

    fn scan(&self, visit: impl FnMut(&u64)) -> Result<(), Fault> {
        self.values.keys().for_each(visit);
        Ok(())
    }
}

/// A store begins ahead of the guard only after a run of keys that were found, and no absent key is looked
/// for either way.
#[test]
fn a_store_begins_first_while_keys_are_found() {
    let values: BTreeMap<u64, u64> = (0..100).map(|key| (key, key)).collect();
    let store = Prepared { values, prepared: AtomicU64::new(0), asked: AtomicU64::new(0) };
    let guarded = Guarded::snapshot(store, &GuardOptions::new(Kind::Fuse, 1e-9).unwrap()).unwrap();
    let counts = || {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&guarded.store().prepared), count(&guarded.store().asked))
    };
    assert!((1_000..1_100).all(|key| guarded.get(key).unwrap().is_none()));
    assert_eq!(counts(), (0, 0), "the guard comes first");
    assert!((0..100).all(|key| guarded.get(key).unwrap() == Some(key)));
    assert_eq!(counts(), (100, 100));
    assert!((1_000..1_100).all(|key| guarded.get(key).unwrap().is_none()));
    assert_eq!(counts(), (101, 100), "one absent key ends the run");
    // Here as there, questions that the guard has stopped are counted so.
    let counters = guarded.counters();
    assert_eq!((counters.stopped, counters.found, counters.false_positives), (200, 100, 0));
    // Keys by turns: nothing is begun for those that are not there.
    assert!((0..100).all(|key| {
        guarded.get(key).unwrap() == Some(key) && guarded.get(key + 1_000).unwrap().is_none()
    }));
    assert_eq!(counts(), (201, 200));
}

/// A store that leaves the first of several keys out.
struct Short;

impl Store for Short {
    type Key<'k> = u64;
    type Value = u64;
    type Error = Fault;

    fn digest(hasher: &KeyHasher, key: &u64) -> Digest {
        hasher.digest(key)
    }

    fn get(&self, key: &u64) -> Result<Option<u64>, Fault> {
        Ok((*key < 100).then_some(*key))
    }

    fn get_batch(&self, keys: &[&u64]) -> Result<Vec<Option<u64>>, Fault> {
        keys[1..].iter().map(|key| self.get(key)).collect()
    }

    fn scan(&self, visit: impl FnMut(&u64)) -> Result<(), Fault> {
        Vec::from_iter(0..100).iter().for_each(visit);
        Ok(())
    }
}

fn short() -> Guarded<Short, Snapshot> {
    Guarded::snapshot(Short, &GuardOptions::new(Kind::Fuse, 0.01).unwrap()).unwrap()
}

/// The key without an answer would be told absent.
#[test]
#[should_panic(expected = "one answer for each key")]
fn values_that_a_store_leaves_out_are_not_absent() {
    let _ = short().get_batch(&[98, 99]);
}

#[test]
#[should_panic(expected = "one answer for each key")]
fn keys_that_a_store_leaves_out_are_not_absent() {
    let _ = short().contains_batch(&[98, 99]);
}
