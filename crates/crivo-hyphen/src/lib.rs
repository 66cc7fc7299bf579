//! Hyphenation by TeX patterns: where may a word be divided at the end of a line?

mod breaks;

pub use breaks::Breaks;
