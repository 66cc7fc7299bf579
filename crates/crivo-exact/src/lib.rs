//! Exact dictionaries: maps that never err, and one that may.
//!
//! | map | a lookup touches | removal | memory for u64 → u64, bytes per entry |
//! |---|---|---|---|
//! | [`ChainedMap`] | its bucket's chain | yes | 28 and more |
//! | [`LinearMap`] | a run of neighbouring slots | yes, by backward shift | 17 / load |
//! | [`CuckooMap`] | d buckets, always | yes | 17 / load: 17.9 at 95% |
//! | [`CompactedMap`] | a run of neighbouring slots | yes, but it may take another key's entry | l bits instead of a key: 15.0 at l = 40; **may err** |
//!
//! All of them hash with a [`KeyHasher`](crivo::KeyHasher), so that their behaviour is the same
//! on every platform, and all follow [`Dictionary`], so that an experiment runs over each.
//!
//! ```
//! use crivo_exact::{ChainedMap, CuckooMap, Dictionary, InsertError, LinearMap};
//!
//! fn count_words<D: Dictionary<String, u32>>(mut counts: D, text: &str) -> Result<D, InsertError> {
//!     for word in text.split_whitespace() {
//!         let word = word.to_string();
//!         match counts.get_mut(&word) {
//!             Some(count) => *count += 1,
//!             None => drop(counts.insert(word, 1)?),
//!         }
//!     }
//!     Ok(counts)
//! }
//!
//! let text = "the cat and the hat";
//! assert_eq!(count_words(ChainedMap::new(), text)?.get("the"), Some(&2));
//! assert_eq!(count_words(LinearMap::new(), text)?.get("the"), Some(&2));
//! assert_eq!(count_words(CuckooMap::new(), text)?.get("the"), Some(&2));
//! # Ok::<(), InsertError>(())
//! ```

//! # Panics in keys and values
//!
//! If a key's hash function or comparison, or the `Clone` or `Drop` of a key or a value panics, the map
//! stays consistent, whatever the operation. No entry is lost that the operation does not remove, and
//! none is leaked. As with `Vec`, a `Drop` that panics while another panic unwinds aborts the process.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod chained;
mod compacted;
pub mod cuckoo;
mod dictionary;
mod error;
mod group;
mod linear;
mod load;
mod slots;
mod tags;
mod unwind;

pub use chained::ChainedMap;
pub use compacted::{CompactedMap, Inserted, Lookup};
pub use cuckoo::{CuckooMap, CuckooOptions, Eviction, TableLayout};
pub use dictionary::Dictionary;
pub use error::InsertError;
pub use linear::LinearMap;

/// The iterators of the maps: by reference, by mutable reference and by value.
pub mod iter {
    pub use crate::chained::{ChainedEntries, ChainedEntriesMut, IntoChainedEntries};
    pub use crate::compacted::{CompactedEntries, CompactedEntriesMut, IntoCompactedEntries};
    pub use crate::slots::{Entries, EntriesMut, IntoEntries};
}
