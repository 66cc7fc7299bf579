//! Bits in bulk: words at cache lines, and slots of any width, packed without waste.
//!
//! A table of 12-bit fingerprints in a `Vec<u16>` leaves a quarter of its memory empty.
//! [`PackedSlots`] puts the slots next to each other, across the borders of words:
//!
//! ```text
//!   width 12:  slot 0      slot 1      slot 2      slot 3      slot 4      slot 5
//!            |0        11|12       23|24       35|36       47|48       59|60 … |… 71|
//!   words:   |0                                                             63|64 …
//! ```
//!
//! Slot i is the bits from i·width to i·width + width − 1, counted from the lowest bit of the first
//! word. It may lie across two words and never more, because it has at most 64 bits: so a read is
//! two loads, a shift and a mask, whatever the width.
//!
//! ```
//! use crivo::bits::PackedSlots;
//!
//! let mut fingerprints = PackedSlots::try_new(12, 1000)?;
//! fingerprints.set(5, 0xabc);
//! assert_eq!(fingerprints.get(5), 0xabc);
//! assert_eq!(fingerprints.size_in_bits(), 12_000); // 16,000 in a Vec<u16>
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! *When not to use it:* at widths of 8, 16, 32 and 64 bits a plain vector is as small, and
//! faster to read.

mod packed;
mod words;

pub use packed::PackedSlots;
pub use words::Words;
