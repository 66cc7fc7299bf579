//! The dimensions of a growing filter: those of its first stage, and the FPR of all stages.

use super::{GrowingChain, MAX_STAGES, MIN_CAPACITY, Stage, TIGHTENING, any_of, stage_capacity};
use crate::filter::{BloomSpec, Bytes, Capabilities, FilterSpec, Kind, SpecError, build};
use crate::persist::Metadata;
use crate::theory::digest;
use crate::{BuildError, Digest, KeyHasher, ParameterError};
use crivo_core::check::{check_fpr, check_keys};

/// The specification of a [`Growing`](super::Growing) filter: its first stage, and the FPR that it keeps.
///
/// ```
/// use crivo::filter::{BloomSpec, FilterSpec, GrowingSpec};
///
/// let spec = GrowingSpec::<BloomSpec>::for_fpr(10_000, 0.01)?;
/// assert_eq!(spec.capacity(), 10_000); // of the first stage
/// assert!(spec.fpr_at(10_000) < 0.0016);
/// assert!(spec.fpr_at(10_000_000_000) < 0.01);
/// assert_eq!(spec.fpr_when_full(), 0.01); // of any number of stages
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowingSpec<S = BloomSpec> {
    first: S,
    fpr: f64,
}

impl<S: FilterSpec<Filter: Stage<Spec = S>>> GrowingSpec<S> {
    pub(super) fn new(first: S, fpr: f64) -> Self {
        Self { first, fpr }
    }

    /// The specification of the first stage.
    ///
    /// ```
    /// use crivo::filter::{BloomSpec, FilterSpec, GrowingSpec};
    ///
    /// let spec = GrowingSpec::<BloomSpec>::for_fpr(10_000, 0.01)?;
    /// assert_eq!(spec.first_stage().capacity(), 10_000);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn first_stage(&self) -> S {
        self.first
    }

    /// The specification of a stage.
    ///
    /// # Errors
    /// If there can be none so large.
    pub(super) fn stage(&self, index: usize) -> Result<S, ParameterError> {
        if index == 0 {
            return Ok(self.first);
        }
        let capacity = stage_capacity(self.first.capacity(), index);
        S::for_fpr(capacity, stage_target(self.fpr, index, capacity))
    }
}

/// The FPR that stage `index` is made for: a stage of very many keys gets as low a one as their
/// digests allow.
pub(super) fn stage_target(fpr: f64, index: usize, capacity: u64) -> f64 {
    stage_fpr(fpr, index).max(2.01 * digest::floor(capacity))
}

/// The FPR of stage `index`: over all indices they add up to `fpr`.
pub(super) fn stage_fpr(fpr: f64, index: usize) -> f64 {
    fpr * (1.0 - TIGHTENING) * TIGHTENING.powi(index as i32)
}

/// The first items, as many as that at most, and those behind them.
fn first_items<T>(items: &[T], count: u64) -> (&[T], &[T]) {
    items.split_at(items.len().min(usize::try_from(count).unwrap_or(usize::MAX)))
}

impl<S: FilterSpec<Filter: Stage<Spec = S>> + Sync> FilterSpec for GrowingSpec<S> {
    type Filter = GrowingChain<S::Filter>;

    const KIND: Kind = <S::Filter as Stage>::CHAIN;

    const CAPABILITIES: Capabilities = Capabilities {
        insert: true,
        never_full: true,
        grow: true,
        unlimited: true,
        ..Capabilities::STATIC
    };

    const SUMMARY: &'static str = <S::Filter as Stage>::CHAIN_SUMMARY;

    fn for_fpr(capacity: u64, fpr: f64) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        check_fpr(fpr)?;
        let capacity = capacity.max(MIN_CAPACITY);
        if fpr < 16.0 * digest::floor(capacity) {
            let allowed = "at least n/2^60 for n keys in the first stage of a growing filter, because \
                           digests have only 64 bits";
            return Err(ParameterError::of_real("fpr", fpr, allowed));
        }
        Ok(Self { first: S::for_fpr(capacity, stage_fpr(fpr, 0))?, fpr })
    }

    /// It is the first stage that fits.
    fn for_memory(capacity: u64, memory: Bytes) -> Result<Self, ParameterError> {
        check_keys(capacity)?;
        let first = S::for_memory(capacity.max(MIN_CAPACITY), memory)?;
        let fpr = first.fpr_when_full() / (1.0 - TIGHTENING);
        if fpr < 1.0 { Ok(Self { first, fpr }) } else { Err(memory.too_few()) }
    }

    fn capacity(&self) -> u64 {
        self.first.capacity()
    }

    fn size_in_bits(&self) -> u64 {
        self.first.size_in_bits()
    }

    /// 1 − (1 − f₀)(1 − f₁)…, of the FPRs of as many stages as the keys take.
    fn fpr_at(&self, keys: u64) -> f64 {
        let mut left = keys;
        let mut fprs = Vec::new();
        let mut stage = self.first;
        while left > stage.capacity() {
            // Where there can be no other stage, the last takes all keys that are left.
            let next = fprs.len() + 1;
            let Some(larger) = (next < MAX_STAGES).then(|| self.stage(next).ok()).flatten() else {
                break;
            };
            fprs.push(stage.fpr_when_full());
            left -= stage.capacity();
            stage = larger;
        }
        fprs.push(stage.fpr_at(left));
        any_of(fprs.into_iter())
    }

    fn fpr_when_full(&self) -> f64 {
        self.fpr
    }

    fn build(&self, hasher: KeyHasher) -> Result<GrowingChain<S::Filter>, BuildError> {
        Ok(GrowingChain {
            stages: vec![self.first.build(hasher)?],
            first_capacity: self.first.capacity(),
            fpr: self.fpr,
            metadata: Metadata::new(),
        })
    }

    fn build_by<T: Sync>(
        &self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<GrowingChain<S::Filter>, SpecError> {
        // A stage takes the keys that come while it is the newest, as many as it is made for.
        let stage = |spec: S, items| build::in_ranges(&spec, items, &digest_of, threads, hasher);
        let (now, mut later) = first_items(items, self.first.capacity());
        let mut chain = GrowingChain {
            stages: vec![stage(self.first, now)?],
            first_capacity: self.first.capacity(),
            fpr: self.fpr,
            metadata: Metadata::new(),
        };
        while !later.is_empty() && chain.stages.len() < MAX_STAGES {
            let Ok(next) = self.stage(chain.stages.len()) else { break };
            let now;
            (now, later) = first_items(later, next.capacity());
            match stage(next, now) {
                Ok(stage) => chain.stages.push(stage),
                // Without memory for another stage, the last one takes all, as it would one by one.
                Err(_) => {
                    chain.put_all(now.iter().map(&digest_of));
                    break;
                }
            }
        }
        chain.put_all(later.iter().map(&digest_of));
        Ok(chain)
    }
}
