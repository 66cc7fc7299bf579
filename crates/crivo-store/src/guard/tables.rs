//! The filters of a guard: the main one, and one that takes what the main one cannot.

use std::collections::HashMap;

use crivo::Digest;
use crivo::filter::{AnyFilter, Filter, Growing, Spec, SpecError};

use super::GuardOptions;

/// With this, small stores do not cause a rebuild at every change.
pub(super) const MIN_CAPACITY: u64 = 256;

/// Where a copy of a digest went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Main,
    Overflow,
}

pub(crate) struct Tables {
    main: AnyFilter,
    /// Of `main`; `None` if it grows.
    capacity: Option<u64>,
    /// Takes keys when `main` is full or cannot be changed. It is made with the guard, so that an
    /// insertion always succeeds.
    overflow: Growing,
    /// How many copies are in `overflow`.
    overflow_count: u64,
}

impl Tables {
    /// Tables with one copy for each of these digests, also where two of them are equal.
    pub(super) fn build(options: &GuardOptions, digests: Vec<Digest>) -> Result<Self, SpecError> {
        let count = digests.len() as u64;
        let capacity = count.saturating_add(count / 4).max(MIN_CAPACITY);
        let spec = Spec::for_fpr(options.kind, capacity, options.fpr)?;
        if !options.kind.capabilities().insert {
            return Self::of(options, spec.build_from(digests, options.hasher)?);
        }
        let mut tables = Self::of(options, spec.build(options.hasher)?)?;
        for digest in digests {
            tables.insert(digest);
        }
        Ok(tables)
    }

    /// Tables with this main filter.
    pub(super) fn of(options: &GuardOptions, main: AnyFilter) -> Result<Self, SpecError> {
        // Together the two filters keep an FPR of 1.5 times the one asked for.
        let overflow = Growing::with_hasher(MIN_CAPACITY, options.fpr / 2.0, options.hasher)?;
        Ok(Self { capacity: main.capacity(), main, overflow, overflow_count: 0 })
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        self.main.contains_digest(digest) || self.overflow_contains(digest)
    }

    #[inline]
    pub(super) fn overflow_contains(&self, digest: Digest) -> bool {
        self.overflow_count > 0 && self.overflow.contains_digest(digest)
    }

    /// The overflow is small.
    #[inline]
    pub(super) fn prefetch(&self, digest: Digest) {
        self.main.prefetch_digest(digest);
    }

    pub(super) fn contains_batch(&self, digests: &[Digest], hits: &mut [bool]) {
        self.main.contains_batch(digests, hits);
        if self.overflow_count > 0 {
            for (digest, hit) in digests.iter().zip(hits) {
                *hit = *hit || self.overflow.contains_digest(*digest);
            }
        }
    }

    /// Adds one copy.
    pub(super) fn insert(&mut self, digest: Digest) -> Place {
        let has_room = self.capacity.is_none_or(|capacity| self.main.key_count() < capacity);
        if has_room && self.main.insert_digest(digest).is_ok() {
            return Place::Main;
        }
        self.overflow.insert_digest(digest);
        self.overflow_count += 1;
        Place::Overflow
    }

    /// Removes one copy from the main filter, and returns whether it could. The caller knows that a
    /// copy is there.
    pub(super) fn remove_from_main(&mut self, digest: Digest) -> bool {
        self.main.remove_digest(digest).is_ok()
    }

    pub(super) fn main(&self) -> &AnyFilter {
        &self.main
    }

    pub(super) fn main_mut(&mut self) -> &mut AnyFilter {
        &mut self.main
    }

    pub(super) fn overflow_count(&self) -> u64 {
        self.overflow_count
    }

    pub(super) fn size_in_bits(&self) -> u64 {
        self.main.size_in_bits() + self.overflow.size_in_bits()
    }

    pub(super) fn expected_fpr(&self) -> f64 {
        let pass = |fpr: f64| 1.0 - fpr;
        1.0 - pass(self.main.expected_fpr()) * pass(self.overflow.expected_fpr())
    }
}

/// Digests, each as often as it was added.
#[derive(Default)]
pub(super) struct Multiset {
    counts: HashMap<Digest, u64>,
}

impl Multiset {
    pub(super) fn add(&mut self, digest: Digest) {
        *self.counts.entry(digest).or_default() += 1;
    }

    /// Takes one copy out, which must be there.
    pub(super) fn take(&mut self, digest: Digest) {
        if let Some(count) = self.counts.get_mut(&digest) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&digest);
            }
        }
    }

    /// Every copy.
    pub(super) fn iter(&self) -> impl Iterator<Item = Digest> {
        self.counts.iter().flat_map(|(&digest, &count)| (0..count).map(move |_| digest))
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}
