//! Packed cells, each read with a single load.

#![allow(unsafe_code)]

use super::equation::FuseGeometry;
use crate::filter::batch;
use crate::{BuildError, Digest, ParameterError};
use crivo_core::Words;
use crivo_core::memory::Cache;

/// Up to this many words (4 MiB) a table is taken to lie in a cache of the core, or close to it: to fetch
/// cells ahead takes more time there than it saves. Tests have small tables of both kinds.
pub(in crate::filter) const CACHED_WORDS: usize = if cfg!(test) { 64 } else { 1 << 19 };

/// Cells of `width` bits, packed without gaps: cell i begins at bit i · width, counted from the
/// lowest bit of the first word.
///
/// This is the one invariant that the unsafe code below rests on, and the reason for which
/// nothing outside this file makes cells:
///
/// > The geometry passes its `check`, and there are as many words as its `word_count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FuseTable {
    geometry: FuseGeometry,
    words: Words,
}

impl FuseTable {
    /// The cells that lie in `words`; `None` if these are more or fewer than needed.
    pub(super) fn new(
        geometry: FuseGeometry,
        words: Words,
    ) -> Result<Option<Self>, ParameterError> {
        geometry.check()?;
        let are_right = words.len() as u64 == geometry.word_count();
        Ok(are_right.then_some(Self { geometry, words }))
    }

    /// Cells that are all 0.
    pub(super) fn zeroed(geometry: FuseGeometry) -> Result<Self, BuildError> {
        geometry.check()?;
        let length = usize::try_from(geometry.word_count())
            .map_err(|_| BuildError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Self { geometry, words: Words::zeroed(length)? })
    }

    #[inline(always)]
    pub(super) fn geometry(&self) -> &FuseGeometry {
        &self.geometry
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.words.to_mut()
    }

    /// Whether the cells of this key xor to its fingerprint. There must be cells.
    #[inline(always)]
    pub(super) fn satisfy<const ARITY: usize>(&self, mixed: u64) -> bool {
        assert!(self.geometry.first_cells > 0, "an empty filter has no cells");
        // SAFETY: there are cells, of whatever width.
        unsafe { self.satisfy_by::<ARITY, ANY>(mixed) }
    }

    /// [`satisfy`](Self::satisfy) for many keys: in a table beyond the caches, the cells of some are fetched ahead.
    pub(super) fn satisfy_each<const ARITY: usize>(&self, keys: &[Digest], hits: &mut [bool]) {
        assert!(self.geometry.first_cells > 0, "an empty filter has no cells");
        let mix = |key: Digest| self.geometry.mix(key.get());
        let fetch = |key| {
            let mixed = mix(key);
            self.prefetch::<ARITY>(mixed, Cache::Second);
            mixed
        };
        by_load!(self.geometry.width, |LOAD| {
            // SAFETY: there are cells, and it is for their width.
            let look = |mixed| unsafe { self.satisfy_by::<ARITY, LOAD>(mixed) };
            if self.words.len() <= CACHED_WORDS {
                batch::look(keys, hits, |key| look(mix(key)));
            } else {
                batch::fetch_and_look(keys, hits, fetch, look);
            }
        });
    }

    /// # Safety
    /// There are cells, and `LOAD` is for their width.
    #[inline(always)]
    unsafe fn satisfy_by<const ARITY: usize, const LOAD: usize>(&self, mixed: u64) -> bool {
        let mut sum = self.geometry.wide_fingerprint(mixed);
        for cell in self.geometry.cells::<ARITY>(mixed) {
            // SAFETY: a geometry that passes its check, and has any cells, has them all within the
            // array; `word_count` leaves eight bytes from the one in which the last begins.
            sum ^= unsafe { load::<LOAD>(&self.words, self.geometry.width, cell) };
        }
        sum & self.geometry.mask() == 0
    }

    /// Asks the processor to fetch the cells of this key.
    #[inline(always)]
    pub(super) fn prefetch<const ARITY: usize>(&self, mixed: u64, cache: Cache) {
        for cell in self.geometry.cells::<ARITY>(mixed) {
            self.words.prefetch((cell * u64::from(self.geometry.width) / 64) as usize, cache);
        }
    }
}

/// Instead of a number of bytes: one or eight, by the width. Of two cases the compiler makes two loops where there
/// is one with questions, and of more it does not.
pub(in crate::filter) const ANY: usize = 0;

/// So few bytes, of those that are read at once, that a cell of this width lies in them wherever it begins: one only
/// if it is just a byte.
///
/// Few, because a load that reaches into the next cache line waits for both, and nobody has fetched that one:
/// of eight bytes every ninth load does, of two every 64th.
#[inline(always)]
pub(in crate::filter) const fn load_bytes(width: u32) -> usize {
    // Cells begin at any bit of a byte if the width is odd, at multiples of 2, 4 or 8 bits if it is one of those.
    match width {
        8 => 1,
        ..=10 | 12 | 16 => 2,
        ..=26 | 28 | 32 => 4,
        _ => 8,
    }
}

/// An expression for each number of bytes that [`load_bytes`] tells, which stands as a constant in it.
macro_rules! by_load {
    ($width:expr, |$load:ident| $body:expr) => {
        match $crate::filter::fuse::table::load_bytes($width) {
            1 => {
                const $load: usize = 1;
                $body
            }
            2 => {
                const $load: usize = 2;
                $body
            }
            4 => {
                const $load: usize = 4;
                $body
            }
            _ => {
                const $load: usize = 8;
                $body
            }
        }
    };
}
pub(in crate::filter) use by_load;

/// The cell at `index` in the low bits; above them, anything.
///
/// # Safety
/// `width` is from 1 to 32, and `LOAD` its [`load_bytes`] or [`ANY`]. `words` holds the eight bytes from the one in
/// which the cell begins.
#[inline(always)]
pub(in crate::filter) unsafe fn load<const LOAD: usize>(
    words: &[u64],
    width: u32,
    index: u64,
) -> u64 {
    debug_assert!(LOAD == load_bytes(width) || LOAD == ANY);
    let bit = index * u64::from(width);
    if cfg!(target_endian = "big") {
        return bits_from(words, bit);
    }
    if LOAD == 1 || LOAD == ANY && width == 8 {
        debug_assert!((index as usize) < 8 * words.len());
        // SAFETY: a cell is a byte, and the words have as many.
        return unsafe { *words.as_ptr().cast::<u8>().add(index as usize) }.into();
    }
    let byte = (bit / 8) as usize;
    debug_assert!(byte + 8 <= 8 * words.len());
    // In this byte order the bytes of the words are one run of bits, and a cell that begins within a byte ends
    // within `LOAD` of them.
    //
    // SAFETY: the caller promises these bytes.
    unsafe {
        let first = words.as_ptr().cast::<u8>().add(byte);
        match LOAD {
            2 => u64::from(first.cast::<u16>().read_unaligned()) >> (bit % 8),
            4 => u64::from(first.cast::<u32>().read_unaligned()) >> (bit % 8),
            _ => first.cast::<u64>().read_unaligned() >> (bit % 8),
        }
    }
}

/// The 64 bits from `bit` on, in any byte order, as far as there are words.
#[inline]
fn bits_from(words: &[u64], bit: u64) -> u64 {
    let word = (bit / 64) as usize;
    let next = words.get(word + 1).copied().unwrap_or(0);
    let pair = u128::from(words[word]) | (u128::from(next) << 64);
    (pair >> (bit % 64)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::fuse::Arity;

    #[test]
    fn a_load_of_any_length_reads_what_two_words_hold() {
        for width in 1..=32 {
            let geometry = FuseGeometry {
                arity: Arity::Three,
                width,
                segment_length: 16,
                first_cells: 80,
                seed: 1,
            };
            let mut cells = FuseTable::zeroed(geometry).unwrap();
            for (index, word) in (0..).zip(cells.words_mut()) {
                *word = crate::Digest::new(index).remix().get();
            }
            for index in 0..geometry.array_length() {
                let bit = index * u64::from(width);
                let words = cells.words();
                let cell = by_load!(width, |LOAD| {
                    // SAFETY: the index is below the array length.
                    let [narrow, any] = unsafe {
                        [load::<LOAD>(words, width, index), load::<ANY>(words, width, index)]
                    };
                    assert_eq!(narrow << (64 - width), any << (64 - width), "{width} {index}");
                    narrow
                });
                let low = cell << (64 - width);
                assert_eq!(low, bits_from(cells.words(), bit) << (64 - width), "{width} {index}");
            }
        }
    }
}
