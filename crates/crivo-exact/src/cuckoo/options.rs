//! The variations of cuckoo hashing.

use super::evict::MAX_CHOICES;
use crivo::theory::cuckoo::load_threshold;
use crivo::{KeyHasher, ParameterError};

/// The load at which a table grows, where theory allows as much.
pub(super) const DEFAULT_MAX_LOAD: f64 = 0.95;

/// How room is made for a key all of whose buckets are full.
///
/// ```
/// use crivo_exact::Eviction;
///
/// assert_eq!(Eviction::default(), Eviction::breadth_first());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eviction {
    /// The shortest chain of moves, found by looking at no more than `max_buckets` buckets.
    BreadthFirst {
        /// The limit of the search: 1 to 65,536.
        max_buckets: usize,
    },
    /// Evicts a random entry, which evicts another, for no more than `max_moves` moves.
    RandomWalk {
        /// The limit of the search: 1 to 65,536.
        max_moves: usize,
    },
}

impl Eviction {
    /// Breadth-first search over at most 1,024 buckets.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    ///
    /// assert_eq!(Eviction::breadth_first(), Eviction::BreadthFirst { max_buckets: 1_024 });
    /// ```
    pub const fn breadth_first() -> Self {
        Self::BreadthFirst { max_buckets: 1024 }
    }

    /// A random walk of at most 512 moves.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    ///
    /// assert_eq!(Eviction::random_walk(), Eviction::RandomWalk { max_moves: 512 });
    /// ```
    pub const fn random_walk() -> Self {
        Self::RandomWalk { max_moves: 512 }
    }
}

impl Default for Eviction {
    fn default() -> Self {
        Self::breadth_first()
    }
}

/// Whether all choices share one table.
///
/// ```
/// use crivo_exact::{CuckooMap, CuckooOptions, TableLayout};
///
/// let options = CuckooOptions { layout: TableLayout::SeparateTables, ..CuckooOptions::default() };
/// let map: CuckooMap<u64, u64> = options.build(1_000)?;
/// assert_eq!(map.slot_count() % 2, 0); // two tables of equal size
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TableLayout {
    /// Every choice may be any bucket.
    #[default]
    OneTable,
    /// Choice i is a bucket of the i-th of d tables of equal size.
    SeparateTables,
}

/// The parameters of a [`CuckooMap`](super::CuckooMap).
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_exact::{CuckooMap, CuckooOptions, Eviction, TableLayout};
///
/// let mut textbook: CuckooMap<u64, ()> = CuckooOptions {
///     choices: 2,
///     bucket_size: 1,
///     layout: TableLayout::SeparateTables,
///     stash: 4,
///     eviction: Eviction::random_walk(),
///     max_load: Some(0.45),
///     hasher: KeyHasher::xxh3(1),
/// }
/// .build(1000)?;
/// textbook.insert(7, ())?;
/// assert!(textbook.contains_key(&7));
///
/// let error = CuckooOptions { choices: 5, ..CuckooOptions::default() }
///     .build::<u64, u64>(1000)
///     .unwrap_err();
/// assert_eq!(error.to_string(), "choices is 5, but it must be from 2 to 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CuckooOptions {
    /// d, the number of buckets of a key: 2 to 4.
    pub choices: usize,
    /// b, the number of slots of a bucket: 1 to 8.
    pub bucket_size: usize,
    /// One table or d of them.
    pub layout: TableLayout,
    /// The maximum number of entries outside the table, used when no place is found: 0 to 64. Every
    /// lookup that fails in the table searches them.
    pub stash: usize,
    /// How room is made for a key.
    pub eviction: Eviction,
    /// The table grows when more than this fraction of its slots would be taken. By default 95%, or
    /// 3 points below the threshold of d and b in theory where that is less.
    pub max_load: Option<f64>,
    /// The hash function. A rebuild may replace it by another of the same family.
    pub hasher: KeyHasher,
}

impl Default for CuckooOptions {
    fn default() -> Self {
        Self {
            choices: 2,
            bucket_size: 8,
            layout: TableLayout::default(),
            stash: 0,
            eviction: Eviction::default(),
            max_load: None,
            hasher: KeyHasher::default(),
        }
    }
}

impl CuckooOptions {
    /// Checks every parameter and returns the load at which the table grows.
    pub(super) fn validate(&self) -> Result<f64, ParameterError> {
        if !(2..=MAX_CHOICES).contains(&self.choices) {
            return Err(ParameterError::new("choices", self.choices, "from 2 to 4"));
        }
        if !(1..=8).contains(&self.bucket_size) {
            return Err(ParameterError::new("bucket_size", self.bucket_size, "from 1 to 8"));
        }
        if self.stash > 64 {
            return Err(ParameterError::new("stash", self.stash, "at most 64"));
        }
        // Beyond that a search costs more than a larger table.
        let limits = 1..=65_536;
        match self.eviction {
            Eviction::BreadthFirst { max_buckets } if !limits.contains(&max_buckets) => {
                return Err(ParameterError::new("max_buckets", max_buckets, "from 1 to 65536"));
            }
            Eviction::RandomWalk { max_moves } if !limits.contains(&max_moves) => {
                return Err(ParameterError::new("max_moves", max_moves, "from 1 to 65536"));
            }
            _ => {}
        }
        match self.max_load {
            None => self.reachable_load(),
            Some(load) if (0.01..=1.0).contains(&load) => Ok(load),
            Some(load) => Err(ParameterError::of_real("max_load", load, "from 0.01 to 1")),
        }
    }

    /// A little less than the threshold of d and b in theory: close to it, searches grow long.
    fn reachable_load(&self) -> Result<f64, ParameterError> {
        let threshold = load_threshold(self.choices as u32, self.bucket_size as u32)?;
        Ok(DEFAULT_MAX_LOAD.min(threshold - 0.03))
    }
}
