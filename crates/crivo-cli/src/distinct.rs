//! The distinct keys of an input of any size.

use crivo::{Digest, KeyHasher};
use crivo_core::spill::{DigestCollector, DistinctDigests};

use crate::error::Error;
use crate::input::InputArgs;
use crate::threads;

/// The distinct keys of an input, with digests in this much memory and the rest on disk. With
/// `WORDS` = 1 copies are dropped, with `WORDS` = 2 they are counted.
pub(crate) fn gather<const WORDS: usize>(
    input: &InputArgs,
    hasher: KeyHasher,
    memory: u64,
) -> Result<DistinctDigests<WORDS>, Error> {
    // The vectors of a collector may have twice the capacity that they use.
    let held = usize::try_from(memory / 2).unwrap_or(usize::MAX);
    let mut collector = DigestCollector::within(held).with_threads(threads::count());
    input.each_batch(hasher, |digests| {
        Ok(collector.extend(digests.iter().map(|digest: &Digest| digest.get()))?)
    })?;
    Ok(collector.finish()?)
}
