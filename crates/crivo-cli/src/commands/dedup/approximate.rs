//! A few bits per record, and a few records too few.

use std::io::Write;

use crivo::Digest;
use crivo::filter::{Blocked, Bloom, DynamicFilter, Growing};

use super::{Summary, sift_chunks};
use crate::human;
use crate::input::InputArgs;
use crate::outcome::Error;
use crate::output;

/// How many records are asked about together.
const BATCH: usize = 256;

/// The capacity that a growing filter begins with: a few kilobytes.
const FIRST_CAPACITY: u64 = 10_000;

/// Below this rate a filter in blocks of a cache line is larger than a classic one by a fifth.
const LEAST_BLOCKED_RATE: f64 = 0.0005;

/// Prints what is new to a filter of this rate, for this many records if that is known.
pub(super) fn dedup(input: &InputArgs, rate: f64, keys: Option<u64>) -> Result<Summary, Error> {
    match keys {
        None => dedup_with(input, Growing::new(FIRST_CAPACITY, rate)?),
        Some(keys) => {
            let keys = keys.max(1);
            let summary = match rate < LEAST_BLOCKED_RATE {
                true => dedup_with(input, Bloom::new(keys, rate)?)?,
                false => dedup_with(input, Blocked::new(keys, rate)?)?,
            };
            let inserted = summary.records - summary.dropped;
            if inserted > keys {
                output::warn(format_args!(
                    "there were more than the {} of --keys; the rate of wrongly dropped ones rose \
                     above --rate",
                    human::counted(keys, "record")
                ));
            }
            Ok(summary)
        }
    }
}

fn dedup_with(input: &InputArgs, mut filter: impl DynamicFilter) -> Result<Summary, Error> {
    let mut out = output::data();
    let mut hits = [false; BATCH];
    let mut digests = Vec::with_capacity(BATCH);
    let mut kept = Vec::new();
    let mut printed = Vec::new();
    let mut wrongly = WronglyDropped::default();
    let mut summary = Summary::default();
    sift_chunks(input, |chunk, hashed| {
        kept.clear();
        for (whole, records) in hashed.digests.chunks(BATCH).zip(hashed.records.chunks(BATCH)) {
            digests.clear();
            // Half of a good hash is a good hash.
            digests.extend(whole.iter().map(|digest| Digest::new(*digest as u64)));
            let hits = &mut hits[..digests.len()];
            filter.contains_batch(&digests, hits);
            for ((digest, record), hit) in digests.iter().zip(records).zip(&*hits) {
                // What was new to the filter may have come earlier in the same batch.
                if !hit && !filter.contains_digest(*digest) {
                    filter.insert_digest(*digest)?;
                    kept.push(record.clone());
                }
            }
            wrongly.count_up_to(&filter, false);
        }
        summary.records += hashed.digests.len() as u64;
        summary.dropped += (hashed.digests.len() - kept.len()) as u64;
        printed.clear();
        printed.extend_from_slice(chunk.header());
        chunk.copy_records(kept.drain(..), &mut printed);
        out.write_all(&printed).and_then(|()| out.flush()).map_err(Error::output)
    })?;
    wrongly.count_up_to(&filter, true);
    summary.expected_wrongly_dropped = wrongly.expected;
    Ok(summary)
}

/// How many new records are to be expected to have been dropped.
///
/// While the filter's rate is f, a new record is dropped with probability f, and inserted with
/// probability 1 − f: for each that was inserted, f/(1 − f) were dropped. This sums up over the
/// filling filter, by the trapezoidal rule in steps of less than a hundredth of its keys.
#[derive(Debug, Default)]
struct WronglyDropped {
    expected: f64,
    keys: u64,
    odds: f64,
}

impl WronglyDropped {
    fn count_up_to(&mut self, filter: &impl DynamicFilter, is_last: bool) {
        let keys = filter.key_count();
        let step = keys - self.keys;
        if step > keys / 128 || is_last {
            let rate = filter.expected_fpr();
            let odds = rate / (1.0 - rate);
            self.expected += step as f64 * (self.odds + odds) / 2.0;
            (self.keys, self.odds) = (keys, odds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;
    use crivo::filter::Filter;

    /// Twenty filters of 20,000 records at 1%, each dropping about 38 wrongly: the total of 760
    /// has a standard deviation below 35 (more than that of independent drops, because the filters'
    /// own rates scatter). Five of them: fails by chance once in a million times.
    #[test]
    fn as_many_are_dropped_as_expected() {
        let (mut dropped, mut expected) = (0.0, 0.0);
        for seed in 0..20 {
            let mut filter = Growing::with_hasher(1_024, 0.01, KeyHasher::xxh3(seed)).unwrap();
            let mut wrongly = WronglyDropped::default();
            for key in 0..20_000u64 {
                if filter.contains(&key) {
                    dropped += 1.0;
                } else {
                    filter.insert(&key).unwrap();
                }
                wrongly.count_up_to(&filter, key % 256 == 0);
            }
            wrongly.count_up_to(&filter, true);
            expected += wrongly.expected;
        }
        assert!(expected > 500.0, "{expected}");
        assert!(f64::abs(dropped - expected) < 175.0, "{dropped} instead of {expected}");
    }
}
