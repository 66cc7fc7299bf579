//! Keys that are all at hand: a share for each thread, which collects it on its own.

use std::sync::Mutex;

use super::{KeyCollector, KeySet, PARTS, reserve, threads_for};
use crate::filter::FuseError;
use crate::filter::threads::{each, share};
use crate::{BuildError, Digest, KeyHasher};

/// How many digests are computed before they are collected.
const BATCH: usize = 256;

impl KeyCollector {
    /// The distinct ones of these digests.
    pub(in crate::filter::sharded_fuse) fn set_of(
        digests: Vec<Digest>,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<KeySet, FuseError> {
        let collector = Self::collected_by(&digests, |&digest| digest, threads, hasher)?;
        drop(digests);
        collector.finish()
    }

    /// All these items, in memory.
    pub(in crate::filter::sharded_fuse) fn collected_by<T: Sync>(
        items: &[T],
        digest_of: impl Fn(&T) -> Digest + Sync,
        threads: Option<usize>,
        hasher: KeyHasher,
    ) -> Result<Self, FuseError> {
        let workers = threads_for(threads, items.len() as u64);
        let mut collectors = each(items.chunks(items.len().div_ceil(workers).max(1)), |share| {
            let mut collector = Self { threads, ..Self::new(hasher) };
            let mut batch = [Digest::new(0); BATCH];
            for items in share.chunks(BATCH) {
                for (digest, item) in batch.iter_mut().zip(items) {
                    *digest = digest_of(item);
                }
                collector.insert_digests(&batch[..items.len()])?;
            }
            Ok::<Self, FuseError>(collector)
        })
        .into_iter();
        let Some(first) = collectors.next() else {
            return Ok(Self { threads, ..Self::new(hasher) });
        };
        let mut all = first?;
        all.take_over(collectors.collect::<Result<_, _>>()?, workers)?;
        Ok(all)
    }

    /// Adds all that others have collected in memory.
    fn take_over(&mut self, mut others: Vec<Self>, workers: usize) -> Result<(), BuildError> {
        self.held += others.iter().map(|other| other.held).sum::<usize>();
        self.total += others.iter().map(|other| other.total).sum::<u64>();
        if others.is_empty() {
            return Ok(());
        }
        let mut others: Vec<_> = others.iter_mut().map(|other| other.parts.iter_mut()).collect();
        let parts = self.parts.iter_mut().map(|part| {
            let pieces = others.iter_mut().filter_map(Iterator::next);
            (part, pieces.collect::<Vec<_>>())
        });
        share(workers.min(PARTS), Mutex::new(parts), |(part, pieces)| {
            reserve(part, pieces.iter().map(|piece| piece.len()).sum())?;
            for piece in pieces {
                part.append(piece);
                *piece = Vec::new();
            }
            Ok::<(), BuildError>(())
        })?;
        self.reserved = self.room();
        Ok(())
    }
}
