//! What a chain can be made of.

use crate::Digest;
use crate::filter::any::Operations;
use crate::filter::ranges::Marked;
use crate::filter::{Blocked, BlockedSpec, Bloom, BloomSpec, DynamicFilter, FilterSpec, Kind};
use crate::persist::Persist;
use crivo_core::memory::Cache;

/// A filter that is never full, of which a [`Growing`](super::Growing) chain can be made: [`Bloom`]
/// or [`Blocked`].
///
/// Nothing else implements it: a file must say what its chain is made of.
///
/// ```
/// use crivo::filter::growing::Stage;
/// use crivo::filter::{Blocked, Bloom, GrowingChain, Kind};
///
/// fn kind_of<F: Stage>(_: &GrowingChain<F>) -> Kind {
///     F::CHAIN
/// }
///
/// assert_eq!(kind_of(&GrowingChain::<Bloom>::new(1_024, 0.01)?), Kind::Growing);
/// assert_eq!(kind_of(&GrowingChain::<Blocked>::new(1_024, 0.01)?), Kind::GrowingBlocked);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[expect(private_bounds, reason = "what is private here keeps others from implementing it")]
pub trait Stage: DynamicFilter + Sealed + Persist<Layout = Self::Spec> {
    /// The specification of a stage. Its file says the same of it.
    type Spec: FilterSpec<Filter = Self> + Sync;

    /// The kind of the chain.
    const CHAIN: Kind;

    /// [`FilterSpec::SUMMARY`] of the chain.
    const CHAIN_SUMMARY: &'static str;

    /// The specification of this stage.
    fn spec(&self) -> Self::Spec;
}

impl Stage for Bloom {
    type Spec = BloomSpec;
    const CHAIN: Kind = Kind::Growing;
    const CHAIN_SUMMARY: &'static str = "grow; size and lower FPR are of its first stage";

    fn spec(&self) -> BloomSpec {
        self.spec()
    }
}

impl Stage for Blocked {
    type Spec = BlockedSpec;
    const CHAIN: Kind = Kind::GrowingBlocked;
    const CHAIN_SUMMARY: &'static str = "grow; as growing, with one cache line per stage";

    fn spec(&self) -> BlockedSpec {
        self.spec()
    }
}

/// What the chain must know of its stages.
pub(super) trait Sealed: Sized + PartialEq + Send + Operations + Marked {
    /// The unit of a table: it has whole ones.
    const WORDS_PER_UNIT: u64;

    /// The name of the chain's type.
    const CHAIN_NAME: &'static str;

    /// Whether the key may be a member, by code that the compiler can delete where the answer is not
    /// used.
    fn contains_inlined(&self, key: Digest) -> bool;

    /// Asks the processor to fetch the memory of a key.
    fn fetch(&self, key: Digest, cache: Cache);

    /// The FPR that the bits themselves give.
    fn fill_fpr(&self) -> f64;

    fn probes(&self) -> u32;

    fn word_count(&self) -> u64;
}

impl Sealed for Bloom {
    const WORDS_PER_UNIT: u64 = 1;
    const CHAIN_NAME: &'static str = "Growing";

    #[inline(always)]
    fn contains_inlined(&self, key: Digest) -> bool {
        self.contains_digest(key)
    }

    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        self.fetch(key, cache);
    }

    fn fill_fpr(&self) -> f64 {
        self.fill_fpr()
    }

    fn probes(&self) -> u32 {
        self.probes()
    }

    fn word_count(&self) -> u64 {
        self.size_in_bits() / 64
    }
}

impl Sealed for Blocked {
    const WORDS_PER_UNIT: u64 = 8;
    const CHAIN_NAME: &'static str = "GrowingBlocked";

    #[inline(always)]
    fn contains_inlined(&self, key: Digest) -> bool {
        self.contains_inlined(key)
    }

    #[inline(always)]
    fn fetch(&self, key: Digest, cache: Cache) {
        self.fetch(key, cache);
    }

    fn fill_fpr(&self) -> f64 {
        self.fill_fpr()
    }

    fn probes(&self) -> u32 {
        self.probes()
    }

    fn word_count(&self) -> u64 {
        self.size_in_bits() / 64
    }
}
