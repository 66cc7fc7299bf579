//! Admission to a cache: objects that are requested once are not worth keeping.
//!
//! Three quarters of the objects of a large content network are requested once and never again:
//! *one-hit wonders*. A cache that keeps every object writes each of them, and evicts something useful
//! for it. The remedy is one check before writing: **was it requested before?** A filter answers that
//! in a few bits per object.
//!
//! ```text
//!   request ──► cache ──hit──► serve
//!                 │
//!                miss ──► fetch and serve ──► seen before?  ──no──► remember
//!                                                   │
//!                                                  yes ──► write to the cache
//! ```
//!
//! ```
//! use crivo_sketch::admission::SecondRequest;
//!
//! let mut door = SecondRequest::new(100_000, 0.01)?; // remembers the last 100,000 or more
//! assert!(!door.admit("/cat.jpg")); // asked for once: serve, but do not keep
//! assert!(door.admit("/cat.jpg"));  // asked for again: keep
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! # Forgetting
//!
//! A filter that is only ever filled accepts everything in the end. [`SecondRequest`] has two: new
//! objects go into the younger, and when that is full, the older is emptied and they change places. So it remembers the last `window` objects at least, and twice as many at most.
//! [`AgeingSketch`] counts, up to 15, and halves all counts from time to time: it estimates
//! *how often*, at several bits per object more.
//!
//! # False positives
//!
//! A filter with a false-positive rate of 1% admits one in a hundred one-hit wonders: it loses 1% of
//! what it saves. A filter has no false negatives, so that no object has to be
//! requested three times.
//!
//! # What it saves, what it costs
//!
//! Every object is fetched twice before it is kept: the second request is a miss that a plain cache
//! might have answered. Where most objects come once, the room that they leave is worth more than
//! that; and the cache is written to a fraction as often, which is what wears out flash memory.
//! The study (`crivo study admission`) measures both, beside plain LRU, W-TinyLFU and S3-FIFO.
//!
//! # When not to use it
//! A cache that holds nearly everything that is requested, or requests that come in bursts of two:
//! there the lost second request weighs more than the room.
//!
//! # References
//! - B. Maggs, R. Sitaraman, *Algorithmic nuggets in content delivery*, SIGCOMM CCR 2015: where the
//!   three quarters were found, and what filters saved: nearly half of the disk writes.
//! - G. Einziger, R. Friedman, B. Manes, *TinyLFU: a highly efficient cache admission policy*, ToS
//!   2017: counting with ageing, and W-TinyLFU.

mod ageing;
mod second;

pub use ageing::AgeingSketch;
pub use second::SecondRequest;
