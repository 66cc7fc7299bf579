//! How a fuse filter is built, and why it could not be.

use thiserror::Error;

use super::Fuse;
use super::equation::FuseGeometry;
use super::solve::solve;
use super::spec::{default_arity, geometry_for};
use super::table::FuseTable;
use crate::filter::threads;
use crate::theory::fuse::Arity;
use crate::{BuildError, Digest, Key, KeyHasher, ParameterError};
use crivo_core::memory::collected;

/// How many seeds are tried.
pub(in crate::filter) const MAX_ATTEMPTS: u64 = 128;

/// How to build a [`Fuse`] filter whose dimensions are given. A [`FuseSpec`](super::FuseSpec) finds
/// them for an FPR or for a memory.
///
/// ```
/// use crivo::filter::FuseOptions;
/// use crivo::theory::fuse::Arity;
/// use crivo::KeyHasher;
///
/// let small = FuseOptions {
///     width: 12,
///     arity: Some(Arity::Four),
///     threads: Some(1),
///     hasher: KeyHasher::xxh3(5),
/// }
/// .build(["ana", "rui"])?;
/// assert!(small.contains("ana"));
/// assert!((4096.0 * small.expected_fpr() - 1.0).abs() < 1e-9);
///
/// let error = FuseOptions { width: 33, ..FuseOptions::default() }.build(["ana"]).unwrap_err();
/// assert_eq!(error.to_string(), "width is 33, but it must be from 1 to 32");
/// # Ok::<(), crivo::filter::FuseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseOptions {
    /// w: the bits of a fingerprint, 1 to 32. The FPR is 2^−w.
    pub width: u32,
    /// The cells of a key; if it is left open, see [the module](super#three-cells-or-four).
    pub arity: Option<Arity>,
    /// The most threads that the construction may use; as many as the machine has, if it is left
    /// open. The filter is the same. Few keys are always left to one thread.
    pub threads: Option<usize>,
    /// The hash function.
    pub hasher: KeyHasher,
}

impl Default for FuseOptions {
    /// Fingerprints of 8 bits, an FPR of 0.39%; the default hasher; all else left open.
    fn default() -> Self {
        Self { width: 8, arity: None, threads: None, hasher: KeyHasher::default() }
    }
}

impl FuseOptions {
    /// The filter of these keys. Keys may be given more than once.
    ///
    /// ```
    /// use crivo::filter::FuseOptions;
    ///
    /// let filter = FuseOptions { width: 16, ..FuseOptions::default() }.build(["ana", "ana"])?;
    /// assert_eq!((filter.key_count(), filter.width()), (1, 16));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, there is no memory, or no seed was found
    /// ([`FuseError::Unsolved`]).
    pub fn build<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Fuse, FuseError> {
        self.build_digests(digests_of(keys, self.hasher)?)
    }

    /// The filter of the keys with these digests, which must come from [`Self::hasher`]. Digests
    /// may be given more than once.
    ///
    /// ```
    /// use crivo::filter::FuseOptions;
    ///
    /// let options = FuseOptions::default();
    /// let digests = ["ana", "eva"].map(|key| options.hasher.digest(key));
    /// assert!(options.build_digests(digests.to_vec())?.contains("eva"));
    /// # Ok::<(), crivo::filter::FuseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_digests(&self, digests: Vec<Digest>) -> Result<Fuse, FuseError> {
        // The memory is kept: a digest is its 64 bits.
        let mut digests: Vec<u64> = digests.into_iter().map(Digest::get).collect();
        let mut threads = threads::count_for(self.threads, digests.len())?;
        let mut geometry = self.geometry(digests.len())?;
        if digests.is_empty() {
            return Ok(Fuse::new(self.hasher, 0, FuseTable::zeroed(geometry)?));
        }
        let mut are_distinct = false;
        let mut attempt = 0;
        while attempt < MAX_ATTEMPTS {
            geometry.seed = seed_of(attempt);
            let mut cells = FuseTable::zeroed(geometry)?;
            if solve(&geometry, &mut digests, threads, cells.words_mut())? {
                return Ok(Fuse::new(self.hasher, digests.len() as u64, cells));
            }
            attempt += 1;
            // Equal digests put the same equation twice, neither of which can be taken away. To
            // look for them only now costs nothing where there are none.
            if !are_distinct {
                let given = digests.len();
                digests.sort_unstable();
                digests.dedup();
                are_distinct = true;
                if digests.len() < given {
                    geometry = self.geometry(digests.len())?;
                    threads = threads::count_for(self.threads, digests.len())?;
                    attempt = 0;
                }
            }
        }
        Err(FuseError::Unsolved { key_count: digests.len() as u64, attempts: MAX_ATTEMPTS })
    }

    /// The dimensions for that many keys, and the first seed.
    fn geometry(&self, key_count: usize) -> Result<FuseGeometry, ParameterError> {
        let key_count = key_count as u64;
        geometry_for(key_count, self.width, self.arity.unwrap_or(default_arity(key_count)))
    }
}

/// The seed of an attempt.
pub(in crate::filter) fn seed_of(attempt: u64) -> u64 {
    Digest::new(attempt).remix().get() | 1
}

/// The digests of keys, in memory that is asked for with care.
pub(in crate::filter) fn digests_of<K: Key>(
    keys: impl IntoIterator<Item = K>,
    hasher: KeyHasher,
) -> Result<Vec<Digest>, BuildError> {
    collected(keys.into_iter().map(|key| hasher.digest(&key)))
}

/// Why a [`Fuse`] or [`ShardedFuse`](crate::filter::ShardedFuse) filter could not be built.
///
/// ```
/// use crivo::filter::{FuseError, FuseOptions};
///
/// let error = FuseOptions { width: 0, ..FuseOptions::default() }.build(["ana"]).unwrap_err();
/// assert!(matches!(error, FuseError::Build(_)));
/// assert_eq!(error.to_string(), "width is 0, but it must be from 1 to 32");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FuseError {
    /// A parameter is out of range, or there is no memory.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No seed was found for which the equations can be solved. This does not happen by chance;
    /// digests that were chosen for it, or that are far from random, can bring it about.
    #[error(
        "no filter of {key_count} keys was found with {attempts} seeds: their digests are not \
         random; use another hasher"
    )]
    Unsolved {
        /// How many distinct keys there were.
        key_count: u64,
        /// How many seeds were tried.
        attempts: u64,
    },
    /// A temporary file could not be created, written or read.
    #[error("{message}")]
    TemporaryFile {
        /// What went wrong.
        kind: std::io::ErrorKind,
        /// The same in words, with the directory and what to do.
        message: String,
    },
}

impl From<ParameterError> for FuseError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}
