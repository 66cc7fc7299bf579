//! Keys whose write was given up, and may still arrive.

use std::collections::HashSet;

use crivo::filter::{Bloom, SpecError};
use crivo::{Digest, KeyHasher};

/// So many are listed.
const LISTED: usize = 1 << 16;

/// For so many more there is a filter. With even more, it lets ever more questions pass.
const OTHERS: u64 = 1 << 20;

/// Keys whose write was given up. They are never taken out again, so that a filter can stand for a list that
/// would become too long: a server that is down makes every put a doubt.
pub(super) struct Doubts {
    /// The guard's tables have a copy of each of these.
    listed: HashSet<Digest>,
    pub(super) max_listed: usize,
    /// Has those that are not listed, in place of the guard's tables. Its size is fixed.
    others: Option<Bloom>,
}

impl Default for Doubts {
    fn default() -> Self {
        Self { listed: HashSet::new(), max_listed: LISTED, others: None }
    }
}

impl Doubts {
    /// Adds a key. Returns whether it is listed: then the guard's tables keep their copy.
    pub(super) fn add(
        &mut self,
        digest: Digest,
        fpr: f64,
        hasher: KeyHasher,
    ) -> Result<bool, SpecError> {
        if self.listed.len() < self.max_listed || self.listed.contains(&digest) {
            self.listed.insert(digest);
            return Ok(true);
        }
        let others = match &mut self.others {
            Some(others) => others,
            none => none.insert(Bloom::with_hasher(OTHERS, fpr, hasher)?),
        };
        // Its count is that of insertions, also of the same key.
        if !others.contains_digest(digest) {
            others.insert_digest(digest);
        }
        Ok(false)
    }

    /// Whether this key is one of them, or passes for one: then it always will.
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.listed.contains(&digest) || self.others_contain(digest)
    }

    /// Whether this key may be one that is not listed.
    #[inline]
    pub(super) fn others_contain(&self, digest: Digest) -> bool {
        self.others.as_ref().is_some_and(|others| others.contains_digest(digest))
    }

    pub(super) fn has_others(&self) -> bool {
        self.others.is_some()
    }

    pub(super) fn listed(&self) -> impl Iterator<Item = Digest> {
        self.listed.iter().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.others.is_none()
    }

    /// How many there are; of those that are not listed, about.
    pub(super) fn count(&self) -> u64 {
        self.listed.len() as u64 + self.others.as_ref().map_or(0, Bloom::key_count)
    }

    /// Of the filter.
    pub(super) fn size_in_bits(&self) -> u64 {
        self.others.as_ref().map_or(0, Bloom::size_in_bits)
    }

    /// How many questions pass because of keys that are not listed.
    pub(super) fn expected_fpr(&self) -> f64 {
        self.others.as_ref().map_or(0.0, Bloom::expected_fpr)
    }
}
