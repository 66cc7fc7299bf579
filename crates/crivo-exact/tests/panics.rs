//! Every operation of every map, with keys and values whose `Clone`, `Drop`, `Eq` or hash function
//! panics at its i-th call, for every i. Whatever unwinds, the map stays whole:
//!
//! - `len` is what `iter` yields, each entry once, and `get` finds those entries and no others;
//! - entries that the operation does not concern are still there;
//! - nothing is dropped twice, and nothing is leaked.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crivo::{Key, KeyHasher};
use crivo_exact::{
    ChainedMap, CompactedMap, CuckooMap, CuckooOptions, Dictionary, Eviction, LinearMap,
    TableLayout,
};

/// Which of a key's or a value's functions panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Clone,
    Drop,
    Eq,
    Hash,
}

const CALLS: [Call; 4] = [Call::Clone, Call::Drop, Call::Eq, Call::Hash];

#[derive(Default)]
struct Monitor {
    /// The call that panics, and how many more of its kind return before it.
    armed: Option<(Call, u32)>,
    alive: BTreeSet<u64>,
    made: u64,
}

thread_local! {
    static MONITOR: RefCell<Monitor> = RefCell::default();
}

/// Panics if this is the call that was chosen.
fn count(call: Call) {
    let panics = MONITOR.with_borrow_mut(|monitor| match &mut monitor.armed {
        Some((armed, 0)) if *armed == call => {
            monitor.armed = None;
            true
        }
        Some((armed, left)) if *armed == call => {
            *left -= 1;
            false
        }
        _ => false,
    });
    if panics {
        // Without the message that a `panic!` prints.
        resume_unwind(Box::new("the chosen call"));
    }
}

/// A number whose functions panic when they are told to, and whose copies are counted.
struct Fragile {
    number: u64,
    copy: u64,
}

impl Fragile {
    fn new(number: u64) -> Self {
        let copy = MONITOR.with_borrow_mut(|monitor| {
            monitor.made += 1;
            assert!(monitor.alive.insert(monitor.made));
            monitor.made
        });
        Self { number, copy }
    }
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        count(Call::Clone);
        Self::new(self.number)
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        let was_alive = MONITOR.with_borrow_mut(|monitor| monitor.alive.remove(&self.copy));
        if !was_alive {
            // An assertion could end in a second panic, which names no test.
            eprintln!("{} was dropped twice", self.number);
            std::process::abort();
        }
        count(Call::Drop);
    }
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        count(Call::Eq);
        self.number == other.number
    }
}

impl Eq for Fragile {}

impl Key for Fragile {
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        count(Call::Hash);
        self.number.with_bytes(use_bytes)
    }
}

trait Map: Dictionary<Fragile, Fragile> + Clone + IntoIterator {}

impl<M: Dictionary<Fragile, Fragile> + Clone + IntoIterator> Map for M {}

/// The number of keys that there are.
const DOMAIN: u64 = if cfg!(miri) { 7 } else { 40 };

/// How many entries a map has at first.
const PREFILLS: [u64; 14] = [0, 1, 2, 3, 4, 6, 7, 8, 12, 13, 15, 16, 24, 31];

/// What is done to a map.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Insert(u64),
    Remove(u64),
    Find(u64),
    Extend(u64),
    Clear,
    Clone,
    CloneFrom,
    Iterate,
    Drop,
}

fn operations() -> impl Iterator<Item = Operation> {
    let numbers = if cfg!(miri) { &[1, 6][..] } else { &[0, 1, 13, 39] };
    let with_key = numbers.iter().flat_map(|&number| {
        [Operation::Insert(number), Operation::Remove(number), Operation::Find(number)]
    });
    let others = [
        Operation::Extend(DOMAIN / 2),
        Operation::Clear,
        Operation::Clone,
        Operation::CloneFrom,
        Operation::Iterate,
        Operation::Drop,
    ];
    with_key.chain(others)
}

impl Operation {
    /// Does it, and puts the map back if it is still one.
    fn run<M: Map>(self, place: &mut Option<M>, empty: &M) {
        let Some(map) = place else { return };
        match self {
            Self::Insert(number) => {
                let _ = map.insert(Fragile::new(number), Fragile::new(number));
            }
            Self::Remove(number) => drop(map.remove(&Fragile::new(number))),
            Self::Find(number) => {
                let key = Fragile::new(number);
                let _ = (map.get(&key).is_some(), map.get_mut(&key).is_some());
                let _ = map.contains_key(&key);
            }
            Self::Extend(count) => {
                for number in 0..count {
                    let _ = map.insert(Fragile::new(number), Fragile::new(number));
                }
            }
            Self::Clear => map.clear(),
            Self::Clone => drop(map.clone()),
            Self::CloneFrom => map.clone_from(empty),
            Self::Iterate => {
                let map = place.take().expect("it is there");
                let half = map.len() / 2;
                let mut entries = map.into_iter();
                entries.by_ref().take(half).for_each(drop);
            }
            Self::Drop => *place = None,
        }
    }

    /// Whether the entry with this number must be there afterwards, if it was there before.
    fn keeps(self, number: u64) -> bool {
        match self {
            Self::Remove(removed) => number != removed,
            Self::Insert(_) | Self::Find(_) | Self::Extend(_) | Self::Clone => true,
            Self::Clear | Self::CloneFrom | Self::Iterate | Self::Drop => false,
        }
    }
}

/// The numbers in the map, which must be consistent.
fn numbers<M: Map>(map: &M, context: &str) -> BTreeSet<u64> {
    let numbers: BTreeSet<u64> = map.iter().map(|(_, value)| value.number).collect();
    assert_eq!(map.iter().count(), map.len(), "{context}: len");
    assert_eq!(numbers.len(), map.len(), "{context}: an entry comes twice");
    for number in 0..DOMAIN {
        let found = map.get(&Fragile::new(number)).map(|value| value.number);
        let expected = numbers.contains(&number).then_some(number);
        assert_eq!(found, expected, "{context}: key {number}");
    }
    numbers
}

fn check<M: Map>(name: &str, empty: impl Fn() -> M) {
    // Just before a map grows, just after, and in between; Miri is slow.
    let prefills: &[u64] = if cfg!(miri) { &[4] } else { &PREFILLS };
    for &prefill in prefills {
        for operation in operations() {
            for call in CALLS {
                let mut index = 0;
                while run_once(name, &empty, prefill, operation, call, index) {
                    index += 1;
                }
            }
        }
    }
}

/// Fails the `index`-th call, and returns whether there was one.
fn run_once<M: Map>(
    name: &str,
    empty: &impl Fn() -> M,
    prefill: u64,
    operation: Operation,
    call: Call,
    index: u32,
) -> bool {
    let context = format!("{name}, {prefill} entries, {operation:?}, {call:?} {index}");
    let other = empty();
    let mut place = Some(empty());
    if let Some(map) = &mut place {
        for number in 0..prefill {
            let stored = map.insert(Fragile::new(number), Fragile::new(number));
            assert!(stored.is_ok(), "{context}");
        }
    }
    MONITOR.with_borrow_mut(|monitor| monitor.armed = Some((call, index)));
    let outcome = catch_unwind(AssertUnwindSafe(|| operation.run(&mut place, &other)));
    MONITOR.with_borrow_mut(|monitor| monitor.armed = None);
    if let Some(map) = &mut place {
        let left = numbers(map, &context);
        for number in (0..prefill).filter(|&number| operation.keeps(number)) {
            assert!(left.contains(&number), "{context}: {number} is lost");
        }
        if matches!(operation, Operation::Clear) {
            assert!(map.is_empty(), "{context}: not empty");
        }
        // It goes on working.
        for number in 0..DOMAIN {
            let _ = map.insert(Fragile::new(number), Fragile::new(number));
        }
        assert_eq!(numbers(map, &context).len() as u64, DOMAIN, "{context}");
        for number in 0..DOMAIN {
            assert!(map.remove(&Fragile::new(number)).is_some(), "{context}");
        }
        assert!(map.is_empty() && map.iter().next().is_none(), "{context}");
    }
    drop(place);
    drop(other);
    MONITOR.with_borrow(|monitor| assert!(monitor.alive.is_empty(), "{context}: leaked"));
    outcome.is_err()
}

#[test]
fn chained() {
    check("chained", ChainedMap::new);
}

#[test]
fn linear() {
    check("linear", LinearMap::new);
}

/// It grows at its fifth entry.
#[test]
fn sparse_linear() {
    let empty = || LinearMap::with_max_load(1, 0.3, KeyHasher::default()).unwrap();
    check("sparse linear", empty);
}

#[test]
fn dense_linear() {
    let empty = || LinearMap::with_max_load(8, 0.97, KeyHasher::default()).unwrap();
    check("dense linear", empty);
}

#[test]
fn cuckoo() {
    check("cuckoo", CuckooMap::new);
}

/// Searches that often fail: entries in the stash, other seeds, rebuilds that are given up.
#[test]
fn cuckoo_with_a_stash() {
    for (choices, eviction) in
        [(2, Eviction::RandomWalk { max_moves: 4 }), (3, Eviction::BreadthFirst { max_buckets: 5 })]
    {
        let options = CuckooOptions {
            choices,
            bucket_size: 1,
            layout: TableLayout::SeparateTables,
            stash: 3,
            eviction,
            max_load: Some(0.8),
            hasher: KeyHasher::default(),
        };
        check("cuckoo with a stash", || options.build(2).unwrap());
    }
}

#[test]
fn compacted() {
    check("compacted", || CompactedMap::new(40).unwrap());
}
