//! A guard in front of redb: what a file is worth, who may write, and what `kill -9` leaves behind.

#[cfg(unix)]
mod journal;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crivo::KeyHasher;
use crivo::codec::Metadata;
use crivo::filter::{AnyFilter, Kind};
use crivo::hash::SecretKey;
use crivo_core::Random;
use crivo_store::redb::{RedbError, RedbStore};
use crivo_store::{
    Existed, GuardOptions, GuardSource, Guarded, GuardedError, Mode, OpenOptions, ScanReason,
    Snapshot, Store,
};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase, StorageBackend, TableDefinition};

#[cfg(unix)]
use journal::{Journal, Operation};

const TABLE: TableDefinition<'_, u64, &str> = TableDefinition::new("data");

type Table = RedbStore<u64, &'static str>;

fn options(kind: Kind, directory: &Path) -> OpenOptions {
    OpenOptions::new(GuardOptions::new(kind, 0.01).unwrap()).file(directory.join("guard"))
}

fn store(directory: &Path) -> Table {
    RedbStore::new(Database::create(directory.join("db")).unwrap(), TABLE)
}

fn open(directory: &Path) -> Guarded<Table> {
    Guarded::open(store(directory), options(Kind::Cuckoo, directory)).unwrap()
}

#[test]
fn a_closed_store_opens_with_its_saved_guard() {
    for kind in Kind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let open = || Guarded::open(store(directory), options(kind, directory)).unwrap();
        let guarded = open();
        assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
        let entries: Vec<_> = (0..500).map(|key| (key, "x")).collect();
        assert_eq!(guarded.put_batch(&entries).unwrap(), vec![Existed::No; 500]);
        assert_eq!(guarded.put(7, "seven").unwrap(), Existed::Yes);
        assert_eq!(
            guarded.delete_batch(&[1, 2, 1]).unwrap(),
            [Existed::Yes, Existed::Yes, Existed::No]
        );
        assert_eq!(guarded.session().generation, 1);
        guarded.close().unwrap();

        let guarded = open();
        assert_eq!(guarded.guard_source(), &GuardSource::File, "{kind}");
        assert_eq!(guarded.session().generation, 2);
        assert_eq!(guarded.get(7).unwrap().unwrap().value(), "seven");
        for key in 0..600 {
            let expected = (3..500).contains(&key) || key == 0;
            assert_eq!(guarded.contains(key).unwrap(), expected, "{kind}: {key}");
        }
        let counters = guarded.counters();
        assert_eq!(counters.questions, 601);
        assert_eq!(counters.found, 499);
        let keys: Vec<u64> = (0..600).collect();
        let values = guarded.get_batch(&keys).unwrap();
        let found: Vec<bool> = values.iter().map(Option::is_some).collect();
        assert_eq!(guarded.contains_batch(&keys).unwrap(), found, "{kind}");
        // 102 absent keys at 1%, of which the two that were deleted may still be in the guard. By
        // chance 13 pass with a probability below 10^-9.
        assert!(counters.stopped >= 90, "{kind}: {counters:?}");
    }
}

#[test]
fn a_value_stays_as_it_was_while_others_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let guarded = open(directory.path());
    guarded.put_batch(&[(1, "one"), (2, "two")]).unwrap();
    let one = guarded.get(1).unwrap().unwrap();
    let both = guarded.get_batch(&[1, 2]).unwrap();
    for _ in 0..20 {
        guarded.put_batch(&[(1, "another one"), (2, "another two")]).unwrap();
    }
    assert_eq!(one.value(), "one");
    assert_eq!(
        both.iter().flatten().map(|value| value.value()).collect::<Vec<_>>(),
        ["one", "two"]
    );
}

/// After a run of keys that were found, a question begins with a transaction: the answers are the same.
#[test]
fn questions_in_runs_are_answered_as_others_are() {
    let directory = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let guarded =
            Guarded::open(store(directory.path()), options(kind, directory.path())).unwrap();
        for key in 0..30 {
            guarded.put(key, "x").unwrap();
        }
        for round in 0..3 {
            assert!((0..30).all(|key| guarded.contains(key).unwrap()), "{kind}");
            assert!(!guarded.contains(30 + round).unwrap(), "{kind}");
            assert!((0..30).all(|key| guarded.get(key).unwrap().is_some()), "{kind}");
            assert!(guarded.get(30 + round).unwrap().is_none(), "{kind}");
            // What was just deleted, and what was just written.
            guarded.delete(round).unwrap();
            assert!(!guarded.contains(round).unwrap(), "{kind}");
            guarded.put(round, "y").unwrap();
            assert_eq!(guarded.get(round).unwrap().unwrap().value(), "y", "{kind}");
        }
        guarded.delete_batch(&(0..30).collect::<Vec<_>>()).unwrap();
    }
}

#[test]
fn a_guard_is_not_trusted_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let guarded = open(directory);
    guarded.put(1, "one").unwrap();
    guarded.close().unwrap();
    let guarded = open(directory);
    guarded.put(2, "two").unwrap();
    drop(guarded); // its file still has the guard of the session before
    let guarded = open(directory);
    assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::NotClosed));
    assert!(guarded.contains(1).unwrap() && guarded.contains(2).unwrap());
}

#[test]
fn a_session_without_a_write_leaves_the_saved_guard_valid() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let guarded = open(directory);
    guarded.put(1, "one").unwrap();
    guarded.close().unwrap();
    let saved = fs::read(directory.join("guard")).unwrap();
    for is_closed in [false, true, false, true] {
        let guarded = open(directory);
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        assert_eq!(guarded.session().generation, 2);
        assert!(guarded.contains(1).unwrap() && !guarded.contains(2).unwrap());
        if is_closed {
            guarded.close().unwrap();
        }
        assert_eq!(fs::read(directory.join("guard")).unwrap(), saved);
    }
}

#[test]
fn a_guard_of_another_session_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (guard, old) = (directory.join("guard"), directory.join("old"));
    let guarded = open(directory);
    guarded.put(1, "one").unwrap();
    guarded.close().unwrap();
    fs::copy(&guard, &old).unwrap();
    fs::create_dir(directory.join("copy")).unwrap();
    fs::copy(directory.join("db"), directory.join("copy/db")).unwrap();
    fs::copy(&guard, directory.join("copy/guard")).unwrap();

    // A file of an older session.
    let guarded = open(directory);
    guarded.put(2, "two").unwrap();
    guarded.close().unwrap();
    fs::copy(&old, &guard).unwrap();
    let guarded = open(directory);
    assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::OtherGuard));
    assert!(guarded.contains(2).unwrap());
    guarded.close().unwrap();

    // A file of a copy of the store, which has reached the same generation by other writes.
    let copy = directory.join("copy");
    for key in [3, 4] {
        let guarded = open(&copy);
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        guarded.put(key, "only in the copy").unwrap();
        guarded.close().unwrap();
    }
    fs::copy(&guard, copy.join("guard")).unwrap();
    let guarded = open(&copy);
    assert_eq!(guarded.session().generation, 4);
    assert_eq!(guarded.guard_source(), &GuardSource::Scan(ScanReason::OtherGuard));
    assert!(guarded.contains(4).unwrap());
}

#[test]
fn a_file_that_is_lost_damaged_or_of_other_options_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let guard = directory.join("guard");
    let source_after = |change: &dyn Fn(), options: OpenOptions| {
        let guarded = open(directory);
        guarded.put(1, "one").unwrap();
        guarded.close().unwrap();
        change();
        let guarded = Guarded::open(store(directory), options).unwrap();
        assert!(guarded.contains(1).unwrap());
        guarded.guard_source().clone()
    };
    let cuckoo = || options(Kind::Cuckoo, directory);
    let lost = source_after(&|| fs::remove_file(&guard).unwrap(), cuckoo());
    assert!(matches!(lost, GuardSource::Scan(ScanReason::Unreadable(_))), "{lost:?}");
    let damage = || {
        let mut bytes = fs::read(&guard).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&guard, bytes).unwrap();
    };
    let damaged = source_after(&damage, cuckoo());
    assert!(matches!(damaged, GuardSource::Scan(ScanReason::Unreadable(_))), "{damaged:?}");
    for part in [0, 1, 2] {
        let cut = || {
            let bytes = fs::read(&guard).unwrap();
            fs::write(&guard, &bytes[..bytes.len() * part / 3]).unwrap();
        };
        let cut = source_after(&cut, cuckoo());
        assert!(matches!(cut, GuardSource::Scan(ScanReason::Unreadable(_))), "{cut:?}");
    }
    let other = GuardSource::Scan(ScanReason::OtherGuard);
    assert_eq!(source_after(&|| {}, options(Kind::Quotient, directory)), other);
    let other_fpr = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.001).unwrap()).file(&guard);
    assert_eq!(source_after(&|| {}, other_fpr), other);
    assert_eq!(source_after(&|| {}, cuckoo()), GuardSource::File);
    let no_file = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.01).unwrap());
    assert_eq!(source_after(&|| {}, no_file), GuardSource::Scan(ScanReason::NoFile));
}

/// Somebody has added to the file of a guard, as much as a file takes.
#[test]
fn entries_of_others_in_the_file_leave_room_for_the_guards_own() {
    let directory = tempfile::tempdir().unwrap();
    let (directory, file) = (directory.path(), directory.path().join("guard"));
    let guarded = open(directory);
    guarded.put(1, "x").unwrap();
    guarded.close().unwrap();
    let mut filter = AnyFilter::load(&file).unwrap();
    // The next entry is longer than this one by some digits of the generation.
    let room = Metadata::MAX_BYTES - filter.metadata().size_in_bytes() - "note".len() - 8;
    let room = (0..=room)
        .rev()
        .find(|length| filter.metadata_mut().set("note", &"x".repeat(*length)).is_ok());
    assert!(room.is_some());
    filter.save(&file).unwrap();
    for key in 2..20 {
        let guarded = open(directory);
        assert_eq!(guarded.guard_source(), &GuardSource::File);
        guarded.put(key, "x").unwrap();
        guarded.close().unwrap();
    }
    let filter = AnyFilter::load(&file).unwrap();
    assert_eq!(filter.metadata().get("note"), None);
}

/// Somebody has written into the record what this crate never would.
#[test]
fn a_record_of_the_last_generation_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    let owners: TableDefinition<'_, &str, (u64, u128, bool)> =
        TableDefinition::new("crivo-store.owners");
    let transaction = store.database().begin_write().unwrap();
    transaction.open_table(owners).unwrap().insert("data", (u64::MAX, 7, false)).unwrap();
    transaction.commit().unwrap();
    let error = Guarded::open(store, options(Kind::Cuckoo, directory.path())).unwrap_err();
    assert!(matches!(error, GuardedError::Store(RedbError::DamagedRecord { .. })), "{error}");
}

#[test]
fn a_guard_with_a_secret_key_is_read_only_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source_with = |key: u8| {
        let guard = GuardOptions::new(Kind::Blocked, 0.01).unwrap();
        let secret_key = SecretKey::new([key; 16]);
        // The key, or a hasher that has it.
        let guard = match key {
            1 => guard.secret_key(secret_key),
            _ => guard.hasher(KeyHasher::sip24(secret_key)),
        };
        let options = OpenOptions::new(guard).file(directory.join("guard"));
        let guarded = Guarded::open(store(directory), options).unwrap();
        guarded.put(key.into(), "x").unwrap();
        assert!(guarded.contains(1).unwrap());
        let source = guarded.guard_source().clone();
        guarded.close().unwrap();
        source
    };
    assert_eq!(source_with(1), GuardSource::Scan(ScanReason::NotClosed));
    assert_eq!(source_with(1), GuardSource::File);
    assert!(matches!(source_with(2), GuardSource::Scan(ScanReason::Unreadable(_))));
    assert_eq!(source_with(2), GuardSource::File);
}

#[test]
fn a_second_owner_is_refused_or_fences_the_first_off() {
    let directory = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::create(directory.path().join("db")).unwrap());
    let store = || RedbStore::new(database.clone(), TABLE);
    let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.01).unwrap());
    let first = Guarded::open(store(), options.clone()).unwrap();
    first.put(1, "first").unwrap();
    let refused = Guarded::open(store(), options.clone()).unwrap_err();
    assert!(matches!(refused, GuardedError::Store(RedbError::Owned { .. })), "{refused}");
    first.put(2, "still the owner").unwrap();

    let second = Guarded::open(store(), options.clone().take_over(true)).unwrap();
    assert!(second.contains(1).unwrap() && second.contains(2).unwrap());
    second.put(3, "second").unwrap();
    let fenced = first.put(4, "too late").unwrap_err();
    assert!(matches!(fenced, RedbError::LostClaim { .. }), "{fenced}");
    assert!(!second.contains(4).unwrap());
    // It has noticed, and asks the store from now on.
    assert!(!first.guard_status().is_trusted && first.contains(3).unwrap());
    assert!(matches!(first.close(), Err(GuardedError::Store(RedbError::LostClaim { .. }))));
    second.close().unwrap();
    // The same for an owner that has not written yet.
    let first = Guarded::open(store(), options.clone()).unwrap();
    assert!(Guarded::open(store(), options.clone()).is_err());
    let second = Guarded::open(store(), options.clone().take_over(true)).unwrap();
    assert!(matches!(first.put(4, "too late").unwrap_err(), RedbError::LostClaim { .. }));
    assert!(matches!(first.close(), Err(GuardedError::Store(RedbError::LostClaim { .. }))));
    assert!(!second.contains(4).unwrap());
    second.put(5, "second").unwrap();
    second.close().unwrap();
    // An owner that is dropped is gone.
    drop(Guarded::open(store(), options.clone()).unwrap());
    Guarded::open(store(), options).unwrap().close().unwrap();
    // Other tables of the database have owners of their own.
    let other: TableDefinition<'_, &str, u64> = TableDefinition::new("other");
    let guard = GuardOptions::new(Kind::Bloom, 0.01).unwrap();
    let other = Guarded::open(RedbStore::new(database.clone(), other), guard).unwrap();
    other.put("ana", 1).unwrap();
    assert_eq!(other.get_batch(&["ana", "rui"]).unwrap().iter().flatten().count(), 1);
}

/// In a mode of redb for several processes another one may own the table: its record is not overwritten.
#[test]
fn an_owner_in_another_process_is_noticed() {
    const OWNERS: TableDefinition<'_, &str, (u64, u128, bool)> =
        TableDefinition::new("crivo-store.owners");
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let database = Arc::new(database);
    let open = || {
        let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.01).unwrap());
        Guarded::open(RedbStore::new(database.clone(), TABLE), options).unwrap()
    };
    let record = |generation: u64, is_open: bool| {
        let transaction = database.begin_write().unwrap();
        let record = (generation, 7, is_open);
        transaction.open_table(OWNERS).unwrap().insert("data", record).unwrap();
        transaction.commit().unwrap();
        record
    };
    let is_lost = |error: &RedbError| matches!(error, RedbError::LostClaim { .. });
    // It has claimed the table after this owner or at the same time, which has written or not.
    for (at, (has_written, later, is_open)) in
        [(true, 1, true), (true, 1, false), (false, 0, true), (false, 0, false)]
            .into_iter()
            .enumerate()
    {
        let key = at as u64;
        let guarded = open();
        if has_written {
            guarded.put(key, "x").unwrap();
        }
        let theirs = record(guarded.session().generation + later, is_open);
        assert!(is_lost(&guarded.put(100 + key, "y").unwrap_err()));
        assert!(!guarded.guard_status().is_trusted);
        assert!(!guarded.store().contains(&(100 + key)).unwrap());
        let closed = guarded.close().unwrap_err();
        assert!(matches!(&closed, GuardedError::Store(error) if is_lost(error)), "{closed}");
        let reading = database.begin_read().unwrap();
        let found = reading.open_table(OWNERS).unwrap().get("data").unwrap().unwrap().value();
        assert_eq!(found, theirs);
        // The next owner here comes after it, as after one that has crashed.
        let next = open();
        assert_eq!(next.session().generation, theirs.0 + 1);
        next.put(key, "z").unwrap();
        next.close().unwrap();
    }
}

/// Threads take over from each other while they write. Whoever could write before and after a look at all keys
/// was the owner meanwhile, from whom nothing may be hidden.
#[test]
fn owners_who_take_over_from_each_other_hide_nothing() {
    const KEYS: u64 = 60;
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let database = Arc::new(database);
    let own = |seed: u64| {
        let mut random = Random::new(seed);
        let mut looks = 0;
        for _ in 0..40 {
            let options = OpenOptions::new(GuardOptions::new(Kind::Cuckoo, 0.1).unwrap());
            let store = RedbStore::new(database.clone(), TABLE);
            let guarded = Guarded::open(store, options.take_over(true)).unwrap();
            for _ in 0..1_000 {
                let key = random.below(KEYS);
                let written = match random.below(3) {
                    0 => guarded.delete(key),
                    _ => guarded.put(key, "x"),
                };
                match written {
                    Ok(_) => {}
                    Err(RedbError::LostClaim { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
                let hidden = (0..KEYS).find(|key| {
                    // In this order: the key may come, but from the owner alone.
                    let is_there = guarded.store().contains(key).unwrap();
                    is_there && !guarded.contains(*key).unwrap()
                });
                if guarded.put(key, "y").is_ok() {
                    looks += 1;
                    assert_eq!(hidden, None);
                }
            }
        }
        looks
    };
    let looks: u64 = thread::scope(|scope| {
        let owners: Vec<_> = (0..3).map(|seed| scope.spawn(move || own(seed))).collect();
        owners.into_iter().map(|owner| owner.join().unwrap()).sum()
    });
    assert!(looks > 0, "nobody was the owner for long enough");
}

#[test]
fn a_snapshot_has_the_keys_of_a_scan_or_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let none = Guarded::snapshot(store(directory), &GuardOptions::new(Kind::Fuse, 0.01).unwrap());
    let none = none.unwrap();
    assert!(!none.contains(1).unwrap(), "a table that does not exist is empty");
    assert_eq!(none.store().contains_batch(&[&1, &2]).unwrap(), [false; 2]);
    drop(none);
    let guarded = open(directory);
    guarded.put_batch(&(0..300).map(|key| (key, "x")).collect::<Vec<_>>()).unwrap();
    guarded.close().unwrap();
    for kind in Kind::ALL {
        let options = GuardOptions::new(kind, 0.01).unwrap();
        let scanned = Guarded::snapshot(store(directory), &options).unwrap();
        let file = directory.join("snapshot.crivo");
        scanned.filter().save(&file).unwrap();
        assert!((0..300).all(|key| scanned.contains(key).unwrap()), "{kind}");
        drop(scanned);
        let filter = AnyFilter::load(&file).unwrap();
        let loaded: Guarded<_, Snapshot> = Guarded::with_filter(store(directory), filter);
        assert!((0..300).all(|key| loaded.contains(key).unwrap()), "{kind}");
        assert_eq!(loaded.counters().found, 300);
    }
}

/// A disk in memory that fails for good after some changes; the last one is done by half.
#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    bytes: Vec<u8>,
    /// How many changes succeed; `None`: all.
    lasts_for: Option<u64>,
    changes: u64,
}

impl Disk {
    fn change(&self, change: impl Fn(&mut Vec<u8>, bool)) -> io::Result<()> {
        let state = &mut *self.0.lock().unwrap();
        let left = state.lasts_for.map(|lasts_for| lasts_for.checked_sub(state.changes));
        state.changes += 1;
        match left {
            None | Some(Some(1..)) => change(&mut state.bytes, true),
            Some(Some(0)) => change(&mut state.bytes, false),
            Some(None) => {}
        }
        if matches!(left, Some(None | Some(0))) { Err(io::Error::other("broken")) } else { Ok(()) }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.0.lock().unwrap().bytes[offset as usize..][..out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|bytes, is_whole| {
            if is_whole {
                bytes.resize(len as usize, 0);
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|_, _| ())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(|bytes, is_whole| {
            let part = if is_whole { data } else { &data[..data.len() / 2] };
            bytes[offset as usize..][..part.len()].copy_from_slice(part);
        })
    }
}

/// Every write to the disk, and every sync, fails once, and with it all that follow: before, in and after the
/// commit of every put and delete, when a store is opened and when it is closed.
#[test]
fn a_disk_that_fails_at_any_moment_hides_nothing() {
    const KEYS: u64 = 8;
    let mut lasts_for = 0;
    loop {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        let database = || {
            let database = Database::builder().create_with_backend(disk.clone()).unwrap();
            Arc::new(database)
        };
        let mut acknowledged: BTreeMap<u64, bool> = BTreeMap::new();
        let mut under_way = None;
        let mut work = |database: Arc<Database>| -> Result<(), Box<dyn Error>> {
            let mut random = Random::new(3);
            for _ in 0..3 {
                let store = RedbStore::new(database.clone(), TABLE);
                let guarded = Guarded::open(store, options(Kind::Cuckoo, directory.path()))?;
                for _ in 0..5 {
                    let (key, is_put) = (random.below(KEYS), random.below(3) > 0);
                    let done = match is_put {
                        true => guarded.put(key, "x"),
                        false => guarded.delete(key),
                    };
                    if let Err(error) = done {
                        under_way = Some(key);
                        // The database is broken, and says so, or answers from memory.
                        for (&key, &is_there) in acknowledged.iter() {
                            let found = guarded.contains(key);
                            assert!(
                                under_way == Some(key)
                                    || found.map_or(true, |found| found == is_there)
                            );
                        }
                        return Err(error.into());
                    }
                    acknowledged.insert(key, is_put);
                }
                guarded.close()?;
            }
            Ok(())
        };
        let broken = database();
        let count = disk.0.lock().unwrap().changes;
        disk.0.lock().unwrap().lasts_for = Some(count + lasts_for);
        let is_done = work(broken).is_ok();

        disk.0.lock().unwrap().lasts_for = None;
        let store = RedbStore::new(database(), TABLE);
        let guarded = Guarded::open(store, options(Kind::Cuckoo, directory.path())).unwrap();
        for key in 0..KEYS {
            let is_there = guarded.store().contains(&key).unwrap();
            assert_eq!(guarded.contains(key).unwrap(), is_there, "{key} after {lasts_for}");
            let expected = acknowledged.get(&key).copied().unwrap_or(false);
            assert!(is_there == expected || under_way == Some(key), "{key} after {lasts_for}");
        }
        if is_done {
            break;
        }
        lasts_for += 1;
    }
    assert!(lasts_for > 50, "the disk has seen {lasts_for} changes only");
}

/// Writes until it is killed, if the process was started for that.
#[cfg(unix)]
#[test]
fn writer() {
    let Ok(directory) = std::env::var(journal::CHILD) else { return };
    let directory = Path::new(&directory);
    let mut random = Random::new(fs::metadata(directory.join("db")).map_or(0, |file| file.len()));
    loop {
        let guarded = open(directory);
        for _ in 0..random.below(20) {
            let key = random.below(40);
            let operation = match random.below(3) {
                0 => Operation::delete(key),
                _ => Operation::put(key, random.number().to_string()),
            };
            operation.begin();
            match &operation.value {
                Some(value) => drop(guarded.put(key, value).unwrap()),
                None => drop(guarded.delete(key).unwrap()),
            }
            operation.end();
        }
        if random.below(2) == 0 {
            guarded.close().unwrap();
        }
    }
}

/// Kills a writer at random points, again and again. What it acknowledged is there, and the guard
/// hides nothing, in both modes.
#[cfg(unix)]
fn kill_writers(rounds: u64, seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut random = Random::new(seed);
    let mut expected: BTreeMap<u64, String> = BTreeMap::new();
    let mut acknowledged = 0;
    for round in 0..rounds {
        let event_count = 10 + random.below(100);
        let pause = Duration::from_micros(random.below(3_000));
        let journal = Journal::of_killed("writer", directory, event_count, pause);
        acknowledged += journal.acknowledged.len() as u64;
        journal.acknowledged.into_iter().for_each(|operation| apply(&mut expected, operation));

        // What was under way may have been done or not.
        let raw = store(directory);
        let found: BTreeMap<u64, String> = (0..40)
            .filter_map(|key| Some((key, raw.get(&key).unwrap()?.value().to_owned())))
            .collect();
        drop(raw);
        if found != expected {
            apply(&mut expected, journal.under_way.expect("nothing was under way"));
        }
        assert_eq!(found, expected, "round {round}");
        let guard = GuardOptions::new(Kind::Cuckoo, 0.01).unwrap();
        if round % 2 == 0 {
            check(&Guarded::snapshot(store(directory), &guard).unwrap(), &found);
        } else {
            let guarded = open(directory);
            check(&guarded, &found);
            if round % 4 == 1 {
                guarded.close().unwrap();
            }
        }
    }
    assert!(acknowledged > rounds, "the writers did next to nothing");
}

/// Nothing is hidden, and of 20,000 absent keys at least 1 − 2·FPR are stopped.
#[cfg(unix)]
fn check<M: Mode>(guarded: &Guarded<Table, M>, found: &BTreeMap<u64, String>) {
    assert!((0..40).all(|key| guarded.contains(key).unwrap() == found.contains_key(&key)));
    let before = guarded.counters().stopped;
    assert!((1_000..21_000).all(|key| !guarded.contains(key).unwrap()));
    assert!(guarded.counters().stopped - before >= 19_600, "{:?}", guarded.counters());
}

#[cfg(unix)]
fn apply(values: &mut BTreeMap<u64, String>, operation: Operation) {
    match operation.value {
        Some(value) => values.insert(operation.key, value),
        None => values.remove(&operation.key),
    };
}

#[cfg(unix)]
#[test]
fn killed_writers_lose_nothing() {
    kill_writers(8, 1);
}

#[cfg(unix)]
#[test]
#[ignore = "a campaign of minutes"]
fn many_killed_writers_lose_nothing() {
    kill_writers(300, 2);
}
