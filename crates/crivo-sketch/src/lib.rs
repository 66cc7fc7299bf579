//! Which sets are similar? A few hundred bytes for each set, however large, and an index that
//! finds similar ones without comparing all with all.
//!
//! The *Jaccard similarity* of two sets is what they have in common over what they have in all:
//! {apple, pear, plum} and {pear, plum, quince} share two of four, and have ½. Let a random
//! permutation order all possible elements, and ask each set for its least:
//!
//! ```text
//!   order        plum < quince < apple < pear
//!   one set      least: plum   ┐ equal: the least of the union, plum, is common to both.
//!   the other    least: plum   ┘ That happens with probability |A ∩ B| / |A ∪ B|, the similarity.
//! ```
//!
//! Repeat it with k permutations, and the fraction of agreeing values estimates the similarity, with a
//! standard error of √(s(1 − s)/k): 0.031 for 256 values. The k values are the set's *signature*,
//! and this is MinHash.
//!
//! ```
//! use crivo::KeyHasher;
//! use crivo_sketch::{Shingles, Sketcher};
//!
//! let texts = [
//!     "the quick brown fox jumps over the lazy dog and runs away",
//!     "the quick brown fox jumps over the lazy cat and runs away",
//! ];
//! let sketcher = Sketcher::classic(512)?;
//! let [one, other] = texts.map(|text| {
//!     Shingles::characters(5).unwrap().set(text, &sketcher.hasher())
//! });
//! let signature = |set: &crivo_sketch::DigestSet| {
//!     sketcher.sketch(set.digests().iter().copied()).expect("a set with elements")
//! };
//! let estimate = signature(&one).estimate(&signature(&other))?;
//! assert!((estimate.jaccard - one.jaccard(&other)).abs() < 3.0 * estimate.standard_error);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | step | what does it |
//! |---|---|
//! | text to a set | [`Shingles`] |
//! | exact similarity | [`DigestSet`] |
//! | set to signature | [`Sketcher`], in two [forms](Form); [`Signature::shortened`] for b bits of a value |
//! | signatures to similarity | [`Signature::estimate`] |
//! | bands for a threshold and a recall | [`Goal::plan`] |
//! | similar sets among many | [`SimilarityIndex`] |
//!
//! # Which form?
//!
//! | form | a set of n elements takes | candidates |
//! |---|---|---|
//! | [classic](Form::Classic) | n·k hashes | on the S-curve exactly |
//! | [one permutation](Form::OnePermutation) | n hashes, and about k more | within about a percentage point of it: [`one_permutation_candidates`] |
//! | b bits of either | | on the S-curve at s + (1 − s)/2^b |
//!
//! # When not to use it
//! For few sets: comparing all pairs exactly is simpler, and never wrong. For similarity below
//! about 0.3, where a threshold needs either many values or many false candidates. For containment
//! (is the small set part of the large one?), which Jaccard similarity does not measure.
//! Against adversaries it needs a secret key: with a known seed unrelated sets can be made to share a
//! signature.
//!
//! # References
//! - A. Broder, *On the resemblance and containment of documents*, 1997: shingles and MinHash.
//! - P. Li, A. Owen, C.-H. Zhang, *One permutation hashing*, NIPS 2012: bins, and the estimate that
//!   counts filled ones only.
//! - A. Shrivastava, *Optimal densification for fast and accurate minwise hashing*, ICML 2017: where
//!   empty bins should borrow.
//! - P. Li, C. König, *b-bit minwise hashing*, WWW 2010: how few bits are enough.
//! - J. Leskovec, A. Rajaraman, J. Ullman, *Mining of massive datasets*, chapter 3: bands and the
//!   S-curve, explained from the beginning.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod banding;
mod curve;
mod estimate;
mod index;
mod shingle;
mod signature;
mod sketcher;

pub mod admission;

pub use banding::{Banding, BandingPlan, Goal, GoalError};
pub use curve::one_permutation_candidates;
pub use estimate::SimilarityEstimate;
pub use index::{IndexError, Similar, SimilarityIndex};
pub use shingle::{DigestSet, Shingles};
pub use signature::{Signature, SignatureBits, SketchMismatch};
pub use sketcher::{Form, Sketcher, lender};
