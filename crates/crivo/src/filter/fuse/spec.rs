//! The dimensions of a fuse filter.

use super::equation::{FuseGeometry, MAX_BITS};
use super::{Fuse, FuseOptions};
use crate::filter::digests::digests;
use crate::filter::{Bytes, Capabilities, FilterSpec, Kind, SpecError, threads};
use crate::theory::digest;
use crate::theory::fuse::{self as theory, Arity};
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::check::check_keys;

/// The specification of a [`Fuse`] filter: how many keys, the bits of a fingerprint, and the cells of
/// a key.
///
/// A filter that is [built from](FilterSpec::build_from) other than `capacity` distinct keys is as
/// large as those need.
///
/// ```
/// use crivo::filter::{FilterSpec, FuseSpec};
/// use crivo::theory::fuse::Arity;
///
/// let spec = FuseSpec::for_fpr(1_000_000, 0.01)?;
/// assert_eq!((spec.width(), spec.arity()), (7, Arity::Three));
/// let small = spec.with_arity(Arity::Four)?;
/// assert_eq!(format!("{:.2} {:.2}", spec.bits_per_key(), small.bits_per_key()), "7.91 7.54");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseSpec {
    capacity: u64,
    width: u32,
    arity: Arity,
    word_count: u64,
}

impl FuseSpec {
    /// The filter of `capacity` keys with fingerprints of `width` bits, and the usual number of cells
    /// for that many keys.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, FuseSpec};
    ///
    /// let spec = FuseSpec::with_width(1_000_000, 8)?;
    /// assert!((spec.fpr_when_full() - 1.0 / 256.0).abs() < 1e-9);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0 or above 2^56, or the width is not from 1 to 32.
    pub fn with_width(capacity: u64, width: u32) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        Self::new(capacity, width, default_arity(capacity))
    }

    /// The same with three cells for a key, or with four.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, FuseSpec};
    /// use crivo::theory::fuse::Arity;
    ///
    /// let spec = FuseSpec::with_width(1_000_000, 8)?;
    /// let bits_per_key = |arity| spec.with_arity(arity).map(|spec| spec.bits_per_key());
    /// assert_eq!(format!("{:.2}", bits_per_key(Arity::Three)?), "9.04");
    /// assert_eq!(format!("{:.2}", bits_per_key(Arity::Four)?), "8.62");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are more keys than cells can be made for.
    pub fn with_arity(self, arity: Arity) -> Result<Self, ParameterError> {
        Self::new(self.capacity, self.width, arity)
    }

    fn new(capacity: u64, width: u32, arity: Arity) -> Result<Self, ParameterError> {
        let word_count = geometry_for(capacity, width, arity)?.word_count();
        Ok(Self { capacity, width, arity, word_count })
    }

    /// Of a filter that was built with this geometry.
    pub(super) fn of(capacity: u64, geometry: &FuseGeometry) -> Self {
        let FuseGeometry { width, arity, .. } = *geometry;
        Self { capacity, width, arity, word_count: geometry.word_count() }
    }

    /// w: the bits of a fingerprint.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, FuseSpec};
    ///
    /// assert_eq!(FuseSpec::for_fpr(1_000, 0.001)?.width(), 10);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn width(&self) -> u32 {
        self.width
    }

    /// How many cells a key has.
    ///
    /// ```
    /// use crivo::filter::FuseSpec;
    /// use crivo::theory::fuse::Arity;
    ///
    /// let spec = FuseSpec::with_width(1_000, 8)?.with_arity(Arity::Four)?;
    /// assert_eq!(spec.arity(), Arity::Four);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn arity(&self) -> Arity {
        self.arity
    }

    /// The words of the table, of 64 bits each.
    ///
    /// ```
    /// use crivo::filter::{FilterSpec, FuseSpec};
    ///
    /// let spec = FuseSpec::with_width(1_000_000, 8)?;
    /// assert_eq!(spec.word_count() * 64, spec.size_in_bits());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn word_count(&self) -> u64 {
        self.word_count
    }

    /// What it takes to build it, on as many threads as the machine has.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo::filter::{FilterSpec, FuseOptions, FuseSpec};
    ///
    /// let spec = FuseSpec::for_fpr(2, 0.01)?;
    /// let on_one_thread = FuseOptions { threads: Some(1), ..spec.options(KeyHasher::default()) };
    /// assert!(on_one_thread.build(["ana", "eva"])?.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options(&self, hasher: KeyHasher) -> FuseOptions {
        FuseOptions { width: self.width, arity: Some(self.arity), threads: None, hasher }
    }
}

impl FilterSpec for FuseSpec {
    type Filter = Fuse;

    const KIND: Kind = Kind::Fuse;

    const CAPABILITIES: Capabilities = Capabilities::STATIC;

    const SUMMARY: &'static str = "static: built from all keys at once";

    /// The narrowest fingerprints that keep the FPR: ⌈log2(1/FPR)⌉ bits.
    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        match theory::width(digest::structure_fpr(capacity, fpr)?)? {
            width @ 1..=MAX_BITS => Self::with_width(capacity, width),
            _ => Err(ParameterError::of_real("fpr", fpr, "at least 2^-32")),
        }
    }

    /// The widest fingerprints that fit.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        // What is wrong with a single bit is wrong with the capacity.
        Self::with_width(capacity, 1)?;
        let bits = memory.in_bits()?;
        (1..=MAX_BITS)
            .rev()
            .filter_map(|width| Self::with_width(capacity, width).ok())
            .find(|spec| spec.size_in_bits() <= bits)
            .ok_or_else(|| memory.too_few())
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn size_in_bits(&self) -> u64 {
        self.word_count.saturating_mul(64)
    }

    /// 2^−w, however many keys there are, and their digests; 0 if there are none.
    fn fpr_at(&self, keys: u64) -> f64 {
        if keys == 0 {
            return 0.0;
        }
        // The width of a specification is valid.
        digest::fpr(theory::fpr(self.width).unwrap_or(1.0), keys)
    }

    fn build(&self, _: KeyHasher) -> Result<Fuse, BuildError> {
        let allowed = "one that takes keys one by one; a fuse filter takes all at once";
        Err(ParameterError::new("kind", Kind::Fuse, allowed).into())
    }

    /// On as many threads as the machine has.
    fn build_from(&self, digests: Vec<Digest>, hasher: KeyHasher) -> Result<Fuse, SpecError> {
        Ok(self.options(hasher).build_digests(digests)?)
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Fuse, SpecError> {
        let count = threads::count_for(threads, items.len())?;
        let digests = digests(items, digest_of, count)?;
        Ok(FuseOptions { threads, ..self.options(hasher) }.build_digests(digests)?)
    }
}

/// The arity where none is asked for: a fourth cell costs little as long as all of them are in the
/// cache, and saves most where keys are few.
pub(in crate::filter) fn default_arity(key_count: u64) -> Arity {
    if key_count < 1 << 17 { Arity::Four } else { Arity::Three }
}

/// The dimensions for that many keys, with the first seed.
pub(in crate::filter) fn geometry_for(
    key_count: u64,
    width: u32,
    arity: Arity,
) -> Result<FuseGeometry, ParameterError> {
    let layout = theory::layout(key_count.max(1), arity)?;
    let first_cells = if key_count == 0 { 0 } else { layout.segment_count * layout.segment_length };
    let segment_length = layout.segment_length;
    let geometry = FuseGeometry {
        arity,
        width,
        segment_length,
        first_cells,
        seed: super::options::seed_of(0),
    };
    geometry.check()?;
    Ok(geometry)
}
