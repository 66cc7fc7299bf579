//! Keys that are all at hand: a share for each thread, which collects it on its own.

use super::{KeyCollector, KeySet, PARTS, reserve, threads_for};
use crate::filter::FuseError;
use crate::filter::build::{BATCH, SMALL_BATCH};
use crate::filter::threads::each;
use crate::{BuildError, Digest, KeyHasher};

impl KeyCollector {
    /// The distinct ones of these digests.
    pub(in crate::filter::sharded_fuse) fn set_of(
        digests: Vec<Digest>,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<KeySet, FuseError> {
        let collectors = Self::collected_by(&digests, |&digest| digest, threads, hasher)?;
        drop(digests);
        Self::finish_together(collectors)
    }

    /// The distinct ones of these items, in memory.
    pub(in crate::filter::sharded_fuse) fn set_by<T: Sync>(
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<KeySet, FuseError> {
        Self::finish_together(Self::collected_by(items, digest_of, threads, hasher)?)
    }

    /// A collector for each thread that collects; one at least.
    fn collected_by<T: Sync>(
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Vec<Self>, FuseError> {
        let workers = threads_for(threads, items.len() as u64);
        let new = || Self { threads, ..Self::new(hasher) };
        if items.is_empty() {
            return Ok(vec![new()]);
        }
        let shares = items.chunks(items.len().div_ceil(workers));
        each(shares.enumerate(), |(worker, share)| {
            let mut collector = new();
            // The first one takes what the others have collected, too. Without room for all at once, parts
            // grow as they must.
            if collector.expect(if worker == 0 { items.len() } else { share.len() }).is_err() {
                collector = new();
            }
            if share.len() <= SMALL_BATCH {
                collector.collect::<_, SMALL_BATCH>(share, &digest_of)?;
            } else {
                collector.collect::<_, BATCH>(share, &digest_of)?;
            }
            Ok(collector)
        })
        .into_iter()
        .collect()
    }

    /// Out of line: a caller needs the stack for one batch only.
    #[inline(never)]
    fn collect<T, const BATCH: usize>(
        &mut self,
        items: &[T],
        digest_of: impl Fn(&T) -> Digest,
    ) -> Result<(), FuseError> {
        let mut batch = [Digest::new(0); BATCH];
        for items in items.chunks(BATCH) {
            for (digest, item) in batch.iter_mut().zip(items) {
                *digest = digest_of(item);
            }
            self.insert_digests(&batch[..items.len()])?;
        }
        Ok(())
    }

    /// Makes room for that many keys, if they are spread as distinct ones are, up to a few standard deviations.
    fn expect(&mut self, keys: usize) -> Result<(), BuildError> {
        self.make_parts()?;
        let mean = keys / PARTS;
        let most = mean + 4 * mean.isqrt() + 4;
        self.parts.iter_mut().try_for_each(|part| reserve(part, most))?;
        self.reserved = self.room();
        Ok(())
    }

    /// The distinct keys of all these collectors, none of which has a limit.
    fn finish_together(mut collectors: Vec<Self>) -> Result<KeySet, FuseError> {
        let others = collectors.split_off(1);
        let mut all = collectors.pop().expect("there is one at least");
        all.held += others.iter().map(|other| other.held).sum::<usize>();
        all.total += others.iter().map(|other| other.total).sum::<u64>();
        all.finish_with(others.into_iter().map(|other| other.parts).collect())
    }
}
