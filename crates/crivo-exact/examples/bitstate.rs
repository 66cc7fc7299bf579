//! Bitstate hashing: searching the states of a system that do not fit into memory.
//!
//! A model checker walks through all states that a system can reach, and must remember which it has
//! seen. SPIN can remember them in a Bloom filter: a state that is wrongly taken for seen is left
//! out, and with it, perhaps, states behind it. In exchange a state takes a few bits, not dozens of
//! bytes. What is found is true; what is not found may have been missed, with a known probability.
//!
//! The system here is Dijkstra's: n philosophers around a table, n forks between them. Each thinks,
//! takes the left fork, takes the right fork and eats, puts both down. If all hold their left fork,
//! none can go on: a deadlock, which the search must find.
//!
//! ```text
//! cargo run --release --example bitstate              14 philosophers
//! cargo run --release --example bitstate -- 16        1,331,714 states
//! ```
//!
//! References: G. Holzmann, *An analysis of bitstate hashing*, 1998; P. Dillinger, P. Manolios,
//! *Bloom filters in probabilistic verification*, 2004.

use std::error::Error;

use crivo::KeyHasher;
use crivo::filter::Bloom;
use crivo::theory::bloom;
use crivo_exact::LinearMap;

/// What each philosopher does, two bits for each: 0 thinks, 1 holds the left fork, 2 eats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Table {
    doings: u64,
    philosophers: u32,
}

const THINKS: u64 = 0;
const HOLDS_LEFT: u64 = 1;
const EATS: u64 = 2;

/// Two bits for each of them are in a `u64`.
const MAX_PHILOSOPHERS: u32 = 32;

impl Table {
    fn thinking(philosophers: u32) -> Self {
        Self { doings: 0, philosophers }
    }

    fn doing(self, who: u32) -> u64 {
        self.doings >> (2 * (who % self.philosophers)) & 3
    }

    fn with(self, who: u32, doing: u64) -> Self {
        let shift = 2 * who;
        Self { doings: self.doings & !(3 << shift) | doing << shift, ..self }
    }

    /// The fork to the left of a philosopher: hers, or in the right hand of her left neighbour.
    fn is_left_fork_free(self, who: u32) -> bool {
        let neighbour = who + self.philosophers - 1;
        self.doing(who) == THINKS && self.doing(neighbour) != EATS
    }

    /// Every state that follows by one move of one philosopher.
    fn successors(self) -> impl Iterator<Item = Self> {
        (0..self.philosophers).filter_map(move |who| match self.doing(who) {
            THINKS => self.is_left_fork_free(who).then(|| self.with(who, HOLDS_LEFT)),
            HOLDS_LEFT => self.is_left_fork_free(who + 1).then(|| self.with(who, EATS)),
            _ => Some(self.with(who, THINKS)),
        })
    }
}

/// What a search saw.
#[derive(Debug, Default, PartialEq, Eq)]
struct Search {
    states: u64,
    deadlocks: u64,
}

/// Walks through all states in depth. `is_new` remembers a state, and tells whether it was unknown.
fn search(
    start: Table,
    mut is_new: impl FnMut(Table) -> Result<bool, Box<dyn Error>>,
) -> Result<Search, Box<dyn Error>> {
    let mut found = Search::default();
    let mut open = Vec::new();
    if is_new(start)? {
        open.push(start);
    }
    while let Some(state) = open.pop() {
        found.states += 1;
        let mut is_stuck = true;
        for next in state.successors() {
            is_stuck = false;
            if is_new(next)? {
                open.push(next);
            }
        }
        found.deadlocks += u64::from(is_stuck);
    }
    Ok(found)
}

/// Remembers every state as it is.
fn search_exactly(start: Table) -> Result<(Search, usize), Box<dyn Error>> {
    let mut seen = LinearMap::new();
    let found = search(start, |state| Ok(seen.insert(state.doings, ())?.is_none()))?;
    Ok((found, seen.size_in_bytes()))
}

/// Remembers a few bits of every state.
fn search_by_bits(
    start: Table,
    bits: u64,
    probes: u32,
    hasher: KeyHasher,
) -> Result<Search, Box<dyn Error>> {
    let mut seen = Bloom::with_size(bits, probes, hasher)?;
    search(start, |state| {
        let digest = hasher.digest(&state.doings);
        Ok(seen.insert_digest(digest))
    })
}

/// How many of `states` a search by bits is expected to see: each state that is met for the first
/// time is left out with the filter's FPR at that moment, and permanently.
///
/// States that only left-out states lead to are lost as well, which this does not count: where
/// many ways lead to a state, as here, they are few.
fn expected_states(states: u64, bits: u64, probes: u32) -> Result<f64, Box<dyn Error>> {
    let mut seen = 0.0;
    for _ in 0..states {
        seen += 1.0 - bloom::fpr(bits, seen as u64, probes)?;
    }
    Ok(seen)
}

fn main() -> Result<(), Box<dyn Error>> {
    let philosophers = match std::env::args().nth(1) {
        Some(number) => number.parse()?,
        None => 14,
    };
    if !(2..=MAX_PHILOSOPHERS).contains(&philosophers) {
        return Err(format!("{philosophers} philosophers; from 2 to {MAX_PHILOSOPHERS}").into());
    }
    let start = Table::thinking(philosophers);
    let (exact, bytes) = search_exactly(start)?;
    println!("{philosophers} philosophers: {} states, {} deadlock", exact.states, exact.deadlocks);
    println!("\n  memory in bytes  bits per state     states  coverage  expected  deadlocks");
    let per_state = 8.0 * bytes as f64 / exact.states as f64;
    let row = |bytes: u64, per_state: f64, found: &Search, expected: f64| {
        let share = |states: f64| 100.0 * states / exact.states as f64;
        println!(
            "  {bytes:>15}  {per_state:>14.1}  {:>9}  {:>7.3}%  {:>7.3}%  {:>9}",
            found.states,
            share(found.states as f64),
            share(expected),
            found.deadlocks,
        );
    };
    row(bytes as u64, per_state, &exact, exact.states as f64);
    for bits_per_state in [32, 16, 8, 4] {
        let bits = bits_per_state * exact.states;
        // SPIN's three probes: the best for few bits, and quick.
        let probes = 3;
        let found = search_by_bits(start, bits, probes, KeyHasher::xxh3(1))?;
        let expected = expected_states(exact.states, bits, probes)?;
        row(bits.div_ceil(8), bits_per_state as f64, &found, expected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 + √2)^n + (1 − √2)^n: no philosopher eats next to one that holds the fork between them.
    fn reachable(philosophers: u32) -> u64 {
        let (mut last, mut now) = (2, 2);
        for _ in 1..philosophers {
            (last, now) = (now, 2 * now + last);
        }
        now
    }

    #[test]
    fn the_exact_search_sees_every_state_and_the_deadlock() {
        for philosophers in 2..=10 {
            let (found, _) = search_exactly(Table::thinking(philosophers)).unwrap();
            assert_eq!(found, Search { states: reachable(philosophers), deadlocks: 1 });
        }
        assert_eq!(reachable(16), 1_331_714);
    }

    #[test]
    fn plenty_of_bits_miss_nothing() {
        let start = Table::thinking(10);
        let bits = 200 * reachable(10);
        let found = search_by_bits(start, bits, 20, KeyHasher::xxh3(1)).unwrap();
        assert_eq!(found, Search { states: reachable(10), deadlocks: 1 });
    }

    /// Left-out states are nearly independent of each other: their number is within six standard
    /// deviations of what is expected but once in 500 million, and 2% are allowed for those behind them.
    #[test]
    fn few_bits_miss_as_many_as_expected() {
        let start = Table::thinking(12);
        let states = reachable(12);
        for bits_per_state in [4, 8, 16] {
            let bits = bits_per_state * states;
            let found = search_by_bits(start, bits, 3, KeyHasher::xxh3(1)).unwrap();
            let missed = (states - found.states) as f64;
            let expected = states as f64 - expected_states(states, bits, 3).unwrap();
            let allowed = 6.0 * expected.sqrt() + 0.02 * expected;
            assert!((missed - expected).abs() < allowed, "{bits_per_state}: {missed}, {expected}");
        }
    }
}
