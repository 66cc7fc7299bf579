//! Rateless invertible tables: symbols without end, of which as many are sent as the difference needs.
//!
//! An id is an element of a set; a *coded symbol* is the xor of some of a set's ids, with the xor of
//! their checksums and their number. Two peers make the same symbols, each of its own set. In the
//! difference of two symbols all that both have is gone:
//!
//! ```text
//!                       symbol 0        symbol 1       symbol 2
//!   there {a, b, c}     a⊕b⊕c   3       a⊕c   2        b     1
//!   here  {a, b, e}     a⊕b⊕e   3       a⊕e   2        b⊕e   2
//!   difference            c⊕e   0         c⊕e   0        e  −1      ← one id alone: e, only here
//!   … without e             c   1         c     1        0          ← c, only there
//!   … without c             0             0              0          symbol 0 is empty: all is known
//! ```
//!
//! A symbol with a count of ±1 whose checksum is that of its sum has one id. It is taken out of all
//! other symbols that have it, which may leave one alone elsewhere, and so on, as in a
//! [fuse filter](crivo::filter::fuse)'s construction. Symbol i takes an id in with probability
//! 1/(1 + i/2): whatever the size of the difference, among the first symbols there are always some
//! with one id. So the size need not be known in advance, and no symbol is ever sent twice.
//!
//! # How a lone id is recognised
//!
//! A count of ±1 may also be three ids of which one is on the other side, or five, and so on. An id
//! is taken out only if all of these hold:
//!
//! - the symbol's checksum, 32 bits, is that of the id;
//! - the symbol is one that takes this id in, which is by chance with probability 2/(i+2);
//! - an id that is only here is in the set here, and one that is only there is not.
//!
//! The last alone settles ids that are only here. For those only there about 2·√d looks at symbols
//! count, each wrong with probability 2^−32: 1.5e-8 for a difference of 1,000, and 5e-7 for
//! a million. A mistake makes no wrong answer. It leaves symbols that never become empty, and all is
//! known only when *every* symbol is; a [`Session`](super::Session) then ends by sending everything,
//! as with any difference that is too large. (With the very first symbols there are too few others to
//! tell: a wrong answer has a chance of 2^−32 there. A session never asks for fewer than 16, and
//! compares the sums of all 128-bit ids at its end.)
//!
//! # Cost
//!
//! A symbol takes 16 bytes for the sum, 4 for the checksum, and one or two for the count, which is
//! sent as what it differs from its mean. Measured, until all of d ids were decoded:
//!
//! ```text
//!   d                 1     2     4     6    16    64   256  1,024  4,096  65,536
//!   symbols per id   1.0  1.62  1.76  1.79  1.67  1.49  1.41  1.374  1.362   1.352
//! ```
//!
//! (5,000 exchanges for each small size, 195 for 1,024, 3 for 65,536. Published are 1.35 to 1.72. Four to
//! eight ids take a little more than that, 1.77 to 1.74, also with a true coin for each id and symbol in
//! 20,000 draws: means of fewer draws scatter as much, for a single one is off by 0.8.)
//! So 1,000 differing items cost about 29 KB, whatever the size of the sets. The same with ids of 64
//! bits would take 18 KB, at the price of collisions: 1e-5 at ten million items a side.
//!
//! The encoder of n ids makes m symbols in about 2·n·ln m steps, and holds nothing but the ids and
//! the symbols: which symbols an id is in follows from the id, block by block.
//!
//! # When not to use it
//! If more than a few percent of the sets differ, a filter finds most of the difference for a few
//! bits per item; see [`Session`](super::Session), which knows when.

pub(super) mod codec;
mod coder;
mod estimate;
mod mapping;
mod overhead;
mod symbol;
#[cfg(test)]
mod tests;

pub use coder::{Decoder, DecoderStatus, Difference, Encoder};
pub use estimate::DifferenceEstimate;
pub use overhead::expected_symbols;
pub use symbol::CodedSymbol;
