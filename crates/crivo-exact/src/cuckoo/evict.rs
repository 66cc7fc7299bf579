//! Which entries have to move to make room for a new key.
//!
//! Both searches only read. They return a path of slots: the new key goes to the first, what
//! lies there to the second, and so on to the last, which is empty. A search that finds nothing
//! has changed nothing.
//!
//! ```text
//!   random walk:    at = one of the key's buckets
//!                   loop: if `at` has an empty slot, done
//!                         evict a random entry of `at`; at = one of its other buckets
//!
//!   breadth first:  look at every bucket one move away, then two, then three …:
//!                   the shortest path, at the price of remembering the buckets seen
//! ```

use std::collections::HashMap;

use super::Eviction;
use crivo::Digest;

/// The maximum number of buckets of a key.
pub(super) const MAX_CHOICES: usize = 4;

/// The buckets of a key. Some may coincide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices {
    buckets: [usize; MAX_CHOICES],
    count: usize,
}

impl Choices {
    #[inline]
    pub(super) fn new(count: usize, bucket: impl Fn(usize) -> usize) -> Self {
        let mut buckets = [0; MAX_CHOICES];
        for (i, place) in buckets.iter_mut().enumerate().take(count) {
            *place = bucket(i);
        }
        Self { buckets, count }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[usize] {
        &self.buckets[..self.count]
    }

    /// The choices other than `bucket`.
    fn others(&self, bucket: usize) -> impl Iterator<Item = usize> + '_ {
        self.as_slice().iter().copied().filter(move |&other| other != bucket)
    }
}

/// What a search reads of a table. Slots are numbered consecutively: bucket i has the slots from
/// `i * bucket_size` on.
pub(super) trait Buckets {
    fn bucket_size(&self) -> usize;

    /// An empty slot of `bucket`.
    fn empty_slot(&self, bucket: usize) -> Option<usize>;

    /// The buckets of the key in `slot`, which is not empty.
    fn choices_of(&self, slot: usize) -> Choices;
}

impl Eviction {
    /// A path from one of the `start` buckets to an empty slot, if the search finds one within
    /// its limit and the memory that there is. `randomness` drives the random walk.
    pub(super) fn find_path(
        self,
        table: &impl Buckets,
        start: &Choices,
        randomness: &mut Randomness,
    ) -> Option<Vec<usize>> {
        match self {
            Self::BreadthFirst { max_buckets } => breadth_first(table, start, max_buckets),
            Self::RandomWalk { max_moves } => random_walk(table, start, max_moves, randomness),
        }
    }
}

/// A bucket that the search has reached, and the slot it came from.
struct Seen {
    bucket: usize,
    /// `None` for the buckets of the new key itself.
    from: Option<Step>,
}

/// The entry in `slot`, of the bucket that was seen as number `seen`, moves on.
#[derive(Clone, Copy)]
struct Step {
    seen: usize,
    slot: usize,
}

fn breadth_first(table: &impl Buckets, start: &Choices, max_buckets: usize) -> Option<Vec<usize>> {
    let mut seen: Vec<Seen> = Vec::new();
    for &bucket in start.as_slice() {
        if let Some(slot) = table.empty_slot(bucket) {
            return path_back(&seen, None, slot);
        }
        try_push(&mut seen, Seen { bucket, from: None })?;
    }
    let bucket_size = table.bucket_size();
    let mut next = 0;
    // A bucket may be seen twice. No path leads through the second sight of it: whatever it leads
    // to was found from the first, one or more moves nearer.
    while next < seen.len() {
        let bucket = seen[next].bucket;
        for slot in bucket * bucket_size..(bucket + 1) * bucket_size {
            let step = Step { seen: next, slot };
            for other in table.choices_of(slot).others(bucket) {
                if let Some(empty) = table.empty_slot(other) {
                    return path_back(&seen, Some(step), empty);
                }
                if seen.len() < max_buckets {
                    try_push(&mut seen, Seen { bucket: other, from: Some(step) })?;
                }
            }
        }
        next += 1;
    }
    None
}

fn path_back(seen: &[Seen], mut step: Option<Step>, empty: usize) -> Option<Vec<usize>> {
    let mut path = Vec::new();
    try_push(&mut path, empty)?;
    while let Some(Step { seen: number, slot }) = step {
        try_push(&mut path, slot)?;
        step = seen[number].from;
    }
    path.reverse();
    Some(path)
}

/// `None` if there is no memory.
fn try_push<T>(vector: &mut Vec<T>, element: T) -> Option<()> {
    vector.try_reserve(1).ok()?;
    vector.push(element);
    Some(())
}

/// The textbook's walk, except that nothing moves yet: which key is in a slot by now follows from
/// the path so far.
fn random_walk(
    table: &impl Buckets,
    start: &Choices,
    max_moves: usize,
    randomness: &mut Randomness,
) -> Option<Vec<usize>> {
    // `displaced[i]` goes to `path[i]`: the new key (`None`), or the key that was in that slot at
    // the start.
    let mut path: Vec<usize> = Vec::new();
    let mut displaced: Vec<Option<usize>> = Vec::new();
    try_push(&mut displaced, None)?;
    let mut last_visit: HashMap<usize, usize> = HashMap::new();
    let mut bucket = start.as_slice()[0];
    let bucket_size = table.bucket_size();
    while path.len() < max_moves {
        if let Some(slot) = table.empty_slot(bucket) {
            try_push(&mut path, slot)?;
            return Some(path);
        }
        let slot = bucket * bucket_size + randomness.below(bucket_size);
        last_visit.try_reserve(1).ok()?;
        let evicted = match last_visit.insert(slot, path.len()) {
            Some(visit) => displaced[visit],
            None => Some(slot),
        };
        try_push(&mut path, slot)?;
        try_push(&mut displaced, evicted)?;
        let choices = evicted.map_or(*start, |slot| table.choices_of(slot));
        let others = choices.others(bucket).count();
        // A key whose choices all coincide can only try the same bucket again.
        if others > 0 {
            bucket = choices.others(bucket).nth(randomness.below(others)).unwrap_or(bucket);
        }
    }
    None
}

/// A stream of numbers that is the same in every run.
#[derive(Debug, Clone)]
pub(super) struct Randomness(Digest);

impl Randomness {
    pub(super) const fn new() -> Self {
        Self(Digest::new(0))
    }

    /// A number in `0..bound`; no number is drawn where there is no choice.
    fn below(&mut self, bound: usize) -> usize {
        if bound <= 1 {
            return 0;
        }
        self.0 = self.0.remix();
        crivo::hash::reduce(self.0.get(), bound as u64) as usize
    }
}
