//! The tables of an index: for each band, which entries share its values.
//!
//! ```text
//!   heads   band 0: [ 4 │ – │ 0 │ 2 ]   band 1: [ … ]       buckets, by the low bits of a digest
//!   links   entry 4: band 0 → 1, band 1 → –   …            the next entry of the bucket, and a tag
//! ```
//!
//! A bucket may have entries of several digests. The tag, 32 other bits of the digest, tells nearly all
//! of them apart without a look at their signatures. An entry costs 8 bytes for each band, and 4 to 8 for
//! the buckets: no more than 16 times what a band takes in a file, which is a byte or more.

use std::collections::TryReserveError;

/// No entry: the end of a chain.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone)]
pub(super) struct BandTables {
    bands: usize,
    /// The number of buckets of each band: 0, or a power of two.
    buckets: usize,
    /// For each band and bucket the first entry.
    heads: Vec<u32>,
    /// For each entry and band.
    links: Vec<Link>,
}

/// What an entry has for each band.
#[derive(Clone, Copy)]
struct Link {
    next: u32,
    tag: u32,
}

impl BandTables {
    pub(super) fn new(bands: u32) -> Self {
        Self { bands: bands as usize, buckets: 0, heads: Vec::new(), links: Vec::new() }
    }

    /// Makes room for `entries` entries of a table that has none yet.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn try_reserve(&mut self, entries: usize) -> Result<(), TryReserveError> {
        debug_assert!(self.links.is_empty());
        self.links.try_reserve_exact(entries.saturating_mul(self.bands))?;
        let buckets = if entries == 0 { 0 } else { entries.next_power_of_two() };
        let mut heads = Vec::new();
        heads.try_reserve_exact(buckets.saturating_mul(self.bands))?;
        heads.resize(buckets * self.bands, NONE);
        (self.heads, self.buckets) = (heads, buckets);
        Ok(())
    }

    /// The bytes that [`try_reserve`](Self::try_reserve) asks for.
    pub(super) fn bytes_for(&self, entries: usize) -> usize {
        let links = entries.saturating_mul(size_of::<Link>());
        let heads = entries.saturating_mul(2).saturating_mul(size_of::<u32>());
        links.saturating_add(heads).saturating_mul(self.bands)
    }

    /// Whether there are fewer buckets than entries, if one is added to this number.
    pub(super) fn is_full(&self, entries: usize) -> bool {
        entries >= self.buckets
    }

    /// Doubles the buckets, and links these entries again. `digest_of` gives the digest of an entry's
    /// band.
    pub(super) fn grow(
        &mut self,
        entries: impl Iterator<Item = u32>,
        digest_of: impl Fn(u32, u32) -> u64,
    ) {
        self.buckets = (2 * self.buckets).max(4);
        // The old heads go before the new ones come.
        self.heads = Vec::new();
        self.heads = vec![NONE; self.buckets * self.bands];
        for entry in entries {
            for band in 0..self.bands as u32 {
                self.link(entry, band, digest_of(entry, band));
            }
        }
    }

    /// Room for one more entry, whose number is the next.
    pub(super) fn add_entry(&mut self) {
        self.links.resize(self.links.len() + self.bands, Link { next: NONE, tag: 0 });
    }

    /// Puts an entry at the front of its bucket.
    pub(super) fn link(&mut self, entry: u32, band: u32, digest: u64) {
        let head = self.head(band, digest);
        let next = std::mem::replace(&mut self.heads[head], entry);
        *self.link_mut(entry, band) = Link { next, tag: tag_of(digest) };
    }

    /// Takes an entry out of its bucket.
    pub(super) fn unlink(&mut self, entry: u32, band: u32, digest: u64) {
        let after = self.links[self.index(entry, band)].next;
        let head = self.head(band, digest);
        if self.heads[head] == entry {
            self.heads[head] = after;
            return;
        }
        let mut before = self.heads[head];
        while before != NONE {
            let link = self.link_mut(before, band);
            if link.next == entry {
                link.next = after;
                return;
            }
            before = link.next;
        }
    }

    /// The entries whose band has this digest, and rarely others.
    pub(super) fn entries(&self, band: u32, digest: u64) -> impl Iterator<Item = u32> {
        // Without entries there are no heads.
        let first = self.heads.get(self.head(band, digest)).copied().unwrap_or(NONE);
        let valid = |entry: u32| (entry != NONE).then_some(entry);
        std::iter::successors(valid(first), move |&entry| {
            valid(self.links[self.index(entry, band)].next)
        })
        .filter(move |&entry| self.links[self.index(entry, band)].tag == tag_of(digest))
    }

    fn head(&self, band: u32, digest: u64) -> usize {
        band as usize * self.buckets + (digest as usize & self.buckets.saturating_sub(1))
    }

    fn index(&self, entry: u32, band: u32) -> usize {
        entry as usize * self.bands + band as usize
    }

    fn link_mut(&mut self, entry: u32, band: u32) -> &mut Link {
        let index = self.index(entry, band);
        &mut self.links[index]
    }
}

fn tag_of(digest: u64) -> u32 {
    (digest >> 32) as u32
}
