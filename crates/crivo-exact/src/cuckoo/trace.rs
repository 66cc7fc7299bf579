//! An insertion, move by move, for teaching.
//!
//! The caller says where each key may go, and the table reports which key moved where. It searches with
//! the same code as [`CuckooMap`](super::CuckooMap).
//!
//! ```
//! use crivo_exact::Eviction;
//! use crivo_exact::cuckoo::trace::TraceTable;
//!
//! // The lecture's keys with h1 and h2, for a table of nine places.
//! let keys = [("A", [0, 3]), ("B", [3, 8]), ("C", [1, 2]), ("H", [4, 7]), ("P", [5, 8]), ("W", [7, 4])];
//!
//! let mut walk = TraceTable::new(9, Eviction::random_walk())?;
//! let mut search = TraceTable::new(9, Eviction::breadth_first())?;
//! for (key, places) in keys {
//!     walk.insert(key, &places)?;
//!     search.insert(key, &places)?;
//! }
//! assert_eq!(walk.to_string(), "0:A 1:C 2:· 3:B 4:H 5:P 6:· 7:W 8:·");
//!
//! // The walk starts at h1, and a displaced key goes to its other place.
//! let moves = walk.insert("Z", &[7, 0])?;
//! assert_eq!(moves.to_string(), "Z→7, W→4, H→7, Z→0, A→3, B→8");
//!
//! // Breadth-first search finds the shortest path.
//! let moves = search.insert("Z", &[7, 0])?;
//! assert_eq!(moves.to_string(), "Z→0, A→3, B→8");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use super::Eviction;
use super::evict::{Buckets, Choices, MAX_CHOICES, Randomness};
use crivo::ParameterError;
use thiserror::Error;

/// A table of places for one key each. Every key comes with its possible places.
///
/// ```
/// use crivo_exact::Eviction;
/// use crivo_exact::cuckoo::trace::TraceTable;
///
/// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
/// table.insert("A", &[0, 1])?;
/// assert_eq!(table.to_string(), "0:A 1:· 2:·");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TraceTable<K> {
    places: Vec<Option<Resident<K>>>,
    eviction: Eviction,
    randomness: Randomness,
}

#[derive(Debug, Clone)]
struct Resident<K> {
    key: K,
    choices: Choices,
}

/// The moves of an insertion, in order. The first is that of the new key.
///
/// ```
/// use crivo_exact::Eviction;
/// use crivo_exact::cuckoo::trace::TraceTable;
///
/// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
/// table.insert("A", &[0, 1])?;
/// assert_eq!(table.insert("B", &[0])?.to_string(), "B→0, A→1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moves<K>(Vec<(K, usize)>);

impl<K> Moves<K> {
    /// Each key that moved, and the place it went to.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    /// use crivo_exact::cuckoo::trace::TraceTable;
    ///
    /// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
    /// table.insert("A", &[0, 1])?;
    /// assert_eq!(table.insert("B", &[0])?.as_slice(), [("B", 0), ("A", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_slice(&self) -> &[(K, usize)] {
        &self.0
    }
}

impl<K: fmt::Display> fmt::Display for Moves<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, place)) in self.0.iter().enumerate() {
            write!(f, "{}{key}→{place}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Why a [`TraceTable`] refused a key. The table is unchanged.
///
/// ```
/// use crivo_exact::Eviction;
/// use crivo_exact::cuckoo::trace::{TraceError, TraceTable};
///
/// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
/// table.insert("A", &[0])?;
/// assert_eq!(table.insert("B", &[0]), Err(TraceError::NoPlace));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A place does not exist, or there are too few or too many of them.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The search found no path: time to rehash.
    #[error("no chain of moves makes a place for the key: rehash")]
    NoPlace,
}

impl<K: Clone> TraceTable<K> {
    /// A table of `places` empty places.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    /// use crivo_exact::cuckoo::trace::TraceTable;
    ///
    /// assert!(TraceTable::<&str>::new(9, Eviction::random_walk()).is_ok());
    /// assert!(TraceTable::<&str>::new(0, Eviction::random_walk()).is_err());
    /// ```
    ///
    /// # Errors
    /// If there are no places, or more than a million.
    pub fn new(places: usize, eviction: Eviction) -> Result<Self, ParameterError> {
        if !(1..=1_000_000).contains(&places) {
            return Err(ParameterError::new("places", places, "from 1 to 1000000"));
        }
        let places = std::iter::repeat_with(|| None).take(places).collect();
        Ok(Self { places, eviction, randomness: Randomness::new() })
    }

    /// Inserts `key`, which may go to any of `places` (one to four), and returns the moves.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    /// use crivo_exact::cuckoo::trace::TraceTable;
    ///
    /// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
    /// assert_eq!(table.insert("A", &[0, 1])?.to_string(), "A→0");
    /// assert_eq!(table.insert("B", &[0, 2])?.to_string(), "B→2");
    /// assert_eq!(table.insert("C", &[0, 2])?.to_string(), "C→0, A→1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a place does not exist, or if no chain of moves makes room. The table is then unchanged.
    pub fn insert(&mut self, key: K, places: &[usize]) -> Result<Moves<K>, TraceError> {
        if !(1..=MAX_CHOICES).contains(&places.len()) {
            return Err(ParameterError::new("number of places", places.len(), "from 1 to 4").into());
        }
        if let Some(place) = places.iter().find(|&&place| place >= self.places.len()) {
            return Err(ParameterError::new("place", place, "a place of the table").into());
        }
        let choices = Choices::new(places.len(), |i| places[i]);
        let mut randomness = self.randomness.clone();
        let path = self.eviction.find_path(self, &choices, &mut randomness);
        self.randomness = randomness;
        let mut displaced = Some(Resident { key, choices });
        let mut moves = Vec::new();
        for place in path.ok_or(TraceError::NoPlace)? {
            moves.extend(displaced.iter().map(|resident| (resident.key.clone(), place)));
            std::mem::swap(&mut self.places[place], &mut displaced);
        }
        Ok(Moves(moves))
    }

    /// The key at `place`.
    ///
    /// ```
    /// use crivo_exact::Eviction;
    /// use crivo_exact::cuckoo::trace::TraceTable;
    ///
    /// let mut table = TraceTable::new(3, Eviction::breadth_first())?;
    /// table.insert("A", &[1])?;
    /// assert_eq!((table.at(0), table.at(1)), (None, Some(&"A")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at(&self, place: usize) -> Option<&K> {
        self.places.get(place)?.as_ref().map(|resident| &resident.key)
    }
}

impl<K> Buckets for TraceTable<K> {
    fn bucket_size(&self) -> usize {
        1
    }

    fn empty_slot(&self, bucket: usize) -> Option<usize> {
        self.places[bucket].is_none().then_some(bucket)
    }

    fn choices_of(&self, slot: usize) -> Choices {
        match &self.places[slot] {
            Some(resident) => resident.choices,
            // Searches only ask about places that they found taken.
            None => Choices::new(0, |_| 0),
        }
    }
}

impl<K: fmt::Display> fmt::Display for TraceTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, resident) in self.places.iter().enumerate() {
            write!(f, "{}{place}:", if place > 0 { " " } else { "" })?;
            match resident {
                Some(resident) => write!(f, "{}", resident.key)?,
                None => f.write_str("·")?,
            }
        }
        Ok(())
    }
}
