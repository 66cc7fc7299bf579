//! The clusters of similar sets: the connected components of all pairs at or above a threshold.
//!
//! ```text
//!   for all pairs (a, b):                what is computed
//!       if jaccard(a, b) >= threshold:
//!           unite(a, b)
//! ```
//!
//! The result is exact, but few pairs are compared:
//!
//! - *Prefixes.* Let the elements of all sets be in one order. Two sets that have o elements in common
//!   have one in common among the first |a| − o + 1 of the one and |b| − o + 1 of the other. So only these
//!   *prefixes* are looked up, in an index of the prefixes of the sets before. The order puts rare
//!   elements first: what all lines of a log have in common is in no prefix.
//! - *Positions.* If the first common element of two sets is far behind in either, too few can follow.
//! - *Components.* Two sets of the same component need not be compared. A list of the index whose sets
//!   are all in one component is skipped by a set that belongs to it.
//!
//! Reference: C. Xiao, W. Wang, X. Lin, J. X. Yu, *Efficient similarity joins for near duplicate
//! detection*, WWW 2008: prefixes and positions.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::thread;

use crate::input::InputProgress;

/// The high bits of an element tell how many sets have it.
const LEVEL_BITS: u32 = 8;

/// The limits of the number of counters by which elements are ordered.
const COUNTERS: (usize, usize) = (1 << 10, 1 << 24);

/// Against rounding errors: bounds may be lower than necessary, because every pair is checked.
const SLACK: f64 = 1e-6;

/// Sets of 64-bit digests, each in ascending order of its elements: rare ones first.
pub(super) struct RankedSets(Vec<Box<[u64]>>);

impl RankedSets {
    /// Orders the elements of all sets, whose digests are distinct.
    ///
    /// The highest bits of a digest are replaced by the number of sets that have it, roughly: two
    /// elements are confused with a probability of 2^-56, and those that occur once never.
    pub(super) fn new(mut sets: Vec<Box<[u64]>>, threads: usize) -> Self {
        let total = sets.iter().map(|set| set.len()).sum::<usize>();
        let counters = total.next_power_of_two().clamp(COUNTERS.0, COUNTERS.1);
        let shift = u64::BITS - counters.trailing_zeros();
        let mut counts = vec![0u32; counters];
        for element in sets.iter().flat_map(|set| set.iter()) {
            let count = &mut counts[(element >> shift) as usize];
            *count = count.saturating_add(1);
        }
        let per_thread = sets.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for sets in sets.chunks_mut(per_thread) {
                let counts = &counts;
                scope.spawn(move || {
                    for set in sets {
                        for element in &mut *set {
                            let level = level(counts[(*element >> shift) as usize]);
                            *element = *element << LEVEL_BITS >> LEVEL_BITS
                                | level << (u64::BITS - LEVEL_BITS);
                        }
                        set.sort_unstable();
                    }
                });
            }
        });
        Self(sets)
    }

    /// The Jaccard similarity of two sets.
    pub(super) fn jaccard(&self, one: usize, other: usize) -> f64 {
        let (one, other) = (&self.0[one], &self.0[other]);
        jaccard(common(one, other, 0).unwrap_or(0), one.len() + other.len())
    }

    /// The components of the pairs whose similarity is at least the threshold. No set is empty.
    pub(super) fn components(&self, threshold: f64, progress: &InputProgress) -> Components {
        let mut components = Components::new(self.0.len());
        if threshold <= 0.0 {
            (1..self.0.len()).for_each(|set| components.unite(0, set));
            return components;
        }
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|set| self.0[*set].len());
        let mut search = Search {
            sets: &self.0,
            threshold,
            components,
            lists: HashMap::default(),
            seen: vec![usize::MAX; self.0.len()],
        };
        for set in order {
            search.look_up(set);
            search.index(set);
            progress.advance(1);
        }
        search.components
    }
}

/// A measure of a count: 0 if and only if it is 1.
fn level(count: u32) -> u64 {
    let eighths = f64::from(count.max(1)).log2() * 8.0;
    (eighths as u64).min((1 << LEVEL_BITS) - 1)
}

/// Whether only one set has this element.
fn is_unique(element: u64) -> bool {
    element >> (u64::BITS - LEVEL_BITS) == 0
}

fn jaccard(common: usize, sum_of_lengths: usize) -> f64 {
    common as f64 / (sum_of_lengths - common) as f64
}

/// The number of common elements, if it is at least `min`.
fn common(mut one: &[u64], mut other: &[u64], min: usize) -> Option<usize> {
    let mut common = 0;
    while let ([a, ones @ ..], [b, others @ ..]) = (one, other) {
        if common + one.len().min(other.len()) < min {
            return None;
        }
        common += usize::from(a == b);
        if a <= b {
            one = ones;
        }
        if b <= a {
            other = others;
        }
    }
    (common >= min).then_some(common)
}

/// The sets before the current one, which are no longer than it.
struct Search<'s> {
    sets: &'s [Box<[u64]>],
    threshold: f64,
    components: Components,
    /// For each element of a prefix.
    lists: HashMap<u64, PrefixList, BuildHasherDefault<ElementHasher>>,
    /// For each set, the last one with which it was compared.
    seen: Vec<usize>,
}

/// The sets whose prefixes have an element.
#[derive(Default)]
struct PrefixList {
    /// In ascending order of length: the set, and the position of the element in it.
    entries: Vec<(u32, u32)>,
    /// The entries before this are too short for all sets to come.
    first: usize,
    /// Whether all are known to be in one component.
    is_one_component: bool,
}

impl Search<'_> {
    /// Unites a set with those before it that are similar to it.
    fn look_up(&mut self, set: usize) {
        let Self { sets, threshold, components, lists, seen } = self;
        let elements = &sets[set];
        let min_length = at_least(*threshold * elements.len() as f64);
        let prefix = elements.len() + 1 - min_length.max(1);
        for (position, element) in elements[..prefix].iter().enumerate() {
            let Some(list) = lists.get_mut(element) else { continue };
            let is_short = |entry: &(u32, u32)| sets[entry.0 as usize].len() < min_length;
            while list.entries.get(list.first).is_some_and(is_short) {
                list.first += 1;
            }
            let Some(last) = list.entries.last().filter(|_| list.first < list.entries.len()) else {
                continue;
            };
            if list.is_one_component && components.are_one(last.0 as usize, set) {
                continue;
            }
            let mut is_one_component = true;
            for (other, their_position) in &list.entries[list.first..] {
                let other = *other as usize;
                if components.are_one(other, set) {
                    continue;
                }
                if seen[other] == set {
                    is_one_component = false;
                    continue;
                }
                seen[other] = set;
                let theirs = &sets[other];
                let sum = elements.len() + theirs.len();
                let min = at_least(*threshold / (1.0 + *threshold) * sum as f64).max(1);
                // This is the first element that they have in common.
                let (ours, theirs) =
                    (&elements[position + 1..], &theirs[*their_position as usize + 1..]);
                let found = common(ours, theirs, min - 1).map(|common| jaccard(common + 1, sum));
                match found {
                    Some(similarity) if similarity >= *threshold => {
                        components.unite(other, set);
                        // Most often all of them are in that component.
                        if list.is_one_component {
                            break;
                        }
                    }
                    _ => is_one_component = false,
                }
            }
            list.is_one_component |= is_one_component;
        }
    }

    /// Adds the prefix of a set to the index.
    fn index(&mut self, set: usize) {
        let elements = &self.sets[set];
        // The sets to come are no shorter.
        let share = 2.0 * self.threshold / (1.0 + self.threshold);
        let prefix = elements.len() + 1 - at_least(share * elements.len() as f64).max(1);
        for (position, element) in elements[..prefix].iter().enumerate() {
            if is_unique(*element) {
                continue;
            }
            let list = self.lists.entry(*element).or_default();
            list.is_one_component = match list.entries.last() {
                None => true,
                Some(last) => {
                    list.is_one_component && self.components.are_one(last.0 as usize, set)
                }
            };
            // There are fewer than 2^32 sets and elements: they are in memory, and each has bytes.
            list.entries.push((set as u32, position as u32));
        }
    }
}

/// The least whole number that is not below a bound.
fn at_least(bound: f64) -> usize {
    (bound - SLACK).ceil().max(0.0) as usize
}

/// The components of a graph; the representative of each is its least member.
pub(super) struct Components {
    parents: Vec<u32>,
}

impl Components {
    fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    /// The representative of a member's component.
    pub(super) fn find(&mut self, member: usize) -> usize {
        let mut member = member as u32;
        loop {
            let parent = self.parents[member as usize];
            if parent == member {
                return member as usize;
            }
            // Halve the path for the next search.
            let grandparent = self.parents[parent as usize];
            self.parents[member as usize] = grandparent;
            member = grandparent;
        }
    }

    fn are_one(&mut self, one: usize, other: usize) -> bool {
        self.find(one) == self.find(other)
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other)] = one.min(other) as u32;
    }
}

/// Elements are hashes already, but for their level.
#[derive(Default)]
struct ElementHasher(u64);

impl Hasher for ElementHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, element: u64) {
        self.0 = element << LEVEL_BITS;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crivo::Digest;
    use proptest::prelude::*;

    use super::*;

    fn digest(element: u64) -> u64 {
        Digest::new(element).remix().get()
    }

    /// The component of each set, by all pairs.
    fn naive(sets: &[HashSet<u64>], threshold: f64) -> Vec<usize> {
        let mut component: Vec<usize> = (0..sets.len()).collect();
        for b in 0..sets.len() {
            for a in 0..b {
                let common = sets[a].intersection(&sets[b]).count();
                let all = sets[a].union(&sets[b]).count();
                if common as f64 / all as f64 >= threshold {
                    let (to, from) =
                        (component[a].min(component[b]), component[a].max(component[b]));
                    component.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
                }
            }
        }
        component
    }

    fn found(sets: &[HashSet<u64>], threshold: f64) -> Vec<usize> {
        let digests = |set: &HashSet<u64>| set.iter().map(|element| digest(*element)).collect();
        let sets = RankedSets::new(sets.iter().map(digests).collect(), 2);
        let mut components = sets.components(threshold, &InputProgress::NONE);
        (0..sets.0.len()).map(|set| components.find(set)).collect()
    }

    #[test]
    fn a_threshold_that_is_met_exactly_is_met() {
        let set = |elements: std::ops::Range<u64>| elements.collect::<HashSet<_>>();
        for (a, b, similarity) in [(9, 10, 0.9), (4, 5, 0.8), (1, 3, 1.0 / 3.0), (7, 7, 1.0)] {
            let sets = [set(0..a), set(0..b)];
            assert_eq!(found(&sets, similarity), [0, 0], "{a}/{b}");
            assert_eq!(found(&sets, similarity + 1e-9), [0, 1], "{a}/{b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: prop::test_runner::RngSeed::Fixed(5), ..Default::default() })]

        /// Sets that differ little from one of a few, so that many are similar and many nearly so.
        #[test]
        fn components_are_those_of_all_pairs(
            bases in prop::collection::vec(prop::collection::hash_set(0u64..40, 1..20), 1..4),
            edits in prop::collection::vec((any::<usize>(), prop::collection::vec(0u64..60, 0..6)), 1..60),
            threshold in prop::sample::select(vec![0.0, 0.01, 0.3, 0.5, 2.0 / 3.0, 0.75, 0.8, 0.9, 1.0]),
        ) {
            let edited = |(base, edits): &(usize, Vec<u64>)| {
                let mut set = bases[base % bases.len()].clone();
                for edit in edits {
                    if !set.remove(edit) || set.is_empty() {
                        set.insert(*edit);
                    }
                }
                set
            };
            let sets: Vec<_> = edits.iter().map(edited).collect();
            prop_assert_eq!(found(&sets, threshold), naive(&sets, threshold));
        }
    }
}
