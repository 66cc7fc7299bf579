//! The protocol, step by step: a store, its guard, and every order of events that a random walk finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use crivo::filter::Kind;
use crivo_core::Random;
use tracing::Level;

use super::*;
use crate::heard;

fn guard(kind: Kind, digests: &[u64]) -> Guard {
    let options = GuardOptions::new(kind, 0.01).unwrap();
    Guard::build(options, digests.iter().map(|&digest| spread(digest)).collect()).unwrap()
}

/// A digest for a small number.
fn spread(number: u64) -> Digest {
    KeyHasher::default().digest(&number)
}

/// A put that the store has answered.
fn put(guard: &Guard, digest: u64, existed: Existed) {
    guard.begin_put(spread(digest)).stored(existed);
}

fn delete(guard: &Guard, digest: u64, existed: Existed) {
    guard.begin_delete(spread(digest)).deleted(existed);
}

const REMOVING: [Kind; 4] = [Kind::Counting, Kind::Cuckoo, Kind::Quotient, Kind::BlockedCounting];

#[test]
fn a_key_stays_when_another_with_its_digest_is_deleted() {
    for kind in Kind::ALL {
        let guard = guard(kind, &[]);
        put(&guard, 1, Existed::No);
        put(&guard, 1, Existed::No); // another key
        delete(&guard, 1, Existed::Yes);
        assert!(guard.contains(spread(1)), "{kind}");
        delete(&guard, 1, Existed::Yes);
        let removed = !guard.contains(spread(1));
        assert_eq!(removed, REMOVING.contains(&kind), "{kind}");
    }
}

#[test]
fn a_key_that_is_written_again_has_one_copy() {
    for kind in REMOVING {
        let guard = guard(kind, &[1]);
        for _ in 0..100 {
            put(&guard, 1, Existed::Yes);
        }
        assert_eq!(guard.status().key_count, 1, "{kind}");
        delete(&guard, 1, Existed::Yes);
        assert!(!guard.contains(spread(1)), "{kind}");
    }
}

#[test]
fn only_a_confirmed_delete_of_a_key_that_was_there_removes_a_copy() {
    for kind in REMOVING {
        let guard = guard(kind, &[1]);
        delete(&guard, 1, Existed::No);
        delete(&guard, 1, Existed::Unknown);
        drop(guard.begin_delete(spread(1)));
        assert!(guard.contains(spread(1)), "{kind}");
    }
}

#[test]
fn a_delete_across_a_rebuild_removes_nothing() {
    for kind in REMOVING {
        let guard = guard(kind, &[1, 1]);
        let delete = guard.begin_delete(spread(1));
        // The scan sees only the other of the two keys.
        guard.begin_rebuild().unwrap().finish(vec![spread(1)]).unwrap();
        delete.deleted(Existed::Yes);
        assert!(guard.contains(spread(1)), "{kind}");
    }
}

#[test]
fn a_put_across_a_rebuild_keeps_its_key() {
    for kind in Kind::ALL {
        for existed in [Existed::No, Existed::Yes, Existed::Unknown] {
            let guard = guard(kind, &[]);
            let before = guard.begin_put(spread(1));
            let rebuild = guard.begin_rebuild().unwrap();
            let during = guard.begin_put(spread(2));
            rebuild.finish(vec![]).unwrap();
            assert!(guard.contains(spread(1)) && guard.contains(spread(2)), "{kind}");
            before.stored(Existed::No);
            during.stored(existed);
            assert!(guard.contains(spread(1)) && guard.contains(spread(2)), "{kind}");
        }
    }
}

#[test]
fn keys_written_again_during_a_rebuild_have_one_copy() {
    for kind in REMOVING {
        let guard = guard(kind, &[1]);
        let rebuild = guard.begin_rebuild().unwrap();
        for _ in 0..100 {
            put(&guard, 1, Existed::Yes);
        }
        rebuild.finish(vec![spread(1)]).unwrap();
        assert_eq!(guard.status().key_count, 1, "{kind}");
    }
}

#[test]
fn a_doubtful_key_survives_deletes_and_rebuilds() {
    for kind in Kind::ALL {
        let guard = guard(kind, &[]);
        drop(guard.begin_put(spread(1)));
        delete(&guard, 1, Existed::Yes);
        for _ in 0..2 {
            assert!(guard.contains(spread(1)), "{kind}");
            guard.begin_rebuild().unwrap().finish(vec![]).unwrap();
        }
        assert_eq!(guard.status().doubtful_count, 1);
        // Writing it often does not fill the guard.
        for _ in 0..100 {
            put(&guard, 1, Existed::No);
            delete(&guard, 1, Existed::Yes);
        }
        assert_eq!(guard.status().key_count, 1, "{kind}");
    }
}

/// A server that is down makes every put a doubt.
#[test]
fn more_doubtful_keys_than_can_be_listed_take_no_more_memory() {
    for kind in Kind::ALL {
        let guard = guard(kind, &[]);
        guard.state.write().unwrap().doubts.max_listed = 100;
        let fail = |keys: std::ops::Range<u64>| {
            keys.for_each(|key| drop(guard.begin_put(spread(key))));
        };
        fail(0..5_000);
        put(&guard, 1_000_000, Existed::No);
        // The scan finds neither the doubtful keys nor those of late writes.
        guard.begin_rebuild().unwrap().finish(vec![spread(1_000_000)]).unwrap();
        let size = guard.status().size_in_bits;
        assert!((0..5_000).all(|key| guard.contains(spread(key))), "{kind}");
        // Late writes arrive, are overwritten and deleted: no other key's copy goes with them.
        for key in 0..5_000 {
            put(&guard, key, Existed::Yes);
            delete(&guard, key, Existed::Yes);
        }
        let digests: Vec<_> = (0..5_000).map(spread).chain([spread(1_000_000)]).collect();
        let mut hits = vec![false; digests.len()];
        guard.contains_batch(&digests, &mut hits);
        assert!(hits.iter().all(|hit| *hit), "{kind}");

        fail(0..20_000);
        guard.begin_rebuild().unwrap().finish(vec![spread(1_000_000)]).unwrap();
        let status = guard.status();
        assert_eq!(guard.state.read().unwrap().doubts.listed().count(), 100, "{kind}");
        assert!((19_000..=20_000).contains(&status.doubtful_count), "{kind}: {status:?}");
        assert_eq!(status.size_in_bits, size, "{kind}");
        assert!(status.key_count <= 101 && status.expected_fpr < 0.1, "{kind}: {status:?}");
        assert!((0..20_000).all(|key| guard.contains(spread(key))), "{kind}");
        let absent = (2_000_000..2_002_000).filter(|key| !guard.contains(spread(*key))).count();
        assert!(absent > 1_800, "{kind}: {absent}");
        assert!(guard.report_doubts() && !guard.can_be_saved(), "{kind}");
    }
}

#[test]
fn without_late_writes_a_scan_settles_what_failed() {
    let options = GuardOptions::new(Kind::Cuckoo, 0.01).unwrap().late_writes(false);
    let guard = Guard::build(options, vec![]).unwrap();
    drop(guard.begin_put(spread(1)));
    assert!(guard.contains(spread(1)));
    guard.begin_rebuild().unwrap().finish(vec![]).unwrap();
    assert!(!guard.contains(spread(1)));
}

#[test]
fn a_put_that_is_refused_leaves_nothing() {
    for kind in Kind::ALL {
        let guard = guard(kind, &[1]);
        for key in [1, 2] {
            let before = guard.begin_put(spread(key));
            guard.begin_rebuild().unwrap().finish(vec![spread(1)]).unwrap();
            before.refused();
            let rebuild = guard.begin_rebuild().unwrap();
            guard.begin_put(spread(key)).refused();
            rebuild.finish(vec![spread(1)]).unwrap();
            guard.begin_put(spread(key)).refused();
        }
        assert!(guard.contains(spread(1)), "{kind}");
        assert_eq!(guard.status().doubtful_count + guard.status().in_flight_count, 0, "{kind}");
        let removed = !guard.contains(spread(2));
        assert_eq!(removed, REMOVING.contains(&kind), "{kind}");
        guard.begin_rebuild().unwrap().finish(vec![spread(1)]).unwrap();
        assert!(!guard.contains(spread(2)) && guard.can_be_saved(), "{kind}");
    }
}

#[test]
fn one_rebuild_runs_at_a_time_and_may_be_given_up() {
    let guard = guard(Kind::Cuckoo, &[1]);
    let rebuild = guard.begin_rebuild().unwrap();
    assert!(guard.begin_rebuild().is_none());
    put(&guard, 2, Existed::No);
    drop(rebuild);
    assert!(guard.contains(spread(1)) && guard.contains(spread(2)));
    assert_eq!(guard.status().rebuild_count, 0);
    guard.begin_rebuild().unwrap().finish(vec![spread(1), spread(2)]).unwrap();
    assert_eq!(guard.status().rebuild_count, 1);
}

#[test]
fn a_guard_grows_without_bound_and_asks_for_a_rebuild() {
    for kind in Kind::ALL {
        let guard = guard(kind, &[]);
        (0..2_000).for_each(|key| put(&guard, key, Existed::No));
        assert!((0..2_000).all(|key| guard.contains(spread(key))), "{kind}");
        // Filters that grow by themselves need none.
        assert_eq!(guard.needs_rebuild(), !kind.capabilities().unlimited, "{kind}");
        let rebuild = guard.begin_rebuild().unwrap();
        assert!(!guard.needs_rebuild(), "one is running");
        rebuild.finish((0..2_000).map(spread).collect()).unwrap();
        assert!(!guard.needs_rebuild() && guard.can_be_saved(), "{kind}");
    }
}

#[test]
fn a_delete_from_the_overflow_takes_no_copy_of_another_key() {
    for kind in REMOVING {
        // With an FPR of 0.3 the main filter takes many keys of the overflow for its own.
        let options = GuardOptions::new(kind, 0.3).unwrap();
        let guard = Guard::build(options, vec![]).unwrap();
        (0..1_000).for_each(|key| put(&guard, key, Existed::No));
        let first_in_overflow = 1_000 - guard.status().overflow_count;
        assert!(first_in_overflow < 500, "{kind}");
        (500..1_000).for_each(|key| delete(&guard, key, Existed::Yes));
        assert!((0..500).all(|key| guard.contains(spread(key))), "{kind}");
    }
}

#[test]
fn a_guard_that_is_not_trusted_lets_everything_pass() {
    let guard = guard(Kind::Cuckoo, &[]);
    let open = guard.begin_put(spread(1));
    let given_up = guard.begin_put(spread(6));
    guard.distrust();
    assert_eq!(guard.status().in_flight_count, 2);
    open.stored(Existed::No);
    drop(given_up);
    put(&guard, 2, Existed::No);
    assert_eq!(guard.status().in_flight_count, 0);
    delete(&guard, 2, Existed::Yes);
    let mut hits = [false; 2];
    guard.contains_batch(&[spread(3), spread(4)], &mut hits);
    assert!(guard.contains(spread(5)) && hits == [true; 2]);
    assert!(!guard.status().is_trusted && guard.begin_rebuild().is_none());
}

/// A put that began when the guard was no longer trusted is not under way, whatever the others do.
#[test]
fn only_puts_that_were_counted_are_counted_out() {
    let guard = guard(Kind::Cuckoo, &[]);
    let counted = guard.begin_put(spread(1));
    guard.distrust();
    for existed in [Existed::No, Existed::Yes] {
        put(&guard, 1, existed);
        guard.begin_put(spread(1)).refused();
        drop(guard.begin_put(spread(1)));
        assert_eq!(guard.status().in_flight_count, 1);
    }
    counted.stored(Existed::No);
    assert_eq!(guard.status().in_flight_count, 0);
}

/// Whoever hears an event of the guard may ask it.
#[test]
fn events_are_told_while_the_guard_is_free() {
    let distrust = |guard: &Guard| guard.distrust();
    // There is no filter of such an FPR for keys that are not listed.
    let fail = |guard: &Guard| {
        guard.state.write().unwrap().doubts.max_listed = 0;
        drop(guard.begin_put(spread(1)));
    };
    for cause in [distrust as fn(&Guard), fail] {
        heard::ends(move || {
            let mut guard = guard(Kind::Cuckoo, &[]);
            guard.options.fpr = 0.0;
            let guard = Arc::new(guard);
            let asked = guard.clone();
            let (sender, heard) = std::sync::mpsc::channel();
            let ask = move |level, _: &str| {
                let answers = (asked.status().is_trusted, asked.contains(spread(2)));
                sender.send((level, answers)).unwrap();
            };
            heard::hear(ask, || cause(&guard));
            let heard: Vec<_> = heard.into_iter().collect();
            assert_eq!(heard, [(Level::WARN, (false, true))]);
        });
    }
}

/// A store that forgets to answer, and the guard in front of it.
struct Model {
    random: Random,
    keys: u64,
    /// Keys that are equal modulo this have the same digest.
    classes: u64,
    late_writes: bool,
    /// Without rebuilds for a while, errors have time to show.
    rebuild_one_in: u64,
    stored: BTreeSet<u64>,
    /// Writes that were given up and will still arrive: keys, and whether they are put.
    late: Vec<(u64, bool)>,
}

/// An operation that has begun.
struct Open<'g> {
    key: u64,
    ticket: Ticket<'g>,
    /// What the store has to say, once it has done it.
    existed: Option<Existed>,
}

enum Ticket<'g> {
    Put(PutTicket<'g>),
    Delete(DeleteTicket<'g>),
}

struct Scan<'g> {
    rebuild: Rebuild<'g>,
    next: u64,
    found: Vec<Digest>,
}

impl Model {
    fn digest(&self, key: u64) -> Digest {
        spread(key % self.classes)
    }

    fn apply(&mut self, key: u64, is_put: bool) -> Existed {
        let existed = match is_put {
            true => !self.stored.insert(key),
            false => self.stored.remove(&key),
        };
        if existed { Existed::Yes } else { Existed::No }
    }

    fn run(&mut self, guard: &Guard, steps: u64, check_every: u64) {
        let mut open: Vec<Open<'_>> = Vec::new();
        let mut scan: Option<Scan<'_>> = None;
        for step in 0..steps {
            match self.random.below(12) {
                0..4 => {
                    let key = self.random.below(self.keys);
                    // Operations on one digest do not overlap.
                    if open.iter().all(|open| self.digest(open.key) != self.digest(key)) {
                        let digest = self.digest(key);
                        let ticket = match self.random.below(5) {
                            0..3 => Ticket::Put(guard.begin_put(digest)),
                            _ => Ticket::Delete(guard.begin_delete(digest)),
                        };
                        open.push(Open { key, ticket, existed: None });
                    }
                }
                4..7 if !open.is_empty() => {
                    let at = self.random.index(open.len());
                    let (key, is_put) = (open[at].key, matches!(open[at].ticket, Ticket::Put(_)));
                    if open[at].existed.is_none() {
                        open[at].existed = Some(self.apply(key, is_put));
                    }
                }
                7..9 if !open.is_empty() => {
                    let Open { key, ticket, existed } =
                        open.swap_remove(self.random.index(open.len()));
                    let unsure = self.random.below(10) == 0;
                    match (existed, ticket) {
                        // The answer is lost.
                        (Some(_), _) if self.random.below(8) == 0 => {}
                        (Some(existed), ticket) => {
                            let existed = if unsure { Existed::Unknown } else { existed };
                            match ticket {
                                Ticket::Put(ticket) => ticket.stored(existed),
                                Ticket::Delete(ticket) => ticket.deleted(existed),
                            }
                        }
                        // Refused for certain.
                        (None, Ticket::Put(ticket)) if self.random.below(3) == 0 => {
                            ticket.refused();
                        }
                        // Given up before the store has done it, which it will do later or never.
                        (None, ticket) => {
                            if self.late_writes && self.random.below(2) == 0 {
                                self.late.push((key, matches!(ticket, Ticket::Put(_))));
                            }
                        }
                    }
                }
                9 if !self.late.is_empty() && self.random.below(4) == 0 => {
                    let (key, is_put) = self.late.swap_remove(self.random.index(self.late.len()));
                    self.apply(key, is_put);
                }
                10 if scan.is_none() && self.random.below(self.rebuild_one_in) == 0 => {
                    let rebuild = guard.begin_rebuild().unwrap();
                    scan = Some(Scan { rebuild, next: 0, found: Vec::new() });
                }
                10 | 11 if self.random.below(50) == 0 => scan = None,
                10 | 11 => {
                    if let Some(mut running) = scan.take() {
                        let end = running.next + 1 + self.random.below(self.keys / 4);
                        let part = self.stored.range(running.next..end);
                        let part: Vec<_> = part.map(|&key| self.digest(key)).collect();
                        running.found.extend(part);
                        running.next = end;
                        if end >= self.keys {
                            running.rebuild.finish(running.found).unwrap();
                        } else {
                            scan = Some(running);
                        }
                    }
                }
                _ => {}
            }
            if step % check_every == 0 {
                let hidden = self.stored.iter().find(|&&key| !guard.contains(self.digest(key)));
                assert_eq!(hidden, None, "hidden at step {step}");
            }
        }
    }
}

#[test]
fn no_order_of_events_hides_a_key() {
    let mut seed = 0;
    for kind in Kind::ALL {
        // With an FPR of 0.3 fingerprints have two bits, and collide as digests never do.
        for (keys, classes, fpr) in [(60, 7, 0.01), (60, 60, 0.3), (60, 25, 0.3), (700, 300, 0.3)] {
            for late_writes in [false, true] {
                let mut rebuilds = 0;
                for rebuild_one_in in [1, 1, 50, 50] {
                    let options = GuardOptions::new(kind, fpr).unwrap().late_writes(late_writes);
                    let guard = Guard::build(options, vec![]).unwrap();
                    seed += 1;
                    // A list of doubtful keys that is soon full, or never.
                    guard.state.write().unwrap().doubts.max_listed =
                        [0, 5, 1_000][seed as usize % 3];
                    let mut model = Model {
                        random: Random::new(seed),
                        keys,
                        classes,
                        late_writes,
                        rebuild_one_in,
                        stored: BTreeSet::new(),
                        late: Vec::new(),
                    };
                    model.run(&guard, 4_000, keys / 60);
                    rebuilds += guard.status().rebuild_count;
                    assert!(!model.stored.is_empty(), "{kind}");
                }
                // A walk of few rebuilds may by chance have none.
                assert!(rebuilds > 0, "{kind}");
            }
        }
    }
}

/// As locks of the standard library let it.
#[test]
fn guards_can_be_asked_in_what_may_panic() {
    fn check<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<Guard>();
}
