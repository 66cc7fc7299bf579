//! Every dictionary behind one interface, with a given number of slots.

use std::hash::{BuildHasher, Hasher};

use crivo::KeyHasher;
use crivo_exact::{ChainedMap, CuckooMap, CuckooOptions, Dictionary, LinearMap};

use crate::StudyError;
use crate::plot::Hue;

/// A dictionary from u64 to u64.
pub(super) trait Subject {
    fn insert(&mut self, keys: &[u64]) -> Result<(), StudyError>;
    /// How many of the keys are found.
    fn count(&self, keys: &[u64]) -> u64;
    /// Removes the keys; returns how many were present.
    fn remove(&mut self, keys: &[u64]) -> u64;
    fn slots(&self) -> usize;
    fn bytes(&self) -> usize;
}

struct Own<D>(D);

impl<D: Dictionary<u64, u64>> Subject for Own<D> {
    fn insert(&mut self, keys: &[u64]) -> Result<(), StudyError> {
        for &key in keys {
            self.0.insert(key, !key)?;
        }
        Ok(())
    }

    fn count(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.get(key) == Some(&!key))).sum()
    }

    fn remove(&mut self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.remove(key).is_some())).sum()
    }

    fn slots(&self) -> usize {
        self.0.slot_count()
    }

    fn bytes(&self) -> usize {
        self.0.size_in_bytes()
    }
}

/// crivo's default hash for the baseline, so that only the tables differ.
#[derive(Clone, Copy)]
struct SameHash(KeyHasher);

struct SameHasher {
    hasher: KeyHasher,
    digest: u64,
}

impl BuildHasher for SameHash {
    type Hasher = SameHasher;

    fn build_hasher(&self) -> SameHasher {
        SameHasher { hasher: self.0, digest: 0 }
    }
}

impl Hasher for SameHasher {
    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.digest = self.hasher.digest(&key).get();
    }

    fn write(&mut self, bytes: &[u8]) {
        self.digest = self.hasher.digest(bytes).get();
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.digest
    }
}

struct Baseline {
    map: hashbrown::HashMap<u64, u64, SameHash>,
    slots: usize,
}

impl Subject for Baseline {
    fn insert(&mut self, keys: &[u64]) -> Result<(), StudyError> {
        for &key in keys {
            self.map.insert(key, !key);
        }
        Ok(())
    }

    fn count(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.map.get(key) == Some(&!key))).sum()
    }

    fn remove(&mut self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.map.remove(key).is_some())).sum()
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> usize {
        self.map.allocation_size()
    }
}

/// The baseline's name.
pub(super) const BASELINE: &str = "hashbrown";

/// A dictionary to be compared: its name, its colour, and its maximum load.
#[derive(Debug, Clone, Copy)]
pub(super) struct DictionaryKind {
    pub(super) name: &'static str,
    pub(super) hue: Hue,
    /// The maximum load that is measured.
    pub(super) max_load: f64,
    form: MapForm,
}

#[derive(Debug, Clone, Copy)]
enum MapForm {
    Hashbrown,
    Chained,
    Linear,
    Cuckoo { choices: usize, bucket_size: usize, stash: usize },
}

const fn cuckoo(
    name: &'static str,
    hue: Hue,
    max_load: f64,
    shape: (usize, usize, usize),
) -> DictionaryKind {
    let (choices, bucket_size, stash) = shape;
    DictionaryKind { name, hue, max_load, form: MapForm::Cuckoo { choices, bucket_size, stash } }
}

/// All dictionaries. A cuckoo table is d × b: d buckets for a key, b slots in each.
pub(super) const KINDS: [DictionaryKind; 8] = [
    DictionaryKind { name: BASELINE, hue: Hue::Hashbrown, max_load: 1.0, form: MapForm::Hashbrown },
    DictionaryKind { name: "chaining", hue: Hue::Chained, max_load: 1.0, form: MapForm::Chained },
    DictionaryKind {
        name: "linear probing",
        hue: Hue::Linear,
        max_load: 0.96,
        form: MapForm::Linear,
    },
    cuckoo("cuckoo 2 × 1", Hue::Counting, 0.45, (2, 1, 0)),
    cuckoo("cuckoo 2 × 1, stash 4", Hue::Bad, 0.45, (2, 1, 4)),
    cuckoo("cuckoo 3 × 1", Hue::Quotient, 0.86, (3, 1, 0)),
    cuckoo("cuckoo 2 × 4", Hue::Fuse, 0.96, (2, 4, 0)),
    cuckoo("cuckoo 2 × 8", Hue::Cuckoo, 0.96, (2, 8, 0)),
];

impl DictionaryKind {
    /// An empty dictionary with a table of this many slots, a power of two.
    pub(super) fn build(
        &self,
        slots: usize,
        hasher: KeyHasher,
    ) -> Result<Box<dyn Subject>, StudyError> {
        Ok(match self.form {
            // It fills at most seven eighths of a power of two, and then doubles.
            MapForm::Hashbrown => Box::new(Baseline {
                map: hashbrown::HashMap::with_capacity_and_hasher(slots / 8 * 7, SameHash(hasher)),
                slots,
            }),
            MapForm::Chained => Box::new(Own(ChainedMap::with_capacity_and_hasher(slots, hasher)?)),
            MapForm::Linear => {
                let capacity = (slots as f64 * 0.97) as usize;
                Box::new(Own(LinearMap::with_max_load(capacity, 0.97, hasher)?))
            }
            MapForm::Cuckoo { choices, bucket_size, stash } => {
                let options = CuckooOptions {
                    choices,
                    bucket_size,
                    stash,
                    max_load: Some(1.0),
                    hasher,
                    ..CuckooOptions::default()
                };
                Box::new(Own(options.build::<u64, u64>(slots)? as CuckooMap<u64, u64>))
            }
        })
    }
}
