//! The packed cells of all shards, each read with a single load.

#![allow(unsafe_code)]

use crate::filter::batch;
use crate::filter::fuse::equation::FuseGeometry;
use crate::filter::fuse::table::{ANY, CACHED_WORDS, by_load, load};
use crate::{BuildError, Digest, ParameterError};
use crivo_core::Words;
use crivo_core::memory::{self, Cache, collected};

/// At most 2^15 shards, whose seeds are parameters of a file.
pub(super) const MAX_SHARD_BITS: u32 = 15;

/// Every shard begins at a cache line.
const WORDS_PER_LINE: u64 = 8;

/// The dimensions of the shards: all have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShardedGeometry {
    /// Of one shard. Each has its own seed; this one means nothing, and is 1.
    pub(super) shard: FuseGeometry,
    /// That many high bits of a digest choose the shard.
    pub(super) shard_bits: u32,
}

impl ShardedGeometry {
    /// An error unless the dimensions of a shard are right, and all shards lie within 2^64 bits.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.shard.check()?;
        if self.shard_bits > MAX_SHARD_BITS {
            let shards = 1u128 << self.shard_bits.min(64);
            return Err(ParameterError::new("shards", shards, "at most 2^15"));
        }
        if self.shard_words() > 1 << (57 - self.shard_bits) {
            let allowed = "so many that all shards have at most 2^63 bits";
            return Err(ParameterError::new("first cells", self.shard.first_cells, allowed));
        }
        Ok(())
    }

    pub(super) fn shards(&self) -> u64 {
        1 << self.shard_bits
    }

    /// The words of a shard, with the zeros behind its last cell.
    pub(super) fn shard_words(&self) -> u64 {
        self.shard.word_count().next_multiple_of(WORDS_PER_LINE)
    }

    pub(super) fn word_count(&self) -> u64 {
        self.shard_words() << self.shard_bits
    }

    /// The dimensions of a shard with this seed.
    #[inline(always)]
    pub(super) fn with_seed(&self, seed: u64) -> FuseGeometry {
        FuseGeometry { seed, ..self.shard }
    }
}

/// Shards of packed cells, one after another.
///
/// This is the one invariant that the unsafe code below rests on, and the reason for which nothing
/// outside this file makes tables:
///
/// > The geometry passes its `check`, and there are as many shards and words as it says. Each shard begins
/// > where its own words do, and the words are never changed.
pub(super) struct ShardedTable {
    geometry: ShardedGeometry,
    shards: Vec<Shard>,
    /// By how much a digest is shifted to count bytes of `shards`; its lowest four bits are then to be cleared.
    shift: u32,
    /// The words of a shard: a question would call a function to compute them.
    shard_words: usize,
    words: Words,
}

/// What a question needs to know of its shard: together, and ready for use, because how many keys a processor
/// has in work follows from the number of instructions.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Shard {
    seed: u64,
    /// Its first word.
    start: *const u64,
}

// SAFETY: `start` points into the words of the table, which are `Send` and `Sync`, and is only read.
unsafe impl Send for Shard {}
// SAFETY: as above.
unsafe impl Sync for Shard {}

/// Where the cells of a key are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The first word of the shard.
    start: *const u64,
    mixed: u64,
}

impl ShardedTable {
    /// The shards that lie in `words`; `None` if there are more or fewer words, or seeds, than needed.
    pub(super) fn new(
        geometry: ShardedGeometry,
        seeds: &[u64],
        words: Words,
    ) -> Result<Option<Self>, BuildError> {
        geometry.check()?;
        if words.len() as u64 != geometry.word_count() || seeds.len() as u64 != geometry.shards() {
            return Ok(None);
        }
        let shift = u64::BITS - geometry.shard_bits - size_of::<Shard>().trailing_zeros();
        let shard_words = words.len() >> geometry.shard_bits;
        let mut table = Self { geometry, shards: Vec::new(), shift, shard_words, words };
        table.shards = collected(table.shards_with(seeds.iter().copied()))?;
        Ok(Some(table))
    }

    /// Shards of these seeds, in these words.
    fn shards_with(&self, seeds: impl Iterator<Item = u64>) -> impl Iterator<Item = Shard> {
        let (first, words) = (self.words.as_ptr(), self.shard_words);
        // Without cells there is a shard, too, but no word for it.
        seeds.enumerate().map(move |(i, seed)| Shard { seed, start: first.wrapping_add(i * words) })
    }

    /// As many words as the geometry says, all 0.
    pub(super) fn zeroed_words(geometry: &ShardedGeometry) -> Result<Words, BuildError> {
        geometry.check()?;
        let length = usize::try_from(geometry.word_count())
            .map_err(|_| BuildError::OutOfMemory { bytes: usize::MAX })?;
        Words::zeroed(length)
    }

    #[inline(always)]
    pub(super) fn geometry(&self) -> &ShardedGeometry {
        &self.geometry
    }

    pub(super) fn seeds(&self) -> impl ExactSizeIterator<Item = u64> {
        self.shards.iter().map(|shard| shard.seed)
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether the key with this digest may be there. There must be cells.
    #[inline(always)]
    pub(super) fn contains<const ARITY: usize>(&self, digest: u64) -> bool {
        assert!(self.geometry.shard.first_cells > 0, "an empty filter has no cells");
        // Cells of a byte are apart, before anything else: so a loop with questions is divided in two.
        if self.geometry.shard.width == 8 {
            // SAFETY: it is a place of this table, which has cells, and of that width.
            unsafe { self.satisfy::<ARITY, 1>(self.place(digest)) }
        } else {
            // SAFETY: as above, of any width.
            unsafe { self.satisfy::<ARITY, ANY>(self.place(digest)) }
        }
    }

    /// [`contains`](Self::contains) for many keys: in a table beyond the caches, the cells of some are fetched
    /// ahead.
    pub(super) fn contains_each<const ARITY: usize>(&self, keys: &[Digest], hits: &mut [bool]) {
        assert!(self.geometry.shard.first_cells > 0, "an empty filter has no cells");
        let fetch = |key: Digest| {
            let place = self.place(key.get());
            self.prefetch::<ARITY>(place, Cache::Second);
            place
        };
        by_load!(self.geometry.shard.width, |LOAD| {
            // SAFETY: it is a place of this table, which has cells, and for their width.
            let look = |place| unsafe { self.satisfy::<ARITY, LOAD>(place) };
            if self.words.len() <= CACHED_WORDS {
                batch::look(keys, hits, |key| look(self.place(key.get())));
            } else {
                batch::fetch_and_look(keys, hits, fetch, look);
            }
        });
    }

    #[inline(always)]
    pub(super) fn place(&self, digest: u64) -> Place {
        let byte = (digest >> self.shift) as usize & !(size_of::<Shard>() - 1);
        debug_assert!(byte < size_of_val(&self.shards[..]));
        // SAFETY: the first bits of a digest, as many as number the shards, number one that is there. The shift
        // makes bytes of that number, and what follows these bits is cleared.
        let Shard { seed, start } = unsafe { *self.shards.as_ptr().byte_add(byte) };
        Place { start, mixed: self.geometry.with_seed(seed).mix(digest) }
    }

    /// Whether the cells at this place xor to the fingerprint of the key.
    ///
    /// # Safety
    /// It is a place of this table, and there are cells; `LOAD` is for their width.
    #[inline(always)]
    unsafe fn satisfy<const ARITY: usize, const LOAD: usize>(&self, place: Place) -> bool {
        let mut geometry = self.geometry.shard;
        debug_assert!(LOAD != 1 || geometry.width == 8);
        if LOAD == 1 {
            geometry.width = 8;
        }
        let Place { start, mixed } = place;
        // SAFETY: a shard begins there, and has that many words.
        let words = unsafe { std::slice::from_raw_parts(start, self.shard_words) };
        let mut sum = geometry.wide_fingerprint(mixed);
        for cell in geometry.cells::<ARITY>(mixed) {
            // SAFETY: a geometry that passes its check, and has any cells, has them all within the
            // array; a shard has eight bytes from the one in which the last begins.
            sum ^= unsafe { load::<LOAD>(words, geometry.width, cell) };
        }
        sum & geometry.mask() == 0
    }

    /// Asks the processor to fetch the cells at this place.
    #[inline(always)]
    pub(super) fn prefetch<const ARITY: usize>(&self, place: Place, cache: Cache) {
        let geometry = &self.geometry.shard;
        for cell in geometry.cells::<ARITY>(place.mixed) {
            let byte = (cell * u64::from(geometry.width) / 8) as usize;
            memory::prefetch(place.start.wrapping_byte_add(byte), cache);
        }
    }
}

impl Clone for ShardedTable {
    fn clone(&self) -> Self {
        let Self { geometry, shift, shard_words, ref words, .. } = *self;
        let words = words.clone();
        let mut copy = Self { geometry, shards: Vec::new(), shift, shard_words, words };
        copy.shards = copy.shards_with(self.seeds()).collect();
        copy
    }
}

impl PartialEq for ShardedTable {
    fn eq(&self, other: &Self) -> bool {
        self.geometry == other.geometry
            && self.seeds().eq(other.seeds())
            && self.words == other.words
    }
}

impl Eq for ShardedTable {}
