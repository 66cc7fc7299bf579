//! The distinct keys of an input of any size.

use crivo::{Digest, KeyHasher};
use crivo_core::spill::{DigestCollector, DistinctDigests};

use crate::error::Error;
use crate::input::InputArgs;
use crate::threads;

/// The memory for digests before they are written to disk.
const MEMORY: usize = 256 << 20;

/// The distinct keys of an input. With `WORDS` = 1 copies are dropped, with `WORDS` = 2 they are
/// counted.
pub(crate) fn gather<const WORDS: usize>(
    input: &InputArgs,
    hasher: KeyHasher,
) -> Result<DistinctDigests<WORDS>, Error> {
    let mut collector = DigestCollector::within(MEMORY).with_threads(threads::count());
    input.each_batch(hasher, |digests| {
        Ok(collector.extend(digests.iter().map(|digest: &Digest| digest.get()))?)
    })?;
    Ok(collector.finish()?)
}
